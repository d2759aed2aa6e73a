/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sections.h"

#include <apr_strings.h>

#include "table.h"

#define VHOSTS_SHOWN 10

/* One address above this share is worth a line: a proxy, a crawler. */
#define TOP_ADDRESS_SHARE 0.1

static const char *count(const ka_page *page, uint64_t n)
{
    return ka_words_count(page->pool, (int64_t)n);
}

static const char *share_of(const ka_page *page, uint64_t n, uint64_t of)
{
    return of ? ka_words_share(page->pool, (double)n / (double)of) : "-";
}

/* mean and quantiles of one quantity, both sides of a bracket */
static const char *dist_words(const ka_page *page, ka_words_fn *mean,
                              ka_words_fn *rest, const ka_dist *a,
                              const ka_dist *b)
{
    apr_pool_t *pool = page->pool;

    return apr_psprintf(pool, "%s mean, %s p50, %s p90, %s p99, %s most",
                        ka_words_range(pool, mean, a->mean, b->mean),
                        ka_words_range(pool, rest, a->p50, b->p50),
                        ka_words_range(pool, rest, a->p90, b->p90),
                        ka_words_range(pool, rest, a->p99, b->p99),
                        ka_words_range(pool, rest, a->max, b->max));
}

/* ---- lines: text, or NULL where there is nothing to say ------------------ */

/* The time covered; of a group, that of all its servers together. */
static const char *window_words(const ka_page *page, const ka_report *report)
{
    const char *text =
        ka_words_duration(page->pool, report->profile->window_s * 1e6);

    return report->host_n
               ? apr_pstrcat(page->pool, text, " of server time", NULL)
               : text;
}

typedef const char *line_fn(const ka_page *page, const ka_report *report);

static const char *requests(const ka_page *page, const ka_report *report)
{
    const ka_profile *p = report->profile;
    apr_pool_t *pool = page->pool;

    if (p->live) {
        return apr_psprintf(pool, "%s in %s", count(page, p->total.requests),
                            window_words(page, report));
    }
    return apr_psprintf(
        pool, "%s in %s, from %s%s at %s", count(page, p->total.requests),
        window_words(page, report),
        report->source->distinct_estimated ? "about " : "",
        ka_words_plural(pool, (int64_t)p->low.clients, "client"),
        p->addresses == 1
            ? "1 address"
            : apr_pstrcat(pool, count(page, p->addresses), " addresses", NULL));
}

static const char *rate(const ka_page *page, const ka_report *report)
{
    const ka_traffic *t = &report->profile->total;

    return apr_psprintf(page->pool,
                        "%s/s mean%s; in single seconds %s/s p99, %s/s peak",
                        ka_words_number(page->pool, t->requests_per_s),
                        report->host_n ? " per server" : "",
                        ka_words_whole(page->pool, t->p99_per_s),
                        ka_words_whole(page->pool, t->peak_per_s));
}

static const char *connections(const ka_page *page, const ka_report *report)
{
    const ka_profile *p = report->profile;

    return apr_psprintf(
        page->pool, "%s%s, with the present KeepAliveTimeout (%s)",
        ka_words_range(page->pool, ka_words_whole, (double)p->low.connections,
                       (double)p->high.connections),
        p->bracket ? " (a bracket: the log cannot tell)" : "",
        ka_words_timeout(page->pool, report->timeout_us));
}

static const char *per_connection(const ka_page *page, const ka_report *report)
{
    const ka_connection_stats *low = &report->profile->low;
    const ka_connection_stats *high = &report->profile->high;

    if (!low->requests_per_connection.n) {
        return NULL;
    }
    return apr_psprintf(page->pool,
                        "requests: %s; %s of connections carry only one",
                        dist_words(page, ka_words_number, ka_words_whole,
                                   &low->requests_per_connection,
                                   &high->requests_per_connection),
                        ka_words_range(page->pool, ka_words_share,
                                       low->single_share, high->single_share));
}

static const char *gap(const ka_page *page, const ka_report *report)
{
    ka_dist d = ka_dist_of(&report->profile->total.gap, 1.0);

    return d.n ? dist_words(page, ka_words_duration, ka_words_duration, &d, &d)
               : "no connection carried two requests";
}

static const char *service(const ka_page *page, const ka_report *report)
{
    ka_dist d = ka_dist_of(&report->profile->total.service, 1.0);

    return d.n ? dist_words(page, ka_words_duration, ka_words_duration, &d, &d)
               : "not in this log, taken as 0; %D in the LogFormat tells it";
}

/* What holds: on event an idle connection holds no worker. */
static const char *holders(const ka_report *report)
{
    int64_t mpm = ka_server_get(report->server, KA_FACT_ID_MPM, KA_MPM_N);

    return mpm == KA_MPM_EVENT ? "open connections"
           : mpm == KA_MPM_N   ? "busy or idle connections"
                               : "workers";
}

static const char *held(const ka_page *page, const ka_report *report)
{
    const ka_held *low, *high;
    apr_pool_t *pool = page->pool;

    if (!report->timeout_n) {
        return NULL;
    }
    low = &report->low[report->now].held;
    high = &report->high[report->now].held;
    return apr_psprintf(
        pool, "%s: %s mean, %s p99.9, %s peak%s", holders(report),
        ka_words_range(pool, ka_words_number, low->mean, high->mean),
        ka_words_range(pool, ka_words_whole, low->p999, high->p999),
        ka_words_range(pool, ka_words_whole, low->peak, high->peak),
        low->mean > 0 && high->mean > 0
            ? apr_psprintf(pool, "; variance/mean %s",
                           ka_words_range(pool, ka_words_number,
                                          low->variance / low->mean,
                                          high->variance / high->mean))
            : "");
}

static const char *parallel(const ka_page *page, const ka_report *report)
{
    const ka_dist *low = &report->profile->low.parallel;
    const ka_dist *high = &report->profile->high.parallel;

    return low->n ? apr_psprintf(page->pool, "connections per client: %s",
                                 dist_words(page, ka_words_number,
                                            ka_words_whole, low, high))
                  : NULL;
}

static const char *protocols(const ka_page *page, const ka_report *report)
{
    const ka_profile *p = report->profile;
    uint64_t n = p->total.requests;

    if (!p->http10 && !p->http2 && !p->tls) {
        return NULL;
    }
    return apr_psprintf(page->pool, "HTTP/2 %s, HTTP/1.0 %s, TLS %s",
                        share_of(page, p->http2, n),
                        share_of(page, p->http10, n),
                        p->tls ? share_of(page, p->tls, n) : "not told");
}

/* Why connections were closed, as the server counted it. */
static const char *reasons(const ka_page *page, const ka_profile *p)
{
    const char *text = NULL;
    unsigned i;

    for (i = 0; i < KA_REASON_N; i++) {
        if (p->closes[i]) {
            text = apr_pstrcat(page->pool, text ? text : "",
                               text ? ", " : "connections: ", ka_reason_name(i),
                               " ", count(page, p->closes[i]), NULL);
        }
    }
    return text;
}

static const char *ended(const ka_page *page, const ka_report *report)
{
    const ka_profile *p = report->profile;

    if (p->live) {
        return reasons(page, p);
    }
    if (!p->final && !p->aborted) {
        return NULL;
    }
    return apr_psprintf(page->pool,
                        "%s requests were their connection's last by %%X, %s "
                        "were aborted",
                        count(page, p->final), count(page, p->aborted));
}

/* ADVICE R15 */
static const char *slow(const ka_page *page, const ka_report *report)
{
    const ka_profile *p = report->profile;
    uint64_t all = ka_hist_sum(&p->total.service);

    if (!p->slow_bytes_n || !all) {
        return NULL;
    }
    return apr_psprintf(
        page->pool,
        "%s took over 1s at under 100 kB/s: %s of all service "
        "time",
        ka_words_plural(page->pool, (int64_t)p->slow_bytes_n, "request"),
        ka_words_share(page->pool, (double)p->slow_service_us / (double)all));
}

static const char *busiest(const ka_page *page, const ka_report *report)
{
    double share = report->profile->top_address_share;

    if (share < TOP_ADDRESS_SHARE) {
        return NULL;
    }
    return apr_psprintf(page->pool, "one address sent %s of all requests",
                        ka_words_share(page->pool, share));
}

static const char *idle_connects(const ka_page *page, const ka_report *report)
{
    const ka_profile *p = report->profile;

    if (p->live || (!p->no_request && !p->not_http)) {
        return NULL;
    }
    return apr_psprintf(
        page->pool, "%s sent no request; %s got bytes that are no HTTP",
        ka_words_plural(page->pool, (int64_t)p->no_request, "connection"),
        count(page, p->not_http));
}

/* ADVICE R12: what is counted apart, so that nothing is missed silently. */
static const char *excluded(const ka_page *page, const ka_report *report)
{
    static const char *const words[KA_EXCLUDED_N] = {
        [KA_EXCLUDED_DUMMY] = "httpd's own wake-ups",
        [KA_EXCLUDED_PAGESPEED] = "mod_pagespeed's own fetches",
        [KA_EXCLUDED_HEALTH] = "loopback health checks",
        [KA_EXCLUDED_VHOST] = "of other vhosts",
        [KA_EXCLUDED_TIME] = "outside --since and --until"};
    const char *text = NULL;
    size_t i;

    for (i = 0; i < KA_EXCLUDED_N; i++) {
        uint64_t n = report->source->excluded[i];

        if (n) {
            text = apr_pstrcat(page->pool, text ? text : "",
                               text ? ", " : "requests: ", count(page, n), " ",
                               words[i], NULL);
        }
    }
    return text;
}

static const char *lingering(const ka_page *page, const ka_report *report)
{
    double low, high;

    if (!report->timeout_n || report->profile->live) {
        return NULL; /* measured, and part of what is held */
    }
    low = report->low[report->now].linger_bound_mean;
    high = report->high[report->now].linger_bound_mean;
    return apr_psprintf(
        page->pool,
        "at most %s more workers in the mean on prefork and worker, if no "
        "client answers the server's close (2s each); a log cannot show it",
        ka_words_range(page->pool, ka_words_number, low, high));
}

static const struct {
    const char *label;
    line_fn *text;
} lines[] = {{"Requests", requests},
             {"Rate", rate},
             {"Connections", connections},
             {"Per connection", per_connection},
             {"Idle gap", gap},
             {"Service time", service},
             {"Held at once", held},
             {"Parallel", parallel},
             {"Protocol", protocols},
             {"Ended", ended},
             {"Slow clients", slow},
             {"Busiest", busiest},
             {"No request", idle_connects},
             {"Left out", excluded},
             {"Lingering close", lingering}};

/* ---- classes and vhosts ---------------------------------------------------
 */

static const ka_column traffic_columns[] = {
    {.head = "", .most = 32},
    {.head = "requests", .right = true},
    {.head = "share", .right = true},
    {.head = "per s\nmean", .right = true},
    {.head = "per s\npeak", .right = true, .drop = 2},
    {.head = "service\nmean", .right = true},
    {.head = "service\np99", .right = true, .drop = 3},
    {.head = "gap\np50", .right = true},
    {.head = "gap\np90", .right = true},
    {.head = "bytes\nmean", .right = true, .drop = 1}};

static void traffic_row(ka_table *table, const ka_traffic *t, uint64_t all)
{
    apr_pool_t *pool = table->pool;
    ka_dist s = ka_dist_of(&t->service, 1.0), g = ka_dist_of(&t->gap, 1.0);
    const char *cells[] = {
        *t->name ? t->name : "(no name)",
        ka_words_count(pool, (int64_t)t->requests),
        ka_words_share(pool, all ? (double)t->requests / (double)all : 0),
        ka_words_number(pool, t->requests_per_s),
        ka_words_whole(pool, t->peak_per_s),
        s.n ? ka_words_duration(pool, s.mean) : "-",
        s.n ? ka_words_duration(pool, s.p99) : "-",
        g.n ? ka_words_duration(pool, g.p50) : "-",
        g.n ? ka_words_duration(pool, g.p90) : "-",
        t->bytes_n ? ka_words_size(pool, (int64_t)(t->bytes / t->bytes_n))
                   : "-"};

    ka_table_row(table, KA_STYLE_PLAIN, cells);
}

static void traffic_table(ka_page *page, const ka_report *report,
                          const char *head, const ka_traffic *rows, size_t n)
{
    ka_column columns[sizeof(traffic_columns) / sizeof(traffic_columns[0])];
    ka_table table;
    size_t i;

    for (i = 0; i < sizeof(columns) / sizeof(columns[0]); i++) {
        columns[i] = traffic_columns[i];
    }
    columns[0].head = head;
    ka_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]),
                  page->pool);
    for (i = 0; i < n; i++) {
        if (rows[i].requests) {
            traffic_row(&table, &rows[i], report->profile->total.requests);
        }
    }
    if (table.rows->nelts) {
        ka_page_gap(page);
    }
    ka_table_print(&table, page, 2);
}

void ka_section_traffic(ka_page *page, const ka_report *report, bool verbose)
{
    const ka_profile *p = report->profile;
    int64_t more;
    size_t i, n;

    ka_page_heading(page, "Traffic");
    for (i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        const char *text = lines[i].text(page, report);

        if (text) {
            ka_page_item(page, lines[i].label, text);
        }
    }
    traffic_table(page, report, "content", p->classes, KA_CLASS_N);
    if (p->vhost_n < 2) {
        return;
    }
    n = verbose || p->vhost_n < VHOSTS_SHOWN ? p->vhost_n : VHOSTS_SHOWN;
    more = (int64_t)(p->vhost_n - n + p->vhosts_more);
    traffic_table(page, report, "vhost", p->vhosts, n);
    if (more) {
        ka_page_paragraph(
            page, KA_STYLE_DIM, "  ", "  ",
            apr_psprintf(page->pool, "... and %s%s",
                         ka_words_plural(page->pool, more, "more vhost"),
                         n < p->vhost_n ? " (--verbose has more)" : ""));
    }
}
