/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The questions to Prometheus, as a table, and as PromQL. */
#include "prometheus.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <apr_strings.h>

/* ---- where a number goes ------------------------------------------------ */

/* `le` and `up_to`: a number, or +Inf; -1 for what is neither. */
static double bound_of(const char *label)
{
    char *end;
    double bound;

    if (!strcmp(label, "+Inf")) {
        return HUGE_VAL;
    }
    bound = strtod(label, &end);
    return end != label && !*end && bound >= 0 && bound <= 1e12 ? bound : -1;
}

static void add_point(ka_prom *prom, ka_prom_points *points, const char *label,
                      double value)
{
    double bound = bound_of(label);

    if (bound < 0) {
        prom->refused++;
        return;
    }
    if (points->n == points->size) {
        size_t size = points->size ? points->size * 2 : 64;
        ka_prom_point *items = apr_palloc(prom->pool, size * sizeof(*items));

        if (points->n) {
            memcpy(items, points->items, points->n * sizeof(*items));
        }
        points->items = items;
        points->size = size;
    }
    points->items[points->n++] = (ka_prom_point){bound, value};
}

#define TAKE(name)                                                             \
    static void name(ka_prom *prom, ka_prom_server *server,                    \
                     ka_prom_vhost *vhost, const char *label, double value,    \
                     unsigned index)

TAKE(take_bucket)
{
    (void)server;
    add_point(prom, &vhost->dist[index].buckets, label, value);
}

TAKE(take_sum_up_to)
{
    (void)server;
    add_point(prom, &vhost->dist[index].sums, label, value);
}

TAKE(take_sum)
{
    (void)prom, (void)server, (void)label;
    vhost->dist[index].sum = value;
}

/* Which class a label names; KA_SERVED_N: none. */
static unsigned class_of(const char *label)
{
    unsigned k = 0;

    while (k < KA_SERVED_N && strcmp(label, ka_served_name(k))) {
        k++;
    }
    return k;
}

TAKE(take_service_sum)
{
    unsigned k = class_of(label);

    (void)prom, (void)server, (void)index;
    if (k < KA_SERVED_N) {
        vhost->dist[KA_PROM_SERVICE + k].sum = value;
    }
}

/* The counter of a family, index its first row, that a label's value names. */
TAKE(take_counter)
{
    const char *family = ka_counter_describe(index).name;
    size_t i;

    (void)prom, (void)server;
    for (i = index; i < KA_COUNTER_N; i++) {
        ka_counter_row row = ka_counter_describe(i);

        if (!row.name || strcmp(row.name, family)) {
            return;
        }
        if (!row.value || !strcmp(row.value, label)) {
            vhost->counter[i] = value;
            return;
        }
    }
}

#define FIELD(name, place)                                                     \
    TAKE(name)                                                                 \
    {                                                                          \
        (void)prom, (void)server, (void)vhost, (void)label, (void)index;       \
        place = value;                                                         \
    }

FIELD(take_first_n, vhost->first_n)
FIELD(take_first_s, vhost->first_s)
FIELD(take_linger_n, vhost->linger_n)
FIELD(take_linger_s, vhost->linger_s)
FIELD(take_timeout, vhost->timeout_s)
FIELD(take_changes, vhost->timeout_changes)
FIELD(take_max_keepalive, vhost->max_keepalive_requests)
FIELD(take_observed, server->observed_s)
FIELD(take_scrapes, server->scrapes)
FIELD(take_restarts, server->restarts)
FIELD(take_first, server->first_s)
FIELD(take_setting, server->setting[index])
FIELD(take_recent_connections, server->recent_connections)
FIELD(take_recent_clients, server->recent_clients)

TAKE(take_not_returned)
{
    (void)vhost, (void)index;
    add_point(prom, &server->not_returned, label, value);
}

TAKE(take_both_ends)
{
    (void)prom, (void)vhost, (void)label, (void)value, (void)index;
    server->both_ends = true;
}

TAKE(take_mpm)
{
    (void)vhost, (void)value, (void)index;
    server->mpm = apr_pstrdup(prom->pool, label);
}

/* ---- the table ---------------------------------------------------------- */

#define INCREASE KA_PROM_INCREASE
#define TIME_COVERED "kastats_observed_seconds_total"

/* The first ones say which servers there are, what course each has taken, how
 * often they are scraped and since when: that decides how the others are asked
 * for. */
static const ka_prom_row rows[] = {
    {TIME_COVERED, KA_PROM_COUNT, "", "", true, take_scrapes, 0},
    {TIME_COVERED, KA_PROM_FIRST, "", "", false, take_first, 0},
    {TIME_COVERED, KA_PROM_RESETS, "", "", true, take_restarts, 0},
    {TIME_COVERED, KA_PROM_DIFFERENCE, "", "", false, take_both_ends, 0},
    {TIME_COVERED, INCREASE, "", "", true, take_observed, 0},
    {"kastats_closes_total", INCREASE, "vhost, reason", "", true, take_counter,
     KA_COUNTER_CLOSE},
    {"kastats_pipelined_requests_total", INCREASE, "vhost", "", true,
     take_counter, KA_COUNTER_PIPELINED},
    {"kastats_tls_connections_total", INCREASE, "vhost", "", false,
     take_counter, KA_COUNTER_TLS},
    {"kastats_response_body_bytes_total", INCREASE, "vhost, class", "", false,
     take_counter, KA_COUNTER_BYTES},
    {"kastats_protocol_connections_total", INCREASE, "vhost, protocol", "",
     false, take_counter, KA_COUNTER_PROTOCOL},
    {"kastats_gap_seconds_bucket", INCREASE, "vhost, le", "", true, take_bucket,
     KA_PROM_GAP},
    {"kastats_gap_up_to_seconds_total", INCREASE, "vhost, up_to", "", true,
     take_sum_up_to, KA_PROM_GAP},
    {"kastats_gap_seconds_sum", INCREASE, "vhost", "", true, take_sum,
     KA_PROM_GAP},
    {"kastats_idle_tail_seconds_bucket", INCREASE, "vhost, le", "", true,
     take_bucket, KA_PROM_TAIL},
    {"kastats_idle_tail_up_to_seconds_total", INCREASE, "vhost, up_to", "",
     true, take_sum_up_to, KA_PROM_TAIL},
    {"kastats_idle_tail_seconds_sum", INCREASE, "vhost", "", true, take_sum,
     KA_PROM_TAIL},
    {"kastats_requests_per_connection_bucket", INCREASE, "vhost, le", "", true,
     take_bucket, KA_PROM_LENGTH},
    {"kastats_requests_per_connection_sum", INCREASE, "vhost", "", true,
     take_sum, KA_PROM_LENGTH},
    {"kastats_service_seconds_bucket", INCREASE, "vhost, le",
     "class=\"static\"", true, take_bucket, KA_PROM_SERVICE + KA_SERVED_STATIC},
    {"kastats_service_seconds_bucket", INCREASE, "vhost, le",
     "class=\"dynamic\"", true, take_bucket,
     KA_PROM_SERVICE + KA_SERVED_DYNAMIC},
    {"kastats_service_seconds_bucket", INCREASE, "vhost, le",
     "class=\"proxied\"", true, take_bucket,
     KA_PROM_SERVICE + KA_SERVED_PROXIED},
    {"kastats_service_seconds_sum", INCREASE, "vhost, class", "", true,
     take_service_sum, 0},
    {"kastats_first_request_seconds_count", INCREASE, "vhost", "", true,
     take_first_n, 0},
    {"kastats_first_request_seconds_sum", INCREASE, "vhost", "", true,
     take_first_s, 0},
    {"kastats_linger_seconds_count", INCREASE, "vhost", "", true, take_linger_n,
     0},
    {"kastats_linger_seconds_sum", INCREASE, "vhost", "", true, take_linger_s,
     0},
    {"kastats_keepalive_timeout_seconds", KA_PROM_LAST, "vhost", "", true,
     take_timeout, 0},
    {"kastats_keepalive_timeout_seconds", KA_PROM_CHANGES, "vhost", "", true,
     take_changes, 0},
    {"kastats_max_keepalive_requests", KA_PROM_LAST, "vhost", "", false,
     take_max_keepalive, 0},
    {"kastats_max_request_workers", KA_PROM_PRESENT, "", "", false,
     take_setting, KA_PROM_WORKERS},
    {"kastats_threads_per_child", KA_PROM_PRESENT, "", "", false, take_setting,
     KA_PROM_THREADS},
    {"kastats_build_info", KA_PROM_PRESENT, "mpm", "", false, take_mpm, 0},
    {"kastats_recent_connections", KA_PROM_PRESENT, "", "", false,
     take_recent_connections, 0},
    {"kastats_recent_clients", KA_PROM_PRESENT, "", "", false,
     take_recent_clients, 0},
    {"kastats_not_returned_ratio", KA_PROM_MEAN, "over", "", false,
     take_not_returned, 0},
    {"kastats_connections_peak", KA_PROM_PEAK, "", "state=\"open\"", false,
     NULL, offsetof(ka_prom_step, open)},
    {"kastats_connections_peak", KA_PROM_PEAK, "", "state=\"busy\"", false,
     NULL, offsetof(ka_prom_step, busy)},
    {"kastats_requests_per_second_peak", KA_PROM_PEAK, "", "", false, NULL,
     offsetof(ka_prom_step, requests_per_s)},
    {"kastats_requests_total", KA_PROM_BLOCK, "", "", false, NULL,
     offsetof(ka_prom_step, requests)},
    {"kastats_reused_requests_total", KA_PROM_BLOCK, "", "", false, NULL,
     offsetof(ka_prom_step, reused)}};

const ka_prom_row *ka_prom_rows(size_t *n)
{
    *n = sizeof(rows) / sizeof(rows[0]);
    return rows;
}

/* ---- PromQL ------------------------------------------------------------- */

/* By $B; $S: the series over the window, $M: those of the moment, $O: those of
 * the window's begin, $R: a thousandth of the window, $P: the peaks over a
 * step, $K: the series over a block. */
static const char *const templates[] = {
    [KA_PROM_DIFFERENCE] = "max by ($B) ($M - $O)",
    [KA_PROM_RESETS] = "max by ($B) (resets($S))",
    [KA_PROM_LAST] = "max by ($B) (last_over_time($S))",
    [KA_PROM_COUNT] = "max by ($B) (count_over_time($S))",
    [KA_PROM_FIRST] = "min by ($B) (min_over_time(timestamp($M)[$R]))",
    [KA_PROM_MEAN] = "avg by ($B) (avg_over_time($S))",
    [KA_PROM_CHANGES] = "max by ($B) (changes($S))",
    [KA_PROM_PRESENT] = "max by ($B) ($M or on (job, instance) "
                        "last_over_time($S))",
    [KA_PROM_PEAK] = "max by ($B) (max_over_time($P))",
    [KA_PROM_BLOCK] = "sum by ($B) (increase($K))"};

/* A virtual host that came later began at 0. */
static const char *const increases[KA_PROM_COURSES] = {
    [KA_PROM_STEADY] = "sum by ($B) (($M - $O) or $M)",
    [KA_PROM_YOUNG] = "sum by ($B) (max_over_time($S) - min_over_time($S))",
    [KA_PROM_RESTARTED] = "sum by ($B) (increase($S))"};

static const char *joined(const char *a, const char *b, apr_pool_t *pool)
{
    return *a && *b ? apr_pstrcat(pool, a, ",", b, NULL)
                    : apr_pstrcat(pool, a, b, NULL);
}

/* A comma may stand behind the last matcher, but not two. */
static const char *match_of(const ka_prom_asked *asked, apr_pool_t *pool)
{
    char *match = apr_pstrdup(pool, asked->match ? asked->match : "");
    size_t n = strlen(match);

    while (n > 0 && strchr(" \t\r\n,", match[n - 1])) {
        match[--n] = '\0';
    }
    return match;
}

int64_t ka_prom_thousandth(const ka_prom_asked *asked)
{
    return asked->window_s > 1000 ? asked->window_s / 1000 : 1;
}

/* The text for a letter behind $. */
static const char *piece(char letter, const ka_prom_row *row,
                         const ka_prom_asked *asked, apr_pool_t *pool)
{
    const char *match = joined(match_of(asked, pool), row->only, pool);

    if (asked->instances) {
        match = joined(
            match,
            apr_pstrcat(pool, "instance=~\"", asked->instances, "\"", NULL),
            pool);
    }
    switch (letter) {
    case 'B':
        return apr_pstrcat(pool, "job, instance", *row->by ? ", " : "", row->by,
                           NULL);
    case 'M':
        return apr_pstrcat(pool, row->metric, "{", match, "}", NULL);
    case 'O':
        return apr_psprintf(pool, "%s{%s} offset %" APR_INT64_T_FMT "s",
                            row->metric, match, asked->window_s);
    case 'R':
        return apr_psprintf(pool, "%" APR_INT64_T_FMT "s:%" APR_INT64_T_FMT "s",
                            asked->window_s, ka_prom_thousandth(asked));
    case 'P':
        match = joined(
            match, apr_psprintf(pool, "window=\"%u\"", asked->peak_window_s),
            pool);
        return apr_psprintf(pool, "%s{%s}[%" APR_INT64_T_FMT "s]", row->metric,
                            match, asked->step_s);
    default:
        return apr_psprintf(pool, "%s{%s}[%" APR_INT64_T_FMT "s]", row->metric,
                            match,
                            letter == 'K' ? asked->block_s : asked->window_s);
    }
}

const char *ka_prom_query(const ka_prom_row *row, const ka_prom_asked *asked,
                          apr_pool_t *pool)
{
    const char *at = row->function == KA_PROM_INCREASE
                         ? increases[asked->course]
                         : templates[row->function];
    const char *mark, *text = "";

    while ((mark = strchr(at, '$')) != NULL) {
        text = apr_pstrcat(pool, text, apr_pstrmemdup(pool, at, mark - at),
                           piece(mark[1], row, asked, pool), NULL);
        at = mark + 2;
    }
    return apr_pstrcat(pool, text, at, NULL);
}

/* ---- matchers ----------------------------------------------------------- */

/* Behind a quoted string; NULL: it does not end.  Backticks know no
 * backslash. */
static const char *skip_quoted(const char *at)
{
    char quote = *at++;

    while (*at && *at != quote) {
        at += *at == '\\' && quote != '`' && at[1] ? 2 : 1;
    }
    return *at ? at + 1 : NULL;
}

const char *ka_prom_match_unfit(const char *match)
{
    while (*match) {
        if (strchr("{}#", *match)) {
            return "expected label matchers without braces and #, such as "
                   "job=\"apache\"";
        }
        if (!strchr("\"'`", *match)) {
            match++;
            continue;
        }
        match = skip_quoted(match);
        if (!match) {
            return "a quotation mark is not closed; expected label matchers "
                   "such as job=\"apache\"";
        }
    }
    return NULL;
}
