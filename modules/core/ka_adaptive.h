/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_adaptive: how long a connection may wait for its next request, by how
 * much of the server is taken.
 *
 *   timeout
 *   wanted  ------------.
 *                        \              [P1] wanted up to `low`, falling in a
 *                         \             straight line to `min` at `high`
 *   min                    '---------   [P2] from `high` on nothing is kept,
 *           0        low  high   100 %       and the oldest waits end
 *
 * What is taken, out of which limit, is the caller's: workers that hold a
 * connection (prefork, worker), or a child's connections or threads (event).
 * Pure; safe from any thread.
 */
#ifndef KA_ADAPTIVE_H
#define KA_ADAPTIVE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct ka_adaptive {
    int64_t min_us; /* 0 <= min_us <= max_us */
    int64_t max_us;
    uint32_t low; /* per cent; low < high <= 100 */
    uint32_t high;
} ka_adaptive;

/**
 * The timeout in force while `taken` out of `limit` are taken.   [P1]
 * @param wanted_us  without load; one that is below min_us is not changed
 * @param limit      0 = unknown: wanted_us
 * @return us, never more than wanted_us
 */
int64_t ka_adaptive_timeout(const ka_adaptive *a, int64_t wanted_us,
                            uint32_t taken, uint32_t limit);

/**
 * How many must go so that less than `high` is taken.   [P2]
 * @return 0 while that is so, or if limit is 0; at most `taken`
 */
uint32_t ka_adaptive_excess(const ka_adaptive *a, uint32_t taken,
                            uint32_t limit);

/** Whether less than `low` is taken, or the limit is not known. */
bool ka_adaptive_is_calm(const ka_adaptive *a, uint32_t taken, uint32_t limit);

#endif
