/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What ka_log_scan hands on: batches of ka_hit, split by address into parts
 * that can be worked on side by side.
 *
 * A part has all requests of its addresses, whatever the number of threads.
 * Within a part, runs come in a fixed order, hits in the order of their file;
 * a batch is a few MB, so that it stays in the caches.
 */
#ifndef KA_LOG_HITS_H
#define KA_LOG_HITS_H

#include <stddef.h>
#include <stdint.h>

/* A power of two; part = address hash % KA_HIT_PARTS. */
#define KA_HIT_PARTS 16

/* ka_request without what names a connection. */
typedef struct ka_hit {
    int64_t begin_us;   /* start, us since the epoch */
    int64_t service_us; /* -1: the log does not tell */
    int64_t bytes;      /* -1: not told */
    uint64_t client, address; /* hashes, never 0 */
    uint16_t vhost;     /* index into ka_source_info.vhosts */
    uint16_t flags;     /* ka_request_flag bits */
    uint16_t limit_s;   /* how long such a client keeps an idle connection */
    uint8_t cls;        /* ka_class */
} ka_hit;

typedef struct ka_hit_run {
    const ka_hit *hits; /* hits[n], valid until the callback returns */
    size_t n;
} ka_hit_run;

typedef struct ka_hit_batch {
    const ka_hit_run *runs[KA_HIT_PARTS]; /* runs[part][run_n[part]] */
    size_t run_n[KA_HIT_PARTS];
    size_t n;             /* hits in all parts */
    int64_t newest_us;    /* latest start in this and earlier batches */
    int64_t reached_us;   /* all files that are not at their end have come so
                             far: the least of their latest starts; INT64_MAX
                             once all are at their end */
} ka_hit_batch;

/** Takes one batch, also an empty one; on the calling thread. */
typedef void ka_hit_fn(void *context, const ka_hit_batch *batch);

#endif
