/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "recent_trace.h"

#include <stdlib.h>
#include <string.h>

#include <ka_segment_reader.h>
#include <ka_survival.h>
#include "../model/random.h"

/* A client's connections that are looked back at for one to go on from. */
#define WINDOW 64

#define NO_SPAN SIZE_MAX

typedef struct span {
    const ka_segment_recent *of;
    int64_t first_us, last_us; /* first request's begin, last response's end */
    size_t before;             /* the one that it goes on from; NO_SPAN */
    bool taken;                /* another goes on from it */
    uint32_t chain;
} span;

typedef struct piece { /* a request */
    int64_t begin_us, end_us;
    size_t span;
} piece;

/* Times of a foreign file may be any. */
static int64_t time_of(uint64_t us)
{
    return us < (uint64_t)KA_TRACE_TIME_MAX ? (int64_t)us : KA_TRACE_TIME_MAX;
}

/* ---- connections -------------------------------------------------------- */

/* Whether the client might have gone on with it. */
static bool server_closed(unsigned reason)
{
    static const bool by_server[KA_REASON_N] = {
        [KA_REASON_IDLE_TIMEOUT] = true,  [KA_REASON_MAX_REQUESTS] = true,
        [KA_REASON_KEEPALIVE_OFF] = true, [KA_REASON_POLICY] = true,
        [KA_REASON_EVICTED] = true,       [KA_REASON_RETIRED] = true,
        [KA_REASON_GRACEFUL] = true};

    return reason < KA_REASON_N && by_server[reason];
}

static size_t take_spans(span *spans, uint64_t *requests,
                         const ka_segment_recent *recent, size_t n,
                         const bool *wanted)
{
    size_t i, span_n = 0;

    *requests = 0;
    for (i = 0; i < n; i++) {
        const ka_segment_recent *r = &recent[i];
        span *s = &spans[span_n];

        if (r->requests == 0 || (wanted && !wanted[r->vhost])) {
            continue;
        }
        *s = (span){
            .of = r,
            .first_us = ka_survival_within(ka_recent_first_request(r)),
            .last_us = ka_survival_within(ka_recent_last_response(r)),
            .before = NO_SPAN};
        s->last_us = s->last_us > s->first_us ? s->last_us : s->first_us;
        *requests += r->requests;
        span_n++;
    }
    return span_n;
}

static int by_client(const void *a, const void *b)
{
    const span *x = a, *y = b;

    if (x->of->client_hash != y->of->client_hash) {
        return x->of->client_hash < y->of->client_hash ? -1 : 1;
    }
    return (x->first_us > y->first_us) - (x->first_us < y->first_us);
}

static void link_spans(span *spans, size_t n)
{
    size_t i, k;

    for (i = 1; i < n; i++) {
        span *best = NULL;

        for (k = i; k > 0 && i - k < WINDOW; k--) {
            span *s = &spans[k - 1];

            if (s->of->client_hash != spans[i].of->client_hash) {
                break;
            }
            if (!s->taken && server_closed(s->of->reason) &&
                s->last_us <= spans[i].first_us &&
                (!best || s->last_us > best->last_us)) {
                best = s;
            }
        }
        if (best) {
            best->taken = true;
            spans[i].before = (size_t)(best - spans);
        }
    }
}

/* ---- gaps --------------------------------------------------------------- */

/* Gaps below a connection's longest, as likely as they were recorded. */
typedef struct gaps {
    const ka_hist *h;
    double below[KA_HIST_BINS + 1]; /* those in bins before it */
} gaps;

static gaps *gaps_of(const ka_hist *h, apr_pool_t *pool)
{
    gaps *g = apr_palloc(pool, sizeof(*g));
    size_t i;

    g->h = h;
    g->below[0] = 0;
    for (i = 0; i < KA_HIST_BINS; i++) {
        g->below[i + 1] = g->below[i] + (h ? (double)h->bins[i].count : 0);
    }
    return g;
}

/* A bin's gaps are as long as their mean. */
static double draw_gap(const gaps *g, int64_t longest_us, ka_random *random)
{
    size_t least = 0, most = ka_hist_bin_index((uint64_t)longest_us);
    const double at = ka_random_unit(random) * g->below[most + 1];

    while (least < most) {
        const size_t middle = least + (most - least) / 2;

        if (g->below[middle + 1] > at) {
            most = middle;
        }
        else {
            least = middle + 1;
        }
    }
    return g->below[least + 1] > g->below[least]
               ? (double)g->h->bins[least].sum /
                     (double)g->h->bins[least].count
               : 1;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* out[n]: drawn, then stretched so that they add up to rest_us, none above the
 * longest as far as that is possible. */
static void share_out(int64_t *out, size_t n, int64_t rest_us,
                      int64_t longest_us, const gaps *g, ka_random *random)
{
    double sum = 0, left = (double)rest_us;
    size_t i;

    for (i = 0; i < n; i++) {
        out[i] = (int64_t)draw_gap(g, longest_us, random);
        out[i] = out[i] > 0 ? out[i] : 1;
        sum += (double)out[i];
    }
    for (i = 0; i < n; i++) {
        const double drawn = (double)out[i];

        out[i] = least((int64_t)(drawn / sum * left), longest_us);
        sum -= drawn;
        left -= (double)out[i];
    }
    for (i = 0; i < n && left >= 1; i++) {
        const int64_t more = least((int64_t)left, longest_us - out[i]);

        out[i] += more;
        left -= (double)more;
    }
}

/* ---- requests ----------------------------------------------------------- */

/* gaps_us[n - 1]: those between the connection's n requests. */
static void set_gaps(int64_t *gaps_us, const ka_segment_recent *r,
                     int64_t idle_us, const gaps *g, ka_random *random)
{
    const size_t n = r->requests - 1;
    const int64_t longest = least(time_of(r->longest_gap_us), idle_us);
    size_t at;

    if (n <= 1) {
        gaps_us[0] = idle_us;
        return;
    }
    share_out(gaps_us, n - 1, idle_us - longest, longest, g, random);
    at = ka_random_below(random, (uint32_t)n);
    gaps_us[n - 1] = gaps_us[at];
    gaps_us[at] = longest;
}

/* @param gaps_us  room for as many as there are requests */
static void add_requests(piece *pieces, const span *s, size_t number,
                         int64_t *gaps_us, const gaps *g, ka_random *random)
{
    const uint32_t n = s->of->requests;
    const int64_t whole = s->last_us - s->first_us;
    const int64_t idle = n > 1 ? least(time_of(s->of->idle_us), whole) : 0;
    int64_t at = s->first_us, busy = whole;
    uint32_t k;

    if (n > 1) {
        set_gaps(gaps_us, s->of, idle, g, random);
    }
    for (k = 0; k + 1 < n; k++) {
        busy -= gaps_us[k];
    }
    for (k = 0; k < n; k++) {
        at += k > 0 ? gaps_us[k - 1] : 0;
        pieces[k] = (piece){.begin_us = at, .span = number};
        at += busy / n + (k < busy % n);
        pieces[k].end_us = at;
    }
}

static int by_begin(const void *a, const void *b)
{
    const piece *x = a, *y = b;

    if (x->begin_us != y->begin_us) {
        return x->begin_us < y->begin_us ? -1 : 1;
    }
    if (x->end_us != y->end_us) {
        return x->end_us < y->end_us ? -1 : 1;
    }
    return (x->span > y->span) - (x->span < y->span);
}

/* ---- the trace ---------------------------------------------------------- */

static int64_t tail_of(const span *s)
{
    if (s->of->reason == KA_REASON_CLIENT_CLOSED) {
        return time_of(s->of->tail_us);
    }
    return server_closed(s->of->reason) ? KA_RECENT_KEPT_US : 0;
}

/* A chain's spans follow each other in time, but for pieces that stand at one
 * instant. */
static void build(ka_trace *out, span *spans, size_t span_n,
                  const piece *pieces, size_t n)
{
    size_t i;

    for (i = 0; i < span_n; i++) {
        spans[i].chain = KA_CHAIN_NONE;
    }
    for (i = 0; i < n; i++) {
        span *s = &spans[pieces[i].span];

        if (s->chain == KA_CHAIN_NONE && s->before != NO_SPAN) {
            s->chain = spans[s->before].chain;
        }
        if (s->chain == KA_CHAIN_NONE) {
            s->chain =
                ka_trace_open(out, pieces[i].begin_us, pieces[i].end_us);
        }
        else {
            ka_trace_follow(out, s->chain, pieces[i].begin_us,
                            pieces[i].end_us);
        }
    }
    for (i = 0; i < span_n; i++) {
        if (!spans[i].taken) {
            ka_trace_tail_set(out, spans[i].chain, tail_of(&spans[i]));
        }
    }
}

bool ka_recent_trace(ka_trace *out, const ka_segment_recent *recent, size_t n,
                     const ka_hist *gap, const bool *wanted, uint64_t seed,
                     apr_pool_t *pool)
{
    const gaps *g = gaps_of(gap, pool);
    int64_t *gaps_us;
    span *spans = apr_palloc(pool, (n + 1) * sizeof(*spans));
    ka_random random = {seed};
    uint64_t requests;
    size_t span_n, done = 0, i;
    piece *pieces;

    ka_trace_init(out);
    span_n = take_spans(spans, &requests, recent, n, wanted);
    if (requests > KA_RECENT_REQUESTS_MAX) {
        return false;
    }
    pieces = malloc((requests + 1) * sizeof(*pieces));
    gaps_us = malloc((requests + 1) * sizeof(*gaps_us));
    if (!pieces || !gaps_us) {
        free(pieces);
        free(gaps_us);
        return false;
    }
    qsort(spans, span_n, sizeof(*spans), by_client);
    link_spans(spans, span_n);
    for (i = 0; i < span_n; i++) {
        add_requests(pieces + done, &spans[i], i, gaps_us, g, &random);
        done += spans[i].of->requests;
    }
    qsort(pieces, done, sizeof(*pieces), by_begin);
    build(out, spans, span_n, pieces, done);
    free(pieces);
    free(gaps_us);
    if (out->failed) {
        ka_trace_clear(out);
        return false;
    }
    return true;
}
