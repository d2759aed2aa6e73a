/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The sentence at the top, and what to do next. */
#include "group.h"

#include <string.h>
#include <apr_strings.h>

#include "../words.h"
#include "../sources/logformat.h"

/* A change counts for the verdict (and --check) where the present value is
 * known: what nobody told us cannot be called wrong. */
static bool counts(const ka_advice *row)
{
    return row->change && (row->from != NULL || row->from_differs);
}

static bool change_advised(const ka_report *report)
{
    size_t i;

    for (i = 0; i < report->advice_n; i++) {
        if (counts(&report->advice[i])) {
            return true;
        }
    }
    return false;
}

static const char *holders(const ka_mpm_answer *a)
{
    return a->supply.holds_idle ? "workers" : "idle or busy connections";
}

/* What is held and reused; servers that are set up differently have no one
 * timeout to compare it with. */
static const char *numbers_text(const ka_decision *d, const ka_mpm_answer *a)
{
    const ka_report *r = d->report;
    apr_pool_t *p = d->pool;
    const ka_outcome *to = &r->high[a->choice.index];
    const ka_outcome *to_low = &r->low[a->choice.index];
    const ka_outcome *now = &r->high[r->now], *now_low = &r->low[r->now];
    const char *held = ka_words_range(p, ka_words_number, to_low->held_mean,
                                      to->held_mean);
    const char *reuse =
        ka_words_range(p, ka_words_share, to_low->reuse, to->reuse);

    if (r->facts_differ[KA_FACT_TIMEOUT]) {
        return apr_psprintf(p, "%s %s held in the mean, reuse %s", held,
                            holders(a), reuse);
    }
    return apr_psprintf(
        p, "%s %s held in the mean instead of %s, reuse %s instead of %s", held,
        holders(a),
        ka_words_range(p, ka_words_number, now_low->held_mean, now->held_mean),
        reuse, ka_words_range(p, ka_words_share, now_low->reuse, now->reuse));
}

/* What one answer changes, in half a sentence. */
static const char *answer_text(const ka_decision *d, const ka_mpm_answer *a)
{
    const ka_report *r = d->report;
    apr_pool_t *p = d->pool;
    int64_t to_us = r->high[a->choice.index].timeout_us;

    if (a->choice.index == r->now && !r->facts_differ[KA_FACT_TIMEOUT]) {
        return to_us == KA_TIMEOUT_OFF
                   ? "leave KeepAlive Off"
                   : apr_psprintf(p, "leave KeepAliveTimeout at %s",
                                  ka_words_timeout(p, to_us));
    }
    if (to_us == KA_TIMEOUT_OFF) {
        return apr_psprintf(p, "set KeepAlive Off (%s now): %s",
                            ka_timeout_now(r, p), numbers_text(d, a));
    }
    return apr_psprintf(p, "set KeepAliveTimeout to %s (%s now%s): %s",
                        ka_words_timeout(p, to_us), ka_timeout_now(r, p),
                        r->server->facts[KA_FACT_TIMEOUT].assumed
                            ? ", assumed"
                            : "",
                        numbers_text(d, a));
}

static const char *workers_text(const ka_decision *d, const ka_mpm_answer *a)
{
    const ka_server *server = d->report->server;
    int64_t now = ka_server_get(server, KA_FACT_MAX_REQUEST_WORKERS, -1);
    int64_t to;

    if (!a->block_known) {
        return "";
    }
    to = a->block.value[KA_BLOCK_MAX_REQUEST_WORKERS];
    if (now == to) {
        return "; MaxRequestWorkers stays";
    }
    return apr_psprintf(d->pool, "; MaxRequestWorkers %s%s",
                        ka_words_count(d->pool, to),
                        now < 0 ? ""
                                : apr_psprintf(d->pool, " (%s now)",
                                               ka_words_count(d->pool, now)));
}

static const char *sentence(apr_pool_t *pool, const char *text)
{
    char *copy = apr_pstrcat(pool, text, ".", NULL);

    if (copy[0] >= 'a' && copy[0] <= 'z') {
        copy[0] = (char)(copy[0] - 'a' + 'A');
    }
    return copy;
}

static const char *verdict_text(const ka_decision *d)
{
    const ka_report *r = d->report;
    const char *text = "";
    size_t i;

    if (r->verdict.refused) {
        return sentence(d->pool,
                        apr_pstrcat(d->pool, "No advice: ",
                                    r->verdict.confidence_why, NULL));
    }
    for (i = 0; i < r->answer_n; i++) {
        const ka_mpm_answer *a = &r->answers[i];
        const char *part = apr_pstrcat(d->pool, answer_text(d, a),
                                       workers_text(d, a), NULL);

        if (r->answer_n > 1) {
            part = apr_pstrcat(d->pool, "On ", ka_mpm_name(a->mpm), ", ",
                               part, NULL);
        }
        text = apr_pstrcat(d->pool, text, *text ? "\n" : "",
                           sentence(d->pool, part), NULL);
    }
    return text;
}

/* Of a group, whom it is about. */
static const char *verdict_lead(const ka_decision *d)
{
    const ka_report *r = d->report;

    if (r->host_n == 0 || r->verdict.refused) {
        return "";
    }
    return apr_psprintf(d->pool, "For each of %s:%s",
                        ka_words_plural(d->pool, (int64_t)r->host_n, "server"),
                        r->answer_n > 1 ? "\n" : " ");
}

/* ---- next steps -------------------------------------------------------- */

static void next(ka_decision *d, const char *text)
{
    *(const char **)apr_array_push(d->next) = text;
}

/* The first fact that would change what can be said. */
static void next_facts(ka_decision *d)
{
    static const ka_fact_id wanted[] = {KA_FACT_ID_MPM, KA_FACT_TIMEOUT,
                                        KA_FACT_MEMORY, KA_FACT_PROCESS_MEMORY,
                                        KA_FACT_MAX_REQUEST_WORKERS};
    const char *list = NULL;
    size_t i;

    for (i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        const ka_fact *fact = &d->report->server->facts[wanted[i]];

        if (d->report->facts_differ[wanted[i]]) {
            continue; /* known, of each */
        }
        if (!fact->known || fact->assumed) {
            list = apr_pstrcat(d->pool, list ? list : "",
                               list ? ", " : "",
                               ka_fact_info_of(wanted[i])->option, NULL);
        }
    }
    if (list) {
        next(d, apr_psprintf(d->pool,
                             "Tell what this %s cannot: run it again with "
                             "%s.",
                             ka_source_words_of(d->report)->noun, list));
    }
}

static void next_log_format(ka_decision *d)
{
    const ka_report *r = d->report;

    if (ka_identity_is_exact(r) && ka_service_known(r->profile)) {
        return;
    }
    next(d, apr_psprintf(d->pool,
                         "Log what settles it, for a busy day, and run this "
                         "on it:\n    LogFormat \"%s\" kastats\n    CustomLog "
                         "logs/kastats.log kastats",
                         ka_logformat_recommended));
}

static void next_apply(ka_decision *d)
{
    if (!d->report->verdict.change_advised) {
        return;
    }
    next(d, "Write the block with --output conf -o httpd-mpm.conf, include it "
            "behind the present one, check it with `apachectl configtest`, "
            "then reload; ServerLimit, ThreadLimit and ListenBacklog need a full "
            "restart.");
    next(d, ka_source_words_of(d->report)->again);
}

void ka_judge_verdict(ka_decision *d)
{
    ka_report *r = d->report;

    r->verdict.change_advised = !r->verdict.refused && change_advised(r);
    r->verdict.text =
        apr_pstrcat(d->pool, verdict_lead(d), verdict_text(d), NULL);
    if (r->verdict.refused) {
        next(d, ka_source_words_of(r)->longer);
    }
    else {
        next_facts(d);
    }
    next_log_format(d);
    next_apply(d);
}
