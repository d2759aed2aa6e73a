/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_segment_writer: how numbers get into a segment.
 *
 * A ka_writer is a process's own view of the segment: plain pointers,
 * resolved once.  Everything a child calls is lock-free, allocates nothing
 * and makes no system call, and may be called from any thread, also from a
 * signal handler.  Slots and configuration are the parent's: one thread.
 */
#ifndef KA_SEGMENT_WRITER_H
#define KA_SEGMENT_WRITER_H

#include "ka_segment.h"

typedef struct ka_writer {
    ka_segment_header *header;
    ka_segment_stats *stats; /* of this child's stripe, [vhost] */
    ka_segment_slot *slot;
    int32_t *open; /* connections of this child, [vhost] */
    ka_segment_second *history;
    ka_segment_recent *recent;
    uint32_t history_n, recent_n, vhost_n;
    int64_t started_mono;
    int64_t started_second; /* started_mono in whole seconds */
} ka_writer;

/* ---- child -------------------------------------------------------------- */

/**
 * Takes a slot for this process, and with it a stripe.  Without a free slot
 * it shares the last one, which nobody clears; slot_overflow says so.
 */
void ka_writer_attach(ka_writer *writer, ka_segment_header *header, int32_t pid,
                      int32_t generation, int64_t now_at);

/* Inline: these are the hot path. */

static inline void ka_atomic_add(uint64_t *word, uint64_t n)
{
    __atomic_fetch_add(word, n, __ATOMIC_RELAXED);
}

/** Adds n to a counter. */
static inline void ka_stats_count(ka_segment_stats *stats, unsigned counter,
                                  uint64_t n)
{
    ka_atomic_add(&stats->counter[counter], n);
}

/** Adds a value to a distribution, into its last bin and with clamped counted
 * if it is past the end. */
void ka_stats_add(ka_segment_stats *stats, unsigned quantity, uint64_t value);

/** ka_hist_bin_index without a call or a branch; a unit test holds them
 * together. */
static inline size_t ka_stats_bin(uint64_t value)
{
    const uint64_t least = UINT64_C(1) << KA_HIST_SUB_BITS;
    unsigned shift;

    value = value < KA_HIST_MAX ? value : KA_HIST_MAX - 1;
    shift = 63u - (unsigned)__builtin_clzll(value | least) - KA_HIST_SUB_BITS;
    return ((size_t)shift << KA_HIST_SUB_BITS) + (size_t)(value >> shift);
}

/** ka_stats_add for the distributions by class: KA_QUANTITY_GAP, _SERVICE,
 * _TAIL; these have all the bins that there are.  What is past the end is not
 * counted as clamped: ka_stats_clamp does. */
static inline void ka_stats_add_span(ka_segment_stats *stats, unsigned quantity,
                                     uint64_t us)
{
    ka_hist_bin *bin = &stats->bins[quantity * KA_QUANTITY_BINS(KA_TIME_BITS)];

    bin += ka_stats_bin(us);
    ka_atomic_add(&bin->count, 1);
    ka_atomic_add(&bin->sum, us);
}

static inline void ka_stats_clamp(ka_segment_stats *stats, uint64_t us)
{
    if (__builtin_expect(us >> KA_TIME_BITS != 0, 0)) {
        ka_stats_count(stats, KA_COUNTER_CLAMPED, 1);
    }
}

/** Both. */
static inline void ka_stats_add_time(ka_segment_stats *stats, unsigned quantity,
                                     uint64_t us)
{
    ka_stats_add_span(stats, quantity, us);
    ka_stats_clamp(stats, us);
}

/* Where in the history a moment lies. */
typedef struct ka_moment {
    ka_segment_second *second; /* NULL: no history is kept */
    uint32_t tag;
} ka_moment;

/** @param second  of the monotonic clock */
static inline ka_moment ka_writer_moment(const ka_writer *writer,
                                         int64_t second)
{
    uint32_t tag = (uint32_t)(second - writer->started_second) + 1;

    return (ka_moment){.second = writer->history_n
                                     ? &writer->history[tag % writer->history_n]
                                     : NULL,
                       .tag = tag};
}

/* What happens to a connection, as a change of the gauges; states are those
 * of ka_gauges. */
typedef enum ka_transition {
    KA_OPENED, /* -> busy */
    KA_IDLE_CLOSES,
    KA_BUSY_CLOSES,
    KA_IDLE_GONE,
    KA_BUSY_GONE,
    KA_CLOSING_GONE,
    KA_TRANSITION_N
} ka_transition;

/** Changes the gauges, here and in the history. */
void ka_writer_shift(const ka_writer *writer, ka_transition transition,
                     ka_moment moment);

/** First change of the gauges in a second: it began with the old levels. */
void ka_second_begin(ka_segment_second *second, uint32_t tag, uint64_t old);

/** Raises a tagged maximum to a tagged value. */
void ka_second_raise(uint64_t *word, uint64_t tagged);

/** Adds to a tagged count; a delta below 0 takes back what was added. */
void ka_second_add(uint64_t *word, uint32_t tag, int32_t delta);

/** Counts a completed request in the history. */
static inline void ka_writer_second_request(ka_moment moment)
{
    uint64_t *word, old;

    if (!moment.second) {
        return;
    }
    word = &moment.second->requests;
    old = __atomic_load_n(word, __ATOMIC_RELAXED);
    if (old >> 32 != moment.tag ||
        !__atomic_compare_exchange_n(word, &old, old + 1, 0, __ATOMIC_RELAXED,
                                     __ATOMIC_RELAXED)) {
        ka_second_add(word, moment.tag, 1);
    }
}

/** Counts a completed request for this child, whatever its vhost. */
static inline void ka_writer_child_request(const ka_writer *writer)
{
    ka_atomic_add(&writer->slot->requests, 1);
}

/** busy -> idle, or idle -> busy: as ka_writer_shift, but only one level can
 * become a maximum. */
static inline void ka_writer_went(const ka_writer *writer, bool idle,
                                  ka_moment moment)
{
    const uint64_t delta =
        idle ? KA_GAUGE_IDLE - KA_GAUGE_BUSY : KA_GAUGE_BUSY - KA_GAUGE_IDLE;
    const uint64_t mask = (UINT64_C(1) << KA_GAUGE_BITS) - 1;
    ka_segment_second *second = moment.second;
    uint64_t *all = &writer->header->gauges;
    uint64_t old, level, *word;

    ka_atomic_add(&writer->slot->gauges, delta);
    old = __atomic_fetch_add(all, delta, __ATOMIC_RELAXED);
    if (!second) {
        return;
    }
    if (__atomic_load_n(&second->open, __ATOMIC_RELAXED) >> 32 != moment.tag) {
        ka_second_begin(second, moment.tag, old);
    }
    level = ((old + delta) >> (idle ? 0 : KA_GAUGE_BITS)) & mask;
    level = level > KA_GAUGE_BIAS ? level - KA_GAUGE_BIAS : 0;
    level |= (uint64_t)moment.tag << 32;
    word = idle ? &second->idle : &second->busy;
    if (__atomic_load_n(word, __ATOMIC_RELAXED) < level) {
        ka_second_raise(word, level);
    }
    __atomic_store_n(&second->gauges, old + delta, __ATOMIC_RELAXED);
}

/** Adds to this child's open connections of a vhost. */
static inline void ka_writer_open(const ka_writer *writer, unsigned vhost,
                                  int32_t delta)
{
    __atomic_fetch_add(&writer->open[vhost], delta, __ATOMIC_RELAXED);
}

/** Puts a closed connection into the ring; record->seq is ignored. */
void ka_writer_recent(const ka_writer *writer, const ka_segment_recent *record);

/* ---- parent ------------------------------------------------------------- */

/**
 * Clears the slot of a child that is gone.  Connections that it still had
 * open are counted as closed, reason lost, by vhost.
 * @return the number of those connections; 0 if the child had no slot
 */
uint64_t ka_segment_slot_release(ka_segment_header *header, int32_t pid);

/**
 * Corrects the gauges of all children by the sum of their slots: a child
 * killed between its two adds leaves them apart.  A difference counts only
 * when it was the same the last time, since living children are between two
 * adds now and then.
 * @param last  the difference of the last call, 0 at first; updated
 */
void ka_segment_gauges_settle(ka_segment_header *header, uint64_t *last);

/**
 * Begins and ends a change of config and vhosts: readers retry meanwhile.
 * Children may read vhosts by index at any time, so places are never reused.
 */
void ka_segment_config_begin(ka_segment_header *header);
void ka_segment_config_end(ka_segment_header *header);

/**
 * The place of a vhost: the one that bears the name already, else the next
 * free one, else that of "(other)".  Between config_begin and _end.
 * @param name  cut to KA_VHOST_NAME_SIZE - 1 bytes
 */
unsigned ka_segment_vhost_place(ka_segment_header *header, const char *name);

#endif
