/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sample.h"

#include <stdlib.h>

#include "array.h"
#include "connections_priv.h"

static void count_request(ka_sample_side *to, const ka_trace_request *t,
                          size_t k)
{
    to->busy_us += (uint64_t)(t->busy_to_us - t->busy_from_us);
    if (t->gap_us == KA_GAP_OPENS) {
        to->opens++;
    }
    else if (t->gap_us >= 0) {
        to->idle[k].gap_n++;
        to->idle[k].gap_us += (uint64_t)t->gap_us;
    }
}

/* A trace's requests are those of the log, in the same order. */
static void count_requests(ka_sample *s, int side, const ka_trace *trace,
                           const ka_request *items, uint32_t *last)
{
    size_t i;

    for (i = 0; i < trace->request_n; i++) {
        const ka_trace_request *t = &trace->requests[i];
        const size_t k = ka_sample_class(s, t->gap_us);
        const size_t at = ka_sample_block(s, KA_SAMPLE_REQUESTS,
                                          ka_request_begin(&items[i]));
        ka_sample_side *group = ka_sample_group_side(
            s, ka_sample_group(items[i].address), side);
        ka_sample_side *block = ka_sample_block_side(s, at, side);

        count_request(group, t, k);
        count_request(block, t, k);
        group->requests += side == 0;
        block->requests += side == 0;
        last[t->chain] = (uint32_t)i;
    }
}

static void count_tail(ka_sample_side *to, const ka_trace_tail *tail, size_t k)
{
    to->idle[k].tail_n++;
    to->idle[k].tail_us += (uint64_t)tail->len_us;
}

static void count_tails(ka_sample *s, int side, const ka_trace *trace,
                        const ka_request *items, const uint32_t *last)
{
    size_t i;

    for (i = 0; i < trace->chain_n; i++) {
        const ka_trace_tail *tail = &trace->tails[i];
        const size_t k = ka_sample_class(s, tail->len_us);
        const unsigned group = ka_sample_group(items[last[i]].address);
        const size_t block =
            ka_sample_block(s, KA_SAMPLE_TAILS, tail->from_us);

        count_tail(ka_sample_group_side(s, group, side), tail, k);
        count_tail(ka_sample_block_side(s, block, side), tail, k);
    }
}

static bool count_side(ka_sample *s, int side, const ka_trace *trace,
                       const ka_request *items)
{
    uint32_t *last = ka_array_alloc(trace->chain_n, sizeof(*last));

    if (last == NULL) {
        return false;
    }
    count_requests(s, side, trace, items, last);
    count_tails(s, side, trace, items, last);
    free(last);
    return true;
}

ka_sample *ka_sample_of_connections(const ka_connections *connections,
                                    const ka_requests *requests,
                                    const int64_t *timeouts, size_t n)
{
    const ka_trace *low = &connections->low;
    ka_sample *s = ka_sample_make(timeouts, n);

    if (s == NULL) {
        return NULL;
    }
    ka_sample_begin(s, low->begin_us);
    if (!count_side(s, 0, low, requests->items) ||
        (connections->bracket &&
         !count_side(s, 1, &connections->high, requests->items))) {
        ka_sample_free(s);
        return NULL;
    }
    ka_sample_end(s, low->end_us);
    return s;
}
