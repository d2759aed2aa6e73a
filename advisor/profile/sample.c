/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sample.h"

#include <stdlib.h>
#include <string.h>

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

static void add_side(ka_sample_side *into, const ka_sample_side *from,
                     size_t classes)
{
    size_t k;

    into->requests += from->requests;
    into->opens += from->opens;
    into->busy_us += from->busy_us;
    for (k = 0; k < classes; k++) {
        into->idle[k].gap_n += from->idle[k].gap_n;
        into->idle[k].gap_us += from->idle[k].gap_us;
        into->idle[k].tail_n += from->idle[k].tail_n;
        into->idle[k].tail_us += from->idle[k].tail_us;
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
static int64_t longer_than(int64_t block_us)
{
    const bool by_six = block_us == KA_SAMPLE_BLOCK_US ||
                        block_us == 24 * KA_SAMPLE_BLOCK_US;

    return block_us * (by_six ? 6 : 4);
}

static void lengthen(ka_sample *s)
{
    const int64_t times = longer_than(s->block_us) / s->block_us;
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

void ka_sample_merge(ka_sample *into, ka_sample *from)
{
    const size_t classes = into->timeout_n + 1;
    size_t i;
    int side;

    while (into->block_us < from->block_us) {
        lengthen(into);
    }
    while (from->block_us < into->block_us) {
        lengthen(from);
    }
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
    swap_words((uint64_t *)low, (uint64_t *)high,
               s->side_bytes / sizeof(uint64_t));
    high->requests = 0;
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

void ka_sample_evaluate(double *n, double *idle_us, const ka_sample *s,
                        const ka_sample_side *side)
{
    double gaps = 0, waits = 0, shorter_us = 0;
    size_t j, k;

    for (k = 0; k <= s->timeout_n; k++) {
        gaps += (double)side->idle[k].gap_n;
        waits += (double)(side->idle[k].gap_n + side->idle[k].tail_n);
    }
    for (j = 0; j < s->timeout_n; j++) {
        const int64_t wait_us = s->timeouts[j] > 0 ? s->timeouts[j] : 0;
        const ka_sample_idle *idle = &side->idle[j];

        gaps -= (double)idle->gap_n;
        waits -= (double)(idle->gap_n + idle->tail_n);
        shorter_us += (double)(idle->gap_us + idle->tail_us);
        n[j] = (double)side->opens + gaps;
        idle_us[j] = shorter_us + waits * (double)wait_us;
    }
}
