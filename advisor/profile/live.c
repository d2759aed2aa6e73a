/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "live.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "connections_priv.h"
#include "live_curve.h"

/* Recent connections that show by how many addresses a server is used. */
#define ENOUGH_RECENT 100

/* A lingering close that lasts longer was not answered: no network's round
 * trip takes so long, and no client's turn. */
#define ANSWER_US 200000

/* Connections of children that served one before: fewer have no mean. */
#define WARM_LEAST 10

static uint64_t count_of(const ka_stats *stats, unsigned first, unsigned n)
{
    uint64_t count = 0;
    unsigned i;

    for (i = 0; i < n; i++) {
        count += ka_hist_count(&stats->quantity[first + i]);
    }
    return count;
}

static uint64_t opened(const ka_stats *stats)
{
    uint64_t requests = ka_stats_requests(stats);
    uint64_t reused = ka_stats_reused(stats);

    return requests > reused ? requests - reused : 0;
}

/* ---- traffic ------------------------------------------------------------ */

/* Classes first .. first + n - 1 of a segment as one. */
static void fill_traffic(ka_traffic *t, const char *name, const ka_stats *stats,
                         unsigned first, unsigned n, double window_s)
{
    unsigned i;

    t->name = name;
    t->requests = count_of(stats, KA_QUANTITY_SERVICE + first, n);
    t->requests_per_s = window_s > 0 ? (double)t->requests / window_s : 0;
    t->p99_per_s = t->peak_per_s = NAN;
    t->bytes_n = t->requests;
    for (i = first; i < first + n; i++) {
        ka_hist_merge(&t->service, &stats->quantity[KA_QUANTITY_SERVICE + i]);
        ka_hist_merge(&t->gap, &stats->quantity[KA_QUANTITY_GAP + i]);
        t->bytes += stats->counter[KA_COUNTER_BYTES + i];
    }
}

/* Without a history only the mean is known. */
static void fill_rates(ka_traffic *t, const ka_live *live)
{
    ka_hist counts;
    size_t i;

    ka_hist_init(&counts);
    for (i = 0; i < live->history_n; i++) {
        ka_hist_add(&counts, live->history[i].requests);
    }
    t->p99_per_s = t->peak_per_s = t->requests_per_s;
    if (live->history_n && !live->narrowed) {
        t->p99_per_s = ka_hist_quantile(&counts, 0.99);
        t->peak_per_s = ka_hist_max(&counts);
    }
}

static void fill_classes(ka_profile *out, const ka_live *live)
{
    const ka_stats *total = live->total;

    fill_traffic(&out->total, "", total, 0, KA_SERVED_N, out->window_s);
    fill_traffic(&out->classes[KA_CLASS_STATIC], "static", total,
                 KA_SERVED_STATIC, 1, out->window_s);
    fill_traffic(&out->classes[KA_CLASS_DYNAMIC], "dynamic", total,
                 KA_SERVED_DYNAMIC, 2, out->window_s);
    fill_rates(&out->total, live);
}

static void fill_vhosts(ka_profile *out, const ka_live *live, apr_pool_t *pool)
{
    size_t i;

    out->vhost_n =
        live->vhost_n < KA_PROFILE_VHOSTS ? live->vhost_n : KA_PROFILE_VHOSTS;
    out->vhosts_more = live->vhost_n - out->vhost_n;
    out->vhosts = apr_pcalloc(pool, (out->vhost_n + 1) * sizeof(*out->vhosts));
    for (i = 0; i < out->vhost_n; i++) {
        fill_traffic(&out->vhosts[i], live->vhosts[i].vhost->name,
                     live->vhosts[i].stats, 0, KA_SERVED_N, out->window_s);
    }
}

/* ---- connections -------------------------------------------------------- */

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Different addresses among the recent connections; 0: too few of them. */
static uint64_t count_addresses(const ka_live *live, apr_pool_t *pool)
{
    uint64_t *hashes = apr_palloc(pool, (live->recent_n + 1) * sizeof(*hashes));
    uint64_t clients = 0;
    size_t n = 0, i;

    if (live->narrowed ||
        (!live->recent_whole && live->recent_n < ENOUGH_RECENT)) {
        return 0;
    }
    for (i = 0; i < live->recent_n; i++) {
        if (live->recent[i].requests) {
            hashes[n++] = live->recent[i].client_hash;
        }
    }
    qsort(hashes, n, sizeof(*hashes), compare_hashes);
    for (i = 0; i < n; i++) {
        clients += i == 0 || hashes[i] != hashes[i - 1];
    }
    return clients;
}

static void fill_connections(ka_profile *out, const ka_live *live)
{
    ka_hist lengths = live->total->quantity[KA_QUANTITY_REQUESTS];
    ka_connection_stats *c = &out->low;

    lengths.bins[0] = (ka_hist_bin){0}; /* those without a request */
    c->connections = opened(live->total);
    c->requests_per_connection = ka_dist_of(&lengths, 1);
    if (c->connections && c->requests_per_connection.n) {
        c->single_share = (double)lengths.bins[1].count /
                          (double)c->requests_per_connection.n;
    }
    /* Closed ones only; with the open ones too the mean is this. */
    if (c->connections) {
        c->requests_per_connection.n = c->connections;
        c->requests_per_connection.mean =
            (double)out->total.requests / (double)c->connections;
    }
    c->clients = live->recent_whole ? out->addresses : 0;
    out->high = out->low;
}

static uint64_t estimate(uint64_t all, double part, double of)
{
    return of > 0 ? (uint64_t)(fmin(part / of, 1) * (double)all + 0.5) : 0;
}

/* Protocols are counted by connection: how many requests each carries, the
 * recent ones tell. */
static void fill_protocols(ka_profile *out, const ka_live *live)
{
    double all = 0, tls = 0, protocols[KA_PROTOCOL_N] = {0};
    size_t i;

    for (i = 0; i < live->recent_n; i++) {
        const ka_segment_recent *r = &live->recent[i];

        all += r->requests;
        tls += r->tls ? r->requests : 0;
        protocols[r->protocol < KA_PROTOCOL_N ? r->protocol
                                              : KA_PROTOCOL_NONE] +=
            r->requests;
    }
    out->tls = estimate(out->total.requests, tls, all);
    out->http2 =
        estimate(out->total.requests, protocols[KA_PROTOCOL_HTTP2], all);
    out->http10 = estimate(
        out->total.requests,
        protocols[KA_PROTOCOL_HTTP09] + protocols[KA_PROTOCOL_HTTP10], all);
}

void ka_live_profile(ka_profile *out, const ka_live *live, apr_pool_t *pool)
{
    memset(out, 0, sizeof(*out));
    out->live = true;
    out->first_us = live->first_us;
    out->last_us = live->last_us;
    if (live->last_us > live->first_us) {
        out->window_s = (double)(live->last_us - live->first_us) / 1e6;
    }
    fill_classes(out, live);
    fill_vhosts(out, live, pool);
    out->with_service = out->total.requests;
    memcpy(out->closes, &live->total->counter[KA_COUNTER_CLOSE],
           sizeof(out->closes));
    out->no_request = out->closes[KA_REASON_NO_REQUEST];
    out->dropped_requests = live->total->counter[KA_COUNTER_DROPPED_REQUEST];
    fill_protocols(out, live);
    out->addresses = count_addresses(live, pool);
    fill_connections(out, live);
}

/* ---- what the model takes ----------------------------------------------- */

static void fill_part(ka_hist_part *part, const ka_live_vhost *vhost)
{
    const ka_stats *stats = vhost->stats;
    const uint64_t *closes = &stats->counter[KA_COUNTER_CLOSE];

    ka_hist_part_init(part);
    part->limit_us = vhost->timeout_us;
    part->opens = opened(stats);
    part->joined = stats->counter[KA_COUNTER_PIPELINED];
    /* Streams of HTTP/2 are counted there too. */
    part->parted = stats->counter[KA_COUNTER_PROTOCOL + KA_PROTOCOL_HTTP2]
                       ? 0
                       : part->joined;
    ka_stats_classes(&part->gap, stats, KA_QUANTITY_GAP);
    ka_stats_classes(&part->tail, stats, KA_QUANTITY_TAIL);
    /* Those that KeepAlive Off ended were not idle at all. */
    part->cut = closes[KA_REASON_KEEPALIVE_OFF];
    part->closed = closes[KA_REASON_CLIENT_CLOSED];
    ka_hist_part_cut(part, closes[KA_REASON_IDLE_TIMEOUT], KA_TIMER_SLACK_US);
}

static uint64_t server_closes(const ka_stats *stats)
{
    static const ka_reason by_server[] = {
        KA_REASON_IDLE_TIMEOUT,  KA_REASON_CLIENT_CLOSE_HEADER,
        KA_REASON_HTTP10,        KA_REASON_MAX_REQUESTS,
        KA_REASON_KEEPALIVE_OFF, KA_REASON_POLICY,
        KA_REASON_ERROR_STATUS,  KA_REASON_EVICTED,
        KA_REASON_RETIRED,       KA_REASON_GRACEFUL};
    uint64_t n = 0;
    size_t i;

    for (i = 0; i < sizeof(by_server) / sizeof(by_server[0]); i++) {
        n += stats->counter[KA_COUNTER_CLOSE + by_server[i]];
    }
    return n;
}

/* A client that answers does so within moments. */
static void fill_linger(ka_hist_traffic *out, const ka_live *live)
{
    const ka_hist *linger = &live->total->quantity[KA_QUANTITY_LINGER];
    size_t from = ka_hist_bin_index(ANSWER_US), i;

    for (i = 0; i < KA_HIST_BINS; i++) {
        *(i < from ? &out->linger_us : &out->lazy_us) +=
            (double)linger->bins[i].sum;
    }
    out->drain_us = live->narrowed ? 0 : (double)live->snapshot.drain_us;
    out->linger_off_us =
        live->snapshot.config.async == 1 ? KA_LINGER_ASYNC_US : KA_LINGER_US;
}

/* A child's first handshake takes longer than those after it; without TLS
 * what the first one took more is chance.  It is not counted by vhost. */
static void fill_accept(ka_hist_traffic *out, const ka_live *live)
{
    const ka_hist *first = &live->total->quantity[KA_QUANTITY_FIRST];
    const ka_snapshot *s = &live->snapshot;
    double n = (double)ka_hist_count(first), cold_n = (double)s->cold_n;
    double warm;

    out->accept_us = ka_hist_mean(first);
    if (live->narrowed || live->total->counter[KA_COUNTER_TLS] == 0 ||
        cold_n <= 0 || n - cold_n < WARM_LEAST) {
        return;
    }
    warm = ((double)ka_hist_sum(first) - (double)s->cold_us) / (n - cold_n);
    if (warm >= 0 && warm < out->accept_us) {
        out->cold_us = (out->accept_us - warm) * n;
        out->accept_us = warm;
    }
}

static void fill_levels(ka_hist_traffic *out, const ka_live *live,
                        apr_pool_t *pool)
{
    size_t n = live->narrowed ? 0 : live->history_n, i;
    uint32_t *open = apr_palloc(pool, (n + 1) * sizeof(*open));
    uint32_t *busy = apr_palloc(pool, (n + 1) * sizeof(*busy));
    uint32_t *requests = apr_palloc(pool, (n + 1) * sizeof(*requests));
    uint32_t *connections = apr_palloc(pool, (n + 1) * sizeof(*connections));

    for (i = 0; i < n; i++) {
        open[i] = live->history[i].open;
        busy[i] = live->history[i].busy;
        requests[i] = live->history[i].requests;
        connections[i] = live->history[i].connections;
    }
    out->open = (ka_levels){.values = open,
                            .at_least = busy,
                            .requests = requests,
                            .connections = connections,
                            .n = n};
    out->busy = (ka_levels){.values = busy, .n = n};
}

/* Those that began this long before the end have closed but for one in a
 * hundred. */
int64_t ka_live_known_until(const ka_live *live)
{
    double life =
        ka_hist_quantile(&live->total->quantity[KA_QUANTITY_LIFE], 0.99);

    if (live->recent_whole && live->total->open == 0) {
        return KA_SPANS_ALL;
    }
    return ka_survival_within(live->last_us) -
           ka_survival_within((int64_t)fmin(life, 1e18));
}

void ka_live_traffic(ka_hist_traffic *out, const ka_live *live,
                     apr_pool_t *pool)
{
    const ka_stats *total = live->total;
    ka_hist_part *parts =
        apr_palloc(pool, (live->vhost_n + 1) * sizeof(*parts));
    size_t i;

    *out = (ka_hist_traffic){
        .parts = parts,
        .part_n = live->vhost_n,
        .server_closes = server_closes(total)};
    if (live->last_us > live->first_us) {
        out->window_s = (double)(live->last_us - live->first_us) / 1e6;
    }
    for (i = 0; i < live->vhost_n; i++) {
        fill_part(&parts[i], &live->vhosts[i]);
    }
    for (i = 0; i < KA_SERVED_N; i++) {
        out->busy_us +=
            (double)ka_hist_sum(&total->quantity[KA_QUANTITY_SERVICE + i]);
    }
    fill_accept(out, live);
    fill_linger(out, live);
    fill_levels(out, live, pool);
    ka_live_curve(&out->curve, live, pool);
    ka_survival_recent(&out->survival, live->recent, live->recent_n,
                       live->snapshot.vhosts, ka_live_known_until(live), pool);
}
