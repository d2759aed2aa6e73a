/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Random traces of a known kind: clients with a few bursts of requests and
 * pauses around common timeouts. */
#ifndef KA_TEST_RANDOM_TRACES_H
#define KA_TEST_RANDOM_TRACES_H

#include <stdlib.h>

#include "model/random.h"
#include "profile/trace.h"

#define TRACES_SEC INT64_C(1000000)

typedef struct random_piece {
    int64_t begin_us, end_us;
    uint32_t client;
} random_piece;

static inline int64_t random_us(ka_random *r, int64_t most)
{
    return (int64_t)(ka_random_unit(r) * (double)most);
}

static inline int random_by_begin(const void *a, const void *b)
{
    const random_piece *x = a, *y = b;

    if (x->begin_us != y->begin_us) {
        return x->begin_us < y->begin_us ? -1 : 1;
    }
    return (x->client > y->client) - (x->client < y->client);
}

/* Half of the pauses are below a second, the others up to 20 s. */
static inline size_t random_client(random_piece *out, uint32_t client,
                                   int64_t window_us, ka_random *r)
{
    const size_t n = 1 + ka_random_below(r, 12);
    int64_t at = random_us(r, window_us);
    size_t i;

    for (i = 0; i < n; i++) {
        out[i] = (random_piece){
            at, at + random_us(r, TRACES_SEC / 5), client};
        at = out[i].end_us +
             random_us(r, ka_random_below(r, 2) ? TRACES_SEC
                                                : 20 * TRACES_SEC);
    }
    return n;
}

/** A trace of so many clients within the window, in order of start; half of
 * the tails are above a minute.  To be cleared. */
static inline void random_trace_of(ka_trace *trace, uint32_t clients,
                                   int64_t window_us, ka_random *r)
{
    random_piece *pieces = malloc(sizeof(*pieces) * 12 * clients);
    uint32_t *chains = malloc(sizeof(*chains) * clients), i;
    size_t n = 0, k;

    for (i = 0; i < clients; i++) {
        n += random_client(pieces + n, i, window_us, r);
        chains[i] = KA_CHAIN_NONE;
    }
    qsort(pieces, n, sizeof(*pieces), random_by_begin);
    ka_trace_init(trace);
    for (k = 0; k < n; k++) {
        uint32_t *chain = &chains[pieces[k].client];

        if (*chain == KA_CHAIN_NONE) {
            *chain =
                ka_trace_open(trace, pieces[k].begin_us, pieces[k].end_us);
        }
        else {
            ka_trace_follow(trace, *chain, pieces[k].begin_us,
                            pieces[k].end_us);
        }
    }
    for (i = 0; i < clients; i++) {
        ka_trace_tail_set(trace, chains[i],
                          ka_random_below(r, 2) ? 100 * TRACES_SEC
                                                : random_us(r, 9 * TRACES_SEC));
    }
    free(chains);
    free(pieces);
}

#endif
