/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_stretch: a piece of a source's traffic, short enough to be simulated
 * many times, and what the closed form makes of it: [M4] to [M7] on the very
 * chains that a simulation plays, so that one checks the other.
 */
#ifndef KA_STRETCH_H
#define KA_STRETCH_H

#include <stdbool.h>
#include <stdint.h>
#include <apr_pools.h>
#include <ka_mpm.h>
#include "sim_traffic.h"

typedef struct ka_stretch {
    const ka_sim_traffic *traffic;
    uint64_t requests; /* of the traffic, with those that joined others */
    bool drawn;        /* from distributions; else the source's own */
    const char *how;   /* where it is from, a clause */
    int64_t accept_us; /* a: worker time before the first request; 0 where the
                          source does not tell */
    int64_t linger_us; /* l: after the server's close; likewise */
} ka_stretch;

/* Where stretches come from. */
typedef struct ka_stretch_source {
    /* The busiest stretch, `growth` times its traffic; owned by pool, or by the
     * context.
     * @return false: there is none, or no memory */
    bool (*at)(ka_stretch *out, void *context, double growth,
               apr_pool_t *pool);
    void *context;
} ka_stretch_source;

/* Of one timeout, had nobody to wait for a worker. */
typedef struct ka_stretch_model {
    uint64_t connections; /* [M4], and [M16] for max_requests */
    double busy_mean;     /* [M7] workers that serve */
    double held_mean;     /* [M6] connections busy or idle; on prefork and
                             worker with those that linger */
} ka_stretch_model;

/**
 * The closed form of a stretch.
 * @param timeout_us    or KA_TIMEOUT_OFF
 * @param max_requests  MaxKeepAliveRequests; 0: unlimited
 * Pure, O(requests).  All zero for a stretch without time.
 */
ka_stretch_model ka_stretch_expect(const ka_stretch *stretch, ka_mpm mpm,
                                   int64_t timeout_us, uint32_t max_requests);

/**
 * Grown traffic: each chain `factor` times (the fraction by chance), the
 * copies a few seconds apart, so that bursts grow too.
 * @param out     requests are those of `from`; chains owned by pool
 * @param factor  > 0
 */
void ka_stretch_grow(ka_sim_traffic *out, const ka_sim_traffic *from,
                     double factor, uint64_t seed, apr_pool_t *pool);

/** Requests of a traffic's chains, with those that joined others. */
uint64_t ka_stretch_requests(const ka_sim_traffic *traffic);

#endif
