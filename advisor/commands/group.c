/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "group.h"

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
