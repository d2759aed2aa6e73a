/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "model/curve.h"

static const ka_held points[] = {
    {.mean = 2, .variance = 4, .p99 = 6, .p999 = 8, .peak = 10, .workers = 11},
    {.mean = 10, .variance = 30, .p99 = 20, .p999 = 30, .peak = 31,
     .workers = 33, .busiest_mean = 12, .busiest_variance = 40},
    {.mean = 40, .variance = 90, .p99 = 60, .p999 = 70, .peak = 75,
     .workers = 80, .busiest_mean = 50, .busiest_variance = 100}};
static const ka_curve curve = {.points = points, .n = 3};

static void test_curve__a_point_is_itself(void **state)
{
    ka_held held = {0};
    size_t i;

    (void)state;
    for (i = 0; i < 3; i++) {
        assert_true(ka_curve_held(&held, &curve, points[i].mean, 40));
        assert_near(held.mean, points[i].mean, 0);
        assert_near(held.variance, points[i].variance, 1e-9);
        assert_near(held.p99, points[i].p99, 0);
        assert_near(held.p999, points[i].p999, 0);
        assert_near(held.peak, points[i].peak, 0);
        assert_near(held.workers, points[i].workers, 0);
    }
}

static void test_curve__between_by_the_mean(void **state)
{
    ka_held held = {0};

    (void)state;
    assert_true(ka_curve_held(&held, &curve, 25, 40));
    assert_near(held.p999, 50, 0);
    assert_near(held.peak, 53, 0);
    assert_near(held.busiest_mean, 31, 1e-9);
    assert_near(held.busiest_variance, 70, 1e-9);
    assert_true(ka_curve_held(&held, &curve, 4, 40));
    assert_near(held.p999, 14, 0); /* 8 + 22 / 4, a whole number */
}

/* Counted otherwise, the mean in force is 44: the shape is the same. */
static void test_curve__means_are_shares_of_the_one_in_force(void **state)
{
    ka_held held = {0};

    (void)state;
    assert_true(ka_curve_held(&held, &curve, 11, 44));
    assert_near(held.mean, 11, 0);
    assert_near(held.p999, 30, 0);
}

static void test_curve__ends_at_its_ends(void **state)
{
    ka_held held = {0};

    (void)state;
    assert_true(ka_curve_held(&held, &curve, 1, 40));
    assert_near(held.p999, 8, 0);
    assert_true(ka_curve_held(&held, &curve, 41, 40));
    assert_near(held.peak, 75, 0);
}

/* A third of the way from the mean of 10 to that of 40. */
static void test_curve__unanswered_closes_are_of_both_ends(void **state)
{
    const ka_curve_means third = {10, 40, 20, 40}, longer = {10, 70, 20, 40},
                         none = {25, 25, 25, 40};
    ka_held held = {0};

    (void)state;
    assert_true(ka_curve_held_by(&held, &curve, &third));
    assert_near(held.mean, 20, 0);
    assert_near(held.p999, 43, 0); /* 30 + 40 / 3 */
    assert_near(held.variance, 50, 1e-9);
    /* no more is held than in force */
    assert_true(ka_curve_held_by(&held, &curve, &longer));
    assert_near(held.p999, 43, 0);
    assert_true(ka_curve_held_by(&held, &curve, &none));
    assert_near(held.p999, 50, 0);
}

static void test_curve__nothing_counted_tells_nothing(void **state)
{
    const ka_curve empty = {0}, one = {.points = points, .n = 1};
    ka_held held = {.peak = 7};

    (void)state;
    assert_false(ka_curve_held(&held, &empty, 4, 40));
    assert_false(ka_curve_held(&held, &one, 4, 40));
    assert_false(ka_curve_held(&held, &curve, 4, 0));
    assert_false(ka_curve_held(&held, &curve, 4, NAN));
    assert_near(held.peak, 7, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_curve__a_point_is_itself),
        unit_test(test_curve__between_by_the_mean),
        unit_test(test_curve__means_are_shares_of_the_one_in_force),
        unit_test(test_curve__ends_at_its_ends),
        unit_test(test_curve__unanswered_closes_are_of_both_ends),
        unit_test(test_curve__nothing_counted_tells_nothing)};

    return unit_main(tests);
}
