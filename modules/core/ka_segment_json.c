/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_segment_json.h"

#include <inttypes.h>
#include <stdio.h>

typedef struct quantile_row {
    const char *key;
    double q;
} quantile_row;

static const quantile_row quantiles[] = {
    {"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}};

/* ---- distributions ------------------------------------------------------ */

static void put_times(ka_json *j, const char *key, const ka_hist *h)
{
    size_t i;

    ka_json_open(j, key, '{');
    ka_json_number(j, "count", ka_hist_count(h));
    ka_json_decimal(j, "sum", (double)ka_hist_sum(h) / 1e6);
    for (i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
        ka_json_decimal(j, quantiles[i].key,
                        ka_hist_quantile(h, quantiles[i].q) / 1e6);
    }
    ka_json_close(j, '}');
}

static void put_numbers(ka_json *j, const char *key, const ka_hist *h)
{
    size_t i;

    ka_json_open(j, key, '{');
    ka_json_number(j, "count", ka_hist_count(h));
    ka_json_number(j, "sum", ka_hist_sum(h));
    for (i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
        ka_json_decimal(j, quantiles[i].key,
                        ka_hist_quantile(h, quantiles[i].q));
    }
    ka_json_close(j, '}');
}

static void put_classes(ka_json *j, const ka_stats *stats)
{
    unsigned i;

    ka_json_open(j, "classes", '{');
    for (i = 0; i < KA_SERVED_N; i++) {
        const ka_hist *h = stats->quantity;

        ka_json_open(j, ka_served_name(i), '{');
        ka_json_number(j, "requests",
                       ka_hist_count(&h[KA_QUANTITY_SERVICE + i]));
        ka_json_number(j, "bytes_out", stats->counter[KA_COUNTER_BYTES + i]);
        put_times(j, "service_s", &h[KA_QUANTITY_SERVICE + i]);
        put_times(j, "gap_s", &h[KA_QUANTITY_GAP + i]);
        put_times(j, "idle_tail_s", &h[KA_QUANTITY_TAIL + i]);
        ka_json_close(j, '}');
    }
    ka_json_close(j, '}');
}

static void put_labelled(ka_json *j, const char *key, const ka_stats *stats,
                         size_t first, size_t n)
{
    size_t i;

    ka_json_open(j, key, '{');
    for (i = 0; i < n; i++) {
        ka_json_number(j, ka_counter_describe(first + i).value,
                       stats->counter[first + i]);
    }
    ka_json_close(j, '}');
}

static const struct {
    const char *key;
    unsigned quantity;
} connection_times[] = {{"life_s", KA_QUANTITY_LIFE},
                        {"linger_s", KA_QUANTITY_LINGER},
                        {"first_request_s", KA_QUANTITY_FIRST},
                        {"rtt_s", KA_QUANTITY_RTT}};

static const struct {
    const char *key;
    unsigned first;
} request_times[] = {{"gap_s", KA_QUANTITY_GAP},
                     {"service_s", KA_QUANTITY_SERVICE},
                     {"idle_tail_s", KA_QUANTITY_TAIL}};

static void put_distributions(ka_json *j, const ka_stats *stats)
{
    ka_hist h;
    size_t i;

    for (i = 0; i < sizeof(request_times) / sizeof(request_times[0]); i++) {
        ka_stats_classes(&h, stats, request_times[i].first);
        put_times(j, request_times[i].key, &h);
    }
    put_numbers(j, "requests_per_connection",
                &stats->quantity[KA_QUANTITY_REQUESTS]);
    for (i = 0; i < sizeof(connection_times) / sizeof(connection_times[0]);
         i++) {
        put_times(j, connection_times[i].key,
                  &stats->quantity[connection_times[i].quantity]);
    }
    put_classes(j, stats);
}

/* ---- counters ----------------------------------------------------------- */

static void put_counters(ka_json *j, const ka_stats *stats)
{
    const uint64_t *counter = stats->counter;

    ka_json_number(j, "connections", ka_stats_closed(stats) + stats->open);
    ka_json_number(j, "requests", ka_stats_requests(stats));
    ka_json_number(j, "reused_requests", ka_stats_reused(stats));
    ka_json_number(j, "pipelined_requests", counter[KA_COUNTER_PIPELINED]);
    ka_json_number(j, "bytes_out", ka_stats_bytes(stats));
    ka_json_number(j, "open", stats->open);
    ka_json_number(j, "dropped_requests", counter[KA_COUNTER_DROPPED_REQUEST]);
    ka_json_number(j, "clamped", counter[KA_COUNTER_CLAMPED]);
    ka_json_number(j, "internal_connections", counter[KA_COUNTER_INTERNAL]);
    ka_json_number(j, "tls_connections", counter[KA_COUNTER_TLS]);
    put_labelled(j, "closes", stats, KA_COUNTER_CLOSE, KA_REASON_N);
    put_labelled(j, "protocols", stats, KA_COUNTER_PROTOCOL, KA_PROTOCOL_N);
}

static void put_totals(ka_json *j, const ka_segment_header *header,
                       const ka_snapshot *snapshot, ka_stats *stats)
{
    ka_stats_read(stats, header, KA_VHOST_ALL);
    ka_json_open(j, "totals", '{');
    put_counters(j, stats);
    ka_json_number(j, "busy", snapshot->gauges.busy);
    ka_json_number(j, "idle", snapshot->gauges.idle);
    ka_json_number(j, "closing", snapshot->gauges.closing);
    put_distributions(j, stats);
    ka_json_close(j, '}');
}

static void put_vhost(ka_json *j, const ka_segment_vhost *vhost,
                      const ka_stats *stats)
{
    ka_json_open(j, NULL, '{');
    ka_json_string(j, "name", vhost->name);
    ka_json_bool(j, "in_force", vhost->flags & KA_VHOST_IN_FORCE);
    ka_json_bool(j, "recorded", !(vhost->flags & KA_VHOST_OFF));
    ka_json_bool(j, "keep_alive", vhost->flags & KA_VHOST_KEEP_ALIVE);
    ka_json_seconds(j, "keep_alive_timeout_s", vhost->keep_alive_timeout_us);
    ka_json_integer(j, "max_keep_alive_requests",
                    vhost->max_keep_alive_requests);
    put_counters(j, stats);
    put_distributions(j, stats);
    ka_json_close(j, '}');
}

static void put_vhosts(ka_json *j, const ka_segment_header *header,
                       const ka_snapshot *snapshot, ka_stats *stats)
{
    uint32_t i;

    ka_json_open(j, "vhosts", '[');
    for (i = 0; i < snapshot->vhost_n; i++) {
        const ka_segment_vhost *vhost = &snapshot->vhosts[i];

        if (!vhost->name[0]) {
            continue;
        }
        ka_stats_read(stats, header, i);
        if (i + 1 < snapshot->vhost_n || ka_stats_requests(stats) ||
            ka_stats_closed(stats)) {
            put_vhost(j, vhost, stats);
        }
    }
    ka_json_close(j, ']');
}

/* ---- the rest ----------------------------------------------------------- */

static void put_setting(ka_json *j, const char *key, int32_t value)
{
    if (value < 0) {
        ka_json_null(j, key);
    }
    else {
        ka_json_integer(j, key, value);
    }
}

static void put_config(ka_json *j, const ka_segment_config *config)
{
    ka_json_open(j, "config", '{');
    put_setting(j, "max_request_workers", config->max_request_workers);
    put_setting(j, "threads_per_child", config->threads_per_child);
    put_setting(j, "server_limit", config->server_limit);
    put_setting(j, "thread_limit", config->thread_limit);
    put_setting(j, "min_spare", config->min_spare);
    put_setting(j, "max_spare", config->max_spare);
    put_setting(j, "max_connections_per_child",
                config->max_connections_per_child);
    ka_json_bool(j, "async", config->async == 1);
    ka_json_close(j, '}');
}

static void put_children(ka_json *j, const ka_snapshot *snapshot)
{
    uint32_t i;

    ka_json_open(j, "children", '[');
    for (i = 0; i < snapshot->child_n; i++) {
        const ka_snapshot_child *child = &snapshot->children[i];

        ka_json_open(j, NULL, '{');
        ka_json_integer(j, "pid", child->pid);
        ka_json_integer(j, "generation", child->generation);
        if (child->requests >= 0) {
            ka_json_integer(j, "requests", child->requests);
        }
        ka_json_number(j, "busy", child->gauges.busy);
        ka_json_number(j, "idle", child->gauges.idle);
        ka_json_number(j, "closing", child->gauges.closing);
        ka_json_close(j, '}');
    }
    ka_json_close(j, ']');
}

static void put_history(ka_json *j, const ka_segment_header *header,
                        const ka_segment_json_options *options, int64_t end,
                        apr_pool_t *pool)
{
    size_t n = options->history_s < KA_HISTORY_MAX ? options->history_s
                                                   : KA_HISTORY_MAX;
    ka_second *seconds = apr_palloc(pool, n * sizeof(*seconds));
    size_t i;

    n = ka_history_read(seconds, n, header, end);
    ka_json_open(j, "history", '[');
    for (i = 0; i < n; i++) {
        ka_json_open(j, NULL, '{');
        ka_json_seconds(j, "t", seconds[i].at);
        ka_json_number(j, "requests", seconds[i].requests);
        ka_json_number(j, "connections", seconds[i].connections);
        ka_json_number(j, "open", seconds[i].open);
        ka_json_number(j, "busy", seconds[i].busy);
        ka_json_number(j, "idle", seconds[i].idle);
        ka_json_close(j, '}');
    }
    ka_json_close(j, ']');
}

static void put_recent_one(ka_json *j, const ka_segment_recent *r,
                           const ka_snapshot *snapshot)
{
    char client[17];

    ka_json_open(j, NULL, '{');
    ka_json_seconds(j, "started_at", r->started_at);
    ka_json_seconds(j, "life_s", (int64_t)r->life_us);
    ka_json_number(j, "requests", r->requests);
    ka_json_seconds(j, "service_s", (int64_t)r->service_us);
    ka_json_seconds(j, "idle_s", (int64_t)r->idle_us);
    ka_json_seconds(j, "longest_gap_s", (int64_t)r->longest_gap_us);
    ka_json_seconds(j, "tail_s", (int64_t)r->tail_us);
    ka_json_seconds(j, "linger_s", (int64_t)r->linger_us);
    if (r->first_us == UINT64_MAX) {
        ka_json_null(j, "first_request_s");
    }
    else {
        ka_json_seconds(j, "first_request_s", (int64_t)r->first_us);
    }
    if (r->timeout_ms) {
        ka_json_seconds(j, "timeout_s", r->timeout_ms * INT64_C(1000));
    }
    else {
        ka_json_null(j, "timeout_s");
    }
    ka_json_seconds(j, "rtt_s", r->rtt_us);
    ka_json_number(j, "bytes_out", r->bytes);
    ka_json_string(j, "reason", ka_reason_name(r->reason));
    ka_json_string(j, "protocol", ka_protocol_name(r->protocol));
    ka_json_bool(j, "tls", r->tls);
    ka_json_string(j, "class", ka_served_name(r->served));
    ka_json_string(j, "vhost", snapshot->vhosts[r->vhost].name);
    snprintf(client, sizeof(client), "%016" PRIx64, r->client_hash);
    ka_json_string(j, "client", client);
    ka_json_close(j, '}');
}

static void put_recent(ka_json *j, const ka_segment_header *header,
                       const ka_snapshot *snapshot, size_t n, apr_pool_t *pool)
{
    ka_segment_recent *recent;
    size_t i;

    n = n < snapshot->recent_n ? n : snapshot->recent_n;
    recent = apr_palloc(pool, n * sizeof(*recent));
    n = ka_recent_read(recent, n, header);
    ka_json_open(j, "recent", '[');
    for (i = 0; i < n; i++) {
        put_recent_one(j, &recent[i], snapshot);
    }
    ka_json_close(j, ']');
}

void ka_segment_json(ka_json *j, const ka_segment_header *header,
                     const ka_segment_json_options *options, apr_pool_t *pool)
{
    ka_stats *stats = apr_palloc(pool, sizeof(*stats));
    ka_snapshot snapshot;
    bool live;

    ka_snapshot_make(&snapshot, header, pool);
    live = ka_snapshot_is_live(&snapshot, options->now_at);
    ka_json_open(j, NULL, '{');
    ka_json_string(j, "schema", "kastats/1");
    ka_json_seconds(j, "started_at", snapshot.started_at);
    ka_json_seconds(j, "heartbeat_at", snapshot.heartbeat_at);
    ka_json_seconds(j, "generated_at", options->now_at);
    ka_json_bool(j, "live", live);
    ka_json_integer(j, "generation", snapshot.generation);
    ka_json_string(j, "server", snapshot.server_version);
    ka_json_string(j, "mpm", ka_mpm_name(snapshot.config.mpm));
    put_config(j, &snapshot.config);
    put_totals(j, header, &snapshot, stats);
    put_vhosts(j, header, &snapshot, stats);
    put_children(j, &snapshot);
    if (options->history_s) {
        put_history(j, header, options, live ? options->now_at : INT64_MIN,
                    pool);
    }
    if (options->recent_n) {
        put_recent(j, header, &snapshot, options->recent_n, pool);
    }
    ka_json_close(j, '}');
}
