/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * One timeout's holders, from the instants at which they begin and end:
 *
 *   held   up    a request that opens a connection at T
 *          down  T after an idle time began that is longer; or the client's
 *                close
 *   busy   up    a request begins to add busy time
 *          down  it ends
 */
#include "demand.h"

#include <stdlib.h>
#include <string.h>

#include "../model/held.h"
#include "../model/outcome.h"
#include "../model/radix.h"

typedef struct instants {
    int64_t *at; /* at[n] */
    size_t n;
} instants;

typedef struct walk {
    instants up, down, come;
    size_t next; /* of come */
    ka_busiest busiest;
} walk;

static void add(instants *list, int64_t at)
{
    list->at[list->n++] = at;
}

/* ---- collecting ---------------------------------------------------------- */

static bool opens(const ka_trace_request *r, int64_t timeout_us)
{
    return r->gap_us == KA_GAP_OPENS ||
           (r->gap_us >= 0 && r->gap_us > timeout_us);
}

static void collect_held(walk *w, const ka_trace *trace, int64_t timeout_us)
{
    const int64_t wait_us = timeout_us > 0 ? timeout_us : 0;
    size_t i;

    for (i = 0; i < trace->request_n; i++) {
        const ka_trace_request *r = &trace->requests[i];

        if (opens(r, timeout_us)) {
            add(&w->up, r->busy_from_us);
            if (r->gap_us >= 0) {
                add(&w->down, r->busy_from_us - r->gap_us + wait_us);
            }
        }
    }
    for (i = 0; i < trace->chain_n; i++) {
        const ka_trace_tail *tail = &trace->tails[i];

        add(&w->down, tail->from_us + (tail->len_us > timeout_us
                                           ? wait_us
                                           : tail->len_us));
    }
}

static void collect_busy(walk *w, const ka_trace *trace)
{
    size_t i;

    for (i = 0; i < trace->request_n; i++) {
        add(&w->up, trace->requests[i].busy_from_us);
        add(&w->down, trace->requests[i].busy_to_us);
    }
}

/* On a connection that is busy already no request takes a worker anew. */
static void collect_arrivals(walk *w, const ka_trace *trace,
                             int64_t timeout_us)
{
    size_t i;

    for (i = 0; i < trace->request_n; i++) {
        if (opens(&trace->requests[i], timeout_us)) {
            add(&w->come, trace->requests[i].busy_from_us);
        }
    }
}

static bool make_instants(instants *list, size_t n)
{
    list->at = malloc((n + 1) * sizeof(*list->at));
    return list->at != NULL;
}

static bool collect(walk *w, const ka_trace *trace, int64_t timeout_us,
                    ka_demand_kind kind)
{
    const size_t n = trace->request_n;

    if (!make_instants(&w->up, n) || !make_instants(&w->come, n) ||
        !make_instants(&w->down, n + trace->chain_n)) {
        return false;
    }
    if (kind == KA_DEMAND_BUSY) {
        collect_busy(w, trace);
        collect_arrivals(w, trace, KA_TIMEOUT_OFF);
    }
    else {
        collect_held(w, trace, timeout_us);
        collect_arrivals(w, trace, timeout_us);
    }
    return !ka_radix_sort(w->up.at, NULL, w->up.n) &&
           !ka_radix_sort(w->down.at, NULL, w->down.n) &&
           !ka_radix_sort(w->come.at, NULL, w->come.n);
}

/* ---- walking ------------------------------------------------------------- */

/* The holders of an instant are those after all that happens at it, and what
 * came at it belongs to what follows. */
static void visit(void *context, uint64_t count, int64_t from_us,
                  int64_t to_us)
{
    walk *w = context;

    (void)from_us;
    while (w->next < w->come.n && w->come.at[w->next] < to_us) {
        ka_busiest_hold(&w->busiest, w->come.at[w->next], count);
        ka_busiest_come(&w->busiest, 1);
        w->next++;
    }
    ka_busiest_hold(&w->busiest, to_us, count);
}

static void count(walk *w, const ka_trace *trace, int64_t settle_us)
{
    const ka_steps steps[] = {{w->up.at, w->up.n, 0, 1},
                              {w->down.at, w->down.n, 0, -1}};

    ka_busiest_init(&w->busiest, trace->begin_us, settle_us);
    ka_held_walk(steps, sizeof(steps) / sizeof(steps[0]), trace->begin_us,
                 trace->end_us, visit, w);
    ka_busiest_come(&w->busiest, w->come.n - w->next);
    ka_busiest_end(&w->busiest, trace->end_us, 0);
}

bool ka_demand_of_trace(ka_demand *out, const ka_trace *trace,
                        int64_t timeout_us, ka_demand_kind kind,
                        apr_pool_t *pool)
{
    const int64_t settle_us = kind == KA_DEMAND_HELD ? timeout_us : 0;
    walk w = {0};
    bool made = !trace->failed && trace->request_n > 0 &&
                collect(&w, trace, timeout_us, kind);

    if (made) {
        count(&w, trace, settle_us);
        made = ka_busiest_demand(out, &w.busiest);
    }
    if (made) {
        ka_demand_keep(out, pool);
    }
    ka_busiest_clear(&w.busiest);
    free(w.up.at);
    free(w.down.at);
    free(w.come.at);
    return made;
}
