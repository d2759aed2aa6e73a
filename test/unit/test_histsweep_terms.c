/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The small terms of [M6], each by itself: what a connection holds a worker for
 * beside its requests and its idle times.
 */
#include "unit.h"
#include "model/histsweep.h"

#define SEC INT64_C(1000000)
#define T0 (5 * SEC)

/* [M6] with a, and lingering as measured at T0, by l elsewhere. */
static void test_histsweep_m6__accept_and_linger(void **state)
{
    static const int64_t timeouts[] = {KA_TIMEOUT_OFF, SEC, T0};
    ka_hist_part part;
    ka_hist_traffic traffic = {.parts = &part,
                               .part_n = 1,
                               .busy_us = 20e6,
                               .accept_us = 1e4,
                               .linger_us = 16e6,
                               .server_closes = 8,
                               .window_s = 100};
    ka_outcome o[3];

    (void)state;
    ka_hist_part_init(&part);
    part.opens = 10;
    part.limit_us = T0;
    ka_hist_add_n(&part.gap, 3 * SEC, 4);
    part.cut = 6;
    ka_histsweep(o, timeouts, 3, &traffic);
    assert_near(o[2].busy_mean, (20 + 10 * 0.01) / 100, 1e-9);
    assert_near(o[2].held_mean, (20 + 0.1 + 12 + 30 + 16) / 100.0, 1e-9);
    assert_near(o[2].held_per_second, 0.06, 1e-9);
    /* four more time out, at l = 2 s each */
    assert_near(o[1].held_mean, (20 + 0.14 + 10 + 16 + 8) / 100.0, 1e-9);
    assert_near(o[0].held_mean, (20 + 0.14 + 14 * 2) / 100.0, 1e-9);
    assert_near(o[0].held_per_second, 0, 0);
    assert_near(o[2].linger_bound_mean, 0, 0);
}

/* What children took to warm up stands at T0; where a third is held, a third of
 * them is. */
static void test_histsweep_m6__warming_up_goes_with_what_is_held(void **state)
{
    static const int64_t timeouts[] = {KA_TIMEOUT_OFF, T0};
    ka_hist_part part;
    ka_hist_traffic traffic = {.parts = &part,
                               .part_n = 1,
                               .busy_us = 20e6,
                               .cold_us = 3e6,
                               .window_s = 100};
    ka_outcome o[2];

    (void)state;
    ka_hist_part_init(&part);
    part.opens = 10;
    part.limit_us = T0;
    part.cut = 8;
    ka_histsweep(o, timeouts, 2, &traffic);
    assert_near(o[1].busy_mean, 0.23, 1e-9);
    assert_near(o[1].held_mean, 0.63, 1e-9);
    assert_near(o[0].held_mean, 0.21, 1e-9);
}

/* Under a timeout what slow readers have left to read is idle time. */
static void test_histsweep_m6__slow_readers_linger_with_off(void **state)
{
    static const int64_t timeouts[] = {KA_TIMEOUT_OFF, T0};
    ka_hist_part part;
    ka_hist_traffic traffic = {.parts = &part,
                               .part_n = 1,
                               .busy_us = 20e6,
                               .drain_us = 3e6,
                               .window_s = 100};
    ka_outcome o[2];

    (void)state;
    ka_hist_part_init(&part);
    part.opens = part.cut = 10;
    part.limit_us = T0;
    ka_histsweep(o, timeouts, 2, &traffic);
    assert_near(o[0].held_mean, 0.23, 1e-9);
    assert_near(o[1].held_mean, 0.7, 1e-9);
}

/* Who leaves a close unanswered comes back when the wait is over: a wait of x
 * lingers min(c, x - T). */
static void test_histsweep_m6__unanswered_closes_last_as_waits_do(void **state)
{
    static const int64_t timeouts[] = {KA_TIMEOUT_OFF, SEC, 2 * SEC, T0};
    ka_hist_part part;
    ka_hist_traffic traffic = {.parts = &part,
                               .part_n = 1,
                               .lazy_us = 6e6,
                               .linger_off_us = 10 * SEC,
                               .server_closes = 6,
                               .window_s = 100};
    ka_outcome o[4];

    (void)state;
    ka_hist_part_init(&part);
    part.opens = 10;
    part.limit_us = T0;
    ka_hist_add_n(&part.gap, 2 * SEC, 4);
    part.cut = 6;
    /* At T0 six closes of 2 s were possible, 6 s were measured: half. */
    ka_histsweep(o, timeouts, 4, &traffic);
    assert_near(o[3].held_mean, (8 + 6 * 5 + 6) / 100.0, 1e-9);
    assert_near(o[2].held_mean, (8 + 6 * 2 + 6) / 100.0, 1e-3);
    assert_near(o[1].held_mean, (4 + 6 + (4 * 1 + 6 * 2) / 2.0) / 100, 1e-9);
    assert_near(o[0].held_mean, (4 * 2 + 6 * 10) / 2.0 / 100, 1e-9);
    /* How many of the six stay for 10 s is not known: nobody came back. */
    assert_true(o[0].held_is_bound);
    assert_false(o[1].held_is_bound || o[3].held_is_bound);
    traffic.linger_off_us = 2 * SEC;
    ka_histsweep(o, timeouts, 1, &traffic);
    assert_false(o[0].held_is_bound);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_histsweep_m6__accept_and_linger),
        unit_test(test_histsweep_m6__warming_up_goes_with_what_is_held),
        unit_test(test_histsweep_m6__slow_readers_linger_with_off),
        unit_test(test_histsweep_m6__unanswered_closes_last_as_waits_do)};

    return unit_main(tests);
}
