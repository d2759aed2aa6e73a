/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_sim_traffic: what clients want of a server, whatever its configuration:
 * chains (MODEL 1) of requests with the idle time before each.
 *
 *     start   busy   lag  gap    busy           tail
 *       |=============|..|......|======|......................|
 *
 * Taken from a trace, or drawn from distributions where there is none.
 */
#ifndef KA_SIM_TRAFFIC_H
#define KA_SIM_TRAFFIC_H

#include <stddef.h>
#include <stdint.h>
#include <apr_errno.h>
#include <apr_pools.h>
#include <ka_histogram.h>
#include "../profile/trace.h"
#include "../sources/observation.h"

/* Requests that are drawn at most. */
#define KA_SIM_DRAWN_MAX 2000000u

typedef struct ka_sim_request {
    int64_t gap_us;    /* idle before it; of a chain's first: 0 */
    int64_t busy_us;   /* served so long */
    uint32_t lag_us;   /* from there until the connection counts as idle: what a
                          late timer of the server added to the gap */
    uint32_t requests : 30; /* with those that joined it, > 0 */
    uint32_t cls : 2;       /* ka_class, of the last one of these; KA_CLASS_N:
                               as in ka_trace_request */
} ka_sim_request;

typedef struct ka_sim_chain {
    int64_t start_us;
    int64_t tail_us; /* how long the client would leave it open at its end */
    size_t first;    /* index of its first request */
    size_t n;        /* > 0 */
} ka_sim_chain;

typedef struct ka_sim_traffic {
    const ka_sim_chain *chains; /* chains[chain_n], ascending by start */
    size_t chain_n;
    const ka_sim_request *requests; /* a chain's stand together, in order */
    size_t request_n;
    int64_t begin_us, end_us; /* window of the results */
} ka_sim_traffic;

/**
 * The chains of a trace.
 * @param out  owned by pool; 24 bytes a request and 32 a chain
 * @return APR_SUCCESS; APR_ENOMEM, also for a trace that failed
 */
apr_status_t ka_sim_traffic_of_trace(ka_sim_traffic *out,
                                     const ka_trace *trace, apr_pool_t *pool);

/* Requests of one class, where draws tell them apart. */
typedef struct ka_sim_draws_class {
    const ka_hist *service; /* us */
    const ka_hist *gap;     /* us, up to T0: after one of this class */
    double followed; /* its share of requests that another follows on their
                        connection under T0 */
    double last;     /* ... and of a connection's last ones */
} ka_sim_draws_class;

/* Distributions to draw from.  A connection is one under T0; a chain goes on
 * after it with the chance given by `again`. */
typedef struct ka_sim_draws {
    const double *rates; /* rates[rate_n]: connections opened per second at
                            T0, in successive steps of rate_step_s */
    size_t rate_n;
    double rate_step_s;
    const ka_hist *lengths; /* requests of a connection; empty: 1 */
    const ka_hist *gap;     /* us: idle times that a request ended; those up to
                               T0 lie within connections, longer ones between */
    const ka_hist *service; /* us; empty: 0 */
    const ka_hist *tail;    /* us: after a chain's end */
    const ka_hist *together; /* connections that a client opens at once; NULL
                               or empty: 1 */
    int64_t timeout_us;     /* T0 or KA_TIMEOUT_OFF */
    double again;           /* share of connections that another of their chain
                               follows after a gap above T0, 0 .. 1 */
    double joined;          /* share of a connection's further requests that
                               join one being served */
    double growth;          /* factor on the rates, > 0 */
    const ka_sim_draws_class *classes; /* classes[KA_CLASS_N]; each request's is
                               drawn by itself.  NULL: all are static ones */
} ka_sim_draws;

/**
 * Draws what falls into the window of the rates.  Clients come at random
 * (Poisson within a step), each with as many connections at once as `together`
 * says; values are drawn evenly around their bin's mean.  Chains that began
 * before are there, as if it had been going on at the first rate; no chain
 * opens a connection (under T0) after the end.
 * @param out  owned by pool
 * @return APR_SUCCESS; APR_EINVAL without rates, or if they come to more than
 *         KA_SIM_DRAWN_MAX requests; APR_ENOMEM
 * Determined by the seed.
 */
apr_status_t ka_sim_traffic_draw(ka_sim_traffic *out,
                                 const ka_sim_draws *draws, uint64_t seed,
                                 apr_pool_t *pool);

#endif
