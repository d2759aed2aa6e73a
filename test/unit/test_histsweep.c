/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Histograms against the trace that they were made from: exact at the edges
 * of bins and at T0, within a bin's content in between.
 */
#include "unit.h"
#include "model/histsweep.h"
#include "model/sweep.h"
#include "observed_hour.h"

#define SLACK (SEC / 2)
#define CHAINS 400

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

/* As many again closed between T0 / 2 and T0 as were cut: of a hazard of
 * theta / x.  What comes back at 10 s finds only those that stayed. */
static void test_histsweep_m6__clients_close_above_t0(void **state)
{
    static const int64_t over[] = {5 * SEC};
    static const double share[] = {0.5};
    static const int64_t timeouts[] = {T0, 2 * T0, 6 * T0};
    ka_hist_part part;
    ka_hist_traffic traffic = {.parts = &part,
                               .part_n = 1,
                               .window_s = 100,
                               .survival = {over, share, 1}};
    ka_outcome o[3];
    double stay;

    (void)state;
    ka_hist_part_init(&part);
    part.opens = 1000;
    part.limit_us = T0;
    part.cut = 500;
    ka_hist_add_n(&part.tail, 3 * SEC, 250);
    ka_hist_add_n(&part.tail, 4 * SEC, 250);
    part.closed = 500;
    ka_histsweep(o, timeouts, 3, &traffic);
    assert_int_equal(o[0].connections, 1000);
    assert_int_equal(o[0].timeout_closes, 500);
    /* All of 3 s and 4 s lie beyond the edge at 2.49 s. */
    stay = pow(2, -500 / (250 * log(3 / 2.490368) + 250 * log(4 / 2.490368) +
                          500 * log(5 / 2.490368)));
    assert_near((double)o[1].connections, 1000 - 250 * stay, 0.6);
    assert_near((double)o[1].timeout_closes, 250 * stay, 0.6);
    assert_true(o[1].idle_us < o[0].idle_us + 500 * T0);
    assert_true((double)o[1].idle_us >
                (double)o[0].idle_us + 500 * stay * (double)T0);
    assert_int_equal(o[2].connections, o[1].connections);
    assert_near((double)(o[2].idle_us - o[1].idle_us),
                250 * stay * 4 * (double)T0, 2);
    /* Without who came back they are bounds, as before. */
    traffic.survival.n = 0;
    ka_histsweep(o, timeouts, 3, &traffic);
    assert_int_equal(o[1].connections, 1000);
    assert_int_equal(o[1].idle_us - o[0].idle_us, 500 * T0);
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

static void peaks(const ka_levels *open, const ka_levels *busy,
                  const double *near)
{
    static const int64_t timeouts[] = {SEC / 2, SEC, 2 * SEC, T0, 3 * T0};
    ka_sweep_options options = {.measured_up_to_us = T0};
    ka_outcome a[5], b[5];
    ka_hist_traffic traffic;
    ka_hist_part part;
    ka_trace trace;
    size_t i;

    browsing(&trace, 4242);
    ka_sweep(b, timeouts, 5, &trace, &options);
    record(&part, &trace);
    traffic = traffic_of(&part, &b[0]);
    traffic.open = *open;
    traffic.busy = *busy;
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

static void test_histsweep_m11__peaks_from_maxima_of_seconds(void **state)
{
    /* With the requests of each second too: nearer on real visits (test/truth),
     * too many on these, who open six connections in one instant. */
    static const double near[2][5] = {{0.15, 0.12, 0.12, 0.08, 0.12},
                                      {0.25, 0.30, 0.25, 0.08, 0.12}};
    static seconds s;
    ka_levels levels = {.values = s.open, .at_least = s.busy, .n = WINDOW_S};
    ka_levels busy = {.values = s.busy, .n = WINDOW_S};
    ka_trace trace;

    (void)state;
    browsing(&trace, 4242);
    observe(&s, &trace);
    ka_trace_clear(&trace);
    peaks(&levels, &busy, near[0]);
    levels.requests = s.requests;
    levels.connections = s.connections;
    peaks(&levels, &busy, near[1]);
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

/* Requests that came at once are none's with KeepAlive Off, unless they are
 * streams. */
static void test_histsweep_m4__pipelined_requests_open_with_off(void **state)
{
    static const int64_t timeouts[] = {KA_TIMEOUT_OFF, SEC};
    ka_hist_part part;
    ka_hist_traffic traffic = {.parts = &part, .part_n = 1, .window_s = 10};
    ka_outcome o[2];

    (void)state;
    ka_hist_part_init(&part);
    part.opens = 10;
    part.joined = 7;
    part.parted = 4;
    part.limit_us = T0;
    ka_histsweep(o, timeouts, 2, &traffic);
    assert_int_equal(o[0].requests, 17);
    assert_int_equal(o[0].connections, 14);
    assert_int_equal(o[1].connections, 10);
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
        unit_test(test_histsweep_m6__clients_close_above_t0),
        unit_test(test_histsweep__late_timer_is_t0),
        unit_test(test_histsweep_m11__peaks_from_maxima_of_seconds),
        unit_test(test_histsweep_m6__accept_and_linger),
        unit_test(test_histsweep_m6__warming_up_goes_with_what_is_held),
        unit_test(test_histsweep_m6__slow_readers_linger_with_off),
        unit_test(test_histsweep_m6__unanswered_closes_last_as_waits_do),
        unit_test(test_histsweep_m4__pipelined_requests_open_with_off),
        unit_test(test_histsweep__parts_add_up),
        unit_test(test_histsweep__off_in_force),
        unit_test(test_histsweep__empty_and_wrong)};

    return unit_main(tests);
}
