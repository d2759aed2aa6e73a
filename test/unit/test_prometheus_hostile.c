/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Answers that are none, and what the client of Prometheus refuses. */
#include "unit.h"

#include "prometheus_asked.h"
#include "sources/prometheus_http.h"

/* ---- answers that are none ---------------------------------------------- */

static void
test_prometheus_take__numbers_that_are_none_are_left_out(void **state)
{
    static const char *const values[] = {"NaN", "+Inf", "-Inf",  "-1", "",
                                         "x",   "1x",   "1e300", "0x", " "};
    size_t i;

    for (i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        ka_prom *prom = prom_make(*state);
        const char *error;
        const char *text = apr_psprintf(
            *state, VECTOR(SAMPLE(",\"vhost\":\"v\",\"le\":\"1\"", "%s")),
            values[i]);

        assert_int_equal(take(prom, &error, GAPS, KA_PROM_INCREASE, text),
                         APR_SUCCESS);
        ka_prom_settle(prom);
        assert_int_equal(prom->refused, 1);
        assert_int_equal(
            prom->servers[0]->vhosts[0]->dist[KA_PROM_GAP].buckets.n, 0);
    }
}

static void
test_prometheus_take__bounds_that_are_none_are_left_out(void **state)
{
    static const char *const labels[] = {"",
                                         ",\"le\":\"\"",
                                         ",\"le\":\"x\"",
                                         ",\"le\":\"-1\"",
                                         ",\"le\":\"NaN\"",
                                         ",\"le\":\"1e99\"",
                                         ",\"le\":5",
                                         ",\"le\":\"-Inf\""};
    size_t i;

    for (i = 0; i < sizeof(labels) / sizeof(labels[0]); i++) {
        ka_prom *prom = prom_make(*state);
        const char *error;
        const char *text = apr_psprintf(
            *state, VECTOR(SAMPLE(",\"vhost\":\"v\"%s", "1")), labels[i]);

        take(prom, &error, GAPS, KA_PROM_INCREASE, text);
        assert_int_equal(prom->refused, 1);
    }
}

/* Whatever its pieces are, none of it is taken for something else. */
static void
test_prometheus_take__wrong_types_give_a_sentence_or_nothing(void **state)
{
    static const char *const texts[] = {
        "",
        "null",
        "[]",
        "5",
        "{",
        "\"x\"",
        "{\"status\":5}",
        "{\"status\":\"success\"}",
        "{\"status\":\"success\",\"data\":[]}",
        "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\"}}",
        "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\","
        "\"result\":{}}}",
        "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\","
        "\"result\":[]}}",
        VECTOR("") "x",
        "<html>hello</html>"};
    static const char *const results[] = {
        "5",
        "null",
        "[]",
        "{}",
        "{\"metric\":5}",
        "{\"metric\":[]}",
        "{\"metric\":{},\"value\":5}",
        "{\"metric\":{},\"value\":[]}",
        "{\"metric\":{},\"value\":[1]}",
        "{\"metric\":{},\"value\":[1,2]}",
        "{\"metric\":{},\"value\":[\"1\",\"2\"]}",
        "{\"metric\":{},\"value\":[-1,\"2\"]}",
        "{\"metric\":{\"job\":5,\"instance\":{}},\"value\":{}}"};
    const char *error;
    size_t i;

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_int_equal(
            take(prom_make(*state), &error, GAPS, KA_PROM_INCREASE, texts[i]),
            APR_EGENERAL);
        assert_non_null(strstr(error, URL));
        assert_non_null(strstr(error, "HTTP API v1"));
    }
    for (i = 0; i < sizeof(results) / sizeof(results[0]); i++) {
        ka_prom *prom = prom_make(*state);

        assert_int_equal(take(prom, &error, GAPS, KA_PROM_INCREASE,
                              apr_psprintf(*state, VECTOR("%s"), results[i])),
                         APR_SUCCESS);
        ka_prom_settle(prom);
        assert_int_equal(prom->refused, 1);
    }
}

static void
test_prometheus_take__no_is_said_in_their_words_escaped(void **state)
{
    ka_prom *prom = prom_make(*state);
    ka_prom_answer answer = json_of(
        "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"1:5: "
        "parse error \\u001b[31mred\"}");
    const char *error;
    size_t taken;

    answer.status = 400;
    assert_int_equal(ka_prom_take(prom, &taken, &error,
                                  row_of(GAPS, KA_PROM_INCREASE), &answer),
                     APR_EGENERAL);
    assert_string_equal(error, URL ": Prometheus says: 1:5: parse error "
                                   "\\x1b[31mred");
    take(prom, &error, GAPS, KA_PROM_INCREASE,
         "{\"status\":\"error\",\"error\":\"unknown function with name "
         "\\\"last_over_time\\\"\"}");
    assert_non_null(strstr(error, "2.26 or later"));
    take(prom, &error, GAPS, KA_PROM_INCREASE, "{\"status\":\"error\"}");
    assert_non_null(strstr(error, "without a reason"));
}

static void test_prometheus_take__no_api_there(void **state)
{
    ka_prom *prom = prom_make(*state);
    ka_prom_answer answer = json_of("<html>not here</html>");
    const char *error;
    size_t taken;

    answer.status = 404;
    answer.type = "text/html\033[1m";
    ka_prom_take(prom, &taken, &error, row_of(GAPS, KA_PROM_INCREASE), &answer);
    assert_non_null(strstr(error, "/api/v1/query (HTTP 404)"));
    answer.status = 200;
    ka_prom_take(prom, &taken, &error, row_of(GAPS, KA_PROM_INCREASE), &answer);
    assert_non_null(strstr(error, "text/html\\x1b[1m"));
}

static void test_prometheus_take__too_many_servers_are_refused(void **state)
{
    ka_prom *prom = prom_make(*state);
    const char *error;
    apr_status_t rv = APR_SUCCESS;
    int i;

    for (i = 0; i <= KA_PROM_SERVERS_MAX && !rv; i++) {
        rv = take(prom, &error, "kastats_observed_seconds_total",
                  KA_PROM_INCREASE,
                  apr_psprintf(*state,
                               VECTOR("{\"metric\":{\"instance\":\"%d\"},"
                                      "\"value\":[1,\"1\"]}"),
                               i));
    }
    assert_int_equal(rv, APR_ENOSPC);
    assert_int_equal(prom->server_n, KA_PROM_SERVERS_MAX);
    assert_non_null(strstr(error, "--match"));
}

/* ---- the client --------------------------------------------------------- */

static void test_prometheus_source__urls_only(void **state)
{
    (void)state;
    assert_true(ka_prometheus_source_is("http://h:9090"));
    assert_true(ka_prometheus_source_is("HTTPS://h/x"));
    assert_false(ka_prometheus_source_is("http.log"));
    assert_false(ka_prometheus_source_is("/var/log/http://x"));
    assert_false(ka_prometheus_source_is("ftp://h"));
}

static void test_prometheus_http__urls_that_are_refused(void **state)
{
    static const struct {
        const char *url, *says;
    } cases[] = {{"http://", "names no host"},
                 {"http:///x", "names no host"},
                 {"http://u:secret@h/", "--token-file"},
                 {"http://h?x=1", "without ? and #"},
                 {"http://h/#x", "without ? and #"},
                 {"http://h/ x", "percent-encoded"},
                 {"http://h/\n", "percent-encoded"}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const ka_prom_access access = {.url = cases[i].url};
        ka_prom_http *http;
        const char *error = NULL;

        assert_int_equal(ka_prom_http_make(&http, &error, &access, *state),
                         APR_EINVAL);
        assert_non_null(strstr(error, cases[i].says));
        assert_null(strstr(error, "secret"));
    }
}

static void test_prometheus_http__slashes_at_the_end_do_not_matter(void **state)
{
    const ka_prom_access access = {.url = "https://h:1/prefix//"};
    ka_prom_http *http;
    const char *error;

    assert_int_equal(ka_prom_http_make(&http, &error, &access, *state),
                     APR_SUCCESS);
    assert_string_equal(ka_prom_http_url(http), "https://h:1/prefix");
}

static void test_prometheus_form__everything_odd_is_encoded(void **state)
{
    const char *form =
        ka_prom_form("", "query", "a{b=~\"c d\"}&e+\xc3\xa9", *state);

    assert_string_equal(form, "query=a%7Bb%3D~%22c%20d%22%7D%26e%2B%C3%A9");
    assert_string_equal(ka_prom_form(form, "time", "5", *state) + strlen(form),
                        "&time=5");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_prometheus_take__numbers_that_are_none_are_left_out),
        unit_test(test_prometheus_take__bounds_that_are_none_are_left_out),
        unit_test(test_prometheus_take__wrong_types_give_a_sentence_or_nothing),
        unit_test(test_prometheus_take__no_is_said_in_their_words_escaped),
        unit_test(test_prometheus_take__no_api_there),
        unit_test(test_prometheus_take__too_many_servers_are_refused),
        unit_test(test_prometheus_source__urls_only),
        unit_test(test_prometheus_http__urls_that_are_refused),
        unit_test(test_prometheus_http__slashes_at_the_end_do_not_matter),
        unit_test(test_prometheus_form__everything_odd_is_encoded),
    };

    return unit_main(tests);
}
