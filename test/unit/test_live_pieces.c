/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Intervals of a segment hold the true value as often as they say: made-up
 * visitors, as the module records them under T0. */
#include "unit.h"

#include <model/intervals.h>
#include <profile/live_pieces.h>

#include "visitors.h"

#define HOUR_S 3600.0
#define SEC INT64_C(1000000)
#define T0 (5 * SEC)
#define DELTA 0.01

static const int64_t timeouts[] = {KA_TIMEOUT_OFF, SEC, 2 * SEC, T0};

#define TIMEOUTS (sizeof(timeouts) / sizeof(timeouts[0]))
#define AT_2S 2
#define AT_T0 3

typedef struct recorded {
    ka_live live;
    ka_hist_part part;
    ka_hist_traffic traffic;
    ka_outcome outcomes[TIMEOUTS];
    ka_intervals intervals;
    apr_status_t status;
} recorded;

/* ---- as the module records it -------------------------------------------- */

static ka_second *second_of(ka_live *live, int64_t at_us)
{
    const size_t i = (size_t)((at_us - VISITORS_BEGIN_US) / SEC);

    return &live->history[i < live->history_n ? i : live->history_n - 1];
}

static void add_request(recorded *r, ka_segment_recent *open,
                        const ka_trace_request *t, int64_t gap_us)
{
    second_of(&r->live, t->busy_from_us)->requests++;
    open->requests++;
    open->service_us += VISITORS_SERVICE_US;
    if (gap_us >= 0) {
        ka_hist_add(&r->part.gap, (uint64_t)gap_us);
        open->idle_us += (uint64_t)gap_us;
        if ((uint64_t)gap_us > open->longest_gap_us) {
            open->longest_gap_us = (uint64_t)gap_us;
        }
        return;
    }
    second_of(&r->live, t->busy_from_us)->connections++;
    r->part.opens++;
    r->part.cut++;
}

/* A gap beyond T0 closes the connection and opens the next one. */
static void record(recorded *r, const visited *traffic, apr_pool_t *pool)
{
    const ka_trace *trace = &traffic->connections.low;
    ka_segment_recent **open = apr_pcalloc(pool, (trace->chain_n + 1) *
                                                     sizeof(*open));
    size_t i;

    r->live.recent =
        apr_pcalloc(pool, trace->request_n * sizeof(*r->live.recent));
    for (i = 0; i < trace->request_n; i++) {
        const ka_trace_request *t = &trace->requests[i];
        const bool again = t->gap_us >= 0 && t->gap_us <= T0;

        if (!again) {
            open[t->chain] = &r->live.recent[r->live.recent_n++];
            open[t->chain]->client_hash = traffic->requests.items[i].address;
            open[t->chain]->reason = KA_REASON_IDLE_TIMEOUT;
            open[t->chain]->tail_us = (uint64_t)T0;
        }
        add_request(r, open[t->chain], t, again ? t->gap_us : -1);
    }
    r->live.total->quantity[KA_QUANTITY_GAP] = r->part.gap;
}

static recorded *record_visitors(const visitors *v, uint64_t seed,
                                 apr_pool_t *pool)
{
    recorded *r = apr_pcalloc(pool, sizeof(*r));
    visited traffic;
    size_t i;

    visitors_make(&traffic, v, seed);
    ka_hist_part_init(&r->part);
    r->part.limit_us = T0;
    r->live.total = apr_pcalloc(pool, sizeof(*r->live.total));
    r->live.history_n = (size_t)v->window_s;
    r->live.history =
        apr_pcalloc(pool, r->live.history_n * sizeof(*r->live.history));
    for (i = 0; i < r->live.history_n; i++) {
        r->live.history[i].at = VISITORS_BEGIN_US + (int64_t)i * SEC;
    }
    record(r, &traffic, pool);
    r->traffic = (ka_hist_traffic){.parts = &r->part,
                                   .part_n = 1,
                                   .busy_us = (double)VISITORS_SERVICE_US *
                                              (double)traffic.requests.n,
                                   .window_s = v->window_s};
    visitors_free(&traffic);
    assert_int_equal(ka_histsweep(r->outcomes, timeouts, TIMEOUTS,
                                  &r->traffic),
                     APR_SUCCESS);
    return r;
}

static void find(recorded *r, apr_pool_t *pool)
{
    const ka_led led = {.traffic = &r->traffic,
                        .outcomes = r->outcomes,
                        .n = TIMEOUTS,
                        .now = AT_T0};
    ka_pieces pieces;
    const ka_pieces *const both[2] = {&pieces, &pieces};

    ka_live_pieces(&pieces, &r->live, &led, pool);
    r->status = ka_intervals_make(&r->intervals, both, r->outcomes,
                                  r->outcomes, TIMEOUTS, DELTA, pool);
}

/* ---- coverage ------------------------------------------------------------ */

/* As in test_intervals.c. */
#define SEEDS 200
#define LEAST 0.836
#define MOST 0.985

typedef struct coverage {
    int opens, opens_2s, reuse_2s, idle, idle_2s, requests;
} coverage;

static bool holds(ka_interval interval, double truth)
{
    return interval.low <= truth && truth <= interval.high;
}

static void cover(coverage *c, const visitors *v, size_t latest,
                  apr_pool_t *parent)
{
    const double opens_2s = visitors_opens(v, 2);
    uint64_t seed;

    memset(c, 0, sizeof(*c));
    for (seed = 1; seed <= SEEDS; seed++) {
        const ka_timeout_intervals *at;
        apr_pool_t *pool;
        recorded *r;

        assert_int_equal(apr_pool_create(&pool, parent), APR_SUCCESS);
        r = record_visitors(v, seed * 7919, pool);
        if (r->live.recent_n > latest) {
            r->live.recent += r->live.recent_n - latest;
            r->live.recent_n = latest;
        }
        find(r, pool);
        assert_int_equal(r->status, APR_SUCCESS);
        at = r->intervals.timeouts;
        c->opens += holds(at[AT_T0].connections, visitors_opens(v, 5));
        c->opens_2s += holds(at[AT_2S].connections, opens_2s);
        c->reuse_2s +=
            holds(at[AT_2S].reuse, 1 - opens_2s / visitors_opens(v, -1));
        c->idle += holds(at[AT_T0].idle_mean,
                         visitors_idle_s(v, 5) / v->window_s);
        c->idle_2s += holds(at[AT_2S].idle_mean,
                            visitors_idle_s(v, 2) / v->window_s);
        c->requests += holds(r->intervals.requests, visitors_opens(v, -1));
        apr_pool_destroy(pool);
    }
}

#define assert_covers(n)                                                       \
    assert_in_range((n), (int)(LEAST * SEEDS), (int)(MOST * SEEDS))

static void print(const char *name, const coverage *c)
{
    print_message("%s: opens %d, at 2 s %d, reuse %d, idle %d, %d, "
                  "requests %d of %d\n",
                  name, c->opens, c->opens_2s, c->reuse_2s, c->idle,
                  c->idle_2s, c->requests, SEEDS);
}

static void test_live_pieces__cover_visitors_that_come_evenly(void **state)
{
    const visitors v = {.window_s = 2 * HOUR_S, .per_s = 0.1, .gaps = 3,
                        .gap_s = 3};
    coverage c;

    cover(&c, &v, SIZE_MAX, *state);
    print("evenly", &c);
    assert_covers(c.opens);
    assert_covers(c.opens_2s);
    assert_covers(c.reuse_2s);
    assert_covers(c.idle);
    assert_covers(c.idle_2s);
    assert_covers(c.requests);
}

static void test_live_pieces__cover_addresses_that_return(void **state)
{
    const visitors v = {.window_s = 2 * HOUR_S, .per_s = 0.2, .gaps = 3,
                        .gap_s = 5, .visits = 8};
    coverage c;

    cover(&c, &v, SIZE_MAX, *state);
    print("return", &c);
    assert_covers(c.opens);
    assert_covers(c.opens_2s);
    assert_covers(c.reuse_2s);
    assert_covers(c.idle);
}

static void test_live_pieces__cover_bursts(void **state)
{
    const visitors v = {.window_s = 8 * HOUR_S, .per_s = 0.1, .gaps = 3,
                        .gap_s = 5, .burst_s = 600};
    coverage c;

    cover(&c, &v, SIZE_MAX, *state);
    print("bursts", &c);
    assert_covers(c.opens);
    assert_covers(c.opens_2s);
    assert_covers(c.idle);
}

/* Of the latest ones alone they are too wide rather than too narrow. */
static void test_live_pieces__the_latest_alone_are_cautious(void **state)
{
    const visitors v = {.window_s = 2 * HOUR_S, .per_s = 0.2, .gaps = 3,
                        .gap_s = 5};
    coverage c;

    cover(&c, &v, 300, *state);
    print("latest", &c);
    assert_true(c.opens > LEAST * SEEDS);
    assert_true(c.opens_2s > LEAST * SEEDS);
    assert_true(c.reuse_2s > LEAST * SEEDS);
    assert_true(c.idle > LEAST * SEEDS);
}

/* ---- what there is too little of ----------------------------------------- */

/* So many clients, one connection of three requests each, and seconds. */
static recorded *record_few(size_t clients, size_t seconds, apr_pool_t *pool)
{
    recorded *r = apr_pcalloc(pool, sizeof(*r));
    size_t i;

    r->live.total = apr_pcalloc(pool, sizeof(*r->live.total));
    r->live.recent = apr_pcalloc(pool, (clients + 1) *
                                           sizeof(*r->live.recent));
    r->live.snapshot.vhosts =
        apr_pcalloc(pool, 2 * sizeof(*r->live.snapshot.vhosts));
    ka_hist_part_init(&r->part);
    r->part.limit_us = T0;
    for (i = 0; i < clients; i++) {
        r->live.recent[r->live.recent_n++] =
            (ka_segment_recent){.client_hash = i,
                                .requests = 3,
                                .vhost = (uint16_t)(i % 2),
                                .longest_gap_us = (uint64_t)SEC,
                                .idle_us = (uint64_t)SEC,
                                .tail_us = (uint64_t)T0,
                                .reason = KA_REASON_IDLE_TIMEOUT};
        r->part.opens++;
        r->part.cut++;
        ka_hist_add_n(&r->part.gap, (uint64_t)SEC / 2, 2);
    }
    r->live.total->quantity[KA_QUANTITY_GAP] = r->part.gap;
    r->live.history_n = seconds;
    r->live.history =
        apr_pcalloc(pool, (seconds + 1) * sizeof(*r->live.history));
    for (i = 0; i < seconds; i++) {
        r->live.history[i] = (ka_second){.at = VISITORS_BEGIN_US +
                                               (int64_t)i * SEC,
                                         .requests = 3,
                                         .connections = 1};
    }
    r->traffic = (ka_hist_traffic){
        .parts = &r->part, .part_n = 1, .window_s = 3600};
    assert_int_equal(ka_histsweep(r->outcomes, timeouts, TIMEOUTS,
                                  &r->traffic),
                     APR_SUCCESS);
    return r;
}

static void test_live_pieces__need_clients_or_an_hour(void **state)
{
    static const struct {
        size_t clients, seconds, groups, blocks;
        apr_status_t status;
    } rows[] = {{5, 3599, 0, 0, APR_INCOMPLETE}, {0, 0, 0, 0, APR_INCOMPLETE},
                {6, 3599, 6, 0, APR_SUCCESS},    {5, 3600, 0, 7, APR_SUCCESS},
                {200, 86400, 64, 13, APR_SUCCESS}};
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        recorded *r = record_few(rows[i].clients, rows[i].seconds, *state);

        find(r, *state);
        assert_int_equal(r->status, rows[i].status);
        if (r->status == APR_SUCCESS) {
            assert_int_equal(r->intervals.groups, rows[i].groups);
            assert_int_equal(r->intervals.blocks, rows[i].blocks);
        }
    }
}

/* Nor is anything told of no time. */
static void test_live_pieces__need_a_window(void **state)
{
    recorded *r = record_few(200, 86400, *state);
    size_t i;

    for (i = 0; i < TIMEOUTS; i++) {
        r->outcomes[i].window_s = 0;
    }
    find(r, *state);
    assert_int_equal(r->status, APR_INCOMPLETE);
}

/* Of a virtual host: its own connections, and no seconds. */
static void test_live_pieces__of_one_vhost(void **state)
{
    recorded *r = record_few(200, 86400, *state);
    ka_live_vhost one = {.vhost = &r->live.snapshot.vhosts[1]};

    r->live.narrowed = true;
    r->live.vhosts = &one;
    r->live.vhost_n = 1;
    find(r, *state);
    assert_int_equal(r->status, APR_SUCCESS);
    assert_int_equal(r->intervals.groups, KA_SAMPLE_GROUPS / 2);
    assert_int_equal(r->intervals.blocks, 0);
}

/* Numbers of a foreign file. */
static void test_live_pieces__extreme_numbers_are_harmless(void **state)
{
    recorded *r = record_few(20, 4000, *state);
    size_t i;

    for (i = 0; i < 20; i++) {
        r->live.recent[i].requests = UINT32_MAX;
        r->live.recent[i].longest_gap_us = UINT64_MAX;
        r->live.recent[i].service_us = UINT64_MAX;
        r->live.recent[i].tail_us = UINT64_MAX;
        r->live.recent[i].client_hash = UINT64_MAX - i;
    }
    r->live.history[7].at = INT64_MIN / 2;
    r->live.history[8].requests = UINT32_MAX;
    find(r, *state);
    assert_int_equal(r->status, APR_SUCCESS);
    for (i = 0; i < TIMEOUTS; i++) {
        assert_true(isfinite(r->intervals.timeouts[i].held_mean.low));
        assert_true(isfinite(r->intervals.timeouts[i].connections.high));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_live_pieces__cover_visitors_that_come_evenly),
        unit_test(test_live_pieces__cover_addresses_that_return),
        unit_test(test_live_pieces__cover_bursts),
        unit_test(test_live_pieces__the_latest_alone_are_cautious),
        unit_test(test_live_pieces__need_clients_or_an_hour),
        unit_test(test_live_pieces__need_a_window),
        unit_test(test_live_pieces__of_one_vhost),
        unit_test(test_live_pieces__extreme_numbers_are_harmless)};

    return unit_main(tests);
}
