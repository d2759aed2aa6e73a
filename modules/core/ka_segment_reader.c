/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_segment_reader.h"

#include <string.h>

#define CONFIG_TRIES 1000

static uint64_t load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* ---- what there is ------------------------------------------------------ */

static void vhosts_copy(ka_snapshot *out, const ka_segment_header *header)
{
    uint32_t i;

    for (i = 0; i < out->vhost_n; i++) {
        ka_segment_vhost *vhost = &out->vhosts[i];

        memcpy(vhost, ka_segment_entry(header, KA_SECTION_VHOSTS, i),
               sizeof(*vhost));
        vhost->name[sizeof(vhost->name) - 1] = '\0';
    }
}

/* A writer that died half way leaves config_seq odd: after many tries what
 * is there is taken as it is. */
static void config_copy(ka_snapshot *out, const ka_segment_header *header)
{
    uint32_t before, after;
    int tries = 0;

    do {
        before = __atomic_load_n(&header->config_seq, __ATOMIC_ACQUIRE);
        out->config = header->config;
        out->generation = header->generation;
        out->parent_pid = header->parent_pid;
        memcpy(out->server_version, header->server_version,
               sizeof(out->server_version));
        vhosts_copy(out, header);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        after = __atomic_load_n(&header->config_seq, __ATOMIC_RELAXED);
    } while ((before != after || before % 2 == 1) && ++tries < CONFIG_TRIES);
    out->server_version[sizeof(out->server_version) - 1] = '\0';
    if (out->config.mpm < 0 || out->config.mpm >= KA_MPM_N) {
        out->config.mpm = KA_MPM_UNKNOWN;
    }
}

/* What lies there was reserved space once, and may be anybody's bytes. */
static int64_t requests_of(const ka_segment_header *header,
                           const ka_segment_slot *slot)
{
    uint64_t n = load(&slot->requests);

    return header->minor >= 1 && n <= INT64_MAX ? (int64_t)n : -1;
}

static void children_copy(ka_snapshot *out, const ka_segment_header *header,
                          apr_pool_t *pool)
{
    uint32_t n = header->section[KA_SECTION_SLOTS].n;
    uint32_t i;

    out->children = apr_palloc(pool, n * sizeof(*out->children));
    for (i = 0; i < n; i++) {
        const ka_segment_slot *slot =
            ka_segment_entry(header, KA_SECTION_SLOTS, i);
        int32_t pid = __atomic_load_n(&slot->pid, __ATOMIC_ACQUIRE);

        if (pid != 0) {
            out->children[out->child_n++] = (ka_snapshot_child){
                .pid = pid,
                .generation = slot->generation,
                .started_at = slot->started_at,
                .requests = requests_of(header, slot),
                .gauges = ka_gauges_of(load(&slot->gauges))};
        }
    }
}

void ka_snapshot_make(ka_snapshot *out, const ka_segment_header *header,
                      apr_pool_t *pool)
{
    *out = (ka_snapshot){.started_at = header->started_at,
                         .heartbeat_at = __atomic_load_n(&header->heartbeat_at,
                                                         __ATOMIC_RELAXED),
                         .gauges = ka_gauges_of(load(&header->gauges)),
                         .vhost_n = header->section[KA_SECTION_VHOSTS].n,
                         .history_n = header->section[KA_SECTION_HISTORY].n,
                         .recent_n = header->section[KA_SECTION_RECENT].n,
                         .recent_seen = load(&header->recent_head),
                         .recent_lost = load(&header->recent_lost),
                         .slot_overflow = load(&header->slot_overflow)};
    if (header->minor >= 2) {
        out->cold_n = load(&header->cold_n);
        out->cold_us = load(&header->cold_us);
        out->drain_us = load(&header->drain_us);
    }
    out->vhosts = apr_palloc(pool, out->vhost_n * sizeof(*out->vhosts));
    config_copy(out, header);
    children_copy(out, header, pool);
}

bool ka_snapshot_is_live(const ka_snapshot *snapshot, int64_t now_at)
{
    uint64_t age = (uint64_t)now_at - (uint64_t)snapshot->heartbeat_at;

    return snapshot->heartbeat_at >= now_at || age <= KA_SEGMENT_STALE_US;
}

/* ---- counters ----------------------------------------------------------- */

static void stats_add(ka_stats *out, const ka_segment_stats *from)
{
    size_t i, q;

    for (i = 0; i < KA_COUNTER_N; i++) {
        out->counter[i] += load(&from->counter[i]);
    }
    for (q = 0; q < KA_QUANTITY_N; q++) {
        const ka_hist_bin *bins = &from->bins[ka_quantities[q].first_bin];

        for (i = 0; i < ka_quantities[q].bin_n; i++) {
            out->quantity[q].bins[i].count += load(&bins[i].count);
            out->quantity[q].bins[i].sum += load(&bins[i].sum);
        }
    }
}

static void open_add(ka_stats *out, const ka_segment_header *header,
                     unsigned vhost)
{
    uint32_t i;

    for (i = 0; i < header->section[KA_SECTION_SLOTS].n; i++) {
        const ka_segment_slot *slot =
            ka_segment_entry(header, KA_SECTION_SLOTS, i);
        const int32_t *open = (const int32_t *)(slot + 1);
        int32_t n = __atomic_load_n(&open[vhost], __ATOMIC_RELAXED);

        out->open += n > 0 ? (uint64_t)n : 0;
    }
}

void ka_stats_read(ka_stats *out, const ka_segment_header *header,
                   unsigned vhost)
{
    uint32_t vhost_n = header->section[KA_SECTION_VHOSTS].n;
    uint32_t stripe, v;

    memset(out, 0, sizeof(*out));
    for (v = 0; v < vhost_n; v++) {
        if (vhost != v && vhost != KA_VHOST_ALL) {
            continue;
        }
        for (stripe = 0; stripe < header->stripe_n; stripe++) {
            stats_add(out, ka_segment_entry(header, KA_SECTION_STATS,
                                            (uint64_t)stripe * vhost_n + v));
        }
        open_add(out, header, v);
    }
}

uint64_t ka_stats_requests(const ka_stats *stats)
{
    uint64_t n = 0;
    unsigned i;

    for (i = 0; i < KA_SERVED_N; i++) {
        n += ka_hist_count(&stats->quantity[KA_QUANTITY_SERVICE + i]);
    }
    return n;
}

uint64_t ka_stats_reused(const ka_stats *stats)
{
    uint64_t n = stats->counter[KA_COUNTER_PIPELINED];
    unsigned i;

    for (i = 0; i < KA_SERVED_N; i++) {
        n += ka_hist_count(&stats->quantity[KA_QUANTITY_GAP + i]);
    }
    return n;
}

static uint64_t counters_sum(const ka_stats *stats, size_t first, size_t n)
{
    uint64_t sum = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        sum += stats->counter[first + i];
    }
    return sum;
}

uint64_t ka_stats_closed(const ka_stats *stats)
{
    return counters_sum(stats, KA_COUNTER_CLOSE, KA_REASON_N);
}

uint64_t ka_stats_bytes(const ka_stats *stats)
{
    return counters_sum(stats, KA_COUNTER_BYTES, KA_SERVED_N);
}

void ka_stats_classes(ka_hist *out, const ka_stats *stats, unsigned first)
{
    unsigned i;

    ka_hist_init(out);
    for (i = 0; i < KA_SERVED_N; i++) {
        ka_hist_merge(out, &stats->quantity[first + i]);
    }
}

/* ---- history ------------------------------------------------------------ */

static const ka_segment_second *second_at(const ka_segment_header *header,
                                          uint32_t tag)
{
    return ka_segment_entry(header, KA_SECTION_HISTORY,
                            tag % header->section[KA_SECTION_HISTORY].n);
}

static uint32_t tagged(const uint64_t *word, uint32_t tag)
{
    uint64_t value = load(word);

    return (uint32_t)(value >> 32) == tag ? (uint32_t)value : 0;
}

static bool has_levels(const ka_segment_second *second, uint32_t tag)
{
    return (uint32_t)(load(&second->open) >> 32) == tag;
}

static uint32_t latest_tag(const ka_segment_header *header)
{
    uint32_t n = header->section[KA_SECTION_HISTORY].n;
    uint32_t latest = 0;
    uint32_t i;

    for (i = 0; i < n; i++) {
        const ka_segment_second *s =
            ka_segment_entry(header, KA_SECTION_HISTORY, i);
        uint32_t tag = (uint32_t)(load(&s->open) >> 32);

        if (tag > latest && tag % n == i) {
            latest = tag;
        }
    }
    return latest;
}

/* Seconds are whole ones of the monotonic clock: the first began before the
 * segment did. */
static int64_t first_second_at(const ka_segment_header *header)
{
    return (int64_t)((uint64_t)header->started_at -
                     (uint64_t)(header->started_mono % 1000000));
}

static uint32_t tag_of(const ka_segment_header *header, int64_t now_at)
{
    int64_t us;

    if (now_at == INT64_MIN) {
        return latest_tag(header);
    }
    if (__builtin_sub_overflow(now_at, first_second_at(header), &us) ||
        us < 0) {
        return 0;
    }
    us = us / 1000000 + 1;
    return us < UINT32_MAX ? (uint32_t)us : UINT32_MAX;
}

/* Levels at the begin of second `tag`: those of the latest change before. */
static ka_gauges levels_before(const ka_segment_header *header, uint32_t tag)
{
    uint32_t n = header->section[KA_SECTION_HISTORY].n;
    uint32_t i;

    for (i = 1; i < n && i < tag; i++) {
        const ka_segment_second *s = second_at(header, tag - i);

        if (has_levels(s, tag - i)) {
            return ka_gauges_of(load(&s->gauges));
        }
    }
    return (ka_gauges){0};
}

static ka_second second_make(const ka_segment_header *header, uint32_t tag,
                             ka_gauges *levels)
{
    const ka_segment_second *s = second_at(header, tag);
    ka_second out = {.at = (int64_t)((uint64_t)first_second_at(header) +
                                     (uint64_t)(tag - 1) * 1000000),
                     .requests = tagged(&s->requests, tag),
                     .connections = tagged(&s->connections, tag),
                     .open = levels->idle + levels->busy + levels->closing,
                     .busy = levels->busy,
                     .idle = levels->idle};

    if (has_levels(s, tag)) {
        out.open = tagged(&s->open, tag);
        out.busy = tagged(&s->busy, tag);
        out.idle = tagged(&s->idle, tag);
        *levels = ka_gauges_of(load(&s->gauges));
    }
    return out;
}

size_t ka_history_read(ka_second *out, size_t n,
                       const ka_segment_header *header, int64_t now_at)
{
    uint32_t keeps = header->section[KA_SECTION_HISTORY].n;
    uint32_t last, first;
    ka_gauges levels;
    size_t i;

    if (keeps == 0) {
        return 0;
    }
    last = tag_of(header, now_at);
    n = n < keeps ? n : keeps;
    n = n < last ? n : last;
    first = last - (uint32_t)n + 1;
    levels = levels_before(header, first);
    for (i = 0; i < n; i++) {
        out[i] = second_make(header, first + (uint32_t)i, &levels);
    }
    return n;
}

/* ---- ring --------------------------------------------------------------- */

static bool recent_copy(ka_segment_recent *out, const ka_segment_recent *from,
                        uint64_t seq)
{
    uint64_t words[sizeof(*out) / sizeof(uint64_t)];
    const uint64_t *at = (const uint64_t *)from;
    size_t i;

    if (__atomic_load_n(&from->seq, __ATOMIC_ACQUIRE) != seq) {
        return false;
    }
    for (i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
        words[i] = load(&at[i]);
    }
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    memcpy(out, words, sizeof(*out));
    return load(&from->seq) == seq;
}

size_t ka_recent_read(ka_segment_recent *out, size_t n,
                      const ka_segment_header *header)
{
    uint32_t keeps = header->section[KA_SECTION_RECENT].n;
    uint32_t vhost_n = header->section[KA_SECTION_VHOSTS].n;
    uint64_t head = load(&header->recent_head);
    size_t filled = 0;
    uint64_t i;

    for (i = 0; i < keeps && i < head && filled < n; i++) {
        uint64_t number = head - i;
        ka_segment_recent *to = &out[filled];

        if (!recent_copy(
                to, ka_segment_entry(header, KA_SECTION_RECENT, number % keeps),
                2 * number)) {
            continue;
        }
        to->vhost = to->vhost < vhost_n ? to->vhost : (uint16_t)(vhost_n - 1);
        to->reason = to->reason < KA_REASON_N ? to->reason : KA_REASON_OTHER;
        filled++;
    }
    return filled;
}

/* Sums wrap instead of overflowing: a foreign file may hold any numbers. */
int64_t ka_recent_first_request(const ka_segment_recent *r)
{
    return r->first_us == UINT64_MAX
               ? r->started_at
               : (int64_t)((uint64_t)r->started_at + r->first_us);
}

int64_t ka_recent_last_response(const ka_segment_recent *r)
{
    return (int64_t)((uint64_t)r->started_at + r->life_us - r->linger_us -
                     r->tail_us);
}
