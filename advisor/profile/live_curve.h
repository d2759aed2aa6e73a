/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What a segment's levels tell of shorter timeouts. */
#ifndef KA_LIVE_CURVE_H
#define KA_LIVE_CURVE_H

#include "../model/curve.h"
#include "../sources/segment.h"

/**
 * The curve of a segment: KeepAlive Off by its longer requests, the ages
 * below the longest timeout in force, and that.
 * @param out  owned by pool; empty if the segment has no levels, is narrowed
 *             (they are not kept by vhost), has too few, or keeps them for
 *             less than a timeout in force
 */
void ka_live_curve(ka_curve *out, const ka_live *live, apr_pool_t *pool);

#endif
