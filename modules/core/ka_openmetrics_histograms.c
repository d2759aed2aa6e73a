/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Distributions as buckets, as sums per bucket, and as count and sum. */
#include "ka_openmetrics_priv.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- buckets ------------------------------------------------------------- */

/* First values above a bucket: edges of bins, so that its count is exact.
 * `le` is inclusive, hence one less.  Powers of two; for idle times also
 * their halves where timeouts are set, and the ends of the bins that hold the
 * timeouts which are usually compared (200 ms, 500 ms, 1 s ... 300 s), so that
 * little has to be guessed about [M4] and [M5] there. */
#define MS(n) ((uint64_t)(n) << 10)
#define SECOND(halves) ((uint64_t)(halves) << 19)

static const uint64_t idle_edges[] = {
    128,         256,       512,         MS(1),      MS(2),       MS(4),
    MS(8),       MS(16),    MS(32),      MS(64),     MS(128),     204800,
    MS(256),     507904,    SECOND(1),   1015808,    SECOND(2),   1507328,
    SECOND(3),   2031616,   SECOND(4),   3014656,    SECOND(6),   4063232,
    SECOND(8),   5242880,   6029312,     SECOND(12), 8126464,     SECOND(16),
    10485760,    12058624,  SECOND(24),  15204352,   SECOND(32),  20971520,
    SECOND(48),  30408704,  SECOND(64),  41943040,   SECOND(96),  60817408,
    SECOND(128), 75497472,  92274688,    117440512,  SECOND(256), 184549376,
    SECOND(512), 301989888, SECOND(1024)};
/* Below it, sums do not matter for any timeout. */
#define SUMS_FROM MS(128)

static const uint64_t service_edges[] = {
    128,        256,         512,        MS(1),     MS(2),      MS(4),
    MS(8),      MS(16),      MS(32),     MS(64),    MS(128),    MS(256),
    SECOND(1),  SECOND(2),   SECOND(4),  SECOND(8), SECOND(16), SECOND(32),
    SECOND(64), SECOND(128), SECOND(256)};

static const uint64_t number_edges[] = {1,  2,  3,  4,  5,   6,   8,   11,
                                        16, 24, 32, 64, 128, 256, 512, 1024};

typedef struct bucket_set {
    const uint64_t *edges;
    size_t n;
} bucket_set;

#define SET(edges)                                                             \
    {                                                                          \
        edges, sizeof(edges) / sizeof((edges)[0])                              \
    }

#define ASSERT_FITS(edges)                                                     \
    _Static_assert(sizeof(edges) / sizeof((edges)[0]) <= KA_OM_BUCKETS_MAX,    \
                   #edges " has too many")
ASSERT_FITS(idle_edges);
ASSERT_FITS(service_edges);
ASSERT_FITS(number_edges);

/* One row of ka_om_vhost.histograms. */
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

#define HISTOGRAMS (sizeof(histograms) / sizeof(histograms[0]))

_Static_assert(HISTOGRAMS == KA_OM_HISTOGRAMS, "one place for each");

/* Quantities of which count and sum say enough. */
static const struct summary_row {
    unsigned quantity;
    const char *help;
} summaries[] = {
    {KA_QUANTITY_FIRST,
     "Time from accept to the first request line, TLS handshake included."},
    {KA_QUANTITY_LINGER,
     "Time from the decision to close until the connection was gone."},
};

#define SUMMARIES (sizeof(summaries) / sizeof(summaries[0]))

_Static_assert(SUMMARIES == KA_OM_SUMMARIES, "one place for each");

static void buckets_fill(ka_om_buckets *out, const ka_hist *h,
                         const bucket_set *set)
{
    uint64_t sum = 0;
    size_t bin = 0, i;

    out->count = 0;
    for (i = 0; i < set->n; i++) {
        for (; bin < ka_hist_bin_index(set->edges[i]); bin++) {
            out->count += h->bins[bin].count;
            sum += h->bins[bin].sum;
        }
        out->up_to[i] = out->count;
        out->sum_up_to[i] = sum;
    }
    for (; bin < KA_HIST_BINS; bin++) {
        out->count += h->bins[bin].count;
    }
    out->sum = ka_hist_sum(h);
}

/* ---- gathering ----------------------------------------------------------- */

void ka_om_histograms_fill(ka_om_vhost *row, const ka_stats *stats, ka_hist *h)
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
    for (i = 0; i < SUMMARIES; i++) {
        const ka_hist *from = &stats->quantity[summaries[i].quantity];

        row->summaries[i] = (ka_om_summary){.count = ka_hist_count(from),
                                            .sum_us = ka_hist_sum(from)};
    }
}

/* ---- histograms ---------------------------------------------------------- */

typedef struct series {
    char name[64];
    bool is_time;
    ka_om_label labels[3]; /* vhost, class, le: the last is for buckets */
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

static void put_bucket(const ka_om *e, series *s, const char *le, uint64_t n)
{
    s->labels[2] = (ka_om_label){"le", le};
    ka_om_name(e, s->name, "_bucket", s->labels, 3);
    ka_text_number(e->out, n);
    ka_text_put(e->out, "\n");
}

static void put_sum(const ka_om *e, const series *s, uint64_t sum)
{
    ka_om_name(e, s->name, "_sum", s->labels, 2);
    if (s->is_time) {
        ka_text_seconds(e->out, sum);
    }
    else {
        ka_text_number(e->out, sum);
    }
    ka_text_put(e->out, "\n");
}

static void put_series(const ka_om *e, series *s, const ka_om_buckets *b,
                       const bucket_set *set)
{
    char le[40];
    size_t i;

    for (i = 0; i < set->n; i++) {
        bound_print(le, sizeof(le), set->edges[i] - 1, s->is_time);
        put_bucket(e, s, le, b->up_to[i]);
    }
    put_bucket(e, s, le_infinite, b->count);
    ka_om_name(e, s->name, "_count", s->labels, 2);
    ka_text_number(e->out, b->count);
    ka_text_put(e->out, "\n");
    put_sum(e, s, b->sum);
}

static void put_histogram(const ka_om *e, size_t h)
{
    const struct histogram_row *row = &histograms[h];
    const ka_quantity_row *quantity = &ka_quantities[row->first];
    series s = {.is_time = quantity->unit == KA_UNIT_US};
    unsigned k;
    size_t i;

    snprintf(s.name, sizeof(s.name), KA_OM_NAME("%s%s"), quantity->name,
             s.is_time ? "_seconds" : "");
    ka_om_head(e, s.name, "histogram", s.is_time ? ka_om_unit_seconds(e) : NULL,
               row->help);
    for (i = 0; i < e->vhost_n; i++) {
        s.labels[0] = (ka_om_label){"vhost", e->vhosts[i].vhost->name};
        for (k = 0; k < row->n; k++) {
            s.labels[1] =
                (ka_om_label){row->n > 1 ? "class" : NULL, ka_served_name(k)};
            put_series(e, &s, &e->vhosts[i].histograms[h][k], &row->set);
        }
    }
}

void ka_om_histograms(const ka_om *e)
{
    size_t h;

    for (h = 0; h < HISTOGRAMS; h++) {
        put_histogram(e, h);
    }
}

/* ---- sums ---------------------------------------------------------------- */

static void put_sums_of(const ka_om *e, const char *name, size_t vhost,
                        size_t h)
{
    const ka_om_buckets *b = &e->vhosts[vhost].histograms[h][0];
    const bucket_set *set = &histograms[h].set;
    ka_om_label labels[] = {{"vhost", e->vhosts[vhost].vhost->name},
                            {"up_to", NULL}};
    char bound[40];
    size_t i;

    labels[1].value = bound;
    for (i = 0; i < set->n; i++) {
        if (set->edges[i] >= SUMS_FROM) {
            bound_print(bound, sizeof(bound), set->edges[i] - 1, true);
            ka_om_seconds(e, name, labels, 2, b->sum_up_to[i]);
        }
    }
}

/* Not `le`: that is for buckets of histograms. */
void ka_om_sums(const ka_om *e)
{
    static const char help[] =
        "What the values up to a bound add up to: [M5] without guessing what "
        "lies in a bucket.";
    char name[64];
    size_t h, i;

    for (h = 0; h < HISTOGRAMS; h++) {
        if (!histograms[h].merge) {
            continue;
        }
        snprintf(name, sizeof(name), KA_OM_NAME("%s_up_to_seconds_total"),
                 ka_quantities[histograms[h].first].name);
        ka_om_head(e, name, ka_om_counter_type(e), NULL, help);
        for (i = 0; i < e->vhost_n; i++) {
            put_sums_of(e, name, i, h);
        }
    }
}

/* ---- summaries ----------------------------------------------------------- */

static void put_summary(const ka_om *e, const char *name, size_t vhost,
                        size_t i)
{
    const ka_om_label labels[] = {{"vhost", e->vhosts[vhost].vhost->name}};
    const ka_om_summary *s = &e->vhosts[vhost].summaries[i];

    ka_om_name(e, name, "_count", labels, 1);
    ka_text_number(e->out, s->count);
    ka_text_put(e->out, "\n");
    ka_om_name(e, name, "_sum", labels, 1);
    ka_text_seconds(e->out, s->sum_us);
    ka_text_put(e->out, "\n");
}

void ka_om_summaries(const ka_om *e)
{
    char name[64];
    size_t i, k;

    for (i = 0; i < SUMMARIES; i++) {
        snprintf(name, sizeof(name), KA_OM_NAME("%s_seconds"),
                 ka_quantities[summaries[i].quantity].name);
        ka_om_head(e, name, "summary", ka_om_unit_seconds(e),
                   summaries[i].help);
        for (k = 0; k < e->vhost_n; k++) {
            put_summary(e, name, k, i);
        }
    }
}
