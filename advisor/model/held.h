/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_held_of: the time-weighted distribution of a count, from the sorted
 * instants at which it goes up and down ([M11]), and the workers that its
 * busiest period needs ([M12]).  ka_held_walk: the count itself, for whoever
 * keeps it in another form.
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

/** Takes the count over a span of time, from_us < to_us. */
typedef void ka_held_visit(void *context, uint64_t count, int64_t from_us,
                           int64_t to_us);

/**
 * Walks through [begin_us, end_us): spans follow each other without a hole.
 * All steps at one instant are taken before the count is looked at, so that
 * half-open intervals [up, down) that touch do not overlap.
 * @param steps  steps[n], n <= KA_STEPS_MAX; at any instant ups >= downs
 */
void ka_held_walk(const ka_steps *steps, size_t n, int64_t begin_us,
                  int64_t end_us, ka_held_visit *visit, void *context);

/**
 * Computes *out over [begin, end), as ka_held_walk goes.
 * @param steps  steps[n], as there
 * @return APR_SUCCESS, all zero for an empty window; APR_ENOMEM
 */
apr_status_t ka_held_of(ka_held *out, const ka_steps *steps, size_t n,
                        const ka_held_window *window);

#endif
