/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_segment: the memory that mod_kastats writes and everybody else reads.
 * This header is all that they share.
 *
 *  0        1024
 *  +--------+-----------+----------+---------+--------+---------------------+
 *  | header | vhost[V]  | slot[C]  | hist[H] | ring[R]| stats[stripe][V]    |
 *  +--------+-----------+----------+---------+--------+---------------------+
 *   written  parent; under one per    one per   recent   children add,
 *   before   config_seq    child      second    conns    readers sum over
 *   `ready`  after that                                  stripes
 *  +--------------+----------+
 *  | tick[K]      | level[L] |   what other timeouts would hold: ka_ticks.h
 *  +--------------+----------+
 *   children add,  parent
 *   parent clears
 *
 * Rules:
 * - Fixed-width fields in the machine's byte order, no pointers, no locks.
 *   Offsets count from byte 0 and are multiples of 64.
 * - Readers check magic, major, ready (acquire) and that every section lies
 *   inside total_size and inside the file; ka_segment_check does it.
 * - Another major: refuse.  A higher minor has only used reserved space.
 * - A file is one life: a reader that sees started_at change starts over.
 *   heartbeat_at older than KA_SEGMENT_STALE_US: nobody writes any more, the
 *   numbers are still good.
 * - Counters only grow, by relaxed atomic adds; no total is stored beside its
 *   parts.  Numbers are monotonic one by one, not consistent as a whole.
 * - Times are microseconds: *_at since the epoch, mono since boot.
 * - The last vhost is "(other)", for those that find no place.
 */
#ifndef KA_SEGMENT_H
#define KA_SEGMENT_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>
#include <apr_errno.h>

#include "ka_metrics.h"
#include "ka_mpm.h"

#define KA_SEGMENT_MAGIC UINT64_C(0x31544154534b1a0a) /* "\n\x1aKSTAT1" */
#define KA_SEGMENT_MAJOR 1
#define KA_SEGMENT_MINOR 2 /* 1: ka_segment_slot.requests
                              2: ticks, levels, header.cold_n .. drain_us */
#define KA_SEGMENT_SIZE_MAX (UINT64_C(1) << 30)
#define KA_SEGMENT_STALE_US INT64_C(60000000)
#define KA_SEGMENT_OTHER "(other)"

enum {
    KA_VHOSTS_MIN = 2, /* one and "(other)" */
    KA_VHOSTS_MAX = 256,
    KA_SLOTS_MAX = 65536,
    KA_HISTORY_MAX = 7 * 86400,
    KA_RECENT_MAX = 65536,
    KA_TICKS_MIN = 64, /* if there are any */
    KA_TICKS_MAX = 65536,
    KA_STRIPES_MAX = 64
};

enum {
    KA_SECTION_VHOSTS = 0,
    KA_SECTION_SLOTS,
    KA_SECTION_HISTORY,
    KA_SECTION_RECENT,
    KA_SECTION_STATS, /* n = stripes x vhosts; vhosts of a stripe adjacent */
    KA_SECTION_TICKS, /* since minor 2; n = 0: neither */
    KA_SECTION_LEVELS, /* since minor 2; n = KA_LEVEL_N; behind the ticks */
    KA_SECTION_N,
    KA_SECTION_ROOM = 8
};

typedef struct ka_segment_section {
    uint64_t offset;
    uint32_t size; /* of one entry, a multiple of 64 */
    uint32_t n;    /* entries; stats, slots and vhosts have some */
} ka_segment_section;

/* The configuration in force; -1 = the server did not say. */
typedef struct ka_segment_config {
    int32_t mpm; /* ka_mpm */
    int32_t max_request_workers;
    int32_t threads_per_child;
    int32_t server_limit;
    int32_t thread_limit;
    int32_t min_spare; /* servers (prefork) or threads */
    int32_t max_spare;
    int32_t max_connections_per_child;
    int32_t async; /* 1 = idle connections hold no worker */
    int32_t reserved[7];
} ka_segment_config;

typedef struct ka_segment_header {
    uint64_t magic;
    uint16_t major, minor;
    uint32_t ready; /* 1: release-stored last */
    uint32_t header_size;
    uint32_t stripe_n;
    uint64_t total_size;
    uint32_t hist_sub_bits; /* KA_HIST_SUB_BITS of the writer */
    uint32_t counter_n, quantity_n, bin_n;
    int64_t started_at;
    int64_t started_mono;
    ka_segment_section section[KA_SECTION_ROOM];
    /* ---- below: changed while it lives ---- */
    int64_t heartbeat_at;
    int32_t parent_pid;
    int32_t generation;  /* graceful restarts since started_at */
    uint32_t config_seq; /* odd while vhosts and config are being written */
    uint32_t vhost_used; /* entries of vhosts with a name, "(other)" apart */
    ka_segment_config config;
    uint8_t server_version[64]; /* as the Server header; NUL-terminated */
    uint64_t cold_n;  /* children whose first connection had a request; and */
    uint64_t cold_us; /* from their accepts to those; since minor 2 */
    uint64_t drain_us; /* how long httpd would have lingered after responses to
                          slow readers, had it closed; since minor 2 */
    uint8_t reserved1[528];
    /* Hot words, each in a cache line of its own. */
    uint64_t gauges; /* see KA_GAUGE; all children together */
    uint64_t pad1[7];
    uint64_t recent_head;   /* connections ever written to the ring */
    uint64_t recent_lost;   /* of them, not written because of a collision */
    uint64_t slot_overflow; /* children that found no free slot */
    uint64_t connection_serial; /* connections ever given a number */
    uint64_t pad2[4];
} ka_segment_header;

enum {                           /* ka_segment_vhost.flags */
       KA_VHOST_IN_FORCE = 1,    /* in the present configuration */
       KA_VHOST_KEEP_ALIVE = 2,  /* KeepAlive On */
       KA_VHOST_TIMEOUT_SET = 4, /* has a KeepAliveTimeout of its own */
       KA_VHOST_OFF = 8          /* KAStats Off: nothing is recorded */
};

#define KA_VHOST_NAME_SIZE 192

typedef struct ka_segment_vhost {
    char name[KA_VHOST_NAME_SIZE]; /* host:port, NUL-terminated; "" = free */
    uint32_t flags;
    int32_t max_keep_alive_requests; /* 0 = unlimited */
    int64_t keep_alive_timeout_us;   /* the effective one */
    int64_t timeout_us;              /* Timeout */
    uint8_t reserved[40];
} ka_segment_vhost;

/* Connections by state in one word, so that a change is one atomic add and a
 * read is consistent.  Each field is biased, so that a child killed between
 * its two adds cannot borrow from the neighbour. */
#define KA_GAUGE_BITS 21
#define KA_GAUGE_BIAS UINT64_C(4096)
#define KA_GAUGE_IDLE UINT64_C(1)
#define KA_GAUGE_BUSY (UINT64_C(1) << KA_GAUGE_BITS)
#define KA_GAUGE_CLOSING (UINT64_C(1) << (2 * KA_GAUGE_BITS))
#define KA_GAUGE_ZERO                                                          \
    (KA_GAUGE_BIAS * (KA_GAUGE_IDLE + KA_GAUGE_BUSY + KA_GAUGE_CLOSING))

typedef struct ka_gauges {
    uint32_t idle;    /* between requests */
    uint32_t busy;    /* in a request, or waiting for the first one */
    uint32_t closing; /* lingering close */
} ka_gauges;

/** The levels in a gauge word; a level below 0 reads as 0. */
ka_gauges ka_gauges_of(uint64_t word);

/* One per living child; open[V] follows: int32_t connections by the vhost of
 * their latest request.  The parent clears it when the child is gone. */
typedef struct ka_segment_slot {
    int32_t pid; /* 0 = free */
    int32_t generation;
    uint64_t gauges;
    int64_t started_at;
    uint64_t requests; /* completed by this child; since minor 1 */
    uint64_t reserved[4];
} ka_segment_slot;

/* One second of the monotonic clock.  Each word is tag << 32 | value, tag =
 * that second - the one in which the segment started + 1: a word with another
 * tag belongs to another round.  So nothing needs clearing before it is used.
 */
typedef struct ka_segment_second {
    uint64_t requests;         /* completed */
    uint64_t connections;      /* accepted */
    uint64_t open, busy, idle; /* maxima within the second */
    uint64_t gauges;           /* gauge word after the latest change in it */
    uint64_t reserved[2];
} ka_segment_second;

/* A closed connection.  seq is odd while it is being written; complete, it is
 * 2 x (number in recent_head, from 1). */
typedef struct ka_segment_recent {
    uint64_t seq;
    int64_t started_at;
    uint64_t life_us, service_us, idle_us, longest_gap_us, tail_us, linger_us;
    uint64_t bytes;
    uint64_t first_us;    /* to the first request; UINT64_MAX = none */
    uint64_t client_hash; /* keyed per start: the same client, no address */
    uint32_t requests;
    uint32_t rtt_us;
    uint16_t vhost;
    uint8_t reason, protocol, tls, served; /* served: ka_served, the last */
    uint8_t reserved1[2];
    uint32_t timeout_ms; /* how long it might wait at its end; 0 = not known */
    uint8_t reserved[20];
} ka_segment_recent;

typedef struct ka_segment_stats { /* one per (stripe, vhost) */
    uint64_t counter[64];
    ka_hist_bin bins[KA_BINS_N];
} ka_segment_stats;

/* 2^15 us of the monotonic clock.  open and last are tagged like a second's
 * words, tag = this tick - the one in which the segment started + 1.  What a
 * delta adds to holds from the tick's end on: how many connections have been
 * idle for longer than ka_ages_us[i], and of those that asked again or went
 * only; and how many requests of a tick and more are being served.  It is told
 * when such a time ends, of ticks long past.
 */
#define KA_TICK_BITS 15

enum {
    KA_AGE_N = 27,
    KA_TICK_SERVED = KA_AGE_N,
    KA_TICK_DELTA_N,
    KA_LEVEL_OPEN = KA_TICK_DELTA_N, /* it has no delta: tick.open and last */
    KA_LEVEL_N
};

typedef struct ka_segment_tick {
    uint64_t open; /* connections, the most after a change in it */
    uint64_t last; /* after the latest */
    int32_t delta[KA_TICK_DELTA_N];
} ka_segment_tick;

/* What all ticks so far add up to, for one timeout: how many are held at the
 * end of each tick.  Bins as ka_level_bin has them. */
enum { KA_LEVEL_BITS = 21, KA_LEVEL_SUB_BITS = 6, KA_LEVEL_HOURS = 168 };
#define KA_LEVEL_BINS                                                          \
    ((KA_LEVEL_BITS - KA_LEVEL_SUB_BITS + 1) << KA_LEVEL_SUB_BITS)

typedef struct ka_segment_hour {
    uint32_t hour, n;      /* since the segment's start, from 1; its ticks */
    uint64_t sum, squares; /* of what they held */
} ka_segment_hour;

typedef struct ka_segment_level {
    uint64_t folded; /* tag of the last tick in it */
    int64_t level;   /* its deltas' sum; open: connections */
    uint64_t peak;   /* within ticks */
    uint64_t sum;    /* over ticks */
    uint64_t reserved[4];
    uint64_t bins[KA_LEVEL_BINS];
    ka_segment_hour hours[KA_LEVEL_HOURS]; /* [hour % KA_LEVEL_HOURS] */
} ka_segment_level;

#define KA_ASSERT_SIZE(type, size)                                             \
    _Static_assert(sizeof(type) == (size),                                     \
                   #type " changed: bump KA_SEGMENT_MAJOR")
KA_ASSERT_SIZE(ka_segment_section, 16);
KA_ASSERT_SIZE(ka_segment_config, 64);
KA_ASSERT_SIZE(ka_segment_header, 1024);
KA_ASSERT_SIZE(ka_segment_vhost, 256);
KA_ASSERT_SIZE(ka_segment_slot, 64);
KA_ASSERT_SIZE(ka_segment_second, 64);
KA_ASSERT_SIZE(ka_segment_recent, 128);
KA_ASSERT_SIZE(ka_segment_tick, 128);
KA_ASSERT_SIZE(ka_segment_level, 12288);
_Static_assert(offsetof(ka_segment_header, section) == 64, "section moved");
_Static_assert(offsetof(ka_segment_header, gauges) % 64 == 0, "hot word");
_Static_assert(offsetof(ka_segment_header, recent_head) % 64 == 0, "hot word");
_Static_assert(sizeof(ka_segment_stats) % 64 == 0,
               "stripes must not share a cache line");
_Static_assert(KA_COUNTER_N <= 64, "no room for more counters");
_Static_assert(__atomic_always_lock_free(sizeof(uint64_t), 0),
               "needs lock-free 64-bit atomics");

/* What a new segment is to hold. */
typedef struct ka_segment_plan {
    uint32_t vhost_n; /* with "(other)" */
    uint32_t slot_n;
    uint32_t history_n; /* seconds */
    uint32_t recent_n;
    uint32_t stripe_n;
    uint32_t tick_n; /* 0: none */
} ka_segment_plan;

/**
 * Clamps a plan to the limits above, and stripe_n so that the counters take
 * at most 32 MB (one stripe at least).
 */
void ka_segment_plan_fit(ka_segment_plan *plan);

/** Bytes that a segment of that plan takes. */
uint64_t ka_segment_size(const ka_segment_plan *plan);

/**
 * Lays out an empty segment in zeroed memory and sets ready.
 * @param base  ka_segment_size(plan) bytes, zeroed, aligned to 64
 * @param now_at, now_mono  the present, on both clocks
 */
void ka_segment_format(void *base, const ka_segment_plan *plan, int64_t now_at,
                       int64_t now_mono);

/** Whether a formatted or checked segment has ticks and levels. */
bool ka_segment_has_ticks(const ka_segment_header *header);

/** Whether a checked segment was laid out by just that plan. */
bool ka_segment_fits(const ka_segment_header *header,
                     const ka_segment_plan *plan);

/**
 * Checks foreign bytes: after APR_SUCCESS every section may be read.
 * @param base   size bytes, aligned to 8
 * @param error  set to a static sentence unless APR_SUCCESS
 * @return APR_SUCCESS; APR_EINVAL (foreign, damaged or truncated);
 *         APR_ENOTIMPL (another major or other histogram bins);
 *         APR_EAGAIN (not ready yet)
 * The verdict holds for a private copy (ka_segment_load), and for a mapping
 * whose writers keep the rules above; not for a mapping of a foreign file.
 */
apr_status_t ka_segment_check(const void *base, uint64_t size,
                              const char **error);

/** Address of a section's entry; base was formatted or checked. */
static inline void *ka_segment_entry(const void *base, unsigned section,
                                     uint64_t i)
{
    const ka_segment_section *s =
        &((const ka_segment_header *)base)->section[section];

    return (char *)(uintptr_t)base + s->offset + i * s->size;
}

#endif
