/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Levels at which the log names the connection (MODEL 7.1, 7.2), and chains
 * (MODEL 6). */
#include "unit.h"
#include "requests.h"

#include <profile/keymap.h>

#define OPENS -1.0
#define JOINED -2.0

static void group(ka_connections *c, const requests *q, double timeout_s)
{
    ka_connection_options options = fine_options(timeout_s);

    options.threaded = 0;
    assert_int_equal(ka_connections_group(c, &q->list, &options),
                     APR_SUCCESS);
    assert_int_equal(c->low.request_n, q->n);
}

static double gap_of(const ka_connections *c, size_t i)
{
    int64_t gap = c->low.requests[i].gap_us;

    return gap == KA_GAP_OPENS    ? OPENS
           : gap == KA_GAP_JOINED ? JOINED
                                  : (double)gap / 1e6;
}

static double tail_of(const ka_connections *c, size_t chain)
{
    return (double)c->low.tails[chain].len_us / 1e6;
}

static ka_request *on_port(requests *q, double begin, double service,
                           int port)
{
    ka_request *r = request_add(q, begin, service, 1);

    r->remote_port = port;
    return r;
}

/* ---- port --------------------------------------------------------------- */

typedef struct pair_case {
    double gap;       /* between two requests on one port */
    uint16_t flags_1; /* of the first, of the second */
    uint16_t flags_2;
    int32_t k_1, k_2;
    double expected; /* gap in the trace */
    size_t chains;
    double tail; /* of the first chain */
} pair_case;

static void test_port__continues_within_the_timeout(void **state)
{
    static const pair_case cases[] = {
        {2, 0, 0, -1, -1, 2, 1, 300},
        {5, 0, 0, -1, -1, 5, 1, 300},
        /* a late timer: the connection did last, the gap is cut to T0 */
        {5.4, 0, 0, -1, -1, 5, 1, 300},
        /* timed out: another connection, linked */
        {5.6, 0, 0, -1, -1, 5.6, 1, 300},
        {299, 0, 0, -1, -1, 299, 1, 300},
        /* beyond the client's limit: another chain */
        {301, 0, 0, -1, -1, OPENS, 2, 300},
        /* the first one closed it */
        {2, KA_REQ_FINAL, 0, -1, -1, OPENS, 2, 0},
        {2, KA_REQ_ABORTED, 0, -1, -1, OPENS, 2, 0},
        {2, KA_REQ_NOT_HTTP, 0, -1, -1, OPENS, 2, 0},
        {20, KA_REQ_FINAL, 0, -1, -1, OPENS, 2, 0},
        {2, 0, KA_REQ_FINAL, -1, -1, 2, 1, 0},
        /* %k proves a new connection: the client closed after 2 s */
        {2, KA_REQ_KEPT, KA_REQ_KEPT, 0, 0, OPENS, 2, 2},
        {2, KA_REQ_KEPT, KA_REQ_FINAL, 3, 1, OPENS, 2, 2},
        {2, KA_REQ_KEPT, KA_REQ_KEPT, 0, 1, 2, 1, 300},
        /* a closing request repeats %k */
        {2, KA_REQ_KEPT, KA_REQ_FINAL, 0, 0, 2, 1, 0},
        {2, 0, 0, 0, 0, 2, 1, 300},
        /* HTTP/1.0 closes unless it asked to be kept */
        {2, KA_REQ_HTTP10, 0, -1, -1, OPENS, 2, 0},
        {2, 0, KA_REQ_HTTP10, -1, -1, OPENS, 2, 2},
        {2, KA_REQ_HTTP10 | KA_REQ_KEPT, KA_REQ_HTTP10 | KA_REQ_KEPT, -1, -1,
         2, 1, 300},
        {2, KA_REQ_HTTP10 | KA_REQ_KEPT, KA_REQ_HTTP10, 0, 1, 2, 1, 0},
        {20, 0, KA_REQ_HTTP10, -1, -1, OPENS, 2, 300},
        /* on HTTP/2 %X and %k are the stream's */
        {2, KA_REQ_HTTP2 | KA_REQ_FINAL, KA_REQ_HTTP2, 1, 1, 2, 1, 300},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const pair_case *p = &cases[i];
        static requests q;
        ka_connections c;

        q.n = 0;
        on_port(&q, 0, 1, 4000)->flags = p->flags_1;
        on_port(&q, 1 + p->gap, 1, 4000)->flags = p->flags_2;
        q.items[0].keepalives = p->k_1;
        q.items[1].keepalives = p->k_2;
        group(&c, &q, 5);
        assert_int_equal(c.identity, KA_IDENTITY_PORT);
        if (gap_of(&c, 1) != p->expected || c.low.chain_n != p->chains ||
            tail_of(&c, 0) != p->tail) {
            fail_msg("case %zu: gap %g, %zu chains, tail %g", i,
                     gap_of(&c, 1), c.low.chain_n, tail_of(&c, 0));
        }
        ka_connections_clear(&c);
    }
}

static void test_port__http1_requests_follow_http2_streams_join(void **state)
{
    static const uint16_t flags[] = {0, KA_REQ_HTTP2};
    static const double gaps[] = {0, JOINED};
    size_t i;

    (void)state;
    for (i = 0; i < 2; i++) {
        static requests q;
        ka_connections c;

        q.n = 0;
        on_port(&q, 0, 2, 4000)->flags = flags[i];
        on_port(&q, 1, 0.5, 4000)->flags = flags[i];
        on_port(&q, 5, 1, 4000)->flags = flags[i];
        group(&c, &q, 5);
        assert_near(gap_of(&c, 1), gaps[i], 0);
        /* What they have in common ends at 2 s. */
        assert_near(gap_of(&c, 2), 3, 0);
        ka_connections_clear(&c);
    }
}

/* One-second stamps: 0.9 s and 0.8 s from second 10 on overlap by rounding
 * only; busy time stays whole. */
static void test_port__rounded_stamps_keep_service_times(void **state)
{
    static requests q;
    ka_connection_options options = fine_options(5);
    ka_connections c;

    (void)state;
    q.n = 0;
    on_port(&q, 10, 0.9, 4000);
    on_port(&q, 10, 0.8, 4000);
    options.clock_us = 1000000;
    assert_int_equal(ka_connections_group(&c, &q.list, &options), 0);
    assert_near(gap_of(&c, 1), 0, 0);
    assert_int_equal(c.low.requests[1].busy_to_us - 10000000, 1700000);
    ka_connections_clear(&c);
}

static void test_port__a_request_without_port_is_alone(void **state)
{
    static requests q;
    ka_connections c;
    int i;

    (void)state;
    q.n = 0;
    for (i = 0; i < 40; i++) {
        on_port(&q, i, 0.1, i == 20 ? -1 : 4000);
    }
    group(&c, &q, 5);
    assert_int_equal(c.identity, KA_IDENTITY_PORT);
    assert_int_equal(c.low.chain_n, 2);
    assert_near(tail_of(&c, 1), 0, 0);
    assert_near(gap_of(&c, 21), 1.9, 1e-9);
    ka_connections_clear(&c);
}

static void test_port__without_a_timeout_the_limit_alone_cuts(void **state)
{
    static requests q;
    ka_connections c;

    (void)state;
    q.n = 0;
    on_port(&q, 0, 0, 4000);
    on_port(&q, 250, 0, 4000);
    on_port(&q, 551, 0, 4000);
    group(&c, &q, -1);
    assert_int_equal(c.timeout_us, -1);
    assert_false(c.timeout_estimated);
    assert_near(gap_of(&c, 1), 250, 0);
    assert_near(gap_of(&c, 2), OPENS, 0);
    ka_connections_clear(&c);
}

/* ---- chains -------------------------------------------------------------- */

static void test_chains__link_the_latest_that_timed_out(void **state)
{
    static requests q;
    ka_connections c;

    (void)state;
    q.n = 0;
    on_port(&q, 0, 1, 1);   /* ends at 1: the second to be linked */
    on_port(&q, 0.5, 2, 2); /* ends at 2.5: the first */
    on_port(&q, 16, 1, 3);  /* open until 17 + 5 */
    on_port(&q, 20, 1, 4);  /* takes 2.5's chain: 3 is not cut yet */
    on_port(&q, 20.5, 1, 5);
    on_port(&q, 20.6, 1, 6); /* none left */
    group(&c, &q, 5);
    assert_near(gap_of(&c, 2), 13.5, 1e-9);
    assert_near(gap_of(&c, 3), 19, 1e-9);
    assert_near(gap_of(&c, 4), OPENS, 0);
    assert_int_equal(c.chain_low[2], c.chain_low[1]);
    assert_int_equal(c.chain_low[3], c.chain_low[0]);
    assert_int_equal(c.low.chain_n, 4);
    ka_connections_clear(&c);
}

static void test_chains__link_only_the_same_client(void **state)
{
    static requests q;
    ka_connections c;

    (void)state;
    q.n = 0;
    on_port(&q, 0, 1, 1);
    on_port(&q, 20, 1, 2)->client = 77;
    group(&c, &q, 5);
    assert_int_equal(c.low.chain_n, 2);
    ka_connections_clear(&c);
}

static void test_chains__end_at_the_clients_own_limit(void **state)
{
    static requests q;
    ka_connections c;
    int i;

    (void)state;
    q.n = 0;
    for (i = 0; i < 3; i++) {
        on_port(&q, i * 110, 0, i + 1)->client_limit_us = seconds_us(115);
    }
    on_port(&q, 336, 0, 9)->client_limit_us = seconds_us(115);
    group(&c, &q, 5);
    assert_near(gap_of(&c, 2), 110, 0);
    assert_near(gap_of(&c, 3), OPENS, 0);
    assert_near(tail_of(&c, 0), 115, 0);
    ka_connections_clear(&c);
}

/* [M4] Random requests on few ports: N(T0) is the number of connections that
 * a look at each port alone gives. */
static size_t count_by_port(const requests *q, double timeout_s)
{
    size_t n = 0, i, j;

    for (i = 0; i < q->n; i++) {
        const ka_request *r = &q->items[i], *before = NULL;
        int64_t end = INT64_MIN;

        for (j = 0; j < i; j++) {
            const ka_request *s = &q->items[j];
            int64_t to = s->begin_us + s->service_us;

            if (s->remote_port == r->remote_port) {
                end = s->flags || to > end ? to : end;
                before = s;
            }
        }
        n += before == NULL || before->flags ||
             r->begin_us - end > seconds_us(timeout_s + 0.5);
    }
    return n;
}

static void test_chains__cut_at_the_timeout_give_connections_back(void **state)
{
    static requests q;
    uint64_t seed = 1;
    double now = 0;
    ka_connections c;

    (void)state;
    q.n = 0;
    while (q.n < 2000) {
        uint64_t dice = ka_key_mix(seed++);

        now += (double)(dice % 1000) / 500;
        on_port(&q, now, 0.01, 1 + (int)((dice >> 20) % 12))->flags =
            (dice >> 40) % 10 ? 0 : KA_REQ_FINAL;
    }
    group(&c, &q, 15);
    assert_int_equal(trace_connections(&c.low, seconds_us(15)),
                     count_by_port(&q, 15));
    assert_true(c.low.chain_n < count_by_port(&q, 15));
    ka_connections_clear(&c);
}

/* ---- slot ---------------------------------------------------------------- */

static ka_request *in_slot(requests *q, double begin, uint64_t client)
{
    ka_request *r = request_add(q, begin, 1, client);

    r->child = r->slot = 9;
    return r;
}

static void test_slot__turnover_shows_who_closed(void **state)
{
    static requests q;
    ka_connections c;

    (void)state;
    q.n = 0;
    in_slot(&q, 0, 1);
    in_slot(&q, 3, 1);
    in_slot(&q, 6, 2);   /* 2 s after client 1: that closed it */
    in_slot(&q, 20, 1);  /* client 2 timed out; client 1 has none to reuse */
    in_slot(&q, 40, 2);  /* reuses its own after 33 s */
    in_slot(&q, 46, 2);  /* within T0 */
    in_slot(&q, 46.5, 1); /* an overlap by a wrong clock: ended at once */
    group(&c, &q, 5);
    assert_int_equal(c.identity, KA_IDENTITY_SLOT);
    assert_near(gap_of(&c, 1), 2, 0);
    assert_near(tail_of(&c, c.chain_low[1]), 2, 0);
    assert_near(gap_of(&c, 3), OPENS, 0);
    assert_near(gap_of(&c, 4), 33, 0);
    assert_near(gap_of(&c, 5), 5, 0);
    assert_near(tail_of(&c, c.chain_low[5]), 0, 0);
    assert_int_equal(c.chain_low[6], c.chain_low[3]);
    ka_connections_clear(&c);
}

/* KeepAlive Off: the same client in a slot again is chance, %X closes
 * nothing, and all may be reused in the chains. */
static void test_slot__keepalive_off_makes_single_requests(void **state)
{
    static requests q;
    ka_connections c;
    int i;

    (void)state;
    q.n = 0;
    for (i = 0; i < 10; i++) {
        in_slot(&q, i * 1.2, 1)->flags = KA_REQ_FINAL;
    }
    group(&c, &q, 0);
    assert_int_equal(c.low.chain_n, 1);
    assert_int_equal(trace_connections(&c.low, 0), 10);
    ka_connections_clear(&c);
}

/* ---- classes ------------------------------------------------------------- */

static void test_chains__requests_keep_their_class(void **state)
{
    requests q = {.n = 0};
    ka_connections c;

    (void)state;
    on_port(&q, 0, 0.1, 2000)->cls = KA_CLASS_DYNAMIC;
    on_port(&q, 1, 0.1, 2000)->cls = KA_CLASS_STATIC;
    on_port(&q, 2, 0.1, 2001)->cls = KA_CLASS_DYNAMIC;
    on_port(&q, 3, 0.1, 2002)->flags = KA_REQ_HTTP2; /* no rule is asked */
    group(&c, &q, 5);
    assert_int_equal(c.low.requests[0].cls, KA_CLASS_DYNAMIC);
    assert_int_equal(c.low.requests[1].cls, KA_CLASS_STATIC);
    assert_int_equal(c.low.requests[2].cls, KA_CLASS_DYNAMIC);
    assert_int_equal(c.low.requests[3].cls, KA_CLASS_N);
    ka_connections_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_port__continues_within_the_timeout),
        unit_test(test_port__http1_requests_follow_http2_streams_join),
        unit_test(test_port__rounded_stamps_keep_service_times),
        unit_test(test_port__a_request_without_port_is_alone),
        unit_test(test_port__without_a_timeout_the_limit_alone_cuts),
        unit_test(test_chains__link_the_latest_that_timed_out),
        unit_test(test_chains__link_only_the_same_client),
        unit_test(test_chains__end_at_the_clients_own_limit),
        unit_test(test_chains__requests_keep_their_class),
        unit_test(test_chains__cut_at_the_timeout_give_connections_back),
        unit_test(test_slot__turnover_shows_who_closed),
        unit_test(test_slot__keepalive_off_makes_single_requests),
    };

    return unit_main(tests);
}
