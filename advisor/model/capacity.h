/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * From outcomes to numbers of an MPM: memory [M14], event's sizes [M13], the
 * choice of T [M18].  Pure functions of structs.
 */
#ifndef KA_CAPACITY_H
#define KA_CAPACITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "outcome.h"

/* Memory of one idle connection on event, measured (HTTPD.md): bytes. */
#define KA_IDLE_PLAIN_BYTES (INT64_C(32) * 1024)
#define KA_IDLE_TLS_BYTES (INT64_C(62) * 1024)

/* Utilisation of a child's threads up to which event keeps its idle
 * connections safe [M13]. */
#define KA_EVENT_UTILISATION 0.65

/* T_cap, the client limit up to which reuse counts in [M18]. */
#define KA_TIMEOUT_CAP_US (INT64_C(115) * 1000000)

/* What a server can hold; -1: not known. */
typedef struct ka_supply {
    int64_t memory_bytes;  /* budget for httpd */
    int64_t process_bytes; /* USS of a warm child */
    int64_t shared_bytes;  /* 0 if not known */
    int threads_per_child; /* 1 on prefork */
    bool holds_idle;       /* prefork, worker: an idle connection holds a
                              worker */
    int64_t idle_bytes;    /* event: memory of an idle connection */
    double growth;         /* factor on demand, 1 = as observed */
    double extra_mean;     /* workers that connections without a request hold
                              in the mean, added to demand */
} ka_supply;

/* One timeout on one MPM. */
typedef struct ka_fit {
    double workers;       /* [M12] workers needed, growth included */
    double connections;   /* peak of open connections x growth */
    int64_t memory_bytes; /* of that many workers (and idle connections on
                             event); -1 if not known */
    int fits;             /* 1 yes, 0 no, -1 not known */
} ka_fit;

/** [M12]..[M14] for one timeout.  workers: by Hayward on the busiest period,
 * never under the trace's own p99.9. */
ka_fit ka_capacity_fit(const ka_outcome *outcome, const ka_supply *supply);

/** c_fit of [M14] in workers (children x threads); -1 if not known. */
int64_t ka_capacity_limit(const ka_supply *supply, double idle_connections);

/** Memory that idle connections take outside of workers, in bytes: 0 but on
 * event. */
double ka_capacity_idle_memory(const ka_supply *supply,
                               double idle_connections);

/** Memory of c workers (and idle connections): -1 if not known. */
int64_t ka_capacity_memory(const ka_supply *supply, int64_t workers,
                           double idle_connections);

typedef enum ka_choice_reason {
    KA_CHOICE_KNEE,         /* T_knee: longer saves under delta more opens */
    KA_CHOICE_FIT,          /* T_fit: longer does not fit */
    KA_CHOICE_PROXY,        /* raised over the proxy's idle timeout */
    KA_CHOICE_PAGE_BURST,   /* sync MPM, T_fit < 1 s: 1 s before Off */
    KA_CHOICE_OFF_NO_REUSE, /* reuse at T_cap under 5 % */
    KA_CHOICE_OFF_NO_FIT,   /* nothing fits but Off */
    KA_CHOICE_KEEP          /* memory not known on a sync MPM: not above T0 */
} ka_choice_reason;

typedef struct ka_choice {
    size_t index;         /* of the chosen outcome */
    ka_choice_reason reason;
    int64_t knee_us;      /* T_knee */
    int64_t fit_us;       /* T_fit; KA_TIMEOUT_OFF if only Off fits; -2 if
                             not even Off fits or it is not known */
    bool fit_known;
    bool infeasible;      /* what the proxy needs does not fit, or nothing
                             does */
    double reuse_cap;     /* reuse at T_cap */
} ka_choice;

typedef struct ka_choice_options {
    double delta;          /* share of requests, 0.01 by default */
    int64_t now_us;        /* T0 or KA_TIMEOUT_OFF; -2 if not known */
    int64_t proxy_idle_us; /* -1: none */
} ka_choice_options;

/**
 * [M18] Chooses among outcomes[n] (ascending timeouts, KA_TIMEOUT_OFF first).
 * @param fits  fits[n] of the same timeouts
 * n must be > 0.
 */
ka_choice ka_choose(const ka_outcome *outcomes, const ka_fit *fits, size_t n,
                    const ka_supply *supply, const ka_choice_options *options);

/** [M18] T_knee: index of the smallest timeout that opens at most delta x n
 * connections more than T_cap, among outcomes[n] (ascending, n > 0).  Their
 * timeouts, requests and connections are looked at. */
size_t ka_knee(const ka_outcome *outcomes, size_t n, double delta);

/** [M16] The MaxKeepAliveRequests to propose: the smallest of the customary
 * values whose extra opens stay under 0.1 % of requests.
 * @param extra  extra(context, m) extra opens for a value m */
uint32_t ka_choose_max_requests(uint64_t requests,
                                uint64_t (*extra)(void *context, uint32_t m),
                                void *context);

/** [M13] AsyncRequestWorkerFactor for M workers and a peak of connections:
 * max(2, ceil((1.3 x peak / M - 1)/(1 - KA_EVENT_UTILISATION))). */
int ka_async_factor(int64_t workers, double connections_peak);

/* [M17] What a leak may add to the unique size of a child before it is replaced,
 * as a share of that: children are of all ages, so that it adds half of this in
 * the mean, and no more than the tenth of memory that stays free. */
#define KA_LEAK_GROWTH 0.20

/** [M17] MaxConnectionsPerChild: 0 unless a leak is measured.
 * @param leak_bytes_per_request  < 0: not measured
 * @param growth_bytes            what a child may grow by
 * @param requests_per_connection mean, > 0 */
int64_t ka_max_connections_per_child(double leak_bytes_per_request,
                                     int64_t growth_bytes,
                                     double requests_per_connection);

#endif
