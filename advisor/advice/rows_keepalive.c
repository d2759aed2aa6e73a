/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * KeepAlive and KeepAliveTimeout ([M18], R1, R7, R14), MaxKeepAliveRequests
 * ([M16]). */
#include "rows.h"

#include <inttypes.h>
#include <string.h>
#include <apr_strings.h>

#include <ka_units.h>
#include "../words.h"

/* httpd's defaults, for telling a change from none where the present value
 * is not known. */
#define DEFAULT_TIMEOUT_US INT64_C(5000000)
#define DEFAULT_MAX_KEEPALIVE_REQUESTS 100

static const char *timeout_text(apr_pool_t *pool, int64_t us)
{
    char *buffer = apr_palloc(pool, KA_UNITS_BUFFER);

    return ka_print_httpd_time(buffer, us);
}

static ka_confidence weaker(ka_confidence a, ka_confidence b)
{
    return a < b ? a : b;
}

static const char *why_knee(const ka_row_context *c)
{
    apr_pool_t *p = c->d->pool;
    const ka_report *r = c->d->report;
    const ka_outcome *low = &r->low[c->answer->choice.index];
    const char *reuse = ka_words_share(p, c->to->reuse);
    const char *longer = "";

    if (r->longer_unknown) {
        longer = "; what one longer than the present would save is not known";
    }
    else if (c->to->timeout_us < KA_TIMEOUT_CAP_US) {
        longer = apr_psprintf(p, "; waiting up to %s would make it %s",
                              ka_words_timeout(p, KA_TIMEOUT_CAP_US),
                              ka_words_share(p, c->answer->choice.reuse_cap));
    }
    return apr_psprintf(
        p,
        "%s of requests reuse a connection%s. It holds %s %s in the mean and "
        "%s at p99.9.",
        reuse, longer,
        ka_words_range(p, ka_words_number, low->held_mean, c->to->held_mean),
        c->answer->supply.holds_idle ? "workers" : "connections",
        ka_words_range(p, ka_words_whole, low->held.p999, c->to->held.p999));
}

static const char *why_fit(const ka_row_context *c)
{
    apr_pool_t *p = c->d->pool;
    size_t next = c->answer->choice.index + 1;
    const ka_report *r = c->d->report;

    return apr_psprintf(
        p,
        "The longest that fits %s: %s workers need %s; %s would need %s "
        "workers, %s. %s of requests reuse a connection.",
        ka_words_size(p, c->answer->supply.memory_bytes),
        ka_words_whole(p, c->fit->workers),
        ka_words_size(p, c->fit->memory_bytes),
        ka_words_timeout(p, r->low[next].timeout_us),
        ka_words_whole(p, c->answer->fits[next].workers),
        ka_words_size(p, c->answer->fits[next].memory_bytes),
        ka_words_share(p, c->to->reuse));
}

static const char *why_proxy(const ka_row_context *c)
{
    apr_pool_t *p = c->d->pool;
    int64_t idle = ka_server_get(c->d->report->server, KA_FACT_PROXY_IDLE, 0);

    return apr_psprintf(
        p,
        "The proxy in front keeps idle connections %s: httpd must keep them "
        "longer (R1: 5s more), or requests meet a closing connection (502). "
        "It holds %s %s in the mean.%s",
        ka_words_duration(p, (double)idle),
        ka_words_number(p, c->to->held_mean),
        c->answer->supply.holds_idle ? "workers" : "connections",
        c->answer->choice.infeasible
            ? " That does not fit the memory given; see the warnings."
            : "");
}

static const char *why_keep(const ka_row_context *c)
{
    apr_pool_t *p = c->d->pool;

    return apr_psprintf(
        p,
        "Reuse would grow from %s to %s at %s, but here each second more "
        "holds up to %s workers more, and what fits is not known: give "
        "--memory and --process-memory.",
        ka_words_share(p, c->to->reuse),
        ka_words_share(p, c->answer->choice.reuse_cap),
        ka_words_timeout(p, c->answer->choice.knee_us),
        ka_words_number(p, c->to->held_per_second));
}

static const char *why_burst(const ka_row_context *c)
{
    apr_pool_t *p = c->d->pool;

    return apr_psprintf(
        p,
        "Only %s would fit the memory given, but 1s is the shortest that "
        "the Keep-Alive header can say and serves the bursts of one page: %s "
        "of requests reuse a connection.",
        ka_words_timeout(p, c->answer->choice.fit_us),
        ka_words_share(p, c->to->reuse));
}

static const char *why_no_reuse(const ka_row_context *c)
{
    apr_pool_t *p = c->d->pool;

    return apr_psprintf(
        p,
        "Even with %s only %s of requests would reuse a connection (R14): "
        "every wait holds a %s for nothing.",
        ka_words_timeout(p, KA_TIMEOUT_CAP_US),
        ka_words_share(p, c->answer->choice.reuse_cap),
        c->answer->supply.holds_idle ? "worker" : "connection");
}

static const char *why_no_fit(const ka_row_context *c)
{
    apr_pool_t *p = c->d->pool;

    return apr_psprintf(
        p,
        "No idle wait fits %s: even without any, %s workers need %s.",
        ka_words_size(p, c->answer->supply.memory_bytes),
        ka_words_whole(p, c->fit->workers),
        ka_words_size(p, c->fit->memory_bytes));
}

static const struct {
    const char *rule;
    const char *(*why)(const ka_row_context *c);
} choice_rows[] = {[KA_CHOICE_KNEE] = {"M18", why_knee},
                   [KA_CHOICE_FIT] = {"M18", why_fit},
                   [KA_CHOICE_PROXY] = {"R1", why_proxy},
                   [KA_CHOICE_PAGE_BURST] = {"M18", why_burst},
                   [KA_CHOICE_OFF_NO_REUSE] = {"R14", why_no_reuse},
                   [KA_CHOICE_OFF_NO_FIT] = {"R7", why_no_fit},
                   [KA_CHOICE_KEEP] = {"M18", why_keep}};

static ka_confidence choice_confidence(const ka_row_context *c)
{
    return weaker(c->d->report->verdict.confidence,
                  c->to->measured ? KA_CONFIDENCE_HIGH : KA_CONFIDENCE_MEDIUM);
}

static void advise_keepalive(const ka_row_context *c)
{
    const ka_report *r = c->d->report;
    bool off_now = r->timeout_us == KA_TIMEOUT_OFF;
    bool off = c->to->timeout_us == KA_TIMEOUT_OFF;
    ka_choice_reason reason = c->answer->choice.reason;
    ka_advice *row = ka_row_push(c, choice_rows[reason].rule, "KeepAlive",
                              "reload");

    row->from = off_now ? "Off" : "On";
    row->to = off ? "Off" : "On";
    row->change = off != off_now;
    ka_row_differs(c, row, KA_FACT_KEEP_ALIVE);
    row->confidence = choice_confidence(c);
    row->because =
        off ? choice_rows[reason].why(c)
            : apr_psprintf(c->d->pool,
                           "Without it %s connections a second would be "
                           "opened instead of %s.",
                           ka_words_number(c->d->pool,
                                           r->high[0].connections_per_s),
                           ka_words_number(c->d->pool,
                                           c->to->connections_per_s));
    ka_row_evidence(row, "reuse", c->to->reuse);
    ka_row_evidence(row, "reuse_at_cap", c->answer->choice.reuse_cap);
}

static void advise_timeout(const ka_row_context *c)
{
    const ka_report *r = c->d->report;
    ka_choice_reason reason = c->answer->choice.reason;
    ka_advice *row;

    if (c->to->timeout_us == KA_TIMEOUT_OFF) {
        return;
    }
    row = ka_row_push(c, choice_rows[reason].rule, "KeepAliveTimeout", "reload");
    row->from = r->timeout_us == KA_TIMEOUT_OFF
                    ? NULL
                    : timeout_text(c->d->pool, r->timeout_us);
    row->to = timeout_text(c->d->pool, c->to->timeout_us);
    row->change = row->from ? strcmp(row->from, row->to) != 0
                            : c->to->timeout_us != DEFAULT_TIMEOUT_US;
    ka_row_differs(c, row, KA_FACT_TIMEOUT);
    row->confidence = choice_confidence(c);
    row->because = choice_rows[reason].why(c);
    ka_row_evidence(row, "reuse", c->to->reuse);
    ka_row_evidence(row, "reuse_now", c->now->reuse);
    ka_row_evidence(row, "held_mean", c->to->held_mean);
    ka_row_evidence(row, "held_mean_now", c->now->held_mean);
    ka_row_evidence(row, "held_p999", c->to->held.p999);
    ka_row_evidence(row, "knee_s", (double)c->answer->choice.knee_us / 1e6);
    if (c->answer->choice.fit_known && c->answer->choice.fit_us >= 0) {
        ka_row_evidence(row, "fit_s", (double)c->answer->choice.fit_us / 1e6);
    }
}

/* ---- MaxKeepAliveRequests [M16] ---------------------------------------- */

static uint64_t extra_opens(void *context, uint32_t m)
{
    const ka_row_context *c = context;

    return c->d->extra->count(c->d->extra->context, c->to->timeout_us, m);
}

static void advise_max_requests(const ka_row_context *c)
{
    apr_pool_t *p = c->d->pool;
    const ka_server *server = c->d->report->server;
    ka_row_context context = *c;
    int64_t now =
        ka_server_get(server, KA_FACT_MAX_KEEPALIVE_REQUESTS, -1);
    int64_t compared = now < 0 ? DEFAULT_MAX_KEEPALIVE_REQUESTS : now;
    uint32_t to;
    uint64_t extra;
    ka_advice *row;

    if (c->to->timeout_us == KA_TIMEOUT_OFF) {
        return;
    }
    to = ka_choose_max_requests(c->to->requests, extra_opens, &context);
    /* a present limit that is generous enough stays */
    if (now == 0 || now > (int64_t)to) {
        to = to == 0 ? 0 : (uint32_t)now;
    }
    extra = to ? extra_opens(&context, to) : 0;
    row = ka_row_push(c, "M16", "MaxKeepAliveRequests", "reload");
    row->from = now < 0 ? NULL : apr_psprintf(p, "%" PRId64, now);
    row->to = apr_psprintf(p, "%u", to);
    row->change = (int64_t)to != compared;
    ka_row_differs(c, row, KA_FACT_MAX_KEEPALIVE_REQUESTS);
    row->because =
        to ? apr_psprintf(p,
                          "It ends connections early only to open %s more of "
                          "%s (under 0.1%% of requests).",
                          ka_words_count(p, (int64_t)extra),
                          ka_words_count(p, (int64_t)c->to->connections))
           : "No limit (0): every customary one would open more than 0.1% of "
             "requests anew; an idle connection ends by KeepAliveTimeout "
             "anyhow.";
    ka_row_evidence(row, "extra_connections", (double)extra);
    ka_row_evidence(row, "requests", (double)c->to->requests);
}

void ka_rows_keepalive(const ka_row_context *c)
{
    advise_keepalive(c);
    advise_timeout(c);
    advise_max_requests(c);
}
