/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_demand: what one timeout asks of the server second by second, for the
 * spawn loop [M15]; and ka_busiest, which keeps of a number of holders the
 * hour of the clock that has most of them, in bounded memory.
 *
 *              prefork, worker                    event
 *   holders    connections, busy or idle          busy workers
 *   arrivals   connections opened                 requests
 *
 * since on event an idle connection holds no worker, and each request on it
 * takes one anew.  Whatever a log is read by, its hour is counted here: the
 * series does not depend on it.
 *
 * Seconds of which the busiest hour has none to tell are not in the series:
 * those before the log begins, or after it ends; and at first, while
 * connections are missing that opened before the log (sweep.h), unless that is
 * more than a quarter of it.
 *
 * Concurrency: a ka_busiest has one writer.
 */
#ifndef KA_DEMAND_H
#define KA_DEMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <apr_pools.h>
#include "trace.h"

#define KA_DEMAND_SECONDS 3600

typedef struct ka_demand {
    const uint32_t *holders;  /* holders[n]: most at once in each second */
    const uint32_t *arrivals; /* arrivals[n]: what came in it */
    size_t n;                 /* 1 .. KA_DEMAND_SECONDS */
    int64_t first_us;         /* begin of the first second, since the epoch */
    bool scaled;              /* estimated from another timeout's */
} ka_demand;

typedef enum ka_demand_kind {
    KA_DEMAND_HELD, /* prefork, worker */
    KA_DEMAND_BUSY  /* event */
} ka_demand_kind;

/* Where series come from. */
typedef struct ka_demand_source {
    /* The series at a timeout, of the side that needs more; arrays owned by
     * pool, or by the context.
     * @return false: there is none, or no memory */
    bool (*at)(ka_demand *out, void *context, int64_t timeout_us,
               ka_demand_kind kind, apr_pool_t *pool);
    void *context;
} ka_demand_source;

/* ---- the busiest hour ---------------------------------------------------- */

typedef struct ka_busiest {
    uint32_t *hour, *best; /* [2][KA_DEMAND_SECONDS]: holders, arrivals;
                              malloc'd when there is something to keep */
    int64_t begin_us, settle_us;
    int64_t now_us;        /* counted so far */
    int64_t second;        /* that now_us is in */
    uint64_t most;         /* holders in it, so far */
    uint64_t came;         /* arrivals in it */
    int64_t hour_s, best_s; /* first seconds of the hours */
    uint64_t sums[2], best_sums[2]; /* of holders, and of arrivals */
    int64_t end_s;          /* after the last second; set by the end */
    bool failed;            /* memory ran out: there is no series */
} ka_busiest;

/**
 * Prepares an empty one.
 * @param settle_us  time after the begin in which connections may be missing
 */
void ka_busiest_init(ka_busiest *b, int64_t begin_us, int64_t settle_us);
/** Frees what it owns, and leaves it as after {0}. */
void ka_busiest_clear(ka_busiest *b);

/** ka_busiest_hold past the second that is being counted. */
void ka_busiest_move(ka_busiest *b, int64_t to_us, uint64_t count);

/** So many holders from the last such instant on until to_us; with an instant
 * that has passed it does nothing. */
static inline void ka_busiest_hold(ka_busiest *b, int64_t to_us,
                                   uint64_t count)
{
    if (to_us > b->now_us) {
        ka_busiest_move(b, to_us, count);
    }
}

/** Arrivals at the last instant. */
static inline void ka_busiest_come(ka_busiest *b, uint64_t arrivals)
{
    b->came += arrivals;
}

/** Nothing comes after end_us; count as in ka_busiest_hold. */
void ka_busiest_end(ka_busiest *b, int64_t end_us, uint64_t count);

/**
 * The hour with most holders, of those with as many the one with most
 * arrivals, of these the first.  To be asked after the end.
 * @param out  valid until b is cleared
 * @return false: nobody ever came, or memory ran out
 */
bool ka_busiest_demand(ka_demand *out, const ka_busiest *b);

/** Copies the arrays into pool. */
void ka_demand_keep(ka_demand *demand, apr_pool_t *pool);

/* ---- from requests ------------------------------------------------------- */

/**
 * The series of a trace at a timeout (or KA_TIMEOUT_OFF).
 * @param out  arrays owned by pool
 * @return false: the trace is empty or failed, or there is no memory
 * Temporary memory: 32 bytes a request.
 */
bool ka_demand_of_trace(ka_demand *out, const ka_trace *trace,
                        int64_t timeout_us, ka_demand_kind kind,
                        apr_pool_t *pool);

/* ---- arithmetic ---------------------------------------------------------- */

/** to[n] = from[n] x factor, rounded up. */
void ka_demand_raise(uint32_t *to, const uint32_t *from, size_t n,
                     double factor);

/** to[n] = from[n] x factor, rounded so that sums from the first one on are
 * right to one half: for numbers of arrivals, which are small. */
void ka_demand_spread(uint32_t *to, const uint32_t *from, size_t n,
                      double factor);

#endif
