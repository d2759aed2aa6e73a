/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Traffic that is drawn must be like what it was drawn from.
 */
#include "unit.h"
#include "model/random.h"
#include "model/sim.h"
#include "model/sweep.h"

#define SEC INT64_C(1000000)

typedef struct source {
    ka_hist lengths, gap, service, tail;
    double rates[3600];
    ka_sim_draws draws;
} source;

/* Connections of 1 to 9 requests, under T0 = 5 s; every third one is followed
 * by another of its chain. */
static source *make(apr_pool_t *pool)
{
    source *s = apr_pcalloc(pool, sizeof(*s));
    ka_random r = {7};
    size_t i;

    for (i = 0; i < 20000; i++) {
        ka_hist_add(&s->lengths, 1 + ka_random_below(&r, 9));
        ka_hist_add(&s->gap, ka_random_below(&r, 4900000));
        ka_hist_add(&s->gap, 6000000 + ka_random_below(&r, 50000000));
        ka_hist_add(&s->service, 1000 + ka_random_below(&r, 400000));
        ka_hist_add(&s->tail, ka_random_below(&r, 60000000));
    }
    for (i = 0; i < 3600; i++) {
        s->rates[i] = i < 1800 ? 2 : 6;
    }
    s->draws = (ka_sim_draws){.rates = s->rates,
                              .rate_n = 3600,
                              .rate_step_s = 1,
                              .lengths = &s->lengths,
                              .gap = &s->gap,
                              .service = &s->service,
                              .tail = &s->tail,
                              .timeout_us = 5 * SEC,
                              .again = 1 / 3.0,
                              .growth = 1};
    return s;
}

static ka_sim_traffic drawn(const ka_sim_draws *draws, uint64_t seed,
                            apr_pool_t *pool)
{
    ka_sim_traffic traffic;

    assert_int_equal(ka_sim_traffic_draw(&traffic, draws, seed, pool),
                     APR_SUCCESS);
    return traffic;
}

static double mean_busy(const ka_sim_traffic *t)
{
    double sum = 0;
    size_t i;

    for (i = 0; i < t->request_n; i++) {
        sum += (double)t->requests[i].busy_us;
    }
    return sum / (double)t->request_n;
}

/* Ample workers at T0: as many connections as there were. */
static ka_sim_result at_t0(const ka_sim_traffic *traffic, apr_pool_t *pool)
{
    ka_sim_config c = ka_sim_defaults(KA_MPM_PREFORK);
    ka_sim_result r;

    c.spawn.start_servers = c.spawn.max_request_workers =
        c.spawn.server_limit = c.spawn.max_spare = 2000;
    c.max_requests = 0;
    assert_int_equal(ka_sim_run(&r, &c, traffic, 1, pool), APR_SUCCESS);
    return r;
}

/* Tolerances: some five standard errors. */
static void test_sim_draw__is_like_its_source(void **state)
{
    source *s = make(*state);
    ka_sim_traffic t = drawn(&s->draws, 1, *state);
    ka_sim_result r = at_t0(&t, *state);
    double connections = 1800 * 2 + 1800 * 6;
    size_t i, early = 0;

    assert_near((double)r.outcome.connections, connections, 700);
    assert_near((double)t.request_n / (double)r.outcome.connections,
                ka_hist_mean(&s->lengths), 0.15);
    assert_near(mean_busy(&t), ka_hist_mean(&s->service), 3000);
    for (i = 0; i < t.chain_n; i++) {
        assert_true(i == 0 ||
                    t.chains[i].start_us >= t.chains[i - 1].start_us);
        early += t.chains[i].start_us < 1800 * SEC;
    }
    assert_near((double)early / (double)t.chain_n, 0.25, 0.025);
    assert_int_equal(t.end_us, 3600 * SEC);
    assert_int_equal(r.waited, 0);
}

static void test_sim_draw__gaps_lie_where_they_belong(void **state)
{
    source *s = make(*state);
    ka_sim_traffic t = drawn(&s->draws, 2, *state);
    double within = 0, within_n = 0, beyond_n = 0;
    size_t i;

    for (i = 0; i < t.request_n; i++) {
        int64_t gap = t.requests[i].gap_us;

        if (gap > 5 * SEC) {
            assert_true(gap >= 5800000);
            beyond_n++;
        }
        else if (gap > 0) {
            within += (double)gap;
            within_n++;
        }
    }
    /* Of all connections a third follows another. */
    assert_near(beyond_n / ((double)t.chain_n + beyond_n), 1 / 3.0, 0.02);
    assert_near(within / within_n, 2.45e6, 40000);
}

static void test_sim_draw__joined_requests_open_nothing(void **state)
{
    source *s = make(*state);
    ka_sim_traffic t;
    uint64_t requests = 0;
    size_t i;

    s->draws.joined = 0.5;
    t = drawn(&s->draws, 3, *state);
    for (i = 0; i < t.request_n; i++) {
        requests += t.requests[i].requests;
    }
    /* 1 + 2 others of 1 + 4 */
    assert_near((double)t.request_n / (double)requests, 3 / 5.0, 0.02);
}

static void test_sim_draw__together_and_growth(void **state)
{
    source *s = make(*state);
    ka_hist together;
    ka_sim_traffic t;
    size_t i, same = 0;

    ka_hist_init(&together);
    ka_hist_add(&together, 6);
    s->draws.together = &together;
    s->draws.growth = 2;
    s->draws.again = 0;
    t = drawn(&s->draws, 4, *state);
    assert_near((double)t.chain_n, 2 * 14400, 2100);
    for (i = 1; i < t.chain_n; i++) {
        same += t.chains[i].start_us == t.chains[i - 1].start_us;
    }
    assert_near((double)same / (double)t.chain_n, 5 / 6.0, 0.01);
}

/* Chains of hours: what one hour sees of them began before it. */
static void test_sim_draw__long_chains_are_under_way(void **state)
{
    source *s = make(*state);
    double first = 0, second = 0;
    ka_sim_traffic t;
    ka_sim_result r;
    size_t i;

    for (i = 0; i < 3600; i++) {
        s->rates[i] = 4;
    }
    s->draws.again = 0.995;
    t = drawn(&s->draws, 8, *state);
    r = at_t0(&t, *state);
    assert_near((double)r.outcome.connections, 4 * 3600, 800);
    for (i = 0; i < r.point_n; i++) {
        *(i < 1800 ? &first : &second) += r.points[i].connections;
    }
    assert_near(first / second, 1, 0.06);
}

static void test_sim_draw__a_seed_determines_all(void **state)
{
    source *s = make(*state);
    ka_sim_traffic a = drawn(&s->draws, 5, *state);
    ka_sim_traffic b = drawn(&s->draws, 5, *state);
    ka_sim_traffic c = drawn(&s->draws, 6, *state);

    assert_int_equal(a.request_n, b.request_n);
    assert_memory_equal(a.requests, b.requests,
                        a.request_n * sizeof(*a.requests));
    assert_memory_equal(a.chains, b.chains, a.chain_n * sizeof(*a.chains));
    assert_true(a.request_n != c.request_n ||
                memcmp(a.requests, c.requests,
                       a.request_n * sizeof(*a.requests)) != 0);
}

static void test_sim_draw__nothing_known_is_single_requests(void **state)
{
    static const double rates[] = {5};
    ka_sim_draws draws = {.rates = rates,
                          .rate_n = 1,
                          .rate_step_s = 100,
                          .timeout_us = KA_TIMEOUT_OFF,
                          .growth = 1};
    ka_sim_traffic t = drawn(&draws, 1, *state);

    assert_near((double)t.chain_n, 500, 110);
    assert_int_equal(t.request_n, t.chain_n);
    assert_int_equal(t.requests[0].busy_us, 0);
    assert_int_equal(t.chains[0].tail_us, 0);
}

static void test_sim_draw__what_cannot_be_drawn_is_refused(void **state)
{
    source *s = make(*state);
    ka_sim_draws cases[6];
    ka_sim_traffic t;
    size_t i;

    for (i = 0; i < 6; i++) {
        cases[i] = s->draws;
    }
    cases[0].rate_n = 0;
    cases[1].again = 1;
    cases[2].growth = 1e9;
    cases[3].growth = 0;
    cases[4].rate_step_s = NAN;
    cases[5].again = NAN;
    for (i = 0; i < 6; i++) {
        assert_int_equal(ka_sim_traffic_draw(&t, &cases[i], 1, *state),
                         APR_EINVAL);
    }
}

/* ---- kinds of content ---------------------------------------------------- */

typedef struct of_class {
    double n, followed, gap_us, busy_us;
} of_class;

/* Gaps up to T0 only: the longer ones begin connections. */
static void sum_up(of_class *of, const ka_sim_traffic *t)
{
    size_t i, k;

    for (i = 0; i < t->chain_n; i++) {
        const ka_sim_request *r = &t->requests[t->chains[i].first];

        for (k = 0; k < t->chains[i].n; k++, r++) {
            of_class *c = &of[r->cls];
            bool follows = k + 1 < t->chains[i].n && r[1].gap_us <= 5 * SEC;

            c->n++;
            c->busy_us += (double)r->busy_us;
            c->followed += follows;
            c->gap_us += follows ? (double)r[1].gap_us : 0;
        }
    }
}

static void test_sim_draw__each_class_has_its_own(void **state)
{
    source *s = make(*state);
    ka_hist gaps[KA_CLASS_N], services[KA_CLASS_N];
    const ka_sim_draws_class classes[KA_CLASS_N] = {
        {&services[0], &gaps[0], 0.9, 0.4}, {&services[1], &gaps[1], 0.1, 0.6}};
    of_class of[KA_CLASS_N + 1] = {{0}};
    ka_sim_traffic t;
    int i;

    for (i = 0; i < KA_CLASS_N; i++) {
        ka_hist_init(&gaps[i]);
        ka_hist_init(&services[i]);
        ka_hist_add_n(&gaps[i], i ? 4000000 : 1000000, 100);
        ka_hist_add_n(&services[i], i ? 300000 : 10000, 100);
    }
    s->draws.classes = classes;
    t = drawn(&s->draws, 4, *state);
    sum_up(of, &t);
    assert_near(of[KA_CLASS_N].n, 0, 0);
    assert_near(of[1].followed / (of[0].followed + of[1].followed), 0.1, 0.01);
    assert_near((of[1].n - of[1].followed) /
                    ((double)t.request_n - of[0].followed - of[1].followed),
                0.6, 0.015);
    for (i = 0; i < KA_CLASS_N; i++) {
        assert_near(of[i].gap_us / of[i].followed, i ? 4e6 : 1e6, 1e4);
        assert_near(of[i].busy_us / of[i].n, i ? 3e5 : 1e4, 200);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_sim_draw__is_like_its_source),
        unit_test(test_sim_draw__gaps_lie_where_they_belong),
        unit_test(test_sim_draw__joined_requests_open_nothing),
        unit_test(test_sim_draw__together_and_growth),
        unit_test(test_sim_draw__long_chains_are_under_way),
        unit_test(test_sim_draw__a_seed_determines_all),
        unit_test(test_sim_draw__nothing_known_is_single_requests),
        unit_test(test_sim_draw__what_cannot_be_drawn_is_refused),
        unit_test(test_sim_draw__each_class_has_its_own),
    };

    return unit_main(tests);
}
