/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Requests to connections to chains: the order of the steps, and which
 * function serves which level.
 */
#include "connections.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "connections_priv.h"
#include "timeout_estimate.h"

/* What the bracket's high side allows for that a log does not tell: service,
 * where there is no such item; and, always, the response's way to the client
 * and the next request's way back. */
#define UNTOLD_SERVICE_US KA_SECOND_US
#define TRANSIT_US KA_SECOND_US

typedef struct level {
    ka_identity identity;
    bool coarse;             /* for stamps that are too coarse to tell */
    ka_group_fn *low, *high; /* high NULL: low is the answer */
} level;

static const level levels[] = {
    {KA_IDENTITY_PORT, false, ka_group_by_port, NULL},
    {KA_IDENTITY_SLOT, false, ka_group_by_slot, NULL},
    {KA_IDENTITY_K, false, ka_group_by_k_low, ka_group_by_k_high},
    {KA_IDENTITY_TIME, false, ka_group_by_time, NULL},
    {KA_IDENTITY_TIME, true, ka_group_by_time_low, ka_group_by_time_high},
};

static bool times_are_coarse(const ka_connection_options *options)
{
    return options->clock_us > KA_FINE_CLOCK_US ||
           options->service_clock_us <= 0 ||
           options->service_clock_us > KA_FINE_CLOCK_US;
}

static const level *find_level(ka_identity identity, bool coarse)
{
    size_t i = 0;

    while (levels[i].identity != identity ||
           (identity == KA_IDENTITY_TIME && levels[i].coarse != coarse)) {
        i++;
    }
    return &levels[i];
}

/* By how much a rounded end may lie past the true start of what follows. */
static int64_t tick_of(const ka_connection_options *options)
{
    int64_t start = options->clock_us > 1 ? options->clock_us - 1 : 0;
    int64_t service =
        options->service_clock_us > 1 ? options->service_clock_us - 1 : 0;

    return start + service;
}

int64_t ka_free_after(int64_t clock_us, int64_t service_clock_us)
{
    int64_t clock = clock_us > 0 ? clock_us : 0;
    int64_t service =
        service_clock_us > 0 ? service_clock_us : UNTOLD_SERVICE_US;

    return clock + service + TRANSIT_US;
}

/* One side: connections by `group`, then chains. */
static apr_status_t group_side(ka_trace *trace, uint32_t **chain_of,
                               size_t *connections, ka_grouping g,
                               ka_group_fn *group)
{
    apr_status_t status = APR_ENOMEM;

    *chain_of = ka_array_alloc(g.n, sizeof(**chain_of));
    if (ka_grouping_init(&g) && *chain_of != NULL) {
        group(&g);
        status = g.failed ? APR_ENOMEM : ka_chains_build(trace, *chain_of, &g);
    }
    *connections = g.conn_n;
    ka_grouping_clear(&g);
    return status;
}

static bool same_sides(const ka_connections *c, size_t n)
{
    return c->low.chain_n == c->high.chain_n &&
           memcmp(c->chain_low, c->chain_high, n * sizeof(*c->chain_low)) == 0;
}

static void drop_high(ka_connections *c)
{
    ka_trace_clear(&c->high);
    free(c->chain_high);
    c->chain_high = NULL;
}

static void swap_sides(ka_connections *c)
{
    ka_trace trace = c->low;
    uint32_t *chain = c->chain_low;

    c->low = c->high;
    c->high = trace;
    c->chain_low = c->chain_high;
    c->chain_high = chain;
}

static apr_status_t group_sides(ka_connections *out, const ka_grouping *g,
                                const level *with)
{
    size_t low, high;
    apr_status_t status =
        group_side(&out->low, &out->chain_low, &low, *g, with->low);

    if (status != APR_SUCCESS || with->high == NULL) {
        return status;
    }
    status = group_side(&out->high, &out->chain_high, &high, *g, with->high);
    if (status != APR_SUCCESS) {
        return status;
    }
    /* Two connections that low put together by mistake may leave a later
     * request without its own: then it is not low. */
    if (low > high) {
        swap_sides(out);
    }
    out->bracket = low != high || !same_sides(out, g->n);
    if (!out->bracket) {
        drop_high(out);
    }
    return APR_SUCCESS;
}

/* T0 as given, else from the log.  By time alone nothing is cut: a gap is a
 * gap, whether a timeout fell into it or not. */
static apr_status_t find_timeout(ka_grouping_rules *out, int64_t *known_us,
                                 const ka_log_facts *facts,
                                 const ka_requests *requests,
                                 const ka_connection_options *options)
{
    apr_status_t status = APR_SUCCESS;

    *known_us = options->timeout_us;
    if (options->timeout_us < 0) {
        status = ka_timeout_estimate(known_us, out->identity, facts, requests);
    }
    if (out->identity != KA_IDENTITY_TIME) {
        out->cut_us = *known_us;
        out->timeout_estimated = options->timeout_us < 0 && *known_us >= 0;
    }
    return status;
}

apr_status_t ka_connections_decide(ka_grouping_rules *out,
                                   const ka_requests *requests,
                                   const ka_connection_options *options)
{
    const ka_log_facts facts = ka_log_facts_of(requests);
    int64_t timeout_us;
    apr_status_t status;

    *out = (ka_grouping_rules){.cut_us = -1,
                               .coarse = times_are_coarse(options),
                               .free_us = ka_free_after(
                                   options->clock_us,
                                   options->service_clock_us)};
    status = ka_identity_choose(&out->identity, &out->why_not_better, &facts,
                                requests, options);
    if (status == APR_SUCCESS) {
        status = find_timeout(out, &timeout_us, &facts, requests, options);
    }
    if (status != APR_SUCCESS) {
        return status;
    }
    out->off = timeout_us == 0 && facts.kept == 0 && facts.k_above_0 == 0;
    /* The proof that low <= high (by_time.c) needs ends that do not move. */
    out->tick_us = out->identity == KA_IDENTITY_TIME && out->coarse
                       ? 0
                       : tick_of(options);
    return APR_SUCCESS;
}

bool ka_grouping_has_sides(const ka_grouping_rules *rules)
{
    return find_level(rules->identity, rules->coarse)->high != NULL;
}

static apr_status_t group_requests(ka_connections *out,
                                   const ka_requests *requests,
                                   const ka_connection_options *options)
{
    ka_grouping g = {.items = requests->items, .n = requests->n};
    const apr_status_t status =
        ka_connections_decide(&g.rules, requests, options);

    if (status != APR_SUCCESS) {
        return status;
    }
    out->identity = g.rules.identity;
    out->why_not_better = g.rules.why_not_better;
    out->timeout_us = g.rules.cut_us;
    out->timeout_estimated = g.rules.timeout_estimated;
    return group_sides(out, &g, find_level(g.rules.identity, g.rules.coarse));
}

apr_status_t ka_connections_group(ka_connections *out,
                                  const ka_requests *requests,
                                  const ka_connection_options *options)
{
    apr_status_t status;

    memset(out, 0, sizeof(*out));
    out->timeout_us = -1;
    if (requests->n == 0) {
        return APR_SUCCESS;
    }
    if (requests->n >= KA_INDEX_NONE) {
        return APR_ENOMEM;
    }
    status = group_requests(out, requests, options);
    if (status != APR_SUCCESS) {
        ka_connections_clear(out);
    }
    return status;
}

void ka_connections_clear(ka_connections *connections)
{
    ka_trace_clear(&connections->low);
    ka_trace_clear(&connections->high);
    free(connections->chain_low);
    free(connections->chain_high);
    memset(connections, 0, sizeof(*connections));
    connections->timeout_us = -1;
}
