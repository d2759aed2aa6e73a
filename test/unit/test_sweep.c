/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Small traces that can be reckoned by hand; test_sweep_pools.c compares
 * with pools played at every timeout.
 */
#include "unit.h"
#include "model/erlang.h"
#include "model/sweep.h"

#define SEC INT64_C(1000000)
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static const ka_sweep_options defaults = {.measured_up_to_us = 5 * SEC};

/*   A  |==========|.....|==========|.......   tail of 100 s
 *   B    |==|                                 closed by its response
 *      0 2  4     10    15         25 s                                    */
static void two_chains(ka_trace *trace)
{
    uint32_t a;

    ka_trace_init(trace);
    a = ka_trace_open(trace, 0, 10 * SEC);
    ka_trace_open(trace, 2 * SEC, 4 * SEC);
    ka_trace_follow(trace, a, 15 * SEC, 25 * SEC);
    ka_trace_tail_set(trace, a, 100 * SEC);
}

static void test_sweep_m4_m5_m8__by_hand(void **state)
{
    static const struct {
        int64_t timeout_us;
        uint64_t connections, timeout_closes;
        int64_t idle_us;
        bool measured;
    } cases[] = {
        {KA_TIMEOUT_OFF, 3, 0, 0, true},
        {0, 3, 2, 0, true},
        {3 * SEC, 3, 2, 6 * SEC, true},
        {5 * SEC, 2, 1, 10 * SEC, true},
        {5 * SEC, 2, 1, 10 * SEC, true},
        {5 * SEC + 1, 2, 1, 10 * SEC + 1, false},
        {100 * SEC, 2, 0, 105 * SEC, false},
        {INT64_MAX, 2, 0, 105 * SEC, false},
    };
    int64_t timeouts[COUNT_OF(cases)];
    ka_outcome out[COUNT_OF(cases)];
    ka_trace trace;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        timeouts[i] = cases[i].timeout_us;
    }
    two_chains(&trace);
    assert_int_equal(
        ka_sweep(out, timeouts, COUNT_OF(cases), &trace, &defaults),
        APR_SUCCESS);
    for (i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(out[i].timeout_us, cases[i].timeout_us);
        assert_int_equal(out[i].requests, 3);
        assert_int_equal(out[i].connections, cases[i].connections);
        assert_int_equal(out[i].timeout_closes, cases[i].timeout_closes);
        assert_int_equal(out[i].idle_us, cases[i].idle_us);
        assert_int_equal(out[i].busy_us, 22 * SEC);
        assert_int_equal(out[i].measured, cases[i].measured);
    }
    ka_trace_clear(&trace);
}

static void test_sweep_m6_m9_m10__rates_by_hand(void **state)
{
    static const ka_sweep_options options = {.accept_us = SEC / 2,
                                             .linger_us = SEC};
    int64_t timeout = 5 * SEC;
    ka_trace trace;
    ka_outcome o;

    (void)state;
    two_chains(&trace);
    ka_sweep(&o, &timeout, 1, &trace, &options);
    assert_near(o.window_s, 25, 1e-9);
    assert_near(o.connections_per_s, 2 / 25.0, 1e-9);
    assert_near(o.reuse, 1 / 3.0, 1e-9);
    assert_near(o.handshakes_saved_per_s, 1 / 25.0, 1e-9);
    assert_near(o.idle_mean, 10 / 25.0, 1e-9);
    assert_near(o.busy_mean, (22 + 2 * 0.5) / 25, 1e-9);
    assert_near(o.held_mean, (22 + 10 + 2 * 0.5 + 1) / 25.0, 1e-9);
    assert_near(o.linger_bound_mean, 2 / 25.0, 1e-9);
    assert_near(o.held_per_second, 1 / 25.0, 1e-9);
    ka_trace_clear(&trace);
}

static void test_sweep_m11__distribution_by_hand(void **state)
{
    static const int64_t timeouts[] = {KA_TIMEOUT_OFF, 5 * SEC};
    ka_outcome out[2];
    ka_trace trace;

    (void)state;
    two_chains(&trace);
    ka_sweep(out, timeouts, 2, &trace, &defaults);
    /* Off: 1 for 18 s, 2 for 2 s, none for 5 s. */
    assert_near(out[0].held.mean, 22 / 25.0, 1e-12);
    assert_near(out[0].held.variance, 26 / 25.0 - 0.88 * 0.88, 1e-12);
    assert_memory_equal(&out[0].held, &out[0].busy, sizeof(ka_held));
    /* 5 s: A all the window, B for 2 s. */
    assert_near(out[1].held.mean, 27 / 25.0, 1e-12);
    assert_near(out[1].held.variance, 31 / 25.0 - 1.08 * 1.08, 1e-12);
    assert_near(out[1].held.p99, 2, 0);
    assert_near(out[1].held.peak, 2, 0);
    assert_near(out[1].busy.mean, 22 / 25.0, 1e-12);
    ka_trace_clear(&trace);
}

static void test_sweep_off__every_close_is_the_servers(void **state)
{
    static const ka_sweep_options options = {.linger_us = SEC};
    int64_t timeout = KA_TIMEOUT_OFF;
    ka_trace trace;
    ka_outcome o;

    (void)state;
    two_chains(&trace);
    ka_sweep(&o, &timeout, 1, &trace, &options);
    assert_near(o.held_mean, (22 + 3) / 25.0, 1e-9);
    assert_near(o.held.mean, (22 + 2) / 25.0, 1e-9); /* cut at the end */
    assert_near(o.linger_bound_mean, 3 * 2 / 25.0, 1e-9);
    assert_near(o.held_per_second, 0, 0);
    ka_trace_clear(&trace);
}

/* Streams that join cost no connection, not even with KeepAlive Off. */
static void test_sweep__joined_requests_never_open(void **state)
{
    static const int64_t timeouts[] = {KA_TIMEOUT_OFF, 0, 60 * SEC};
    ka_outcome out[3];
    ka_trace trace;
    uint32_t chain;
    size_t i;

    (void)state;
    ka_trace_init(&trace);
    chain = ka_trace_open(&trace, 0, 4 * SEC);
    ka_trace_follow(&trace, chain, SEC, 3 * SEC);
    ka_trace_follow(&trace, chain, 2 * SEC, 8 * SEC);
    ka_sweep(out, timeouts, 3, &trace, &defaults);
    for (i = 0; i < 3; i++) {
        assert_int_equal(out[i].connections, 1);
        assert_int_equal(out[i].busy_us, 8 * SEC);
        assert_near(out[i].held.mean, 1, 0);
        assert_near(out[i].held.variance, 0, 0);
    }
    ka_trace_clear(&trace);
}

static void test_sweep__touching_holders_do_not_overlap(void **state)
{
    int64_t timeout = 0;
    ka_trace trace;
    ka_outcome o;
    int64_t i;

    (void)state;
    ka_trace_init(&trace);
    for (i = 0; i < 10; i++) {
        ka_trace_open(&trace, i * SEC, (i + 1) * SEC);
    }
    ka_sweep(&o, &timeout, 1, &trace, &defaults);
    assert_int_equal(o.connections, 10);
    assert_near(o.held.peak, 1, 0);
    assert_near(o.held.mean, 1, 0);
    ka_trace_clear(&trace);
}

/* Two hours of one holder, then two of nine. */
static void test_sweep_m12__busiest_period_sizes(void **state)
{
    ka_sweep_options options = {0};
    int64_t timeout = KA_TIMEOUT_OFF, hour = 3600 * SEC;
    ka_trace trace;
    ka_outcome o;
    int i;

    (void)state;
    ka_trace_init(&trace);
    ka_trace_open(&trace, 0, 2 * hour);
    for (i = 0; i < 9; i++) {
        ka_trace_open(&trace, 2 * hour, 4 * hour);
    }
    ka_sweep(&o, &timeout, 1, &trace, &options);
    assert_near(o.held.workers, ka_workers_needed(9, 1, KA_BLOCKING), 0);
    assert_near(o.busy.workers, ka_workers_needed(9, 1, KA_BLOCKING), 0);
    options.period_us = 4 * hour;
    options.eps = 0.01;
    ka_sweep(&o, &timeout, 1, &trace, &options);
    assert_near(o.held.workers, ka_workers_needed(5, 16 / 5.0, 0.01), 0);
    ka_trace_clear(&trace);
}

/* One connection a second, each waits for the server: T holders, but for the
 * first T seconds, in which the earlier ones are missing. */
static void test_sweep_m12__start_of_the_trace_is_left_out(void **state)
{
    int64_t timeout = 100 * SEC, i;
    ka_trace trace;
    ka_outcome o;

    (void)state;
    ka_trace_init(&trace);
    for (i = 0; i < 1000; i++) {
        uint32_t chain = ka_trace_open(&trace, i * SEC, i * SEC);

        ka_trace_tail_set(&trace, chain, 300 * SEC);
    }
    ka_sweep(&o, &timeout, 1, &trace, &defaults);
    assert_near(o.held.workers, ka_workers_needed(100, 1, KA_BLOCKING), 0);
    assert_true(o.held.mean < 99);
    ka_trace_clear(&trace);
}

static void test_sweep__empty_trace_is_all_zero(void **state)
{
    static const int64_t timeouts[] = {KA_TIMEOUT_OFF, 5 * SEC};
    ka_outcome out[2], zero = {.timeout_us = 5 * SEC, .measured = true};
    ka_trace trace;

    (void)state;
    ka_trace_init(&trace);
    memset(out, 0xff, sizeof(out));
    assert_int_equal(ka_sweep(out, timeouts, 2, &trace, &defaults),
                     APR_SUCCESS);
    assert_memory_equal(&out[1].requests, &zero.requests,
                        sizeof(zero) - offsetof(ka_outcome, requests));
    assert_int_equal(out[0].timeout_us, KA_TIMEOUT_OFF);
    assert_true(out[1].measured);
}

static void test_sweep__one_instant_has_counts_but_no_rates(void **state)
{
    int64_t timeout = 5 * SEC;
    ka_trace trace;
    ka_outcome o;

    (void)state;
    ka_trace_init(&trace);
    ka_trace_tail_set(&trace, ka_trace_open(&trace, 7, 7), 9 * SEC);
    assert_int_equal(ka_sweep(&o, &timeout, 1, &trace, &defaults), APR_SUCCESS);
    assert_int_equal(o.connections, 1);
    assert_int_equal(o.idle_us, 5 * SEC);
    assert_near(o.window_s + o.held_mean + o.held.mean + o.held.peak, 0, 0);
    ka_trace_clear(&trace);
}

static void test_sweep__refuses(void **state)
{
    static const int64_t falling[] = {5, 4}, below[] = {-2, 0};
    ka_outcome out[2];
    ka_trace trace;

    (void)state;
    two_chains(&trace);
    assert_int_equal(ka_sweep(out, falling, 2, &trace, &defaults), APR_EINVAL);
    assert_int_equal(ka_sweep(out, below, 2, &trace, &defaults), APR_EINVAL);
    assert_int_equal(ka_sweep(out, falling, 0, &trace, &defaults), APR_SUCCESS);
    trace.failed = true;
    assert_int_equal(ka_sweep(out, falling, 1, &trace, &defaults), APR_ENOMEM);
    ka_trace_clear(&trace);
}

static void test_sweep__extreme_times_and_options_end_well(void **state)
{
    static const ka_sweep_options extremes[] = {
        {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, 1e300},
        {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN, -1},
        {0, 0, 0, 1, NAN},
    };
    size_t n, i, k;
    const int64_t *timeouts = ka_sweep_default_timeouts(&n);
    ka_outcome out[64];
    ka_trace trace;

    (void)state;
    ka_trace_init(&trace);
    for (i = 0; i < 20; i++) {
        uint32_t chain = ka_trace_open(&trace, INT64_MIN, INT64_MAX / 3);

        ka_trace_follow(&trace, chain, INT64_MAX, INT64_MAX);
        ka_trace_tail_set(&trace, chain, INT64_MAX);
    }
    for (i = 0; i < COUNT_OF(extremes); i++) {
        assert_int_equal(ka_sweep(out, timeouts, n, &trace, &extremes[i]),
                         APR_SUCCESS);
        for (k = 0; k < n; k++) {
            assert_true(isfinite(out[k].held_mean));
            assert_true(isfinite(out[k].held.variance));
            assert_true(out[k].held.workers >= 0);
            assert_true(out[k].idle_us >= 0);
        }
    }
    ka_trace_clear(&trace);
}

static void test_sweep_defaults__off_then_0_2_to_300_s(void **state)
{
    size_t n, i;
    const int64_t *timeouts = ka_sweep_default_timeouts(&n);

    (void)state;
    assert_int_equal(timeouts[0], KA_TIMEOUT_OFF);
    assert_int_equal(timeouts[1], SEC / 5);
    assert_int_equal(timeouts[n - 1], 300 * SEC);
    for (i = 1; i < n; i++) {
        assert_true(timeouts[i] > timeouts[i - 1]);
    }
}

/* One chain of 10 requests, 1 s apart but for 20 s before the 7th, and one
 * of a single request. */
static void test_extra_opens_m16__by_hand(void **state)
{
    static const struct {
        int64_t timeout_us;
        uint32_t max_requests;
        uint64_t extra;
    } cases[] = {
        {60 * SEC, 0, 0}, /* unlimited */
        {60 * SEC, 1, 4}, /* 2 + 2 + 2 + 2 + 2 */
        {60 * SEC, 2, 3}, /* 3 + 3 + 3 + 1 */
        {60 * SEC, 8, 1}, /* 9 + 1 */
        {60 * SEC, 9, 0}, /* 10 */
        {60 * SEC, UINT32_MAX, 0},
        {5 * SEC, 1, 2 + 1}, /* connections of 6 and 4 requests */
        {5 * SEC, 2, 1 + 1},
        {5 * SEC, 5, 0},
        {20 * SEC, 8, 1}, /* 20 s is not over 20 s */
        {SEC / 2, 1, 0},
        {KA_TIMEOUT_OFF, 1, 0},
    };
    int64_t now = 0;
    ka_trace trace;
    uint32_t chain;
    size_t i;

    (void)state;
    ka_trace_init(&trace);
    chain = ka_trace_open(&trace, 0, 0);
    ka_trace_open(&trace, 0, 0);
    for (i = 2; i <= 10; i++) {
        now += i == 7 ? 20 * SEC : SEC;
        ka_trace_follow(&trace, chain, now, now);
    }
    for (i = 0; i < COUNT_OF(cases); i++) {
        assert_int_equal(
            ka_extra_opens(&trace, cases[i].timeout_us, cases[i].max_requests),
            cases[i].extra);
    }
    ka_trace_clear(&trace);
    assert_int_equal(ka_extra_opens(&trace, SEC, 5), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_sweep_m4_m5_m8__by_hand),
        unit_test(test_sweep_m6_m9_m10__rates_by_hand),
        unit_test(test_sweep_m11__distribution_by_hand),
        unit_test(test_sweep_off__every_close_is_the_servers),
        unit_test(test_sweep__joined_requests_never_open),
        unit_test(test_sweep__touching_holders_do_not_overlap),
        unit_test(test_sweep_m12__busiest_period_sizes),
        unit_test(test_sweep_m12__start_of_the_trace_is_left_out),
        unit_test(test_sweep__empty_trace_is_all_zero),
        unit_test(test_sweep__one_instant_has_counts_but_no_rates),
        unit_test(test_sweep__refuses),
        unit_test(test_sweep__extreme_times_and_options_end_well),
        unit_test(test_sweep_defaults__off_then_0_2_to_300_s),
        unit_test(test_extra_opens_m16__by_hand),
    };

    return unit_main(tests);
}
