/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "requests.h"

#include <model/outcome.h>
#include <profile/profile.h>
#include <profile/profile_priv.h>

typedef struct fixture {
    requests q;
    ka_connections connections;
    ka_profile profile;
} fixture;

/* Groups by remote port under T0 = 5 s and builds the profile at timeout. */
static ka_profile *build(fixture *f, const ka_source_info *info,
                         int64_t timeout_us, apr_pool_t *pool)
{
    ka_connection_options options = fine_options(5);

    assert_int_equal(
        ka_connections_group(&f->connections, &f->q.list, &options),
        APR_SUCCESS);
    assert_int_equal(ka_profile_build(&f->profile, &f->q.list, &f->q.list,
                                      &f->connections, info, timeout_us, pool),
                     APR_SUCCESS);
    ka_connections_clear(&f->connections);
    return &f->profile;
}

static ka_request *on_port(requests *q, double begin, double service,
                           uint64_t client, int port)
{
    ka_request *r = request_add(q, begin, service, client);

    r->remote_port = port;
    return r;
}

static const ka_source_info no_vhosts;

static void test_profile__nothing_served_is_all_zero(void **state)
{
    static fixture f;
    ka_requests none = {.n = 0};
    ka_profile *p = &f.profile;

    f.q.n = 0;
    request_add(&f.q, 1, 0, 1)->flags = KA_REQ_NO_REQUEST;
    assert_int_equal(ka_profile_build(p, &f.q.list, &none, &f.connections,
                                      &no_vhosts, 0, *state),
                     APR_SUCCESS);
    assert_int_equal(p->no_request, 1);
    assert_int_equal(p->total.requests, 0);
    assert_string_equal(p->total.name, "");
    assert_string_equal(p->classes[KA_CLASS_STATIC].name, "static");
    assert_int_equal(ka_dist_of(&p->total.gap, 1).n, 0);
}

static void test_profile__connections_are_chains_cut_at_gaps(void **state)
{
    /* gaps 2, 4 and (linked) 40 on one chain; another client's single one */
    static const struct {
        int64_t timeout_us;
        uint64_t connections;
        double mean, single_share;
    } cases[] = {
        {KA_TIMEOUT_OFF, 5, 1, 1},
        {0, 5, 1, 1},
        {2000000, 4, 5.0 / 4, 3.0 / 4},
        {3999999, 4, 5.0 / 4, 3.0 / 4},
        {4000000, 3, 5.0 / 3, 2.0 / 3},
        {40000000, 2, 5.0 / 2, 1.0 / 2},
    };
    static fixture f;
    size_t i;

    f.q.n = 0;
    on_port(&f.q, 0, 1, 1, 10);
    on_port(&f.q, 3, 1, 1, 10);
    on_port(&f.q, 8, 1, 1, 10);
    on_port(&f.q, 9, 1, 2, 10);
    on_port(&f.q, 49, 1, 1, 11);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_profile *p = build(&f, &no_vhosts, cases[i].timeout_us, *state);

        assert_int_equal(p->low.connections, cases[i].connections);
        assert_near(p->low.requests_per_connection.mean, cases[i].mean, 1e-9);
        assert_near(p->low.single_share, cases[i].single_share, 1e-9);
        assert_int_equal(p->low.clients, 2);
        assert_int_equal(p->high.connections, p->low.connections);
        assert_false(p->bracket);
    }
}

/* Off: a request that follows without a gap is a connection, one that joined
 * a busy one is not. */
static void test_profile__off_splits_what_follows_not_what_joins(void **state)
{
    static fixture f;

    f.q.n = 0;
    on_port(&f.q, 0, 2, 1, 10);
    on_port(&f.q, 2, 1, 1, 10);
    on_port(&f.q, 9, 2, 2, 10)->flags = KA_REQ_HTTP2;
    on_port(&f.q, 10, 2, 2, 10)->flags = KA_REQ_HTTP2;
    assert_int_equal(
        build(&f, &no_vhosts, KA_TIMEOUT_OFF, *state)->low.connections, 3);
    assert_int_equal(build(&f, &no_vhosts, 0, *state)->low.connections, 2);
}

static void test_profile__parallel_counts_spans_at_once(void **state)
{
    static fixture f;
    ka_profile *p;

    f.q.n = 0;
    on_port(&f.q, 0, 1, 1, 10);
    on_port(&f.q, 0.5, 1, 1, 11);
    on_port(&f.q, 1.5, 1, 1, 13); /* begins as 11 ends */
    on_port(&f.q, 3, 1, 1, 10);   /* goes on from 0 to 4 */
    on_port(&f.q, 5, 0, 2, 10);   /* take no time, but are there */
    on_port(&f.q, 5, 0, 2, 11);
    on_port(&f.q, 5, 0, 2, 12);
    p = build(&f, &no_vhosts, seconds_us(5), *state);
    assert_int_equal(p->low.parallel.n, 2);
    assert_near(p->low.parallel.max, 3, 0);
    assert_near(p->low.parallel.mean, 2.5, 0);
}

static void test_profile__both_sides_of_a_bracket(void **state)
{
    static fixture f;
    ka_connection_options options = fine_options(5);
    int i;

    f.q.n = 0;
    for (i = 0; i < 8; i++) {
        request_add(&f.q, 10, 0, 1);
    }
    options.clock_us = 1000000;
    assert_int_equal(
        ka_connections_group(&f.connections, &f.q.list, &options), 0);
    assert_int_equal(ka_profile_build(&f.profile, &f.q.list, &f.q.list,
                                      &f.connections, &no_vhosts,
                                      seconds_us(5), *state),
                     APR_SUCCESS);
    assert_true(f.profile.bracket);
    assert_int_equal(f.profile.low.connections, 1);
    assert_int_equal(f.profile.high.connections, KA_BURST_CONNECTIONS);
    assert_near(f.profile.high.parallel.max, KA_BURST_CONNECTIONS, 0);
    ka_connections_clear(&f.connections);
}

static void test_profile__counts_what_lines_say(void **state)
{
    static fixture f;
    ka_profile *p;

    f.q.n = 0;
    on_port(&f.q, 0, 1, 1, 10)->flags = KA_REQ_HTTP10 | KA_REQ_TLS;
    on_port(&f.q, 1, 1, 1, 10)->flags = KA_REQ_FINAL;
    on_port(&f.q, 2, 1, 1, 10)->flags = KA_REQ_ABORTED;
    on_port(&f.q, 3, 1, 2, 10)->flags = KA_REQ_HTTP2 | KA_REQ_TLS;
    on_port(&f.q, 4, 0, 3, 10)->flags = KA_REQ_NOT_HTTP;
    f.q.items[4].service_us = -1;
    p = build(&f, &no_vhosts, seconds_us(5), *state);
    assert_int_equal(p->http10, 1);
    assert_int_equal(p->http2, 1);
    assert_int_equal(p->final, 1);
    assert_int_equal(p->aborted, 1);
    assert_int_equal(p->not_http, 1);
    assert_int_equal(p->tls, 2);
    assert_int_equal(p->with_service, 4);
    assert_int_equal(ka_hist_count(&p->total.service), 4);
    assert_int_equal(p->addresses, 3);
    assert_near(p->top_address_share, 0.6, 1e-9);
    assert_near(p->window_s, 4, 1e-9);
}

/* [R15] over a second, at under 100 kB/s. */
static void test_profile__slow_is_under_100_kb_a_second(void **state)
{
    static fixture f;
    ka_profile *p;

    f.q.n = 0;
    on_port(&f.q, 0, 2, 1, 10)->bytes = 199999;
    on_port(&f.q, 3, 2, 1, 10)->bytes = 200000;
    on_port(&f.q, 6, 1, 1, 10)->bytes = 1;
    on_port(&f.q, 8, 2, 1, 10)->bytes = -1;
    on_port(&f.q, 11, 2, 1, 10)->bytes = 0;
    p = build(&f, &no_vhosts, seconds_us(5), *state);
    assert_int_equal(p->slow_bytes_n, 1);
    assert_int_equal(p->slow_service_us, seconds_us(2));
    assert_int_equal(p->total.bytes, 400000);
    assert_int_equal(p->total.bytes_n, 4);
}

static void test_profile__gap_belongs_to_the_request_before(void **state)
{
    static const char *names[] = {"a.example", "b.example", ""};
    static fixture f;
    ka_source_info info = {.vhosts = names, .vhost_n = 3};
    ka_profile *p;
    ka_request *r;

    f.q.n = 0;
    r = on_port(&f.q, 0, 1, 1, 10);
    r->cls = KA_CLASS_DYNAMIC;
    r = on_port(&f.q, 3, 1, 1, 10); /* gap 2 after dynamic on a */
    r->cls = KA_CLASS_STATIC;
    r->vhost = 1;
    r = on_port(&f.q, 5, 1, 1, 10); /* gap 1 after static on b */
    r->vhost = 1;
    on_port(&f.q, 9, 1, 1, 10)->vhost = 2;     /* gap 3; has no name */
    on_port(&f.q, 14, 1, 1, 10)->vhost = 9999; /* gap 4; no such one */
    on_port(&f.q, 40, 1, 1, 10)->vhost = 9999; /* on a new connection */
    p = build(&f, &info, seconds_us(5), *state);
    assert_int_equal(ka_hist_count(&p->classes[KA_CLASS_DYNAMIC].gap), 1);
    assert_int_equal(ka_hist_sum(&p->classes[KA_CLASS_DYNAMIC].gap), 2000000);
    assert_int_equal(ka_hist_count(&p->total.gap), 4);
    assert_int_equal(p->vhost_n, 2);
    assert_string_equal(p->vhosts[0].name, "b.example");
    assert_int_equal(p->vhosts[0].requests, 2);
    assert_int_equal(ka_hist_count(&p->vhosts[0].gap), 2);
    assert_int_equal(ka_hist_sum(&p->vhosts[1].gap), 2000000);
}

static void test_profile__lists_the_busiest_vhosts_only(void **state)
{
    enum { VHOSTS = KA_PROFILE_VHOSTS + 20 };
    static char text[VHOSTS][16];
    static const char *names[VHOSTS];
    static fixture f;
    ka_source_info info = {.vhosts = names, .vhost_n = VHOSTS};
    ka_profile *p;
    unsigned i;

    f.q.n = 0;
    for (i = 0; i < VHOSTS; i++) {
        snprintf(text[i], sizeof(text[i]), "v%u.example", i);
        names[i] = text[i];
        on_port(&f.q, i, 0.1, 1, 10)->vhost = i;
    }
    on_port(&f.q, VHOSTS, 0.1, 1, 10)->vhost = VHOSTS - 1;
    p = build(&f, &info, seconds_us(5), *state);
    assert_int_equal(p->vhost_n, KA_PROFILE_VHOSTS);
    assert_int_equal(p->vhosts_more, 20);
    assert_string_equal(p->vhosts[0].name, names[VHOSTS - 1]);
    assert_string_equal(p->vhosts[1].name, "v0.example");
}

/* ---- requests per second ------------------------------------------------- */

static void test_seconds__idle_ones_count(void **state)
{
    static fixture f;
    ka_profile *p;
    int i;

    f.q.n = 0;
    /* 98 seconds with one request, one with 50, one with none. */
    for (i = 0; i < 98; i++) {
        on_port(&f.q, i, 0.1, 1, 10);
    }
    for (i = 0; i < 50; i++) {
        on_port(&f.q, 99.5, 0.1, 1, 100 + i);
    }
    p = build(&f, &no_vhosts, seconds_us(5), *state);
    assert_near(p->total.peak_per_s, 50, 0);
    assert_near(p->total.p99_per_s, 1, 0);
    assert_near(p->total.requests_per_s, 148 / 99.6, 1e-9);
}

static void test_seconds__before_the_epoch_are_whole_too(void **state)
{
    (void)state;
    assert_int_equal(ka_second_of(-1), -1);
    assert_int_equal(ka_second_of(-1000000), -1);
    assert_int_equal(ka_second_of(-1000001), -2);
    assert_int_equal(ka_second_of(999999), 0);
}

static void test_dist__is_scaled(void **state)
{
    static ka_hist h;
    ka_dist dist;

    (void)state;
    ka_hist_init(&h);
    ka_hist_add(&h, 2000000);
    dist = ka_dist_of(&h, 1e-6);
    assert_int_equal(dist.n, 1);
    assert_near(dist.mean, 2, 1e-12);
    assert_near(dist.p50, 2, 1e-12);
    assert_near(dist.max, 2, 1e-12);
}

static void test_profile__extreme_values_are_harmless(void **state)
{
    static const int64_t extremes[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    static fixture f;
    unsigned i;

    f.q.n = 0;
    for (i = 0; i < 125; i++) {
        ka_request *r = on_port(&f.q, 0, 0, 1 + i % 2, (int)(i % 3));

        r->begin_us = extremes[i / 25];
        r->service_us = extremes[i / 5 % 5];
        r->bytes = r->client_limit_us = extremes[i % 5];
        r->cls = (uint8_t)i;
        r->flags = (uint16_t)(i * 37 % 256);
    }
    build(&f, &no_vhosts, seconds_us(5), *state);
    assert_int_equal(f.profile.total.requests, 125);
}

/* What lies above T0 is kept apart, by whose request it follows. */
static void test_profile__longer_gaps_are_known_by_class(void **state)
{
    static fixture f;
    ka_profile *p;

    f.q.n = 0;
    on_port(&f.q, 0, 1, 1, 10)->cls = KA_CLASS_DYNAMIC;
    on_port(&f.q, 3, 1, 1, 10)->cls = KA_CLASS_STATIC;
    on_port(&f.q, 44, 1, 1, 11)->cls = KA_CLASS_DYNAMIC;
    p = build(&f, &no_vhosts, seconds_us(5), *state);
    assert_true(p->longer_known);
    assert_int_equal(ka_hist_sum(&p->classes[KA_CLASS_DYNAMIC].gap), 2000000);
    assert_int_equal(ka_hist_count(&p->classes[KA_CLASS_DYNAMIC].longer), 0);
    assert_int_equal(ka_hist_count(&p->classes[KA_CLASS_STATIC].gap), 0);
    assert_int_equal(ka_hist_sum(&p->classes[KA_CLASS_STATIC].longer),
                     40000000);
    assert_int_equal(ka_hist_sum(&p->total.longer), 40000000);
    /* Under KeepAlive Off all of them are longer. */
    p = build(&f, &no_vhosts, KA_TIMEOUT_OFF, *state);
    assert_int_equal(ka_hist_count(&p->total.gap), 0);
    assert_int_equal(ka_hist_count(&p->total.longer), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_profile__nothing_served_is_all_zero),
        unit_test(test_profile__connections_are_chains_cut_at_gaps),
        unit_test(test_profile__off_splits_what_follows_not_what_joins),
        unit_test(test_profile__parallel_counts_spans_at_once),
        unit_test(test_profile__both_sides_of_a_bracket),
        unit_test(test_profile__counts_what_lines_say),
        unit_test(test_profile__slow_is_under_100_kb_a_second),
        unit_test(test_profile__gap_belongs_to_the_request_before),
        unit_test(test_profile__lists_the_busiest_vhosts_only),
        unit_test(test_seconds__idle_ones_count),
        unit_test(test_seconds__before_the_epoch_are_whole_too),
        unit_test(test_dist__is_scaled),
        unit_test(test_profile__extreme_values_are_harmless),
        unit_test(test_profile__longer_gaps_are_known_by_class),
    };

    return unit_main(tests);
}
