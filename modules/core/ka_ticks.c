/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_ticks.h"

#include <string.h>

#include "ka_segment_writer.h"

#define S INT64_C(1000000)
#define HOUR_US UINT64_C(3600000000)
#define LEVEL_MAX ((INT64_C(1) << KA_LEVEL_BITS) - 1)

const int64_t ka_ages_us[KA_AGE_N] = {
    KA_AGE_LEAST_US, 350000, 500000, 700000, 1 * S,  3 * S / 2, 2 * S,
    5 * S / 2,       3 * S,  4 * S,  5 * S,  6 * S,  8 * S,     10 * S,
    12 * S,          15 * S, 20 * S, 25 * S, 30 * S, 40 * S,    50 * S,
    60 * S,          75 * S, 90 * S, 115 * S, 180 * S, 300 * S};

ka_ticks ka_ticks_of(ka_segment_header *header)
{
    ka_ticks t = {.started = header->started_mono >> KA_TICK_BITS};
    uint32_t i;

    if (ka_segment_has_ticks(header)) {
        t.ticks = ka_segment_entry(header, KA_SECTION_TICKS, 0);
        t.n = header->section[KA_SECTION_TICKS].n;
        for (i = 0; i < KA_LEVEL_N; i++) {
            t.levels[i] = ka_segment_entry(header, KA_SECTION_LEVELS, i);
        }
    }
    return t;
}

/* ---- children ----------------------------------------------------------- */

/* Times before the segment's start are in its first tick. */
static uint32_t tag_at(const ka_ticks *t, int64_t mono_us)
{
    int64_t tick = mono_us >> KA_TICK_BITS;

    return tick > t->started ? (uint32_t)(tick - t->started) + 1 : 1;
}

static uint32_t within(uint64_t level)
{
    return level < (uint64_t)LEVEL_MAX ? (uint32_t)level : (uint32_t)LEVEL_MAX;
}

void ka_ticks_open(const ka_ticks *t, uint64_t gauges, int64_t mono_us)
{
    ka_gauges g = ka_gauges_of(gauges);
    uint64_t tagged = within((uint64_t)g.idle + g.busy + g.closing);
    ka_segment_tick *tick;
    uint32_t tag;

    if (t->n == 0) {
        return;
    }
    tag = tag_at(t, mono_us);
    tick = &t->ticks[tag % t->n];
    tagged |= (uint64_t)tag << 32;
    ka_second_raise(&tick->open, tagged);
    __atomic_store_n(&tick->last, tagged, __ATOMIC_RELAXED);
}

static void add(const ka_ticks *t, unsigned delta, uint32_t tag, int32_t n)
{
    __atomic_fetch_add(&t->ticks[tag % t->n].delta[delta], n,
                       __ATOMIC_RELAXED);
}

/* From one tick to another, the latter not in it: none if they are one. */
static void add_span(const ka_ticks *t, unsigned delta, int64_t from_us,
                     uint32_t to)
{
    uint32_t reach = t->n - t->n / 4;
    uint32_t least = to > reach ? to - reach : 1;
    uint32_t from = tag_at(t, from_us);

    from = from > least ? from : least;
    if (from < to) {
        add(t, delta, from, 1);
        add(t, delta, to, -1);
    }
}

void ka_ticks_idle(const ka_ticks *t, int64_t from_us, int64_t to_us)
{
    uint32_t to, i;

    if (t->n == 0) {
        return;
    }
    to = tag_at(t, to_us);
    for (i = 0; i < KA_AGE_N && to_us - from_us > ka_ages_us[i]; i++) {
        add_span(t, i, from_us + ka_ages_us[i], to);
    }
}

void ka_ticks_served(const ka_ticks *t, int64_t from_us, int64_t to_us)
{
    if (t->n > 0) {
        add_span(t, KA_TICK_SERVED, from_us, tag_at(t, to_us));
    }
}

/* ---- levels ------------------------------------------------------------- */

size_t ka_level_bin(uint64_t level)
{
    unsigned shift;

    level = within(level);
    if (level < UINT64_C(1) << KA_LEVEL_SUB_BITS) {
        return (size_t)level;
    }
    shift = 63u - (unsigned)__builtin_clzll(level) - KA_LEVEL_SUB_BITS;
    return ((size_t)shift << KA_LEVEL_SUB_BITS) + (size_t)(level >> shift);
}

uint64_t ka_level_most(size_t bin)
{
    size_t shift = bin >> KA_LEVEL_SUB_BITS;

    if (shift < 2) {
        return bin; /* bins of one level */
    }
    shift--;
    return ((((uint64_t)bin - (shift << KA_LEVEL_SUB_BITS)) + 1) << shift) - 1;
}

/* Hours of ticks go round: one that is not this one is a week old. */
static ka_segment_hour *hour_at(ka_segment_level *level, uint32_t tag)
{
    uint32_t hour =
        (uint32_t)(((uint64_t)tag << KA_TICK_BITS) / HOUR_US) + 1;
    ka_segment_hour *h = &level->hours[hour % KA_LEVEL_HOURS];

    if (h->hour != hour) {
        *h = (ka_segment_hour){.hour = hour};
    }
    return h;
}

static uint64_t held(int64_t open, int64_t idle)
{
    int64_t n = open - idle;

    return n < 0 ? 0 : within((uint64_t)n);
}

/* @param n, most  at the tick's end, and within it */
static void count(ka_segment_level *level, uint32_t tag, uint64_t n,
                  uint64_t most)
{
    ka_segment_hour *hour = hour_at(level, tag);

    level->bins[ka_level_bin(n)]++;
    level->sum += n;
    level->peak = most > level->peak ? most : level->peak;
    hour->n++;
    hour->sum += n;
    hour->squares += n * n;
    level->folded = tag;
}

static int32_t take(ka_segment_tick *tick, unsigned delta)
{
    int32_t *word = &tick->delta[delta];

    return __atomic_load_n(word, __ATOMIC_RELAXED) == 0
               ? 0
               : __atomic_exchange_n(word, 0, __ATOMIC_RELAXED);
}

static int64_t tagged(const uint64_t *word, uint32_t tag, int64_t otherwise)
{
    uint64_t value = __atomic_load_n(word, __ATOMIC_RELAXED);

    return value >> 32 == tag ? within((uint32_t)value) : otherwise;
}

/* Connections open at a tick's end, and the most within it: before the first
 * change there were as many as at the end of the tick before. */
typedef struct opened {
    int64_t last, most;
} opened;

static opened open_in(ka_segment_level *level, const ka_segment_tick *tick,
                      uint32_t tag)
{
    opened o = {.last = tagged(&tick->last, tag, level->level),
                .most = tagged(&tick->open, tag, level->level)};

    o.most = o.most > level->level ? o.most : level->level;
    level->level = o.last;
    return o;
}

static void fold_tick(const ka_ticks *t, uint32_t tag)
{
    ka_segment_tick *tick = &t->ticks[tag % t->n];
    opened open = open_in(t->levels[KA_LEVEL_OPEN], tick, tag);
    unsigned i;

    for (i = 0; i < KA_TICK_DELTA_N; i++) {
        ka_segment_level *level = t->levels[i];
        int64_t n = level->level += take(tick, i);

        if (i == KA_TICK_SERVED) {
            count(level, tag, held(n, 0), held(n, 0));
        }
        else {
            count(level, tag, held(open.last, n), held(open.most, n));
        }
    }
    count(t->levels[KA_LEVEL_OPEN], tag, held(open.last, 0),
          held(open.most, 0));
}

/* Ticks that the ring has gone past are not counted; their deltas lie in
 * those that are. */
static void fold_until(const ka_ticks *t, uint32_t last)
{
    uint64_t from = t->levels[KA_LEVEL_OPEN]->folded;

    if (from < last && last - from > t->n) {
        from = last - t->n;
    }
    while (from < last) {
        fold_tick(t, (uint32_t)++from);
    }
}

void ka_ticks_fold(const ka_ticks *t, int64_t mono_us)
{
    uint32_t tag, behind = t->n - t->n / 8;

    if (t->n > 0 && (tag = tag_at(t, mono_us)) > behind) {
        fold_until(t, tag - behind);
    }
}

/* ---- readers ------------------------------------------------------------ */

int64_t ka_ticks_reach_us(const ka_segment_header *header)
{
    int64_t n = header->section[KA_SECTION_TICKS].n;

    return ka_segment_has_ticks(header) ? (n - n / 4) << KA_TICK_BITS : 0;
}

static uint32_t latest(const ka_ticks *t)
{
    uint32_t tag, latest = 0, i;

    for (i = 0; i < t->n; i++) {
        tag = (uint32_t)(t->ticks[i].open >> 32);
        if (tag > latest && tag % t->n == i) {
            latest = tag;
        }
    }
    return latest;
}

static uint32_t tag_until(const ka_ticks *t, const ka_segment_header *header,
                          int64_t until_at)
{
    uint32_t last = latest(t);
    uint64_t us = (uint64_t)until_at - (uint64_t)header->started_at;

    if (until_at == INT64_MAX) {
        return last;
    }
    if (until_at <= header->started_at ||
        us >> KA_TICK_BITS >= UINT32_MAX - 1) {
        return 0;
    }
    us += (uint64_t)header->started_mono & (KA_TICK_US - 1);
    return (uint32_t)(us >> KA_TICK_BITS) + 1;
}

static ka_ticks copy(ka_segment_level *out, const ka_segment_header *header,
                     apr_pool_t *pool)
{
    uint32_t n = header->section[KA_SECTION_TICKS].n, i;
    ka_ticks t = {.ticks = apr_palloc(pool, n * sizeof(*t.ticks)), .n = n};

    for (i = 0; i < n; i++) {
        memcpy(&t.ticks[i], ka_segment_entry(header, KA_SECTION_TICKS, i),
               sizeof(t.ticks[i]));
    }
    for (i = 0; i < KA_LEVEL_N; i++) {
        memcpy(&out[i], ka_segment_entry(header, KA_SECTION_LEVELS, i),
               sizeof(out[i]));
        t.levels[i] = &out[i];
        if (out[i].level > LEVEL_MAX || out[i].level < -LEVEL_MAX) {
            out[i].level = 0;
        }
    }
    return t;
}

uint32_t ka_ticks_read(ka_segment_level *out, const ka_segment_header *header,
                       int64_t until_at, apr_pool_t *pool)
{
    ka_ticks t;

    if (!ka_segment_has_ticks(header)) {
        return 0;
    }
    t = copy(out, header, pool);
    fold_until(&t, tag_until(&t, header, until_at));
    return out[KA_LEVEL_OPEN].folded < UINT32_MAX
               ? (uint32_t)out[KA_LEVEL_OPEN].folded
               : 0;
}
