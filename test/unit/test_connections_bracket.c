/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Levels that leave a range, or that have only times (MODEL 7.3, 7.4). */
#include "unit.h"
#include "requests.h"

#include <profile/keymap.h>

static void group(ka_connections *c, const requests *q,
                  const ka_connection_options *options)
{
    assert_int_equal(ka_connections_group(c, &q->list, options), APR_SUCCESS);
    assert_int_equal(c->low.request_n, q->n);
    if (c->bracket) {
        assert_int_equal(c->high.request_n, q->n);
    }
}

/* ---- %k ------------------------------------------------------------------ */

static ka_request *with_k(requests *q, double begin, int32_t k,
                          uint16_t flags)
{
    ka_request *r = request_add(q, begin, 0.1, 1);

    r->keepalives = k;
    r->flags = flags;
    return r;
}

static void test_k__follows_the_channel_that_counts_up_to_it(void **state)
{
    static requests q;
    ka_connection_options options = fine_options(5);
    ka_connections c;

    (void)state;
    q.n = 0;
    with_k(&q, 0.0, 0, KA_REQ_KEPT);
    with_k(&q, 0.2, 1, KA_REQ_KEPT);
    with_k(&q, 0.4, 0, KA_REQ_KEPT); /* another one */
    with_k(&q, 0.6, 2, KA_REQ_KEPT); /* the first */
    with_k(&q, 0.8, 0, KA_REQ_FINAL | KA_REQ_HTTP10); /* alone */
    with_k(&q, 0.9, 1, KA_REQ_KEPT);  /* the other */
    with_k(&q, 1.0, 2, KA_REQ_FINAL); /* repeats 2: closes the first */
    with_k(&q, 1.2, 3, KA_REQ_KEPT);  /* began before the log */
    group(&c, &q, &options);
    assert_int_equal(c.identity, KA_IDENTITY_K);
    assert_false(c.bracket);
    assert_null(c.chain_high);
    assert_int_equal(c.low.chain_n, 4);
    assert_int_equal(c.chain_low[3], c.chain_low[0]);
    assert_int_equal(c.chain_low[5], c.chain_low[2]);
    assert_int_equal(c.chain_low[6], c.chain_low[0]);
    assert_int_equal(c.low.tails[c.chain_low[0]].len_us, 0);
    ka_connections_clear(&c);
}

static void test_k__a_second_0_is_a_range(void **state)
{
    static requests q;
    ka_connection_options options = fine_options(5);
    ka_connections c;

    (void)state;
    q.n = 0;
    with_k(&q, 0, 0, KA_REQ_KEPT);
    with_k(&q, 1, 0, KA_REQ_FINAL);
    with_k(&q, 2, 0, KA_REQ_KEPT);
    group(&c, &q, &options);
    assert_true(c.bracket);
    assert_int_equal(c.low.chain_n, 2);
    assert_int_equal(c.chain_low[1], c.chain_low[0]);
    assert_int_equal(c.high.chain_n, 3);
    ka_connections_clear(&c);
}

static void test_k__unknown_ends_repeat_or_count(void **state)
{
    static requests q;
    ka_connection_options options = fine_options(5);
    ka_connections c;

    (void)state;
    q.n = 0;
    with_k(&q, 0, 0, 0);
    with_k(&q, 1, 1, 0);
    with_k(&q, 2, 1, 0); /* no 0 is left: closes */
    with_k(&q, 3, 2, 0); /* closed: another one */
    group(&c, &q, &options);
    assert_int_equal(c.low.chain_n, 2);
    assert_int_equal(c.chain_low[2], c.chain_low[0]);
    assert_int_equal(c.low.tails[0].len_us, 0);
    ka_connections_clear(&c);
}

/* ---- times --------------------------------------------------------------- */

static void test_time__latest_free_channel_first(void **state)
{
    static requests q;
    ka_connection_options options = fine_options(5);
    ka_connections c;

    (void)state;
    q.n = 0;
    request_add(&q, 0, 5, 1); /* ends at 5 */
    request_add(&q, 1, 1, 1); /* overlaps: another one, ends at 2 */
    request_add(&q, 3, 1, 1); /* that one, ends at 4 */
    request_add(&q, 6, 1, 1); /* the first ended later */
    request_add(&q, 6, 1, 2); /* another client */
    request_add(&q, 400, 1, 1); /* given up: after 300 s */
    group(&c, &q, &options);
    assert_int_equal(c.identity, KA_IDENTITY_TIME);
    assert_false(c.bracket);
    assert_int_equal(c.low.chain_n, 4);
    assert_int_equal(c.chain_low[2], c.chain_low[1]);
    assert_int_equal(c.low.requests[2].gap_us, seconds_us(1));
    assert_int_equal(c.chain_low[3], c.chain_low[0]);
    assert_int_equal(c.low.tails[0].len_us, seconds_us(300));
    ka_connections_clear(&c);
}

static void test_time__http10_and_final_close_http2_is_one(void **state)
{
    static requests q;
    ka_connection_options options = fine_options(5);
    ka_connections c;

    (void)state;
    q.n = 0;
    request_add(&q, 0, 1, 1)->flags = KA_REQ_HTTP10 | KA_REQ_KEPT;
    request_add(&q, 2, 1, 1)->flags = KA_REQ_FINAL;
    request_add(&q, 4, 1, 1);
    request_add(&q, 10, 3, 2)->flags = KA_REQ_HTTP2;
    request_add(&q, 11, 1, 2)->flags = KA_REQ_HTTP2;
    request_add(&q, 14, 1, 2)->flags = KA_REQ_HTTP2 | KA_REQ_FINAL;
    request_add(&q, 16, 1, 2)->flags = KA_REQ_HTTP2;
    group(&c, &q, &options);
    assert_int_equal(c.low.chain_n, 4);
    assert_int_equal(c.low.requests[4].gap_us, KA_GAP_JOINED);
    assert_int_equal(c.low.requests[5].gap_us, seconds_us(1));
    assert_int_equal(c.low.requests[6].gap_us, seconds_us(1));
    ka_connections_clear(&c);
}

/* A page over six connections from 100 ms away: 2 ms of service each hardly
 * ever overlap.  A crawler on one connection must not be taken for it. */
static void test_time__a_round_trip_tells_parallel_from_fast(void **state)
{
    static requests q;
    ka_connection_options options = fine_options(5);
    ka_connections c;
    int page, i;

    (void)state;
    q.n = 0;
    for (page = 0; page < 20; page++) {
        double at = page * 10;

        request_add(&q, at, 0.002, 1);
        for (i = 0; i < 18; i++) {
            request_add(&q, at + 0.102 + i / 6 * 0.11 + i % 6 * 0.005, 0.002,
                        1);
        }
        for (i = 0; i < 4; i++) {
            request_add(&q, at + 5 + i * 0.2, 0.002, 2);
        }
    }
    group(&c, &q, &options);
    assert_int_equal(c.low.chain_n, KA_BURST_CONNECTIONS + 1);
    ka_connections_clear(&c);
}

static void test_time__one_connection_with_random_pauses_stays_one(void **state)
{
    static requests q;
    ka_connection_options options = fine_options(5);
    ka_connections c;
    uint64_t client, seed = 1;
    double now = 0;
    int i;

    (void)state;
    q.n = 0;
    for (client = 1; client <= 100; client++) {
        for (i = 0; i < 10; i++) {
            double u = ((double)(ka_key_mix(seed++) >> 12) + 1) /
                       (double)(UINT64_C(1) << 52);

            request_add(&q, now, 0.002, client);
            now += 0.002 - 0.1 * log(u);
        }
    }
    group(&c, &q, &options);
    assert_int_equal(c.low.chain_n, 100);
    ka_connections_clear(&c);
}

/* ---- the bracket of coarse stamps ---------------------------------------- */

static ka_connection_options coarse_options(int64_t clock_us,
                                            int64_t service_clock_us)
{
    ka_connection_options options = fine_options(5);

    options.clock_us = clock_us;
    options.service_clock_us = service_clock_us;
    return options;
}

static void test_bracket__is_one_per_client_to_six_per_burst(void **state)
{
    static requests q;
    ka_connection_options options = coarse_options(1000000, 0);
    ka_connections c;
    int i;

    (void)state;
    q.n = 0;
    for (i = 0; i < 10; i++) {
        request_add(&q, 100, 0, 1)->service_us = -1;
    }
    request_add(&q, 110, 0, 1)->service_us = -1;
    group(&c, &q, &options);
    assert_true(c.bracket);
    assert_int_equal(c.low.chain_n, 1);
    assert_int_equal(c.high.chain_n, KA_BURST_CONNECTIONS);
    assert_int_equal(c.high.requests[10].gap_us, seconds_us(10));
    ka_connections_clear(&c);
}

/* One after the other, also past a connection that was closed. */
static void test_bracket__low_is_serial(void **state)
{
    static requests q;
    ka_connection_options options = coarse_options(1000000, 1);
    ka_connections c;

    (void)state;
    q.n = 0;
    request_add(&q, 0, 10, 1);
    request_add(&q, 1, 0.5, 1)->flags = KA_REQ_FINAL;
    request_add(&q, 2, 0.5, 1);
    request_add(&q, 14, 0.5, 1);
    group(&c, &q, &options);
    assert_int_equal(c.low.requests[1].gap_us, 0);
    assert_int_equal(c.low.requests[2].gap_us, KA_GAP_OPENS);
    assert_int_equal(c.low.requests[2].busy_from_us, seconds_us(10));
    assert_int_equal(c.low.requests[3].gap_us, seconds_us(4));
    ka_connections_clear(&c);
}

/* Any mix: clients, protocols, closings, overlaps, pauses around limits. */
static void random_requests(requests *q, uint64_t seed, int64_t clock_us,
                            bool service)
{
    static const uint16_t flags[] = {0, 0, 0, 0, 0, KA_REQ_KEPT,
                                     KA_REQ_FINAL, KA_REQ_ABORTED,
                                     KA_REQ_HTTP10, KA_REQ_HTTP2};
    double now = 0;

    q->n = 0;
    while (q->n < 300) {
        uint64_t dice = ka_key_mix(seed * 100003 + q->n);
        ka_request *r;

        now += dice % 40 == 0 ? 120 : (double)(dice % 100) / 60;
        r = request_add(q, now, (double)(dice >> 8 & 63) / 20,
                        1 + (dice >> 16) % 3);
        r->begin_us -= r->begin_us % clock_us;
        r->flags = flags[(dice >> 24) % 10];
        r->client_limit_us = seconds_us(r->client == 2 ? 115 : 300);
        r->service_us = service ? r->service_us : -1;
    }
}

/* [M4] low opens no more connections than high, whatever the timeout. */
static void test_bracket__low_is_below_high_at_any_timeout(void **state)
{
    uint64_t seed;

    (void)state;
    for (seed = 1; seed <= 300; seed++) {
        int64_t clock_us = seed % 2 ? 1000000 : 1;
        bool service = seed % 4 >= 2;
        ka_connection_options options =
            coarse_options(clock_us, !service    ? 0
                                     : seed % 2 ? 1
                                                : 1000000);
        static requests q;
        ka_connections c;
        int64_t t;

        random_requests(&q, seed, clock_us, service);
        group(&c, &q, &options);
        assert_true(c.bracket);
        for (t = 0; t <= seconds_us(330); t += 100000 + t / 16) {
            size_t low = trace_connections(&c.low, t);
            size_t high = trace_connections(&c.high, t);

            if (low > high) {
                fail_msg("seed %d, T %g s: %zu > %zu", (int)seed,
                         (double)t / 1e6, low, high);
            }
        }
        ka_connections_clear(&c);
    }
}

/* ---- bad input ----------------------------------------------------------- */

static void test_any__extreme_values_are_harmless(void **state)
{
    static const int64_t extremes[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    static const int64_t clocks[] = {1, 1000000};
    size_t i, j, k;

    (void)state;
    for (i = 0; i < 3; i++) {
        for (j = 0; j < 2; j++) {
            static requests q;
            ka_connection_options options = coarse_options(clocks[j], 1);
            ka_connections c;

            q.n = 0;
            for (k = 0; k < 125; k++) {
                ka_request *r = request_add(&q, 0, 0, 1 + k % 2);

                r->begin_us = extremes[k / 25];
                r->service_us = extremes[k / 5 % 5];
                r->client_limit_us = extremes[k % 5];
                r->remote_port = i == 0 ? (int32_t)(k % 3) : -1;
                r->keepalives = i == 1 ? (int32_t)(k % 3) : -1;
                r->flags = (uint16_t)(k * 37 % 256);
            }
            options.timeout_us = j ? -1 : seconds_us(5);
            group(&c, &q, &options);
            ka_connections_clear(&c);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_k__follows_the_channel_that_counts_up_to_it),
        unit_test(test_k__a_second_0_is_a_range),
        unit_test(test_k__unknown_ends_repeat_or_count),
        unit_test(test_time__latest_free_channel_first),
        unit_test(test_time__http10_and_final_close_http2_is_one),
        unit_test(test_time__a_round_trip_tells_parallel_from_fast),
        unit_test(test_time__one_connection_with_random_pauses_stays_one),
        unit_test(test_bracket__is_one_per_client_to_six_per_burst),
        unit_test(test_bracket__low_is_serial),
        unit_test(test_bracket__low_is_below_high_at_any_timeout),
        unit_test(test_any__extreme_values_are_harmless),
    };

    return unit_main(tests);
}
