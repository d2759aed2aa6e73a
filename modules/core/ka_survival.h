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

#include <apr_pools.h>

#include "ka_segment_reader.h"

/* Fewer connections that timed out tell nothing. */
#define KA_SURVIVAL_LEAST 20

#define KA_SPANS_ALL INT64_MAX

/* share[i]: of the idle times longer than T0, those that are longer than
 * T0 + over_us[i]; 1 before over_us[0], share[n - 1] from the last one on. */
typedef struct ka_survival {
    const int64_t *over_us; /* ascending, >= 0 */
    const double *share;    /* not ascending, 0 .. 1 */
    size_t n;               /* 0: nothing is known beyond T0 */
} ka_survival;

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

/** The connection's times held to where sums of a few do not overflow: those
 * of a foreign file may be any. */
int64_t ka_survival_within(int64_t us);

/**
 * ka_survival_make for connections of a segment.
 * @param recent  recent[n]; those without a request are left out
 * @param vhosts  by recent[i].vhost
 */
void ka_survival_recent(ka_survival *out, const ka_segment_recent *recent,
                        size_t n, const ka_segment_vhost *vhosts,
                        int64_t end_us, apr_pool_t *pool);

/** Of idle times longer than T0, the share that is longer than T0 + over_us. */
double ka_survival_at(const ka_survival *survival, int64_t over_us);

#endif
