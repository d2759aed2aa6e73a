/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The document's formula, [M1] and [M2]: the classic estimate that is printed
 * beside the full model, with the reason why they differ.
 *
 *   [M1] processes = KeepAliveTimeout x requests per second
 *                    / mean keep-alive requests
 *        memory    = processes x memory per process
 *        KeepAlive Off or timeout 0: processes = requests per second
 *   [M2] KeepAlive Off pays when
 *        mean keep-alive requests <= KeepAliveTimeout (seconds)
 */
#ifndef KA_FORMULA_H
#define KA_FORMULA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <apr_errno.h>

typedef struct ka_formula {
    /* inputs */
    double timeout_s;          /* 0: KeepAlive Off */
    double requests_per_s;
    double keepalive_requests; /* mean requests per connection; not used
                                  when timeout_s is 0 */
    int64_t process_bytes;     /* -1: not given */
    /* results */
    double processes;
    int64_t memory_bytes;      /* -1 without process_bytes */
    bool keepalive_pays;       /* [M2]: keepalive_requests > timeout_s; says
                                  nothing when timeout_s is 0 */
} ka_formula;

/**
 * Computes the results from the inputs in *f.
 * @return APR_SUCCESS; APR_EINVAL if an input is negative or not finite, or
 *         keepalive_requests is 0 with a timeout, or the result is too large
 *         for a double (results untouched).  Memory stops at INT64_MAX.
 * Pure, safe from any thread.
 */
apr_status_t ka_formula_compute(ka_formula *f);

/** [M2] in words, with these inputs and the second of service per request
 * that it hides; static or written to buffer[size], cut there if too long. */
const char *ka_formula_rule(char *buffer, size_t size, const ka_formula *f);

/** Why the estimate differs from the full model (MODEL 2), one paragraph of
 * plain sentences; static. */
const char *ka_formula_why_it_differs(bool keepalive_off);

#endif
