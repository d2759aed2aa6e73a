/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_text.h"
#include "segment_made.h"

static const char *written(void **state, void (*write)(const ka_text *out,
                                                       const char *text),
                           const char *text)
{
    made_text *to = made_text_make(*state);
    const ka_text out = {made_sink, to};

    write(&out, text);
    return to->bytes;
}

static void test_text__html_escapes(void **state)
{
    static const char *const cases[][2] = {
        {"", ""},
        {"plain.example.org:80", "plain.example.org:80"},
        {"<script>\"a\"&'b'", "&lt;script&gt;&quot;a&quot;&amp;&#39;b&#39;"},
        {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
        {"a\xff<", "a\xef\xbf\xbd&lt;"},
        {"\xe2\x82", "\xef\xbf\xbd\xef\xbf\xbd"},         /* cut short */
        {"\xc0\xbc", "\xef\xbf\xbd\xef\xbf\xbd"},         /* overlong < */
        {"\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"},
        {"\x1b[2J\n", "\xef\xbf\xbd[2J\xef\xbf\xbd"},
        {"\xf0\x9f\x90\x87", "\xf0\x9f\x90\x87"},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(written(state, ka_text_html, cases[i][0]),
                            cases[i][1]);
    }
    assert_string_equal(written(state, ka_text_html, NULL), "");
}

static void test_text__label_escapes_and_keeps_apart(void **state)
{
    static const char *const cases[][2] = {
        {"a\"b\\c\nd", "a\\\"b\\\\c\\nd"},
        {"\xff", "\\\\xff"},
        {"\xfe", "\\\\xfe"},
        {"\r", "\\\\x0d"},
        {"<&>'", "<&>'"},
        {"\xc2\x85", "\\\\xc2\\\\x85"}, /* next line, a C1 control */
        {"gr\xc3\xbcn", "gr\xc3\xbcn"},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(written(state, ka_text_label, cases[i][0]),
                            cases[i][1]);
    }
}

static const char *number(void **state, void (*write)(const ka_text *out,
                                                      double value),
                          double value)
{
    made_text *to = made_text_make(*state);
    const ka_text out = {made_sink, to};

    write(&out, value);
    return to->bytes;
}

static void put_two(const ka_text *out, double value)
{
    ka_text_decimal(out, value, 2);
}

static void put_percent(const ka_text *out, double value)
{
    ka_text_share(out, value, 1000);
}

static void put_whole(const ka_text *out, double value)
{
    ka_text_count(out, (uint64_t)value);
}

static void test_text__numbers(void **state)
{
    static const struct {
        void (*write)(const ka_text *out, double value);
        double value;
        const char *expected;
    } cases[] = {
        {put_two, 0, "0.00"},          {put_two, 0.005, "0.01"},
        {put_two, 12.999, "13.00"},    {put_two, -1, "0.00"},
        {put_two, NAN, "0.00"},        {put_two, INFINITY, "1000000000000.00"},
        {ka_text_figure, 0, "0"},      {ka_text_figure, 27, "27"},
        {ka_text_figure, 27.14, "27.1"}, {ka_text_figure, 5.594, "5.59"},
        {ka_text_figure, 0.0421, "0.042"},
        {ka_text_figure, 0.00421, "0.0042"},
        {ka_text_figure, 0.000004, "0.000004"},
        {ka_text_figure, 1234.4, "1,234"},
        {ka_text_figure, NAN, "0"},
        {put_percent, 0, "0%"},        {put_percent, 0.1, "<0.1%"},
        {put_percent, 312, "31.2%"},   {put_percent, 999.9, ">99.9%"},
        {put_percent, 1000, "100%"},
        {put_whole, 0, "0"},           {put_whole, 999, "999"},
        {put_whole, 1000, "1,000"},    {put_whole, 1234567, "1,234,567"},
        {ka_text_duration, 2500000, "2.5s"},
        {ka_text_duration, -5, "0s"},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(number(state, cases[i].write, cases[i].value),
                            cases[i].expected);
    }
}

static void test_text__share_of_nothing(void **state)
{
    made_text *to = made_text_make(*state);
    const ka_text out = {made_sink, to};

    ka_text_share(&out, 0, 0);
    ka_text_share(&out, 1, NAN);
    assert_string_equal(to->bytes, "--");
}

static void test_text__time_is_utc_and_bounded(void **state)
{
    made_text *to = made_text_make(*state);
    const ka_text out = {made_sink, to};

    ka_text_time(&out, MADE_AT);
    assert_string_equal(to->bytes, "2026-03-02 08:00:00 UTC");
    to->n = 0;
    ka_text_time(&out, INT64_MAX);
    assert_string_equal(to->bytes, "-");
    to->n = 0;
    ka_text_time(&out, INT64_MIN);
    assert_string_equal(to->bytes, "-");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_text__html_escapes),
        unit_test(test_text__label_escapes_and_keeps_apart),
        unit_test(test_text__numbers),
        unit_test(test_text__share_of_nothing),
        unit_test(test_text__time_is_utc_and_bounded),
    };

    return unit_main(tests);
}
