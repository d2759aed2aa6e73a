/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "tallies.h"
#include "model/erlang.h"
#include "model/held.h"
#include "profile/occupancy.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define HOUR INT64_C(3600000)

static double workers(double mean, double z)
{
    return ka_workers_needed(mean, z, KA_BLOCKING);
}

/* ---- bins --------------------------------------------------------------- */

static void test_occupancy_bin__edges(void **state)
{
    static const struct {
        uint64_t count;
        size_t bin;
    } cases[] = {
        {0, 0},
        {1, 1},
        {511, 511},
        {512, 512},
        {513, 512},
        {514, 513},
        {KA_OCCUPANCY_MAX - 1, KA_OCCUPANCY_BINS - 1},
        {KA_OCCUPANCY_MAX, KA_OCCUPANCY_BINS - 1},
        {UINT64_MAX, KA_OCCUPANCY_BINS - 1},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(ka_occupancy_bin(cases[i].count), cases[i].bin);
    }
    for (i = 0; i < KA_OCCUPANCY_BINS; i++) {
        uint64_t low = ka_occupancy_bin_low(i);
        uint64_t next = ka_occupancy_bin_low(i + 1);

        assert_int_equal(ka_occupancy_bin(low), i);
        assert_int_equal(ka_occupancy_bin(next - 1), i);
        assert_true(next - low == 1 || (next - low) * 256 <= low);
    }
}

/* ---- what it says ------------------------------------------------------- */

static void test_occupancy__empty_is_all_zero(void **state)
{
    ka_occupancy o;
    ka_held held;

    (void)state;
    ka_occupancy_init(&o);
    ka_occupancy_add(&o, 7, 0, 0, 0, true);
    ka_occupancy_held(&held, &o, 0);
    assert_near(held.mean + held.variance + held.p99 + held.p999 + held.peak +
                    held.workers,
                0, 0);
    ka_occupancy_clear(&o);
}

static void test_occupancy__moments_are_exact(void **state)
{
    ka_occupancy o;
    ka_held held;

    (void)state;
    ka_occupancy_init(&o);
    /* Bins at 100,000 are 256 wide; the sums do not care. */
    ka_occupancy_add(&o, 100001, 30, 0, 0, false);
    ka_occupancy_add(&o, 100003, 10, 0, 0, false);
    ka_occupancy_held(&held, &o, 0);
    assert_near(held.mean, 100001.5, 0);
    assert_near(held.variance, 0.75, 0);
    assert_near(held.peak, 100003, 0);
    assert_near(held.p99, 100003, 0);
    ka_occupancy_clear(&o);
}

/* As held.h: what is exceeded for at most 1/100, 1/1000 of the time. */
static void test_occupancy__quantiles_at_their_edges(void **state)
{
    static const struct {
        uint64_t twice_ms; /* time with 2 holders, of 100,000 */
        double p99, p999;
    } cases[] = {
        {99, 1, 1},   {100, 1, 1},  {101, 1, 2},
        {1000, 1, 2}, {1001, 2, 2}, {100000, 2, 2},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        ka_occupancy o;
        ka_held held;

        ka_occupancy_init(&o);
        ka_occupancy_add(&o, 1, 100000 - cases[i].twice_ms, 0, 0, true);
        ka_occupancy_add(&o, 2, cases[i].twice_ms, 0, 0, true);
        ka_occupancy_held(&held, &o, 0);
        assert_near(held.p99, cases[i].p99, 0);
        assert_near(held.p999, cases[i].p999, 0);
        ka_occupancy_clear(&o);
    }
}

static void test_occupancy__quantiles_are_upper_edges(void **state)
{
    ka_occupancy o;
    ka_held held;

    (void)state;
    ka_occupancy_init(&o);
    ka_occupancy_add(&o, 1024, 990, 0, 0, true);
    ka_occupancy_add(&o, 2001, 10, 0, 0, true);
    ka_occupancy_held(&held, &o, 0);
    assert_near(held.p99, 1027, 0);
    assert_near(held.p999, 2001, 0); /* the peak; the bin ends at 2007 */
    ka_occupancy_clear(&o);
}

/* The same steps through held.h, which keeps every count apart. */
static void test_occupancy__agrees_with_held(void **state)
{
    uint64_t seed = 4711;
    int round;

    (void)state;
    for (round = 0; round < 50; round++) {
        enum { N = 400 };
        int64_t ups[N], downs[N], end = 3000000;
        ka_held_window window = {0, 0, HOUR * 1000, 0, KA_BLOCKING};
        ka_held expected, held;
        ka_occupancy o;
        ka_steps steps[] = {{ups, N, 0, 1}, {downs, N, 0, -1}};
        size_t i;

        for (i = 0; i < N; i++) {
            ups[i] = (int64_t)random_below(&seed, (uint64_t)end) * 1000;
            downs[i] = ups[i] + (int64_t)random_below(&seed, 900000) * 1000;
        }
        qsort(ups, N, sizeof(*ups), compare_int64);
        qsort(downs, N, sizeof(*downs), compare_int64);
        window.end_us = end * 1000;
        assert_int_equal(ka_held_of(&expected, steps, 2, &window), APR_SUCCESS);
        ka_occupancy_init(&o);
        ka_held_walk(steps, 2, 0, end * 1000, occupy_ms, &o);
        ka_occupancy_held(&held, &o, 0);
        assert_near(held.mean, expected.mean, 1e-9);
        assert_near(held.variance, expected.variance, 1e-6);
        assert_near(held.p99, expected.p99, 0);
        assert_near(held.p999, expected.p999, 0);
        assert_near(held.peak, expected.peak, 0);
        assert_near(held.workers, expected.workers, 0);
        ka_occupancy_clear(&o);
    }
}

/* ---- [M12] -------------------------------------------------------------- */

static void test_occupancy_m12__busiest_hour_of_any_server(void **state)
{
    ka_occupancy o;
    ka_held held;

    (void)state;
    ka_occupancy_init(&o);
    ka_occupancy_add(&o, 10, HOUR, 7, 1, true);
    ka_occupancy_add(&o, 30, HOUR, 9, 2, true);
    ka_occupancy_add(&o, 20, HOUR, 8, 1, true);
    ka_occupancy_held(&held, &o, 0);
    assert_near(held.workers, workers(30, 1), 0);
    ka_occupancy_held(&held, &o, 0.01);
    assert_near(held.workers, ka_workers_needed(30, 1, 0.01), 0);
    /* Twice the time at that hour is another part of it, not more holders. */
    ka_occupancy_add(&o, 30, HOUR, 9, 2, true);
    ka_occupancy_held(&held, &o, 0);
    assert_near(held.workers, workers(30, 1), 0);
    assert_int_equal(o.hour_n, 3);
    ka_occupancy_clear(&o);
}

static void test_occupancy_m12__short_hours_join(void **state)
{
    /* ms at 40, then at 8 holders: in hours 0 and 1 (of another hour: 2) */
    static const struct {
        int64_t first_ms, second_ms;
        uint64_t first_server, second_server;
        double mean, z;
    } cases[] = {
        {HOUR, HOUR, 1, 1, 40, 1},         {HOUR / 2, HOUR, 1, 1, 40, 1},
        {HOUR / 2 - 1, HOUR, 1, 1, 0, 0},  /* with the next */
        {HOUR / 2 - 1, HOUR, 1, 2, 40, 1}, /* none of its server */
        {HOUR, HOUR / 2 - 1, 1, 1, 0, 0},  /* with the one before */
        {HOUR / 4, HOUR / 5, 1, 1, 0, 0},  /* two are still short */
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        double a = (double)cases[i].first_ms, b = (double)cases[i].second_ms;
        double mean = (40 * a + 8 * b) / (a + b);
        double variance = (1600 * a + 64 * b) / (a + b) - mean * mean;
        ka_occupancy o;
        ka_held held;

        if (cases[i].mean > 0) {
            mean = cases[i].mean;
            variance = mean * cases[i].z;
        }
        ka_occupancy_init(&o);
        ka_occupancy_add(&o, 40, (uint64_t)cases[i].first_ms, 0,
                         (uint32_t)cases[i].first_server, true);
        /* Nobody was there in between: not the next one. */
        ka_occupancy_add(&o, 0, HOUR, 1, 1, true);
        ka_occupancy_add(&o, 8, (uint64_t)cases[i].second_ms, 2,
                         (uint32_t)cases[i].second_server, true);
        ka_occupancy_held(&held, &o, 0);
        assert_near(held.workers, workers(mean, variance / mean), 0);
        ka_occupancy_clear(&o);
    }
}

static void test_occupancy_m12__unsettled_time_is_left_out(void **state)
{
    ka_occupancy o;
    ka_held held;

    (void)state;
    ka_occupancy_init(&o);
    ka_occupancy_add(&o, 99, HOUR, 1, 1, false);
    ka_occupancy_add(&o, 9, HOUR, 2, 1, true);
    ka_occupancy_held(&held, &o, 0);
    assert_near(held.workers, workers(9, 1), 0);
    assert_near(held.mean, 54, 0);
    assert_near(held.peak, 99, 0);
    ka_occupancy_clear(&o);
}

/* ---- spans -------------------------------------------------------------- */

static void test_occupancy_span__is_cut_at_hours(void **state)
{
    ka_occupancy o;

    (void)state;
    ka_occupancy_init(&o);
    ka_occupancy_add_span(&o, 3, -HOUR - 10, 2 * HOUR + 5, 1, true);
    assert_int_equal(o.hour_n, 5);
    assert_int_equal(o.hours[0].hour, -2);
    assert_int_equal(o.hours[0].ms, 10);
    assert_int_equal(o.hours[1].hour, -1);
    assert_int_equal(o.hours[1].ms, HOUR);
    assert_int_equal(o.hours[4].hour, 2);
    assert_int_equal(o.hours[4].ms, 5);
    assert_int_equal(o.hours[4].squares, 45);
    assert_int_equal(o.ms, 3 * HOUR + 15);
    ka_occupancy_add_span(&o, 3, 5, 5, 1, true);
    ka_occupancy_add_span(&o, 3, 5, 4, 1, true);
    assert_int_equal(o.ms, 3 * HOUR + 15);
    ka_occupancy_clear(&o);
}

static void test_occupancy_span__idle_hours_are_time_only(void **state)
{
    static const struct {
        int64_t from, to;
        size_t hours;
    } cases[] = {
        {10, 20, 1},
        {0, HOUR, 0},
        {10, HOUR, 1},
        {10, 9 * HOUR + 1, 2},
        {HOUR, 9 * HOUR, 0},
        {-5 * HOUR - 1, HOUR + 1, 2},
        {-(INT64_C(1) << 60), INT64_C(1) << 60, 2},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        ka_occupancy o;

        ka_occupancy_init(&o);
        ka_occupancy_add_span(&o, 0, cases[i].from, cases[i].to, 1, true);
        assert_int_equal(o.ms, cases[i].to - cases[i].from);
        assert_int_equal(o.hour_n, cases[i].hours);
        ka_occupancy_clear(&o);
    }
}

/* 2^61 ms: hours are put together at once. */
static void test_occupancy_span__ages_end_soon(void **state)
{
    ka_occupancy o;
    ka_held held;

    (void)state;
    ka_occupancy_init(&o);
    ka_occupancy_add_span(&o, 2, -(INT64_C(1) << 60), INT64_C(1) << 60, 1,
                          true);
    assert_true(o.hour_n <= KA_OCCUPANCY_HOURS);
    assert_true(o.hour_n > KA_OCCUPANCY_HOURS / 2);
    ka_occupancy_held(&held, &o, 0);
    assert_near(held.mean, 2, 0);
    assert_near(held.variance, 0, 0);
    assert_near(held.workers, workers(2, 1), 0);
    ka_occupancy_clear(&o);
}

/* ---- many hours --------------------------------------------------------- */

/* Every hour of eight years, in an order that jumps a little; and the same put
 * together from two that share them. */
static void test_occupancy__many_hours_are_put_together(void **state)
{
    enum { N = 70000 };
    ka_occupancy whole, halves[2];
    int64_t i;

    (void)state;
    ka_occupancy_init(&whole);
    ka_occupancy_init(&halves[0]);
    ka_occupancy_init(&halves[1]);
    for (i = 0; i < N; i++) {
        int64_t hour = (i ^ 13) - N / 2;
        uint64_t count = (uint64_t)i % 50;

        ka_occupancy_add(&whole, count, HOUR, hour, 1, true);
        ka_occupancy_add(&halves[i % 3 == 0], count, HOUR, hour, 1, true);
    }
    assert_int_equal(whole.hour_bits, 2);
    assert_true(whole.hour_n <= KA_OCCUPANCY_HOURS);
    assert_true(whole.hour_n >= N / 4);
    assert_int_equal(whole.hours[5].ms, 4 * HOUR);
    assert_int_equal(halves[1].hour_bits, 0);
    ka_occupancy_merge(&halves[1], &halves[0]);
    assert_same_occupancy(&halves[1], &whole);
    ka_occupancy_clear(&whole);
    ka_occupancy_clear(&halves[0]);
    ka_occupancy_clear(&halves[1]);
}

/* Put together, what is less than half of it is short. */
static void test_occupancy_m12__longer_hours_have_longer_halves(void **state)
{
    ka_occupancy o = {.hour_bits = 2};
    ka_held held;

    (void)state;
    ka_occupancy_add(&o, 40, 2 * HOUR - 1, 1, 1, true);
    ka_occupancy_add(&o, 40, 2 * HOUR + 1, 6, 1, true);
    ka_occupancy_add(&o, 0, 4 * HOUR, 6, 1, true);
    assert_int_equal(o.hour_n, 2);
    assert_int_equal(o.hours[1].hour, 4);
    ka_occupancy_held(&held, &o, 0);
    assert_near(held.workers, workers(20, 20), 0);
    ka_occupancy_clear(&o);
}

/* ---- merging ------------------------------------------------------------ */

static void test_occupancy_merge__any_order(void **state)
{
    uint64_t seed = 99;
    int round;

    (void)state;
    for (round = 0; round < 200; round++) {
        ka_occupancy parts[3], ab, bc, left, right;
        int i;

        for (i = 0; i < 3; i++) {
            ka_occupancy_init(&parts[i]);
            random_occupancy(&parts[i], &seed);
        }
        ka_occupancy_init(&ab);
        ka_occupancy_init(&bc);
        ka_occupancy_init(&left);
        ka_occupancy_init(&right);
        ka_occupancy_merge(&ab, &parts[0]);
        ka_occupancy_merge(&ab, &parts[1]);
        ka_occupancy_merge(&bc, &parts[2]);
        ka_occupancy_merge(&bc, &parts[1]);
        ka_occupancy_merge(&left, &ab);
        ka_occupancy_merge(&left, &parts[2]);
        ka_occupancy_merge(&right, &bc);
        ka_occupancy_merge(&right, &parts[0]);
        assert_same_occupancy(&left, &right);
        for (i = 0; i < 3; i++) {
            ka_occupancy_clear(&parts[i]);
        }
        ka_occupancy_clear(&ab);
        ka_occupancy_clear(&bc);
        ka_occupancy_clear(&left);
        ka_occupancy_clear(&right);
    }
}

static void test_occupancy__sums_stop_at_their_end(void **state)
{
    ka_occupancy o;
    ka_held held;
    int i;

    (void)state;
    ka_occupancy_init(&o);
    for (i = 0; i < 3; i++) {
        ka_occupancy_add(&o, UINT64_MAX, UINT64_MAX, INT64_MIN, 1, true);
        ka_occupancy_add(&o, 0, UINT64_MAX, INT64_MAX, 1, true);
    }
    assert_true(o.ms == UINT64_MAX && o.sum == UINT64_MAX &&
                o.squares == UINT64_MAX);
    ka_occupancy_held(&held, &o, 0);
    assert_true(isfinite(held.mean) && isfinite(held.variance));
    assert_near(held.peak, 0x1p64, 0);
    ka_occupancy_clear(&o);
}

/* A year at 100,000: squares do not fit, the bins tell. */
static void test_occupancy__bins_stand_in_for_sums(void **state)
{
    uint64_t year_ms = UINT64_C(31536000000);
    ka_occupancy o;
    ka_held held;

    (void)state;
    ka_occupancy_init(&o);
    ka_occupancy_add(&o, 100000, year_ms, 1, 1, false);
    ka_occupancy_add(&o, 50000, year_ms, 1, 1, false);
    assert_true(o.squares == UINT64_MAX);
    ka_occupancy_held(&held, &o, 0);
    assert_near(held.mean, 75000, 75000 / 256.0);
    assert_near(sqrt(held.variance), 25000, 25000 / 64.0);
    ka_occupancy_clear(&o);
}

static void test_occupancy_put__takes_in_what_files_tell(void **state)
{
    ka_occupancy o = {.hour_bits = 1};
    ka_held held;
    static const ka_occupancy_hour wrong = {
        .hour = 3, .ms = 10, .sum = 90, .squares = 1};

    (void)state;
    ka_occupancy_put_bin(&o, SIZE_MAX, 5);
    assert_int_equal(o.bins[KA_OCCUPANCY_BINS - 1], 5);
    ka_occupancy_put_hour(&o, &wrong);
    assert_int_equal(o.hours[0].hour, 2);
    ka_occupancy_held(&held, &o, 0);
    assert_near(held.workers, workers(9, 1), 0);
    assert_near(held.p99, 0, 0); /* no peak was told */
    ka_occupancy_clear(&o);
}

/* Files hold it. */
static void test_occupancy_server__stays_as_it_is(void **state)
{
    (void)state;
    assert_int_equal(ka_occupancy_server(""), 0x1132a9ec);
    assert_int_equal(ka_occupancy_server("web1"), 0xd0ebfe10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_occupancy_bin__edges),
        unit_test(test_occupancy__empty_is_all_zero),
        unit_test(test_occupancy__moments_are_exact),
        unit_test(test_occupancy__quantiles_at_their_edges),
        unit_test(test_occupancy__quantiles_are_upper_edges),
        unit_test(test_occupancy__agrees_with_held),
        unit_test(test_occupancy_m12__busiest_hour_of_any_server),
        unit_test(test_occupancy_m12__short_hours_join),
        unit_test(test_occupancy_m12__unsettled_time_is_left_out),
        unit_test(test_occupancy_span__is_cut_at_hours),
        unit_test(test_occupancy_span__idle_hours_are_time_only),
        unit_test(test_occupancy_span__ages_end_soon),
        unit_test(test_occupancy__many_hours_are_put_together),
        unit_test(test_occupancy_m12__longer_hours_have_longer_halves),
        unit_test(test_occupancy_merge__any_order),
        unit_test(test_occupancy__sums_stop_at_their_end),
        unit_test(test_occupancy__bins_stand_in_for_sums),
        unit_test(test_occupancy_put__takes_in_what_files_tell),
        unit_test(test_occupancy_server__stays_as_it_is),
    };

    return unit_main(tests);
}
