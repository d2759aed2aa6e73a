/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_profile: what the traffic of a source looks like, total and per vhost.
 * Built from requests, on the connections that connections.h found; holds no
 * server settings and no advice.
 *
 * Where the source only allows a bracket (MODEL 7.4), quantities that depend
 * on connections have a low and a high side; the side named `low` is that of
 * the fewest connections.
 */
#ifndef KA_PROFILE_H
#define KA_PROFILE_H

#include <ka_histogram.h>
#include <ka_reasons.h>
#include "connections.h"

/* mean, quantiles and maximum of one quantity, in its own unit */
typedef struct ka_dist {
    uint64_t n; /* 0: nothing was observed, the rest is 0 */
    double mean, p50, p90, p99, max;
} ka_dist;

/* Vhosts that are listed, the busiest ones: what a log calls a vhost may be
 * what clients sent as Host. */
#define KA_PROFILE_VHOSTS 100

/* Requests of one class, one vhost or all. */
typedef struct ka_traffic {
    const char *name;      /* vhost or class; "" for the total */
    uint64_t requests;
    double requests_per_s; /* over the window */
    double p99_per_s;      /* 99th percentile of the requests in one second,
                              over all seconds of the window, idle ones too */
    double peak_per_s;     /* most requests in one second */
    ka_hist service;       /* us; empty if the log does not tell */
    ka_hist gap;           /* us; idle time on its connection after a request
                              of this class or vhost, until the next one: up
                              to T0 */
    ka_hist longer;        /* us; the same above T0, between two connections
                              of one chain; empty unless longer_known */
    uint64_t bytes;        /* to clients, where told */
    uint64_t bytes_n;      /* requests for which they were told */
} ka_traffic;

/* Connections as they were under T0: chains cut at gaps above it. */
typedef struct ka_connection_stats {
    uint64_t connections;
    ka_dist requests_per_connection;
    double single_share; /* of connections that carry one request */
    ka_dist parallel;    /* per client: most connections between their first
                            request's start and last request's end at once */
    uint64_t clients;    /* different clients (address and User-Agent) */
} ka_connection_stats;

typedef struct ka_profile {
    double window_s;         /* first start .. last end */
    int64_t first_us, last_us;
    ka_traffic total;
    ka_traffic classes[KA_CLASS_N];
    ka_traffic *vhosts;      /* most requests first; n = 0 if the log has no
                                vhost item */
    size_t vhost_n;          /* <= KA_PROFILE_VHOSTS */
    size_t vhosts_more;      /* further ones, not listed */
    uint64_t addresses;      /* different peer addresses */
    double top_address_share; /* of requests, by the busiest peer address */
    uint64_t http10, http2;  /* requests */
    uint64_t aborted, final; /* requests: %X says X; %X says - */
    uint64_t not_http;       /* 400 for what is no HTTP */
    bool live;               /* counted by the server itself: closes are known
                                by reason; clients and addresses only of the
                                recent connections (0: not known) */
    uint64_t closes[KA_REASON_N]; /* with live */
    uint64_t dropped_requests; /* with live: sent on connections evicted */
    uint64_t no_request;     /* connections without a request (408, 400); not
                                in total.requests */
    uint64_t tls;            /* requests that the log says came over TLS */
    uint64_t with_service;   /* requests whose service time is known */
    uint64_t slow_bytes_n;   /* R15: requests that took over a second for
                                bytes sent at under 100 kB/s */
    int64_t slow_service_us; /* their share of the service time */
    bool longer_known;       /* every request was kept, so idle times above T0
                                are known by class and vhost */
    ka_connection_stats low, high; /* high == low without a bracket */
    bool bracket;
} ka_profile;

/**
 * Builds the profile.
 * @param out       strings and arrays owned by pool
 * @param requests  those of them that are KA_REQ_NO_REQUEST are counted
 *                  apart, others are left alone
 * @param served    those of them that the connections were grouped from:
 *                  served[i] belongs to connections->chain_low[i]
 * @param connections  not modified
 * @param info      names of vhosts
 * @param timeout_us  T0 by which connections are cut, >= 0 or KA_TIMEOUT_OFF
 * @return APR_SUCCESS; APR_ENOMEM
 */
apr_status_t ka_profile_build(ka_profile *out, const ka_requests *requests,
                              const ka_requests *served,
                              const ka_connections *connections,
                              const ka_source_info *info, int64_t timeout_us,
                              apr_pool_t *pool);

/** Mean and quantiles of a histogram, in its unit times `scale`. */
ka_dist ka_dist_of(const ka_hist *h, double scale);

#endif
