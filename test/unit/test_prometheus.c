/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Questions to Prometheus, and what becomes of its answers. */
#include <math.h>
#include <apr_strings.h>

#include "sources/prometheus.h"
#include "unit.h"

#define URL "http://prom.example.org:9090"

static const ka_prom_row *row_of(const char *metric, ka_prom_function function)
{
    size_t n, i;
    const ka_prom_row *rows = ka_prom_rows(&n);

    for (i = 0; i < n; i++) {
        if (!strcmp(rows[i].metric, metric) && rows[i].function == function) {
            return &rows[i];
        }
    }
    fail_msg("no question about %s", metric);
    return NULL;
}

static ka_prom *prom_make(apr_pool_t *pool)
{
    ka_prom *prom = apr_palloc(pool, sizeof(*prom));
    const ka_prom_asked asked = {
        .window_s = 3600, .at_s = 1000000, .step_s = 15};

    ka_prom_init(prom, URL, &asked, pool);
    return prom;
}

static ka_prom_answer json_of(const char *text)
{
    return (ka_prom_answer){.status = 200,
                            .type = "application/json",
                            .text = text,
                            .n = strlen(text)};
}

static apr_status_t take(ka_prom *prom, const char **error, const char *metric,
                         ka_prom_function function, const char *text)
{
    ka_prom_answer answer = json_of(text);
    size_t taken;

    *error = NULL;
    return ka_prom_take(prom, &taken, error, row_of(metric, function), &answer);
}

#define VECTOR(result)                                                         \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\","             \
    "\"result\":[" result "]}}"
#define MATRIX(result)                                                         \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\","             \
    "\"result\":[" result "]}}"
#define SAMPLE(labels, value)                                                  \
    "{\"metric\":{\"job\":\"apache\",\"instance\":\"a:80\"" labels             \
    "},\"value\":[1000000.123,\"" value "\"]}"
#define GAPS "kastats_gap_seconds_bucket"

/* ---- questions ---------------------------------------------------------- */

#define SERIES GAPS "{job=\"apache\"}"

static void test_prometheus_query__increase_by_course(void **state)
{
    static const char *const wanted[] = {
        [KA_PROM_STEADY] = "sum by (job, instance, vhost, le) ((" SERIES
                           " - " SERIES " offset 600s) or " SERIES ")",
        [KA_PROM_YOUNG] =
            "sum by (job, instance, vhost, le) (max_over_time(" SERIES
            "[600s]) - min_over_time(" SERIES "[600s]))",
        [KA_PROM_RESTARTED] =
            "sum by (job, instance, vhost, le) (increase(" SERIES "[600s]))"};
    int course;

    for (course = 0; course < KA_PROM_COURSES; course++) {
        const ka_prom_asked asked = {.match = "job=\"apache\"",
                                     .window_s = 600,
                                     .course = (ka_prom_course)course};

        assert_string_equal(
            ka_prom_query(row_of(GAPS, KA_PROM_INCREASE), &asked, *state),
            wanted[course]);
    }
}

static void test_prometheus_query__matchers_are_joined_by_commas(void **state)
{
    static const struct {
        const char *match, *wanted;
    } cases[] = {{NULL, "{state=\"open\",window=\"15\"}[30s]"},
                 {"", "{state=\"open\",window=\"15\"}[30s]"},
                 {"a=\"b\"", "{a=\"b\",state=\"open\",window=\"15\"}[30s]"},
                 {"a=\"b\" , ", "{a=\"b\",state=\"open\",window=\"15\"}[30s]"}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const ka_prom_asked asked = {.match = cases[i].match,
                                     .window_s = 600,
                                     .step_s = 30,
                                     .peak_window_s = 15};
        const char *query = ka_prom_query(
            row_of("kastats_connections_peak", KA_PROM_PEAK), &asked, *state);

        assert_non_null(strstr(query, cases[i].wanted));
    }
}

static void test_prometheus_query__settings_are_the_present_ones(void **state)
{
    const ka_prom_asked asked = {.window_s = 86400};

    assert_string_equal(
        ka_prom_query(row_of("kastats_build_info", KA_PROM_PRESENT), &asked,
                      *state),
        "max by (job, instance, mpm) (kastats_build_info{} or on (job, "
        "instance) last_over_time(kastats_build_info{}[86400s]))");
    assert_string_equal(
        ka_prom_query(row_of("kastats_observed_seconds_total", KA_PROM_FIRST),
                      &asked, *state),
        "min by (job, instance) (min_over_time(timestamp("
        "kastats_observed_seconds_total{})[86400s:86s]))");
}

static void test_prometheus_match__cannot_leave_its_braces(void **state)
{
    static const struct {
        const char *match;
        bool fits;
    } cases[] = {{"", true},
                 {"job=\"apache\"", true},
                 {"job=~\"a{2}|#b\"", true},
                 {"job='a\\'}'", true},
                 {"job=`a\\`", true},
                 {"nonsense", true}, /* Prometheus says so better */
                 {"job=\"a\"} or up{", false},
                 {"{job=\"a\"}", false},
                 {"job=\"a", false},
                 {"job=\"a\\\"", false},
                 {"job=\"a\\", false},
                 {"job=\"a\" # comment", false}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(ka_prom_match_unfit(cases[i].match) == NULL,
                         cases[i].fits);
    }
}

/* ---- answers ------------------------------------------------------------ */

static void test_prometheus_take__buckets_of_servers_and_vhosts(void **state)
{
    ka_prom *prom = prom_make(*state);
    const char *error;
    const ka_prom_points *buckets;

    assert_int_equal(
        take(prom, &error, GAPS, KA_PROM_INCREASE,
             VECTOR(
                 SAMPLE(",\"vhost\":\"v:80\",\"le\":\"+Inf\"", "12") "," SAMPLE(
                     ",\"vhost\":\"v:80\",\"le\":\"0.5\"",
                     "7.5") "," SAMPLE(",\"vhost\":\"w:80\",\"le\":\"0.5\"",
                                       "3"))),
        APR_SUCCESS);
    ka_prom_settle(prom);
    assert_int_equal(prom->server_n, 1);
    assert_string_equal(prom->servers[0]->name, "a:80");
    assert_int_equal(prom->servers[0]->vhost_n, 2);
    assert_string_equal(prom->servers[0]->vhosts[0]->name, "v:80");
    buckets = &prom->servers[0]->vhosts[0]->dist[KA_PROM_GAP].buckets;
    assert_int_equal(buckets->n, 2);
    assert_true(isinf(buckets->items[0].bound));
    assert_near(buckets->items[0].value, 12, 0);
    assert_near(buckets->items[1].bound, 0.5, 0);
    assert_near(buckets->items[1].value, 7.5, 0);
    assert_int_equal(prom->refused, 0);
}

static void test_prometheus_take__counters_by_their_label(void **state)
{
    ka_prom *prom = prom_make(*state);
    const ka_prom_vhost *v;
    const char *error;

    take(prom, &error, "kastats_closes_total", KA_PROM_INCREASE,
         VECTOR(SAMPLE(
             ",\"vhost\":\"v\",\"reason\":\"idle_timeout\"",
             "5") "," SAMPLE(",\"vhost\":\"v\",\"reason\":\"evicted\"",
                             "6") "," SAMPLE(",\"vhost\":\"v\",\"reason\":\"of "
                                             "the future\"",
                                             "7")));
    take(prom, &error, "kastats_protocol_connections_total", KA_PROM_INCREASE,
         VECTOR(SAMPLE(",\"vhost\":\"v\",\"protocol\":\"h2\"", "8")));
    take(prom, &error, "kastats_service_seconds_sum", KA_PROM_INCREASE,
         VECTOR(SAMPLE(",\"vhost\":\"v\",\"class\":\"proxied\"",
                       "9.5") "," SAMPLE(",\"vhost\":\"v\",\"class\":\"odd\"",
                                         "1")));
    ka_prom_settle(prom);
    v = prom->servers[0]->vhosts[0];
    assert_near(v->counter[KA_COUNTER_CLOSE + KA_REASON_IDLE_TIMEOUT], 5, 0);
    assert_near(v->counter[KA_COUNTER_CLOSE + KA_REASON_EVICTED], 6, 0);
    assert_near(v->counter[KA_COUNTER_PIPELINED], 0, 0);
    assert_near(v->counter[KA_COUNTER_PROTOCOL + KA_PROTOCOL_HTTP2], 8, 0);
    assert_near(v->dist[KA_PROM_SERVICE + KA_SERVED_PROXIED].sum, 9.5, 0);
}

static void test_prometheus_take__settings_and_what_is_not_told(void **state)
{
    ka_prom *prom = prom_make(*state);
    const char *error;

    take(prom, &error, "kastats_max_request_workers", KA_PROM_PRESENT,
         VECTOR(SAMPLE("", "150")));
    take(prom, &error, "kastats_build_info", KA_PROM_PRESENT,
         VECTOR(SAMPLE(",\"mpm\":\"event\"", "1")));
    take(prom, &error, "kastats_keepalive_timeout_seconds", KA_PROM_LAST,
         VECTOR(SAMPLE(",\"vhost\":\"v\"", "2.5")));
    ka_prom_settle(prom);
    assert_near(prom->servers[0]->setting[KA_PROM_WORKERS], 150, 0);
    assert_near(prom->servers[0]->setting[KA_PROM_THREADS], -1, 0);
    assert_string_equal(prom->servers[0]->mpm, "event");
    assert_near(prom->servers[0]->vhosts[0]->timeout_s, 2.5, 0);
    assert_near(prom->servers[0]->vhosts[0]->max_keepalive_requests, -1, 0);
}

static void test_prometheus_take__steps_that_are_whole_in_order(void **state)
{
    static const char open[] = MATRIX(
        "{\"metric\":{\"instance\":\"a\"},\"values\":[[60,\"5\"],[75,\"7\"],"
        "[90,\"NaN\"]]}");
    static const char busy[] = MATRIX(
        "{\"metric\":{\"instance\":\"a\"},\"values\":[[75,\"2\"],[60,\"1\"],"
        "[90,\"1\"],[105,\"1\"]]}");
    ka_prom *prom = prom_make(*state);
    const ka_prom_row *rows;
    ka_prom_answer answers[2] = {json_of(open), json_of(busy)};
    const char *error;
    size_t n, i, taken, k = 0;
    const ka_prom_server *s;

    rows = ka_prom_rows(&n);
    for (i = 0; i < n && k < 2; i++) {
        if (!strcmp(rows[i].metric, "kastats_connections_peak")) {
            assert_int_equal(
                ka_prom_take(prom, &taken, &error, &rows[i], &answers[k++]),
                APR_SUCCESS);
        }
    }
    ka_prom_settle(prom);
    s = prom->servers[0];
    assert_int_equal(s->step_n, 2);
    assert_int_equal(s->steps[0].at_s, 60);
    assert_near(s->steps[0].open, 5, 0);
    assert_near(s->steps[0].busy, 1, 0);
    assert_near(s->steps[1].open, 7, 0);
    assert_near(s->steps[1].requests_per_s, -1, 0);
    assert_int_equal(prom->refused, 1);
}

static void test_prometheus_settle__names_and_interval(void **state)
{
    static const char covered[] = VECTOR(
        "{\"metric\":{\"job\":\"b\",\"instance\":\"x\"},\"value\":[1,\"150\"]},"
        "{\"metric\":{\"job\":\"a\",\"instance\":\"x\"},\"value\":[1,\"150\"]},"
        "{\"metric\":{\"job\":\"a\",\"instance\":\"w\"},\"value\":[1,\"600\"]},"
        "{\"metric\":{},\"value\":[1,\"0\"]}");
    static const char scrapes[] = VECTOR(
        "{\"metric\":{\"job\":\"b\",\"instance\":\"x\"},\"value\":[1,\"11\"]},"
        "{\"metric\":{\"job\":\"a\",\"instance\":\"x\"},\"value\":[1,\"11\"]},"
        "{\"metric\":{\"job\":\"a\",\"instance\":\"w\"},\"value\":[1,\"2\"]},"
        "{\"metric\":{},\"value\":[1,\"1\"]}");
    ka_prom *prom = prom_make(*state);
    const char *error;

    take(prom, &error, "kastats_observed_seconds_total", KA_PROM_INCREASE,
         covered);
    take(prom, &error, "kastats_observed_seconds_total", KA_PROM_COUNT,
         scrapes);
    ka_prom_settle(prom);
    assert_int_equal(prom->server_n, 4);
    assert_string_equal(prom->servers[0]->name, "/");
    assert_string_equal(prom->servers[1]->name, "w");
    assert_string_equal(prom->servers[2]->name, "a/x");
    assert_string_equal(prom->servers[3]->name, "b/x");
    assert_near(prom->interval_s, 15, 0);
}

static void test_prometheus_take_time__is_prometheus_clock(void **state)
{
    static const char text[] =
        "{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\","
        "\"result\":[1700000000.5,\"1700000000.5\"]}}";
    ka_prom_answer answer = json_of(text);
    const char *error = NULL;
    int64_t at_s = 0;

    assert_int_equal(ka_prom_take_time(&at_s, &error, URL, &answer, *state),
                     APR_SUCCESS);
    assert_int_equal(at_s, 1700000000);
    answer = json_of(VECTOR(""));
    assert_int_equal(ka_prom_take_time(&at_s, &error, URL, &answer, *state),
                     APR_EGENERAL);
}

/* ---- courses ------------------------------------------------------------ */

#define SERVER(instance, value)                                                \
    "{\"metric\":{\"instance\":\"" instance "\"},\"value\":[1,\"" value "\"]}"
#define COVERED "kastats_observed_seconds_total"

static ka_prom *courses_make(apr_pool_t *pool)
{
    ka_prom *prom = prom_make(pool);
    const char *error;

    take(prom, &error, COVERED, KA_PROM_COUNT,
         VECTOR(
             SERVER("steady:80", "9") "," SERVER("re-started", "9") "," SERVER(
                 "y\\\"oung", "9") "," SERVER("young2", "9")));
    take(prom, &error, COVERED, KA_PROM_RESETS,
         VECTOR(SERVER("steady:80", "0") "," SERVER("re-started", "2")));
    take(prom, &error, COVERED, KA_PROM_DIFFERENCE,
         VECTOR(SERVER("steady:80", "600") "," SERVER("re-started", "5")));
    ka_prom_set_courses(prom);
    return prom;
}

static void test_prometheus_courses__of_restarts_and_ends(void **state)
{
    ka_prom *prom = courses_make(*state);
    size_t n;

    assert_int_equal(prom->servers[0]->course, KA_PROM_STEADY);
    assert_int_equal(prom->servers[1]->course, KA_PROM_RESTARTED);
    assert_int_equal(prom->servers[2]->course, KA_PROM_YOUNG);
    assert_string_equal(ka_prom_instances(&n, prom, KA_PROM_STEADY),
                        "steady\\\\:80");
    assert_int_equal(n, 1);
    assert_string_equal(ka_prom_instances(&n, prom, KA_PROM_RESTARTED),
                        "re\\\\-started");
    assert_string_equal(ka_prom_instances(&n, prom, KA_PROM_YOUNG),
                        "y\\\\\\\"oung|young2");
    assert_int_equal(n, 2);
}

/* By name only where that leaves some out, and can be. */
static void test_prometheus_courses__by_name_where_it_helps(void **state)
{
    ka_prom *prom = prom_make(*state);
    const char *error;
    size_t n;
    int i;

    take(prom, &error, COVERED, KA_PROM_COUNT, VECTOR(SERVER("a", "9")));
    ka_prom_set_courses(prom);
    assert_null(ka_prom_instances(&n, prom, KA_PROM_YOUNG));
    assert_int_equal(n, 1);
    assert_null(ka_prom_instances(&n, prom, KA_PROM_STEADY));
    assert_int_equal(n, 0);
    take(prom, &error, COVERED, KA_PROM_DIFFERENCE, VECTOR(SERVER("b", "9")));
    take(prom, &error, COVERED, KA_PROM_COUNT, VECTOR(SERVER("\\u00e9", "9")));
    ka_prom_set_courses(prom);
    assert_string_equal(ka_prom_instances(&n, prom, KA_PROM_STEADY), "b");
    assert_null(ka_prom_instances(&n, prom, KA_PROM_YOUNG));
    for (i = 0; i < 100; i++) {
        prom = i ? prom : prom_make(*state);
        take(prom, &error, COVERED, i ? KA_PROM_DIFFERENCE : KA_PROM_COUNT,
             apr_psprintf(*state, VECTOR(SERVER("%d", "9")), i));
    }
    ka_prom_set_courses(prom);
    assert_null(ka_prom_instances(&n, prom, KA_PROM_STEADY));
    assert_int_equal(n, 99);
}

static void
test_prometheus_courses__answers_are_taken_for_their_own(void **state)
{
    ka_prom *prom = courses_make(*state);
    const char *error;

    prom->asked.course = KA_PROM_STEADY;
    take(prom, &error, COVERED, KA_PROM_INCREASE,
         VECTOR(SERVER("steady:80", "600") "," SERVER("re-started", "5")));
    assert_near(prom->servers[0]->observed_s, 600, 0);
    assert_near(prom->servers[1]->observed_s, 0, 0);
    prom->asked.course = KA_PROM_RESTARTED;
    take(prom, &error, COVERED, KA_PROM_INCREASE,
         VECTOR(SERVER("steady:80", "1") "," SERVER("re-started", "500")));
    assert_near(prom->servers[0]->observed_s, 600, 0);
    assert_near(prom->servers[1]->observed_s, 500, 0);
}

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
        unit_test(test_prometheus_query__increase_by_course),
        unit_test(test_prometheus_query__matchers_are_joined_by_commas),
        unit_test(test_prometheus_query__settings_are_the_present_ones),
        unit_test(test_prometheus_match__cannot_leave_its_braces),
        unit_test(test_prometheus_take__buckets_of_servers_and_vhosts),
        unit_test(test_prometheus_take__counters_by_their_label),
        unit_test(test_prometheus_take__settings_and_what_is_not_told),
        unit_test(test_prometheus_take__steps_that_are_whole_in_order),
        unit_test(test_prometheus_settle__names_and_interval),
        unit_test(test_prometheus_take_time__is_prometheus_clock),
        unit_test(test_prometheus_courses__of_restarts_and_ends),
        unit_test(test_prometheus_courses__by_name_where_it_helps),
        unit_test(test_prometheus_courses__answers_are_taken_for_their_own),
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
