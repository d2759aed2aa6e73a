/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_vhosts: names of vhosts as logged, numbered in order of appearance.
 *
 * Concurrency: one thread per table.
 */
#ifndef KA_LOG_VHOSTS_H
#define KA_LOG_VHOSTS_H

#include "logformat.h"

#define KA_VHOST_EXCLUDED UINT32_MAX

typedef struct ka_vhosts ka_vhosts;

/**
 * @param only  NULL, or the one name that is not excluded
 * @param max   names kept apart; all further ones are "(other)"
 */
ka_vhosts *ka_vhosts_make(const char *only, size_t max, apr_pool_t *pool);

/** The number of a name: case does not matter, a port at its end neither; an
 * absent one is "".  KA_VHOST_EXCLUDED if it is not the only one wanted. */
uint32_t ka_vhosts_number(ka_vhosts *self, ka_str name);

/** What of a name tells it from others: the port cut off, and what is beyond
 * the longest name too.  Case still matters.  Pure. */
ka_str ka_vhosts_trim(ka_str name);

/** ka_vhosts_number for a name that ka_vhosts_trim has returned.  A table is
 * asked with one of the two only. */
uint32_t ka_vhosts_number_trimmed(ka_vhosts *self, ka_str name);

/** names[n] by number, owned by the table's pool. */
const char **ka_vhosts_names(const ka_vhosts *self, size_t *n);

#endif
