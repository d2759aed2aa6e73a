/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_cover: how many connections one expects to be held, second by second, from
 * the requests, new connections and busy ones of each second and the
 * distribution of gaps.
 *
 * Under a timeout T a new connection is open for T at least.  A request that
 * comes g <= T after the one before keeps it open g longer: no more than the
 * last g of the T after it are its own.  One that comes later is alone.
 *
 *   request   |........... T ...........|
 *      g later    |........... T ...........|
 *                                       |g  |
 *
 * So x after them, of those in one second there wait, beyond what stood before
 *
 *   fresh(x) = 1            for each new connection       0 <= x < T
 *   again(x) = P(g > T - x) for each request on one that was open
 *
 * and over all x that adds up to N0 T + sum min(g, T), [M5] without clients
 * that close by themselves: the result is scaled to the mean that is known.
 * The busy ones of a second are added, as many as there were at most: too many
 * where they are the same that wait at the second's end.
 */
#ifndef KA_COVER_H
#define KA_COVER_H

#include <apr_errno.h>
#include "histsweep.h"

/* At the timeouts in force. */
#define KA_COVER_IN_FORCE INT64_C(-2)

/**
 * @param held        held[t->open.n]: connections, the most in each second
 * @param timeout_us  T; the same as KA_TIMEOUT_OFF, or KA_COVER_IN_FORCE
 * @param linger_us   that a connection stays after it, on average
 * @param mean        of those that wait, with what follows the last second
 * @return APR_SUCCESS; APR_EINVAL if requests or connections of the seconds
 *         are not known, or they were none; APR_ENOMEM
 */
apr_status_t ka_cover_held(double *held, const ka_hist_traffic *t,
                           int64_t timeout_us, double linger_us, double mean);

#endif
