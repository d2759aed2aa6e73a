/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Histograms against the trace that they were made from: exact at the edges
 * of bins and at T0, within a bin's content in between.
 */
#include "unit.h"
#include "model/histsweep.h"
#include "model/sweep.h"
#include "profile/trace.h"

#define SEC INT64_C(1000000)
#define T0 (5 * SEC)
#define SLACK (SEC / 2)
#define CHAINS 400

static uint64_t dice_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* From 1 ms on, six decades wide. */
static int64_t dice_time(uint64_t *seed, int64_t most_us)
{
    double share = (double)(dice_next(seed) % 1000000) / 1e6;

    return (int64_t)(1000 * pow((double)most_us / 1000, share));
}

/* The server under T0 with an eternal memory: no gap exceeds T0, tails do. */
static void random_trace(ka_trace *trace, uint64_t seed)
{
    int i;

    ka_trace_init(trace);
    for (i = 0; i < CHAINS; i++) {
        int64_t at = (int64_t)(dice_next(&seed) % (3600 * SEC));
        int64_t end = at + dice_time(&seed, SEC);
        uint32_t chain = ka_trace_open(trace, at, end);
        uint64_t more = dice_next(&seed) % 6;

        while (more-- > 0) {
            at = end + dice_time(&seed, T0);
            end = at + dice_time(&seed, SEC);
            ka_trace_follow(trace, chain, at, end);
        }
        ka_trace_tail_set(trace, chain, dice_time(&seed, 12 * T0));
    }
}

/* What mod_kastats would have recorded of it: T0 cuts the tails. */
static void record(ka_hist_part *part, const ka_trace *trace)
{
    uint64_t timed_out = 0;
    size_t i;

    ka_hist_part_init(part);
    part->limit_us = T0;
    for (i = 0; i < trace->request_n; i++) {
        int64_t gap = trace->requests[i].gap_us;

        part->opens += gap == KA_GAP_OPENS;
        if (gap >= 0) {
            ka_hist_add(&part->gap, (uint64_t)gap);
        }
    }
    for (i = 0; i < trace->chain_n; i++) {
        int64_t tail = trace->tails[i].len_us;

        timed_out += tail > T0;
        ka_hist_add(&part->tail, (uint64_t)(tail > T0 ? T0 + 700 : tail));
    }
    ka_hist_part_cut(part, timed_out, SLACK);
}

static ka_hist_traffic traffic_of(const ka_hist_part *part,
                                  const ka_outcome *trace)
{
    return (ka_hist_traffic){.parts = part,
                             .part_n = 1,
                             .busy_us = (double)trace->busy_us,
                             .window_s = trace->window_s};
}

/* Edges of bins below T0, T0, and what lies between. */
static size_t edges(int64_t *timeouts)
{
    size_t n = 0, bin = ka_hist_bin_index(2000);

    timeouts[n++] = KA_TIMEOUT_OFF;
    for (; (int64_t)ka_hist_bin_low(bin) < T0; bin += 7) {
        timeouts[n++] = (int64_t)ka_hist_bin_low(bin);
    }
    timeouts[n++] = T0;
    return n;
}

static void test_histsweep_m4_m5_m8__exact_at_edges_and_at_t0(void **state)
{
    int64_t timeouts[80];
    ka_outcome by_trace[80], by_hist[80];
    ka_hist_part part;
    uint64_t seed;
    size_t n = edges(timeouts), i;

    (void)state;
    for (seed = 1; seed <= 20; seed++) {
        ka_sweep_options options = {.measured_up_to_us = T0};
        ka_hist_traffic traffic;
        ka_trace trace;

        random_trace(&trace, seed);
        ka_sweep(by_trace, timeouts, n, &trace, &options);
        record(&part, &trace);
        traffic = traffic_of(&part, &by_trace[0]);
        assert_int_equal(ka_histsweep(by_hist, timeouts, n, &traffic),
                         APR_SUCCESS);
        for (i = 0; i < n; i++) {
            const ka_outcome *a = &by_hist[i], *b = &by_trace[i];
            /* a value on the edge itself counts to the bin above it */
            uint64_t edge = i && i + 1 < n;

            assert_int_equal(a->requests, b->requests);
            assert_in_range(a->connections, b->connections - edge,
                            b->connections + edge);
            assert_in_range(a->timeout_closes + edge, b->timeout_closes,
                            b->timeout_closes + 2 * edge);
            /* at T0: what shares its bin with those that timed out */
            double off = i + 1 == n ? 1e-4 : 1e-8;

            assert_near((double)a->idle_us, (double)b->idle_us,
                        off * (double)b->idle_us + 2);
            assert_near(a->held_mean, b->held_mean, off * b->held_mean);
            assert_near(a->idle_mean, b->idle_mean, off * b->held_mean);
            assert_near(a->reuse, b->reuse, edge * 1e-2 + 1e-12);
            assert_true(a->measured);
        }
        ka_trace_clear(&trace);
    }
}

static void test_histsweep_m4_m5__within_a_bin_in_between(void **state)
{
    ka_sweep_options options = {.measured_up_to_us = T0};
    ka_outcome a, b;
    ka_hist_part part;
    ka_trace trace;
    int64_t us;

    (void)state;
    random_trace(&trace, 77);
    record(&part, &trace);
    for (us = 1500; us < T0; us += us / 9) {
        size_t bin = ka_hist_bin_index((uint64_t)us);
        double held =
            (double)(part.gap.bins[bin].count + part.tail.bins[bin].count);
        double width =
            (double)(ka_hist_bin_low(bin + 1) - ka_hist_bin_low(bin));
        ka_hist_traffic traffic;

        ka_sweep(&b, &us, 1, &trace, &options);
        traffic = traffic_of(&part, &b);
        ka_histsweep(&a, &us, 1, &traffic);
        assert_near((double)a.connections, (double)b.connections, held + 0.5);
        assert_near((double)a.idle_us, (double)b.idle_us, held * width + 2);
    }
    ka_trace_clear(&trace);
}

/* Above T0: never fewer opened and held than there would be. */
static void test_histsweep__bounds_above_t0(void **state)
{
    static const int64_t timeouts[] = {T0, 2 * T0, 6 * T0, 30 * T0};
    ka_sweep_options options = {.measured_up_to_us = T0};
    ka_outcome a[4], b[4];
    ka_hist_traffic traffic;
    ka_hist_part part;
    ka_trace trace;
    size_t i;

    (void)state;
    random_trace(&trace, 5);
    record(&part, &trace);
    ka_sweep(b, timeouts, 4, &trace, &options);
    traffic = traffic_of(&part, &b[0]);
    ka_histsweep(a, timeouts, 4, &traffic);
    for (i = 1; i < 4; i++) {
        assert_false(a[i].measured);
        assert_int_equal(a[i].connections, a[0].connections);
        assert_true(a[i].idle_us >= b[i].idle_us);
        assert_true(a[i].reuse <= b[i].reuse);
        assert_int_equal(a[i].timeout_closes, a[0].timeout_closes);
        assert_near((double)(a[i].idle_us - a[0].idle_us),
                    (double)part.cut * (double)(timeouts[i] - T0), 2);
    }
    ka_trace_clear(&trace);
}

/* Of those that timed out half come back 5 s later: 10 s would keep them. */
static void test_histsweep__survival_estimates_above_t0(void **state)
{
    static const int64_t over[] = {5 * SEC};
    static const double share[] = {0.5};
    static const int64_t timeouts[] = {T0, 8 * SEC, 10 * SEC, 20 * SEC};
    ka_hist_part part;
    ka_hist_traffic traffic = {.parts = &part,
                               .part_n = 1,
                               .window_s = 100,
                               .survival = {over, share, 1}};
    ka_outcome o[4];

    (void)state;
    ka_hist_part_init(&part);
    part.opens = 100;
    part.limit_us = T0;
    part.cut = 80;
    ka_histsweep(o, timeouts, 4, &traffic);
    assert_int_equal(o[0].connections, 100);
    assert_int_equal(o[1].connections, 100);
    assert_int_equal(o[2].connections, 60);
    assert_int_equal(o[3].connections, 60);
    assert_int_equal(o[0].idle_us, 80 * T0);
    assert_int_equal(o[1].idle_us, 80 * 8 * SEC);
    assert_int_equal(o[2].idle_us, 80 * 10 * SEC);
    assert_int_equal(o[3].idle_us, 40 * 10 * SEC + 40 * 20 * SEC);
    assert_int_equal(o[3].timeout_closes, 40);
}

/* Gaps that a late timer let through count as T0, also with half a second. */
static void test_histsweep__late_timer_is_t0(void **state)
{
    static const int64_t timeouts[] = {T0};
    ka_hist_part part;
    ka_hist_traffic traffic = {.parts = &part, .part_n = 1, .window_s = 10};
    ka_outcome o;

    (void)state;
    ka_hist_part_init(&part);
    part.opens = 10;
    part.limit_us = T0;
    ka_hist_add_n(&part.gap, T0 + 400000, 3);
    ka_hist_add_n(&part.tail, T0 + 300000, 7);
    ka_hist_add_n(&part.tail, SEC, 3);
    ka_hist_part_cut(&part, 7, SLACK);
    assert_int_equal(part.cut, 7);
    assert_int_equal(ka_hist_count(&part.tail), 3);
    ka_histsweep(&o, timeouts, 1, &traffic);
    assert_int_equal(o.connections, 10);
    assert_int_equal(o.timeout_closes, 7);
    assert_int_equal(o.idle_us, 3 * T0 + 7 * T0 + 3 * SEC);
}

/* ---- peaks ----------------------------------------------------------------
 */

#define WINDOW_S 3600
#define VISITORS 12000

/* An hour of visitors with a page or more, six connections each, busier in
 * its middle. */
static void browsing(ka_trace *trace, uint64_t seed)
{
    int i, k;

    ka_trace_init(trace);
    for (i = 0; i < VISITORS / 6; i++) {
        int64_t at =
            (int64_t)((dice_next(&seed) % 1800 + dice_next(&seed) % 1800) *
                      (uint64_t)SEC) +
            (int64_t)(dice_next(&seed) % (uint64_t)SEC);

        for (k = 0; k < 6; k++) {
            int64_t end = at + dice_time(&seed, SEC);
            uint32_t chain = ka_trace_open(trace, at, end);
            uint64_t more = dice_next(&seed) % 4;

            while (more-- > 0) {
                int64_t next = end + dice_time(&seed, T0);

                end = next + dice_time(&seed, SEC / 4);
                ka_trace_follow(trace, chain, next, end);
            }
            ka_trace_tail_set(trace, chain, 12 * T0);
        }
    }
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Maxima of the seconds; steps[n] are instants, doubled, odd where one more
 * is there. */
static void maxima(uint32_t *levels, int64_t *steps, size_t n)
{
    size_t at = 0, second;
    uint32_t now = 0;

    qsort(steps, n, sizeof(*steps), compare_times);
    for (second = 0; second < WINDOW_S; second++) {
        int64_t end = (int64_t)(second + 1) * SEC * 2;

        levels[second] = now;
        for (; at < n && steps[at] < end; at++) {
            now += steps[at] % 2 ? 1 : -1u;
            levels[second] = now > levels[second] ? now : levels[second];
        }
    }
}

/* As mod_kastats would have seen it at T0: all gaps lie within. */
static void observe(uint32_t *open, uint32_t *busy, const ka_trace *trace)
{
    size_t n = 0, i;
    int64_t *steps = calloc(trace->request_n + trace->chain_n, 2 * 8);

    for (i = 0; i < trace->request_n; i++) {
        steps[n++] = trace->requests[i].busy_from_us * 2 + 1;
        steps[n++] = trace->requests[i].busy_to_us * 2;
    }
    maxima(busy, steps, n);
    n = 0;
    for (i = 0; i < trace->request_n; i++) {
        if (trace->requests[i].gap_us == KA_GAP_OPENS) {
            steps[n++] = trace->requests[i].busy_from_us * 2 + 1;
        }
    }
    for (i = 0; i < trace->chain_n; i++) {
        int64_t tail = trace->tails[i].len_us;

        steps[n++] = (trace->tails[i].from_us + (tail < T0 ? tail : T0)) * 2;
    }
    maxima(open, steps, n);
    free(steps);
}

static void test_histsweep_m11__peaks_from_maxima_of_seconds(void **state)
{
    static const int64_t timeouts[] = {SEC / 2, SEC, 2 * SEC, T0, 3 * T0};
    static const double near[] = {0.15, 0.12, 0.12, 0.08, 0.12};
    ka_sweep_options options = {.measured_up_to_us = T0};
    uint32_t open[WINDOW_S], busy[WINDOW_S];
    ka_outcome a[5], b[5];
    ka_hist_traffic traffic;
    ka_hist_part part;
    ka_trace trace;
    size_t i;

    (void)state;
    browsing(&trace, 4242);
    ka_sweep(b, timeouts, 5, &trace, &options);
    record(&part, &trace);
    observe(open, busy, &trace);
    traffic = traffic_of(&part, &b[0]);
    traffic.open =
        (ka_levels){.values = open, .at_least = busy, .n = WINDOW_S};
    traffic.busy = (ka_levels){.values = busy, .n = WINDOW_S};
    ka_histsweep(a, timeouts, 5, &traffic);
    for (i = 0; i < 5; i++) {
        const ka_held *mine = &a[i].held, *its = &b[i].held;

        assert_near(a[i].held_mean, b[i].held_mean, 1e-3 * b[i].held_mean);
        assert_near(mine->p999, its->p999, near[i] * its->p999);
        assert_near(mine->workers, its->workers, near[i] * its->workers);
    }
    assert_near(a[3].held.peak, b[3].held.peak, 0);
    assert_near(a[4].held.peak, b[4].held.peak, 0.1 * b[4].held.peak);
    assert_near(a[3].busy.peak, b[3].busy.peak, 0);
    ka_trace_clear(&trace);
}

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

/* Vhosts keep their own T0; `measured` is what nearly all requests have. */
static void test_histsweep__parts_add_up(void **state)
{
    static const int64_t timeouts[] = {2 * SEC, 4 * SEC};
    ka_hist_part parts[2];
    ka_hist_traffic traffic = {.parts = parts, .part_n = 2, .window_s = 100};
    ka_outcome o[2];

    (void)state;
    ka_hist_part_init(&parts[0]);
    ka_hist_part_init(&parts[1]);
    parts[0].limit_us = T0;
    parts[0].opens = 1000;
    parts[1].limit_us = 3 * SEC;
    parts[1].opens = parts[1].cut = 9;
    ka_histsweep(o, timeouts, 2, &traffic);
    assert_int_equal(o[0].connections, 1009);
    assert_int_equal(o[1].idle_us, 9 * 4 * SEC);
    assert_true(o[1].measured);
    parts[1].opens = 11;
    ka_histsweep(o, timeouts, 2, &traffic);
    assert_true(o[0].measured);
    assert_false(o[1].measured);
}

static void test_histsweep__off_in_force(void **state)
{
    static const int64_t timeouts[] = {KA_TIMEOUT_OFF, SEC};
    ka_hist_part part;
    ka_hist_traffic traffic = {.parts = &part, .part_n = 1, .window_s = 10};
    ka_outcome o[2];

    (void)state;
    ka_hist_part_init(&part);
    part.opens = 50;
    part.cut = 50;
    ka_histsweep(o, timeouts, 2, &traffic);
    assert_true(o[0].measured);
    assert_false(o[1].measured);
    assert_int_equal(o[0].connections, 50);
    assert_int_equal(o[0].idle_us, 0);
    assert_int_equal(o[1].connections, 50);
    assert_int_equal(o[1].idle_us, 50 * SEC);
}

static void test_histsweep__empty_and_wrong(void **state)
{
    static const int64_t timeouts[] = {KA_TIMEOUT_OFF, SEC};
    static const int64_t falling[] = {SEC, 0};
    ka_hist_traffic none = {0};
    ka_outcome o[2];

    (void)state;
    assert_int_equal(ka_histsweep(o, timeouts, 2, &none), APR_SUCCESS);
    assert_int_equal(o[1].requests, 0);
    assert_near(o[1].held_mean, 0, 0);
    assert_int_equal(ka_histsweep(o, falling, 2, &none), APR_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_histsweep_m4_m5_m8__exact_at_edges_and_at_t0),
        unit_test(test_histsweep_m4_m5__within_a_bin_in_between),
        unit_test(test_histsweep__bounds_above_t0),
        unit_test(test_histsweep__survival_estimates_above_t0),
        unit_test(test_histsweep__late_timer_is_t0),
        unit_test(test_histsweep_m11__peaks_from_maxima_of_seconds),
        unit_test(test_histsweep_m6__accept_and_linger),
        unit_test(test_histsweep__parts_add_up),
        unit_test(test_histsweep__off_in_force),
        unit_test(test_histsweep__empty_and_wrong)};

    return unit_main(tests);
}
