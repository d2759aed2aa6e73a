/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "segment.h"

#include <apr_strings.h>

#include "../words.h"
#include "bars.h"
#include "table.h"

static const char *count(const ka_page *page, uint64_t n)
{
    return ka_words_count(page->pool, n < INT64_MAX ? (int64_t)n : INT64_MAX);
}

static const char *share(const ka_page *page, uint64_t n, uint64_t of)
{
    return of ? ka_words_share(page->pool, (double)n / (double)of) : "-";
}

static const char *since(const ka_page *page, int64_t from_us, int64_t to_us)
{
    return ka_words_duration(page->pool,
                             to_us > from_us ? (double)(to_us - from_us) : 0);
}

/* ---- what it is, and whether anybody writes ------------------------------ */

static void title(ka_page *page, const ka_live *live)
{
    const ka_snapshot *s = &live->snapshot;
    const char *beat = ka_words_time(page->pool, s->heartbeat_at);
    const char *state =
        live->live
            ? apr_pstrcat(page->pool, "live, recording for ",
                          since(page, s->started_at, live->read_at), NULL)
            : apr_psprintf(page->pool,
                           "not live: its server last wrote at %s, %s ago",
                           beat ? beat : "an unknown time",
                           since(page, s->heartbeat_at, live->read_at));

    ka_page_paragraph(
        page, KA_STYLE_BOLD, "", "",
        apr_psprintf(page->pool, "Segment of mod_kastats, %s.", state));
    ka_page_paragraph(
        page, KA_STYLE_PLAIN, "", "",
        apr_psprintf(
            page->pool, "%s, MPM %s%s, %s.",
            s->server_version[0]
                ? ka_words_clean(page->pool, s->server_version, false)
                : "A server that does not say its version",
            ka_mpm_name(s->config.mpm),
            s->config.max_request_workers > 0
                ? apr_psprintf(page->pool, ", MaxRequestWorkers %d",
                               (int)s->config.max_request_workers)
                : "",
            ka_words_plural(page->pool, s->generation, "graceful restart")));
    if (live->narrowed) {
        ka_page_paragraph(page, KA_STYLE_PLAIN, "", "",
                          "Totals and distributions: of the virtual host "
                          "asked for only.");
    }
}

/* ---- totals -------------------------------------------------------------- */

static void optional_counts(ka_page *page, const ka_live *live)
{
    const uint64_t *c = live->total->counter;
    const struct {
        const char *label;
        uint64_t n;
        const char *words;
    } rows[] = {{"TLS", c[KA_COUNTER_TLS], "connections closed"},
                {"Dropped", c[KA_COUNTER_DROPPED_REQUEST],
                 "requests that had arrived as the server closed"},
                {"Internal", c[KA_COUNTER_INTERNAL],
                 "connections of httpd to itself, in no other number"},
                {"Clamped", c[KA_COUNTER_CLAMPED],
                 "values beyond the end of a distribution"},
                {"Overflow", live->snapshot.slot_overflow,
                 "children that share a slot: the gauges are unsure"}};
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].n) {
            ka_page_item(page, rows[i].label,
                         apr_pstrcat(page->pool, count(page, rows[i].n), " ",
                                     rows[i].words, NULL));
        }
    }
}

static void traffic(ka_page *page, const ka_live *live)
{
    const ka_stats *t = live->total;
    uint64_t requests = ka_stats_requests(t), closed = ka_stats_closed(t);
    uint64_t bytes = ka_stats_bytes(t);
    const char *first = ka_words_time(page->pool, live->first_us);
    const char *last = ka_words_time(page->pool, live->last_us);

    if (first && last) {
        ka_page_item(page, "Traffic",
                     apr_psprintf(page->pool, "%s to %s", first, last));
    }
    ka_page_item(page, "Connections",
                 apr_psprintf(page->pool, "%s: %s closed, %s open",
                              count(page, closed + t->open),
                              count(page, closed), count(page, t->open)));
    ka_page_item(page, "Requests",
                 apr_psprintf(page->pool,
                              "%s, %s of them on a connection in use "
                              "before, %s pipelined",
                              count(page, requests),
                              share(page, ka_stats_reused(t), requests),
                              count(page, t->counter[KA_COUNTER_PIPELINED])));
    ka_page_item(page, "Bytes sent",
                 ka_words_size(page->pool,
                               bytes < INT64_MAX ? (int64_t)bytes : INT64_MAX));
}

void ka_section_totals(ka_page *page, const ka_live *live)
{
    const ka_gauges *g = &live->snapshot.gauges;

    ka_page_heading(page, "Totals");
    traffic(page, live);
    ka_page_item(
        page, live->live ? "Now" : "At the end",
        apr_psprintf(
            page->pool, "%u busy, %u idle, %u closing, in %s", g->busy, g->idle,
            g->closing,
            ka_words_plural(page->pool, live->snapshot.child_n, "process")));
    optional_counts(page, live);
}

static void reasons(ka_page *page, const ka_live *live)
{
    static const ka_column columns[] = {{.head = "Ended by"},
                                        {.head = "connections", .right = true},
                                        {.head = "share", .right = true},
                                        {.head = "", .wrap = true}};
    uint64_t closed = ka_stats_closed(live->total);
    ka_table table;
    unsigned i;

    ka_table_init(&table, columns, 4, page->pool);
    for (i = 0; i < KA_REASON_N; i++) {
        uint64_t n = live->total->counter[KA_COUNTER_CLOSE + i];

        if (n) {
            ka_table_row(&table, KA_STYLE_PLAIN,
                         (const char *[]){ka_reason_name(i), count(page, n),
                                          share(page, n, closed),
                                          ka_reason_help(i)});
        }
    }
    if (table.rows->nelts) {
        ka_page_gap(page);
        ka_table_print(&table, page, 2);
    }
}

/* ---- what a timeout costs [M10] ------------------------------------------ */

static void cost_row(ka_table *table, const ka_page *page,
                     const ka_segment_view *view, size_t i)
{
    const ka_outcome *at = &view->at[i], *more = &view->more[i];
    apr_pool_t *pool = page->pool;
    bool now = at->timeout_us == view->now_us;

    ka_table_row(table, now ? KA_STYLE_BOLD : KA_STYLE_PLAIN,
                 (const char *[]){
                     now ? "now" : "", ka_words_timeout(pool, at->timeout_us),
                     at->measured ? "m" : "x",
                     ka_words_number(pool, at->connections_per_s),
                     ka_words_share(pool, at->reuse),
                     ka_words_number(pool, at->idle_mean),
                     ka_words_number(pool, at->held_mean),
                     ka_words_number(pool, more->held_mean - at->held_mean),
                     ka_words_number(pool, at->connections_per_s -
                                               more->connections_per_s)});
}

void ka_section_costs(ka_page *page, const ka_segment_view *view)
{
    static const ka_column columns[] = {
        {.head = ""},
        {.head = "Keep-\nAlive", .right = true},
        {.head = ""},
        {.head = "opened\nper s", .right = true},
        {.head = "\nreused", .right = true},
        {.head = "idle\nmean", .right = true},
        {.head = "held\nmean", .right = true},
        {.head = "1s more\nholds", .right = true},
        {.head = "1s more saves\nopens per s", .right = true}};
    ka_table table;
    size_t i;

    if (!ka_stats_requests(view->live->total)) {
        return;
    }
    ka_page_heading(page, "What KeepAliveTimeout costs");
    ka_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]),
                  page->pool);
    for (i = 0; i < KA_SEGMENT_COSTS; i++) {
        cost_row(&table, page, view, i);
    }
    ka_table_print(&table, page, 2);
    ka_page_paragraph(page, KA_STYLE_DIM, "  ", "  ",
                      "m measured; x longer than the timeout in force: an "
                      "estimate. `kaadvisor advise` has every timeout.");
}

/* ---- the page ------------------------------------------------------------ */

static void charts(ka_page *page, const ka_stats *stats, bool verbose)
{
    static const struct {
        const char *title;
        unsigned quantity;
        bool by_class, always;
    } rows[] = {
        {"Idle gaps between requests of one connection", KA_QUANTITY_GAP, true,
         true},
        {"Idle time before a connection ended", KA_QUANTITY_TAIL, true, true},
        {"Service times", KA_QUANTITY_SERVICE, true, true},
        {"Time from accept to the first request", KA_QUANTITY_FIRST, false,
         false},
        {"Lingering closes", KA_QUANTITY_LINGER, false, false},
        {"Lives of connections", KA_QUANTITY_LIFE, false, false},
        {"Round trips, as the kernel saw them", KA_QUANTITY_RTT, false, false}};
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        ka_hist *h = apr_palloc(page->pool, sizeof(*h));

        if (rows[i].by_class) {
            ka_stats_classes(h, stats, rows[i].quantity);
        }
        else {
            *h = stats->quantity[rows[i].quantity];
        }
        if (verbose || rows[i].always) {
            ka_bars(page, rows[i].title, h);
        }
    }
}

apr_status_t ka_render_segment_text(FILE *out, const ka_segment_view *view,
                                    const ka_render_options *options)
{
    ka_page page;
    apr_status_t rv = ka_page_begin(&page, out, options->width, options->color);

    if (rv != APR_SUCCESS) {
        return rv;
    }
    title(&page, view->live);
    ka_section_totals(&page, view->live);
    reasons(&page, view->live);
    ka_section_costs(&page, view);
    charts(&page, view->live->total, options->verbose);
    ka_section_live_vhosts(&page, view->live);
    ka_section_children(&page, view->live, options->verbose);
    ka_section_history(&page, view->live);
    if (view->connections) {
        ka_section_recent(&page, view->live);
    }
    return ka_page_end(&page);
}
