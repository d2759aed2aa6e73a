/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Groups and blocks add up to what the sweep finds, however they were filled.
 */
#include "unit.h"

#include <profile/sample.h>

#include "stream_both.h"
#include "visitors.h"

static void assert_same_side(const ka_sample_side *a, const ka_sample_side *b,
                             size_t timeout_n)
{
    assert_int_equal(a->requests, b->requests);
    assert_int_equal(a->opens, b->opens);
    assert_int_equal(a->busy_us, b->busy_us);
    assert_memory_equal(a->idle, b->idle, (timeout_n + 1) * sizeof(*a->idle));
}

static void assert_same(const ka_sample *a, const ka_sample *b, int sides)
{
    size_t i;
    int side;

    assert_int_equal(a->block_us, b->block_us);
    assert_int_equal(a->first, b->first);
    assert_int_equal(a->begin_us, b->begin_us);
    assert_int_equal(a->end_us, b->end_us);
    for (side = 0; side < sides; side++) {
        for (i = 0; i < KA_SAMPLE_GROUPS; i++) {
            assert_same_side(ka_sample_group_side(a, i, side),
                             ka_sample_group_side(b, i, side), a->timeout_n);
        }
        for (i = 0; i < KA_SAMPLE_BLOCKS; i++) {
            assert_same_side(ka_sample_block_side(a, i, side),
                             ka_sample_block_side(b, i, side), a->timeout_n);
        }
    }
}

/* ---- whichever way ------------------------------------------------------- */

static void both_ways(const kind *k, uint64_t of_seed, apr_pool_t *pool)
{
    both *b = make_log(k, of_seed);
    ka_sample *kept;

    group_all(b, seconds_us(5), pool);
    stream_all(b, b->q.items, 50 + draw(1000), 1 + draw(4), seconds_us(5),
               KA_STREAM_CLIENTS, pool);
    kept = ka_sample_of_connections(&b->connections, &b->q.list, b->timeouts,
                                    b->n);
    assert_non_null(kept);
    assert_same(b->tally->sample, kept, b->connections.bracket ? 2 : 1);
    ka_sample_free(kept);
    both_free(b);
}

static void test_sample__a_stream_counts_what_a_trace_does(void **state)
{
    size_t i, s;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (s = 1; s <= 10; s++) {
            both_ways(&kinds[i], s, *state);
        }
    }
}

static void test_sample__threads_and_batches_do_not_show(void **state)
{
    both *one = make_log(&kinds[4], 9), *other = make_log(&kinds[4], 9);

    stream_all(one, one->q.items, 333, 1, seconds_us(5), KA_STREAM_CLIENTS,
               *state);
    stream_all(other, other->q.items, 20, 4, seconds_us(5), KA_STREAM_CLIENTS,
               *state);
    assert_same(one->tally->sample, other->tally->sample, 2);
    both_free(one);
    both_free(other);
}

/* ---- [M4] [M5] ----------------------------------------------------------- */

static void sum_up(double *n, double *idle_us, const ka_sample *s, bool blocks)
{
    double cell_n[KA_SAMPLE_TIMEOUTS], cell_us[KA_SAMPLE_TIMEOUTS];
    const size_t cells = blocks ? ka_sample_block_n(s) : KA_SAMPLE_GROUPS;
    size_t i, j;

    for (j = 0; j < s->timeout_n; j++) {
        n[j] = idle_us[j] = 0;
    }
    for (i = 0; i < cells; i++) {
        ka_sample_evaluate(cell_n, cell_us, s,
                           blocks ? ka_sample_block_side(s, i, 0)
                                  : ka_sample_group_side(s, i, 0));
        for (j = 0; j < s->timeout_n; j++) {
            n[j] += cell_n[j];
            idle_us[j] += cell_us[j];
        }
    }
}

static void test_sample__m4_m5_groups_and_blocks_add_up(void **state)
{
    const visitors v = {.window_s = 7200, .per_s = 0.1, .gaps = 4, .gap_s = 9};
    const ka_sweep_options options = {0};
    double n[KA_SAMPLE_TIMEOUTS], idle_us[KA_SAMPLE_TIMEOUTS];
    size_t timeout_n, j;
    const int64_t *timeouts = ka_sweep_default_timeouts(&timeout_n);
    ka_outcome *out = apr_pcalloc(*state, timeout_n * sizeof(*out));
    visited traffic;
    ka_sample *s;
    int blocks;

    visitors_make(&traffic, &v, 3);
    s = ka_sample_of_connections(&traffic.connections, &traffic.requests,
                                 timeouts, timeout_n);
    assert_int_equal(ka_sweep(out, timeouts, timeout_n,
                              &traffic.connections.low, &options),
                     APR_SUCCESS);
    for (blocks = 0; blocks < 2; blocks++) {
        sum_up(n, idle_us, s, blocks);
        for (j = 0; j < timeout_n; j++) {
            assert_near(n[j], (double)out[j].connections, 1e-6);
            assert_near(idle_us[j], (double)out[j].idle_us, 1e-3);
        }
    }
    ka_sample_free(s);
    visitors_free(&traffic);
}

/* ---- blocks -------------------------------------------------------------- */

#define DAY_US (INT64_C(86400) * 1000000)

/* One request at each of times[n], in order or against it. */
static ka_sample *sample_at(const int64_t *times, size_t n, bool backwards)
{
    ka_sample *s = ka_sample_make(NULL, 0);
    size_t i;

    assert_non_null(s);
    ka_sample_begin(s, times[0]);
    for (i = 0; i < n; i++) {
        const int64_t at_us = times[backwards ? n - 1 - i : i];
        const size_t block = ka_sample_block(s, KA_SAMPLE_REQUESTS, at_us);

        ka_sample_block_side(s, block, 0)->requests++;
    }
    ka_sample_end(s, times[n - 1] + 1);
    return s;
}

static void test_sample__blocks_are_longer_on_longer_logs(void **state)
{
    static const struct {
        int64_t span_us, block_us;
    } rows[] = {{0, KA_SAMPLE_BLOCK_US},
                {255 * KA_SAMPLE_BLOCK_US, KA_SAMPLE_BLOCK_US},
                {256 * KA_SAMPLE_BLOCK_US, 6 * KA_SAMPLE_BLOCK_US},
                {10 * DAY_US, 6 * KA_SAMPLE_BLOCK_US},
                {11 * DAY_US, DAY_US / 6},
                {60 * DAY_US, DAY_US},
                {300 * DAY_US, 4 * DAY_US},
                {365000 * DAY_US, INT64_C(4096) * DAY_US}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const int64_t begin_us = 20000 * DAY_US;
        const int64_t times[] = {begin_us, begin_us + rows[i].span_us / 3,
                                 begin_us + rows[i].span_us / 2,
                                 begin_us + rows[i].span_us};
        ka_sample *s = sample_at(times, 4, false);
        ka_sample *other = sample_at(times, 4, true);
        uint64_t requests = 0;
        size_t b;

        assert_int_equal(s->block_us, rows[i].block_us);
        for (b = 0; b < ka_sample_block_n(s); b++) {
            requests += ka_sample_block_side(s, b, 0)->requests;
        }
        assert_int_equal(requests, 4);
        assert_same(s, other, 2);
        ka_sample_free(s);
        ka_sample_free(other);
    }
}

/* Times before the first one count with it, those of other ages as well. */
static void test_sample__extreme_times_are_harmless(void **state)
{
    static const int64_t times[] = {-KA_TRACE_TIME_MAX, -1, 0, 1,
                                    KA_TRACE_TIME_MAX};
    ka_sample *s = sample_at(times, 5, true);

    (void)state;
    assert_in_range(ka_sample_block_n(s), 1, KA_SAMPLE_BLOCKS);
    ka_sample_begin(s, 0);
    assert_int_equal(ka_sample_block(s, KA_SAMPLE_TAILS, -KA_TRACE_TIME_MAX),
                     0);
    ka_sample_free(s);
}

static void test_sample__merging_is_counting_together(void **state)
{
    static const int64_t times[] = {0, DAY_US, 3 * DAY_US};
    ka_sample *all = sample_at(times, 3, false), *one = sample_at(times, 1, 0);
    ka_sample *other = sample_at(times, 3, false);

    (void)state;
    ka_sample_block_side(other, 0, 0)->requests = 0;
    ka_sample_merge(one, other);
    assert_same(one, all, 2);
    ka_sample_free(all);
    ka_sample_free(one);
    ka_sample_free(other);
}

/* Servers whose logs begin and end at other times, in any order; what is
 * covered adds up. */
static void test_sample__merging_is_in_any_order(void **state)
{
    static const int64_t spans[4][2] = {{5 * DAY_US, 6 * DAY_US},
                                        {0, DAY_US},
                                        {40 * DAY_US, 41 * DAY_US},
                                        {5 * DAY_US + 1, 90 * DAY_US}};
    static const size_t orders[3][4] = {
        {0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}};
    ka_sample *sums[3];
    uint64_t covered = 0;
    size_t i, k;

    (void)state;
    for (k = 0; k < 3; k++) {
        sums[k] = ka_sample_make(NULL, 0);
        for (i = 0; i < 4; i++) {
            ka_sample *part = sample_at(spans[orders[k][i]], 2, false);

            ka_sample_merge(sums[k], part);
            ka_sample_free(part);
        }
        assert_same(sums[k], sums[0], 2);
    }
    for (i = 0; i < sums[0]->block_n; i++) {
        covered += ka_sample_block_side(sums[0], i, 0)->covered_us;
    }
    /* Each ends a microsecond after its last request. */
    assert_int_equal(covered, 88 * DAY_US - 1 + 4);
    assert_int_equal(sums[0]->begin_us, 0);
    assert_int_equal(sums[0]->end_us, 90 * DAY_US + 1);
    for (k = 0; k < 3; k++) {
        ka_sample_free(sums[k]);
    }
}

/* Without a timeout all is as if it had never been asked for. */
static void test_sample__timeouts_are_forgotten(void **state)
{
    static const int64_t all[] = {KA_TIMEOUT_OFF, 1000000, 2000000, 5000000,
                                  9000000};
    static const int64_t some[] = {KA_TIMEOUT_OFF, 2000000, 9000000,
                                   15000000};
    static const int64_t both[] = {KA_TIMEOUT_OFF, 2000000, 9000000};
    const visitors v = {.window_s = 3600, .per_s = 0.1, .gaps = 4, .gap_s = 3};
    visited traffic;
    ka_sample *s, *wanted;

    (void)state;
    visitors_make(&traffic, &v, 3);
    s = ka_sample_of_connections(&traffic.connections, &traffic.requests, all,
                                 5);
    wanted = ka_sample_of_connections(&traffic.connections, &traffic.requests,
                                      both, 3);
    ka_sample_keep(s, some, 4);
    assert_int_equal(s->timeout_n, 3);
    assert_memory_equal(s->timeouts, both, sizeof(both));
    assert_same(s, wanted, 1);
    ka_sample_free(s);
    ka_sample_free(wanted);
    visitors_free(&traffic);
}

/* Two servers at the same time: as many pieces by time as of one, each of
 * twice the time; days apart: no pieces of the time between, and none at all
 * where blocks must be so long that there are too few. */
static void test_sample__pieces_of_several_servers(void **state)
{
    const visitors v = {.window_s = 7200, .per_s = 0.1, .gaps = 4, .gap_s = 3};
    const int64_t timeouts[] = {KA_TIMEOUT_OFF, 5000000};
    const int64_t days[] = {0, 1, 20};
    size_t i;

    for (i = 0; i < 3; i++) {
        visited traffic;
        ka_sample *s, *other;
        ka_pieces one, sum;
        double weight = 0, alone = 0;
        size_t k, width = ka_pieces_width(2);

        visitors_make(&traffic, &v, 3);
        s = ka_sample_of_connections(&traffic.connections, &traffic.requests,
                                     timeouts, 2);
        other = ka_sample_copy(s);
        other->first += days[i] * DAY_US / other->block_us;
        other->begin_us += days[i] * DAY_US;
        other->end_us += days[i] * DAY_US;
        ka_sample_pieces(&one, s, 0, timeouts, 2, *state);
        ka_sample_merge(s, other);
        ka_sample_pieces(&sum, s, 0, timeouts, 2, *state);
        for (k = 0; k < sum.blocks.n; k++) {
            weight += sum.blocks.rows[k * width + KA_PIECE_WEIGHT];
        }
        for (k = 0; k < one.blocks.n; k++) {
            alone += one.blocks.rows[k * width + KA_PIECE_WEIGHT];
        }
        assert_near(weight, i < 2 ? 2 * alone : 0, 1);
        if (i == 0) {
            assert_int_equal(sum.blocks.n, one.blocks.n);
            assert_near(sum.blocks.effective, one.blocks.effective, 1e-9);
        }
        else if (i == 1) {
            assert_true(sum.blocks.n >= 2 * one.blocks.n - 2);
            assert_near(sum.blocks.effective * (double)sum.block_us,
                        2 * one.blocks.effective * (double)one.block_us,
                        (double)s->block_us);
        }
        ka_sample_free(s);
        ka_sample_free(other);
        visitors_free(&traffic);
    }
}

/* Between two timeouts, and beyond them. */
static void test_sample__pieces_at_other_timeouts(void **state)
{
    const visitors v = {.window_s = 7200, .per_s = 0.1, .gaps = 4, .gap_s = 3};
    const int64_t own[] = {1000000, 3000000};
    const int64_t wanted[] = {KA_TIMEOUT_OFF, 1000000, 1500000, 3000000,
                              60000000};
    double n[2], idle_us[2];
    visited traffic;
    ka_pieces pieces;
    const double *row;
    ka_sample *s;

    visitors_make(&traffic, &v, 3);
    s = ka_sample_of_connections(&traffic.connections, &traffic.requests, own,
                                 2);
    ka_sample_pieces(&pieces, s, 0, wanted, 5, *state);
    ka_sample_evaluate(n, idle_us, s, ka_sample_group_side(s, 7, 0));
    row = pieces.visitors.rows + 7 * ka_pieces_width(5);
    assert_near(row[KA_PIECE_NUMBERS], n[0], 0);
    assert_near(row[KA_PIECE_NUMBERS + 1], n[0], 0);
    assert_near(row[KA_PIECE_NUMBERS + 2], n[0] + (n[1] - n[0]) / 4, 1e-9);
    assert_near(row[KA_PIECE_NUMBERS + 3], n[1], 0);
    assert_near(row[KA_PIECE_NUMBERS + 4], n[1], 0);
    assert_near(row[KA_PIECE_NUMBERS + 5 + 3], idle_us[1], 0);
    ka_sample_free(s);
    visitors_free(&traffic);
}

static void test_sample__a_class_is_how_many_timeouts_are_shorter(void **state)
{
    static const int64_t timeouts[] = {KA_TIMEOUT_OFF, 1000000, 5000000};
    static const struct {
        int64_t idle_us;
        size_t k;
    } rows[] = {{0, 1},       {999999, 1},  {1000000, 1},
                {1000001, 2}, {5000000, 2}, {INT64_MAX, 3}};
    ka_sample *s = ka_sample_make(timeouts, 3);
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(ka_sample_class(s, rows[i].idle_us), rows[i].k);
    }
    ka_sample_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_sample__a_stream_counts_what_a_trace_does),
        unit_test(test_sample__threads_and_batches_do_not_show),
        unit_test(test_sample__m4_m5_groups_and_blocks_add_up),
        unit_test(test_sample__blocks_are_longer_on_longer_logs),
        unit_test(test_sample__extreme_times_are_harmless),
        unit_test(test_sample__merging_is_counting_together),
        unit_test(test_sample__merging_is_in_any_order),
        unit_test(test_sample__timeouts_are_forgotten),
        unit_test(test_sample__pieces_of_several_servers),
        unit_test(test_sample__pieces_at_other_timeouts),
        unit_test(test_sample__a_class_is_how_many_timeouts_are_shorter)};

    return unit_main(tests);
}
