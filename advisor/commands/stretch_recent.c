/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What the clients of a segment want, from its ring of recent connections. */
#include "stretch.h"

#include <apr_strings.h>

#include "../profile/live.h"
#include "../profile/recent_trace.h"
#include "../profile/trace_cut.h"
#include "../words.h"

#define SECOND_US INT64_C(1000000)
#define HOUR_S 3600

/* A shorter span, or fewer connections, say little; T0 is lost at its begin,
 * since what was open there is not all known. */
#define LEAST_US (60 * SECOND_US)
#define LEAST_TIMEOUTS 10
#define LEAST_CONNECTIONS 100

/* The ring holds the last connections, not the most: at less than this part of
 * the busiest hour's rate draws of that hour tell more. */
#define LEAST_RATE 0.5

/* Requests in it are those of connections in the ring. */
typedef struct span {
    int64_t begin_us, end_us;
} span;

static int64_t closed_at(const ka_segment_recent *r)
{
    return ka_survival_within((int64_t)((uint64_t)r->started_at + r->life_us));
}

/* Once the ring has turned over, those that closed before its oldest are not
 * in it; those that began lately may be open still. */
static span span_of(const ka_live *live)
{
    span s = {INT64_MIN, ka_live_known_until(live)};
    size_t i;

    if (!live->recent_whole) {
        for (i = 0; i < live->recent_n; i++) {
            const int64_t at = closed_at(&live->recent[i]);

            s.begin_us = i == 0 || at < s.begin_us ? at : s.begin_us;
        }
    }
    return s;
}

/* Connections a second of the hour with most; 0: not known. */
static double busiest_rate(const ka_live *live)
{
    uint64_t sum = 0, most = 0;
    size_t t, n = live->narrowed ? 0 : live->history_n;

    for (t = 0; t < n; t++) {
        sum += live->history[t].connections;
        sum -= t >= HOUR_S ? live->history[t - HOUR_S].connections : 0;
        most = sum > most ? sum : most;
    }
    return n ? (double)most / (double)(n < HOUR_S ? n : HOUR_S) : 0;
}

/* Why draws tell more; NULL: they do not. */
static const char *unfit(const ka_analysis *a, const ka_trace *part,
                         apr_pool_t *pool)
{
    const int64_t timeout = a->report.timeout_us > 0 ? a->report.timeout_us : 0;
    const int64_t us = ka_trace_window(part);
    const double rate =
        us > 0 ? (double)part->chain_n * SECOND_US / (double)us : 0;

    if (a->live->recent_whole && a->live->total->open == 0 &&
        part->chain_n > 0) {
        return NULL; /* all there ever was */
    }
    if (part->chain_n < LEAST_CONNECTIONS || us < LEAST_US ||
        us / LEAST_TIMEOUTS < timeout) {
        return apr_psprintf(
            pool, "the recent connections cover %s of it, too little",
            ka_words_duration(pool, (double)us));
    }
    if (rate < LEAST_RATE * busiest_rate(a->live)) {
        return "the recent connections are from a quieter time";
    }
    return NULL;
}

static const bool *wanted_of(const ka_live *live, apr_pool_t *pool)
{
    const ka_segment_vhost *first = live->snapshot.vhosts;
    bool *wanted =
        apr_pcalloc(pool, (live->snapshot.vhost_n + 1) * sizeof(*wanted));
    size_t i;

    for (i = 0; i < live->vhost_n; i++) {
        wanted[live->vhosts[i].vhost - first] = true;
    }
    return wanted;
}

apr_status_t ka_stretch_recent(ka_stretch *out, const char **why_not,
                               const ka_analysis *a,
                               const ka_stretch_want *want, apr_pool_t *pool)
{
    const ka_live *live = a->live;
    span s = span_of(live);
    ka_trace trace, part;
    apr_status_t rv = APR_ENOMEM;

    *why_not = "the ring of recent connections cannot be used";
    if (!ka_recent_trace(&trace, live->recent, live->recent_n,
                         &a->profile.total.gap, wanted_of(live, pool),
                         want->seed, pool)) {
        return rv;
    }
    if (ka_trace_cut(&part, &trace, ka_trace_at(&trace, s.begin_us),
                     ka_trace_at(&trace, s.end_us))) {
        *why_not = unfit(a, &part, pool);
        rv = *why_not ? APR_ENOENT
                      : ka_stretch_of_trace(out, &part, a->report.timeout_us,
                                            want, pool);
        out->how = "the recent connections of the segment, their requests "
                   "rebuilt";
        ka_trace_clear(&part);
    }
    ka_trace_clear(&trace);
    return rv;
}
