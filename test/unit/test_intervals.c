/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Intervals hold the true value as often as they say (MODEL 6). */
#include "unit.h"

#include <model/capacity.h>
#include <model/intervals.h>
#include <model/sweep.h>
#include <profile/sample.h>

#include "visitors.h"

#define HOUR_S 3600.0
#define DELTA 0.01

static const int64_t timeouts[] = {KA_TIMEOUT_OFF, 1000000,  2000000,
                                   5000000,        15000000, 30000000,
                                   60000000,       115000000};

#define TIMEOUTS (sizeof(timeouts) / sizeof(timeouts[0]))
#define AT_5S 3

static apr_status_t make(ka_intervals *out, ka_sample *sample,
                         const ka_outcome *outcomes, size_t n,
                         apr_pool_t *pool)
{
    ka_pieces pieces;
    const ka_pieces *const sides[2] = {&pieces, &pieces};

    ka_sample_pieces(&pieces, sample, 0, timeouts, n, pool);
    return ka_intervals_make(out, sides, outcomes, outcomes, n, DELTA, pool);
}

typedef struct found {
    ka_outcome outcomes[TIMEOUTS];
    ka_intervals intervals;
    apr_status_t status;
} found;

static void find(found *out, const visitors *v, uint64_t seed,
                 apr_pool_t *pool)
{
    const ka_sweep_options options = {.measured_up_to_us = 5000000};
    visited traffic;
    ka_sample *sample;

    visitors_make(&traffic, v, seed);
    assert_int_equal(ka_sweep(out->outcomes, timeouts, TIMEOUTS,
                              &traffic.connections.low, &options),
                     APR_SUCCESS);
    sample = ka_sample_of_connections(&traffic.connections, &traffic.requests,
                                      timeouts, TIMEOUTS);
    assert_non_null(sample);
    out->status =
        make(&out->intervals, sample, out->outcomes, TIMEOUTS, pool);
    ka_sample_free(sample);
    visitors_free(&traffic);
}

static bool holds(ka_interval interval, double truth)
{
    return interval.low <= truth && truth <= interval.high;
}

/* ---- coverage ------------------------------------------------------------ */

/* Of SEEDS traffics 90 % hold the truth, but for chance: three standard
 * deviations, 3 sqrt(0.9 x 0.1 / 200) = 6.4 %.  Above, the wider of two
 * intervals holds it more often. */
#define SEEDS 200
#define LEAST 0.836
#define MOST 0.985

typedef struct coverage {
    int opens, reuse, idle, knee, workers;
    int by_groups, by_blocks;
} coverage;

static void cover(coverage *c, const visitors *v, double knee_us,
                  double truth_workers, apr_pool_t *parent)
{
    uint64_t seed;

    memset(c, 0, sizeof(*c));
    for (seed = 1; seed <= SEEDS; seed++) {
        apr_pool_t *pool;
        found f;
        const ka_timeout_intervals *at;
        const double opens = visitors_opens(v, 5);
        double window_s;

        assert_int_equal(apr_pool_create(&pool, parent), APR_SUCCESS);
        find(&f, v, seed * 7919, pool);
        assert_int_equal(f.status, APR_SUCCESS);
        at = &f.intervals.timeouts[AT_5S];
        window_s = f.outcomes[AT_5S].window_s;
        c->opens += holds(at->connections, opens);
        c->reuse += holds(at->reuse, 1 - opens / visitors_opens(v, -1));
        c->idle += holds(at->idle_mean, visitors_idle_s(v, 5) / window_s);
        c->knee += holds(f.intervals.knee_us, knee_us);
        c->workers += holds(at->held_workers, truth_workers);
        c->by_groups += f.intervals.groups > 0;
        c->by_blocks += f.intervals.blocks > 0;
        apr_pool_destroy(pool);
    }
}

/* What such traffic asks for in the mean, from other seeds. */
static double mean_workers(const visitors *v, apr_pool_t *parent)
{
    double sum = 0;
    uint64_t seed;

    for (seed = 1; seed <= SEEDS; seed++) {
        apr_pool_t *pool;
        found f;

        assert_int_equal(apr_pool_create(&pool, parent), APR_SUCCESS);
        find(&f, v, seed * 104729 + 1, pool);
        sum += f.outcomes[AT_5S].held.workers;
        apr_pool_destroy(pool);
    }
    return sum / SEEDS;
}

#define assert_covers(n)                                                       \
    do {                                                                       \
        assert_in_range((n), (int)(LEAST * SEEDS), (int)(MOST * SEEDS));       \
    } while (0)

static void test_intervals__cover_visitors_that_come_evenly(void **state)
{
    const visitors v = {.window_s = 3 * HOUR_S, .per_s = 0.1, .gaps = 3,
                        .gap_s = 10};
    coverage c;

    /* 0.75 exp(-T / 10 s) is 1 % at 43 s. */
    cover(&c, &v, 60e6, mean_workers(&v, *state), *state);
    assert_covers(c.opens);
    assert_covers(c.reuse);
    assert_covers(c.idle);
    assert_covers(c.workers);
    /* There are few timeouts: next to each other they are far apart. */
    assert_in_range(c.knee, (int)(LEAST * SEEDS), SEEDS);
    assert_int_equal(c.by_groups, SEEDS);
    assert_int_equal(c.by_blocks, SEEDS);
}

/* Some addresses visit often, at any time: the hours do not show it. */
static void test_intervals__cover_addresses_that_return(void **state)
{
    const visitors v = {.window_s = 2 * HOUR_S, .per_s = 0.2, .gaps = 3,
                        .gap_s = 5, .visits = 8};
    coverage c;

    cover(&c, &v, 30e6, mean_workers(&v, *state), *state);
    assert_covers(c.opens);
    assert_covers(c.reuse);
    assert_covers(c.idle);
    assert_covers(c.workers);
    assert_in_range(c.knee, (int)(LEAST * SEEDS), SEEDS);
}

/* Only time tells: each visitor is as good as any. */
static void test_intervals__cover_bursts(void **state)
{
    const visitors v = {.window_s = 8 * HOUR_S, .per_s = 0.1, .gaps = 3,
                        .gap_s = 5, .burst_s = 600};
    coverage c;

    /* Workers are those of the busiest hour; not even that is like others. */
    cover(&c, &v, 30e6, mean_workers(&v, *state), *state);
    assert_covers(c.opens);
    assert_covers(c.idle);
    assert_in_range(c.workers, (int)(LEAST * SEEDS), SEEDS);
}

/* ---- what they are found by ---------------------------------------------- */

/* Requests at equal distances from some addresses, one connection each. */
static apr_status_t find_plain(ka_intervals *out, double window_s,
                               unsigned address_n, apr_pool_t *pool)
{
    ka_outcome outcomes[TIMEOUTS] = {{0}};
    ka_sample *s = ka_sample_make(timeouts, TIMEOUTS);
    apr_status_t rv;
    unsigned i;

    assert_non_null(s);
    for (i = 0; i < TIMEOUTS; i++) {
        outcomes[i].timeout_us = timeouts[i];
    }
    ka_sample_begin(s, VISITORS_BEGIN_US);
    for (i = 0; i < 1000; i++) {
        const int64_t at_us =
            VISITORS_BEGIN_US + (int64_t)(window_s * 1e3) * i;
        const size_t block = ka_sample_block(s, KA_SAMPLE_REQUESTS, at_us);
        ka_sample_side *group =
            ka_sample_group_side(s, ka_sample_group(i % address_n), 0);

        ka_sample_block_side(s, block, 0)->requests++;
        ka_sample_block_side(s, block, 0)->opens++;
        group->requests++;
        group->opens++;
    }
    ka_sample_end(s, VISITORS_BEGIN_US + (int64_t)(window_s * 1e6));
    rv = make(out, s, outcomes, TIMEOUTS, pool);
    ka_sample_free(s);
    return rv;
}

static void test_intervals__need_enough_units(void **state)
{
    static const struct {
        double window_s;
        unsigned addresses;
        size_t groups, blocks;
        double block_s;
        apr_status_t status;
    } rows[] = {{86400, 500, KA_SAMPLE_GROUPS, 13, 7200, APR_SUCCESS},
                {HOUR_S, 500, KA_SAMPLE_GROUPS, 7, 600, APR_SUCCESS},
                {HOUR_S - 1, 500, KA_SAMPLE_GROUPS, 0, 0, APR_SUCCESS},
                {HOUR_S, KA_UNITS_MIN, KA_UNITS_MIN, 7, 600, APR_SUCCESS},
                {HOUR_S, KA_UNITS_MIN - 1, 0, 7, 600, APR_SUCCESS},
                {60, KA_UNITS_MIN - 1, 0, 0, 0, APR_INCOMPLETE},
                {0, 500, 0, 0, 0, APR_INCOMPLETE}};
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ka_intervals found;

        assert_int_equal(find_plain(&found, rows[i].window_s,
                                    rows[i].addresses, *state),
                         rows[i].status);
        if (rows[i].status == APR_SUCCESS) {
            assert_int_equal(found.groups, rows[i].groups);
            assert_int_equal(found.blocks, rows[i].blocks);
            assert_near((double)found.block_us, rows[i].block_s * 1e6, 0);
        }
    }
}

static void test_intervals__other_timeouts_are_invalid(void **state)
{
    const ka_outcome outcomes[2] = {{.timeout_us = KA_TIMEOUT_OFF},
                                    {.timeout_us = 1000000}};
    const ka_pieces one = {.timeout_n = 1}, two = {.timeout_n = 2};
    const ka_pieces *const pieces[2] = {&two, &one};
    ka_intervals found;

    assert_int_equal(ka_intervals_make(&found, pieces, outcomes, outcomes, 1,
                                       DELTA, *state),
                     APR_EINVAL);
    assert_int_equal(ka_intervals_make(&found, pieces, outcomes, outcomes + 1,
                                       2, DELTA, *state),
                     APR_EINVAL);
    assert_int_equal(ka_intervals_make(&found, pieces, outcomes, outcomes, 0,
                                       DELTA, *state),
                     APR_EINVAL);
    assert_int_equal(ka_intervals_make(&found, pieces, outcomes, outcomes, 2,
                                       DELTA, *state),
                     APR_INCOMPLETE);
}

/* Visitors who come back make the visitors' interval the wider one, bursts the
 * hours': wide as the one or the other, and not the same as without. */
static void test_intervals__the_wider_one_counts(void **state)
{
    static const visitors rows[] = {
        {.window_s = 8 * HOUR_S, .per_s = 0.1, .gaps = 3, .gap_s = 5},
        {.window_s = 8 * HOUR_S, .per_s = 0.1, .gaps = 3, .gap_s = 5,
         .visits = 30},
        {.window_s = 8 * HOUR_S, .per_s = 0.1, .gaps = 3, .gap_s = 5,
         .burst_s = 1800}};
    double width[3];
    size_t i;

    for (i = 0; i < 3; i++) {
        found f;

        find(&f, &rows[i], 11, *state);
        width[i] = ka_interval_width(
            f.intervals.timeouts[AT_5S].connections,
            (double)f.outcomes[AT_5S].connections);
    }
    /* 30 visits each: their number is geometric, sqrt(2 x 30) times as wide;
     * half of 16 bursts: 25 % of the mean, where 2,880 visitors give 2 %. */
    assert_true(width[1] > 3 * width[0]);
    assert_true(width[2] > 3 * width[0]);
}

static void test_intervals__the_same_again(void **state)
{
    const visitors v = {.window_s = 2 * HOUR_S, .per_s = 0.1, .gaps = 3,
                        .gap_s = 10};
    found one, other;

    find(&one, &v, 5, *state);
    find(&other, &v, 5, *state);
    assert_memory_equal(one.intervals.timeouts, other.intervals.timeouts,
                        TIMEOUTS * sizeof(*one.intervals.timeouts));
    assert_memory_equal(&one.intervals.knee_us, &other.intervals.knee_us,
                        sizeof(ka_interval));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_intervals__cover_visitors_that_come_evenly),
        unit_test(test_intervals__cover_addresses_that_return),
        unit_test(test_intervals__cover_bursts),
        unit_test(test_intervals__need_enough_units),
        unit_test(test_intervals__other_timeouts_are_invalid),
        unit_test(test_intervals__the_wider_one_counts),
        unit_test(test_intervals__the_same_again)};

    return unit_main(tests);
}
