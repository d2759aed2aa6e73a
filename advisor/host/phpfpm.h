/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Pools of php-fpm: what its files say of how many requests PHP answers at
 * once, and where it listens.  Gathering only.
 */
#ifndef KA_PHPFPM_H
#define KA_PHPFPM_H

#include <apr_pools.h>
#include <apr_tables.h>
#include "facts.h"

/* No host has more. */
#define KA_FPM_POOLS_MAX 500

typedef struct ka_fpm_pool {
    const char *name;     /* "www" */
    const char *listen;   /* "/run/php/php8.2-fpm.sock", "127.0.0.1:9000",
                             "9000"; "$pool" in it is replaced; NULL: not
                             set */
    const char *pm;       /* "static", "dynamic", "ondemand"; NULL: not set */
    ka_fact max_children; /* pm.max_children */
    const char *file;     /* as the server sees it */
    const char *origin;   /* file:line of its [name] */
} ka_fpm_pool;

/**
 * The pools of /etc/php/VERSION/fpm/pool.d, /etc/php-fpm.d and their like, in
 * order of the files' names.
 * @param root  see config_root.h
 * @return of ka_fpm_pool, owned by pool; empty where none can be read
 */
apr_array_header_t *ka_fpm_read(const char *root, apr_pool_t *pool);

/**
 * The pools of one file's text; [global] is none.
 * @param pools  added to
 * @param file   for origins
 */
void ka_fpm_parse(apr_array_header_t *pools, const char *text,
                  const char *file, apr_pool_t *pool);

/**
 * The pool that listens on an address of httpd's: a socket's path, "host:port"
 * of this machine.
 * @param pools  NULL: none are known
 * @return NULL if none does
 */
const ka_fpm_pool *ka_fpm_at(const apr_array_header_t *pools,
                             const char *address);

#endif
