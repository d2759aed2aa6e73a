/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The calendar and strftime formats, against the C library. */
#include "unit.h"

#include <time.h>
#include "sources/logtime.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Moments worth trying: the epoch, leap days, ends of years in all their
 * relations to weeks, and a fixed walk through 1970 to 2105. */
#define MOMENTS 600

static time_t moment(size_t i)
{
    static const time_t special[] = {
        0,          1,          951782400 /* 2000-02-29 */,
        1078012800 /* 2004-02-29 */,      1104537600, 1136073600, 1167609599,
        1199145600, 1230768000, 1262304000, 1293840000, 1325375999,
        1609459199, 1609459200, 1709164800 /* 2024-02-29 */, 2147483648,
        4107542399 /* 2100-02-28 */,      4107542400 /* 2100-03-01 */
    };

    return i < COUNT(special) ? special[i] : (time_t)(i * 7103627 + 43261);
}

static void test_logtime__days_are_those_of_timegm(void **state)
{
    (void)state;
    for (size_t i = 0; i < MOMENTS; i++) {
        time_t t = moment(i);
        struct tm tm;

        gmtime_r(&t, &tm);
        assert_int_equal(ka_days_from_civil(tm.tm_year + 1900, tm.tm_mon + 1,
                                            tm.tm_mday), t / 86400);
    }
    assert_int_equal(ka_days_from_civil(1, 1, 1), -719162);
}

static void test_logtime__dates_that_do_not_exist(void **state)
{
    static const struct {
        int year, month, day;
        bool valid;
    } cases[] = {
        { 2023, 2, 28, true },  { 2023, 2, 29, false }, { 2024, 2, 29, true },
        { 1900, 2, 29, false }, { 2000, 2, 29, true },  { 2024, 4, 31, false },
        { 2024, 12, 31, true }, { 2024, 0, 1, false },  { 2024, 13, 1, false },
        { 2024, 1, 0, false },  { 0, 1, 1, false },     { 1, 1, 1, true },
        { 9999, 12, 31, true }, { 10000, 1, 1, false }
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        assert_int_equal(ka_date_valid(cases[i].year, cases[i].month,
                                       cases[i].day), cases[i].valid);
    }
}

/* ---- %t -------------------------------------------------------------- */

static void test_logtime__clf_is_read(void **state)
{
    static const struct {
        const char *text;
        int64_t seconds;
    } cases[] = {
        { "[01/Jan/1970:00:00:00 +0000]", 0 },
        { "[09/Jul/1995:00:00:07 -0400]", 805262407 },
        { "[26/Apr/2018:06:25:28 +0530]", 1524704128 },
        { "[29/Feb/2024:23:59:59 +0000]", 1709251199 },
        { "[30/Jun/2015:23:59:60 +0000]", 1435708800 },
        { "[31/Dec/1969:19:00:00 -0500]", 0 },
        { "[31/Dec/9999:23:59:59 +0000]", 253402300799 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t seconds = -7;

        assert_true(ka_time_clf(&seconds, cases[i].text));
        assert_int_equal(seconds, cases[i].seconds);
    }
}

static void test_logtime__clf_knows_each_month(void **state)
{
    (void)state;
    for (size_t i = 0; i < MOMENTS; i++) {
        time_t t = moment(i);
        struct tm tm;
        char text[40];
        int64_t seconds = -7;

        gmtime_r(&t, &tm);
        strftime(text, sizeof(text), "[%d/%b/%Y:%H:%M:%S +0000]", &tm);
        assert_true(ka_time_clf(&seconds, text));
        assert_int_equal(seconds, t);
    }
}

static void test_logtime__clf_refuses_what_is_no_time(void **state)
{
    static const char *const cases[] = {
        "[30/Feb/2024:00:00:00 +0000]", "[29/Feb/2023:00:00:00 +0000]",
        "[31/Apr/2024:00:00:00 +0000]", "[00/Jan/2024:00:00:00 +0000]",
        "[01/Jan/0000:00:00:00 +0000]", "[01/Jan/2024:24:00:00 +0000]",
        "[01/Jan/2024:00:60:00 +0000]", "[01/Jan/2024:00:00:61 +0000]",
        "[01/Jan/2024:00:00:00 +9900]", "[01/jan/2024:00:00:00 +0000]",
        "[01/Jxn/2024:00:00:00 +0000]", "[01/Nab/2024:00:00:00 +0000]",
        "(01/Jan/2024:00:00:00 +0000]", "[01/Jan/2024:00:00:00 +0000)",
        "[01/Jan/2024 00:00:00 +0000]", "[01/Jan/2024:00:00:00 *0000]",
        "[ 1/Jan/2024:00:00:00 +0000]", "[01/Jan/2024:00:00:0a +0000]",
        "[01/Jan/2024:00-00:00 +0000]", "[01/Jan/2024:00:00-00 +0000]",
        "[01-Jan/2024:00:00:00 +0000]", "[01/Jan-2024:00:00:00 +0000]",
        "[01/Jan/2024:00:00:00_+0000]", "[01/Jan/2024:00:00:00 +00\0000]",
        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
    };

    (void)state;
    for (size_t i = 0; i < COUNT(cases); i++) {
        int64_t seconds = -7;

        assert_false(ka_time_clf(&seconds, cases[i]));
        assert_int_equal(seconds, -7);
    }
}

/* ---- strftime --------------------------------------------------------- */

static ka_time_format *compile(const char *text, apr_pool_t *pool)
{
    ka_time_format *format = NULL;

    assert_int_equal(ka_time_format_compile(&format, NULL, text, strlen(text),
                                            pool), APR_SUCCESS);
    return format;
}

/* What the C library writes is read back to the same second. */
static void test_logtime__reads_what_strftime_writes(void **state)
{
    static const char *const formats[] = {
        "%Y-%m-%d %H:%M:%S", "%Y%m%d%H%M%S%z", "%F %T", "%c", "%D %R:%S",
        "%x %X %Z", "%d/%b/%Y:%T %z", "%A, %d. %B %Y %I:%M:%S %p", "%j %Y %r",
        "%e %h %y %k.%M.%S", "%s", "%G-W%V-%u %T", "%g %V %a %T", "%U %w %Y %T",
        "%W %u %Y %T", "%U %u %Y %T", "%C%y%m%d %l %P %M %S",
        "%EY-%Om-%Od %OH:%OM:%OS",
        "%%%n%t%Y%j%H%M%S", "%Y-%-m-%-d %-H:%-M:%-S", "%Y-%_m-%_d %_H:%M:%S",
        "%^a %^b %d %T %Y"
    };

    for (size_t f = 0; f < COUNT(formats); f++) {
        ka_time_format *format = compile(formats[f], *state);

        assert_null(ka_time_parts_missing(ka_time_format_parts(format)));
        for (size_t i = 0; i < MOMENTS; i++) {
            time_t t = moment(i);
            struct tm tm;
            char text[100];
            int64_t seconds = -7;
            ka_time_parts parts = { 0 };
            size_t n;

            gmtime_r(&t, &tm);
            /* %y ends with 2068. */
            if (tm.tm_year > 168 && strpbrk(formats[f], "cDxyg")) {
                continue;
            }
            n = strftime(text, sizeof(text), formats[f], &tm);
            if (ka_time_format_match(&parts, format, text, n) != (ptrdiff_t)n
                || !ka_time_parts_seconds(&seconds, &parts) || seconds != t) {
                fail_msg("%s: %s read as %lld, not %lld", formats[f], text,
                         (long long)seconds, (long long)t);
            }
        }
    }
}

static void test_logtime__zones(void **state)
{
    static const struct {
        const char *format, *text;
        int64_t east_s;
    } cases[] = {
        { "%z", "+0200", 7200 },   { "%z", "-0330", -12600 },
        { "%z", "+05:30", 19800 }, { "%Z", "CEST", 7200 },
        { "%Z", "EST", -18000 },   { "%Z", "UTC", 0 },
        { "%Z", "cet", 3600 },     { "%Z", "+03", 10800 },
        { "%Z", "-03", -10800 },   { "%Z", "XYZT", 0 },
        { "%Z", "CST", 0 },        { "%Z %z", "CEST -0100", -3600 },
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        ka_time_parts parts = { 0 };
        int64_t seconds = -7;

        assert_true(ka_time_format_match(
                        &parts, compile("%F %T", *state), "2024-01-02 00:00:00",
                        19) == 19);
        assert_true(ka_time_format_match(
                        &parts, compile(cases[i].format, *state), cases[i].text,
                        strlen(cases[i].text))
                    == (ptrdiff_t)strlen(cases[i].text));
        assert_true(ka_time_parts_seconds(&seconds, &parts));
        assert_int_equal(seconds, 1704153600 - cases[i].east_s);
    }
}

static void test_logtime__parts_that_are_missing(void **state)
{
    static const struct {
        const char *format, *missing;
    } cases[] = {
        { "%H:%M:%S", "year" }, { "%d/%b %T", "year" },
        { "%Y %T", "day" },     { "%Y-%m %T", "day" },
        { "%F", "hour" },       { "%F %I:%M:%S", "hour" },
        { "%F %H", "minute" },  { "%F %R", "second" },
        { "%G-%V %T", "day" },  { "%Y-%V-%u %T", "day" },
        { "%C %m %d %T", "year" }, { "", "year" },
        { "%F %T", NULL },      { "%s", NULL }
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        const char *missing = ka_time_parts_missing(
            ka_time_format_parts(compile(cases[i].format, *state)));

        if (cases[i].missing) {
            assert_non_null(missing);
            assert_string_equal(missing, cases[i].missing);
        }
        else {
            assert_null(missing);
        }
    }
}

static void test_logtime__text_that_does_not_follow(void **state)
{
    static const struct {
        const char *format, *text;
        bool matches; /* but names no moment */
    } cases[] = {
        { "%F %T", "2024-02-30 00:00:00", true },
        { "%Y %j %T", "2023 366 00:00:00", true },
        { "%G-W%V-%u %T", "2021-W53-1 00:00:00", true },
        { "%Y %U %w %T", "2021 00 4 00:00:00", true },
        { "%Y %W %u %T", "2021 53 1 00:00:00", true },
        { "%F %T", "0000-01-01 00:00:00", true },
        { "%F %T", "2024-1-01 00:00:00", false },
        { "%F %T", "2024-13-01 00:00:00", false },
        { "%F %T", "2024-01-01 24:00:00", false },
        { "%F %T", "2024-01-01 00:00:61", false },
        { "%F %T", "2024-01-01 00:00:0", false },
        { "%F %T", "", false },
        { "%F %p", "2024-01-01 xm", false },
        { "%b", "Jux", false },
        { "%A", "Mon", false },
        { "%z", "0200", false },
        { "%z", "+02", false },
        { "%Z", "[", false },
        { "%s", "1234567890123456789", false },
        { "%s", "x", false },
        { "%e", "  1", false }
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        ka_time_format *format = compile(cases[i].format, *state);
        ka_time_parts parts = { 0 };
        int64_t seconds = -7;

        assert_int_equal(ka_time_format_match(&parts, format, cases[i].text,
                                              strlen(cases[i].text)) >= 0,
                         cases[i].matches);
        if (cases[i].matches) {
            assert_false(ka_time_parts_seconds(&seconds, &parts));
        }
        assert_int_equal(seconds, -7);
    }
}

static void test_logtime__conversions_that_are_none(void **state)
{
    static const struct {
        const char *format;
        size_t where;
    } cases[] = { { "%Q", 0 }, { "%Y %N", 3 }, { "%Y%", 2 }, { "%E", 0 },
                  { "%F %OT %Oi", 7 }, { "%-", 0 } };

    for (size_t i = 0; i < COUNT(cases); i++) {
        ka_time_format *format;
        size_t where = 99;

        assert_int_equal(ka_time_format_compile(&format, &where,
                                                cases[i].format,
                                                strlen(cases[i].format),
                                                *state), APR_EINVAL);
        assert_int_equal(where, cases[i].where);
    }
}

static void test_logtime__edges(void **state)
{
    static const struct {
        const char *format;
        ka_time_edge first, last;
    } cases[] = {
        { "", KA_TIME_EDGE_NONE, KA_TIME_EDGE_NONE },
        { "%H%M", KA_TIME_EDGE_DIGITS, KA_TIME_EDGE_FIXED },
        { "%e %s", KA_TIME_EDGE_BLANK, KA_TIME_EDGE_DIGITS },
        { "%b %Z", KA_TIME_EDGE_NAME, KA_TIME_EDGE_NAME },
        { "%z %b", KA_TIME_EDGE_SIGN, KA_TIME_EDGE_FIXED },
        { "[%k", KA_TIME_EDGE_LITERAL, KA_TIME_EDGE_DIGITS },
        { "%s]", KA_TIME_EDGE_DIGITS, KA_TIME_EDGE_FIXED },
        { "%-d", KA_TIME_EDGE_BLANK, KA_TIME_EDGE_DIGITS }
    };

    for (size_t i = 0; i < COUNT(cases); i++) {
        ka_time_format *format = compile(cases[i].format, *state);
        char literal = '\0';

        assert_int_equal(ka_time_format_first(format, &literal),
                         cases[i].first);
        assert_int_equal(ka_time_format_last(format), cases[i].last);
        assert_int_equal(literal, cases[i].first == KA_TIME_EDGE_LITERAL
                                      ? '[' : '\0');
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_logtime__days_are_those_of_timegm),
        unit_test(test_logtime__dates_that_do_not_exist),
        unit_test(test_logtime__clf_is_read),
        unit_test(test_logtime__clf_knows_each_month),
        unit_test(test_logtime__clf_refuses_what_is_no_time),
        unit_test(test_logtime__reads_what_strftime_writes),
        unit_test(test_logtime__zones),
        unit_test(test_logtime__parts_that_are_missing),
        unit_test(test_logtime__text_that_does_not_follow),
        unit_test(test_logtime__conversions_that_are_none),
        unit_test(test_logtime__edges)
    };

    return unit_main(tests);
}
