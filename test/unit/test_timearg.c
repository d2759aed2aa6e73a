/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "timearg.h"

static void test_timearg__forms(void **state)
{
    static const struct {
        const char *text;
        int64_t us;
    } cases[] = {{"@0", 0},
                 {"@1764504000.5", INT64_C(1764504000500000)},
                 {"1970-01-02", INT64_C(86400000000)},
                 {"2026-11-30", INT64_C(1795996800000000)},
                 {"2026-11-30T12:00", INT64_C(1796040000000000)},
                 {"2026-11-30 12:00:30Z", INT64_C(1796040030000000)},
                 {"2026-11-30T12:00:30.25", INT64_C(1796040030250000)},
                 {"2026-11-30T12:00:00+01:00", INT64_C(1796036400000000)},
                 {"2026-11-30T12:00-0130", INT64_C(1796045400000000)},
                 {"2024-02-29", INT64_C(1709164800000000)}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t us = -1;

        assert_int_equal(ka_parse_time(&us, cases[i].text), APR_SUCCESS);
        assert_int_equal(us, cases[i].us);
    }
}

static void test_timearg__refuses(void **state)
{
    static const char *const cases[] = {
        "",           "now",        "2026",           "2026-13-01",
        "2026-02-30", "2023-02-29", "2026-11-30T24:00", "2026-11-30T12:60",
        "@",          "@-5",        "2026-11-30T12:00:60", "2026-11-30x",
        "2026-11-30T12:00+15:00", "2026-11-30T12:00:00Zx", "2026-1-1"};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t us = 42;

        if (ka_parse_time(&us, cases[i]) != APR_EINVAL || us != 42) {
            fail_msg("\"%s\" was taken", cases[i]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {unit_test(test_timearg__forms),
                                       unit_test(test_timearg__refuses)};

    return unit_main(tests);
}
