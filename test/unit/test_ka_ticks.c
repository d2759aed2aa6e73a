/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "ka_segment_writer.h"
#include "ka_ticks.h"

#define SEC INT64_C(1000000)
#define START_AT INT64_C(1700000000000000)
#define START_MONO (INT64_C(1000) << KA_TICK_BITS) /* on a tick */
#define CONNECTIONS 300

static ka_segment_header *segment_made(uint32_t tick_n, apr_pool_t *pool)
{
    ka_segment_plan plan = {.vhost_n = 2,
                            .slot_n = 1,
                            .history_n = 10,
                            .stripe_n = 1,
                            .tick_n = tick_n};
    ka_segment_header *h = apr_pcalloc(pool, ka_segment_size(&plan));

    ka_segment_format(h, &plan, START_AT, START_MONO);
    return h;
}

static int64_t tick_us(int64_t tick)
{
    return START_MONO + tick * KA_TICK_US;
}

static void open_at(ka_segment_header *h, int64_t tick, int32_t n)
{
    ka_ticks t = ka_ticks_of(h);

    h->gauges += (uint64_t)(int64_t)n * KA_GAUGE_IDLE;
    ka_ticks_open(&t, h->gauges, tick_us(tick));
}

static ka_segment_level *levels_of(const ka_segment_header *h,
                                   apr_pool_t *pool)
{
    ka_segment_level *levels = apr_palloc(pool, KA_LEVEL_N * sizeof(*levels));

    assert_int_not_equal(ka_ticks_read(levels, h, INT64_MAX, pool), 0);
    return levels;
}

/* ---- bins --------------------------------------------------------------- */

static void test_level_bins__hold_what_they_say(void **state)
{
    uint64_t level;

    (void)state;
    for (level = 0; level >> KA_LEVEL_BITS == 0; level += 1 + level / 99) {
        size_t bin = ka_level_bin(level);
        uint64_t most = ka_level_most(bin);

        assert_in_range(bin, 0, KA_LEVEL_BINS - 1);
        assert_in_range(most, level, level + level / 64);
        assert_int_equal(ka_level_bin(most), bin);
        assert_int_equal(ka_level_bin(most + 1) == bin,
                         bin == KA_LEVEL_BINS - 1);
    }
    assert_int_equal(ka_level_bin(UINT64_MAX), KA_LEVEL_BINS - 1);
}

/* ---- one idle time ------------------------------------------------------ */

/* Open for 100 ticks, idle from tick 10 for 70: 2.29 s. */
static void test_ticks__an_idle_time_is_not_held_past_each_age(void **state)
{
    ka_segment_header *h = segment_made(256, *state);
    ka_ticks t = ka_ticks_of(h);
    ka_segment_level *levels;
    size_t i;

    open_at(h, 0, 1);
    ka_ticks_idle(&t, tick_us(10), tick_us(80));
    open_at(h, 100, -1);
    levels = levels_of(h, *state);
    for (i = 0; i < KA_AGE_N; i++) {
        uint64_t waits = (uint64_t)ka_ages_us[i] >> KA_TICK_BITS;

        assert_int_equal(levels[i].sum, 30 + (waits < 70 ? waits : 70));
        assert_int_equal(levels[i].peak, 1);
        assert_int_equal(levels[i].level, 0);
    }
    assert_int_equal(levels[KA_LEVEL_OPEN].sum, 100);
    assert_int_equal(levels[KA_LEVEL_OPEN].bins[1], 100);
}

static void test_ticks__requests_longer_than_a_tick(void **state)
{
    ka_segment_header *h = segment_made(256, *state);
    ka_ticks t = ka_ticks_of(h);
    ka_segment_level *levels;

    open_at(h, 0, 2);
    ka_ticks_served(&t, tick_us(3), tick_us(8));
    ka_ticks_served(&t, tick_us(5), tick_us(8) + 7);
    ka_ticks_served(&t, tick_us(6) + 1, tick_us(6) + 9);
    open_at(h, 20, -2);
    levels = levels_of(h, *state);
    assert_int_equal(levels[KA_TICK_SERVED].sum, 5 + 3);
    assert_int_equal(levels[KA_TICK_SERVED].peak, 2);
}

/* 10 come within one tick, and 4 of them go in it. */
static void test_ticks__a_peak_within_a_tick_is_seen(void **state)
{
    ka_segment_header *h = segment_made(256, *state);
    ka_segment_level *levels;

    open_at(h, 5, 10);
    open_at(h, 5, -4);
    open_at(h, 6, -6);
    levels = levels_of(h, *state);
    assert_int_equal(levels[KA_LEVEL_OPEN].peak, 10);
    assert_int_equal(levels[0].peak, 10);
    assert_int_equal(levels[KA_LEVEL_OPEN].sum, 6);
}

/* ---- many --------------------------------------------------------------- */

typedef struct connection {
    int64_t from, idle, to; /* ticks: open, idle since, gone */
} connection;

static uint64_t next(uint64_t *seed)
{
    *seed = *seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return *seed >> 33;
}

static int compare_ends(const void *a, const void *b)
{
    const connection *x = a, *y = b;

    return (x->to > y->to) - (x->to < y->to);
}

/* Ticks held under a timeout, and the most at a tick's end. */
static void count(const connection *c, int64_t age_us, uint64_t *sum,
                  uint64_t *peak)
{
    int64_t tick;
    size_t i;

    *sum = *peak = 0;
    for (tick = 0; tick < 3000; tick++) {
        uint64_t n = 0;

        for (i = 0; i < CONNECTIONS; i++) {
            int64_t over = (c[i].idle * KA_TICK_US + age_us) >> KA_TICK_BITS;

            n += tick >= c[i].from && tick < c[i].to &&
                 (tick < over ||
                  (c[i].to - c[i].idle) * KA_TICK_US <= age_us);
        }
        *sum += n;
        *peak = n > *peak ? n : *peak;
    }
}

/* The ring of 20 s goes round: the parent folds now and then. */
static void run(ka_segment_header *h, const connection *c, int64_t fold_every)
{
    ka_ticks t = ka_ticks_of(h);
    int64_t tick;
    size_t i;

    for (tick = 0; tick < 3000; tick++) {
        for (i = 0; i < CONNECTIONS; i++) {
            if (c[i].from == tick) {
                open_at(h, tick, 1);
            }
            if (c[i].to == tick) {
                ka_ticks_idle(&t, tick_us(c[i].idle), tick_us(tick));
                open_at(h, tick, -1);
            }
        }
        if (tick % fold_every == fold_every - 1) {
            ka_ticks_fold(&t, tick_us(tick));
        }
    }
}

static void test_ticks__many_are_what_a_count_finds(void **state)
{
    ka_segment_header *h = segment_made(640, *state);
    connection c[CONNECTIONS];
    uint64_t seed = 7, sum, peak;
    ka_segment_level *levels;
    size_t i;

    for (i = 0; i < CONNECTIONS; i++) {
        c[i].from = (int64_t)(next(&seed) % 2400);
        c[i].idle = c[i].from + (int64_t)(next(&seed) % 100);
        c[i].to = c[i].idle + (int64_t)(next(&seed) % 400);
    }
    qsort(c, CONNECTIONS, sizeof(*c), compare_ends);
    run(h, c, 37);
    levels = levels_of(h, *state);
    for (i = 0; i < KA_AGE_N; i++) {
        count(c, ka_ages_us[i], &sum, &peak);
        assert_int_equal(levels[i].sum, sum);
        assert_in_range(levels[i].peak, peak, peak + 1);
        assert_int_equal(levels[i].level, 0);
    }
    count(c, INT64_MAX / 2, &sum, &peak);
    assert_int_equal(levels[KA_LEVEL_OPEN].sum, sum);
    assert_in_range(levels[KA_LEVEL_OPEN].peak, peak, peak + 1);
}

/* It was open and idle for longer than the ring: what is told ends well. */
static void test_ticks__an_idle_time_past_the_ring_leaves_nothing(void **state)
{
    ka_segment_header *h = segment_made(64, *state);
    ka_ticks t = ka_ticks_of(h);
    ka_segment_level *levels;

    open_at(h, 0, 1);
    ka_ticks_idle(&t, tick_us(1), tick_us(1000));
    open_at(h, 1000, -1);
    open_at(h, 1040, 1);
    levels = levels_of(h, *state);
    assert_int_equal(levels[0].level, 0);
    assert_int_equal(levels[KA_LEVEL_OPEN].level, 1);
}

/* ---- readers ------------------------------------------------------------ */

static void test_ticks_read__until_a_moment(void **state)
{
    ka_segment_header *h = segment_made(256, *state);
    ka_segment_level levels[KA_LEVEL_N];

    open_at(h, 0, 3);
    open_at(h, 200, -3);
    assert_int_equal(
        ka_ticks_read(levels, h, START_AT + 50 * KA_TICK_US, *state), 51);
    assert_int_equal(levels[KA_LEVEL_OPEN].sum, 3 * 51);
    assert_int_equal(ka_ticks_read(levels, h, START_AT - SEC, *state), 0);
    assert_int_equal(h->gauges, KA_GAUGE_ZERO);
}

static void test_ticks__an_older_segment_has_none(void **state)
{
    ka_segment_header *h = segment_made(256, *state);
    ka_segment_level levels[KA_LEVEL_N];
    const char *error;

    open_at(h, 0, 3);
    h->minor = 1; /* its writer left anything there */
    h->section[KA_SECTION_TICKS].offset = 1;
    assert_int_equal(ka_segment_check(h, h->total_size, &error), APR_SUCCESS);
    assert_int_equal(ka_ticks_read(levels, h, INT64_MAX, *state), 0);
    assert_int_equal(ka_ticks_of(h).n, 0);
}

static void test_ticks__none_are_kept_without_room(void **state)
{
    ka_segment_header *h = segment_made(0, *state);
    ka_ticks t = ka_ticks_of(h);

    assert_int_equal(t.n, 0);
    ka_ticks_open(&t, KA_GAUGE_ZERO, START_MONO);
    ka_ticks_idle(&t, START_MONO, START_MONO + 9 * SEC);
    ka_ticks_served(&t, START_MONO, START_MONO + 9 * SEC);
    ka_ticks_fold(&t, START_MONO + 9 * SEC);
    assert_int_equal(ka_ticks_reach_us(h), 0);
}

static void test_ticks_read__any_bytes(void **state)
{
    ka_segment_header *h = segment_made(64, *state);
    ka_segment_level levels[KA_LEVEL_N];
    uint64_t seed = 1, until = 0;
    int round;
    unsigned char *at = ka_segment_entry(h, KA_SECTION_TICKS, 0);
    size_t n = (size_t)((unsigned char *)h + h->total_size - at), i;

    for (round = 0; round < 20; round++) {
        for (i = 0; i < n; i++) {
            at[i] = (unsigned char)next(&seed);
        }
        h->started_at = (int64_t)(next(&seed) << 34 | next(&seed));
        h->started_mono = (int64_t)(next(&seed) << 34 | next(&seed));
        ka_ticks_read(levels, h, INT64_MAX, *state);
        until = next(&until);
        ka_ticks_read(levels, h, (int64_t)(until << 33), *state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_level_bins__hold_what_they_say),
        unit_test(test_ticks__an_idle_time_is_not_held_past_each_age),
        unit_test(test_ticks__requests_longer_than_a_tick),
        unit_test(test_ticks__a_peak_within_a_tick_is_seen),
        unit_test(test_ticks__many_are_what_a_count_finds),
        unit_test(test_ticks__an_idle_time_past_the_ring_leaves_nothing),
        unit_test(test_ticks_read__until_a_moment),
        unit_test(test_ticks__an_older_segment_has_none),
        unit_test(test_ticks__none_are_kept_without_room),
        unit_test(test_ticks_read__any_bytes),
    };

    return unit_main(tests);
}
