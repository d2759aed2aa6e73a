/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Tables of a segment's text: vhosts, children, history, connections. */
#include "segment.h"

#include <apr_strings.h>

#include "../words.h"
#include "table.h"

#define CHILDREN_SHOWN 10
#define SECOND_US INT64_C(1000000)

static const char *count(const ka_page *page, uint64_t n)
{
    return ka_words_count(page->pool, n < INT64_MAX ? (int64_t)n : INT64_MAX);
}

static const char *us(const ka_page *page, uint64_t n)
{
    return ka_words_duration(page->pool, (double)n);
}

/* ---- vhosts -------------------------------------------------------------- */

static void vhost_row(ka_table *table, const ka_page *page,
                      const ka_live_vhost *v)
{
    apr_pool_t *pool = page->pool;
    uint64_t requests = ka_stats_requests(v->stats);
    const ka_segment_vhost *vhost = v->vhost;
    ka_hist *gap = apr_palloc(pool, sizeof(*gap));
    bool gaps;

    ka_stats_classes(gap, v->stats, KA_QUANTITY_GAP);
    gaps = ka_hist_count(gap) > 0;
    ka_table_row(
        table, KA_STYLE_PLAIN,
        (const char *[]){
            vhost->name, ka_words_timeout(pool, v->timeout_us),
            vhost->max_keep_alive_requests > 0
                ? apr_psprintf(pool, "%d", (int)vhost->max_keep_alive_requests)
                : "any",
            count(page, ka_stats_closed(v->stats) + v->stats->open),
            count(page, v->stats->open), count(page, requests),
            requests ? ka_words_share(pool, (double)ka_stats_reused(v->stats) /
                                                (double)requests)
                     : "-",
            gaps ? ka_words_duration(pool, ka_hist_quantile(gap, 0.5)) : "-",
            gaps ? ka_words_duration(pool, ka_hist_quantile(gap, 0.9)) : "-"});
}

void ka_section_live_vhosts(ka_page *page, const ka_live *live)
{
    static const ka_column columns[] = {
        {.head = "", .most = 32},
        {.head = "Keep-\nAlive", .right = true},
        {.head = "most\nrequests", .right = true, .drop = 1},
        {.head = "connec-\ntions", .right = true},
        {.head = "\nopen", .right = true},
        {.head = "\nrequests", .right = true},
        {.head = "\nreused", .right = true},
        {.head = "gap\np50", .right = true, .drop = 2},
        {.head = "gap\np90", .right = true}};
    ka_table table;
    size_t i;

    ka_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]),
                  page->pool);
    for (i = 0; i < live->vhost_n; i++) {
        vhost_row(&table, page, &live->vhosts[i]);
    }
    if (table.rows->nelts) {
        ka_page_heading(page, "Virtual hosts");
        ka_table_print(&table, page, 2);
    }
}

/* ---- children ------------------------------------------------------------ */

void ka_section_children(ka_page *page, const ka_live *live, bool verbose)
{
    static const ka_column columns[] = {{.head = "pid", .right = true},
                                        {.head = "generation", .right = true},
                                        {.head = "requests", .right = true},
                                        {.head = "busy", .right = true},
                                        {.head = "idle", .right = true},
                                        {.head = "closing", .right = true},
                                        {.head = "age", .right = true}};
    const ka_snapshot *s = &live->snapshot;
    uint32_t shown =
        verbose || s->child_n < CHILDREN_SHOWN ? s->child_n : CHILDREN_SHOWN;
    int64_t end = live->live ? live->read_at : live->last_us;
    ka_table table;
    uint32_t i;

    if (!s->child_n) {
        return;
    }
    ka_page_heading(page, "Children");
    ka_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]),
                  page->pool);
    for (i = 0; i < shown; i++) {
        const ka_snapshot_child *c = &s->children[i];

        ka_table_row(
            &table, KA_STYLE_PLAIN,
            (const char *[]){apr_psprintf(page->pool, "%d", (int)c->pid),
                             apr_psprintf(page->pool, "%d", (int)c->generation),
                             c->requests < 0
                                 ? "?"
                                 : count(page, (uint64_t)c->requests),
                             count(page, c->gauges.busy),
                             count(page, c->gauges.idle),
                             count(page, c->gauges.closing),
                             us(page, c->started_at > 0 && end > c->started_at
                                          ? (uint64_t)(end - c->started_at)
                                          : 0)});
    }
    ka_table_print(&table, page, 2);
    if (shown < s->child_n) {
        ka_page_paragraph(page, KA_STYLE_DIM, "  ", "  ",
                          apr_psprintf(page->pool,
                                       "... and %u more (--verbose)",
                                       s->child_n - shown));
    }
}

/* ---- history ------------------------------------------------------------- */

typedef struct span_sums {
    uint64_t requests, connections;
    uint32_t peak_requests, peak_open, peak_busy, peak_idle;
} span_sums;

static uint32_t larger(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

/* The seconds from `from` on. */
static span_sums sum_from(const ka_live *live, int64_t from)
{
    span_sums sums = {0};
    size_t i;

    for (i = live->history_n; i-- > 0 && live->history[i].at >= from;) {
        const ka_second *s = &live->history[i];

        sums.requests += s->requests;
        sums.connections += s->connections;
        sums.peak_requests = larger(sums.peak_requests, s->requests);
        sums.peak_open = larger(sums.peak_open, s->open);
        sums.peak_busy = larger(sums.peak_busy, s->busy);
        sums.peak_idle = larger(sums.peak_idle, s->idle);
    }
    return sums;
}

static void history_row(ka_table *table, const ka_page *page,
                        const ka_live *live, const char *label, int64_t from,
                        double seconds)
{
    span_sums sums = sum_from(live, from);
    apr_pool_t *pool = page->pool;

    ka_table_row(table, KA_STYLE_PLAIN,
                 (const char *[]){
                     label,
                     ka_words_number(pool, (double)sums.requests / seconds),
                     count(page, sums.peak_requests),
                     ka_words_number(pool, (double)sums.connections / seconds),
                     count(page, sums.peak_open), count(page, sums.peak_busy),
                     count(page, sums.peak_idle)});
}

/* Spans end now; of a copy, with its last second of traffic. */
void ka_section_history(ka_page *page, const ka_live *live)
{
    static const struct {
        const char *label;
        int64_t seconds;
    } spans[] = {{"last minute", 60}, {"last 10min", 600}, {"last hour", 3600}};
    static const ka_column columns[] = {
        {.head = ""},
        {.head = "requests\nper s", .right = true},
        {.head = "in one\nsecond", .right = true},
        {.head = "opened\nper s", .right = true},
        {.head = "peak\nopen", .right = true},
        {.head = "peak\nbusy", .right = true},
        {.head = "peak\nidle", .right = true}};
    int64_t end, begin;
    ka_table table;
    size_t i;

    if (!live->history_n) {
        return;
    }
    begin = live->history[0].at;
    end = live->history[live->history_n - 1].at + SECOND_US;
    end = live->live && live->read_at > end ? live->read_at : end;
    ka_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]),
                  page->pool);
    for (i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
        if (end - begin > spans[i].seconds * SECOND_US) {
            history_row(&table, page, live, spans[i].label,
                        end - spans[i].seconds * SECOND_US,
                        (double)spans[i].seconds);
        }
    }
    history_row(&table, page, live,
                apr_pstrcat(page->pool, "all, ",
                            us(page, (uint64_t)(end - begin)), NULL),
                begin, (double)(end - begin) / 1e6);
    ka_page_heading(page, "History, by maxima of seconds");
    ka_table_print(&table, page, 2);
}

/* ---- recent connections -------------------------------------------------- */

static const char *clock_of(const ka_page *page, int64_t at)
{
    const char *text = ka_words_time(page->pool, at);

    /* The date is that of the traffic, which the totals say. */
    return text ? apr_pstrndup(page->pool, text + 11, 8) : "?";
}

static void recent_row(ka_table *table, const ka_page *page,
                       const ka_segment_recent *r, const ka_live *live)
{
    ka_table_row(table, KA_STYLE_PLAIN,
                 (const char *[]){
                     clock_of(page, r->started_at), us(page, r->life_us),
                     count(page, r->requests), us(page, r->service_us),
                     us(page, r->idle_us), us(page, r->longest_gap_us),
                     us(page, r->tail_us), ka_reason_name(r->reason),
                     apr_pstrcat(page->pool, ka_protocol_name(r->protocol),
                                 r->tls ? " tls" : "", NULL),
                     ka_served_name(r->served),
                     apr_psprintf(page->pool, "%08x", (unsigned)r->client_hash),
                     live->snapshot.vhosts[r->vhost].name});
}

void ka_section_recent(ka_page *page, const ka_live *live)
{
    static const ka_column columns[] = {
        {.head = "start"},
        {.head = "life", .right = true},
        {.head = "req", .right = true},
        {.head = "served\nfor", .right = true, .drop = 4},
        {.head = "idle", .right = true, .drop = 5},
        {.head = "longest\ngap", .right = true},
        {.head = "tail", .right = true},
        {.head = "ended by"},
        {.head = "protocol", .drop = 3},
        {.head = "content", .drop = 2},
        {.head = "client"},
        {.head = "vhost", .most = 24, .drop = 1}};
    const ka_snapshot *s = &live->snapshot;
    ka_table table;
    size_t i;

    ka_page_heading(page, "Recent connections, the latest first");
    ka_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]),
                  page->pool);
    for (i = 0; i < live->recent_n; i++) {
        recent_row(&table, page, &live->recent[i], live);
    }
    ka_table_print(&table, page, 2);
    ka_page_paragraph(
        page, KA_STYLE_DIM, "  ", "  ",
        apr_psprintf(page->pool,
                     "%s of %s closed; %s lost to collisions. The client is "
                     "a hash with a key of this start: no address is kept.",
                     count(page, live->recent_n), count(page, s->recent_seen),
                     count(page, s->recent_lost)));
}
