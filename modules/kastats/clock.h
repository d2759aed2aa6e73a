/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Clocks and relaxed atomics, inline: what record.c and close.c both need.
 */
#ifndef KASTATS_CLOCK_H
#define KASTATS_CLOCK_H

#include <time.h>

#include "kastats.h"

#define atomic_get(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)
#define atomic_set(field, value)                                               \
    __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define atomic_add(field, value)                                               \
    __atomic_fetch_add(&(field), (value), __ATOMIC_RELAXED)

/* A moment of the monotonic clock, as microseconds and as its second. */
typedef struct instant {
    int64_t us;
    int64_t second;
} instant;

/* No system call: vDSO. */
static inline instant clock_read(clockid_t clock)
{
    struct timespec ts;

    clock_gettime(clock, &ts);
    return (instant){.us = ts.tv_sec * INT64_C(1000000) +
                           (uint32_t)ts.tv_nsec / 1000,
                     .second = ts.tv_sec};
}

static inline instant mono_now(void)
{
    return clock_read(CLOCK_MONOTONIC);
}

static inline ka_moment moment_of(instant now)
{
    return ka_writer_moment(&kastats->writer, now.second);
}

/* After a connection came or went. */
static inline void tick_open(instant now)
{
    ka_ticks_open(&kastats->ticks, atomic_get(kastats->writer.header->gauges),
                  now.us);
}

static inline unsigned place_of(const server_rec *s)
{
    return kastats_server_of(s)->place;
}

/* NULL where KAStats is Off. */
static inline ka_segment_stats *stats_of(const server_rec *s)
{
    return kastats_server_of(s)->stats;
}

static inline int64_t at_least(int64_t value, int64_t low)
{
    return value < low ? low : value;
}

#endif
