/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The consistent set of an MPM's directives (ADVICE R4, R8) for a number of
 * workers.  Pure functions of structs.
 *
 * What must hold, or httpd corrects the numbers by itself at start:
 *   prefork  ServerLimit >= MaxRequestWorkers; MinSpare < MaxSpare
 *   threads  MaxRequestWorkers a multiple of ThreadsPerChild;
 *            ServerLimit >= MaxRequestWorkers / ThreadsPerChild;
 *            ThreadLimit >= ThreadsPerChild;
 *            MaxSpareThreads >= MinSpareThreads + ThreadsPerChild
 */
#ifndef KA_BLOCK_H
#define KA_BLOCK_H

#include <stdint.h>
#include "../host/facts.h"

/* A directive's place in a block. */
typedef enum ka_block_item {
    KA_BLOCK_SERVER_LIMIT, /* limits come first: httpd reads top-down */
    KA_BLOCK_THREAD_LIMIT,
    KA_BLOCK_THREADS_PER_CHILD,
    KA_BLOCK_START_SERVERS,
    KA_BLOCK_MIN_SPARE,
    KA_BLOCK_MAX_SPARE,
    KA_BLOCK_MAX_REQUEST_WORKERS,
    KA_BLOCK_MAX_CONNECTIONS_PER_CHILD,
    KA_BLOCK_ASYNC_FACTOR,
    KA_BLOCK_ITEMS
} ka_block_item;

typedef struct ka_block_info {
    const char *directive[KA_MPM_N];   /* 2.4 name; NULL: not for that MPM */
    const char *legacy;                /* 2.2 name where it differs */
    int64_t httpd_default[KA_MPM_N];   /* compiled into httpd 2.4 */
    bool restart;                      /* a full restart is needed */
} ka_block_info;

typedef struct ka_block {
    int64_t value[KA_BLOCK_ITEMS]; /* -1: the MPM has no such directive */
} ka_block;

typedef struct ka_block_demand {
    ka_mpm mpm;
    int64_t workers;           /* MaxRequestWorkers before rounding, > 0 */
    int64_t workers_limit;     /* what memory holds; -1 not known */
    double held_mean;          /* workers held in the mean at T */
    double opens_per_s;        /* connections opened in a busy second */
    double connections_peak;   /* open connections at the peak (event) */
    int64_t threads_per_child; /* present value; -1: not known */
    int64_t max_connections_per_child; /* [M17] */
} ka_block_demand;

/** The row of an item; never NULL. */
const ka_block_info *ka_block_info_of(ka_block_item item);

/** ThreadsPerChild that a block for so many workers would have: 1 on prefork,
 * the present value if known (but at least 64 on event, R4), else 64. */
int64_t ka_block_threads(ka_mpm mpm, int64_t present);

/** Builds the block; every value satisfies the conditions above.  StartServers
 * and spare workers are those for the connections of a busy second: where
 * single seconds are known, [M15] knows better (ka_block_set_spare). */
ka_block ka_block_make(const ka_block_demand *demand);

/**
 * Sets StartServers, MinSpare* and MaxSpare* in a block that was made, kept
 * within the conditions above; event's MaxSpareThreads stays MaxRequestWorkers
 * (R4).
 */
void ka_block_set_spare(ka_block *block, ka_mpm mpm, int64_t start_servers,
                        int64_t min_spare, int64_t max_spare);

#endif
