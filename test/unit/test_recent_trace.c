/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A trace as the ring of a segment would tell it, rebuilt: what comes out must
 * be what the trace itself gives.
 */
#include <stdlib.h>

#include "unit.h"
#include "model/stretch.h"
#include "model/sweep.h"
#include "profile/recent_trace.h"
#include "recent_ring.h"
#include "sim_fixed.h"

#define SEC TRACES_SEC
#define CLIENTS RING_CLIENTS
#define T0 RING_T0

static bool rebuild(ka_trace *out, const ring *r, apr_pool_t *pool)
{
    return ka_recent_trace(out, r->items, r->n, &r->gap, NULL, 1, pool);
}

/* ---- comparison --------------------------------------------------------- */

static void test_recent_trace__exact_at_its_timeout_and_above(void **state)
{
    static const int64_t timeouts[] = {T0, 17 * SEC, 19 * SEC, 60 * SEC};
    const ka_sweep_options options = {0};
    ka_outcome of[4], is[4];
    ka_trace trace, rebuilt;
    ring *r = make_ring(&trace, 1, *state);
    size_t i;

    assert_true(rebuild(&rebuilt, r, *state));
    assert_int_equal(rebuilt.request_n, trace.request_n);
    assert_int_equal(rebuilt.chain_n, trace.chain_n);
    ka_sweep(of, timeouts, 4, &trace, &options);
    ka_sweep(is, timeouts, 4, &rebuilt, &options);
    for (i = 0; i < 4; i++) {
        assert_int_equal(is[i].connections, of[i].connections);
        assert_int_equal(is[i].busy_us, of[i].busy_us);
        assert_int_equal(is[i].idle_us, of[i].idle_us);
        assert_near(is[i].held.peak, of[i].held.peak,
                    fmax(1, 0.05 * of[i].held.peak));
        assert_near(is[i].held.p999, of[i].held.p999,
                    fmax(1, 0.05 * of[i].held.p999));
    }
    ka_trace_clear(&rebuilt);
    ka_trace_clear(&trace);
}

/* Below it gaps but the longest are drawn.  A timeout an eighth of the one in
 * force is the worst of these: within 5 %. */
static void test_recent_trace__close_below_its_timeout(void **state)
{
    static const int64_t timeouts[] = {2 * SEC, 5 * SEC, 10 * SEC};
    const ka_sweep_options options = {0};
    uint64_t seed;
    size_t i;

    for (seed = 2; seed < 6; seed++) {
        ka_outcome of[3], is[3];
        ka_trace trace, rebuilt;
        ring *r = make_ring(&trace, seed, *state);

        assert_true(rebuild(&rebuilt, r, *state));
        ka_sweep(of, timeouts, 3, &trace, &options);
        ka_sweep(is, timeouts, 3, &rebuilt, &options);
        for (i = 0; i < 3; i++) {
            assert_near((double)is[i].connections, (double)of[i].connections,
                        0.055 * (double)of[i].connections);
            assert_near(is[i].held_mean, of[i].held_mean,
                        0.055 * of[i].held_mean);
        }
        ka_trace_clear(&rebuilt);
        ka_trace_clear(&trace);
    }
}

static ka_sim_result play(const ka_trace *trace, apr_pool_t *pool)
{
    ka_sim_config c = sim_fixed(KA_MPM_PREFORK, 12, 1);
    ka_sim_traffic traffic;
    ka_sim_result result;

    c.timeout_us = T0;
    c.max_requests = 0;
    assert_int_equal(ka_sim_traffic_of_trace(&traffic, trace, pool),
                     APR_SUCCESS);
    assert_int_equal(ka_sim_run(&result, &c, &traffic, 1, pool), APR_SUCCESS);
    return result;
}

/* Too few workers, so that many wait: the same ones about as long. */
static void test_recent_trace__simulates_like_its_trace(void **state)
{
    ka_trace trace, rebuilt;
    ring *r = make_ring(&trace, 7, *state);
    ka_sim_result of, is;

    assert_true(rebuild(&rebuilt, r, *state));
    of = play(&trace, *state);
    is = play(&rebuilt, *state);
    assert_true(of.waited > CLIENTS / 4);
    assert_near((double)is.waited, (double)of.waited,
                0.03 * (double)of.waited);
    assert_near((double)is.wait_p99_us, (double)of.wait_p99_us,
                0.03 * (double)of.wait_p99_us);
    assert_near(is.outcome.held_mean, of.outcome.held_mean,
                0.03 * of.outcome.held_mean);
    assert_int_equal(is.outcome.requests, of.outcome.requests);
    ka_trace_clear(&rebuilt);
    ka_trace_clear(&trace);
}

/* ---- foreign files ------------------------------------------------------ */

static void test_recent_trace__left_out_or_refused(void **state)
{
    ka_segment_recent items[3] = {
        {.requests = 2, .vhost = 1, .life_us = 9 * SEC, .idle_us = SEC},
        {.requests = 0, .vhost = 0},
        {.requests = 1, .vhost = 0, .life_us = SEC}};
    const bool wanted[2] = {true, false};
    ka_trace trace;

    assert_true(ka_recent_trace(&trace, items, 3, NULL, wanted, 1, *state));
    assert_int_equal(trace.request_n, 1);
    ka_trace_clear(&trace);
    items[0].requests = UINT32_MAX;
    assert_false(ka_recent_trace(&trace, items, 3, NULL, NULL, 1, *state));
    assert_int_equal(trace.request_n, 0);
    assert_true(ka_recent_trace(&trace, items, 0, NULL, NULL, 1, *state));
    assert_int_equal(trace.request_n, 0);
    ka_trace_clear(&trace);
}

static void test_recent_trace__any_bytes(void **state)
{
    enum { N = 200 };
    ka_segment_recent *items = apr_palloc(*state, N * sizeof(*items));
    ka_random random = {99};
    ka_trace trace;
    size_t i, k;

    for (i = 0; i < N; i++) {
        unsigned char *bytes = (unsigned char *)&items[i];

        for (k = 0; k < sizeof(*items); k++) {
            bytes[k] = (unsigned char)ka_random_below(&random, 256);
        }
        items[i].requests %= 50;
        items[i].client_hash %= 3;
    }
    assert_true(ka_recent_trace(&trace, items, N, NULL, NULL, 1, *state));
    for (i = 0; i < trace.request_n; i++) {
        const ka_trace_request *r = &trace.requests[i];

        assert_true(r->busy_to_us >= r->busy_from_us);
        assert_true(r->chain < trace.chain_n);
        assert_true(i == 0 || r->gap_us >= KA_GAP_JOINED);
    }
    ka_trace_clear(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_recent_trace__exact_at_its_timeout_and_above),
        unit_test(test_recent_trace__close_below_its_timeout),
        unit_test(test_recent_trace__simulates_like_its_trace),
        unit_test(test_recent_trace__left_out_or_refused),
        unit_test(test_recent_trace__any_bytes)};

    return unit_main(tests);
}
