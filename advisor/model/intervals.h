/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * How far numbers would have come out otherwise (MODEL 6): 90 % intervals by
 * bootstrap (resample.h) on pieces of the traffic (pieces.h).
 *
 *   by visitor  groups of addresses with all their traffic: some visitors ask
 *               for much, and others might have come
 *   by time     blocks of time: bursts, and hours that are not alike.  Blocks
 *               are as long as there can be KA_BLOCKS_WANTED of them, so that
 *               what belongs together stays together: bursts that are longer
 *               than a block look less than they are.  Within an hour there are
 *               too few, KA_UNITS_MIN of 10 minutes.  Of several servers a
 *               block holds what all of them did then
 *
 * Of the two the wider one counts, for each number by itself: one does not see
 * the hours, the other not the few addresses that make the traffic.  Of a
 * bracket an interval reaches from the low side's to the high side's.
 *
 * Blocks of hours within one day take it for chance which hours are busy: on
 * less than a week the intervals are rather too wide.  They say nothing of what
 * the source does not show: another season, or how connections were guessed.
 *
 * Workers [M12] rest on the busiest hour alone, of which there is one.  Its
 * mean A and its variance vary as those of a Gaussian process whose correlation
 * decays over d, the mean time that one connection is held (Little's law):
 *   sd(A) = sigma sqrt(2 d / P),  sd(variance) / variance = sqrt(2 d / P)
 * (Priestley, Spectral Analysis and Time Series, 1981, 5.3), P the hour, or the
 * whole window if that is shorter.  The mean's part is the wider of this and
 * the interval of the mean held; both parts add up in squares.
 */
#ifndef KA_INTERVALS_H
#define KA_INTERVALS_H

#include <stdbool.h>
#include <apr_errno.h>
#include <apr_pools.h>
#include "outcome.h"
#include "pieces.h"
#include "resample.h"

typedef struct ka_timeout_intervals {
    ka_interval connections;
    ka_interval reuse;
    ka_interval idle_mean, held_mean;
    ka_interval held_workers; /* of held.workers */
} ka_timeout_intervals;

typedef struct ka_intervals {
    ka_timeout_intervals *timeouts; /* timeouts[n], as the outcomes */
    ka_interval requests;     /* in the window */
    ka_interval busy_mean;
    ka_interval busy_workers; /* of busy.workers */
    ka_interval knee_us;      /* T_knee [M18] */
    size_t groups;   /* with traffic; 0: too few, only time was resampled */
    size_t blocks;   /* 0: too few, only visitors were */
    int64_t block_us;
} ka_intervals;

/**
 * @param out     arrays owned by pool
 * @param low     low[n], the side with the fewest connections
 * @param high    high[n]; == low without bracket
 * @param pieces  of each of the two sides; the second of a bracket only
 * @param delta   of [M18]
 * @return APR_SUCCESS; APR_INCOMPLETE: neither by visitor nor by time there
 *         are KA_UNITS_MIN pieces; APR_EINVAL: other timeouts; APR_ENOMEM.
 *         out is undefined unless APR_SUCCESS.
 * Takes some milliseconds, whatever the source.
 */
apr_status_t ka_intervals_make(ka_intervals *out,
                               const ka_pieces *const pieces[2],
                               const ka_outcome *low, const ka_outcome *high,
                               size_t n, double delta, apr_pool_t *pool);

/** Half the width as a share of the number; 0 where that is 0. */
double ka_interval_width(ka_interval interval, double number);

#endif
