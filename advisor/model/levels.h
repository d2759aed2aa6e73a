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
 *
 * Where requests and new connections of each second are known too, so is how
 * many holders e(second) one expects (cover.h), under T0 and under a shorter T.
 * What was seen beyond it goes with the waiting ones, e - busy:
 *
 *   v' = e' + (v - e) sqrt(r)      r = (e' - busy) / (e - busy)
 *
 * but what a second differs in from those around it goes with r.  That is the
 * busy ones alone with KeepAlive Off, and v at T0.
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
    const uint32_t *requests;    /* requests[n] and connections[n]: completed */
    const uint32_t *connections; /* and accepted then; NULL: not known */
    size_t n;
    uint32_t step_s;          /* seconds that a value stands for; 0: 1 */
} ka_levels;

/* Holders that one expects in each second: now[n] and to[n] of the levels' n.
 */
typedef struct ka_levels_expected {
    const double *now, *to;
} ka_levels_expected;

/**
 * The distribution of a number of holders whose mean is not the present one.
 * @param mean_now  mean under the timeout in force, time-weighted
 * @param mean_to   mean wanted; out->mean is just this
 * @param expected NULL: not known; else levels->at_least are the busy ones
 * Without values (n 0), or without a present mean, quantiles, peak and
 * workers are those of [M12] with z = KA_LEVELS_Z.
 * @return APR_SUCCESS; APR_ENOMEM
 * Workers: [M12] on the busiest hour, its mean freed of the bias of maxima;
 * where values stand for more than a second each, the peak at least.
 */
apr_status_t ka_levels_held(ka_held *out, const ka_levels *levels,
                            const ka_levels_expected *expected, double mean_now,
                            double mean_to);

#endif
