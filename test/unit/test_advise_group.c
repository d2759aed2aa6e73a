/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * One configuration for several servers of the made-up site. */
#include "advise_fixture.h"
#include <apr_strings.h>

#define HOSTS 12

typedef struct fleet {
    fixture *group;
    fixture *hosts[HOSTS];
    const ka_report *reports[HOSTS];
    size_t n;
    apr_pool_t *pool;
} fleet;

/* web1, web2 ... all alike. */
static fleet *make_fleet(apr_pool_t *pool, size_t n)
{
    fleet *f = apr_pcalloc(pool, sizeof(*f));
    size_t i;

    f->pool = pool;
    f->n = n;
    f->group = make_fixture(pool);
    f->group->source.kind = "profile";
    f->group->profile->window_s = 7200 * (double)n;
    for (i = 0; i < n; i++) {
        f->hosts[i] = make_fixture(pool);
        f->hosts[i]->source.kind = "profile";
        f->hosts[i]->report.host = apr_psprintf(pool, "web%d", (int)i + 1);
        f->reports[i] = &f->hosts[i]->report;
    }
    return f;
}

static const ka_report *advise_fleet(fleet *f)
{
    size_t i;

    ka_report_group(&f->group->report, &f->group->server, f->reports, f->n);
    for (i = 0; i < f->n; i++) {
        advise(f->hosts[i], f->pool);
    }
    return advise(f->group, f->pool);
}

static void set_everywhere(fleet *f, ka_fact_id id, int64_t value)
{
    size_t i;

    ka_server_set(&f->group->server, id, value, false, "test");
    for (i = 0; i < f->n; i++) {
        ka_server_set(&f->hosts[i]->server, id, value, false, "test");
    }
}

/* So many times the holders at every timeout. */
static void make_busy(fixture *host, double factor)
{
    size_t i;

    for (i = 0; i < SITE_N; i++) {
        ka_held *held = &host->outcomes[i].held;

        held->mean *= factor;
        held->workers *= factor;
        held->p999 *= factor;
        held->peak *= factor;
    }
}

/* Longer than a second saves this server nothing. */
static void make_short(fixture *host)
{
    size_t i;

    for (i = 1; i < SITE_N; i++) {
        host->outcomes[i].connections = 10000;
        host->outcomes[i].reuse = 0.5;
    }
}

/* Servers that are all alike get what each of them would get. */
static void test_group__alike_is_as_each(void **state)
{
    fleet *f = make_fleet(*state, 3);
    const ka_report *r = advise_fleet(f), *one = f->reports[0];
    size_t i;

    assert_int_equal(r->advice_n, one->advice_n);
    for (i = 0; i < r->advice_n; i++) {
        assert_string_equal(r->advice[i].directive, one->advice[i].directive);
        assert_string_equal(r->advice[i].to, one->advice[i].to);
        assert_int_equal(r->advice[i].change, one->advice[i].change);
        assert_false(r->advice[i].from_differs);
    }
    assert_null(warning_of(r, "hosts_differ"));
    assert_null(warning_of(r, "host_facts_differ"));
    assert_null(warning_of(r, "hosts_refused"));
    assert_string_equal(r->verdict.text,
                        apr_pstrcat(*state, "For each of 3 servers: ",
                                    one->verdict.text, NULL));
}

/* 15 s: 120 workers each, but 240 on one. */
static void test_group__m12_workers_are_the_most_of_any_server(void **state)
{
    fleet *f = make_fleet(*state, 3);
    const ka_report *r;
    const ka_advice *row;

    make_busy(f->hosts[1], 2);
    set_everywhere(f, KA_FACT_MEMORY, 4000 * M);
    set_everywhere(f, KA_FACT_MAX_REQUEST_WORKERS, 150);
    r = advise_fleet(f);
    row = row_of(r, "MaxRequestWorkers");
    assert_near(r->answers[0].fits[3].workers, 240, 0);
    assert_near(r->answers[0].fits[3].connections, 264, 0);
    assert_int_equal(r->answers[0].fits[3].memory_bytes, 2400 * M);
    assert_string_equal(row->to, "240");
    assert_non_null(strstr(row->because,
                           "waits on web2, the busiest server: mean 160, "
                           "peak 264."));
}

/* 2000M hold 200 processes: what one server cannot have, none gets. */
static void test_group__m14_fits_on_every_server(void **state)
{
    fleet *f = make_fleet(*state, 3);
    const ka_report *r;

    make_busy(f->hosts[2], 2);
    r = advise_fleet(f);
    assert_int_equal(r->answers[0].fits[2].fits, 1);
    assert_int_equal(r->answers[0].fits[3].fits, 0);
    assert_string_equal(row_of(r, "KeepAliveTimeout")->to, "5");
    assert_string_equal(row_of(f->reports[0], "KeepAliveTimeout")->to, "15");
}

/* Off and 15 s were not evaluated there: the next longer ones count. */
static void test_group__timeouts_that_a_server_lacks(void **state)
{
    fleet *f = make_fleet(*state, 2);
    fixture *host = f->hosts[0];
    const ka_report *r;

    host->outcomes[0] = host->outcomes[1];
    host->outcomes[1] = host->outcomes[2];
    host->outcomes[2] = host->outcomes[4];
    host->report.timeout_n = 3;
    host->report.now = 1;
    r = advise_fleet(f);
    assert_near(r->answers[0].fits[0].workers, 15, 0);  /* Off: 1 s */
    assert_near(r->answers[0].fits[2].workers, 50, 0);  /* 5 s */
    assert_near(r->answers[0].fits[3].workers, 400, 0); /* 15 s: 65 s */
    assert_near(r->answers[0].fits[5].workers, 700, 0); /* the other's */
}

static void test_group__m15_spare_for_the_busiest_second(void **state)
{
    fleet *f = make_fleet(*state, 3);
    const char *alike =
        row_of(advise_fleet(make_fleet(*state, 3)), "MinSpareServers")->to;
    const ka_advice *row;

    f->hosts[1]->profile->total.p99_per_s = 400;
    row = row_of(advise_fleet(f), "MinSpareServers");
    assert_true(atoi(row->to) > atoi(alike));
    assert_non_null(strstr(row->because, "opens 102 connections on the "
                                         "busiest server"));
}

static void test_group__a_timeout_of_its_own_is_told(void **state)
{
    fleet *f = make_fleet(*state, 3);
    const char *text;

    make_short(f->hosts[1]);
    f->hosts[1]->report.host = "web2\n";
    text = warning_of(advise_fleet(f), "hosts_differ");
    assert_non_null(text);
    assert_non_null(strstr(text, "for: web2\\x0a 1s instead of 15s."));
    assert_null(strstr(text, "web1"));
    assert_null(strstr(text, "median"));
}

static void test_group__over_twice_the_median_is_told(void **state)
{
    static const struct {
        double factor;
        bool told;
    } cases[] = {{1.9, false}, {2.0, false}, {2.1, true}, {9, true}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fleet *f = make_fleet(*state, 3);
        const char *text;

        set_everywhere(f, KA_FACT_MEMORY, 400000 * M);
        make_busy(f->hosts[2], cases[i].factor);
        text = warning_of(advise_fleet(f), "hosts_differ");
        assert_int_equal(text != NULL, cases[i].told);
        if (text) {
            assert_non_null(strstr(text, "the 120 workers of the median"));
            assert_non_null(strstr(text, "needed by: web3 "));
        }
    }
}

/* 3 workers where others have 1 are no reason for a second configuration. */
static void test_group__few_workers_are_not_told(void **state)
{
    fleet *f = make_fleet(*state, 3);
    size_t i;

    for (i = 0; i < 3; i++) {
        make_busy(f->hosts[i], i == 2 ? 0.06 : 0.01);
    }
    assert_null(warning_of(advise_fleet(f), "hosts_differ"));
}

static void test_group__many_names_are_cut_short(void **state)
{
    fleet *f = make_fleet(*state, HOSTS);
    const char *text;
    size_t i;

    for (i = 0; i < 11; i++) {
        make_short(f->hosts[i]);
    }
    text = warning_of(advise_fleet(f), "hosts_differ");
    assert_non_null(strstr(text, "web8 1s instead of 15s and 3 more."));
    assert_null(strstr(text, "web9"));
}

static void test_group__too_little_of_one_server(void **state)
{
    fleet *f = make_fleet(*state, 3);
    const ka_report *r;

    f->hosts[0]->profile->total.requests = 5;
    make_short(f->hosts[0]);
    make_busy(f->hosts[0], 0.001);
    r = advise_fleet(f);
    assert_non_null(strstr(warning_of(r, "hosts_refused"), ": web1. "));
    assert_null(warning_of(r, "hosts_differ"));
    assert_false(r->verdict.refused);
}

/* ---- facts ----------------------------------------------------------------
 */

static void test_group__facts_that_differ_are_not_known(void **state)
{
    fleet *f = make_fleet(*state, 3);
    const ka_report *r;
    const ka_advice *row;
    const char *text;

    set_everywhere(f, KA_FACT_MAX_REQUEST_WORKERS, 180);
    ka_server_set(&f->hosts[1]->server, KA_FACT_TIMEOUT, 15 * S, true, "test");
    f->hosts[1]->report.timeout_us = 15 * S;
    f->hosts[1]->report.now = 3;
    r = advise_fleet(f);
    row = row_of(r, "KeepAliveTimeout");
    assert_false(r->server->facts[KA_FACT_TIMEOUT].known);
    assert_true(r->server->facts[KA_FACT_MAX_REQUEST_WORKERS].known);
    assert_null(row->from);
    assert_true(row->from_differs && row->change);
    assert_true(r->verdict.change_advised);
    assert_non_null(strstr(r->verdict.confidence_why, "(of web2: test)"));
    assert_non_null(strstr(r->verdict.text, "to 15s (5s to 15s now): 80"));
    text = warning_of(r, "host_facts_differ");
    assert_non_null(strstr(text, "KeepAliveTimeout now (5s on web1 and 1 more, "
                                 "15s (assumed) on web2)."));
    assert_null(strstr(r->next[0], "--timeout"));
}

/* 5 s is httpd's default, but not what all of them have. */
static void test_group__a_default_is_a_change_for_some(void **state)
{
    fleet *f = make_fleet(*state, 2);
    const ka_advice *row;

    set_everywhere(f, KA_FACT_MEMORY, 600 * M);
    ka_server_set(&f->hosts[1]->server, KA_FACT_TIMEOUT, S, false, "test");
    row = row_of(advise_fleet(f), "KeepAliveTimeout");
    assert_string_equal(row->to, "5");
    assert_true(row->change);
}

static void test_group__different_mpms_are_answered_each(void **state)
{
    fleet *f = make_fleet(*state, 2);
    const ka_report *r;

    ka_server_set(&f->hosts[0]->server, KA_FACT_ID_MPM, KA_MPM_EVENT, false,
                  "test");
    r = advise_fleet(f);
    assert_int_equal(r->answer_n, KA_MPM_N);
    assert_non_null(strstr(warning_of(r, "host_facts_differ"),
                           "MPM (event on web1, prefork on web2)"));
    assert_ptr_equal(strstr(r->verdict.text, "For each of 2 servers:\nOn "
                                             "prefork, "),
                     r->verdict.text);
}

/* A limit is no reservation (R7): the largest one in force stays. */
static void test_group__r7_the_largest_limit_stays(void **state)
{
    fleet *f = make_fleet(*state, 2);
    const ka_advice *row;

    set_everywhere(f, KA_FACT_MEMORY, 40000 * M);
    set_everywhere(f, KA_FACT_MAX_REQUEST_WORKERS, 130);
    ka_server_set(&f->hosts[1]->server, KA_FACT_MAX_REQUEST_WORKERS, 600, false,
                  "test");
    row = row_of(advise_fleet(f), "MaxRequestWorkers");
    assert_string_equal(row->to, "600");
    assert_true(row->from_differs);
    assert_non_null(strstr(row->because, "the largest present limit"));
}

static void test_group__further_values_are_counted(void **state)
{
    fleet *f = make_fleet(*state, 8);
    size_t i;

    for (i = 0; i < 8; i++) {
        ka_server_set(&f->hosts[i]->server, KA_FACT_MAX_REQUEST_WORKERS,
                      100 + (int64_t)i, false, "test");
    }
    assert_non_null(strstr(warning_of(advise_fleet(f), "host_facts_differ"),
                           "103 on web4, further ones on 4 more)."));
}

/* ---- confidence -----------------------------------------------------------
 */

/* Half hours of many servers at once make no busy hour. */
static void test_group__model6_the_longest_window_counts(void **state)
{
    static const struct {
        double longest;
        ka_confidence confidence;
    } cases[] = {{1680, KA_CONFIDENCE_LOW}, {3600, KA_CONFIDENCE_HIGH}};
    size_t i, h;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fleet *f = make_fleet(*state, 4);
        const char *why;

        for (h = 0; h < 4; h++) {
            f->hosts[h]->profile->window_s = h == 2 ? cases[i].longest : 1500;
        }
        assert_int_equal(advise_fleet(f)->verdict.confidence,
                         cases[i].confidence);
        why = f->group->report.verdict.confidence_why;
        if (why) {
            assert_non_null(strstr(why, "the longest profile covers 28m"));
        }
    }
}

static void test_group__each_source_has_its_words(void **state)
{
    static const struct {
        const char *kind, *says;
    } cases[] = {{"log", "the log of the day after"},
                 {"segment", "the segment of the day after"},
                 {"profile", "the profiles of the day after"},
                 {"prometheus", "--window 1d, the day after"},
                 {NULL, "the log of the day after"}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fixture *f = make_fixture(*state);
        const ka_report *r;

        f->source.kind = cases[i].kind;
        r = advise(f, *state);
        assert_non_null(strstr(r->next[r->next_n - 1], cases[i].says));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_group__alike_is_as_each),
        unit_test(test_group__m12_workers_are_the_most_of_any_server),
        unit_test(test_group__m14_fits_on_every_server),
        unit_test(test_group__timeouts_that_a_server_lacks),
        unit_test(test_group__m15_spare_for_the_busiest_second),
        unit_test(test_group__a_timeout_of_its_own_is_told),
        unit_test(test_group__over_twice_the_median_is_told),
        unit_test(test_group__few_workers_are_not_told),
        unit_test(test_group__many_names_are_cut_short),
        unit_test(test_group__too_little_of_one_server),
        unit_test(test_group__facts_that_differ_are_not_known),
        unit_test(test_group__a_default_is_a_change_for_some),
        unit_test(test_group__different_mpms_are_answered_each),
        unit_test(test_group__r7_the_largest_limit_stays),
        unit_test(test_group__further_values_are_counted),
        unit_test(test_group__model6_the_longest_window_counts),
        unit_test(test_group__each_source_has_its_words)};

    return unit_main(tests);
}
