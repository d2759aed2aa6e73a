/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A family's samples stand together, so all vhosts are read first, each into
 * a row that keeps the buckets only.
 */
#include "ka_openmetrics_priv.h"

#include <stdio.h>
#include <string.h>

/* ---- gathering ----------------------------------------------------------- */

/* Places that hold nothing and stand for nothing are left out. */
static bool is_of_interest(const ka_segment_vhost *vhost, const ka_stats *stats)
{
    bool in_force = vhost->flags & KA_VHOST_IN_FORCE;

    return vhost->name[0] &&
           ((in_force && !(vhost->flags & KA_VHOST_OFF)) ||
            ka_stats_requests(stats) || ka_stats_closed(stats));
}

static void row_fill(ka_om_vhost *row, const ka_segment_vhost *vhost,
                     const ka_stats *stats, ka_hist *h)
{
    *row = (ka_om_vhost){.vhost = vhost,
                         .closed = ka_stats_closed(stats),
                         .reused = ka_stats_reused(stats)};
    memcpy(row->counter, stats->counter, sizeof(row->counter));
    ka_om_histograms_fill(row, stats, h);
}

static void vhosts_read(ka_om *e)
{
    ka_stats *stats = apr_palloc(e->pool, sizeof(*stats));
    ka_hist *h = apr_palloc(e->pool, sizeof(*h));
    uint32_t i;

    e->life = apr_pcalloc(e->pool, sizeof(*e->life));
    e->vhosts = apr_palloc(e->pool, e->snapshot.vhost_n * sizeof(*e->vhosts));
    for (i = 0; i < e->snapshot.vhost_n; i++) {
        const ka_segment_vhost *vhost = &e->snapshot.vhosts[i];

        ka_stats_read(stats, e->header, i);
        ka_hist_merge(e->life, &stats->quantity[KA_QUANTITY_LIFE]);
        if (is_of_interest(vhost, stats)) {
            row_fill(&e->vhosts[e->vhost_n++], vhost, stats, h);
        }
    }
}

/* ---- writing ------------------------------------------------------------- */

void ka_om_head(const ka_om *e, const char *name, const char *type,
                const char *unit, const char *help)
{
    const char *const lines[][2] = {
        {"# HELP ", help}, {"# TYPE ", type}, {"# UNIT ", unit}};
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

const char *ka_om_counter_type(const ka_om *e)
{
    return e->options->prometheus ? "counter" : NULL;
}

const char *ka_om_unit_seconds(const ka_om *e)
{
    return e->options->prometheus ? NULL : "seconds";
}

void ka_om_name(const ka_om *e, const char *name, const char *suffix,
                const ka_om_label *labels, size_t n)
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

void ka_om_number(const ka_om *e, const char *name, const ka_om_label *labels,
                  size_t n, uint64_t value)
{
    ka_om_name(e, name, "", labels, n);
    ka_text_number(e->out, value);
    ka_text_put(e->out, "\n");
}

void ka_om_seconds(const ka_om *e, const char *name, const ka_om_label *labels,
                   size_t n, uint64_t us)
{
    ka_om_name(e, name, "", labels, n);
    ka_text_seconds(e->out, us);
    ka_text_put(e->out, "\n");
}

/* ---- counters ------------------------------------------------------------ */

static void put_connections_total(const ka_om *e)
{
    const char *name = KA_OM_NAME("connections_total");
    size_t i;

    ka_om_head(e, name, ka_om_counter_type(e), NULL,
               "Connections that are over, by the virtual host of their latest "
               "request.");
    for (i = 0; i < e->vhost_n; i++) {
        ka_om_number(e, name, &(ka_om_label){"vhost", e->vhosts[i].vhost->name},
                     1, e->vhosts[i].closed);
    }
}

/* Requests are counted where their service times are. */
static void put_requests_total(const ka_om *e)
{
    const char *name = KA_OM_NAME("requests_total");
    unsigned k;
    size_t i;

    ka_om_head(e, name, ka_om_counter_type(e), NULL,
               "Requests completed, by what served them.");
    for (i = 0; i < e->vhost_n; i++) {
        for (k = 0; k < KA_SERVED_N; k++) {
            const ka_om_label labels[] = {{"vhost", e->vhosts[i].vhost->name},
                                          {"class", ka_served_name(k)}};

            ka_om_number(
                e, name, labels, 2,
                e->vhosts[i].histograms[KA_OM_HISTOGRAM_SERVICE][k].count);
        }
    }
}

static void put_reused_total(const ka_om *e)
{
    const char *name = KA_OM_NAME("reused_requests_total");
    size_t i;

    ka_om_head(e, name, ka_om_counter_type(e), NULL,
               "Requests on a connection that had served one before.");
    for (i = 0; i < e->vhost_n; i++) {
        ka_om_number(e, name, &(ka_om_label){"vhost", e->vhosts[i].vhost->name},
                     1, e->vhosts[i].reused);
    }
}

static void put_closes_total(const ka_om *e)
{
    const char *name = KA_OM_NAME("closes_total");
    unsigned k;
    size_t i;

    ka_om_head(e, name, ka_om_counter_type(e), NULL,
               ka_counter_describe(KA_COUNTER_CLOSE).help);
    for (i = 0; i < e->vhost_n; i++) {
        for (k = 0; k < KA_REASON_N; k++) {
            const ka_om_label labels[] = {{"vhost", e->vhosts[i].vhost->name},
                                          {"reason", ka_reason_name(k)}};

            ka_om_number(e, name, labels, 2,
                         e->vhosts[i].counter[KA_COUNTER_CLOSE + k]);
        }
    }
}

/* Rows of one name and different labels follow each other. */
static bool begins_family(size_t counter, const ka_counter_row *row)
{
    ka_counter_row before =
        ka_counter_describe(counter > 0 ? counter - 1 : KA_COUNTER_N);

    return !before.name || strcmp(before.name, row->name) != 0;
}

static void put_counter(const ka_om *e, const char *name, size_t counter,
                        const ka_counter_row *row)
{
    size_t i;

    for (i = 0; i < e->vhost_n; i++) {
        const ka_om_label labels[] = {{"vhost", e->vhosts[i].vhost->name},
                                      {row->label, row->value}};

        ka_om_number(e, name, labels, 2, e->vhosts[i].counter[counter]);
    }
}

/* Those that have no family of their own above. */
static void put_more_counters(const ka_om *e)
{
    size_t counter;

    for (counter = KA_COUNTER_PIPELINED; counter < KA_COUNTER_N; counter++) {
        ka_counter_row row = ka_counter_describe(counter);
        char name[64];

        if (!row.name) {
            continue;
        }
        snprintf(name, sizeof(name), KA_OM_NAME("%s%s_total"), row.name,
                 row.unit == KA_UNIT_BYTES ? "_bytes" : "");
        if (begins_family(counter, &row)) {
            ka_om_head(e, name, ka_om_counter_type(e), NULL, row.help);
        }
        put_counter(e, name, counter, &row);
    }
}

static void put_observed(const ka_om *e)
{
    const char *name = KA_OM_NAME("observed_seconds_total");
    int64_t us = 0;

    if (__builtin_sub_overflow(e->now_at, e->snapshot.started_at, &us) ||
        us < 0) {
        us = 0;
    }
    ka_om_head(e, name, ka_om_counter_type(e), NULL,
               "Time that the counters cover: since the server started.");
    ka_om_seconds(e, name, NULL, 0, (uint64_t)us);
}

/* ---- all ----------------------------------------------------------------- */

static void (*const families[])(const ka_om *e) = {
    put_connections_total, put_requests_total, put_reused_total,
    put_closes_total,      put_more_counters,  put_observed,
    ka_om_histograms,      ka_om_sums,         ka_om_summaries,
    ka_om_levels,          ka_om_peaks,        ka_om_recent,
    ka_om_settings,        ka_om_build_info};

void ka_openmetrics(const ka_text *out, const ka_segment_header *header,
                    const ka_openmetrics_options *options, apr_pool_t *pool)
{
    ka_om e = {.out = out, .options = options, .header = header, .pool = pool};
    size_t i;

    ka_snapshot_make(&e.snapshot, header, pool);
    e.now_at = options->now_at ? options->now_at : e.snapshot.heartbeat_at;
    vhosts_read(&e);
    for (i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        families[i](&e);
    }
    if (!options->prometheus) {
        ka_text_put(out, "# EOF\n");
    }
}
