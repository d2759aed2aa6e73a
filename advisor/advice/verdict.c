/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The sentence at the top, and what to do next. */
#include "decide.h"

#include <string.h>
#include <apr_strings.h>

#include "../words.h"
#include "../sources/logformat.h"

/* A change counts for the verdict (and --check) where the present value is
 * known: what nobody told us cannot be called wrong. */
static bool counts(const ka_advice *row)
{
    return row->change && row->from != NULL;
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

/* What one answer changes, in half a sentence. */
static const char *answer_text(const ka_decision *d, const ka_mpm_answer *a)
{
    const ka_report *r = d->report;
    apr_pool_t *p = d->pool;
    const ka_outcome *to = &r->high[a->choice.index];
    const ka_outcome *to_low = &r->low[a->choice.index];
    const ka_outcome *now = &r->high[r->now];
    const ka_outcome *now_low = &r->low[r->now];
    const char *numbers;

    if (a->choice.index == r->now) {
        return to->timeout_us == KA_TIMEOUT_OFF
                   ? "leave KeepAlive Off"
                   : apr_psprintf(p, "leave KeepAliveTimeout at %s",
                                  ka_words_timeout(p, to->timeout_us));
    }
    numbers = apr_psprintf(
        p, "%s %s held in the mean instead of %s, reuse %s instead of %s",
        ka_words_range(p, ka_words_number, to_low->held_mean, to->held_mean),
        holders(a),
        ka_words_range(p, ka_words_number, now_low->held_mean,
                       now->held_mean),
        ka_words_range(p, ka_words_share, to_low->reuse, to->reuse),
        ka_words_range(p, ka_words_share, now_low->reuse, now->reuse));
    if (to->timeout_us == KA_TIMEOUT_OFF) {
        return apr_psprintf(p, "set KeepAlive Off (%s now): %s",
                            ka_words_timeout(p, r->timeout_us), numbers);
    }
    return apr_psprintf(p, "set KeepAliveTimeout to %s (%s now%s): %s",
                        ka_words_timeout(p, to->timeout_us),
                        ka_words_timeout(p, r->timeout_us),
                        r->server->facts[KA_FACT_TIMEOUT].assumed
                            ? ", assumed"
                            : "",
                        numbers);
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
                             ka_source_word(d->report), list));
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
            "then reload; ServerLimit and ThreadLimit need a full restart.");
    next(d, apr_psprintf(d->pool, "Run this again on the %s of the day after.",
                         ka_source_word(d->report)));
}

void ka_judge_verdict(ka_decision *d)
{
    ka_report *r = d->report;

    r->verdict.change_advised = !r->verdict.refused && change_advised(r);
    r->verdict.text = verdict_text(d);
    if (r->verdict.refused) {
        next(d, r->profile->live
                    ? "Run it again when the module has recorded for longer: "
                      "one busy day."
                    : "Run it on a longer log: one busy day, all rotated "
                      "files together.");
    }
    else {
        next_facts(d);
    }
    next_log_format(d);
    next_apply(d);
}
