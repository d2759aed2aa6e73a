/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Where the servers of a group are too different for one configuration. */
#include "group.h"

#include <stdlib.h>
#include <apr_strings.h>

#include <ka_units.h>
#include "../words.h"

/* T* of a server is another one than the group's: over this factor, and at
 * least so much. */
#define TIMEOUT_FACTOR 2
#define TIMEOUT_LEAST_US INT64_C(2000000)
/* Workers beyond those of the median server: over this factor, and so many
 * that it matters. */
#define WORKERS_FACTOR 2
#define WORKERS_LEAST 10
/* Servers, and values, that a sentence names. */
#define NAMED 8
#define VALUES 4

static const char *name_of(const ka_decision *d, const ka_report *host)
{
    return ka_words_clean(d->pool, host->host ? host->host : "(no name)",
                          false);
}

/* ---- a list of servers, of which the first are named -------------------- */

typedef struct names {
    const char *text; /* NULL: none */
    size_t n;
} names;

static void add_name(const ka_decision *d, names *list, const char *name)
{
    if (list->n++ < NAMED) {
        list->text = list->text
                         ? apr_pstrcat(d->pool, list->text, ", ", name, NULL)
                         : name;
    }
}

static const char *names_text(const ka_decision *d, const names *list)
{
    return list->n <= NAMED
               ? list->text
               : apr_psprintf(
                     d->pool, "%s and %s more", list->text,
                     ka_words_count(d->pool, (int64_t)(list->n - NAMED)));
}

/* ---- advice -------------------------------------------------------------- */

/* The group's answer and the server's for the same MPM; false: none, or no
 * advice for the server alone. */
static bool answers_of(const ka_mpm_answer **group, const ka_mpm_answer **own,
                       const ka_decision *d, const ka_report *host)
{
    const ka_report *r = d->report;
    size_t i, k;

    for (i = 0; i < r->answer_n && !host->verdict.refused; i++) {
        for (k = 0; k < host->answer_n; k++) {
            if (r->answers[i].mpm == host->answers[k].mpm) {
                *group = &r->answers[i];
                *own = &host->answers[k];
                return true;
            }
        }
    }
    return false;
}

static bool far_apart(int64_t a, int64_t b)
{
    int64_t least = a < b ? a : b, most = a < b ? b : a;

    if (least == KA_TIMEOUT_OFF) {
        return most != KA_TIMEOUT_OFF;
    }
    return most - least >= TIMEOUT_LEAST_US && most > TIMEOUT_FACTOR * least;
}

static const char *other_timeouts(const ka_decision *d)
{
    const ka_report *r = d->report;
    names list = {NULL, 0};
    size_t i;

    for (i = 0; i < r->host_n; i++) {
        const ka_report *host = r->hosts[i];
        const ka_mpm_answer *group, *own;
        int64_t to, at;

        if (!answers_of(&group, &own, d, host)) {
            continue;
        }
        to = r->high[group->choice.index].timeout_us;
        at = host->high[own->choice.index].timeout_us;
        if (far_apart(to, at)) {
            add_name(d, &list,
                     apr_psprintf(d->pool, "%s %s instead of %s",
                                  name_of(d, host),
                                  ka_words_timeout(d->pool, at),
                                  ka_words_timeout(d->pool, to)));
        }
    }
    return list.n ? apr_psprintf(d->pool,
                                 " By their own traffic, KeepAliveTimeout "
                                 "would be another one for: %s.",
                                 names_text(d, &list))
                  : "";
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Workers that each server needs under the group's timeout, ascending by the
 * servers; -1: no advice for it alone. */
static double *needs_of(const ka_decision *d)
{
    const ka_report *r = d->report;
    double *needs = apr_palloc(d->pool, r->host_n * sizeof(*needs));
    size_t i;

    for (i = 0; i < r->host_n; i++) {
        const ka_report *host = r->hosts[i];
        const ka_mpm_answer *group, *own;
        int64_t to;

        needs[i] = -1;
        if (answers_of(&group, &own, d, host)) {
            to = r->high[group->choice.index].timeout_us;
            needs[i] = own->fits[ka_timeout_index(host, to)].workers;
        }
    }
    return needs;
}

/* Of an even number the lower middle one: a server that there is. */
static double median_of(const ka_decision *d, const double *needs)
{
    size_t n = d->report->host_n, skip = 0;
    double *sorted = apr_pmemdup(d->pool, needs, n * sizeof(*sorted));

    qsort(sorted, n, sizeof(*sorted), by_value);
    while (skip < n && sorted[skip] < 0) {
        skip++;
    }
    return skip < n ? sorted[skip + (n - skip - 1) / 2] : 0;
}

static const char *many_workers(const ka_decision *d)
{
    const double *needs = needs_of(d);
    double median = median_of(d, needs);
    names list = {NULL, 0};
    size_t i;

    for (i = 0; i < d->report->host_n; i++) {
        if (needs[i] >= WORKERS_LEAST && needs[i] > WORKERS_FACTOR * median) {
            add_name(d, &list,
                     apr_psprintf(d->pool, "%s %s",
                                  name_of(d, d->report->hosts[i]),
                                  ka_words_whole(d->pool, needs[i])));
        }
    }
    return list.n ? apr_psprintf(d->pool,
                                 " Over twice the %s workers of the median "
                                 "server are needed by: %s.",
                                 ka_words_whole(d->pool, median),
                                 names_text(d, &list))
                  : "";
}

const char *ka_warn_hosts_differ(const ka_decision *d)
{
    const char *text;

    if (d->report->host_n < 2 || d->report->verdict.refused) {
        return NULL;
    }
    text = apr_pstrcat(d->pool, other_timeouts(d), many_workers(d), NULL);
    return *text ? apr_pstrcat(d->pool,
                               "One configuration fits some of these servers "
                               "badly.",
                               text,
                               " Give them settings of their own: run this on "
                               "each of them alone, and on the others "
                               "together.",
                               NULL)
                 : NULL;
}

const char *ka_warn_hosts_refused(const ka_decision *d)
{
    const ka_report *r = d->report;
    names list = {NULL, 0};
    size_t i;

    for (i = 0; i < r->host_n; i++) {
        if (r->hosts[i]->verdict.refused) {
            add_name(d, &list, name_of(d, r->hosts[i]));
        }
    }
    return list.n ? apr_psprintf(d->pool,
                                 "These have too little data for advice of "
                                 "their own: %s. What there is counts for the "
                                 "group.",
                                 names_text(d, &list))
                  : NULL;
}

/* ---- facts --------------------------------------------------------------- */

/* Servers with one value of a fact. */
typedef struct shared_value {
    const ka_report *first;
    size_t n;
} shared_value;

/* Fills values[VALUES], in order of the servers' names.
 * @param others  servers with further ones
 * @return how many there are */
static size_t values_of(shared_value *values, size_t *others,
                        const ka_report *r, ka_fact_id fact)
{
    size_t n = 0, i, k;

    *others = 0;
    for (i = 0; i < r->host_n; i++) {
        const ka_fact *own = &r->hosts[i]->server->facts[fact];

        if (!own->known) {
            continue;
        }
        for (k = 0; k < n; k++) {
            if (values[k].first->server->facts[fact].value == own->value) {
                break;
            }
        }
        if (k == VALUES) {
            ++*others;
            continue;
        }
        if (k == n) {
            values[n++].first = r->hosts[i];
        }
        values[k].n++;
    }
    return n;
}

static const char *fact_text(const ka_decision *d, ka_fact_id fact)
{
    shared_value values[VALUES] = {{NULL, 0}};
    size_t others, n = values_of(values, &others, d->report, fact), i;
    const char *text = "";

    for (i = 0; i < n; i++) {
        const ka_report *first = values[i].first;
        char buffer[KA_UNITS_BUFFER];
        const char *more = "";

        if (values[i].n > 1) {
            more =
                apr_psprintf(d->pool, " and %s more",
                             ka_words_count(d->pool, (int64_t)values[i].n - 1));
        }
        text =
            apr_psprintf(d->pool, "%s%s%s%s on %s%s", text, i ? ", " : "",
                         ka_fact_text(buffer, first->server, fact),
                         first->server->facts[fact].assumed ? " (assumed)" : "",
                         name_of(d, first), more);
    }
    if (others) {
        text = apr_psprintf(d->pool, "%s, further ones on %s more", text,
                            ka_words_count(d->pool, (int64_t)others));
    }
    return apr_psprintf(d->pool, "%s (%s)", ka_fact_info_of(fact)->label, text);
}

const char *ka_warn_host_facts(const ka_decision *d)
{
    const char *text = NULL;
    int i;

    for (i = 0; i < KA_FACTS; i++) {
        if (d->report->facts_differ[i]) {
            text = apr_pstrcat(d->pool, text ? text : "", text ? "; " : "",
                               fact_text(d, (ka_fact_id)i), NULL);
        }
    }
    return text ? apr_psprintf(d->pool,
                               "These servers are not set up alike. No one "
                               "value holds for the group of: %s.",
                               text)
                : NULL;
}
