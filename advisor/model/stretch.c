/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "stretch.h"

#include <math.h>
#include <stdlib.h>

#include "outcome.h"
#include "random.h"

/* Copies of a chain come so much later at most. */
#define APART_US 10000000u

/* ---- the closed form ---------------------------------------------------- */

typedef struct sums {
    uint64_t opens, closes; /* of the server */
    double busy_us, idle_us;
} sums;

/* Holders after a response: idle until the timeout, the next request or the
 * client's close.  @return whether the next request finds the connection */
static bool wait_idle(sums *s, int64_t timeout_us, int64_t gap_us, bool last)
{
    const bool kept = gap_us <= timeout_us;

    s->idle_us += (double)(kept ? gap_us : timeout_us);
    s->closes += !kept;
    return kept && !last;
}

static void add_chain(sums *s, const ka_sim_traffic *t,
                      const ka_sim_chain *chain, int64_t timeout_us,
                      uint32_t max_requests)
{
    bool open = false;
    uint32_t served = 0;
    size_t i;

    for (i = 0; i < chain->n; i++) {
        const ka_sim_request *r = &t->requests[chain->first + i];
        const bool last = i + 1 == chain->n;

        s->opens += !open;
        served = open ? served + 1 : 1;
        s->busy_us += (double)r->busy_us;
        if (timeout_us < 0 || (max_requests > 0 && served > max_requests)) {
            s->closes++;
            open = false;
            continue;
        }
        open = wait_idle(s, timeout_us,
                         last ? chain->tail_us : r[1].gap_us, last);
    }
}

ka_stretch_model ka_stretch_expect(const ka_stretch *stretch, ka_mpm mpm,
                                   int64_t timeout_us, uint32_t max_requests)
{
    const ka_sim_traffic *t = stretch->traffic;
    const double window = (double)t->end_us - (double)t->begin_us;
    const double linger =
        mpm == KA_MPM_EVENT ? 0 : (double)stretch->linger_us;
    ka_stretch_model model = {0};
    sums s = {0};
    size_t i;

    for (i = 0; i < t->chain_n; i++) {
        add_chain(&s, t, &t->chains[i], timeout_us, max_requests);
    }
    model.connections = s.opens;
    if (window > 0) {
        model.busy_mean =
            (s.busy_us + (double)s.opens * (double)stretch->accept_us) /
            window;
        model.held_mean = model.busy_mean + s.idle_us / window +
                          (double)s.closes * linger / window;
    }
    return model;
}

/* ---- growth ------------------------------------------------------------- */

static int by_start(const void *a, const void *b)
{
    const ka_sim_chain *x = a, *y = b;

    if (x->start_us != y->start_us) {
        return x->start_us < y->start_us ? -1 : 1;
    }
    return (x->first > y->first) - (x->first < y->first);
}

/* A copy that would come after the end comes as much earlier. */
static int64_t apart(const ka_sim_traffic *t, int64_t start_us,
                     ka_random *random)
{
    const int64_t later =
        start_us + (int64_t)ka_random_below(random, APART_US);
    const int64_t earlier = 2 * start_us - later;

    return later < t->end_us       ? later
           : earlier > t->begin_us ? earlier
                                   : start_us;
}

void ka_stretch_grow(ka_sim_traffic *out, const ka_sim_traffic *from,
                     double factor, uint64_t seed, apr_pool_t *pool)
{
    const size_t most = (size_t)ceil(factor);
    ka_sim_chain *chains =
        apr_palloc(pool, (most * from->chain_n + 1) * sizeof(*chains));
    ka_random random = {seed};
    size_t n = 0, i, k;

    for (i = 0; i < from->chain_n; i++) {
        for (k = 0; k < most; k++) {
            if (ka_random_unit(&random) >= factor - (double)k) {
                break;
            }
            chains[n] = from->chains[i];
            if (k > 0) {
                chains[n].start_us =
                    apart(from, chains[n].start_us, &random);
            }
            n++;
        }
    }
    qsort(chains, n, sizeof(*chains), by_start);
    *out = *from;
    out->chains = chains;
    out->chain_n = n;
}

uint64_t ka_stretch_requests(const ka_sim_traffic *traffic)
{
    uint64_t n = 0;
    size_t i, k;

    for (i = 0; i < traffic->chain_n; i++) {
        const ka_sim_chain *chain = &traffic->chains[i];

        for (k = 0; k < chain->n; k++) {
            n += traffic->requests[chain->first + k].requests;
        }
    }
    return n;
}
