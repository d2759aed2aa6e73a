/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * StartServers and spare workers from httpd's spawn loop: [M15]. */
#include "advise_fixture.h"

#include <apr_strings.h>

#define HOUR 3600

/* What a fixture's source of seconds gives. */
typedef struct traffic {
    uint32_t held[HOUR], opened[HOUR], busy[HOUR], requests[HOUR];
    bool scaled, none;
    unsigned asked[2];    /* how often for each kind */
    int64_t asked_us[2];  /* the timeout of the last such question */
} traffic;

static bool seconds_of(ka_demand *out, void *context, int64_t timeout_us,
                       ka_demand_kind kind, apr_pool_t *pool)
{
    traffic *t = context;
    const bool held = kind == KA_DEMAND_HELD;

    (void)pool;
    t->asked[kind]++;
    t->asked_us[kind] = timeout_us;
    *out = (ka_demand){.holders = held ? t->held : t->busy,
                       .arrivals = held ? t->opened : t->requests,
                       .n = HOUR,
                       .scaled = t->scaled};
    return !t->none;
}

/* 10 workers are held, and each minute `burst` more for five seconds. */
static traffic *make_bursts(uint32_t burst, apr_pool_t *pool)
{
    traffic *t = apr_pcalloc(pool, sizeof(*t));
    size_t i;

    for (i = 0; i < HOUR; i++) {
        t->held[i] = 10 + (i % 60 >= 30 && i % 60 < 35 ? burst : 0);
        t->opened[i] = 1 + (i % 60 == 30 ? burst : 0);
        t->busy[i] = 1;
        t->requests[i] = 3;
    }
    return t;
}

static fixture *make_bursty(uint32_t burst, apr_pool_t *pool)
{
    fixture *f = make_fixture(pool);

    f->report.demand = (ka_demand_source){seconds_of, make_bursts(burst, pool)};
    return f;
}

static double evidence_of(const ka_advice *row, const char *name)
{
    size_t i;

    for (i = 0; i < row->evidence_n; i++) {
        if (!strcmp(row->evidence[i].name, name)) {
            return row->evidence[i].number;
        }
    }
    fail_msg("no %s", name);
    return 0;
}

static void assert_says(const char *text, const char *part)
{
    if (!text || !strstr(text, part)) {
        fail_msg("\"%s\" does not say \"%s\"", text ? text : "(nothing)", part);
    }
}

/* ---- from the traffic ---------------------------------------------------- */

/* What the advice says is what the model gives. */
static void test_spawned__m15_the_spare_that_bursts_need(void **state)
{
    fixture *f = make_bursty(40, *state);
    const ka_report *r = ask(f, *state);
    const traffic *t = f->report.demand.context;
    const ka_advice *row = row_of(r, "MinSpareServers");
    const int64_t spare = value_of(r, "MinSpareServers");
    const int64_t limit = value_of(r, "MaxRequestWorkers");
    const ka_spawn_demand demand = {t->held, t->opened, HOUR};
    ka_spawn_settings set = {.mpm = KA_MPM_PREFORK,
                             .server_limit = (uint32_t)limit,
                             .max_request_workers = (uint32_t)limit,
                             .threads_per_child = 1};
    ka_spawn_result result;
    uint32_t m;

    assert_int_equal(t->asked_us[KA_DEMAND_HELD],
                     r->high[r->answers[0].choice.index].timeout_us);
    for (m = 5; m <= spare; m++) {
        ka_spawn_settings running = ka_spawn_running(&set, &demand, m);

        assert_int_equal(
            ka_spawn_run(&result, NULL, &demand, &running, *state),
            APR_SUCCESS);
        assert_int_equal(result.wait_p999_s > 0, m < spare);
        if (m == 5) {
            assert_near(evidence_of(row, "compared_waited"),
                        (double)result.waited, 1e-9);
        }
    }
    assert_in_range(spare, 20, 41);
    assert_true(row->change);
    assert_string_equal(row->rule, "M15");
    assert_near(evidence_of(row, "arrivals"), (double)result.connections, 1e-9);
    assert_near(evidence_of(row, "wait_p999_s"), 0, 1e-9);
    assert_says(row->because, "spare nobody waits at p99.9 in the busiest hour "
                              "(6,009 connections); with 5 (httpd's default) "
                              "1 in ");
    assert_int_equal(value_of(r, "MaxSpareServers"), 2 * spare);
    assert_null(warning_of(r, "proposed_waits"));
}

static void test_spawned__not_below_the_defaults(void **state)
{
    static const struct {
        ka_mpm mpm;
        const char *spare, *most;
        int64_t values[3]; /* StartServers, MinSpare*, MaxSpare* */
    } rows[] = {
        /* 10 are wanted at once, and 3 of the hour's 3,609 may wait. */
        {KA_MPM_PREFORK, "MinSpareServers", "MaxSpareServers", {8, 5, 10}},
        {KA_MPM_WORKER, "MinSpareThreads", "MaxSpareThreads", {3, 75, 250}},
        {KA_MPM_EVENT, "MinSpareThreads", "MaxSpareThreads", {3, 75, 0}}};
    size_t i;

    for (i = 0; i < 3; i++) {
        fixture *f = make_bursty(0, *state);
        const ka_report *r;

        ka_server_set(&f->server, KA_FACT_ID_MPM, rows[i].mpm, false, "test");
        r = ask(f, *state);
        assert_int_equal(value_of(r, "StartServers"), rows[i].values[0]);
        assert_int_equal(value_of(r, rows[i].spare), rows[i].values[1]);
        assert_int_equal(value_of(r, rows[i].most),
                         rows[i].mpm == KA_MPM_EVENT
                             ? value_of(r, "MaxRequestWorkers") /* R4 */
                             : rows[i].values[2]);
    }
}

static void test_spawned__event_looks_at_busy_workers(void **state)
{
    fixture *f = make_bursty(500, *state);
    traffic *t = f->report.demand.context;
    const ka_report *r;
    size_t i;

    ka_server_set(&f->server, KA_FACT_ID_MPM, KA_MPM_EVENT, false, "test");
    r = ask(f, *state);
    assert_int_equal(t->asked[KA_DEMAND_HELD], 0);
    assert_int_equal(t->asked[KA_DEMAND_BUSY], 1);
    assert_int_equal(value_of(r, "MinSpareThreads"), 75);
    assert_says(row_of(r, "MinSpareThreads")->because, "(10,800 requests)");
    for (i = 0; i < HOUR; i++) {
        t->busy[i] = i % 60 == 30 ? 301 : 1;
        t->requests[i] = t->busy[i];
    }
    r = ask(f, *state);
    assert_in_range(value_of(r, "MinSpareThreads"), 200, 301);
}

static void test_spawned__growth_asks_for_more(void **state)
{
    fixture *f = make_bursty(20, *state);
    const int64_t spare = value_of(ask(f, *state), "MinSpareServers");
    const ka_report *r;

    f->options.growth = 1.5;
    r = ask(f, *state);
    assert_in_range(value_of(r, "MinSpareServers"), spare + 5, spare * 2);
    assert_says(row_of(r, "MinSpareServers")->because, "times 1.50 for growth");
}

static void test_spawned__says_that_seconds_are_scaled(void **state)
{
    fixture *f = make_bursty(20, *state);

    ((traffic *)f->report.demand.context)->scaled = true;
    assert_says(row_of(ask(f, *state), "MinSpareServers")->because,
                "scaled from a timeout of 5s");
}

/* ---- without ------------------------------------------------------------- */

static void test_spawned__without_seconds_an_estimate(void **state)
{
    fixture *f = make_fixture(*state), *none = make_bursty(40, *state);
    const ka_report *r;

    f->source.kind = "profile";
    r = ask(f, *state);
    assert_says(row_of(r, "MinSpareServers")->because,
                "A busy second (p99) opens 5.10 connections");
    assert_says(row_of(r, "MinSpareServers")->because,
                "profiles keep no single seconds");
    assert_says(row_of(r, "StartServers")->because,
                "profiles keep no single seconds");
    ((traffic *)none->report.demand.context)->none = true;
    none->source.kind = "prometheus";
    assert_says(row_of(ask(none, *state), "MinSpareServers")->because,
                "Prometheus keeps no single seconds");
}

static void test_spawned__event_needs_service_times(void **state)
{
    fixture *f = make_bursty(40, *state);

    f->profile->with_service = 0;
    ka_server_set(&f->server, KA_FACT_ID_MPM, KA_MPM_EVENT, false, "test");
    assert_says(row_of(ask(f, *state), "MinSpareThreads")->because,
                "busy workers are not known");
}

/* ---- limits, and what is there now --------------------------------------- */

static void test_spawned__too_few_workers_is_a_warning(void **state)
{
    fixture *f = make_bursty(400, *state);
    const ka_report *r = ask(f, *state);

    assert_says(warning_of(r, "proposed_waits"),
                "even with all 200 of MaxRequestWorkers there");
    assert_says(row_of(r, "MinSpareServers")->because,
                "More spare would not help");
    assert_in_range(value_of(r, "MinSpareServers"), 5, 200);
}

static void set_now(fixture *f, int64_t start, int64_t min, int64_t max,
                    int64_t workers)
{
    ka_server_set(&f->server, KA_FACT_START_SERVERS, start, false, "test");
    ka_server_set(&f->server, KA_FACT_MIN_SPARE, min, false, "test");
    ka_server_set(&f->server, KA_FACT_MAX_SPARE, max, false, "test");
    ka_server_set(&f->server, KA_FACT_MAX_REQUEST_WORKERS, workers, false,
                  "test");
}

static void test_spawned__present_settings_go_through_the_loop(void **state)
{
    fixture *f = make_bursty(40, *state);
    const ka_report *r;

    set_now(f, 7, 8, 16, 150);
    r = ask(f, *state);
    assert_says(warning_of(r, "now_waits"),
                "With the present MinSpareServers 8 httpd starts workers too "
                "late: of the busiest hour's 6,009 connections 1 in ");
    assert_says(row_of(r, "MinSpareServers")->because, "with 8 (now) 1 in ");
    assert_string_equal(row_of(r, "MinSpareServers")->from, "8");
    set_now(f, 50, 60, 120, 150);
    r = ask(f, *state);
    assert_null(warning_of(r, "now_waits"));
    assert_says(row_of(r, "MinSpareServers")->because,
                "with 60 (now) nobody waits");
    set_now(f, 5, 60, 120, 30);
    assert_says(warning_of(ask(f, *state), "now_waits"),
                "With the present MaxRequestWorkers 30 all are held");
}

/* The largest of the servers' own. */
static void test_spawned__group_takes_the_most(void **state)
{
    static const char *const names[] = {"web1", "web2", "web3"};
    static const uint32_t bursts[] = {0, 40, 15};
    fixture *group = make_fixture(*state), *hosts[3];
    const ka_report *reports[3], *r;
    size_t i;

    for (i = 0; i < 3; i++) {
        hosts[i] = make_bursty(bursts[i], *state);
        hosts[i]->report.host = names[i];
        reports[i] = &hosts[i]->report;
    }
    ka_report_group(&group->report, &group->server, reports, 3);
    for (i = 0; i < 3; i++) {
        ask(hosts[i], *state);
    }
    r = ask(group, *state);
    assert_int_equal(value_of(r, "MinSpareServers"),
                     value_of(reports[1], "MinSpareServers"));
    assert_int_not_equal(value_of(r, "MinSpareServers"),
                         value_of(reports[2], "MinSpareServers"));
    assert_says(row_of(r, "MinSpareServers")->because, " on web2");
    hosts[2]->report.demand = (ka_demand_source){0};
    r = ask(group, *state);
    assert_says(row_of(r, "MinSpareServers")->because,
                "cannot be simulated");
}

/* Fewer than httpd's default do where the loop says so; not where somebody
 * waits with them. */
static void test_spawned__present_numbers_that_do_stay(void **state)
{
    fixture *f = make_bursty(0, *state);
    const ka_report *r;

    ka_server_set(&f->server, KA_FACT_MIN_SPARE, 2, false, "test");
    r = ask(f, *state);
    assert_int_equal(value_of(r, "MinSpareServers"), 2);
    assert_false(row_of(r, "MinSpareServers")->change);
    assert_says(row_of(r, "MinSpareServers")->because, "stays");
    f = make_bursty(40, *state);
    ka_server_set(&f->server, KA_FACT_MIN_SPARE, 2, false, "test");
    r = ask(f, *state);
    assert_true(value_of(r, "MinSpareServers") > 2);
    assert_true(row_of(r, "MinSpareServers")->change);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_spawned__m15_the_spare_that_bursts_need),
        unit_test(test_spawned__not_below_the_defaults),
        unit_test(test_spawned__event_looks_at_busy_workers),
        unit_test(test_spawned__growth_asks_for_more),
        unit_test(test_spawned__says_that_seconds_are_scaled),
        unit_test(test_spawned__without_seconds_an_estimate),
        unit_test(test_spawned__event_needs_service_times),
        unit_test(test_spawned__too_few_workers_is_a_warning),
        unit_test(test_spawned__present_settings_go_through_the_loop),
        unit_test(test_spawned__group_takes_the_most),
        unit_test(test_spawned__present_numbers_that_do_stay)};

    return unit_main(tests);
}
