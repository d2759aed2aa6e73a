/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_cfg text: lines, words, ${VAR} and values of a configuration, read as
 * httpd reads them.  Pure functions; any bytes are safe.
 */
#ifndef KA_CONFIG_TEXT_H
#define KA_CONFIG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <apr_errno.h>
#include <apr_pools.h>
#include <apr_tables.h>

/* The longest text that the replacement of ${VAR} may give. */
#define KA_CFG_EXPANDED_MAX (1u << 20)

/* Lines of a text that outlives it. */
typedef struct ka_cfg_lines {
    const char *at, *end;
    int number; /* of the line returned last: its last line, from 1, where
                   `\` joins several: that is what httpd prints */
    int first;  /* the first of these */
} ka_cfg_lines;

/** Before the first line. */
void ka_cfg_lines_init(ka_cfg_lines *lines, const char *text, size_t length);

/**
 * The next line: joined where it ends in `\`, without white space at both
 * ends.  A NUL byte ends a line as it does in httpd.
 * @return owned by pool; NULL at the end
 */
const char *ka_cfg_line_next(ka_cfg_lines *lines, apr_pool_t *pool);

/**
 * The next word of a line: up to white space, or in quotes of either kind, in
 * which a backslash protects a quote and itself.
 * @param line  advanced behind the word and the white space after it
 * @return owned by pool; "" at the end
 */
const char *ka_cfg_word(const char **line, apr_pool_t *pool);

/** All words of a line: an array of const char *. */
apr_array_header_t *ka_cfg_words(const char *line, apr_pool_t *pool);

/**
 * Replaces ${NAME} by vars, else by environment; what neither knows stays.
 * @param undefined  the first name that is not known, else NULL
 * @return owned by pool or `text`; NULL if the result is longer than
 *         KA_CFG_EXPANDED_MAX
 */
const char *ka_cfg_expand(const char **undefined, const char *text,
                          const apr_table_t *vars,
                          const apr_table_t *environment, apr_pool_t *pool);

/** Leading digits with a sign, as atoi, kept within an int32_t. */
int64_t ka_cfg_number(const char *text);

/**
 * A time directive's argument: whole `5`, `5s`, `400ms`, `2mi`, `1h`.
 * @return APR_SUCCESS; APR_EINVAL, us untouched
 */
apr_status_t ka_cfg_time(int64_t *us, const char *text);

/** On or Off, whatever the case. */
bool ka_cfg_flag(bool *on, const char *text);

#endif
