/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What the files of the reader share: config_read.c walks lines,
 * config_cond.c decides If*, config_include.c finds files, config_macro.c
 * keeps macros. */
#ifndef KA_CONFIG_READ_PRIV_H
#define KA_CONFIG_READ_PRIV_H

#include <apr_hash.h>
#include "config_read.h"
#include "config_text.h"

/* A section or a true If* that is open; `node` is KA_CFG_TOP - 1 for If*. */
typedef struct ka_cfg_open {
    const char *name;
    int node;
} ka_cfg_open;

#define KA_CFG_IF (KA_CFG_TOP - 1)

typedef struct ka_cfg_reader {
    const ka_cfg_input *input;
    ka_cfg_tree *tree;
    apr_pool_t *pool;
    apr_table_t *vars;   /* Define NAME VALUE */
    apr_hash_t *defines; /* names */
    apr_hash_t *macros;  /* lower case name -> ka_cfg_macro */
    apr_array_header_t *open; /* ka_cfg_open, innermost last */
    int parent;          /* node that new ones belong to */
    int depth;           /* of Include and Use */
    int lines_left, entries_left;
    size_t bytes_left;
    bool spent;          /* said that a limit was reached */
} ka_cfg_reader;

/* Where lines come from. */
typedef struct ka_cfg_source {
    ka_cfg_lines lines;
    const char *file;
    int base; /* reader->open->nelts at its beginning: what lies below is not
                 this file's to close */
    int offset; /* added to line numbers: a macro's lines lie in a file */
} ka_cfg_source;

/** Reads all lines of a text as those of a file; keeps depth and limits. */
void ka_cfg_read_text(ka_cfg_reader *reader, const char *text, size_t length,
                      const char *file, int offset);

/** The next logical line, within the limits; NULL at the end. */
const char *ka_cfg_read_line(ka_cfg_reader *reader, ka_cfg_source *source);

/** file:line of the line read last. */
const char *ka_cfg_place(const ka_cfg_reader *reader,
                         const ka_cfg_source *source);

/**
 * Decides an If* section.
 * @param name  without `<`
 * @param args  of the line, the `>` included
 * @return 1 true, 0 false, -1 if the section is none of these
 */
int ka_cfg_condition(ka_cfg_reader *reader, const ka_cfg_source *source,
                     const char *name, const char *args);

/** Include and IncludeOptional. */
void ka_cfg_include(ka_cfg_reader *reader, const ka_cfg_source *source,
                    const char *path, bool optional);

/** A macro's lines up to its end are taken from the source. */
void ka_cfg_macro_take(ka_cfg_reader *reader, ka_cfg_source *source,
                       const char *args);

void ka_cfg_macro_use(ka_cfg_reader *reader, const ka_cfg_source *source,
                      const char *args);

void ka_cfg_macro_drop(ka_cfg_reader *reader, const char *args);

#endif
