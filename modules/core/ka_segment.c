/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Layout of a segment, and the checks by which a reader comes to trust one.
 */
#include "ka_segment.h"

#include <string.h>

#define STATS_BYTES_MAX (UINT64_C(32) << 20)
#define ALIGN 64

typedef struct section_rule {
    uint32_t size; /* least size of an entry in this version */
    uint32_t min_n, max_n;
} section_rule;

static const section_rule rules[KA_SECTION_N] = {
    [KA_SECTION_VHOSTS] = {sizeof(ka_segment_vhost), KA_VHOSTS_MIN,
                           KA_VHOSTS_MAX},
    [KA_SECTION_SLOTS] = {sizeof(ka_segment_slot), 1, KA_SLOTS_MAX},
    [KA_SECTION_HISTORY] = {sizeof(ka_segment_second), 0, KA_HISTORY_MAX},
    [KA_SECTION_RECENT] = {sizeof(ka_segment_recent), 0, KA_RECENT_MAX},
    [KA_SECTION_STATS] = {sizeof(ka_segment_stats), KA_VHOSTS_MIN,
                          KA_VHOSTS_MAX *KA_STRIPES_MAX},
    [KA_SECTION_TICKS] = {sizeof(ka_segment_tick), 0, KA_TICKS_MAX},
    [KA_SECTION_LEVELS] = {sizeof(ka_segment_level), 0, 64},
};

ka_gauges ka_gauges_of(uint64_t word)
{
    const uint64_t mask = (UINT64_C(1) << KA_GAUGE_BITS) - 1;
    uint64_t field[3];
    int i;

    for (i = 0; i < 3; i++) {
        field[i] = (word >> (i * KA_GAUGE_BITS)) & mask;
        field[i] = field[i] > KA_GAUGE_BIAS ? field[i] - KA_GAUGE_BIAS : 0;
    }
    return (ka_gauges){.idle = (uint32_t)field[0],
                       .busy = (uint32_t)field[1],
                       .closing = (uint32_t)field[2]};
}

static uint32_t clamp(uint32_t value, uint32_t low, uint32_t high)
{
    return value < low ? low : value > high ? high : value;
}

void ka_segment_plan_fit(ka_segment_plan *plan)
{
    plan->vhost_n = clamp(plan->vhost_n, KA_VHOSTS_MIN, KA_VHOSTS_MAX);
    plan->slot_n = clamp(plan->slot_n, 1, KA_SLOTS_MAX);
    plan->history_n = clamp(plan->history_n, 0, KA_HISTORY_MAX);
    plan->recent_n = clamp(plan->recent_n, 0, KA_RECENT_MAX);
    plan->stripe_n = clamp(plan->stripe_n, 1, KA_STRIPES_MAX);
    if (plan->tick_n > 0) {
        plan->tick_n = clamp(plan->tick_n, KA_TICKS_MIN, KA_TICKS_MAX);
    }
    while (plan->stripe_n > 1 &&
           (uint64_t)plan->stripe_n * plan->vhost_n * sizeof(ka_segment_stats) >
               STATS_BYTES_MAX) {
        plan->stripe_n /= 2;
    }
}

static uint64_t align_up(uint64_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static uint64_t lay_out(ka_segment_section *out, const ka_segment_plan *plan)
{
    uint64_t at = align_up(sizeof(ka_segment_header));
    const uint32_t n[KA_SECTION_N] = {[KA_SECTION_VHOSTS] = plan->vhost_n,
                                      [KA_SECTION_SLOTS] = plan->slot_n,
                                      [KA_SECTION_HISTORY] = plan->history_n,
                                      [KA_SECTION_RECENT] = plan->recent_n,
                                      [KA_SECTION_STATS] =
                                          plan->stripe_n * plan->vhost_n,
                                      [KA_SECTION_TICKS] = plan->tick_n,
                                      [KA_SECTION_LEVELS] =
                                          plan->tick_n ? KA_LEVEL_N : 0};
    unsigned i;

    for (i = 0; i < KA_SECTION_N; i++) {
        uint64_t size = rules[i].size;

        if (i == KA_SECTION_SLOTS) {
            size += plan->vhost_n * sizeof(int32_t);
        }
        size = align_up(size);
        out[i] = (ka_segment_section){
            .offset = at, .size = (uint32_t)size, .n = n[i]};
        at += size * n[i];
    }
    return at;
}

uint64_t ka_segment_size(const ka_segment_plan *plan)
{
    ka_segment_section sections[KA_SECTION_N];

    return lay_out(sections, plan);
}

void ka_segment_format(void *base, const ka_segment_plan *plan, int64_t now_at,
                       int64_t now_mono)
{
    ka_segment_header *h = base;
    ka_segment_vhost *other;
    uint32_t i;

    h->magic = KA_SEGMENT_MAGIC;
    h->major = KA_SEGMENT_MAJOR;
    h->minor = KA_SEGMENT_MINOR;
    h->header_size = sizeof(*h);
    h->stripe_n = plan->stripe_n;
    h->total_size = lay_out(h->section, plan);
    h->hist_sub_bits = KA_HIST_SUB_BITS;
    h->counter_n = KA_COUNTER_N;
    h->quantity_n = KA_QUANTITY_N;
    h->bin_n = KA_BINS_N;
    h->started_at = h->heartbeat_at = now_at;
    h->started_mono = now_mono;
    h->gauges = KA_GAUGE_ZERO;
    for (i = 0; i < plan->slot_n; i++) {
        ka_segment_slot *slot = ka_segment_entry(h, KA_SECTION_SLOTS, i);

        slot->gauges = KA_GAUGE_ZERO;
    }
    other = ka_segment_entry(h, KA_SECTION_VHOSTS, plan->vhost_n - 1);
    memcpy(other->name, KA_SEGMENT_OTHER, sizeof(KA_SEGMENT_OTHER));
    __atomic_store_n(&h->ready, 1, __ATOMIC_RELEASE);
}

bool ka_segment_fits(const ka_segment_header *header,
                     const ka_segment_plan *plan)
{
    ka_segment_section sections[KA_SECTION_N];

    return header->header_size == sizeof(*header) &&
           header->minor == KA_SEGMENT_MINOR &&
           header->total_size == lay_out(sections, plan) &&
           header->stripe_n == plan->stripe_n &&
           memcmp(header->section, sections, sizeof(sections)) == 0;
}

/* What lies in the table of an older writer was reserved space. */
static unsigned sections_of(const ka_segment_header *h)
{
    return h->minor >= 2 ? KA_SECTION_N : KA_SECTION_TICKS;
}

bool ka_segment_has_ticks(const ka_segment_header *h)
{
    return sections_of(h) > KA_SECTION_LEVELS &&
           h->section[KA_SECTION_TICKS].n >= KA_TICKS_MIN &&
           h->section[KA_SECTION_LEVELS].n >= KA_LEVEL_N;
}

/* ---- checks ---------------------------------------------------------- */

static const char *check_identity(const ka_segment_header *h, uint64_t size)
{
    if (h->magic != KA_SEGMENT_MAGIC) {
        return "it is not a segment of mod_kastats";
    }
    if (h->header_size < sizeof(*h) || h->header_size % ALIGN != 0) {
        return "its header is damaged";
    }
    if (h->total_size > KA_SEGMENT_SIZE_MAX) {
        return "it claims to be larger than a segment can be";
    }
    if (h->total_size > size) {
        return "it is truncated";
    }
    return NULL;
}

static const char *check_version(const ka_segment_header *h)
{
    if (h->major != KA_SEGMENT_MAJOR) {
        return "it was written by another version of mod_kastats";
    }
    if (h->hist_sub_bits != KA_HIST_SUB_BITS || h->bin_n != KA_BINS_N ||
        h->counter_n < KA_COUNTER_N || h->counter_n > 64 ||
        h->quantity_n < KA_QUANTITY_N) {
        return "its counters are those of another version of mod_kastats";
    }
    return NULL;
}

static const char *check_section(const ka_segment_header *h, unsigned i)
{
    const ka_segment_section *s = &h->section[i];

    if (s->n < rules[i].min_n || s->n > rules[i].max_n) {
        return "a section has an impossible number of entries";
    }
    if (s->size < rules[i].size || s->size % ALIGN != 0) {
        return "a section has entries of an impossible size";
    }
    if (s->offset % ALIGN != 0 || s->offset < h->header_size ||
        s->offset > h->total_size ||
        (uint64_t)s->n * s->size > h->total_size - s->offset) {
        return "a section lies outside it";
    }
    return NULL;
}

static const char *check_sections(const ka_segment_header *h)
{
    const ka_segment_section *vhosts = &h->section[KA_SECTION_VHOSTS];
    const char *error = NULL;
    unsigned i;

    for (i = 0; i < sections_of(h) && !error; i++) {
        error = check_section(h, i);
    }
    if (error) {
        return error;
    }
    if (h->stripe_n < 1 || h->stripe_n > KA_STRIPES_MAX ||
        h->section[KA_SECTION_STATS].n != h->stripe_n * vhosts->n) {
        return "its stripes and vhosts do not match";
    }
    if (h->section[KA_SECTION_SLOTS].size <
        sizeof(ka_segment_slot) + vhosts->n * sizeof(int32_t)) {
        return "its child slots are too small for its vhosts";
    }
    return NULL;
}

apr_status_t ka_segment_check(const void *base, uint64_t size,
                              const char **error)
{
    ka_segment_header h;

    if (size < sizeof(h)) {
        *error = "it is too short to be a segment of mod_kastats";
        return APR_EINVAL;
    }
    memcpy(&h, base, sizeof(h));
    h.ready = __atomic_load_n(&((const ka_segment_header *)base)->ready,
                              __ATOMIC_ACQUIRE);
    if (h.magic == KA_SEGMENT_MAGIC && (*error = check_version(&h)) != NULL) {
        return APR_ENOTIMPL;
    }
    if ((*error = check_identity(&h, size)) != NULL ||
        (*error = check_sections(&h)) != NULL) {
        return APR_EINVAL;
    }
    if (h.ready != 1) {
        *error = "it is not ready yet";
        return APR_EAGAIN;
    }
    return APR_SUCCESS;
}
