/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What a thread does with a chunk of a log: lines, taken apart and
 * classified, become hits in the order of their lines, part by part.
 *
 * Concurrency: a worker belongs to one thread at a time, so does a chunk.
 */
#ifndef KA_LOG_SCAN_CHUNK_H
#define KA_LOG_SCAN_CHUNK_H

#include "log.h"
#include "log_hits.h"
#include "log_scan_names.h"
#include "log_skipped.h"
#include "textchunks.h"

/* Hits of one chunk; where there are more, the chunk is parsed in parts.  A
 * chunk of usual size has as many if its lines are 16 bytes long. */
#define KA_SCAN_HITS 16384

/* What a thread needs, kept from chunk to chunk. */
typedef struct ka_scan_worker ka_scan_worker;

/**
 * @param chunk  bytes of the largest chunk
 * @param hits   of one chunk, 1 .. KA_SCAN_HITS
 * @param parent  of the worker's own pool
 */
ka_scan_worker *ka_scan_worker_make(const ka_logformat *format,
                                    const ka_log_options *options,
                                    size_t chunk, size_t hits,
                                    apr_pool_t *parent);

/* A chunk, and what came of it. */
typedef struct ka_scan_chunk {
    ka_textchunk text;   /* to be parsed; of a stopped one, what is left */
    bool stopped;        /* for want of room: parse again to go on */
    apr_status_t status; /* reading failed; APR_ENOMEM */
    ka_hit_run runs[KA_HIT_PARTS]; /* into hits, in order of parts */
    ka_hit *hits;        /* hits[n]; malloc'd, kept from chunk to chunk */
    size_t n, room;
    bool named;          /* hits' vhost is a number in `names` */
    bool asked;          /* a vhost was asked for, if only "" */
    ka_scan_names *names; /* NULL until the format has vhosts */
    uint64_t numbered;   /* lines, empty ones included */
    uint64_t lines, parsed_n, overlong, cut, out_of_order;
    uint64_t excluded[KA_EXCLUDED_N];
    ka_log_miss misses[KA_SKIPPED_SAMPLES]; /* numbers from 1 in the chunk */
    size_t miss_n;
    int64_t first_us, last_us;   /* starts of the first and last line that
                                    has one, if parsed_n */
    int64_t newest_us;           /* the latest of those starts */
    int64_t hit_oldest_us, hit_newest_us; /* of the hits, if n */
} ka_scan_chunk;

/** Parses what chunk->text says.  Allocates with malloc only. */
void ka_scan_chunk_parse(ka_scan_chunk *chunk, ka_scan_worker *worker);

/** Gives memory back; a zeroed chunk is fine. */
void ka_scan_chunk_free(ka_scan_chunk *chunk);

#endif
