/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A heap of a million requests would miss the cache twenty times a request.
 * A log is nearly sorted, so a bucket per second is written at its end and
 * read once; most are in order already (always so with one-second stamps).
 */
#include "log_reorder.h"

#include <stdlib.h>

#define SECOND_US INT64_C(1000000)
#define CHUNK_REQUESTS 62 /* about 5.5 kB, so that quiet seconds cost little */

typedef struct chunk {
    struct chunk *next;
    size_t n;
    ka_request requests[CHUNK_REQUESTS];
} chunk;

typedef struct bucket {
    chunk *first, *last; /* NULL: empty */
    size_t n;
    int64_t newest_us; /* start of the last one taken in */
    bool unsorted;
} bucket;

typedef struct sort_key {
    int64_t begin_us;
    size_t index; /* keeps equal starts in order */
    const ka_request *request;
} sort_key;

struct ka_reorder {
    apr_pool_t *pool;
    ka_request_fn *take;
    void *context;
    int64_t window_us;
    size_t limit, waiting;
    int64_t newest_us, edge_us;
    bucket *ring;
    int64_t ring_n; /* a power of two, more seconds than the window has */
    chunk *spare;
    sort_key *keys;
    size_t keys_n;
};

ka_reorder *ka_reorder_make(int64_t window_us, size_t limit,
                            ka_request_fn *take, void *context,
                            apr_pool_t *pool)
{
    ka_reorder *self = apr_pcalloc(pool, sizeof(*self));

    self->pool = pool;
    self->take = take;
    self->context = context;
    self->window_us = window_us;
    self->limit = limit;
    self->ring_n = 1;
    while (self->ring_n < window_us / SECOND_US + 2) {
        self->ring_n *= 2;
    }
    self->ring = apr_pcalloc(pool, (size_t)self->ring_n * sizeof(bucket));
    return self;
}

static bucket *bucket_of(ka_reorder *self, int64_t second)
{
    return &self->ring[second & (self->ring_n - 1)];
}

static chunk *chunk_make(ka_reorder *self)
{
    chunk *made = self->spare;

    if (made) {
        self->spare = made->next;
    }
    else {
        made = apr_palloc(self->pool, sizeof(*made));
    }
    made->next = NULL;
    made->n = 0;
    return made;
}

static void append(ka_reorder *self, const ka_request *request,
                   int64_t begin_us)
{
    bucket *to = bucket_of(self, begin_us / SECOND_US);
    ka_request *place;

    if (!to->first) {
        to->first = to->last = chunk_make(self);
        to->newest_us = begin_us;
    }
    else if (to->last->n == CHUNK_REQUESTS) {
        to->last->next = chunk_make(self);
        to->last = to->last->next;
    }
    place = &to->last->requests[to->last->n++];
    *place = *request;
    place->begin_us = begin_us;
    to->unsorted |= begin_us < to->newest_us;
    to->newest_us = begin_us;
    to->n++;
    self->waiting++;
}

static int key_order(const void *a, const void *b)
{
    const sort_key *x = a, *y = b;

    if (x->begin_us != y->begin_us) {
        return x->begin_us < y->begin_us ? -1 : 1;
    }
    return x->index < y->index ? -1 : 1;
}

static void hand_out_sorted(ka_reorder *self, const bucket *from)
{
    size_t n = 0;

    if (self->keys_n < from->n) {
        /* Doubling: what the pool cannot take back stays below twice this. */
        self->keys_n = from->n * 2;
        self->keys = apr_palloc(self->pool, self->keys_n * sizeof(sort_key));
    }
    for (const chunk *at = from->first; at; at = at->next) {
        for (size_t i = 0; i < at->n; i++, n++) {
            self->keys[n] =
                (sort_key){at->requests[i].begin_us, n, &at->requests[i]};
        }
    }
    qsort(self->keys, n, sizeof(sort_key), key_order);
    for (size_t i = 0; i < n; i++) {
        self->take(self->context, self->keys[i].request);
    }
    self->edge_us = self->keys[n - 1].begin_us;
}

static void hand_out_as_is(ka_reorder *self, const bucket *from)
{
    for (const chunk *at = from->first; at; at = at->next) {
        for (size_t i = 0; i < at->n; i++) {
            self->take(self->context, &at->requests[i]);
        }
    }
    self->edge_us = from->newest_us;
}

/* Empties a bucket that holds something; the edge is then its last start. */
static void hand_out(ka_reorder *self, bucket *from)
{
    (from->unsorted ? hand_out_sorted : hand_out_as_is)(self, from);
    self->waiting -= from->n;
    from->last->next = self->spare;
    self->spare = from->first;
    *from = (bucket){.first = NULL};
}

/* Empties the buckets of [edge, until), at most `limit` of them that hold
 * something. */
static void advance(ka_reorder *self, int64_t until_second, size_t limit)
{
    const int64_t from = self->edge_us / SECOND_US;

    if (until_second > from + self->ring_n) {
        until_second = from + self->ring_n;
    }
    for (int64_t s = from; s < until_second && limit && self->waiting; s++) {
        bucket *at = bucket_of(self, s);

        if (at->first) {
            hand_out(self, at);
            limit--;
        }
    }
}

bool ka_reorder_add(ka_reorder *self, const ka_request *request)
{
    int64_t begin_us = request->begin_us;
    bool late;

    if (begin_us > self->newest_us) {
        const int64_t edge_us = begin_us - self->window_us;

        self->newest_us = begin_us;
        if (edge_us > self->edge_us) {
            advance(self, edge_us / SECOND_US, SIZE_MAX);
            self->edge_us = edge_us;
        }
    }
    late = begin_us < self->edge_us;
    append(self, request, late ? self->edge_us : begin_us);
    if (self->waiting >= self->limit) {
        advance(self, INT64_MAX, 1);
    }
    return late;
}

void ka_reorder_flush(ka_reorder *self)
{
    advance(self, INT64_MAX, SIZE_MAX);
    self->newest_us = 0;
    self->edge_us = 0;
}
