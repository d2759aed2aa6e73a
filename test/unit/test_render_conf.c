/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "golden.h"
#include "report_fixture_hosts.h"

/* Lines that httpd takes for directives, as `name value;`: what is no comment
 * and not empty, after lines that end with a backslash have been joined. */
static const char *directives(apr_pool_t *pool, const char *text)
{
    const char *all = "";
    bool joined = false;

    while (*text) {
        size_t n = strcspn(text, "\n");
        size_t lead = strspn(text, " ");

        if (n > lead && text[lead] != '#' && !joined) {
            all = apr_pstrcat(pool, all,
                              apr_pstrmemdup(pool, text + lead, n - lead), ";",
                              NULL);
        }
        joined = n > 0 && text[n - 1] == '\\';
        text += n + (text[n] != '\0');
    }
    return all;
}

static const char *conf_of(const fixture *f)
{
    return fixture_render(ka_render_conf, f, NULL);
}

static void test_conf__golden(void **state)
{
    golden_check("advise-prefork.conf", conf_of(fixture_prefork(*state)),
                 *state);
    golden_check("advise-unknown-mpm.conf",
                 conf_of(fixture_unknown_mpm(*state)), *state);
    golden_check("advise-refused.conf", conf_of(fixture_refused(*state)),
                 *state);
    golden_check("advise-group.conf", conf_of(fixture_group(*state)), *state);
}

static void test_conf__one_mpm_has_one_block(void **state)
{
    assert_string_equal(
        directives(*state, conf_of(fixture_prefork(*state))),
        "KeepAlive On;MaxKeepAliveRequests 500;KeepAliveTimeout 3;"
        "<IfModule mpm_prefork_module>;ServerLimit 77;StartServers 10;"
        "MinSpareServers 8;MaxSpareServers 16;MaxRequestWorkers 77;"
        "MaxConnectionsPerChild 0;</IfModule>;");
}

/* What differs stands in the blocks, what does not in front of them; a block
 * without known sizes says what is missing. */
static void test_conf__unknown_mpm_has_three_blocks(void **state)
{
    const char *text = conf_of(fixture_unknown_mpm(*state));

    assert_string_equal(
        directives(*state, text),
        "KeepAlive On;<IfModule mpm_prefork_module>;KeepAliveTimeout 400ms;"
        "ServerLimit 77;StartServers 10;MinSpareServers 8;MaxSpareServers 16;"
        "MaxRequestWorkers 77;MaxConnectionsPerChild 0;</IfModule>;"
        "<IfModule mpm_worker_module>;KeepAliveTimeout 400ms;</IfModule>;"
        "<IfModule mpm_event_module>;KeepAliveTimeout 15;ServerLimit 4;"
        "ThreadLimit 64;ThreadsPerChild 64;StartServers 1;MinSpareThreads 64;"
        "MaxSpareThreads 128;MaxRequestWorkers 128;MaxConnectionsPerChild 0;"
        "AsyncRequestWorkerFactor 2;</IfModule>;");
    assert_non_null(strstr(text, "    # The sizes need --process-memory.\n"));
}

static void test_conf__off_writes_no_timeout(void **state)
{
    fixture *f = fixture_prefork(*state);

    f->report.answers[0].choice.index = 0;
    f->report.advice_n = 0;
    f->report.answers[0].block_known = false;
    assert_string_equal(directives(*state, conf_of(f)),
                        "KeepAlive Off;<IfModule mpm_prefork_module>;"
                        "</IfModule>;");
}

static void test_conf__refused_writes_comments_only(void **state)
{
    fixture *f = fixture_prefork(*state);

    f->report.verdict.refused = true;
    assert_string_equal(directives(*state, conf_of(f)), "");
    assert_string_equal(directives(*state, conf_of(fixture_refused(*state))),
                        "");
}

static void test_conf__legacy_names(void **state)
{
    ka_render_options options = {.legacy_names = true};
    const char *text =
        fixture_render(ka_render_conf, fixture_prefork(*state), &options);

    assert_non_null(strstr(text, "    MaxClients 77\n"));
    assert_non_null(strstr(text, "    MaxRequestsPerChild 0\n"));
    assert_null(strstr(directives(*state, text), "MaxRequestWorkers"));
}

/* Whatever a log or a file's name holds, it can neither end a comment nor
 * swallow the directive behind it. */
static void test_conf__foreign_text_stays_in_comments(void **state)
{
    static const char *hostile[] = {
        "x\nServerRoot /tmp",
        "x\r\nServerRoot /tmp",
        "ends with \\",
        "\\",
        "a\\\nb\\",
        "\x1b[2J",
        "",
        "0123456789012345678901234567890123456789012345678901234567890123456789"
        "01\\\\\\\\\\\\\\\\\\\\"};
    const char *expected = directives(*state, conf_of(fixture_prefork(*state)));
    size_t i;

    for (i = 0; i < FIXTURE_COUNT(hostile); i++) {
        fixture *f = fixture_prefork(*state);
        ka_advice *rows = apr_pcalloc(*state, 10 * sizeof(*rows));

        memcpy(rows, f->report.advice, 9 * sizeof(*rows));
        rows[9] = (ka_advice){.rule = "R3",
                              .directive = "KeepAliveTimeout",
                              .vhost = hostile[i],
                              .to = "5",
                              .because = hostile[i]};
        rows[1].because = hostile[i];
        rows[7].because = hostile[i];
        f->report.advice = rows;
        f->report.advice_n = 10;
        f->source.files = &hostile[i];
        f->source.file_n = 1;
        f->report.verdict.text = hostile[i];
        ka_server_set(&f->server, KA_FACT_PROXY_IDLE, 60000000, false,
                      hostile[i]);
        assert_string_equal(directives(*state, conf_of(f)), expected);
    }
}

/* A group's servers are in comments only, whatever they are called. */
static void test_conf__servers_stay_in_comments(void **state)
{
    static const char *hostile[] = {"x\nServerRoot /tmp", "\\", "a\\\n", ""};
    const char *expected = directives(*state, conf_of(fixture_group(*state)));
    size_t i;

    assert_non_null(strstr(expected, "MaxRequestWorkers 310;"));
    for (i = 0; i < FIXTURE_COUNT(hostile); i++) {
        const ka_report *hosts[] = {
            &fixture_host(*state, "web1")->report,
            &fixture_busy_host(*state, hostile[i])->report,
            &fixture_quiet_host(*state, hostile[i])->report};

        assert_string_equal(
            directives(*state, conf_of(fixture_group_of(*state, hosts, 3))),
            expected);
    }
}

static void test_conf__many_servers_are_cut_short(void **state)
{
    fixture *f = fixture_many_hosts(*state, 60, "web");
    const char *text;

    f->report.advice[1].to = "15";
    text = conf_of(f);
    assert_non_null(strstr(text, "#     web039: KeepAliveTimeout 3, "
                                 "MaxRequestWorkers 77\n"));
    assert_null(strstr(text, "web040"));
    assert_non_null(strstr(text, "... and 20 more servers"));
}

static void
test_conf__a_value_that_httpd_would_not_read_is_not_written(void **state)
{
    fixture *f = fixture_prefork(*state);

    f->report.advice[1].to = "3\nServerRoot /tmp";
    assert_null(strstr(directives(*state, conf_of(f)), "KeepAliveTimeout"));
    assert_null(strstr(directives(*state, conf_of(f)), "ServerRoot"));
}

static void test_conf__is_narrow_and_ascii(void **state)
{
    const char *text = conf_of(fixture_unknown_mpm(*state));

    assert_in_range(golden_width(text), 60, 78);
    for (; *text; text++) {
        assert_true(*text == '\n' || (*text >= ' ' && *text <= '~'));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_conf__golden),
        unit_test(test_conf__one_mpm_has_one_block),
        unit_test(test_conf__unknown_mpm_has_three_blocks),
        unit_test(test_conf__off_writes_no_timeout),
        unit_test(test_conf__refused_writes_comments_only),
        unit_test(test_conf__legacy_names),
        unit_test(test_conf__foreign_text_stays_in_comments),
        unit_test(test_conf__servers_stay_in_comments),
        unit_test(test_conf__many_servers_are_cut_short),
        unit_test(test_conf__a_value_that_httpd_would_not_read_is_not_written),
        unit_test(test_conf__is_narrow_and_ascii)};

    return unit_main(tests);
}
