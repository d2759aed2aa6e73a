/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "segment_written.h"

static uint64_t lost(const ka_segment_header *h, unsigned vhost,
                     apr_pool_t *pool)
{
    return stats_of(h, vhost, pool)->counter[KA_COUNTER_CLOSE + KA_REASON_LOST];
}

static ka_gauges gauges_of(const ka_segment_header *h)
{
    return ka_gauges_of(h->gauges);
}

/* ---- counters --------------------------------------------------------- */

static void test_stats_bin__is_that_of_the_histogram(void **state)
{
    unsigned bits;
    int d;

    (void)state;
    for (bits = 0; bits < 64; bits++) {
        for (d = -2; d <= 2; d++) {
            uint64_t v = (UINT64_C(1) << bits) + (uint64_t)d;

            assert_int_equal(ka_stats_bin(v), ka_hist_bin_index(v));
            assert_int_equal(ka_stats_bin(v + v / 3),
                             ka_hist_bin_index(v + v / 3));
        }
    }
    assert_int_equal(ka_stats_bin(UINT64_MAX), KA_HIST_BINS - 1);
}

static void test_stats__stripes_add_up(void **state)
{
    ka_segment_header *h = segment_made(*state);
    ka_writer a, b;
    ka_stats *stats;

    ka_writer_attach(&a, h, 100, 0, START_AT);
    ka_writer_attach(&b, h, 101, 0, START_AT);
    assert_ptr_not_equal(a.stats, b.stats);
    ka_stats_add_time(&a.stats[1], KA_QUANTITY_GAP, 1000);
    ka_stats_add_time(&b.stats[1], KA_QUANTITY_GAP, 3000);
    ka_stats_add_time(&b.stats[0], KA_QUANTITY_GAP + KA_SERVED_PROXIED, 7);
    ka_stats_add(&a.stats[1], KA_QUANTITY_REQUESTS, 12);
    ka_stats_count(&b.stats[1], KA_COUNTER_PIPELINED, 5);
    stats = stats_of(h, 1, *state);
    assert_int_equal(ka_hist_count(&stats->quantity[KA_QUANTITY_GAP]), 2);
    assert_int_equal(ka_hist_sum(&stats->quantity[KA_QUANTITY_GAP]), 4000);
    assert_int_equal(ka_hist_sum(&stats->quantity[KA_QUANTITY_REQUESTS]), 12);
    assert_int_equal(ka_stats_reused(stats), 7);
    stats = stats_of(h, KA_VHOST_ALL, *state);
    assert_int_equal(ka_stats_reused(stats), 8);
    assert_int_equal(ka_stats_reused(stats_of(h, 2, *state)), 0);
}

static void test_stats__past_the_end_is_clamped_and_counted(void **state)
{
    ka_segment_header *h = segment_made(*state);
    const uint64_t huge = UINT64_C(1) << KA_TIME_BITS;
    const uint64_t high = UINT64_C(1) << KA_RTT_BITS;
    const ka_quantity_row *rtt = &ka_quantities[KA_QUANTITY_RTT];
    ka_writer w;
    ka_stats *stats;

    ka_writer_attach(&w, h, 100, 0, START_AT);
    ka_stats_add_time(&w.stats[0], KA_QUANTITY_SERVICE, huge);
    ka_stats_add(&w.stats[0], KA_QUANTITY_RTT, high);
    ka_stats_add(&w.stats[0], KA_QUANTITY_RTT, high - 1);
    stats = stats_of(h, 0, *state);
    assert_int_equal(stats->counter[KA_COUNTER_CLAMPED], 2);
    assert_int_equal(ka_hist_sum(&stats->quantity[KA_QUANTITY_SERVICE]), huge);
    assert_int_equal(
        stats->quantity[KA_QUANTITY_RTT].bins[rtt->bin_n - 1].count, 2);
    assert_int_equal(ka_hist_sum(&stats->quantity[KA_QUANTITY_RTT]),
                     2 * high - 1);
}

/* ---- slots ------------------------------------------------------------ */

static void test_slot__without_a_free_one_the_last_is_shared(void **state)
{
    ka_segment_header *h = segment_made(*state);
    ka_writer w[5];
    int i;

    for (i = 0; i < 5; i++) {
        ka_writer_attach(&w[i], h, 100 + i, 0, START_AT);
    }
    assert_ptr_equal(w[3].slot, w[4].slot);
    assert_int_equal(h->slot_overflow, 2);
    assert_int_equal(ka_segment_slot_release(h, 104), 0);
    assert_int_equal(ka_segment_slot_release(h, 101), 0);
    ka_writer_attach(&w[1], h, 200, 0, START_AT);
    assert_int_equal(w[1].slot->pid, 200);
    assert_int_equal(h->slot_overflow, 2);
}

static void test_slot_release__counts_what_was_open_as_lost(void **state)
{
    ka_segment_header *h = segment_made(*state);
    ka_moment at;
    ka_writer dead, alive;

    ka_writer_attach(&dead, h, 100, 0, START_AT);
    ka_writer_attach(&alive, h, 101, 0, START_AT);
    at = ka_writer_moment(&dead, 6);
    ka_writer_shift(&dead, KA_OPENED, at);
    ka_writer_open(&dead, 0, 1);
    ka_writer_shift(&dead, KA_OPENED, at);
    ka_writer_open(&dead, 1, 1);
    ka_writer_went(&dead, true, at);
    ka_writer_shift(&alive, KA_OPENED, at);
    ka_writer_open(&alive, 1, 1);
    assert_int_equal(gauges_of(h).busy, 2);
    assert_int_equal(gauges_of(h).idle, 1);
    assert_int_equal(ka_segment_slot_release(h, 100), 2);
    assert_int_equal(lost(h, 0, *state), 1);
    assert_int_equal(lost(h, 1, *state), 1);
    assert_int_equal(gauges_of(h).busy, 1);
    assert_int_equal(gauges_of(h).idle, 0);
    assert_int_equal(stats_of(h, 1, *state)->open, 1);
    assert_int_equal(ka_segment_slot_release(h, 100), 0); /* only once */
    assert_int_equal(ka_segment_slot_release(h, 0), 0);
    assert_int_equal(ka_segment_slot_release(h, -1), 0);
}

static int64_t requests_of(ka_segment_header *h, int32_t pid,
                           apr_pool_t *pool)
{
    ka_snapshot s;
    uint32_t i;

    ka_snapshot_make(&s, h, pool);
    for (i = 0; i < s.child_n; i++) {
        if (s.children[i].pid == pid) {
            return s.children[i].requests;
        }
    }
    return -2;
}

static void test_slot__requests_are_those_of_one_child(void **state)
{
    ka_segment_header *h = segment_made(*state);
    ka_writer a, b;
    int i;

    ka_writer_attach(&a, h, 100, 0, START_AT);
    ka_writer_attach(&b, h, 101, 0, START_AT);
    for (i = 0; i < 7; i++) {
        ka_writer_child_request(&b);
    }
    assert_int_equal(requests_of(h, 100, *state), 0);
    assert_int_equal(requests_of(h, 101, *state), 7);
    ka_segment_slot_release(h, 101);
    ka_writer_attach(&b, h, 102, 0, START_AT);
    assert_int_equal(requests_of(h, 102, *state), 0);
    b.slot->requests = UINT64_MAX; /* damaged */
    assert_int_equal(requests_of(h, 102, *state), -1);
    h->minor = 0; /* its writer knew of no such word */
    assert_int_equal(requests_of(h, 100, *state), -1);
}

static void test_settle__corrects_a_difference_that_stays(void **state)
{
    ka_segment_header *h = segment_made(*state);
    uint64_t last = 0;
    ka_writer w;

    ka_writer_attach(&w, h, 100, 0, START_AT);
    w.slot->gauges += KA_GAUGE_BUSY; /* killed between its two adds */
    ka_segment_gauges_settle(h, &last);
    assert_int_equal(gauges_of(h).busy, 0);
    ka_segment_gauges_settle(h, &last);
    assert_int_equal(gauges_of(h).busy, 1);
    w.slot->gauges += KA_GAUGE_BUSY; /* in between, and on its way */
    ka_segment_gauges_settle(h, &last);
    h->gauges += KA_GAUGE_BUSY;
    ka_segment_gauges_settle(h, &last);
    ka_segment_gauges_settle(h, &last);
    assert_int_equal(gauges_of(h).busy, 2);
}

/* ---- gauges and history ------------------------------------------------ */

static void test_transitions__each_moves_one_connection(void **state)
{
    static const struct {
        ka_transition transition;
        int idle, busy, closing;
    } cases[] = {
        {KA_OPENED, 0, 1, 0},       {KA_IDLE_CLOSES, -1, 0, 1},
        {KA_BUSY_CLOSES, 0, -1, 1}, {KA_IDLE_GONE, -1, 0, 0},
        {KA_BUSY_GONE, 0, -1, 0},   {KA_CLOSING_GONE, 0, 0, -1},
    };
    ka_segment_header *h = segment_made(*state);
    ka_writer w;
    size_t i;

    ka_writer_attach(&w, h, 100, 0, START_AT);
    assert_int_equal(sizeof(cases) / sizeof(cases[0]), KA_TRANSITION_N);
    for (i = 0; i < KA_TRANSITION_N; i++) {
        h->gauges = w.slot->gauges = KA_GAUGE_ZERO + 10 * KA_GAUGE_IDLE +
                                     20 * KA_GAUGE_BUSY + 30 * KA_GAUGE_CLOSING;
        ka_writer_shift(&w, cases[i].transition, ka_writer_moment(&w, 6));
        assert_int_equal(gauges_of(h).idle, 10 + cases[i].idle);
        assert_int_equal(gauges_of(h).busy, 20 + cases[i].busy);
        assert_int_equal(gauges_of(h).closing, 30 + cases[i].closing);
        assert_int_equal(h->gauges, w.slot->gauges);
    }
}

static void test_history__maxima_within_a_second(void **state)
{
    ka_segment_header *h = segment_made(*state);
    ka_second seconds[10];
    ka_writer w;
    ka_moment at;
    int i;

    ka_writer_attach(&w, h, 100, 0, START_AT);
    at = ka_writer_moment(&w, 5);
    for (i = 0; i < 3; i++) {
        ka_writer_shift(&w, KA_OPENED, at);
    }
    ka_writer_went(&w, true, at);
    ka_writer_went(&w, true, at);
    ka_writer_went(&w, false, at);
    ka_writer_second_request(at);
    ka_writer_second_request(at);
    ka_second_add(&at.second->connections, at.tag, 3);
    ka_second_add(&at.second->connections, at.tag, -1);
    at = ka_writer_moment(&w, 7);
    ka_writer_shift(&w, KA_IDLE_GONE, at);
    assert_int_equal(ka_history_read(seconds, 10, h, START_AT + 2900000), 4);
    assert_int_equal(seconds[0].at, START_AT - 300000); /* whole seconds */
    assert_int_equal(seconds[0].requests, 2);
    assert_int_equal(seconds[0].connections, 2);
    assert_int_equal(seconds[0].open, 3);
    assert_int_equal(seconds[0].busy, 3);
    assert_int_equal(seconds[0].idle, 2);
    assert_int_equal(seconds[1].open, 3); /* nothing changed in it */
    assert_int_equal(seconds[1].busy, 2);
    assert_int_equal(seconds[1].idle, 1);
    assert_int_equal(seconds[1].requests, 0);
    assert_int_equal(seconds[2].open, 3); /* it began with three */
    assert_int_equal(seconds[2].idle, 1);
    assert_int_equal(seconds[3].open, 2);
    assert_int_equal(seconds[3].idle, 0);
}

static void test_history__an_old_round_does_not_show(void **state)
{
    ka_segment_header *h = segment_made(*state);
    ka_second seconds[20];
    ka_writer w;
    size_t n, i;

    ka_writer_attach(&w, h, 100, 0, START_AT);
    for (i = 0; i < 25; i++) {
        ka_writer_second_request(ka_writer_moment(&w, 5 + (int64_t)i));
        ka_writer_shift(&w, KA_OPENED, ka_writer_moment(&w, 5 + (int64_t)i));
    }
    n = ka_history_read(seconds, 20, h, INT64_MIN);
    assert_int_equal(n, 10); /* as many as it keeps */
    for (i = 0; i < n; i++) {
        assert_int_equal(seconds[i].requests, 1);
        assert_int_equal(seconds[i].open, 16 + i);
    }
    n = ka_history_read(seconds, 20, h, START_AT + INT64_C(60000000));
    assert_int_equal(n, 10); /* all quiet, a minute later */
    assert_int_equal(seconds[9].requests, 0);
    assert_int_equal(ka_history_read(seconds, 20, h, START_AT - 999999999), 0);
}

static void test_history__a_late_add_does_not_spoil_a_newer_second(void **state)
{
    ka_segment_header *h = segment_made(*state);
    ka_writer w;
    ka_moment late;

    ka_writer_attach(&w, h, 100, 0, START_AT);
    late = ka_writer_moment(&w, 5);
    ka_writer_second_request(ka_writer_moment(&w, 15)); /* the same place */
    ka_writer_second_request(late);
    ka_second_add(&late.second->requests, late.tag, -1);
    assert_int_equal(late.second->requests >> 32, 11);
    assert_int_equal((uint32_t)late.second->requests, 1);
}

static void test_history__none_is_kept(void **state)
{
    ka_segment_plan none = plan;
    ka_segment_header *h;
    ka_second second;
    ka_segment_recent recent;
    ka_writer w;

    none.history_n = none.recent_n = 0;
    h = apr_pcalloc(*state, ka_segment_size(&none));
    ka_segment_format(h, &none, START_AT, START_MONO);
    ka_writer_attach(&w, h, 100, 0, START_AT);
    ka_writer_shift(&w, KA_OPENED, ka_writer_moment(&w, 6));
    ka_writer_went(&w, true, ka_writer_moment(&w, 6));
    ka_writer_second_request(ka_writer_moment(&w, 6));
    ka_writer_recent(&w, &(ka_segment_recent){.requests = 1});
    assert_int_equal(ka_history_read(&second, 1, h, INT64_MIN), 0);
    assert_int_equal(ka_recent_read(&recent, 1, h), 0);
    assert_int_equal(gauges_of(h).idle, 1);
}

/* ---- ring -------------------------------------------------------------- */

static void test_recent__latest_first_and_bounded(void **state)
{
    ka_segment_header *h = segment_made(*state);
    ka_segment_recent out[10];
    ka_writer w;
    uint32_t i;

    ka_writer_attach(&w, h, 100, 0, START_AT);
    assert_int_equal(ka_recent_read(out, 10, h), 0);
    for (i = 1; i <= 11; i++) {
        ka_writer_recent(&w, &(ka_segment_recent){.requests = i, .vhost = 1});
    }
    assert_int_equal(ka_recent_read(out, 10, h), 4);
    for (i = 0; i < 4; i++) {
        assert_int_equal(out[i].requests, 11 - i);
    }
    assert_int_equal(ka_recent_read(out, 2, h), 2);
    assert_int_equal(h->recent_head, 11);
    assert_int_equal(h->recent_lost, 0);
}

static void test_recent__one_being_written_is_left_out(void **state)
{
    ka_segment_header *h = segment_made(*state);
    ka_segment_recent out[10];
    ka_segment_recent *writing = ka_segment_entry(h, KA_SECTION_RECENT, 2);
    ka_writer w;
    uint32_t i;

    ka_writer_attach(&w, h, 100, 0, START_AT);
    for (i = 1; i <= 4; i++) {
        ka_writer_recent(&w, &(ka_segment_recent){.requests = i});
    }
    writing->seq--;
    assert_int_equal(ka_recent_read(out, 10, h), 3);
    for (i = 5; i <= 6; i++) { /* 6 comes to the same place: left alone */
        ka_writer_recent(&w, &(ka_segment_recent){.requests = i});
    }
    assert_int_equal(h->recent_lost, 1);
    for (i = 7; i <= 14; i++) { /* two rounds behind: its writer died */
        ka_writer_recent(&w, &(ka_segment_recent){.requests = i});
    }
    assert_int_equal(ka_recent_read(out, 10, h), 4);
    assert_int_equal(out[0].requests, 14);
}

/* ---- configuration ------------------------------------------------------ */

static void test_vhost_place__by_name_then_free_then_other(void **state)
{
    ka_segment_header *h = segment_made(*state);
    ka_snapshot snapshot;
    char name[2 * KA_VHOST_NAME_SIZE];

    memset(name, 'x', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    ka_segment_config_begin(h);
    assert_int_equal(ka_segment_vhost_place(h, "a:80"), 0);
    assert_int_equal(ka_segment_vhost_place(h, name), 1);
    assert_int_equal(ka_segment_vhost_place(h, "a:80"), 0);
    assert_int_equal(ka_segment_vhost_place(h, name), 1);
    assert_int_equal(ka_segment_vhost_place(h, "c:80"), 2);
    assert_int_equal(ka_segment_vhost_place(h, "(other)"), 2);
    ka_segment_config_end(h);
    ka_snapshot_make(&snapshot, h, *state);
    assert_string_equal(snapshot.vhosts[0].name, "a:80");
    assert_int_equal(strlen(snapshot.vhosts[1].name), KA_VHOST_NAME_SIZE - 1);
    assert_string_equal(snapshot.vhosts[2].name, "(other)");
}

static void test_snapshot__does_not_hang_on_a_writer_that_died(void **state)
{
    ka_segment_header *h = segment_made(*state);
    ka_snapshot snapshot;

    ka_segment_config_begin(h);
    h->config.mpm = 77;
    ka_snapshot_make(&snapshot, h, *state);
    assert_int_equal(snapshot.config.mpm, KA_MPM_UNKNOWN);
}

static void test_snapshot__liveness(void **state)
{
    ka_segment_header *h = segment_made(*state);
    ka_snapshot snapshot;

    ka_snapshot_make(&snapshot, h, *state);
    assert_true(ka_snapshot_is_live(&snapshot, START_AT));
    assert_true(ka_snapshot_is_live(&snapshot, START_AT + 60000000));
    assert_false(ka_snapshot_is_live(&snapshot, START_AT + 60000001));
    assert_true(ka_snapshot_is_live(&snapshot, START_AT - 5)); /* clock set */
    snapshot.heartbeat_at = INT64_MIN;
    assert_false(ka_snapshot_is_live(&snapshot, INT64_MAX));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_stats_bin__is_that_of_the_histogram),
        unit_test(test_stats__stripes_add_up),
        unit_test(test_stats__past_the_end_is_clamped_and_counted),
        unit_test(test_slot__without_a_free_one_the_last_is_shared),
        unit_test(test_slot_release__counts_what_was_open_as_lost),
        unit_test(test_slot__requests_are_those_of_one_child),
        unit_test(test_settle__corrects_a_difference_that_stays),
        unit_test(test_transitions__each_moves_one_connection),
        unit_test(test_history__maxima_within_a_second),
        unit_test(test_history__an_old_round_does_not_show),
        unit_test(test_history__a_late_add_does_not_spoil_a_newer_second),
        unit_test(test_history__none_is_kept),
        unit_test(test_recent__latest_first_and_bounded),
        unit_test(test_recent__one_being_written_is_left_out),
        unit_test(test_vhost_place__by_name_then_free_then_other),
        unit_test(test_snapshot__does_not_hang_on_a_writer_that_died),
        unit_test(test_snapshot__liveness),
    };

    return unit_main(tests);
}
