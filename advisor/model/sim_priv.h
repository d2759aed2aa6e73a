/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Inside the simulation: the clock and its events (sim_heap.c), clients
 * (sim.c), children and the accept queue (sim_server.c), waits that end by load
 * (sim_adaptive.c), what is counted (sim_count.c).
 */
#ifndef KA_SIM_PRIV_H
#define KA_SIM_PRIV_H

#include <stdbool.h>
#include "random.h"
#include "sim.h"

#define KA_SIM_NONE UINT32_MAX
#define KA_SIM_SECOND INT64_C(1000000)

/* In the order in which they happen at one instant: first what frees workers. */
typedef enum ka_sim_kind {
    KA_SIM_END,     /* of a response; id: the client */
    KA_SIM_LINGER,  /* over; id: the child */
    KA_SIM_READY,   /* a child accepts; id: the child */
    KA_SIM_REQUEST, /* the client's next one on its connection */
    KA_SIM_CLOSE,   /* of an idle connection, by timeout or by the client */
    KA_SIM_LOOK,    /* at idle connections, by load; id: the child */
    KA_SIM_CONNECT, /* a client opens a connection */
    KA_SIM_RESTART  /* the configured one; no id */
} ka_sim_kind;

typedef struct ka_sim_event {
    int64_t at;
    uint32_t kind, id;
} ka_sim_event;

/* A binary heap, the earliest on top; malloc'd. */
typedef struct ka_sim_heap {
    ka_sim_event *events;
    size_t n, size;
} ka_sim_heap;

/** @return false without memory */
bool ka_sim_heap_push(ka_sim_heap *heap, int64_t at, ka_sim_kind kind,
                      uint32_t id);
/** Takes the earliest; there must be one. */
ka_sim_event ka_sim_heap_pop(ka_sim_heap *heap);

/* One chain's client. */
typedef struct ka_sim_client {
    size_t request;    /* index of the present or next one */
    size_t end;        /* index after its last */
    int64_t came;      /* first attempt to connect */
    int64_t idle_from; /* of the connection, while idle */
    int64_t due;       /* when it wants its next request */
    int64_t timeout_us; /* that its connection waits with, without load */
    uint32_t child;    /* of its connection; KA_SIM_NONE: it has none */
    uint32_t served;   /* requests on it */
    uint32_t prev, next; /* in a list of idle ones; next also in the accept
                            queue */
    uint8_t attempts;
} ka_sim_client;

/* Idle clients, the one that waits longest first: of a child of event, or, for
 * load, of a whole server of the other MPMs. */
typedef struct ka_sim_idle {
    uint32_t first, last; /* KA_SIM_NONE: it is empty */
    bool watched;         /* a KA_SIM_LOOK is to come */
} ka_sim_idle;

/* Whose listener is at work. */
typedef enum ka_sim_list {
    KA_SIM_OPEN, /* accepts, and could serve */
    KA_SIM_FULL, /* event: listens, but will stop when it is woken */
    KA_SIM_LISTS,
    KA_SIM_AWAY = KA_SIM_LISTS
} ka_sim_list;

typedef struct ka_sim_child {
    bool used, ready, ending;
    bool disabled;         /* event: does not listen, its workers are not
                              counted as idle */
    uint32_t busy;         /* workers */
    uint32_t connections;  /* event: those that linger left out */
    uint32_t accepted;     /* connections, ever */
    ka_sim_idle idle;      /* event */
    uint32_t counted_free; /* its share in server's free */
    ka_sim_list list;
    uint32_t place;        /* in that list */
} ka_sim_child;

typedef struct ka_sim_indices {
    uint32_t *items;
    size_t n, size;
} ka_sim_indices;

/* Ascending instants. */
typedef struct ka_sim_times {
    int64_t *at;
    size_t n, size;
} ka_sim_times;

typedef struct ka_sim_counts {
    ka_sim_times held_up, held_down, busy_up, busy_down;
    ka_sim_times waits; /* of connections that waited */
    uint64_t server_closes;
    int64_t seen;       /* up to where time was counted */
    size_t step;
    ka_sim_point now;   /* levels */
    double children_us, memory_us; /* level x time */
    ka_sim_point *points;
} ka_sim_counts;

typedef struct ka_sim {
    const ka_sim_config *config;
    const ka_sim_traffic *traffic;
    ka_sim_result *out;
    bool event; /* the MPM */
    bool listed; /* idle clients are kept in lists */
    ka_policy policy;
    ka_sim_idle idle; /* prefork, worker, by load */
    int64_t now;
    bool failed; /* no memory */
    ka_random random;
    ka_sim_heap heap;

    /* clients */
    ka_sim_client *clients; /* clients[traffic->chain_n] */
    uint32_t queue_first, queue_last, queue_n;
    size_t arrived; /* chains that have come */

    /* children */
    ka_spawner parent;
    ka_sim_child *children; /* children[child_n]; unused ones in `spare` */
    size_t child_n, child_size;
    ka_sim_indices lists[KA_SIM_LISTS], spare;
    uint64_t free; /* workers that the parent counts as idle */
    ka_spawn_ending ending;

    ka_sim_counts counts;
} ka_sim;

/** Another event; sets failed without memory. */
void ka_sim_push(ka_sim *s, int64_t at, ka_sim_kind kind, uint32_t id);

/** An int64_t sum that stops at the ends. */
int64_t ka_sim_add(int64_t a, int64_t b);

/* ---- clients (sim.c) ---------------------------------------------------- */

/** A child has accepted the client at the head of the queue. */
void ka_sim_accepted(ka_sim *s, uint32_t client, uint32_t child);

typedef enum ka_sim_why {
    KA_SIM_EVICTED,
    KA_SIM_RETIRED,
    KA_SIM_BY_LOAD
} ka_sim_why;

/** The server closes a connection that was idle, and listed. */
void ka_sim_cut(ka_sim *s, uint32_t client, ka_sim_why why);

/* ---- children (sim_server.c) -------------------------------------------- */

/** Starts n children. */
void ka_sim_start(ka_sim *s, uint32_t n, bool ready);
void ka_sim_ready(ka_sim *s, uint32_t child);

/** Puts a client at the end of the accept queue. @return false: it is full */
bool ka_sim_enqueue(ka_sim *s, uint32_t client);
/** Lets children accept what waits, as far as they can. */
void ka_sim_dispatch(ka_sim *s);

/** A worker of a child begins or ends its work; the end may let somebody in:
 * follow it by ka_sim_dispatch. */
void ka_sim_busy(ka_sim *s, uint32_t child);
void ka_sim_free(ka_sim *s, uint32_t child);

/** event: is there a worker for a request on an idle connection?  If not, the
 * child stops listening and closes its idle connections. */
bool ka_sim_worker_for(ka_sim *s, uint32_t child);

/** The list of a client's connection. */
ka_sim_idle *ka_sim_idle_of(ka_sim *s, uint32_t child);

/** A connection becomes idle, or is not so any more; where s->listed. */
void ka_sim_idle_put(ka_sim *s, uint32_t client);
void ka_sim_idle_take(ka_sim *s, uint32_t client);

/** A connection of a child is closed; on prefork and worker its worker is freed
 * apart, perhaps later. */
void ka_sim_closed(ka_sim *s, uint32_t child);

/** A child that is ending and has nothing left is gone. */
void ka_sim_left(ka_sim *s, uint32_t child);

/** The parent's second. @return whether anything changed or may yet */
bool ka_sim_maintain(ka_sim *s);

/* ---- load (sim_adaptive.c); where it is not configured, nothing ---------- */

/** [P2] A response of the child closes its connection. */
bool ka_sim_is_full(const ka_sim *s, uint32_t child);
/** [P1] Nothing is done for load. */
bool ka_sim_is_calm(const ka_sim *s, uint32_t child);
/** Load or idle connections are more: sees to it that they are looked at. */
void ka_sim_watch(ka_sim *s, uint32_t child);
void ka_sim_look(ka_sim *s, uint32_t child);

/* ---- configuration (sim_config.c) ---------------------------------------- */

bool ka_sim_config_valid(const ka_sim_config *config);
/** Times held to where sums of a few do not overflow. */
ka_sim_config ka_sim_config_within(const ka_sim_config *config);
ka_policy ka_sim_policy_of(const ka_sim_config *config);

/** A child accepts nothing more; its connections go on, but for event's idle
 * ones. */
void ka_sim_end_child(ka_sim *s, uint32_t child);

/* ---- restart (sim_restart.c) -------------------------------------------- */

/** The configured one is to come, if there is one. */
void ka_sim_expect_restart(ka_sim *s);
void ka_sim_restart(ka_sim *s, uint32_t unused);
/** A connection was accepted that came at came_us. */
void ka_sim_count_wave(ka_sim *s, int64_t came_us, int64_t wait_us);

/* ---- counting (sim_count.c) --------------------------------------------- */

/** @return false without memory */
bool ka_sim_count_begin(ka_sim *s, apr_pool_t *pool);
/** Time goes on to `at`; before anything changes there. */
void ka_sim_count_until(ka_sim *s, int64_t at);
/** Levels have changed. */
void ka_sim_count_levels(ka_sim *s);
/** The point of now; a place nobody reads outside the window. */
ka_sim_point *ka_sim_point_now(ka_sim *s);
void ka_sim_time(ka_sim *s, ka_sim_times *times, int64_t at);
/** @return APR_SUCCESS; APR_ENOMEM */
apr_status_t ka_sim_count_end(ka_sim *s);
void ka_sim_count_clear(ka_sim *s);

#endif
