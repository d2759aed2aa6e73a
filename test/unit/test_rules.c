/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Rules R1 to R18: each speaks for its cause and not without it. */
#include "advise_fixture.h"

#include <apr_strings.h>

#include "advice/rules.h"

/* ---- a server on its host ------------------------------------------------ */

static ka_site *make_site(fixture *f, apr_pool_t *pool)
{
    ka_site *s = apr_pcalloc(pool, sizeof(*s));
    ka_httpd *httpd = apr_pcalloc(pool, sizeof(*httpd));

    httpd->tree = ka_cfg_tree_make(pool);
    httpd->server = apr_pcalloc(pool, sizeof(*httpd->server));
    httpd->server->vhosts = apr_array_make(pool, 1, sizeof(ka_cfg_vhost));
    httpd->server->backends = apr_array_make(pool, 1, sizeof(ka_cfg_backend));
    memset(apr_array_push(httpd->server->vhosts), 0, sizeof(ka_cfg_vhost));
    s->httpd = httpd;
    f->report.site = s;
    return s;
}

/* Processes without any limit near. */
static ka_site *make_running(fixture *f, apr_pool_t *pool)
{
    ka_site *s = make_site(f, pool);
    ka_limits *l = &s->limits;

    s->runs = true;
    memset(l, 0xff, sizeof(*l)); /* -1: nothing is known */
    l->parent_pid = 1;
    l->cores = 0;
    l->machine.known = l->other_network = l->sockets.known = false;
    l->processes_root = false;
    l->netstat_origin = l->limits_origin = NULL;
    memset(&l->cgroup, 0, sizeof(l->cgroup));
    l->query = (ka_limits_query){-1, -1, -1, NULL, 0};
    ka_limits_judge(&s->limit_table, l, pool);
    return s;
}

static void set_node(const ka_site *s, const char *name, const char *args)
{
    ka_cfg_node *node = apr_array_push(s->httpd->tree->nodes);

    *node = (ka_cfg_node){.name = name,
                          .args = args,
                          .file = "/etc/ssl.conf",
                          .line = 7,
                          .parent = KA_CFG_TOP};
}

static void set_fact(fixture *f, ka_fact_id id, int64_t value)
{
    ka_server_set(&f->server, id, value, false, "test");
}

/* ---- causes -------------------------------------------------------------- */

static void proxy(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    set_fact(f, KA_FACT_PROXY_IDLE, 60 * S);
}

static void proxy_too_long(fixture *f, apr_pool_t *pool)
{
    proxy(f, pool);
    set_fact(f, KA_FACT_MEMORY, 600 * M);
}

static void vhosts(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    f->profile->vhost_n = 2;
    f->profile->vhosts = apr_pcalloc(pool, 2 * sizeof(ka_traffic));
    f->profile->vhosts[0].name = "a.example";
    f->profile->vhosts[1].name = "b.example";
}

static void evicted(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    set_fact(f, KA_FACT_ID_MPM, KA_MPM_EVENT);
    f->profile->live = true;
    f->profile->closes[KA_REASON_EVICTED] = 12;
    f->profile->dropped_requests = 3;
}

static void php_inside(fixture *f, apr_pool_t *pool)
{
    ka_site *s = make_site(f, pool);

    ka_cfg_add_module(s->httpd->tree, "php_module", NULL, NULL, "php.load:1");
}

static void tls(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    f->profile->tls = 20000;
}

static void workers_reached(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    set_fact(f, KA_FACT_MAX_REQUEST_WORKERS, 55);
}

static void per_child(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    set_fact(f, KA_FACT_MAX_CONNECTIONS_PER_CHILD, 1000);
}

static void few_files(fixture *f, apr_pool_t *pool)
{
    ka_site *s = make_running(f, pool);

    set_fact(f, KA_FACT_ID_MPM, KA_MPM_EVENT);
    s->limits.files_max = 100;
    s->limits.files_now = 20;
    s->limits.limits_origin = "/proc/1/limits";
}

static void many_closes(fixture *f, apr_pool_t *pool)
{
    ka_site *s = make_running(f, pool);
    size_t i;

    s->limits.time_wait_max = 1000;
    for (i = 0; i < SITE_N; i++) {
        f->outcomes[i].held_per_second = 10; /* 600 in TIME_WAIT */
    }
}

static void own_lines(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    f->source.excluded[KA_EXCLUDED_DUMMY] = 9;
}

static void little_data(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    f->profile->high.connections = 10;
}

static void no_reuse(fixture *f, apr_pool_t *pool)
{
    size_t i;

    (void)pool;
    for (i = 0; i < SITE_N; i++) {
        f->outcomes[i].connections = 20000 - i;
        f->outcomes[i].reuse = (double)i / 20000;
    }
}

static void slow(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    ka_hist_add_n(&f->profile->total.service, 1000000, 20);
    f->profile->slow_bytes_n = 10;
    f->profile->slow_service_us = 10000000;
}

static void half_used(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    set_fact(f, KA_FACT_MAX_REQUEST_WORKERS, 90); /* 50 at p99.9 */
}

static void burst(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    f->profile->total.p99_per_s = 4000;
}

static void large_files(fixture *f, apr_pool_t *pool)
{
    (void)pool;
    set_fact(f, KA_FACT_ID_MPM, KA_MPM_EVENT);
    set_fact(f, KA_FACT_SENDFILE, 0);
    ka_hist_add_n(&f->profile->total.service, 1000000, 20);
    ka_hist_add_n(&f->profile->classes[KA_CLASS_STATIC].service, 1000000, 10);
}

static const struct {
    const char *rule;
    void (*cause)(fixture *f, apr_pool_t *pool);
    const char *says; /* in the finding, with the cause and only then */
} causes[] = {{"R1", proxy, "KeepAliveTimeout"},
              {"R2", proxy_too_long, "infeasible"},
              {"R3", vhosts, "several_vhosts"},
              {"R4", evicted, "idle_evicted"},
              {"R4", large_files, "EnableSendfile"},
              {"R5", php_inside, "mod_php"},
              {"R6", tls, "tls"},
              {"R7", workers_reached, "workers_reached"},
              {"R9", per_child, "connections_per_child"},
              {"R11", few_files, "limits"},
              {"R11", many_closes, "server_closes"},
              {"R11", burst, "ListenBacklog"},
              {"R12", own_lines, "9 lines left out"},
              {"R13", little_data, "fewer than 1,000"},
              {"R14", no_reuse, "little_reuse"},
              {"R15", slow, "slow_clients"},
              {"R18", half_used, "utilisation"}};

static const ka_finding *finding_of(const ka_report *r, const char *rule)
{
    size_t i;

    for (i = 0; i < KA_RULES; i++) {
        if (!strcmp(r->findings[i].rule, rule)) {
            return &r->findings[i];
        }
    }
    fail_msg("no rule %s", rule);
    return NULL;
}

static bool says(const ka_finding *finding, const char *text)
{
    return finding->state == KA_RULE_SPEAKS && strstr(finding->text, text);
}

static void test_rules__each_speaks_for_its_cause_alone(void **state)
{
    size_t i;

    for (i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        ka_report *r = advise(make_fixture(*state), *state);
        fixture *f = make_fixture(*state);

        if (says(finding_of(r, causes[i].rule), causes[i].says)) {
            fail_msg("%s says %s without a cause", causes[i].rule,
                     causes[i].says);
        }
        causes[i].cause(f, *state);
        r = advise(f, *state);
        if (!says(finding_of(r, causes[i].rule), causes[i].says)) {
            fail_msg("%s does not say %s", causes[i].rule, causes[i].says);
        }
    }
}

static void test_rules__all_are_there_in_their_order(void **state)
{
    ka_report *r = advise(make_fixture(*state), *state);
    int i;

    for (i = 0; i < KA_RULES; i++) {
        assert_string_equal(r->findings[i].rule,
                            apr_psprintf(*state, "R%d", i + 1));
        assert_true(strlen(r->findings[i].title) > 10);
        assert_int_equal(r->findings[i].text == NULL,
                         r->findings[i].state == KA_RULE_QUIET);
    }
}

static void test_rules__what_is_missing_is_said(void **state)
{
    static const char *const of_the_host[] = {"R3", "R5", "R9", "R11", "R17"};
    ka_report *r = advise(make_fixture(*state), *state);
    size_t i;

    for (i = 0; i < sizeof(of_the_host) / sizeof(of_the_host[0]); i++) {
        const ka_finding *finding = finding_of(r, of_the_host[i]);

        assert_int_equal(finding->state, KA_RULE_UNKNOWN);
        assert_non_null(strstr(finding->text, "--httpd-config"));
    }
    assert_non_null(
        strstr(finding_of(r, "R7")->text, "--max-request-workers"));
    assert_int_equal(finding_of(r, "R18")->state, KA_RULE_UNKNOWN);
}

static void test_rules__a_known_server_is_judged(void **state)
{
    fixture *f = make_fixture(*state);
    ka_report *r;

    make_running(f, *state);
    r = advise(f, *state);
    assert_int_equal(finding_of(r, "R5")->state, KA_RULE_QUIET);
    assert_int_equal(finding_of(r, "R11")->state, KA_RULE_QUIET);
}

static void test_rules__r6_names_what_forbids_resumption(void **state)
{
    fixture *f = make_fixture(*state);
    ka_site *s = make_site(f, *state);

    tls(f, *state);
    assert_null(
        strstr(warning_of(advise(f, *state), "tls"), "SSLSessionTickets"));
    f = make_fixture(*state);
    s = make_site(f, *state);
    tls(f, *state);
    set_node(s, "sslsessiontickets", "Off");
    assert_non_null(
        strstr(warning_of(advise(f, *state), "tls"), "/etc/ssl.conf:7"));
    f = make_fixture(*state);
    s = make_site(f, *state);
    tls(f, *state);
    set_node(s, "SSLSessionTickets", "off");
    set_node(s, "SSLSessionCache", "shmcb:/run/ssl(512000)");
    assert_null(
        strstr(warning_of(advise(f, *state), "tls"), "SSLSessionTickets"));
}

static void test_rules__r5_gives_both_figures(void **state)
{
    fixture *f = make_fixture(*state);
    ka_report *r;

    php_inside(f, *state);
    r = advise(f, *state);
    assert_non_null(r->alternative);
    assert_int_equal(r->alternative->mpm, KA_MPM_EVENT);
    /* memory of its processes was measured on another MPM */
    assert_int_equal(r->alternative->fits[NOW].memory_bytes, -1);
    assert_non_null(strstr(warning_of(r, "mod_php"), "120 workers"));
    assert_non_null(strstr(warning_of(r, "mod_php"), "6 threads"));
    assert_null(row_of(r, "AsyncRequestWorkerFactor"));
}

static void test_rules__r7_needs_idle_holders(void **state)
{
    fixture *f = make_fixture(*state);
    size_t i;

    workers_reached(f, *state);
    for (i = 0; i < SITE_N; i++) {
        f->outcomes[i].busy_mean = f->outcomes[i].held_mean;
        f->outcomes[i].idle_mean = 0;
    }
    assert_null(warning_of(advise(f, *state), "workers_reached"));
}

static void test_rules__r9_counts_requests(void **state)
{
    fixture *f = make_fixture(*state);

    per_child(f, *state);
    assert_non_null(strstr(
        warning_of(advise(f, *state), "connections_per_child"), "3,330"));
}

static void test_rules__r11_backlog_within_the_kernel(void **state)
{
    fixture *f = make_fixture(*state);
    ka_site *s = make_running(f, *state);
    const ka_advice *row;

    burst(f, *state); /* 4,000 requests in a busy second open about 1,000 */
    row = row_of(advise(f, *state), "ListenBacklog");
    assert_string_equal(row->to, "1024");
    assert_string_equal(row->applies, "restart");
    f = make_fixture(*state);
    s = make_running(f, *state);
    burst(f, *state);
    s->limits.somaxconn = 800;
    row = row_of(advise(f, *state), "ListenBacklog");
    assert_string_equal(row->to, "800");
    f = make_fixture(*state);
    set_fact(f, KA_FACT_LISTEN_BACKLOG, 2048);
    burst(f, *state);
    row = row_of(advise(f, *state), "ListenBacklog");
    assert_string_equal(row->to, "2048");
    assert_false(row->change);
}

static void test_rules__r11_the_proposed_block_is_judged(void **state)
{
    fixture *f = make_fixture(*state);
    ka_site *s;

    few_files(f, *state);
    s = (ka_site *)f->report.site;
    s->limits.files_max = 100000;
    assert_null(warning_of(advise(f, *state), "limits"));
}

static void test_rules__r8_r10_speak_where_advice_is_given(void **state)
{
    ka_report *r = advise(make_fixture(*state), *state);

    assert_true(says(finding_of(r, "R8"), "whole block"));
    assert_true(says(finding_of(r, "R10"), "reload or a restart"));
}

static void test_rules__r16_r17_speak_of_classes_that_are_known(void **state)
{
    fixture *f = make_fixture(*state);
    int i;

    make_site(f, *state);
    for (i = 0; i < KA_CLASS_N; i++) {
        f->profile->classes[i].requests = 10000;
        ka_hist_add_n(&f->profile->classes[i].service, 100000, 10000);
        ka_hist_add_n(&f->profile->classes[i].gap, 1000000, 5000);
        ka_hist_add_n(&f->profile->total.service, 100000, 10000);
    }
    assert_true(says(finding_of(advise(f, *state), "R16"), "kind of content"));
    assert_true(says(finding_of(&f->report, "R17"), "at once at the peak"));
    assert_int_equal(
        finding_of(advise(make_fixture(*state), *state), "R16")->state,
        KA_RULE_QUIET);
}

static void test_rules__r13_refused_is_no_advice(void **state)
{
    fixture *f = make_fixture(*state);
    ka_report *r;

    f->profile->total.requests = 50;
    r = advise(f, *state);
    assert_true(r->verdict.refused);
    assert_int_equal(finding_of(r, "R8")->state, KA_RULE_QUIET);
    assert_int_equal(finding_of(r, "R10")->state, KA_RULE_QUIET);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_rules__each_speaks_for_its_cause_alone),
        unit_test(test_rules__all_are_there_in_their_order),
        unit_test(test_rules__what_is_missing_is_said),
        unit_test(test_rules__a_known_server_is_judged),
        unit_test(test_rules__r6_names_what_forbids_resumption),
        unit_test(test_rules__r5_gives_both_figures),
        unit_test(test_rules__r7_needs_idle_holders),
        unit_test(test_rules__r9_counts_requests),
        unit_test(test_rules__r11_backlog_within_the_kernel),
        unit_test(test_rules__r11_the_proposed_block_is_judged),
        unit_test(test_rules__r8_r10_speak_where_advice_is_given),
        unit_test(test_rules__r16_r17_speak_of_classes_that_are_known),
        unit_test(test_rules__r13_refused_is_no_advice)};

    return unit_main(tests);
}
