/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Any bytes as a file of php-fpm's pools.  Checked beyond crashes: there are
 * no more than are allowed, each has a name, its numbers are sane, and one
 * that listens is found by where it does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <apr_general.h>
#include <apr_strings.h>

#include "host/phpfpm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static void check_pool(const apr_array_header_t *pools, const ka_fpm_pool *p)
{
    const ka_fpm_pool *found;

    check(p->name && p->file && p->origin, "a pool says what it is");
    check(!p->max_children.known || p->max_children.value > 0,
          "some children, or none are told");
    found = ka_fpm_at(pools, p->listen);
    check(!p->listen || found != NULL, "a pool is found where it listens");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int started;
    apr_array_header_t *pools;
    apr_pool_t *pool;
    const char *text;
    int i, again;

    if (!started) {
        apr_initialize();
        started = 1;
    }
    apr_pool_create(&pool, NULL);
    pools = apr_array_make(pool, 4, sizeof(ka_fpm_pool));
    text = apr_pstrmemdup(pool, (const char *)data, size);
    /* Two files. */
    for (again = 0; again < 2; again++) {
        ka_fpm_parse(pools, text, again ? "b.conf" : "a.conf", pool);
    }
    check(pools->nelts <= KA_FPM_POOLS_MAX, "not too many");
    for (i = 0; i < pools->nelts && i < 50; i++) {
        check_pool(pools, &APR_ARRAY_IDX(pools, i, ka_fpm_pool));
    }
    ka_fpm_at(pools, text);
    apr_pool_destroy(pool);
    return 0;
}
