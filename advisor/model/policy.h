/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A policy: how long a connection waits for its next request, by what it has
 * served last (mod_kapolicy's KAPolicy by served=).
 *
 *   [M20] request i reuses its connection exactly when g_i <= T(c), c the class
 *         of the request before it on its chain:
 *           N = N0 + #{g_i > T(c)}
 *           H = sum min(g_i, T(c)) + sum min(tail, T(c))
 *         and the holders of every moment follow as in [M11].
 *
 * With the same T for all classes it is sweep.h's outcome at T.  With several
 * the stack property [M3] does not hold: where a client's last used connection
 * was closed, an older one that served another class may be alive still, and
 * is taken instead of a new one.  The one taken is missing later, so that an
 * opening is put off, at times for good.  N and H are therefore upper bounds.
 * Beside the pool itself (test_policy.c) they are exact where each page of a
 * visitor has as many parts, on two connections or five; on six, with pages of
 * 0 to 5 parts, N is 6 % too high where pages close, H 5 %, and 1 % each where
 * they are kept for 1 s.
 *
 * Pure; safe from any thread.
 */
#ifndef KA_POLICY_H
#define KA_POLICY_H

#include <apr_errno.h>
#include "../sources/observation.h"
#include "sweep.h"

/* No rule names a timeout: what was in force on the connection stays so. */
#define KA_POLICY_STAYS INT64_C(-2)

typedef struct ka_policy {
    int64_t after_us[KA_CLASS_N]; /* T(c); KA_TIMEOUT_OFF: closes; or
                                     KA_POLICY_STAYS */
    int64_t other_us; /* of the server: at first, and after what no rule is
                         asked about (HTTP/2); or KA_TIMEOUT_OFF */
} ka_policy;

/** The same timeout, or KA_TIMEOUT_OFF, after all. */
ka_policy ka_policy_uniform(int64_t timeout_us);

/** Whether all its timeouts are such. */
bool ka_policy_valid(const ka_policy *policy);

/** The timeout after a request of a class (KA_CLASS_N: no rule is asked), on a
 * connection on which in_force_us was before; at first that is other_us. */
int64_t ka_policy_next(const ka_policy *policy, int64_t in_force_us,
                       unsigned cls);

/** The longest timeout that it ever leads to; KA_TIMEOUT_OFF: it closes after
 * everything. */
int64_t ka_policy_longest(const ka_policy *policy);

/**
 * [M20] on a trace.
 * @param out      timeout_us is that of ka_policy_longest
 * @param options  linger_us is taken as 0
 * @return as ka_sweep; APR_EINVAL also for a timeout that is none
 * Temporary memory: some 90 bytes a request.
 */
apr_status_t ka_policy_sweep(ka_outcome *out, const ka_policy *policy,
                             const ka_trace *trace,
                             const ka_sweep_options *options);

#endif
