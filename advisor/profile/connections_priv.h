/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Inside connections.h: requests are first put on connections as the server
 * had them (by_place.c, by_k.c, by_time.c), then connections on chains
 * (chains.c).  Private to advisor/profile/.
 */
#ifndef KA_CONNECTIONS_PRIV_H
#define KA_CONNECTIONS_PRIV_H

#include "connections.h"
#include "idle.h"
#include "keymap.h"

#define KA_SECOND_US INT64_C(1000000)

/* One connection under construction. */
typedef struct ka_conn {
    int64_t open_us; /* where its first request begins */
    int64_t end_us;  /* its last response's end */
    int64_t tail_us; /* how long the client leaves it open after that */
    uint32_t first;  /* its first and last request */
    uint32_t last;
    uint32_t chain;     /* chains.c: the chain that it is part of */
    int32_t last_k;     /* %k of its last request; -1: not told */
    bool ended;         /* the last response closed it */
    bool client_closed; /* the client did, before T0 */
} ka_conn;

/* What the requests show, counted once. */
typedef struct ka_log_facts {
    uint64_t n;
    uint64_t port, slot, child, k; /* requests that tell them */
    uint64_t http2;
    uint64_t kept, final; /* by %X, HTTP/1.1 only */
    uint64_t k_above_0;   /* HTTP/1 requests with %k > 0 */
} ka_log_facts;

/* The state that a level's function works on. */
typedef struct ka_grouping {
    const ka_request *items;
    size_t n;
    ka_grouping_rules rules;
    uint32_t *conn;  /* conn[n]: request -> connection */
    ka_conn *conns;  /* in order of opening; room for n */
    size_t conn_n;
    bool failed; /* memory ran out */
} ka_grouping;

/** Puts all requests on connections. */
typedef void ka_group_fn(ka_grouping *g);

ka_group_fn ka_group_by_port;
ka_group_fn ka_group_by_slot;
ka_group_fn ka_group_by_k_low;
ka_group_fn ka_group_by_k_high;
ka_group_fn ka_group_by_time;
ka_group_fn ka_group_by_time_low;
ka_group_fn ka_group_by_time_high;

/* ---- requests (grouping.c) ---------------------------------------------- */

/** Start and end, held within the bounds of a trace. */
int64_t ka_request_begin(const ka_request *r);
int64_t ka_request_end(const ka_request *r);
/** How long such a client keeps an idle connection, >= 0. */
int64_t ka_request_limit(const ka_request *r);

/** Its response closed the connection. */
bool ka_request_ends(const ka_grouping_rules *rules, const ka_request *r);

/** A connection of its own by protocol: HTTP/1.0 that did not ask for more. */
bool ka_request_alone(const ka_grouping_rules *rules, const ka_request *r);

/** %k allows r to come on a connection whose last line told last_k. */
bool ka_k_continues(int32_t last_k, const ka_request *r);

/** The values that %k may have had last on the connection that r continues,
 * best first; one that is r's own is repeated, since r closes it.  (by_k.c)
 * @param low  on the side of fewer connections
 * @return how many */
size_t ka_k_before(int32_t before[2], const ka_grouping_rules *rules,
                   const ka_request *r, bool low);

/** Names the connection of a request whose remote port is told.  (by_place.c)
 */
uint64_t ka_port_key(const ka_request *r);

/** The longest gap before r that leaves its connection open under T0. */
int64_t ka_request_reach(const ka_grouping_rules *rules, const ka_request *r);

/** A place's connection, as it stands, takes r.
 * @param same_address  r's is that of its last request */
bool ka_request_continues(const ka_grouping_rules *rules, const ka_request *r,
                          const ka_conn *conn, bool same_address);

/** Another connection, of r, begins in the place of conn, which has been idle
 * since its end.  Under T0 the server would have held it to the end of T0:
 * before that the client closed it, and its tail is set. */
void ka_conn_replaced(ka_conn *conn, const ka_grouping_rules *rules,
                      const ka_request *r);

/** The time that r is served on a connection which ends at end_us (HTTP/1:
 * after it; HTTP/2: joined to it).  Returns where it begins. */
int64_t ka_request_span(int64_t *to_us, const ka_grouping_rules *rules,
                        const ka_request *r, int64_t end_us);

/* ---- connections under construction (grouping.c) ------------------------ */

/** Allocates `conn` and `conns` for n requests.
 * @return false without memory (clear it all the same) */
bool ka_grouping_init(ka_grouping *g);
/** Frees them. */
void ka_grouping_clear(ka_grouping *g);

/** Opens a connection with request i, not before not_before_us.
 * @return its index */
uint32_t ka_grouping_open(ka_grouping *g, size_t i, int64_t not_before_us);

/** Puts request i on connection c. */
void ka_grouping_follow(ka_grouping *g, size_t i, uint32_t c);

/** The last response of connection c closed it. */
void ka_grouping_end(ka_grouping *g, uint32_t c);

/** Puts request i on a connection of its own, of which nothing more is known
 * or expected. */
void ka_grouping_alone(ka_grouping *g, size_t i);

/** Puts request i on the connection that `map` has for `key`, if that takes
 * it, else on a new one that replaces it. */
void ka_grouping_place(ka_grouping *g, size_t i, ka_keymap *map, uint64_t key);

/** HTTP/2: one connection per client; `map` holds them. */
void ka_grouping_stream(ka_grouping *g, size_t i, ka_keymap *map);

/* ---- the rest ----------------------------------------------------------- */

/** By time, high: how long after its last end a connection is surely free;
 * clocks as in ka_connection_options.  (connections.c) */
int64_t ka_free_after(int64_t clock_us, int64_t service_clock_us);

/** Chooses the level; *why as in ka_connections.  (identity.c)
 * @return APR_SUCCESS; APR_ENOMEM */
apr_status_t ka_identity_choose(ka_identity *identity, const char **why,
                                const ka_log_facts *facts,
                                const ka_requests *requests,
                                const ka_connection_options *options);

/**
 * Numbers the clients from 0, in order of their first request.  (clients.c)
 * @return client_of[n], to be freed; NULL without memory
 */
uint32_t *ka_clients_number(size_t *client_n, const ka_request *items,
                            size_t n);

/** Counts what the requests show.  (identity.c) */
ka_log_facts ka_log_facts_of(const ka_requests *requests);

/** From connections to chains: fills trace and chain_of[n].  (chains.c)
 * @return APR_SUCCESS; APR_ENOMEM */
apr_status_t ka_chains_build(ka_trace *trace, uint32_t *chain_of,
                             ka_grouping *g);

#endif
