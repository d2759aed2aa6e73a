/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "model/outcome.h"
#include "words.h"
#include "unit.h"

static void test_words__counts_have_separators(void **state)
{
    static const struct {
        int64_t n;
        const char *text;
    } cases[] = {{0, "0"},
                 {999, "999"},
                 {1000, "1,000"},
                 {12345, "12,345"},
                 {123456, "123,456"},
                 {1234567, "1,234,567"},
                 {-5, "-5"},
                 {-1234, "-1,234"},
                 {-123456, "-123,456"},
                 {INT64_MAX, "9,223,372,036,854,775,807"},
                 {INT64_MIN, "-9,223,372,036,854,775,808"}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(ka_words_count(*state, cases[i].n), cases[i].text);
    }
}

/* Rounding up into the next power of ten loses a decimal, not a digit. */
static void test_words__numbers_have_three_digits(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {{0, "0"},
                 {0.0004, "<0.001"},
                 {0.001, "0.0010"},
                 {0.00416, "0.0042"},
                 {0.00996, "0.010"},
                 {0.034, "0.034"},
                 {0.0996, "0.10"},
                 {0.914, "0.91"},
                 {0.996, "1.00"},
                 {5.2, "5.20"},
                 {9.994, "9.99"},
                 {9.996, "10.0"},
                 {12.44, "12.4"},
                 {99.94, "99.9"},
                 {99.96, "100"},
                 {215.4, "215"},
                 {999.6, "1,000"},
                 {1234.5, "1,235"},
                 {-2.5, "-2.50"},
                 {1e14, "100,000,000,000,"
                        "000"},
                 {1e16, "?"},
                 {NAN, "?"},
                 {INFINITY, "?"},
                 {-INFINITY, "?"}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(ka_words_number(*state, cases[i].value),
                            cases[i].text);
    }
}

static void test_words__shares(void **state)
{
    static const struct {
        double ratio;
        const char *text;
    } cases[] = {{0, "0%"},        {0.0004, "<0.1%"}, {0.0006, "0.1%"},
                 {0.0312, "3.1%"}, {0.971, "97.1%"},  {0.9994, "99.9%"},
                 {0.9996, "100%"}, {1, "100%"},       {1.5, "150%"},
                 {NAN, "?"}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(ka_words_share(*state, cases[i].ratio),
                            cases[i].text);
    }
}

static void test_words__durations_sizes_timeouts(void **state)
{
    assert_string_equal(ka_words_duration(*state, 400000), "400ms");
    assert_string_equal(ka_words_duration(*state, 1e300), "?");
    assert_string_equal(ka_words_duration(*state, NAN), "?");
    assert_string_equal(ka_words_size(*state, INT64_C(600) << 20), "600M");
    assert_string_equal(ka_words_size(*state, -1), "-");
    assert_string_equal(ka_words_timeout(*state, 15000000), "15s");
    assert_string_equal(ka_words_timeout(*state, KA_TIMEOUT_OFF), "Off");
    assert_string_equal(ka_words_whole(*state, 41.5), "42");
    assert_string_equal(ka_words_whole(*state, NAN), "?");
    assert_string_equal(ka_words_plural(*state, 1, "file"), "1 file");
    assert_string_equal(ka_words_plural(*state, 1200, "file"), "1,200 files");
}

static void test_words__time_is_rfc3339(void **state)
{
    assert_string_equal(ka_words_time(*state, INT64_C(1772438400999999)),
                        "2026-03-02T08:00:00Z");
    assert_string_equal(ka_words_time(*state, INT64_C(253402300799) * 1000000),
                        "9999-12-31T23:59:59Z");
    assert_null(ka_words_time(*state, INT64_C(253402300800) * 1000000));
    assert_null(ka_words_time(*state, 0));
    assert_null(ka_words_time(*state, INT64_MIN));
    assert_null(ka_words_time(*state, INT64_MAX));
}

static void test_words__range_is_ordered_and_folds(void **state)
{
    assert_string_equal(ka_words_range(*state, ka_words_number, 6.35, 4.1),
                        "4.10..6.35");
    assert_string_equal(ka_words_range(*state, ka_words_number, 4.1, 4.1001),
                        "4.10");
    assert_string_equal(ka_words_range(*state, ka_words_whole, 3, 12), "3..12");
}

static void test_words__clean_leaves_printable_ascii(void **state)
{
    assert_string_equal(ka_words_clean(*state, NULL, false), "");
    assert_string_equal(ka_words_clean(*state, "a\tb\\x", false), "a b\\x");
    assert_string_equal(ka_words_clean(*state, "a\nb\r", false),
                        "a\\x0ab\\x0d");
    assert_string_equal(ka_words_clean(*state, "a\nb", true), "a\nb");
    assert_string_equal(ka_words_clean(*state, "\033[2J\x7f\xc3\xa4", true),
                        "\\x1b[2J\\x7f\\xc3\\xa4");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_words__counts_have_separators),
        unit_test(test_words__numbers_have_three_digits),
        unit_test(test_words__shares),
        unit_test(test_words__durations_sizes_timeouts),
        unit_test(test_words__time_is_rfc3339),
        unit_test(test_words__range_is_ordered_and_folds),
        unit_test(test_words__clean_leaves_printable_ascii)};

    return unit_main(tests);
}
