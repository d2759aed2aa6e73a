/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Inside lanes.h.
 *
 *   lanes.c         requests, the passing of time, the end
 *   lanes_group.c   which lane takes a request
 *   lanes_chains.c  lanes open, go on, time out and end
 *   lanes_due.c     when they do, and which go early
 *
 *                   open ---> live ---> timed out ---> over
 *   in the index     x         x
 *   of its client              x            x
 *   ends with                          another one    tail
 *                                      takes over
 */
#ifndef KA_LANES_PRIV_H
#define KA_LANES_PRIV_H

#include "connections_priv.h"
#include "lanes.h"
#include "slab.h"
#include "stream_priv.h"

#define KA_LANE_NONE KA_SLAB_NONE

typedef enum ka_lane_state {
    KA_LANE_LIVE,
    KA_LANE_TIMED, /* T0 has cut it: another connection may take over */
    KA_LANE_GONE   /* over, but still in the heap */
} ka_lane_state;

/* A connection, and the chain that it is the end of. */
typedef struct ka_lane {
    uint64_t place; /* slab.h; 0: not found by name */
    int64_t end_us; /* of its last response */
    uint32_t address; /* of the last request, the hash's lower half */
    uint32_t client;
    uint32_t newer, older; /* of its client, by use (live) or end (timed) */
    uint32_t next, prev;   /* in a list of a queue */
    uint32_t requests;     /* on the connection, under T0 */
    int32_t last_k;
    uint16_t vhost, limit_s; /* of the last request */
    uint8_t cls;
    uint8_t state;    /* ka_lane_state */
    bool ended;       /* the last response closed it */
    bool in_heap : 1;
    bool named : 1;   /* it had a place when it opened */
} ka_lane;

typedef struct ka_lane_client {
    uint64_t key;
    uint32_t live, timed; /* its lanes, the latest first */
    uint32_t live_n;      /* live lanes that have not ended */
    uint32_t holds;       /* openings not decided, and requests in hand */
    uint32_t parallel;    /* most connections at once so far */
    uint32_t free_us;     /* round_trip.h; 0: none known */
} ka_lane_client;

/* Lanes by the second in which they are due. */
typedef struct ka_lane_queue {
    uint32_t lists[KA_WHEEL_SECONDS]; /* linked by next and prev */
    int64_t second; /* the lists start here */
} ka_lane_queue;

typedef struct ka_lane_due {
    int64_t due_us;
    uint32_t lane;
} ka_lane_due;

/* A connection that opened; what it goes on from is not known yet. */
typedef struct ka_opening {
    int64_t begin_us;
    uint32_t client;
    uint16_t limit_s;
    uint8_t group; /* sample.h */
} ka_opening;

/* The lanes of one side. */
typedef struct ka_lane_set {
    ka_shard *shard;
    int side;
    const ka_grouping_rules *rules;
    ka_keymap *trips; /* client -> free_us, 0 too; NULL: there are none */
    uint32_t trip_us; /* of clients that are not in it */
    ka_slab lanes, clients;
    uint32_t max; /* lanes at once */
    ka_lane_queue live, timed;
    ka_lane_due *heap; /* live lanes due in this second; heap[heap_n] */
    size_t heap_n, heap_size;
    ka_opening *openings; /* a ring; opening_size is a power of two */
    size_t opening_first, opening_n, opening_size;
    int64_t delay_us; /* how long after an opening it can be decided */
    uint64_t opened;
    uint64_t forgotten; /* ended early, for lack of room */
    bool failed;
} ka_lane_set;

bool ka_lane_set_init(ka_lane_set *set, ka_shard *shard, int side,
                      const ka_grouping_rules *rules, uint32_t max);
void ka_lane_set_clear(ka_lane_set *set);

static inline ka_lane *ka_lane_at(const ka_lane_set *set, uint32_t lane)
{
    return ka_slab_at(&set->lanes, lane);
}

static inline ka_lane_client *ka_lane_client_at(const ka_lane_set *set,
                                                uint32_t client)
{
    return ka_slab_at(&set->clients, client);
}

static inline int64_t ka_lane_limit(uint16_t limit_s)
{
    return limit_s * KA_SECOND_US;
}

/* ---- grouping ------------------------------------------------------------ */

/** Puts a request on one of its client's lanes, or on a new one. */
void ka_lane_set_take(ka_lane_set *set, const ka_request *r,
                      const ka_hit *hit);

/* ---- chains -------------------------------------------------------------- */

/** Frees a client that has nothing left. */
void ka_lane_client_drop(ka_lane_set *set, uint32_t client);

/** Opens a lane with a request.
 * @param place  as in ka_lane
 * @param keep   it is followed: also if it has ended, since %k may show that
 *               it went on */
void ka_lane_open(ka_lane_set *set, uint32_t client, const ka_request *r,
                  const ka_hit *hit, uint64_t place, bool keep);

/** Puts a request of a client on a lane, which becomes that client's. */
void ka_lane_follow(ka_lane_set *set, uint32_t lane, uint32_t client,
                    const ka_request *r, const ka_hit *hit);

/** A lane ends with its last request or, if that left it open, with its
 * client's close len_us later. */
void ka_lane_over(ka_lane_set *set, uint32_t lane, int64_t len_us);

/** A live lane's time is up. */
void ka_lane_times_out(ka_lane_set *set, uint32_t lane);

/** Another connection, of r, begins at the place of a lane. */
void ka_lane_replaced(ka_lane_set *set, uint32_t lane, const ka_request *r);

/** Lets time pass: what is before now_us has been taken. */
void ka_lane_set_pass(ka_lane_set *set, int64_t now_us);

/* ---- when ---------------------------------------------------------------- */

/** Puts a lane in the queue of its state. */
void ka_lane_schedule(ka_lane_set *set, uint32_t lane);

/** Takes it out, and frees it as soon as that can be. */
void ka_lane_free(ka_lane_set *set, uint32_t lane);

/** All that is due before before_us happens, in order of time. */
void ka_lane_set_fire(ka_lane_set *set, int64_t before_us);

/** Ends some lanes early, so that there is room. */
void ka_lane_set_make_room(ka_lane_set *set);

#endif
