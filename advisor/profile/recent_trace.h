/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The recent connections of a segment as a trace.  The ring tells of each
 * when it began, its number of requests, how long it served and idled in all,
 * its longest gap, and how it ended; not each gap.
 *
 *     known    |first|<----------- service + idle ---------->|tail|
 *     rebuilt        |==|.|==|.|==|.......longest.......|==|.|==|
 *
 * Requests take the same time each.  One gap is the longest; the others are
 * drawn from the segment's distribution and stretched so that they add up to
 * what is left.  So at the timeout in force, and above it, connections and idle
 * time are exact; below it they are estimates.  A connection that the server
 * closed is linked to the same client's next one, the latest end <= start
 * (MODEL 6): they are one chain.
 */
#ifndef KA_RECENT_TRACE_H
#define KA_RECENT_TRACE_H

#include <apr_pools.h>
#include <ka_histogram.h>
#include <ka_segment.h>
#include "trace.h"

/* Requests of the trace at most. */
#define KA_RECENT_REQUESTS_MAX 1000000u

/* How long a client keeps a connection that the server closed, and does not
 * come back (MODEL 6: 60 to 300 s). */
#define KA_RECENT_KEPT_US (INT64_C(300) * 1000000)

/**
 * @param out     the caller's, to be cleared
 * @param recent  recent[n], in any order; those without a request, and those
 *                that `wanted` leaves out, are not in it
 * @param gap     us: of all connections; NULL or empty: gaps are even
 * @param wanted  wanted[recent[i].vhost]; NULL: all
 * @return false: more than KA_RECENT_REQUESTS_MAX requests, or no memory; out
 *         is empty then.  Nonsense of a foreign file makes nonsense, within
 *         bounds
 */
bool ka_recent_trace(ka_trace *out, const ka_segment_recent *recent, size_t n,
                     const ka_hist *gap, const bool *wanted, uint64_t seed,
                     apr_pool_t *pool);

#endif
