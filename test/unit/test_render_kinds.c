/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Kinds of content, single virtual hosts and backends, by all renderers. */
#include "golden.h"
#include "report_fixture_hosts.h"

static const char *lines[] = {
    "SetEnvIf Request_URI \"^\" nokeepalive",
    "SetEnvIfNoCase Request_URI \"\\.(avif|css|gif|ico|jpeg|jpg|js|png|svg|"
    "webp|woff|woff2)$\" !nokeepalive"};

static fixture *with_kinds(apr_pool_t *pool)
{
    fixture *f = fixture_prefork(pool);

    f->report.by_class = (ka_by_class){
        .known = true,
        .timeout_us = 3000000,
        .verdict = "Closing after dynamic ones frees 2 workers (R16).",
        .lines = lines,
        .line_n = FIXTURE_COUNT(lines),
        .classes = {{.requests_share = 0.8,
                     .busy_known = true,
                     .service_s = 0.005,
                     .busy_mean = 0.25,
                     .busy_peak = 3,
                     .idle_known = true,
                     .reuse = 0.9,
                     .idle_mean = 1.5,
                     .alone_us = 3000000,
                     .alone_longer = true},
                    {.requests_share = 0.2,
                     .idle_known = true,
                     .reuse = 0.01,
                     .idle_mean = 2.5,
                     .alone_us = KA_TIMEOUT_OFF,
                     .close_pays = true}}};
    return f;
}

static void test_kinds__people_see_both(void **state)
{
    const char *text =
        fixture_render(ka_render_text, with_kinds(*state), NULL);

    assert_non_null(strstr(text, "By kind of content (T = 3s)"));
    assert_non_null(strstr(text, ">= 3s"));
    assert_non_null(strstr(text, "Off\n"));
    assert_non_null(strstr(text, "frees 2 workers"));
    assert_non_null(strstr(text, "--output conf has the lines"));
    assert_null(strstr(fixture_render(ka_render_text, fixture_prefork(*state),
                                      NULL),
                       "By kind of content"));
}

/* What is not known is null, never a zero. */
static void test_kinds__programs_see_what_is_known(void **state)
{
    const char *text =
        fixture_render(ka_render_json, with_kinds(*state), NULL);
    const char *dynamic = strstr(strstr(text, "\"classes_advice\""),
                                 "\"dynamic\"");

    assert_non_null(dynamic);
    assert_non_null(strstr(text, "\"busy_peak\": 3"));
    assert_non_null(strstr(dynamic, "\"busy_peak\": null"));
    assert_non_null(strstr(dynamic, "\"alone_keep_alive\": false"));
    assert_non_null(strstr(dynamic, "\"close_pays\": true"));
    assert_non_null(strstr(text, "!nokeepalive"));
}

/* Each is one line of a comment, that becomes a directive without its `#`. */
static void test_kinds__conf_has_lines_to_take_over(void **state)
{
    const char *text =
        fixture_render(ka_render_conf, with_kinds(*state), NULL);
    size_t i;

    for (i = 0; i < FIXTURE_COUNT(lines); i++) {
        assert_non_null(
            strstr(text, apr_pstrcat(*state, "\n#     ", lines[i], "\n",
                                     NULL)));
    }
    assert_null(strstr(text, "\nSetEnvIf"));
}

static void test_kinds__conf_names_sections_and_files(void **state)
{
    fixture *f = with_kinds(*state);
    ka_report *r = &f->report;
    ka_advice *rows = apr_pcalloc(*state, 3 * sizeof(*rows));
    const char *text;

    rows[0] = (ka_advice){.rule = "R3",
                          .directive = "KeepAliveTimeout",
                          .vhost = "a.example\n\\",
                          .where = "/etc/a.conf:7",
                          .to = "1",
                          .change = true,
                          .because = "sooner.",
                          .applies = "reload"};
    rows[1] = (ka_advice){.rule = "R17",
                          .directive = "pm.max_children",
                          .where = "/etc/www.conf:9",
                          .from = "5",
                          .to = "8",
                          .change = true,
                          .because = "more at once.",
                          .applies = "reload"};
    rows[2] = rows[1];
    rows[2].directive = "FcgidMaxProcesses";
    rows[2].change = false;
    r->advice = rows;
    r->advice_n = 3;
    text = fixture_render(ka_render_conf, f, NULL);
    assert_non_null(strstr(text, "# In the <VirtualHost> of a.example\\x0a\\ "
                                 "(/etc/a.conf:7):\n#     KeepAliveTimeout "
                                 "1\n"));
    assert_non_null(strstr(text, "# pm.max_children 8 at /etc/www.conf:9 "
                                 "instead of 5:\n# more at once.\n"));
    assert_null(strstr(text, "FcgidMaxProcesses"));
    assert_null(strstr(text, "\npm.max_children"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_kinds__people_see_both),
        unit_test(test_kinds__programs_see_what_is_known),
        unit_test(test_kinds__conf_has_lines_to_take_over),
        unit_test(test_kinds__conf_names_sections_and_files)};

    return unit_main(tests);
}
