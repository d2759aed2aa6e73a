/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * From requests on chains to a tally: for logs that name connections, which
 * are kept to find them unless they are long (lanes.h).  All is counted as
 * ka_profile_build and ka_sweep would, but that numbers of holders change at
 * whole milliseconds and hours are those of the clock.
 */
#ifndef KA_TALLY_TRACE_H
#define KA_TALLY_TRACE_H

#include "tally.h"

/* What a log has led to (profile.h, connections.h). */
typedef struct ka_traced {
    const ka_requests *requests; /* those without a request are counted */
    const ka_requests *served;   /* those that connections were grouped from */
    const ka_connections *connections;
    const ka_source_info *info;
    const ka_server *facts; /* copied, origins too */
    const char *server;     /* its name; "" if not told; copied */
    int64_t timeout_us;     /* T0, >= 0 or KA_TIMEOUT_OFF */
} ka_traced;

/**
 * Adds it to a tally, as ka_tally_merge adds another: an empty one's timeouts
 * are those that are evaluated.
 * @return APR_SUCCESS; APR_EINVAL if the tally's timeouts are not ascending;
 *         APR_ENOMEM; then the tally is as it was, unless it says `failed`
 */
apr_status_t ka_tally_add_trace(ka_tally *tally, const ka_traced *traced);

#endif
