/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_connections: from requests to connections and chains (MODEL 7).
 *
 * Identity levels, best first; the best that the log allows is taken:
 *   port  address and remote port name the connection: exact, HTTP/2 too
 *   slot  child process and thread (%P, %{tid}P, mod_unique_id): exact on
 *         prefork and worker, where a slot serves one connection at a time;
 *         not for event, not for HTTP/2
 *   k     %k with the client key: a range, since %k repeats
 *   time  only times: the client's channel with the latest end <= start
 *
 * port, slot and k see connections as they were, cut by the timeout T0 then
 * in force; chains link a connection that the timeout ended to the same
 * client's next one (MODEL 6).  Cut at gaps above T0 they are the connections
 * again: where a late timer let one live on, the gap is cut to T0, so that
 * there busy_from - gap is after the end before it.
 *
 * Where the log cannot tell (k; time with one-second stamps or without service
 * times) there are two traces: `low` with the fewest connections that fit the
 * log, `high` with the most that browsers would open.  low <= high at every
 * timeout at the level `time`, at T0 at the level `k`.
 *
 * Under KeepAlive Off (T0 = 0 and nothing kept) %X calls every response final;
 * that is the server's doing and ends no chain.
 *
 * A client closes an idle connection by itself after its limit
 * (ka_request.client_limit_us): a chain ends there.
 */
#ifndef KA_CONNECTIONS_H
#define KA_CONNECTIONS_H

#include <stdbool.h>
#include <apr_errno.h>
#include <apr_pools.h>
#include "../sources/observation.h"
#include "trace.h"

/* What browsers open to one host in parallel on HTTP/1.1. */
#define KA_BURST_CONNECTIONS 6

/* Slack of a server's idle timer (MODEL 7.1). */
#define KA_TIMER_SLACK_US INT64_C(500000)

/* Stamps at least this fine tell requests of one burst apart. */
#define KA_FINE_CLOCK_US INT64_C(10000)

typedef enum ka_identity {
    KA_IDENTITY_NONE,
    KA_IDENTITY_PORT,
    KA_IDENTITY_SLOT,
    KA_IDENTITY_K,
    KA_IDENTITY_TIME,
    KA_IDENTITY_LIVE
} ka_identity;

/** "none", "port", "slot", "k", "time", "live". */
const char *ka_identity_name(ka_identity identity);

/* The requests of a source, in order of start. */
typedef struct ka_requests {
    ka_request *items;
    size_t n, size;
} ka_requests;

typedef struct ka_connection_options {
    int64_t timeout_us; /* T0, the KeepAliveTimeout in force, 0 for KeepAlive
                           Off; -1: not known, it is estimated where the
                           identity allows */
    int threaded;  /* what --mpm says: 0 prefork, 1 worker, 2 event, -1 none */
    int64_t clock_us;         /* resolution of starts */
    int64_t service_clock_us; /* resolution of service times; 0: none */
} ka_connection_options;

/* What is decided once, before requests are put on connections. */
typedef struct ka_grouping_rules {
    ka_identity identity;
    const char *why_not_better; /* as in ka_connections */
    bool coarse;            /* stamps do not tell parallel requests from
                               successive ones */
    bool off;               /* KeepAlive Off: that a response is final says
                               nothing about the client */
    bool timeout_estimated; /* cut_us is from the log itself */
    int64_t cut_us;  /* T0; -1: none, the client's limit alone cuts */
    int64_t tick_us; /* rounding of starts and service times, together */
    int64_t free_us; /* coarse: a channel is surely free that long after its
                        last end */
} ka_grouping_rules;

typedef struct ka_connections {
    ka_identity identity;
    const char *why_not_better; /* sentence: what a better identity needs, or
                                   why one the log offers was not used; NULL
                                   if it is the best */
    bool bracket;               /* there are two sides, and they differ */
    ka_trace low;               /* the trace, where there is no bracket */
    ka_trace high;              /* empty without bracket */
    uint32_t *chain_low;        /* chain_low[n]: request -> chain in low */
    uint32_t *chain_high;       /* the same in high; NULL without bracket */
    int64_t timeout_us;         /* T0 that cut the connections; -1 if nothing
                                   did: always at the level time */
    bool timeout_estimated;     /* from the log itself */
} ka_connections;

/**
 * Decides how requests will be grouped, without doing it.
 * @param requests  as for ka_connections_group, not empty: all, or enough of
 *                  the first ones to judge the log by
 * @return APR_SUCCESS; APR_ENOMEM
 */
apr_status_t ka_connections_decide(ka_grouping_rules *out,
                                   const ka_requests *requests,
                                   const ka_connection_options *options);

/** Whether the rules allow more than one answer: a low and a high side. */
bool ka_grouping_has_sides(const ka_grouping_rules *rules);

/**
 * Groups requests.
 * @param out       caller's storage; ka_connections_clear frees what it owns
 * @param requests  in order of start; KA_REQ_NO_REQUEST ones must be left out
 * @return APR_SUCCESS, also for no requests (identity none, empty traces);
 *         APR_ENOMEM (out is empty)
 */
apr_status_t ka_connections_group(ka_connections *out,
                                  const ka_requests *requests,
                                  const ka_connection_options *options);

/** Frees what it owns and leaves it empty. */
void ka_connections_clear(ka_connections *connections);

#endif
