/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Inside ka_confedit: confedit.c decides what is changed where,
 * confedit_line.c makes the lines. */
#ifndef KA_CONFEDIT_PRIV_H
#define KA_CONFEDIT_PRIV_H

#include "confedit.h"

/* A directive's line in its file. */
typedef struct ka_conf_line {
    const ka_conf_text *text;
    const char *start, *end; /* its bytes, line feed included */
    int first, last;         /* several where `\` joins them */
} ka_conf_line;

typedef struct ka_confedit_work {
    const ka_confedit_input *in;
    ka_confedit *out;
    apr_pool_t *pool;
} ka_confedit_work;

/** Adds a sentence, once. */
void ka_confedit_note(const ka_confedit_work *work, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/** The line of a node.
 * @return false if it does not stand in a file as the tree has it */
bool ka_conf_line_of(ka_conf_line *out, const ka_confedit_work *work,
                     const ka_cfg_node *node);

/** The name in the first ${NAME} of a line; NULL if there is none. */
const char *ka_conf_line_variable(const ka_conf_line *line, apr_pool_t *pool);

/** Gives the line's directive another value. */
void ka_conf_line_set(const ka_confedit_work *work, const ka_conf_line *line,
                      const char *value);

/** A line behind it, indented alike, or (`inner`) as what it opens is. */
void ka_conf_line_add(const ka_confedit_work *work, const ka_conf_line *line,
                      bool inner, const char *directive, const char *value);

/** Lines at the end of a file. */
void ka_conf_text_append(const ka_confedit_work *work,
                         const ka_conf_text *text, const char *lines);

#endif
