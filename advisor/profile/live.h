/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * From a segment's counters and histograms to the profile and to what the
 * model takes.  There are no single requests here, and nothing stands in for
 * what only they could tell: parallel connections, slow clients, rates of
 * single seconds by class and vhost (NaN).
 */
#ifndef KA_LIVE_H
#define KA_LIVE_H

#include "../model/histsweep.h"
#include "../sources/segment.h"
#include "profile.h"

/**
 * The profile of a segment.
 * @param out  arrays owned by pool
 * Addresses, and the shares of HTTP/2 and TLS among requests, are those of the
 * recent connections; clients are as many, if these are all there were.
 */
void ka_live_profile(ka_profile *out, const ka_live *live, apr_pool_t *pool);

/**
 * What the timeouts are evaluated from; each vhost under its own T0.
 * @param out  arrays owned by pool, or by live
 * A narrowed segment has no history: it is not kept by vhost.
 */
void ka_live_traffic(ka_hist_traffic *out, const ka_live *live,
                     apr_pool_t *pool);

/** Connections that began before have nearly all closed, so that the recent
 * ones hold them (if the ring goes back as far); KA_SPANS_ALL: all have. */
int64_t ka_live_known_until(const ka_live *live);

#endif
