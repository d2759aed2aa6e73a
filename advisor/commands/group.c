/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "group.h"

#include <apr_strings.h>

void ka_group_link(ka_analysis *a, apr_pool_t *pool)
{
    const ka_report **hosts;
    size_t i;

    if (a->member_n == 0) {
        return;
    }
    hosts = apr_palloc(pool, a->member_n * sizeof(*hosts));
    for (i = 0; i < a->member_n; i++) {
        hosts[i] = &a->members[i].report;
    }
    ka_report_group(&a->report, &a->server, hosts, a->member_n);
}

static bool agree_on(const ka_analysis *a, size_t id)
{
    const ka_fact *first = &a->members[0].server.facts[id];
    size_t i;

    for (i = 0; i < a->member_n; i++) {
        const ka_fact *fact = &a->members[i].server.facts[id];

        if (!fact->known || fact->value != first->value) {
            return false;
        }
    }
    return true;
}

void ka_group_share_facts(ka_analysis *a, apr_pool_t *pool)
{
    size_t id;

    for (id = 0; id < KA_FACTS; id++) {
        const ka_fact *first = &a->members[0].server.facts[id];

        if (!a->server.facts[id].known && agree_on(a, id)) {
            ka_server_set(&a->server, (ka_fact_id)id, first->value,
                          first->assumed,
                          apr_pstrcat(pool, "all servers agree; ",
                                      first->origin, NULL));
        }
    }
}

static apr_status_t advise_one(ka_analysis *a, const ka_advise_options *options,
                               apr_pool_t *pool)
{
    ka_extra extra = ka_analysis_extra(a);

    return ka_advise(&a->report, &extra, options, pool);
}

apr_status_t ka_group_advise(ka_analysis *a, const ka_advise_options *options,
                             apr_pool_t *pool)
{
    apr_status_t rv = APR_SUCCESS;
    size_t i;

    ka_group_link(a, pool);
    for (i = 0; !rv && i < a->member_n; i++) {
        rv = advise_one(&a->members[i], options, pool);
    }
    return rv ? rv : advise_one(a, options, pool);
}
