/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What mod_kapolicy would do, by all renderers. */
#include <jansson.h>
#include "golden.h"
#include "report_fixture.h"

static const char *lines[] = {"KAPolicy keep timeout=5 served=static,error",
                              "KAPolicy close served=dynamic,proxy",
                              "KAPolicyAdaptive 1 15 50% 90%"};

static ka_policy_side side_of(const fixture *f, size_t i)
{
    return (ka_policy_side){
        .outcome = f->report.high[i],
        .fit = {.workers = 20 + (double)i, .memory_bytes = 300 * FIXTURE_MB}};
}

static fixture *with_policy(apr_pool_t *pool)
{
    fixture *f = fixture_prefork(pool);
    ka_policy_advice *p = &f->report.policy;

    *p = (ka_policy_advice){
        .by_class = {.proposed = true,
                     .after_us = {5000000, KA_TIMEOUT_OFF},
                     .estimated = true,
                     .one = side_of(f, FIXTURE_NOW),
                     .policy = side_of(f, 2),
                     .because = "Closing after dynamic ones frees 2 (R16)."},
        .by_load = {.proposed = true,
                    .adaptive = {1000000, 15000000, 50, 90},
                    .because = "15s is wanted, of which 1s fits (R7)."},
        .lines = lines,
        .line_n = FIXTURE_COUNT(lines),
        .to_use = "Take the # away."};
    p->by_load.by_load.wait_p99_us = 250000;
    p->by_load.by_load.cut_waits = 1234;
    return f;
}

static const char *text_of(const fixture *f)
{
    return fixture_render(ka_render_text, f, NULL);
}

static const char *section(const char *text, apr_pool_t *pool)
{
    const char *from = strstr(text, "By policy");

    return apr_pstrmemdup(pool, from,
                          (size_t)(strstr(from, "\n\nClassic") - from));
}

static void test_policy__people_see_both_beside_each_other(void **state)
{
    fixture *f = with_policy(*state);
    const char *text = text_of(f);

    assert_non_null(strstr(text, "By policy: what mod_kapolicy would do"));
    assert_non_null(strstr(text, "one timeout, 15s"));
    assert_non_null(strstr(text, "static 5s, dynamic Off"));
    assert_non_null(strstr(text, "15s to 1s by load"));
    assert_non_null(strstr(text, "1,234"));
    assert_non_null(
        strstr(text, "\n      KAPolicy close served=dynamic,proxy\n"));
    assert_non_null(strstr(text, "as comments"));
    assert_in_range(golden_width(section(text, *state)), 60, 80);
    f->report.policy.by_load.why_not = "there are no single requests here";
    assert_non_null(strstr(text_of(f), "KAPolicyAdaptive is not predicted"));
    assert_null(strstr(text_of(fixture_prefork(*state)), "By policy"));
}

static const json_t *at(const json_t *root, const char *a, const char *b)
{
    return json_object_get(json_object_get(root, a), b);
}

static void test_policy__programs_see_units(void **state)
{
    fixture *f = with_policy(*state);
    json_t *root = json_loads(fixture_render(ka_render_json, f, NULL), 0, NULL);
    const json_t *policy = json_object_get(root, "policy");

    assert_int_equal(json_array_size(json_object_get(policy, "lines")), 3);
    assert_true(json_is_false(json_object_get(policy, "active")));
    assert_near(json_number_value(at(policy, "by_class", "static_timeout_s")),
                5, 0);
    assert_near(json_number_value(at(policy, "by_class", "dynamic_timeout_s")),
                0, 0);
    assert_near(json_number_value(json_object_get(at(policy, "by_class", "one"),
                                                  "held_mean")),
                f->report.high[FIXTURE_NOW].held_mean, 1e-9);
    assert_near(json_number_value(json_object_get(
                    at(policy, "by_class", "policy"), "memory_bytes")),
                300 * FIXTURE_MB, 0);
    assert_near(json_number_value(json_object_get(
                    at(policy, "by_load", "by_load"), "wait_p99_s")),
                0.25, 0);
    assert_true(json_is_null(json_object_get(policy, "by_proxy")));
    json_decref(root);
    f->report.policy.by_load.why_not = "no";
    root = json_loads(fixture_render(ka_render_json, f, NULL), 0, NULL);
    assert_true(json_is_null(
        at(json_object_get(root, "policy"), "by_load", "by_load")));
    json_decref(root);
}

/* Comments, a line each, until httpd has the module. */
static void test_policy__conf_is_in_force_only_where_it_is_said(void **state)
{
    fixture *f = with_policy(*state);
    const char *text = fixture_render(ka_render_conf, f, NULL);
    size_t i;

    assert_non_null(strstr(text, "\n# <IfModule kapolicy_module>\n"));
    for (i = 0; i < FIXTURE_COUNT(lines); i++) {
        assert_non_null(strstr(
            text, apr_pstrcat(*state, "\n#     ", lines[i], "\n", NULL)));
    }
    assert_null(strstr(text, "\n    KAPolicy"));
    f->report.policy.active = true;
    text = fixture_render(ka_render_conf, f, NULL);
    assert_non_null(strstr(text, "\n<IfModule kapolicy_module>\n    KAPolicy "
                                 "keep timeout=5 served=static,error\n"));
    assert_null(strstr(text, "mpm_event"));
    f->report.policy.not_event = true;
    text = fixture_render(ka_render_conf, f, NULL);
    assert_non_null(strstr(text, "<IfModule !mpm_event_module>\n    KAPolicy"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_policy__people_see_both_beside_each_other),
        unit_test(test_policy__programs_see_units),
        unit_test(test_policy__conf_is_in_force_only_where_it_is_said)};

    return unit_main(tests);
}
