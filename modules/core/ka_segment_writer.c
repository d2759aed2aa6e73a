/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Memory order: counters are relaxed, since a reader wants each number, not
 * their order.  Only what hands memory over is ordered: `ready`, a slot's
 * pid, a ring record's seq, config_seq.
 */
#include "ka_segment_writer.h"

#include <stdio.h>
#include <string.h>

#define SLOT_SHARED INT32_C(-1)

static ka_segment_slot *slot_at(ka_segment_header *header, uint32_t i)
{
    return ka_segment_entry(header, KA_SECTION_SLOTS, i);
}

static uint32_t slot_take(ka_segment_header *header, int32_t pid)
{
    uint32_t last = header->section[KA_SECTION_SLOTS].n - 1;
    uint32_t i;

    for (i = 0; i < last; i++) {
        int32_t expected = 0;

        if (__atomic_compare_exchange_n(&slot_at(header, i)->pid, &expected,
                                        pid, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
            return i;
        }
    }
    __atomic_store_n(&slot_at(header, last)->pid, SLOT_SHARED,
                     __ATOMIC_RELAXED);
    ka_atomic_add(&header->slot_overflow, 1);
    return last;
}

void ka_writer_attach(ka_writer *writer, ka_segment_header *header, int32_t pid,
                      int32_t generation, int64_t now_at)
{
    uint32_t i = slot_take(header, pid);
    uint32_t vhost_n = header->section[KA_SECTION_VHOSTS].n;

    *writer = (ka_writer){
        .header = header,
        .stats = ka_segment_entry(header, KA_SECTION_STATS,
                                  (uint64_t)(i % header->stripe_n) * vhost_n),
        .slot = slot_at(header, i),
        .open = (int32_t *)(slot_at(header, i) + 1),
        .history = ka_segment_entry(header, KA_SECTION_HISTORY, 0),
        .recent = ka_segment_entry(header, KA_SECTION_RECENT, 0),
        .history_n = header->section[KA_SECTION_HISTORY].n,
        .recent_n = header->section[KA_SECTION_RECENT].n,
        .vhost_n = vhost_n,
        .started_mono = header->started_mono,
        .started_second = header->started_mono / 1000000};
    writer->slot->generation = generation;
    writer->slot->started_at = now_at;
}

void ka_stats_add(ka_segment_stats *stats, unsigned quantity, uint64_t value)
{
    const ka_quantity_row *row = &ka_quantities[quantity];
    ka_hist_bin *bins = &stats->bins[row->first_bin];
    size_t i = ka_hist_bin_index(value);

    if (value >> row->bits) {
        i = row->bin_n - 1;
        ka_atomic_add(&stats->counter[KA_COUNTER_CLAMPED], 1);
    }
    ka_atomic_add(&bins[i].count, 1);
    ka_atomic_add(&bins[i].sum, value);
}

/* ---- history ------------------------------------------------------------ */

static uint32_t tag_in(uint64_t word)
{
    return (uint32_t)(word >> 32);
}

/* A newer tag in the word: this thread slept through a whole round. */
void ka_second_add(uint64_t *word, uint32_t tag, int32_t delta)
{
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
    uint64_t new;

    do {
        int64_t value =
            (tag_in(old) == tag ? (uint32_t)old : 0) + (int64_t)delta;

        if (tag_in(old) > tag || value < 0) {
            return;
        }
        new = (uint64_t)tag << 32 | (uint32_t)value;
    } while (!__atomic_compare_exchange_n(word, &old, new, 1, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
}

/* The tag is the high half: one comparison tells a newer second and a higher
 * maximum. */
void ka_second_raise(uint64_t *word, uint64_t tagged)
{
    uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED);

    while (old < tagged &&
           !__atomic_compare_exchange_n(word, &old, tagged, 1, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
    }
}

void ka_second_begin(ka_segment_second *second, uint32_t tag, uint64_t old)
{
    ka_gauges g = ka_gauges_of(old);
    uint64_t tagged = (uint64_t)tag << 32;

    ka_second_raise(&second->open, tagged | (g.idle + g.busy + g.closing));
    ka_second_raise(&second->busy, tagged | g.busy);
    ka_second_raise(&second->idle, tagged | g.idle);
}

static const uint64_t deltas[KA_TRANSITION_N] = {
    [KA_OPENED] = KA_GAUGE_BUSY,
    [KA_IDLE_CLOSES] = KA_GAUGE_CLOSING - KA_GAUGE_IDLE,
    [KA_BUSY_CLOSES] = KA_GAUGE_CLOSING - KA_GAUGE_BUSY,
    [KA_IDLE_GONE] = 0 - KA_GAUGE_IDLE,
    [KA_BUSY_GONE] = 0 - KA_GAUGE_BUSY,
    [KA_CLOSING_GONE] = 0 - KA_GAUGE_CLOSING,
};

void ka_writer_shift(const ka_writer *writer, ka_transition transition,
                     ka_moment moment)
{
    uint64_t delta = deltas[transition];
    uint64_t old;

    ka_atomic_add(&writer->slot->gauges, delta);
    old = __atomic_fetch_add(&writer->header->gauges, delta, __ATOMIC_RELAXED);
    if (moment.second) {
        ka_second_begin(moment.second, moment.tag, old);
        ka_second_begin(moment.second, moment.tag, old + delta);
        __atomic_store_n(&moment.second->gauges, old + delta, __ATOMIC_RELAXED);
    }
}

/* ---- ring --------------------------------------------------------------- */

/* A record that is being written by somebody else is left to him, unless he
 * is a whole round behind: then he died. */
static bool recent_claim(ka_segment_recent *record, uint64_t seq,
                         uint32_t recent_n)
{
    uint64_t old = __atomic_load_n(&record->seq, __ATOMIC_RELAXED);

    if (old >= seq || (old % 2 == 1 && old + 4 * (uint64_t)recent_n > seq)) {
        return false;
    }
    return __atomic_compare_exchange_n(&record->seq, &old, seq - 1, 0,
                                       __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

void ka_writer_recent(const ka_writer *writer, const ka_segment_recent *record)
{
    uint64_t words[sizeof(*record) / sizeof(uint64_t)];
    uint64_t number, seq;
    uint64_t *to;
    size_t i;

    if (writer->recent_n == 0) {
        return;
    }
    number =
        __atomic_add_fetch(&writer->header->recent_head, 1, __ATOMIC_RELAXED);
    seq = 2 * number;
    to = (uint64_t *)&writer->recent[number % writer->recent_n];
    if (!recent_claim((ka_segment_recent *)to, seq, writer->recent_n)) {
        ka_atomic_add(&writer->header->recent_lost, 1);
        return;
    }
    __atomic_thread_fence(__ATOMIC_RELEASE);
    memcpy(words, record, sizeof(words));
    for (i = 1; i < sizeof(words) / sizeof(words[0]); i++) {
        __atomic_store_n(&to[i], words[i], __ATOMIC_RELAXED);
    }
    __atomic_store_n(&to[0], seq, __ATOMIC_RELEASE);
}

/* ---- parent ------------------------------------------------------------- */

static ka_segment_slot *slot_of(ka_segment_header *header, int32_t pid)
{
    uint32_t i;

    for (i = 0; i < header->section[KA_SECTION_SLOTS].n; i++) {
        ka_segment_slot *slot = slot_at(header, i);

        if (pid > 0 && __atomic_load_n(&slot->pid, __ATOMIC_RELAXED) == pid) {
            return slot;
        }
    }
    return NULL;
}

uint64_t ka_segment_slot_release(ka_segment_header *header, int32_t pid)
{
    ka_segment_slot *slot = slot_of(header, pid);
    uint32_t vhost_n = header->section[KA_SECTION_VHOSTS].n;
    uint64_t lost = 0;
    int32_t *open;
    uint32_t v;

    if (!slot) {
        return 0;
    }
    open = (int32_t *)(slot + 1);
    for (v = 0; v < vhost_n; v++) {
        ka_segment_stats *stats = ka_segment_entry(header, KA_SECTION_STATS, v);

        if (open[v] > 0) {
            ka_atomic_add(&stats->counter[KA_COUNTER_CLOSE + KA_REASON_LOST],
                          (uint64_t)open[v]);
            lost += (uint64_t)open[v];
        }
        open[v] = 0;
    }
    ka_atomic_add(&header->gauges, KA_GAUGE_ZERO - slot->gauges);
    slot->gauges = KA_GAUGE_ZERO;
    slot->requests = 0;
    __atomic_store_n(&slot->pid, 0, __ATOMIC_RELEASE);
    return lost;
}

void ka_segment_gauges_settle(ka_segment_header *header, uint64_t *last)
{
    uint64_t sum = KA_GAUGE_ZERO;
    uint64_t all = __atomic_load_n(&header->gauges, __ATOMIC_RELAXED);
    uint64_t difference;
    uint32_t i;

    for (i = 0; i < header->section[KA_SECTION_SLOTS].n; i++) {
        sum += __atomic_load_n(&slot_at(header, i)->gauges, __ATOMIC_RELAXED) -
               KA_GAUGE_ZERO;
    }
    difference = sum - all;
    if (difference != 0 && difference == *last) {
        ka_atomic_add(&header->gauges, difference);
        difference = 0;
    }
    *last = difference;
}

void ka_segment_config_begin(ka_segment_header *header)
{
    __atomic_fetch_add(&header->config_seq, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

void ka_segment_config_end(ka_segment_header *header)
{
    __atomic_fetch_add(&header->config_seq, 1, __ATOMIC_RELEASE);
}

unsigned ka_segment_vhost_place(ka_segment_header *header, const char *name)
{
    unsigned other = header->section[KA_SECTION_VHOSTS].n - 1;
    char cut[KA_VHOST_NAME_SIZE];
    unsigned i;

    snprintf(cut, sizeof(cut), "%s", name);
    for (i = 0; i < other; i++) {
        ka_segment_vhost *vhost =
            ka_segment_entry(header, KA_SECTION_VHOSTS, i);

        if (i == header->vhost_used) {
            memcpy(vhost->name, cut, sizeof(cut));
            header->vhost_used++;
            return i;
        }
        if (strcmp(vhost->name, cut) == 0) {
            return i;
        }
    }
    return other;
}
