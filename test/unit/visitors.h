/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Made-up visitors whose traffic is known in the mean: they arrive at random,
 * each on a connection of its own; idle times are exponential, the client
 * leaves after TAIL_S.  What they do in all is
 *
 *   E N(T) = v (1 + m exp(-T/g))         v visitors, m gaps each, g their mean
 *   E H(T) = v (m g (1 - exp(-T/g)) + min(tail, T))
 */
#ifndef KA_TEST_VISITORS_H
#define KA_TEST_VISITORS_H

#include "unit.h"

#include <profile/connections.h>
#include <profile/sample.h>

#define VISITORS_TAIL_S 60.0
#define VISITORS_SERVICE_US 50000
#define VISITORS_BEGIN_US (INT64_C(1700000000) * 1000000)

typedef struct visitors {
    double window_s;
    double per_s;      /* visitors */
    double gaps;       /* of a visitor, in the mean */
    double gap_s;
    double visits;     /* of one address over the window, in the mean, 1 at
                          least; 0: each visitor has its own */
    double burst_s;    /* of each so long time nobody comes, or twice as many,
                          at equal odds; 0: evenly.  Not with visits */
} visitors;

/* What such visitors did: with a trace each. */
typedef struct visited {
    ka_connections connections;
    ka_requests requests;
} visited;

static inline uint64_t visitors_bits(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 < u < 1 */
static inline double visitors_draw(uint64_t *state)
{
    return ((double)(visitors_bits(state) >> 11) + 0.5) / 9007199254740992.0;
}

static inline double visitors_exp(uint64_t *state, double mean)
{
    return -mean * log(visitors_draw(state));
}

typedef struct visitors_request {
    int64_t begin_us;
    uint64_t address;
    uint32_t visitor;
} visitors_request;

static inline int visitors_compare(const void *a, const void *b)
{
    const visitors_request *x = a, *y = b;

    return x->begin_us != y->begin_us ? (x->begin_us > y->begin_us) -
                                            (x->begin_us < y->begin_us)
                                      : (x->visitor > y->visitor) -
                                            (x->visitor < y->visitor);
}

typedef struct visitors_list {
    visitors_request *items;
    size_t n, size;
    uint32_t visitor_n;
} visitors_list;

static inline void visitors_push(visitors_list *l, int64_t at_us,
                                 uint64_t address)
{
    if (l->n == l->size) {
        l->size = l->size ? 2 * l->size : 4096;
        l->items = realloc(l->items, l->size * sizeof(*l->items));
        assert_non_null(l->items);
    }
    l->items[l->n++] = (visitors_request){at_us, address, l->visitor_n};
}

/* Whether one more comes, of `mean` in the mean. */
static inline bool visitors_more(uint64_t *state, double mean)
{
    return visitors_draw(state) < mean / (mean + 1);
}

static inline void visitors_visit(visitors_list *l, const visitors *v,
                                  double at_s, uint64_t address,
                                  uint64_t *state)
{
    visitors_push(l, VISITORS_BEGIN_US + (int64_t)(at_s * 1e6), address);
    while (visitors_more(state, v->gaps)) {
        at_s += visitors_exp(state, v->gap_s) + VISITORS_SERVICE_US / 1e6;
        visitors_push(l, VISITORS_BEGIN_US + (int64_t)(at_s * 1e6), address);
    }
    l->visitor_n++;
}

/* An address, and its further visits at any time. */
static inline void visitors_come(visitors_list *l, const visitors *v,
                                 double at_s, uint64_t *state)
{
    const uint64_t address = visitors_bits(state) | 1 << 20;

    visitors_visit(l, v, at_s, address, state);
    while (v->visits > 1 && visitors_more(state, v->visits - 1)) {
        visitors_visit(l, v, v->window_s * visitors_draw(state), address,
                       state);
    }
}

static inline void visitors_arrive(visitors_list *l, const visitors *v,
                                   uint64_t *state)
{
    const double mean_s = fmax(v->visits, 1) / v->per_s;
    double s = visitors_exp(state, mean_s), from;

    if (!(v->burst_s > 0)) {
        for (; s < v->window_s; s += visitors_exp(state, mean_s)) {
            visitors_come(l, v, s, state);
        }
        return;
    }
    for (from = 0; from < v->window_s; from += v->burst_s) {
        if (visitors_draw(state) < 0.5) {
            continue;
        }
        for (s = visitors_exp(state, 0.5 / v->per_s); s < v->burst_s;
             s += visitors_exp(state, 0.5 / v->per_s)) {
            visitors_come(l, v, from + s, state);
        }
    }
}

static inline void visitors_trace(visited *out, const visitors_list *l)
{
    uint32_t *chains = calloc(l->visitor_n + 1, sizeof(*chains));
    ka_trace *trace = &out->connections.low;
    size_t i;

    ka_trace_init(trace);
    out->requests.items = calloc(l->n + 1, sizeof(ka_request));
    assert_true(chains && out->requests.items);
    for (i = 0; i < l->n; i++) {
        const visitors_request *r = &l->items[i];
        const int64_t end_us = r->begin_us + VISITORS_SERVICE_US;
        uint32_t *chain = &chains[r->visitor]; /* + 1; 0: none yet */

        out->requests.items[out->requests.n++] =
            (ka_request){.begin_us = r->begin_us,
                         .service_us = VISITORS_SERVICE_US,
                         .client = r->address,
                         .address = r->address};
        if (*chain) {
            ka_trace_follow(trace, *chain - 1, r->begin_us, end_us);
        }
        else {
            *chain = ka_trace_open(trace, r->begin_us, end_us) + 1;
        }
    }
    for (i = 0; i < trace->chain_n; i++) {
        ka_trace_tail_set(trace, (uint32_t)i,
                          (int64_t)(VISITORS_TAIL_S * 1e6));
    }
    free(chains);
}

static inline void visitors_make(visited *out, const visitors *v,
                                 uint64_t seed)
{
    visitors_list l = {0};
    uint64_t state = seed;

    memset(out, 0, sizeof(*out));
    visitors_arrive(&l, v, &state);
    assert_true(l.n > 0);
    qsort(l.items, l.n, sizeof(*l.items), visitors_compare);
    visitors_trace(out, &l);
    free(l.items);
}

static inline void visitors_free(visited *v)
{
    ka_connections_clear(&v->connections);
    free(v->requests.items);
}

/* E N(T) and E H(T) in seconds; T < 0: Off. */
static inline double visitors_opens(const visitors *v, double t_s)
{
    const double n = v->window_s * v->per_s;

    return n * (1 + v->gaps * (t_s < 0 ? 1 : exp(-t_s / v->gap_s)));
}

static inline double visitors_idle_s(const visitors *v, double t_s)
{
    const double n = v->window_s * v->per_s;

    return t_s < 0 ? 0
                   : n * (v->gaps * v->gap_s * (1 - exp(-t_s / v->gap_s)) +
                          fmin(VISITORS_TAIL_S, t_s));
}

#endif
