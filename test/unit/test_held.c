/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "model/erlang.h"
#include "model/held.h"
#include "model/radix.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static ka_held held_of(const int64_t *ups, size_t up_n, const int64_t *downs,
                       size_t down_n, ka_held_window window)
{
    const ka_steps steps[] = {{ups, up_n, 0, 1}, {downs, down_n, 0, -1}};
    ka_held held;

    window.eps = KA_BLOCKING;
    assert_int_equal(ka_held_of(&held, steps, 2, &window), APR_SUCCESS);
    return held;
}

static void test_held__no_steps_and_no_window(void **state)
{
    static const int64_t at[] = {0};
    ka_held held;

    (void)state;
    held = held_of(at, 0, at, 0, (ka_held_window){0, 100, 10, 0, 0});
    assert_near(held.mean + held.variance + held.peak + held.p999, 0, 0);
    assert_near(held.workers, 0, 0);
    held = held_of(at, 1, at, 0, (ka_held_window){5, 5, 10, 0, 0});
    assert_near(held.mean + held.peak + held.workers, 0, 0);
}

static void test_held__counts_before_begin_and_cuts_at_end(void **state)
{
    static const int64_t ups[] = {-50, -40, 10, 99};
    static const int64_t downs[] = {-30, 20, 300};
    ka_held held =
        held_of(ups, 4, downs, 3, (ka_held_window){0, 100, 100, 0, 0});

    (void)state;
    /* 1 on [0, 10), 2 on [10, 20), 1 on [20, 99), 2 on [99, 100) */
    assert_near(held.mean, 1.11, 1e-12);
    assert_near(held.variance, 1.33 - 1.11 * 1.11, 1e-12);
    assert_near(held.peak, 2, 0);
}

static void test_held__an_instant_is_no_peak(void **state)
{
    static const int64_t ups[] = {0, 10, 10, 10}, downs[] = {10, 10, 10};
    ka_held held =
        held_of(ups, 4, downs, 3, (ka_held_window){0, 100, 100, 0, 0});

    (void)state;
    assert_near(held.peak, 1, 0);
    assert_near(held.variance, 0, 0);
}

/* p999 is the smallest count that is exceeded for at most 1/1000. */
static void test_held__quantiles_at_their_edges(void **state)
{
    static const struct {
        int64_t twice_us; /* time with 2 holders, of 100,000 */
        double p99, p999;
    } cases[] = {
        {99, 1, 1},   {100, 1, 1},  {101, 1, 2},
        {1000, 1, 2}, {1001, 2, 2}, {100000, 2, 2},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        int64_t ups[] = {0, 100000 - cases[i].twice_us}, none = 0;
        ka_held held =
            held_of(ups, 2, &none, 0, (ka_held_window){0, 100000, 1000, 0, 0});

        assert_near(held.p99, cases[i].p99, 0);
        assert_near(held.p999, cases[i].p999, 0);
    }
}

/* 40 holders from 200 on, none before. */
static void test_held_m12__last_period_is_merged_under_half(void **state)
{
    static int64_t ups[40];
    int64_t none = 0;
    double mean = 40 * 40 / 140.0;
    ka_held held;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(ups); i++) {
        ups[i] = 200;
    }
    held = held_of(ups, 40, &none, 0, (ka_held_window){0, 250, 100, 0, 0});
    assert_near(held.workers, ka_workers_needed(40, 1, KA_BLOCKING), 0);
    held = held_of(ups, 40, &none, 0, (ka_held_window){0, 240, 100, 0, 0});
    assert_near(held.workers, ka_workers_needed(mean, 40 - mean, KA_BLOCKING),
                0);
    held =
        held_of(ups, 40, &none, 0, (ka_held_window){0, 400, INT64_MAX, 0, 0});
    assert_near(held.workers, ka_workers_needed(20, 20, KA_BLOCKING), 0);
    assert_near(held.mean, 20, 1e-12);
}

/* 100 holders until 100, then one. */
static void test_held_m12__settling_is_left_out(void **state)
{
    static int64_t ups[100], downs[99];
    ka_held_window window = {0, 1000, 1000, 0, 0};
    ka_held held;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(downs); i++) {
        downs[i] = 100;
    }
    held = held_of(ups, 100, downs, 99, window);
    assert_true(held.workers > 100);
    window.settle_us = 100;
    held = held_of(ups, 100, downs, 99, window);
    assert_near(held.workers, ka_workers_needed(1, 1, KA_BLOCKING), 0);
    assert_near(held.peak, 100, 0);
    assert_near(held.mean, 10.9, 1e-12);
    window.settle_us = INT64_MAX; /* a quarter is 75 */
    window.end_us = 300;
    held = held_of(ups, 100, downs, 99, window);
    assert_true(held.workers > 100);
}

static void test_held__grows_past_any_count(void **state)
{
    static int64_t ups[5000], downs[5000];
    ka_held held;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(ups); i++) {
        ups[i] = (int64_t)i;
        downs[i] = (int64_t)(10000 - COUNT_OF(ups) + i);
    }
    held = held_of(ups, COUNT_OF(ups), downs, COUNT_OF(downs),
                   (ka_held_window){0, 10000, 10000, 0, 0});
    assert_near(held.peak, 5000, 0);
    assert_near(held.mean, 2500, 1e-9);
}

static void test_held__tiny_periods_of_a_long_window_end(void **state)
{
    static const int64_t ups[] = {0}, downs[] = {INT64_C(1) << 60};
    ka_held held = held_of(
        ups, 1, downs, 1,
        (ka_held_window){-(INT64_C(1) << 60), INT64_C(1) << 60, 1, 0, 0});

    (void)state;
    assert_near(held.mean, 0.5, 1e-12);
    assert_near(held.workers, ka_workers_needed(1, 1, KA_BLOCKING), 0);
}

/* ---- sorting ------------------------------------------------------------ */

static void assert_sorts(const int64_t *keys, size_t n)
{
    static int64_t sorted[5000], from[5000], alone[5000];
    size_t i;

    for (i = 0; i < n; i++) {
        sorted[i] = alone[i] = keys[i];
        from[i] = (int64_t)i;
    }
    assert_int_equal(ka_radix_sort(sorted, from, n), APR_SUCCESS);
    assert_int_equal(ka_radix_sort(alone, NULL, n), APR_SUCCESS);
    for (i = 0; i < n; i++) {
        assert_int_equal(sorted[i], keys[from[i]]);
        assert_int_equal(alone[i], sorted[i]);
        assert_true(i == 0 || sorted[i - 1] < sorted[i] ||
                    (sorted[i - 1] == sorted[i] && from[i - 1] < from[i]));
    }
}

static void test_radix__sorts_stably_whatever_the_range(void **state)
{
    static int64_t keys[5000];
    uint64_t seed = 88172645463325252u;
    unsigned bits;
    size_t i, n;

    (void)state;
    for (bits = 1; bits <= 64; bits += 3) {
        n = bits * 78;
        for (i = 0; i < n; i++) {
            seed ^= seed << 13;
            seed ^= seed >> 7;
            seed ^= seed << 17;
            keys[i] = (int64_t)((seed >> (64 - bits)) - (seed >> 63 << 40));
        }
        assert_sorts(keys, n);
    }
}

static void test_radix__edges(void **state)
{
    static const int64_t extremes[] = {INT64_MAX, 0,         INT64_MIN, -1,
                                       1,         INT64_MIN, INT64_MAX};
    static const int64_t equal[] = {5, 5, 5}, falling[] = {3, 2, 1};

    (void)state;
    assert_sorts(extremes, COUNT_OF(extremes));
    assert_sorts(equal, COUNT_OF(equal));
    assert_sorts(falling, COUNT_OF(falling));
    assert_sorts(falling, 1);
    assert_sorts(falling, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_held__no_steps_and_no_window),
        unit_test(test_held__counts_before_begin_and_cuts_at_end),
        unit_test(test_held__an_instant_is_no_peak),
        unit_test(test_held__quantiles_at_their_edges),
        unit_test(test_held_m12__last_period_is_merged_under_half),
        unit_test(test_held_m12__settling_is_left_out),
        unit_test(test_held__grows_past_any_count),
        unit_test(test_held__tiny_periods_of_a_long_window_end),
        unit_test(test_radix__sorts_stably_whatever_the_range),
        unit_test(test_radix__edges),
    };

    return unit_main(tests);
}
