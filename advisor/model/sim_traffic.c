/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sim_traffic.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "radix.h"

static int64_t within(int64_t us, int64_t least)
{
    return us < least ? least : us > KA_TRACE_TIME_MAX ? KA_TRACE_TIME_MAX : us;
}

/* ---- chains in order of start ------------------------------------------- */

/* starts[n] and which chain each is of, sorted. */
static apr_status_t order_chains(int64_t *starts, int64_t *which,
                                 const ka_trace *trace)
{
    size_t i;

    for (i = 0; i < trace->chain_n; i++) {
        which[i] = (int64_t)i;
    }
    for (i = 0; i < trace->request_n; i++) {
        const ka_trace_request *r = &trace->requests[i];

        if (r->gap_us == KA_GAP_OPENS) {
            starts[r->chain] = r->busy_from_us;
        }
    }
    return ka_radix_sort(starts, which, trace->chain_n);
}

/* Room for each chain's requests: those that joined need none.  place_of[c] is
 * the new index of chain c.  @return requests in all */
static size_t lay_out(ka_sim_chain *chains, size_t *place_of,
                    const int64_t *starts, const int64_t *which,
                    const ka_trace *trace)
{
    size_t i, first = 0;

    for (i = 0; i < trace->chain_n; i++) {
        place_of[which[i]] = i;
        chains[i] = (ka_sim_chain){
            .start_us = starts[i],
            .tail_us = within(trace->tails[which[i]].len_us, 0)};
    }
    for (i = 0; i < trace->request_n; i++) {
        chains[place_of[trace->requests[i].chain]].n +=
            trace->requests[i].gap_us != KA_GAP_JOINED;
    }
    for (i = 0; i < trace->chain_n; i++) {
        chains[i].first = first;
        first += chains[i].n;
        chains[i].n = 0;
    }
    return first;
}

static void join(ka_sim_request *r, const ka_trace_request *of)
{
    r->busy_us = within(r->busy_us + of->busy_to_us - of->busy_from_us, 0);
    r->requests++;
    r->cls = of->cls; /* served last */
}

/* What lies between the end before and the gap is the end's lag. */
static void add_lag(ka_sim_request *before, const ka_trace_request *of,
                    int64_t end_us)
{
    int64_t lag = of->busy_from_us - of->gap_us - end_us;

    before->lag_us = lag < 0 ? 0 : lag > UINT32_MAX ? UINT32_MAX : (uint32_t)lag;
}

static void fill(ka_sim_chain *chains, ka_sim_request *requests,
                 const size_t *place_of, int64_t *ends, const ka_trace *trace)
{
    size_t i;

    for (i = 0; i < trace->request_n; i++) {
        const ka_trace_request *of = &trace->requests[i];
        ka_sim_chain *chain = &chains[place_of[of->chain]];
        ka_sim_request *r = &requests[chain->first + chain->n];

        if (of->gap_us == KA_GAP_JOINED) {
            join(r - 1, of);
        }
        else {
            *r = (ka_sim_request){.gap_us = within(of->gap_us, 0),
                                  .busy_us = of->busy_to_us - of->busy_from_us,
                                  .requests = 1,
                                  .cls = of->cls};
            if (chain->n++ > 0) {
                add_lag(r - 1, of, ends[of->chain]);
            }
        }
        ends[of->chain] = of->busy_to_us;
    }
}

apr_status_t ka_sim_traffic_of_trace(ka_sim_traffic *out,
                                     const ka_trace *trace, apr_pool_t *pool)
{
    size_t chain_n = trace->chain_n, request_n;
    int64_t *times = calloc(2 * chain_n + 1, sizeof(*times));
    size_t *place_of = calloc(chain_n + 1, sizeof(*place_of));
    ka_sim_chain *chains = NULL;
    ka_sim_request *requests;
    apr_status_t rv = APR_ENOMEM;

    memset(out, 0, sizeof(*out));
    if (times && place_of && !trace->failed) {
        rv = order_chains(times, times + chain_n, trace);
    }
    if (!rv) {
        chains = apr_palloc(pool, (chain_n + 1) * sizeof(*chains));
        request_n = lay_out(chains, place_of, times, times + chain_n, trace);
        requests = apr_palloc(pool, (request_n + 1) * sizeof(*requests));
        /* The second half is not needed any more: ends take its place. */
        fill(chains, requests, place_of, times + chain_n, trace);
        *out = (ka_sim_traffic){.chains = chains,
                                .chain_n = chain_n,
                                .requests = requests,
                                .request_n = request_n,
                                .begin_us = trace->begin_us,
                                .end_us = trace->end_us};
    }
    free(times);
    free(place_of);
    return rv;
}
