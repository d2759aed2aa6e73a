/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "model/spawn.h"

#define SECONDS 400

static const ka_spawn_settings prefork = {.mpm = KA_MPM_PREFORK,
                                          .start_servers = 5,
                                          .min_spare = 5,
                                          .max_spare = 10,
                                          .threads_per_child = 1,
                                          .server_limit = 256,
                                          .max_request_workers = 256};

static const ka_spawn_settings worker = {.mpm = KA_MPM_WORKER,
                                         .start_servers = 3,
                                         .min_spare = 75,
                                         .max_spare = 250,
                                         .threads_per_child = 25,
                                         .server_limit = 16,
                                         .max_request_workers = 400};

static ka_spawn_result run(ka_spawn_second *seconds, const uint32_t *holders,
                           const uint32_t *arrivals, size_t n,
                           const ka_spawn_settings *settings, apr_pool_t *pool)
{
    ka_spawn_demand demand = {holders, arrivals, n};
    ka_spawn_result result;

    assert_int_equal(ka_spawn_run(&result, seconds, &demand, settings, pool),
                     APR_SUCCESS);
    return result;
}

static void check(const ka_spawn_second *seconds, size_t n,
                  const uint32_t *children, const int32_t *spawned)
{
    size_t t;

    for (t = 0; t < n; t++) {
        if (seconds[t].children != children[t] ||
            seconds[t].spawned != spawned[t]) {
            fail_msg("second %zu: %u children, %d spawned; expected %u, %d", t,
                     seconds[t].children, seconds[t].spawned, children[t],
                     spawned[t]);
        }
    }
}

/* 100 connections at once meet 5 children: 1, 2, 4 ... 32 a second. */
static void test_spawn__m15_prefork_doubles_up_to_32(void **state)
{
    static const uint32_t children[] = {5, 6, 8, 12, 20, 36, 68, 100, 132};
    static const int32_t spawned[] = {1, 2, 4, 8, 16, 32, 32, 32, -1};
    static const uint32_t waiting[] = {95, 94, 92, 88, 80, 64, 32, 0, 0};
    uint32_t holders[9];
    ka_spawn_second seconds[9];
    ka_spawn_result result;
    size_t t;

    for (t = 0; t < 9; t++) {
        holders[t] = 100;
    }
    result = run(seconds, holders, NULL, 9, &prefork, *state);
    check(seconds, 9, children, spawned);
    for (t = 0; t < 9; t++) {
        assert_int_equal(seconds[t].waiting, waiting[t]);
        assert_int_equal(seconds[t].busy + seconds[t].idle, seconds[t].workers);
    }
    assert_int_equal(result.connections, 100);
    assert_int_equal(result.waited, 95);
    assert_int_equal(result.wait_p50_s, 6); /* the 50th of 5,1,2,4,8,16,32 */
    assert_int_equal(result.wait_p99_s, 7);
    assert_int_equal(result.wait_most_s, 7);
    assert_int_equal(result.waiting_most, 95);
    assert_near(result.waiting_share, 7.0 / 9, 1e-12);
    assert_int_equal(result.spawned, 127);
    assert_int_equal(result.ended, 1);
    assert_int_equal(result.spawned_most, 32);
    assert_int_equal(result.left_waiting, 0);
}

/* Idle between MinSpare and MaxSpare takes the rate back to 1. */
static void test_spawn__m15_rate_falls_back_when_enough_are_idle(void **state)
{
    static const uint32_t holders[] = {3, 3, 3, 3, 3, 9, 9, 9};
    /* idle 2 3 5 5 5 -1(8 of 9 busy, 1 waits): again from 1 */
    static const uint32_t children[] = {5, 6, 8, 8, 8, 8, 9, 11};
    static const int32_t spawned[] = {1, 2, 0, 0, 0, 1, 2, 4};
    ka_spawn_second seconds[8];

    run(seconds, holders, NULL, 8, &prefork, *state);
    check(seconds, 8, children, spawned);
}

static void test_spawn__m15_one_child_a_second_ends(void **state)
{
    static const uint32_t holders[6] = {0};
    static const uint32_t children[] = {14, 13, 12, 11, 10, 10};
    static const int32_t spawned[] = {-1, -1, -1, -1, 0, 0};
    ka_spawn_settings many = prefork;
    ka_spawn_second seconds[6];

    many.start_servers = 14;
    run(seconds, holders, NULL, 6, &many, *state);
    check(seconds, 6, children, spawned);
}

static void test_spawn__m15_limits_hold_and_keep_the_rate_at_1(void **state)
{
    static const uint32_t children[] = {5, 6, 8, 10, 10, 10};
    static const int32_t spawned[] = {1, 2, 2, 0, 0, 0};
    uint32_t holders[6] = {20, 20, 20, 20, 20, 20};
    ka_spawn_settings few = prefork;
    ka_spawn_second seconds[6];
    ka_spawn_result result;

    few.max_request_workers = 10;
    result = run(seconds, holders, NULL, 6, &few, *state);
    check(seconds, 6, children, spawned);
    assert_int_equal(result.left_waiting, 10);
    assert_int_equal(result.waited, 15);
    assert_int_equal(result.wait_most_s, 6); /* as long as was looked */
    few.max_request_workers = 256;
    few.server_limit = 10;
    run(seconds, holders, NULL, 6, &few, *state);
    check(seconds, 6, children, spawned);
}

/* The same loop in threads: 75 of 75 busy, then children of 25. */
static void test_spawn__m15_threads_come_by_the_child(void **state)
{
    static const uint32_t children[] = {3, 4, 6, 10, 16, 16};
    static const int32_t spawned[] = {1, 2, 4, 6, 0, 0};
    uint32_t holders[6] = {300, 300, 300, 300, 300, 300};
    ka_spawn_settings event = worker;
    ka_spawn_second seconds[6];

    run(seconds, holders, NULL, 6, &worker, *state);
    check(seconds, 6, children, spawned);
    assert_int_equal(seconds[3].workers, 250);
    assert_int_equal(seconds[3].waiting, 50);
    event.mpm = KA_MPM_EVENT;
    run(seconds, holders, NULL, 6, &event, *state);
    check(seconds, 6, children, spawned);
}

static void test_spawn__m15_contradicting_limits_are_resolved(void **state)
{
    static const struct {
        ka_spawn_settings in, out;
    } cases[] = {{{KA_MPM_PREFORK, 9, 5, 5, 7, 8, 8},
                  {KA_MPM_PREFORK, 8, 5, 6, 1, 8, 8}},
                 {{KA_MPM_WORKER, 0, 0, 0, 25, 4, 400},
                  {KA_MPM_WORKER, 1, 1, 27, 25, 4, 400}},
                 {{KA_MPM_EVENT, 99, 75, 80, 25, 16, 60},
                  {KA_MPM_EVENT, 2, 75, 101, 25, 16, 60}},
                 {{KA_MPM_EVENT, 1, UINT32_MAX, 0, 0, 0, 0},
                  {KA_MPM_EVENT, 1, UINT32_MAX, UINT32_MAX, 1, 1, 1}}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_spawn_settings got = ka_spawn_normalized(&cases[i].in);

        if (memcmp(&got, &cases[i].out, sizeof(got))) {
            fail_msg("case %zu: start %u, min %u, max %u, threads %u, limit "
                     "%u, workers %u",
                     i, got.start_servers, got.min_spare, got.max_spare,
                     got.threads_per_child, got.server_limit,
                     got.max_request_workers);
        }
    }
}

/* Holds come from holders and arrivals: 2 a second that hold 2 s keep 4 busy,
 * and one that waits ends as much later. */
static void test_spawn__who_waits_ends_later(void **state)
{
    static const uint32_t holders[] = {2, 4, 4, 4, 2, 0, 0, 0, 0};
    static const uint32_t arrivals[] = {2, 2, 2, 2, 0, 0, 0, 0, 0};
    static const uint32_t busy[] = {2, 3, 3, 3, 3, 2, 0, 0, 0};
    static const uint32_t waiting[] = {0, 1, 1, 2, 0, 0, 0, 0, 0};
    ka_spawn_settings three = prefork;
    ka_spawn_second seconds[9];
    ka_spawn_result result;
    size_t t;

    three.max_request_workers = three.start_servers = 3;
    result = run(seconds, holders, arrivals, 9, &three, *state);
    for (t = 0; t < 9; t++) {
        if (seconds[t].busy != busy[t] || seconds[t].waiting != waiting[t]) {
            fail_msg("second %zu: %u busy, %u waiting", t, seconds[t].busy,
                     seconds[t].waiting);
        }
    }
    assert_int_equal(result.connections, 8);
    assert_int_equal(result.waited, 4);
    assert_int_equal(result.wait_most_s, 1);
}

/* Shorter than a second: any number passes through one free worker, none
 * through a full server. */
static void test_spawn__passing_connections_need_one_free_worker(void **state)
{
    static const uint32_t holders[] = {1, 1, 2, 2, 1};
    static const uint32_t arrivals[] = {1000, 1000, 1000, 1000, 1000};
    ka_spawn_settings two = prefork;
    ka_spawn_result result;

    two.max_request_workers = two.start_servers = 2;
    result = run(NULL, holders, arrivals, 5, &two, *state);
    assert_int_equal(result.connections, 5000);
    assert_true(result.waited < 3000);
    two.max_request_workers = two.start_servers = 3;
    result = run(NULL, holders, arrivals, 5, &two, *state);
    assert_int_equal(result.waited, 0);
}

static void test_spawn__no_seconds_is_refused(void **state)
{
    uint32_t none = 0;
    ka_spawn_demand demand = {&none, NULL, 0};
    ka_spawn_result result;
    ka_spawn_advice advice;

    assert_int_equal(ka_spawn_run(&result, NULL, &demand, &prefork, *state),
                     APR_EINVAL);
    assert_int_equal(ka_spawn_search(&advice, &demand, &prefork, 1, *state),
                     APR_EINVAL);
    demand.n = KA_SPAWN_SECONDS_MAX + (size_t)1;
    assert_int_equal(ka_spawn_run(&result, NULL, &demand, &prefork, *state),
                     APR_EINVAL);
}

/* A series with bursts, from a seed. */
static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void bursts(uint32_t *holders, uint32_t *arrivals, size_t n,
                   uint32_t seed)
{
    uint32_t level = next_random(&seed) % 20;
    size_t t;

    for (t = 0; t < n; t++) {
        if (next_random(&seed) % 40 == 0) {
            level = next_random(&seed) % 120;
        }
        holders[t] = level + next_random(&seed) % 8;
        arrivals[t] = next_random(&seed) % 12;
    }
}

static void test_spawn__random_series_balance(void **state)
{
    uint32_t holders[SECONDS], arrivals[SECONDS], seed;
    ka_spawn_second seconds[SECONDS];
    ka_spawn_settings settings[] = {prefork, worker, worker};
    size_t t;

    settings[2].mpm = KA_MPM_EVENT;
    for (seed = 0; seed < 300; seed++) {
        ka_spawn_settings s = settings[seed % 3];
        ka_spawn_result r;
        uint64_t came = 0;
        uint32_t before = 0;

        s.max_request_workers = 25 + seed % 200;
        bursts(holders, arrivals, SECONDS, seed);
        r = run(seconds, holders, arrivals, SECONDS, &s, *state);
        for (t = 0; t < SECONDS; t++) {
            const ka_spawn_second *now = &seconds[t];
            uint32_t rise = holders[t] > before ? holders[t] - before : 0;

            came += rise > arrivals[t] ? rise : arrivals[t];
            before = holders[t];
            assert_int_equal(now->busy + now->idle, now->workers);
            assert_true(now->workers <= s.max_request_workers);
            assert_true(now->waiting == 0 || now->idle == 0);
            assert_true(now->spawned <= KA_SPAWN_RATE_MAX);
            /* the delayed never outnumber what has been asked for */
            assert_true(now->busy + now->waiting >= holders[t]);
        }
        assert_int_equal(r.connections, came);
        assert_int_equal(r.left_waiting, seconds[SECONDS - 1].waiting);
        assert_true(r.wait_p50_s <= r.wait_p99_s &&
                    r.wait_p99_s <= r.wait_p999_s &&
                    r.wait_p999_s <= r.wait_most_s);
        assert_int_equal(r.waited == 0, r.waiting_most == 0);
    }
}

/* As if nobody ever waited, if there is always enough. */
static void test_spawn__with_plenty_busy_is_what_was_asked_for(void **state)
{
    uint32_t holders[SECONDS], arrivals[SECONDS];
    ka_spawn_second seconds[SECONDS];
    ka_spawn_settings plenty = prefork;
    ka_spawn_result r;
    size_t t;

    plenty.start_servers = plenty.min_spare = plenty.max_spare = 256;
    bursts(holders, arrivals, SECONDS, 7);
    r = run(seconds, holders, arrivals, SECONDS, &plenty, *state);
    for (t = 0; t < SECONDS; t++) {
        assert_int_equal(seconds[t].busy, holders[t]);
    }
    assert_int_equal(r.waited, 0);
    assert_int_equal(r.wait_p999_s, 0);
}

static bool suffices(const ka_spawn_demand *demand,
                     const ka_spawn_settings *settings, uint32_t min_spare,
                     apr_pool_t *pool)
{
    ka_spawn_settings s = *settings;
    ka_spawn_result r;

    s.min_spare = min_spare;
    s.max_spare = ka_spawn_max_spare(&s, min_spare);
    s.start_servers =
        (demand->holders[0] + min_spare + s.threads_per_child - 1) /
        s.threads_per_child;
    assert_int_equal(ka_spawn_run(&r, NULL, demand, &s, pool), APR_SUCCESS);
    return r.wait_p999_s == 0;
}

/* Against trying one after the other. */
static void test_spawn__m15_search_finds_the_smallest(void **state)
{
    uint32_t holders[SECONDS], arrivals[SECONDS], seed;
    ka_spawn_demand demand = {holders, arrivals, SECONDS};
    ka_spawn_settings settings[] = {prefork, worker, worker};

    settings[2].mpm = KA_MPM_EVENT;
    for (seed = 0; seed < 60; seed++) {
        const ka_spawn_settings *s = &settings[seed % 3];
        ka_spawn_advice advice;
        uint32_t m;

        bursts(holders, arrivals, SECONDS, seed);
        assert_int_equal(ka_spawn_search(&advice, &demand, s, 1, *state),
                         APR_SUCCESS);
        assert_true(advice.feasible);
        assert_int_equal(advice.running.wait_p999_s, 0);
        assert_int_equal(advice.started.wait_p999_s, 0);
        for (m = 1; !suffices(&demand, s, m, *state); m++)
            ;
        if (m != advice.min_spare) {
            fail_msg("seed %u: %u, but %u is enough", seed, advice.min_spare,
                     m);
        }
    }
}

static void test_spawn__m15_search_of_a_step(void **state)
{
    /* 10 held, and at second 50 there are 40 more. */
    uint32_t holders[100];
    ka_spawn_demand demand = {holders, NULL, 100};
    ka_spawn_settings tight = prefork;
    ka_spawn_advice advice;
    size_t t;

    for (t = 0; t < 100; t++) {
        holders[t] = t < 50 ? 10 : 50;
    }
    assert_int_equal(ka_spawn_search(&advice, &demand, &prefork, 5, *state),
                     APR_SUCCESS);
    assert_true(advice.feasible);
    assert_int_equal(advice.min_spare, 40);
    assert_int_equal(advice.max_spare, 80);
    /* All of an hour's first second come at once, and 40 more at second 50. */
    assert_int_equal(advice.busiest, 0);
    assert_int_equal(advice.start_servers, 10);
    tight.max_request_workers = 45;
    assert_int_equal(ka_spawn_search(&advice, &demand, &tight, 5, *state),
                     APR_SUCCESS);
    /* All 45 take 45 at second 50, and 35 spare are all that is left of them:
     * more would not help the other five. */
    assert_false(advice.feasible);
    assert_int_equal(advice.min_spare, 35);
    assert_int_equal(advice.running.left_waiting, 5);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_spawn__m15_prefork_doubles_up_to_32),
        unit_test(test_spawn__m15_rate_falls_back_when_enough_are_idle),
        unit_test(test_spawn__m15_one_child_a_second_ends),
        unit_test(test_spawn__m15_limits_hold_and_keep_the_rate_at_1),
        unit_test(test_spawn__m15_threads_come_by_the_child),
        unit_test(test_spawn__m15_contradicting_limits_are_resolved),
        unit_test(test_spawn__who_waits_ends_later),
        unit_test(test_spawn__passing_connections_need_one_free_worker),
        unit_test(test_spawn__no_seconds_is_refused),
        unit_test(test_spawn__random_series_balance),
        unit_test(test_spawn__with_plenty_busy_is_what_was_asked_for),
        unit_test(test_spawn__m15_search_finds_the_smallest),
        unit_test(test_spawn__m15_search_of_a_step)};

    return unit_main(tests);
}
