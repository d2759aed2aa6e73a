/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The whole way without a server: a segment -> the module's metrics -> answers
 * as Prometheus gives them -> what the model takes, against the way of the
 * segment itself. */
#include <math.h>
#include <apr_strings.h>

#include "model/histsweep.h"
#include "model/sweep.h"
#include "profile/prom_traffic.h"
#include "prom_answers.h"
#include "segment_fixture.h"
#include "unit.h"

/* ---- a segment, both ways ----------------------------------------------- */

typedef struct both {
    ka_live segment, prometheus;
    ka_hist_traffic by_segment, by_prometheus;
    ka_prom prom;
} both;

static both *both_of(segment *s, tempdir *dir)
{
    both *b = apr_pcalloc(dir->pool, sizeof(*b));
    const ka_prom_asked asked = {
        .window_s = 7200, .at_s = 1000, .step_s = STEP_S};
    const char *path = segment_write(s, dir, "kastats.seg", s->size);
    const char *error = NULL;

    assert_int_equal(ka_segment_source_read(&b->segment, &error, path, NULL,
                                            STARTED + 3600 * SEC, dir->pool),
                     APR_SUCCESS);
    ka_live_traffic(&b->by_segment, &b->segment, dir->pool);
    /* Prometheus does not have each second's requests. */
    b->by_segment.open.requests = b->by_segment.open.connections = NULL;
    ka_prom_init(&b->prom, "http://h", &asked, dir->pool);
    scrape(&b->prom, s->header, &b->segment, "a:80", dir->pool);
    ka_prom_settle(&b->prom);
    assert_true(ka_prom_live(&b->prometheus, &b->prom, b->prom.servers[0], NULL,
                             dir->pool));
    ka_prom_traffic(&b->by_prometheus, &b->prometheus, b->prom.servers[0],
                    STEP_S, dir->pool);
    return b;
}

#define TIMEOUTS_MAX 64

static size_t sweep(ka_outcome *out, const ka_hist_traffic *traffic)
{
    size_t n;
    const int64_t *timeouts = ka_sweep_default_timeouts(&n);

    assert_true(n <= TIMEOUTS_MAX);
    assert_int_equal(ka_histsweep(out, timeouts, n, traffic), APR_SUCCESS);
    return n;
}

/* N, H and held within 5 %; windows differ, since a segment's quiet ends are
 * left out. */
static void assert_same_outcomes(const both *b)
{
    ka_outcome own[TIMEOUTS_MAX], theirs[TIMEOUTS_MAX];
    size_t n = sweep(own, &b->by_segment), i;

    sweep(theirs, &b->by_prometheus);
    for (i = 0; i < n; i++) {
        const ka_outcome *a = &own[i], *p = &theirs[i];
        double w = a->window_s;

        assert_int_equal(p->measured, a->measured);
        assert_int_equal(p->requests, a->requests);
        assert_near((double)p->connections, (double)a->connections,
                    0.05 * (double)a->connections);
        assert_near((double)p->idle_us, (double)a->idle_us,
                    0.05 * (double)a->idle_us + 1);
        assert_near(p->held_mean * p->window_s, a->held_mean * w,
                    0.05 * a->held_mean * w);
        assert_near(p->busy_mean * p->window_s, a->busy_mean * w,
                    0.05 * a->busy_mean * w);
        assert_near((double)p->timeout_closes, (double)a->timeout_closes,
                    0.05 * (double)a->timeout_closes + 1);
        if (a->measured) {
            assert_near(p->held.peak, a->held.peak, 1);
        }
    }
}

static void test_prometheus_traffic__a_site_as_its_segment(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    both *b = both_of(&s, dir);

    assert_same_outcomes(b);
    assert_near(b->by_prometheus.window_s, 3600, 1e-6);
    assert_int_equal(b->by_prometheus.server_closes,
                     b->by_segment.server_closes);
    assert_int_equal(b->prometheus.history_n, 240);
    assert_int_equal(b->by_prometheus.open.step_s, STEP_S);
}

static double column_sum(const ka_piece_rows *rows, size_t n, size_t v)
{
    double sums[KA_PIECE_NUMBERS + 2 * TIMEOUTS_MAX];

    ka_piece_rows_total(sums, rows, n);
    return sums[v];
}

/* Blocks of one server, and of two that were there at the same time: they add
 * up to the outcomes. */
static void test_prometheus_traffic__pieces_by_time(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    both *b = both_of(&s, dir);
    const ka_prom_server *server = b->prom.servers[0];
    const ka_prom_server *const servers[] = {server, server};
    ka_outcome outcomes[TIMEOUTS_MAX];
    ka_led led = {.traffic = &b->by_prometheus, .outcomes = outcomes};
    ka_prom_server silent = *server;
    const ka_prom_server *const nobody[] = {&silent};
    ka_pieces one, two;
    size_t j;

    led.n = sweep(outcomes, &b->by_prometheus);
    while (outcomes[led.now].timeout_us < 5 * SEC) {
        led.now++;
    }
    assert_int_equal(server->block_n, 3591 / BLOCK_S);
    ka_prom_pieces(&one, servers, 1, BLOCK_S, &led, dir->pool);
    ka_prom_pieces(&two, servers, 2, BLOCK_S, &led, dir->pool);
    assert_int_equal(one.visitors.n, 0);
    assert_int_equal(one.blocks.n, server->block_n);
    assert_int_equal(two.blocks.n, server->block_n);
    assert_near(two.blocks.effective, (double)server->block_n, 1e-9);
    assert_int_equal(one.block_us, BLOCK_S * SEC);
    assert_near(column_sum(&one.blocks, led.n, KA_PIECE_WEIGHT), 3600e6, 1);
    for (j = 0; j < led.n; j++) {
        assert_near(column_sum(&one.blocks, led.n, KA_PIECE_NUMBERS + j),
                    (double)outcomes[j].connections, 1e-6);
        assert_near(column_sum(&two.blocks, led.n,
                               KA_PIECE_NUMBERS + led.n + j),
                    (double)outcomes[j].idle_us,
                    1e-9 * (double)outcomes[j].idle_us + 1e-6);
    }
    silent.block_n = 0;
    ka_prom_pieces(&one, nobody, 1, BLOCK_S, &led, dir->pool);
    assert_int_equal(one.blocks.n, 0);
    ka_prom_pieces(&one, NULL, 0, 0, &led, dir->pool);
    assert_int_equal(one.blocks.n, 0);
}

/* Browsing under T0 = 7 s, which is no usual timeout, and KeepAlive Off. */
static void test_prometheus_traffic__browsing_as_its_segment(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    both *b;
    int i;

    segment_name(&s, 0, "www.example.org:443", 7 * SEC);
    segment_name(&s, 1, "off.example.org:80", 0);
    srand(5);
    for (i = 0; i < 20000; i++) {
        double u = (rand() + 1.0) / (RAND_MAX + 2.0);
        double gap = 0.02 * pow(u, -0.7) * SEC; /* a heavy tail */

        segment_add(&s, 0, KA_QUANTITY_SERVICE + KA_SERVED_PROXIED, 5000, 1);
        if (gap <= 7 * SEC) {
            segment_add(&s, 0, KA_QUANTITY_GAP + i % 3, (uint64_t)gap, 1);
        }
        else {
            segment_close(&s, 0, KA_REASON_IDLE_TIMEOUT, 1);
            segment_add(&s, 0, KA_QUANTITY_TAIL, 7 * SEC + rand() % 3000, 1);
        }
    }
    segment_add(&s, 1, KA_QUANTITY_SERVICE, 3000, 500);
    segment_close(&s, 1, KA_REASON_KEEPALIVE_OFF, 500);
    b = both_of(&s, dir);
    assert_int_equal(b->prometheus.vhost_n, 2);
    assert_int_equal(b->prometheus.vhosts[1].timeout_us, KA_TIMEOUT_OFF);
    assert_same_outcomes(b);
}

/* All gaps just below or just above a usual timeout: the worst for buckets. */
static void test_prometheus_traffic__clusters_as_their_segment(void **state)
{
    static const int64_t gaps_ms[] = {180,  330,  450,  900,  1100,
                                      1900, 2900, 3100, 4500, 4900};
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    size_t i;

    for (i = 0; i < sizeof(gaps_ms) / sizeof(gaps_ms[0]); i++) {
        segment_add(&s, 0, KA_QUANTITY_GAP, (uint64_t)gaps_ms[i] * 1000, 100);
        segment_add(&s, 0, KA_QUANTITY_SERVICE, 1000, 100);
    }
    assert_same_outcomes(both_of(&s, dir));
}

static void test_prometheus_profile__as_the_segments(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    ka_profile own, theirs;
    both *b;
    size_t i;

    segment_stats(&s, 0)->counter[KA_COUNTER_PROTOCOL + KA_PROTOCOL_HTTP2] = 30;
    segment_stats(&s, 0)->counter[KA_COUNTER_PROTOCOL + KA_PROTOCOL_HTTP11] =
        60;
    segment_stats(&s, 0)->counter[KA_COUNTER_TLS] = 90;
    b = both_of(&s, dir);
    ka_live_profile(&own, &b->segment, dir->pool);
    ka_prom_profile(&theirs, &b->prometheus, 17, dir->pool);
    assert_true(theirs.live);
    assert_int_equal(theirs.total.requests, own.total.requests);
    assert_int_equal(theirs.total.bytes, own.total.bytes);
    assert_int_equal(theirs.low.connections, own.low.connections);
    assert_int_equal(theirs.no_request, own.no_request);
    assert_near(theirs.low.requests_per_connection.mean,
                own.low.requests_per_connection.mean, 1e-9);
    assert_near(ka_hist_mean(&theirs.total.gap), ka_hist_mean(&own.total.gap),
                1e-3 * ka_hist_mean(&own.total.gap));
    assert_near(theirs.total.peak_per_s, own.total.peak_per_s, 0);
    for (i = 0; i < KA_REASON_N; i++) {
        assert_int_equal(theirs.closes[i], own.closes[i]);
    }
    assert_int_equal(theirs.http2, 120); /* a third of 360 */
    assert_int_equal(theirs.tls, 360);
    assert_int_equal(theirs.addresses, 17);
    assert_int_equal(ka_hist_count(&theirs.classes[KA_CLASS_STATIC].gap), 0);
}

static void test_prometheus_live__only_one_vhost(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    both *b = both_of(&s, dir);
    const ka_prom_server *server = b->prom.servers[0];
    ka_live live;

    assert_true(
        ka_prom_live(&live, &b->prom, server, "WWW.example.org", dir->pool));
    assert_int_equal(live.vhost_n, 1);
    assert_true(live.narrowed);
    assert_true(ka_prom_live(&live, &b->prom, server, "quiet.example.org:443",
                             dir->pool));
    assert_int_equal(live.vhost_n, 0);
    assert_false(
        ka_prom_live(&live, &b->prom, server, "www.example", dir->pool));
}

/* ---- groups ------------------------------------------------------------- */

static void
test_prometheus_group__two_alike_are_one_for_twice_the_time(void **state)
{
    tempdir *dir = *state;
    segment s = segment_site(dir->pool);
    both *b = both_of(&s, dir);
    const ka_hist_traffic *members[] = {&b->by_prometheus, &b->by_prometheus};
    ka_outcome one[TIMEOUTS_MAX], two[TIMEOUTS_MAX];
    ka_hist_traffic joined;
    ka_live group;
    size_t n, i;

    ka_prom_traffic_join(&joined, members, 2, dir->pool);
    n = sweep(one, &b->by_prometheus);
    sweep(two, &joined);
    for (i = 0; i < n; i++) {
        assert_int_equal(two[i].connections, 2 * one[i].connections);
        assert_near(two[i].held_mean, one[i].held_mean, 1e-9);
        assert_near(two[i].window_s, 2 * one[i].window_s, 1e-6);
        assert_near(two[i].reuse, one[i].reuse, 1e-9);
        assert_near(two[i].held.peak, one[i].held.peak, 1);
    }
    ka_prom_group_init(&group, dir->pool);
    ka_prom_group_add(&group, &b->prometheus, dir->pool);
    ka_prom_group_add(&group, &b->prometheus, dir->pool);
    assert_int_equal(group.vhost_n, 1);
    assert_int_equal(ka_stats_requests(group.total), 720);
    assert_int_equal(ka_stats_requests(group.vhosts[0].stats), 720);
    assert_int_equal(group.last_us, 2 * 3600 * SEC);
}

static void test_prometheus_group__vhosts_have_a_limit(void **state)
{
    tempdir *dir = *state;
    ka_stats *stats = apr_pcalloc(dir->pool, sizeof(*stats));
    ka_segment_vhost vhost = {.name = ""};
    ka_live_vhost one = {.vhost = &vhost, .stats = stats};
    ka_live from = {.vhosts = &one, .vhost_n = 1, .total = stats};
    ka_live group;
    int i;

    ka_hist_add(&stats->quantity[KA_QUANTITY_SERVICE], 5);
    ka_prom_group_init(&group, dir->pool);
    for (i = 0; i < KA_PROM_GROUP_VHOSTS + 10; i++) {
        snprintf(vhost.name, sizeof(vhost.name), "v%d", i);
        ka_prom_group_add(&group, &from, dir->pool);
    }
    assert_int_equal(group.vhost_n, KA_PROM_GROUP_VHOSTS + 1);
    assert_string_equal(group.vhosts[KA_PROM_GROUP_VHOSTS].vhost->name,
                        KA_SEGMENT_OTHER);
    assert_int_equal(
        ka_stats_requests(group.vhosts[KA_PROM_GROUP_VHOSTS].stats), 10);
}

/* ---- beyond T0 ---------------------------------------------------------- */

static void test_prometheus_survival__a_line_through_what_is_told(void **state)
{
    ka_prom_point items[] = {{4, 0.2}, {1, 0.6}, {HUGE_VAL, 0.1}, {0, 1}};
    const ka_prom_points points = {.items = items, .n = 4};
    ka_survival s;
    size_t i;

    ka_prom_survival(&s, &points, ((tempdir *)*state)->pool);
    assert_near(ka_survival_at(&s, 0), 1, 0);
    assert_near(ka_survival_at(&s, SEC), 0.6, 1e-9);
    assert_near(ka_survival_at(&s, 5 * SEC / 2), 0.4, 0.03);
    assert_near(ka_survival_at(&s, 4 * SEC), 0.2, 1e-9);
    assert_near(ka_survival_at(&s, 900 * SEC), 0.2, 1e-9);
    for (i = 1; i < s.n; i++) {
        assert_true(s.over_us[i] >= s.over_us[i - 1]);
        assert_true(s.share[i] <= s.share[i - 1]);
    }
}

static void
test_prometheus_survival__shares_that_rise_are_held_down(void **state)
{
    ka_prom_point items[] = {{1, 0.5}, {2, 7}, {3, 0.4}};
    const ka_prom_points points = {.items = items, .n = 3};
    ka_survival s;

    ka_prom_survival(&s, &points, ((tempdir *)*state)->pool);
    assert_near(ka_survival_at(&s, 2 * SEC), 0.5, 1e-9);
    assert_near(ka_survival_at(&s, 3 * SEC), 0.4, 1e-9);
    ka_prom_survival(&s, &(ka_prom_points){0}, ((tempdir *)*state)->pool);
    assert_int_equal(s.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        tempdir_test(test_prometheus_traffic__a_site_as_its_segment),
        tempdir_test(test_prometheus_traffic__pieces_by_time),
        tempdir_test(test_prometheus_traffic__browsing_as_its_segment),
        tempdir_test(test_prometheus_traffic__clusters_as_their_segment),
        tempdir_test(test_prometheus_profile__as_the_segments),
        tempdir_test(test_prometheus_live__only_one_vhost),
        tempdir_test(
            test_prometheus_group__two_alike_are_one_for_twice_the_time),
        tempdir_test(test_prometheus_group__vhosts_have_a_limit),
        tempdir_test(test_prometheus_survival__a_line_through_what_is_told),
        tempdir_test(test_prometheus_survival__shares_that_rise_are_held_down),
    };

    return unit_main(tests);
}
