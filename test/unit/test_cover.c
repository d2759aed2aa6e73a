/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "model/cover.h"

#define SEC INT64_C(1000000)
#define N 8

static ka_hist_part part;
static uint32_t requests[N], connections[N], open[N], busy[N];
static double held[N];

static ka_hist_traffic traffic_under(int64_t limit_us)
{
    ka_hist_traffic t = {.parts = &part, .part_n = 1, .window_s = N};

    ka_hist_part_init(&part);
    part.limit_us = limit_us;
    memset(requests, 0, sizeof(requests));
    memset(connections, 0, sizeof(connections));
    t.open = (ka_levels){.values = open,
                         .at_least = busy,
                         .requests = requests,
                         .connections = connections,
                         .n = N};
    return t;
}

static void assert_held(const double *wanted)
{
    size_t i;

    for (i = 0; i < N; i++) {
        assert_near(held[i], wanted[i], 0.01);
    }
}

static void test_cover__a_new_connection_waits_for_the_timeout(void **state)
{
    static const double wanted[] = {0, 4, 4, 2, 0, 0, 0, 0};
    ka_hist_traffic t = traffic_under(5 * SEC);

    (void)state;
    part.opens = 4;
    requests[1] = connections[1] = 4;
    assert_int_equal(ka_cover_held(held, &t, 5 * SEC / 2, 0, 10.0 / N),
                     APR_SUCCESS);
    assert_held(wanted);
}

/* Half come 1 s after the one before, which held it until T anyway: theirs is
 * the last second of T.  Half come later than T. */
static void test_cover__a_request_adds_what_stood_not_before(void **state)
{
    static const double wanted[] = {1, 1, 2, 0, 0, 0, 0, 0};
    ka_hist_traffic t = traffic_under(5 * SEC);

    (void)state;
    ka_hist_add_n(&part.gap, SEC, 1);
    ka_hist_add_n(&part.gap, 4 * SEC, 1);
    requests[0] = 2;
    assert_int_equal(ka_cover_held(held, &t, 3 * SEC, 0, 4.0 / N),
                     APR_SUCCESS);
    assert_held(wanted);
}

static void test_cover__scaled_to_the_mean_with_what_comes_after(void **state)
{
    static const double wanted[] = {0, 0, 0, 0, 0, 0, 0, 2};
    ka_hist_traffic t = traffic_under(2 * SEC);

    (void)state;
    part.opens = 1;
    requests[7] = connections[7] = 1;
    ka_cover_held(held, &t, KA_COVER_IN_FORCE, 0, 4.0 / N);
    assert_held(wanted);
}

static void test_cover__off_leaves_nobody_but_who_lingers(void **state)
{
    static const double none[N], wanted[] = {3, 1.5, 0, 0, 0, 0, 0, 0};
    ka_hist_traffic t = traffic_under(5 * SEC);

    (void)state;
    part.opens = 3;
    requests[0] = connections[0] = 3;
    ka_cover_held(held, &t, KA_TIMEOUT_OFF, 0, 0);
    assert_held(none);
    ka_cover_held(held, &t, KA_TIMEOUT_OFF, 1.5e6, 4.5 / N);
    assert_held(wanted);
}

static void test_cover__seconds_without_counts_tell_nothing(void **state)
{
    ka_hist_traffic t = traffic_under(5 * SEC);

    (void)state;
    part.opens = 3;
    assert_int_equal(ka_cover_held(held, &t, SEC, 0, 1), APR_EINVAL);
    t.open.requests = NULL;
    assert_int_equal(ka_cover_held(held, &t, SEC, 0, 1), APR_EINVAL);
    t.open.n = 0;
    assert_int_equal(ka_cover_held(held, &t, SEC, 0, 1), APR_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_cover__a_new_connection_waits_for_the_timeout),
        unit_test(test_cover__a_request_adds_what_stood_not_before),
        unit_test(test_cover__scaled_to_the_mean_with_what_comes_after),
        unit_test(test_cover__off_leaves_nobody_but_who_lingers),
        unit_test(test_cover__seconds_without_counts_tell_nothing)};

    return unit_main(tests);
}
