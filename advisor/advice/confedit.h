/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_confedit: which lines of a configuration's own files advice changes.
 *
 *     a directive that is there   the occurrence that httpd obeys (the last
 *                                 one outside of sections) gets the new value
 *                                 where it stands, under the name it has
 *     one that is not             a line behind the last one of its kind, else
 *                                 at the end of the main file; none if httpd's
 *                                 default is what is advised
 *     of a virtual host           the same inside its section
 *
 * The value in the files is what counts, not `from` of the advice: an option
 * may have told another one.  What a program must not decide (a value behind
 * ${VAR}, a line that a macro makes, one that several sections share) is no
 * edit but a note.  Pure but for the reader of files; nothing is written.
 */
#ifndef KA_CONFEDIT_H
#define KA_CONFEDIT_H

#include "../host/config_server.h"
#include "report.h"

/* A file of the configuration. */
typedef struct ka_conf_text {
    const char *name;   /* as it is to be called; not a link */
    const char *bytes;
    size_t length;
} ka_conf_text;

/**
 * Reads a file.
 * @param file  absolute, as the tree names it
 * @return the same pointer for the same file, by whatever link it is named;
 *         NULL: it cannot be read
 */
typedef const ka_conf_text *ka_conf_read_fn(void *context, const char *file);

/* Lines first..last become `lines`; last == first - 1: nothing is taken away,
 * and `lines` stand before line `first`. */
typedef struct ka_edit {
    const ka_conf_text *text;
    int first, last;   /* from 1; first may be one past the last line */
    const char *lines; /* whole lines, each with its line feed */
} ka_edit;

typedef struct ka_confedit_input {
    const ka_cfg_tree *tree; /* what httpd obeys */
    const ka_cfg_tree *own;  /* with Define lines; NULL: not known */
    const ka_cfg_server *server; /* of tree */
    const char *main_file;   /* absolute */
    const ka_advice *advice; /* advice[advice_n] */
    size_t advice_n;
    ka_mpm mpm;              /* rows of other ones are left alone */
    ka_conf_read_fn *read;
    void *context;           /* of read */
} ka_confedit_input;

typedef struct ka_confedit {
    apr_array_header_t *edits; /* of ka_edit: the files in the order of their
                                  first edit, lines ascending */
    apr_array_header_t *notes; /* of const char *: sentences */
    bool restart;              /* an edit needs a full restart */
} ka_confedit;

/** @param out  owned by pool, with what `read` returned */
void ka_confedit_make(ka_confedit *out, const ka_confedit_input *input,
                      apr_pool_t *pool);

#endif
