/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Levels, their peaks, and the configuration in force. */
#include "ka_openmetrics_priv.h"

#include <stdio.h>
#include <stdlib.h>

#include "ka_survival.h"
#include "ka_workers.h"

/* ---- gauges -------------------------------------------------------------- */

typedef struct level {
    const char *state;
    uint64_t n;
} level;

static void put_levels(const ka_om *e, const char *name, const char *help,
                       const level *levels, size_t n)
{
    size_t i;

    ka_om_head(e, name, "gauge", NULL, help);
    for (i = 0; i < n; i++) {
        ka_om_number(e, name, &(ka_om_label){"state", levels[i].state}, 1,
                     levels[i].n);
    }
}

static void put_connections(const ka_om *e)
{
    const ka_gauges *g = &e->snapshot.gauges;

    put_levels(e, KA_OM_NAME("connections"),
               "Open connections: busy with a request or waiting for the "
               "first one, idle between requests, closing.",
               (level[]){{"busy", g->busy},
                         {"idle", g->idle},
                         {"closing", g->closing}},
               3);
}

static void put_workers(const ka_om *e)
{
    const ka_segment_config *config = &e->snapshot.config;
    ka_workers w = ka_workers_of(&e->snapshot);
    const level levels[] = {{"busy", w.busy},
                            {"idle", w.idle},
                            {"closing", w.closing},
                            {"free", w.free}};

    put_levels(e, KA_OM_NAME("workers"),
               "Workers by the state of the connection that they hold; free: "
               "those that MaxRequestWorkers leaves.",
               levels, config->max_request_workers < 0 ? 3 : 4);
}

void ka_om_levels(const ka_om *e)
{
    put_connections(e);
    put_workers(e);
}

/* ---- peaks --------------------------------------------------------------- */

/* Seconds that a peak reaches back: a scraper takes the shortest one that is
 * not shorter than its interval, and misses nothing. */
static const unsigned peak_windows[] = {5, 15, 60};

#define WINDOWS (sizeof(peak_windows) / sizeof(peak_windows[0]))
#define SECONDS_MAX 61

typedef struct peaks {
    uint64_t open, busy, requests;
} peaks;

/* Of the second that has just begun and so many whole ones before it. */
static peaks peaks_of(const ka_second *seconds, size_t n, unsigned window)
{
    size_t i = n > window + 1 ? n - window - 1 : 0;
    peaks p = {0};

    for (; i < n; i++) {
        const ka_second *s = &seconds[i];

        p.open = s->open > p.open ? s->open : p.open;
        p.busy = s->busy > p.busy ? s->busy : p.busy;
        p.requests = s->requests > p.requests ? s->requests : p.requests;
    }
    return p;
}

static const struct peak_row {
    const char *name, *state, *help;
    size_t offset;
} peak_rows[] = {
    {KA_OM_NAME("connections_peak"), "open",
     "Most connections at once within the last seconds.",
     offsetof(peaks, open)},
    {KA_OM_NAME("connections_peak"), "busy", NULL, offsetof(peaks, busy)},
    {KA_OM_NAME("requests_per_second_peak"), NULL,
     "Most requests completed in one of the last seconds.",
     offsetof(peaks, requests)},
};

static void put_peak(const ka_om *e, const struct peak_row *row,
                     const peaks *by_window)
{
    char window[16];
    size_t i;

    if (row->help) {
        ka_om_head(e, row->name, "gauge", NULL, row->help);
    }
    for (i = 0; i < WINDOWS; i++) {
        const ka_om_label labels[] = {{row->state ? "state" : NULL, row->state},
                                      {"window", window}};

        if (peak_windows[i] < e->snapshot.history_n) {
            snprintf(window, sizeof(window), "%u", peak_windows[i]);
            ka_om_number(
                e, row->name, labels, 2,
                *(const uint64_t *)((const char *)&by_window[i] + row->offset));
        }
    }
}

/* A history that is shorter than a window cannot say its peak. */
void ka_om_peaks(const ka_om *e)
{
    ka_second seconds[SECONDS_MAX];
    peaks by_window[WINDOWS];
    size_t n = ka_history_read(seconds, SECONDS_MAX, e->header, e->now_at), i;

    for (i = 0; i < WINDOWS; i++) {
        by_window[i] = peaks_of(seconds, n, peak_windows[i]);
    }
    for (i = 0; i < sizeof(peak_rows) / sizeof(peak_rows[0]); i++) {
        put_peak(e, &peak_rows[i], by_window);
    }
}

/* ---- recent clients ------------------------------------------------------ */

/* More say no more, and a scrape must stay cheap. */
#define RECENT_MAX 4096

static int compare_hashes(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Few clients with many connections are proxies. */
static void put_clients(const ka_om *e, const ka_segment_recent *recent,
                        size_t n)
{
    uint64_t *hashes = apr_palloc(e->pool, (n + 1) * sizeof(*hashes));
    size_t kept = 0, clients = 0, i;

    for (i = 0; i < n; i++) {
        if (recent[i].requests) {
            hashes[kept++] = recent[i].client_hash;
        }
    }
    qsort(hashes, kept, sizeof(*hashes), compare_hashes);
    for (i = 0; i < kept; i++) {
        clients += i == 0 || hashes[i] != hashes[i - 1];
    }
    ka_om_head(e, KA_OM_NAME("recent_connections"), "gauge", NULL,
               "The last connections with a request that are kept one by "
               "one.");
    ka_om_number(e, KA_OM_NAME("recent_connections"), NULL, 0, kept);
    ka_om_head(e, KA_OM_NAME("recent_clients"), "gauge", NULL,
               "Client addresses among the recent connections.");
    ka_om_number(e, KA_OM_NAME("recent_clients"), NULL, 0, clients);
}

/* Times beyond KeepAliveTimeout. */
static const unsigned over_ms[] = {100,   200,   500,    1000,  2000,
                                   3000,  5000,  8000,   12000, 20000,
                                   35000, 60000, 115000, 300000};

static void put_returns(const ka_om *e, const ka_survival *survival)
{
    const char *name = KA_OM_NAME("not_returned_ratio");
    char over[16];
    size_t i;

    ka_om_head(e, name, "gauge", NULL,
               "Of clients whose connection KeepAliveTimeout ended, the share "
               "that was not back so many seconds after; of the recent ones.");
    for (i = 0; i < sizeof(over_ms) / sizeof(over_ms[0]); i++) {
        snprintf(over, sizeof(over), "%u.%u", over_ms[i] / 1000,
                 over_ms[i] % 1000 / 100);
        ka_om_name(e, name, "", &(ka_om_label){"over", over}, 1);
        ka_text_decimal(
            e->out, ka_survival_at(survival, over_ms[i] * INT64_C(1000)), 6);
        ka_text_put(e->out, "\n");
    }
}

/* Connections that began before it are in the ring, but for one in a hundred:
 * the others are not over yet. */
static int64_t end_of_known(const ka_om *e, size_t n)
{
    const ka_gauges *g = &e->snapshot.gauges;

    if (g->idle + g->busy + g->closing == 0 && n < RECENT_MAX &&
        n == e->snapshot.recent_seen) {
        return KA_SPANS_ALL;
    }
    return ka_survival_within(
        ka_survival_within(e->now_at) -
        ka_survival_within((int64_t)ka_hist_quantile(e->life, 0.99)));
}

void ka_om_recent(const ka_om *e)
{
    size_t n =
        e->snapshot.recent_n < RECENT_MAX ? e->snapshot.recent_n : RECENT_MAX;
    ka_segment_recent *recent = apr_palloc(e->pool, (n + 1) * sizeof(*recent));
    ka_survival survival;

    n = ka_recent_read(recent, n, e->header);
    put_clients(e, recent, n);
    ka_survival_recent(&survival, recent, n, e->snapshot.vhosts,
                       end_of_known(e, n), e->pool);
    if (survival.n) {
        put_returns(e, &survival);
    }
}

/* ---- configuration in force ---------------------------------------------- */

static const struct setting_row {
    const char *name, *help;
    size_t offset; /* in ka_segment_config; -1 there = not told */
} setting_rows[] = {
#define ROW(field, help)                                                       \
    {                                                                          \
        KA_OM_NAME(#field), help, offsetof(ka_segment_config, field)           \
    }
    ROW(max_request_workers, "MaxRequestWorkers."),
    ROW(threads_per_child, "ThreadsPerChild."),
    ROW(server_limit, "ServerLimit."),
    ROW(thread_limit, "ThreadLimit."),
    ROW(min_spare, "MinSpareServers of prefork, else MinSpareThreads."),
    ROW(max_spare, "MaxSpareServers of prefork, else MaxSpareThreads."),
    ROW(max_connections_per_child, "MaxConnectionsPerChild; 0: no limit."),
#undef ROW
};

static void put_server_settings(const ka_om *e)
{
    size_t i;

    for (i = 0; i < sizeof(setting_rows) / sizeof(setting_rows[0]); i++) {
        const struct setting_row *row = &setting_rows[i];
        int32_t value =
            *(const int32_t *)((const char *)&e->snapshot.config + row->offset);

        if (value >= 0) {
            ka_om_head(e, row->name, "gauge", NULL, row->help);
            ka_om_number(e, row->name, NULL, 0, (uint64_t)value);
        }
    }
}

static uint64_t timeout_of(const ka_segment_vhost *vhost)
{
    return vhost->flags & KA_VHOST_KEEP_ALIVE &&
                   vhost->keep_alive_timeout_us > 0
               ? (uint64_t)vhost->keep_alive_timeout_us
               : 0;
}

static uint64_t max_requests_of(const ka_segment_vhost *vhost)
{
    return vhost->max_keep_alive_requests > 0
               ? (uint64_t)vhost->max_keep_alive_requests
               : 0;
}

static uint64_t io_timeout_of(const ka_segment_vhost *vhost)
{
    return vhost->timeout_us > 0 ? (uint64_t)vhost->timeout_us : 0;
}

static const struct vhost_setting_row {
    const char *name, *help;
    bool is_time;
    uint64_t (*value)(const ka_segment_vhost *vhost);
} vhost_setting_rows[] = {
    {KA_OM_NAME("keepalive_timeout_seconds"),
     "The effective KeepAliveTimeout; 0 with KeepAlive Off.", true, timeout_of},
    {KA_OM_NAME("max_keepalive_requests"), "MaxKeepAliveRequests; 0: no limit.",
     false, max_requests_of},
    {KA_OM_NAME("timeout_seconds"), "Timeout.", true, io_timeout_of},
};

static void put_vhost_setting(const ka_om *e,
                              const struct vhost_setting_row *row)
{
    size_t i;

    ka_om_head(e, row->name, "gauge",
               row->is_time ? ka_om_unit_seconds(e) : NULL, row->help);
    for (i = 0; i < e->vhost_n; i++) {
        const ka_segment_vhost *vhost = e->vhosts[i].vhost;
        const ka_om_label labels[] = {{"vhost", vhost->name}};

        if (!(vhost->flags & KA_VHOST_IN_FORCE)) {
            continue;
        }
        if (row->is_time) {
            ka_om_seconds(e, row->name, labels, 1, row->value(vhost));
        }
        else {
            ka_om_number(e, row->name, labels, 1, row->value(vhost));
        }
    }
}

void ka_om_settings(const ka_om *e)
{
    const size_t n = sizeof(vhost_setting_rows) / sizeof(vhost_setting_rows[0]);
    size_t i;

    put_server_settings(e);
    for (i = 0; i < n; i++) {
        put_vhost_setting(e, &vhost_setting_rows[i]);
    }
}

void ka_om_build_info(const ka_om *e)
{
    const char *name = KA_OM_NAME("build_info");
    const char *version = e->options->version;
    const ka_om_label labels[] = {{version ? "version" : NULL, version},
                                  {"server", e->snapshot.server_version},
                                  {"mpm", ka_mpm_name(e->snapshot.config.mpm)}};

    ka_om_head(e, name, "gauge", NULL, "What is running: always 1.");
    ka_om_number(e, name, labels, 3, 1);
}
