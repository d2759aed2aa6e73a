/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Intervals of an analysis's numbers, or why there are none. */
#include "analysis.h"

#include "../model/intervals.h"

static const char *why_not(apr_status_t rv)
{
    return rv == APR_INCOMPLETE
               ? "there are fewer than 6 groups of visitors, and less than an "
                 "hour"
               : "there was not enough memory";
}

void ka_analysis_intervals(ka_analysis *a, const ka_sample *sample,
                           const ka_options *options, apr_pool_t *pool)
{
    ka_report *r = &a->report;
    ka_intervals *intervals = apr_palloc(pool, sizeof(*intervals));
    apr_status_t rv = sample ? ka_intervals_make(intervals, sample, r->low,
                                                 r->high, r->timeout_n,
                                                 options->reuse_loss, pool)
                             : APR_ENOMEM;

    r->intervals = rv ? NULL : intervals;
    r->no_intervals = rv ? why_not(rv) : NULL;
}
