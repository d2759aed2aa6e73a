/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The MPM itself, event by event: what a configuration does under given
 * traffic.  Where the closed form (sweep.h) has a worker for everybody, here
 * somebody may have to wait for one.
 *
 *     client --> accept queue --> a child with a free worker --> request
 *        ^         | full: refused                                  |
 *        |         v again after 1, 2, 4 ... s                      v
 *        +---- closed: timeout, limit, eviction <---- idle, gap <= T: again
 *
 * Modelled
 *   accept queue  connections wait in the order in which they came; one that
 *                 finds it full is refused and tries again as TCP does
 *   children      the rules of spawn.h, once a second; the child that takes a
 *                 connection is any of those that could (drawn by the seed)
 *   prefork, worker  a connection holds a worker from accept to close, and on
 *                 while the server waits for the client's close (linger_us)
 *   event         an idle connection holds none.  A child that has too many
 *                 connections for its idle workers (AsyncRequestWorkerFactor)
 *                 stops accepting; one whose workers are all busy closes all
 *                 its idle connections once anything wakes its listener: a
 *                 connection in the queue, or a request on an idle connection,
 *                 which is dropped then
 *   ends          of a child by MaxSpare or MaxConnectionsPerChild: it accepts
 *                 nothing more; event closes its idle connections, the others
 *                 serve one request more on each
 *   KAPolicy      a timeout by what was served last (policy.h)
 *   KAPolicyAdaptive  timeouts fall with the share of taken workers, the waits
 *                 that have begun as well; from `high` on responses close, and
 *                 the oldest waits end (ka_adaptive.h; sim_adaptive.c has how
 *                 often that is looked at).  Closes that clients leave
 *                 unanswered hold no worker then
 *   clients       a chain (MODEL 1) keeps its gaps: whoever had to wait goes on
 *                 later.  A client whose connection was closed opens one for
 *                 its next request, accept_us ahead of it, but not before its
 *                 last response; it sends a dropped request again at once
 *   restart       graceful: children end as by MaxSpare, all at once, and
 *                 StartServers new ones begin
 * Not modelled: a machine that is short of processor (service times are as
 * given), clients that give up waiting, full restarts, threads that are slow to
 * start beyond child_start_us, several listener buckets.
 *
 * With workers for everybody the outcome is that of ka_sweep on the same
 * trace: connections, closes, sums and distributions of holders are equal.
 * (There a client whose gap exceeds T by less than accept_us connects before
 * its connection is closed; here it waits for that.  And with KeepAlive Off
 * nothing is left here of the lag that a late timer added.)  Requests that
 * joined one being served (HTTP/2) lengthen it and do not count for
 * MaxKeepAliveRequests.
 *
 * Pure: no result depends on anything but the arguments.
 */
#ifndef KA_SIM_H
#define KA_SIM_H

#include <apr_errno.h>
#include <apr_pools.h>
#include <ka_adaptive.h>
#include "outcome.h"
#include "policy.h"
#include "sim_traffic.h"
#include "spawn.h"

/* More children httpd does not allow either (prefork's MAX_SERVER_LIMIT). */
#define KA_SIM_CHILDREN_MAX 200000u

/* CPU time, measured (HTTPD.md): of a request on an open connection, and what
 * a new connection adds: plain, with TLS by an RSA-2048 or a P-256 key. */
#define KA_CPU_REQUEST_US 121
#define KA_CPU_CONNECTION_US 178
#define KA_CPU_TLS_RSA_US 1900
#define KA_CPU_TLS_P256_US 1200

/* Attempts after the first one (net.ipv4.tcp_syn_retries). */
#define KA_SIM_RETRIES 6

/* Steps into which the window is divided at most: as a rule, and ever. */
#define KA_SIM_POINTS 3600
#define KA_SIM_POINTS_MAX 1000000

typedef struct ka_sim_config {
    ka_spawn_settings spawn;  /* normalized first */
    int64_t timeout_us;       /* KeepAliveTimeout, or KA_TIMEOUT_OFF */
    const ka_policy *policy;  /* what takes its place; NULL: nothing */
    const ka_adaptive *adaptive; /* by load; NULL: no.  Without a policy its
                                 max_us takes KeepAliveTimeout's place, unless
                                 that is Off */
    uint32_t max_requests;    /* MaxKeepAliveRequests; 0: unlimited */
    uint32_t max_connections; /* MaxConnectionsPerChild; 0: unlimited */
    uint32_t async_factor;    /* AsyncRequestWorkerFactor; event */
    uint32_t queue;           /* connections that may wait to be accepted */
    uint32_t retries;         /* of a client that was refused */
    int64_t accept_us;        /* a: worker time before the first request */
    int64_t linger_us;        /* l: prefork, worker: after the server's close */
    int64_t child_start_us;   /* from fork to the first accept */
    int64_t restart_us;       /* a graceful one, after the begin; < 0: none */
    int64_t handshake_cpu_us; /* CPU time of a new connection */
    int64_t process_bytes;    /* USS of a child; -1: not known */
    int64_t shared_bytes;     /* of all children together; < 0 counts as 0 */
    int64_t idle_bytes;       /* event: of an idle connection */
    size_t points;            /* most of the series; 0: KA_SIM_POINTS */
} ka_sim_config;

/* A step of the series: the most at any instant of it, of free workers the
 * fewest, and counts. */
typedef struct ka_sim_point {
    uint32_t children;    /* with those that are ending */
    uint32_t busy;        /* workers that serve; on prefork and worker also
                             those held by idle or lingering connections */
    uint32_t free;        /* workers that could take something, ending
                             children's left out */
    uint32_t connections; /* accepted and open */
    uint32_t waiting;     /* in the accept queue */
    uint32_t refused, evicted, dropped;
    int64_t memory_bytes; /* -1: not known */
} ka_sim_point;

/* How long before and after a restart connections are counted. */
#define KA_SIM_WAVE_US INT64_C(10000000)

/* What a graceful restart does (R10); all zero without one in the window. */
typedef struct ka_sim_wave {
    uint64_t closed;        /* event: idle connections, at once */
    uint64_t opened_before, opened_after; /* connections that came within
                                             KA_SIM_WAVE_US */
    uint64_t waited;        /* of those that came after it, for a worker */
    int64_t wait_most_us;
} ka_sim_wave;

typedef struct ka_sim_result {
    ka_outcome outcome; /* of connections accepted and requests served */
    uint64_t waited;    /* connections that were not accepted at once */
    /* From a client's first attempt to the accept; over all connections, those
     * that did not wait included. */
    int64_t wait_p50_us, wait_p99_us, wait_p999_us, wait_most_us;
    uint32_t waiting_most; /* in the queue */
    uint64_t refused;      /* attempts that found the queue full */
    uint64_t given_up;     /* requests lost: refused too often, or of clients
                              in the queue when nothing moved any more */
    uint64_t evicted;      /* idle connections closed for want of workers */
    uint64_t dropped;      /* requests that met such a close */
    uint64_t limited;      /* times that a child of event stopped accepting with
                              workers free, for AsyncRequestWorkerFactor */
    uint64_t retired;      /* idle connections closed as their child ended */
    ka_sim_wave restart;
    uint64_t cut_waits;    /* idle connections closed by load before their time
                              (KAPolicyAdaptive) */
    uint64_t closed_full;  /* connections closed with a response, since too many
                              workers were taken */
    uint64_t spawned, ended; /* children; those of the start not counted */
    uint32_t children_most;
    double children_mean;
    uint32_t free_least;   /* workers, from when the first children work */
    double handshake_cpu_s;
    int64_t memory_most_bytes; /* -1: not known */
    double memory_mean_bytes;
    const ka_sim_point *points; /* points[point_n], of the window; owned by the
                                   pool */
    size_t point_n;
    int64_t step_us;       /* whole seconds; the last may be cut */
    int64_t begin_us;
} ka_sim_result;

/** httpd's defaults for an MPM, everything unlimited that is so there; memory
 * not known, accept, linger and start 0. */
ka_sim_config ka_sim_defaults(ka_mpm mpm);

/**
 * Runs the traffic against the configuration, beginning with StartServers.
 * @param seed  of the draws among children
 * @param pool  owns out->points; what else is needed is freed
 * @return APR_SUCCESS, all zero but the configuration's own for no traffic;
 *         APR_EINVAL for a timeout below KA_TIMEOUT_OFF, negative times, an
 *         mpm that is none, or a policy or load limits that make no sense;
 *         APR_ENOMEM
 * out->outcome.timeout_us is the longest that the policy has.
 * O(n log c) for n requests, c clients at once.
 */
apr_status_t ka_sim_run(ka_sim_result *out, const ka_sim_config *config,
                        const ka_sim_traffic *traffic, uint64_t seed,
                        apr_pool_t *pool);

#endif
