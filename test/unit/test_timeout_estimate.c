/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "requests.h"

#include <profile/timeout_estimate.h>

static void test_timeout__gap_bins_are_half_seconds(void **state)
{
    (void)state;
    assert_int_equal(ka_gap_bin(-5), 0);
    assert_int_equal(ka_gap_bin(0), 0);
    assert_int_equal(ka_gap_bin(500000), 0);
    assert_int_equal(ka_gap_bin(500001), 1);
    assert_int_equal(ka_gap_bin(seconds_us(450)), 899);
    assert_int_equal(ka_gap_bin(INT64_MAX), KA_GAP_BINS - 1);
}

/* n gaps in each half second from..to. */
static void add_gaps(uint64_t *bins, double from, double to, uint64_t n)
{
    double s;

    for (s = from; s < to; s += 0.5) {
        bins[ka_gap_bin(seconds_us(s + 0.25))] += n;
    }
}

static void test_timeout__covers_what_k_proves(void **state)
{
    uint64_t bins[KA_GAP_BINS] = {0};

    (void)state;
    assert_int_equal(ka_timeout_covering(bins), -1);
    add_gaps(bins, 0, 12, 100);
    assert_int_equal(ka_timeout_covering(bins), seconds_us(12));
    /* The timer's slack: 12.3 s under 12 s. */
    add_gaps(bins, 12, 12.5, 5);
    assert_int_equal(ka_timeout_covering(bins), seconds_us(12));
    add_gaps(bins, 12.5, 13, 50);
    assert_int_equal(ka_timeout_covering(bins), seconds_us(13));
    /* One in a thousand is a mistake. */
    add_gaps(bins, 80, 80.5, 2);
    assert_int_equal(ka_timeout_covering(bins), seconds_us(13));
    add_gaps(bins, 400, 401, 900);
    assert_int_equal(ka_timeout_covering(bins), -1);
}

static void test_timeout__ends_before_the_hole(void **state)
{
    uint64_t bins[KA_GAP_BINS] = {0};

    (void)state;
    assert_int_equal(ka_timeout_before_hole(bins), -1);
    add_gaps(bins, 0, 1, 2000);
    add_gaps(bins, 1, 15, 20);
    assert_int_equal(ka_timeout_before_hole(bins), seconds_us(15));
    /* Ports come back after the hole. */
    add_gaps(bins, 60, 70, 1);
    assert_int_equal(ka_timeout_before_hole(bins), seconds_us(15));
    /* No hole: gaps of all lengths. */
    add_gaps(bins, 15, 450, 20);
    assert_int_equal(ka_timeout_before_hole(bins), -1);
}

static void test_timeout__turnover_jumps_at_it(void **state)
{
    static ka_gap_bins bins;

    (void)state;
    assert_int_equal(ka_timeout_at_turnover(&bins), -1);
    /* Where clients close early, others take their slots from the start, and
     * their share grows as gaps inside connections become rare: no jump. */
    add_gaps(bins.same, 0, 1, 400);
    add_gaps(bins.other, 0, 1, 10);
    add_gaps(bins.same, 1, 5, 100);
    add_gaps(bins.other, 1, 5, 5);
    add_gaps(bins.same, 5, 15, 40);
    add_gaps(bins.other, 5, 15, 5);
    assert_int_equal(ka_timeout_at_turnover(&bins), -1);
    add_gaps(bins.same, 15, 30, 2);
    add_gaps(bins.other, 15, 30, 100);
    assert_int_equal(ka_timeout_at_turnover(&bins), seconds_us(15));
}

static void test_timeout__turnover_of_few_gaps_is_not_significant(void **state)
{
    static ka_gap_bins bins;

    (void)state;
    add_gaps(bins.same, 0, 10, 1);
    add_gaps(bins.other, 10, 11, 1);
    assert_int_equal(ka_timeout_at_turnover(&bins), -1);
}

/* ---- through ka_connections_group --------------------------------------- */

typedef ka_request *visit_fn(requests *q, double at, int visit, int request);

static ka_request *on_port(requests *q, double at, int visit, int request)
{
    ka_request *r = request_add(q, at, 0.01, 1 + (uint64_t)visit);

    (void)request;
    r->remote_port = 1000 + visit;
    return r;
}

static ka_request *with_k(requests *q, double at, int visit, int request)
{
    ka_request *r = request_add(q, at, 0.01, 1 + (uint64_t)visit);

    r->keepalives = request;
    r->flags = KA_REQ_KEPT;
    return r;
}

static ka_request *in_slot(requests *q, double at, int visit, int request)
{
    ka_request *r = request_add(q, at, 0.01, 1 + (uint64_t)visit);

    (void)request;
    r->slot = r->child = 1;
    r->flags = KA_REQ_KEPT;
    return r;
}

/* 300 visits of three requests, gaps up to 8 s; the next one 9 s later. */
static void fill_visits(requests *q, visit_fn *visit_request)
{
    double now = 0;
    int visit, i;

    q->n = 0;
    for (visit = 0; visit < 300; visit++) {
        for (i = 0; i < 3; i++) {
            visit_request(q, now, visit, i);
            now += 0.01 + (i < 2 ? (visit * 2 + i) % 80 * 0.1 : 9);
        }
    }
}

static void test_timeout__is_found_where_the_identity_shows_it(void **state)
{
    static visit_fn *const cases[] = {on_port, with_k, in_slot};
    static requests q;
    size_t i;

    (void)state;
    for (i = 0; i < 3; i++) {
        ka_connection_options options = fine_options(-1);
        ka_connections c;

        fill_visits(&q, cases[i]);
        options.threaded = 0;
        assert_int_equal(ka_connections_group(&c, &q.list, &options), 0);
        assert_true(c.timeout_estimated);
        assert_int_equal(c.timeout_us, seconds_us(8));
        assert_int_equal(trace_connections(&c.low, c.timeout_us), 300);
        ka_connections_clear(&c);
    }
}

static void test_timeout__by_time_alone_is_never_known(void **state)
{
    static requests q;
    ka_connection_options options = fine_options(5);
    ka_connections c;
    int i;

    (void)state;
    for (i = 0; i < 100; i++) {
        request_add(&q, i * 10, 0.1, 1);
    }
    assert_int_equal(ka_connections_group(&c, &q.list, &options), 0);
    assert_int_equal(c.timeout_us, -1);
    assert_int_equal(c.low.chain_n, 1);
    ka_connections_clear(&c);
}

/* All responses are final: the server's doing, not the clients'. */
static void test_timeout__keepalive_off_shows_and_closes_nothing(void **state)
{
    static requests q;
    ka_connection_options options = fine_options(-1);
    ka_connections c;
    int i;

    (void)state;
    for (i = 0; i < 200; i++) {
        ka_request *r = request_add(&q, i, 0.1, 1 + (uint64_t)i % 2);

        r->remote_port = 1000 + i;
        r->flags = KA_REQ_FINAL;
    }
    assert_int_equal(ka_connections_group(&c, &q.list, &options), 0);
    assert_int_equal(c.timeout_us, 0);
    assert_true(c.timeout_estimated);
    assert_int_equal(c.low.chain_n, 2);
    assert_int_equal(trace_connections(&c.low, 0), 200);
    ka_connections_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_timeout__gap_bins_are_half_seconds),
        unit_test(test_timeout__covers_what_k_proves),
        unit_test(test_timeout__ends_before_the_hole),
        unit_test(test_timeout__turnover_jumps_at_it),
        unit_test(test_timeout__turnover_of_few_gaps_is_not_significant),
        unit_test(test_timeout__is_found_where_the_identity_shows_it),
        unit_test(test_timeout__by_time_alone_is_never_known),
        unit_test(test_timeout__keepalive_off_shows_and_closes_nothing),
    };

    return unit_main(tests);
}
