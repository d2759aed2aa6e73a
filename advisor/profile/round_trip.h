/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * How long a client's connection is not free yet, though the log has its last
 * response as sent.
 *
 * A log's service time ends when the response is handed to the kernel.  The
 * client can use that connection again a round trip later at the earliest, so
 * requests that follow faster came on another one: a browser that loads a
 * page over six connections leaves requests of 2 ms each that hardly ever
 * overlap.  The log shows the round trip as well, at the first request after
 * a pause: what is asked for next was found in its response.
 *
 * Half of the shortest such gap is taken, and only where it explains the
 * traffic: most of the client's further requests, and most in the whole log,
 * follow faster than that.  A client with one connection cannot do so often.
 * One real log with known connections (prefork, microseconds): 4811
 * connections; 3862 without this, 4515 with it.
 */
#ifndef KA_ROUND_TRIP_H
#define KA_ROUND_TRIP_H

#include "connections_priv.h"

typedef struct ka_round_trips {
    uint32_t *client_of; /* client_of[n]: request -> client, from 0 */
    int64_t *free_us;    /* by client: not free before its end + this */
    size_t client_n;
    bool any; /* some free_us is above 0 */
} ka_round_trips;

/**
 * Reads the round trips from the requests (HTTP/2 and lone ones left out).
 * @param out  caller's storage; ka_round_trips_clear frees what it owns
 * @return APR_SUCCESS; APR_ENOMEM (out is empty)
 */
apr_status_t ka_round_trips_find(ka_round_trips *out, const ka_grouping *g);

/** Frees what it owns. */
void ka_round_trips_clear(ka_round_trips *trips);

#endif
