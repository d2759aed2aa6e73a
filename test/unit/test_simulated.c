/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The proposed block under the simulation: what is raised so that nobody
 * waits, and what is said where that cannot be.
 */
#include "advise_fixture.h"

#include <apr_strings.h>

#define MINUTES 20
#define CHAINS_MOST 20000

/* What a fixture's source of stretches gives. */
typedef struct site_traffic {
    ka_stretch stretch;
    ka_sim_traffic traffic;
    ka_sim_chain chains[CHAINS_MOST];
    ka_sim_request request; /* that of every chain */
    unsigned asked;
    double growth;
} site_traffic;

static bool stretch_of(ka_stretch *out, void *context, double growth,
                       apr_pool_t *pool)
{
    site_traffic *t = context;

    (void)pool;
    t->asked++;
    t->growth = growth;
    *out = t->stretch;
    return t->traffic.chain_n > 0;
}

/* One connection a second, and each minute `burst` at once: each serves 2 s,
 * and its client closes. */
static site_traffic *make_bursts(uint32_t burst, apr_pool_t *pool)
{
    site_traffic *t = apr_pcalloc(pool, sizeof(*t));
    size_t n = 0;
    uint32_t second, k;

    for (second = 0; second < MINUTES * 60; second++) {
        for (k = second % 60 == 30 ? burst : 1; k > 0; k--) {
            assert_true(n < CHAINS_MOST);
            t->chains[n++] = (ka_sim_chain){.start_us = second * S, .n = 1};
        }
    }
    t->request = (ka_sim_request){.busy_us = 2 * S, .requests = 1};
    t->traffic = (ka_sim_traffic){.chains = t->chains,
                                  .chain_n = n,
                                  .requests = &t->request,
                                  .request_n = 1,
                                  .end_us = MINUTES * 60 * S};
    t->stretch = (ka_stretch){
        .traffic = &t->traffic, .requests = n, .how = "made for a test"};
    return t;
}

static fixture *make_bursty(uint32_t burst, apr_pool_t *pool)
{
    fixture *f = make_fixture(pool);

    f->source.kind = "profile"; /* the spawn loop has no seconds */
    f->report.stretch =
        (ka_stretch_source){stretch_of, make_bursts(burst, pool)};
    return f;
}

static void assert_says(const char *text, const char *part)
{
    if (!text || !strstr(text, part)) {
        fail_msg("\"%s\" does not say \"%s\"", text ? text : "(nothing)", part);
    }
}

static const ka_simulated *simulated(const ka_report *r)
{
    assert_true(r->answers[0].simulated.known);
    return &r->answers[0].simulated;
}

/* ---- what is raised ----------------------------------------------------- */

static void test_simulated__enough_is_left_alone(void **state)
{
    fixture *f = make_bursty(5, *state);
    const ka_report *r = ask(f, *state);
    const ka_simulated *s = simulated(r);

    assert_false(s->proposed.waits);
    assert_int_equal(s->raised, 0);
    assert_int_equal(s->proposed.result.waited, 0);
    assert_near(s->proposed.result.outcome.held_mean,
                s->proposed.held_expected, 1e-9);
    assert_null(warning_of(r, "proposed_waits"));
    assert_null(strstr(row_of(r, "MinSpareServers")->because, "simulated,"));
}

/* 40 at once each minute; MinSpareServers by the rate of a second is 6. */
static void test_simulated__spare_for_bursts(void **state)
{
    fixture *f = make_bursty(40, *state);
    const ka_report *r = ask(f, *state);
    const ka_simulated *s = simulated(r);

    assert_true(s->before_result.wait_p999_us > 0);
    assert_in_range(s->before.value[KA_BLOCK_MIN_SPARE], 5, 6);
    assert_in_range(value_of(r, "MinSpareServers"), 30, 45);
    assert_true(value_of(r, "MaxSpareServers") >
                value_of(r, "MinSpareServers"));
    assert_false(s->proposed.waits);
    assert_true(s->raised & 1u << KA_BLOCK_MIN_SPARE);
    assert_says(row_of(r, "MinSpareServers")->because,
                " spare nobody waits at p99.9: simulated, in the busiest "
                "20min; with 6, 1 connection in ");
    assert_null(warning_of(r, "proposed_waits"));
}

/* Crowds that take seconds to come, and children that go in between: what is
 * found must hold with the MaxSpareServers that goes with it. */
static void test_simulated__what_is_proposed_is_enough(void **state)
{
    fixture *f = make_bursty(1, *state);
    site_traffic *t = f->report.stretch.context;
    uint32_t second, k;
    size_t n = 0;

    for (second = 0; second < MINUTES * 60; second++) {
        const uint32_t at = second % 120;

        for (k = at >= 30 && at < 35 ? 25 : 1; k > 0; k--) {
            t->chains[n++] = (ka_sim_chain){.start_us = second * S, .n = 1};
        }
    }
    t->request.busy_us = 6 * S;
    t->traffic.chain_n = n;
    assert_true(simulated(ask(f, *state))->raised &
                1u << KA_BLOCK_MIN_SPARE);
    assert_false(simulated(&f->report)->proposed.waits);
    assert_null(warning_of(&f->report, "proposed_waits"));
}

/* [M12] says 120; 150 come at once, and memory holds 200. */
static void test_simulated__workers_within_memory(void **state)
{
    fixture *f = make_bursty(150, *state);
    const ka_report *r;

    ka_server_set(&f->server, KA_FACT_MAX_REQUEST_WORKERS, 60, false, "test");
    r = ask(f, *state);
    assert_in_range(value_of(r, "MaxRequestWorkers"), 140, 165);
    assert_int_equal(value_of(r, "ServerLimit"),
                     value_of(r, "MaxRequestWorkers"));
    assert_false(simulated(r)->proposed.waits);
    assert_says(row_of(r, "MaxRequestWorkers")->because,
                "Raised from 120");
    assert_null(warning_of(r, "proposed_waits"));
}

static void test_simulated__what_memory_forbids_is_a_warning(void **state)
{
    fixture *f = make_bursty(150, *state);
    const ka_report *r;

    ka_server_set(&f->server, KA_FACT_MEMORY, 700 * M, false, "test");
    r = ask(f, *state);
    assert_int_equal(value_of(r, "MaxRequestWorkers"), 70);
    assert_true(simulated(r)->proposed.waits);
    assert_says(warning_of(r, "proposed_waits"),
                "On prefork somebody waits under the proposed settings, even "
                "with all 70 of MaxRequestWorkers there");
    assert_says(warning_of(r, "proposed_waits"), "No more fit into 700M");
    assert_says(warning_of(r, "proposed_waits"), "event MPM");
}

/* A child of event with few threads stops accepting at its limit. */
static void test_simulated__events_factor(void **state)
{
    fixture *f = make_bursty(1, *state);
    site_traffic *t = f->report.stretch.context;
    const ka_report *r;
    size_t i;

    ka_server_set(&f->server, KA_FACT_ID_MPM, KA_MPM_EVENT, false, "test");
    for (i = 0; i < 6000; i++) {
        t->chains[i] = (ka_sim_chain){
            .start_us = (int64_t)i * S / 100, .tail_us = 999 * S, .n = 1};
    }
    t->request.busy_us = 100;
    t->traffic.chain_n = 6000;
    t->traffic.end_us = 60 * S;
    f->outcomes[0] = f->outcomes[4]; /* only 65 s is on offer */
    f->report.timeout_n = 1;
    f->report.now = 0;
    f->report.timeout_us = 65 * S;
    r = ask(f, *state);
    assert_true(simulated(r)->raised & 1u << KA_BLOCK_ASYNC_FACTOR);
    assert_true(value_of(r, "AsyncRequestWorkerFactor") > 10);
    assert_false(simulated(r)->proposed.waits);
}

/* Nothing but a burst at the very begin, which two of the default's children
 * cannot take; later nobody waits. */
static void test_simulated__start_servers(void **state)
{
    fixture *f = make_bursty(1, *state);
    site_traffic *t = f->report.stretch.context;
    const ka_report *r = ask(f, *state);
    const int64_t before = value_of(r, "StartServers");
    size_t i;

    assert_false(simulated(r)->started.waits);
    for (i = 0; i < 200; i++) {
        t->chains[i].start_us = 0;
    }
    ka_server_set(&f->server, KA_FACT_MIN_SPARE, 150, false, "test");
    r = ask(f, *state);
    assert_true(value_of(r, "StartServers") > before + 50);
    assert_false(simulated(r)->started.waits);
    assert_says(row_of(r, "StartServers")->because,
                "nobody waits at p99.9: simulated, after a start into the "
                "busiest 20min; with ");
    assert_says(row_of(r, "StartServers")->because, ", 1 connection in ");
}

/* ---- when it says nothing ----------------------------------------------- */

static void test_simulated__not_without_traffic_or_service_times(void **state)
{
    fixture *f = make_bursty(40, *state);
    site_traffic *t = f->report.stretch.context;

    ka_server_set(&f->server, KA_FACT_ID_MPM, KA_MPM_EVENT, false, "test");
    f->profile->with_service = 0;
    assert_false(ask(f, *state)->answers[0].simulated.known);
    f->profile->with_service = 20000;
    assert_true(ask(f, *state)->answers[0].simulated.known);
    t->traffic.chain_n = 0;
    assert_false(ask(f, *state)->answers[0].simulated.known);
    f->report.stretch = (ka_stretch_source){0};
    assert_false(ask(f, *state)->answers[0].simulated.known);
}

static bool quiet_seconds(ka_demand *out, void *context, int64_t timeout_us,
                          ka_demand_kind kind, apr_pool_t *pool)
{
    static const uint32_t ones[60] = {1};

    (void)context;
    (void)timeout_us;
    (void)kind;
    (void)pool;
    *out = (ka_demand){.holders = ones, .arrivals = ones, .n = 60};
    return true;
}

/* Real seconds come before draws. */
static void test_simulated__draws_give_way_to_seconds(void **state)
{
    fixture *f = make_bursty(40, *state);
    site_traffic *t = f->report.stretch.context;
    const ka_report *r;

    t->stretch.drawn = true;
    assert_true(value_of(ask(f, *state), "MinSpareServers") > 5);
    f->report.demand = (ka_demand_source){quiet_seconds, NULL};
    r = ask(f, *state);
    assert_int_equal(value_of(r, "MinSpareServers"), 5);
    assert_true(simulated(r)->proposed.waits);
    assert_false(simulated(r)->decides);
    assert_null(warning_of(r, "proposed_waits"));
}

/* ---- present settings --------------------------------------------------- */

static void set_now(fixture *f, int64_t min, int64_t max, int64_t workers)
{
    ka_server_set(&f->server, KA_FACT_START_SERVERS, 5, false, "test");
    ka_server_set(&f->server, KA_FACT_MIN_SPARE, min, false, "test");
    ka_server_set(&f->server, KA_FACT_MAX_SPARE, max, false, "test");
    ka_server_set(&f->server, KA_FACT_MAX_REQUEST_WORKERS, workers, false,
                  "test");
}

static void test_simulated__who_waits_now(void **state)
{
    fixture *f = make_bursty(40, *state);
    const ka_report *r;

    assert_false(simulated(ask(f, *state))->now_known);
    set_now(f, 7, 14, 150);
    r = ask(f, *state);
    assert_true(simulated(r)->now.waits);
    assert_says(warning_of(r, "now_waits"),
                "(MinSpareServers 7, MaxRequestWorkers 150, KeepAliveTimeout "
                "5s) somebody waits: simulated, in the busiest 20min 1 "
                "connection in ");
    set_now(f, 60, 120, 150);
    r = ask(f, *state);
    assert_false(simulated(r)->now.waits);
    assert_null(warning_of(r, "now_waits"));
}

/* ---- growth, groups ----------------------------------------------------- */

static void test_simulated__growth_is_asked_for(void **state)
{
    fixture *f = make_bursty(5, *state);

    f->options.growth = 1.5;
    ask(f, *state);
    assert_near(((site_traffic *)f->report.stretch.context)->growth, 1.5, 0);
}

/* The group's own block, under its busiest server. */
static void test_simulated__a_groups_busiest_server(void **state)
{
    static const char *const names[] = {"web1", "web2"};
    fixture *group = make_fixture(*state), *hosts[2];
    const ka_report *reports[2], *r;
    size_t i, k;

    for (i = 0; i < 2; i++) {
        hosts[i] = make_bursty(i ? 60 : 1, *state);
        hosts[i]->report.host = names[i];
        reports[i] = &hosts[i]->report;
    }
    for (k = 0; k < SITE_N; k++) {
        hosts[1]->outcomes[k].held.workers += 20;
    }
    group->source.kind = "profile";
    ka_report_group(&group->report, &group->server, reports, 2);
    ask(hosts[0], *state);
    ask(hosts[1], *state);
    r = ask(group, *state);
    assert_string_equal(simulated(r)->host, "web2");
    assert_in_range(value_of(r, "MinSpareServers"), 50, 66);
    assert_says(row_of(r, "MinSpareServers")->because, " on web2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_simulated__enough_is_left_alone),
        unit_test(test_simulated__spare_for_bursts),
        unit_test(test_simulated__what_is_proposed_is_enough),
        unit_test(test_simulated__workers_within_memory),
        unit_test(test_simulated__what_memory_forbids_is_a_warning),
        unit_test(test_simulated__events_factor),
        unit_test(test_simulated__start_servers),
        unit_test(test_simulated__not_without_traffic_or_service_times),
        unit_test(test_simulated__draws_give_way_to_seconds),
        unit_test(test_simulated__who_waits_now),
        unit_test(test_simulated__growth_is_asked_for),
        unit_test(test_simulated__a_groups_busiest_server)};

    return unit_main(tests);
}
