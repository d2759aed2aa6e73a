/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include <jansson.h>
#include "golden.h"
#include "report_fixture.h"

static void test_show__golden(void **state)
{
    golden_check(
        "show.txt",
        fixture_render(ka_render_show_text, fixture_prefork(*state), NULL),
        *state);
    golden_check(
        "show.json",
        fixture_render(ka_render_show_json, fixture_prefork(*state), NULL),
        *state);
}

static void test_show__fits_80_columns(void **state)
{
    const char *text =
        fixture_render(ka_render_show_text, fixture_unknown_mpm(*state), NULL);

    assert_in_range(golden_width(text), 60, 80);
}

/* Without traffic there is nothing to draw, and nothing to divide by. */
static void test_show__empty_source(void **state)
{
    const char *text =
        fixture_render(ka_render_show_text, fixture_refused(*state), NULL);

    assert_null(strstr(text, "#"));
    assert_non_null(strstr(text, "no connection carried two requests"));
}

static void test_show__bars_add_up(void **state)
{
    fixture *f = fixture_prefork(*state);
    ka_hist *gap = &f->profile.total.gap;
    const char *text;

    ka_hist_init(gap);
    ka_hist_add_n(gap, 250000, 3);
    ka_hist_add_n(gap, KA_HIST_MAX * 2, 1);
    text = fixture_render(ka_render_show_text, f, NULL);
    assert_non_null(strstr(text, "  500ms      3  75.0%   75.0%  ####"));
    assert_non_null(strstr(text, "   more      1  25.0%    100%  ####"));
}

static void test_show__histogram_keeps_every_value(void **state)
{
    fixture *f = fixture_prefork(*state);
    char *text = fixture_render(ka_render_show_json, f, NULL);
    json_t *root = json_loads(text, 0, NULL), *bins;
    double before = -1, sum = 0;
    uint64_t count = 0;
    size_t i;

    assert_string_equal(json_string_value(json_object_get(root, "schema")),
                        "kaadvisor/show/1");
    bins = json_object_get(root, "gap_histogram");
    for (i = 0; i < json_array_size(bins); i++) {
        json_t *bin = json_array_get(bins, i);
        double le = json_number_value(json_object_get(bin, "le_s"));

        assert_true(le > before);
        before = le;
        count += (uint64_t)json_integer_value(json_object_get(bin, "count"));
        sum += json_number_value(json_object_get(bin, "sum_s"));
    }
    assert_int_equal(count, ka_hist_count(&f->profile.total.gap));
    /* ten digits are printed of each sum */
    assert_near(sum, (double)ka_hist_sum(&f->profile.total.gap) / 1e6, 1e-3);
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_show__golden), unit_test(test_show__fits_80_columns),
        unit_test(test_show__empty_source), unit_test(test_show__bars_add_up),
        unit_test(test_show__histogram_keeps_every_value)};

    return unit_main(tests);
}
