/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "ka_units.h"

#define KIB INT64_C(1024)
#define MIB (KIB * 1024)
#define GIB (MIB * 1024)
#define TIB (GIB * 1024)
#define SEC INT64_C(1000000)
#define DAY (86400 * SEC)

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static void test_units_duration__reads(void **state)
{
    static const struct {
        const char *text;
        int64_t us;
    } cases[] = {
        {"0", 0},
        {"5", 5 * SEC},
        {"2.5", 2500000},
        {".5", 500000},
        {"5.", 5 * SEC},
        {"400ms", 400000},
        {"400MS", 400000},
        {"250us", 250},
        {"0.4us", 0},
        {"0.5us", 1},
        {"1.0000005s", 1000001},
        {"1h", 3600 * SEC},
        {"1.5min", 90 * SEC},
        {"1.5m", 90 * SEC},
        {"2D", 2 * DAY},
        {"36525d", 36525 * DAY},
        {"0000000000000000000000000000000007", 7 * SEC},
        {"0.1000000000000000000000000000000000000000001", 100000},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        int64_t us = -1;

        assert_int_equal(ka_parse_duration(&us, cases[i].text), APR_SUCCESS);
        assert_int_equal(us, cases[i].us);
    }
}

static void test_units_size__reads(void **state)
{
    static const struct {
        const char *text;
        int64_t bytes;
    } cases[] = {
        {"0", 0},          {"4096", 4096},
        {"100B", 100},     {"4M", 4 * MIB},
        {"4m", 4 * MIB},   {"4MB", 4 * MIB},
        {"4MiB", 4 * MIB}, {"512K", 512 * KIB},
        {"2G", 2 * GIB},   {"1.5g", GIB + GIB / 2},
        {"3T", 3 * TIB},   {"1152921504606846975", (INT64_C(1) << 60) - 1},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        int64_t bytes = -1;

        assert_int_equal(ka_parse_size(&bytes, cases[i].text), APR_SUCCESS);
        assert_int_equal(bytes, cases[i].bytes);
    }
}

static void test_units_number__reads(void **state)
{
    static const struct {
        const char *text;
        double value;
    } cases[] = {
        {"0", 0},
        {"50", 50},
        {"0.5", 0.5},
        {"0.1", 0.1},
        {"2.1", 2.1},
        {"123456.789", 123456.789},
        {"999999999999999", 999999999999999},
    };
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        double value = -1;

        assert_int_equal(ka_parse_number(&value, cases[i].text), APR_SUCCESS);
        assert_near(value, cases[i].value, cases[i].value * 1e-15);
    }
}

/* What no kind of number accepts; the unit follows where a kind needs one. */
static const char *const bad[] = {
    NULL,  "",      " ",   "-1",  "-0.5", "+1",
    " 5",  "5 ",    "abc", ".",   "1..",  "1.2.3",
    "1e3", "0x10",  "1,5", "nan", "inf",  "ms",
    "5xs", "5_",    "5\n", "5kk", "5iB",  "5M5",
    "--5", "5 min", "%d",  "1:2", "5sec", "99999999999999999999999x",
};

static void test_units__refuse_what_is_no_number(void **state)
{
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(bad); i++) {
        int64_t whole = -7;
        double real = -7;

        assert_int_equal(ka_parse_duration(&whole, bad[i]), APR_EINVAL);
        assert_int_equal(ka_parse_size(&whole, bad[i]), APR_EINVAL);
        assert_int_equal(ka_parse_number(&real, bad[i]), APR_EINVAL);
        assert_int_equal(whole, -7);
        assert_near(real, -7, 0);
    }
}

typedef apr_status_t parse_whole(int64_t *out, const char *text);

static void test_units__refuse_other_kinds_and_ranges(void **state)
{
    static const struct {
        parse_whole *parse;
        const char *text;
        apr_status_t expected;
    } cases[] = {
        {ka_parse_duration, "5K", APR_EINVAL},
        {ka_parse_duration, "5kb", APR_EINVAL},
        {ka_parse_duration, "36525.1d", APR_ERANGE},
        {ka_parse_duration, "9223372036854775807", APR_ERANGE},
        {ka_parse_duration, "99999999999999999999999d", APR_ERANGE},
        {ka_parse_size, "5ms", APR_EINVAL},
        {ka_parse_size, "5h", APR_EINVAL},
        {ka_parse_size, "5P", APR_EINVAL},
        {ka_parse_size, "1152921504606846976", APR_ERANGE},
        {ka_parse_size, "1048576T", APR_ERANGE},
        {ka_parse_size, "1048575.9999999999999T", APR_ERANGE},
        {ka_parse_size, "99999999999999999999999", APR_ERANGE},
        {ka_parse_size, "18446744073709551615T", APR_ERANGE},
        {ka_parse_size, "184467440737095516165", APR_ERANGE},
    };
    double real = -7;
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        int64_t whole = -7;

        assert_int_equal(cases[i].parse(&whole, cases[i].text),
                         cases[i].expected);
        assert_int_equal(whole, -7);
    }
    assert_int_equal(ka_parse_number(&real, "1000000000000000"), APR_ERANGE);
    assert_int_equal(ka_parse_number(&real, "5s"), APR_EINVAL);
    assert_near(real, -7, 0);
}

static void test_units_duration__prints(void **state)
{
    static const struct {
        int64_t us;
        const char *text;
    } cases[] = {
        {0, "0s"},
        {1, "1us"},
        {250, "250us"},
        {999, "999us"},
        {1000, "1ms"},
        {1234, "1.23ms"},
        {9996, "10ms"},
        {12345, "12.3ms"},
        {400000, "400ms"},
        {999499, "999ms"},
        {999500, "1s"},
        {1000000, "1s"},
        {2500000, "2.5s"},
        {2050000, "2.05s"},
        {15 * SEC, "15s"},
        {59949999, "59.9s"},
        {59950000, "1min"},
        {90 * SEC, "90s"},
        {90500000, "1.51min"},
        {115 * SEC, "115s"},
        {300 * SEC, "300s"},
        {600 * SEC, "600s"},
        {601 * SEC, "10min"},
        {630 * SEC, "10.5min"},
        {7200 * SEC, "2h"},
        {86399 * SEC, "1d"},
        {276480 * SEC, "3.2d"},
        {36525 * DAY, "36500d"},
        {INT64_MAX, "107000000d"},
        {INT64_MIN, "-107000000d"},
        {-2500000, "-2.5s"},
    };
    char buffer[KA_UNITS_BUFFER];
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        assert_string_equal(ka_print_duration(buffer, cases[i].us),
                            cases[i].text);
    }
}

static void test_units_size__prints(void **state)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0B"},
        {100, "100B"},
        {1023, "1023B"},
        {1024, "1K"},
        {1025, "1025B"},
        {9999, "9999B"},
        {10001, "9.77K"},
        {512 * KIB, "512K"},
        {4 * MIB, "4M"},
        {629145600, "600M"},
        {2097152000, "2000M"}, /* 4M x 500 */
        {2 * GIB, "2G"},
        {14575206, "13.9M"},
        {2093796557, "1.95G"},
        {MIB - 1, "1020K"},
        {10000 * KIB + 1, "9.77M"},
        {INT64_C(1) << 60, "1050000T"},
        {INT64_MAX, "8390000T"},
        {INT64_MIN, "-8390000T"},
        {-4 * MIB, "-4M"},
    };
    char buffer[KA_UNITS_BUFFER];
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        assert_string_equal(ka_print_size(buffer, cases[i].bytes),
                            cases[i].text);
    }
}

static void test_units_httpd_time__prints(void **state)
{
    static const struct {
        int64_t us;
        const char *text;
    } cases[] = {
        {0, "0"},       {1, "1ms"},
        {499, "1ms"},   {1499, "1ms"},
        {1500, "2ms"},  {400000, "400ms"},
        {5 * SEC, "5"}, {2500000, "2500ms"},
        {1999900, "2"}, {300 * SEC, "300"},
        {-5, "0"},      {INT64_MAX, "9223372036854776ms"},
    };
    char buffer[KA_UNITS_BUFFER];
    size_t i;

    (void)state;
    for (i = 0; i < COUNT_OF(cases); i++) {
        assert_string_equal(ka_print_httpd_time(buffer, cases[i].us),
                            cases[i].text);
    }
}

/* Printed with three digits and read again, a value is off by 0.5 % at most:
 * half a unit of the third digit of 1.00. */
static void test_units__printed_can_be_read(void **state)
{
    char buffer[KA_UNITS_BUFFER];
    int64_t value, back;

    (void)state;
    for (value = 1; value < 36500 * DAY; value += value / 3 + 1) {
        double near_enough = (double)value * 0.00501;

        assert_int_equal(
            ka_parse_duration(&back, ka_print_duration(buffer, value)),
            APR_SUCCESS);
        assert_near((double)back, (double)value, near_enough);
        assert_int_equal(ka_parse_size(&back, ka_print_size(buffer, value)),
                         APR_SUCCESS);
        assert_near((double)back, (double)value, near_enough);
    }
}

static void test_units__whole_values_come_back_exactly(void **state)
{
    char buffer[KA_UNITS_BUFFER];
    int64_t i, back;

    (void)state;
    for (i = 0; i <= 600; i++) {
        ka_parse_duration(&back, ka_print_duration(buffer, i * SEC));
        assert_int_equal(back, i * SEC);
        ka_parse_duration(&back, ka_print_httpd_time(buffer, i * 1000));
        assert_int_equal(back, i * 1000);
        ka_parse_size(&back, ka_print_size(buffer, i * MIB));
        assert_int_equal(back, i * MIB);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_units_duration__reads),
        unit_test(test_units_size__reads),
        unit_test(test_units_number__reads),
        unit_test(test_units__refuse_what_is_no_number),
        unit_test(test_units__refuse_other_kinds_and_ranges),
        unit_test(test_units_duration__prints),
        unit_test(test_units_size__prints),
        unit_test(test_units_httpd_time__prints),
        unit_test(test_units__printed_can_be_read),
        unit_test(test_units__whole_values_come_back_exactly),
    };

    return unit_main(tests);
}
