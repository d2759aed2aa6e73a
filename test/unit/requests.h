/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Requests for tests of the grouping and of the profile: written in seconds,
 * in order of start. */
#ifndef KA_TEST_REQUESTS_H
#define KA_TEST_REQUESTS_H

#include <profile/connections.h>

#define REQUESTS_MAX 4096

typedef struct requests {
    ka_request items[REQUESTS_MAX];
    size_t n;
    ka_requests list; /* what the functions take */
} requests;

static inline int64_t seconds_us(double s)
{
    return (int64_t)llround(s * 1e6);
}

/* HTTP/1.1 from client number `client`, kept alive as far as is told. */
static inline ka_request *request_add(requests *q, double begin_s,
                                      double service_s, uint64_t client)
{
    ka_request *r = &q->items[q->n++];

    assert_true(q->n <= REQUESTS_MAX);
    *r = (ka_request){.begin_us = seconds_us(begin_s),
                      .service_us = seconds_us(service_s),
                      .bytes = -1,
                      .client = client,
                      .address = client,
                      .client_limit_us = seconds_us(300),
                      .keepalives = -1,
                      .remote_port = -1};
    q->list = (ka_requests){.items = q->items, .n = q->n};
    return r;
}

/* Options: T0 in seconds, -1 for not known; microsecond stamps with %D. */
static inline ka_connection_options fine_options(double timeout_s)
{
    return (ka_connection_options){.timeout_us = timeout_s < 0
                                                     ? -1
                                                     : seconds_us(timeout_s),
                                   .threaded = -1,
                                   .clock_us = 1,
                                   .service_clock_us = 1};
}

/* N(T) of [M4], counted on the trace. */
static inline size_t trace_connections(const ka_trace *trace,
                                       int64_t timeout_us)
{
    size_t n = 0, i;

    for (i = 0; i < trace->request_n; i++) {
        int64_t gap = trace->requests[i].gap_us;

        n += gap == KA_GAP_OPENS || gap > timeout_us;
    }
    return n;
}

#endif
