/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Rings are folded tick by tick into the first one, the master, where cells by
 * class become cells by timeout; then each timeout counts (timeline_levels.c).
 * Ticks stay until no timeout looks back at them.
 */
#include "timeline_priv.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

/* Beside what starts since the last fold a ring holds what timeouts look back
 * at, the idle times that have not ended, clients' closes after these, and
 * as much again for responses in progress. */
#define BESIDE_US (5 * KA_TIMELINE_IDLE_US)
#define AHEAD_US (100 * KA_TICK_SECOND_US)
/* With fewer ticks that have something, to wake threads takes longer. */
#define TICKS_FOR_CREW 64
#define TICKS_MIN 4096

/* Cells that wait beyond the ring; of more, what lies beyond counts as soon as
 * the ring ends: responses of hours are rare, or a damaged log. */
#define FAR_MAX (1u << 16)

/* ---- making ------------------------------------------------------------- */

static int64_t ticks_of(const ka_timeline *t)
{
    int64_t ticks = TICKS_MIN;

    while (ticks * t->tick_us < BESIDE_US + AHEAD_US) {
        ticks *= 2;
    }
    return ticks;
}

static bool ring_init(ka_ring *ring, const ka_timeline *t, bool whole,
                      int64_t ticks)
{
    ring->whole = whole;
    ring->classes = t->timeout_n + 1;
    ring->side = 3 * ring->classes + 3;
    ring->width = 2 * ring->side;
    ring->mask = ticks - 1;
    ring->touched = calloc((size_t)ticks / 64, sizeof(*ring->touched));
    ring->first = t->begin_us / t->tick_us;
    ring->low = ring->first - KA_TIMELINE_IDLE_US / t->tick_us - 1;
    return ring->touched != NULL;
}

/* All rings in one array, which is then large enough for large pages. */
static bool rings_make(ka_timeline *t, bool whole)
{
    const int64_t ticks = ticks_of(t);
    bool room = true;
    size_t i, cells;

    for (i = 0; i < KA_TIMELINE_RINGS; i++) {
        room = ring_init(&t->rings[i], t, whole, ticks) && room;
    }
    cells = (size_t)ticks * t->rings[0].width;
    t->cells = ka_array_alloc(KA_TIMELINE_RINGS * cells, sizeof(*t->cells));
    for (i = 0; t->cells && i < KA_TIMELINE_RINGS; i++) {
        t->rings[i].cells = t->cells + i * cells;
    }
    t->ticks = calloc((size_t)ticks, sizeof(*t->ticks));
    return room && t->cells && t->ticks;
}

static bool levels_make(ka_timeline *t)
{
    size_t side, j;

    for (side = 0; side < 2; side++) {
        t->levels[side] = calloc(t->timeout_n + 1, sizeof(ka_timeline_level));
        if (!t->levels[side]) {
            return false;
        }
        for (j = 0; j <= t->timeout_n; j++) {
            ka_timeline_level_init(&t->levels[side][j], t, side, j);
        }
    }
    return true;
}

/* The least class of the gaps of each tenth of a second. */
static void classes_make(ka_timeline *t)
{
    size_t i, k = 0;

    for (i = 0; i < sizeof(t->class_of); i++) {
        while (k < t->timeout_n &&
               t->timeouts[k] < (int64_t)i * KA_FINE_TICK_US) {
            k++;
        }
        t->class_of[i] = (unsigned char)k;
    }
}

ka_timeline *ka_timeline_make(const int64_t *timeouts, size_t n, bool whole,
                              int64_t begin_us, uint32_t server)
{
    ka_timeline *t = calloc(1, sizeof(*t));

    if (!t) {
        return NULL;
    }
    memcpy(t->timeouts, timeouts, n * sizeof(*timeouts));
    t->timeout_n = n;
    t->tick_us = whole ? KA_WHOLE_TICK_US : KA_FINE_TICK_US;
    t->begin_us = begin_us / t->tick_us * t->tick_us;
    t->server = server;
    t->folded = t->begin_us / t->tick_us;
    if (!rings_make(t, whole) || !levels_make(t)) {
        ka_timeline_free(t);
        return NULL;
    }
    classes_make(t);
    return t;
}

void ka_timeline_free(ka_timeline *t)
{
    size_t i, j;

    if (!t) {
        return;
    }
    for (i = 0; i < KA_TIMELINE_RINGS; i++) {
        free(t->rings[i].touched);
        free(t->rings[i].far);
    }
    free(t->ticks);
    free(t->cells);
    for (i = 0; i < 2; i++) {
        for (j = 0; t->levels[i] && j <= t->timeout_n; j++) {
            ka_occupancy_clear(&t->levels[i][j].occupancy);
            ka_occupancy_clear(&t->levels[i][j].early);
            ka_busiest_clear(&t->levels[i][j].busiest);
        }
        free(t->levels[i]);
    }
    free(t);
}

ka_ring *ka_timeline_ring(ka_timeline *t, size_t i)
{
    return &t->rings[i];
}

int64_t ka_timeline_reach(const ka_timeline *t)
{
    return (t->rings[0].mask + 1) * t->tick_us - BESIDE_US;
}

size_t ka_timeline_class(const ka_timeline *t, int64_t gap_us)
{
    size_t k;

    if (gap_us >= KA_TIMELINE_IDLE_US) {
        k = t->class_of[KA_TIMELINE_IDLE_US / KA_FINE_TICK_US];
    }
    else {
        k = t->class_of[gap_us / KA_FINE_TICK_US];
    }
    while (k < t->timeout_n && t->timeouts[k] < gap_us) {
        k++;
    }
    return k;
}

/* ---- cells that lie far ahead -------------------------------------------- */

void ka_ring_far(ka_ring *ring, int64_t tick, size_t cell)
{
    if (ring->far_n == FAR_MAX) {
        ka_ring_count(ring, ring->low + ring->mask, cell);
        return;
    }
    if (ring->far_n == ring->far_size) {
        const size_t size = ring->far_size ? 2 * ring->far_size : 64;
        ka_far_cell *far = realloc(ring->far, size * sizeof(*far));

        if (!far) {
            ring->failed = true;
            return;
        }
        ring->far = far;
        ring->far_size = size;
    }
    ring->far[ring->far_n++] = (ka_far_cell){tick, cell};
}

static void take_far(ka_ring *ring)
{
    size_t i, kept = 0;

    for (i = 0; i < ring->far_n; i++) {
        const ka_far_cell far = ring->far[i];

        if (far.tick - ring->low > ring->mask) {
            ring->far[kept++] = far;
        }
        else {
            ka_ring_count(ring, far.tick, far.cell);
        }
    }
    ring->far_n = kept;
}

/* ---- ticks --------------------------------------------------------------- */

static void untouch(ka_ring *ring, int64_t tick)
{
    const int64_t at = tick & ring->mask;

    memset(ka_ring_cells(ring, tick), 0, ring->width * sizeof(*ring->cells));
    ring->touched[at >> 6] &= ~(UINT64_C(1) << (at & 63));
}

/* cells[j] becomes the sum over the classes k > j. */
static void sum_above(uint32_t *cells, size_t timeout_n)
{
    uint32_t sum = 0, next = cells[timeout_n];
    size_t k;

    for (k = timeout_n; k > 0; k--) {
        sum += next;
        next = cells[k - 1];
        cells[k - 1] = sum;
    }
}

/* cells[j] becomes the sum over the classes k <= j. */
static void sum_up_to(uint32_t *cells, size_t timeout_n)
{
    size_t k;

    for (k = 1; k < timeout_n; k++) {
        cells[k] += cells[k - 1];
    }
}

/* All rings' cells of a tick, by timeout, in the master. */
static void fold_tick(ka_timeline *t, int64_t tick)
{
    ka_ring *master = &t->rings[0];
    uint32_t *into = ka_ring_cells(master, tick);
    const int64_t at = tick & master->mask;
    size_t i, c;

    for (i = 1; i < KA_TIMELINE_RINGS; i++) {
        ka_ring *ring = &t->rings[i];
        const uint32_t *from = ka_ring_cells(ring, tick);

        if (ring->touched[at >> 6] >> (at & 63) & 1) {
            for (c = 0; c < master->width; c++) {
                into[c] += from[c];
            }
            untouch(ring, tick);
        }
    }
    for (i = 0; i < 2; i++) {
        uint32_t *side = into + i * master->side;

        sum_above(side, t->timeout_n);
        sum_above(side + master->classes, t->timeout_n);
        sum_up_to(side + 2 * master->classes, t->timeout_n);
    }
}

static void fold_ticks(ka_timeline *t, int64_t until)
{
    ka_ring *master = &t->rings[0];
    size_t i, word;
    int64_t tick;

    /* Mark in the master what any ring has. */
    for (i = 1; i < KA_TIMELINE_RINGS; i++) {
        for (word = 0; word <= (size_t)master->mask / 64; word++) {
            master->touched[word] |= t->rings[i].touched[word];
        }
    }
    t->tick_n = 0;
    for (tick = ka_ring_next_touched(master, master->low, until); tick < until;
         tick = ka_ring_next_touched(master, tick + 1, until)) {
        t->ticks[t->tick_n++] = tick;
        if (tick >= t->folded) {
            fold_tick(t, tick);
        }
    }
}

/* Forgets what no timeout looks back at, and makes room ahead. */
static void move_on(ka_timeline *t, int64_t until)
{
    ka_ring *master = &t->rings[0];
    const int64_t low = until - KA_TIMELINE_IDLE_US / t->tick_us - 1;
    int64_t tick;
    size_t i;

    for (tick = ka_ring_next_touched(master, master->low, low); tick < low;
         tick = ka_ring_next_touched(master, tick + 1, low)) {
        untouch(master, tick);
    }
    for (i = 0; i < KA_TIMELINE_RINGS; i++) {
        t->rings[i].low = low;
        t->rings[i].first = until;
        take_far(&t->rings[i]);
    }
    t->folded = until;
}

typedef struct fold_job {
    ka_timeline *timeline;
    int64_t until;
} fold_job;

static void fold_level(void *context, size_t item, size_t worker)
{
    const fold_job *job = context;
    ka_timeline *t = job->timeline;
    const size_t levels = t->timeout_n + 1;

    (void)worker;
    ka_timeline_level_advance(&t->levels[item / levels][item % levels], t,
                              job->until);
}

static void fold_up_to(ka_timeline *t, int64_t until, ka_crew *crew)
{
    /* What lies further ahead than the ring comes in as it moves on. */
    const int64_t last = t->rings[0].low + t->rings[0].mask;
    const size_t levels = 2 * (t->timeout_n + 1);
    fold_job job = {.timeline = t, .until = until < last ? until : last};
    size_t i;

    fold_ticks(t, job.until);
    if (t->tick_n >= TICKS_FOR_CREW) {
        ka_crew_run(crew, fold_level, &job, levels);
    }
    else {
        for (i = 0; i < levels; i++) {
            fold_level(&job, i, 0);
        }
    }
    move_on(t, job.until);
}

/* Nothing is in the rings, but for what lies far ahead. */
static bool is_empty(const ka_timeline *t)
{
    const size_t words = (size_t)(t->rings[0].mask + 1) / 64;
    size_t i, word;

    for (i = 0; i < KA_TIMELINE_RINGS; i++) {
        for (word = 0; word < words; word++) {
            if (t->rings[i].touched[word]) {
                return false;
            }
        }
    }
    return true;
}

/* The first tick that lies far ahead; `until` if none is before it. */
static int64_t next_far(const ka_timeline *t, int64_t until)
{
    size_t i, j;

    for (i = 0; i < KA_TIMELINE_RINGS; i++) {
        for (j = 0; j < t->rings[i].far_n; j++) {
            if (t->rings[i].far[j].tick < until) {
                until = t->rings[i].far[j].tick;
            }
        }
    }
    return until;
}

/* Clocks that start in 1970, or a response of years, leave half a century
 * without anything. */
static void pass_over(ka_timeline *t, int64_t until)
{
    size_t i;

    for (i = 0; i < KA_TIMELINE_RINGS; i++) {
        t->rings[i].low = until - KA_TIMELINE_IDLE_US / t->tick_us - 1;
        t->rings[i].first = until;
        take_far(&t->rings[i]);
    }
    t->folded = until;
}

void ka_timeline_fold(ka_timeline *t, int64_t until_us, ka_crew *crew)
{
    const int64_t until = until_us / t->tick_us;

    while (t->folded < until) {
        if (until - t->folded > t->rings[0].mask && is_empty(t)) {
            const int64_t to = next_far(t, until);

            if (to > t->folded) {
                pass_over(t, to);
                continue;
            }
        }
        fold_up_to(t, until, crew);
    }
}

/* ---- the end ------------------------------------------------------------- */

static void set_ends(ka_timeline *t, const int64_t end_us[2])
{
    size_t side, j;

    for (side = 0; side < 2; side++) {
        for (j = 0; j <= t->timeout_n; j++) {
            t->levels[side][j].end_us = end_us[side];
        }
    }
}

apr_status_t ka_timeline_finish(ka_timeline *t, ka_tally *tally,
                                const int64_t end_us[2], ka_crew *crew)
{
    const int64_t end = end_us[0] > end_us[1] ? end_us[0] : end_us[1];
    bool failed = false;
    size_t side, j;

    set_ends(t, end_us);
    /* What comes at the very end came, too. */
    ka_timeline_fold(t, end + t->tick_us, crew);
    for (side = 0; side < 2; side++) {
        ka_tally_side *s = &tally->side[side];

        for (j = 0; j < t->timeout_n; j++) {
            failed |= !ka_timeline_level_finish(&t->levels[side][j],
                                                &s->timeouts[j].held,
                                                &s->timeouts[j].busiest, t);
        }
        failed |= !ka_timeline_level_finish(&t->levels[side][j], &s->busy,
                                            &s->busiest, t);
    }
    for (j = 0; j < KA_TIMELINE_RINGS; j++) {
        failed = failed || t->rings[j].failed;
    }
    return failed ? APR_ENOMEM : APR_SUCCESS;
}
