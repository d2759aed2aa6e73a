/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * How soon clients come back to a server that has closed their idle
 * connection: from single connections of which the client is known (by a
 * hash).  A connection that timed out is linked to the same client's next
 * one, the latest end <= start (MODEL 6); the gap is what a longer timeout
 * would have had to outlast.
 *
 *   connection 1  |==|....|==|.....T0.....x
 *   connection 2                                |==|...|==|
 *                            |..................| gap = T0 + over
 *
 * Where only the latest connections are known, whoever has not come back at
 * the end may still do so: these are censored, and the share of longer gaps is
 * estimated by the product limit (Kaplan and Meier, 1958).  Where all are
 * known, they count as gone for good, as they do in a log.
 */
#ifndef KA_SURVIVAL_H
#define KA_SURVIVAL_H

#include <apr_errno.h>
#include <apr_pools.h>
#include "../model/histsweep.h"

/* Fewer connections that timed out tell nothing. */
#define KA_SURVIVAL_LEAST 20

#define KA_SPANS_ALL INT64_MAX

typedef struct ka_span {
    uint64_t client;
    int64_t start_us; /* accepted */
    int64_t first_us; /* its first request */
    int64_t idle_us;  /* its last response was sent */
    bool timed_out;   /* closed at idle_us + T0 */
    int64_t limit_us; /* T0; of those that timed out */
} ka_span;

/**
 * @param out    arrays owned by pool; n 0 if too few timed out
 * @param spans  spans[n], in any order; put in order of client and start
 * @param end_us connections that start from here on are not all known;
 *               KA_SPANS_ALL: spans are all that there were
 */
void ka_survival_make(ka_survival *out, ka_span *spans, size_t n,
                      int64_t end_us, apr_pool_t *pool);

#endif
