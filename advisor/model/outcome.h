/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_outcome: what one KeepAliveTimeout would do under the observed traffic.
 * The closed form (sweep.h) and a simulation of the server both fill it, so
 * that they check each other.  Counts are for the whole window; workers and
 * connections are numbers of simultaneous holders.
 */
#ifndef KA_OUTCOME_H
#define KA_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

/* KeepAlive Off: every request (but HTTP/2 streams on a connection that is
 * busy already) opens a connection. */
#define KA_TIMEOUT_OFF INT64_C(-1)

/* The time-weighted distribution of a number of holders over the window. */
typedef struct ka_held {
    double mean;     /* of the distribution, over the window */
    double variance;
    double p99, p999; /* smallest c with share of time (count <= c) >= p */
    double peak;
    double workers;  /* [M12] over the busiest period */
    double busiest_mean, busiest_variance; /* of that period; 0: not told */
} ka_held;

typedef struct ka_outcome {
    int64_t timeout_us;      /* or KA_TIMEOUT_OFF */
    bool measured;           /* T <= T0: all its gaps were seen (MODEL 6) */
    bool held_is_bound;      /* held is an upper bound: how soon clients look
                                at a close that they left is not known */
    uint64_t requests;       /* n */
    uint64_t connections;    /* [M4] N(T) */
    uint64_t timeout_closes; /* [M8] N_to(T) */
    int64_t idle_us;         /* [M5] H(T), connection-microseconds */
    int64_t busy_us;         /* S, without the accept term */
    double window_s;
    double connections_per_s;
    double reuse;            /* [M9] 1 - N/n */
    double handshakes_saved_per_s; /* (n - N)/W */
    double idle_mean;        /* H/W */
    double busy_mean;        /* (S + N a)/W */
    double held_mean;        /* [M6] (S + H + N a + N_to l)/W */
    double linger_bound_mean; /* 2 s x N_to/W: the most that clients which do
                                 not answer the server's close could add */
    ka_held held;            /* busy or idle: holders on prefork and worker,
                                open connections on event */
    ka_held busy;            /* holders on event */
    /* [M10] at this T: */
    double held_per_second;  /* d idle/dT = N_to/W: workers per second of T */
} ka_outcome;

#endif
