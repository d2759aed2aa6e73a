/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_survival.h"

#include <stdlib.h>

/* What became of a connection that timed out. */
typedef struct outcome {
    int64_t over_us; /* beyond T0: until the next one, or until the end */
    bool returned;
} outcome;

static int compare_spans(const void *a, const void *b)
{
    const ka_span *x = a, *y = b;

    if (x->client != y->client) {
        return x->client < y->client ? -1 : 1;
    }
    return (x->start_us > y->start_us) - (x->start_us < y->start_us);
}

/* Those that return at a time still are there until then. */
static int compare_outcomes(const void *a, const void *b)
{
    const outcome *x = a, *y = b;

    if (x->over_us != y->over_us) {
        return x->over_us < y->over_us ? -1 : 1;
    }
    return (int)y->returned - (int)x->returned;
}

/* Of one client's connections that timed out and were not taken up yet, the
 * one that was idle last before `span` began.  @return n: there is none */
static size_t earlier_of(const ka_span *spans, const bool *taken, size_t n,
                         size_t first, const ka_span *span)
{
    size_t i, best = n;

    for (i = first; &spans[i] < span; i++) {
        if (spans[i].timed_out && !taken[i] &&
            spans[i].idle_us + spans[i].limit_us < span->first_us &&
            (best == n || spans[i].idle_us > spans[best].idle_us)) {
            best = i;
        }
    }
    return best;
}

/* outcomes[k]: of spans[i], the kth that timed out.  A client with very many
 * connections (a proxy) is looked at through a window of its latest ones. */
#define WINDOW 256

static void link_spans(outcome *outcomes, bool *taken, const size_t *place,
                       const ka_span *spans, size_t n, int64_t end_us)
{
    size_t first = 0, i;

    for (i = 0; i < n; i++) {
        size_t earlier;

        if (spans[i].client != spans[first].client) {
            first = i;
        }
        if (i - first > WINDOW) {
            first = i - WINDOW;
        }
        earlier = spans[i].start_us < end_us
                      ? earlier_of(spans, taken, n, first, &spans[i])
                      : n;
        if (earlier < n) {
            taken[earlier] = true;
            outcomes[place[earlier]] = (outcome){
                .over_us = spans[i].first_us - spans[earlier].idle_us -
                           spans[earlier].limit_us,
                .returned = true};
        }
    }
}

/* The product limit: at each return, those that return of those that are
 * still waiting. */
static void product_limit(ka_survival *out, const outcome *outcomes, size_t n,
                          apr_pool_t *pool)
{
    int64_t *over_us = apr_palloc(pool, n * sizeof(*over_us));
    double *shares = apr_palloc(pool, n * sizeof(*shares));
    double share = 1;
    size_t i;

    out->n = 0;
    for (i = 0; i < n; i++) {
        if (!outcomes[i].returned) {
            continue;
        }
        share *= 1 - 1 / (double)(n - i);
        if (out->n > 0 && over_us[out->n - 1] == outcomes[i].over_us) {
            out->n--;
        }
        over_us[out->n] = outcomes[i].over_us;
        shares[out->n++] = share;
    }
    out->over_us = over_us;
    out->share = shares;
}

void ka_survival_make(ka_survival *out, ka_span *spans, size_t n,
                      int64_t end_us, apr_pool_t *pool)
{
    outcome *outcomes = apr_palloc(pool, (n + 1) * sizeof(*outcomes));
    size_t *place = apr_pcalloc(pool, (n + 1) * sizeof(*place));
    bool *taken = apr_pcalloc(pool, n + 1);
    size_t timed_out = 0, i;

    *out = (ka_survival){0};
    qsort(spans, n, sizeof(*spans), compare_spans);
    for (i = 0; i < n; i++) {
        int64_t over = end_us == KA_SPANS_ALL
                           ? KA_SPANS_ALL
                           : end_us - spans[i].idle_us - spans[i].limit_us;

        if (spans[i].timed_out && over > 0) {
            place[i] = timed_out;
            outcomes[timed_out++] = (outcome){.over_us = over};
        }
        else {
            taken[i] = true;
        }
    }
    if (timed_out < KA_SURVIVAL_LEAST) {
        return;
    }
    link_spans(outcomes, taken, place, spans, n, end_us);
    qsort(outcomes, timed_out, sizeof(*outcomes), compare_outcomes);
    product_limit(out, outcomes, timed_out, pool);
}

/* ---- connections of a segment -------------------------------------------- */

#define TIME_MAX (INT64_C(1) << 59)

int64_t ka_survival_within(int64_t us)
{
    return us < -TIME_MAX ? -TIME_MAX : us > TIME_MAX ? TIME_MAX : us;
}

static ka_span span_of(const ka_segment_recent *r,
                       const ka_segment_vhost *vhosts)
{
    return (ka_span){
        .client = r->client_hash,
        .start_us = ka_survival_within(r->started_at),
        .first_us = ka_survival_within(ka_recent_first_request(r)),
        .idle_us = ka_survival_within(ka_recent_last_response(r)),
        .timed_out = r->reason == KA_REASON_IDLE_TIMEOUT,
        .limit_us = ka_survival_within(vhosts[r->vhost].keep_alive_timeout_us)};
}

void ka_survival_recent(ka_survival *out, const ka_segment_recent *recent,
                        size_t n, const ka_segment_vhost *vhosts,
                        int64_t end_us, apr_pool_t *pool)
{
    ka_span *spans = apr_palloc(pool, (n + 1) * sizeof(*spans));
    size_t span_n = 0, i;

    for (i = 0; i < n; i++) {
        if (recent[i].requests) {
            spans[span_n++] = span_of(&recent[i], vhosts);
        }
    }
    ka_survival_make(out, spans, span_n, end_us, pool);
}

double ka_survival_at(const ka_survival *survival, int64_t over_us)
{
    double share = 1;
    size_t i;

    for (i = 0; i < survival->n && survival->over_us[i] <= over_us; i++) {
        share = survival->share[i];
    }
    return share;
}
