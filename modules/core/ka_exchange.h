/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_exchange: what KeepAliveTimeout costs and saves, from what a segment
 * holds.
 *
 * [M10] d idle(T)/dT = N_to(T)/W, -dN/dT = density of gaps at T: one more
 *       second of T holds so many more connections idle, on prefork and
 *       worker each with a worker, and saves so many handshakes per second.
 * [M4]  N(T) = N + #{g > T}, [M5] H(T) = sum min(g, T) + sum min(tail, T):
 *       for every T up to the one in force, from the gaps and tails seen.
 *
 * Assumptions: W is the time since the segment began, and T was the same all
 * that time.  Clients reuse the connection used last [M3].
 *
 * All functions are pure, allocate nothing, and are safe from any thread.
 */
#ifndef KA_EXCHANGE_H
#define KA_EXCHANGE_H

#include "ka_segment_reader.h"

typedef struct ka_exchange {
    double held;  /* more idle connections in the mean, per second of T */
    double saved; /* fewer new connections per second, per second of T */
} ka_exchange;

/**
 * Adds [M10] of one vhost, so that vhosts with timeouts of their own add up.
 * @param out         changed by += ; the caller starts with {0}
 * @param timeout_us  the effective KeepAliveTimeout; <= 0 (KeepAlive Off)
 *                    adds nothing
 * @param window_s    W; <= 0 adds nothing
 */
void ka_exchange_add(ka_exchange *out, const ka_stats *stats,
                     int64_t timeout_us, double window_s);

typedef struct ka_shorter {
    double idle;   /* connections idle at a time, in the mean */
    double opened; /* new connections per second */
    double reused; /* requests on a connection that had served one, 0 .. 1 */
} ka_shorter;

/* What a timeout is tried on: everything that a segment saw. */
typedef struct ka_waits {
    ka_hist gap, tail;
    uint64_t requests, reused;
    uint64_t connections; /* opened */
    double window_s;
} ka_waits;

/** Collects them; stats of one vhost or of all. */
void ka_waits_read(ka_waits *out, const ka_stats *stats, double window_s);

/**
 * [M4] [M5] with a timeout of at most so much.
 * @param timeout_us  >= 0; INT64_MAX: as it was
 * @return all 0 if there were no requests or window_s <= 0
 */
ka_shorter ka_waits_try(const ka_waits *waits, int64_t timeout_us);

#endif
