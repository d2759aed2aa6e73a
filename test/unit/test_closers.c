/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Clients whose own limit is known, cut off at T0 (MODEL 6). */
#include "unit.h"
#include "model/closers.h"

#define SEC INT64_C(1000000)
#define T0 (8 * SEC)
#define CLIENTS 20000

typedef struct seen {
    ka_hist gap, tail;
    uint64_t cut;
} seen;

/* When a client closes or asks again, in s: the quantile p of it. */
typedef double quantile(double p);

static double never(double p)
{
    (void)p;
    return INFINITY;
}

static double power_half(double p)
{
    return pow(1 - p, -2); /* theta 0.5, from 1 s on */
}

static double power_two(double p)
{
    return pow(1 - p, -0.5);
}

/* 0.2 a second, at any age. */
static double constant(double p)
{
    return -log1p(-p) / 0.2;
}

/* As many as have any limit up to 10 s, evenly. */
static double even(double p)
{
    return 10 * p;
}

static void count(ka_hist *h, double s)
{
    ka_hist_add(h, (uint64_t)(s * 1e6));
}

/* The quantiles of both, each with each other: every 7th place of one beside
 * the places of the other in their order. */
static void watch(seen *s, quantile *closes, quantile *returns)
{
    int i;

    *s = (seen){.cut = 0};
    for (i = 0; i < CLIENTS; i++) {
        const double p = (i + 0.5) / CLIENTS;
        const double q = ((i * 7919) % CLIENTS + 0.5) / CLIENTS;
        const double close_s = closes(p), return_s = returns(q);

        if (fmin(close_s, return_s) > T0 / 1e6) {
            s->cut++;
        }
        else if (close_s < return_s) {
            count(&s->tail, close_s);
        }
        else {
            count(&s->gap, return_s);
        }
    }
}

static ka_closers found(quantile *closes, quantile *returns)
{
    seen s;

    watch(&s, closes, returns);
    return ka_closers_of(&s.gap, &s.tail, ka_hist_count(&s.tail), s.cut, T0);
}

static void test_closers_m6__a_power_law_is_found_whatever_returns(void **state)
{
    static const struct {
        quantile *closes, *returns;
        double theta;
    } rows[] = {{power_half, never, 0.5},
                {power_half, constant, 0.5},
                {power_half, even, 0.5},
                {power_two, never, 2},
                {power_two, constant, 2}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const ka_closers c = found(rows[i].closes, rows[i].returns);

        /* Some 1,000 closes at the least: 1 / sqrt(1000), 3 %, less for
         * quantiles than for draws. */
        assert_near(c.theta, rows[i].theta, 0.03 * rows[i].theta);
        assert_near(ka_closers_stay(&c, T0), pow(2, -rows[i].theta), 0.02);
    }
}

/* What stays is never less than the truth, nor less near it than all. */
static void test_closers_m6__others_are_met_from_above(void **state)
{
    const ka_closers c = found(constant, never);
    int64_t over_us;

    (void)state;
    for (over_us = SEC; over_us <= 20 * T0; over_us += SEC) {
        const double truth = exp(-0.2 * (double)over_us / 1e6);

        assert_true(ka_closers_stay(&c, over_us) > truth);
        assert_true(ka_closers_stay(&c, over_us) <
                    1 - 0.2 * fmin(1, (double)over_us / T0));
    }
}

static void test_closers__who_never_closes_stays(void **state)
{
    ka_closers c = found(never, constant);
    seen s;

    (void)state;
    assert_near(c.theta, 0, 0);
    assert_near(ka_closers_stay(&c, 100 * T0), 1, 0);
    assert_near(ka_closers_idle(&c, 100 * T0), 100.0 * T0, 0);
    /* Nor does who was evicted. */
    watch(&s, constant, never);
    c = ka_closers_of(&s.gap, &s.tail, 0, s.cut, T0);
    assert_near(c.theta, 0, 0);
}

static void test_closers__only_those_that_clients_closed(void **state)
{
    const ka_closers all = found(constant, even);
    ka_closers half;
    seen s;

    (void)state;
    watch(&s, constant, even);
    half = ka_closers_of(&s.gap, &s.tail, ka_hist_count(&s.tail) / 2, s.cut,
                         T0);
    assert_near(half.theta, all.theta / 2, 1e-3 * all.theta);
    half = ka_closers_of(&s.gap, &s.tail, UINT64_MAX, s.cut, T0);
    assert_near(half.theta, all.theta, 0);
}

static void test_closers__an_octave_speaks_for_one(void **state)
{
    static const double thetas[] = {0.3, 1, 1 + 1e-12, 2.5};
    size_t i;
    int k;

    (void)state;
    for (i = 0; i < sizeof(thetas) / sizeof(thetas[0]); i++) {
        const ka_closers c = {thetas[i], T0};
        double sum = 0;

        /* The integral by its middles. */
        for (k = 0; k < 3 * T0 / 1000; k++) {
            sum += 1000 * ka_closers_stay(&c, k * 1000 + 500);
            if (k == T0 / 1000 - 1) {
                assert_near(ka_closers_idle(&c, T0), sum, 1e-6 * T0);
            }
        }
        assert_near(ka_closers_idle(&c, 3 * T0), sum, 1e-6 * T0);
        assert_near(ka_closers_stay(&c, T0), pow(2, -thetas[i]), 1e-12);
        assert_near(ka_closers_stay(&c, 50 * T0), pow(2, -thetas[i]), 1e-12);
        assert_near(ka_closers_stay(&c, 0), 1, 0);
    }
}

static void test_closers__without_ages_nothing_is_told(void **state)
{
    static const int64_t limits[] = {-1, 0, 1};
    ka_hist gap, tail;
    ka_closers c;
    size_t i;

    (void)state;
    ka_hist_init(&gap);
    ka_hist_init(&tail);
    assert_near(ka_closers_of(&gap, &tail, 5, 5, T0).theta, 0, 0);
    ka_hist_add_n(&tail, 1, 10);
    for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
        c = ka_closers_of(&gap, &tail, 10, 10, limits[i]);
        assert_near(c.theta, 0, 0);
        assert_near(ka_closers_idle(&c, SEC), SEC, 0);
    }
    /* Sums of a foreign file. */
    ka_hist_add_n(&tail, UINT64_MAX, UINT64_MAX);
    c = ka_closers_of(&gap, &tail, UINT64_MAX, UINT64_MAX, INT64_MAX);
    assert_true(isfinite(c.theta) && c.theta >= 0);
    assert_true(isfinite(ka_closers_idle(&c, INT64_MAX)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_closers_m6__a_power_law_is_found_whatever_returns),
        unit_test(test_closers_m6__others_are_met_from_above),
        unit_test(test_closers__who_never_closes_stays),
        unit_test(test_closers__only_those_that_clients_closed),
        unit_test(test_closers__an_octave_speaks_for_one),
        unit_test(test_closers__without_ages_nothing_is_told)};

    return unit_main(tests);
}
