/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include <jansson.h>
#include "golden.h"
#include "segment_fixture.h"
#include "profile/live.h"
#include "render/segment.h"

#define NOW (STARTED + 3630 * SEC)

static char *text_of(const segment *s, bool connections, int64_t now_at,
                     tempdir *dir)
{
    static const int64_t at[] = {1250000, 2500000, 5 * SEC, 10 * SEC};
    static const int64_t more[] = {2250000, 3500000, 6 * SEC, 11 * SEC};
    const ka_render_options options = {.width = 80};
    ka_live *live = apr_palloc(dir->pool, sizeof(*live));
    ka_segment_view view = {
        .live = live, .connections = connections, .now_us = 5 * SEC};
    ka_hist_traffic traffic;
    const char *error;
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    assert_int_equal(ka_segment_source_read(
                         live, &error, segment_write(s, dir, "ka.seg", s->size),
                         NULL, now_at, dir->pool),
                     APR_SUCCESS);
    ka_live_traffic(&traffic, live, dir->pool);
    ka_histsweep(view.at, at, KA_SEGMENT_COSTS, &traffic);
    ka_histsweep(view.more, more, KA_SEGMENT_COSTS, &traffic);
    assert_int_equal(ka_render_segment_text(out, &view, &options), APR_SUCCESS);
    fclose(out);
    error = apr_pstrdup(dir->pool, text);
    free(text);
    return (char *)error;
}

static void test_segment_text__golden(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);

    golden_check("show-segment.txt", text_of(&s, true, NOW, dir), dir->pool);
}

static void test_segment_text__fits_80_columns(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);

    assert_in_range(golden_width(text_of(&s, true, NOW, dir)), 60, 80);
}

static void test_segment_text__says_that_nobody_writes(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    const char *text = text_of(&s, false, NOW + 7200 * SEC, dir);

    assert_non_null(strstr(text, "not live"));
    assert_non_null(strstr(text, "2025-11-30T13:00:00Z"));
    assert_null(strstr(text, "Recent connections"));
    assert_null(strstr(text_of(&s, false, NOW, dir), "not live"));
}

static void test_segment_text__empty(void **state)
{
    static const ka_segment_plan plan = {
        .vhost_n = 2, .slot_n = 1, .stripe_n = 1};
    tempdir *dir = *state;
    segment s = segment_make(&plan, dir->pool);
    const char *text = text_of(&s, true, NOW, dir);

    assert_non_null(strstr(text, "0: 0 closed, 0 open"));
    assert_null(strstr(text, "nan"));
    assert_null(strstr(text, "What KeepAliveTimeout costs"));
}

/* Names come from a configuration, or from a hostile file. */
static void test_segment_text__control_bytes_do_not_get_out(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    const char *text;

    segment_name(&s, 0, "evil\x1b[2J", 5 * SEC);
    memcpy(s.header->server_version, "\x1b[1m", 5);
    text = text_of(&s, true, NOW, dir);
    assert_null(strchr(text, '\x1b'));
    assert_non_null(strstr(text, "evil\\x1b[2J"));
}

static void collect(void *baton, const char *bytes, size_t n)
{
    fwrite(bytes, 1, n, baton);
}

static void test_segment_json__is_the_handlers_object(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    const ka_segment_json_options options = {.now_at = NOW, .recent_n = 8};
    char *mine, *handlers;
    size_t n, m;
    FILE *a = open_memstream(&mine, &n), *b = open_memstream(&handlers, &m);
    ka_json json = {.sink = collect, .baton = b};
    json_t *root;

    assert_int_equal(ka_render_segment_json(a, s.header, &options, dir->pool),
                     APR_SUCCESS);
    ka_segment_json(&json, s.header, &options, dir->pool);
    fputc('\n', b);
    fclose(a);
    fclose(b);
    assert_string_equal(mine, handlers);
    root = json_loads(mine, 0, NULL);
    assert_string_equal(json_string_value(json_object_get(root, "schema")),
                        "kastats/1");
    assert_int_equal(json_array_size(json_object_get(root, "recent")), 3);
    json_decref(root);
    free(mine);
    free(handlers);
}

static void test_segment_json__full_disk_is_an_error(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    const ka_segment_json_options options = {.now_at = NOW};
    FILE *full = fopen("/dev/full", "w");

    assert_non_null(full);
    assert_int_not_equal(
        ka_render_segment_json(full, s.header, &options, dir->pool),
        APR_SUCCESS);
    fclose(full);
}

#define dir_test(function)                                                     \
    cmocka_unit_test_setup_teardown(function, tempdir_make, tempdir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        dir_test(test_segment_text__golden),
        dir_test(test_segment_text__fits_80_columns),
        dir_test(test_segment_text__says_that_nobody_writes),
        dir_test(test_segment_text__empty),
        dir_test(test_segment_text__control_bytes_do_not_get_out),
        dir_test(test_segment_json__is_the_handlers_object),
        dir_test(test_segment_json__full_disk_is_an_error)};

    return unit_main(tests);
}
