/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Every timeout at once: [M3]..[M11] on a trace, without assuming any
 * distribution.
 *
 *   [M4] N(T) = N0 + #{g > T}
 *   [M5] H(T) = sum min(g, T) + sum min(tail, T)
 *   [M6] L(T) = (S + H(T) + N(T) a + N_to(T) l) / W
 *   [M8] N_to(T) = #{g > T} + #{tail > T}
 *   [M11] peaks: one sorted list of idle starts and of idle ends serves all T
 *
 * Counting: holders are counted on half-open intervals [from, to); where one
 * ends as another begins, the count does not move.  The distributions are
 * taken over the trace's window [begin, end), with what reaches beyond it cut
 * off; sums are whole (a tail is not cut by the window's end), and held_mean
 * is the identity [M6] on them, so held.mean is a little lower.
 *
 * KA_TIMEOUT_OFF follows the same formulas with T just below 0: every gap and
 * tail exceeds it, none lasts.  Its closes are not by timeout, so
 * timeout_closes is 0; but they are the server's, so they linger.
 */
#ifndef KA_SWEEP_H
#define KA_SWEEP_H

#include <apr_errno.h>
#include <apr_pools.h>
#include "../profile/trace.h"
#include "held.h"
#include "outcome.h"

typedef struct ka_sweep_options {
    int64_t measured_up_to_us; /* T0: larger timeouts are extrapolated */
    int64_t accept_us; /* a: worker time from accept to first request line */
    int64_t linger_us; /* l: lingering close of a server-initiated close */
    int64_t period_us; /* length of a busy period for [M12]; 0: one hour; the
                          whole window if that is shorter.  A last one of less
                          than half is merged with the one before; held's
                          begin after T, at most a quarter of the window: at
                          first those connections are missing that opened
                          before the trace */
    double eps;        /* blocking for [M12]; 0: KA_BLOCKING */
} ka_sweep_options;

/** The timeouts evaluated by default: off, then 0.2 to 300 s; us, ascending.
 * @param n  their number */
const int64_t *ka_sweep_default_timeouts(size_t *n);

/**
 * Evaluates timeouts[n] (ascending; KA_TIMEOUT_OFF first if wanted; equal
 * ones are allowed).
 * @param out  out[n], filled in the same order
 * @return APR_SUCCESS; for an empty trace all is zero but the timeout and
 *         `measured`, for an empty window all rates and numbers of holders.
 *         APR_EINVAL if timeouts are not ascending or one is below
 *         KA_TIMEOUT_OFF; APR_ENOMEM, also for a trace that failed.
 *         out is undefined unless APR_SUCCESS.
 * Temporary memory: at most some 56 bytes a request and 24 a chain, freed
 * before it returns.  O(n log n + n x timeouts).
 */
apr_status_t ka_sweep(ka_outcome *out, const int64_t *timeouts, size_t n,
                      const ka_trace *trace,
                      const ka_sweep_options *options);

/* Is told what is counted on a trace, where that is kept in another form. */
typedef struct ka_sweep_visitor {
    void *context;
    ka_held_visit *busy; /* busy workers, the same at all timeouts; first */
    /* Before the holders at timeouts[i]: counts has [M4] and [M5]; waits are
     * the idle times longer than it, [M8] but with KeepAlive Off too. */
    void (*timeout)(void *context, size_t i, const ka_outcome *counts,
                    uint64_t waits);
    ka_held_visit *held;
} ka_sweep_visitor;

/**
 * Walks through what ka_sweep evaluates, accept and linger taken as 0.
 * @return as ka_sweep
 */
apr_status_t ka_sweep_visit(const ka_sweep_visitor *visitor,
                            const int64_t *timeouts, size_t n,
                            const ka_trace *trace);

/**
 * [M16] Connections that MaxKeepAliveRequests m (> 0) opens beyond N(T): sum
 * over connections at T of floor((len - 1)/(m + 1)); m + 1 because httpd
 * serves m + 1 requests.  0 for m == 0 (unlimited); UINT64_MAX if there is no
 * memory (4 bytes a chain).
 */
uint64_t ka_extra_opens(const ka_trace *trace, int64_t timeout_us,
                        uint32_t max_requests);

#endif
