/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What the clients of a source want: its trace, or draws. */
#include "stretch.h"

#include <string.h>
#include <apr_strings.h>

#include "../profile/trace_cut.h"

#define SECOND_US INT64_C(1000000)

/* Requests of the stretch that a report looks at.  A run takes some 0.3 us for
 * each, and a search some ten runs: drawn is, of logs that are counted within
 * moments, what gives p99.9 a meaning, and more only where it takes more for
 * some idle times to fit in. */
#define STRETCH_REQUESTS 50000
#define STRETCH_DRAWN 10000
#define STRETCH_LEAST_S 20
/* The same report every time. */
#define STRETCH_SEED 1

/* ---- a trace ------------------------------------------------------------ */

/* Requests [*first, *end) with most connections at T0: those of the busiest
 * hour, and of T0 before it, since that many are open as it begins; if these
 * are too many, those around its busiest second, a quarter of them after it. */
static void busiest_of(size_t *first, size_t *end, const ka_trace *trace,
                       int64_t timeout_us, size_t most, apr_pool_t *pool)
{
    const int64_t before_us = timeout_us > 0 ? timeout_us : 0;
    ka_demand demand;
    size_t peak = 0, after, i;

    *first = 0;
    *end = trace->request_n;
    if (trace->request_n <= most &&
        ka_trace_window(trace) <= KA_DEMAND_SECONDS * SECOND_US) {
        return; /* all of it */
    }
    if (!ka_demand_of_trace(&demand, trace, timeout_us, KA_DEMAND_HELD, pool)) {
        return;
    }
    for (i = 0; i < demand.n; i++) {
        peak = demand.holders[i] > demand.holders[peak] ? i : peak;
    }
    *first = ka_trace_at(trace, demand.first_us - before_us);
    *end = ka_trace_at(trace, demand.first_us + (int64_t)demand.n * SECOND_US);
    if (*end - *first > most) {
        after = ka_trace_at(trace, demand.first_us +
                                       (int64_t)(peak + 1) * SECOND_US);
        *end = *end - after > most / 4 ? after + most / 4 : *end;
        *first = *end - *first > most ? *end - most : *first;
    }
}

static apr_status_t from_part(ka_sim_traffic *traffic, const ka_trace *trace,
                              int64_t timeout_us, const ka_stretch_want *want,
                              apr_pool_t *pool)
{
    size_t first, end;
    ka_trace part;
    apr_status_t rv = APR_ENOMEM;

    busiest_of(&first, &end, trace, timeout_us, want->most, pool);
    if (ka_trace_cut(&part, trace, first, end)) {
        rv = ka_sim_traffic_of_trace(traffic, &part, pool);
        ka_trace_clear(&part);
    }
    return rv;
}

apr_status_t ka_stretch_of_trace(ka_stretch *out, const ka_trace *trace,
                                 int64_t timeout_us,
                                 const ka_stretch_want *want, apr_pool_t *pool)
{
    ka_sim_traffic *traffic = apr_palloc(pool, sizeof(*traffic));
    apr_status_t rv = want->busiest
                          ? from_part(traffic, trace, timeout_us, want, pool)
                          : ka_sim_traffic_of_trace(traffic, trace, pool);

    if (!rv && want->growth != 1) {
        ka_stretch_grow(traffic, traffic, want->growth, want->seed, pool);
    }
    out->traffic = traffic;
    out->requests = rv ? 0 : ka_stretch_requests(traffic);
    out->how = "the source's own requests and connections";
    return rv;
}

static apr_status_t of_connections(ka_stretch *out, const ka_analysis *a,
                                   const ka_stretch_want *want,
                                   apr_pool_t *pool)
{
    const ka_connections *c = &a->connections;
    apr_status_t rv = ka_stretch_of_trace(out, c->bracket ? &c->high : &c->low,
                                          a->report.timeout_us, want, pool);

    if (c->bracket) {
        out->how = "the source's own requests, on the most connections that "
                   "its lines allow";
    }
    return rv;
}

static apr_status_t of_segment(ka_stretch *out, const char **error,
                               const ka_analysis *a,
                               const ka_stretch_want *want, apr_pool_t *pool)
{
    const char *why_not = NULL;
    apr_status_t rv =
        a->live ? ka_stretch_recent(out, &why_not, a, want, pool) : APR_ENOENT;

    if (rv) {
        rv = ka_stretch_draw_hist(out, error, a, want, pool);
        out->how = rv || !why_not
                       ? out->how
                       : apr_pstrcat(pool, out->how, "; ", why_not, NULL);
    }
    ka_stretch_costs(out, a->hist);
    return rv;
}

/* ---- all of it ---------------------------------------------------------- */

static apr_status_t find(ka_stretch *out, const char **error,
                         const ka_analysis *a, const ka_stretch_want *want,
                         apr_pool_t *pool)
{
    if (a->hist) {
        return of_segment(out, error, a, want, pool);
    }
    if (a->tally) {
        return ka_stretch_draw_tally(out, error, a, want, pool);
    }
    if (a->connections.low.request_n > 0) {
        return of_connections(out, a, want, pool);
    }
    *error = a->served.n == 0 && !strcmp(a->source.kind, "log")
                 ? "there is no request to simulate in this log"
                 : "simulate takes access logs, a segment of mod_kastats, or "
                   "the profile of one server";
    return APR_EINVAL;
}

apr_status_t ka_stretch_of(ka_stretch *out, const char **error,
                           const ka_analysis *a, const ka_stretch_want *want,
                           apr_pool_t *pool)
{
    memset(out, 0, sizeof(*out));
    *error = "not enough memory to simulate this traffic; take a shorter span "
             "with --since and --until";
    if (a->member_n > 0) {
        *error = "simulate is about one server: give the profile of one";
        return APR_EINVAL;
    }
    return find(out, error, a, want, pool);
}

/* ---- for a report ------------------------------------------------------- */

static size_t most_drawn(const ka_analysis *a)
{
    const double idle_s =
        a->report.timeout_us > 0 ? (double)a->report.timeout_us / 1e6 : 0;
    const double requests = a->profile.total.requests_per_s *
                            (2 * idle_s + STRETCH_LEAST_S);

    return requests < STRETCH_DRAWN      ? STRETCH_DRAWN
           : requests < STRETCH_REQUESTS ? (size_t)requests
                                         : STRETCH_REQUESTS;
}

static bool stretch_at(ka_stretch *out, void *context, double growth,
                       apr_pool_t *pool)
{
    ka_analysis *a = context;
    const bool kept = !a->hist && !a->tally;
    const ka_stretch_want want = {
        .seed = STRETCH_SEED,
        .growth = growth,
        .busiest = true,
        .most = kept ? STRETCH_REQUESTS : most_drawn(a)};
    const char *error;

    if (!a->stretch_asked) {
        a->stretch_asked = true;
        a->stretch_found =
            !ka_stretch_of(&a->stretch, &error, a, &want, pool) &&
            a->stretch.traffic->chain_n > 0;
    }
    *out = a->stretch;
    return a->stretch_found;
}

ka_stretch_source ka_stretch_source_of(ka_analysis *analysis)
{
    return (ka_stretch_source){stretch_at, analysis};
}
