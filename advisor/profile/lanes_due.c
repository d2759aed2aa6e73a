/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Live lanes time out in exact order, since the latest of a client's is taken
 * over first: they wait in lists by second, and those of the present second
 * in a heap, which stays small enough for the caches.  A request does not
 * touch either: a lane is looked at when its time comes, and put further
 * ahead if it has been used meanwhile.  The order in which timed out lanes end
 * does not matter, so lists are enough.
 */
#include "lanes_priv.h"

#include <stdlib.h>

#define WHEEL_MASK (KA_WHEEL_SECONDS - 1)
#define HEAP_FIRST 256

/* A list's first lane has its place on the wheel as prev. */
#define LIST_BIT (UINT32_C(1) << 31)

/* When a live lane times out; without a T0 its client's limit ends it, and
 * who comes next at a place may be another one.  No idle time is longer than
 * the timeline takes. */
static int64_t due_of(const ka_lane_set *set, const ka_lane *lane)
{
    int64_t wait_us = set->rules->cut_us;

    if (wait_us < 0 && lane->named) {
        wait_us = KA_TIMELINE_IDLE_US;
    }
    else if (wait_us < 0 || lane->state == KA_LANE_TIMED) {
        wait_us = ka_lane_limit(lane->limit_s);
    }
    return lane->end_us +
           (wait_us < KA_TIMELINE_IDLE_US ? wait_us : KA_TIMELINE_IDLE_US);
}

/* ---- lists --------------------------------------------------------------- */

static void list_put(ka_lane_set *set, ka_lane_queue *queue, uint32_t at,
                     int64_t due_us)
{
    const int64_t last = queue->second + KA_WHEEL_SECONDS - 1;
    int64_t second = due_us / KA_SECOND_US;
    ka_lane *lane = ka_lane_at(set, at);
    uint32_t slot;

    second = second > last ? last
                           : second < queue->second ? queue->second : second;
    slot = (uint32_t)(second & WHEEL_MASK);
    lane->next = queue->lists[slot];
    lane->prev = slot | LIST_BIT;
    if (lane->next != KA_LANE_NONE) {
        ka_lane_at(set, lane->next)->prev = at;
    }
    queue->lists[slot] = at;
}

static void list_take_out(ka_lane_set *set, uint32_t at)
{
    const ka_lane *lane = ka_lane_at(set, at);
    ka_lane_queue *queue =
        lane->state == KA_LANE_TIMED ? &set->timed : &set->live;

    if (lane->prev & LIST_BIT) {
        queue->lists[lane->prev & WHEEL_MASK] = lane->next;
    }
    else {
        ka_lane_at(set, lane->prev)->next = lane->next;
    }
    if (lane->next != KA_LANE_NONE) {
        ka_lane_at(set, lane->next)->prev = lane->prev;
    }
}

/* ---- heap ---------------------------------------------------------------- */

static bool heap_room(ka_lane_set *set)
{
    const size_t size = set->heap_size ? 2 * set->heap_size : HEAP_FIRST;
    ka_lane_due *heap;

    if (set->heap_n < set->heap_size) {
        return true;
    }
    heap = realloc(set->heap, size * sizeof(*heap));
    if (heap == NULL) {
        set->failed = true;
        return false;
    }
    set->heap = heap;
    set->heap_size = size;
    return true;
}

static void heap_put(ka_lane_set *set, uint32_t at, int64_t due_us)
{
    size_t i;

    if (!heap_room(set)) {
        return;
    }
    for (i = set->heap_n++;
         i > 0 && due_us < set->heap[(i - 1) / 2].due_us; i = (i - 1) / 2) {
        set->heap[i] = set->heap[(i - 1) / 2];
    }
    set->heap[i] = (ka_lane_due){due_us, at};
    ka_lane_at(set, at)->in_heap = true;
}

/* Takes the first one. */
static uint32_t heap_take(ka_lane_set *set)
{
    const uint32_t first = set->heap[0].lane;
    const ka_lane_due moved = set->heap[--set->heap_n];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < set->heap_n) {
        child += child + 1 < set->heap_n &&
                 set->heap[child + 1].due_us < set->heap[child].due_us;
        if (moved.due_us <= set->heap[child].due_us) {
            break;
        }
        set->heap[i] = set->heap[child];
        i = child;
    }
    set->heap[i] = moved;
    ka_lane_at(set, first)->in_heap = false;
    ka_lane_at(set, first)->prev = KA_LANE_NONE; /* in no list either */
    return first;
}

/* ---- live lanes ---------------------------------------------------------- */

static void live_put(ka_lane_set *set, uint32_t at)
{
    const int64_t due_us = due_of(set, ka_lane_at(set, at));

    if (due_us / KA_SECOND_US < set->live.second) {
        heap_put(set, at, due_us);
    }
    else {
        list_put(set, &set->live, at, due_us);
    }
}

/* The lists up to a second, to the heap or further ahead. */
static void live_lists(ka_lane_set *set, int64_t until)
{
    ka_lane_queue *queue = &set->live;
    int64_t second = queue->second;

    /* After a long pause, once around. */
    if (until - second >= KA_WHEEL_SECONDS) {
        second = until - KA_WHEEL_SECONDS + 1;
    }
    for (; second <= until; second++) {
        uint32_t at = queue->lists[second & WHEEL_MASK];

        queue->lists[second & WHEEL_MASK] = KA_LANE_NONE;
        queue->second = second + 1;
        while (at != KA_LANE_NONE) {
            const uint32_t next = ka_lane_at(set, at)->next;

            live_put(set, at);
            at = next;
        }
    }
}

static void live_fire(ka_lane_set *set, int64_t before_us)
{
    live_lists(set, before_us / KA_SECOND_US);
    while (set->heap_n > 0 && set->heap[0].due_us < before_us &&
           !set->failed) {
        const int64_t due_us = set->heap[0].due_us;
        const uint32_t at = heap_take(set);
        const ka_lane *lane = ka_lane_at(set, at);

        if (lane->state == KA_LANE_GONE) {
            ka_slab_remove(&set->lanes, at);
        }
        else if (due_of(set, lane) > due_us) {
            live_put(set, at); /* it was used since */
        }
        else {
            ka_lane_times_out(set, at);
        }
    }
}

/* ---- timed out lanes ----------------------------------------------------- */

static void end_all(ka_lane_set *set, uint32_t at)
{
    while (at != KA_LANE_NONE) {
        const ka_lane *lane = ka_lane_at(set, at);
        const uint32_t next = lane->next;

        ka_lane_over(set, at, ka_lane_limit(lane->limit_s));
        at = next;
    }
}

static void timed_fire(ka_lane_set *set, int64_t before_us)
{
    ka_lane_queue *queue = &set->timed;
    const int64_t until = before_us / KA_SECOND_US;
    int64_t second = queue->second;

    if (until - second > KA_WHEEL_SECONDS) {
        second = until - KA_WHEEL_SECONDS;
    }
    for (; second < until; second++) {
        queue->second = second + 1;
        /* Each takes itself out. */
        end_all(set, queue->lists[second & WHEEL_MASK]);
    }
}

/* ---- both ---------------------------------------------------------------- */

void ka_lane_schedule(ka_lane_set *set, uint32_t at)
{
    const ka_lane *lane = ka_lane_at(set, at);

    if (lane->state == KA_LANE_TIMED) {
        list_put(set, &set->timed, at, due_of(set, lane));
    }
    else {
        live_put(set, at);
    }
}

void ka_lane_free(ka_lane_set *set, uint32_t at)
{
    ka_lane *lane = ka_lane_at(set, at);

    if (lane->in_heap) {
        ka_slab_name(&set->lanes, at, 0);
        lane->state = KA_LANE_GONE;
        return;
    }
    if (lane->prev != KA_LANE_NONE) {
        list_take_out(set, at);
    }
    ka_slab_remove(&set->lanes, at);
}

void ka_lane_set_fire(ka_lane_set *set, int64_t before_us)
{
    live_fire(set, before_us);
    timed_fire(set, before_us);
}

/* ---- room ---------------------------------------------------------------- */

static int64_t len_of(const ka_lane *lane)
{
    return lane->ended ? 0 : ka_lane_limit(lane->limit_s);
}

/* Of the lists that come next, lanes that have been idle the longest, and
 * live ones that were used since they were put there. */
static void end_early(ka_lane_set *set, ka_lane_queue *queue, uint32_t wanted)
{
    int64_t second = queue->second;

    for (; second < queue->second + KA_WHEEL_SECONDS; second++) {
        uint32_t at = queue->lists[second & WHEEL_MASK];

        while (at != KA_LANE_NONE && set->lanes.n > wanted) {
            const ka_lane *lane = ka_lane_at(set, at);
            const uint32_t next = lane->next;

            set->forgotten++;
            ka_lane_over(set, at, len_of(lane));
            at = next;
        }
    }
}

void ka_lane_set_make_room(ka_lane_set *set)
{
    const uint32_t wanted = set->max - set->max / 16 - 1;

    end_early(set, &set->timed, wanted);
    end_early(set, &set->live, wanted);
    /* Else they are all due right now. */
    while (set->lanes.n > wanted && set->heap_n > 0) {
        const uint32_t at = heap_take(set);
        const ka_lane *lane = ka_lane_at(set, at);

        if (lane->state != KA_LANE_GONE) {
            set->forgotten++;
            ka_lane_over(set, at, len_of(lane));
            continue;
        }
        ka_slab_remove(&set->lanes, at);
    }
}
