/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"

#include "ka_adaptive.h"

#define SECOND INT64_C(1000000)

static const ka_adaptive usual = {
    .min_us = SECOND, .max_us = 9 * SECOND, .low = 50, .high = 90};

static void test_adaptive__timeout_falls_in_a_line_P1(void **state)
{
    static const struct {
        uint32_t taken, limit;
        int64_t wanted, timeout;
    } cases[] = {
        {0, 100, 9 * SECOND, 9 * SECOND},
        {50, 100, 9 * SECOND, 9 * SECOND},
        {60, 100, 9 * SECOND, 7 * SECOND},
        {70, 100, 9 * SECOND, 5 * SECOND},
        {80, 100, 9 * SECOND, 3 * SECOND},
        {90, 100, 9 * SECOND, SECOND},
        {100, 100, 9 * SECOND, SECOND},
        {4000000000u, 100, 9 * SECOND, SECOND},
        {35, 50, 9 * SECOND, 5 * SECOND},
        {70, 100, 61 * SECOND, 31 * SECOND}, /* a rule's */
        {100, 100, SECOND / 2, SECOND / 2},  /* shorter than the shortest */
        {7, 0, 9 * SECOND, 9 * SECOND},      /* limit not known */
        {3000000000u, 4000000000u, 9 * SECOND, 4 * SECOND},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        /* A microsecond: the share is a fraction. */
        assert_near((double)ka_adaptive_timeout(&usual, cases[i].wanted,
                                                cases[i].taken, cases[i].limit),
                    (double)cases[i].timeout, 1);
    }
}

static void test_adaptive__excess_leaves_less_than_high_P2(void **state)
{
    uint32_t limit, taken;

    (void)state;
    for (limit = 0; limit < 70; limit++) {
        for (taken = 0; taken <= limit + 3; taken++) {
            uint32_t excess = ka_adaptive_excess(&usual, taken, limit);

            if (limit == 0 || taken * 100 < usual.high * limit) {
                assert_int_equal(excess, 0);
                continue;
            }
            assert_true(excess <= taken);
            assert_true((taken - excess) * 100 < usual.high * limit);
            assert_true((taken - excess + 1) * 100 >= usual.high * limit);
        }
    }
}

static void test_adaptive__calm_below_low(void **state)
{
    (void)state;
    assert_true(ka_adaptive_is_calm(&usual, 49, 100));
    assert_false(ka_adaptive_is_calm(&usual, 50, 100));
    assert_true(ka_adaptive_is_calm(&usual, 1, 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_adaptive__timeout_falls_in_a_line_P1),
        unit_test(test_adaptive__excess_leaves_less_than_high_P2),
        unit_test(test_adaptive__calm_below_low)};

    return unit_run("ka_adaptive", tests, sizeof(tests) / sizeof(tests[0]));
}
