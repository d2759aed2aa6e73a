/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The decisions: rows, warnings, confidence and verdict of a made-up site. */
#include "advise_fixture.h"

static void test_advise__m18_rows_of_a_known_prefork(void **state)
{
    ka_report *r = advise(make_fixture(*state), *state);
    const ka_advice *row = row_of(r, "KeepAliveTimeout");

    assert_int_equal(r->answer_n, 1);
    assert_non_null(row);
    assert_string_equal(row->from, "5");
    assert_string_equal(row->to, "15");
    assert_string_equal(row->rule, "M18");
    assert_string_equal(row->applies, "reload");
    assert_true(row->change);
    assert_int_equal(row->confidence, KA_CONFIDENCE_MEDIUM); /* over T0 */
    assert_non_null(strstr(row->because, "74.5%"));
    /* 120 needed, httpd's 256 unknown to be changed, 2000M hold 200 */
    assert_string_equal(row_of(r, "MaxRequestWorkers")->to, "200");
    assert_null(row_of(r, "MaxRequestWorkers")->from);
    assert_string_equal(row_of(r, "ServerLimit")->to, "200");
    assert_string_equal(row_of(r, "ServerLimit")->applies, "restart");
    assert_null(row_of(r, "ThreadsPerChild"));
    assert_true(r->verdict.change_advised);
    assert_int_equal(r->verdict.confidence, KA_CONFIDENCE_HIGH);
    assert_null(r->verdict.confidence_why);
}

static void test_advise__no_number_above_the_memory_given(void **state)
{
    fixture *f = make_fixture(*state);
    ka_report *r;

    ka_server_set(&f->server, KA_FACT_MEMORY, 600 * M, false, "test");
    ka_server_set(&f->server, KA_FACT_MAX_REQUEST_WORKERS, 256, false, "test");
    r = advise(f, *state);
    assert_string_equal(row_of(r, "KeepAliveTimeout")->to, "5");
    assert_false(row_of(r, "KeepAliveTimeout")->change);
    assert_string_equal(row_of(r, "MaxRequestWorkers")->from, "256");
    assert_string_equal(row_of(r, "MaxRequestWorkers")->to, "60");
    assert_true(r->verdict.change_advised);
}

static void test_advise__r7_a_quiet_log_does_not_lower_workers(void **state)
{
    fixture *f = make_fixture(*state);
    const ka_advice *row;

    ka_server_set(&f->server, KA_FACT_MAX_REQUEST_WORKERS, 180, false, "test");
    row = row_of(advise(f, *state), "MaxRequestWorkers");
    assert_string_equal(row->to, "180");
    assert_false(row->change);
}

static void test_advise__unknown_mpm_answers_for_all_three(void **state)
{
    fixture *f = make_fixture(*state);
    ka_report *r;

    f->server.facts[KA_FACT_ID_MPM].known = false;
    r = advise(f, *state);
    assert_int_equal(r->answer_n, 3);
    assert_int_equal(r->answers[2].mpm, KA_MPM_EVENT);
    assert_non_null(row_of(r, "AsyncRequestWorkerFactor"));
    assert_non_null(strstr(r->next[0], "--mpm"));
}

static void test_advise__nothing_invented_without_memory(void **state)
{
    fixture *f = make_fixture(*state);
    ka_report *r;

    f->server.facts[KA_FACT_MEMORY].known = false;
    f->server.facts[KA_FACT_PROCESS_MEMORY].known = false;
    r = advise(f, *state);
    assert_string_equal(row_of(r, "KeepAliveTimeout")->to, "5");
    assert_non_null(strstr(row_of(r, "KeepAliveTimeout")->because,
                           "--memory and --process-memory"));
    assert_int_equal(r->answers[0].fits[NOW].memory_bytes, -1);
    assert_int_equal(r->answers[0].fits[NOW].fits, -1);
    assert_int_equal(r->formula.memory_bytes, -1);
}

static void test_advise__without_service_times_the_limit_stays(void **state)
{
    fixture *f = make_fixture(*state);
    ka_report *r;

    ka_server_set(&f->server, KA_FACT_ID_MPM, KA_MPM_EVENT, false, "test");
    ka_server_set(&f->server, KA_FACT_MAX_REQUEST_WORKERS, 512, false, "test");
    f->server.facts[KA_FACT_MEMORY].known = false;
    f->profile->with_service = 0;
    r = advise(f, *state);
    assert_string_equal(row_of(r, "MaxRequestWorkers")->to, "512");
    assert_non_null(strstr(row_of(r, "MaxRequestWorkers")->because, "%D"));
    assert_non_null(warning_of(r, "no_service_times"));
    assert_int_equal(r->verdict.confidence, KA_CONFIDENCE_LOW);
}

static void test_advise__less_memory_than_a_process_has_no_block(void **state)
{
    fixture *f = make_fixture(*state);
    ka_report *r;

    ka_server_set(&f->server, KA_FACT_MEMORY, 5 * M, false, "test");
    r = advise(f, *state);
    assert_false(r->answers[0].block_known);
    assert_non_null(strstr(r->answers[0].needs, "--process-memory"));
    assert_null(row_of(r, "MaxRequestWorkers"));
    assert_non_null(warning_of(r, "infeasible"));
}

static void test_advise__r1_proxy_idle_timeout(void **state)
{
    fixture *f = make_fixture(*state);
    ka_report *r;

    ka_server_set(&f->server, KA_FACT_PROXY_IDLE, 60 * S, false, "test");
    r = advise(f, *state);
    assert_string_equal(row_of(r, "KeepAliveTimeout")->to, "65");
    assert_string_equal(row_of(r, "KeepAliveTimeout")->rule, "R1");
    assert_non_null(warning_of(r, "infeasible")); /* 400 x 10M > 2000M */
    assert_non_null(strstr(warning_of(r, "infeasible"), "event MPM"));
}

static void test_advise__r1_recognises_a_proxy_in_a_segment(void **state)
{
    fixture *f = make_fixture(*state);

    f->profile->live = true;
    f->profile->addresses = 2;
    f->profile->low.clients = 2;
    assert_null(warning_of(advise(f, *state), "looks_proxied"));
    f->profile->low.requests_per_connection.mean = 250;
    assert_non_null(strstr(warning_of(advise(f, *state), "looks_proxied"),
                           "2 addresses, 250 on each connection"));
}

/* What is not known above T0 is not claimed. */
static void test_advise__m18_longer_timeouts_not_known(void **state)
{
    fixture *f = make_fixture(*state);
    const char *because;

    f->outcomes[3].connections = f->outcomes[4].connections =
        f->outcomes[5].connections = f->outcomes[NOW].connections;
    f->report.longer_unknown = true;
    because = row_of(advise(f, *state), "KeepAliveTimeout")->because;
    assert_non_null(strstr(because, "is not known"));
    assert_null(strstr(because, "115s"));
}

static void test_advise__a_segment_needs_no_log_format(void **state)
{
    fixture *f = make_fixture(*state);
    ka_report *r;
    size_t i;

    f->profile->live = true;
    f->report.identity = "live";
    f->source.kind = "segment";
    f->profile->http2 = 19000;
    f->profile->window_s = 900;
    r = advise(f, *state);
    assert_null(warning_of(r, "http2_without_port"));
    assert_non_null(strstr(r->verdict.confidence_why, "the segment covers"));
    assert_null(strstr(r->verdict.confidence_why, "HTTP/2"));
    for (i = 0; i < r->next_n; i++) {
        assert_null(strstr(r->next[i], "LogFormat"));
        assert_null(strstr(r->next[i], "this log"));
    }
}

static void test_advise__r1_recognises_a_proxy(void **state)
{
    fixture *f = make_fixture(*state);
    ka_report *r;

    f->profile->addresses = 2;
    r = advise(f, *state);
    assert_non_null(strstr(warning_of(r, "looks_proxied"), "2 addresses"));
    ka_server_set(&f->server, KA_FACT_PROXY_IDLE, 60 * S, false, "test");
    f = make_fixture(*state);
    assert_null(warning_of(advise(f, *state), "looks_proxied"));
}

static void test_advise__r14_little_reuse_is_off(void **state)
{
    fixture *f = make_fixture(*state);
    ka_report *r;
    size_t i;

    for (i = 0; i < SITE_N; i++) {
        f->outcomes[i].connections = i ? 19500 : 20000;
        f->outcomes[i].reuse = i ? 0.025 : 0;
    }
    r = advise(f, *state);
    assert_string_equal(row_of(r, "KeepAlive")->to, "Off");
    assert_string_equal(row_of(r, "KeepAlive")->rule, "R14");
    assert_null(row_of(r, "KeepAliveTimeout"));
    assert_non_null(warning_of(r, "little_reuse"));
}

static void warn_slow(fixture *f)
{
    ka_hist_add_n(&f->profile->total.service, 100000, 1000);
    f->profile->slow_bytes_n = 12;
    f->profile->slow_service_us = 40 * S;
}

static void warn_own(fixture *f)
{
    f->source.excluded[KA_EXCLUDED_PAGESPEED] = 5000;
}

static void warn_no_request(fixture *f)
{
    f->profile->no_request = 1500;
}

static void warn_bracket(fixture *f)
{
    f->profile->bracket = true;
    f->profile->low.connections = 1000;
}

static void warn_http2(fixture *f)
{
    f->profile->http2 = 9000;
}

static void warn_late(fixture *f)
{
    f->source.late = 3;
}

static void warn_forgotten(fixture *f)
{
    f->source.forgotten = 1200;
}

static void warn_damaged(fixture *f)
{
    static const char *sentences[] = {"a.gz: cut."};

    f->source.damaged = sentences;
    f->source.damaged_n = 1;
}

static void warn_linger(fixture *f)
{
    f->outcomes[NOW].linger_bound_mean = 9;
}

static void warn_vhosts(fixture *f)
{
    static ka_traffic vhosts[] = {{.name = "a"}, {.name = "b"}};

    f->profile->vhosts = vhosts;
    f->profile->vhost_n = 2;
}

static void warn_reload(fixture *f)
{
    ka_server_set(&f->server, KA_FACT_ID_MPM, KA_MPM_EVENT, false, "test");
    f->outcomes[NOW].idle_mean = 500;
}

static void test_advise__each_warning_has_its_cause(void **state)
{
    static const struct {
        const char *id, *says;
        void (*cause)(fixture *f);
    } cases[] = {{"slow_clients", "40.0%", warn_slow},
                 {"own_traffic", "25.0%", warn_own},
                 {"connections_without_request", "1,500", warn_no_request},
                 {"bracket", "1,000 if each client", warn_bracket},
                 {"http2_without_port", "45.0%", warn_http2},
                 {"late_lines", "3 requests", warn_late},
                 {"clients_forgotten", "1,200 clients were", warn_forgotten},
                 {"damaged_files", "a.gz: cut.", warn_damaged},
                 {"lingering_close", "9", warn_linger},
                 {"several_vhosts", "R3", warn_vhosts},
                 {"reload_closes_idle", "500", warn_reload}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fixture *f = make_fixture(*state);
        const char *text;

        assert_null(warning_of(advise(f, *state), cases[i].id));
        f = make_fixture(*state);
        cases[i].cause(f);
        text = warning_of(advise(f, *state), cases[i].id);
        if (!text || !strstr(text, cases[i].says)) {
            fail_msg("%s: %s", cases[i].id, text ? text : "(none)");
        }
    }
}

static void test_advise__model6_confidence(void **state)
{
    fixture *f = make_fixture(*state);

    f->profile->window_s = 1800;
    assert_int_equal(advise(f, *state)->verdict.confidence,
                     KA_CONFIDENCE_LOW);
    assert_non_null(strstr(f->report.verdict.confidence_why, "busy hour"));
    f = make_fixture(*state);
    f->profile->high.connections = 999;
    assert_int_equal(advise(f, *state)->verdict.confidence,
                     KA_CONFIDENCE_LOW);
    f = make_fixture(*state);
    f->report.identity = "time";
    assert_int_equal(advise(f, *state)->verdict.confidence,
                     KA_CONFIDENCE_MEDIUM);
    f = make_fixture(*state);
    f->report.identity = "k";
    f->profile->http2 = 4001;
    assert_int_equal(advise(f, *state)->verdict.confidence,
                     KA_CONFIDENCE_LOW);
    f = make_fixture(*state);
    f->source.lines = 30000;
    f->source.skipped = 10000;
    assert_int_equal(advise(f, *state)->verdict.confidence,
                     KA_CONFIDENCE_LOW);
}

static void test_advise__moved_starts_lower_the_confidence(void **state)
{
    fixture *f = make_fixture(*state);

    f->source.late = 201; /* of 20,000 */
    assert_int_equal(advise(f, *state)->verdict.confidence,
                     KA_CONFIDENCE_LOW);
    assert_non_null(strstr(f->report.verdict.confidence_why, "out of order"));
}

static void test_advise__r13_too_little_is_refused(void **state)
{
    fixture *f = make_fixture(*state);
    ka_report *r;

    f->profile->total.requests = 99;
    r = advise(f, *state);
    assert_true(r->verdict.refused);
    assert_int_equal(r->advice_n, 0);
    assert_false(r->verdict.change_advised);
    assert_non_null(strstr(r->verdict.text, "99 requests"));
    f = make_fixture(*state);
    f->profile->window_s = 59;
    assert_true(advise(f, *state)->verdict.refused);
}

static void test_advise__m1_classic_estimate(void **state)
{
    ka_report *r = advise(make_fixture(*state), *state);

    assert_near(r->formula.processes, 5 * 2.8 / 3.33, 1e-9);
    assert_int_equal(r->formula.memory_bytes,
                     (int64_t)llround(5 * 2.8 / 3.33 * 10 * M));
    assert_true(strlen(r->why_it_differs) > 100);
}

static void test_advise__growth_scales_demand(void **state)
{
    fixture *f = make_fixture(*state);

    f->options.growth = 1.5;
    ka_server_set(&f->server, KA_FACT_MAX_REQUEST_WORKERS, 100, false, "test");
    assert_string_equal(row_of(advise(f, *state), "MaxRequestWorkers")->to,
                        "180");
}

static void test_advise__m17_a_leak_limits_connections(void **state)
{
    fixture *f = make_fixture(*state);
    const ka_advice *row = row_of(advise(f, *state), "MaxConnectionsPerChild");

    assert_string_equal(row->to, "0");
    assert_non_null(strstr(row->because, "No leak"));
    f = make_fixture(*state);
    ka_server_set(&f->server, KA_FACT_LEAK, 1024, false, "test");
    row = row_of(advise(f, *state), "MaxConnectionsPerChild");
    /* A fifth of 10M is 2048 requests; 20,000 of them in 5,100 connections
     * under the proposed 15 s. */
    assert_string_equal(row_of(&f->report, "KeepAliveTimeout")->to, "15");
    assert_string_equal(row->to, "523");
    assert_true(row->change);
    assert_non_null(strstr(row->because, "leaves 1K in a child: after 2,048 "
                                         "of them it has grown by 20% of its "
                                         "10M"));
    assert_non_null(strstr(row->because, "not requests (R9)"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_advise__m18_rows_of_a_known_prefork),
        unit_test(test_advise__no_number_above_the_memory_given),
        unit_test(test_advise__r7_a_quiet_log_does_not_lower_workers),
        unit_test(test_advise__unknown_mpm_answers_for_all_three),
        unit_test(test_advise__nothing_invented_without_memory),
        unit_test(test_advise__without_service_times_the_limit_stays),
        unit_test(test_advise__less_memory_than_a_process_has_no_block),
        unit_test(test_advise__r1_proxy_idle_timeout),
        unit_test(test_advise__r1_recognises_a_proxy),
        unit_test(test_advise__r1_recognises_a_proxy_in_a_segment),
        unit_test(test_advise__m18_longer_timeouts_not_known),
        unit_test(test_advise__a_segment_needs_no_log_format),
        unit_test(test_advise__r14_little_reuse_is_off),
        unit_test(test_advise__each_warning_has_its_cause),
        unit_test(test_advise__model6_confidence),
        unit_test(test_advise__moved_starts_lower_the_confidence),
        unit_test(test_advise__r13_too_little_is_refused),
        unit_test(test_advise__m1_classic_estimate),
        unit_test(test_advise__growth_scales_demand),
        unit_test(test_advise__m17_a_leak_limits_connections)};

    return unit_main(tests);
}
