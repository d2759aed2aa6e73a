/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Start, end and service time from the time items of a line. */
#include "unit.h"

#include "logline_show.h"

#define T "[02/Jan/2024:03:04:05 +0000]"
#define S "1704164645"
#define END_S "1704164647"

static void test_logline_time__each_item(void **state)
{
    static const logline_case cases[] = {
        { "%t", T, "begin=" S "000000" },
        { "%{}t", T, "begin=" S "000000" },
        { "%{begin}t", T, "begin=" S "000000" },
        { "%{begin:}t", T, "begin=" S "000000" },
        { "%{sec}t", S, "begin=" S "000000" },
        { "%{begin:sec}t", S, "begin=" S "000000" },
        { "%{%s}t", S, "begin=" S "000000" },
        { "%{msec}t", S "123", "begin=" S "123000" },
        { "%{usec}t", S "123456", "begin=" S "123456" },
        { "%{%F %T}t", "2024-01-02 03:04:05", "begin=" S "000000" },
        { "%{begin:%F %T}t", "2024-01-02 03:04:05", "begin=" S "000000" },
        { "%{%d/%b/%Y:%T %z}t", "02/Jan/2024:04:04:05 +0100",
          "begin=" S "000000" },
        { "%{beginning %s}t", "beginning " S, "begin=" S "000000" },
    };

    LOGLINE_CHECK(cases, *state);
}

static void test_logline_time__items_that_add_up(void **state)
{
    static const logline_case cases[] = {
        { "[%{%F %T}t.%{usec_frac}t]", "[2024-01-02 03:04:05.003372]",
          "begin=" S "003372" },
        { "[%{%d/%b/%Y:%T}t.%{msec_frac}t %{%z}t]",
          "[02/Jan/2024:04:04:05.123 +0100]", "begin=" S "123000" },
        { "%{%F}t %h %{%T}t", "2024-01-02 a 03:04:05",
          "begin=" S "000000 host=<a>" },
        { "%{%F %T}t%{msec_frac}t", "2024-01-02 03:04:05123",
          "begin=" S "123000" },
        { "%{sec}t.%{usec_frac}t", S ".000042", "begin=" S "000042" },
        { "%t %{usec_frac}t %{msec_frac}t", T " 123456 123",
          "begin=" S "123456" },
        { "%t %{usec}t", T " " S "123456", "begin=" S "123456" },
        { "%t %{msec}t %{sec}t", T " " S "123 " S, "begin=" S "123000" },
        { "%{msec}t %{usec_frac}t", S "123 123456", "begin=" S "123456" },
        { "%{sec}t %{msec_frac}t", S " 123", "begin=" S "123000" },
        /* A date without a zone is local time; the counter knows better. */
        { "%{%F %T}t %{usec}t", "2024-01-02 12:04:05 " S "123456",
          "begin=" S "123456" },
        /* An item that is absent leaves the others. */
        { "%t %{usec}t", T " -", "begin=" S "000000" },
        { "%t %{usec}t", "- " S "000001", "begin=" S "000001" },
        { "%{%F %T}t %{msec}t", "- " S "000", "begin=" S "000000" },
        { "%t %h", "- a", "host=<a>" },
        { "%{%F}t %{%T}t %h", "2024-01-02 - a", "host=<a>" },
    };

    LOGLINE_CHECK(cases, *state);
}

static void test_logline_time__values_blotted_out(void **state)
{
    static const logline_case cases[] = {
        { "%t %{usec}t %{usec_frac}t", T " 9999999999999999 018010",
          "begin=" S "018010" },
        { "%{msec}t %{usec}t", S "123 9999999999999999", "begin=" S "123000" },
        { "%t %{msec}t", T " 1111111111111", "begin=" S "000000" },
        { "%t %{usec}t", T " 0", "begin=" S "000000" },
        { "%{%F %T}t %{usec}t", "2024-01-02 03:04:05 1111111111111111",
          "begin=" S "000000" },
        { "%t %{end:usec}t", T " 9999999999999999", "begin=" S "000000" },
        { "%t %{usec}t", T " 99999999999999999999", "begin=" S "000000" },
        /* Alone it has to be believed, up to the year 10000. */
        { "%{usec}t", "9999999999999999", "begin=9999999999999999" },
        { "%{usec}t %h", "999999999999999999 a", "host=<a>" },
    };

    LOGLINE_CHECK(cases, *state);
}

static void test_logline_time__end_and_service(void **state)
{
    static const logline_case cases[] = {
        { "%{begin:usec}t %{end:usec}t", S "000001 " END_S "000003",
          "begin=" S "000001 end=" END_S "000003 service=2000002" },
        { "%t %{end}t", T " [02/Jan/2024:03:04:07 +0000]",
          "begin=" S "000000 end=" END_S "000000 service=2000000" },
        { "%{usec}t %{end:%s}t.%{end:usec_frac}t", S "500000 " END_S ".750000",
          "begin=" S "500000 end=" END_S "750000 service=2250000" },
        { "%{end:%F %T}t %{end:msec_frac}t %D",
          "2024-01-02 03:04:07 250 250000",
          "begin=" END_S "000000 end=" END_S "250000 service=250000" },
        { "%{end:usec}t %D", END_S "000000 2000000",
          "begin=" S "000000 end=" END_S "000000 service=2000000" },
        { "%{end:usec}t %T", END_S "500000 2",
          "begin=" S "500000 end=" END_S "500000 service=2000000" },
        { "%{end}t", T, "begin=" S "000000 end=" S "000000" },
        { "%{end:usec}t %D", END_S "000000 -",
          "begin=" END_S "000000 end=" END_S "000000" },
        /* The finest wins. */
        { "%{usec}t %{end:usec}t %T", S "000000 " END_S "400000 2",
          "begin=" S "000000 end=" END_S "400000 service=2400000" },
        { "%t %{end}t %D", T " [02/Jan/2024:03:04:07 +0000] 1400000",
          "begin=" S "000000 end=" END_S "000000 service=1400000" },
        /* A clock that was set back is no service time. */
        { "%{usec}t %{end:usec}t", END_S "000000 " S "000000",
          "begin=" END_S "000000 end=" S "000000" },
        { "%{usec}t %{end:usec}t %T", END_S "000000 " S "000000 2",
          "begin=" END_S "000000 end=" S "000000 service=2000000" },
        { "%t %D", T " 9999999999999999999", "begin=" S "000000" },
    };

    LOGLINE_CHECK(cases, *state);
}

static void test_logline_time__dates_that_do_not_exist(void **state)
{
    static const logline_case cases[] = {
        { "%t %h", "[31/Dec/1969:00:00:00 +0000] a",
          "1: %t, a time like [09/Jul/1995:00:00:07 -0400]" },
        { "%{%F}t %{%T}t", "2023-02-29 00:00:00", "1: %{%F}t, an existing "
                                                  "time of that form" },
        { "%t %{end:%F %T}t", T " 2023-02-29 00:00:00",
          "30: %{end:%F %T}t, an existing time of that form" },
        { "%{%F %T}t", "1960-01-01 00:00:00", "1: %{%F %T}t, an existing time "
                                              "of that form" },
        { "%t", "[30/Jun/2015:23:59:60 +0000]", "begin=1435708800000000" },
    };

    LOGLINE_CHECK(cases, *state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_logline_time__each_item),
        unit_test(test_logline_time__items_that_add_up),
        unit_test(test_logline_time__values_blotted_out),
        unit_test(test_logline_time__end_and_service),
        unit_test(test_logline_time__dates_that_do_not_exist)
    };

    return unit_main(tests);
}
