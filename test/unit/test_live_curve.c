/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Ten connections come two seconds apart: a request of 0.1 s, one more 4 s
 * later, and T0 = 5 s ends them.  At most two are held at once under 1 s, four
 * under 3 s, and five under T0.
 */
#include "segment_fixture.h"
#include "ka_ticks.h"
#include "profile/live.h"
#include "profile/live_curve.h"

#define CONNECTIONS 10
#define NOW (STARTED + 200 * SEC)
#define T0 (5 * SEC)

typedef struct change {
    int64_t at;
    int n;
} change;

static int compare(const void *a, const void *b)
{
    const change *x = a, *y = b;

    return (x->at > y->at) - (x->at < y->at);
}

static void open_and_go(ka_segment_header *h)
{
    ka_ticks t = ka_ticks_of(h);
    change changes[2 * CONNECTIONS];
    size_t i;

    for (i = 0; i < CONNECTIONS; i++) {
        int64_t at = (int64_t)(2 * i + 1) * SEC;

        changes[2 * i] = (change){at, 1};
        changes[2 * i + 1] = (change){at + 92 * SEC / 10, -1};
    }
    qsort(changes, 2 * CONNECTIONS, sizeof(*changes), compare);
    for (i = 0; i < 2 * CONNECTIONS; i++) {
        h->gauges += (uint64_t)(int64_t)changes[i].n * KA_GAUGE_IDLE;
        ka_ticks_open(&t, h->gauges, changes[i].at);
    }
}

static segment site(apr_pool_t *pool)
{
    static const ka_segment_plan plan = {.vhost_n = 3,
                                         .slot_n = 2,
                                         .history_n = 100,
                                         .recent_n = 8,
                                         .stripe_n = 1,
                                         .tick_n = 1024};
    segment s = segment_make(&plan, pool);
    ka_ticks t = ka_ticks_of(s.header);
    uint32_t i;

    s.header->heartbeat_at = STARTED + 100 * SEC;
    segment_name(&s, 0, "www.example.org:80", T0);
    segment_add(&s, 0, KA_QUANTITY_SERVICE, SEC / 10, 2 * CONNECTIONS);
    segment_add(&s, 0, KA_QUANTITY_GAP, 4 * SEC, CONNECTIONS);
    segment_add(&s, 0, KA_QUANTITY_TAIL, T0, CONNECTIONS);
    segment_close(&s, 0, KA_REASON_IDLE_TIMEOUT, CONNECTIONS);
    for (i = 0; i < CONNECTIONS; i++) {
        int64_t at = (int64_t)(2 * i + 1) * SEC;

        segment_second(&s, 2 * i + 1, 1, 1, 5, 1);
        segment_second(&s, 2 * i + 5, 1, 1, 5, 1);
        ka_ticks_served(&t, at, at + SEC / 10);
        ka_ticks_idle(&t, at + SEC / 10, at + 41 * SEC / 10);
        ka_ticks_served(&t, at + 41 * SEC / 10, at + 42 * SEC / 10);
        ka_ticks_idle(&t, at + 42 * SEC / 10, at + 92 * SEC / 10);
    }
    open_and_go(s.header);
    return s;
}

static ka_live *live_of(const segment *s, const char *vhost, tempdir *dir)
{
    ka_live *live = apr_palloc(dir->pool, sizeof(*live));
    const char *path = segment_write(s, dir, "kastats.seg", s->size);
    const char *error = "";

    if (ka_segment_source_read(live, &error, path, vhost, NOW, dir->pool)) {
        fail_msg("%s", error);
    }
    return live;
}

static void test_live_curve__peaks_of_shorter_timeouts(void **state)
{
    tempdir *dir = *state;
    segment s = site(dir->pool);
    ka_curve curve;
    static const int64_t timeouts[] = {KA_TIMEOUT_OFF, SEC, 3 * SEC, T0};
    ka_hist_traffic traffic;
    ka_outcome o[4];
    size_t i;

    ka_live_curve(&curve, live_of(&s, NULL, dir), dir->pool);
    assert_int_equal(curve.n, 12); /* Off, ten ages below T0, and that */
    assert_near(curve.points[11].peak, 5, 0);
    ka_live_traffic(&traffic, live_of(&s, NULL, dir), dir->pool);
    assert_int_equal(ka_histsweep(o, timeouts, 4, &traffic), APR_SUCCESS);
    assert_near(o[1].held.peak, 2, 0);
    assert_near(o[1].held.p999, 2, 0);
    assert_near(o[2].held.peak, 4, 0);
    assert_near(o[3].held.peak, 5, 0);
    assert_near(o[3].held.p999, 5, 0);
    for (i = 0; i + 1 < 4; i++) {
        assert_true(o[i].held.p999 <= o[i + 1].held.p999);
        assert_true(o[i].held.workers <= o[i + 1].held.workers);
    }
}

/* 3.2 s lies between the means of 3 and 4 s. */
static void test_live_curve__between_ages(void **state)
{
    static const int64_t timeouts[] = {3 * SEC, 16 * SEC / 5, 4 * SEC};
    tempdir *dir = *state;
    segment s = site(dir->pool);
    ka_hist_traffic traffic;
    ka_outcome o[3];

    ka_live_traffic(&traffic, live_of(&s, NULL, dir), dir->pool);
    assert_int_equal(ka_histsweep(o, timeouts, 3, &traffic), APR_SUCCESS);
    assert_true((o[1].held.variance - o[0].held.variance) *
                    (o[2].held.variance - o[1].held.variance) >
                0);
    assert_in_range(o[1].held.peak, 4, 5);
}

/* Twenty seconds before the end somebody is idle still: for how long, nothing
 * tells; so what came before T0 before that is taken. */
static void test_live_curve__ends_where_idle_times_are_not_told(void **state)
{
    tempdir *dir = *state;
    segment s = site(dir->pool);
    ka_ticks t = ka_ticks_of(s.header);
    ka_curve whole, curve;

    ka_live_curve(&whole, live_of(&s, NULL, dir), dir->pool);
    s.header->gauges += 3 * KA_GAUGE_IDLE;
    ka_ticks_open(&t, s.header->gauges, 25 * SEC);
    s.header->heartbeat_at = STARTED + 27 * SEC;
    ka_live_curve(&curve, live_of(&s, NULL, dir), dir->pool);
    assert_int_equal(curve.n, whole.n);
    assert_near(curve.points[5].peak, whole.points[5].peak, 0);
    assert_near(curve.points[11].peak, 5, 0);
    s.header->heartbeat_at = STARTED + 14 * SEC; /* eight seconds are known */
    ka_live_curve(&curve, live_of(&s, NULL, dir), dir->pool);
    assert_near(curve.points[curve.n - 1].peak, 4, 0);
    assert_near(curve.points[curve.n - 1].p999, 4, 0);
}

static void test_live_curve__nothing_is_made_up(void **state)
{
    tempdir *dir = *state;
    segment s = site(dir->pool);
    ka_curve curve;

    ka_live_curve(&curve, live_of(&s, "www.example.org", dir), dir->pool);
    assert_int_equal(curve.n, 0); /* not kept by vhost */
    segment_vhost(&s, 0)->keep_alive_timeout_us = 40 * SEC;
    ka_live_curve(&curve, live_of(&s, NULL, dir), dir->pool);
    assert_int_equal(curve.n, 0); /* the ring is shorter */
    segment_vhost(&s, 0)->flags = KA_VHOST_IN_FORCE;
    ka_live_curve(&curve, live_of(&s, NULL, dir), dir->pool);
    assert_int_equal(curve.n, 0); /* Off: nobody was idle */
    segment_name(&s, 0, "www.example.org:80", T0);
    s.header->minor = 1;
    ka_live_curve(&curve, live_of(&s, NULL, dir), dir->pool);
    assert_int_equal(curve.n, 0);
}

#define dir_test(function)                                                     \
    cmocka_unit_test_setup_teardown(function, tempdir_make, tempdir_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        dir_test(test_live_curve__peaks_of_shorter_timeouts),
        dir_test(test_live_curve__between_ages),
        dir_test(test_live_curve__ends_where_idle_times_are_not_told),
        dir_test(test_live_curve__nothing_is_made_up)};

    return unit_main(tests);
}
