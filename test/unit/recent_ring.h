/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A random trace as mod_kastats' ring of recent connections would tell it. */
#ifndef KA_TEST_RECENT_RING_H
#define KA_TEST_RECENT_RING_H

#include <ka_segment_reader.h>
#include "random_traces.h"
#include "unit.h"

#define RING_CLIENTS 400
#define RING_WINDOW (1200 * TRACES_SEC)
#define RING_T0 (15 * TRACES_SEC)
#define RING_MOST 8000

typedef struct ring {
    ka_segment_recent items[RING_MOST];
    size_t n;
    ka_hist gap;
    size_t open[RING_CLIENTS]; /* index + 1 of each chain's connection */
} ring;

static inline void ring_begin(ring *r, uint32_t chain,
                              const ka_trace_request *of)
{
    assert_true(r->n < RING_MOST);
    r->items[r->n] = (ka_segment_recent){
        .started_at = of->busy_from_us - 700,
        .first_us = 700,
        .client_hash = 1000003u * (chain + 1)};
    r->open[chain] = ++r->n;
}

static inline void ring_end(ring *r, uint32_t chain, int64_t last_us,
                            int64_t tail_us)
{
    ka_segment_recent *item = &r->items[r->open[chain] - 1];
    const bool timed_out = tail_us > RING_T0;

    item->reason =
        timed_out ? KA_REASON_IDLE_TIMEOUT : KA_REASON_CLIENT_CLOSED;
    item->tail_us = (uint64_t)(timed_out ? RING_T0 + 500 : tail_us);
    item->linger_us = 40;
    item->life_us = (uint64_t)(last_us - item->started_at) + item->tail_us +
                    item->linger_us;
}

/* What mod_kastats would have kept of the trace under RING_T0. */
static inline void ring_record(ring *r, const ka_trace *trace)
{
    int64_t last[RING_CLIENTS] = {0};
    size_t i;
    uint32_t c;

    for (i = 0; i < trace->request_n; i++) {
        const ka_trace_request *of = &trace->requests[i];
        ka_segment_recent *item;

        if (of->gap_us > RING_T0) {
            ring_end(r, of->chain, last[of->chain], of->gap_us);
        }
        if (of->gap_us == KA_GAP_OPENS || of->gap_us > RING_T0) {
            ring_begin(r, of->chain, of);
        }
        item = &r->items[r->open[of->chain] - 1];
        if (item->requests++ > 0) {
            const uint64_t gap = of->gap_us > 0 ? (uint64_t)of->gap_us : 0;

            ka_hist_add(&r->gap, gap);
            item->idle_us += gap;
            item->longest_gap_us =
                gap > item->longest_gap_us ? gap : item->longest_gap_us;
        }
        item->service_us += (uint64_t)(of->busy_to_us - of->busy_from_us);
        last[of->chain] = of->busy_to_us;
    }
    for (c = 0; c < trace->chain_n; c++) {
        ring_end(r, c, last[c], trace->tails[c].len_us);
    }
}

static inline ring *make_ring(ka_trace *trace, uint64_t seed, apr_pool_t *pool)
{
    ring *r = apr_pcalloc(pool, sizeof(*r));
    ka_random random = {seed};

    random_trace_of(trace, RING_CLIENTS, RING_WINDOW, &random);
    ring_record(r, trace);
    return r;
}

#endif
