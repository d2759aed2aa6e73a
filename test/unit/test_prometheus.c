/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Questions to Prometheus, and what becomes of its answers. */
#include <math.h>

#include "unit.h"

#include "prometheus_asked.h"

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

static void test_prometheus_query__what_came_in_a_block(void **state)
{
    const ka_prom_asked asked = {
        .match = "job=\"a\"", .window_s = 86400, .block_s = 7200};

    assert_string_equal(
        ka_prom_query(row_of("kastats_requests_total", KA_PROM_BLOCK), &asked,
                      *state),
        "sum by (job, instance) (increase("
        "kastats_requests_total{job=\"a\"}[7200s]))");
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_prometheus_query__increase_by_course),
        unit_test(test_prometheus_query__matchers_are_joined_by_commas),
        unit_test(test_prometheus_query__settings_are_the_present_ones),
        unit_test(test_prometheus_query__what_came_in_a_block),
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
    };

    return unit_main(tests);
}
