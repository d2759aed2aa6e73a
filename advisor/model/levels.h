/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_levels: a number of holders known second by second, as its maximum
 * within each, under the timeout in force; and what it says of other means.
 *
 * Another timeout has another mean.  Load that comes and goes over minutes
 * scales with it; bursts keep their z = variance/mean ([M12]): what a second
 * lies above or below the mean m of the two minutes around it is scaled by
 * the root of the ratio of means.
 *
 *   v'(second) = m r + (v(second) - m) sqrt(r)     r = mean wanted / present
 *
 * So at r = 1 peak and quantiles are those observed; elsewhere they are
 * estimates: on an hour of made-up browsing (T0 = 5 s) p99.9 came within 11 %
 * and workers within 10 % of the trace's from 0.5 to 15 s.  Maxima of seconds
 * lie above the time-weighted distribution of a trace (held.h): p99.9 by 6 %
 * there.
 */
#ifndef KA_LEVELS_H
#define KA_LEVELS_H

#include <stddef.h>
#include <stdint.h>
#include <apr_errno.h>
#include "outcome.h"

/* z where nothing was recorded: above the 3.1 to 3.9 of browsing (MODEL 4).
 */
#define KA_LEVELS_Z 4.0

/* A larger level is taken as this many; a gauge of a segment has 21 bits. */
#define KA_LEVEL_MAX (UINT32_C(1) << 21)

typedef struct ka_levels {
    const uint32_t *values;   /* values[n]: maxima of successive seconds, or
                                 of steps of so many */
    const uint32_t *at_least; /* at_least[n]: holders at any timeout (busy
                                 ones); NULL: none */
    size_t n;
    uint32_t step_s;          /* seconds that a value stands for; 0: 1 */
} ka_levels;

/**
 * The distribution of a number of holders whose mean is not the present one.
 * @param mean_now  mean under the timeout in force, time-weighted
 * @param mean_to   mean wanted; out->mean is just this
 * Without values (n 0), or without a present mean, quantiles, peak and
 * workers are those of [M12] with z = KA_LEVELS_Z.
 * @return APR_SUCCESS; APR_ENOMEM
 * Workers: [M12] on the busiest hour, its mean freed of the bias of maxima;
 * where values stand for more than a second each, the peak at least.
 */
apr_status_t ka_levels_held(ka_held *out, const ka_levels *levels,
                            double mean_now, double mean_to);

#endif
