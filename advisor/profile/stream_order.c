/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Lines are mostly in order, or made of long stretches that are: these are
 * found and merged, so that a log in order costs one look at each start.
 */
#include "stream_priv.h"

#include <stdlib.h>
#include <string.h>

/* Room for n more.  What is done makes way when it is as much as what is not,
 * so that few pages are in use. */
static bool make_room(ka_waiting *w, size_t n)
{
    const size_t left = w->n - w->at;
    size_t size = w->size ? w->size : 256;
    ka_hit *hits = w->hits;

    if (n <= w->size - w->n && w->at < left) {
        return true;
    }
    while (size < left + n) {
        size *= 2;
    }
    if (size > w->size) {
        hits = malloc(size * sizeof(*hits));
    }
    if (!hits) {
        return false;
    }
    if (left) {
        memmove(hits, w->hits + w->at, left * sizeof(*hits));
    }
    if (hits != w->hits) {
        if (w->own) {
            free(w->hits);
        }
        w->hits = hits;
        w->size = size;
        w->own = true;
    }
    w->n = left;
    w->at = 0;
    return true;
}

/* What sorting needs, once it is needed. */
static bool make_scratch(ka_order_scratch *scratch, size_t n)
{
    if (n <= scratch->size) {
        return true;
    }
    ka_order_scratch_clear(scratch);
    n += n / 2;
    scratch->keys = malloc(2 * n * sizeof(*scratch->keys));
    scratch->hits = malloc(n * sizeof(*scratch->hits));
    scratch->size = scratch->keys && scratch->hits ? n : 0;
    return scratch->size > 0;
}

void ka_order_scratch_clear(ka_order_scratch *scratch)
{
    free(scratch->keys);
    free(scratch->hits);
    memset(scratch, 0, sizeof(*scratch));
}

/* The end of the ascending stretch that begins at `from`. */
static size_t stretch(const ka_order_key *keys, size_t from, size_t n)
{
    for (from++; from < n && keys[from - 1].begin_us <= keys[from].begin_us;) {
        from++;
    }
    return from;
}

static void merge_two(ka_order_key *to, const ka_order_key *a, size_t a_n,
                      const ka_order_key *b, size_t b_n)
{
    size_t i = 0, j = 0;

    while (i < a_n && j < b_n) {
        /* Of equals the earlier line first. */
        *to++ = b[j].begin_us < a[i].begin_us ? b[j++] : a[i++];
    }
    memcpy(to, a + i, (a_n - i) * sizeof(*to));
    memcpy(to + (a_n - i), b + j, (b_n - j) * sizeof(*to));
}

/* Merges neighbouring stretches. @return how many there were */
static size_t merge_pass(ka_order_key *to, const ka_order_key *from, size_t n)
{
    size_t at = 0, stretches = 0;

    while (at < n) {
        const size_t middle = stretch(from, at, n);
        const size_t end = middle < n ? stretch(from, middle, n) : middle;

        merge_two(to + at, from + at, middle - at, from + middle, end - middle);
        stretches += 1 + (end > middle);
        at = end;
    }
    return stretches;
}

static void sort(ka_hit *hits, size_t n, ka_order_scratch *scratch)
{
    ka_order_key *from = scratch->keys, *to = from + n, *swap;
    size_t i;

    for (i = 0; i < n; i++) {
        from[i] = (ka_order_key){hits[i].begin_us, (uint32_t)i};
    }
    while (merge_pass(to, from, n) > 2) {
        swap = from;
        from = to;
        to = swap;
    }
    for (i = 0; i < n; i++) {
        scratch->hits[i] = hits[to[i].at];
    }
    memcpy(hits, scratch->hits, n * sizeof(*hits));
}

/* Not further than the window goes: late lines may be decades late, and their
 * sum would not fit. */
static void raise_lag(ka_waiting *w, int64_t to_us)
{
    to_us = to_us < KA_STREAM_WINDOW_US ? to_us : KA_STREAM_WINDOW_US;
    w->lag_us = to_us > w->lag_us ? to_us : w->lag_us;
}

/* @return whether it starts no earlier than any before it */
static bool add(ka_waiting *w, const ka_hit *hit, int64_t edge_us)
{
    ka_hit *to = &w->hits[w->n];

    if (hit->flags & KA_REQ_NO_REQUEST) {
        w->no_request++;
        return true;
    }
    *to = *hit;
    w->n++;
    if (to->begin_us < edge_us) {
        raise_lag(w, edge_us - to->begin_us + w->lag_us);
        to->begin_us = edge_us;
        w->late++;
    }
    if (to->begin_us >= w->newest_us) {
        w->newest_us = to->begin_us;
        return true;
    }
    raise_lag(w, w->newest_us - hit->begin_us);
    return false;
}

/* The first of hits[at, n) that starts after us. */
static size_t after(const ka_waiting *w, size_t n, int64_t us)
{
    size_t low = w->at, high = n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (w->hits[middle].begin_us <= us) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

void ka_waiting_add(ka_waiting *w, ka_order_scratch *scratch,
                    const ka_hit_run *runs, size_t n, int64_t edge_us)
{
    int64_t earliest_us = INT64_MAX;
    size_t more = 0, old, i, j;

    for (i = 0; i < n; i++) {
        more += runs[i].n;
    }
    if (w->n - w->at + more >= UINT32_MAX || !make_room(w, more)) {
        w->failed = true;
        return;
    }
    old = w->n;
    for (i = 0; i < n; i++) {
        for (j = 0; j < runs[i].n; j++) {
            if (!add(w, &runs[i].hits[j], edge_us) &&
                w->hits[w->n - 1].begin_us < earliest_us) {
                earliest_us = w->hits[w->n - 1].begin_us;
            }
        }
    }
    if (earliest_us < INT64_MAX) {
        /* What was in order and is earlier than all that is not stays. */
        old = after(w, old, earliest_us);
        if (make_scratch(scratch, w->n - old)) {
            sort(w->hits + old, w->n - old, scratch);
        }
        else {
            w->failed = true;
        }
    }
}

size_t ka_waiting_from(const ka_waiting *w, int64_t from_us)
{
    size_t low = w->at, high = w->n;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (w->hits[middle].begin_us < from_us) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return w->n - low;
}

void ka_waiting_clear(ka_waiting *w)
{
    if (w->own) {
        free(w->hits);
    }
    memset(w, 0, sizeof(*w));
}
