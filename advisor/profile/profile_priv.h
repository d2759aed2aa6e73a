/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Inside profile.h.  Private to advisor/profile/.
 */
#ifndef KA_PROFILE_PRIV_H
#define KA_PROFILE_PRIV_H

#include <stdbool.h>
#include "../model/outcome.h"
#include "profile.h"

/* Counts requests second by second, in order of start; seconds without any
 * are not visited. */
typedef struct ka_seconds {
    int64_t second;  /* the one being counted; since the epoch */
    uint64_t count;  /* its requests so far */
    uint64_t filled; /* seconds with a request, but for this one */
    uint64_t peak;
    ka_hist counts; /* of the filled ones */
} ka_seconds;

/** Counts one request that starts at begin_us. */
void ka_seconds_add(ka_seconds *s, int64_t begin_us);

/** Sets p99_per_s and peak_per_s over all seconds of [first_us, last_us]. */
void ka_seconds_finish(ka_traffic *out, ka_seconds *s, int64_t first_us,
                       int64_t last_us);

/** The whole second that holds us. */
int64_t ka_second_of(int64_t us);

/** R15: it took over a second for bytes sent at under 100 kB/s. */
bool ka_sent_slowly(int64_t service_us, int64_t bytes);

/**
 * Connections of a trace under a timeout: adds the requests of each, and the
 * most at once of each client.
 * @param client_of  client_of[served->n]: request -> client, 0 .. client_n-1
 * @return APR_SUCCESS; APR_ENOMEM
 */
apr_status_t ka_connection_hists(ka_hist *lengths, ka_hist *parallel,
                                 const ka_trace *trace,
                                 const uint32_t *client_of, size_t client_n,
                                 int64_t timeout_us);

/** The same as numbers. */
apr_status_t ka_connection_stats_build(ka_connection_stats *out,
                                       const ka_trace *trace,
                                       const uint32_t *client_of,
                                       size_t client_n, int64_t timeout_us);

/** From the distributions. */
ka_connection_stats ka_connection_stats_of(const ka_hist *lengths,
                                           const ka_hist *parallel,
                                           uint64_t clients);

#endif
