/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include <ka_openmetrics.h>
#include <model/sweep.h>
#include "golden.h"
#include "segment_made.h"

#define HOST "www.example.org:443"

static const char *shown(const ka_segment_header *header, bool prometheus,
                         apr_pool_t *pool)
{
    made_text *to = made_text_make(pool);
    const ka_text out = {made_sink, to};
    const ka_openmetrics_options options = {.prometheus = prometheus,
                                            .version = "1.2.3"};

    ka_openmetrics(&out, header, &options, pool);
    return to->bytes;
}

static void test_openmetrics__golden(void **state)
{
    const ka_segment_header *header = made_traffic(*state, HOST);

    golden_check("metrics.openmetrics", shown(header, false, *state), *state);
    golden_check("metrics.prometheus", shown(header, true, *state), *state);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* The value of the sample that is written so. */
static uint64_t value_of(const char *text, const char *sample)
{
    const char *at = strstr(text, sample);

    if (!at) {
        fail_msg("no sample %s", sample);
        return 0;
    }
    assert_int_equal(at[strlen(sample)], ' ');
    return strtoull(at + strlen(sample), NULL, 10);
}

static void test_openmetrics__ends_with_eof_once(void **state)
{
    const char *text = shown(made_traffic(*state, HOST), false, *state);
    const char *end = strstr(text, "# EOF\n");

    assert_non_null(end);
    assert_string_equal(end, "# EOF\n");
    assert_lacks(shown(made_traffic(*state, HOST), true, *state), "# EOF");
}

/* A value at the bound is in, one above is not. */
static void test_openmetrics__bounds_are_exact(void **state)
{
    ka_segment_header *header = made_segment(*state);
    ka_segment_stats *stats = made_stats(header, 0, 0);
    const char *text;

    made_vhost(header, 0, "v", 5 * MADE_S);
    made_add(stats, KA_QUANTITY_GAP, 127, 1);
    made_add(stats, KA_QUANTITY_GAP, 128, 10);
    made_add(stats, KA_QUANTITY_GAP + KA_SERVED_PROXIED, 524287, 100);
    made_add(stats, KA_QUANTITY_GAP, 524288, 1000);
    made_add(stats, KA_QUANTITY_GAP, KA_HIST_MAX * 2, 10000);
    text = shown(header, false, *state);
#define GAP(rest) "kastats_gap_seconds" rest
    assert_int_equal(1, value_of(text, GAP("_bucket{vhost=\"v\","
                                           "le=\"0.000127\"}")));
    assert_int_equal(11, value_of(text, GAP("_bucket{vhost=\"v\","
                                            "le=\"0.000255\"}")));
    assert_int_equal(111, value_of(text, GAP("_bucket{vhost=\"v\","
                                             "le=\"0.524287\"}")));
    assert_int_equal(1111, value_of(text, GAP("_bucket{vhost=\"v\","
                                              "le=\"1.048575\"}")));
    assert_int_equal(1111, value_of(text, GAP("_bucket{vhost=\"v\","
                                              "le=\"536.870911\"}")));
    assert_int_equal(11111, value_of(text, GAP("_bucket{vhost=\"v\","
                                               "le=\"+Inf\"}")));
    assert_int_equal(11111, value_of(text, GAP("_count{vhost=\"v\"}")));
}

static void test_openmetrics__every_edge_begins_a_bin(void **state)
{
    const char *text = shown(made_traffic(*state, HOST), false, *state);
    const char *at = text;
    int n = 0;

    while ((at = strstr(at, "le=\"")) != NULL) {
        char *end;
        double le = strtod(at += 4, &end);
        bool is_time;
        uint64_t edge;

        while (at > text && at[-1] != '\n') {
            at--;
        }
        is_time = !begins(at, "kastats_requests_per_c");
        at = end;
        if (isfinite(le)) {
            edge = (uint64_t)llround(le * (is_time ? 1e6 : 1)) + 1;
            assert_int_equal(ka_hist_bin_low(ka_hist_bin_index(edge)), edge);
            n++;
        }
    }
    assert_true(n > 100);
}

/* There [M4] and [M5] are read off without a guess. */
static void test_openmetrics__edges_end_the_bins_of_usual_timeouts(void **state)
{
    const char *text = shown(made_traffic(*state, HOST), false, *state);
    size_t n, i;
    const int64_t *timeouts = ka_sweep_default_timeouts(&n);

    for (i = 0; i < n; i++) {
        uint64_t last;

        if (timeouts[i] < 0) {
            continue;
        }
        last = ka_hist_bin_low(ka_hist_bin_index((uint64_t)timeouts[i]) + 1) -
               1;
        assert_holds(text,
                     apr_psprintf(*state, "kastats_gap_seconds_bucket{vhost=\""
                                          HOST "\",le=\"%.6f\"}",
                                  (double)last / 1e6));
        assert_holds(text, apr_psprintf(*state,
                                        "kastats_idle_tail_up_to_seconds_total"
                                        "{vhost=\"" HOST "\",up_to=\"%.6f\"}",
                                        (double)last / 1e6));
    }
}

static void test_openmetrics__sums_go_up_to_a_bound(void **state)
{
    ka_segment_header *header = made_segment(*state);
    ka_segment_stats *stats = made_stats(header, 1, 0);
    const char *text;

    made_vhost(header, 0, "v", 5 * MADE_S);
    made_add(stats, KA_QUANTITY_GAP + KA_SERVED_DYNAMIC, 131071, 1);
    made_add(stats, KA_QUANTITY_GAP, 131072, 10);
    made_add(stats, KA_QUANTITY_GAP, 5242880, 1);
    text = shown(header, true, *state);
#define SUMS(to) "kastats_gap_up_to_seconds_total{vhost=\"v\",up_to=\"" to "\"}"
    assert_holds(text, SUMS("0.131071") " 0.131071\n");
    assert_holds(text, SUMS("0.204799") " 1.441791\n");
    assert_holds(text, SUMS("5.242879") " 1.441791\n");
    assert_holds(text, SUMS("6.029311") " 6.684671\n");
    assert_lacks(text, "up_to=\"0.065535\"");
    assert_lacks(text, "up_to=\"+Inf\"");
}

/* made_history: 40 open in second 569, else 10 .. 14; 12 idle ever after. */
static void test_openmetrics__peaks_reach_back_as_far_as_they_say(void **state)
{
    static const struct {
        int64_t now_s;
        uint64_t in_5, in_15;
    } cases[] = {{569, 40, 40}, {574, 40, 40}, {575, 14, 40},
                 {584, 14, 40}, {585, 14, 14}};
    const ka_segment_header *header = made_traffic(*state, HOST);
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        made_text *to = made_text_make(*state);
        const ka_text out = {made_sink, to};
        const ka_openmetrics_options options = {
            .now_at = MADE_AT + cases[i].now_s * MADE_S};
        const char *text = to->bytes;

        ka_openmetrics(&out, header, &options, *state);
#define PEAK(state, window)                                                    \
    "kastats_connections_peak{state=\"" state "\",window=\"" window "\"}"
        assert_int_equal(value_of(text, PEAK("open", "5")), cases[i].in_5);
        assert_int_equal(value_of(text, PEAK("open", "15")), cases[i].in_15);
        assert_int_equal(value_of(text, PEAK("busy", "15")),
                         cases[i].in_15 / 5);
        assert_int_equal(
            value_of(text, "kastats_requests_per_second_peak{window=\"15\"}"),
            cases[i].in_15 * 2);
        /* 60 seconds of history hold no minute and the present second. */
        assert_lacks(text, "window=\"60\"");
    }
}

static void test_openmetrics__observed_time_is_never_negative(void **state)
{
    static const struct {
        int64_t now_at;
        const char *seconds;
    } cases[] = {{MADE_AT + 1500000, "1.500000"},
                 {MADE_AT - 1, "0.000000"},
                 {INT64_MIN, "0.000000"},
                 {0, "600.000000"}};
    const ka_segment_header *header = made_traffic(*state, HOST);
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        made_text *to = made_text_make(*state);
        const ka_text out = {made_sink, to};
        const ka_openmetrics_options options = {.now_at = cases[i].now_at};

        ka_openmetrics(&out, header, &options, *state);
        assert_holds(to->bytes,
                     apr_psprintf(*state, "kastats_observed_seconds_total %s\n",
                                  cases[i].seconds));
    }
}

static void test_openmetrics__settings_not_told_are_left_out(void **state)
{
    ka_segment_header *header = made_traffic(*state, HOST);
    const char *text;

    header->config.threads_per_child = -1;
    text = shown(header, true, *state);
    assert_int_equal(150, value_of(text, "\nkastats_max_request_workers"));
    assert_int_equal(100, value_of(text, "kastats_max_keepalive_requests"
                                         "{vhost=\"" HOST "\"}"));
    assert_lacks(text, "kastats_threads_per_child");
}

static void test_openmetrics__counts_recent_clients(void **state)
{
    ka_segment_header *header = made_traffic(*state, HOST);
    static const uint64_t hashes[] = {7, 8, 7, 9};
    const char *text;
    uint64_t i;

    for (i = 1; i <= 4; i++) {
        *(ka_segment_recent *)ka_segment_entry(header, KA_SECTION_RECENT,
                                               i % 8) =
            (ka_segment_recent){.seq = 2 * i,
                                .client_hash = hashes[i - 1],
                                .requests = i != 4};
    }
    header->recent_head = 4;
    text = shown(header, true, *state);
    assert_int_equal(3, value_of(text, "\nkastats_recent_connections"));
    assert_int_equal(2, value_of(text, "\nkastats_recent_clients"));
}

static void test_openmetrics__hostile_names_stay_inside_their_label(
    void **state)
{
    const char *text = shown(made_traffic(*state, "a\"} 1\n# EOF\n\\\xff"),
                             false, *state);
    const char *at;

    assert_holds(text, "kastats_connections_total{vhost="
                       "\"a\\\"} 1\\n# EOF\\n\\\\\\\\xff\"} 400\n");
    for (at = text; *at; at = strchr(at, '\n') + 1) {
        assert_true(begins(at, "kastats_") || begins(at, "# HELP ") ||
                    begins(at, "# TYPE ") || begins(at, "# UNIT ") ||
                    strcmp(at, "# EOF\n") == 0);
    }
}

/* It would look like a restart to whoever computes rates. */
static void test_openmetrics__connections_do_not_fall_when_one_moves(
    void **state)
{
    ka_segment_header *header = made_traffic(*state, HOST);
    ka_segment_slot *slot = ka_segment_entry(header, KA_SECTION_SLOTS, 0);
    int32_t *open = (int32_t *)(slot + 1);
    const char *sample = "kastats_connections_total{vhost=\"" HOST "\"}";
    uint64_t before;

    slot->pid = 1;
    open[0] = 5;
    before = value_of(shown(header, false, *state), sample);
    open[0] = 0;
    open[1] = 5;
    assert_int_equal(before, value_of(shown(header, false, *state), sample));
}

static void test_openmetrics__vhosts_without_meaning_are_left_out(void **state)
{
    ka_segment_header *header = made_segment(*state);

    made_vhost(header, 0, "kept:80", MADE_S);
    made_vhost(header, 1, "off:80", MADE_S)->flags |= KA_VHOST_OFF;
    made_vhost(header, 2, "gone:80", MADE_S)->flags = 0;
    assert_holds(shown(header, false, *state), "\"kept:80\"");
    assert_lacks(shown(header, false, *state), "off:80");
    assert_lacks(shown(header, false, *state), "gone:80");
    assert_lacks(shown(header, false, *state), KA_SEGMENT_OTHER);
    made_stats(header, 1, 2)->counter[KA_COUNTER_CLOSE] = 1;
    assert_holds(shown(header, false, *state),
                 "kastats_connections_total{vhost=\"gone:80\"} 1\n");
    assert_lacks(shown(header, false, *state),
                 "kastats_keepalive_timeout_seconds{vhost=\"gone:80\"}");
}

/* [M6] [M7] */
static void test_openmetrics__workers_by_mpm(void **state)
{
    ka_segment_header *header = made_traffic(*state, HOST);
    const char *text = shown(header, false, *state);

    assert_int_equal(7, value_of(text, "kastats_workers{state=\"idle\"}"));
    assert_int_equal(138, value_of(text, "kastats_workers{state=\"free\"}"));
    header->config.async = 1;
    text = shown(header, false, *state);
    assert_int_equal(3, value_of(text, "kastats_workers{state=\"busy\"}"));
    assert_int_equal(0, value_of(text, "kastats_workers{state=\"idle\"}"));
    assert_int_equal(147, value_of(text, "kastats_workers{state=\"free\"}"));
    header->config.max_request_workers = -1;
    assert_lacks(shown(header, false, *state), "state=\"free\"");
}

/* What a damaged or hostile file may hold behind a layout that is sound. */
static void test_openmetrics__any_bytes_make_lines(void **state)
{
    ka_segment_header *header = made_segment(*state);
    const char *text;

    memset(&header->heartbeat_at, 0xff,
           header->total_size - offsetof(ka_segment_header, heartbeat_at));
    text = shown(header, false, *state);
    assert_lacks(text, "\xff");
    assert_holds(text, "# EOF\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_openmetrics__golden),
        unit_test(test_openmetrics__ends_with_eof_once),
        unit_test(test_openmetrics__bounds_are_exact),
        unit_test(test_openmetrics__every_edge_begins_a_bin),
        unit_test(test_openmetrics__edges_end_the_bins_of_usual_timeouts),
        unit_test(test_openmetrics__sums_go_up_to_a_bound),
        unit_test(test_openmetrics__peaks_reach_back_as_far_as_they_say),
        unit_test(test_openmetrics__observed_time_is_never_negative),
        unit_test(test_openmetrics__settings_not_told_are_left_out),
        unit_test(test_openmetrics__counts_recent_clients),
        unit_test(test_openmetrics__hostile_names_stay_inside_their_label),
        unit_test(test_openmetrics__connections_do_not_fall_when_one_moves),
        unit_test(test_openmetrics__vhosts_without_meaning_are_left_out),
        unit_test(test_openmetrics__workers_by_mpm),
        unit_test(test_openmetrics__any_bytes_make_lines),
    };

    return unit_main(tests);
}
