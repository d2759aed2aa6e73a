/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A section in mod_status's page, and lines in its ?auto.
 *
 * mod_status runs its hook by name: it may be loaded before us, after us or
 * not at all.
 */
#include "kastats.h"

#include <apr_optional_hooks.h>
#include <mod_status.h>

#include "ka_exchange.h"
#include "ka_segment_reader.h"
#include "ka_text.h"

static void sink(void *baton, const char *bytes, size_t n)
{
    ap_rwrite(bytes, (int)n, baton);
}

typedef struct summary {
    ka_snapshot snapshot;
    ka_stats stats;
    ka_exchange exchange; /* [M10] */
} summary;

static void exchange_read(summary *s, double window_s, ka_stats *stats)
{
    uint32_t i;

    for (i = 0; i < s->snapshot.vhost_n; i++) {
        const ka_segment_vhost *vhost = &s->snapshot.vhosts[i];

        if (vhost->flags & KA_VHOST_KEEP_ALIVE) {
            ka_stats_read(stats, kastats->writer.header, i);
            ka_exchange_add(&s->exchange, stats, vhost->keep_alive_timeout_us,
                            window_s);
        }
    }
}

static summary *summary_make(apr_pool_t *p)
{
    const ka_segment_header *header = kastats->writer.header;
    summary *s = apr_pcalloc(p, sizeof(*s));
    double window_s = (double)(apr_time_now() - header->started_at) / 1e6;

    ka_snapshot_make(&s->snapshot, header, p);
    exchange_read(s, window_s, &s->stats);
    ka_stats_read(&s->stats, header, KA_VHOST_ALL);
    return s;
}

/* ---- figures ------------------------------------------------------------- */

static uint64_t connections_of(const summary *s)
{
    return ka_stats_closed(&s->stats) + s->stats.open;
}

static uint64_t requests_of(const summary *s)
{
    return ka_stats_requests(&s->stats);
}

static uint64_t reused_of(const summary *s)
{
    return ka_stats_reused(&s->stats);
}

static uint64_t open_of(const summary *s)
{
    const ka_gauges *g = &s->snapshot.gauges;

    return (uint64_t)g->busy + g->idle + g->closing;
}

static uint64_t busy_of(const summary *s)
{
    return s->snapshot.gauges.busy;
}

static uint64_t idle_of(const summary *s)
{
    return s->snapshot.gauges.idle;
}

static uint64_t closing_of(const summary *s)
{
    return s->snapshot.gauges.closing;
}

static const struct {
    const char *key;  /* in ?auto */
    const char *text; /* on the page */
    uint64_t (*value)(const summary *s);
} figures[] = {
    {"KAStatsConnections", "Connections", connections_of},
    {"KAStatsRequests", "Requests", requests_of},
    {"KAStatsReusedRequests", "Requests on a reused connection", reused_of},
    {"KAStatsOpen", "Open now", open_of},
    {"KAStatsBusy", "Busy", busy_of},
    {"KAStatsIdle", "Idle", idle_of},
    {"KAStatsClosing", "Closing", closing_of},
};

#define FIGURES (sizeof(figures) / sizeof(figures[0]))

/* ---- ?auto --------------------------------------------------------------- */

static void put_key(const ka_text *out, const char *key, const char *suffix)
{
    ka_text_put(out, key);
    ka_text_put(out, suffix);
    ka_text_put(out, ": ");
}

/* Key: value, a line each; closes carry the reason's name. */
static void put_lines(const ka_text *out, const summary *s)
{
    unsigned i;

    for (i = 0; i < FIGURES; i++) {
        put_key(out, figures[i].key, "");
        ka_text_number(out, figures[i].value(s));
        ka_text_put(out, "\n");
    }
    for (i = 0; i < KA_REASON_N; i++) {
        put_key(out, "KAStatsCloses-", ka_reason_name(i));
        ka_text_number(out, s->stats.counter[KA_COUNTER_CLOSE + i]);
        ka_text_put(out, "\n");
    }
    put_key(out, "KAStatsHeldPerTimeoutSecond", "");
    ka_text_decimal(out, s->exchange.held, 6);
    ka_text_put(out, "\n");
    put_key(out, "KAStatsSavedPerTimeoutSecond", "");
    ka_text_decimal(out, s->exchange.saved, 6);
    ka_text_put(out, "\n");
}

/* ---- page ---------------------------------------------------------------- */

static void put_row(const ka_text *out, const char *name, uint64_t n)
{
    ka_text_put(out, "<tr><td>");
    ka_text_put(out, name);
    ka_text_put(out, "</td><td align=\"right\">");
    ka_text_count(out, n);
    ka_text_put(out, "</td></tr>\n");
}

static void put_exchange(const ka_text *out, const summary *s)
{
    ka_text_put(out, "<p>One more second of KeepAliveTimeout holds ");
    ka_text_figure(out, s->exchange.held);
    ka_text_put(out, s->snapshot.config.async == 1
                         ? " more idle connections in the mean and saves "
                         : " more workers in the mean and saves ");
    ka_text_figure(out, s->exchange.saved);
    ka_text_put(out, " new connections per second.</p>\n");
}

static void put_section(const ka_text *out, const summary *s)
{
    unsigned i;

    ka_text_put(out, "<hr />\n<h2>Keep-alive</h2>\n<table border=\"0\">\n");
    for (i = 0; i < FIGURES; i++) {
        put_row(out, figures[i].text, figures[i].value(s));
    }
    for (i = 0; i < KA_REASON_N; i++) {
        uint64_t n = s->stats.counter[KA_COUNTER_CLOSE + i];

        if (n) {
            ka_text_put(out, "<tr><td>Closed, ");
            ka_text_put(out, ka_reason_name(i));
            ka_text_put(out, "</td><td align=\"right\">");
            ka_text_count(out, n);
            ka_text_put(out, "</td></tr>\n");
        }
    }
    ka_text_put(out, "</table>\n");
    put_exchange(out, s);
}

static int status_section(request_rec *r, int flags)
{
    const ka_text out = {.sink = sink, .baton = r};
    const summary *s;

    if (!kastats || !kastats->writer.header) {
        return DECLINED;
    }
    s = summary_make(r->pool);
    if (flags & AP_STATUS_SHORT) {
        put_lines(&out, s);
    }
    else {
        put_section(&out, s);
    }
    return OK;
}

void kastats_status_hooks(void)
{
    APR_OPTIONAL_HOOK(ap, status_hook, status_section, NULL, NULL,
                      APR_HOOK_MIDDLE);
}
