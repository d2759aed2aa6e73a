/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The simulation against the closed form: on the same trace, with workers for
 * everybody, both must come to the same outcome.
 */
#include "sim_traces.h"

#define TRACES 60

static void compare_from(size_t i, const ka_trace *trace, ka_mpm mpm,
                         int64_t accept_us, int64_t linger_us,
                         apr_pool_t *pool)
{
    const ka_sweep_options options = {.accept_us = accept_us,
                                      .linger_us = linger_us};
    ka_outcome closed[COUNT_OF(timeouts)];

    assert_int_equal(
        ka_sweep(closed, timeouts, COUNT_OF(timeouts), trace, &options),
        APR_SUCCESS);
    for (; i < COUNT_OF(timeouts); i++) {
        ka_sim_config config = ample(mpm, timeouts[i]);
        ka_sim_result result;

        config.accept_us = accept_us;
        config.linger_us = linger_us;
        result = simulate(trace, &config, pool);
        assert_outcome(&result.outcome, &closed[i]);
        assert_int_equal(result.waited + result.refused + result.given_up, 0);
        assert_int_equal(result.evicted + result.dropped + result.retired, 0);
    }
}

static void compare(const ka_trace *trace, ka_mpm mpm, int64_t accept_us,
                    int64_t linger_us, apr_pool_t *pool)
{
    compare_from(0, trace, mpm, accept_us, linger_us, pool);
}

static void compare_all(ka_mpm mpm, const shape *shape, int64_t accept_us,
                        int64_t linger_us, uint64_t seed, void **state)
{
    ka_random random = {seed};
    int i;

    for (i = 0; i < TRACES; i++) {
        apr_pool_t *pool;
        ka_trace trace;

        apr_pool_create(&pool, *state);
        random_trace(&trace, &random, shape);
        compare(&trace, mpm, accept_us, linger_us, pool);
        ka_trace_clear(&trace);
        apr_pool_destroy(pool);
    }
}

static const shape plain = {.start_within_us = 100 * SEC};
static const shape streams = {.joins = true, .start_within_us = 100 * SEC};
/* No gap is longer than a timeout by less than the time of an accept: 1 ms but
 * the timeout of 1 us. */
#define ACCEPT_US 999
static const shape spaced = {.gap_least_us = 1000,
                             .start_within_us = 100 * SEC};

static void test_sim_m4_m5_m6_m8__prefork_is_the_closed_form(void **state)
{
    compare_all(KA_MPM_PREFORK, &plain, 0, 0, 1, state);
    compare_all(KA_MPM_PREFORK, &streams, 0, 0, 2, state);
}

static void test_sim_m6__accept_and_linger_are_the_closed_forms(void **state)
{
    compare_all(KA_MPM_PREFORK, &spaced, ACCEPT_US, 0, 3, state);
    compare_all(KA_MPM_WORKER, &plain, 0, 2 * SEC, 4, state);
    compare_all(KA_MPM_WORKER, &spaced, ACCEPT_US, SEC / 3, 5, state);
}

static void test_sim_m7__event_is_the_closed_form(void **state)
{
    compare_all(KA_MPM_EVENT, &plain, 0, 0, 6, state);
    compare_all(KA_MPM_EVENT, &streams, 0, 0, 7, state);
    compare_all(KA_MPM_EVENT, &spaced, ACCEPT_US, 0, 8, state);
}

static void test_sim_m16__max_requests_opens_what_it_says(void **state)
{
    ka_random random = {9};
    int i;

    for (i = 0; i < TRACES; i++) {
        uint32_t m = 1 + ka_random_below(&random, 5);
        ka_sim_config config = ample(KA_MPM_PREFORK, 15 * SEC);
        ka_sim_result without, with;
        ka_trace trace;

        random_trace(&trace, &random, &plain);
        without = simulate(&trace, &config, *state);
        config.max_requests = m;
        with = simulate(&trace, &config, *state);
        assert_int_equal(with.outcome.connections,
                         without.outcome.connections +
                             ka_extra_opens(&trace, 15 * SEC, m));
        assert_int_equal(with.outcome.requests, trace.request_n);
        ka_trace_clear(&trace);
    }
}

/* A late timer of the server: the gap is cut, and begins later. */
static void test_sim__a_late_timer_is_the_closed_forms(void **state)
{
    ka_trace trace;
    uint32_t chain;

    ka_trace_init(&trace);
    chain = ka_trace_open(&trace, 0, SEC);
    ka_trace_follow(&trace, chain, 6 * SEC + 300, 7 * SEC);
    trace.requests[1].gap_us = 5 * SEC;
    ka_trace_follow(&trace, chain, 9 * SEC, 10 * SEC);
    compare_from(1, &trace, KA_MPM_PREFORK, 0, 0, *state);
    compare_from(1, &trace, KA_MPM_EVENT, 0, 0, *state);
    ka_trace_clear(&trace);
}

static void test_sim__no_traffic_is_no_outcome(void **state)
{
    ka_trace trace;

    ka_trace_init(&trace);
    compare(&trace, KA_MPM_EVENT, 0, 0, *state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_sim_m4_m5_m6_m8__prefork_is_the_closed_form),
        unit_test(test_sim_m6__accept_and_linger_are_the_closed_forms),
        unit_test(test_sim_m7__event_is_the_closed_form),
        unit_test(test_sim_m16__max_requests_opens_what_it_says),
        unit_test(test_sim__a_late_timer_is_the_closed_forms),
        unit_test(test_sim__no_traffic_is_no_outcome),
    };

    return unit_main(tests);
}
