/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "model/erlang.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* The textbook sum: B(n, A) = (A^n / n!) / sum (A^k / k!), scaled so that
 * the last term is 1. */
static double b_by_sum(int servers, double load)
{
    double term = 1, sum = 1;
    int k;

    for (k = servers; k > 0; k--) {
        term *= k / load;
        sum += term;
    }
    return 1 / sum;
}

/* Jagerman's integral by the double exponential rule: y = exp(t - exp(-t)),
 * trapezoids in t. */
static double b_by_integral(double s, double load)
{
    double sum = 0, t, y = 0, h = 1.0 / 256;

    for (t = -5; load * y < 700; t += h) {
        y = exp(t - exp(-t));
        sum += exp(-load * y) * pow(1 + y, s) * y * (1 + exp(-t)) * h;
    }
    return 1 / (load * sum);
}

static void test_erlang_b__known_values(void **state)
{
    (void)state;
    assert_near(ka_erlang_b(25, 12.5), 6.4e-4, 0.05e-4);
    assert_near(ka_erlang_b(0, 3), 1, 0);
    assert_near(ka_erlang_b(1, 1), 0.5, 1e-12);
    assert_near(ka_erlang_b(2, 1), 0.2, 1e-12);
    assert_near(ka_erlang_b(1, 1e-6), 1e-6 / (1 + 1e-6), 1e-18);
}

static void test_erlang_b__whole_servers_equal_the_sum(void **state)
{
    static const double loads[] = {1e-6, 0.01, 0.5,  1,    1.999, 2,
                                   2.5,  12.5, 22.3, 1000, 1e5};
    static const int servers[] = {0, 1, 2, 3, 7, 25, 100, 1000, 3000};
    size_t i, k;

    (void)state;
    for (i = 0; i < COUNT_OF(loads); i++) {
        for (k = 0; k < COUNT_OF(servers); k++) {
            double expected = b_by_sum(servers[k], loads[i]);

            assert_near(ka_erlang_b(servers[k], loads[i]), expected,
                        expected * 1e-11 + 1e-300);
        }
    }
}

static void test_erlang_b__fractions_equal_the_integral(void **state)
{
    static const double loads[] = {1e-6, 1e-4, 0.1, 0.9, 1.9999, 2,
                                   2.1,  3,    10,  300, 1e4,    1e5};
    static const double servers[] = {0,        1e-9, 0.1,  0.5,  0.9,
                                     0.999999, 1.5,  2.25, 7.75, 15.3};
    size_t i, k;

    (void)state;
    for (i = 0; i < COUNT_OF(loads); i++) {
        for (k = 0; k < COUNT_OF(servers); k++) {
            double expected = b_by_integral(servers[k], loads[i]);

            assert_near(ka_erlang_b(servers[k], loads[i]), expected,
                        expected * 1e-9);
        }
    }
}

/* B(s + 1) = A B / (s + 1 + A B), across every seam of the implementation. */
static void test_erlang_b__obeys_its_recursion_and_falls(void **state)
{
    static const double loads[] = {1e-3, 1.5, 2, 3.7, 50, 1e3, 2e4};
    size_t i;
    double s;

    (void)state;
    for (i = 0; i < COUNT_OF(loads); i++) {
        double load = loads[i];

        for (s = 0; s < 2 * load + 10; s += load / 40 + 0.13) {
            double b = ka_erlang_b(s, load);
            double next = load * b / (s + 1 + load * b);

            assert_near(ka_erlang_b(s + 1, load), next, next * 1e-11);
            assert_true(ka_erlang_b(s + 0.1, load) < b || b < 1e-300);
        }
    }
}

static void test_erlang_b__survives_bad_and_extreme_input(void **state)
{
    static const struct {
        double servers, load, expected;
    } cases[] = {
        {0, 0, 1},         {1, 0, 0},          {1e-9, -1, 0},
        {-5, 3, 1},        {NAN, 3, 1},        {3, NAN, 0},
        {NAN, NAN, 1},     {INFINITY, 5, 0},   {5, INFINITY, 1},
        {1e300, 1e9, 0},   {1e300, 1e-300, 0}, {2e12, 1e12, 0},
        {5e11, 1e12, 0.5}, {0, 1e-300, 1},     {1000, 1e-6, 0},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        assert_near(ka_erlang_b(cases[i].servers, cases[i].load),
                    cases[i].expected, 1e-300);
    }
}

static void test_workers_m12__known_values(void **state)
{
    static const struct {
        double mean, z, eps, expected;
    } cases[] = {
        {22.3, 3.58, 1e-3, 55}, {22.3, 1, 1e-3, 38}, /* B(37, 22.3) = 1.16e-3,
                                                        B(38) = 6.8e-4 */
        {22.3, 0.2, 1e-3, 38},  {22.3, NAN, 1e-3, 38}, {22.3, 1, 0, 38},
        {22.3, 1, NAN, 38},     {22.3, 1, 0.999, 23},  {12.5, 1, 6.4e-4, 25},
        {0, 5, 1e-3, 0},        {-1, 5, 1e-3, 0},      {NAN, 5, 1e-3, 0},
        {INFINITY, 5, 1e-3, 0}, {1e-9, 1, 1e-3, 1},    {1e12, 1, 1e-3, 1e12},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        assert_near(ka_workers_needed(cases[i].mean, cases[i].z, cases[i].eps),
                    cases[i].expected, 0);
    }
}

static void test_workers_m12__is_the_smallest_that_suffices(void **state)
{
    double mean, z;

    (void)state;
    for (mean = 0.01; mean < 30000; mean *= 1.7) {
        for (z = 1; z < 200; z *= 2.3) {
            double c = ka_workers_needed(mean, z, KA_BLOCKING);

            assert_true(c >= mean);
            assert_near(c, floor(c), 0);
            assert_true(ka_erlang_b(c / z, mean / z) <= KA_BLOCKING);
            assert_true(c == ceil(mean) ||
                        ka_erlang_b((c - 1) / z, mean / z) > KA_BLOCKING);
        }
    }
}

static void test_workers_m12__ends_for_any_input(void **state)
{
    double mean, z;

    (void)state;
    for (mean = 1e-300; mean < 1e300; mean *= 3.7e17) {
        for (z = 1; z < 1e300; z *= 1.9e23) {
            assert_true(ka_workers_needed(mean, z, 1e-300) >= ceil(mean));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_erlang_b__known_values),
        unit_test(test_erlang_b__whole_servers_equal_the_sum),
        unit_test(test_erlang_b__fractions_equal_the_integral),
        unit_test(test_erlang_b__obeys_its_recursion_and_falls),
        unit_test(test_erlang_b__survives_bad_and_extreme_input),
        unit_test(test_workers_m12__known_values),
        unit_test(test_workers_m12__is_the_smallest_that_suffices),
        unit_test(test_workers_m12__ends_for_any_input),
    };

    return unit_main(tests);
}
