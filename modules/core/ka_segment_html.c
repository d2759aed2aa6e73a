/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_html.h"

#define HISTORY_STANDARD 300

/* ---- gathering ----------------------------------------------------------- */

static void vhost_read(ka_html_vhost *out, const ka_segment_vhost *facts,
                       const ka_stats *stats, ka_hist *gap, double window_s)
{
    ka_stats_classes(gap, stats, KA_QUANTITY_GAP);
    *out = (ka_html_vhost){
        .facts = facts,
        .keeps = facts->flags & KA_VHOST_KEEP_ALIVE &&
                 facts->keep_alive_timeout_us > 0,
        .connections = ka_stats_closed(stats) + stats->open,
        .requests = ka_stats_requests(stats),
        .reused = ka_stats_reused(stats),
        .open = stats->open,
        .closed = ka_stats_closed(stats),
        .timed_out = stats->counter[KA_COUNTER_CLOSE + KA_REASON_IDLE_TIMEOUT],
        .gap_p50 = ka_hist_quantile(gap, 0.5),
        .gap_p90 = ka_hist_quantile(gap, 0.9)};
    if (out->keeps) {
        ka_exchange_add(&out->exchange, stats, facts->keep_alive_timeout_us,
                        window_s);
    }
}

static bool is_of_interest(const ka_html_vhost *vhost)
{
    return vhost->facts->name[0] &&
           (vhost->facts->flags & KA_VHOST_IN_FORCE || vhost->connections);
}

/* `stats` is storage for one vhost after the other. */
static void vhosts_read(ka_html_page *page, const ka_segment_header *header,
                        ka_stats *stats, apr_pool_t *pool)
{
    ka_hist *gap = apr_palloc(pool, sizeof(*gap));
    uint32_t i;

    page->vhosts = apr_palloc(pool,
                              page->snapshot.vhost_n * sizeof(*page->vhosts));
    for (i = 0; i < page->snapshot.vhost_n; i++) {
        ka_html_vhost *vhost = &page->vhosts[page->vhost_n];

        ka_stats_read(stats, header, i);
        vhost_read(vhost, &page->snapshot.vhosts[i], stats, gap,
                   page->window_s);
        if (is_of_interest(vhost)) {
            page->exchange.held += vhost->exchange.held;
            page->exchange.saved += vhost->exchange.saved;
            page->vhost_n++;
        }
    }
}

static void series_read(ka_html_page *page, const ka_segment_header *header,
                        apr_pool_t *pool)
{
    const ka_segment_html_options *options = page->options;
    size_t seconds = options->history_s ? options->history_s
                                        : HISTORY_STANDARD;
    size_t recent = options->recent_n;

    seconds = seconds < page->snapshot.history_n ? seconds
                                                 : page->snapshot.history_n;
    recent = recent < page->snapshot.recent_n ? recent
                                              : page->snapshot.recent_n;
    page->history = apr_palloc(pool, seconds * sizeof(*page->history));
    page->history_n = ka_history_read(page->history, seconds, header,
                                      page->live ? options->now_at
                                                 : INT64_MIN);
    page->recent = apr_palloc(pool, recent * sizeof(*page->recent));
    page->recent_n = ka_recent_read(page->recent, recent, header);
}

static void page_read(ka_html_page *page, const ka_segment_header *header,
                      apr_pool_t *pool)
{
    ka_stats *stats = apr_palloc(pool, sizeof(*stats));
    const ka_snapshot *snapshot = &page->snapshot;

    ka_snapshot_make(&page->snapshot, header, pool);
    page->workers = ka_workers_of(snapshot);
    page->live = ka_snapshot_is_live(snapshot, page->options->now_at);
    page->end_at = page->live ? page->options->now_at : snapshot->heartbeat_at;
    page->window_s = ((double)page->end_at - (double)snapshot->started_at) /
                     1e6;
    vhosts_read(page, header, stats, pool);
    series_read(page, header, pool);
    page->waits = apr_palloc(pool, sizeof(*page->waits));
    page->service = apr_palloc(pool, sizeof(*page->service));
    page->all = stats;
    ka_stats_read(stats, header, KA_VHOST_ALL);
    ka_waits_read(page->waits, stats, page->window_s);
    ka_stats_classes(page->service, stats, KA_QUANTITY_SERVICE);
}

/* ---- head and foot ------------------------------------------------------- */

static void put_since(const ka_html_page *page)
{
    const ka_text *out = page->out;

    ka_text_html(out, page->snapshot.server_version);
    ka_text_put(out, " \xc2\xb7 MPM ");
    ka_text_put(out, ka_mpm_name(page->snapshot.config.mpm));
    ka_text_put(out, " \xc2\xb7 counting since ");
    ka_text_time(out, page->snapshot.started_at);
    ka_text_put(out, " (");
    ka_text_duration(out, page->window_s * 1e6);
    ka_text_put(out, ")");
    if (page->snapshot.generation > 0) {
        ka_text_put(out, ", graceful restarts since then: ");
        ka_text_count(out, (uint64_t)page->snapshot.generation);
    }
}

static void put_state(const ka_html_page *page)
{
    const ka_text *out = page->out;

    if (page->live) {
        ka_text_put(out, "<p class=\"soft\">As of ");
        ka_text_time(out, page->options->now_at);
        ka_text_put(out, "</p>\n");
        return;
    }
    ka_text_put(out, "<p class=\"warn\">Nobody writes these numbers any more: "
                     "they are as of ");
    ka_text_time(out, page->snapshot.heartbeat_at);
    ka_text_put(out, ".</p>\n");
}

static void put_lead(const ka_html_page *page)
{
    const ka_text *out = page->out;
    const ka_waits *waits = page->waits;

    ka_text_put(out, "<p class=\"lead\">");
    if (!waits->requests) {
        ka_text_put(out, "No request has been recorded yet.</p>\n");
        return;
    }
    ka_text_count(out, waits->requests);
    ka_text_put(out, " requests on ");
    ka_text_count(out, waits->connections);
    ka_text_put(out, " connections: ");
    ka_text_share(out, (double)waits->reused, (double)waits->requests);
    ka_text_put(out, " of the requests came on a connection that was open "
                     "already.");
    ka_text_put(out, "</p>\n");
}

static void put_head(const ka_html_page *page)
{
    const ka_text *out = page->out;

    ka_text_put(out, "<!DOCTYPE html>\n<html lang=\"en\"><head>\n"
                     "<meta charset=\"utf-8\">\n"
                     "<meta name=\"viewport\" content=\"width=device-width, "
                     "initial-scale=1\">\n"
                     "<link rel=\"icon\" href=\"data:,\">\n"
                     "<title>Keep-alive</title>\n<style>\n");
    ka_text_put(out, ka_html_style);
    ka_text_put(out, "</style>\n</head><body>\n<header>\n<h1>Keep-alive</h1>\n"
                     "<p class=\"soft\">");
    put_since(page);
    ka_text_put(out, "</p>\n");
    put_state(page);
    put_lead(page);
    ka_text_put(out, "</header>\n<main>\n");
}

static void put_foot(const ka_html_page *page)
{
    static const struct {
        const char *query, *text;
    } links[] = {{"?format=json", "JSON"},
                 {"?format=openmetrics", "OpenMetrics"},
                 {"?format=prometheus", "Prometheus text"},
                 {"?recent=50", "recent connections"},
                 {"?history=3600", "the last hour"}};
    const ka_text *out = page->out;
    size_t i;

    ka_text_put(out, "</main>\n<footer>\n<p>mod_kastats ");
    ka_text_html(out, page->options->version);
    ka_text_put(out, " \xc2\xb7 also as ");
    for (i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        ka_text_put(out, i ? ", <a href=\"" : "<a href=\"");
        ka_text_put(out, links[i].query);
        ka_text_put(out, "\">");
        ka_text_put(out, links[i].text);
        ka_text_put(out, "</a>");
    }
    ka_text_put(out, "</p>\n</footer>\n</body></html>\n");
}

static void (*const sections[])(const ka_html_page *page) = {
    ka_html_now,     ka_html_rates, ka_html_timeout, ka_html_reasons,
    ka_html_waits,   ka_html_totals, ka_html_vhosts, ka_html_recent};

void ka_segment_html(const ka_text *out, const ka_segment_header *header,
                     const ka_segment_html_options *options, apr_pool_t *pool)
{
    ka_html_page page = {.out = out, .options = options};
    size_t i;

    page_read(&page, header, pool);
    put_head(&page);
    for (i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        sections[i](&page);
    }
    put_foot(&page);
}
