/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_workers: workers by what they are held for, from the open connections.
 *
 * Prefork and worker: every open connection holds one, also while it is idle
 * ([M6]).  Event: only a busy one does ([M7]); where the MPM is unknown,
 * ka_segment_config.async decides.
 */
#ifndef KA_WORKERS_H
#define KA_WORKERS_H

#include "ka_segment_reader.h"

typedef struct ka_workers {
    uint32_t busy;    /* a request, or waiting for the first one */
    uint32_t idle;    /* KeepAliveTimeout */
    uint32_t closing; /* lingering close */
    uint32_t free;    /* what MaxRequestWorkers leaves; 0 if that is unknown */
} ka_workers;

/** Pure; safe from any thread. */
ka_workers ka_workers_of(const ka_snapshot *snapshot);

/** Those that are held: their sum without `free`. */
static inline uint32_t ka_workers_held(const ka_workers *workers)
{
    return workers->busy + workers->idle + workers->closing;
}

#endif
