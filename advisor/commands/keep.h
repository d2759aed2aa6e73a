/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What a file held before it is written anew, kept beside it: FILE.bak, or
 * FILE.bak.1, FILE.bak.2 ... where that holds something else.  Nothing is ever
 * written over.
 */
#ifndef KA_COMMAND_KEEP_H
#define KA_COMMAND_KEEP_H

#include <stdbool.h>
#include <apr_errno.h>
#include <apr_pools.h>

typedef struct ka_keep {
    const char *path; /* of the file */
    const char *name; /* its content is, or will be, there; NULL: there is no
                         file */
    bool already;     /* it is there */
} ka_keep;

/**
 * Looks, and changes nothing.
 * @return APR_SUCCESS; the system's status if the file, or one beside it,
 *         cannot be read; APR_ENOSPC if no name is free
 */
apr_status_t ka_keep_plan(ka_keep *keep, const char *path, apr_pool_t *pool);

/** Does it.  The file itself stays.  @return APR_SUCCESS or the system's
 * status */
apr_status_t ka_keep_do(const ka_keep *keep, apr_pool_t *pool);

/**
 * Whether two files that --output conf has written set the same for the same
 * reasons: all but when they were written and how they are applied, which
 * depends on the files around.
 * @return false also if one cannot be read
 */
bool ka_keep_same_conf(const char *a, const char *b, apr_pool_t *pool);

#endif
