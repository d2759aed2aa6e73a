/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_trace: requests on chains, the form in which the model reads traffic.
 *
 * A chain (MODEL 1) is a connection as it would be with an infinite
 * KeepAliveTimeout.  Each request either opens a chain, or follows the
 * previous one on its chain after an idle gap (>= 0), or joins it while a
 * request is still being served there (HTTP/2 streams, pipelining: no gap,
 * and no connection is opened at any timeout).
 *
 *      busy            gap (idle)          busy        tail (idle)
 *   |=========|.......................|=========|..................|
 *   opens                              follows              client closes
 *
 * Concurrency: one thread builds; finished, it is read-only.
 */
#ifndef KA_TRACE_H
#define KA_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KA_GAP_OPENS INT64_C(-1)  /* first request of its chain */
#define KA_GAP_JOINED INT64_C(-2) /* sent while the chain was busy */

/* Times and lengths are held within +-KA_TRACE_TIME_MAX (36,000 years), so
 * that no sum or difference of a few of them overflows. */
#define KA_TRACE_TIME_MAX (INT64_C(1) << 60)

/* What ka_trace_open returns when there was no memory. */
#define KA_CHAIN_NONE UINT32_MAX

typedef struct ka_trace_request {
    int64_t busy_from_us; /* where it begins to add busy time: its start, or
                             the end of the request that it joined */
    int64_t busy_to_us;   /* >= busy_from_us */
    int64_t gap_us;       /* idle time before busy_from_us on its chain, >= 0;
                             or KA_GAP_OPENS, KA_GAP_JOINED */
    uint32_t chain;       /* index into tails */
    uint8_t cls;          /* ka_class; KA_CLASS_N: a stream of HTTP/2, which no
                             rule by kind of content is asked about */
} ka_trace_request;

typedef struct ka_trace_tail {
    int64_t from_us; /* the chain's last busy_to_us */
    int64_t len_us;  /* how long the client would leave it open; 0 if the
                        last response closed it */
} ka_trace_tail;

typedef struct ka_trace {
    ka_trace_request *requests; /* in order of start (ascending within the
                                   source's clock) */
    size_t request_n, request_size;
    ka_trace_tail *tails; /* one per chain, in order of the chain's opening */
    size_t chain_n, chain_size;
    int64_t begin_us; /* window [begin, end): first start .. last end */
    int64_t end_us;
    bool failed; /* memory ran out: something is missing, do not use it */
} ka_trace;

/** Prepares empty caller's storage. */
void ka_trace_init(ka_trace *trace);
/** Frees what the trace owns and leaves it empty. */
void ka_trace_clear(ka_trace *trace);

/**
 * Appends a request that opens a chain.  An end before the begin is taken as
 * the begin.  Without memory nothing is appended and trace->failed is set,
 * once and for all: whoever uses the trace asks it there (ka_sweep does).
 * @return the chain's index; KA_CHAIN_NONE without memory
 */
uint32_t ka_trace_open(ka_trace *trace, int64_t begin_us, int64_t end_us);

/**
 * Appends a request on a chain that exists: after a gap where begin_us is at
 * or past the chain's last end, else joined to it.  The chain's tail is moved
 * to the new end; its length is left to ka_trace_tail_set (0 until then).
 * A chain that does not exist is a broken invariant, but for KA_CHAIN_NONE,
 * which does nothing.
 */
void ka_trace_follow(ka_trace *trace, uint32_t chain, int64_t begin_us,
                     int64_t end_us);

/** Says of which class the request is that was appended last; else it is
 * KA_CLASS_STATIC.  Without one it does nothing. */
void ka_trace_class_set(ka_trace *trace, uint8_t cls);

/** Says how long (>= 0) the client would leave the chain open after its end.
 * KA_CHAIN_NONE does nothing. */
void ka_trace_tail_set(ka_trace *trace, uint32_t chain, int64_t len_us);

/** Window length in us: end - begin; 0 if empty. */
int64_t ka_trace_window(const ka_trace *trace);

#endif
