/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "prom_traffic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <apr_strings.h>

#include "../model/outcome.h"
#include "buckets.h"
#include "connections_priv.h"

/* As live.c: recent connections that show by how many addresses a server is
 * used. */
#define ENOUGH_RECENT 100
/* A KeepAliveTimeout beyond it is none (ten years). */
#define TIMEOUT_MAX_S 3e8

static uint64_t whole(double value)
{
    return value > 0 ? (uint64_t)llround(fmin(value, 9e15)) : 0;
}

static uint32_t level(double value)
{
    return value > 0 ? (uint32_t)fmin(round(value), KA_LEVEL_MAX) : 0;
}

/* ---- one vhost ---------------------------------------------------------- */

/* Off where nothing says what it was: a vhost that is not configured any
 * more. */
static int64_t timeout_of(const ka_prom_vhost *v)
{
    return v->timeout_s > 0 ? (int64_t)(fmin(v->timeout_s, TIMEOUT_MAX_S) * 1e6)
                            : KA_TIMEOUT_OFF;
}

static ka_segment_vhost *settings_of(const ka_prom_vhost *v, apr_pool_t *pool)
{
    ka_segment_vhost *s = apr_pcalloc(pool, sizeof(*s));
    int64_t timeout_us = timeout_of(v);

    apr_cpystrn(s->name, v->name, sizeof(s->name));
    s->flags = KA_VHOST_IN_FORCE;
    if (timeout_us > 0) {
        s->flags |= KA_VHOST_KEEP_ALIVE;
        s->keep_alive_timeout_us = timeout_us;
    }
    /* -1: not told. */
    s->max_keep_alive_requests =
        (int32_t)fmin(v->max_keepalive_requests, INT32_MAX);
    return s;
}

static void mean_of(ka_hist *h, double n, double sum_s)
{
    uint64_t count = whole(n);

    if (count) {
        ka_hist_add_n(h, whole(sum_s * 1e6 / n), count);
    }
}

/* Idle times are told without their class: they stand as the first one's. */
static void fill_stats(ka_stats *stats, const ka_prom_vhost *v,
                       apr_pool_t *pool)
{
    ka_bucket_options time = {
        .scale = 1e6, .limit = timeout_of(v), .slack = KA_TIMER_SLACK_US};
    ka_bucket_options plain = {.scale = 1e6, .limit = -1};
    size_t i;

    memset(stats, 0, sizeof(*stats));
    for (i = 0; i < KA_COUNTER_N; i++) {
        stats->counter[i] = whole(v->counter[i]);
    }
    ka_buckets_spread(&stats->quantity[KA_QUANTITY_GAP], &v->dist[KA_PROM_GAP],
                      &time, pool);
    time.at_limit = stats->counter[KA_COUNTER_CLOSE + KA_REASON_IDLE_TIMEOUT];
    ka_buckets_spread(&stats->quantity[KA_QUANTITY_TAIL],
                      &v->dist[KA_PROM_TAIL], &time, pool);
    for (i = 0; i < KA_SERVED_N; i++) {
        ka_buckets_spread(&stats->quantity[KA_QUANTITY_SERVICE + i],
                          &v->dist[KA_PROM_SERVICE + i], &plain, pool);
    }
    plain.scale = 1;
    ka_buckets_spread(&stats->quantity[KA_QUANTITY_REQUESTS],
                      &v->dist[KA_PROM_LENGTH], &plain, pool);
    mean_of(&stats->quantity[KA_QUANTITY_FIRST], v->first_n, v->first_s);
    mean_of(&stats->quantity[KA_QUANTITY_LINGER], v->linger_n, v->linger_s);
}

static void add_stats(ka_stats *into, const ka_stats *from)
{
    size_t i;

    for (i = 0; i < KA_COUNTER_N; i++) {
        into->counter[i] += from->counter[i];
    }
    for (i = 0; i < KA_QUANTITY_N; i++) {
        ka_hist_merge(&into->quantity[i], &from->quantity[i]);
    }
}

/* ---- one server --------------------------------------------------------- */

/* `www.example.org` means it on any port, as for a segment. */
static bool is_named(const char *name, const char *wanted)
{
    size_t n = strlen(wanted);

    return !strncasecmp(name, wanted, n) && (name[n] == '\0' || name[n] == ':');
}

static int compare_vhosts(const void *a, const void *b)
{
    const ka_live_vhost *x = a, *y = b;
    uint64_t m = ka_stats_requests(x->stats), n = ka_stats_requests(y->stats);

    return m != n ? (m < n ? 1 : -1) : strcmp(x->vhost->name, y->vhost->name);
}

static bool take_vhosts(ka_live *out, const ka_prom_server *server,
                        const char *wanted, apr_pool_t *pool)
{
    bool named = !wanted;
    size_t i;

    out->vhosts =
        apr_palloc(pool, (server->vhost_n + 1) * sizeof(*out->vhosts));
    for (i = 0; i < server->vhost_n; i++) {
        const ka_prom_vhost *v = server->vhosts[i];
        ka_stats *stats;

        if (wanted && !is_named(v->name, wanted)) {
            continue;
        }
        named = true;
        stats = apr_palloc(pool, sizeof(*stats));
        fill_stats(stats, v, pool);
        if (ka_stats_requests(stats) || ka_stats_closed(stats)) {
            out->vhosts[out->vhost_n++] =
                (ka_live_vhost){.vhost = settings_of(v, pool),
                                .timeout_us = timeout_of(v),
                                .stats = stats};
            add_stats(out->total, stats);
        }
    }
    qsort(out->vhosts, out->vhost_n, sizeof(*out->vhosts), compare_vhosts);
    return named;
}

static void take_steps(ka_live *out, const ka_prom_server *server,
                       apr_pool_t *pool)
{
    size_t i;

    out->history_n = server->step_n;
    out->history =
        apr_palloc(pool, (server->step_n + 1) * sizeof(*out->history));
    for (i = 0; i < server->step_n; i++) {
        const ka_prom_step *s = &server->steps[i];

        out->history[i] = (ka_second){.at = s->at_s * 1000000,
                                      .requests = level(s->requests_per_s),
                                      .open = level(s->open),
                                      .busy = level(s->busy)};
    }
}

bool ka_prom_live(ka_live *out, const ka_prom *prom,
                  const ka_prom_server *server, const char *vhost,
                  apr_pool_t *pool)
{
    *out = (ka_live){.path = prom->url,
                     .live = true,
                     .narrowed = vhost != NULL,
                     .total = apr_pcalloc(pool, sizeof(*out->total)),
                     .last_us = (int64_t)whole(server->observed_s * 1e6)};
    take_steps(out, server, pool);
    return take_vhosts(out, server, vhost, pool);
}

/* ---- a group ------------------------------------------------------------ */

void ka_prom_group_init(ka_live *group, apr_pool_t *pool)
{
    *group = (ka_live){.live = true,
                       .total = apr_pcalloc(pool, sizeof(*group->total)),
                       .vhosts = apr_palloc(pool, (KA_PROM_GROUP_VHOSTS + 1) *
                                                      sizeof(*group->vhosts))};
}

/* The group's vhost of that name; a last one for all that find no place. */
static ka_stats *group_vhost(ka_live *group, const ka_live_vhost *from,
                             apr_pool_t *pool)
{
    ka_segment_vhost *vhost;
    size_t i = 0;

    while (i < group->vhost_n &&
           strcmp(group->vhosts[i].vhost->name, from->vhost->name)) {
        i++;
    }
    if (i < group->vhost_n) {
        return group->vhosts[i].stats;
    }
    if (group->vhost_n > KA_PROM_GROUP_VHOSTS) {
        return group->vhosts[KA_PROM_GROUP_VHOSTS].stats;
    }
    vhost = apr_pmemdup(pool, from->vhost, sizeof(*vhost));
    if (i == KA_PROM_GROUP_VHOSTS) {
        apr_cpystrn(vhost->name, KA_SEGMENT_OTHER, sizeof(vhost->name));
    }
    group->vhosts[group->vhost_n++] =
        (ka_live_vhost){.vhost = vhost,
                        .timeout_us = from->timeout_us,
                        .stats = apr_pcalloc(pool, sizeof(ka_stats))};
    return group->vhosts[i].stats;
}

void ka_prom_group_add(ka_live *group, const ka_live *from, apr_pool_t *pool)
{
    size_t i;

    for (i = 0; i < from->vhost_n; i++) {
        add_stats(group_vhost(group, &from->vhosts[i], pool),
                  from->vhosts[i].stats);
    }
    add_stats(group->total, from->total);
    group->path = from->path;
    group->narrowed = from->narrowed;
    group->last_us += from->last_us - from->first_us;
}

/* ---- the profile -------------------------------------------------------- */

uint64_t ka_prom_addresses(const ka_prom_server *server)
{
    return server->recent_connections >= ENOUGH_RECENT
               ? whole(server->recent_clients)
               : 0;
}

/* Requests as many as the share of connections. */
static uint64_t share(uint64_t requests, uint64_t part, uint64_t of)
{
    return of ? (uint64_t)(fmin((double)part / (double)of, 1) *
                               (double)requests +
                           0.5)
              : 0;
}

static void fill_protocols(ka_profile *out, const ka_stats *total)
{
    const uint64_t *protocols = &total->counter[KA_COUNTER_PROTOCOL];
    uint64_t requests = out->total.requests, all = 0;
    unsigned i;

    for (i = KA_PROTOCOL_NONE + 1; i < KA_PROTOCOL_N; i++) {
        all += protocols[i];
    }
    out->http2 = share(requests, protocols[KA_PROTOCOL_HTTP2], all);
    out->http10 = share(
        requests, protocols[KA_PROTOCOL_HTTP09] + protocols[KA_PROTOCOL_HTTP10],
        all);
    out->tls = share(requests, total->counter[KA_COUNTER_TLS], all);
}

/* Steps repeat a peak, so a histogram would only tell its bin. */
static void fill_peak(ka_traffic *total, const ka_live *live)
{
    uint32_t peak = 0;
    size_t i;

    for (i = 0; i < live->history_n; i++) {
        uint32_t requests = live->history[i].requests;

        peak = requests > peak ? requests : peak;
    }
    if (peak && !live->narrowed) {
        total->peak_per_s = peak;
    }
}

void ka_prom_profile(ka_profile *out, ka_live *live, uint64_t addresses,
                     apr_pool_t *pool)
{
    size_t i;

    qsort(live->vhosts, live->vhost_n, sizeof(*live->vhosts), compare_vhosts);
    ka_live_profile(out, live, pool);
    fill_peak(&out->total, live);
    fill_protocols(out, live->total);
    out->addresses = addresses;
    for (i = 0; i < KA_CLASS_N; i++) {
        ka_hist_init(&out->classes[i].gap);
    }
}
