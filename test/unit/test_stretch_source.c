/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What an analysis has of its clients: own requests, recent connections, or
 * draws; and the busiest stretch of it.
 */
#include "commands/stretch.h"
#include "profile/live.h"
#include "recent_ring.h"

#define SEC TRACES_SEC
#define HISTORY 3600

static const ka_stretch_want all = {.seed = 1, .growth = 1, .most = 100000};

static ka_stretch stretch_of(const ka_analysis *a, const ka_stretch_want *want,
                             apr_pool_t *pool)
{
    const char *error = NULL;
    ka_stretch out;

    assert_int_equal(ka_stretch_of(&out, &error, a, want, pool), APR_SUCCESS);
    assert_int_equal(out.requests, ka_stretch_requests(out.traffic));
    return out;
}

static void assert_says(const char *text, const char *part)
{
    if (!strstr(text, part)) {
        fail_msg("\"%s\" does not say \"%s\"", text, part);
    }
}

/* ---- own requests ------------------------------------------------------- */

static ka_analysis *make_logged(uint32_t clients, int64_t window_us,
                                apr_pool_t *pool)
{
    ka_analysis *a = apr_pcalloc(pool, sizeof(*a));
    ka_random random = {3};

    random_trace_of(&a->connections.low, clients, window_us, &random);
    a->report.timeout_us = 5 * SEC;
    return a;
}

/* 3,000 clients in 5 hours, of which the last 600 come in ten minutes. */
static void test_stretch_source__the_busiest_part(void **state)
{
    ka_analysis *a = make_logged(600, 600 * SEC, *state);
    ka_trace *trace = &a->connections.low;
    const size_t busy_n = trace->request_n;
    const ka_stretch_want busiest = {
        .seed = 1, .growth = 1, .busiest = true, .most = 1000};
    ka_stretch part, whole;
    size_t i;

    for (i = 0; i < 2400; i++) {
        ka_trace_open(trace, 3600 * SEC + (int64_t)i * 6 * SEC,
                      3600 * SEC + (int64_t)i * 6 * SEC + SEC);
    }
    whole = stretch_of(a, &all, *state);
    part = stretch_of(a, &busiest, *state);
    assert_int_equal(whole.requests, busy_n + 2400);
    assert_int_equal(part.requests, 1000);
    assert_false(part.drawn);
    assert_true(part.traffic->begin_us >= 0);
    assert_true(part.traffic->end_us <= 700 * SEC);
    ka_trace_clear(trace);
}

static void test_stretch_source__growth(void **state)
{
    ka_analysis *a = make_logged(200, 600 * SEC, *state);
    const ka_stretch_want twice = {.seed = 1, .growth = 2, .most = 100000};

    assert_int_equal(stretch_of(a, &twice, *state).requests,
                     2 * stretch_of(a, &all, *state).requests);
    ka_trace_clear(&a->connections.low);
}

static void test_stretch_source__asked_once(void **state)
{
    ka_analysis *a = make_logged(200, 600 * SEC, *state);
    ka_stretch_source source = ka_stretch_source_of(a);
    ka_stretch first, second;

    assert_true(source.at(&first, source.context, 1, *state));
    assert_true(source.at(&second, source.context, 1, *state));
    assert_ptr_equal(first.traffic, second.traffic);
    ka_trace_clear(&a->connections.low);
}

static void test_stretch_source__nothing_is_said(void **state)
{
    ka_analysis *a = apr_pcalloc(*state, sizeof(*a));
    ka_stretch_source source = ka_stretch_source_of(a);
    const char *error;
    ka_stretch out;

    a->source.kind = "log";
    assert_int_equal(ka_stretch_of(&out, &error, a, &all, *state), APR_EINVAL);
    assert_says(error, "no request");
    assert_false(source.at(&out, source.context, 1, *state));
}

/* ---- segments ----------------------------------------------------------- */

typedef struct segment {
    ka_analysis a;
    ka_live live;
    ka_live_vhost vhost;
    ka_stats total;
    ka_hist lengths;
    ka_segment_vhost vhosts[2];
    ka_second history[HISTORY];
    ka_hist_traffic hist;
} segment;

static int latest_first(const void *a, const void *b)
{
    const ka_segment_recent *x = a, *y = b;
    const int64_t first = x->started_at + (int64_t)x->life_us;
    const int64_t second = y->started_at + (int64_t)y->life_us;

    return (first < second) - (first > second);
}

static void add_up(segment *s, const ring *r)
{
    size_t i;

    for (i = 0; i < r->n; i++) {
        const ka_segment_recent *c = &r->items[i];
        uint64_t *closes = &s->total.counter[KA_COUNTER_CLOSE];

        ka_hist_add(&s->lengths, c->requests);
        ka_hist_add(&s->total.quantity[KA_QUANTITY_TAIL], c->tail_us);
        ka_hist_add(&s->total.quantity[KA_QUANTITY_LIFE], c->life_us);
        ka_hist_add_n(&s->total.quantity[KA_QUANTITY_SERVICE],
                      c->service_us / c->requests, c->requests);
        closes[c->reason]++;
        s->history[c->started_at / SEC].connections++;
    }
    s->total.quantity[KA_QUANTITY_GAP] = r->gap;
    s->total.quantity[KA_QUANTITY_REQUESTS] = s->lengths;
}

/* A segment that has seen the trace; its ring holds the last `kept`. */
static segment *make_segment(ring *r, size_t kept, apr_pool_t *pool)
{
    segment *s = apr_pcalloc(pool, sizeof(*s));
    size_t i;

    qsort(r->items, r->n, sizeof(*r->items), latest_first);
    for (i = 0; i < HISTORY; i++) {
        s->history[i].at = (int64_t)i * SEC;
    }
    add_up(s, r);
    s->vhosts[0].keep_alive_timeout_us = RING_T0;
    s->vhosts[0].flags = KA_VHOST_IN_FORCE | KA_VHOST_KEEP_ALIVE;
    s->vhost = (ka_live_vhost){&s->vhosts[0], RING_T0, &s->total};
    s->live = (ka_live){.total = &s->total,
                        .vhosts = &s->vhost,
                        .vhost_n = 1,
                        .first_us = 0,
                        .last_us = RING_WINDOW + 300 * SEC,
                        .history = s->history,
                        .history_n = (size_t)(RING_WINDOW / SEC) + 300,
                        .recent = r->items,
                        .recent_n = kept < r->n ? kept : r->n,
                        .recent_whole = kept >= r->n};
    s->live.snapshot.vhosts = s->vhosts;
    s->live.snapshot.vhost_n = 2;
    s->a.live = &s->live;
    s->a.lengths = &s->lengths;
    s->a.report.timeout_us = RING_T0;
    ka_live_profile(&s->a.profile, &s->live, pool);
    ka_live_traffic(&s->hist, &s->live, pool);
    s->a.hist = &s->hist;
    return s;
}

/* Connections that are open in the mean at T0. */
static double held(const ka_stretch *s)
{
    return ka_stretch_expect(s, KA_MPM_PREFORK, RING_T0, 0).held_mean;
}

static ka_stretch whole_of(const ka_trace *trace, apr_pool_t *pool)
{
    ka_sim_traffic *traffic = apr_palloc(pool, sizeof(*traffic));

    assert_int_equal(ka_sim_traffic_of_trace(traffic, trace, pool),
                     APR_SUCCESS);
    return (ka_stretch){.traffic = traffic};
}

static void test_stretch_source__a_whole_ring(void **state)
{
    ka_trace trace;
    ring *r = make_ring(&trace, 1, *state);
    segment *s = make_segment(r, r->n, *state);
    ka_stretch is = stretch_of(&s->a, &all, *state);
    ka_stretch of = whole_of(&trace, *state);

    assert_false(is.drawn);
    assert_says(is.how, "rebuilt");
    assert_int_equal(is.requests, trace.request_n);
    assert_near(held(&is), held(&of), 0.01 * held(&of));
    ka_trace_clear(&trace);
}

/* The last two thirds: from the close of the oldest on, all are known. */
static void test_stretch_source__a_ring_that_turned_over(void **state)
{
    ka_trace trace;
    ring *r = make_ring(&trace, 2, *state);
    segment *s = make_segment(r, 2 * r->n / 3, *state);
    ka_stretch is = stretch_of(&s->a, &all, *state);
    ka_stretch of = whole_of(&trace, *state);
    const ka_segment_recent *oldest = &r->items[s->live.recent_n - 1];

    assert_false(is.drawn);
    assert_true(is.traffic->begin_us >=
                oldest->started_at + (int64_t)oldest->life_us);
    assert_in_range(is.requests, trace.request_n / 3, trace.request_n);
    assert_near(held(&is), held(&of), 0.1 * held(&of));
    ka_trace_clear(&trace);
}

static void test_stretch_source__too_small_a_ring_is_drawn_for(void **state)
{
    ka_trace trace;
    ring *r = make_ring(&trace, 3, *state);
    segment *s = make_segment(r, 40, *state);
    ka_stretch is = stretch_of(&s->a, &all, *state);
    ka_stretch of = whole_of(&trace, *state);

    assert_true(is.drawn);
    assert_says(is.how, "drawn from the segment's distributions");
    assert_says(is.how, "too little");
    assert_near(held(&is), held(&of), 0.2 * held(&of));
    ka_trace_clear(&trace);
}

static void test_stretch_source__nor_is_a_quiet_time_played(void **state)
{
    ka_trace trace;
    ring *r = make_ring(&trace, 4, *state);
    segment *s = make_segment(r, r->n - 50, *state);
    size_t i;

    for (i = 0; i < 100; i++) {
        s->history[i].connections = 50;
    }
    assert_says(stretch_of(&s->a, &all, *state).how, "quieter time");
    ka_trace_clear(&trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_stretch_source__the_busiest_part),
        unit_test(test_stretch_source__growth),
        unit_test(test_stretch_source__asked_once),
        unit_test(test_stretch_source__nothing_is_said),
        unit_test(test_stretch_source__a_whole_ring),
        unit_test(test_stretch_source__a_ring_that_turned_over),
        unit_test(test_stretch_source__too_small_a_ring_is_drawn_for),
        unit_test(test_stretch_source__nor_is_a_quiet_time_played)};

    return unit_main(tests);
}
