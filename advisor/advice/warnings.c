/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What an operator must know besides the rows: one table row per warning. */
#include "backends.h"
#include "group.h"
#include "rows.h"
#include "rules.h"
#include "vhosts.h"

#include <apr_strings.h>

#include "../words.h"
#include "../sources/logformat.h"

/* R15: worker time of slow downloads worth a word. */
#define SLOW_SHARE 0.2
/* R12: own traffic worth a word. */
#define OWN_SHARE 0.1
/* Connections without a request worth a word. */
#define NO_REQUEST_SHARE 0.02
/* R14: reuse under it makes keep-alive pointless. */
#define LITTLE_REUSE 0.05

typedef const char *warn(const ka_decision *d);

static const char *warn_proxy(const ka_decision *d)
{
    const ka_profile *p = d->report->profile;

    if (!ka_looks_proxied(p) ||
        d->report->server->facts[KA_FACT_PROXY_IDLE].known) {
        return NULL;
    }
    return apr_psprintf(
        d->pool,
        "All requests come from %s, %s: this looks like a reverse "
        "proxy or load balancer in front. Then KeepAliveTimeout must exceed "
        "its idle timeout (R1), or requests meet a closing connection (502, "
        "504). Give --proxy-idle (AWS ALB 60, NLB 350, Google 600, "
        "CloudFront 5, Cloudflare 900).",
        p->addresses == 1 ? "one address"
                          : apr_psprintf(d->pool, "%d addresses",
                                         (int)p->addresses),
        p->live
            ? apr_psprintf(d->pool, "%s on each connection",
                           ka_words_number(
                               d->pool, p->low.requests_per_connection.mean))
            : apr_psprintf(d->pool, "for %s clients",
                           ka_words_count(d->pool, (int64_t)p->low.clients)));
}

static const char *warn_infeasible(const ka_decision *d)
{
    size_t i;

    for (i = 0; i < d->report->answer_n; i++) {
        const ka_mpm_answer *a = &d->report->answers[i];

        if (!a->choice.infeasible) {
            continue;
        }
        return apr_psprintf(
            d->pool,
            "On %s this does not fit: %s workers need %s, and %s is given. "
            "Ways out (R2): the event MPM, where an idle connection holds no "
            "worker; fewer connections kept by the proxy; a shorter idle "
            "timeout there, then here; KeepAlive Off towards it; more memory.",
            ka_mpm_name(a->mpm),
            ka_words_whole(d->pool, a->fits[a->choice.index].workers),
            ka_words_size(d->pool, a->fits[a->choice.index].memory_bytes),
            ka_words_size(d->pool, a->supply.memory_bytes));
    }
    return NULL;
}

static const char *warn_bracket(const ka_decision *d)
{
    const ka_profile *p = d->report->profile;

    if (!p->bracket) {
        return NULL;
    }
    return apr_psprintf(
        d->pool,
        "This log cannot tell connections apart: %s if each client kept to "
        "one, %s if it opened up to six for each burst (and more if it closed "
        "them by itself). The advice takes the side that does not run out of "
        "workers.",
        ka_words_count(d->pool, (int64_t)p->low.connections),
        ka_words_count(d->pool, (int64_t)p->high.connections));
}

static const char *warn_service(const ka_decision *d)
{
    if (ka_service_known(d->report->profile)) {
        return NULL;
    }
    return "This log has no service times, so workers that are busy with a "
           "request are missing from every count of workers; only idle "
           "connections are counted. Add %D to the LogFormat.";
}

static const char *warn_http2(const ka_decision *d)
{
    const ka_profile *p = d->report->profile;
    double share = (double)p->http2 / (double)p->total.requests;

    if (p->http2 == 0 ||
        p->live ||
        (d->report->source->fields & KA_LF_BIT(KA_LF_REMOTE_PORT))) {
        return NULL;
    }
    return apr_psprintf(
        d->pool,
        "%s of requests are HTTP/2 streams, which share connections. Without "
        "%%{remote}p in the LogFormat they are counted as one connection per "
        "client.",
        ka_words_share(d->pool, share));
}

static const char *warn_no_request(const ka_decision *d)
{
    const ka_profile *p = d->report->profile;

    if ((double)p->no_request <
        NO_REQUEST_SHARE * (double)p->total.requests) {
        return NULL;
    }
    return apr_psprintf(
        d->pool,
        "%s never sent a request (408, or 400 without one: preconnects, "
        "scanners). Each holds a worker up to RequestReadTimeout's 20s: up to "
        "%s workers in the mean, which are added to the workers needed.",
        ka_words_plural(d->pool, (int64_t)p->no_request, "connection"),
        ka_words_number(d->pool, ka_no_request_workers(p)));
}

static const char *warn_slow(const ka_decision *d)
{
    const ka_profile *p = d->report->profile;
    double total = (double)ka_hist_sum(&p->total.service);
    double share = total > 0 ? (double)p->slow_service_us / total : 0;

    if (share < SLOW_SHARE) {
        return NULL;
    }
    return apr_psprintf(
        d->pool,
        "Slow clients (R15): %s took over a second for bytes sent at under "
        "100 kB/s, and they hold %s of all busy worker time. On event, and "
        "with EnableSendfile On for files, they hold no worker.",
        ka_words_plural(d->pool, (int64_t)p->slow_bytes_n, "request"),
        ka_words_share(d->pool, share));
}

static const char *warn_own(const ka_decision *d)
{
    const ka_source_info *s = d->report->source;
    uint64_t own = s->excluded[KA_EXCLUDED_DUMMY] +
                   s->excluded[KA_EXCLUDED_PAGESPEED] +
                   s->excluded[KA_EXCLUDED_HEALTH];

    if (own == 0 || (double)own < OWN_SHARE * (double)s->parsed) {
        return NULL;
    }
    return apr_psprintf(
        d->pool,
        "%s of the lines are the server's own traffic (R12: %s mod_pagespeed, "
        "%s internal dummy connections, %s loopback health checks). They are "
        "left out of all numbers here, but hold workers while they run.",
        ka_words_share(d->pool, (double)own / (double)s->parsed),
        ka_words_count(d->pool, (int64_t)s->excluded[KA_EXCLUDED_PAGESPEED]),
        ka_words_count(d->pool, (int64_t)s->excluded[KA_EXCLUDED_DUMMY]),
        ka_words_count(d->pool, (int64_t)s->excluded[KA_EXCLUDED_HEALTH]));
}

static const char *warn_reuse(const ka_decision *d)
{
    const ka_mpm_answer *a = &d->report->answers[0];

    if (a->choice.reuse_cap >= LITTLE_REUSE) {
        return NULL;
    }
    return apr_psprintf(
        d->pool,
        "Keep-alive helps little here (R14): even with 115s only %s of "
        "requests would reuse a connection.",
        ka_words_share(d->pool, a->choice.reuse_cap));
}

static const char *warn_damaged(const ka_decision *d)
{
    const ka_source_info *s = d->report->source;
    const char *text = NULL;
    size_t i;

    for (i = 0; i < s->damaged_n; i++) {
        text = text ? apr_pstrcat(d->pool, text, " ", s->damaged[i], NULL)
                    : s->damaged[i];
    }
    return text;
}

static const char *warn_late(const ka_decision *d)
{
    const ka_source_info *s = d->report->source;

    if (s->late == 0) {
        return NULL;
    }
    return apr_psprintf(
        d->pool,
        "%s started over 10 minutes before the lines around them: they were "
        "counted as starting 10 minutes before those.",
        ka_words_plural(d->pool, (int64_t)s->late, "request"));
}

static const char *warn_forgotten(const ka_decision *d)
{
    const ka_source_info *s = d->report->source;

    if (s->forgotten == 0) {
        return NULL;
    }
    return apr_psprintf(
        d->pool,
        "So many clients were there at once that memory did not hold them all: "
        "%s taken as gone before their time. Up to so many connections are "
        "counted too many.",
        s->forgotten == 1
            ? "1 client was"
            : apr_pstrcat(d->pool,
                          ka_words_count(d->pool, (int64_t)s->forgotten),
                          " clients were", NULL));
}

static const char *warn_linger(const ka_decision *d)
{
    const ka_outcome *now = &d->report->high[d->report->now];

    if (now->linger_bound_mean < 0.1 * now->held_mean ||
        now->linger_bound_mean < 1) {
        return NULL;
    }
    return apr_psprintf(
        d->pool,
        "Clients that do not answer the server's close hold a worker of "
        "prefork and worker up to 2s more; a log cannot show it. Browsers "
        "answer at once. At the most it adds %s workers at the present "
        "timeout.",
        ka_words_number(d->pool, now->linger_bound_mean));
}

static const char *warn_event_reload(const ka_decision *d)
{
    const ka_outcome *now = &d->report->high[d->report->now];

    if (!d->report->verdict.change_advised || now->idle_mean < 100 ||
        d->report->answers[d->report->answer_n - 1].mpm != KA_MPM_EVENT) {
        return NULL;
    }
    return apr_psprintf(
        d->pool,
        "On event a graceful restart closes all idle connections (R10), about "
        "%s: they come back as a wave of new ones. Reload in a quiet hour.",
        ka_words_whole(d->pool, now->idle_mean));
}

static const struct {
    const char *id;
    const char *rule; /* of ADVICE's numbers; NULL: none */
    warn *find;
} rows[] = {{"infeasible", "R2", warn_infeasible},
            {"proposed_waits", NULL, ka_warn_waits},
            {"now_waits", NULL, ka_warn_waits_now},
            {"workers_reached", "R7", ka_warn_workers_reached},
            {"mod_php", "R5", ka_warn_mod_php},
            {"idle_evicted", "R4", ka_warn_evicted},
            {"limits", "R11", ka_warn_limits},
            {"server_closes", "R11", ka_warn_closes},
            {"utilisation", "R18", ka_warn_utilisation},
            {"hosts_differ", NULL, ka_warn_hosts_differ},
            {"host_facts_differ", NULL, ka_warn_host_facts},
            {"hosts_refused", "R13", ka_warn_hosts_refused},
            {"looks_proxied", "R1", warn_proxy},
            {"bracket", "R13", warn_bracket},
            {"no_service_times", "R13", warn_service},
            {"http2_without_port", "R13", warn_http2},
            {"little_reuse", "R14", warn_reuse},
            {"tls", "R6", ka_warn_tls},
            {"connections_per_child", "R9", ka_warn_per_child},
            {"connections_without_request", "R12", warn_no_request},
            {"slow_clients", "R15", warn_slow},
            {"own_traffic", "R12", warn_own},
            {"lingering_close", NULL, warn_linger},
            {"several_vhosts", "R3", ka_warn_vhosts},
            {"vhost_overrides", "R3", ka_warn_vhost_overrides},
            {"vhost_first_of_address", "R3", ka_warn_vhost_first},
            {"vhost_timeout_zero", "R3", ka_warn_vhost_zero},
            {"timeout_below_second", "R3", ka_warn_below_second},
            {"backend_not_reused", "R17", ka_warn_backend_reuse},
            {"backend_idle_limit", "R17", ka_warn_backend_idle},
            {"php_fpm_memory", "R17", ka_warn_fpm_memory},
            {"reload_closes_idle", "R10", warn_event_reload},
            {"late_lines", "R13", warn_late},
            {"clients_forgotten", "R13", warn_forgotten},
            {"damaged_files", "R13", warn_damaged}};

void ka_advise_warnings(ka_decision *d)
{
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *text = rows[i].find(d);

        if (text) {
            *(ka_warning *)apr_array_push(d->warnings) = (ka_warning){
                .id = rows[i].id, .text = text, .rule = rows[i].rule};
        }
    }
}
