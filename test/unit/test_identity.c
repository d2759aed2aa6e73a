/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Which level of MODEL 7 is chosen, and what is said about a better one. */
#include "unit.h"
#include "requests.h"

enum { PORT = 1, SLOT = 2, K = 4 };

/* 40 clients with 5 requests each; every child has `slots` slots. */
static void fill(requests *q, int items, unsigned slots, unsigned http2)
{
    unsigned i;

    for (i = 0; i < 200; i++) {
        unsigned client = i / 5;
        ka_request *r = request_add(q, i, 0.1, 1 + client);

        if (items & PORT) {
            r->remote_port = 1000;
        }
        if (items & SLOT) {
            r->child = 1 + client % 4;
            r->slot = 100 * r->child + client / 4 % slots;
        }
        if (items & K) {
            r->keepalives = (int32_t)(i % 5);
        }
        r->flags = i < http2 ? KA_REQ_HTTP2 : 0;
    }
}

typedef struct identity_case {
    int items;
    unsigned slots, http2;
    int threaded;
    ka_identity expected;
    const char *why; /* NULL: none */
} identity_case;

static void test_identity__is_the_best_that_the_log_allows(void **state)
{
    static const identity_case cases[] = {
        {PORT | SLOT | K, 1, 0, 0, KA_IDENTITY_PORT, NULL},
        {PORT, 1, 200, 2, KA_IDENTITY_PORT, NULL},
        {SLOT, 1, 0, 0, KA_IDENTITY_SLOT, NULL},
        {SLOT, 9, 0, 1, KA_IDENTITY_SLOT, NULL},
        {SLOT | K, 9, 0, 2, KA_IDENTITY_K, "event"},
        {SLOT, 1, 0, -1, KA_IDENTITY_SLOT, NULL},
        {SLOT, 9, 0, -1, KA_IDENTITY_TIME, "--mpm worker"},
        {SLOT | K, 9, 0, -1, KA_IDENTITY_SLOT, NULL},
        {SLOT, 1, 2, 0, KA_IDENTITY_TIME, "HTTP/2"},
        {K, 1, 0, -1, KA_IDENTITY_K, "%{remote}p"},
        {K, 1, 60, -1, KA_IDENTITY_TIME, "%k is the same"},
        {0, 1, 0, -1, KA_IDENTITY_TIME, "%{remote}p"},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        static requests q;
        ka_connection_options options = fine_options(5);
        ka_connections c;

        q.n = 0;
        fill(&q, cases[i].items, cases[i].slots, cases[i].http2);
        options.threaded = cases[i].threaded;
        assert_int_equal(ka_connections_group(&c, &q.list, &options),
                         APR_SUCCESS);
        if (c.identity != cases[i].expected) {
            fail_msg("case %zu: %s", i, ka_identity_name(c.identity));
        }
        if (cases[i].why == NULL) {
            assert_null(c.why_not_better);
        }
        else {
            assert_non_null(strstr(c.why_not_better, cases[i].why));
        }
        ka_connections_clear(&c);
    }
}

/* On event the requests of several connections alternate in one slot, be they
 * of different addresses or of one. */
static void test_identity__interleaved_k_shows_event(void **state)
{
    static requests q;
    ka_connection_options options = fine_options(5);
    ka_connections c;
    int one, i;

    (void)state;
    for (one = 0; one < 2; one++) {
        q.n = 0;
        for (i = 0; i < 200; i++) {
            ka_request *r = request_add(&q, i, 0.1, 1 + (uint64_t)i % 8);

            r->child = 1 + (uint64_t)i / 2 % 2;
            r->slot = 10 * r->child + (uint64_t)i / 4 % 2;
            r->keepalives = one ? i * 3 % 7 : i / 8 % 5;
            r->address = one ? 1 : r->client;
        }
        assert_int_equal(ka_connections_group(&c, &q.list, &options), 0);
        assert_int_equal(c.identity, KA_IDENTITY_K);
        assert_non_null(strstr(c.why_not_better, "--mpm worker"));
        ka_connections_clear(&c);
    }
}

static void test_identity__names_follow_the_json(void **state)
{
    (void)state;
    assert_string_equal(ka_identity_name(KA_IDENTITY_NONE), "none");
    assert_string_equal(ka_identity_name(KA_IDENTITY_LIVE), "live");
    assert_string_equal(ka_identity_name((ka_identity)99), "none");
}

static void test_identity__no_requests_have_none(void **state)
{
    ka_requests none = {.n = 0};
    ka_connection_options options = fine_options(5);
    ka_connections c;

    (void)state;
    assert_int_equal(ka_connections_group(&c, &none, &options), APR_SUCCESS);
    assert_int_equal(c.identity, KA_IDENTITY_NONE);
    assert_int_equal(c.low.request_n, 0);
    assert_int_equal(c.timeout_us, -1);
    ka_connections_clear(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_identity__is_the_best_that_the_log_allows),
        unit_test(test_identity__interleaved_k_shows_event),
        unit_test(test_identity__names_follow_the_json),
        unit_test(test_identity__no_requests_have_none),
    };

    return unit_main(tests);
}
