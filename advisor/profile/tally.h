/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_tally: the traffic of one server, or of several, in whole numbers that
 * only ever add up.  It is what a profile file holds, and what large logs are
 * counted into without keeping their requests.
 *
 * Merging is exact, associative and commutative, and means: more server time.
 * The halves of a server's log, its days, or the logs of twenty servers that
 * share a configuration add up to "a server of this kind": rates and holders
 * are per server.  Logs of one server at the same time (one a virtual host)
 * must be read together instead.
 *
 * What a merge cannot know: a connection that was open where one log ends and
 * the next begins counts as two.
 *
 *     log ---------------> ka_tally <------ profile file
 *     trace (a port ...) ---/  |  \-------> profile file
 *                              v
 *                   ka_profile, ka_outcome
 *
 * Concurrency: one thread.
 */
#ifndef KA_TALLY_H
#define KA_TALLY_H

#include <stdbool.h>
#include <apr_errno.h>
#include <apr_pools.h>
#include <ka_histogram.h>
#include "../host/facts.h"
#include "../model/outcome.h"
#include "../sources/observation.h"
#include "connections.h"
#include "demand.h"
#include "distinct.h"
#include "occupancy.h"
#include "profile.h"
#include "sample.h"

/* Timeouts that a tally evaluates: the default ones, T0, some that the user
 * asked for. */
#define KA_TALLY_TIMEOUTS 96

/* Vhosts that a count keeps apart, the first ones; what comes beyond counts as
 * KA_TALLY_OTHER.  A merge keeps those of all its parts; beyond
 * KA_TALLY_VHOSTS_MERGED those whose names hash lowest, which does not depend
 * on what was merged first. */
#define KA_TALLY_VHOSTS 256
#define KA_TALLY_VHOSTS_MERGED 4096
#define KA_TALLY_OTHER "(other)"

/* Requests of one class or vhost. */
typedef struct ka_tally_traffic {
    const char *name; /* of a vhost; "" where the log has none; owned by the
                         tally's pool */
    uint64_t requests;
    uint64_t bytes, bytes_n; /* to clients; requests for which they are told */
    ka_hist service;    /* us */
    ka_hist gap;        /* us; as in ka_traffic */
    ka_hist per_second; /* requests in each second that has any; with
                           peak_per_second: ka_tally_second */
    uint64_t peak_per_second;
} ka_tally_traffic;

/* What a timeout did to one side. */
typedef struct ka_tally_timeout {
    uint64_t connections; /* [M4] N(T) */
    uint64_t waits;       /* idle times longer than T, tails included: closes
                             that the server begins */
    uint64_t idle_us;     /* [M5] H(T) */
    ka_occupancy held;
    ka_busiest busiest;   /* of a log counted into this tally: its hour with
                             most holders.  It does not add up: merging, and
                             profile files, leave it out */
} ka_tally_timeout;

/* One side of a bracket (connections.h). */
typedef struct ka_tally_side {
    ka_tally_timeout timeouts[KA_TALLY_TIMEOUTS];
    uint64_t busy_us;   /* S */
    ka_occupancy busy;  /* the same at any T */
    ka_busiest busiest; /* of busy workers, as in ka_tally_timeout */
    ka_hist gap;        /* us: all idle times that a request ended */
    ka_hist tail;       /* us: after each chain's end, up to the client's
                           limit */
    ka_hist lengths;    /* requests per connection under T0 */
    ka_hist parallel;   /* per client: as in ka_connection_stats */
    uint64_t chains;    /* N0; with gap, and those joined: all requests */
} ka_tally_side;

/* What of the server a log was written under. */
typedef struct ka_tally_server {
    const char *name;    /* "" if not told; owned by the tally's pool */
    int64_t first_us, last_us; /* both 0: no request */
    uint64_t window_us;  /* time covered, once for each part */
    ka_server facts;     /* as known when it was counted */
    bool differs[KA_FACTS]; /* the parts knew different values: the fact is
                               not known, and stays so */
} ka_tally_server;

/* Server time that was counted under a T0. */
typedef struct ka_tally_limit {
    int64_t timeout_us;
    uint64_t window_us;
} ka_tally_limit;

typedef struct ka_tally {
    apr_pool_t *pool;    /* of names; must outlive the tally */
    ka_tally_server *servers; /* ascending by name; one unless merged;
                                 malloc'd; ka_tally_server_at adds to it */
    size_t server_n, server_size;
    uint64_t window_us;  /* of all servers */
    int64_t timeout_us;  /* T0 that lengths were cut at, or KA_TIMEOUT_OFF */
    bool timeouts_differ; /* parts were counted under different T0: those in
                             limits; timeout_us is then that of most server
                             time, the smallest among equals */
    ka_tally_limit *limits; /* ascending by timeout; empty unless they differ;
                               malloc'd; ka_tally_limit_add adds to it */
    size_t limit_n, limit_size;
    ka_identity identity; /* the weakest of the parts */
    bool bracket;        /* the sides differ; else side[1] is empty and side[0]
                            stands for both */
    int64_t clock_us, service_clock_us; /* the coarsest of the parts; 0: none */

    uint64_t lines, parsed, skipped, late, excluded[KA_EXCLUDED_N];
    uint64_t forgotten;  /* clients that were taken as gone early, for lack of
                            room: up to so many connections too many */

    uint64_t requests;   /* with connections; = those of the classes */
    uint64_t no_request; /* connections without one */
    uint64_t http10, http2, aborted, final, not_http, tls, with_service;
    uint64_t slow_bytes_n, slow_service_us; /* R15 */
    ka_tally_traffic classes[KA_CLASS_N];
    ka_tally_traffic **vhosts; /* ascending by name (strcmp); malloc'd, each of
                                  them too, so that they stay where they are */
    size_t vhost_n, vhost_size;
    ka_hist per_second;  /* of all requests */
    uint64_t peak_per_second;

    ka_distinct clients, addresses;
    ka_weights weights;  /* requests by address */

    size_t timeout_n;    /* of each side's */
    int64_t timeouts[KA_TALLY_TIMEOUTS]; /* ascending, KA_TIMEOUT_OFF first */
    ka_tally_side side[2]; /* low: fewest connections; high */
    ka_sample *sample;   /* for intervals, of the same timeouts; freed with
                            the tally; NULL: of some part with requests none
                            is known */
    bool failed;         /* memory ran out: do not use it */
} ka_tally;

/**
 * A new, empty tally for timeouts[n] (n <= KA_TALLY_TIMEOUTS, ascending).
 * @return to be freed by ka_tally_free; NULL without memory.  Its names live
 *         in pool.
 */
ka_tally *ka_tally_make(const int64_t *timeouts, size_t n, apr_pool_t *pool);
/** Frees it; NULL does nothing. */
void ka_tally_free(ka_tally *tally);

/**
 * Adds all of `from` to `into`.  Where they were evaluated at different
 * timeouts, those that both have stay.  An empty tally takes over the other's
 * timeouts.  Of one server's facts a value that only one part knows stays; if
 * one of them only assumed the same value, it is known.
 */
void ka_tally_merge(ka_tally *into, const ka_tally *from);

/** Nothing was counted or put in yet. */
bool ka_tally_is_empty(const ka_tally *tally);

/**
 * The vhost of a name, a new one if there is room (KA_TALLY_VHOSTS), else that
 * of KA_TALLY_OTHER; NULL without memory (failed is set).  It stays where it is
 * as long as the tally is not merged into.
 */
ka_tally_traffic *ka_tally_vhost(ka_tally *tally, const char *name);

/** The same without a limit: from a file, or another tally. */
ka_tally_traffic *ka_tally_vhost_at(ka_tally *tally, const char *name);

/** The server of a name, a new one if there is none; NULL without memory
 * (failed is set).  Valid until the next call. */
ka_tally_server *ka_tally_server_at(ka_tally *tally, const char *name);

/** Adds server time under a T0, where parts were counted under different
 * ones: from a file.  Sets timeout_us and timeouts_differ. */
void ka_tally_limit_add(ka_tally *tally, int64_t timeout_us,
                        uint64_t window_us);

/** Counts a second of the clock in which there were requests (> 0). */
static inline void ka_tally_second(ka_hist *per_second, uint64_t *peak,
                                   uint64_t requests)
{
    ka_hist_add(per_second, requests);
    *peak = requests > *peak ? requests : *peak;
}

/* ---- what follows from it ------------------------------------------------ */

/**
 * The profile: as ka_profile_build's, but that where there were more clients
 * or addresses than KA_DISTINCT_MAX, their numbers are estimates; the busiest
 * address's share is an upper bound (distinct.h); vhosts with as many requests
 * are in order of name, and KA_TALLY_OTHER counts as one that is not listed.
 * @param out  arrays and names owned by pool
 */
void ka_tally_profile(ka_profile *out, const ka_tally *tally,
                      apr_pool_t *pool);

/**
 * Evaluates timeouts[n], ascending, KA_TIMEOUT_OFF first if wanted.  At the
 * tally's own timeouts all is as counted.  In between, connections, closes
 * and idle time come from the histograms (exact at bin edges, linear in
 * between) and stay within the neighbours' values; holders are those of the
 * neighbour below and above, by share of the idle mean; below the first and
 * above the last timeout those of the nearest one, scaled.
 * @param high  which side
 * @param measured_up_to_us  T0: what is above is marked as extrapolated
 * @return APR_SUCCESS; APR_EINVAL if timeouts are not ascending
 */
apr_status_t ka_tally_outcomes(ka_outcome *out, const int64_t *timeouts,
                               size_t n, const ka_tally *tally, bool high,
                               int64_t measured_up_to_us);

/**
 * The busiest hour at one of the tally's timeouts, of the high side.
 * @param out  valid as long as the tally, while nothing is merged into it
 * @return false: the timeout is not the tally's, or nothing is kept
 */
bool ka_tally_demand(ka_demand *out, const ka_tally *tally, int64_t timeout_us,
                     ka_demand_kind kind);

#endif
