/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Inside timeline.h.
 *
 *   timeline.c         rings, and folding them
 *   timeline_levels.c  each timeout's holders from folded ticks
 */
#ifndef KA_TIMELINE_PRIV_H
#define KA_TIMELINE_PRIV_H

#include "timeline.h"

#define KA_TICK_SECOND_US INT64_C(1000000)
#define KA_WHOLE_TICK_US KA_TICK_SECOND_US
#define KA_FINE_TICK_US (KA_TICK_SECOND_US / 10)

/* Counters of one number of holders. */
typedef struct ka_timeline_level {
    int64_t timeout_us; /* how long after its start a wait ends */
    size_t up, down;    /* cells: at their tick */
    size_t arrive;      /* cell: what came ... */
    size_t again;       /* ... and, if each request comes anew, another cell */
    bool each;
    size_t late_down;   /* cell: timeout_us after its tick */
    bool waits;         /* there is a late_down */
    int64_t settled_us; /* from when on hours are counted */
    int64_t now_us;     /* counted so far */
    int64_t end_us;     /* of its time */
    int64_t count;
    ka_occupancy occupancy;
    ka_occupancy early; /* time before settled_us, with its hours */
    ka_busiest busiest;
} ka_timeline_level;

struct ka_timeline {
    ka_ring rings[KA_TIMELINE_RINGS];
    uint32_t *cells; /* of all rings */
    int64_t timeouts[KA_TALLY_TIMEOUTS];
    size_t timeout_n;
    int64_t tick_us;
    int64_t begin_us;
    uint32_t server;
    int64_t folded; /* ticks before it are in the master, by timeout */
    int64_t *ticks; /* ticks[tick_n]: of the master, those that have something
                       and are folded or being folded; ascending */
    size_t tick_n;
    ka_timeline_level *levels[2]; /* levels[side][timeout_n + 1], the last
                                     one is busy */
    unsigned char class_of[KA_TIMELINE_IDLE_US / KA_FINE_TICK_US + 2];
};

/* The first tick of [from, until) that has something; until if none has. */
static inline int64_t ka_ring_next_touched(const ka_ring *ring, int64_t from,
                                           int64_t until)
{
    while (from < until) {
        const int64_t at = from & ring->mask;
        const uint64_t bits = ring->touched[at >> 6] >> (at & 63);

        if (bits) {
            from += __builtin_ctzll(bits);
            return from < until ? from : until;
        }
        from += 64 - (at & 63);
    }
    return until;
}

static inline uint32_t *ka_ring_cells(const ka_ring *ring, int64_t tick)
{
    return ring->cells + (size_t)(tick & ring->mask) * ring->width;
}

/** Prepares the level of timeout j, or for j = timeout_n of busy. */
void ka_timeline_level_init(ka_timeline_level *level, const ka_timeline *t,
                            size_t side, size_t j);

/** Counts what happens in the listed ticks, before `until`. */
void ka_timeline_level_advance(ka_timeline_level *level, const ka_timeline *t,
                               int64_t until);

/** Counts the rest of its time, and gives its occupancy and busiest hour away.
 * @return false if memory ran out for the occupancy */
bool ka_timeline_level_finish(ka_timeline_level *level, ka_occupancy *to,
                              ka_busiest *busiest, const ka_timeline *t);

#endif
