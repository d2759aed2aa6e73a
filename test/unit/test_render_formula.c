/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include <jansson.h>
#include "golden.h"
#include "render/render.h"

#define MB (INT64_C(1) << 20)

typedef apr_status_t formula_fn(FILE *out, const ka_formula *f,
                                const char *rule, const char *why);

static char *render(apr_pool_t *pool, formula_fn *fn, const ka_formula *f)
{
    char *buffer = NULL, *text, rule[512];
    size_t size = 0;
    FILE *out = open_memstream(&buffer, &size);

    assert_int_equal(
        fn(out, f, ka_formula_rule(rule, sizeof(rule), f), "It is an average."),
        APR_SUCCESS);
    fclose(out);
    text = apr_pstrmemdup(pool, buffer, size);
    free(buffer);
    return text;
}

static ka_formula computed(double timeout_s, double rps, double k,
                           int64_t process_bytes)
{
    ka_formula f = {.timeout_s = timeout_s,
                    .requests_per_s = rps,
                    .keepalive_requests = k,
                    .process_bytes = process_bytes};

    assert_int_equal(ka_formula_compute(&f), APR_SUCCESS);
    return f;
}

/* [M1] the document's example: 10 s x 50 a second, 4M each. */
static void test_formula__m1_example_with_keepalive(void **state)
{
    ka_formula f = computed(10, 50, 1, 4 * MB);
    const char *text = render(*state, ka_render_formula_text, &f);

    golden_check("formula.txt", text, *state);
    assert_non_null(strstr(text, "500 processes, 2000M of memory\n"));
    assert_in_range(golden_width(text), 40, 80);
}

/* [M1] the document's example without KeepAlive: 150 a second, 4M each. */
static void test_formula__m1_example_off(void **state)
{
    ka_formula f = computed(0, 150, 0, 4 * MB);
    const char *text = render(*state, ka_render_formula_text, &f);

    golden_check("formula-off.txt", text, *state);
    assert_non_null(strstr(text, "150 processes, 600M of memory\n"));
}

static void test_formula__json(void **state)
{
    ka_formula f = computed(10, 50, 1, 4 * MB);
    json_t *root =
        json_loads(render(*state, ka_render_formula_json, &f), 0, NULL);
    json_t *formula = json_object_get(root, "formula");

    assert_string_equal(json_string_value(json_object_get(root, "schema")),
                        "kaadvisor/1");
    assert_near(json_real_value(json_object_get(formula, "processes")), 500, 0);
    assert_int_equal(
        json_integer_value(json_object_get(formula, "memory_bytes")),
        2000 * MB);
    assert_true(json_is_false(json_object_get(formula, "keepalive_pays")));
    assert_true(json_is_string(json_object_get(formula, "rule")));
    assert_true(json_is_string(json_object_get(formula, "why_it_differs")));
    json_decref(root);
}

static void test_formula__memory_that_is_not_known(void **state)
{
    ka_formula f = computed(10, 50, 2, -1);
    json_t *root =
        json_loads(render(*state, ka_render_formula_json, &f), 0, NULL);
    json_t *formula = json_object_get(root, "formula");

    assert_true(json_is_null(json_object_get(formula, "memory_bytes")));
    assert_non_null(
        strstr(render(*state, ka_render_formula_text, &f), "memory not known"));
    json_decref(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_formula__m1_example_with_keepalive),
        unit_test(test_formula__m1_example_off), unit_test(test_formula__json),
        unit_test(test_formula__memory_that_is_not_known)};

    return unit_main(tests);
}
