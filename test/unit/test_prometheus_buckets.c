/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * From cumulative buckets back to histograms. */
#include <math.h>
#include <stdlib.h>
#include <apr_strings.h>

#include "profile/buckets.h"
#include "unit.h"

#define SEC 1000000.0

static const ka_bucket_options plain = {.scale = 1e6, .limit = -1};

static void add(ka_prom_points *points, double bound, double value,
                apr_pool_t *pool)
{
    if (!points->items) {
        points->items = apr_palloc(pool, 100 * sizeof(*points->items));
    }
    points->items[points->n++] = (ka_prom_point){bound, value};
}

/* Bounds of bins of the histogram: 131.072 ms, twice that, ... */
#define BOUND(i) (((double)(UINT64_C(131072) << (i)) - 1) / SEC)
#define BOUNDS 8

/* Buckets and sums of a histogram of microseconds. */
static ka_prom_histogram buckets_of(const ka_hist *h, bool sums,
                                    apr_pool_t *pool)
{
    ka_prom_histogram out = {0};
    double count = 0, sum = 0;
    size_t bin = 0, i;

    for (i = 0; i < BOUNDS; i++) {
        for (; bin < ka_hist_bin_index(UINT64_C(131072) << i); bin++) {
            count += (double)h->bins[bin].count;
            sum += (double)h->bins[bin].sum / SEC;
        }
        add(&out.buckets, BOUND(i), count, pool);
        if (sums) {
            add(&out.sums, BOUND(i), sum, pool);
        }
    }
    add(&out.buckets, HUGE_VAL, (double)ka_hist_count(h), pool);
    out.sum = (double)ka_hist_sum(h) / SEC;
    return out;
}

static void made(ka_hist *h, unsigned seed)
{
    int i;

    ka_hist_init(h);
    srand(seed);
    for (i = 0; i < 5000; i++) {
        double u = (rand() + 1.0) / (RAND_MAX + 2.0);

        ka_hist_add(h, (uint64_t)(-log(u) * 2 * SEC));
    }
}

/* [M4] and [M5] at the bounds. */
static void test_buckets__counts_and_sums_are_exact_at_bounds(void **state)
{
    ka_hist from, to;
    ka_prom_histogram in;
    size_t i;

    made(&from, 1);
    in = buckets_of(&from, true, *state);
    ka_buckets_spread(&to, &in, &plain, *state);
    assert_int_equal(ka_hist_count(&to), ka_hist_count(&from));
    assert_near((double)ka_hist_sum(&to), (double)ka_hist_sum(&from),
                1e-6 * (double)ka_hist_sum(&from));
    for (i = 0; i < BOUNDS; i++) {
        uint64_t edge = UINT64_C(131072) << i;

        assert_near(ka_hist_count_above(&to, edge - 1),
                    ka_hist_count_above(&from, edge - 1), 0);
        assert_near(ka_hist_sum_capped(&to, edge),
                    ka_hist_sum_capped(&from, edge),
                    1e-6 * ka_hist_sum_capped(&from, edge));
    }
}

/* In between, smooth distributions come out within 5 %. */
static void test_buckets__between_bounds_within_5_percent(void **state)
{
    ka_hist from, to;
    ka_prom_histogram in;
    uint64_t x;

    made(&from, 2);
    in = buckets_of(&from, true, *state);
    ka_buckets_spread(&to, &in, &plain, *state);
    for (x = 150000; x < 8 * SEC; x = x * 5 / 4) {
        assert_near(ka_hist_count_above(&to, x), ka_hist_count_above(&from, x),
                    0.05 * (double)ka_hist_count(&from));
        assert_near(ka_hist_sum_capped(&to, x), ka_hist_sum_capped(&from, x),
                    0.05 * ka_hist_sum_capped(&from, x));
    }
}

/* All values in one place of a wide bucket: its sum says where. */
static void test_buckets__a_cluster_is_found_by_its_sum(void **state)
{
    ka_hist from, to;
    ka_prom_histogram in;

    ka_hist_init(&from);
    ka_hist_add_n(&from, 330000, 1000);
    in = buckets_of(&from, true, *state);
    ka_buckets_spread(&to, &in, &plain, *state);
    assert_near(ka_hist_mean(&to), 330000, 10);
    assert_near(ka_hist_sum_capped(&to, 5 * SEC), 330e6, 1e4);
}

/* Without sums per bucket the sum of all is kept. */
static void test_buckets__without_sums_the_total_is_kept(void **state)
{
    ka_hist from, to;
    ka_prom_histogram in;

    made(&from, 3);
    in = buckets_of(&from, false, *state);
    ka_buckets_spread(&to, &in, &plain, *state);
    assert_int_equal(ka_hist_count(&to), ka_hist_count(&from));
    assert_near(ka_hist_mean(&to), ka_hist_mean(&from),
                1e-3 * ka_hist_mean(&from));
}

/* Timeouts at 1 s, a little late, and clients that closed at 0.6 s. */
static void test_buckets__what_the_limit_ended_stands_at_the_limit(void **state)
{
    const ka_bucket_options limited = {
        .scale = 1e6, .limit = 1000000, .at_limit = 60, .slack = 500000};
    ka_hist from, to;
    ka_prom_histogram in;

    ka_hist_init(&from);
    ka_hist_add_n(&from, 1001000, 40);
    ka_hist_add_n(&from, 1060000, 20); /* the next bucket */
    ka_hist_add_n(&from, 600000, 30);
    in = buckets_of(&from, true, *state);
    ka_buckets_spread(&to, &in, &limited, *state);
    assert_int_equal(ka_hist_count(&to), 90);
    assert_int_equal(to.bins[ka_hist_bin_index(1000000)].count, 60);
    assert_near(ka_hist_count_above(&to, 1015807), 0, 0);
    /* the lateness is all that the others are off by */
    assert_near(ka_hist_sum_capped(&to, 1000000) - 60e6, 30 * 600000.0,
                40 * 1000 + 20 * 60000.0);
}

static void test_buckets__nothing_lies_above_the_limit(void **state)
{
    const ka_bucket_options limited = {
        .scale = 1e6, .limit = 700000, .slack = 500000};
    ka_prom_histogram in = {.sum = 680};
    ka_hist to;

    add(&in.buckets, BOUND(2), 0, *state);
    add(&in.buckets, BOUND(3), 1000, *state);
    ka_buckets_spread(&to, &in, &limited, *state);
    assert_near(ka_hist_mean(&to), 680000, 1000);
    assert_near(ka_hist_count_above(&to, 720895), 0, 0);
}

/* le="1.0" holds exactly those of 1. */
static void test_buckets__whole_numbers_stay_whole(void **state)
{
    const ka_bucket_options numbers = {.scale = 1, .limit = -1};
    ka_prom_histogram in = {.sum = 16};
    ka_hist to;

    add(&in.buckets, 0, 2, *state);
    add(&in.buckets, 1, 5, *state);
    add(&in.buckets, 2, 6, *state);
    add(&in.buckets, 5, 8, *state); /* 3 .. 5: two that add up to 11 */
    ka_buckets_spread(&to, &in, &numbers, *state);
    assert_int_equal(to.bins[0].count, 2);
    assert_int_equal(to.bins[1].count, 3);
    assert_int_equal(to.bins[1].sum, 3);
    assert_int_equal(to.bins[2].count, 1);
    assert_int_equal(ka_hist_count(&to), 8);
}

static void test_buckets__order_and_spelling_do_not_matter(void **state)
{
    ka_prom_histogram in = {.sum = 3}, shuffled = {.sum = 3};
    ka_hist a, b;

    add(&in.buckets, 0.5, 4, *state);
    add(&in.buckets, 1, 8, *state);
    add(&in.buckets, HUGE_VAL, 9, *state);
    add(&shuffled.buckets, HUGE_VAL, 9, *state);
    add(&shuffled.buckets, 1, 3, *state);
    add(&shuffled.buckets, 0.5, 4, *state);
    add(&shuffled.buckets, 1, 5, *state); /* "1" and "1.0" */
    ka_buckets_spread(&a, &in, &plain, *state);
    ka_buckets_spread(&b, &shuffled, &plain, *state);
    assert_memory_equal(&a, &b, sizeof(a));
}

/* Fractions, as increase() gives, lose no more than a half each. */
static void test_buckets__fractions_are_rounded(void **state)
{
    ka_prom_histogram in = {.sum = 10};
    ka_hist to;

    add(&in.buckets, 0.5, 10.4, *state);
    add(&in.buckets, 1, 20.6, *state);
    add(&in.buckets, HUGE_VAL, 20.6, *state);
    ka_buckets_spread(&to, &in, &plain, *state);
    assert_int_equal(ka_hist_count(&to), 21);
}

static void test_buckets__hostile_points_give_some_histogram(void **state)
{
    static const double bounds[] = {0,   1e-9, 0.5, 0.5,     1,
                                    1e6, 1e12, 5,   HUGE_VAL};
    static const double values[] = {1e15, 0, 7, 3, 1e15, 0.3, 1e9};
    ka_hist to;
    int i, k;

    srand(4);
    for (i = 0; i < 2000; i++) {
        ka_bucket_options options = {
            .scale = i % 3 ? 1e6 : 1,
            .limit = i % 2 ? -1 : (int64_t)(rand() % 3) * 300000000,
            .at_limit = (uint64_t)(rand() % 2) * UINT64_MAX,
            .slack = 500000};
        ka_prom_histogram in = {.sum = values[rand() % 7]};

        for (k = rand() % 12; k > 0; k--) {
            add(&in.buckets, bounds[rand() % 9], values[rand() % 7], *state);
            add(&in.sums, bounds[rand() % 9], values[rand() % 7], *state);
        }
        ka_buckets_spread(&to, &in, &options, *state);
        assert_true(ka_hist_count(&to) < UINT64_MAX / 2);
    }
    ka_buckets_spread(&to, &(ka_prom_histogram){0}, &plain, *state);
    assert_int_equal(ka_hist_count(&to), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_buckets__counts_and_sums_are_exact_at_bounds),
        unit_test(test_buckets__between_bounds_within_5_percent),
        unit_test(test_buckets__a_cluster_is_found_by_its_sum),
        unit_test(test_buckets__without_sums_the_total_is_kept),
        unit_test(test_buckets__what_the_limit_ended_stands_at_the_limit),
        unit_test(test_buckets__nothing_lies_above_the_limit),
        unit_test(test_buckets__whole_numbers_stay_whole),
        unit_test(test_buckets__order_and_spelling_do_not_matter),
        unit_test(test_buckets__fractions_are_rounded),
        unit_test(test_buckets__hostile_points_give_some_histogram),
    };

    return unit_main(tests);
}
