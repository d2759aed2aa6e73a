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

/* ---- connections ----------------------------------------------------------- */

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

/* ---- requests --------------------------------------------------------------- */

/* The gap before request k (1 .. n - 1) of a connection. */
static int64_t gap_before(uint32_t k, uint32_t n, uint32_t longest_at,
                          int64_t idle_us, int64_t longest_us)
{
    const int64_t rest = idle_us - longest_us;
    const int64_t others = (int64_t)n - 2;
    const int64_t place = (int64_t)k - 1 - (k > longest_at);

    if (k == longest_at || others <= 0) {
        return n == 2 ? idle_us : longest_us;
    }
    return rest / others + (place < rest % others);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void add_requests(piece *pieces, const span *s, size_t number,
                         ka_random *random)
{
    const uint32_t n = s->of->requests;
    const int64_t whole = s->last_us - s->first_us;
    const int64_t idle = n > 1 ? least(time_of(s->of->idle_us), whole) : 0;
    const int64_t longest = least(time_of(s->of->longest_gap_us), idle);
    const uint32_t longest_at = n > 1 ? 1 + ka_random_below(random, n - 1) : 0;
    const int64_t busy = whole - idle;
    int64_t at = s->first_us;
    uint32_t k;

    for (k = 0; k < n; k++) {
        if (k > 0) {
            at += gap_before(k, n, longest_at, idle, longest);
        }
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

/* ---- the trace -------------------------------------------------------------- */

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
                     const bool *wanted, uint64_t seed, apr_pool_t *pool)
{
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
    if (!pieces) {
        return false;
    }
    qsort(spans, span_n, sizeof(*spans), by_client);
    link_spans(spans, span_n);
    for (i = 0; i < span_n; i++) {
        add_requests(pieces + done, &spans[i], i, &random);
        done += spans[i].of->requests;
    }
    qsort(pieces, done, sizeof(*pieces), by_begin);
    build(out, spans, span_n, pieces, done);
    free(pieces);
    if (out->failed) {
        ka_trace_clear(out);
        return false;
    }
    return true;
}
