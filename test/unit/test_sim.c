/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Small servers that can be reckoned by hand.
 */
#include "unit.h"
#include "model/random.h"
#include "sim_fixed.h"

#define SEC INT64_C(1000000)
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* A client: its first request and, after the gap, a second one. */
typedef struct visitor {
    double at, busy, gap, again; /* seconds; gap < 0: no second request */
    double tail;
} visitor;

static void visit(ka_sim_traffic *out, const visitor *visitors, size_t n,
                  double window_s, apr_pool_t *pool)
{
    ka_sim_chain *chains = apr_pcalloc(pool, (n + 1) * sizeof(*chains));
    ka_sim_request *requests = apr_pcalloc(pool, (2 * n + 1) * sizeof(*requests));
    size_t i, k = 0;

    for (i = 0; i < n; i++) {
        const visitor *v = &visitors[i];

        chains[i] = (ka_sim_chain){.start_us = (int64_t)(v->at * 1e6),
                                   .tail_us = (int64_t)(v->tail * 1e6),
                                   .first = k,
                                   .n = v->gap < 0 ? 1 : 2};
        requests[k++] = (ka_sim_request){
            .busy_us = (int64_t)(v->busy * 1e6), .requests = 1};
        if (v->gap >= 0) {
            requests[k++] =
                (ka_sim_request){.gap_us = (int64_t)(v->gap * 1e6),
                                 .busy_us = (int64_t)(v->again * 1e6),
                                 .requests = 1};
        }
    }
    *out = (ka_sim_traffic){.chains = chains,
                            .chain_n = n,
                            .requests = requests,
                            .request_n = k,
                            .end_us = (int64_t)(window_s * 1e6)};
}

static ka_sim_result run(const visitor *visitors, size_t n, double window_s,
                         const ka_sim_config *c, apr_pool_t *pool)
{
    ka_sim_traffic traffic;
    ka_sim_result result;

    visit(&traffic, visitors, n, window_s, pool);
    assert_int_equal(ka_sim_run(&result, c, &traffic, 1, pool), APR_SUCCESS);
    return result;
}

/* ---- waiting ------------------------------------------------------------ */

/* One worker, held until the timeout of 5 s after a response of 1 s. */
static void test_sim__prefork_holds_the_worker_while_idle(void **state)
{
    static const visitor visitors[] = {{0, 1, 20, 1, 0}, {2, 1, -1, 0, 0}};
    ka_sim_config c = sim_fixed(KA_MPM_PREFORK, 1, 1);
    ka_sim_result r = run(visitors, 2, 30, &c, *state);

    assert_int_equal(r.outcome.requests, 3);
    assert_int_equal(r.outcome.connections, 3);
    assert_int_equal(r.outcome.timeout_closes, 1);
    assert_int_equal(r.outcome.idle_us, 5 * SEC);
    assert_int_equal(r.waited, 1);
    assert_int_equal(r.wait_most_us, 4 * SEC);
    assert_int_equal(r.waiting_most, 1);
    assert_int_equal(r.wait_p50_us, 0);
    assert_int_equal(r.wait_p99_us, 4 * SEC);
    assert_near(r.outcome.held.mean, (6 + 1 + 1) / 30.0, 1e-9);
    assert_near(r.outcome.held.peak, 1, 0);
}

/* The server waits 2 s for the client's own close. */
static void test_sim__linger_holds_the_worker_longer(void **state)
{
    static const visitor visitors[] = {{0, 1, 20, 1, 0}, {2, 1, -1, 0, 0}};
    ka_sim_config c = sim_fixed(KA_MPM_WORKER, 1, 1);
    ka_sim_result r;

    c.linger_us = 2 * SEC;
    r = run(visitors, 2, 30, &c, *state);
    assert_int_equal(r.wait_most_us, 6 * SEC);
    c.timeout_us = KA_TIMEOUT_OFF;
    r = run(visitors, 2, 30, &c, *state);
    assert_int_equal(r.wait_most_us, 1 * SEC);
    assert_int_equal(r.outcome.connections, 3);
    assert_int_equal(r.outcome.timeout_closes, 0);
}

static void test_sim__event_holds_none_while_idle(void **state)
{
    static const visitor visitors[] = {{0, 1, 20, 1, 0}, {2, 1, -1, 0, 0}};
    ka_sim_config c = sim_fixed(KA_MPM_EVENT, 1, 1);
    ka_sim_result r = run(visitors, 2, 30, &c, *state);

    assert_int_equal(r.waited, 0);
    assert_near(r.outcome.held.peak, 2, 0);
    assert_near(r.outcome.busy.peak, 1, 0);
    assert_int_equal(r.evicted, 0);
}

/* Who had to wait goes on later: gaps are the clients' own. */
static void test_sim__a_client_that_waited_keeps_its_gaps(void **state)
{
    static const visitor visitors[] = {{0, 4, -1, 0, 0}, {1, 1, 2, 1, 0}};
    ka_sim_config c = sim_fixed(KA_MPM_PREFORK, 1, 1);
    ka_sim_result r = run(visitors, 2, 20, &c, *state);

    assert_int_equal(r.wait_most_us, 3 * SEC);
    assert_int_equal(r.outcome.connections, 2);
    /* 4 s, then 1 + 2 + 1: it is gone at 8 s. */
    assert_int_equal(r.points[7].connections, 1);
    assert_int_equal(r.points[9].connections, 0);
}

/* ---- refusals ----------------------------------------------------------- */

/* A queue of 1: the third is refused at 2, 3 (1 s later), 5 and 9 s. */
static void test_sim__a_full_queue_refuses_and_clients_retry(void **state)
{
    static const visitor visitors[] = {
        {0, 8, -1, 0, 0}, {1, 0.5, -1, 0, 0}, {2, 1, -1, 0, 0}};
    ka_sim_config c = sim_fixed(KA_MPM_PREFORK, 1, 1);
    ka_sim_result r;

    c.queue = 1;
    r = run(visitors, 3, 20, &c, *state);
    assert_int_equal(r.refused, 3);
    assert_int_equal(r.points[2].refused, 1);
    assert_int_equal(r.points[3].refused, 1);
    assert_int_equal(r.points[5].refused, 1);
    assert_int_equal(r.given_up, 0);
    assert_int_equal(r.outcome.connections, 3);
    assert_int_equal(r.wait_most_us, 7 * SEC); /* 1..8, and 2..9 */
    c.retries = 2;
    r = run(visitors, 3, 20, &c, *state);
    assert_int_equal(r.refused, 3);
    assert_int_equal(r.given_up, 1);
    assert_int_equal(r.outcome.requests, 2);
}

/* ---- event -------------------------------------------------------------- */

/* A is idle from 1 s on; B takes the one worker from 2 to 7 s; C's connection
 * wakes the listener at 3 s. */
static void test_sim__event_evicts_when_all_workers_are_busy(void **state)
{
    static const visitor visitors[] = {
        {0, 1, 4.5, 1, 0}, {2, 5, -1, 0, 0}, {3, 1, -1, 0, 0}};
    ka_sim_config c = sim_fixed(KA_MPM_EVENT, 1, 1);
    ka_sim_result r = run(visitors, 3, 20, &c, *state);

    assert_int_equal(r.evicted, 1);
    assert_int_equal(r.points[3].evicted, 1);
    assert_int_equal(r.dropped, 0);
    assert_int_equal(r.outcome.idle_us, 2 * SEC);
    /* A comes again at 5.5 s, behind C, which is served from 7 to 8 s. */
    assert_int_equal(r.outcome.connections, 4);
    assert_int_equal(r.waited, 2);
    assert_int_equal(r.wait_most_us, 4 * SEC);
    assert_int_equal(r.outcome.requests, 4);
}

/* Without C it is A's own request, at 4 s, that finds no worker. */
static void test_sim__event_drops_a_request_that_finds_no_worker(void **state)
{
    static const visitor visitors[] = {{0, 1, 3, 1, 0}, {2, 5, -1, 0, 0}};
    ka_sim_config c = sim_fixed(KA_MPM_EVENT, 1, 1);
    ka_sim_result r = run(visitors, 2, 20, &c, *state);

    assert_int_equal(r.dropped, 1);
    assert_int_equal(r.evicted, 1);
    assert_int_equal(r.outcome.connections, 3);
    assert_int_equal(r.wait_most_us, 3 * SEC);
    assert_int_equal(r.outcome.requests, 3);
}

/* A child takes as many connections as it has threads, and the factor more for
 * each idle one: 2 + 2 x 1. */
static void test_sim__event_accepts_up_to_the_async_limit(void **state)
{
    static const visitor visitors[] = {
        {0, 0.1, -1, 0, 4},   {0.2, 0.1, -1, 0, 4}, {0.4, 0.1, -1, 0, 4},
        {0.6, 0.1, -1, 0, 4}, {0.8, 0.1, -1, 0, 4}, {1, 0.1, -1, 0, 4}};
    ka_sim_config c = sim_fixed(KA_MPM_EVENT, 1, 2);
    ka_sim_result r;

    c.async_factor = 1;
    r = run(visitors, COUNT_OF(visitors), 20, &c, *state);
    assert_near(r.outcome.held.peak, 4, 0);
    assert_int_equal(r.waited, 2);
    assert_int_equal(r.evicted, 0);
    assert_true(r.limited > 0);
    c.async_factor = 2;
    r = run(visitors, COUNT_OF(visitors), 20, &c, *state);
    assert_near(r.outcome.held.peak, 6, 0);
    assert_int_equal(r.waited, 0);
}

/* ---- children that end -------------------------------------------------- */

static void test_sim__max_connections_ends_a_child(void **state)
{
    static const visitor visitors[] = {
        {0, 0.5, -1, 0, 0}, {2, 0.5, -1, 0, 0}, {4, 0.5, -1, 0, 0}};
    ka_sim_config c = sim_fixed(KA_MPM_PREFORK, 1, 1);
    ka_sim_result r;

    c.max_connections = 1;
    r = run(visitors, 3, 10, &c, *state);
    assert_int_equal(r.ended, 3);
    assert_int_equal(r.spawned, 3);
    assert_int_equal(r.waited, 0);
    assert_int_equal(r.outcome.connections, 3);
}

/* event closes the idle connections of a child that ends; worker serves one
 * request more on each. */
static void test_sim__a_child_that_ends_lets_idle_ones_go(void **state)
{
    static const visitor visitors[] = {{0, 0.5, 3, 0.5, 0},
                                       {2, 0.5, -1, 0, 0}};
    ka_sim_config event = sim_fixed(KA_MPM_EVENT, 1, 2);
    ka_sim_config worker = sim_fixed(KA_MPM_WORKER, 1, 2);
    ka_sim_result r;

    event.max_connections = worker.max_connections = 2;
    event.spawn.server_limit = worker.spawn.server_limit = 3;
    r = run(visitors, 2, 10, &event, *state);
    assert_int_equal(r.retired, 1);
    assert_int_equal(r.outcome.connections, 3);
    r = run(visitors, 2, 10, &worker, *state);
    assert_int_equal(r.retired, 0);
    assert_int_equal(r.outcome.connections, 2);
    assert_int_equal(r.outcome.requests, 3);
}

/* What idles above MaxSpare ends, one child a second. */
static void test_sim__max_spare_ends_children(void **state)
{
    static const visitor visitors[] = {{0, 9.5, -1, 0, 0}};
    ka_sim_config c = sim_fixed(KA_MPM_EVENT, 8, 2);
    ka_sim_result r;
    size_t i;

    c.spawn.max_spare = 6;
    c.spawn.min_spare = 2;
    r = run(visitors, 1, 9, &c, *state);
    for (i = 0; i < 9; i++) {
        /* 15 free, then two less each second until 6 or fewer: the child with
         * the busy worker may be among those asked, and stays until it has
         * served. */
        assert_true(r.points[i].children <= 9 - (i < 4 ? i : 4));
        assert_true(r.points[i].children >= 3);
    }
    assert_true(r.ended >= 4 && r.ended <= 5);
    assert_int_equal(r.outcome.requests, 1);
}

/* ---- sums --------------------------------------------------------------- */

static void test_sim__m14_memory_and_handshakes(void **state)
{
    static const visitor visitors[] = {{0, 1, -1, 0, 3}, {0.5, 1, -1, 0, 3}};
    ka_sim_config c = sim_fixed(KA_MPM_EVENT, 2, 4);
    ka_sim_result r;

    c.handshake_cpu_us = KA_CPU_TLS_RSA_US;
    c.process_bytes = 1000;
    c.shared_bytes = 50;
    c.idle_bytes = 7;
    r = run(visitors, 2, 10, &c, *state);
    assert_int_equal(r.memory_most_bytes, 50 + 2 * 1000 + 2 * 7);
    assert_int_equal(r.points[0].memory_bytes, 2050);
    assert_near(r.memory_mean_bytes, 2050 + 7 * (3 + 3) / 10.0, 1e-6);
    assert_near(r.handshake_cpu_s, 2 * 0.0019, 1e-12);
    assert_int_equal(r.free_least, 6);
    assert_near(r.children_mean, 2, 1e-12);
    c.process_bytes = -1;
    r = run(visitors, 2, 10, &c, *state);
    assert_int_equal(r.memory_most_bytes, -1);
    assert_int_equal(r.points[0].memory_bytes, -1);
}

static void test_sim__series_has_no_more_points_than_wanted(void **state)
{
    static const visitor visitors[] = {{0, 1, -1, 0, 0}, {99, 1, -1, 0, 0}};
    ka_sim_config c = sim_fixed(KA_MPM_PREFORK, 3, 1);
    ka_sim_result r;

    c.points = 7;
    r = run(visitors, 2, 100, &c, *state);
    assert_int_equal(r.step_us, 15 * SEC);
    assert_int_equal(r.point_n, 7);
    assert_int_equal(r.points[0].busy, 1);
    assert_int_equal(r.points[3].busy, 0);
    assert_int_equal(r.points[3].free, 3);
    assert_int_equal(r.points[6].busy, 1);
}

/* ---- chance ------------------------------------------------------------- */

static void random_visits(visitor *v, size_t n, ka_random *r)
{
    double at = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        at += ka_random_unit(r) / 20;
        v[i] = (visitor){at, ka_random_unit(r), ka_random_unit(r) * 12 - 2,
                         ka_random_unit(r), ka_random_unit(r) * 10};
    }
}

/* All that a result holds but the pool's series, which is compared apart. */
static void assert_same(const ka_sim_result *a, const ka_sim_result *b)
{
    ka_sim_result x = *a, y = *b;

    assert_int_equal(a->point_n, b->point_n);
    assert_memory_equal(a->points, b->points,
                        a->point_n * sizeof(*a->points));
    x.points = y.points = NULL;
    assert_memory_equal(&x, &y, sizeof(x));
}

static void test_sim__a_seed_determines_all(void **state)
{
    ka_sim_config c = sim_fixed(KA_MPM_EVENT, 6, 3);
    ka_random random = {5};
    visitor visitors[2000];
    ka_sim_traffic traffic;
    ka_sim_result a, b, other;

    random_visits(visitors, COUNT_OF(visitors), &random);
    visit(&traffic, visitors, COUNT_OF(visitors), 100, *state);
    ka_sim_run(&a, &c, &traffic, 1, *state);
    ka_sim_run(&b, &c, &traffic, 1, *state);
    ka_sim_run(&other, &c, &traffic, 2, *state);
    assert_true(a.evicted > 0);
    assert_same(&a, &b);
    assert_true(a.evicted != other.evicted ||
                a.outcome.idle_us != other.outcome.idle_us);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_sim__prefork_holds_the_worker_while_idle),
        unit_test(test_sim__linger_holds_the_worker_longer),
        unit_test(test_sim__event_holds_none_while_idle),
        unit_test(test_sim__a_client_that_waited_keeps_its_gaps),
        unit_test(test_sim__a_full_queue_refuses_and_clients_retry),
        unit_test(test_sim__event_evicts_when_all_workers_are_busy),
        unit_test(test_sim__event_drops_a_request_that_finds_no_worker),
        unit_test(test_sim__event_accepts_up_to_the_async_limit),
        unit_test(test_sim__max_connections_ends_a_child),
        unit_test(test_sim__a_child_that_ends_lets_idle_ones_go),
        unit_test(test_sim__max_spare_ends_children),
        unit_test(test_sim__m14_memory_and_handshakes),
        unit_test(test_sim__series_has_no_more_points_than_wanted),
        unit_test(test_sim__a_seed_determines_all),
    };

    return unit_main(tests);
}
