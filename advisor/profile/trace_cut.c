/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "trace_cut.h"

#include <stdlib.h>
#include <string.h>

size_t ka_trace_at(const ka_trace *trace, int64_t at_us)
{
    size_t least = 0, most = trace->request_n;

    while (least < most) {
        size_t middle = least + (most - least) / 2;

        if (trace->requests[middle].busy_from_us < at_us) {
            least = middle + 1;
        }
        else {
            most = middle;
        }
    }
    return least;
}

static bool make_room(ka_trace *out, size_t n)
{
    out->requests = malloc((n + 1) * sizeof(*out->requests));
    out->tails = malloc((n + 1) * sizeof(*out->tails));
    if (!out->requests || !out->tails) {
        return false;
    }
    out->request_size = out->chain_size = n + 1;
    return true;
}

/* chain_of[c]: the chain's index in out; KA_CHAIN_NONE: not in there (yet). */
static void take(ka_trace *out, uint32_t *chain_of,
                 const ka_trace_request *from)
{
    ka_trace_request *r = &out->requests[out->request_n++];
    uint32_t *chain = &chain_of[from->chain];

    *r = *from;
    if (*chain == KA_CHAIN_NONE) {
        *chain = (uint32_t)out->chain_n++;
        r->gap_us = KA_GAP_OPENS;
    }
    r->chain = *chain;
    out->tails[*chain] = (ka_trace_tail){.from_us = from->busy_to_us,
                                         .len_us = -1};
    if (out->end_us < r->busy_to_us) {
        out->end_us = r->busy_to_us;
    }
}

/* What follows on a chain decides how long it idles. */
static void set_tails(ka_trace *out, const uint32_t *chain_of,
                      const ka_trace *trace, size_t end)
{
    size_t i;

    for (i = end; i < trace->request_n; i++) {
        const ka_trace_request *next = &trace->requests[i];
        uint32_t chain = chain_of[next->chain];

        if (chain != KA_CHAIN_NONE && out->tails[chain].len_us < 0) {
            out->tails[chain].len_us = next->gap_us > 0 ? next->gap_us : 0;
        }
    }
    for (i = 0; i < trace->chain_n; i++) {
        uint32_t chain = chain_of[i];

        if (chain != KA_CHAIN_NONE && out->tails[chain].len_us < 0) {
            out->tails[chain].len_us = trace->tails[i].len_us;
        }
    }
}

bool ka_trace_cut(ka_trace *out, const ka_trace *trace, size_t first,
                  size_t end)
{
    uint32_t *chain_of = malloc((trace->chain_n + 1) * sizeof(*chain_of));
    size_t i;

    ka_trace_init(out);
    end = end < trace->request_n ? end : trace->request_n;
    first = first < end ? first : end;
    if (!chain_of || trace->failed || !make_room(out, end - first)) {
        free(chain_of);
        ka_trace_clear(out);
        return false;
    }
    memset(chain_of, 0xff, (trace->chain_n + 1) * sizeof(*chain_of));
    out->begin_us = first < end ? trace->requests[first].busy_from_us : 0;
    out->end_us = out->begin_us;
    for (i = first; i < end; i++) {
        take(out, chain_of, &trace->requests[i]);
    }
    set_tails(out, chain_of, trace, end);
    if (end < trace->request_n && first < end &&
        trace->requests[end].busy_from_us < out->end_us &&
        trace->requests[end].busy_from_us > out->begin_us) {
        out->end_us = trace->requests[end].busy_from_us;
    }
    free(chain_of);
    return true;
}
