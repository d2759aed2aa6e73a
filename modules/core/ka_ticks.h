/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_ticks: how many connections a shorter KeepAliveTimeout would hold, some
 * thirty times a second.
 *
 * Under a timeout T below the one in force, the connections held at an instant
 * are those that are open now, but for the ones idle for longer than T ([M3]).
 * An idle time is known when it ends; only then, and only if it was longer
 * than the least of the ages, it is told, of the ticks that it covered:
 *
 *      response                                      next request, or gone
 *   ------|----- T -----|.......... not held .........|------
 *                      +1 in this tick              -1 in this one
 *
 * So it costs short idle times one comparison.  Requests that last longer than
 * a tick are told just so: they are what KeepAlive Off holds, but for short
 * ones.
 *
 *   children, now ....................... back to 3/4 of the ring
 *   parent, up to 7/8 back: adds what ticks held to the levels, and clears the
 *   deltas, so that the ring can go round
 *
 * An idle time that began before 3/4 of the ring is told as if it had begun
 * there: 400 s with KA_TICKS.  What goes on is not told yet: a reader must not
 * look at the last T0 before the present.
 *
 * Every delta is added to a level once, whatever a thread slept through: a
 * level may be wrong for a while, but not for good.  A child killed between
 * the two adds of a pair leaves it wrong by one.
 *
 * Concurrency: children add by relaxed atomics, from any thread; fold is the
 * parent's, or of whoever has a copy.
 */
#ifndef KA_TICKS_H
#define KA_TICKS_H

#include <apr_pools.h>

#include "ka_segment.h"

#define KA_TICK_US (INT64_C(1) << KA_TICK_BITS)
/* Nine minutes, 2 MB. */
#define KA_TICKS 16384

/* Idle times that are told of, us, ascending: the timeouts that kaadvisor
 * shows, and some between. */
extern const int64_t ka_ages_us[KA_AGE_N];
#define KA_AGE_LEAST_US INT64_C(200000)

typedef struct ka_ticks {
    ka_segment_tick *ticks;                /* [n] */
    ka_segment_level *levels[KA_LEVEL_N];
    uint32_t n;                            /* 0: none are kept */
    int64_t started;                       /* tick in which tag 1 lies */
} ka_ticks;

/** Those of a formatted segment, or none. */
ka_ticks ka_ticks_of(ka_segment_header *header);

/* ---- children ----------------------------------------------------------- */

/** After a connection came or went. @param gauges  word of all children */
void ka_ticks_open(const ka_ticks *t, uint64_t gauges, int64_t mono_us);

/** An idle time that ended: with a request, or as the connection went. */
void ka_ticks_idle(const ka_ticks *t, int64_t from_us, int64_t to_us);

/** A request that ended, HTTP/2's streams apart. */
void ka_ticks_served(const ka_ticks *t, int64_t from_us, int64_t to_us);

/* ---- parent ------------------------------------------------------------- */

/** Adds what lies 7/8 of the ring back to the levels: once a minute at least.
 */
void ka_ticks_fold(const ka_ticks *t, int64_t mono_us);

/* ---- readers ------------------------------------------------------------ */

/** The bin of a level's distribution, and the largest level in a bin. */
size_t ka_level_bin(uint64_t level);
uint64_t ka_level_most(size_t bin);

/** How long an idle time may be so that all of it is told. */
int64_t ka_ticks_reach_us(const ka_segment_header *header);

/**
 * The levels with all ticks that begin before a moment.
 * @param out       [KA_LEVEL_N]; what they hold is foreign, but level is sane
 * @param until_at  us since the epoch; INT64_MAX: as far as they reach
 * @return the ticks in them since the segment's start; 0: out untouched, since
 *         there are none
 */
uint32_t ka_ticks_read(ka_segment_level *out, const ka_segment_header *header,
                       int64_t until_at, apr_pool_t *pool);

#endif
