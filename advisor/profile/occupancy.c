/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Bins as in ka_histogram.h, but finer.  Hours are sorted by server first, so
 * that those of one server follow each other.
 */
#include "occupancy.h"

#include <stdlib.h>
#include <string.h>

#include "keymap.h"
#include "saturate.h"

#define SUB_BINS (UINT64_C(1) << KA_OCCUPANCY_SUB_BITS)
#define FIRST_BINS 64
#define FIRST_HOURS 32

void ka_occupancy_init(ka_occupancy *o)
{
    memset(o, 0, sizeof(*o));
}

void ka_occupancy_clear(ka_occupancy *o)
{
    free(o->bins);
    free(o->hours);
    ka_occupancy_init(o);
}

size_t ka_occupancy_bin(uint64_t count)
{
    unsigned shift;

    if (count < SUB_BINS) {
        return (size_t)count;
    }
    if (count >= KA_OCCUPANCY_MAX) {
        return KA_OCCUPANCY_BINS - 1;
    }
    shift = 63u - (unsigned)__builtin_clzll(count) - KA_OCCUPANCY_SUB_BITS;
    return ((size_t)shift << KA_OCCUPANCY_SUB_BITS) + (size_t)(count >> shift);
}

uint64_t ka_occupancy_bin_low(size_t bin)
{
    unsigned shift;

    if (bin < SUB_BINS) {
        return bin;
    }
    if (bin >= KA_OCCUPANCY_BINS) {
        return KA_OCCUPANCY_MAX;
    }
    shift = (unsigned)(bin >> KA_OCCUPANCY_SUB_BITS) - 1;
    return (uint64_t)(SUB_BINS + (bin & (SUB_BINS - 1))) << shift;
}

/* FNV-1a, then mixed: files hold it, so it must stay as it is. */
uint32_t ka_occupancy_server(const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (; *name; name++) {
        hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
    }
    return (uint32_t)(ka_key_mix(hash) >> 32);
}

/* ---- bins --------------------------------------------------------------- */

static bool make_bins(ka_occupancy *o, size_t bin)
{
    size_t wanted = o->size ? o->size : FIRST_BINS;
    uint64_t *grown;

    while (wanted <= bin) {
        wanted *= 2;
    }
    wanted = wanted < KA_OCCUPANCY_BINS ? wanted : KA_OCCUPANCY_BINS;
    grown = realloc(o->bins, wanted * sizeof(*grown));
    if (grown == NULL) {
        o->failed = true;
        return false;
    }
    memset(grown + o->size, 0, (wanted - o->size) * sizeof(*grown));
    o->bins = grown;
    o->size = wanted;
    return true;
}

void ka_occupancy_put_bin(ka_occupancy *o, size_t bin, uint64_t ms)
{
    bin = bin < KA_OCCUPANCY_BINS ? bin : KA_OCCUPANCY_BINS - 1;
    if (bin < o->size || make_bins(o, bin)) {
        o->bins[bin] = ka_add_saturated(o->bins[bin], ms);
    }
}

/* ---- hours -------------------------------------------------------------- */

static int64_t rounded_down(int64_t hour, unsigned bits)
{
    return hour & -(INT64_C(1) << bits);
}

static bool same_hour(const ka_occupancy_hour *h, int64_t hour, uint32_t server)
{
    return h->hour == hour && h->server == server;
}

static bool is_before(const ka_occupancy_hour *h, int64_t hour, uint32_t server)
{
    return h->server != server ? h->server < server : h->hour < hour;
}

static void add_hour(ka_occupancy_hour *into, const ka_occupancy_hour *from)
{
    into->ms = ka_add_saturated(into->ms, from->ms);
    into->sum = ka_add_saturated(into->sum, from->sum);
    into->squares = ka_add_saturated(into->squares, from->squares);
}

/* Appends to an array in order, or adds to its last entry. @return entries */
static size_t append_hour(ka_occupancy_hour *hours, size_t n,
                          const ka_occupancy_hour *from, unsigned bits)
{
    int64_t hour = rounded_down(from->hour, bits);

    if (n > 0 && same_hour(&hours[n - 1], hour, from->server)) {
        add_hour(&hours[n - 1], from);
        return n;
    }
    hours[n] = *from;
    hours[n].hour = hour;
    return n + 1;
}

static void set_hour_bits(ka_occupancy *o, unsigned bits)
{
    size_t i, n = 0;

    for (i = 0; i < o->hour_n; i++) {
        ka_occupancy_hour hour = o->hours[i];

        n = append_hour(o->hours, n, &hour, bits);
    }
    o->hour_n = n;
    o->hour_bits = bits;
    o->recent = 0;
}

/* The fewest bits that leave few enough.  Part of a set never needs more bits
 * than the whole, so it does not matter which parts are put together first. */
static void keep_few_hours(ka_occupancy *o)
{
    while (o->hour_n > KA_OCCUPANCY_HOURS &&
           o->hour_bits < KA_OCCUPANCY_HOUR_BITS_MAX) {
        set_hour_bits(o, o->hour_bits + 1);
    }
}

static bool make_hours(ka_occupancy *o)
{
    size_t wanted = o->hour_size ? o->hour_size * 2 : FIRST_HOURS;
    ka_occupancy_hour *grown = realloc(o->hours, wanted * sizeof(*grown));

    if (grown == NULL) {
        o->failed = true;
        return false;
    }
    o->hours = grown;
    o->hour_size = wanted;
    return true;
}

/* Index of the first entry that is not before it. */
static size_t find_hour(const ka_occupancy *o, int64_t hour, uint32_t server)
{
    size_t low = 0, high = o->hour_n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (is_before(&o->hours[middle], hour, server)) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

/* Makes it the recent one. @return false without memory */
static bool look_up(ka_occupancy *o, int64_t hour, uint32_t server)
{
    size_t at = find_hour(o, hour, server);

    if (at == o->hour_n || !same_hour(&o->hours[at], hour, server)) {
        if (o->hour_n == o->hour_size && !make_hours(o)) {
            return false;
        }
        memmove(&o->hours[at + 1], &o->hours[at],
                (o->hour_n - at) * sizeof(*o->hours));
        o->hours[at] = (ka_occupancy_hour){.hour = hour, .server = server};
        o->hour_n++;
        if (o->hour_n > KA_OCCUPANCY_HOURS) {
            keep_few_hours(o);
            at = find_hour(o, rounded_down(hour, o->hour_bits), server);
        }
    }
    o->recent = at;
    return true;
}

void ka_occupancy_put_hour(ka_occupancy *o, const ka_occupancy_hour *hour)
{
    int64_t rounded = rounded_down(hour->hour, o->hour_bits);

    if ((o->recent < o->hour_n &&
         same_hour(&o->hours[o->recent], rounded, hour->server)) ||
        look_up(o, rounded, hour->server)) {
        add_hour(&o->hours[o->recent], hour);
    }
}

/* ---- counting ----------------------------------------------------------- */

void ka_occupancy_add(ka_occupancy *o, uint64_t count, uint64_t ms,
                      int64_t hour, uint32_t server, bool settled)
{
    ka_occupancy_hour h = {.hour = hour, .server = server, .ms = ms};

    if (ms == 0) {
        return;
    }
    h.sum = ka_mul_saturated(count, ms);
    h.squares = ka_mul_saturated(count, h.sum);
    ka_occupancy_put_bin(o, ka_occupancy_bin(count), ms);
    o->ms = ka_add_saturated(o->ms, ms);
    o->sum = ka_add_saturated(o->sum, h.sum);
    o->squares = ka_add_saturated(o->squares, h.squares);
    o->peak = count > o->peak ? count : o->peak;
    if (settled) {
        ka_occupancy_put_hour(o, &h);
    }
}

static int64_t block_of(int64_t ms, unsigned bits)
{
    int64_t hour = ms / KA_OCCUPANCY_HOUR_MS - (ms % KA_OCCUPANCY_HOUR_MS < 0);

    return hour >> bits;
}

static int64_t block_start(int64_t block, unsigned bits)
{
    return block * (INT64_C(1) << bits) * KA_OCCUPANCY_HOUR_MS;
}

/* As many bits as a span of so many hours will need anyway. */
static void expect_span(ka_occupancy *o, int64_t from_ms, int64_t to_ms)
{
    unsigned bits = o->hour_bits;

    while (bits < KA_OCCUPANCY_HOUR_BITS_MAX &&
           block_of(to_ms - 1, bits) - block_of(from_ms, bits) >=
               (int64_t)KA_OCCUPANCY_HOURS) {
        bits++;
    }
    if (bits > o->hour_bits) {
        set_hour_bits(o, bits);
    }
}

/* Time without anybody: what lies between the first block's end and the last
 * one's start is left out of the hours. */
static void add_idle(ka_occupancy *o, int64_t from_ms, int64_t to_ms,
                     uint32_t server)
{
    unsigned bits = o->hour_bits;
    int64_t first = block_of(from_ms, bits), last = block_of(to_ms, bits);
    int64_t from = from_ms, to = to_ms;

    if (from_ms != block_start(first, bits)) {
        from = block_start(first + 1, bits);
        ka_occupancy_add(o, 0, (uint64_t)(from - from_ms),
                         first * (INT64_C(1) << bits), server, true);
    }
    to = block_start(last, bits);
    ka_occupancy_add(o, 0, (uint64_t)(to - from), 0, server, false);
    ka_occupancy_add(o, 0, (uint64_t)(to_ms - to), last * (INT64_C(1) << bits),
                     server, true);
}

void ka_occupancy_add_span(ka_occupancy *o, uint64_t count, int64_t from_ms,
                           int64_t to_ms, uint32_t server, bool settled)
{
    if (from_ms >= to_ms) {
        return;
    }
    if (!settled) {
        ka_occupancy_add(o, count, (uint64_t)(to_ms - from_ms), 0, server,
                         false);
        return;
    }
    if (count == 0 &&
        block_of(from_ms, o->hour_bits) < block_of(to_ms, o->hour_bits)) {
        add_idle(o, from_ms, to_ms, server);
        return;
    }
    expect_span(o, from_ms, to_ms);
    while (from_ms < to_ms) {
        unsigned bits = o->hour_bits;
        int64_t block = block_of(from_ms, bits);
        int64_t next = block < block_of(to_ms, bits)
                           ? block_start(block + 1, bits)
                           : to_ms;

        ka_occupancy_add(o, count, (uint64_t)(next - from_ms),
                         block * (INT64_C(1) << bits), server, true);
        from_ms = next;
    }
}

/* ---- merging ------------------------------------------------------------ */

static void merge_hours(ka_occupancy *into, const ka_occupancy *from)
{
    unsigned bits =
        into->hour_bits > from->hour_bits ? into->hour_bits : from->hour_bits;
    size_t size = into->hour_n + from->hour_n, i = 0, j = 0, n = 0;
    ka_occupancy_hour *both = malloc((size + 1) * sizeof(*both));

    if (both == NULL) {
        into->failed = true;
        return;
    }
    while (i < into->hour_n || j < from->hour_n) {
        const ka_occupancy_hour *a = i < into->hour_n ? &into->hours[i] : NULL;
        const ka_occupancy_hour *b = j < from->hour_n ? &from->hours[j] : NULL;

        if (b == NULL || (a != NULL && !is_before(b, a->hour, a->server))) {
            n = append_hour(both, n, a, bits);
            i++;
        }
        else {
            n = append_hour(both, n, b, bits);
            j++;
        }
    }
    free(into->hours);
    into->hours = both;
    into->hour_n = n;
    into->hour_size = size + 1;
    into->hour_bits = bits;
    into->recent = 0;
    keep_few_hours(into);
}

void ka_occupancy_merge(ka_occupancy *into, const ka_occupancy *from)
{
    size_t i;

    for (i = from->size; i-- > 0;) {
        if (from->bins[i] > 0) {
            ka_occupancy_put_bin(into, i, from->bins[i]);
        }
    }
    into->ms = ka_add_saturated(into->ms, from->ms);
    into->sum = ka_add_saturated(into->sum, from->sum);
    into->squares = ka_add_saturated(into->squares, from->squares);
    into->peak = from->peak > into->peak ? from->peak : into->peak;
    into->failed |= from->failed;
    if (from->hour_n > 0 || from->hour_bits > into->hour_bits) {
        merge_hours(into, from);
    }
}
