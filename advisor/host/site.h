/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_site: one httpd on its host: what it is told to do, what its processes
 * hold, what they may hold, and the limits around them.  Rules that need more
 * than traffic are judged on it.
 */
#ifndef KA_SITE_H
#define KA_SITE_H

#include "httpd.h"
#include "limits.h"
#include "memory.h"
#include "phpfpm.h"

typedef struct ka_site {
    const ka_httpd *httpd; /* its `server` may be NULL: no configuration */
    apr_array_header_t *fpm_pools; /* of ka_fpm_pool: php-fpm's on this host,
                                      where httpd talks FastCGI; NULL: not
                                      looked for */
    bool runs;             /* else nothing below is set */
    ka_machine machine;
    ka_memory memory;
    ka_memory_others others;
    ka_cgroup cgroup;
    ka_memory_budget budget;
    ka_limits limits;
    ka_limit_table limit_table; /* of the host and of this httpd */
} ka_site;

/* Where what its children have served is known from elsewhere. */
typedef struct ka_site_requests {
    const ka_memory_requests *children; /* children[n] */
    size_t n;
} ka_site_requests;

/**
 * Looks at a server that runs; just keeps its configuration where none does
 * (httpd->instance NULL) or its processes are not known.
 * @param out        refers to httpd, processes and pool
 * @param httpd      as ka_httpd_inspect left it
 * @param root       "" or a directory that holds proc/ and sys/
 * @param processes  of ka_process, from the same root; NULL: not known
 * @param requests   NULL: not known
 * Never fails: what could not be read is in the tables of what is missing.
 */
void ka_site_look(ka_site *out, const ka_httpd *httpd, const char *root,
                  const apr_array_header_t *processes,
                  const ka_site_requests *requests, apr_pool_t *pool);

/** The value of a setting of its configuration; -1: not known. */
int64_t ka_site_setting(const ka_site *site, ka_setting_id id);

/** Whether a module is loaded or built in, by its symbol ("php_module");
 * false where no configuration is known. */
bool ka_site_has_module(const ka_site *site, const char *symbol);

/** A row of the limits by its id; NULL if there is none. */
const ka_limit *ka_site_limit(const ka_site *site, const char *id);

#endif
