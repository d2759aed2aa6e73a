/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Random occupancies and tallies, and whether two say the same. */
#ifndef KA_TEST_TALLIES_H
#define KA_TEST_TALLIES_H

#include <apr_strings.h>
#include <model/held.h>
#include <profile/tally.h>

static inline uint64_t random_below(uint64_t *seed, uint64_t n)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return (*seed >> 11) % n;
}

static inline int compare_int64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* ---- occupancies -------------------------------------------------------- */

/* Of whole milliseconds; from the epoch on, server 1. */
static inline void occupy_ms(void *context, uint64_t count, int64_t from_us,
                             int64_t to_us)
{
    ka_occupancy_add_span(context, count, from_us / 1000, to_us / 1000, 1,
                          true);
}

/* Some of the hours are shared, some counts large, some time unsettled; now
 * and then hours are put together, or sums near their end. */
static inline void random_occupancy(ka_occupancy *o, uint64_t *seed)
{
    uint64_t n = random_below(seed, 40), i;

    if (random_below(seed, 8) == 0) {
        o->hour_bits = (unsigned)random_below(seed, 4);
    }
    for (i = 0; i < n; i++) {
        uint64_t count = random_below(seed, 10)
                             ? random_below(seed, 600)
                             : random_below(seed, UINT64_C(1) << 40);
        int64_t hour = (int64_t)random_below(seed, 20) - 10;

        ka_occupancy_add(o, count, random_below(seed, 1000000), hour,
                         (uint32_t)random_below(seed, 3),
                         random_below(seed, 5) > 0);
    }
}

static inline uint64_t occupancy_bin(const ka_occupancy *o, size_t bin)
{
    return bin < o->size ? o->bins[bin] : 0;
}

static inline void assert_same_occupancy(const ka_occupancy *a,
                                         const ka_occupancy *b)
{
    size_t i;

    assert_false(a->failed || b->failed);
    for (i = 0; i < a->size || i < b->size; i++) {
        assert_true(occupancy_bin(a, i) == occupancy_bin(b, i));
    }
    assert_true(a->ms == b->ms && a->sum == b->sum && a->squares == b->squares);
    assert_true(a->peak == b->peak);
    assert_int_equal(a->hour_bits, b->hour_bits);
    assert_int_equal(a->hour_n, b->hour_n);
    for (i = 0; i < a->hour_n; i++) {
        const ka_occupancy_hour *x = &a->hours[i], *y = &b->hours[i];

        assert_true(x->hour == y->hour && x->server == y->server);
        assert_true(x->ms == y->ms && x->sum == y->sum &&
                    x->squares == y->squares);
    }
}

/* ---- tallies ------------------------------------------------------------ */

static inline void random_hist(ka_hist *h, uint64_t *seed)
{
    uint64_t n = random_below(seed, 5), i;

    for (i = 0; i < n; i++) {
        ka_hist_add_n(h, random_below(seed, UINT64_C(1) << (i * 8)),
                      1 + random_below(seed, 9));
    }
}

static inline void random_traffic(ka_tally_traffic *t, uint64_t *seed)
{
    t->requests = random_below(seed, 1000);
    t->bytes = random_below(seed, 1000000);
    t->bytes_n = random_below(seed, 1000);
    random_hist(&t->service, seed);
    random_hist(&t->gap, seed);
    ka_tally_second(&t->per_second, &t->peak_per_second,
                    1 + random_below(seed, 50));
}

static inline void random_side(ka_tally_side *side, size_t timeout_n,
                               uint64_t *seed)
{
    size_t i;

    for (i = 0; i < timeout_n; i++) {
        ka_tally_timeout *t = &side->timeouts[i];

        t->connections = random_below(seed, 1000);
        t->waits = random_below(seed, 1000);
        t->idle_us = random_below(seed, INT64_MAX);
        random_occupancy(&t->held, seed);
    }
    side->busy_us = random_below(seed, INT64_MAX);
    side->chains = random_below(seed, 1000);
    random_occupancy(&side->busy, seed);
    random_hist(&side->gap, seed);
    random_hist(&side->tail, seed);
    random_hist(&side->lengths, seed);
    random_hist(&side->parallel, seed);
}

static inline void random_server(ka_tally *tally, uint64_t *seed)
{
    static const char *const names[] = {"", "web1", "web2", "web3"};
    static const char *const origins[] = {"option", "assumed: x", NULL};
    ka_tally_server *server =
        ka_tally_server_at(tally, names[random_below(seed, 4)]);
    int id;

    for (id = 0; id < KA_FACTS; id++) {
        uint64_t kind = random_below(seed, 6);

        if (kind < 3) {
            ka_server_set(&server->facts, (ka_fact_id)id,
                          (int64_t)random_below(seed, 2), kind == 0,
                          origins[random_below(seed, 3)]);
        }
        else {
            server->differs[id] = kind == 3;
        }
    }
    if (random_below(seed, 4) > 0) {
        server->first_us = (int64_t)random_below(seed, 1000) - 500;
        server->window_us = random_below(seed, 1000);
        server->last_us = server->first_us + (int64_t)server->window_us;
    }
    tally->window_us = server->window_us;
}

static inline void random_requests(ka_tally *tally, uint64_t *seed)
{
    uint64_t n = random_below(seed, 6), i;

    for (i = 0; i < n; i++) {
        char name[16];
        ka_tally_traffic *vhost;

        snprintf(name, sizeof(name), "v%u", (unsigned)random_below(seed, 9));
        vhost = ka_tally_vhost(tally, i ? name : KA_TALLY_OTHER);
        random_traffic(vhost, seed);
    }
    for (i = 0; i < KA_CLASS_N; i++) {
        random_traffic(&tally->classes[i], seed);
    }
    ka_tally_second(&tally->per_second, &tally->peak_per_second,
                    1 + random_below(seed, 90));
    n = random_below(seed, 3) ? random_below(seed, 50) : 5000;
    for (i = 0; i < n; i++) {
        ka_distinct_add(&tally->clients, random_below(seed, 20000));
        ka_distinct_add(&tally->addresses, random_below(seed, 200));
        ka_weights_add(&tally->weights, random_below(seed, 200), 1);
    }
}

static inline void random_counts(ka_tally *tally, uint64_t *seed)
{
    int i;

    tally->lines = 1 + random_below(seed, 1000);
    tally->parsed = random_below(seed, 1000);
    tally->skipped = random_below(seed, 1000);
    tally->late = random_below(seed, 1000);
    tally->forgotten = random_below(seed, 1000);
    for (i = 0; i < KA_EXCLUDED_N; i++) {
        tally->excluded[i] = random_below(seed, 1000);
    }
    tally->requests = random_below(seed, 1000);
    tally->no_request = random_below(seed, 2) ? UINT64_MAX - 5 : 7;
    tally->http10 = random_below(seed, 1000);
    tally->http2 = random_below(seed, 1000);
    tally->aborted = random_below(seed, 1000);
    tally->final = random_below(seed, 1000);
    tally->not_http = random_below(seed, 1000);
    tally->tls = random_below(seed, 1000);
    tally->with_service = random_below(seed, 1000);
    tally->slow_bytes_n = random_below(seed, 1000);
    tally->slow_service_us = random_below(seed, 1000);
}

/* ---- samples ------------------------------------------------------------ */

static inline void random_sample_side(ka_sample_side *side, size_t timeout_n,
                                      uint64_t *seed)
{
    size_t k = (size_t)random_below(seed, timeout_n + 1);

    side->requests += random_below(seed, 9);
    side->opens += random_below(seed, 9);
    side->busy_us += random_below(seed, 900);
    side->idle[k].gap_n += random_below(seed, 9);
    side->idle[k].gap_us += random_below(seed, 900);
    side->idle[k].tail_n++;
    side->idle[k].tail_us += random_below(seed, 900);
}

/* Of a time within some days, of so many blocks at most. */
static inline ka_sample *random_sample(const ka_tally *tally, uint64_t *seed)
{
    const int64_t begin_us = (int64_t)random_below(seed, UINT64_C(1) << 38);
    const int64_t span_us =
        1 + (int64_t)random_below(seed, 40 * KA_SAMPLE_BLOCK_US);
    ka_sample *s = ka_sample_make(tally->timeouts, tally->timeout_n);
    int side, i;

    assert_non_null(s);
    ka_sample_begin(s, begin_us);
    ka_sample_end(s, begin_us + span_us);
    for (i = 0; i < 20; i++) {
        for (side = 0; side < (tally->bracket ? 2 : 1); side++) {
            random_sample_side(
                ka_sample_group_side(s, random_below(seed, KA_SAMPLE_GROUPS),
                                     side),
                s->timeout_n, seed);
            random_sample_side(
                ka_sample_block_side(s, random_below(seed, s->block_n), side),
                s->timeout_n, seed);
        }
    }
    return s;
}

static inline void assert_same_sums(const ka_sample_side *a,
                                    const ka_sample_side *b, size_t timeout_n)
{
    assert_true(a->requests == b->requests && a->opens == b->opens &&
                a->busy_us == b->busy_us && a->covered_us == b->covered_us);
    assert_memory_equal(a->idle, b->idle, (timeout_n + 1) * sizeof(*a->idle));
}

static inline void assert_same_sample(const ka_sample *a, const ka_sample *b,
                                      bool bracket)
{
    size_t i;
    int side;

    assert_int_equal(a == NULL, b == NULL);
    if (a == NULL) {
        return;
    }
    assert_int_equal(a->timeout_n, b->timeout_n);
    assert_int_equal(a->block_n, b->block_n);
    assert_int_equal(a->block_us, b->block_us);
    assert_int_equal(a->first, b->first);
    assert_int_equal(a->begin_us, b->begin_us);
    assert_int_equal(a->end_us, b->end_us);
    for (side = 0; side < (bracket ? 2 : 1); side++) {
        for (i = 0; i < KA_SAMPLE_GROUPS; i++) {
            assert_same_sums(ka_sample_group_side(a, i, side),
                             ka_sample_group_side(b, i, side), a->timeout_n);
        }
        for (i = 0; i < a->block_n; i++) {
            assert_same_sums(ka_sample_block_side(a, i, side),
                             ka_sample_block_side(b, i, side), a->timeout_n);
        }
    }
}

/* One part: of one server, under one T0.  To be freed; may be empty. */
static inline ka_tally *random_tally(uint64_t *seed, apr_pool_t *pool)
{
    static const int64_t more[] = {5000000, 7000000, 15000000};
    int64_t timeouts[5] = {KA_TIMEOUT_OFF, 1000000};
    size_t n = 2, i;
    ka_tally *tally;

    for (i = 0; i < 3; i++) {
        if (random_below(seed, 3) > 0) {
            timeouts[n++] = more[i];
        }
    }
    tally = ka_tally_make(timeouts, n, pool);
    assert_non_null(tally);
    if (random_below(seed, 10) == 0) {
        return tally;
    }
    tally->timeout_us = more[random_below(seed, 3)];
    tally->identity = (ka_identity)random_below(seed, KA_IDENTITY_LIVE + 1);
    tally->bracket = random_below(seed, 2);
    tally->clock_us = (int64_t)random_below(seed, 3);
    tally->service_clock_us = (int64_t)random_below(seed, 3);
    random_server(tally, seed);
    random_counts(tally, seed);
    random_requests(tally, seed);
    random_side(&tally->side[0], n, seed);
    if (tally->bracket) {
        random_side(&tally->side[1], n, seed);
    }
    if (random_below(seed, 8) > 0) {
        tally->sample = random_sample(tally, seed);
    }
    return tally;
}

static inline void assert_same_hist(const ka_hist *a, const ka_hist *b)
{
    assert_memory_equal(a, b, sizeof(*a));
}

static inline void assert_same_traffic(const ka_tally_traffic *a,
                                       const ka_tally_traffic *b)
{
    assert_true(a->requests == b->requests && a->bytes == b->bytes &&
                a->bytes_n == b->bytes_n &&
                a->peak_per_second == b->peak_per_second);
    assert_same_hist(&a->service, &b->service);
    assert_same_hist(&a->gap, &b->gap);
    assert_same_hist(&a->per_second, &b->per_second);
}

static inline void assert_same_side(const ka_tally_side *a,
                                    const ka_tally_side *b)
{
    size_t i;

    /* Those beyond timeout_n are empty. */
    for (i = 0; i < KA_TALLY_TIMEOUTS; i++) {
        const ka_tally_timeout *x = &a->timeouts[i], *y = &b->timeouts[i];

        assert_true(x->connections == y->connections && x->waits == y->waits &&
                    x->idle_us == y->idle_us);
        assert_same_occupancy(&x->held, &y->held);
    }
    assert_true(a->busy_us == b->busy_us && a->chains == b->chains);
    assert_same_occupancy(&a->busy, &b->busy);
    assert_same_hist(&a->gap, &b->gap);
    assert_same_hist(&a->tail, &b->tail);
    assert_same_hist(&a->lengths, &b->lengths);
    assert_same_hist(&a->parallel, &b->parallel);
}

static inline void assert_same_server(const ka_tally_server *a,
                                      const ka_tally_server *b)
{
    int id;

    assert_string_equal(a->name, b->name);
    assert_true(a->first_us == b->first_us && a->last_us == b->last_us &&
                a->window_us == b->window_us);
    for (id = 0; id < KA_FACTS; id++) {
        const ka_fact *x = &a->facts.facts[id], *y = &b->facts.facts[id];

        assert_int_equal(a->differs[id], b->differs[id]);
        assert_int_equal(x->known, y->known);
        assert_int_equal(x->assumed, y->assumed);
        assert_true(x->value == y->value);
        assert_string_equal(x->origin ? x->origin : "",
                            y->origin ? y->origin : "");
    }
}

static inline void assert_same_counts(const ka_tally *a, const ka_tally *b)
{
    assert_true(a->window_us == b->window_us);
    assert_int_equal(a->timeout_us, b->timeout_us);
    assert_int_equal(a->timeouts_differ, b->timeouts_differ);
    assert_int_equal(a->limit_n, b->limit_n);
    if (a->limit_n > 0) {
        assert_memory_equal(a->limits, b->limits,
                            a->limit_n * sizeof(*a->limits));
    }
    assert_int_equal(a->identity, b->identity);
    assert_int_equal(a->bracket, b->bracket);
    assert_true(a->clock_us == b->clock_us &&
                a->service_clock_us == b->service_clock_us);
    /* lines .. slow_service_us lie together. */
    assert_memory_equal(&a->lines, &b->lines,
                        offsetof(ka_tally, classes) -
                            offsetof(ka_tally, lines));
    assert_true(a->peak_per_second == b->peak_per_second);
    assert_same_hist(&a->per_second, &b->per_second);
    assert_int_equal(a->timeout_n, b->timeout_n);
    assert_memory_equal(a->timeouts, b->timeouts,
                        a->timeout_n * sizeof(*a->timeouts));
}

static inline void assert_same_tally(const ka_tally *a, const ka_tally *b)
{
    size_t i;

    assert_false(a->failed || b->failed);
    assert_same_counts(a, b);
    assert_int_equal(a->server_n, b->server_n);
    for (i = 0; i < a->server_n; i++) {
        assert_same_server(&a->servers[i], &b->servers[i]);
    }
    for (i = 0; i < KA_CLASS_N; i++) {
        assert_same_traffic(&a->classes[i], &b->classes[i]);
    }
    assert_int_equal(a->vhost_n, b->vhost_n);
    for (i = 0; i < a->vhost_n; i++) {
        assert_string_equal(a->vhosts[i]->name, b->vhosts[i]->name);
        assert_same_traffic(a->vhosts[i], b->vhosts[i]);
    }
    assert_int_equal(a->clients.n, b->clients.n);
    assert_memory_equal(a->clients.hashes, b->clients.hashes,
                        a->clients.n * sizeof(a->clients.hashes[0]));
    assert_int_equal(a->addresses.n, b->addresses.n);
    assert_memory_equal(&a->weights, &b->weights, sizeof(a->weights));
    assert_same_side(&a->side[0], &b->side[0]);
    assert_same_side(&a->side[1], &b->side[1]);
    assert_same_sample(a->sample, b->sample, a->bracket);
}

#endif
