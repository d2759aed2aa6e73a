/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * From numbers to advice.  ka_advise decides; it reads no file and prints
 * nothing.
 */
#ifndef KA_ADVISE_H
#define KA_ADVISE_H

#include <apr_errno.h>
#include <apr_pools.h>
#include "report.h"

typedef struct ka_advise_options {
    double delta;  /* [M18], a ratio */
    double growth; /* factor on demand */
} ka_advise_options;

/* [M16]: connections that MaxKeepAliveRequests (> 0) opens beyond those of a
 * timeout.  A trace and a histogram each count them in their way. */
typedef struct ka_extra {
    uint64_t (*count)(void *context, int64_t timeout_us,
                      uint32_t max_requests);
    void *context;
} ka_extra;

/**
 * Makes a report that of a group.
 * @param server  the report's own: facts that hosts know differently become
 *                unknown in it, since one of the group holds for all
 * @param hosts   hosts[n], ascending by name; kept, and may still be completed
 */
void ka_report_group(ka_report *report, ka_server *server,
                     const ka_report *const *hosts, size_t n);

/**
 * Fills the deciding half of a report.
 * @param report  source, identity, profile, server, timeouts, low, high, now
 *                and timeout_us are set by the caller, and a group's hosts
 *                are advised before it; the rest is filled; everything new is
 *                owned by pool
 * @param extra   of the side that is advised from
 * @return APR_SUCCESS; APR_EINVAL if there is no timeout to choose from
 */
apr_status_t ka_advise(ka_report *report, const ka_extra *extra,
                       const ka_advise_options *options, apr_pool_t *pool);

#endif
