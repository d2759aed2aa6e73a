/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_sample: the same sums as [M4] and [M5], apart for groups of addresses and
 * for blocks of time: what intervals are resampled from (intervals.h).
 *
 *             block 0   block 1   block 2
 *   group 0  |  request, idle times, busy time ...  |   --> groups[0]
 *   group 1  |                                      |   --> groups[1]
 *     ...         |         |         |
 *                 v         v         v
 *              blocks[0] blocks[1] blocks[2]
 *
 *   groups  an address belongs to one of KA_SAMPLE_GROUPS by its hash, with
 *           its whole history: random groups (Wolter, Introduction to Variance
 *           Estimation, chapter 2)
 *   blocks  aligned to the clock.  They begin with 10 minutes; where there
 *           would be more than KA_SAMPLE_BLOCKS they become longer, 1 h, 4 h,
 *           1 d, 4 d ..., and are added up: exactly, so that it does not matter
 *           in which order they were filled
 *
 * An idle time counts where the request that ends it starts, one that no
 * request ends where it begins; busy time where its request starts.  Idle
 * times are counted by class: the number k of timeouts that are shorter; so
 *
 *   N(T[j]) = opens + #{gap k > j}
 *   H(T[j]) = sum{k <= j} + T[j] #{k > j}, gaps and tails
 *
 * Samples of other logs, of other servers too, add up: groups by address,
 * blocks by the clock, with the server time that each covers.
 *
 * Memory: 64 bytes for each timeout, group and block, as they are used; of
 * 27 timeouts 0.6 MB at most.
 * Concurrency: one thread.
 */
#ifndef KA_SAMPLE_H
#define KA_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "../model/pieces.h"
#include "connections.h"

#define KA_SAMPLE_GROUPS 64
#define KA_SAMPLE_BLOCKS 256
#define KA_SAMPLE_BLOCK_US (INT64_C(600) * 1000000)

/* Timeouts that are counted apart, at most. */
#define KA_SAMPLE_TIMEOUTS 96

/* Idle times of one class. */
typedef struct ka_sample_idle {
    uint64_t gap_n, gap_us;
    uint64_t tail_n, tail_us;
} ka_sample_idle;

/* One side of a bracket (connections.h), of one group or block. */
typedef struct ka_sample_side {
    uint64_t requests; /* of the low side only: they are those of both */
    uint64_t opens;    /* chains that open */
    uint64_t busy_us;  /* S */
    uint64_t covered_us; /* server time of a block, once all is counted; of
                            the low side only */
    ka_sample_idle idle[]; /* idle[timeout_n + 1] */
} ka_sample_side;

/* Where requests and tails were counted last; both move on with time. */
enum { KA_SAMPLE_REQUESTS, KA_SAMPLE_TAILS, KA_SAMPLE_PLACES };

typedef struct ka_sample_place {
    int64_t from_us; /* the block's begin */
    size_t block;
} ka_sample_place;

typedef struct ka_sample {
    size_t timeout_n;
    int64_t timeouts[KA_SAMPLE_TIMEOUTS]; /* ascending, us */
    size_t side_bytes;      /* of one ka_sample_side */
    char *groups, *blocks;  /* pairs of sides: low, high; without bracket the
                               second counts for nothing */
    size_t block_n;         /* those from here on are empty */
    int64_t block_us;       /* length of a block */
    int64_t first;          /* block i begins at (first + i) block_us */
    int64_t begin_us, end_us; /* the window, first to last; end_us once all is
                                 counted */
    ka_sample_place places[KA_SAMPLE_PLACES];
} ka_sample;

/**
 * An empty sample of timeouts[n], ascending, n <= KA_SAMPLE_TIMEOUTS.
 * @return to be freed by ka_sample_free; NULL without memory
 */
ka_sample *ka_sample_make(const int64_t *timeouts, size_t n);
/** Frees it; NULL does nothing. */
void ka_sample_free(ka_sample *sample);

/** A copy, to be freed by ka_sample_free; NULL without memory. */
ka_sample *ka_sample_copy(const ka_sample *sample);

/** Says where time begins, before anything is counted; earlier times than
 * begin_us count in its block.  |begin_us| <= KA_TRACE_TIME_MAX. */
void ka_sample_begin(ka_sample *sample, int64_t begin_us);

/** Says where time ends, once all is counted: which blocks it covers. */
void ka_sample_end(ka_sample *sample, int64_t end_us);

/** Makes room for a time, and sets the place to its block. */
void ka_sample_seek(ka_sample *sample, ka_sample_place *place, int64_t at_us);

/** One side of a group or block. */
static inline ka_sample_side *ka_sample_group_side(const ka_sample *sample,
                                                   size_t group, int side)
{
    return (ka_sample_side *)(sample->groups + (2 * group + (size_t)side) *
                                                   sample->side_bytes);
}

static inline ka_sample_side *ka_sample_block_side(const ka_sample *sample,
                                                   size_t block, int side)
{
    return (ka_sample_side *)(sample->blocks + (2 * block + (size_t)side) *
                                                   sample->side_bytes);
}

/** Whether a time lies in the block that was counted in last. */
static inline bool ka_sample_is_at(const ka_sample *sample, int which,
                                   int64_t at_us)
{
    return (uint64_t)at_us - (uint64_t)sample->places[which].from_us <
           (uint64_t)sample->block_us;
}

/** The block of a time; valid until the next call. */
static inline size_t ka_sample_block(ka_sample *sample, int which,
                                     int64_t at_us)
{
    if (!ka_sample_is_at(sample, which, at_us)) {
        ka_sample_seek(sample, &sample->places[which], at_us);
    }
    return sample->places[which].block;
}

/** The group of an address hash. */
static inline unsigned ka_sample_group(uint64_t address)
{
    return (unsigned)(address % KA_SAMPLE_GROUPS);
}

/** The class of an idle time. */
size_t ka_sample_class(const ka_sample *sample, int64_t idle_us);

/** Adds all of `from`, of the same timeouts, to `into`: associative and
 * commutative.  Blocks of `from` may become longer. */
void ka_sample_merge(ka_sample *into, ka_sample *from);

/** Forgets all timeouts but timeouts[n], which are among the sample's: nothing
 * else changes. */
void ka_sample_keep(ka_sample *sample, const int64_t *timeouts, size_t n);

/** Makes blocks longer until there are at most so many. */
void ka_sample_shorten(ka_sample *sample, size_t blocks);

/** The length of blocks after block_us. */
int64_t ka_sample_longer(int64_t block_us);

/** Takes the low side for the high one, too: without bracket. */
void ka_sample_double(ka_sample *sample);

/** Takes the low side for the high one, and the high one for the low. */
void ka_sample_swap(ka_sample *sample);

/** The sides of some group are not the same. */
bool ka_sample_sides_differ(const ka_sample *sample);

/** Blocks up to end_us; 0: nothing was counted. */
size_t ka_sample_block_n(const ka_sample *sample);

/** Adds one side of all groups to out, of idle[timeout_n + 1]. */
void ka_sample_total(ka_sample_side *out, const ka_sample *sample, int side);

/** N and H of one side of a group or block at each of the timeouts:
 * n[timeout_n], idle_us[timeout_n]. */
void ka_sample_evaluate(double *n, double *idle_us, const ka_sample *sample,
                        const ka_sample_side *side);

/**
 * One side as the pieces that intervals are resampled from.
 * @param out       of timeouts[n], owned by pool; others than the sample's lie
 *                  between or with their neighbours
 */
void ka_sample_pieces(ka_pieces *out, const ka_sample *sample, int side,
                      const int64_t *timeouts, size_t n, apr_pool_t *pool);

/**
 * The sample of a log that was kept: of both traces, where there is a bracket.
 * @param requests  those that the connections were grouped from
 * @return as ka_sample_make
 */
ka_sample *ka_sample_of_connections(const ka_connections *connections,
                                    const ka_requests *requests,
                                    const int64_t *timeouts, size_t n);

#endif
