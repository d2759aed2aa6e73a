/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Parameters and traffic that mean harm. */
#include "unit.h"
#include "model/random.h"
#include "model/sim.h"

#define SEC INT64_C(1000000)
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static void test_sim__wrong_parameters_are_refused(void **state)
{
    static const ka_sim_traffic traffic;
    ka_sim_result r;
    ka_sim_config c[5];
    size_t i;

    for (i = 0; i < COUNT_OF(c); i++) {
        c[i] = ka_sim_defaults(KA_MPM_EVENT);
    }
    c[0].spawn.mpm = KA_MPM_UNKNOWN;
    c[1].timeout_us = KA_TIMEOUT_OFF - 1;
    c[2].accept_us = -1;
    c[3].linger_us = INT64_MIN;
    c[4].child_start_us = -5;
    for (i = 0; i < COUNT_OF(c); i++) {
        assert_int_equal(ka_sim_run(&r, &c[i], &traffic, 1, *state),
                         APR_EINVAL);
    }
}

static int64_t any_time(ka_random *r)
{
    static const int64_t times[] = {0,          1,         SEC,
                                    1000 * SEC, INT64_MAX, KA_TRACE_TIME_MAX};
    uint32_t i = ka_random_below(r, COUNT_OF(times) + 4);

    return i < COUNT_OF(times) ? times[i]
                               : (int64_t)ka_random_below(r, 20) * SEC / 4;
}

static uint32_t any_count(ka_random *r)
{
    uint32_t kind = ka_random_below(r, 8);

    return kind == 0 ? 0 : kind == 1 ? UINT32_MAX : ka_random_below(r, 12);
}

static ka_sim_config any_config(ka_random *r)
{
    ka_sim_config c = ka_sim_defaults((ka_mpm)ka_random_below(r, KA_MPM_N));

    c.spawn.start_servers = any_count(r);
    c.spawn.min_spare = any_count(r);
    c.spawn.max_spare = any_count(r);
    c.spawn.threads_per_child = any_count(r);
    /* Not to start 200,000 children again and again. */
    c.spawn.server_limit = ka_random_below(r, 300);
    c.spawn.max_request_workers = any_count(r);
    c.timeout_us = any_time(r) - (ka_random_below(r, 5) == 0);
    c.timeout_us = c.timeout_us < 0 ? KA_TIMEOUT_OFF : c.timeout_us;
    c.max_requests = any_count(r);
    c.max_connections = any_count(r);
    c.async_factor = any_count(r);
    c.queue = any_count(r);
    c.retries = ka_random_below(r, 9);
    c.accept_us = any_time(r);
    c.linger_us = any_time(r);
    c.child_start_us = any_time(r);
    c.handshake_cpu_us = any_time(r);
    c.process_bytes = any_time(r);
    c.points = any_count(r);
    return c;
}

static void any_traffic(ka_sim_traffic *out, ka_random *r, apr_pool_t *pool)
{
    size_t n = ka_random_below(r, 60), i, k, q = 0;
    ka_sim_chain *chains = apr_palloc(pool, (n + 1) * sizeof(*chains));
    ka_sim_request *requests =
        apr_palloc(pool, (n * 6 + 1) * sizeof(*requests));
    int64_t at = ka_random_below(r, 3) ? 0 : -KA_TRACE_TIME_MAX;

    memset(out, 0, sizeof(*out));
    out->begin_us = at;
    for (i = 0; i < n; i++) {
        at += ka_random_below(r, 3) * SEC / 3;
        chains[i] = (ka_sim_chain){.start_us = at,
                                   .tail_us = any_time(r),
                                   .first = q,
                                   .n = 1 + ka_random_below(r, 6)};
        for (k = 0; k < chains[i].n; k++) {
            requests[q++] = (ka_sim_request){.gap_us = k ? any_time(r) : 0,
                                             .busy_us = any_time(r),
                                             .lag_us = ka_random_below(r, 9),
                                             .requests = 1};
        }
    }
    out->chains = chains;
    out->chain_n = n;
    out->requests = requests;
    out->request_n = q;
    out->end_us = ka_random_below(r, 4) ? at : KA_TRACE_TIME_MAX;
}

static void check_any(const ka_sim_result *r, const ka_sim_config *c,
                      const ka_sim_traffic *traffic)
{
    const ka_outcome *o = &r->outcome;
    size_t i;

    assert_int_equal(o->requests + r->given_up, traffic->request_n);
    assert_true(o->connections <= o->requests);
    assert_true(r->waited <= o->connections);
    assert_true(r->dropped <= r->evicted);
    assert_true(r->wait_p50_us <= r->wait_p99_us);
    assert_true(r->wait_p999_us <= r->wait_most_us);
    assert_true(isfinite(o->held.mean) && isfinite(o->busy.mean));
    assert_true(c->points == 0 || r->point_n <= c->points);
    for (i = 0; i < r->point_n; i++) {
        assert_true(r->points[i].waiting <= r->waiting_most);
        assert_true(r->points[i].children <= r->children_most);
    }
}

static void test_sim__any_parameters_come_to_an_end(void **state)
{
    uint64_t seed;

    for (seed = 1; seed <= 3000; seed++) {
        ka_random random = {seed};
        ka_sim_traffic traffic;
        ka_sim_config c = any_config(&random);
        ka_sim_result r;
        apr_pool_t *pool;

        apr_pool_create(&pool, *state);
        any_traffic(&traffic, &random, pool);
        assert_int_equal(ka_sim_run(&r, &c, &traffic, seed, pool),
                         APR_SUCCESS);
        check_any(&r, &c, &traffic);
        apr_pool_destroy(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_sim__wrong_parameters_are_refused),
        unit_test(test_sim__any_parameters_come_to_an_end),
    };

    return unit_main(tests);
}
