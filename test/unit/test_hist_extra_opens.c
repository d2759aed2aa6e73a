/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "model/histsweep.h"
#include "model/sweep.h"
#include "profile/trace.h"

#define T0 INT64_C(5000000)
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static void test_hist_extra_opens_m16__as_on_the_trace(void **state)
{
    static const uint32_t lengths[] = {1, 3, 10, 11, 12, 13};
    ka_trace trace;
    ka_hist h;
    uint32_t m;
    size_t i;

    (void)state;
    ka_trace_init(&trace);
    ka_hist_init(&h);
    for (i = 0; i < COUNT_OF(lengths); i++) {
        uint32_t chain = ka_trace_open(&trace, 0, 1), k;

        for (k = 1; k < lengths[i]; k++) {
            ka_trace_follow(&trace, chain, 2 * k, 2 * k + 1);
        }
        ka_hist_add(&h, lengths[i]);
    }
    for (m = 0; m < 14; m++) {
        assert_int_equal(ka_hist_extra_opens(&h, m, 0, 0),
                         ka_extra_opens(&trace, T0, m));
    }
    ka_trace_clear(&trace);
}

/* Connections that the limit in force cut were longer. */
static void test_hist_extra_opens_m16__limit_in_force(void **state)
{
    ka_hist h;

    (void)state;
    ka_hist_init(&h);
    ka_hist_add_n(&h, 101, 50);
    assert_int_equal(ka_hist_extra_opens(&h, 100, 100, 50), 50);
    assert_int_equal(ka_hist_extra_opens(&h, 504, 100, 50), 10);
    assert_int_equal(ka_hist_extra_opens(&h, 50, 100, 50), 100);
    assert_int_equal(ka_hist_extra_opens(&h, 0, 100, 50), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_hist_extra_opens_m16__as_on_the_trace),
        unit_test(test_hist_extra_opens_m16__limit_in_force)};

    return unit_main(tests);
}
