/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Intervals of an analysis's numbers, or why there are none. */
#include "analysis.h"

#include "../model/intervals.h"

#define NO_MEMORY "there was not enough memory"

void ka_analysis_resample(ka_analysis *a, const ka_pieces *low,
                          const ka_pieces *high, const char *too_few,
                          const ka_options *options, apr_pool_t *pool)
{
    const ka_pieces *const pieces[2] = {low, high};
    ka_report *r = &a->report;
    ka_intervals *intervals = apr_palloc(pool, sizeof(*intervals));
    apr_status_t rv = ka_intervals_make(intervals, pieces, r->low, r->high,
                                        r->timeout_n, options->reuse_loss,
                                        pool);

    r->intervals = rv ? NULL : intervals;
    r->no_intervals = rv == APR_INCOMPLETE ? too_few : rv ? NO_MEMORY : NULL;
}

/* Between a profile's timeouts the outcomes know more than its sample. */
static void cut(ka_pieces *out, const ka_sample *sample, int side,
                const ka_outcome *outcomes, size_t n, apr_pool_t *pool)
{
    int64_t *timeouts = apr_palloc(pool, (n + 1) * sizeof(*timeouts));
    size_t j;

    for (j = 0; j < n; j++) {
        timeouts[j] = outcomes[j].timeout_us;
    }
    ka_sample_pieces(out, sample, side, timeouts, n, pool);
    ka_piece_rows_fit(&out->visitors, outcomes, n);
    ka_piece_rows_fit(&out->blocks, outcomes, n);
}

void ka_analysis_intervals(ka_analysis *a, const ka_sample *sample,
                           const ka_options *options, apr_pool_t *pool)
{
    ka_report *r = &a->report;
    ka_pieces low, high;

    if (sample == NULL) {
        r->no_intervals = NO_MEMORY;
        return;
    }
    cut(&low, sample, 0, r->low, r->timeout_n, pool);
    high = low;
    if (r->high != r->low) {
        cut(&high, sample, 1, r->high, r->timeout_n, pool);
    }
    ka_analysis_resample(a, &low, &high,
                         "there are fewer than 6 groups of visitors, and less "
                         "than an hour",
                         options, pool);
}
