/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_segment_reader: a checked segment as plain structs, added up over
 * stripes and children.
 *
 *     ka_segment_load  ->  ka_snapshot_make          what there is
 *                      ->  ka_stats_read             one vhost, or all
 *                      ->  ka_history_read           the last seconds
 *                      ->  ka_recent_read            the last connections
 *
 * The segment may be a private copy or a mapping that others write to.  What
 * is returned is safe to use as it is: names end, indices are in range.
 * Every function only reads the segment: safe from any thread.
 */
#ifndef KA_SEGMENT_READER_H
#define KA_SEGMENT_READER_H

#include <apr_pools.h>

#include "ka_segment.h"

#define KA_VHOST_ALL (~0u)

typedef struct ka_snapshot_child {
    int32_t pid; /* -1: children that found no slot of their own */
    int32_t generation;
    int64_t started_at;
    int64_t requests; /* completed; -1: its writer did not count them */
    ka_gauges gauges;
} ka_snapshot_child;

typedef struct ka_snapshot {
    int64_t started_at, heartbeat_at; /* us since the epoch */
    int32_t parent_pid;
    int32_t generation; /* graceful restarts since started_at */
    ka_segment_config config;
    char server_version[sizeof(((ka_segment_header *)0)->server_version)];
    ka_gauges gauges;         /* of all children */
    uint32_t vhost_n;         /* the last is "(other)" */
    ka_segment_vhost *vhosts; /* [vhost_n]; name "" = free place */
    uint32_t child_n;
    ka_snapshot_child *children; /* [child_n], in order of their slots */
    uint32_t history_n;          /* seconds that it keeps */
    uint32_t recent_n;           /* connections that it keeps */
    uint64_t recent_seen;        /* connections that went through the ring */
    uint64_t recent_lost;        /* of them, not written */
    uint64_t slot_overflow;
    uint64_t cold_n, cold_us, drain_us; /* see ka_segment_header; 0: not
                                           counted */
} ka_snapshot;

/** Counters and distributions of one vhost, or of all: about 125 kB. */
typedef struct ka_stats {
    uint64_t counter[KA_COUNTER_N];
    ka_hist quantity[KA_QUANTITY_N];
    uint64_t open; /* connections open now */
} ka_stats;

typedef struct ka_second {
    int64_t at; /* its begin, us since the epoch */
    uint32_t requests, connections;
    uint32_t open, busy, idle; /* maxima */
} ka_second;

/** Copies what a segment says about itself; arrays come from pool. */
void ka_snapshot_make(ka_snapshot *out, const ka_segment_header *header,
                      apr_pool_t *pool);

/** Whether somebody still writes: heartbeat within KA_SEGMENT_STALE_US. */
bool ka_snapshot_is_live(const ka_snapshot *snapshot, int64_t now_at);

/**
 * Adds up over stripes and, for KA_VHOST_ALL, over vhosts.
 * @param vhost  < vhost_n, or KA_VHOST_ALL; else the result is empty
 */
void ka_stats_read(ka_stats *out, const ka_segment_header *header,
                   unsigned vhost);

/** Requests completed. */
uint64_t ka_stats_requests(const ka_stats *stats);
/** Requests on a connection that had served one before, pipelined too. */
uint64_t ka_stats_reused(const ka_stats *stats);
/** Connections closed, lost ones too. */
uint64_t ka_stats_closed(const ka_stats *stats);
/** Response body bytes. */
uint64_t ka_stats_bytes(const ka_stats *stats);
/**
 * The three distributions by class as one.
 * @param first  KA_QUANTITY_GAP, _SERVICE or _TAIL
 */
void ka_stats_classes(ka_hist *out, const ka_stats *stats, unsigned first);

/**
 * The last seconds, oldest first.  A second without any change keeps the
 * levels of the one before.
 * @param out     [n]
 * @param now_at  the present; the second that it lies in is the last one.
 *                INT64_MIN: end with the latest second on record
 * @return how many were filled: less than n if it is younger than that, or
 *         keeps less
 */
size_t ka_history_read(ka_second *out, size_t n,
                       const ka_segment_header *header, int64_t now_at);

/**
 * The last closed connections, latest first; those being written right now
 * are left out.
 * @param out  [n]
 * @return how many were filled
 */
size_t ka_recent_read(ka_segment_recent *out, size_t n,
                      const ka_segment_header *header);

/** When a recent connection's first request began, and when its last response
 * was sent; us since the epoch. */
int64_t ka_recent_first_request(const ka_segment_recent *r);
int64_t ka_recent_last_response(const ka_segment_recent *r);

#endif
