/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sample.h"

#include <stdlib.h>
#include <string.h>

#include "saturate.h"

/* So far from any time that no block is there. */
#define NOWHERE INT64_MIN

/* ---- making ------------------------------------------------------------- */

static void forget_places(ka_sample *s)
{
    size_t i;

    for (i = 0; i < KA_SAMPLE_PLACES; i++) {
        s->places[i] = (ka_sample_place){NOWHERE, 0};
    }
}

ka_sample *ka_sample_make(const int64_t *timeouts, size_t n)
{
    ka_sample *s = calloc(1, sizeof(*s));

    if (!s) {
        return NULL;
    }
    s->side_bytes =
        sizeof(ka_sample_side) + (n + 1) * sizeof(ka_sample_idle);
    s->groups = calloc(KA_SAMPLE_GROUPS, 2 * s->side_bytes);
    s->blocks = calloc(KA_SAMPLE_BLOCKS, 2 * s->side_bytes);
    if (!s->groups || !s->blocks) {
        ka_sample_free(s);
        return NULL;
    }
    if (n > 0) {
        memcpy(s->timeouts, timeouts, n * sizeof(*timeouts));
    }
    s->timeout_n = n;
    ka_sample_begin(s, 0);
    return s;
}

static char *copy_sides(const char *sides, size_t n)
{
    char *copy = malloc(n);

    return copy ? memcpy(copy, sides, n) : NULL;
}

ka_sample *ka_sample_copy(const ka_sample *s)
{
    ka_sample *copy = malloc(sizeof(*copy));

    if (!copy) {
        return NULL;
    }
    *copy = *s;
    copy->groups =
        copy_sides(s->groups, KA_SAMPLE_GROUPS * 2 * s->side_bytes);
    copy->blocks =
        copy_sides(s->blocks, KA_SAMPLE_BLOCKS * 2 * s->side_bytes);
    if (!copy->groups || !copy->blocks) {
        ka_sample_free(copy);
        return NULL;
    }
    return copy;
}

void ka_sample_free(ka_sample *s)
{
    if (s) {
        free(s->groups);
        free(s->blocks);
        free(s);
    }
}

/* ---- blocks ------------------------------------------------------------- */

static int64_t floor_of(int64_t at, int64_t length)
{
    return at / length - (at % length < 0);
}

void ka_sample_begin(ka_sample *s, int64_t begin_us)
{
    s->block_us = KA_SAMPLE_BLOCK_US;
    s->first = floor_of(begin_us, s->block_us);
    s->begin_us = s->end_us = begin_us;
    forget_places(s);
}

static void add(uint64_t *into, uint64_t from)
{
    *into = ka_add_saturated(*into, from);
}

static void add_idle(ka_sample_idle *into, const ka_sample_idle *from)
{
    add(&into->gap_n, from->gap_n);
    add(&into->gap_us, from->gap_us);
    add(&into->tail_n, from->tail_n);
    add(&into->tail_us, from->tail_us);
}

static void add_side(ka_sample_side *into, const ka_sample_side *from,
                     size_t classes)
{
    size_t k;

    add(&into->requests, from->requests);
    add(&into->opens, from->opens);
    add(&into->busy_us, from->busy_us);
    add(&into->covered_us, from->covered_us);
    for (k = 0; k < classes; k++) {
        add_idle(&into->idle[k], &from->idle[k]);
    }
}

/* Moves a block's sums into an earlier one. */
static void move_block(ka_sample *s, size_t to, size_t from)
{
    int side;

    for (side = 0; side < 2; side++) {
        ka_sample_side *sums = ka_sample_block_side(s, from, side);

        add_side(ka_sample_block_side(s, to, side), sums, s->timeout_n + 1);
        memset(sums, 0, s->side_bytes);
    }
}

/* Of 10 min, 1 h, 4 h, 1 d, 4 d ... each is a multiple of the one before. */
int64_t ka_sample_longer(int64_t block_us)
{
    const bool by_six = block_us == KA_SAMPLE_BLOCK_US ||
                        block_us == 24 * KA_SAMPLE_BLOCK_US;

    return block_us * (by_six ? 6 : 4);
}

static void lengthen(ka_sample *s)
{
    const int64_t times = ka_sample_longer(s->block_us) / s->block_us;
    const int64_t first = floor_of(s->first, times);
    size_t i, to = 0;

    for (i = 0; i < s->block_n; i++) {
        to = (size_t)(floor_of(s->first + (int64_t)i, times) - first);
        if (to != i) {
            move_block(s, to, i);
        }
    }
    s->block_n = s->block_n ? to + 1 : 0;
    s->block_us *= times;
    s->first = first;
    forget_places(s);
}

void ka_sample_seek(ka_sample *s, ka_sample_place *place, int64_t at_us)
{
    int64_t at = floor_of(at_us, s->block_us) - s->first;

    while (at >= KA_SAMPLE_BLOCKS) {
        lengthen(s);
        at = floor_of(at_us, s->block_us) - s->first;
    }
    at = at > 0 ? at : 0;
    place->from_us = (s->first + at) * s->block_us;
    place->block = (size_t)at;
    if (s->block_n <= place->block) {
        s->block_n = place->block + 1;
    }
}

/* The part of [from, to) that the window covers. */
static uint64_t covered(const ka_sample *s, int64_t from_us, int64_t to_us)
{
    const int64_t from = from_us > s->begin_us ? from_us : s->begin_us;
    const int64_t to = to_us < s->end_us ? to_us : s->end_us;

    return to > from ? (uint64_t)(to - from) : 0;
}

void ka_sample_end(ka_sample *s, int64_t end_us)
{
    ka_sample_place last;
    size_t i;

    s->end_us = end_us;
    if (end_us <= s->begin_us) {
        return;
    }
    ka_sample_seek(s, &last, end_us - 1);
    for (i = 0; i < s->block_n; i++) {
        const int64_t at = s->first + (int64_t)i;

        ka_sample_block_side(s, i, 0)->covered_us =
            covered(s, at * s->block_us, (at + 1) * s->block_us);
    }
}

void ka_sample_shorten(ka_sample *s, size_t blocks)
{
    while (s->block_n > blocks && blocks > 0) {
        lengthen(s);
    }
}

size_t ka_sample_block_n(const ka_sample *s)
{
    const int64_t last = floor_of(s->end_us - 1, s->block_us) - s->first;

    if (s->end_us <= s->begin_us) {
        return 0;
    }
    return last < KA_SAMPLE_BLOCKS ? (size_t)last + 1 : KA_SAMPLE_BLOCKS;
}

/* ---- sums --------------------------------------------------------------- */

size_t ka_sample_class(const ka_sample *s, int64_t idle_us)
{
    size_t low = 0, high = s->timeout_n;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (s->timeouts[middle] < idle_us) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

/* Blocks of both as long as each other's, and so long that all have room.
 * @return where they begin together */
static int64_t align(ka_sample *a, ka_sample *b)
{
    for (;;) {
        const int64_t first = a->first < b->first ? a->first : b->first;
        const int64_t a_end = a->first + (int64_t)a->block_n;
        const int64_t b_end = b->first + (int64_t)b->block_n;

        if (a->block_us < b->block_us) {
            lengthen(a);
        }
        else if (b->block_us < a->block_us) {
            lengthen(b);
        }
        else if ((a_end > b_end ? a_end : b_end) - first > KA_SAMPLE_BLOCKS) {
            lengthen(a);
            lengthen(b);
        }
        else {
            return first;
        }
    }
}

/* Moves all blocks on, so that the first one is an earlier one. */
static void begin_at(ka_sample *s, int64_t first)
{
    const size_t by = (size_t)(s->first - first), size = 2 * s->side_bytes;

    if (by > 0) {
        memmove(s->blocks + by * size, s->blocks, s->block_n * size);
        memset(s->blocks, 0, by * size);
        s->block_n += by;
        s->first = first;
        forget_places(s);
    }
}

/* Nothing was counted in `into` so far. */
static void take_window(ka_sample *into, const ka_sample *from)
{
    into->block_us = from->block_us;
    into->first = from->first;
    into->begin_us = from->begin_us;
    into->end_us = from->end_us;
}

static void merge_window(ka_sample *into, const ka_sample *from)
{
    if (from->begin_us < into->begin_us) {
        into->begin_us = from->begin_us;
    }
    if (from->end_us > into->end_us) {
        into->end_us = from->end_us;
    }
}

void ka_sample_merge(ka_sample *into, ka_sample *from)
{
    const size_t classes = into->timeout_n + 1;
    int64_t first;
    size_t i;
    int side;

    if (from->block_n == 0) {
        return;
    }
    if (into->block_n == 0) {
        take_window(into, from);
    }
    first = align(into, from);
    begin_at(into, first);
    begin_at(from, first);
    for (side = 0; side < 2; side++) {
        for (i = 0; i < KA_SAMPLE_GROUPS; i++) {
            add_side(ka_sample_group_side(into, i, side),
                     ka_sample_group_side(from, i, side), classes);
        }
        for (i = 0; i < from->block_n; i++) {
            add_side(ka_sample_block_side(into, i, side),
                     ka_sample_block_side(from, i, side), classes);
        }
    }
    if (into->block_n < from->block_n) {
        into->block_n = from->block_n;
    }
    merge_window(into, from);
}

static bool side_differs(const ka_sample_side *a, const ka_sample_side *b,
                         size_t classes)
{
    return a->opens != b->opens || a->busy_us != b->busy_us ||
           memcmp(a->idle, b->idle, classes * sizeof(*a->idle)) != 0;
}

bool ka_sample_sides_differ(const ka_sample *s)
{
    size_t i;

    for (i = 0; i < KA_SAMPLE_GROUPS; i++) {
        if (side_differs(ka_sample_group_side(s, i, 0),
                         ka_sample_group_side(s, i, 1), s->timeout_n + 1)) {
            return true;
        }
    }
    return false;
}

static void swap_words(uint64_t *a, uint64_t *b, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        const uint64_t was = a[i];

        a[i] = b[i];
        b[i] = was;
    }
}

/* Requests are those of both. */
static void swap_sides(const ka_sample *s, ka_sample_side *low,
                       ka_sample_side *high)
{
    high->requests = low->requests;
    high->covered_us = low->covered_us;
    swap_words((uint64_t *)low, (uint64_t *)high,
               s->side_bytes / sizeof(uint64_t));
    high->requests = high->covered_us = 0;
}

void ka_sample_swap(ka_sample *s)
{
    size_t i;

    for (i = 0; i < KA_SAMPLE_GROUPS; i++) {
        swap_sides(s, ka_sample_group_side(s, i, 0),
                   ka_sample_group_side(s, i, 1));
    }
    for (i = 0; i < s->block_n; i++) {
        swap_sides(s, ka_sample_block_side(s, i, 0),
                   ka_sample_block_side(s, i, 1));
    }
}

void ka_sample_total(ka_sample_side *out, const ka_sample *s, int side)
{
    size_t i;

    for (i = 0; i < KA_SAMPLE_GROUPS; i++) {
        add_side(out, ka_sample_group_side(s, i, side), s->timeout_n + 1);
    }
}
