/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Random requests, once through ka_profile_build and ka_sweep, once through a
 * tally: they must agree. */
#include "unit.h"
#include "requests.h"
#include "same.h"
#include "tallies.h"

#include <model/sweep.h>
#include <profile/tally_trace.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define SEC INT64_C(1000000)
#define ROUNDS 40
#define VHOSTS 5
#define TIMEOUTS 26

/* Where an hour begins, so that [M12]'s hours are the sweep's. */
#define HOUR_BEGINS (INT64_C(490000) * 3600)

static const char *const names[VHOSTS] = {"b.example", "", "a.example",
                                          "c.example", NULL};

typedef struct fixture {
    requests q, served;
    ka_source_info info;
    ka_server facts;
    ka_connections connections;
    ka_profile expected, profile;
    ka_outcome swept[TIMEOUTS], outcomes[TIMEOUTS];
    int64_t timeouts[TIMEOUTS];
    size_t timeout_n;
    int64_t timeout_us;
    ka_traced traced;
} fixture;

/* ---- random logs -------------------------------------------------------- */

static int by_begin(const void *a, const void *b)
{
    const ka_request *x = a, *y = b;

    if (x->begin_us != y->begin_us) {
        return x->begin_us < y->begin_us ? -1 : 1;
    }
    return (x->client > y->client) - (x->client < y->client);
}

static void random_request(requests *q, uint64_t *seed, double length_s,
                           bool with_port)
{
    static const uint16_t flags[] = {0,
                                     0,
                                     0,
                                     KA_REQ_KEPT,
                                     KA_REQ_FINAL,
                                     KA_REQ_ABORTED,
                                     KA_REQ_TLS,
                                     KA_REQ_HTTP10,
                                     KA_REQ_NO_REQUEST};
    double begin = (double)HOUR_BEGINS +
                   (double)random_below(seed, 1000000) * length_s / 1e6;
    double service = (double)random_below(seed, 3000000) / 1e6;
    ka_request *r =
        request_add(q, begin, random_below(seed, 4) ? service / 50 : service,
                    1 + random_below(seed, 40));

    r->address = 1 + r->client % 17;
    r->bytes = (int64_t)random_below(seed, 300000) - 1;
    r->vhost = (uint32_t)random_below(seed, VHOSTS + 1);
    r->cls = (uint8_t)random_below(seed, 2);
    r->flags = flags[random_below(seed, COUNT_OF(flags))];
    if (with_port) {
        r->remote_port = (int32_t)(r->client * 4 + random_below(seed, 3));
    }
}

/* Seconds, if the clock is coarse. */
static void make_log(fixture *f, uint64_t *seed, bool with_port)
{
    double length_s = 30 + (double)random_below(seed, 3300);
    size_t n = 100 + random_below(seed, 2000), i;

    f->q.n = f->served.n = 0;
    for (i = 0; i < n; i++) {
        random_request(&f->q, seed, length_s, with_port);
    }
    f->q.items[0].begin_us = HOUR_BEGINS * SEC;
    f->q.items[0].flags = 0;
    for (i = 0; i < n && !with_port; i++) {
        f->q.items[i].begin_us -= f->q.items[i].begin_us % SEC;
        f->q.items[i].service_us = -1;
    }
    qsort(f->q.items, n, sizeof(f->q.items[0]), by_begin);
    for (i = 0; i < n; i++) {
        if (!(f->q.items[i].flags & KA_REQ_NO_REQUEST)) {
            f->served.items[f->served.n++] = f->q.items[i];
        }
    }
    f->served.list = (ka_requests){.items = f->served.items, .n = f->served.n};
}

/* ---- both ways ---------------------------------------------------------- */

static void set_timeouts(fixture *f)
{
    size_t n, i;
    const int64_t *defaults = ka_sweep_default_timeouts(&n);

    f->timeout_n = 0;
    for (i = 0; i < n; i++) {
        f->timeouts[f->timeout_n++] = defaults[i];
    }
    assert_true(f->timeout_n <= TIMEOUTS);
}

static void group(fixture *f, bool with_port)
{
    ka_connection_options options = fine_options((double)f->timeout_us / 1e6);

    if (!with_port) {
        options.clock_us = SEC;
        options.service_clock_us = 0;
    }
    f->info = (ka_source_info){.clock_us = options.clock_us,
                               .service_clock_us = options.service_clock_us,
                               .lines = f->q.n + 3,
                               .parsed = f->q.n + 1,
                               .skipped = 2,
                               .late = 1,
                               .excluded = {1, 2, 3},
                               .vhosts = (const char **)names,
                               .vhost_n = VHOSTS};
    assert_int_equal(
        ka_connections_group(&f->connections, &f->served.list, &options),
        APR_SUCCESS);
    f->traced = (ka_traced){.requests = &f->q.list,
                            .served = &f->served.list,
                            .connections = &f->connections,
                            .info = &f->info,
                            .facts = &f->facts,
                            .server = "web1",
                            .timeout_us = f->timeout_us};
}

static ka_tally *count(fixture *f, apr_pool_t *pool)
{
    ka_tally *tally = ka_tally_make(f->timeouts, f->timeout_n, pool);

    assert_int_equal(ka_tally_add_trace(tally, &f->traced), APR_SUCCESS);
    return tally;
}

static void assert_same_outcomes(fixture *f, const ka_tally *tally, bool high)
{
    const ka_sweep_options options = {.measured_up_to_us = f->timeout_us};
    const ka_trace *trace = high ? &f->connections.high : &f->connections.low;
    size_t i;

    assert_int_equal(
        ka_sweep(f->swept, f->timeouts, f->timeout_n, trace, &options),
        APR_SUCCESS);
    assert_int_equal(ka_tally_outcomes(f->outcomes, f->timeouts, f->timeout_n,
                                       tally, high, f->timeout_us),
                     APR_SUCCESS);
    for (i = 0; i < f->timeout_n; i++) {
        assert_same_outcome(&f->outcomes[i], &f->swept[i]);
    }
}

/* At edges of bins the histograms are exact: N and N_to just below, H at the
 * edge. */
static void assert_same_between(const fixture *f, const ka_tally *tally)
{
    static const int64_t edges[] = {(INT64_C(1) << 22) - 1, INT64_C(1) << 22};
    const ka_sweep_options options = {0};
    ka_outcome expected[2], out[2];

    ka_sweep(expected, edges, 2, &f->connections.low, &options);
    ka_tally_outcomes(out, edges, 2, tally, false, 0);
    assert_int_equal(out[0].connections, expected[0].connections);
    assert_int_equal(out[0].timeout_closes, expected[0].timeout_closes);
    assert_near((double)out[1].idle_us, (double)expected[1].idle_us, 1);
}

/* Every request is in some second. */
static void assert_whole_seconds(const ka_tally *tally)
{
    size_t i;

    assert_int_equal(ka_hist_sum(&tally->per_second), tally->requests);
    for (i = 0; i < KA_CLASS_N; i++) {
        assert_int_equal(ka_hist_sum(&tally->classes[i].per_second),
                         tally->classes[i].requests);
    }
    for (i = 0; i < tally->vhost_n; i++) {
        assert_int_equal(ka_hist_sum(&tally->vhosts[i]->per_second),
                         tally->vhosts[i]->requests);
    }
}

static void compare_random_logs(bool with_port, apr_pool_t *pool)
{
    static fixture f;
    uint64_t seed = 1 + with_port;
    int round, brackets = 0;

    set_timeouts(&f);
    for (round = 0; round < ROUNDS; round++) {
        ka_tally *tally;

        f.timeout_us = round % 5 ? 5 * SEC : KA_TIMEOUT_OFF;
        make_log(&f, &seed, with_port);
        group(&f, with_port);
        tally = count(&f, pool);
        assert_int_equal(ka_profile_build(&f.expected, &f.q.list,
                                          &f.served.list, &f.connections,
                                          &f.info, f.timeout_us, pool),
                         APR_SUCCESS);
        ka_tally_profile(&f.profile, tally, pool);
        assert_same_profile(&f.profile, &f.expected);
        assert_same_outcomes(&f, tally, false);
        assert_same_between(&f, tally);
        assert_whole_seconds(tally);
        if (f.connections.bracket) {
            assert_same_outcomes(&f, tally, true);
        }
        brackets += f.connections.bracket;
        ka_tally_free(tally);
        ka_connections_clear(&f.connections);
    }
    assert_int_equal(brackets > 0, !with_port);
}

static void test_tally_trace__agrees_where_ports_are_told(void **state)
{
    compare_random_logs(true, *state);
}

static void test_tally_trace__agrees_on_both_sides_of_a_bracket(void **state)
{
    compare_random_logs(false, *state);
}

/* ---- the rest ----------------------------------------------------------- */

static void test_tally_trace__says_where_it_is_from(void **state)
{
    static fixture f;
    uint64_t seed = 3;
    ka_tally *tally;

    set_timeouts(&f);
    f.timeout_us = 5 * SEC;
    make_log(&f, &seed, true);
    group(&f, true);
    ka_server_set(&f.facts, KA_FACT_TIMEOUT, f.timeout_us, false, "--timeout");
    tally = count(&f, *state);
    assert_int_equal(tally->server_n, 1);
    assert_string_equal(tally->servers[0].name, "web1");
    assert_int_equal(
        ka_server_get(&tally->servers[0].facts, KA_FACT_TIMEOUT, 0), 5 * SEC);
    assert_int_equal(tally->timeout_us, 5 * SEC);
    assert_int_equal(tally->identity, KA_IDENTITY_PORT);
    assert_int_equal(tally->lines, f.q.n + 3);
    assert_int_equal(tally->skipped, 2);
    assert_int_equal(tally->excluded[KA_EXCLUDED_HEALTH], 3);
    assert_int_equal(tally->clock_us, 1);
    assert_int_equal(tally->side[0].busy.hours[0].server,
                     ka_occupancy_server("web1"));
    ka_tally_free(tally);
    ka_connections_clear(&f.connections);
}

/* Two logs of one server: twice the time, the same rates. */
static void test_tally_trace__adds_to_what_is_there(void **state)
{
    static fixture f;
    uint64_t seed = 4;
    ka_tally *once, *twice;
    ka_outcome a, b;

    set_timeouts(&f);
    f.timeout_us = 5 * SEC;
    make_log(&f, &seed, true);
    group(&f, true);
    once = count(&f, *state);
    twice = count(&f, *state);
    assert_int_equal(ka_tally_add_trace(twice, &f.traced), APR_SUCCESS);
    assert_int_equal(twice->window_us, 2 * once->window_us);
    ka_tally_outcomes(&a, &f.timeouts[5], 1, once, false, 0);
    ka_tally_outcomes(&b, &f.timeouts[5], 1, twice, false, 0);
    assert_int_equal(b.connections, 2 * a.connections);
    assert_near(b.held_mean, a.held_mean, 1e-9);
    assert_memory_equal(&a.held, &b.held, sizeof(a.held));
    ka_tally_free(once);
    ka_tally_free(twice);
    ka_connections_clear(&f.connections);
}

static void test_tally_trace__nothing_served(void **state)
{
    static fixture f;
    ka_tally *tally;

    set_timeouts(&f);
    f.q.n = f.served.n = 0;
    request_add(&f.q, 1, 0, 1)->flags = KA_REQ_NO_REQUEST;
    f.served.list = (ka_requests){.n = 0};
    group(&f, true);
    tally = count(&f, *state);
    ka_tally_profile(&f.profile, tally, *state);
    assert_int_equal(f.profile.no_request, 1);
    assert_int_equal(f.profile.total.requests, 0);
    assert_string_equal(f.profile.classes[KA_CLASS_DYNAMIC].name, "dynamic");
    assert_int_equal(
        ka_tally_outcomes(f.outcomes, f.timeouts, f.timeout_n, tally, true, 0),
        APR_SUCCESS);
    assert_near(f.outcomes[3].held_mean + f.outcomes[3].held.peak, 0, 0);
    ka_tally_free(tally);
    ka_connections_clear(&f.connections);
}

static void test_tally_trace__refuses_timeouts_that_fall(void **state)
{
    static const int64_t falling[] = {5, 4};
    static fixture f;
    uint64_t seed = 5;
    ka_tally *tally = ka_tally_make(falling, 2, *state);

    f.timeout_us = 5 * SEC;
    make_log(&f, &seed, true);
    group(&f, true);
    assert_int_equal(ka_tally_add_trace(tally, &f.traced), APR_EINVAL);
    assert_true(ka_tally_is_empty(tally));
    ka_tally_free(tally);
    ka_connections_clear(&f.connections);
}

/* Times as far apart as they can be. */
static void test_tally_trace__extreme_values_are_harmless(void **state)
{
    static const int64_t extremes[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
    static fixture f;
    ka_tally *tally;
    unsigned i;

    set_timeouts(&f);
    f.timeout_us = 5 * SEC;
    f.served.n = 0;
    for (i = 0; i < 125; i++) {
        ka_request *r = request_add(&f.served, 0, 0, 1 + i % 2);

        r->remote_port = (int)(i % 3);
        r->begin_us = extremes[i / 25];
        r->service_us = extremes[i / 5 % 5];
        r->bytes = r->client_limit_us = extremes[i % 5];
        r->cls = (uint8_t)i;
        r->vhost = i;
        r->flags = (uint16_t)(i * 37 % 256);
    }
    f.q = f.served;
    group(&f, true);
    f.traced.requests = &f.served.list;
    tally = count(&f, *state);
    ka_tally_profile(&f.profile, tally, *state);
    assert_int_equal(f.profile.total.requests, 125);
    assert_int_equal(ka_tally_outcomes(f.outcomes, f.timeouts, f.timeout_n,
                                       tally, false, INT64_MAX),
                     APR_SUCCESS);
    for (i = 0; i < f.timeout_n; i++) {
        assert_true(isfinite(f.outcomes[i].held.variance));
        assert_true(isfinite(f.outcomes[i].held_mean));
    }
    ka_tally_free(tally);
    ka_connections_clear(&f.connections);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_tally_trace__agrees_where_ports_are_told),
        unit_test(test_tally_trace__agrees_on_both_sides_of_a_bracket),
        unit_test(test_tally_trace__says_where_it_is_from),
        unit_test(test_tally_trace__adds_to_what_is_there),
        unit_test(test_tally_trace__nothing_served),
        unit_test(test_tally_trace__refuses_timeouts_that_fall),
        unit_test(test_tally_trace__extreme_values_are_harmless),
    };

    return unit_main(tests);
}
