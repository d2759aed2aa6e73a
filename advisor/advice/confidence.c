/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * How far the data carries (MODEL 6, R13).  A table of shortcomings, each
 * with the confidence that it leaves; the weakest counts and names itself.
 */
#include "group.h"

#include <string.h>
#include <apr_strings.h>

#include "../words.h"

/* Under these there is nothing to advise from. */
#define LEAST_REQUESTS 100
#define LEAST_WINDOW_S 60.0
/* MODEL 6. */
#define BUSY_HOUR_S 3600.0
#define ENOUGH_CONNECTIONS 1000
#define HTTP2_SHARE 0.2
#define SKIPPED_SHARE 0.1
/* Starts that were moved distort gaps. */
#define LATE_SHARE 0.01

static const ka_source_words source_words[] = {
    {"log", "log",
     "Run it on a longer log: one busy day, all rotated files together.",
     "Run this again on the log of the day after.",
     "this log has too little for single seconds"},
    {"segment", "segment",
     "Run it again when the module has recorded for longer: one busy day.",
     "Run this again on the segment of the day after.",
     "this segment has no history of single seconds to tell from"},
    {"profile", "profile",
     "Run it on profiles of more time: one busy day of each server.",
     "Run this again on the profiles of the day after.",
     "profiles keep no single seconds"},
    {"prometheus", "window",
     "Run it over a longer --window: one busy day.",
     "Run this again, with --window 1d, the day after.",
     "Prometheus keeps no single seconds"}};

const ka_source_words *ka_source_words_of(const ka_report *report)
{
    const char *kind = report->source->kind;
    size_t i, n = sizeof(source_words) / sizeof(source_words[0]);

    for (i = 0; kind && i < n; i++) {
        if (!strcmp(kind, source_words[i].kind)) {
            return &source_words[i];
        }
    }
    return &source_words[0];
}

bool ka_identity_is_exact(const ka_report *report)
{
    return !strcmp(report->identity, "port") || report->profile->live;
}

typedef const char *shortcoming(const ka_report *report, apr_pool_t *pool);

static const char *too_few(const ka_report *report, apr_pool_t *pool)
{
    if (report->profile->total.requests >= LEAST_REQUESTS) {
        return NULL;
    }
    return apr_psprintf(pool,
                        "%s, and at least %d are needed to say anything",
                        ka_words_plural(pool,
                                        (int64_t)report->profile->total
                                            .requests,
                                        "request"),
                        LEAST_REQUESTS);
}

/* "the log covers 12m"; of a group, what is known of one server at the most:
 * minutes of many make no hour. */
static const char *covers(const ka_report *report, apr_pool_t *pool)
{
    return apr_psprintf(
        pool, "the %s%s covers %s", report->host_n > 0 ? "longest " : "",
        ka_source_words_of(report)->noun,
        ka_words_duration(pool, ka_longest_window(report) * 1e6));
}

static const char *too_short(const ka_report *report, apr_pool_t *pool)
{
    if (ka_longest_window(report) >= LEAST_WINDOW_S) {
        return NULL;
    }
    return apr_pstrcat(pool, covers(report, pool),
                       ", and at least a minute, better a busy hour, is "
                       "needed",
                       NULL);
}

static const char *bracketed(const ka_report *report, apr_pool_t *pool)
{
    (void)pool;
    if (!report->profile->bracket) {
        return NULL;
    }
    return "the log does not tell connections apart, so every number that "
           "depends on them is a range";
}

static const char *no_service(const ka_report *report, apr_pool_t *pool)
{
    (void)pool;
    if (ka_service_known(report->profile)) {
        return NULL;
    }
    return "the log has no service times (%D), so busy workers are not "
           "counted";
}

static const char *under_an_hour(const ka_report *report, apr_pool_t *pool)
{
    if (ka_longest_window(report) >= BUSY_HOUR_S) {
        return NULL;
    }
    return apr_pstrcat(pool, covers(report, pool), ", less than one busy hour",
                       NULL);
}

static const char *few_connections(const ka_report *report, apr_pool_t *pool)
{
    if (report->profile->high.connections >= ENOUGH_CONNECTIONS) {
        return NULL;
    }
    return apr_psprintf(pool, "%s, fewer than 1,000",
                        ka_words_plural(pool,
                                        (int64_t)report->profile->high
                                            .connections,
                                        "connection"));
}

static const char *hidden_http2(const ka_report *report, apr_pool_t *pool)
{
    double share = (double)report->profile->http2 /
                   (double)report->profile->total.requests;

    if (share <= HTTP2_SHARE || ka_identity_is_exact(report)) {
        return NULL;
    }
    return apr_psprintf(pool,
                        "%s of requests are HTTP/2 and the log has no remote "
                        "port: their connections are guessed, one per client",
                        ka_words_share(pool, share));
}

static const char *many_skipped(const ka_report *report, apr_pool_t *pool)
{
    double share = (double)report->source->skipped /
                   (double)(report->source->lines ? report->source->lines : 1);

    return share <= SKIPPED_SHARE
               ? NULL
               : apr_psprintf(pool, "%s of the lines could not be read",
                              ka_words_share(pool, share));
}

static const char *many_late(const ka_report *report, apr_pool_t *pool)
{
    double share = (double)report->source->late /
                   (double)report->profile->total.requests;

    return share <= LATE_SHARE
               ? NULL
               : apr_psprintf(pool,
                              "%s of the requests were so far out of order "
                              "that their start was moved; name the files "
                              "one by one instead of piping them together",
                              ka_words_share(pool, share));
}

/* The first of the servers for which it is. */
static const char *assumed_somewhere(const ka_report *report, apr_pool_t *pool)
{
    size_t i;

    for (i = 0; i < report->host_n; i++) {
        const ka_report *host = report->hosts[i];

        if (host->server->facts[KA_FACT_TIMEOUT].assumed) {
            return apr_psprintf(
                pool,
                "the present KeepAliveTimeout of some servers is not known "
                "(of %s: %s)",
                ka_words_clean(pool, host->host, false),
                host->server->facts[KA_FACT_TIMEOUT].origin);
        }
    }
    return NULL;
}

static const char *assumed_timeout(const ka_report *report, apr_pool_t *pool)
{
    const ka_fact *fact = &report->server->facts[KA_FACT_TIMEOUT];

    if (report->facts_differ[KA_FACT_TIMEOUT]) {
        return assumed_somewhere(report, pool);
    }
    return fact->assumed ? apr_psprintf(pool,
                                        "the present KeepAliveTimeout is not "
                                        "known (%s)",
                                        fact->origin)
                         : NULL;
}

static const char *guessed_identity(const ka_report *report, apr_pool_t *pool)
{
    (void)pool;
    return strcmp(report->identity, "time") || report->profile->bracket
               ? NULL
               : "connections are inferred from times, not logged";
}

static const struct {
    shortcoming *find;
    ka_confidence leaves;
    bool refuse;
} shortcomings[] = {{too_few, KA_CONFIDENCE_LOW, true},
                    {too_short, KA_CONFIDENCE_LOW, true},
                    {bracketed, KA_CONFIDENCE_LOW, false},
                    {no_service, KA_CONFIDENCE_LOW, false},
                    {under_an_hour, KA_CONFIDENCE_LOW, false},
                    {few_connections, KA_CONFIDENCE_LOW, false},
                    {hidden_http2, KA_CONFIDENCE_LOW, false},
                    {many_skipped, KA_CONFIDENCE_LOW, false},
                    {many_late, KA_CONFIDENCE_LOW, false},
                    {ka_held_too_wide, KA_CONFIDENCE_LOW, false},
                    {ka_workers_too_wide, KA_CONFIDENCE_LOW, false},
                    {ka_held_wide, KA_CONFIDENCE_MEDIUM, false},
                    {ka_workers_wide, KA_CONFIDENCE_MEDIUM, false},
                    {ka_knee_wide, KA_CONFIDENCE_MEDIUM, false},
                    {assumed_timeout, KA_CONFIDENCE_MEDIUM, false},
                    {guessed_identity, KA_CONFIDENCE_MEDIUM, false}};

void ka_judge_confidence(ka_decision *d)
{
    ka_report *report = d->report;
    const char *why = NULL;
    size_t i;

    report->verdict.confidence = KA_CONFIDENCE_HIGH;
    for (i = 0; i < sizeof(shortcomings) / sizeof(shortcomings[0]); i++) {
        const char *found = shortcomings[i].find(report, d->pool);

        if (!found) {
            continue;
        }
        if (shortcomings[i].leaves < report->verdict.confidence) {
            report->verdict.confidence = shortcomings[i].leaves;
        }
        if (shortcomings[i].refuse) {
            report->verdict.refused = true;
        }
        why = why ? apr_pstrcat(d->pool, why, "; ", found, NULL) : found;
        if (report->verdict.refused) {
            break;
        }
    }
    report->verdict.confidence_why = why;
}
