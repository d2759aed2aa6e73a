/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_metrics: what mod_kastats records, as tables: one row per counter and
 * per distribution, with name, unit, nature and help.  Writer, readers and
 * renderers walk the same rows.
 *
 * Numbers of counters and distributions are places in the segment: append
 * only, never reorder, never change `bits` (else bump KA_SEGMENT_MAJOR).
 */
#ifndef KA_METRICS_H
#define KA_METRICS_H

#include <stddef.h>
#include <stdint.h>

#include "ka_histogram.h"
#include "ka_reasons.h"

/* What really served a request. */
typedef enum ka_served {
    KA_SERVED_STATIC = 0, /* the server itself: files, redirects, refusals */
    KA_SERVED_DYNAMIC,    /* a handler, CGI, FastCGI */
    KA_SERVED_PROXIED,    /* another HTTP server */
    KA_SERVED_N
} ka_served;

typedef enum ka_protocol {
    KA_PROTOCOL_NONE = 0, /* no request was read */
    KA_PROTOCOL_HTTP09,
    KA_PROTOCOL_HTTP10,
    KA_PROTOCOL_HTTP11,
    KA_PROTOCOL_HTTP2,
    KA_PROTOCOL_UPGRADED, /* 101: websocket and the like */
    KA_PROTOCOL_N
} ka_protocol;

typedef enum ka_unit {
    KA_UNIT_NUMBER = 0, /* a plain count */
    KA_UNIT_US,         /* microseconds; shown as seconds */
    KA_UNIT_BYTES
} ka_unit;

typedef enum ka_nature {
    KA_NATURE_COUNTER = 0, /* only grows: add up over vhosts and stripes */
    KA_NATURE_GAUGE        /* a level */
} ka_nature;

/* Counters of a vhost.  Closed connections per reason come first; there is
 * no counter for what the distributions count: requests (service), reused
 * (gap + pipelined), closed connections (the sum of the reasons). */
enum {
    KA_COUNTER_CLOSE = 0, /* + ka_reason */
    KA_COUNTER_PIPELINED = KA_REASON_ROOM,
    KA_COUNTER_DROPPED_REQUEST, /* evicted although a request had arrived */
    KA_COUNTER_CLAMPED,         /* values past the end of a distribution */
    KA_COUNTER_INTERNAL,        /* connections of httpd to itself; not in
                                   any other number */
    KA_COUNTER_TLS,             /* closed connections that were TLS */
    KA_COUNTER_BYTES,           /* + ka_served: response body bytes (%B) */
    KA_COUNTER_PROTOCOL = KA_COUNTER_BYTES + KA_SERVED_N, /* + ka_protocol:
                                   closed connections by protocol */
    KA_COUNTER_N = KA_COUNTER_PROTOCOL + KA_PROTOCOL_N
};

/* Distributions of a vhost. */
enum {
    KA_QUANTITY_GAP = 0, /* + ka_served of the response before it */
    KA_QUANTITY_SERVICE = KA_QUANTITY_GAP + KA_SERVED_N,  /* + ka_served */
    KA_QUANTITY_TAIL = KA_QUANTITY_SERVICE + KA_SERVED_N, /* + ka_served of
                                                        the last response */
    KA_QUANTITY_REQUESTS = KA_QUANTITY_TAIL + KA_SERVED_N,
    KA_QUANTITY_LIFE,
    KA_QUANTITY_LINGER,
    KA_QUANTITY_FIRST,
    KA_QUANTITY_RTT,
    KA_QUANTITY_N
};

/* Bins that a distribution of values below 2^bits takes. */
#define KA_QUANTITY_BINS(bits)                                                 \
    ((size_t)((bits)-KA_HIST_SUB_BITS + 1) << KA_HIST_SUB_BITS)

/* Where the distributions lie in a vhost's block of bins. */
#define KA_TIME_BITS KA_HIST_MAX_BITS /* 76 h */
#define KA_REQUESTS_BITS 24           /* 16.7 million */
#define KA_LINGER_BITS 26             /* 67 s */
#define KA_FIRST_BITS 32              /* 71 min */
#define KA_RTT_BITS 26
#define KA_BINS_N                                                              \
    (10 * KA_QUANTITY_BINS(KA_TIME_BITS) +                                     \
     KA_QUANTITY_BINS(KA_REQUESTS_BITS) + KA_QUANTITY_BINS(KA_LINGER_BITS) +   \
     KA_QUANTITY_BINS(KA_FIRST_BITS) + KA_QUANTITY_BINS(KA_RTT_BITS))

typedef struct ka_counter_row {
    const char *name;  /* base of the metric's name, without unit or _total */
    const char *label; /* label that tells the rows of one name apart: reason,
                          class, protocol; or NULL */
    const char *value; /* the label's value, or NULL */
    ka_unit unit;
    ka_nature nature;
    const char *help;
} ka_counter_row;

typedef struct ka_quantity_row {
    const char *name;
    const char *label; /* "class" or NULL */
    const char *value;
    ka_unit unit;
    unsigned bits;    /* values from 2^bits on go into the last bin */
    size_t first_bin; /* in the vhost's block of bins */
    size_t bin_n;
    const char *help;
} ka_quantity_row;

extern const ka_quantity_row ka_quantities[KA_QUANTITY_N];

/**
 * What a counter means.
 * @return a row with name NULL for places that are kept free, and for a
 *         number out of range
 */
ka_counter_row ka_counter_describe(size_t counter);

/** `static`, `dynamic`, `proxied`; "static" out of range. */
const char *ka_served_name(unsigned served);

/** `none`, `http/0.9`, ... `h2`, `upgraded`; "none" out of range. */
const char *ka_protocol_name(unsigned protocol);

#endif
