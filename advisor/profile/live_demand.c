/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "live_demand.h"

#include <math.h>
#include <string.h>

#define SECOND_US INT64_C(1000000)

typedef struct scale {
    double idle;  /* factors */
    double opens;
    bool is_one;
} scale;

static bool scale_of(scale *s, const ka_outcome *now, const ka_outcome *to)
{
    *s = (scale){1, 1, true};
    if (now->timeout_us == to->timeout_us) {
        return true;
    }
    s->is_one = false;
    if (!(now->idle_mean > 0) || now->connections == 0) {
        return false;
    }
    s->idle = to->idle_mean / now->idle_mean;
    s->opens = (double)to->connections / (double)now->connections;
    return true;
}

/* Maxima of a second need not be those of one instant: with `open` less `busy`
 * idle, at the present timeout the sum is what was measured. */
static uint64_t holders_of(const ka_second *second, const scale *s,
                           ka_demand_kind kind)
{
    uint32_t idle =
        second->open > second->busy ? second->open - second->busy : 0;

    return kind == KA_DEMAND_BUSY
               ? second->busy
               : second->busy + (uint64_t)ceil(fmin(idle * s->idle, 1e9));
}

static void count(ka_busiest *b, const ka_live *live, const uint32_t *opens,
                  const scale *s, ka_demand_kind kind)
{
    size_t i;

    ka_busiest_init(b, live->history[0].at, 0);
    for (i = 0; i < live->history_n; i++) {
        const ka_second *second = &live->history[i];

        ka_busiest_hold(b, second->at, 0);
        ka_busiest_come(b, kind == KA_DEMAND_BUSY ? second->requests
                                                  : opens[i]);
        ka_busiest_hold(b, second->at + SECOND_US,
                        holders_of(second, s, kind));
    }
    ka_busiest_end(b, b->now_us, 0);
}

/* Numbers of connections at the other timeout. */
static const uint32_t *opens_of(const ka_live *live, const scale *s,
                                apr_pool_t *pool)
{
    uint32_t *opens = apr_palloc(pool, live->history_n * sizeof(*opens));
    size_t i;

    for (i = 0; i < live->history_n; i++) {
        opens[i] = live->history[i].connections;
    }
    ka_demand_spread(opens, opens, live->history_n, s->opens);
    return opens;
}

bool ka_live_demand(ka_demand *out, const ka_live *live, const ka_outcome *now,
                    const ka_outcome *to, ka_demand_kind kind,
                    apr_pool_t *pool)
{
    ka_busiest busiest = {0};
    bool found;
    scale s = {1, 1, true};

    if (live->narrowed || live->history_n == 0 ||
        (kind == KA_DEMAND_HELD && !scale_of(&s, now, to))) {
        return false;
    }
    count(&busiest, live, opens_of(live, &s, pool), &s, kind);
    found = ka_busiest_demand(out, &busiest);
    if (found) {
        ka_demand_keep(out, pool);
        out->scaled = !s.is_one;
    }
    ka_busiest_clear(&busiest);
    return found;
}
