/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_exchange.h"
#include "segment_made.h"

static ka_stats *stats_make(void **state)
{
    return apr_pcalloc(*state, sizeof(ka_stats));
}

static void gap(ka_stats *stats, uint64_t us, uint64_t n)
{
    ka_hist_add_n(&stats->quantity[KA_QUANTITY_GAP + KA_SERVED_STATIC], us, n);
    ka_hist_add_n(&stats->quantity[KA_QUANTITY_SERVICE], 100, n);
}

static void tail(ka_stats *stats, uint64_t us, uint64_t n)
{
    ka_hist_add_n(&stats->quantity[KA_QUANTITY_TAIL + KA_SERVED_STATIC], us,
                  n);
    ka_hist_add_n(&stats->quantity[KA_QUANTITY_SERVICE], 100, n);
}

/* 300 timeouts in 600 s: each would have held on a second longer. */
static void test_exchange__held_is_timeouts_per_second_M10(void **state)
{
    ka_stats *stats = stats_make(state);
    ka_exchange x = {0};

    stats->counter[KA_COUNTER_CLOSE + KA_REASON_IDLE_TIMEOUT] = 300;
    stats->counter[KA_COUNTER_CLOSE + KA_REASON_CLIENT_CLOSED] = 999;
    ka_exchange_add(&x, stats, 5 * MADE_S, 600);
    assert_near(x.held, 0.5, 1e-12);
    assert_near(x.saved, 0, 0);
    ka_exchange_add(&x, stats, 5 * MADE_S, 600);
    assert_near(x.held, 1, 1e-12);
}

/* Gaps spread evenly, 100 per second of gap, up to T = 4 s: the density at T
 * is that, whatever the bins. */
static void test_exchange__saved_is_the_density_at_the_timeout_M10(void **state)
{
    ka_stats *stats = stats_make(state);
    ka_exchange x = {0};
    uint64_t us;

    for (us = 5000; us < 4000000; us += 10000) {
        gap(stats, us, 1);
    }
    ka_exchange_add(&x, stats, 4 * MADE_S, 10);
    /* One gap more or less at the edge of about a second's worth. */
    assert_near(x.saved, 10, 0.2);
}

static void test_exchange__only_gaps_near_the_timeout_count_M10(void **state)
{
    ka_stats *stats = stats_make(state);
    ka_exchange x = {0};

    gap(stats, 50000, 100000);
    gap(stats, 3000000, 1000);
    gap(stats, 30000000, 1000); /* from when it was longer */
    ka_exchange_add(&x, stats, 5 * MADE_S, 600);
    assert_near(x.saved, 0, 0);
}

static void test_exchange__keepalive_off_and_no_time_add_nothing(void **state)
{
    ka_stats *stats = stats_make(state);
    ka_exchange x = {0};

    stats->counter[KA_COUNTER_CLOSE + KA_REASON_IDLE_TIMEOUT] = 300;
    gap(stats, 1, 10);
    ka_exchange_add(&x, stats, 0, 600);
    ka_exchange_add(&x, stats, -1, 600);
    ka_exchange_add(&x, stats, MADE_S, 0);
    ka_exchange_add(&x, stats, MADE_S, -5);
    assert_near(x.held + x.saved, 0, 0);
    ka_exchange_add(&x, stats, INT64_MAX, 600);
    ka_exchange_add(&x, stats, 1, 600);
    assert_true(isfinite(x.held) && isfinite(x.saved));
}

/* Ten connections: 40 gaps of 20 ms, 20 of 3 s, and tails of T = 5 s. */
static void test_waits__a_shorter_timeout_M4_M5(void **state)
{
    static const struct {
        int64_t timeout_us;
        double opened, idle, reused;
    } cases[] = {
        {INT64_MAX, 10, 40 * 0.02 + 20 * 3 + 10 * 5, 60},
        {4 * MADE_S, 10, 40 * 0.02 + 20 * 3 + 10 * 4, 60},
        {MADE_S, 30, 40 * 0.02 + 20 * 1 + 10 * 1, 40},
        {0, 70, 0, 0},
    };
    ka_stats *stats = stats_make(state);
    ka_waits *waits = apr_palloc(*state, sizeof(*waits));
    size_t i;

    gap(stats, 20000, 40);
    gap(stats, 3000000, 20);
    tail(stats, 5000000, 10);
    stats->counter[KA_COUNTER_CLOSE + KA_REASON_IDLE_TIMEOUT] = 10;
    ka_waits_read(waits, stats, 100);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_shorter s = ka_waits_try(waits, cases[i].timeout_us);

        assert_near(s.opened, cases[i].opened / 100, 1e-9);
        assert_near(s.idle, cases[i].idle / 100, 1e-9);
        assert_near(s.reused, cases[i].reused / 70, 1e-9);
    }
}

static void test_waits__empty_is_zero(void **state)
{
    ka_waits *waits = apr_palloc(*state, sizeof(*waits));
    ka_shorter s;

    ka_waits_read(waits, stats_make(state), 100);
    s = ka_waits_try(waits, MADE_S);
    assert_near(s.idle + s.opened + s.reused, 0, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_exchange__held_is_timeouts_per_second_M10),
        unit_test(test_exchange__saved_is_the_density_at_the_timeout_M10),
        unit_test(test_exchange__only_gaps_near_the_timeout_count_M10),
        unit_test(test_exchange__keepalive_off_and_no_time_add_nothing),
        unit_test(test_waits__a_shorter_timeout_M4_M5),
        unit_test(test_waits__empty_is_zero),
    };

    return unit_main(tests);
}
