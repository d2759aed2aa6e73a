/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The page's sections of totals: who ended connections, times, vhosts. */
#include "ka_html.h"

/* ---- who ended connections ----------------------------------------------- */

static void put_reason(const ka_text *out, unsigned reason, uint64_t n,
                       uint64_t most, uint64_t all)
{
    ka_text_put(out, "<tr><th scope=\"row\" class=\"text\"><code>");
    ka_text_put(out, ka_reason_name(reason));
    ka_text_put(out, "</code></th>");
    ka_html_count(out, n);
    ka_html_share(out, (double)n, (double)all);
    ka_html_bar(out, (double)n, (double)most);
    ka_text_put(out, "<td class=\"prose\">");
    ka_text_put(out, ka_reason_help(reason));
    ka_text_put(out, "</td></tr>\n");
}

/* The highest count below `below`, ties by number: selection, since there
 * are few. */
static unsigned next_reason(const uint64_t *counts, const bool *done)
{
    unsigned next = KA_REASON_N;
    unsigned i;

    for (i = 0; i < KA_REASON_N; i++) {
        if (counts[i] && !done[i] &&
            (next == KA_REASON_N || counts[i] > counts[next])) {
            next = i;
        }
    }
    return next;
}

static void put_absent(const ka_text *out, const uint64_t *counts)
{
    bool any = false;
    unsigned i;

    for (i = 0; i < KA_REASON_N; i++) {
        if (counts[i] == 0) {
            ka_text_put(out, any ? ", <code>"
                                 : "<p class=\"soft\">Never so far: <code>");
            ka_text_put(out, ka_reason_name(i));
            ka_text_put(out, "</code>");
            any = true;
        }
    }
    ka_text_put(out, any ? ".</p>\n" : "");
}

static void put_dropped(const ka_html_page *page)
{
    uint64_t n = page->all->counter[KA_COUNTER_DROPPED_REQUEST];

    if (n) {
        ka_text_put(page->out, "<p class=\"warn\">Closed although the next "
                               "request had arrived: <b>");
        ka_text_count(page->out, n);
        ka_text_put(page->out, "</b>. Those clients had to send it "
                               "again.</p>\n");
    }
}

void ka_html_reasons(const ka_html_page *page)
{
    static const char *const heads[] = {"<Reason", "Connections", "Share", "",
                                        "<What it means"};
    const uint64_t *counts = &page->all->counter[KA_COUNTER_CLOSE];
    uint64_t all = ka_stats_closed(page->all);
    bool done[KA_REASON_N + 1] = {false};
    const ka_text *out = page->out;
    unsigned first = next_reason(counts, done);
    unsigned i;

    ka_html_section(out, "reasons", "Who ended connections");
    put_dropped(page);
    if (first == KA_REASON_N) {
        ka_text_put(out, "<p>No connection has ended yet.</p>\n");
        ka_html_section_end(out);
        return;
    }
    ka_html_table(out, "Closed connections by reason", heads, 5);
    for (i = first; i < KA_REASON_N; i = next_reason(counts, done)) {
        put_reason(out, i, counts[i], counts[first], all);
        done[i] = true;
    }
    ka_html_table_end(out);
    put_absent(out, counts);
    ka_html_section_end(out);
}

/* ---- totals -------------------------------------------------------------- */

static void put_total(const ka_text *out, const char *name, uint64_t n,
                      double whole, const char *of)
{
    ka_text_put(out, "<div><dt>");
    ka_text_put(out, name);
    ka_text_put(out, "</dt><dd>");
    ka_text_count(out, n);
    if (whole > 0) {
        ka_text_put(out, "<small>");
        ka_text_share(out, (double)n, whole);
        ka_text_put(out, of);
        ka_text_put(out, "</small>");
    }
    ka_text_put(out, "</dd></div>\n");
}

static void put_counts(const ka_html_page *page)
{
    const ka_text *out = page->out;
    const uint64_t *counter = page->all->counter;
    double closed = (double)ka_stats_closed(page->all);
    double requests = (double)page->waits->requests;

    ka_text_put(out, "<dl>\n");
    put_total(out, "Requests", page->waits->requests, 0, "");
    put_total(out, "on a reused connection", page->waits->reused, requests,
              " of requests");
    put_total(out, "pipelined", counter[KA_COUNTER_PIPELINED], requests,
              " of requests");
    put_total(out, "Connections", page->waits->connections, 0, "");
    put_total(out, "with TLS", counter[KA_COUNTER_TLS], closed,
              " of those closed");
    put_total(out, "with HTTP/2",
              counter[KA_COUNTER_PROTOCOL + KA_PROTOCOL_HTTP2], closed,
              " of those closed");
    ka_text_put(out, "<div><dt>Response bodies</dt><dd>");
    ka_text_size(out, ka_stats_bytes(page->all));
    ka_text_put(out, "</dd></div>\n</dl>\n");
}

/* Of what reaches a client's browser: `is_time` in durations. */
static void put_distribution(const ka_text *out, const char *name,
                             const ka_hist *h, bool is_time)
{
    static const double quantiles[] = {0.5, 0.9, 0.99};
    void (*put)(const ka_text *out, double value) =
        is_time ? ka_html_duration : ka_html_figure;
    size_t i;

    if (ka_hist_count(h) == 0) {
        return;
    }
    ka_text_put(out, "<tr><th scope=\"row\" class=\"text\">");
    ka_text_put(out, name);
    ka_text_put(out, "</th>");
    ka_html_count(out, ka_hist_count(h));
    put(out, ka_hist_mean(h));
    for (i = 0; i < sizeof(quantiles) / sizeof(quantiles[0]); i++) {
        put(out, ka_hist_quantile(h, quantiles[i]));
    }
    put(out, ka_hist_max(h));
    ka_text_put(out, "</tr>\n");
}

static void put_classes(const ka_html_page *page)
{
    static const char *const names[KA_SERVED_N] = {
        "Service time, static", "Service time, dynamic",
        "Service time, proxied"};
    unsigned i;

    for (i = 0; i < KA_SERVED_N; i++) {
        put_distribution(page->out, names[i],
                         &page->all->quantity[KA_QUANTITY_SERVICE + i], true);
    }
}

void ka_html_totals(const ka_html_page *page)
{
    static const char *const heads[] = {"<Quantity", "Count", "Mean",
                                        "Median",    "p90",   "p99", "Most"};
    const ka_text *out = page->out;
    const ka_hist *quantity = page->all->quantity;

    if (!page->waits->connections) {
        return;
    }
    ka_html_section(out, "totals", "Totals");
    put_counts(page);
    ka_html_table(out, "Distributions since the start", heads, 7);
    put_distribution(out, "Requests per connection",
                     &quantity[KA_QUANTITY_REQUESTS], false);
    put_distribution(out, "Gap before the next request", &page->waits->gap,
                     true);
    put_distribution(out, "Idle before the close", &page->waits->tail, true);
    put_classes(page);
    put_distribution(out, "Accept to first request",
                     &quantity[KA_QUANTITY_FIRST], true);
    put_distribution(out, "Life of a connection", &quantity[KA_QUANTITY_LIFE],
                     true);
    put_distribution(out, "Lingering close", &quantity[KA_QUANTITY_LINGER],
                     true);
    put_distribution(out, "Round trip time", &quantity[KA_QUANTITY_RTT], true);
    ka_html_table_end(out);
    ka_html_section_end(out);
}

/* ---- virtual hosts ------------------------------------------------------- */

static void put_setting(const ka_text *out, const ka_html_vhost *vhost)
{
    const ka_segment_vhost *facts = vhost->facts;

    if (!(facts->flags & KA_VHOST_IN_FORCE)) {
        ka_text_put(out, "<td class=\"none\">-</td><td class=\"none\">-</td>");
        return;
    }
    if (!vhost->keeps) {
        ka_text_put(out, "<td>Off</td><td class=\"none\">-</td>");
        return;
    }
    ka_html_duration(out, (double)facts->keep_alive_timeout_us);
    if (facts->max_keep_alive_requests <= 0) {
        ka_text_put(out, "<td>no limit</td>");
    }
    else {
        ka_html_count(out, (uint64_t)facts->max_keep_alive_requests);
    }
}

static void put_name(const ka_text *out, const ka_segment_vhost *facts)
{
    ka_text_put(out, "<tr><th scope=\"row\" class=\"name\">");
    ka_text_html(out, facts->name);
    if (facts->flags & KA_VHOST_OFF) {
        ka_text_put(out, " <span class=\"soft\">(not recorded)</span>");
    }
    ka_text_put(out, "</th>");
}

static void put_vhost(const ka_text *out, const ka_html_vhost *vhost)
{
    put_name(out, vhost->facts);
    put_setting(out, vhost);
    ka_html_count(out, vhost->open);
    ka_html_count(out, vhost->connections);
    ka_html_count(out, vhost->requests);
    ka_html_share(out, (double)vhost->reused, (double)vhost->requests);
    ka_html_share(out, (double)vhost->timed_out, (double)vhost->closed);
    if (vhost->reused) {
        ka_html_duration(out, vhost->gap_p50);
        ka_html_duration(out, vhost->gap_p90);
    }
    else {
        ka_text_put(out, "<td class=\"none\">-</td><td class=\"none\">-</td>");
    }
    ka_html_figure(out, vhost->exchange.held);
    ka_html_figure(out, vhost->exchange.saved);
    ka_text_put(out, "</tr>\n");
}

void ka_html_vhosts(const ka_html_page *page)
{
    static const char *const heads[] = {
        "<Virtual host", "Keep-alive<br>timeout", "Max.<br>requests", "Open",
        "Connec-<br>tions", "Requests", "Reused", "Ended by<br>timeout",
        "Gap<br>median", "Gap<br>p90", "+1 s holds<br>(mean)",
        "+1 s saves<br>(per s)"};
    const ka_text *out = page->out;
    size_t i;

    ka_html_section(out, "vhosts", "Virtual hosts");
    ka_html_table(out, "The timeout is the effective one: the virtual host's "
                       "own, else that of the first one on its address",
                  heads, 12);
    for (i = 0; i < page->vhost_n; i++) {
        put_vhost(out, &page->vhosts[i]);
    }
    ka_html_table_end(out);
    ka_html_section_end(out);
}
