/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Chains are cut where the policy ends a connection; what is left is a trace of
 * whole connections, on which the longest timeout cuts nothing more.  So
 * sweep.c counts it.
 */
#include "policy.h"

#include <stdlib.h>

#define LINGER_BOUND_S 2.0 /* as in sweep.c */

ka_policy ka_policy_uniform(int64_t timeout_us)
{
    ka_policy policy = {.other_us = timeout_us};
    int i;

    for (i = 0; i < KA_CLASS_N; i++) {
        policy.after_us[i] = timeout_us;
    }
    return policy;
}

int64_t ka_policy_next(const ka_policy *policy, int64_t in_force_us,
                       unsigned cls)
{
    if (cls >= KA_CLASS_N) {
        return policy->other_us;
    }
    return policy->after_us[cls] == KA_POLICY_STAYS ? in_force_us
                                                    : policy->after_us[cls];
}

int64_t ka_policy_longest(const ka_policy *policy)
{
    int64_t longest = policy->other_us;
    int i;

    for (i = 0; i < KA_CLASS_N; i++) {
        if (policy->after_us[i] > longest) {
            longest = policy->after_us[i];
        }
    }
    return longest;
}

bool ka_policy_valid(const ka_policy *policy)
{
    int i;

    for (i = 0; i < KA_CLASS_N; i++) {
        if (policy->after_us[i] < KA_POLICY_STAYS) {
            return false;
        }
    }
    return policy->other_us >= KA_TIMEOUT_OFF;
}

/* ---- cutting ------------------------------------------------------------ */

/* A chain as it goes. */
typedef struct place {
    uint32_t chain;      /* of its present connection, in out */
    int64_t in_force_us; /* T after the request served last */
} place;

typedef struct cutting {
    const ka_policy *policy;
    ka_trace *out;
    place *places;
    uint64_t timeout_closes, server_closes;
} cutting;

static void close_by_server(cutting *c, const place *at)
{
    c->timeout_closes += at->in_force_us >= 0;
    c->server_closes++;
}

/* The connection before it, if there is one, has timed out. */
static void open_connection(cutting *c, place *at, const ka_trace_request *r)
{
    if (r->gap_us >= 0) {
        ka_trace_tail *tail = &c->out->tails[at->chain];

        *tail = (ka_trace_tail){.from_us = r->busy_from_us - r->gap_us,
                                .len_us =
                                    at->in_force_us > 0 ? at->in_force_us : 0};
        close_by_server(c, at);
    }
    at->chain = ka_trace_open(c->out, r->busy_from_us, r->busy_to_us);
    at->in_force_us = c->policy->other_us;
}

/* The gap as it was: a late timer may have cut it. */
static void go_on(cutting *c, const place *at, const ka_trace_request *r)
{
    ka_trace_follow(c->out, at->chain, r->busy_from_us, r->busy_to_us);
    if (!c->out->failed) {
        c->out->requests[c->out->request_n - 1].gap_us = r->gap_us;
    }
}

static void take(cutting *c, const ka_trace_request *r)
{
    place *at = &c->places[r->chain];

    if (r->gap_us == KA_GAP_OPENS || r->gap_us > at->in_force_us) {
        open_connection(c, at, r);
    }
    else {
        go_on(c, at, r);
    }
    at->in_force_us = ka_policy_next(c->policy, at->in_force_us, r->cls);
}

static void end_chains(cutting *c, const ka_trace *trace)
{
    size_t i;

    for (i = 0; i < trace->chain_n; i++) {
        const place *at = &c->places[i];
        int64_t most = at->in_force_us > 0 ? at->in_force_us : 0;
        int64_t len = trace->tails[i].len_us;

        c->out->tails[at->chain] =
            (ka_trace_tail){trace->tails[i].from_us, len < most ? len : most};
        if (len > at->in_force_us) {
            close_by_server(c, at);
        }
    }
}

static apr_status_t cut(cutting *c, const ka_trace *trace)
{
    size_t i;

    c->places = calloc(trace->chain_n + 1, sizeof(*c->places));
    if (c->places == NULL || trace->failed) {
        return APR_ENOMEM;
    }
    for (i = 0; i < trace->request_n && !c->out->failed; i++) {
        take(c, &trace->requests[i]);
    }
    if (c->out->failed) {
        return APR_ENOMEM;
    }
    end_chains(c, trace);
    c->out->begin_us = trace->begin_us;
    c->out->end_us = trace->end_us;
    return APR_SUCCESS;
}

/* ---- what it comes to --------------------------------------------------- */

apr_status_t ka_policy_sweep(ka_outcome *out, const ka_policy *policy,
                             const ka_trace *trace,
                             const ka_sweep_options *options)
{
    const int64_t longest = ka_policy_longest(policy);
    ka_sweep_options own = *options;
    ka_trace connections;
    cutting c = {.policy = policy, .out = &connections};
    apr_status_t rv;

    if (!ka_policy_valid(policy)) {
        return APR_EINVAL;
    }
    own.linger_us = 0;
    ka_trace_init(&connections);
    rv = cut(&c, trace);
    if (rv == APR_SUCCESS) {
        rv = ka_sweep(out, &longest, 1, &connections, &own);
    }
    if (rv == APR_SUCCESS && out->window_s > 0) {
        out->timeout_closes = c.timeout_closes;
        out->held_per_second = (double)c.timeout_closes / out->window_s;
        out->linger_bound_mean =
            (double)c.server_closes * LINGER_BOUND_S / out->window_s;
    }
    free(c.places);
    ka_trace_clear(&connections);
    return rv;
}
