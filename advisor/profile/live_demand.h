/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What a segment's history of single seconds asks of the server. */
#ifndef KA_LIVE_DEMAND_H
#define KA_LIVE_DEMAND_H

#include "../model/outcome.h"
#include "../sources/segment.h"
#include "demand.h"

/**
 * The busiest hour of the history at another timeout than the present one.
 * Busy workers and requests are those measured at any timeout; so is all at
 * the present one.  Elsewhere idle connections are scaled by the ratio of idle
 * means, and connections opened by that of their numbers.
 * @param now, to  what the present timeout and the other lead to
 * @param out      arrays owned by pool
 * @return false: there is no history (it is not kept by vhost), nobody came,
 *         or, at another timeout, there is nothing to scale by
 */
bool ka_live_demand(ka_demand *out, const ka_live *live, const ka_outcome *now,
                    const ka_outcome *to, ka_demand_kind kind,
                    apr_pool_t *pool);

#endif
