/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * httpd's spawning of children, second by second.   [M15]
 *
 * Once a second the parent counts idle workers (prefork: children, else
 * threads; what has been started counts as idle) and
 *   - above MaxSpare    asks one child to end; the rate falls back to 1
 *   - below MinSpare    starts `rate` children, as far as MaxRequestWorkers
 *                       and ServerLimit allow; then doubles the rate, up to 32
 *   - else              the rate falls back to 1
 * A full server (no child may be started) has the rate 1 too.
 *
 * Simplified: a child works from the second after it was started; one that is
 * asked to end is gone at once (its busy threads move to others: there are more
 * than MinSpare idle ones), so event's wait for dying children never applies;
 * one bucket of listeners (ListenCoresBucketsRatio 0); no graceful restart, so
 * no hold-off.
 *
 * Connections wait in the order in which they came.  One that had to wait
 * holds its worker as long as it would have otherwise, so it ends later.  How
 * long it holds comes from demand and arrivals: those that came first end
 * first.
 */
#ifndef KA_SPAWN_H
#define KA_SPAWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <apr_errno.h>
#include <apr_pools.h>
#include <ka_mpm.h>

#define KA_SPAWN_RATE_MAX 32
/* A series is no longer. */
#define KA_SPAWN_SECONDS_MAX (32u * 86400u)

/* Workers: children on prefork, else threads. */
typedef struct ka_spawn_settings {
    ka_mpm mpm;
    uint32_t start_servers;     /* children */
    uint32_t min_spare;         /* MinSpareServers or MinSpareThreads */
    uint32_t max_spare;         /* MaxSpareServers or MaxSpareThreads */
    uint32_t threads_per_child; /* 1 on prefork */
    uint32_t server_limit;      /* children */
    uint32_t max_request_workers;
} ka_spawn_settings;

/* Demand per second: what n seconds of traffic ask for. */
typedef struct ka_spawn_demand {
    const uint32_t *holders;  /* holders[n]: workers wanted at once, had nobody
                                 to wait */
    const uint32_t *arrivals; /* arrivals[n]: connections that came; at least
                                 the rise of holders.  NULL: just that rise,
                                 the fewest connections, each held longest */
    size_t n;
} ka_spawn_demand;

typedef struct ka_spawn_second {
    uint32_t children;
    uint32_t workers;
    uint32_t busy, idle; /* workers = busy + idle */
    uint32_t waiting;    /* connections that no worker has accepted */
    int32_t spawned;     /* children started at its end; -1: one asked to end */
} ka_spawn_second;

/* Quantiles are over all connections, those that did not wait included. */
typedef struct ka_spawn_result {
    uint64_t connections;
    uint64_t waited;       /* of them */
    uint64_t left_waiting; /* still, at the end; counted as waiting until
                              then */
    uint32_t wait_p50_s, wait_p99_s, wait_p999_s, wait_most_s;
    uint32_t waiting_most;
    double waiting_share; /* of seconds in which somebody waits */
    uint32_t children_most;
    double children_mean;
    uint64_t spawned, ended; /* children, those at start not included */
    uint32_t spawned_most;   /* in one second */
} ka_spawn_result;

/**
 * What httpd makes of the settings at its start: limits that contradict each
 * other are resolved as the MPMs do.  Zeros become 1.
 * Pure.
 */
ka_spawn_settings ka_spawn_normalized(const ka_spawn_settings *settings);

/* The parent: what it does once a second. */
typedef struct ka_spawner {
    ka_spawn_settings settings; /* normalized */
    uint32_t limit;             /* children that may be there */
    uint32_t children;          /* started and not asked to end */
    uint32_t rate;              /* children to start, if any */
} ka_spawner;

/* Children that were asked to end and are still there. */
typedef struct ka_spawn_ending {
    uint32_t children;
    uint32_t busy; /* their workers that still serve */
} ka_spawn_ending;

/** A parent that has just started its StartServers. */
ka_spawner ka_spawner_of(const ka_spawn_settings *settings);

/**
 * The end of a second: the rules at the head of this file.
 * @param idle    idle workers, of children that are starting too; on event
 *                those of children that accept
 * @param ending  the children that are not counted in v->children any more
 * @return children started; -1: one is asked to end; v->children counts it so
 */
int32_t ka_spawner_maintain(ka_spawner *v, uint32_t idle,
                            const ka_spawn_ending *ending);

/**
 * Runs the loop over the demand.
 * @param seconds   seconds[demand->n], filled; NULL: not wanted
 * @param settings  normalized first
 * @param pool      for what is needed while it runs
 * @return APR_SUCCESS; APR_EINVAL if n is 0 or above KA_SPAWN_SECONDS_MAX;
 *         APR_ENOMEM
 * O(n); no result depends on anything but the arguments.
 */
apr_status_t ka_spawn_run(ka_spawn_result *out, ka_spawn_second *seconds,
                          const ka_spawn_demand *demand,
                          const ka_spawn_settings *settings, apr_pool_t *pool);

/* The answer of the search. */
typedef struct ka_spawn_advice {
    bool feasible;           /* false: even with all workers always there
                                connections wait at p99.9; the numbers are then
                                the smallest with which no more of them wait */
    uint32_t min_spare;      /* smallest with nobody waiting at p99.9 */
    uint32_t max_spare;      /* that goes with it */
    uint32_t start_servers;  /* smallest with which a start into the busiest
                                hour leaves nobody waiting at p99.9 */
    size_t busiest;          /* first second of that hour */
    ka_spawn_result running; /* the whole series, from a server that runs */
    ka_spawn_result started; /* the busiest hour, from a start */
} ka_spawn_advice;

/** MaxSpare that goes with a MinSpare: twice as much and at least a child
 * above it; on event MaxRequestWorkers, since idle connections live in
 * children (R4). */
uint32_t ka_spawn_max_spare(const ka_spawn_settings *settings,
                            uint32_t min_spare);

/**
 * The settings with another MinSpare*, the MaxSpare* that goes with it, and as
 * many children at first as a server has that runs already when the demand
 * begins: those that its first second wants, and MinSpare more.
 * @param settings  normalized
 */
ka_spawn_settings ka_spawn_running(const ka_spawn_settings *settings,
                                   const ka_spawn_demand *demand,
                                   uint32_t min_spare);

/**
 * [M15] The smallest MinSpare* and StartServers with which no connection waits
 * for a worker at p99.9.
 * @param settings  start_servers, min_spare and max_spare are ignored
 * @param least     MinSpare is not lower: httpd's default, or what a busy
 *                  second brings
 * MinSpare is judged on ka_spawn_running, StartServers on a start.
 * @return as ka_spawn_run
 */
apr_status_t ka_spawn_search(ka_spawn_advice *out,
                             const ka_spawn_demand *demand,
                             const ka_spawn_settings *settings, uint32_t least,
                             apr_pool_t *pool);

#endif
