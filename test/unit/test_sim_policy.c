/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The simulation under mod_kapolicy: timeouts by what was served, and by load.
 */
#include "sim_traces.h"

#include "model/policy.h"

#define TRACES 60

/* ---- by kind of content: the closed form --------------------------------- */

static int64_t random_timeout(ka_random *r, bool may_stay)
{
    uint32_t i = ka_random_below(r, COUNT_OF(timeouts) + may_stay);

    return i < COUNT_OF(timeouts) ? timeouts[i] : KA_POLICY_STAYS;
}

/* Of requests that joined, only the last one's class is left: it has to name a
 * timeout. */
static ka_policy random_policy(ka_random *r, bool joins)
{
    return (ka_policy){
        .after_us = {random_timeout(r, !joins), random_timeout(r, !joins)},
        .other_us = random_timeout(r, false)};
}

static void compare_all(ka_mpm mpm, bool joins, int64_t accept_us,
                        uint64_t seed, apr_pool_t *pool)
{
    const shape shape = {.joins = joins,
                         .gap_least_us = accept_us ? 1000 : 0,
                         .start_within_us = 100 * SEC};
    const ka_sweep_options options = {.accept_us = accept_us};
    ka_random random = {seed};
    int i;

    for (i = 0; i < TRACES; i++) {
        ka_policy policy = random_policy(&random, joins);
        ka_sim_config config = ample(mpm, 5 * SEC);
        ka_sim_result result;
        ka_outcome closed;
        ka_trace trace;

        random_trace(&trace, &random, &shape);
        config.policy = &policy;
        config.accept_us = accept_us;
        result = simulate(&trace, &config, pool);
        assert_int_equal(ka_policy_sweep(&closed, &policy, &trace, &options),
                         APR_SUCCESS);
        assert_outcome(&result.outcome, &closed);
        assert_int_equal(result.waited + result.refused + result.given_up, 0);
        ka_trace_clear(&trace);
    }
}

static void test_sim_m20__is_the_closed_form(void **state)
{
    compare_all(KA_MPM_PREFORK, false, 0, 31, *state);
    compare_all(KA_MPM_WORKER, true, 0, 32, *state);
    compare_all(KA_MPM_EVENT, false, 0, 33, *state);
    compare_all(KA_MPM_EVENT, true, 999, 34, *state);
}

/* ---- clients that come and stay ------------------------------------------ */

#define CLIENTS_MAX 2000
#define STAY_US (600 * SEC)

typedef struct crowd {
    ka_sim_chain chains[CLIENTS_MAX];
    ka_sim_request requests[2 * CLIENTS_MAX];
    ka_sim_traffic traffic;
} crowd;

/* A client each so often, a request of 10 ms each. */
static crowd *come(size_t n, int64_t every_us, apr_pool_t *pool)
{
    crowd *c = apr_pcalloc(pool, sizeof(*c));
    size_t i;

    for (i = 0; i < n; i++) {
        c->chains[i] = (ka_sim_chain){.start_us = (int64_t)i * every_us,
                                      .first = i,
                                      .n = 1,
                                      .tail_us = STAY_US};
        c->requests[i] = (ka_sim_request){.busy_us = SEC / 100, .requests = 1};
    }
    c->traffic = (ka_sim_traffic){c->chains, n, c->requests,
                                  n,         0, (int64_t)n * every_us};
    return c;
}

static ka_sim_result run(const crowd *c, const ka_sim_config *config,
                         apr_pool_t *pool)
{
    ka_sim_result result;

    assert_int_equal(ka_sim_run(&result, config, &c->traffic, 1, pool),
                     APR_SUCCESS);
    return result;
}

static const ka_adaptive usual = {
    .min_us = SEC / 2, .max_us = 15 * SEC, .low = 50, .high = 90};

static void
test_sim_p1_p2__nobody_waits_where_a_fixed_timeout_makes_them(void **state)
{
    static const ka_mpm mpms[] = {KA_MPM_PREFORK, KA_MPM_WORKER};
    size_t i;

    for (i = 0; i < COUNT_OF(mpms); i++) {
        uint32_t threads = mpms[i] == KA_MPM_PREFORK ? 1 : 10;
        ka_sim_config config = sim_fixed(mpms[i], 20 / threads, threads);
        const crowd *c = come(1500, SEC / 5, *state);
        ka_sim_result fixed, by_load;

        config.timeout_us = usual.max_us;
        fixed = run(c, &config, *state);
        config.adaptive = &usual;
        by_load = run(c, &config, *state);
        assert_true(fixed.wait_p99_us > SEC);
        assert_int_equal(by_load.wait_p99_us, 0);
        assert_true(by_load.cut_waits > 1000);
        assert_true(by_load.outcome.held.peak <= 20);
        /* It keeps them as long as there is room: not `min`. */
        assert_true(by_load.outcome.idle_mean > 10);
        assert_int_equal(by_load.outcome.connections, 1500);
    }
}

static void test_sim_p1__while_it_is_calm_it_is_the_longest(void **state)
{
    ka_sim_config config = sim_fixed(KA_MPM_PREFORK, 200, 1);
    const crowd *c = come(300, SEC / 5, *state);
    ka_sim_result fixed, by_load;

    config.timeout_us = usual.max_us;
    fixed = run(c, &config, *state);
    config.timeout_us = SEC; /* is not asked */
    config.adaptive = &usual;
    by_load = run(c, &config, *state);
    assert_outcome(&by_load.outcome, &fixed.outcome);
    assert_int_equal(by_load.cut_waits + by_load.closed_full, 0);
    config.timeout_us = KA_TIMEOUT_OFF;
    assert_int_equal(run(c, &config, *state).outcome.idle_us, 0);
}

/* 7 of 10 taken: halfway between 50 and 90 %, so halfway from 10 to 2 s; each
 * that goes makes room for the others. */
static void test_sim_p1__waits_that_have_begun_fall_in_a_line(void **state)
{
    static const ka_adaptive line = {
        .min_us = 2 * SEC, .max_us = 10 * SEC, .low = 50, .high = 90};
    ka_sim_config config = sim_fixed(KA_MPM_PREFORK, 10, 1);
    const crowd *c = come(7, 0, *state);
    ka_sim_result r;

    config.adaptive = &line;
    r = run(c, &config, *state);
    assert_near((double)r.outcome.idle_us / 1e6, 6 + 8 + 5 * 10, 0.01);
    assert_int_equal(r.cut_waits, 2);
    assert_int_equal(r.outcome.timeout_closes, 5);
}

/* From three taken on one must go: the third comes, and the first's wait ends;
 * the first comes back, and the second's ends; and so on.  Each opens twice. */
static void test_sim_p2__the_oldest_wait_ends_first(void **state)
{
    static const ka_adaptive early = {
        .min_us = 0, .max_us = 60 * SEC, .low = 74, .high = 75};
    ka_sim_config config = sim_fixed(KA_MPM_PREFORK, 4, 1);
    crowd *c = come(3, 10 * SEC, *state);
    ka_sim_result r;
    size_t i;

    for (i = 0; i < 3; i++) {
        c->chains[i].first = 2 * i;
        c->chains[i].n = 2;
        c->requests[2 * i] = (ka_sim_request){.busy_us = SEC, .requests = 1};
        c->requests[2 * i + 1] = (ka_sim_request){
            .busy_us = SEC, .requests = 1, .gap_us = 25 * SEC};
    }
    c->traffic.request_n = 6;
    c->traffic.end_us = 100 * SEC;
    config.adaptive = &early;
    r = run(c, &config, *state);
    assert_int_equal(r.outcome.requests, 6);
    assert_int_equal(r.outcome.connections, 6);
    assert_int_equal(r.cut_waits, 4);
    assert_int_equal(r.waited + r.closed_full, 0);
}

/* 9 of 10 are too many: two of ten responses close. */
static void test_sim_p2__responses_close_while_it_is_full(void **state)
{
    static const ka_adaptive late = {
        .min_us = 0, .max_us = 60 * SEC, .low = 89, .high = 90};
    ka_sim_config config = sim_fixed(KA_MPM_PREFORK, 10, 1);
    const crowd *c = come(10, 0, *state);
    ka_sim_result r;

    config.adaptive = &late;
    r = run(c, &config, *state);
    assert_int_equal(r.closed_full, 2);
    assert_int_equal(r.cut_waits, 0);
}

static void test_sim_p2__event_closes_idle_ones_before_it_is_full(void **state)
{
    ka_sim_config config = sim_fixed(KA_MPM_EVENT, 1, 4);
    const crowd *c = come(1500, SEC / 5, *state);
    ka_sim_result fixed, by_load;

    config.async_factor = 2;
    config.timeout_us = usual.max_us;
    fixed = run(c, &config, *state);
    config.adaptive = &usual;
    by_load = run(c, &config, *state);
    assert_true(fixed.wait_p99_us > SEC);
    assert_int_equal(by_load.wait_p99_us, 0);
    assert_int_equal(by_load.evicted + by_load.dropped, 0);
    assert_true(by_load.cut_waits > 100);
    assert_true(by_load.cut_waits + by_load.closed_full > 1000);
}

/* A close that is not answered holds nobody's worker while others need it. */
static void test_sim_p2__linger_only_while_it_is_calm(void **state)
{
    ka_sim_config config = sim_fixed(KA_MPM_PREFORK, 20, 1);
    const crowd *c = come(1500, SEC / 5, *state);

    config.linger_us = 2 * SEC;
    config.timeout_us = SEC;
    assert_true(run(c, &config, *state).outcome.held.mean > 14);
    config.adaptive = &usual;
    assert_int_equal(run(c, &config, *state).wait_p99_us, 0);
}

static void test_sim__what_makes_no_sense_is_refused(void **state)
{
    const crowd *c = come(1, SEC, *state);
    ka_sim_config config = sim_fixed(KA_MPM_PREFORK, 1, 1);
    ka_adaptive adaptive = usual;
    ka_policy policy = ka_policy_uniform(-2);
    ka_sim_result r;

    config.policy = &policy;
    assert_int_equal(ka_sim_run(&r, &config, &c->traffic, 1, *state),
                     APR_EINVAL);
    config.policy = NULL;
    adaptive.low = adaptive.high;
    config.adaptive = &adaptive;
    assert_int_equal(ka_sim_run(&r, &config, &c->traffic, 1, *state),
                     APR_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_sim_m20__is_the_closed_form),
        unit_test(
            test_sim_p1_p2__nobody_waits_where_a_fixed_timeout_makes_them),
        unit_test(test_sim_p1__while_it_is_calm_it_is_the_longest),
        unit_test(test_sim_p1__waits_that_have_begun_fall_in_a_line),
        unit_test(test_sim_p2__the_oldest_wait_ends_first),
        unit_test(test_sim_p2__responses_close_while_it_is_full),
        unit_test(test_sim_p2__event_closes_idle_ones_before_it_is_full),
        unit_test(test_sim_p2__linger_only_while_it_is_calm),
        unit_test(test_sim__what_makes_no_sense_is_refused),
    };

    return unit_main(tests);
}
