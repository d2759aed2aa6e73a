/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A stretch of a trace: what is cut, what the closed form says of it, and that
 * the simulation says the same.
 */
#include <stdlib.h>

#include "unit.h"
#include "model/stretch.h"
#include "model/sweep.h"
#include "profile/trace_cut.h"
#include "random_traces.h"
#include "sim_fixed.h"

#define SEC TRACES_SEC
#define CLIENTS 300
#define WINDOW (600 * SEC)

static const int64_t timeouts[] = {KA_TIMEOUT_OFF, 0, SEC, 5 * SEC, 60 * SEC};
#define TIMEOUTS (sizeof(timeouts) / sizeof(timeouts[0]))

/* ---- cutting ------------------------------------------------------------ */

static void test_trace_cut__chains_begin_and_end_at_the_cuts(void **state)
{
    ka_trace trace, part;
    uint32_t a, b;

    (void)state;
    ka_trace_init(&trace);
    a = ka_trace_open(&trace, 0, 10);
    b = ka_trace_open(&trace, 20, 30);
    ka_trace_follow(&trace, a, 40, 50);
    ka_trace_follow(&trace, a, 45, 60); /* joins it */
    ka_trace_follow(&trace, b, 70, 90);
    ka_trace_follow(&trace, a, 80, 85);
    ka_trace_tail_set(&trace, a, 7);
    ka_trace_tail_set(&trace, b, 8);
    assert_int_equal(ka_trace_at(&trace, 21), 2);
    assert_int_equal(ka_trace_at(&trace, 1000), 6);
    assert_true(ka_trace_cut(&part, &trace, 2, 5));
    assert_int_equal(part.request_n, 3);
    assert_int_equal(part.chain_n, 2);
    assert_int_equal(part.requests[0].gap_us, KA_GAP_OPENS);
    assert_int_equal(part.requests[1].gap_us, KA_GAP_JOINED);
    assert_int_equal(part.requests[2].gap_us, KA_GAP_OPENS);
    assert_int_equal(part.tails[0].from_us, 60);
    assert_int_equal(part.tails[0].len_us, 20); /* until it goes on at 80 */
    assert_int_equal(part.tails[1].len_us, 8);
    assert_int_equal(part.begin_us, 40);
    assert_int_equal(part.end_us, 80);
    ka_trace_clear(&part);
    ka_trace_clear(&trace);
}

static void test_trace_cut__all_of_it_is_the_trace(void **state)
{
    ka_random random = {7};
    ka_outcome whole[TIMEOUTS], same[TIMEOUTS];
    const ka_sweep_options options = {0};
    ka_trace trace, part;
    size_t i;

    (void)state;
    random_trace_of(&trace, CLIENTS, WINDOW, &random);
    assert_true(ka_trace_cut(&part, &trace, 0, trace.request_n + 5));
    assert_int_equal(part.begin_us, trace.begin_us);
    assert_int_equal(part.end_us, trace.end_us);
    ka_sweep(whole, timeouts, TIMEOUTS, &trace, &options);
    ka_sweep(same, timeouts, TIMEOUTS, &part, &options);
    for (i = 0; i < TIMEOUTS; i++) {
        assert_int_equal(same[i].connections, whole[i].connections);
        assert_near(same[i].held_mean, whole[i].held_mean, 1e-9);
        assert_near(same[i].held.peak, whole[i].held.peak, 0);
    }
    ka_trace_clear(&part);
    assert_true(ka_trace_cut(&part, &trace, 9, 9));
    assert_int_equal(part.request_n, 0);
    ka_trace_clear(&part);
    ka_trace_clear(&trace);
}

/* ---- the closed form ---------------------------------------------------- */

typedef struct pair {
    ka_trace part;
    ka_sim_traffic traffic;
    ka_stretch stretch;
} pair;

static void make_pair(pair *p, uint64_t seed, apr_pool_t *pool)
{
    ka_random random = {seed};
    ka_trace trace;
    size_t from;

    random_trace_of(&trace, CLIENTS, WINDOW, &random);
    from = trace.request_n / 4;
    assert_true(ka_trace_cut(&p->part, &trace, from, 3 * from));
    assert_int_equal(ka_sim_traffic_of_trace(&p->traffic, &p->part, pool),
                     APR_SUCCESS);
    p->stretch = (ka_stretch){.traffic = &p->traffic,
                              .accept_us = 999,
                              .linger_us = SEC / 3};
    ka_trace_clear(&trace);
}

/* With KeepAlive Off the closed form of the whole counts no lag. */
static void test_stretch_m4_m6_m7__is_the_sweep(void **state)
{
    const ka_mpm mpms[] = {KA_MPM_PREFORK, KA_MPM_EVENT};
    uint64_t seed;
    size_t i, m;

    for (seed = 1; seed <= 10; seed++) {
        pair p;

        make_pair(&p, seed, *state);
        for (m = 0; m < 2; m++) {
            const ka_sweep_options options = {
                .accept_us = p.stretch.accept_us,
                .linger_us = mpms[m] == KA_MPM_EVENT ? 0 : p.stretch.linger_us};
            ka_outcome o[TIMEOUTS];

            ka_sweep(o, timeouts, TIMEOUTS, &p.part, &options);
            for (i = 0; i < TIMEOUTS; i++) {
                ka_stretch_model is =
                    ka_stretch_expect(&p.stretch, mpms[m], timeouts[i], 0);

                assert_int_equal(is.connections, o[i].connections);
                assert_near(is.busy_mean, o[i].busy_mean, 1e-9);
                assert_near(is.held_mean, o[i].held_mean, 1e-9);
            }
        }
        ka_trace_clear(&p.part);
    }
}

/* What advise compares of each report: no tenth of a percent between them. */
static void test_stretch_m16__is_the_simulation(void **state)
{
    const uint32_t limits[] = {0, 1, 3};
    uint64_t seed;
    size_t i, k;

    for (seed = 11; seed <= 16; seed++) {
        pair p;

        make_pair(&p, seed, *state);
        for (i = 0; i < TIMEOUTS; i++) {
            for (k = 0; k < 3; k++) {
                ka_sim_config c = sim_fixed(KA_MPM_PREFORK, CLIENTS, 1);
                ka_stretch_model of;
                ka_sim_result is;

                c.timeout_us = timeouts[i];
                c.max_requests = limits[k];
                c.accept_us = p.stretch.accept_us;
                c.linger_us = p.stretch.linger_us;
                assert_int_equal(ka_sim_run(&is, &c, &p.traffic, 1, *state),
                                 APR_SUCCESS);
                of = ka_stretch_expect(&p.stretch, KA_MPM_PREFORK, timeouts[i],
                                       limits[k]);
                assert_int_equal(is.waited, 0);
                assert_int_equal(is.outcome.connections, of.connections);
                assert_near(is.outcome.held_mean, of.held_mean,
                            1e-3 * of.held_mean);
            }
        }
        ka_trace_clear(&p.part);
    }
}

static void test_stretch__no_time_is_nothing(void **state)
{
    const ka_sim_traffic none = {.end_us = 0};
    const ka_stretch stretch = {.traffic = &none};
    ka_stretch_model m = ka_stretch_expect(&stretch, KA_MPM_EVENT, SEC, 0);

    (void)state;
    assert_int_equal(m.connections, 0);
    assert_near(m.held_mean, 0, 0);
}

/* ---- growth ------------------------------------------------------------- */

static void test_stretch_grow__factors(void **state)
{
    static const double factors[] = {0.5, 1, 1.3, 3};
    size_t i, k;
    pair p;

    make_pair(&p, 21, *state);
    for (i = 0; i < 4; i++) {
        ka_sim_traffic grown;
        const double chains = (double)p.traffic.chain_n * factors[i];

        ka_stretch_grow(&grown, &p.traffic, factors[i], 1, *state);
        assert_near((double)grown.chain_n, chains, 0.15 * chains);
        if (factors[i] == 3 || factors[i] == 1) {
            assert_near((double)grown.chain_n, chains, 0);
            assert_near((double)ka_stretch_requests(&grown),
                        (double)ka_stretch_requests(&p.traffic) * factors[i],
                        0);
        }
        for (k = 1; k < grown.chain_n; k++) {
            assert_true(grown.chains[k - 1].start_us <=
                        grown.chains[k].start_us);
        }
        assert_true(grown.chains[0].start_us >= p.traffic.begin_us);
        assert_true(grown.chains[grown.chain_n - 1].start_us <
                    p.traffic.end_us);
    }
    ka_trace_clear(&p.part);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_trace_cut__chains_begin_and_end_at_the_cuts),
        unit_test(test_trace_cut__all_of_it_is_the_trace),
        unit_test(test_stretch_m4_m6_m7__is_the_sweep),
        unit_test(test_stretch_m16__is_the_simulation),
        unit_test(test_stretch__no_time_is_nothing),
        unit_test(test_stretch_grow__factors)};

    return unit_main(tests);
}
