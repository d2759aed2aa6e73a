/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_segment_html.h"
#include "golden.h"
#include "segment_made.h"

#define NOW (MADE_AT + 600 * MADE_S)

static const char *shown(const ka_segment_header *header,
                         ka_segment_html_options options, apr_pool_t *pool)
{
    made_text *to = made_text_make(pool);
    const ka_text out = {made_sink, to};

    options.now_at = options.now_at ? options.now_at : NOW;
    ka_segment_html(&out, header, &options, pool);
    return to->bytes;
}

static const char *shown_plain(const ka_segment_header *header,
                               apr_pool_t *pool)
{
    return shown(header, (ka_segment_html_options){.version = "1.2.3"}, pool);
}

/* Ten connections of a hostile kind in the ring: every number is possible. */
static void fill_ring(ka_segment_header *header)
{
    uint64_t keeps = header->section[KA_SECTION_RECENT].n;
    uint64_t n;

    for (n = 1; n <= 10; n++) {
        ka_segment_recent *r = ka_segment_entry(header, KA_SECTION_RECENT,
                                                n % keeps);

        *r = (ka_segment_recent){.seq = 2 * n,
                                 .started_at = INT64_MAX,
                                 .life_us = UINT64_MAX,
                                 .requests = UINT32_MAX,
                                 .vhost = UINT16_MAX,
                                 .reason = 255,
                                 .protocol = 255,
                                 .client_hash = n};
    }
    header->recent_head = 10;
}

static void test_html__golden(void **state)
{
    golden_check("kastats.html",
                 shown_plain(made_traffic(*state, "www.example.org:443"),
                             *state), *state);
}

static void test_html__hostile_names_are_escaped(void **state)
{
    const char *name = "</table><script>alert(\"1\")</script>&'\xff";
    ka_segment_header *header = made_traffic(*state, name);
    const char *text;

    memcpy(header->server_version, "<b onload='x'>", 15);
    text = shown(header, (ka_segment_html_options){.version = "<i>"}, *state);
    assert_lacks(text, "<script");
    assert_lacks(text, "<b onload");
    assert_lacks(text, "<i>");
    assert_lacks(text, "\xff");
    assert_holds(text, "&lt;/table&gt;&lt;script&gt;alert(&quot;1&quot;)"
                       "&lt;/script&gt;&amp;&#39;\xef\xbf\xbd");
    assert_holds(text, "&lt;b onload=&#39;x&#39;&gt;");
}

/* No script, and nothing that is fetched. */
static void test_html__needs_nothing_else(void **state)
{
    static const char *const absent[] = {"<script", "http://", "https://",
                                         "src=",    "@import", "url("};
    const char *text = shown_plain(made_traffic(*state, "v"), *state);
    size_t i;

    for (i = 0; i < sizeof(absent) / sizeof(absent[0]); i++) {
        assert_lacks(text, absent[i]);
    }
}

/* Every element that is opened is closed in order. */
static void test_html__elements_are_balanced(void **state)
{
    static const char *const single[] = {"meta", "link", "br", "rect",
                                         "polygon", "polyline", "!DOCTYPE"};
    ka_segment_header *header = made_traffic(*state, "v");
    char stack[64][16] = {""};
    size_t depth = 0, i;
    const char *at;

    fill_ring(header);
    at = shown(header, (ka_segment_html_options){.recent_n = 5}, *state);
    while ((at = strchr(at, '<')) != NULL) {
        bool closes = *++at == '/';
        char name[16] = "";

        at += closes;
        memcpy(name, at, strcspn(at, " >/") < 15 ? strcspn(at, " >/") : 15);
        for (i = 0; i < 7 && strcmp(name, single[i]); i++)
            ;
        if (i < 7) {
            continue;
        }
        if (closes) {
            assert_true(depth > 0);
            assert_string_equal(name, stack[--depth]);
        }
        else {
            assert_true(depth < 64);
            memcpy(stack[depth++], name, sizeof(name));
        }
    }
    assert_int_equal(depth, 0);
}

/* 300 timeouts in 600 s; 70 gaps of 4.5 s in the last quarter of T = 5 s. */
static void test_html__says_what_a_second_costs_M10(void **state)
{
    ka_segment_header *header = made_traffic(*state, "v");

    assert_holds(shown_plain(header, *state), "<b>0.50 more workers</b>");
    assert_lacks(shown_plain(header, *state), "would hold and save nothing");
    header->config.async = 1;
    assert_holds(shown_plain(header, *state),
                 "<b>0.50 more idle connections</b>");
    made_stats(header, 0, 0)->counter[KA_COUNTER_CLOSE +
                                      KA_REASON_IDLE_TIMEOUT] = 0;
    assert_holds(shown_plain(header, *state), "would hold and save nothing");
}

static void test_html__history_has_its_figures_in_text(void **state)
{
    ka_segment_header *header = made_traffic(*state, "v");
    const char *text = shown_plain(header, *state);

    /* The second of now is not over: 59 of 60 are shown. */
    assert_holds(text, "The last 59s to 2026-03-02 08:10:00 UTC");
    assert_holds(text, "Open connections: <b>10</b> last, ");
    assert_holds(text, " mean, 40 peak");
    text = shown(header, (ka_segment_html_options){.history_s = 11}, *state);
    assert_holds(text, "The last 10s to ");
    assert_lacks(text, "40 peak");
}

static void test_html__keepalive_off_everywhere(void **state)
{
    ka_segment_header *header = made_traffic(*state, "v");

    made_vhost(header, 0, "v", 0);
    assert_holds(shown_plain(header, *state), "KeepAlive is Off everywhere");
}

static void test_html__empty_segment(void **state)
{
    ka_segment_header *header = made_segment(*state);
    const char *text = shown_plain(header, *state);

    assert_holds(text, "No request has been recorded yet.");
    assert_holds(text, "No connection has ended yet.");
    assert_lacks(text, "nan");
    assert_lacks(text, "inf\"");
}

static void test_html__says_when_nobody_writes(void **state)
{
    ka_segment_header *header = made_traffic(*state, "v");
    const char *text = shown(
        header, (ka_segment_html_options){.now_at = NOW + 3600 * MADE_S},
        *state);

    assert_holds(text, "Nobody writes these numbers any more");
    assert_holds(text, "Open at the end");
    /* The window ends with the last heartbeat. */
    assert_holds(text, "<b>0.50 more workers</b>");
    assert_lacks(shown_plain(header, *state), "Nobody writes");
}

static void test_html__recent_is_bounded_and_safe(void **state)
{
    ka_segment_header *header = made_traffic(*state, "v");
    const ka_segment_html_options all = {.recent_n = SIZE_MAX,
                                         .history_s = SIZE_MAX};

    assert_lacks(shown_plain(header, *state), "id=\"recent\"");
    fill_ring(header);
    assert_holds(shown(header, all, *state), "000000000000000a");
    assert_lacks(shown(header, all, *state), "<code>0000000000000002");
}

/* What a damaged or hostile file may hold behind a layout that is sound. */
static void test_html__any_bytes_make_a_page(void **state)
{
    const ka_segment_html_options options = {
        .now_at = NOW, .history_s = 60, .recent_n = 8};
    uint64_t seed = 20260302;
    int round;

    for (round = 0; round < 20; round++) {
        apr_pool_t *pool;
        ka_segment_header *header;
        unsigned char *at;

        apr_pool_create(&pool, *state);
        header = made_segment(pool);
        for (at = (unsigned char *)&header->heartbeat_at;
             at < (unsigned char *)header + header->total_size; at++) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            *at = seed >> 33 & 1 ? (unsigned char)(seed >> 40) : 0xff;
        }
        header->started_at = round % 2 ? INT64_MAX : INT64_MIN;
        header->heartbeat_at = round % 4 < 2 ? INT64_MAX : INT64_MIN;
        assert_lacks(shown(header, options, pool), "\xff");
        apr_pool_destroy(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_html__golden),
        unit_test(test_html__hostile_names_are_escaped),
        unit_test(test_html__needs_nothing_else),
        unit_test(test_html__elements_are_balanced),
        unit_test(test_html__says_what_a_second_costs_M10),
        unit_test(test_html__history_has_its_figures_in_text),
        unit_test(test_html__keepalive_off_everywhere),
        unit_test(test_html__empty_segment),
        unit_test(test_html__says_when_nobody_writes),
        unit_test(test_html__recent_is_bounded_and_safe),
        unit_test(test_html__any_bytes_make_a_page),
    };

    return unit_main(tests);
}
