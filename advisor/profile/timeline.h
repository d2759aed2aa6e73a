/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_timeline: [M11] for a stream: how many connections each timeout holds,
 * from counts of what begins and ends in each tick of time.
 *
 * An idle time of length g matters to a timeout only by whether it is longer.
 * So the timeouts T[0] < T[1] < ... sort idle times into classes, class k =
 * #{j : T[j] < g}, and one count by class serves all timeouts:
 *
 *   open(t, k)  a request at t opens a connection under each T[j], j < k
 *   wait(t, k)  an idle time that began at t ends at t + T[j], j < k, with
 *               the server's close
 *   quit(t, k)  a client's close at t ends it under each T[j], j >= k
 *   busy(f, t)  a request is served from f to t
 *   again(t)    a request at t follows without an idle time: with KeepAlive
 *               Off, one more that came
 *
 *     rings (one a writer)          master                  occupancies
 *   tick | open wait quit |                                one a timeout
 *   tick | .. .. by class | --sum--> tick | by timeout | --time--> bins, hours
 *
 * Ticks are as long as the log's clock tells times apart: with whole seconds
 * everything is exact, for timeouts of any length.  Where times are finer
 * than the tick, a time counts from the next tick on: the number of holders is
 * then looked at once a tick.
 *
 * Memory: rings of half an hour or so; what lies further ahead (the end of a
 * very long response) waits in a list.
 *
 * Concurrency: each ring has one writer; ka_timeline_fold when none writes.
 */
#ifndef KA_TIMELINE_H
#define KA_TIMELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../crew.h"
#include "tally.h"

/* Writers. */
#define KA_TIMELINE_RINGS 4

/* No idle time is longer: clients close before (observation.h). */
#define KA_TIMELINE_IDLE_US (INT64_C(300) * 1000000)

typedef struct ka_far_cell {
    int64_t tick;
    size_t cell;
} ka_far_cell;

typedef struct ka_ring {
    uint32_t *cells;    /* cells[ticks][width] */
    uint64_t *touched;  /* a bit for each tick that has something */
    int64_t low;        /* the first tick that is kept */
    int64_t first;      /* the first that may still be written */
    int64_t mask;       /* ticks - 1, ticks a power of two */
    size_t width, side; /* cells of a tick; of one of its sides */
    size_t classes;
    bool whole;         /* ticks are whole seconds */
    ka_far_cell *far;   /* far[far_n] */
    size_t far_n, far_size;
    bool failed;
} ka_ring;

typedef struct ka_timeline ka_timeline;

/**
 * Ticks of a second if every time is a multiple of it, else of a tenth.
 * @param timeouts  timeouts[n], ascending, KA_TIMEOUT_OFF first or not at all
 * @param begin_us  nothing is before it
 * @param server    ka_occupancy_server
 * @return to be freed by ka_timeline_free; NULL without memory
 */
ka_timeline *ka_timeline_make(const int64_t *timeouts, size_t n, bool whole,
                              int64_t begin_us, uint32_t server);
void ka_timeline_free(ka_timeline *timeline);

/** The ring of writer i < KA_TIMELINE_RINGS. */
ka_ring *ka_timeline_ring(ka_timeline *timeline, size_t i);

/** How far starts may run ahead of the last fold, in us. */
int64_t ka_timeline_reach(const ka_timeline *timeline);

/** #{j : T[j] < gap_us}, for a gap >= 0. */
size_t ka_timeline_class(const ka_timeline *timeline, int64_t gap_us);

/** Counts the time up to until_us into the occupancies: all that begins or
 * ends before it has been written. */
void ka_timeline_fold(ka_timeline *timeline, int64_t until_us, ka_crew *crew);

/**
 * Counts the rest, up to the end of each side's time, and moves the
 * occupancies into the tally's sides.
 * @return APR_SUCCESS; APR_ENOMEM
 */
apr_status_t ka_timeline_finish(ka_timeline *timeline, ka_tally *tally,
                                const int64_t end_us[2], ka_crew *crew);

/* ---- writing ------------------------------------------------------------- */

/** Counts in a cell of a tick that is not within the ring's reach. */
void ka_ring_far(ka_ring *ring, int64_t tick, size_t cell);

static inline int64_t ka_ring_tick(const ka_ring *ring, int64_t us)
{
    /* Constants, so that no division is left. */
    return ring->whole ? us / 1000000 : (us + 99999) / 100000;
}

static inline void ka_ring_count(ka_ring *ring, int64_t tick, size_t cell)
{
    int64_t at;

    /* What is late counts as soon as it can. */
    tick = tick > ring->first ? tick : ring->first;
    if (tick - ring->low > ring->mask) {
        ka_ring_far(ring, tick, cell);
        return;
    }
    at = tick & ring->mask;
    ring->touched[at >> 6] |= UINT64_C(1) << (at & 63);
    ring->cells[(size_t)at * ring->width + cell]++;
}

static inline void ka_ring_open(ka_ring *ring, int side, int64_t us, size_t k)
{
    ka_ring_count(ring, ka_ring_tick(ring, us), (size_t)side * ring->side + k);
}

static inline void ka_ring_wait(ka_ring *ring, int side, int64_t us, size_t k)
{
    ka_ring_count(ring, ka_ring_tick(ring, us),
                  (size_t)side * ring->side + ring->classes + k);
}

static inline void ka_ring_quit(ka_ring *ring, int side, int64_t us, size_t k)
{
    ka_ring_count(ring, ka_ring_tick(ring, us),
                  (size_t)side * ring->side + 2 * ring->classes + k);
}

static inline void ka_ring_again(ka_ring *ring, int side, int64_t us)
{
    ka_ring_count(ring, ka_ring_tick(ring, us),
                  (size_t)side * ring->side + 3 * ring->classes + 2);
}

static inline void ka_ring_busy(ka_ring *ring, int side, int64_t from_us,
                                int64_t to_us)
{
    const size_t cell = (size_t)side * ring->side + 3 * ring->classes;
    const int64_t from = ka_ring_tick(ring, from_us);
    const int64_t to = ka_ring_tick(ring, to_us);

    if (from < to) {
        ka_ring_count(ring, from, cell);
        ka_ring_count(ring, to, cell + 1);
    }
}

#endif
