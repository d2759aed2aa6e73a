/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "model/erlang.h"
#include "model/levels.h"

#define N 7200

/* Two hours: 10 +- 4, then twice as busy, and 50 once. */
static void make_levels(uint32_t *values)
{
    size_t i;

    for (i = 0; i < N; i++) {
        values[i] = (i % 2 ? 14 : 6) * (i < 3600 ? 1 : 2);
    }
    values[4000] = 50;
}

static void test_levels__as_observed_at_the_present_mean(void **state)
{
    uint32_t values[N];
    ka_levels levels = {.values = values, .n = N};
    ka_held held;

    (void)state;
    make_levels(values);
    assert_int_equal(ka_levels_held(&held, &levels, NULL, 12, 12), APR_SUCCESS);
    assert_near(held.mean, 12, 0);
    assert_near(held.peak, 50, 0);
    assert_near(held.p999, 28, 0);
    assert_near(held.p99, 28, 0);
}

static void
test_levels__m12_busiest_hour_without_the_bias_of_maxima(void **state)
{
    uint32_t values[N];
    ka_levels levels = {.values = values, .n = N};
    double mean = 15.0, hour = 20.0; /* of the maxima */
    ka_held held;

    (void)state;
    make_levels(values);
    values[4000] = 20;
    ka_levels_held(&held, &levels, NULL, mean * 0.9, mean * 0.9);
    /* z = 64/20 in the second hour */
    assert_near(held.workers, ka_workers_needed(hour * 0.9, 3.2, 1e-3), 1);
}

/* Bursts about a level of load keep their variance/mean. */
static void test_levels__load_scales_and_bursts_keep_their_z(void **state)
{
    uint32_t values[N];
    ka_levels levels = {.values = values, .n = N};
    ka_held now, to;

    (void)state;
    make_levels(values);
    ka_levels_held(&now, &levels, NULL, 15, 15);
    ka_levels_held(&to, &levels, NULL, 15, 60);
    assert_near(now.peak, 50, 0);
    /* the second hour: 20 +- 8 becomes 80 +- 16 */
    assert_near(to.p999, 96, 1); /* by the 50 beside it */
    assert_near(to.peak, 80 + 30 * 2, 1);
    assert_true(to.workers > now.workers);
}

static void test_levels__never_below_those_that_are_busy_anyway(void **state)
{
    static const uint32_t values[] = {10, 10, 10, 10}, busy[] = {1, 1, 7, 1};
    ka_levels levels = {.values = values, .at_least = busy, .n = 4};
    ka_held held;

    (void)state;
    ka_levels_held(&held, &levels, NULL, 10, 0.5);
    assert_near(held.peak, 7, 0);
    assert_near(held.mean, 0.5, 0);
}

static void test_levels__without_history_z_is_assumed(void **state)
{
    ka_levels none = {0};
    ka_held held;

    (void)state;
    ka_levels_held(&held, &none, NULL, 20, 22.3);
    assert_near(held.variance / held.mean, KA_LEVELS_Z, 1e-9);
    assert_near(held.workers, ka_workers_needed(22.3, KA_LEVELS_Z, 1e-3), 0);
    assert_near(held.peak, held.workers, 0);
    ka_levels_held(&held, &none, NULL, 0, 0);
    assert_near(held.peak, 0, 0);
}

static void test_levels__impossible_values_are_held_in_bounds(void **state)
{
    static const uint32_t values[] = {UINT32_MAX, 0, UINT32_MAX};
    ka_levels levels = {.values = values, .at_least = values, .n = 3};
    ka_held held;

    (void)state;
    assert_int_equal(ka_levels_held(&held, &levels, NULL, 1e-9, 1e12), APR_SUCCESS);
    assert_near(held.peak, KA_LEVEL_MAX, 0);
}

/* Ten steps of a minute at 20, one of them at 30: within a minute nothing
 * tells how long. */
static void test_levels__steps_of_minutes_need_their_peak(void **state)
{
    static const uint32_t values[] = {20, 20, 20, 30, 20, 20, 20, 20, 20, 20};
    ka_levels levels = {.values = values, .n = 10, .step_s = 60};
    ka_held held;

    (void)state;
    ka_levels_held(&held, &levels, NULL, 4, 4);
    assert_near(held.workers, 30, 0);
    levels.step_s = 1;
    ka_levels_held(&held, &levels, NULL, 4, 4);
    assert_true(held.workers < 15);
}

/* An hour is so many fewer values, and the time around one too.  Taken for
 * seconds, these would be one period with z over 30. */
static void test_levels__periods_are_hours_whatever_the_step(void **state)
{
    ka_levels levels = {.n = 12, .step_s = 3600};
    uint32_t values[12];
    ka_held held;
    size_t i;

    (void)state;
    for (i = 0; i < 12; i++) {
        values[i] = i < 6 ? 10 : 90;
    }
    levels.values = values;
    ka_levels_held(&held, &levels, NULL, 50, 50);
    assert_near(held.workers, ka_workers_needed(90, 1, 1e-3), 1);
    /* one step about each value: what lies beside it scales with the root */
    ka_levels_held(&held, &levels, NULL, 50, 12.5);
    assert_near(held.peak, 190 / 3.0 / 4 + (90 - 190 / 3.0) / 2, 0.5);
}

/* Busy ones stay; what is beyond the expected goes with the root, and of that
 * what differs from the seconds around with the ratio. */
static void test_levels__expected_waits_say_when(void **state)
{
    static const uint32_t values[] = {30, 30, 30, 30, 30}, busy[] = {
        6, 6, 6, 6, 6};
    static const double now[] = {22, 22, 22, 22, 22},
                        to[] = {10, 10, 15, 10, 6};
    ka_levels levels = {.values = values, .at_least = busy, .n = 5};
    ka_levels_expected expected = {.now = now, .to = now};
    ka_held held;

    (void)state;
    ka_levels_held(&held, &levels, &expected, 20, 20);
    assert_near(held.peak, 30, 0);
    expected.to = to;
    ka_levels_held(&held, &levels, &expected, 20, 8);
    assert_near(held.mean, 8, 0);
    assert_near(held.peak, 6 + 9 + 8 * 3 / 4.0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_levels__as_observed_at_the_present_mean),
        unit_test(test_levels__m12_busiest_hour_without_the_bias_of_maxima),
        unit_test(test_levels__load_scales_and_bursts_keep_their_z),
        unit_test(test_levels__never_below_those_that_are_busy_anyway),
        unit_test(test_levels__without_history_z_is_assumed),
        unit_test(test_levels__expected_waits_say_when),
        unit_test(test_levels__impossible_values_are_held_in_bounds),
        unit_test(test_levels__steps_of_minutes_need_their_peak),
        unit_test(test_levels__periods_are_hours_whatever_the_step)};

    return unit_main(tests);
}
