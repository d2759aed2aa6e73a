/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "tallies.h"
#include "profile/distinct.h"
#include "profile/keymap.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static ka_distinct sets[4];

static void add_keys(ka_distinct *d, uint64_t from, uint64_t to)
{
    uint64_t key;

    for (key = from; key < to; key++) {
        ka_distinct_add(d, key);
    }
}

static void assert_same_set(const ka_distinct *a, const ka_distinct *b)
{
    assert_int_equal(a->n, b->n);
    assert_memory_equal(a->hashes, b->hashes, a->n * sizeof(*a->hashes));
}

static void test_distinct__is_exact_below_its_room(void **state)
{
    ka_distinct *d = &sets[0];

    (void)state;
    ka_distinct_init(d);
    assert_int_equal(ka_distinct_count(d), 0);
    add_keys(d, 0, 1);
    add_keys(d, 0, 1);
    assert_int_equal(ka_distinct_count(d), 1);
    add_keys(d, 0, KA_DISTINCT_MAX - 1);
    add_keys(d, 5, 900);
    assert_int_equal(ka_distinct_count(d), KA_DISTINCT_MAX - 1);
}

/* 1.6 % is one standard error; over 4 lies one in 16,000. */
static void test_distinct__estimates_beyond(void **state)
{
    static const uint64_t counts[] = {KA_DISTINCT_MAX, 5000, 20000, 100000,
                                      2000000};
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(counts); i++) {
        double n = (double)counts[i];
        ka_distinct *d = &sets[0];

        ka_distinct_init(d);
        add_keys(d, 1, counts[i] + 1);
        add_keys(d, 1, 1000);
        assert_near((double)ka_distinct_count(d), n, 4 * 0.016 * n);
    }
}

static void test_distinct__hashes_are_ascending(void **state)
{
    size_t i;

    (void)state;
    ka_distinct_init(&sets[0]);
    add_keys(&sets[0], 0, 10000);
    assert_int_equal(sets[0].n, KA_DISTINCT_MAX);
    for (i = 1; i < sets[0].n; i++) {
        assert_true(sets[0].hashes[i - 1] < sets[0].hashes[i]);
    }
}

/* The union is that of all keys, whatever was merged first and how often. */
static void test_distinct_merge__is_the_union(void **state)
{
    static const struct {
        uint64_t from[2], to[2];
    } cases[] = {
        {{0, 50}, {100, 200}},     {{0, 0}, {0, 300}},
        {{0, 1000}, {3000, 9000}}, {{0, 20000}, {20000, 50000}},
        {{7, 7}, {6000, 6000}},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        ka_distinct *a = &sets[0], *b = &sets[1], *all = &sets[2];

        ka_distinct_init(a);
        ka_distinct_init(b);
        ka_distinct_init(all);
        add_keys(a, cases[i].from[0], cases[i].to[0]);
        add_keys(b, cases[i].from[1], cases[i].to[1]);
        add_keys(all, cases[i].from[1], cases[i].to[1]);
        add_keys(all, cases[i].from[0], cases[i].to[0]);
        sets[3] = *b;
        ka_distinct_merge(&sets[3], a);
        ka_distinct_merge(a, b);
        ka_distinct_merge(a, b);
        assert_same_set(a, all);
        assert_same_set(&sets[3], all);
    }
}

static void test_distinct_put__takes_a_hash_as_it_is(void **state)
{
    size_t i;

    (void)state;
    ka_distinct_init(&sets[0]);
    ka_distinct_init(&sets[1]);
    add_keys(&sets[0], 3, 70);
    for (i = sets[0].n; i-- > 0;) {
        ka_distinct_put(&sets[1], sets[0].hashes[i]);
    }
    assert_same_set(&sets[0], &sets[1]);
}

/* Hashes that no hash function gave. */
static void test_distinct__any_hashes_are_harmless(void **state)
{
    uint64_t i;

    (void)state;
    ka_distinct_init(&sets[0]);
    ka_distinct_init(&sets[1]);
    for (i = 0; i < KA_DISTINCT_MAX + 5; i++) {
        ka_distinct_put(&sets[0], i);
        ka_distinct_put(&sets[1], UINT64_MAX - i);
    }
    assert_true(ka_distinct_count(&sets[0]) > KA_DISTINCT_MAX);
    assert_near((double)ka_distinct_count(&sets[1]), KA_DISTINCT_MAX, 1);
}

/* ---- weights ------------------------------------------------------------ */

static ka_weights weights[3];

static void test_weights__none_and_one(void **state)
{
    (void)state;
    ka_weights_init(&weights[0]);
    assert_near(ka_weights_top(&weights[0]), 0, 0);
    ka_weights_add(&weights[0], 1234, 7);
    assert_near(ka_weights_top(&weights[0]), 1, 0);
}

/* Never less than the heaviest key, and more by some 1/KA_WEIGHTS_N. */
static void test_weights__bound_the_heaviest(void **state)
{
    static const struct {
        uint64_t keys, heavy;
    } cases[] = {
        {2, 10}, {100, 50}, {10000, 5000}, {1000000, 200000}, {1000000, 1},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        double sum = (double)(cases[i].keys + cases[i].heavy);
        double share = (double)(cases[i].heavy + 1) / sum;
        uint64_t key;
        double top;

        ka_weights_init(&weights[0]);
        for (key = 1; key <= cases[i].keys; key++) {
            ka_weights_add(&weights[0], key, 1);
        }
        ka_weights_add(&weights[0], 1, cases[i].heavy);
        top = ka_weights_top(&weights[0]);
        assert_true(top >= share);
        assert_near(top, share, 2.0 / KA_WEIGHTS_N);
    }
}

/* A key that shares key 1's cell in the first row only. */
static uint64_t neighbour_of_1(void)
{
    uint64_t hash = ka_key_mix(1), key = 2;

    while (((ka_key_mix(key) ^ hash) & (KA_WEIGHTS_N - 1)) != 0) {
        key++;
    }
    return key;
}

static void test_weights__rows_are_independent(void **state)
{
    (void)state;
    ka_weights_init(&weights[0]);
    ka_weights_add(&weights[0], 1, 10);
    ka_weights_add(&weights[0], neighbour_of_1(), 5);
    assert_near(ka_weights_top(&weights[0]), 10 / 15.0, 1e-12);
}

static void test_weights_merge__adds_up(void **state)
{
    uint64_t seed = 5, i;

    (void)state;
    for (i = 0; i < COUNT_OF(weights); i++) {
        ka_weights_init(&weights[i]);
    }
    for (i = 0; i < 1000; i++) {
        uint64_t key = random_below(&seed, 100);

        ka_weights_add(&weights[i % 2], key, i);
        ka_weights_add(&weights[2], key, i);
    }
    ka_weights_merge(&weights[0], &weights[1]);
    assert_memory_equal(&weights[0], &weights[2], sizeof(weights[0]));
}

static void test_weights__sums_stop_at_their_end(void **state)
{
    (void)state;
    ka_weights_init(&weights[0]);
    ka_weights_add(&weights[0], 1, UINT64_MAX - 1);
    ka_weights_add(&weights[0], 2, 5);
    ka_weights_merge(&weights[0], &weights[0]);
    assert_true(weights[0].sum == UINT64_MAX);
    assert_near(ka_weights_top(&weights[0]), 1, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_distinct__is_exact_below_its_room),
        unit_test(test_distinct__estimates_beyond),
        unit_test(test_distinct__hashes_are_ascending),
        unit_test(test_distinct_merge__is_the_union),
        unit_test(test_distinct_put__takes_a_hash_as_it_is),
        unit_test(test_distinct__any_hashes_are_harmless),
        unit_test(test_weights__none_and_one),
        unit_test(test_weights__bound_the_heaviest),
        unit_test(test_weights__rows_are_independent),
        unit_test(test_weights_merge__adds_up),
        unit_test(test_weights__sums_stop_at_their_end),
    };

    return unit_main(tests);
}
