/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * R3: what virtual hosts ask for by their own traffic, and their traps. */
#include "parts_fixture.h"

#include "advice/parts.h"
#include "advice/vhosts.h"

/* T0 is 5 s; for all together 15 s is proposed. */
static const char four[] = "LoadModule mpm_prefork_module x.so\n"
                           "KeepAliveTimeout 5\n"
                           "<VirtualHost *:80>\n"
                           "ServerName shop.example\n"
                           "</VirtualHost>\n"
                           "<VirtualHost *:80>\n"
                           "ServerName img.example\n"
                           "</VirtualHost>\n"
                           "<VirtualHost *:443>\n"
                           "ServerName IMG.example:443\n"
                           "</VirtualHost>\n"
                           "<VirtualHost *:80>\n"
                           "ServerName www.api.example\n"
                           "ServerAlias *.other api.example\n"
                           "</VirtualHost>\n";

/* ---- parts -------------------------------------------------------------- */

static void test_parts__idle_times_add_up_to_the_whole(void **state)
{
    fixture *f = make_parts(POOL(state));
    size_t i, k;

    for (i = 1; i < SITE_N; i++) {
        double sum = 0;

        for (k = 0; k < PARTS; k++) {
            sum += ka_part_at(&f->report, &f->profile->vhosts[k], i).idle_mean;
        }
        /* Histograms are linear within a bin: 1/16 of a gap. */
        assert_near(sum, f->outcomes[i].idle_mean, 0.01 * sum);
    }
}

static void test_parts__followed_within_the_timeout(void **state)
{
    fixture *f = make_parts(POOL(state));
    const ka_traffic *shop = &f->profile->vhosts[SHOP];

    assert_near(ka_part_at(&f->report, shop, 0).reuse, 0, 0);
    assert_near(ka_part_at(&f->report, shop, 1).reuse, 0, 0);
    assert_near(ka_part_at(&f->report, shop, NOW).reuse, 0.8, 1e-9);
}

static void test_parts__knee_of_a_part(void **state)
{
    static const struct {
        int part;
        int64_t timeout_us;
    } cases[] = {{IMG, S}, {API, KA_TIMEOUT_OFF}, {SHOP, 5 * S}};
    fixture *f = make_parts(POOL(state));
    size_t last = ka_part_last(&f->report, 5 * S), i;

    assert_int_equal(last, NOW);
    assert_int_equal(ka_part_last(&f->report, 4 * S), NOW - 1);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t knee = ka_part_knee(
            &f->report, &f->profile->vhosts[cases[i].part], last, 0.01);

        assert_int_equal(f->outcomes[knee].timeout_us, cases[i].timeout_us);
    }
    f->profile->longer_known = true;
    assert_int_equal(ka_part_last(&f->report, 5 * S), SITE_N - 1);
}

/* ---- rows --------------------------------------------------------------- */

static void test_vhosts__r3_shorter_where_requests_follow_sooner(void **state)
{
    fixture *f = make_parts(POOL(state));
    const ka_advice *row = row_of_vhost(advise(f, POOL(state)), "img.example");

    assert_non_null(row);
    assert_string_equal(row->rule, "R3");
    assert_string_equal(row->directive, "KeepAliveTimeout");
    assert_string_equal(row->to, "1");
    assert_null(row->from); /* no configuration was read */
    assert_true(row->change);
    assert_null(row->where);
    assert_has(row->because, "at 15s, as proposed for all");
    assert_has(row->because, "9,001 requests");
}

static void test_vhosts__r14_off_where_none_is_followed(void **state)
{
    fixture *f = make_parts(POOL(state));
    const ka_advice *row = row_of_vhost(advise(f, POOL(state)), "api.example");

    assert_non_null(row);
    assert_string_equal(row->rule, "R14");
    assert_string_equal(row->directive, "KeepAlive");
    assert_string_equal(row->to, "Off");
}

/* Gaps that reach up to T0 say nothing about what would be enough. */
static void test_vhosts__what_t0_cuts_asks_for_nothing(void **state)
{
    fixture *f = make_parts(POOL(state));

    assert_null(row_of_vhost(advise(f, POOL(state)), "shop.example"));
}

static void test_vhosts__r13_too_few_requests_are_not_judged(void **state)
{
    fixture *f = make_parts(POOL(state));
    ka_report *r = advise(f, POOL(state));

    assert_null(row_of_vhost(r, "rare.example"));
    assert_has(warning_of(r, "several_vhosts"),
               "1 virtual host has under 1,000 requests");
    f = make_parts(POOL(state));
    f->profile->vhosts[RARE].requests = 1000;
    r = advise(f, POOL(state));
    assert_non_null(row_of_vhost(r, "rare.example"));
    assert_null(strstr(warning_of(r, "several_vhosts"), "under 1,000"));
}

/* 60 s between: worth 600 of 5,100 connections, if it fits at all. */
static fixture *with_long_gaps(int64_t memory, apr_pool_t *pool)
{
    fixture *f = make_parts(pool);

    f->profile->longer_known = true;
    ka_hist_add_n(&f->profile->vhosts[SHOP].longer, 60 * S, 600);
    ka_hist_add_n(&f->profile->total.longer, 60 * S, 600);
    ka_server_set(&f->server, KA_FACT_MEMORY, memory, false, "test");
    return f;
}

static void test_vhosts__longer_only_where_the_whole_fits(void **state)
{
    fixture *f = with_long_gaps(20000 * M, POOL(state));
    const ka_advice *row =
        row_of_vhost(advise(f, POOL(state)), "shop.example");

    assert_non_null(row);
    assert_string_equal(row->to, "65");
    assert_int_equal(row->confidence, KA_CONFIDENCE_MEDIUM);
    assert_has(row->because, "fit even with it");
    f = with_long_gaps(2000 * M, POOL(state));
    assert_null(row_of_vhost(advise(f, POOL(state)), "shop.example"));
    f = with_long_gaps(20000 * M, POOL(state));
    f->server.facts[KA_FACT_MEMORY].known = false;
    assert_null(row_of_vhost(advise(f, POOL(state)), "shop.example"));
}

static void test_vhosts__on_event_idle_ones_hold_no_worker(void **state)
{
    fixture *f = make_parts(POOL(state));

    ka_server_set(&f->server, KA_FACT_ID_MPM, KA_MPM_EVENT, false, "test");
    assert_null(row_of_vhost(advise(f, POOL(state)), "img.example"));
    assert_null(row_of_vhost(&f->report, "api.example"));
}

static void test_vhosts__r1_behind_a_proxy_all_outlast_it(void **state)
{
    fixture *f = make_parts(POOL(state));

    ka_server_set(&f->server, KA_FACT_PROXY_IDLE, 60 * S, false, "test");
    assert_null(row_of_vhost(advise(f, POOL(state)), "img.example"));
}

static void test_vhosts__one_alone_is_the_whole(void **state)
{
    fixture *f = make_parts(POOL(state));

    f->profile->vhost_n = 1;
    assert_null(row_of_vhost(advise(f, POOL(state)), "img.example"));
    assert_null(warning_of(&f->report, "several_vhosts"));
}

static void test_vhosts__nothing_to_say_is_one_sentence(void **state)
{
    fixture *f = make_parts(POOL(state));
    ka_report *r;

    f->profile->vhosts[IMG].requests = f->profile->vhosts[API].requests = 0;
    r = advise(f, POOL(state));
    assert_has(warning_of(r, "several_vhosts"), "None asks for another");
}

/* ---- by the configuration ------------------------------------------------ */

static void test_vhosts__present_value_and_place(void **state)
{
    fixture *f = make_parts(POOL(state));
    const ka_advice *row;
    ka_report *r;

    set_site(f, TREE(state), four);
    r = advise(f, POOL(state));
    row = row_of_vhost(r, "img.example");
    assert_string_equal(row->from, "5");
    assert_string_equal(
        row->where, "/etc/httpd/test.conf:6, /etc/httpd/test.conf:9");
    assert_true(row->change);
    /* the only one at *:443, and behind shop.example at *:80 */
    assert_null(strstr(row->because, "first of its address"));
    row = row_of_vhost(r, "api.example"); /* by an alias */
    assert_string_equal(row->from, "On");
    assert_string_equal(row->where, "/etc/httpd/test.conf:12");
    assert_null(strstr(warning_of(r, "several_vhosts"), "takes"));
}

static void test_vhosts__what_is_set_already_does_not_change(void **state)
{
    fixture *f = make_parts(POOL(state));
    const ka_advice *row;

    f->profile->longer_known = true; /* so 1 s does not cut it */
    set_site(f, TREE(state),
             "LoadModule mpm_prefork_module x.so\n<VirtualHost *:80>\n"
             "ServerName img.example\nKeepAliveTimeout 1\n</VirtualHost>\n"
             "<VirtualHost *:80>\nServerName api.example\nKeepAlive Off\n"
             "</VirtualHost>\n");
    row = row_of_vhost(advise(f, POOL(state)), "img.example");
    assert_string_equal(row->from, "1");
    assert_false(row->change);
    row = row_of_vhost(&f->report, "api.example");
    assert_string_equal(row->from, "Off");
    assert_false(row->change);
}

static void test_vhosts__r3_the_first_gives_its_value_to_others(void **state)
{
    fixture *f = make_parts(POOL(state));

    set_site(f, TREE(state),
             "<VirtualHost *:80>\nServerName img.example\n</VirtualHost>\n"
             "<VirtualHost *:80>\nServerName shop.example\n</VirtualHost>\n");
    assert_has(row_of_vhost(advise(f, POOL(state)), "img.example")->because,
               "first of its address");
}

/* One that waits only a second now shows no gap that is longer. */
static void test_vhosts__its_own_timeout_cuts_it(void **state)
{
    fixture *f = make_parts(POOL(state));

    set_site(f, TREE(state),
             "LoadModule mpm_prefork_module x.so\n<VirtualHost *:80>\n"
             "ServerName img.example\nKeepAliveTimeout 1\n</VirtualHost>\n");
    assert_null(row_of_vhost(advise(f, POOL(state)), "img.example"));
}

/* ---- traps --------------------------------------------------------------- */

static void test_vhosts__r3_traps_have_their_places(void **state)
{
    static const struct {
        const char *id, *conf, *says;
    } cases[] = {
        {"vhost_overrides",
         "<VirtualHost *:80>\nServerName a\nKeepAliveTimeout 15\n"
         "</VirtualHost>",
         "KeepAliveTimeout 15 of a (/etc/httpd/test.conf:4)"},
        {"vhost_overrides",
         "<VirtualHost *:80>\nServerName a\nKeepAlive Off\n</VirtualHost>",
         "KeepAlive Off of a (/etc/httpd/test.conf:4)"},
        {"vhost_first_of_address",
         "<VirtualHost *:80>\nServerName a\nKeepAliveTimeout 30\n"
         "</VirtualHost>\n<VirtualHost *:80>\nServerName b\n</VirtualHost>",
         "b (/etc/httpd/test.conf:6) waits 30s, which a sets at "
         "/etc/httpd/test.conf:4"},
        {"vhost_timeout_zero",
         "<VirtualHost *:80>\nServerName a\nKeepAliveTimeout 0\n"
         "</VirtualHost>",
         "of a (/etc/httpd/test.conf:4)"},
        {"timeout_below_second",
         "<VirtualHost *:80>\nServerName a\nKeepAliveTimeout 400ms\n"
         "</VirtualHost>",
         "400ms of a (/etc/httpd/test.conf:4)"}};
    fixture *f;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        f = make_parts(POOL(state));
        set_site(f, TREE(state), four);
        assert_null(warning_of(advise(f, POOL(state)), cases[i].id));
        f = make_parts(POOL(state));
        set_site(f, TREE(state),
                 apr_pstrcat(POOL(state), "ServerName main\n", cases[i].conf,
                             NULL));
        assert_has(warning_of(advise(f, POOL(state)), cases[i].id),
                   cases[i].says);
    }
}

static void test_vhosts__a_zero_overrides_nothing(void **state)
{
    fixture *f = make_parts(POOL(state));

    set_site(f, TREE(state),
             "<VirtualHost *:80>\nServerName a\nKeepAliveTimeout 0\n"
             "</VirtualHost>");
    assert_null(warning_of(advise(f, POOL(state)), "vhost_overrides"));
}

static void test_vhosts__long_lists_are_counted(void **state)
{
    const char *text = "";
    fixture *f = make_parts(POOL(state));
    int i;

    for (i = 0; i < 30; i++) {
        text = apr_psprintf(POOL(state),
                            "%s<VirtualHost *:80>\nServerName v%d\n"
                            "KeepAlive Off\n</VirtualHost>\n",
                            text, i);
    }
    set_site(f, TREE(state), text);
    assert_has(warning_of(advise(f, POOL(state)), "vhost_overrides"),
               "and 22 more");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        hosttree_test(test_parts__idle_times_add_up_to_the_whole),
        hosttree_test(test_parts__followed_within_the_timeout),
        hosttree_test(test_parts__knee_of_a_part),
        hosttree_test(test_vhosts__r3_shorter_where_requests_follow_sooner),
        hosttree_test(test_vhosts__r14_off_where_none_is_followed),
        hosttree_test(test_vhosts__what_t0_cuts_asks_for_nothing),
        hosttree_test(test_vhosts__r13_too_few_requests_are_not_judged),
        hosttree_test(test_vhosts__longer_only_where_the_whole_fits),
        hosttree_test(test_vhosts__on_event_idle_ones_hold_no_worker),
        hosttree_test(test_vhosts__r1_behind_a_proxy_all_outlast_it),
        hosttree_test(test_vhosts__one_alone_is_the_whole),
        hosttree_test(test_vhosts__nothing_to_say_is_one_sentence),
        hosttree_test(test_vhosts__present_value_and_place),
        hosttree_test(test_vhosts__what_is_set_already_does_not_change),
        hosttree_test(test_vhosts__r3_the_first_gives_its_value_to_others),
        hosttree_test(test_vhosts__its_own_timeout_cuts_it),
        hosttree_test(test_vhosts__r3_traps_have_their_places),
        hosttree_test(test_vhosts__a_zero_overrides_nothing),
        hosttree_test(test_vhosts__long_lists_are_counted)};

    return unit_main(tests);
}
