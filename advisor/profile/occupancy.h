/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_occupancy: how long how many holders there were, in a form that adds up.
 *
 * A number of holders (connections, workers) over the time of one server, or
 * of several: time at each count, and per server and hour of the clock the
 * sums that [M12] needs.  All are whole numbers and are only ever added, so
 * merging is exact, associative and commutative, and the order in which a log
 * was counted does not show.
 *
 * Counts below 512 have a bin of their own; above, bins are at most 1/256
 * wide.  The largest count is kept as it is.
 *
 * Concurrency: one thread.
 */
#ifndef KA_OCCUPANCY_H
#define KA_OCCUPANCY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <apr_errno.h>
#include "../model/outcome.h"

/* Counts from KA_OCCUPANCY_MAX on share the last bin. */
#define KA_OCCUPANCY_SUB_BITS 8
#define KA_OCCUPANCY_MAX_BITS 24
#define KA_OCCUPANCY_MAX (UINT64_C(1) << KA_OCCUPANCY_MAX_BITS)
#define KA_OCCUPANCY_BINS                                                     \
    ((KA_OCCUPANCY_MAX_BITS - KA_OCCUPANCY_SUB_BITS + 1)                      \
     << KA_OCCUPANCY_SUB_BITS)

/* Hours that are kept apart, of all servers: three and a half years of one,
 * eleven weeks of twenty.  Beyond, as many as it takes are put together, 2 or
 * 4 ...: by the clock, so that it does not depend on the order of merging. */
#define KA_OCCUPANCY_HOURS (1u << 15)
#define KA_OCCUPANCY_HOUR_BITS_MAX 40

#define KA_OCCUPANCY_HOUR_MS INT64_C(3600000)

/* One hour of one server, or as many as are put together; sums stop at
 * UINT64_MAX. */
typedef struct ka_occupancy_hour {
    int64_t hour;     /* the first one, since the epoch */
    uint32_t server;  /* ka_occupancy_server() */
    uint64_t ms;      /* time counted */
    uint64_t sum;     /* count x ms */
    uint64_t squares; /* count^2 x ms */
} ka_occupancy_hour;

typedef struct ka_occupancy {
    uint64_t *bins;  /* bins[size]: ms at the counts of a bin; malloc'd */
    size_t size;     /* <= KA_OCCUPANCY_BINS; bins from there on are empty */
    uint64_t ms, sum, squares; /* of all time, as in an hour */
    uint64_t peak;
    ka_occupancy_hour *hours; /* ascending by server, then hour; malloc'd */
    size_t hour_n, hour_size;
    size_t recent;      /* index of the hour added to last */
    unsigned hour_bits; /* an entry of hours is 2^hour_bits of them */
    bool failed; /* memory ran out: something is missing, do not use it */
} ka_occupancy;

/** Prepares empty caller's storage. */
void ka_occupancy_init(ka_occupancy *o);
/** Frees what it owns and leaves it empty. */
void ka_occupancy_clear(ka_occupancy *o);

/** The bin of a count, 0 .. KA_OCCUPANCY_BINS-1, and its smallest count. */
size_t ka_occupancy_bin(uint64_t count);
uint64_t ka_occupancy_bin_low(size_t bin);

/** A number for a server's name; "" is one too. */
uint32_t ka_occupancy_server(const char *name);

/**
 * Counts ms of time at a count; with ms == 0 it does nothing.
 * @param hour    of the clock, since the epoch
 * @param settled false: the time belongs to no hour, since connections that
 *                were open before the trace are missing in it (sweep.h)
 */
void ka_occupancy_add(ka_occupancy *o, uint64_t count, uint64_t ms,
                      int64_t hour, uint32_t server, bool settled);

/**
 * Counts the time [from_ms, to_ms), ms since the epoch, hour by hour; times
 * within +-2^60.  Whole hours in which nobody was there are left out of the
 * hours: a log may span centuries.
 */
void ka_occupancy_add_span(ka_occupancy *o, uint64_t count, int64_t from_ms,
                           int64_t to_ms, uint32_t server, bool settled);

/**
 * Takes in time at the counts of a bin, or an hour, as they are: from a file,
 * which tells sums and peak itself.  hour_bits must have been set; the hour is
 * rounded down to them.
 */
void ka_occupancy_put_bin(ka_occupancy *o, size_t bin, uint64_t ms);
void ka_occupancy_put_hour(ka_occupancy *o, const ka_occupancy_hour *hour);

/** Adds all of `from` to `into`. */
void ka_occupancy_merge(ka_occupancy *into, const ka_occupancy *from);

/**
 * Mean, variance, quantiles and peak, and [M12]: the workers that the busiest
 * hour of any server needs.  An hour with less than half an hour of time is
 * taken together with the next one of its server in which somebody was there,
 * or the one before.
 * @param eps  blocking for [M12]; 0: KA_BLOCKING
 * Quantiles are the upper edge of their bin, the peak at most.  Where a sum
 * stopped at UINT64_MAX, mean and variance are those of the bins.
 */
void ka_occupancy_held(ka_held *out, const ka_occupancy *o, double eps);

#endif
