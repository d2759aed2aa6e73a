/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "timeout_estimate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GAPS_MIN 50
#define FINAL_MIN 100 /* so many closing responses show KeepAlive Off */
#define PROVEN_SHARE 0.999
#define HOLE_SHARE 0.99
#define HOLE_NOISE 0.001 /* ports that came back, of all gaps below */

/* Standard errors by which the log odds must jump, and by how much more. */
#define TURNOVER_ERRORS 2.0
#define TURNOVER_JUMP 1.0

#define BIN_US (KA_SECOND_US / 2)

size_t ka_gap_bin(int64_t gap_us)
{
    int64_t bin = gap_us > 0 ? (gap_us - 1) / BIN_US : 0;

    return bin < KA_GAP_BINS - 1 ? (size_t)bin : KA_GAP_BINS - 1;
}

static uint64_t sum_bins(const uint64_t *bins, size_t from, size_t to)
{
    uint64_t sum = 0;
    size_t i;

    for (i = from; i < to; i++) {
        sum += bins[i];
    }
    return sum;
}

/* Gaps of up to half a second over T belong to it: the timer's slack. */
static size_t bins_within(int t)
{
    return (size_t)t * 2 + 1;
}

int64_t ka_timeout_covering(const uint64_t *bins)
{
    uint64_t all = sum_bins(bins, 0, KA_GAP_BINS);
    int t;

    if (all < GAPS_MIN) {
        return -1;
    }
    for (t = 1; t <= KA_TIMEOUT_MAX_S; t++) {
        uint64_t within = sum_bins(bins, 0, bins_within(t));

        if ((double)within >= PROVEN_SHARE * (double)all) {
            return t * KA_SECOND_US;
        }
    }
    return -1;
}

int64_t ka_timeout_before_hole(const uint64_t *bins)
{
    /* What lies past the longest timeout are ports that came back. */
    uint64_t all = sum_bins(bins, 0, bins_within(KA_TIMEOUT_MAX_S));
    int t;

    if (all < GAPS_MIN) {
        return -1;
    }
    for (t = 1; t <= KA_TIMEOUT_MAX_S; t++) {
        uint64_t within = sum_bins(bins, 0, bins_within(t));
        uint64_t hole = sum_bins(bins, bins_within(t), (size_t)t * 3);

        if ((double)within >= HOLE_SHARE * (double)all &&
            (double)hole <= HOLE_NOISE * (double)within) {
            return t * KA_SECOND_US;
        }
    }
    return -1;
}

/* By how many units of log odds the share of `other` in (t, 1.5 t] surely
 * exceeds that in (t/2, t].  Near windows, since the share drifts below T0
 * too: short gaps are nearly all inside connections.  Half a gap is added to
 * each count, so that none is 0. */
static double turnover_jump(const ka_gap_bins *bins, int t)
{
    size_t from = (size_t)t / 2 * 2, at = (size_t)t * 2;
    size_t to = at + (size_t)(t + 1) / 2 * 2;
    double same_1, other_1, same_2, other_2;

    to = to < KA_GAP_BINS - 1 ? to : KA_GAP_BINS - 1;
    same_1 = (double)sum_bins(bins->same, from, at) + 0.5;
    other_1 = (double)sum_bins(bins->other, from, at) + 0.5;
    same_2 = (double)sum_bins(bins->same, at, to) + 0.5;
    other_2 = (double)sum_bins(bins->other, at, to) + 0.5;
    return log(other_2 * same_1 / (other_1 * same_2)) -
           TURNOVER_ERRORS *
               sqrt(1 / same_1 + 1 / other_1 + 1 / same_2 + 1 / other_2);
}

int64_t ka_timeout_at_turnover(const ka_gap_bins *bins)
{
    double best = TURNOVER_JUMP;
    int64_t timeout = -1;
    int t;

    for (t = 1; t <= KA_TIMEOUT_MAX_S; t++) {
        double jump = turnover_jump(bins, t);

        if (jump > best) {
            best = jump;
            timeout = t * KA_SECOND_US;
        }
    }
    return timeout;
}

/* ---- gaps at one place -------------------------------------------------- */

/* Connections are opened anew here wherever the place shows it, and never cut
 * by a timeout: that is what is asked for. */
static void count_gap(ka_gap_bins *bins, const ka_conn *conn,
                      const ka_request *before, const ka_request *r)
{
    size_t bin = ka_gap_bin(ka_request_begin(r) - conn->end_us);

    if (before->address != r->address || !ka_k_continues(conn->last_k, r)) {
        bins->other[bin]++;
        return;
    }
    bins->same[bin]++;
    bins->proven[bin] += !(r->flags & KA_REQ_HTTP2) && conn->last_k >= 0 &&
                         r->keepalives > conn->last_k;
}

static uint64_t place_of(ka_identity identity, const ka_request *r)
{
    if (identity == KA_IDENTITY_PORT) {
        return r->remote_port < 0 ? 0 : ka_port_key(r);
    }
    return r->flags & KA_REQ_HTTP2 ? 0 : r->slot;
}

static void take_request(ka_grouping *g, ka_gap_bins *bins, ka_keymap *places,
                         ka_identity identity, size_t i)
{
    const ka_request *r = &g->items[i];
    uint64_t place = place_of(identity, r);
    uint32_t *at;

    if (place == 0) {
        return;
    }
    at = ka_keymap_at(places, place, KA_INDEX_NONE);
    if (at == NULL) {
        g->failed = true;
        return;
    }
    if (*at != KA_INDEX_NONE) {
        ka_conn *conn = &g->conns[*at];
        const ka_request *before = &g->items[conn->last];

        if (!conn->ended && !ka_request_alone(&g->rules, before) &&
            !ka_request_alone(&g->rules, r)) {
            count_gap(bins, conn, before, r);
        }
        ka_grouping_follow(g, i, *at);
        conn->last_k = r->keepalives;
        return;
    }
    *at = ka_grouping_open(g, i, ka_request_begin(r));
}

static void gaps_at_places(ka_gap_bins *bins, ka_grouping *g,
                           ka_identity identity)
{
    ka_keymap places;
    size_t i;

    ka_keymap_init(&places);
    for (i = 0; i < g->n && !g->failed; i++) {
        if (i + KA_KEYMAP_AHEAD < g->n) {
            ka_keymap_expect(
                &places, place_of(identity, &g->items[i + KA_KEYMAP_AHEAD]));
        }
        take_request(g, bins, &places, identity, i);
    }
    ka_keymap_clear(&places);
}

/* %k with the client: gaps before the requests that continue a channel. */
static void gaps_of_channels(ka_gap_bins *bins, ka_grouping *g)
{
    ka_conn *conns;
    size_t i;

    ka_group_by_k_high(g);
    if (g->failed) {
        return;
    }
    conns = g->conns;
    for (i = 0; i < g->n; i++) {
        const ka_request *r = &g->items[i];
        ka_conn *conn = &conns[g->conn[i]];

        if (conn->first == i) {
            conn->end_us = ka_request_end(r);
            continue;
        }
        if (!(r->flags & KA_REQ_HTTP2)) {
            bins->proven[ka_gap_bin(ka_request_begin(r) - conn->end_us)]++;
        }
        ka_request_span(&conn->end_us, &g->rules, r, conn->end_us);
    }
}

static int64_t timeout_of(ka_identity identity, const ka_gap_bins *bins)
{
    if (identity == KA_IDENTITY_K ||
        sum_bins(bins->proven, 0, KA_GAP_BINS) >= GAPS_MIN) {
        return ka_timeout_covering(bins->proven);
    }
    return identity == KA_IDENTITY_SLOT ? ka_timeout_at_turnover(bins)
                                        : ka_timeout_before_hole(bins->same);
}

apr_status_t ka_timeout_estimate(int64_t *timeout_us, ka_identity identity,
                                 const ka_log_facts *facts,
                                 const ka_requests *requests)
{
    ka_grouping g = {
        .items = requests->items, .n = requests->n, .rules = {.cut_us = -1}};
    ka_gap_bins *bins;

    *timeout_us = -1;
    if (facts->kept == 0 && facts->k_above_0 == 0 &&
        facts->final >= FINAL_MIN) {
        *timeout_us = 0;
        return APR_SUCCESS;
    }
    if (identity == KA_IDENTITY_TIME) {
        return APR_SUCCESS;
    }
    bins = calloc(1, sizeof(*bins));
    g.failed = !ka_grouping_init(&g) || bins == NULL;
    if (!g.failed && identity == KA_IDENTITY_K) {
        gaps_of_channels(bins, &g);
    }
    else if (!g.failed) {
        gaps_at_places(bins, &g, identity);
    }
    if (!g.failed) {
        *timeout_us = timeout_of(identity, bins);
    }
    free(bins);
    ka_grouping_clear(&g);
    return g.failed ? APR_ENOMEM : APR_SUCCESS;
}
