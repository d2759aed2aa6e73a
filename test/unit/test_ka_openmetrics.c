/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_openmetrics.h"
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
        is_time = !begins(at, "kastats_requests_per");
        at = end;
        if (isfinite(le)) {
            edge = (uint64_t)llround(le * (is_time ? 1e6 : 1)) + 1;
            assert_int_equal(ka_hist_bin_low(ka_hist_bin_index(edge)), edge);
            n++;
        }
    }
    assert_true(n > 100);
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
        unit_test(test_openmetrics__hostile_names_stay_inside_their_label),
        unit_test(test_openmetrics__connections_do_not_fall_when_one_moves),
        unit_test(test_openmetrics__vhosts_without_meaning_are_left_out),
        unit_test(test_openmetrics__workers_by_mpm),
        unit_test(test_openmetrics__any_bytes_make_lines),
    };

    return unit_main(tests);
}
