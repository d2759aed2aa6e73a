/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_curve: how many are held at once under timeouts up to the one in force,
 * where that was counted while it happened (ka_ticks.h).
 *
 * It was counted for a few timeouts only, and without what the server does
 * after it closes.  The mean is known at every timeout, so the distribution
 * between two of them is taken where the mean lies between theirs:
 *
 *   p999 |                     . in force
 *        |            .  '
 *        |     . '   |
 *        |   .       | mean at T / mean in force
 *        +-----------+----------+
 *            1 s   2 s   3 s    1
 *
 * Means are counted as shares of the one in force, so that what both ways of
 * counting differ in does not matter.
 */
#ifndef KA_CURVE_H
#define KA_CURVE_H

#include <stdbool.h>
#include <stddef.h>
#include "outcome.h"

typedef struct ka_curve {
    const ka_held *points; /* points[n]: means ascending, the first 0 or that
                              of KeepAlive Off, the last that in force */
    size_t n;              /* 0: nothing was counted */
} ka_curve;

/**
 * The distribution under a timeout up to the one in force.
 * @param out   its mean is `mean`; all else is interpolated
 * @param mean, mean_now  under that timeout, and in force
 * @return false: out untouched, since nothing was counted
 */
bool ka_curve_held(ka_held *out, const ka_curve *curve, double mean,
                   double mean_now);

/* Means under a timeout whose close some clients leave unanswered. */
typedef struct ka_curve_means {
    double answered;   /* if all clients answered */
    double unanswered; /* if none did, and httpd waited */
    double mean;       /* in between */
    double now;        /* in force */
} ka_curve_means;

/** ka_curve_held there: of both, by the share of those who answer. */
bool ka_curve_held_by(ka_held *out, const ka_curve *curve,
                      const ka_curve_means *means);

#endif
