/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Inside stream.h.
 *
 *   stream.c          batches, the window, steps
 *   stream_order.c    hits in order of start
 *   stream_clients.c  the table of clients, and when they go
 *   stream_group.c    which connection takes a request, on both sides
 *   stream_count.c    what is counted, and the sums in the end
 */
#ifndef KA_STREAM_PRIV_H
#define KA_STREAM_PRIV_H

#include "connections_priv.h"
#include "sample.h"
#include "slab.h"
#include "stream.h"
#include "timeline.h"

enum { LOW, HIGH, SIDES };

/* Parts are worked on in groups of their own counters. */
#define KA_SHARDS KA_TIMELINE_RINGS

/* Seconds until a client is looked at again; a power of two, and more than
 * any client's limit. */
#define KA_WHEEL_SECONDS 512

/* Columns of requests per second: classes, then vhosts. */
#define KA_SECOND_COLUMNS (KA_CLASS_N + KA_TALLY_VHOSTS)

/* ---- clients ------------------------------------------------------------- */

/* One client's connections, as one (low) and as many as browsers open (high).
 * A client that speaks HTTP/2 has another one for that, of a single connection
 * that is the same on both sides. */
typedef struct ka_stream_client {
    uint64_t key;
    int64_t low_end_us; /* where its requests so far end */
    int64_t high_end_us[KA_BURST_CONNECTIONS];
    uint32_t high_requests[KA_BURST_CONNECTIONS];
    uint32_t low_requests; /* on the connection, under T0 */
    uint32_t next;      /* on the wheel */
    uint32_t alone_s;   /* when it last sent requests that are connections */
    uint16_t alone;     /* how many in that second */
    uint16_t limit_s;
    uint16_t low_vhost; /* of the last request */
    uint8_t low_cls;
    uint8_t high_n;
    uint8_t parallel;   /* most connections at once so far */
    uint8_t group;      /* sample.h: of the address that it came from first */
    bool low_open;
    bool stream;
} ka_stream_client;

typedef struct ka_stream_table {
    ka_slab clients; /* of ka_stream_client */
    uint32_t max;
    uint32_t wheel[KA_WHEEL_SECONDS]; /* lists of places, by `next` */
    int64_t second;  /* the wheel stands here */
} ka_stream_table;

typedef struct ka_shard ka_shard;

void ka_stream_table_init(ka_stream_table *table, uint32_t max);
void ka_stream_table_clear(ka_stream_table *table);

/** The client of a key; NULL: there is none. */
ka_stream_client *ka_stream_table_find(ka_stream_table *table, uint64_t key);

/** A new client of a key, zeroed but for that; due is when it may go.
 * Pointers to clients are not valid any more.  @return NULL without memory */
ka_stream_client *ka_stream_table_add(ka_stream_table *table, uint64_t key,
                                      int64_t due_us);

/** From when on a client can no longer use any of its connections: no high
 * one ends after the low one (by_time.c). */
static inline int64_t ka_stream_due(const ka_stream_client *client)
{
    const int64_t alone_us = (int64_t)client->alone_s * KA_SECOND_US;

    return (client->low_end_us > alone_us ? client->low_end_us : alone_us) +
           client->limit_s * KA_SECOND_US;
}

/** Forgets those who are due before now_us, each after ka_stream_leave. */
void ka_stream_table_expire(ka_stream_table *table, ka_shard *shard,
                            int64_t now_us);

/** Forgets some that are due the soonest, so that there is room. */
void ka_stream_table_make_room(ka_stream_table *table, ka_shard *shard);

/** Lets all clients go; they stay in the table. */
void ka_stream_table_leave(const ka_stream_table *table, ka_shard *shard);

/* ---- counting ------------------------------------------------------------ */

struct ka_shard {
    ka_timeline *timeline;
    ka_ring *ring;
    ka_tally *tally; /* its own; the first one's is the whole in the end */
    const ka_source_info *info;
    ka_tally_traffic *vhosts[KA_TALLY_VHOSTS]; /* by number; NULL: not seen */
    uint32_t *seconds; /* seconds[n][columns]: requests */
    int64_t seconds_from, seconds_n;
    size_t columns, columns_room;
    ka_sample *sample; /* its own; the tally's in the end */
    /* Where requests count now, and tails: */
    ka_sample_side *group[SIDES];
    ka_sample_side *blocks[KA_SAMPLE_PLACES][SIDES];
    int64_t ends_us[SIDES];        /* of the last response */
    int64_t timeout_us; /* T0 */
    int64_t free_us;    /* connections_priv.h */
    int64_t end_us;     /* latest end of a request, as the log has it */
    bool differ;        /* the sides have come apart */
    bool named;   /* the log has vhosts */
    uint64_t last_address, last_requests; /* not in `weights` yet */
    bool failed;
};

/** Prepares shards[KA_SHARDS] that count into tally.
 * @return false without memory (clear them all the same) */
bool ka_shards_init(ka_shard *shards, ka_tally *tally,
                    const ka_source_info *info);
void ka_shards_clear(ka_shard *shards);

/** A request that was kept in full, within the bounds of a hit: the client's
 * limit is not above KA_TIMELINE_IDLE_US. */
ka_hit ka_hit_of(const ka_request *r);

/** Gives the shards a timeline from begin_us on.
 * @return the caller's, to be freed by ka_timeline_free; NULL without memory */
ka_timeline *ka_shards_begin(ka_shard *shards, bool whole, int64_t begin_us);

/** Counts a request as traffic; until the next one, what opens, ends an idle
 * time or is served counts at its place in the sample. */
void ka_shard_request(ka_shard *shard, const ka_hit *hit);

/** Says where in the sample it counts. */
void ka_shard_place(ka_shard *shard, unsigned group, int64_t begin_us);

/** Says which seconds will be counted: [from_us, until_us). */
void ka_shard_seconds(ka_shard *shard, int64_t from_us, int64_t until_us);

/** Adds up the shards' seconds in the tally of the first. */
void ka_shards_seconds_done(ka_shard *shards);

/** The traffic of a vhost number; NULL if the log has none. */
ka_tally_traffic *ka_shard_vhost(ka_shard *shard, uint32_t number);

/** A connection opens at from_us. */
void ka_shard_open(ka_shard *shard, int side, int64_t from_us);

/** An idle time of gap_us ends with a request at from_us. */
void ka_shard_gap(ka_shard *shard, int side, int64_t from_us, int64_t gap_us);

/** A client of a group (sample.h) leaves a chain len_us after its end. */
void ka_shard_tail(ka_shard *shard, int side, unsigned group, int64_t end_us,
                   int64_t len_us, uint32_t requests);

/** A request is served. */
void ka_shard_busy(ka_shard *shard, int side, int64_t from_us, int64_t to_us);

/** Sums all up in the tally of the first. */
void ka_shards_finish(ka_shard *shards, int64_t begin_us);

/** Once the occupancies are in the tally as well: whether the sides differ
 * (if not, the low one stands for both), and have changed their roles. */
void ka_shards_settle(ka_shard *shards, bool differ, bool swapped);

/** All times are multiples of a second. */
bool ka_times_are_whole(const ka_source_info *info);

/* ---- grouping ------------------------------------------------------------ */

/** Puts a request on its client's connections. */
void ka_stream_group(ka_shard *shard, ka_stream_table *table,
                     const ka_hit *hit);

/** The client goes: its connections end by themselves. */
void ka_stream_leave(ka_shard *shard, const ka_stream_client *client);

/* ---- order --------------------------------------------------------------- */

typedef struct ka_order_key {
    int64_t begin_us;
    uint32_t at;
} ka_order_key;

/* Requests of one part that wait. */
typedef struct ka_waiting {
    ka_hit *hits; /* hits[n], ascending by start; those below `at` are done */
    size_t at, n, size;
    bool own;           /* hits is malloc'd; else part of the stream's array */
    int64_t newest_us;  /* latest start so far */
    int64_t lag_us;     /* how far behind it one came at most */
    uint64_t late;      /* came after their time was over */
    uint64_t no_request; /* connections without one; they do not wait */
    bool failed;
} ka_waiting;

/* What sorting takes; one for each thread. */
typedef struct ka_order_scratch {
    ka_order_key *keys; /* two arrays of size */
    ka_hit *hits;
    size_t size;
} ka_order_scratch;

void ka_order_scratch_clear(ka_order_scratch *scratch);

/** Takes in runs; starts before edge_us are moved there, and late. */
void ka_waiting_add(ka_waiting *waiting, ka_order_scratch *scratch,
                    const ka_hit_run *runs, size_t n, int64_t edge_us);
/** How many wait that start at from_us or later. */
size_t ka_waiting_from(const ka_waiting *waiting, int64_t from_us);
void ka_waiting_clear(ka_waiting *waiting);

#endif
