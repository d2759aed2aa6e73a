/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_held_of: the time-weighted distribution of a count, from the sorted
 * instants at which it goes up and down ([M11]), and the workers that its
 * busiest period needs ([M12]).
 */
#ifndef KA_HELD_H
#define KA_HELD_H

#include <stddef.h>
#include <stdint.h>
#include <apr_errno.h>
#include "outcome.h"

typedef struct ka_steps {
    const int64_t *at_us; /* at_us[n], ascending */
    size_t n;
    int64_t shift_us; /* added to each instant */
    int step;         /* what each adds to the count: 1 or -1 */
} ka_steps;

/* Most lists of steps that one count is made of. */
#define KA_STEPS_MAX 4

/* A period is lengthened so that a window has at most so many. */
#define KA_PERIODS_MAX 100000

typedef struct ka_held_window {
    int64_t begin_us, end_us; /* instants before begin count, but no time */
    int64_t period_us;        /* > 0; a last one shorter than half of it is
                                 merged with the one before */
    int64_t settle_us;        /* >= 0: left out of the periods after begin,
                                 since connections that were open before the
                                 trace are missing there; at most a quarter
                                 of the window */
    double eps;               /* blocking for [M12] */
} ka_held_window;

/**
 * Computes *out over [begin, end).  All steps at one instant are taken
 * before the count is looked at, so that half-open intervals [up, down) that
 * touch do not overlap.
 * @param steps  steps[n], n <= KA_STEPS_MAX; at any instant ups >= downs
 * @return APR_SUCCESS, all zero for an empty window; APR_ENOMEM
 */
apr_status_t ka_held_of(ka_held *out, const ka_steps *steps, size_t n,
                        const ka_held_window *window);

#endif
