/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "tallies.h"
#include "model/erlang.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define SEC INT64_C(1000000)
#define HOUR_MS 3600000
/* Bins of ka_hist begin there (2^k us): where histograms are exact. */
#define EDGE(k) (INT64_C(1) << (k))

/* An hour with gaps of each length of gaps[], one chain a gap. */
static ka_tally *tally_of(const int64_t *timeouts, size_t n,
                          const int64_t *gaps, size_t gap_n, apr_pool_t *pool)
{
    ka_tally *tally = ka_tally_make(timeouts, n, pool);
    ka_tally_side *side = &tally->side[0];
    size_t i, k;

    tally->requests = 2 * gap_n;
    tally->window_us = (uint64_t)HOUR_MS * 1000;
    side->chains = gap_n;
    side->busy_us = 10 * tally->window_us;
    ka_occupancy_add(&side->busy, 10, HOUR_MS, 1, 1, true);
    for (k = 0; k < gap_n; k++) {
        ka_hist_add(&side->gap, (uint64_t)gaps[k]);
        ka_hist_add(&side->tail, 0);
    }
    for (i = 0; i < n; i++) {
        ka_tally_timeout *t = &side->timeouts[i];
        int64_t timeout_us = timeouts[i] > 0 ? timeouts[i] : 0;

        t->connections = gap_n;
        for (k = 0; k < gap_n; k++) {
            t->connections += gaps[k] > timeouts[i];
            t->idle_us +=
                (uint64_t)(gaps[k] < timeout_us ? gaps[k] : timeout_us);
        }
        t->waits = t->connections - gap_n + (timeouts[i] < 0 ? gap_n : 0);
        ka_occupancy_add(&t->held, 10 + t->idle_us / ((uint64_t)HOUR_MS * 1000),
                         HOUR_MS, 1, 1, true);
    }
    return tally;
}

static void random_gaps(int64_t *gaps, size_t n, uint64_t *seed)
{
    size_t i;

    for (i = 0; i < n; i++) {
        gaps[i] = (int64_t)random_below(
            seed, UINT64_C(1) << (10 + random_below(seed, 20)));
    }
}

/* ---- in between --------------------------------------------------------- */

/* The neighbours are half an hour of holders apart, so that shares show. */
static void test_outcomes__holders_by_share_of_idle_time(void **state)
{
    static const int64_t own[] = {0, EDGE(24)};
    int64_t gaps[2000], asked[] = {EDGE(21), EDGE(22), EDGE(23)};
    ka_tally *tally;
    ka_outcome out[3];
    size_t i;

    /* All longer than 2^24 us: idle time is in proportion to T. */
    for (i = 0; i < COUNT_OF(gaps); i++) {
        gaps[i] = EDGE(25);
    }
    tally = tally_of(own, 2, gaps, COUNT_OF(gaps), *state);
    assert_int_equal(ka_tally_outcomes(out, asked, 3, tally, false, EDGE(22)),
                     APR_SUCCESS);
    for (i = 0; i < 3; i++) {
        double share = (double)asked[i] / (double)EDGE(24);
        double most = 10 + floor(2000 * 16.777216 / 3600);

        assert_near(out[i].held.mean, 10 + share * (most - 10), 1e-9);
        assert_near(out[i].held.peak, ceil(10 + share * (most - 10)), 0);
        assert_int_equal(out[i].connections, 4000);
        assert_int_equal(out[i].timeout_closes, 2000);
        assert_int_equal(out[i].idle_us, 2000 * asked[i]);
        assert_int_equal(out[i].measured, i < 2);
        assert_near(out[i].busy.peak, 10, 0);
    }
    ka_tally_free(tally);
}

static void test_outcomes_m4_m5__exact_at_bin_edges(void **state)
{
    static const int64_t own[] = {KA_TIMEOUT_OFF, EDGE(12), EDGE(29)};
    uint64_t seed = 77;
    int64_t gaps[500];
    int edge;

    random_gaps(gaps, COUNT_OF(gaps), &seed);
    for (edge = 13; edge < 29; edge++) {
        /* N counts what is longer: its edge is the last of a bin. */
        int64_t exact[] = {EDGE(edge) - 1, EDGE(edge)};
        ka_tally *tally = tally_of(own, 3, gaps, COUNT_OF(gaps), *state);
        ka_tally *other = tally_of(exact, 2, gaps, COUNT_OF(gaps), *state);
        ka_outcome out[2], expected[2];

        ka_tally_outcomes(out, exact, 2, tally, false, 0);
        ka_tally_outcomes(expected, exact, 2, other, false, 0);
        assert_int_equal(out[0].connections, expected[0].connections);
        assert_int_equal(out[0].timeout_closes, expected[0].timeout_closes);
        assert_near((double)out[1].idle_us, (double)expected[1].idle_us, 1);
        ka_tally_free(tally);
        ka_tally_free(other);
    }
}

/* N and N_to fall, H and the holders rise, at any T. */
static void test_outcomes__are_monotone(void **state)
{
    static const int64_t own[] = {SEC / 100, SEC, 5 * SEC, 60 * SEC};
    uint64_t seed = 78;
    int round;

    for (round = 0; round < 20; round++) {
        int64_t gaps[500], asked[301];
        ka_outcome out[301];
        ka_tally *tally;
        size_t i;

        random_gaps(gaps, COUNT_OF(gaps), &seed);
        for (i = 0; i < COUNT_OF(asked); i++) {
            asked[i] = i ? (int64_t)pow(1.07, (double)i) : KA_TIMEOUT_OFF;
        }
        qsort(asked, COUNT_OF(asked), sizeof(*asked), compare_int64);
        tally = tally_of(own, 4, gaps, COUNT_OF(gaps), *state);
        assert_int_equal(
            ka_tally_outcomes(out, asked, COUNT_OF(asked), tally, false, 0),
            APR_SUCCESS);
        for (i = 1; i < COUNT_OF(asked); i++) {
            assert_true(out[i].connections <= out[i - 1].connections);
            assert_true(i == 1 ||
                        out[i].timeout_closes <= out[i - 1].timeout_closes);
            assert_true(out[i].idle_us >= out[i - 1].idle_us);
            assert_true(out[i].held.mean >= out[i - 1].held.mean - 1e-9);
            assert_true(out[i].held.workers >= out[i - 1].held.workers);
        }
        assert_int_equal(out[0].timeout_closes, 0);
        assert_int_equal(out[0].connections, 1000);
        ka_tally_free(tally);
    }
}

/* Histograms alone would go beyond what was counted next to it. */
static void test_outcomes__stay_within_their_neighbours(void **state)
{
    static const int64_t own[] = {1000, 1010, 1022};
    int64_t gaps[] = {1001, 1002, 1003, 1003, 1003}, asked = 1015;
    ka_tally *tally = tally_of(own, 3, gaps, COUNT_OF(gaps), *state);
    ka_outcome out;

    ka_tally_outcomes(&out, &asked, 1, tally, false, 0);
    assert_int_equal(out.connections, 5);
    assert_int_equal(out.timeout_closes, 0);
    assert_int_equal(out.idle_us, 5012);
    ka_tally_free(tally);
}

/* ---- beyond ------------------------------------------------------------- */

static void test_outcomes__beyond_are_scaled(void **state)
{
    static const int64_t own[] = {EDGE(23)};
    int64_t gaps[2000], asked[] = {0, EDGE(22), EDGE(23), EDGE(24)};
    ka_tally *tally;
    ka_outcome out[4];
    size_t i;

    for (i = 0; i < COUNT_OF(gaps); i++) {
        gaps[i] = EDGE(25);
    }
    tally = tally_of(own, 1, gaps, COUNT_OF(gaps), *state);
    ka_tally_outcomes(out, asked, 4, tally, false, 0);
    for (i = 0; i < 4; i++) {
        double ratio = out[i].held_mean / out[2].held_mean;

        assert_near(out[i].idle_us, 2000.0 * (double)asked[i], 0);
        assert_near(out[i].held.mean, 14 * ratio, 1e-9);
        assert_near(out[i].held.peak, ceil(14 * ratio - 1e-9), 0);
        assert_true(out[i].held.workers >=
                    floor(ka_workers_needed(14, 1, 0) * ratio));
    }
    assert_near(out[2].held.workers, ka_workers_needed(14, 1, 0), 0);
    ka_tally_free(tally);
}

/* Nothing was evaluated: [M12] with z of browsing. */
static void test_outcomes_m12__without_any_timeout(void **state)
{
    int64_t gaps[100], asked[] = {KA_TIMEOUT_OFF, EDGE(23)};
    ka_tally *tally;
    ka_outcome out[2];
    size_t i;

    for (i = 0; i < COUNT_OF(gaps); i++) {
        gaps[i] = EDGE(25);
    }
    tally = tally_of(NULL, 0, gaps, COUNT_OF(gaps), *state);
    assert_int_equal(ka_tally_outcomes(out, asked, 2, tally, false, 0),
                     APR_SUCCESS);
    assert_int_equal(out[0].connections, 200);
    assert_int_equal(out[1].timeout_closes, 100);
    assert_near(out[1].held.mean, out[1].held_mean, 1e-9);
    assert_near(out[1].held.workers, ka_workers_needed(out[1].held_mean, 4, 0),
                0);
    ka_tally_free(tally);
}

static void test_outcomes__sides(void **state)
{
    static const int64_t own[] = {5 * SEC};
    int64_t gaps[] = {SEC};
    ka_tally *tally = tally_of(own, 1, gaps, 1, *state);
    ka_outcome out;

    tally->side[1].timeouts[0].connections = 6;
    ka_tally_outcomes(&out, own, 1, tally, true, 0);
    assert_int_equal(out.connections, 1);
    tally->bracket = true;
    ka_tally_outcomes(&out, own, 1, tally, true, 0);
    assert_int_equal(out.connections, 6);
    ka_tally_outcomes(&out, own, 1, tally, false, 0);
    assert_int_equal(out.connections, 1);
    ka_tally_free(tally);
}

static void test_outcomes__refuse(void **state)
{
    static const int64_t falling[] = {5, 4}, below[] = {-2, 0};
    ka_tally *tally = ka_tally_make(NULL, 0, *state);
    ka_outcome out[2];

    assert_int_equal(ka_tally_outcomes(out, falling, 2, tally, false, 0),
                     APR_EINVAL);
    assert_int_equal(ka_tally_outcomes(out, below, 2, tally, false, 0),
                     APR_EINVAL);
    assert_int_equal(ka_tally_outcomes(out, falling, 0, tally, false, 0),
                     APR_SUCCESS);
    ka_tally_free(tally);
}

/* Any numbers a file may hold. */
static void test_outcomes__any_tally_is_harmless(void **state)
{
    static const int64_t asked[] = {KA_TIMEOUT_OFF, 0,        1,        3 * SEC,
                                    5 * SEC,        99 * SEC, INT64_MAX};
    uint64_t seed = 12;
    ka_outcome out[COUNT_OF(asked)];
    int round;

    for (round = 0; round < 60; round++) {
        ka_tally *tally = random_tally(&seed, *state);
        size_t i;

        if (round % 3 == 0) {
            tally->side[0].timeouts[1].idle_us = UINT64_MAX;
            tally->side[0].busy_us = UINT64_MAX;
            tally->side[0].chains = UINT64_MAX;
            ka_hist_add_n(&tally->side[0].gap, UINT64_MAX, UINT64_MAX);
        }
        assert_int_equal(ka_tally_outcomes(out, asked, COUNT_OF(asked), tally,
                                           round % 2, SEC),
                         APR_SUCCESS);
        for (i = 0; i < COUNT_OF(asked); i++) {
            assert_true(out[i].idle_us >= 0 && out[i].busy_us >= 0);
            assert_true(isfinite(out[i].held.workers));
            assert_true(isfinite(out[i].held.p999));
            assert_true(isfinite(out[i].held_mean));
        }
        ka_tally_free(tally);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_outcomes__holders_by_share_of_idle_time),
        unit_test(test_outcomes_m4_m5__exact_at_bin_edges),
        unit_test(test_outcomes__are_monotone),
        unit_test(test_outcomes__stay_within_their_neighbours),
        unit_test(test_outcomes__beyond_are_scaled),
        unit_test(test_outcomes_m12__without_any_timeout),
        unit_test(test_outcomes__sides),
        unit_test(test_outcomes__refuse),
        unit_test(test_outcomes__any_tally_is_harmless),
    };

    return unit_main(tests);
}
