/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What `simulate` makes of KAPolicy and KAPolicyAdaptive in a configuration. */
#include "hosttree.h"

#include "commands/simulate.h"

#define SEC INT64_C(1000000)
#define OFF KA_TIMEOUT_OFF
#define STAYS KA_POLICY_STAYS

typedef struct read_side {
    ka_sim_side side;
    apr_array_header_t *remarks;
} read_side;

static read_side *read_policy(void **state, ka_mpm mpm, const char *text)
{
    hosttree *tree = *state;
    read_side *r = apr_pcalloc(tree->pool, sizeof(*r));
    ka_cfg_tree *cfg = hosttree_read(
        tree, apr_pstrcat(tree->pool, "LoadModule kapolicy_module x.so\n", text,
                          NULL));
    const ka_fact *on;

    r->side.mpm = mpm;
    ka_settings_read(&r->side.settings, cfg, mpm);
    on = &r->side.settings.facts[KA_SETTING_KEEP_ALIVE];
    r->side.config.timeout_us =
        on->value ? r->side.settings.facts[KA_SETTING_KEEP_ALIVE_TIMEOUT].value
                  : OFF;
    r->remarks = apr_array_make(tree->pool, 4, sizeof(const char *));
    ka_simulate_policy(&r->side, r->remarks, cfg, tree->pool);
    return r;
}

static const char *remark_at(const read_side *r, int i)
{
    assert_true(i < r->remarks->nelts);
    return APR_ARRAY_IDX(r->remarks, i, const char *);
}

static void test_simulate_policy__what_a_log_can_be_asked(void **state)
{
    static const struct {
        const char *text;
        int64_t fixed_us, dynamic_us, other_us;
    } cases[] = {
        {"KAPolicy close served=dynamic", STAYS, OFF, 5 * SEC},
        {"KAPolicy close served=dynamic,proxy\nKAPolicy keep timeout=2.5 "
         "served=static,error",
         5 * SEC / 2, OFF, 5 * SEC},
        {"KAPolicy timeout=400ms", 2 * SEC / 5, 2 * SEC / 5, 5 * SEC},
        /* The last word counts, and keep is as configured. */
        {"KAPolicy close\nKAPolicy keep served=STATIC", 5 * SEC, OFF, 5 * SEC},
        {"KAPolicy timeout=9\nKAPolicy keep served=static\nKeepAliveTimeout 7",
         7 * SEC, 9 * SEC, 7 * SEC},
        /* Which is an exception from KeepAlive Off. */
        {"KeepAlive Off\nKAPolicy keep served=static", 5 * SEC, STAYS, OFF},
        {"KAPolicyAdaptive 1 20\nKAPolicy keep served=static", 20 * SEC, STAYS,
         20 * SEC}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const read_side *r = read_policy(state, KA_MPM_PREFORK, cases[i].text);
        const ka_policy *p = r->side.config.policy;

        assert_ptr_equal(p, &r->side.policy);
        assert_true(p->after_us[KA_CLASS_STATIC] == cases[i].fixed_us);
        assert_true(p->after_us[KA_CLASS_DYNAMIC] == cases[i].dynamic_us);
        assert_true(p->other_us == cases[i].other_us);
        assert_int_equal(r->remarks->nelts, 0);
        assert_true(r->side.rule_n > 0 && r->side.rules[0].obeyed);
    }
}

static void test_simulate_policy__what_it_cannot_is_said(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"KAPolicy close served=proxy", "what was proxied"},
        {"KAPolicy close type=image/*", "type=image/* is not what a log"},
        {"KAPolicy close size=1M-", "size=1M- is not"},
        {"KAPolicy close served=static \"expr=-R '10.0.0.0/8'\"",
         "expr=-R '10.0.0.0/8' is not"},
        {"KAPolicy keep timeout=never", "never is no time"},
        {"KAPolicy max=5", "max= is not simulated"},
        {"KAPolicy served=static", "asks for nothing"},
        {"<Location \"/api\">\nKAPolicy close\n</Location>",
         "stands in <Location \"/api\">"},
        {"KAPolicy", "asks for nothing"},
        {"KAPolicy close served=", "what was proxied"},
        {"KAPolicy keep timeout=", " is no time"},
        {"KAPolicyAdaptive", "httpd would refuse it"},
        {"KAPolicyAdaptive 1 9999999999999999999d", "httpd would refuse it"},
        {"KAPolicyAdaptive 1 5 -1% 5%", "httpd would refuse it"},
        {"KAPolicyAdaptive 5 1", "httpd would refuse it"},
        {"KAPolicyAdaptive 1 5 90% 50%", "httpd would refuse it"},
        {"KAPolicyAdaptive 1 5 50", "httpd would refuse it"},
        {"KAPolicyAdaptive 1 5 50% 101%", "httpd would refuse it"}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const read_side *r = read_policy(state, KA_MPM_PREFORK, cases[i].text);

        assert_int_equal(r->remarks->nelts, 1);
        assert_has(remark_at(r, 0), cases[i].why);
        assert_has(remark_at(r, 0), "test.conf:");
        assert_null(r->side.config.policy);
        assert_null(r->side.config.adaptive);
        assert_int_equal(r->side.rule_n, 1);
        assert_false(r->side.rules[0].obeyed);
    }
}

static void test_simulate_policy__a_part_is_left_out(void **state)
{
    const read_side *r = read_policy(state, KA_MPM_PREFORK,
                                     "KAPolicy close max=9 served=dynamic");

    assert_has(remark_at(r, 0), "max=9 is left out");
    assert_true(r->side.policy.after_us[KA_CLASS_DYNAMIC] == OFF);
}

static void test_simulate_policy__by_load(void **state)
{
    const read_side *r =
        read_policy(state, KA_MPM_WORKER, "KAPolicyAdaptive 500ms 15 40% 80");
    const ka_adaptive *a = r->side.config.adaptive;

    assert_int_equal(a->min_us, SEC / 2);
    assert_int_equal(a->max_us, 15 * SEC);
    assert_int_equal(a->low, 40);
    assert_int_equal(a->high, 80);
    assert_null(r->side.config.policy);
    a = read_policy(state, KA_MPM_WORKER, "KAPolicyAdaptive 0 1")
            ->side.config.adaptive;
    assert_int_equal(a->low, 50);
    assert_int_equal(a->high, 90);
}

/* There httpd refuses what is longer than KeepAliveTimeout. */
static void test_simulate_policy__event_waits_no_longer(void **state)
{
    const read_side *r =
        read_policy(state, KA_MPM_EVENT,
                    "KAPolicy timeout=60 served=static\nKAPolicyAdaptive 9 20");

    assert_int_equal(r->remarks->nelts, 2);
    assert_has(remark_at(r, 0), "httpd would not start");
    assert_int_equal(r->side.policy.after_us[KA_CLASS_STATIC], 5 * SEC);
    assert_int_equal(r->side.adaptive.max_us, 5 * SEC);
    assert_int_equal(r->side.adaptive.min_us, 5 * SEC);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        hosttree_test(test_simulate_policy__what_a_log_can_be_asked),
        hosttree_test(test_simulate_policy__what_it_cannot_is_said),
        hosttree_test(test_simulate_policy__a_part_is_left_out),
        hosttree_test(test_simulate_policy__by_load),
        hosttree_test(test_simulate_policy__event_waits_no_longer)};

    return unit_main(tests);
}
