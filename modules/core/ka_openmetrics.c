/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A family's samples stand together, so all vhosts are read first, each into
 * a row that keeps the buckets only.
 */
#include "ka_openmetrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "ka_workers.h"

#define BUCKETS_MAX 32
#define NAME(base) "kastats_" base

/* ---- buckets ------------------------------------------------------------- */

/* First values above a bucket: edges of bins, so that its count is exact.
 * `le` is inclusive, hence one less.  Powers of two; for idle times also
 * their halves where timeouts are set. */
#define MS(n) ((uint64_t)(n) << 10)
#define SECOND(halves) ((uint64_t)(halves) << 19)

static const uint64_t idle_edges[] = {
    128,        256,        512,        MS(1),      MS(2),      MS(4),
    MS(8),      MS(16),     MS(32),     MS(64),     MS(128),    MS(256),
    SECOND(1),  SECOND(2),  SECOND(3),  SECOND(4),  SECOND(6),  SECOND(8),
    SECOND(12), SECOND(16), SECOND(24), SECOND(32), SECOND(48), SECOND(64),
    SECOND(96), SECOND(128), SECOND(256), SECOND(512), SECOND(1024)};

static const uint64_t service_edges[] = {
    128,       256,       512,       MS(1),     MS(2),      MS(4),
    MS(8),     MS(16),    MS(32),    MS(64),    MS(128),    MS(256),
    SECOND(1), SECOND(2), SECOND(4), SECOND(8), SECOND(16), SECOND(32),
    SECOND(64), SECOND(128), SECOND(256)};

static const uint64_t number_edges[] = {1,  2,  3,  4,   5,   6,   8,    11,
                                        16, 24, 32, 64, 128, 256, 512, 1024};

typedef struct bucket_set {
    const uint64_t *edges;
    size_t n;
} bucket_set;

#define SET(edges) {edges, sizeof(edges) / sizeof((edges)[0])}

#define ASSERT_FITS(edges)                                                     \
    _Static_assert(sizeof(edges) / sizeof((edges)[0]) <= BUCKETS_MAX,          \
                   #edges " has too many")
ASSERT_FITS(idle_edges);
ASSERT_FITS(service_edges);
ASSERT_FITS(number_edges);

/* One row of vhost_row.histograms. */
static const struct histogram_row {
    unsigned first; /* quantity */
    unsigned n;     /* series: the classes, or 1 */
    bool merge;     /* the classes put together */
    bucket_set set;
    const char *help;
} histograms[] = {
    {KA_QUANTITY_GAP, 1, true, SET(idle_edges),
     "Idle time between a response and the next request on its connection."},
    {KA_QUANTITY_SERVICE, KA_SERVED_N, false, SET(service_edges),
     "Time from the request line to the end of the response."},
    {KA_QUANTITY_REQUESTS, 1, false, SET(number_edges),
     "Requests that a connection carried until it was over."},
    {KA_QUANTITY_TAIL, 1, true, SET(idle_edges),
     "Idle time between the last response and the close."},
};

#define HISTOGRAM_SERVICE 1

#define HISTOGRAMS (sizeof(histograms) / sizeof(histograms[0]))

typedef struct buckets {
    uint64_t up_to[BUCKETS_MAX]; /* cumulative */
    uint64_t count, sum;
} buckets;

static void buckets_fill(buckets *out, const ka_hist *h, const bucket_set *set)
{
    size_t bin = 0, i;

    out->count = 0;
    for (i = 0; i < set->n; i++) {
        for (; bin < ka_hist_bin_index(set->edges[i]); bin++) {
            out->count += h->bins[bin].count;
        }
        out->up_to[i] = out->count;
    }
    for (; bin < KA_HIST_BINS; bin++) {
        out->count += h->bins[bin].count;
    }
    out->sum = ka_hist_sum(h);
}

/* ---- gathering ----------------------------------------------------------- */

typedef struct vhost_row {
    const char *name;
    bool in_force;
    int64_t timeout_us; /* 0 = KeepAlive Off */
    uint64_t closed, reused;
    uint64_t closes[KA_REASON_N];
    buckets histograms[HISTOGRAMS][KA_SERVED_N];
} vhost_row;

typedef struct exposition {
    const ka_text *out;
    const ka_openmetrics_options *options;
    ka_snapshot snapshot;
    vhost_row *vhosts;
    size_t vhost_n;
} exposition;

static void histograms_fill(vhost_row *row, const ka_stats *stats, ka_hist *h)
{
    size_t i;
    unsigned k;

    for (i = 0; i < HISTOGRAMS; i++) {
        const struct histogram_row *from = &histograms[i];

        if (from->merge) {
            ka_stats_classes(h, stats, from->first);
            buckets_fill(&row->histograms[i][0], h, &from->set);
            continue;
        }
        for (k = 0; k < from->n; k++) {
            buckets_fill(&row->histograms[i][k],
                         &stats->quantity[from->first + k], &from->set);
        }
    }
}

/* Places that hold nothing and stand for nothing are left out. */
static bool is_of_interest(const ka_segment_vhost *vhost, const ka_stats *stats)
{
    bool in_force = vhost->flags & KA_VHOST_IN_FORCE;

    return vhost->name[0] &&
           ((in_force && !(vhost->flags & KA_VHOST_OFF)) ||
            ka_stats_requests(stats) || ka_stats_closed(stats));
}

static vhost_row row_of(const ka_segment_vhost *vhost, const ka_stats *stats)
{
    vhost_row row = {.name = vhost->name,
                     .in_force = vhost->flags & KA_VHOST_IN_FORCE,
                     .closed = ka_stats_closed(stats),
                     .reused = ka_stats_reused(stats)};

    if (vhost->flags & KA_VHOST_KEEP_ALIVE &&
        vhost->keep_alive_timeout_us > 0) {
        row.timeout_us = vhost->keep_alive_timeout_us;
    }
    memcpy(row.closes, &stats->counter[KA_COUNTER_CLOSE], sizeof(row.closes));
    return row;
}

static void vhosts_read(exposition *e, const ka_segment_header *header,
                        apr_pool_t *pool)
{
    ka_stats *stats = apr_palloc(pool, sizeof(*stats));
    ka_hist *h = apr_palloc(pool, sizeof(*h));
    uint32_t i;

    e->vhosts = apr_palloc(pool, e->snapshot.vhost_n * sizeof(*e->vhosts));
    for (i = 0; i < e->snapshot.vhost_n; i++) {
        const ka_segment_vhost *vhost = &e->snapshot.vhosts[i];

        ka_stats_read(stats, header, i);
        if (is_of_interest(vhost, stats)) {
            e->vhosts[e->vhost_n] = row_of(vhost, stats);
            histograms_fill(&e->vhosts[e->vhost_n], stats, h);
            e->vhost_n++;
        }
    }
}

/* ---- writing ------------------------------------------------------------- */

typedef struct label {
    const char *name, *value; /* name NULL = none */
} label;

static void put_head(const exposition *e, const char *name, const char *type,
                     const char *unit, const char *help)
{
    const char *const lines[][2] = {{"# HELP ", help}, {"# TYPE ", type},
                                    {"# UNIT ", unit}};
    size_t i;

    for (i = 0; i < 3; i++) {
        if (lines[i][1]) {
            ka_text_put(e->out, lines[i][0]);
            ka_text_put(e->out, name);
            ka_text_put(e->out, " ");
            ka_text_put(e->out, lines[i][1]);
            ka_text_put(e->out, "\n");
        }
    }
}

static const char *counter_type(const exposition *e)
{
    return e->options->prometheus ? "counter" : NULL;
}

/* name suffix {labels} and a space: the value comes next. */
static void put_name(const exposition *e, const char *name, const char *suffix,
                     const label *labels, size_t n)
{
    const char *mark = "{";
    size_t i;

    ka_text_put(e->out, name);
    ka_text_put(e->out, suffix);
    for (i = 0; i < n; i++) {
        if (labels[i].name) {
            ka_text_put(e->out, mark);
            ka_text_put(e->out, labels[i].name);
            ka_text_put(e->out, "=\"");
            ka_text_label(e->out, labels[i].value);
            ka_text_put(e->out, "\"");
            mark = ",";
        }
    }
    ka_text_put(e->out, *mark == ',' ? "} " : " ");
}

static void put_number(const exposition *e, const char *name,
                       const label *labels, size_t n, uint64_t value)
{
    put_name(e, name, "", labels, n);
    ka_text_number(e->out, value);
    ka_text_put(e->out, "\n");
}

/* ---- counters ------------------------------------------------------------ */

static void put_connections_total(const exposition *e)
{
    const char *name = NAME("connections_total");
    size_t i;

    put_head(e, name, counter_type(e), NULL,
             "Connections that are over, by the virtual host of their latest "
             "request.");
    for (i = 0; i < e->vhost_n; i++) {
        put_number(e, name, &(label){"vhost", e->vhosts[i].name}, 1,
                   e->vhosts[i].closed);
    }
}

/* Requests are counted where their service times are. */
static void put_requests_total(const exposition *e)
{
    const char *name = NAME("requests_total");
    unsigned k;
    size_t i;

    put_head(e, name, counter_type(e), NULL,
             "Requests completed, by what served them.");
    for (i = 0; i < e->vhost_n; i++) {
        for (k = 0; k < KA_SERVED_N; k++) {
            const label labels[] = {{"vhost", e->vhosts[i].name},
                                    {"class", ka_served_name(k)}};

            put_number(e, name, labels, 2,
                       e->vhosts[i].histograms[HISTOGRAM_SERVICE][k].count);
        }
    }
}

static void put_reused_total(const exposition *e)
{
    const char *name = NAME("reused_requests_total");
    size_t i;

    put_head(e, name, counter_type(e), NULL,
             "Requests on a connection that had served one before.");
    for (i = 0; i < e->vhost_n; i++) {
        put_number(e, name, &(label){"vhost", e->vhosts[i].name}, 1,
                   e->vhosts[i].reused);
    }
}

static void put_closes_total(const exposition *e)
{
    const char *name = NAME("closes_total");
    unsigned k;
    size_t i;

    put_head(e, name, counter_type(e), NULL,
             ka_counter_describe(KA_COUNTER_CLOSE).help);
    for (i = 0; i < e->vhost_n; i++) {
        for (k = 0; k < KA_REASON_N; k++) {
            const label labels[] = {{"vhost", e->vhosts[i].name},
                                    {"reason", ka_reason_name(k)}};

            put_number(e, name, labels, 2, e->vhosts[i].closes[k]);
        }
    }
}

/* ---- histograms ---------------------------------------------------------- */

typedef struct series {
    char name[64];
    bool is_time;
    label labels[3]; /* vhost, class, le: the last is for buckets */
} series;

static const char le_infinite[] = "+Inf";

/* `le` as clients write a float, also a whole one. */
static void bound_print(char *buffer, size_t size, uint64_t value, bool is_time)
{
    if (is_time) {
        snprintf(buffer, size, "%" PRIu64 ".%06" PRIu64, value / 1000000,
                 value % 1000000);
    }
    else {
        snprintf(buffer, size, "%" PRIu64 ".0", value);
    }
}

static void put_bucket(const exposition *e, series *s, const char *le,
                       uint64_t n)
{
    s->labels[2] = (label){"le", le};
    put_name(e, s->name, "_bucket", s->labels, 3);
    ka_text_number(e->out, n);
    ka_text_put(e->out, "\n");
}

static void put_sum(const exposition *e, const series *s, uint64_t sum)
{
    put_name(e, s->name, "_sum", s->labels, 2);
    if (s->is_time) {
        ka_text_seconds(e->out, sum);
    }
    else {
        ka_text_number(e->out, sum);
    }
    ka_text_put(e->out, "\n");
}

static void put_series(const exposition *e, series *s, const buckets *b,
                       const bucket_set *set)
{
    char le[40];
    size_t i;

    for (i = 0; i < set->n; i++) {
        bound_print(le, sizeof(le), set->edges[i] - 1, s->is_time);
        put_bucket(e, s, le, b->up_to[i]);
    }
    put_bucket(e, s, le_infinite, b->count);
    put_name(e, s->name, "_count", s->labels, 2);
    ka_text_number(e->out, b->count);
    ka_text_put(e->out, "\n");
    put_sum(e, s, b->sum);
}

static void put_histogram(const exposition *e, size_t h)
{
    const struct histogram_row *row = &histograms[h];
    const ka_quantity_row *quantity = &ka_quantities[row->first];
    series s = {.is_time = quantity->unit == KA_UNIT_US};
    unsigned k;
    size_t i;

    snprintf(s.name, sizeof(s.name), NAME("%s%s"), quantity->name,
             s.is_time ? "_seconds" : "");
    put_head(e, s.name, "histogram",
             s.is_time && !e->options->prometheus ? "seconds" : NULL,
             row->help);
    for (i = 0; i < e->vhost_n; i++) {
        s.labels[0] = (label){"vhost", e->vhosts[i].name};
        for (k = 0; k < row->n; k++) {
            s.labels[1] = (label){row->n > 1 ? "class" : NULL,
                                  ka_served_name(k)};
            put_series(e, &s, &e->vhosts[i].histograms[h][k], &row->set);
        }
    }
}

static void put_histograms(const exposition *e)
{
    size_t h;

    for (h = 0; h < HISTOGRAMS; h++) {
        put_histogram(e, h);
    }
}

/* ---- gauges -------------------------------------------------------------- */

typedef struct level {
    const char *state;
    uint64_t n;
} level;

static void put_levels(const exposition *e, const char *name, const char *help,
                       const level *levels, size_t n)
{
    size_t i;

    put_head(e, name, "gauge", NULL, help);
    for (i = 0; i < n; i++) {
        put_number(e, name, &(label){"state", levels[i].state}, 1,
                   levels[i].n);
    }
}

static void put_connections(const exposition *e)
{
    const ka_gauges *g = &e->snapshot.gauges;

    put_levels(e, NAME("connections"),
               "Open connections: busy with a request or waiting for the "
               "first one, idle between requests, closing.",
               (level[]){{"busy", g->busy},
                         {"idle", g->idle},
                         {"closing", g->closing}}, 3);
}

static void put_workers(const exposition *e)
{
    const ka_segment_config *config = &e->snapshot.config;
    ka_workers w = ka_workers_of(&e->snapshot);
    const level levels[] = {{"busy", w.busy}, {"idle", w.idle},
                            {"closing", w.closing}, {"free", w.free}};

    put_levels(e, NAME("workers"),
               "Workers by the state of the connection that they hold; free: "
               "those that MaxRequestWorkers leaves.",
               levels, config->max_request_workers < 0 ? 3 : 4);
}

static void put_timeouts(const exposition *e)
{
    const char *name = NAME("keepalive_timeout_seconds");
    size_t i;

    put_head(e, name, "gauge", e->options->prometheus ? NULL : "seconds",
             "The effective KeepAliveTimeout; 0 with KeepAlive Off.");
    for (i = 0; i < e->vhost_n; i++) {
        if (e->vhosts[i].in_force) {
            put_name(e, name, "", &(label){"vhost", e->vhosts[i].name}, 1);
            ka_text_seconds(e->out, (uint64_t)e->vhosts[i].timeout_us);
            ka_text_put(e->out, "\n");
        }
    }
}

static void put_build_info(const exposition *e)
{
    const char *name = NAME("build_info");
    const char *version = e->options->version;
    const label labels[] = {{version ? "version" : NULL, version},
                            {"server", e->snapshot.server_version},
                            {"mpm", ka_mpm_name(e->snapshot.config.mpm)}};

    put_head(e, name, "gauge", NULL, "What is running: always 1.");
    put_number(e, name, labels, 3, 1);
}

/* ---- all ----------------------------------------------------------------- */

static void (*const families[])(const exposition *e) = {
    put_connections_total, put_requests_total, put_reused_total,
    put_closes_total,      put_histograms,     put_connections,
    put_workers,           put_timeouts,       put_build_info};

void ka_openmetrics(const ka_text *out, const ka_segment_header *header,
                    const ka_openmetrics_options *options, apr_pool_t *pool)
{
    exposition e = {.out = out, .options = options};
    size_t i;

    ka_snapshot_make(&e.snapshot, header, pool);
    vhosts_read(&e, header, pool);
    for (i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        families[i](&e);
    }
    if (!options->prometheus) {
        ka_text_put(out, "# EOF\n");
    }
}
