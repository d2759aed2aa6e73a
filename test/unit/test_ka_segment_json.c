/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include <jansson.h>

#include "segment_made.h"
#include "unit.h"
#include "ka_segment_json.h"

typedef struct buffer {
    char *bytes;
    size_t n, size;
} buffer;

static void keep(void *baton, const char *bytes, size_t n)
{
    buffer *b = baton;

    if (b->n + n + 1 > b->size) {
        b->size = (b->n + n + 1) * 2;
        b->bytes = realloc(b->bytes, b->size);
        assert_non_null(b->bytes);
    }
    memcpy(b->bytes + b->n, bytes, n);
    b->n += n;
    b->bytes[b->n] = '\0';
}

/* Parsed: what is not valid JSON or not valid UTF-8 fails the test. */
static json_t *parsed(const ka_segment_header *h, size_t history, size_t recent,
                      apr_pool_t *pool)
{
    const ka_segment_json_options options = {.now_at = MADE_AT + 600 * MADE_S,
                                             .history_s = history,
                                             .recent_n = recent};
    buffer b = {0};
    ka_json j = {.sink = keep, .baton = &b};
    json_error_t error;
    json_t *root;

    ka_segment_json(&j, h, &options, pool);
    root = json_loads(b.bytes, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        fail_msg("%s at %d in %s", error.text, error.position, b.bytes);
    }
    free(b.bytes);
    return root;
}

static double number(const json_t *root, const char *object, const char *key)
{
    const json_t *value = json_object_get(json_object_get(root, object), key);

    assert_true(json_is_number(value));
    return json_number_value(value);
}

static void test_json__totals_are_the_sums(void **state)
{
    const ka_segment_header *h = made_traffic(*state, "www.example.org:80");
    json_t *root = parsed(h, 0, 0, *state);
    ka_stats *all = apr_palloc(*state, sizeof(*all));

    ka_stats_read(all, h, KA_VHOST_ALL);
    assert_true(ka_stats_requests(all) > 1000);
    assert_string_equal(json_string_value(json_object_get(root, "schema")),
                        "kastats/1");
    assert_near(number(root, "totals", "requests"),
                (double)ka_stats_requests(all), 0);
    assert_near(number(root, "totals", "connections"),
                (double)(ka_stats_closed(all) + all->open), 0);
    assert_near(number(root, "totals", "reused_requests"),
                (double)ka_stats_reused(all), 0);
    assert_near(number(root, "totals", "idle"), ka_gauges_of(h->gauges).idle,
                0);
    assert_null(json_object_get(root, "history"));
    assert_null(json_object_get(root, "recent"));
    json_decref(root);
}

static void test_json__every_reason_has_its_key(void **state)
{
    const ka_segment_header *h = made_segment(*state);
    json_t *root = parsed(h, 0, 0, *state);
    const json_t *closes =
        json_object_get(json_object_get(root, "totals"), "closes");
    unsigned i;

    assert_int_equal(json_object_size(closes), KA_REASON_N);
    for (i = 0; i < KA_REASON_N; i++) {
        assert_non_null(json_object_get(closes, ka_reason_name(i)));
    }
    json_decref(root);
}

static void test_json__any_vhost_name_is_escaped(void **state)
{
    static const char *const names[] = {"quote\"back\\slash",
                                        "</script><b>&'",
                                        "\x01\x1f\x7f\n\t",
                                        "\xff\xfe",
                                        "\xc3",
                                        "\xc3\xa9",
                                        "\xed\xa0\x80",
                                        "\xf4\x90\x80\x80",
                                        "\xe2\x82",
                                        "\xf0\x9f\x98\x80"};
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        ka_segment_header *h = made_segment(*state);
        const json_t *name;
        json_t *root;

        made_vhost(h, 0, names[i], 5 * MADE_S);
        root = parsed(h, 0, 0, *state);
        name = json_object_get(
            json_array_get(json_object_get(root, "vhosts"), 0), "name");
        assert_true(json_is_string(name));
        if (i < 3 || i == 5 || i == 9) { /* valid: comes back as it was */
            assert_string_equal(json_string_value(name), names[i]);
        }
        json_decref(root);
    }
}

static void test_json__history_and_recent_on_demand(void **state)
{
    ka_segment_header *h = made_traffic(*state, "www.example.org:80");
    json_t *root = parsed(h, 30, 5, *state);
    const json_t *history = json_object_get(root, "history");
    size_t i;

    assert_int_equal(json_array_size(history), 30);
    for (i = 1; i < 30; i++) {
        const json_t *before = json_array_get(history, i - 1);
        const json_t *now = json_array_get(history, i);

        assert_near(json_number_value(json_object_get(now, "t")) -
                        json_number_value(json_object_get(before, "t")),
                    1, 1e-6);
    }
    assert_true(json_is_array(json_object_get(root, "recent")));
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_json__totals_are_the_sums),
        unit_test(test_json__every_reason_has_its_key),
        unit_test(test_json__any_vhost_name_is_escaped),
        unit_test(test_json__history_and_recent_on_demand),
    };

    return unit_main(tests);
}
