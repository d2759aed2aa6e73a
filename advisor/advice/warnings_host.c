/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Warnings about the server itself: what it has reached, what it is set up
 * with, and the limits around it (R4 to R7, R9, R11, R18). */
#include "rules.h"

#include <string.h>
#include <strings.h>
#include <apr_strings.h>

#include "../words.h"

/* TLS requests that make handshakes worth a word. */
#define TLS_SHARE 0.5
/* R7: the peak is there from this share of MaxRequestWorkers on. */
#define REACHED_SHARE 0.95
/* Closed connections stay in TIME_WAIT so long (R11), in seconds. */
#define TIME_WAIT_S 60.0

static const ka_outcome *outcome_now(const ka_report *r)
{
    /* The side with fewest connections: what it says is so at least. */
    return &r->low[r->now];
}

static bool holds_idle(const ka_report *r)
{
    return r->answer_n == 1 && r->answers[0].supply.holds_idle;
}

static int64_t workers_known(const ka_report *r)
{
    return ka_server_get(r->server, KA_FACT_MAX_REQUEST_WORKERS, -1);
}

/* ---- event (R4) ---------------------------------------------------------- */

const char *ka_warn_evicted(const ka_decision *d)
{
    const ka_profile *p = d->report->profile;
    uint64_t n = p->live ? p->closes[KA_REASON_EVICTED] : 0;

    if (n == 0) {
        return NULL;
    }
    return apr_psprintf(
        d->pool,
        "event closed %s because all threads of their child were busy (R4)%s. "
        "Larger children (ThreadsPerChild) and more workers keep them.",
        ka_words_plural(d->pool, (int64_t)n, "idle connection"),
        p->dropped_requests
            ? apr_psprintf(d->pool,
                           ", %s of them when a request had been sent already: "
                           "that request was lost",
                           ka_words_count(d->pool,
                                          (int64_t)p->dropped_requests))
            : "");
}

/* ---- PHP inside (R5) ----------------------------------------------------- */

static bool has_mod_php(const ka_report *report)
{
    static const char *const symbols[] = {"php_module", "php7_module",
                                          "php5_module", "php8_module"};
    size_t i;

    for (i = 0; report->site && i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        if (ka_site_has_module(report->site, symbols[i])) {
            return true;
        }
    }
    return false;
}

const char *ka_warn_mod_php(const ka_decision *d)
{
    const ka_report *r = d->report;
    const ka_mpm_answer *event = r->alternative;
    apr_pool_t *p = d->pool;

    if (!has_mod_php(r) || !event || !r->answer_n) {
        return NULL;
    }
    return apr_psprintf(
        p,
        "mod_php runs inside httpd's children and forces prefork (R5): there "
        "%s workers are needed at %s. With PHP-FPM and event %s threads would "
        "serve the same traffic, at %s, since idle connections hold none.",
        ka_words_whole(p, r->answers[0].fits[r->answers[0].choice.index]
                              .workers),
        ka_words_timeout(
            p, r->high[r->answers[0].choice.index].timeout_us),
        ka_words_whole(p, event->fits[event->choice.index].workers),
        ka_words_timeout(p, r->high[event->choice.index].timeout_us));
}

/* ---- TLS (R6) ------------------------------------------------------------ */

/* The last value of a directive that stands anywhere; NULL: none. */
static const ka_cfg_node *last_set(const ka_site *site, const char *directive)
{
    const ka_cfg_tree *tree = site->httpd->tree;
    int i;

    for (i = tree ? tree->nodes->nelts - 1 : -1; i >= 0; i--) {
        const ka_cfg_node *node = ka_cfg_node_at(tree, i);

        if (!node->section && ka_cfg_is(node, directive)) {
            return node;
        }
    }
    return NULL;
}

static bool is_set_to(const ka_cfg_node *node, const char *value)
{
    return node && !strcasecmp(node->args, value);
}

/* Neither tickets nor a cache: every connection shakes hands in full. */
static const char *no_resumption(const ka_decision *d)
{
    const ka_site *site = d->report->site;
    const ka_cfg_node *tickets, *cache;

    if (!site || !site->httpd->tree) {
        return "";
    }
    tickets = last_set(site, "SSLSessionTickets");
    cache = last_set(site, "SSLSessionCache");
    if (!is_set_to(tickets, "off") ||
        (cache && !is_set_to(cache, "none"))) {
        return "";
    }
    return apr_psprintf(
        d->pool,
        " SSLSessionTickets is off (%s) and there is no SSLSessionCache, so "
        "every one of them is a full handshake: set SSLSessionCache shmcb:..., "
        "or allow tickets.",
        ka_cfg_origin(site->httpd->tree, tickets));
}

const char *ka_warn_tls(const ka_decision *d)
{
    const ka_report *r = d->report;
    const ka_outcome *now = outcome_now(r), *to;
    const char *missing = no_resumption(d);
    apr_pool_t *p = d->pool;

    if (r->answer_n == 0 ||
        (double)r->profile->tls < TLS_SHARE * (double)now->requests) {
        return NULL;
    }
    to = &r->low[r->answers[0].choice.index];
    if (to->connections == now->connections && !*missing) {
        return NULL;
    }
    return apr_psprintf(
        p,
        "%s of requests come over TLS, where a new connection costs the "
        "processor as much as 10 to 15 requests (R6): %s a second are opened "
        "now, %s at the proposed timeout.%s",
        ka_words_share(p, (double)r->profile->tls / (double)now->requests),
        ka_words_number(p, now->connections_per_s),
        ka_words_number(p, to->connections_per_s), missing);
}

/* ---- workers (R7, R18) --------------------------------------------------- */

const char *ka_warn_workers_reached(const ka_decision *d)
{
    const ka_report *r = d->report;
    const ka_outcome *now = outcome_now(r);
    int64_t most = workers_known(r);
    apr_pool_t *p = d->pool;

    if (!holds_idle(r) || most <= 0 ||
        now->held.peak < REACHED_SHARE * (double)most ||
        now->idle_mean <= now->busy_mean) {
        return NULL;
    }
    return apr_psprintf(
        p,
        "MaxRequestWorkers %s is reached (%s held at the peak), and most "
        "workers only hold idle connections: %s of %s in the mean. Shorten "
        "KeepAliveTimeout first (R7): a reload, and workers come free at %s a "
        "second; add workers second.",
        ka_words_count(p, most), ka_words_whole(p, now->held.peak),
        ka_words_number(p, now->idle_mean), ka_words_number(p, now->held_mean),
        ka_words_number(p, now->held_per_second));
}

/* ---- MaxConnectionsPerChild (R9) ----------------------------------------- */

const char *ka_warn_per_child(const ka_decision *d)
{
    const ka_report *r = d->report;
    int64_t n = ka_server_get(r->server, KA_FACT_MAX_CONNECTIONS_PER_CHILD, 0);
    double each = r->profile->low.requests_per_connection.mean;

    if (n <= 0 || each < 1) {
        return NULL;
    }
    return apr_psprintf(
        d->pool,
        "MaxConnectionsPerChild %s counts connections, not requests (R9): with "
        "%s requests on each a child ends after about %s requests.",
        ka_words_count(d->pool, n), ka_words_number(d->pool, each),
        ka_words_whole(d->pool, (double)n * each));
}

/* ---- limits (R11) -------------------------------------------------------- */

/* Those that say how much of a resource is used belong to R18; open
 * connections against workers to R7. */
static bool is_use(const ka_limit *row)
{
    static const char *const ids[] = {"load", "memory", "cpu_quota",
                                      "established", "swap", "httpd_swap"};
    size_t i;

    for (i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        if (!strcmp(row->id, ids[i])) {
            return true;
        }
    }
    return false;
}

/* The limits as the proposed block would meet them. */
static void judge_proposed(ka_limit_table *out, const ka_decision *d)
{
    const ka_report *r = d->report;
    ka_limits limits = r->site->limits;
    const ka_mpm_answer *a = &r->answers[0];
    const int64_t *value = a->block.value;

    if (r->answer_n == 1 && a->block_known) {
        int64_t threads = value[KA_BLOCK_THREADS_PER_CHILD];
        int64_t factor = value[KA_BLOCK_ASYNC_FACTOR];

        limits.query.connections_per_child =
            threads < 1 ? 1 : threads * (factor > 0 ? 1 + factor : 1);
        limits.query.max_request_workers =
            a->supply.holds_idle ? value[KA_BLOCK_MAX_REQUEST_WORKERS] : -1;
    }
    ka_limits_judge(out, &limits, d->pool);
}

const char *ka_warn_limits(const ka_decision *d)
{
    const ka_report *r = d->report;
    const char *text = NULL;
    ka_limit_table table;
    int i;

    if (!r->site || !r->site->runs || r->answer_n == 0) {
        return NULL;
    }
    judge_proposed(&table, d);
    for (i = 0; i < table.rows->nelts; i++) {
        const ka_limit *row = &APR_ARRAY_IDX(table.rows, i, const ka_limit);

        if (row->verdict == KA_LIMIT_OK || is_use(row)) {
            continue;
        }
        text = apr_pstrcat(d->pool, text ? text : "Limits around httpd (R11):",
                           " ", row->what, ": ", row->text, " (", row->origin,
                           "). ", row->remedy, NULL);
    }
    return text;
}

const char *ka_warn_closes(const ka_decision *d)
{
    const ka_report *r = d->report;
    const ka_outcome *to;
    double waiting;
    int64_t most;

    if (!r->site || !r->site->runs || r->answer_n == 0) {
        return NULL;
    }
    to = &r->high[r->answers[0].choice.index];
    most = r->site->limits.time_wait_max;
    waiting = to->held_per_second * TIME_WAIT_S;
    if (most <= 0 || waiting < KA_LIMIT_NEAR * (double)most) {
        return NULL;
    }
    return apr_psprintf(
        d->pool,
        "At the proposed timeout the server closes %s connections a second, "
        "which are %s in TIME_WAIT of %s at most (R11): raise sysctl "
        "net.ipv4.tcp_max_tw_buckets.",
        ka_words_number(d->pool, to->held_per_second),
        ka_words_whole(d->pool, waiting), ka_words_count(d->pool, most));
}

/* ---- utilisation (R18) --------------------------------------------------- */

static const char *workers_used(const ka_decision *d)
{
    const ka_report *r = d->report;
    const ka_outcome *now = outcome_now(r);
    int64_t most = workers_known(r);
    double peak;

    if (most <= 0 || r->answer_n != 1) {
        return NULL;
    }
    peak = holds_idle(r) ? now->held.p999 : now->busy.p999;
    if (peak < KA_LIMIT_NEAR * (double)most) {
        return NULL;
    }
    return apr_psprintf(d->pool, "workers %s (%s of %s at p99.9)",
                        ka_words_share(d->pool, peak / (double)most),
                        ka_words_whole(d->pool, peak),
                        ka_words_count(d->pool, most));
}

static const char *row_used(const ka_decision *d, const char *id)
{
    const ka_report *r = d->report;
    const ka_limit *row = r->site ? ka_site_limit(r->site, id) : NULL;

    return row && row->verdict != KA_LIMIT_OK
               ? apr_pstrcat(d->pool, row->what, " ", row->text, NULL)
               : NULL;
}

const char *ka_warn_utilisation(const ka_decision *d)
{
    const char *const parts[] = {
        workers_used(d),       row_used(d, "load"),
        row_used(d, "cpu_quota"), row_used(d, "memory"),
        row_used(d, "swap"),   row_used(d, "httpd_swap")};
    const char *text =
        ka_words_join(d->pool, parts, sizeof(parts) / sizeof(parts[0]));

    return text ? apr_pstrcat(d->pool,
                              "Response times climb from half of any "
                              "resource's capacity on (R18): ",
                              text, ".", NULL)
                : NULL;
}
