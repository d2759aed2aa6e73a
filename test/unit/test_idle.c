/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"

#include <profile/idle.h>

static void test_idle__takes_the_latest_that_is_ready(void **state)
{
    ka_idle idle;

    (void)state;
    ka_idle_init(&idle, 3);
    ka_idle_put(&idle, 5, 0, 100);
    ka_idle_put(&idle, 5, 1, 90);
    ka_idle_put(&idle, 5, 2, 120);
    ka_idle_advance(&idle, 110);
    assert_int_equal(ka_idle_take(&idle, 5, 0), 0);
    assert_int_equal(ka_idle_take(&idle, 5, 0), 1);
    assert_int_equal(ka_idle_take(&idle, 5, 0), KA_INDEX_NONE);
    ka_idle_advance(&idle, 120);
    assert_int_equal(ka_idle_take(&idle, 5, 0), 2);
    ka_idle_clear(&idle);
}

static void test_idle__forgets_a_key_whose_latest_is_too_old(void **state)
{
    ka_idle idle;

    (void)state;
    ka_idle_init(&idle, 3);
    ka_idle_put(&idle, 5, 0, 10);
    ka_idle_put(&idle, 5, 1, 20);
    ka_idle_put(&idle, 6, 2, 10);
    ka_idle_advance(&idle, 1000);
    assert_int_equal(ka_idle_take(&idle, 5, 21), KA_INDEX_NONE);
    assert_int_equal(ka_idle_take(&idle, 5, 0), KA_INDEX_NONE);
    assert_int_equal(ka_idle_take(&idle, 6, 10), 2);
    ka_idle_clear(&idle);
}

/* The naive answer: look at all. */
typedef struct waiting {
    uint64_t key;
    int64_t ready;
    bool in;
} waiting;

static uint32_t naive_take(waiting *all, uint32_t n, uint64_t key,
                           int64_t now, int64_t oldest)
{
    uint32_t best = KA_INDEX_NONE, i;

    for (i = 0; i < n; i++) {
        if (all[i].in && all[i].key == key && all[i].ready <= now &&
            all[i].ready >= oldest &&
            (best == KA_INDEX_NONE || all[i].ready >= all[best].ready)) {
            best = i;
        }
    }
    if (best != KA_INDEX_NONE) {
        all[best].in = false;
    }
    return best;
}

static void test_idle__agrees_with_looking_at_all(void **state)
{
    enum { N = 3000 };
    static waiting all[N];
    uint64_t seed = 1;
    int64_t now = 0;
    uint32_t id;
    ka_idle idle;

    (void)state;
    ka_idle_init(&idle, N);
    for (id = 0; id < N; id++) {
        uint64_t dice = ka_key_mix(seed++), key = 1 + dice % 7;

        now += (int64_t)(dice >> 8) % 20;
        all[id] = (waiting){key, now + (int64_t)(dice >> 16) % 200, true};
        ka_idle_put(&idle, key, id, all[id].ready);
        ka_idle_advance(&idle, now);
        if (dice >> 63) {
            assert_int_equal(
                ka_idle_take(&idle, key, now - 300),
                naive_take(all, id + 1, key, now, now - 300));
        }
    }
    ka_idle_clear(&idle);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_idle__takes_the_latest_that_is_ready),
        unit_test(test_idle__forgets_a_key_whose_latest_is_too_old),
        unit_test(test_idle__agrees_with_looking_at_all),
    };

    return unit_main(tests);
}
