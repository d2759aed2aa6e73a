/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Random logs that name no connection, and what a stream and grouping make of
 * them. */
#ifndef KA_TEST_STREAM_BOTH_H
#define KA_TEST_STREAM_BOTH_H

#include <profile/stream.h>

#include "both_ways.h"

/* ---- one log, both ways -------------------------------------------------- */

static inline ka_hit hit_of(const ka_request *r)
{
    return (ka_hit){.begin_us = r->begin_us,
                    .service_us = r->service_us,
                    .bytes = r->bytes,
                    .client = r->client,
                    .address = r->address,
                    .vhost = (uint16_t)r->vhost,
                    .flags = r->flags,
                    .limit_s = (uint16_t)(r->client_limit_us / 1000000),
                    .cls = r->cls};
}

typedef struct feed {
    ka_stream *stream;
    const ka_request *items;
    size_t n;
    size_t batch; /* requests in one */
    size_t untold; /* while fewer have come, some file has told no time */
} feed;

/* Batches of a size, each request in its part. */
static inline void feed_all(const feed *f)
{
    static ka_hit hits[KA_HIT_PARTS][REQUESTS_MAX];
    size_t from, i, p;
    int64_t newest_us = INT64_MIN;

    for (from = 0; from < f->n; from += f->batch) {
        const size_t to = from + f->batch < f->n ? from + f->batch : f->n;
        ka_hit_run runs[KA_HIT_PARTS] = {{0}};
        ka_hit_batch batch = {.n = to - from};

        for (i = from; i < to; i++) {
            p = f->items[i].address % KA_HIT_PARTS;
            hits[p][runs[p].n++] = hit_of(&f->items[i]);
            if (f->items[i].begin_us > newest_us) {
                newest_us = f->items[i].begin_us;
            }
        }
        for (p = 0; p < KA_HIT_PARTS; p++) {
            runs[p].hits = hits[p];
            batch.runs[p] = &runs[p];
            batch.run_n[p] = runs[p].n > 0;
        }
        batch.newest_us = newest_us;
        batch.reached_us = to == f->n       ? INT64_MAX
                           : to < f->untold ? INT64_MIN
                                            : newest_us;
        ka_stream_take(f->stream, &batch);
    }
}

static inline void stream_feed(both *b, feed *f, size_t workers,
                               int64_t timeout_us, uint32_t clients,
                               apr_pool_t *pool)
{
    ka_crew *crew;

    assert_int_equal(ka_crew_make(&crew, workers, pool), APR_SUCCESS);
    b->tally = ka_tally_make(b->timeouts, b->n, pool);
    b->tally->timeout_us = timeout_us;
    f->stream = ka_stream_make(b->tally, &b->info, clients, KA_STREAM_WAITING,
                               crew);
    assert_non_null(f->stream);
    feed_all(f);
    assert_int_equal(ka_stream_finish(f->stream), APR_SUCCESS);
    ka_stream_free(f->stream);
}

static inline void stream_all(both *b, const ka_request *items, size_t batch,
                       size_t workers, int64_t timeout_us, uint32_t clients,
                       apr_pool_t *pool)
{
    feed f = {.items = items, .n = b->q.n, .batch = batch};

    stream_feed(b, &f, workers, timeout_us, clients, pool);
}

static inline void group_all(both *b, int64_t timeout_us, apr_pool_t *pool)
{
    const ka_connection_options options = {
        .timeout_us = timeout_us,
        .threaded = -1,
        .clock_us = b->info.clock_us,
        .service_clock_us = b->info.service_clock_us};
    const ka_sweep_options sweep = {.measured_up_to_us = timeout_us};
    ka_connections *c = &b->connections;

    assert_int_equal(ka_connections_group(c, &b->q.list, &options),
                     APR_SUCCESS);
    b->low = apr_pcalloc(pool, b->n * sizeof(*b->low));
    b->high = apr_pcalloc(pool, b->n * sizeof(*b->high));
    assert_int_equal(ka_sweep(b->low, b->timeouts, b->n, &c->low, &sweep),
                     APR_SUCCESS);
    assert_int_equal(ka_sweep(b->high, b->timeouts, b->n,
                              c->bracket ? &c->high : &c->low, &sweep),
                     APR_SUCCESS);
    assert_int_equal(ka_profile_build(&b->profile, &b->q.list, &b->q.list, c,
                                      &b->info, timeout_us, pool),
                     APR_SUCCESS);
}

static inline void both_free(both *b)
{
    ka_connections_clear(&b->connections);
    ka_tally_free(b->tally);
    free(b);
}

/* ---- logs ---------------------------------------------------------------- */

typedef struct kind {
    const char *name;
    int64_t service_clock_us; /* 0: none */
    unsigned clients;
    unsigned span_s;
    unsigned flags; /* drawn now and then */
} kind;

static const kind kinds[] = {
    {"combined", 0, 40, 3000, 0},
    {"few clients, bursts", 0, 3, 600, 0},
    {"protocols", 0, 30, 2000, KA_REQ_HTTP10 | KA_REQ_HTTP2 | KA_REQ_NOT_HTTP},
    {"%T", 1000000, 20, 1500, KA_REQ_NOT_HTTP},
    {"days", 0, 10, 500000, KA_REQ_HTTP10},
    {"%X", 0, 30, 2000, KA_REQ_FINAL | KA_REQ_HTTP2},
};

static inline ka_request random_request(const kind *k)
{
    static const unsigned flags[] = {KA_REQ_HTTP10, KA_REQ_HTTP2,
                                     KA_REQ_NOT_HTTP, KA_REQ_FINAL};
    const uint64_t client = 1 + draw(k->clients);
    ka_request r = {.client = ka_key_mix(client) | 1,
                    .address = ka_key_mix(client / 2) | 1,
                    .bytes = (int64_t)draw(100000) - 1,
                    .service_us = k->service_clock_us
                                      ? (int64_t)draw(4) * k->service_clock_us
                                      : -1,
                    .client_limit_us = seconds_us(client % 3 ? 300 : 115),
                    .vhost = (uint32_t)draw(3),
                    .cls = (uint8_t)draw(KA_CLASS_N),
                    .keepalives = -1,
                    .remote_port = -1};
    const unsigned flag = flags[draw(4)];

    if (k->flags & flag && draw(3) == 0) {
        r.flags = (uint16_t)flag;
    }
    return r;
}

static inline int compare_starts(const void *a, const void *b)
{
    const ka_request *x = a, *y = b;

    return (x->begin_us > y->begin_us) - (x->begin_us < y->begin_us);
}

static inline both *make_log(const kind *k, uint64_t of_seed)
{
    both *b = calloc(1, sizeof(*b));
    size_t i;

    seed = of_seed;
    b->timeouts = ka_sweep_default_timeouts(&b->n);
    b->info = (ka_source_info){.clock_us = 1000000,
                               .service_clock_us = k->service_clock_us,
                               .vhosts = (const char **)names,
                               .vhost_n = 3};
    b->q.n = 600 + draw(1200);
    for (i = 0; i < b->q.n; i++) {
        b->q.items[i] = random_request(k);
        /* Bursts: every other request follows the one before. */
        b->q.items[i].begin_us =
            i % 2 ? b->q.items[i - 1].begin_us + seconds_us((double)draw(9))
                  : seconds_us((double)(FIRST_S + draw(k->span_s)));
    }
    qsort(b->q.items, b->q.n, sizeof(ka_request), compare_starts);
    b->q.list = (ka_requests){.items = b->q.items, .n = b->q.n};
    return b;
}

/* ---- comparisons --------------------------------------------------------- */

static inline void assert_side(const both *b, bool high)
{
    const ka_outcome *of = high ? b->high : b->low;
    ka_outcome is[64];
    size_t j;

    assert_int_equal(ka_tally_outcomes(is, b->timeouts, b->n, b->tally, high,
                                       5000000),
                     APR_SUCCESS);
    for (j = 0; j < b->n; j++) {
        assert_int_equal(is[j].requests, of[j].requests);
        assert_int_equal(is[j].connections, of[j].connections);
        assert_int_equal(is[j].timeout_closes, of[j].timeout_closes);
        assert_int_equal(is[j].idle_us, of[j].idle_us);
        assert_int_equal(is[j].busy_us, of[j].busy_us);
        assert_held(&is[j].held, &of[j].held);
        assert_held(&is[j].busy, &of[j].busy);
    }
}

static inline bool same_occupancy(const ka_occupancy *a, const ka_occupancy *b)
{
    return a->ms == b->ms && a->sum == b->sum && a->squares == b->squares &&
           a->peak == b->peak && a->hour_n == b->hour_n &&
           !memcmp(a->hours, b->hours, a->hour_n * sizeof(*a->hours));
}

static inline void assert_same_tally(const ka_tally *a, const ka_tally *b)
{
    size_t s, j;

    assert_int_equal(a->requests, b->requests);
    assert_memory_equal(a->classes, b->classes,
                        sizeof(a->classes[0]) * KA_CLASS_N);
    assert_memory_equal(&a->clients, &b->clients, sizeof(a->clients));
    for (s = 0; s < 2; s++) {
        const ka_tally_side *x = &a->side[s], *y = &b->side[s];

        assert_memory_equal(&x->gap, &y->gap, sizeof(x->gap));
        assert_memory_equal(&x->tail, &y->tail, sizeof(x->tail));
        assert_memory_equal(&x->lengths, &y->lengths, sizeof(x->lengths));
        assert_memory_equal(&x->parallel, &y->parallel, sizeof(x->parallel));
        for (j = 0; j < a->timeout_n; j++) {
            assert_int_equal(x->timeouts[j].connections,
                             y->timeouts[j].connections);
            assert_int_equal(x->timeouts[j].idle_us, y->timeouts[j].idle_us);
            assert_true(
                same_occupancy(&x->timeouts[j].held, &y->timeouts[j].held));
        }
    }
}

#endif
