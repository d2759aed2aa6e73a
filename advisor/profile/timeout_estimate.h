/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The KeepAliveTimeout that a log was written under, from the log itself.
 *
 * Three kinds of evidence, each from gaps between requests at one place (a
 * remote port, a process and thread) or on one connection:
 *   proven    %k says that the connection lasted over the gap: T0 covers
 *             nearly all such gaps
 *   hole      gaps at one port end at T0; a port comes back much later
 *   turnover  a slot is given to another client before T0 only if the client
 *             closed; past T0 always
 * Timeouts are whole seconds, 1 .. 300.
 */
#ifndef KA_TIMEOUT_ESTIMATE_H
#define KA_TIMEOUT_ESTIMATE_H

#include "connections_priv.h"

#define KA_TIMEOUT_MAX_S 300

/* Half-second bins up to 1.5 times the longest timeout, and one above: bin i
 * holds gaps in (i/2, (i + 1)/2] seconds, the first one also 0. */
#define KA_GAP_BINS (KA_TIMEOUT_MAX_S * 3 + 1)

typedef struct ka_gap_bins {
    uint64_t same[KA_GAP_BINS];   /* nothing speaks against one connection */
    uint64_t other[KA_GAP_BINS];  /* another connection began */
    uint64_t proven[KA_GAP_BINS]; /* those of `same` that %k proves */
} ka_gap_bins;

/** The bin of a gap. */
size_t ka_gap_bin(int64_t gap_us);

/** Smallest T that covers all but one in a thousand of bins[KA_GAP_BINS]; -1
 * if there are fewer than 50 or T would be above the longest. */
int64_t ka_timeout_covering(const uint64_t *bins);

/** Smallest T that covers 99 % of bins[KA_GAP_BINS] and is followed by a hole
 * up to 1.5 T; -1 if there is none, or fewer than 50 gaps. */
int64_t ka_timeout_before_hole(const uint64_t *bins);

/** The T past which the share of `other` jumps; -1 if no jump is significant.
 */
int64_t ka_timeout_at_turnover(const ka_gap_bins *bins);

/**
 * T0 in us from the requests; -1 if the log does not show it, also at the
 * level `time`; 0 if it shows KeepAlive Off.
 * @return APR_SUCCESS; APR_ENOMEM
 */
apr_status_t ka_timeout_estimate(int64_t *timeout_us, ka_identity identity,
                                 const ka_log_facts *facts,
                                 const ka_requests *requests);

#endif
