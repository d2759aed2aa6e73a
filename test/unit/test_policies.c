/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What is proposed to mod_kapolicy: R16 by kind of content, R7 by load, R1
 * behind a proxy. */
#include "parts_fixture.h"

/* A replay of single requests, as a test wants it. */
typedef struct replayed {
    double held_of_second; /* workers for each second of the static timeout */
    ka_policy asked;       /* last */
    size_t asked_n;
} replayed;

static bool replay_policy(ka_outcome *out, void *context,
                          const ka_policy *policy)
{
    replayed *r = context;
    double seconds = (double)policy->after_us[KA_CLASS_STATIC] / 1e6;

    r->asked = *policy;
    r->asked_n++;
    *out = (ka_outcome){.requests = 20000,
                        .connections = 5100,
                        .window_s = 7200,
                        .connections_per_s = 5100 / 7200.0,
                        .held_mean = 2,
                        .busy_mean = 2};
    out->held.workers = 10 + r->held_of_second * seconds;
    return true;
}

static replayed *set_replay(fixture *f, double held_of_second, apr_pool_t *pool)
{
    replayed *r = apr_pcalloc(pool, sizeof(*r));

    r->held_of_second = held_of_second;
    f->report.replay = (ka_replay_source){replay_policy, r};
    return r;
}

static void set_memory(fixture *f, int64_t bytes)
{
    ka_server_set(&f->server, KA_FACT_MEMORY, bytes, false, "test");
}

static const ka_policy_advice *advised(fixture *f, apr_pool_t *pool)
{
    return &advise(f, pool)->policy;
}

/* ---- R16 ------------------------------------------------------------------
 */

static void test_policies__r16_each_class_by_its_own_knee(void **state)
{
    const ka_policy_advice *p = advised(make_parts(POOL(state)), POOL(state));
    const ka_policy_by_class *by = &p->by_class;

    assert_true(by->proposed);
    assert_true(by->estimated);
    assert_true(by->after_us[KA_CLASS_DYNAMIC] == KA_TIMEOUT_OFF);
    /* It would want longer than was seen, as all do. */
    assert_int_equal(by->after_us[KA_CLASS_STATIC], 15 * S);
    assert_int_equal(p->line_n, 2);
    assert_string_equal(p->lines[0],
                        "KAPolicy keep timeout=15 served=static,error");
    assert_string_equal(p->lines[1], "KAPolicy close served=dynamic,proxy");
    assert_has(by->because, "close after dynamic requests and wait 15s after "
                            "static ones");
    assert_has(by->because, "Without single requests");
    assert_false(p->by_load.proposed || p->by_proxy.proposed || p->active);
    assert_false(p->not_event);
}

/* N and H by class: no dynamic request is followed; the tails are shared. */
static void test_policies__m20_from_histograms(void **state)
{
    fixture *f = make_parts(POOL(state));
    const ka_policy_by_class *by = &advised(f, POOL(state))->by_class;
    const ka_outcome *one = &f->outcomes[3];
    double gaps = (7500 * 0.1 + 4000 * 4) / 7200.0;
    /* The made-up site has something idle with Off, too. */
    double freed =
        (one->idle_mean - gaps - f->outcomes[0].idle_mean) * 5000 / 8500;

    assert_int_equal(by->one.outcome.timeout_us, 15 * S);
    assert_int_equal(by->policy.outcome.connections, one->connections);
    assert_near(by->policy.outcome.held_mean, one->held_mean - freed, 0.01);
    assert_near(by->policy.outcome.idle_mean, one->idle_mean - freed, 0.01);
    assert_near(by->policy.outcome.busy_mean, one->busy_mean, 0);
    /* Peaks between those at 5 s (33.3 in the mean) and at 15 s (80). */
    assert_true(by->policy.outcome.held.p999 > 50);
    assert_true(by->policy.outcome.held.p999 < 120);
    assert_true(by->policy.outcome.held.workers >=
                by->policy.outcome.held.p999);
}

static void test_policies__m20_from_single_requests(void **state)
{
    fixture *f = make_parts(POOL(state));
    replayed *r = set_replay(f, 0, POOL(state));
    const ka_policy_by_class *by = &advised(f, POOL(state))->by_class;

    assert_true(by->proposed);
    assert_false(by->estimated);
    assert_near(by->policy.outcome.held_mean, 2, 0);
    assert_int_equal(r->asked.after_us[KA_CLASS_STATIC], 15 * S);
    assert_true(r->asked.after_us[KA_CLASS_DYNAMIC] == KA_TIMEOUT_OFF);
    assert_int_equal(r->asked.other_us, 15 * S);
    assert_null(strstr(by->because, "Without single requests"));
}

/* 30 workers fit: 1 s needs 20, 5 s would need 60. */
static void test_policies__r16_shortened_until_it_fits(void **state)
{
    fixture *f = make_parts(POOL(state));
    const ka_policy_advice *p;

    set_replay(f, 10, POOL(state));
    set_memory(f, 300 * M);
    p = advised(f, POOL(state));
    assert_true(p->by_class.proposed);
    assert_int_equal(p->by_class.one.outcome.timeout_us, S);
    assert_int_equal(p->by_class.after_us[KA_CLASS_STATIC], S);
    assert_int_equal(p->by_class.policy.fit.fits, 1);
    assert_false(p->by_load.proposed); /* this fits */
}

static void on_event(fixture *f)
{
    ka_server_set(&f->server, KA_FACT_ID_MPM, KA_MPM_EVENT, false, "test");
}

static void few_dynamic(fixture *f)
{
    f->profile->classes[KA_CLASS_DYNAMIC].requests = 999;
}

static void refused(fixture *f)
{
    f->profile->total.requests = 99;
}

/* Prometheus: idle times of all alone. */
static void untold(fixture *f)
{
    ka_hist_init(&f->profile->classes[KA_CLASS_STATIC].gap);
    ka_hist_init(&f->profile->classes[KA_CLASS_DYNAMIC].gap);
}

static void streams(fixture *f)
{
    f->profile->http2 = 5000;
}

/* Half of them are followed after 0.1 s, half after 4 s, as static ones are:
 * both want the same. */
static void alike(fixture *f)
{
    ka_hist_add_n(&f->profile->classes[KA_CLASS_DYNAMIC].gap, 100000, 2500);
    ka_hist_add_n(&f->profile->classes[KA_CLASS_DYNAMIC].gap, 4000000, 2500);
}

static void test_policies__r16_only_where_it_pays(void **state)
{
    void (*const causes[])(fixture * f) = {on_event, few_dynamic, refused,
                                           alike,    untold,      streams};
    size_t i;

    for (i = 0; i < sizeof(causes) / sizeof(causes[0]); i++) {
        fixture *f = make_parts(POOL(state));
        const ka_policy_advice *p;

        causes[i](f);
        p = advised(f, POOL(state));
        assert_false(p->by_class.proposed);
        assert_int_equal(p->line_n, 0);
    }
}

static void test_policies__r16_is_told_among_the_rules(void **state)
{
    fixture *f = make_parts(POOL(state));
    const ka_report *r = advise(f, POOL(state));
    size_t i;

    for (i = 0; strcmp(r->findings[i].rule, "R16"); i++) {
        continue;
    }
    assert_has(r->findings[i].text, "see by policy");
}

/* ---- R7 -------------------------------------------------------------------
 */

#define CLIENTS 3000

/* Clients that come, each asks once, and stay. */
typedef struct crowd {
    ka_sim_chain chains[CLIENTS];
    ka_sim_request request;
    ka_sim_traffic traffic;
    ka_stretch stretch;
} crowd;

static bool stretch_of(ka_stretch *out, void *context, double growth,
                       apr_pool_t *pool)
{
    (void)growth;
    (void)pool;
    *out = ((crowd *)context)->stretch;
    return true;
}

static void set_crowd(fixture *f, int64_t every_us, apr_pool_t *pool)
{
    crowd *c = apr_pcalloc(pool, sizeof(*c));
    size_t i;

    for (i = 0; i < CLIENTS; i++) {
        c->chains[i] = (ka_sim_chain){
            .start_us = (int64_t)i * every_us, .n = 1, .tail_us = 600 * S};
    }
    c->request = (ka_sim_request){.busy_us = 10000, .requests = 1};
    c->traffic = (ka_sim_traffic){.chains = c->chains,
                                  .chain_n = CLIENTS,
                                  .requests = &c->request,
                                  .request_n = 1,
                                  .end_us = CLIENTS * every_us};
    c->stretch = (ka_stretch){
        .traffic = &c->traffic, .requests = CLIENTS, .how = "made for a test"};
    f->report.stretch = (ka_stretch_source){stretch_of, c};
}

static fixture *scarce(apr_pool_t *pool)
{
    fixture *f = make_parts(pool);

    few_dynamic(f);
    set_memory(f, 300 * M); /* 1 s fits, 15 s is wanted */
    return f;
}

static void test_policies__r7_by_load_where_less_fits(void **state)
{
    const ka_policy_advice *p = advised(scarce(POOL(state)), POOL(state));

    assert_true(p->by_load.proposed);
    assert_int_equal(p->line_n, 1);
    assert_string_equal(p->lines[0], "KAPolicyAdaptive 1 15 50% 90%");
    assert_has(p->by_load.why_not, "no traffic to play");
    p = advised(make_parts(POOL(state)), POOL(state));
    assert_false(p->by_load.proposed); /* 15 s fits */
}

/* 30 workers, five clients a second: 1 s holds 5, 15 s would hold 75. */
static void test_policies__r7_is_played_against_the_block(void **state)
{
    fixture *f = scarce(POOL(state));
    const ka_policy_by_load *by;

    set_crowd(f, S / 5, POOL(state));
    by = &advised(f, POOL(state))->by_load;
    assert_null(by->why_not);
    assert_string_equal(by->traffic, "made for a test");
    assert_int_equal(by->fixed.outcome.timeout_us, S);
    assert_near(by->fixed.outcome.held_mean, 5.05, 0.1);
    assert_int_equal(by->fixed.wait_p99_us, 0);
    assert_true(by->wanted.wait_p99_us > 10 * S);
    assert_near(by->wanted.outcome.held.peak, 30, 0);
    assert_int_equal(by->by_load.outcome.timeout_us, 15 * S);
    assert_int_equal(by->by_load.wait_p99_us, 0);
    assert_true(by->by_load.outcome.held_mean > 15);
    assert_true(by->by_load.cut_waits > 1000);
    f = scarce(POOL(state));
    set_crowd(f, S / 5, POOL(state));
    f->profile->with_service = 0;
    assert_has(advised(f, POOL(state))->by_load.why_not, "service times");
}

/* ---- R1 -------------------------------------------------------------------
 */

static void test_policies__r1_the_proxys_addresses_alone(void **state)
{
    fixture *f = make_parts(POOL(state));
    const ka_policy_advice *p;

    set_memory(f, 20000 * M);
    ka_server_set(&f->server, KA_FACT_PROXY_IDLE, 60 * S, false, "test");
    p = advised(f, POOL(state));
    assert_true(p->by_proxy.proposed);
    assert_int_equal(p->by_proxy.proxy_us, 65 * S);
    assert_int_equal(p->by_proxy.others_us, 15 * S);
    assert_near(p->by_proxy.all.outcome.held_mean, f->outcomes[4].held_mean, 0);
    assert_near(p->by_proxy.none.outcome.held_mean, f->outcomes[3].held_mean,
                0);
    assert_int_equal(p->line_n, 2);
    assert_string_equal(p->lines[0], "KAPolicy keep timeout=15");
    assert_string_equal(p->lines[1],
                        "KAPolicy keep timeout=65 max=0 "
                        "\"expr=%{CONN_REMOTE_ADDR} -ipmatch '10.0.0.0/8'\"");
}

/* ---- in force or not ------------------------------------------------------
 */

#define LOADED                                                                 \
    "LoadModule mpm_prefork_module x.so\nLoadModule kapolicy_module y.so\n"

static void test_policies__in_force_where_httpd_has_the_module(void **state)
{
    static const struct {
        const char *conf;
        bool active;
        const char *said;
    } cases[] = {
        {LOADED, true, "in force"},
        {"LoadModule mpm_prefork_module x.so\n", false, "is not loaded"},
        {LOADED "KAPolicy close served=dynamic\n", false,
         "a rule already (/etc/httpd/test.conf:3)"},
        {LOADED "<Location \"/a\">\nKAPolicy keep\n</Location>\n", false,
         "test.conf:4"}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        fixture *f = make_parts(POOL(state));
        const ka_policy_advice *p;

        set_site(f, TREE(state), cases[i].conf);
        p = advised(f, POOL(state));
        assert_true(p->by_class.proposed);
        assert_int_equal(p->active, cases[i].active);
        assert_has(p->to_use, cases[i].said);
    }
}

/* What was put into force from a file of ours is in the next one, too. */
static void test_policies__what_is_in_force_stays(void **state)
{
    fixture *f = make_parts(POOL(state));
    const ka_policy_advice *p;

    set_site(f, TREE(state),
             LOADED "KAPolicy keep timeout=7 served=static,error\n"
                    "KAPolicy close served=dynamic,proxy\n"
                    "KAPolicy keep timeout=65 \"expr=-R '192.0.2.0/24'\"\n"
                    "KAPolicyAdaptive 1 9 40% 80%\n"
                    "<Location \"/a\">\nKAPolicy close\n</Location>\n");
    p = advised(f, POOL(state));
    assert_true(p->kept && p->active);
    assert_int_equal(p->line_n, 4);
    assert_string_equal(p->lines[0],
                        "KAPolicy keep timeout=7 served=static,error");
    assert_string_equal(p->lines[2],
                        "KAPolicy keep timeout=65 \"expr=-R '192.0.2.0/24'\"");
    assert_string_equal(p->lines[3], "KAPolicyAdaptive 1 9 40% 80%");
    assert_has(p->to_use, "in force already (/etc/httpd/test.conf:3)");
    assert_false(p->by_class.proposed || p->by_load.proposed);
}

/* All of them, however many. */
static void test_policies__no_rule_in_force_is_lost(void **state)
{
    fixture *f = make_parts(POOL(state));
    char *conf = LOADED "KAPolicy close served=dynamic,proxy\n";
    const ka_policy_advice *p;
    int i;

    for (i = 0; i < 40; i++) {
        conf = apr_psprintf(POOL(state), "%sKAPolicy close status=%d\n", conf,
                            400 + i);
    }
    set_site(f, TREE(state), conf);
    p = advised(f, POOL(state));
    assert_true(p->kept);
    assert_int_equal(p->line_n, 41);
    assert_string_equal(p->lines[40], "KAPolicy close status=439");
}

/* By load only where it was played, and nobody waits longer for it than where
 * it fits. */
static void test_policies__by_load_in_force_where_nobody_waits(void **state)
{
    size_t i;

    for (i = 0; i < 2; i++) {
        fixture *f = scarce(POOL(state));

        set_site(f, TREE(state), LOADED);
        if (i) {
            set_crowd(f, S / 5, POOL(state));
        }
        assert_int_equal(advised(f, POOL(state))->active, i);
    }
}

static void test_policies__an_unknown_mpm_may_be_event(void **state)
{
    fixture *f = make_parts(POOL(state));

    f->server.facts[KA_FACT_ID_MPM].known = false;
    assert_true(advised(f, POOL(state))->by_class.proposed);
    assert_true(f->report.policy.not_event);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        hosttree_test(test_policies__r16_each_class_by_its_own_knee),
        hosttree_test(test_policies__m20_from_histograms),
        hosttree_test(test_policies__m20_from_single_requests),
        hosttree_test(test_policies__r16_shortened_until_it_fits),
        hosttree_test(test_policies__r16_only_where_it_pays),
        hosttree_test(test_policies__r16_is_told_among_the_rules),
        hosttree_test(test_policies__r7_by_load_where_less_fits),
        hosttree_test(test_policies__r7_is_played_against_the_block),
        hosttree_test(test_policies__r1_the_proxys_addresses_alone),
        hosttree_test(test_policies__in_force_where_httpd_has_the_module),
        hosttree_test(test_policies__what_is_in_force_stays),
        hosttree_test(test_policies__no_rule_in_force_is_lost),
        hosttree_test(test_policies__by_load_in_force_where_nobody_waits),
        hosttree_test(test_policies__an_unknown_mpm_may_be_event)};

    return unit_main(tests);
}
