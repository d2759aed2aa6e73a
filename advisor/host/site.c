/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "site.h"

#include <string.h>

int64_t ka_site_setting(const ka_site *site, ka_setting_id id)
{
    const ka_fact *fact;

    if (!site->httpd->server) {
        return -1;
    }
    fact = &site->httpd->server->settings.facts[id];
    return fact->known ? fact->value : -1;
}

bool ka_site_has_module(const ka_site *site, const char *symbol)
{
    return site->httpd->tree &&
           ka_cfg_has_module(site->httpd->tree, symbol);
}

const ka_limit *ka_site_limit(const ka_site *site, const char *id)
{
    int i;

    for (i = 0; site->limit_table.rows && i < site->limit_table.rows->nelts;
         i++) {
        const ka_limit *row =
            &APR_ARRAY_IDX(site->limit_table.rows, i, const ka_limit);

        if (!strcmp(row->id, id)) {
            return row;
        }
    }
    return NULL;
}

static int64_t connections_per_child(const ka_site *site, int32_t mpm)
{
    int64_t threads = ka_site_setting(site, KA_SETTING_THREADS_PER_CHILD);
    int64_t factor = ka_site_setting(site, KA_SETTING_ASYNC_FACTOR);

    if (mpm == KA_MPM_PREFORK) {
        return 1;
    }
    if (threads <= 0 || threads >= INT32_MAX) {
        return -1;
    }
    return mpm == KA_MPM_EVENT && factor > 0 && factor < INT32_MAX
               ? threads * (1 + factor)
               : threads;
}

/* What the limits are held against. */
static ka_limits_query query_of(const ka_site *site)
{
    const ka_cfg_server *server = site->httpd->server;
    int32_t mpm = server ? server->mpm : KA_MPM_UNKNOWN;

    return (ka_limits_query){
        .listen_backlog = ka_site_setting(site, KA_SETTING_LISTEN_BACKLOG),
        .connections_per_child = connections_per_child(site, mpm),
        .max_request_workers =
            mpm == KA_MPM_PREFORK || mpm == KA_MPM_WORKER
                ? ka_site_setting(site, KA_SETTING_MAX_REQUEST_WORKERS)
                : -1};
}

/* Files of php-fpm that httpd has nothing to do with are left alone. */
static apr_array_header_t *fpm_pools(const ka_httpd *httpd, apr_pool_t *pool)
{
    int i;

    for (i = 0; httpd->server && i < httpd->server->backends->nelts; i++) {
        if (APR_ARRAY_IDX(httpd->server->backends, i, ka_cfg_backend).kind ==
            KA_CFG_BACKEND_FCGI) {
            return ka_fpm_read(httpd->files, pool);
        }
    }
    return apr_array_make(pool, 1, sizeof(ka_fpm_pool));
}

void ka_site_look(ka_site *out, const ka_httpd *httpd, const char *root,
                  const apr_array_header_t *processes,
                  const ka_site_requests *requests, apr_pool_t *pool)
{
    ka_limits_query query;
    int pid;

    *out = (ka_site){.httpd = httpd,
                     .fpm_pools = fpm_pools(httpd, pool),
                     .runs = httpd->instance && processes};
    if (!out->runs) {
        return;
    }
    pid = httpd->instance->pid;
    query = query_of(out);
    ka_machine_read(&out->machine, root, pool);
    ka_memory_read(&out->memory, root, pid, processes,
                   requests ? requests->children : NULL,
                   requests ? requests->n : 0, pool);
    ka_cgroup_read(&out->cgroup, root, pid, pool);
    ka_memory_others_read(&out->others, root, processes, &out->memory,
                          out->cgroup.version, pool);
    ka_memory_budget_make(&out->budget, &out->machine, &out->cgroup,
                          &out->memory, &out->others, KA_MEMORY_HEADROOM,
                          pool);
    ka_limits_read(&out->limits, root, &query, &out->memory, processes,
                   &out->cgroup, pool);
    ka_limits_judge(&out->limit_table, &out->limits, pool);
}
