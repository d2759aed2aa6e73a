/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "ka_histogram.h"

/* xorshift: seeded, the same on every machine. */
static uint64_t next_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Spread over all decades, like gaps are. */
static uint64_t random_value(uint64_t *state)
{
    return next_random(state) >> (27 + next_random(state) % 37);
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return x < y ? -1 : x > y;
}

static void test_hist_bins__edges(void **state)
{
    static const struct {
        uint64_t value;
        size_t bin;
    } cases[] = {
        {0, 0},
        {1, 1},
        {15, 15},
        {16, 16},
        {31, 31},
        {32, 32},
        {33, 32},
        {34, 33},
        {63, 47},
        {64, 48},
        {KA_HIST_MAX - 1, KA_HIST_BINS - 1},
        {KA_HIST_MAX, KA_HIST_BINS - 1},
        {UINT64_MAX, KA_HIST_BINS - 1},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(ka_hist_bin_index(cases[i].value), cases[i].bin);
    }
}

static void test_hist_bins__low_and_index_agree_and_are_narrow(void **state)
{
    size_t i;

    (void)state;
    assert_int_equal(ka_hist_bin_low(KA_HIST_BINS), KA_HIST_MAX);
    for (i = 0; i < KA_HIST_BINS; i++) {
        uint64_t low = ka_hist_bin_low(i), high = ka_hist_bin_low(i + 1);

        assert_true(low < high);
        assert_int_equal(ka_hist_bin_index(low), i);
        assert_int_equal(ka_hist_bin_index(high - 1), i);
        assert_true(high - low == 1 || (high - low) * 16 <= low);
    }
}

static void test_hist__empty_has_no_values(void **state)
{
    ka_hist h;

    (void)state;
    ka_hist_init(&h);
    assert_int_equal(ka_hist_count(&h), 0);
    assert_int_equal(ka_hist_sum(&h), 0);
    assert_near(ka_hist_mean(&h), 0, 0);
    assert_near(ka_hist_quantile(&h, 0.5), 0, 0);
    assert_near(ka_hist_max(&h), 0, 0);
    assert_near(ka_hist_count_above(&h, 0), 0, 0);
    assert_near(ka_hist_sum_capped(&h, UINT64_MAX), 0, 0);
}

static void test_hist__one_value_is_exact(void **state)
{
    static const uint64_t values[] = {0,       7,           1000003,
                                      5000000, KA_HIST_MAX, KA_HIST_MAX * 9};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        double value = (double)values[i];
        ka_hist h;

        ka_hist_init(&h);
        ka_hist_add(&h, values[i]);
        assert_near(ka_hist_quantile(&h, 0), value, 0);
        assert_near(ka_hist_quantile(&h, 0.5), value, 0);
        assert_near(ka_hist_quantile(&h, 1), value, 0);
        assert_near(ka_hist_max(&h), value, 0);
        assert_near(ka_hist_mean(&h), value, 0);
        assert_near(ka_hist_sum_capped(&h, UINT64_MAX), value, 0);
    }
}

static void test_hist_add_n__is_n_times_add(void **state)
{
    ka_hist a, b;
    int i;

    (void)state;
    ka_hist_init(&a);
    ka_hist_init(&b);
    ka_hist_add_n(&a, 12345, 0);
    assert_int_equal(ka_hist_count(&a), 0);
    ka_hist_add_n(&a, 12345, 7);
    for (i = 0; i < 7; i++) {
        ka_hist_add(&b, 12345);
    }
    assert_memory_equal(&a, &b, sizeof(a));
}

static void test_hist__sums_stop_at_the_top(void **state)
{
    ka_hist h;

    (void)state;
    ka_hist_init(&h);
    ka_hist_add_n(&h, UINT64_C(1) << 63, 2);
    assert_true(ka_hist_sum(&h) == UINT64_MAX);
    ka_hist_add(&h, UINT64_MAX);
    ka_hist_add(&h, UINT64_MAX);
    ka_hist_add_n(&h, UINT64_MAX / 2, 5);
    ka_hist_add_n(&h, 1, UINT64_MAX);
    ka_hist_merge(&h, &h);
    assert_true(ka_hist_sum(&h) == UINT64_MAX);
    assert_true(ka_hist_count(&h) == UINT64_MAX);
    assert_true(isfinite(ka_hist_quantile(&h, 0.999)));
}

#define SAMPLES 20000

static void fill(ka_hist *h, uint64_t *values, uint64_t seed)
{
    size_t i;

    ka_hist_init(h);
    for (i = 0; i < SAMPLES; i++) {
        values[i] = random_value(&seed);
        ka_hist_add(h, values[i]);
    }
}

static void test_hist_quantile__within_a_bin_of_order_statistic(void **state)
{
    static const double qs[] = {0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1};
    static uint64_t values[SAMPLES];
    double previous = 0;
    size_t i;
    ka_hist h;

    (void)state;
    fill(&h, values, 20240601);
    qsort(values, SAMPLES, sizeof(values[0]), by_value);
    for (i = 0; i < sizeof(qs) / sizeof(qs[0]); i++) {
        double truth = (double)values[(size_t)ceil(qs[i] * SAMPLES) - 1];
        double got = ka_hist_quantile(&h, qs[i]);

        assert_near(got, truth, truth / 16);
        assert_true(got >= previous);
        previous = got;
    }
    assert_near(ka_hist_quantile(&h, 2), ka_hist_quantile(&h, 1), 0);
    assert_near(ka_hist_quantile(&h, -1), ka_hist_quantile(&h, 0), 0);
    assert_near(ka_hist_quantile(&h, NAN), ka_hist_quantile(&h, 0), 0);
}

static void test_hist_quantile__is_interpolated_by_rank(void **state)
{
    ka_hist h;

    (void)state;
    ka_hist_init(&h);
    ka_hist_add_n(&h, 64, 50); /* the bin of 64 .. 67 */
    ka_hist_add_n(&h, 67, 50);
    assert_near(ka_hist_quantile(&h, 0.5), 65.5, 1e-12);
    assert_near(ka_hist_quantile(&h, 0.25), 64.75, 1e-12);
    assert_near(ka_hist_max(&h), 67, 0);
}

static void exact_terms(double *above, double *capped, const uint64_t *values,
                        uint64_t x)
{
    size_t i;

    *above = *capped = 0;
    for (i = 0; i < SAMPLES; i++) {
        *above += values[i] > x;
        *capped += (double)(values[i] < x ? values[i] : x);
    }
}

/* [M4], [M5] at every bin edge; 1e-12 relative is the rounding of doubles. */
static void test_hist_m4_m5__exact_at_every_edge(void **state)
{
    static uint64_t values[SAMPLES];
    size_t bin;
    ka_hist h;

    (void)state;
    fill(&h, values, 7);
    for (bin = 1; bin <= KA_HIST_BINS; bin += bin < 64 ? 1 : 7) {
        uint64_t edge = ka_hist_bin_low(bin);
        double above, capped, unused;

        exact_terms(&above, &unused, values, edge - 1);
        exact_terms(&unused, &capped, values, edge);
        assert_near(ka_hist_count_above(&h, edge - 1), above, 0);
        assert_near(ka_hist_sum_capped(&h, edge), capped, capped * 1e-12);
    }
}

static void test_hist_m4_m5__linear_in_between(void **state)
{
    uint64_t low = ka_hist_bin_low(200), high = ka_hist_bin_low(201);
    uint64_t middle = (low + high) / 2;
    ka_hist h;

    (void)state;
    ka_hist_init(&h);
    ka_hist_add_n(&h, low, 10);
    ka_hist_add_n(&h, high - 1, 10);
    assert_near(ka_hist_count_above(&h, middle - 1), 10, 1e-9);
    assert_near(
        ka_hist_sum_capped(&h, middle),
        (ka_hist_sum_capped(&h, low) + ka_hist_sum_capped(&h, high)) / 2, 1e-3);
    assert_near(ka_hist_count_above(&h, UINT64_MAX), 0, 0);
    assert_near(ka_hist_sum_capped(&h, UINT64_MAX), (double)ka_hist_sum(&h), 0);
}

static void
test_hist_m5__clamped_values_count_whole_beyond_the_top(void **state)
{
    ka_hist h;

    (void)state;
    ka_hist_init(&h);
    ka_hist_add_n(&h, KA_HIST_MAX * 4, 3);
    assert_near(ka_hist_sum_capped(&h, KA_HIST_MAX), 3.0 * KA_HIST_MAX, 0);
    assert_near(ka_hist_sum_capped(&h, KA_HIST_MAX * 2), 6.0 * KA_HIST_MAX, 0);
    assert_near(ka_hist_sum_capped(&h, KA_HIST_MAX * 8), 12.0 * KA_HIST_MAX, 0);
    assert_near(ka_hist_quantile(&h, 1), (double)(KA_HIST_MAX - 1), 0);
}

static void test_hist_merge__equals_adding_all(void **state)
{
    static uint64_t values[SAMPLES];
    ka_hist parts[3], all, left, right;
    uint64_t seed = 99;
    size_t i;

    (void)state;
    ka_hist_init(&all);
    for (i = 0; i < 3; i++) {
        ka_hist_init(&parts[i]);
    }
    for (i = 0; i < SAMPLES; i++) {
        values[i] = random_value(&seed);
        ka_hist_add(&all, values[i]);
        ka_hist_add(&parts[seed % 3], values[i]);
    }
    left = parts[0]; /* (0 + 1) + 2 */
    ka_hist_merge(&left, &parts[1]);
    ka_hist_merge(&left, &parts[2]);
    right = parts[2]; /* (2 + 1) + 0 */
    ka_hist_merge(&right, &parts[1]);
    ka_hist_merge(&right, &parts[0]);
    assert_memory_equal(&left, &all, sizeof(all));
    assert_memory_equal(&right, &all, sizeof(all));
    assert_int_equal(ka_hist_count(&all), SAMPLES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_hist_bins__edges),
        unit_test(test_hist_bins__low_and_index_agree_and_are_narrow),
        unit_test(test_hist__empty_has_no_values),
        unit_test(test_hist__one_value_is_exact),
        unit_test(test_hist_add_n__is_n_times_add),
        unit_test(test_hist__sums_stop_at_the_top),
        unit_test(test_hist_quantile__within_a_bin_of_order_statistic),
        unit_test(test_hist_quantile__is_interpolated_by_rank),
        unit_test(test_hist_m4_m5__exact_at_every_edge),
        unit_test(test_hist_m4_m5__linear_in_between),
        unit_test(test_hist_m5__clamped_values_count_whole_beyond_the_top),
        unit_test(test_hist_merge__equals_adding_all),
    };

    return unit_main(tests);
}
