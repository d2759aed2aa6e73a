/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"

#include <stdbool.h>

#include <model/resample.h>

/* Tables of Student's distribution, 5 % in one tail. */
static void test_student__is_the_table(void **state)
{
    static const struct {
        double nu, t;
    } rows[] = {{5, 2.015},  {6, 1.943},  {11, 1.796},
                {15, 1.753}, {30, 1.697}, {63, 1.669}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_near(ka_student(1.64485, rows[i].nu), rows[i].t,
                    0.005 * rows[i].t);
    }
}

/* Many units: 5 % of 400 on each side; fewer: further out. */
static void test_resample__fewer_units_reach_further(void **state)
{
    (void)state;
    assert_int_equal(ka_resample_outside(1e6), 19);
    assert_int_equal(ka_resample_outside(64), 17);
    assert_in_range(ka_resample_outside(12), 10, 12);
    assert_in_range(ka_resample_outside(KA_UNITS_MIN), 3, 5);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void test_resample__intervals_are_those_of_sorting(void **state)
{
    static const unsigned many[] = {1, 2, 7, 100000};
    size_t m, i, outside;

    (void)state;
    for (m = 0; m < sizeof(many) / sizeof(many[0]); m++) {
        for (outside = 0; outside < 40; outside++) {
            double values[KA_REPLICATES], sorted[KA_REPLICATES];
            ka_interval is;

            for (i = 0; i < KA_REPLICATES; i++) {
                values[i] = (double)((i * 7919 + outside * 31) % 1009 %
                                     many[m]);
            }
            memcpy(sorted, values, sizeof(sorted));
            qsort(sorted, KA_REPLICATES, sizeof(*sorted), compare);
            is = ka_resample_interval(values, outside);
            assert_true(is.low == sorted[outside]);
            assert_true(is.high == sorted[KA_REPLICATES - 1 - outside]);
        }
    }
}

/* Each replicate draws as many as there are; equal units cannot vary. */
static void test_resample__draws_as_many_as_there_are(void **state)
{
    double units[7 * 2], sums[KA_REPLICATES * 2], again[KA_REPLICATES * 2];
    bool differ = false;
    size_t i;

    (void)state;
    for (i = 0; i < 7; i++) {
        units[2 * i] = 1;
        units[2 * i + 1] = (double)i;
    }
    ka_resample(sums, units, 7, 2);
    for (i = 0; i < KA_REPLICATES; i++) {
        assert_true(sums[2 * i] == 7);
        assert_true(sums[2 * i + 1] >= 0 && sums[2 * i + 1] <= 42);
        differ = differ || sums[2 * i + 1] != sums[1];
    }
    assert_true(differ);
    ka_resample(again, units, 7, 2);
    assert_memory_equal(sums, again, sizeof(sums));
}

/* A sum of n draws varies n times as much as one. */
static void test_resample__sums_vary_as_sums_of_draws_do(void **state)
{
    double units[50], sums[KA_REPLICATES], mean = 0, is = 0, of = 0;
    size_t i;

    (void)state;
    for (i = 0; i < 50; i++) {
        units[i] = (double)(i * i % 50);
        mean += units[i] / 50;
    }
    for (i = 0; i < 50; i++) {
        of += (units[i] - mean) * (units[i] - mean);
    }
    ka_resample(sums, units, 50, 1);
    for (i = 0; i < KA_REPLICATES; i++) {
        is += (sums[i] - 50 * mean) * (sums[i] - 50 * mean) / KA_REPLICATES;
    }
    /* A variance of 400 values is within 3 sqrt(2/400) = 21 %. */
    assert_near(is / of, 1, 0.21);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_student__is_the_table),
        unit_test(test_resample__fewer_units_reach_further),
        unit_test(test_resample__intervals_are_those_of_sorting),
        unit_test(test_resample__draws_as_many_as_there_are),
        unit_test(test_resample__sums_vary_as_sums_of_draws_do)};

    return unit_main(tests);
}
