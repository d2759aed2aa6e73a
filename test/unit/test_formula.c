/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "model/formula.h"

#define MIB INT64_C(1048576)
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* The document's own examples come first. */
static void test_formula_m1_m2__worked_examples(void **state)
{
    static const struct {
        double timeout_s, rps, k;
        int64_t process_bytes;
        double processes;
        int64_t memory_bytes;
        bool pays;
    } cases[] = {
        {10, 50, 1, 4 * MIB, 500, 2097152000, false},
        {0, 150, 3, 4 * MIB, 150, 629145600, true},
        {10, 150, 3, 4 * MIB, 500, 2097152000, false},
        {0, 150, 0, 4 * MIB, 150, 629145600, false},
        {5, 100, 5, -1, 100, -1, false},
        {5, 100, 5.5, -1, 100 / 1.1, -1, true},
        {0.5, 10, 2, 1, 2.5, 3, true},
        {15, 0, 2, MIB, 0, 0, false},
        {1e6, 1e6, 1, INT64_MAX, 1e12, INT64_MAX, false},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        ka_formula f = {.timeout_s = cases[i].timeout_s,
                        .requests_per_s = cases[i].rps,
                        .keepalive_requests = cases[i].k,
                        .process_bytes = cases[i].process_bytes};

        assert_int_equal(ka_formula_compute(&f), APR_SUCCESS);
        assert_near(f.processes, cases[i].processes, 1e-9);
        assert_true(f.memory_bytes == cases[i].memory_bytes);
        assert_int_equal(f.keepalive_pays, cases[i].pays);
    }
}

static void test_formula__refuses_bad_inputs(void **state)
{
    static const ka_formula cases[] = {
        {.timeout_s = -1, .requests_per_s = 1, .keepalive_requests = 1},
        {.timeout_s = 1, .requests_per_s = -1, .keepalive_requests = 1},
        {.timeout_s = 1, .requests_per_s = 1, .keepalive_requests = -1},
        {.timeout_s = 1, .requests_per_s = 1, .keepalive_requests = 0},
        {.timeout_s = NAN, .requests_per_s = 1, .keepalive_requests = 1},
        {.timeout_s = 1, .requests_per_s = INFINITY, .keepalive_requests = 1},
        {.timeout_s = 1, .requests_per_s = 1, .keepalive_requests = NAN},
        {.timeout_s = 1e300, .requests_per_s = 1e300, .keepalive_requests = 1},
        {.timeout_s = 1,
         .requests_per_s = 1,
         .keepalive_requests = 1,
         .process_bytes = -2},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        ka_formula f = cases[i];

        f.processes = 7;
        f.memory_bytes = 7;
        assert_int_equal(ka_formula_compute(&f), APR_EINVAL);
        assert_near(f.processes, 7, 0);
        assert_int_equal(f.memory_bytes, 7);
    }
}

static void assert_has(const char *text, const char *part)
{
    if (strstr(text, part) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", text, part);
    }
}

static void test_formula_m2__rule_names_its_numbers(void **state)
{
    ka_formula f = {.timeout_s = 15,
                    .requests_per_s = 50,
                    .keepalive_requests = 3.25,
                    .process_bytes = -1};
    char buffer[512];

    (void)state;
    ka_formula_compute(&f);
    assert_has(ka_formula_rule(buffer, sizeof(buffer), &f), "Off pays");
    assert_has(buffer, "3.25 against 15");
    assert_has(buffer, "requests with seconds");
    assert_has(buffer, "one second.");

    f.timeout_s = 2;
    ka_formula_compute(&f);
    assert_has(ka_formula_rule(buffer, sizeof(buffer), &f), "On pays");
    assert_has(buffer, "3.25 against 2");

    f.timeout_s = 0;
    ka_formula_compute(&f);
    assert_has(ka_formula_rule(buffer, sizeof(buffer), &f), "one second.");
}

static void test_formula_m2__rule_fits_any_buffer(void **state)
{
    ka_formula f = {.timeout_s = 1.23e300,
                    .requests_per_s = 50,
                    .keepalive_requests = 1.23e-300,
                    .process_bytes = -1};
    char buffer[512];
    size_t size;

    (void)state;
    for (size = 1; size < sizeof(buffer); size++) {
        buffer[size] = '#';
        assert_true(strlen(ka_formula_rule(buffer, size, &f)) < size);
        assert_int_equal(buffer[size], '#');
    }
    assert_has(buffer, "one second.");
    assert_string_equal(ka_formula_rule(NULL, 0, &f), "");
}

static void test_formula__says_why_it_differs(void **state)
{
    (void)state;
    assert_has(ka_formula_why_it_differs(true), "one second");
    assert_has(ka_formula_why_it_differs(false), "KeepAliveTimeout");
    assert_string_not_equal(ka_formula_why_it_differs(true),
                            ka_formula_why_it_differs(false));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_formula_m1_m2__worked_examples),
        unit_test(test_formula__refuses_bad_inputs),
        unit_test(test_formula_m2__rule_names_its_numbers),
        unit_test(test_formula_m2__rule_fits_any_buffer),
        unit_test(test_formula__says_why_it_differs),
    };

    return unit_main(tests);
}
