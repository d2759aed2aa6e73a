/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The simulation against the closed form: on the same trace, with workers for
 * everybody, both must come to the same outcome.
 */
#include "unit.h"
#include "model/random.h"
#include "sim_fixed.h"
#include "model/sweep.h"

#define SEC INT64_C(1000000)
#define TRACES 60
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static const int64_t timeouts[] = {
    KA_TIMEOUT_OFF, 0,        1,        1000,     SEC / 4,   SEC,
    5 * SEC,        15 * SEC, 60 * SEC, 90 * SEC, 300 * SEC, INT64_MAX / 2,
};

/* ---- random traces ------------------------------------------------------ */

typedef struct shape {
    bool joins; /* HTTP/2 */
    int64_t gap_least_us; /* and its unit; 0: any */
    int64_t start_within_us;
} shape;

/* Any size, the timeouts themselves included. */
static int64_t random_time(ka_random *r, int64_t least)
{
    static const int64_t scales[] = {1, 1000, SEC / 10, SEC, 20 * SEC};
    uint32_t kind = ka_random_below(r, 8);
    int64_t time = (int64_t)ka_random_below(r, 100) *
                   scales[ka_random_below(r, COUNT_OF(scales))];

    if (kind < 2) {
        time = timeouts[1 + ka_random_below(r, COUNT_OF(timeouts) - 2)];
    }
    return least ? (time / least + 1) * least : time;
}

static void add_chain(ka_trace *trace, ka_random *r, const shape *shape)
{
    int64_t at = ka_random_below(r, (uint32_t)(shape->start_within_us / 1000)) *
                 INT64_C(1000);
    uint32_t n = ka_random_below(r, 9), i;
    int64_t end = at + random_time(r, 0) / 8;
    uint32_t chain = ka_trace_open(trace, at, end);

    for (i = 0; i < n; i++) {
        bool joins = shape->joins && ka_random_below(r, 4) == 0 && end > at;

        at = joins ? at + (end - at) / 2
                   : end + random_time(r, shape->gap_least_us);
        end = (at > end ? at : end) + random_time(r, 0) / 8;
        ka_trace_follow(trace, chain, at, end);
    }
    ka_trace_tail_set(trace, chain,
                      ka_random_below(r, 3) ? random_time(r, 0) : 0);
}

static void random_trace(ka_trace *trace, ka_random *r, const shape *shape)
{
    uint32_t n = 1 + ka_random_below(r, 80), i;

    ka_trace_init(trace);
    for (i = 0; i < n; i++) {
        add_chain(trace, r, shape);
    }
}

/* ---- comparison --------------------------------------------------------- */

/* Children enough from the first instant to the last. */
static ka_sim_config ample(ka_mpm mpm, int64_t timeout_us)
{
    uint32_t threads = mpm == KA_MPM_PREFORK ? 1 : 400;
    ka_sim_config c = sim_fixed(mpm, 800 / threads, threads);

    c.timeout_us = timeout_us;
    c.max_requests = 0;
    return c;
}

static void assert_held(const ka_held *is, const ka_held *of)
{
    assert_near(is->mean, of->mean, 1e-9 * (1 + of->mean));
    assert_near(is->variance, of->variance, 1e-7 * (1 + of->variance));
    assert_near(is->p99, of->p99, 0);
    assert_near(is->p999, of->p999, 0);
    assert_near(is->peak, of->peak, 0);
    assert_near(is->workers, of->workers, 0);
}

static void assert_outcome(const ka_outcome *is, const ka_outcome *of)
{
    assert_int_equal(is->timeout_us, of->timeout_us);
    assert_int_equal(is->requests, of->requests);
    assert_int_equal(is->connections, of->connections);
    assert_int_equal(is->timeout_closes, of->timeout_closes);
    assert_int_equal(is->idle_us, of->idle_us);
    assert_int_equal(is->busy_us, of->busy_us);
    assert_near(is->window_s, of->window_s, 0);
    assert_near(is->connections_per_s, of->connections_per_s, 1e-12);
    assert_near(is->reuse, of->reuse, 1e-12);
    assert_near(is->handshakes_saved_per_s, of->handshakes_saved_per_s, 1e-12);
    assert_near(is->idle_mean, of->idle_mean, 1e-12 * (1 + of->idle_mean));
    assert_near(is->busy_mean, of->busy_mean, 1e-12 * (1 + of->busy_mean));
    assert_near(is->held_mean, of->held_mean, 1e-12 * (1 + of->held_mean));
    assert_near(is->linger_bound_mean, of->linger_bound_mean, 1e-12);
    assert_near(is->held_per_second, of->held_per_second, 1e-12);
    assert_held(&is->held, &of->held);
    assert_held(&is->busy, &of->busy);
}

static ka_sim_result simulate(const ka_trace *trace, const ka_sim_config *c,
                              apr_pool_t *pool)
{
    ka_sim_traffic traffic;
    ka_sim_result result;

    assert_int_equal(ka_sim_traffic_of_trace(&traffic, trace, pool),
                     APR_SUCCESS);
    assert_int_equal(ka_sim_run(&result, c, &traffic, 1, pool), APR_SUCCESS);
    return result;
}

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
