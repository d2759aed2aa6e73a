/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "model/block.h"

/* What httpd would correct by itself at start (ADVICE R8). */
static void assert_consistent(const ka_block_demand *d)
{
    ka_block block = ka_block_make(d);
    const int64_t *v = block.value;
    int64_t workers = v[KA_BLOCK_MAX_REQUEST_WORKERS];
    int i;

    for (i = 0; i < KA_BLOCK_ITEMS; i++) {
        bool has = ka_block_info_of((ka_block_item)i)->directive[d->mpm];

        assert_int_equal(v[i] >= 0, has);
    }
    assert_true(workers > 0);
    assert_true(v[KA_BLOCK_MIN_SPARE] >= 1);
    assert_true(v[KA_BLOCK_START_SERVERS] >= 1);
    if (d->workers_limit > 0) {
        assert_true(workers <= d->workers_limit);
    }
    if (d->mpm == KA_MPM_PREFORK) {
        assert_true(v[KA_BLOCK_SERVER_LIMIT] >= workers);
        assert_true(v[KA_BLOCK_MAX_SPARE] > v[KA_BLOCK_MIN_SPARE]);
        assert_true(v[KA_BLOCK_START_SERVERS] <= workers);
        return;
    }
    assert_int_equal(workers % v[KA_BLOCK_THREADS_PER_CHILD], 0);
    assert_true(v[KA_BLOCK_SERVER_LIMIT] * v[KA_BLOCK_THREADS_PER_CHILD] >=
                workers);
    assert_true(v[KA_BLOCK_THREAD_LIMIT] >= v[KA_BLOCK_THREADS_PER_CHILD]);
    assert_true(v[KA_BLOCK_MAX_SPARE] >=
                v[KA_BLOCK_MIN_SPARE] + v[KA_BLOCK_THREADS_PER_CHILD]);
    assert_true(v[KA_BLOCK_START_SERVERS] * v[KA_BLOCK_THREADS_PER_CHILD] <=
                workers);
    if (d->mpm == KA_MPM_EVENT) {
        assert_true(v[KA_BLOCK_MAX_SPARE] >= workers);
        assert_true(v[KA_BLOCK_ASYNC_FACTOR] >= 2);
    }
}

static void test_block__r8_is_consistent_for_any_demand(void **state)
{
    static const int64_t workers[] = {1, 2, 7, 63, 64, 65, 150, 1000, 20000};
    static const int64_t limits[] = {-1, 1, 64, 100, 500, 30000};
    static const int64_t threads[] = {-1, 1, 25, 64, 200};
    static const double rates[] = {0, 0.3, 12, 900};
    size_t w, l, t, r;
    int mpm;

    (void)state;
    for (mpm = 0; mpm < KA_MPM_N; mpm++) {
        for (w = 0; w < 9; w++) {
            for (l = 0; l < 6; l++) {
                for (t = 0; t < 5; t++) {
                    for (r = 0; r < 4; r++) {
                        ka_block_demand d = {
                            .mpm = (ka_mpm)mpm,
                            .workers = workers[w],
                            .workers_limit = limits[l],
                            .held_mean = (double)workers[w] / 2,
                            .opens_per_s = rates[r],
                            .connections_peak = (double)workers[w] * 3,
                            .threads_per_child = threads[t]};

                        assert_consistent(&d);
                    }
                }
            }
        }
    }
}

static void test_block__never_over_the_memory_limit(void **state)
{
    ka_block_demand d = {.mpm = KA_MPM_PREFORK,
                         .workers = 500,
                         .workers_limit = 120,
                         .held_mean = 300,
                         .opens_per_s = 50,
                         .threads_per_child = -1};
    ka_block block = ka_block_make(&d);

    (void)state;
    assert_int_equal(block.value[KA_BLOCK_MAX_REQUEST_WORKERS], 120);
    assert_int_equal(block.value[KA_BLOCK_SERVER_LIMIT], 120);
    assert_true(block.value[KA_BLOCK_START_SERVERS] <= 120);
}

static void test_block__r4_event_has_few_large_children(void **state)
{
    ka_block_demand d = {.mpm = KA_MPM_EVENT,
                         .workers = 300,
                         .workers_limit = -1,
                         .held_mean = 100,
                         .opens_per_s = 10,
                         .connections_peak = 5000,
                         .threads_per_child = 25};
    ka_block block = ka_block_make(&d);
    const int64_t *v = block.value;

    (void)state;
    assert_int_equal(v[KA_BLOCK_THREADS_PER_CHILD], 64);
    assert_int_equal(v[KA_BLOCK_MAX_REQUEST_WORKERS], 320);
    assert_int_equal(v[KA_BLOCK_SERVER_LIMIT], 8); /* ceil(5 x 1.25) + 1 */
    assert_int_equal(v[KA_BLOCK_MAX_SPARE], 320);
    /* [M13]: ceil((1.3 x 5000/320 - 1)/0.35) */
    assert_int_equal(v[KA_BLOCK_ASYNC_FACTOR], 56);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_block__r8_is_consistent_for_any_demand),
        unit_test(test_block__never_over_the_memory_limit),
        unit_test(test_block__r4_event_has_few_large_children)};

    return unit_main(tests);
}
