/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include <jansson.h>
#include "golden.h"
#include "render/jsonparts.h"
#include "report_fixture_hosts.h"

/* The keys that programs rely on. */
static const char *const source_keys[] = {
    "kind",       "files",    "lines",
    "parsed",     "skipped",  "skipped_samples",
    "log_format", "identity", "clock_resolution_s",
    "first",      "last",     NULL};
static const char *const traffic_keys[] = {"window_s",
                                           "requests",
                                           "connections",
                                           "requests_per_s",
                                           "keepalive_requests_mean",
                                           "requests_per_connection",
                                           "gap_s",
                                           "service_s",
                                           "held",
                                           "closes",
                                           "classes",
                                           "http2_share",
                                           "excluded",
                                           NULL};
static const char *const formula_keys[] = {
    "timeout_s",    "requests_per_s", "keepalive_requests", "processes",
    "memory_bytes", "keepalive_pays", "why_it_differs",     NULL};
static const char *const timeout_keys[] = {"timeout_s",
                                           "measured",
                                           "connections",
                                           "connections_per_s",
                                           "reuse",
                                           "idle_mean",
                                           "busy_mean",
                                           "held_mean",
                                           "held_p999",
                                           "held_peak",
                                           "workers_needed",
                                           "memory_bytes",
                                           "handshakes_saved_per_s",
                                           "fits",
                                           NULL};
static const char *const advice_keys[] = {
    "rule",    "directive", "vhost",      "from",    "to",
    "because", "evidence",  "confidence", "applies", NULL};
static const char *const verdict_keys[] = {"text", "change_advised",
                                           "confidence", "refused", NULL};

static const struct {
    const char *golden;
    fixture *(*make)(apr_pool_t *pool);
} reports[] = {{"advise-prefork.json", fixture_prefork},
               {"advise-unknown-mpm.json", fixture_unknown_mpm},
               {"advise-refused.json", fixture_refused},
               {"advise-group.json", fixture_group}};

static json_t *document(ka_render_fn *render, const fixture *f)
{
    json_error_t error;
    json_t *root = json_loads(fixture_render(render, f, NULL),
                              JSON_REJECT_DUPLICATES, &error);

    if (!root) {
        fail_msg("line %d: %s", error.line, error.text);
    }
    return root;
}

static void expect_keys(const json_t *object, const char *const *keys)
{
    assert_true(json_is_object(object));
    for (; *keys; keys++) {
        if (!json_object_get(object, *keys)) {
            fail_msg("no key %s", *keys);
        }
    }
}

static json_t *at(const json_t *object, const char *key)
{
    json_t *value = json_object_get(object, key);

    if (!value) {
        fail_msg("no key %s", key);
    }
    return value;
}

static void test_json__golden(void **state)
{
    size_t i;

    for (i = 0; i < FIXTURE_COUNT(reports); i++) {
        golden_check(
            reports[i].golden,
            fixture_render(ka_render_json, reports[i].make(*state), NULL),
            *state);
    }
}

static void test_json__has_every_key(void **state)
{
    size_t i, k;

    for (i = 0; i < FIXTURE_COUNT(reports); i++) {
        json_t *root = document(ka_render_json, reports[i].make(*state));
        json_t *timeouts = at(root, "timeouts"), *advice = at(root, "advice");

        assert_string_equal(json_string_value(at(root, "schema")),
                            "kaadvisor/1");
        assert_string_equal(json_string_value(at(root, "generated_at")),
                            "2026-03-03T08:00:00Z");
        expect_keys(at(root, "source"), source_keys);
        expect_keys(at(root, "traffic"), traffic_keys);
        expect_keys(at(root, "formula"), formula_keys);
        expect_keys(at(root, "verdict"), verdict_keys);
        assert_true(json_is_object(at(root, "server")));
        assert_true(json_is_array(at(root, "warnings")));
        for (k = 0; k < json_array_size(timeouts); k++) {
            expect_keys(json_array_get(timeouts, k), timeout_keys);
        }
        for (k = 0; k < json_array_size(advice); k++) {
            expect_keys(json_array_get(advice, k), advice_keys);
        }
        json_decref(root);
    }
}

static void test_json__off_is_a_timeout_of_0_that_says_so(void **state)
{
    json_t *root = document(ka_render_json, fixture_prefork(*state));
    json_t *timeouts = at(root, "timeouts");
    json_t *off = json_array_get(timeouts, 0);
    json_t *next = json_array_get(timeouts, 1);

    assert_near(json_number_value(at(off, "timeout_s")), 0, 0);
    assert_true(json_is_false(at(off, "keep_alive")));
    assert_near(json_number_value(at(next, "timeout_s")), 0.2, 1e-9);
    assert_true(json_is_true(at(next, "keep_alive")));
    assert_true(json_is_true(at(next, "fits")));
    assert_true(json_is_false(at(json_array_get(timeouts, 18), "fits")));
    json_decref(root);
}

/* ---- intervals ------------------------------------------------------------ */

static void expect_interval(const json_t *object, const char *key, double low,
                            double high)
{
    const json_t *interval = at(object, key);

    assert_near(json_number_value(at(interval, "low")), low, 1e-9);
    assert_near(json_number_value(at(interval, "high")), high, 1e-9);
    assert_near(json_number_value(at(interval, "level")), 0.9, 1e-9);
}

static void test_json__intervals_stand_beside_their_numbers(void **state)
{
    fixture *f = fixture_prefork(*state);
    json_t *root, *timeout;

    fixture_intervals(f, 0.2);
    root = document(ka_render_json, f);
    timeout = json_array_get(at(root, "timeouts"), 5);
    expect_interval(timeout, "connections_ci",
                    0.8 * (double)f->high[5].connections,
                    1.2 * (double)f->high[5].connections);
    expect_interval(timeout, "held_mean_ci", 0.8 * f->high[5].held_mean,
                    1.2 * f->high[5].held_mean);
    expect_interval(timeout, "workers_needed_ci", 10, 20);
    expect_interval(at(root, "intervals"), "knee_s", 2, 5);
    assert_int_equal(
        json_integer_value(at(at(root, "intervals"), "visitor_groups")), 64);
    json_decref(root);
}

static void test_json__without_intervals_they_are_null(void **state)
{
    fixture *f = fixture_prefork(*state);
    json_t *root;

    f->report.no_intervals = "it is a test";
    root = document(ka_render_json, f);
    assert_true(json_is_null(at(json_array_get(at(root, "timeouts"), 5),
                                "connections_ci")));
    assert_true(json_is_null(at(at(root, "intervals"), "level")));
    assert_string_equal(
        json_string_value(at(at(root, "intervals"), "why_not")),
        "it is a test");
    json_decref(root);
}

static void test_json__says_where_held_is_a_bound(void **state)
{
    fixture *f = fixture_prefork(*state);
    const json_t *timeouts;
    json_t *root;

    f->low[0].held_is_bound = true;
    root = document(ka_render_json, f);
    timeouts = at(root, "timeouts");
    assert_true(json_is_true(json_object_get(json_array_get(timeouts, 0),
                                             "held_is_upper_bound")));
    assert_null(json_object_get(json_array_get(timeouts, 1),
                                "held_is_upper_bound"));
    json_decref(root);
}

static void test_json__brackets_are_objects_in_order(void **state)
{
    json_t *root = document(ka_render_json, fixture_unknown_mpm(*state));
    json_t *mean = at(at(root, "traffic"), "keepalive_requests_mean");
    json_t *k = at(at(root, "formula"), "keepalive_requests");
    json_t *held = at(json_array_get(at(root, "timeouts"), 10), "held_mean");

    assert_near(json_real_value(at(mean, "low")), 3.023, 1e-9);
    assert_near(json_real_value(at(mean, "high")), 5.595, 1e-9);
    assert_near(json_real_value(at(k, "low")), 3.023, 1e-9);
    assert_true(json_real_value(at(held, "low")) <
                json_real_value(at(held, "high")));
    json_decref(root);
    root = document(ka_render_json, fixture_prefork(*state));
    assert_true(
        json_is_real(at(at(root, "traffic"), "keepalive_requests_mean")));
    json_decref(root);
}

/* The sides of a bracket may disagree on [M2]; then nobody knows. */
static void test_json__rule_on_both_sides_of_a_bracket(void **state)
{
    fixture *f = fixture_unknown_mpm(*state);
    json_t *root;

    f->report.formula.keepalive_pays = true;
    root = document(ka_render_json, f);
    assert_true(json_is_null(at(at(root, "formula"), "keepalive_pays")));
    json_decref(root);
}

static void test_json__unknown_is_null_never_0(void **state)
{
    json_t *root = document(ka_render_json, fixture_refused(*state));
    json_t *traffic = at(root, "traffic"), *source = at(root, "source");

    assert_true(json_is_null(at(at(traffic, "gap_s"), "mean")));
    assert_true(json_is_null(at(at(traffic, "held"), "mean")));
    assert_true(json_is_null(at(traffic, "keepalive_requests_mean")));
    assert_true(json_is_null(at(traffic, "http2_share")));
    assert_true(json_is_null(at(source, "first")));
    assert_true(json_is_null(at(source, "service_clock_resolution_s")));
    assert_true(json_is_null(at(at(root, "formula"), "memory_bytes")));
    assert_int_equal(json_object_size(at(traffic, "closes")), 0);
    json_decref(root);
}

/* A log without service times: busy is not 0, it is not known. */
static void test_json__without_service_times_busy_is_null(void **state)
{
    fixture *f = fixture_unknown_mpm(*state);
    json_t *root, *now, *answers;

    f->profile.with_service = 0;
    root = document(ka_render_json, f);
    now = json_array_get(at(root, "timeouts"), FIXTURE_NOW);
    answers = at(root, "answers");
    assert_true(json_is_null(at(now, "busy_mean")));
    assert_true(json_is_object(at(now, "held_mean")));
    assert_true(json_is_integer(at(now, "workers_needed")));
    now = json_array_get(at(json_array_get(answers, 2), "fits"), FIXTURE_NOW);
    assert_true(json_is_null(at(now, "workers_needed")));
    json_decref(root);
}

static void test_json__facts_in_their_units(void **state)
{
    json_t *root = document(ka_render_json, fixture_prefork(*state));
    json_t *server = at(root, "server"), *unknown = at(root, "unknown");
    json_t *memory = at(server, "process_shared_bytes");

    assert_string_equal(json_string_value(at(at(server, "mpm"), "value")),
                        "prefork");
    assert_true(json_is_true(at(at(server, "keep_alive"), "value")));
    assert_near(
        json_real_value(at(at(server, "keep_alive_timeout_s"), "value")), 15,
        0);
    assert_int_equal(json_integer_value(at(memory, "value")), 120 * FIXTURE_MB);
    assert_true(json_is_true(at(memory, "assumed")));
    assert_null(json_object_get(server, "proxy_idle_s"));
    assert_int_equal(json_array_size(unknown), 13);
    json_decref(root);
}

static void test_json__a_block_has_the_names_of_its_directives(void **state)
{
    json_t *root = document(ka_render_json, fixture_unknown_mpm(*state));
    json_t *answers = at(root, "answers");
    json_t *event = at(json_array_get(answers, 2), "block");

    assert_int_equal(json_array_size(answers), 3);
    assert_int_equal(json_integer_value(at(event, "MaxRequestWorkers")), 128);
    assert_int_equal(json_integer_value(at(event, "MinSpareThreads")), 64);
    assert_null(json_object_get(event, "MinSpareServers"));
    assert_true(json_is_null(at(json_array_get(answers, 1), "block")));
    json_decref(root);
}

static void test_json__text_that_is_no_utf8_is_escaped(void **state)
{
    static const struct {
        const char *text, *json;
    } cases[] = {{"plain", "plain"},
                 {"\xc3\xa4", "\xc3\xa4"},
                 {"\xc3\xa4\xff", "\xc3\xa4\\xff"},
                 {"\xc3", "\\xc3"},
                 {"\xed\xa0\x80 surrogate", "\\xed\\xa0\\x80 surrogate"},
                 {"\xc0\x80", "\\xc0\\x80"},
                 {"\xf0\x9f\x98\x80\xf0", "\xf0\x9f\x98\x80\\xf0"}};
    size_t i;

    for (i = 0; i < FIXTURE_COUNT(cases); i++) {
        json_t *text = ka_doc_text(cases[i].text, *state);

        assert_string_equal(json_string_value(text), cases[i].json);
        json_decref(text);
    }
    assert_true(json_is_null(ka_doc_text(NULL, *state)));
}

static void test_json__numbers_that_are_not_finite_are_null(void **state)
{
    fixture *f = fixture_prefork(*state);
    json_t *root, *now;

    f->high[FIXTURE_NOW].held_mean = NAN;
    f->report.answers[0].fits[FIXTURE_NOW].workers = INFINITY;
    root = document(ka_render_json, f);
    now = json_array_get(at(root, "timeouts"), FIXTURE_NOW);
    assert_true(json_is_null(at(now, "held_mean")));
    assert_true(json_is_null(at(now, "workers_needed")));
    json_decref(root);
}

/* Each of a group's servers is a document of its own, but for its head. */
static void test_json__hosts_are_whole_reports(void **state)
{
    json_t *root = document(ka_render_json, fixture_group(*state));
    json_t *hosts = at(root, "hosts"), *host = json_array_get(hosts, 1);
    const char *key;
    json_t *value;

    assert_int_equal(json_array_size(hosts), FIXTURE_HOSTS);
    assert_true(json_is_null(at(root, "host")));
    assert_string_equal(json_string_value(at(host, "host")),
                        "web2.example.org");
    json_object_foreach(root, key, value)
    {
        if (strcmp(key, "schema") && strcmp(key, "generated_at") &&
            strcmp(key, "version") && strcmp(key, "hosts")) {
            assert_int_equal(json_typeof(at(host, key)),
                             strcmp(key, "host") ? json_typeof(value)
                                                 : JSON_STRING);
        }
    }
    assert_null(json_object_get(host, "schema"));
    assert_null(json_object_get(host, "hosts"));
    assert_int_equal(json_integer_value(at(at(host, "source"), "forgotten")),
                     12);
    assert_true(json_is_true(at(at(host, "traffic"), "clients_estimated")));
    json_decref(root);
}

static void test_json__one_server_has_a_name_and_no_hosts(void **state)
{
    static ka_render_fn *const renderers[] = {ka_render_json,
                                              ka_render_show_json};
    size_t i;

    for (i = 0; i < FIXTURE_COUNT(renderers); i++) {
        json_t *root = document(renderers[i], fixture_host(*state, "web\xff"));

        assert_string_equal(json_string_value(at(root, "host")), "web\\xff");
        assert_int_equal(json_array_size(at(root, "hosts")), 0);
        json_decref(root);
    }
}

static void test_json__show_has_hosts(void **state)
{
    json_t *root = document(ka_render_show_json, fixture_group(*state));
    json_t *host = json_array_get(at(root, "hosts"), 0);

    assert_string_equal(json_string_value(at(host, "host")),
                        "web1.example.org");
    assert_true(json_array_size(at(host, "gap_histogram")) > 0);
    assert_true(json_is_object(at(host, "traffic")));
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_json__golden),
        unit_test(test_json__intervals_stand_beside_their_numbers),
        unit_test(test_json__without_intervals_they_are_null),
        unit_test(test_json__has_every_key),
        unit_test(test_json__off_is_a_timeout_of_0_that_says_so),
        unit_test(test_json__says_where_held_is_a_bound),
        unit_test(test_json__brackets_are_objects_in_order),
        unit_test(test_json__rule_on_both_sides_of_a_bracket),
        unit_test(test_json__unknown_is_null_never_0),
        unit_test(test_json__without_service_times_busy_is_null),
        unit_test(test_json__facts_in_their_units),
        unit_test(test_json__a_block_has_the_names_of_its_directives),
        unit_test(test_json__text_that_is_no_utf8_is_escaped),
        unit_test(test_json__hosts_are_whole_reports),
        unit_test(test_json__one_server_has_a_name_and_no_hosts),
        unit_test(test_json__show_has_hosts),
        unit_test(test_json__numbers_that_are_not_finite_are_null)};

    return unit_main(tests);
}
