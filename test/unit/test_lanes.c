/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Lanes, one by one: what waits, what is cut, and what goes early. */
#include "unit.h"
#include "lanes_both.h"

/* ---- one by one ---------------------------------------------------------- */

static both *empty_log(void)
{
    both *b = make_log(&kinds[0], 1, seconds_us(5));

    b->q.n = 0;
    return b;
}

static ka_request *port_add(both *b, double begin_s, double service_s,
                            uint64_t client, int32_t port)
{
    ka_request *r =
        request_add(&b->q, FIRST_S + begin_s, service_s, client);

    r->remote_port = port;
    return r;
}

static const ka_tally_timeout *at_timeout(const both *b, double timeout_s)
{
    size_t j = 0;

    while (b->tally->timeouts[j] != seconds_us(timeout_s)) {
        j++;
    }
    return &b->tally->side[0].timeouts[j];
}

/* T0 = 5: at 5.4 s the connection was there; its idle time is cut to T0. */
static void test_lanes__a_late_timer_keeps_the_connection(void **state)
{
    both *b = empty_log();

    port_add(b, 0, 1, 1, 77);
    port_add(b, 6.4, 1, 1, 77);
    lanes_all(b, 2, seconds_us(5), KA_LANES_MAX, *state);
    assert_int_equal(at_timeout(b, 5)->connections, 1);
    assert_int_equal(at_timeout(b, 3)->connections, 2);
    assert_int_equal(at_timeout(b, 5)->idle_us, seconds_us(10));
    both_free(b);
}

/* Another port at 5.2 s, when the first connection may still be there: it is
 * used again at 5.4, so there are two chains. */
static void test_lanes__an_opening_waits_for_the_timers_slack(void **state)
{
    static const bool used_again[] = {false, true};
    size_t i;

    for (i = 0; i < 2; i++) {
        both *b = empty_log();

        port_add(b, 0, 0, 1, 77);
        port_add(b, 5.2, 0, 1, 78);
        if (used_again[i]) {
            port_add(b, 5.4, 0, 1, 77);
        }
        lanes_all(b, b->q.n, seconds_us(5), KA_LANES_MAX, *state);
        assert_int_equal(b->tally->side[0].chains, used_again[i] ? 2 : 1);
        both_free(b);
    }
}

static void test_lanes__count_connections_without_a_request(void **state)
{
    both *b = empty_log();

    port_add(b, 0, 0, 1, 77);
    port_add(b, 1, 0, 2, 78)->flags = KA_REQ_NO_REQUEST;
    lanes_all(b, 1, seconds_us(5), KA_LANES_MAX, *state);
    assert_int_equal(b->tally->no_request, 1);
    assert_int_equal(b->tally->requests, 1);
    assert_int_equal(b->tally->side[0].chains, 1);
    both_free(b);
}

/* A clock that starts in 1970: half a century in which nothing happens, and
 * which takes no time. */
static void test_lanes__years_without_requests_pass_at_once(void **state)
{
    both *b = empty_log();
    size_t i;

    for (i = 0; i < 60; i++) {
        port_add(b, (double)i * 5e9, 1, 1, 77);
    }
    lanes_all(b, b->q.n, seconds_us(5), KA_LANES_MAX, *state);
    assert_int_equal(b->tally->side[0].chains, 60);
    assert_int_equal(at_timeout(b, 5)->idle_us, 60 * seconds_us(5));
    both_free(b);
}

static void test_lanes__extreme_values_are_harmless(void **state)
{
    static const int64_t extremes[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    both *b = empty_log();
    size_t i, j, k;

    for (i = 0; i < 5; i++) {
        for (j = 0; j < 5; j++) {
            for (k = 0; k < 5; k++) {
                ka_request *r = port_add(b, (double)b->q.n, 0, 1, 77);

                r->service_us = extremes[i];
                r->bytes = extremes[j];
                r->client_limit_us = extremes[k];
                r->vhost = (uint32_t)extremes[j];
                r->cls = (uint8_t)extremes[k];
                r->keepalives = (int32_t)extremes[i];
                r->client = (uint64_t)extremes[j];
            }
        }
    }
    lanes_all(b, b->q.n, seconds_us(5), KA_LANES_MAX, *state);
    assert_int_equal(b->tally->requests, 125);
    both_free(b);
}

/* ---- room ---------------------------------------------------------------- */

/* 2,000 ports at once and room for 100: what has timed out goes first, so
 * that nothing which is still used is cut. */
static void test_lanes__forget_those_that_timed_out_first(void **state)
{
    both *b = empty_log();
    size_t i;

    for (i = 0; i < 2000; i++) {
        port_add(b, (double)i / 10, 0, i + 1, 77);
        port_add(b, (double)i / 10, 0, 9999, 78);
    }
    lanes_all(b, b->q.n, seconds_us(5), 100, *state);
    assert_in_range(b->tally->forgotten, 1900, 1960);
    assert_int_equal(b->tally->side[0].chains, 2001);
    both_free(b);
}

/* All in use within a second: some have to be cut. */
static void test_lanes__cut_what_is_used_if_there_is_no_room(void **state)
{
    static const double timeouts_s[] = {5, 0};
    size_t i, t;

    for (t = 0; t < 2; t++) {
        both *b = empty_log();

        b->options.timeout_us = seconds_us(timeouts_s[t]);
        for (i = 0; i < 4000; i++) {
            port_add(b, (double)i / 8000, 0, i % 2000 + 1, 77);
        }
        lanes_all(b, b->q.n, b->options.timeout_us, 100, *state);
        assert_in_range(b->tally->side[0].chains, 3900, 4000);
        assert_in_range(b->tally->forgotten, 3800, 4000);
        both_free(b);
    }
}

static void test_lanes__nothing_is_nothing(void **state)
{
    both *b = make_log(&kinds[0], 1, seconds_us(5));
    const size_t n = b->q.n;
    ka_grouping_rules rules;
    ka_lanes *lanes;
    ka_crew *crew;

    assert_int_equal(ka_crew_make(&crew, 1, *state), APR_SUCCESS);
    assert_int_equal(ka_connections_decide(&rules, &b->q.list, &b->options),
                     APR_SUCCESS);
    b->q.list.n = 0;
    b->tally = ka_tally_make(b->timeouts, b->n, *state);
    lanes = ka_lanes_make(b->tally, &b->info, &rules, &b->q.list, 10, crew);
    assert_non_null(lanes);
    assert_int_equal(ka_lanes_finish(lanes), APR_SUCCESS);
    assert_int_equal(b->tally->requests, 0);
    assert_true(n > 0);
    ka_lanes_free(lanes);
    ka_lanes_free(NULL);
    both_free(b);
}

static void test_lanes_fit__all_but_coarse_times(void **state)
{
    static const struct {
        ka_identity identity;
        bool coarse, fit, sides;
    } rows[] = {{KA_IDENTITY_PORT, true, true, false},
                {KA_IDENTITY_SLOT, false, true, false},
                {KA_IDENTITY_K, true, true, true},
                {KA_IDENTITY_TIME, false, true, false},
                {KA_IDENTITY_TIME, true, false, true}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const ka_grouping_rules rules = {.identity = rows[i].identity,
                                         .coarse = rows[i].coarse};

        assert_int_equal(ka_lanes_fit(&rules), rows[i].fit);
        assert_int_equal(ka_grouping_has_sides(&rules), rows[i].sides);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_lanes__a_late_timer_keeps_the_connection),
        unit_test(test_lanes__an_opening_waits_for_the_timers_slack),
        unit_test(test_lanes__count_connections_without_a_request),
        unit_test(test_lanes__years_without_requests_pass_at_once),
        unit_test(test_lanes__extreme_values_are_harmless),
        unit_test(test_lanes__forget_those_that_timed_out_first),
        unit_test(test_lanes__cut_what_is_used_if_there_is_no_room),
        unit_test(test_lanes__nothing_is_nothing),
        unit_test(test_lanes_fit__all_but_coarse_times),
    };

    return unit_main(tests);
}
