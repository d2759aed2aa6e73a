/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Each timeout walks over the ticks that have something, twice at once:
 *
 *   T[j]   opens and quits at tick t        -> count at t
 *          waits at tick t                  -> count at t + T[j]
 */
#include "timeline_priv.h"

#include <stdlib.h>

void ka_timeline_level_init(ka_timeline_level *l, const ka_timeline *t,
                            size_t side, size_t j)
{
    const ka_ring *ring = &t->rings[0];
    const size_t cell = side * ring->side;
    const bool busy = j == t->timeout_n;

    *l = (ka_timeline_level){.now_us = t->begin_us,
                             .end_us = INT64_MAX,
                             .settled_us = t->begin_us};
    ka_occupancy_init(&l->occupancy);
    ka_occupancy_init(&l->early);
    l->up = busy ? cell + 3 * ring->classes : cell + j;
    l->down = busy ? l->up + 1 : cell + 2 * ring->classes + j;
    /* With KeepAlive Off each request opens, those that joined aside. */
    l->each = busy || t->timeouts[j] == KA_TIMEOUT_OFF;
    l->arrive = busy ? cell : l->up;
    l->again = cell + 3 * ring->classes + 2;
    if (!busy) {
        l->timeout_us = t->timeouts[j] > 0 ? t->timeouts[j] : 0;
        l->settled_us += l->timeout_us;
        l->late_down = cell + ring->classes + j;
        l->waits = l->timeout_us < KA_TIMELINE_IDLE_US;
    }
    ka_busiest_init(&l->busiest, t->begin_us, l->timeout_us);
}

/* ---- time ---------------------------------------------------------------- */

/* Up to an instant, in ms: rounded down, so that times add up. */
static void add_span(ka_timeline_level *l, const ka_timeline *t, int64_t to_us,
                     bool settled)
{
    const uint64_t count = l->count > 0 ? (uint64_t)l->count : 0;
    const int64_t from = l->now_us / 1000, to = to_us / 1000;

    if (l->now_us >= to_us) {
        return;
    }
    ka_occupancy_add_span(&l->occupancy, count, from, to, t->server, settled);
    if (!settled) {
        ka_occupancy_add_span(&l->early, count, from, to, t->server, true);
    }
    l->now_us = to_us;
}

static void add_time(ka_timeline_level *l, const ka_timeline *t, int64_t to_us)
{
    to_us = to_us < l->end_us ? to_us : l->end_us;
    ka_busiest_hold(&l->busiest, to_us, l->count > 0 ? (uint64_t)l->count : 0);
    add_span(l, t, to_us < l->settled_us ? to_us : l->settled_us, false);
    add_span(l, t, to_us, true);
}

static void arrive(ka_timeline_level *l, int64_t at_us, const uint32_t *cells)
{
    const uint32_t arrivals =
        cells[l->arrive] + (l->each ? cells[l->again] : 0);

    if (arrivals) {
        ka_busiest_hold(&l->busiest, at_us < l->end_us ? at_us : l->end_us,
                        l->count > 0 ? (uint64_t)l->count : 0);
        ka_busiest_come(&l->busiest, arrivals);
    }
}

static void change(ka_timeline_level *l, const ka_timeline *t, int64_t at_us,
                   int64_t by)
{
    if (by != 0) {
        add_time(l, t, at_us);
        l->count += by;
    }
}

/* The place of the first tick at or after `from` in the list. */
static size_t first_from(const ka_timeline *t, int64_t from)
{
    size_t low = 0, high = t->tick_n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (t->ticks[middle] < from) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

/* Takes all steps at instants of ticks before `until`.  Steps at one instant
 * are summed up before time goes on, since no time is added between them. */
void ka_timeline_level_advance(ka_timeline_level *l, const ka_timeline *t,
                               int64_t until)
{
    const ka_ring *master = &t->rings[0];
    const int64_t back = (l->timeout_us + t->tick_us - 1) / t->tick_us;
    const size_t n = t->tick_n;
    size_t now = first_from(t, t->folded);
    size_t late = l->waits ? first_from(t, t->folded - back) : n;

    while (now < n || late < n) {
        const int64_t now_us = now < n ? t->ticks[now] * t->tick_us : INT64_MAX;
        const int64_t late_us =
            late < n ? t->ticks[late] * t->tick_us + l->timeout_us : INT64_MAX;

        if (now_us <= late_us) {
            const uint32_t *cells = ka_ring_cells(master, t->ticks[now++]);

            arrive(l, now_us, cells);
            change(l, t, now_us, (int64_t)cells[l->up] - cells[l->down]);
            continue;
        }
        if (late_us >= until * t->tick_us) {
            break;
        }
        if (late_us >= t->folded * t->tick_us) {
            change(l, t, late_us,
                   -(int64_t)ka_ring_cells(master,
                                           t->ticks[late])[l->late_down]);
        }
        late++;
    }
}

/* ---- the end ------------------------------------------------------------- */

static void give(ka_occupancy *to, ka_occupancy *from)
{
    ka_occupancy_clear(to);
    *to = *from;
    ka_occupancy_init(from);
}

/* In a window of less than four times T there is no time to settle: all of it
 * belongs to its hours. */
bool ka_timeline_level_finish(ka_timeline_level *l, ka_occupancy *to,
                              ka_busiest *busiest, const ka_timeline *t)
{
    bool failed;

    add_time(l, t, l->end_us);
    ka_busiest_end(&l->busiest, l->end_us, 0);
    *busiest = l->busiest;
    l->busiest = (ka_busiest){0};
    if (l->timeout_us * 4 > l->end_us - t->begin_us) {
        l->early.ms = l->early.sum = l->early.squares = 0;
        free(l->early.bins);
        l->early.bins = NULL;
        l->early.size = 0;
        ka_occupancy_merge(&l->occupancy, &l->early);
    }
    failed = l->occupancy.failed;
    give(to, &l->occupancy);
    return !failed;
}
