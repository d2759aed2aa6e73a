/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The simulation against what is known of queues: Erlang's formulas, and the
 * spawn loop of spawn.h second by second.
 */
#include "unit.h"
#include "model/erlang.h"
#include "model/random.h"
#include "sim_fixed.h"

#define SEC INT64_C(1000000)
#define ARRIVALS 400000

/* One request a connection: Poisson arrivals, exponential service of 1 s in
 * the mean. */
static void markov(ka_sim_traffic *out, double per_s, uint64_t seed,
                   apr_pool_t *pool)
{
    ka_sim_chain *chains = apr_palloc(pool, ARRIVALS * sizeof(*chains));
    ka_sim_request *requests = apr_palloc(pool, ARRIVALS * sizeof(*requests));
    ka_random r = {seed};
    double at = 0;
    size_t i;

    for (i = 0; i < ARRIVALS; i++) {
        at -= log(1 - ka_random_unit(&r)) / per_s;
        chains[i] = (ka_sim_chain){
            .start_us = (int64_t)(at * 1e6), .first = i, .n = 1};
        requests[i] = (ka_sim_request){
            .busy_us = (int64_t)(-log(1 - ka_random_unit(&r)) * 1e6),
            .requests = 1};
    }
    *out = (ka_sim_traffic){.chains = chains,
                            .chain_n = ARRIVALS,
                            .requests = requests,
                            .request_n = ARRIVALS,
                            .end_us = (int64_t)(at * 1e6)};
}

/* Just so many workers, always. */
static ka_sim_config fixed(ka_mpm mpm, uint32_t children, uint32_t threads)
{
    ka_sim_config c = sim_fixed(mpm, children, threads);

    c.queue = UINT32_MAX;
    return c;
}

static ka_sim_result run(const ka_sim_traffic *traffic, const ka_sim_config *c,
                         apr_pool_t *pool)
{
    ka_sim_result result;

    assert_int_equal(ka_sim_run(&result, c, traffic, 1, pool), APR_SUCCESS);
    return result;
}

/* Tolerances: three standard errors or more, of a seed that is fixed. */
static void test_sim__full_workers_refuse_as_erlang_b(void **state)
{
    static const struct {
        uint32_t workers;
        double load;
    } cases[] = {{1, 0.5}, {10, 8}, {40, 30}, {25, 30}};
    ka_sim_traffic traffic;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_sim_config c = fixed(KA_MPM_PREFORK, cases[i].workers, 1);
        double blocked = ka_erlang_b(cases[i].workers, cases[i].load);
        ka_sim_result r;

        c.queue = 0;
        c.retries = 0;
        markov(&traffic, cases[i].load, 1 + i, *state);
        r = run(&traffic, &c, *state);
        assert_int_equal(r.refused, r.given_up);
        assert_int_equal(r.outcome.connections + r.refused, ARRIVALS);
        assert_int_equal(r.waited, 0);
        assert_near((double)r.refused / ARRIVALS, blocked,
                    0.002 + 0.03 * blocked);
        assert_near(r.outcome.held.mean, cases[i].load * (1 - blocked),
                    0.01 * cases[i].load);
    }
}

/* C(s, A) from B(s, A); waits are exponential at rate s - A. */
static double erlang_c(double servers, double load)
{
    double b = ka_erlang_b(servers, load);

    return b / (1 - load / servers * (1 - b));
}

static void check_waits(const ka_sim_result *r, double servers, double load)
{
    double c = erlang_c(servers, load), rate = servers - load;

    assert_int_equal(r->outcome.connections, ARRIVALS);
    assert_near((double)r->waited / ARRIVALS, c, 0.03 * c + 0.002);
    assert_near((double)r->wait_p99_us / 1e6,
                c > 0.01 ? log(c / 0.01) / rate : 0, 0.12);
    assert_near((double)r->wait_p999_us / 1e6,
                c > 0.001 ? log(c / 0.001) / rate : 0, 0.3);
    assert_true(r->wait_most_us >= r->wait_p999_us);
    assert_near(r->outcome.busy.mean, load, 0.01 * load);
}

static void test_sim__waits_as_erlang_c(void **state)
{
    ka_sim_config prefork = fixed(KA_MPM_PREFORK, 10, 1);
    ka_sim_config worker = fixed(KA_MPM_WORKER, 4, 5);
    ka_sim_config event = fixed(KA_MPM_EVENT, 3, 10);
    ka_sim_traffic traffic;
    ka_sim_result r;

    markov(&traffic, 8, 11, *state);
    r = run(&traffic, &prefork, *state);
    check_waits(&r, 10, 8);
    markov(&traffic, 17, 12, *state);
    r = run(&traffic, &worker, *state);
    check_waits(&r, 20, 17);
    markov(&traffic, 25, 13, *state);
    r = run(&traffic, &event, *state);
    check_waits(&r, 30, 25);
    assert_int_equal(r.evicted + r.dropped, 0); /* nothing was idle */
}

/* ---- spawn.h ------------------------------------------------------------ */

#define SECONDS 900
#define PER_SECOND 200

/* Each connection is held `hold` seconds. */
static void make_demand(uint32_t *arrivals, uint32_t *holders, uint32_t hold,
                        ka_random *r)
{
    uint32_t level = ka_random_below(r, PER_SECOND / hold + 1);
    uint64_t held = 0;
    size_t t;

    for (t = 0; t < SECONDS; t++) {
        if (ka_random_below(r, 20) == 0) {
            level = ka_random_below(r, PER_SECOND / hold + 1);
        }
        arrivals[t] = ka_random_below(r, level + 1);
        held += arrivals[t] - (t >= hold ? arrivals[t - hold] : 0);
        holders[t] = (uint32_t)held;
    }
}

/* Connections in the middle of a second, each held a microsecond more than
 * `hold` seconds, so that one that was accepted as the parent looked is not
 * over as it looks again; and each second's come 2 us later than those of the
 * second before, so that they find free who came `hold` seconds ago. */
static void make_traffic(ka_sim_traffic *out, const uint32_t *arrivals,
                         uint32_t hold, apr_pool_t *pool)
{
    ka_sim_chain *chains;
    ka_sim_request *requests;
    size_t n = 0, t, i = 0;

    for (t = 0; t < SECONDS; t++) {
        n += arrivals[t];
    }
    chains = apr_palloc(pool, (n + 1) * sizeof(*chains));
    requests = apr_palloc(pool, (n + 1) * sizeof(*requests));
    for (t = 0; t < SECONDS; t++) {
        uint32_t k;

        for (k = 0; k < arrivals[t]; k++, i++) {
            chains[i] = (ka_sim_chain){
                .start_us = (int64_t)t * (SEC + 2) + SEC / 2,
                .first = i,
                .n = 1};
            requests[i] =
                (ka_sim_request){.busy_us = hold * SEC + 1, .requests = 1};
        }
    }
    *out = (ka_sim_traffic){.chains = chains,
                            .chain_n = n,
                            .requests = requests,
                            .request_n = n,
                            .end_us = SECONDS * SEC};
}

/* The most children of a second are those of it, or one more that was asked to
 * end as it began.  (Busy ones differ: those that waited begin with a second,
 * and end with one.) */
static void compare_seconds(const ka_sim_result *r,
                            const ka_spawn_second *seconds)
{
    size_t t;

    assert_int_equal(r->point_n, SECONDS);
    assert_int_equal(r->step_us, SEC);
    for (t = 0; t < SECONDS; t++) {
        uint32_t is = r->points[t].children, of = seconds[t].children;
        bool one_ended = t > 0 && seconds[t - 1].spawned < 0;

        if (is != of && !(one_ended && is == of + 1)) {
            fail_msg("second %zu: %u children, expected %u", t, is, of);
        }
    }
}

static void compare_runs(ka_mpm mpm, uint32_t threads, uint64_t seed,
                         apr_pool_t *pool)
{
    uint32_t arrivals[SECONDS], holders[SECONDS];
    ka_random r = {seed};
    uint32_t hold = 1 + ka_random_below(&r, 6);
    ka_spawn_demand demand = {holders, arrivals, SECONDS};
    ka_spawn_second seconds[SECONDS];
    ka_spawn_result loop;
    ka_sim_config c = ka_sim_defaults(mpm);
    ka_sim_traffic traffic;
    ka_sim_result sim;

    c.spawn = (ka_spawn_settings){
        .mpm = mpm,
        .start_servers = 1 + ka_random_below(&r, 4),
        .min_spare = 1 + ka_random_below(&r, 40),
        .max_spare = ka_random_below(&r, 120),
        .threads_per_child = threads,
        .server_limit = 1000,
        .max_request_workers = 60 + ka_random_below(&r, 200)};
    c.queue = UINT32_MAX;
    make_demand(arrivals, holders, hold, &r);
    make_traffic(&traffic, arrivals, hold, pool);
    assert_int_equal(ka_spawn_run(&loop, seconds, &demand, &c.spawn, pool),
                     APR_SUCCESS);
    sim = run(&traffic, &c, pool);
    if (loop.left_waiting == 0) {
        assert_int_equal(sim.outcome.connections, loop.connections);
        assert_int_equal(sim.waited, loop.waited);
        /* Half a second sooner: in the middle of its second it came. */
        assert_near((double)sim.wait_most_us / 1e6, loop.wait_most_s, 0.51);
    }
    compare_seconds(&sim, seconds);
    assert_int_equal(sim.children_most, loop.children_most);
}

static void test_sim_m15__children_are_those_of_the_spawn_loop(void **state)
{
    uint64_t seed;

    for (seed = 1; seed <= 60; seed++) {
        apr_pool_t *pool;

        apr_pool_create(&pool, *state);
        compare_runs(KA_MPM_PREFORK, 1, seed, pool);
        apr_pool_destroy(pool);
    }
}

/* A child of prefork that ends is idle.  Elsewhere one that ends may serve:
 * with as many spare as there can be, none is asked to. */
static void test_sim_m15__threads_too_if_none_must_end(void **state)
{
    uint32_t arrivals[SECONDS], holders[SECONDS];
    ka_spawn_second seconds[SECONDS];
    uint64_t seed;
    ka_mpm mpm;

    for (seed = 1; seed <= 60; seed++) {
        ka_random r = {seed};
        uint32_t hold = 1 + ka_random_below(&r, 6);
        ka_spawn_demand demand = {holders, arrivals, SECONDS};
        ka_spawn_result loop;
        ka_sim_traffic traffic;

        make_demand(arrivals, holders, hold, &r);
        make_traffic(&traffic, arrivals, hold, *state);
        for (mpm = KA_MPM_WORKER; mpm <= KA_MPM_EVENT; mpm++) {
            ka_sim_config c = ka_sim_defaults(mpm);
            ka_sim_result sim;

            c.spawn.threads_per_child = 5;
            c.spawn.max_request_workers = c.spawn.max_spare = 300;
            c.spawn.min_spare = 10;
            c.spawn.server_limit = 60;
            c.spawn.start_servers = 2;
            c.queue = UINT32_MAX;
            ka_spawn_run(&loop, seconds, &demand, &c.spawn, *state);
            sim = run(&traffic, &c, *state);
            assert_int_equal(sim.waited, loop.waited);
            if (mpm == KA_MPM_WORKER) {
                compare_seconds(&sim, seconds);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_sim__full_workers_refuse_as_erlang_b),
        unit_test(test_sim__waits_as_erlang_c),
        unit_test(test_sim_m15__children_are_those_of_the_spawn_loop),
        unit_test(test_sim_m15__threads_too_if_none_must_end),
    };

    return unit_main(tests);
}
