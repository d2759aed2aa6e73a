/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A stream counts what grouping, profile and sweep find on the same requests:
 * MODEL 7.4, [M4] [M5] [M8] [M11]. */
#include "unit.h"

#include <crew.h>
#include <model/sweep.h>
#include <profile/keymap.h>
#include <profile/stream.h>
#include <sources/logformat.h>

#include "requests.h"
#include "both_ways.h"

#define FIRST_S 1700000000

static uint64_t seed;

static uint64_t draw(uint64_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (seed >> 33) % n;
}

/* ---- one log, both ways -------------------------------------------------- */

typedef struct both {
    requests q;
    ka_source_info info;
    ka_connections connections;
    ka_outcome *low, *high; /* of the sweep */
    ka_profile profile;
    ka_tally *tally;
    const int64_t *timeouts;
    size_t n;
} both;

static const char *const names[] = {"", "a.example", "b.example"};

static ka_hit hit_of(const ka_request *r)
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
} feed;

/* Batches of a size, each request in its part. */
static void feed_all(const feed *f)
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
        batch.reached_us = to == f->n ? INT64_MAX : newest_us;
        ka_stream_take(f->stream, &batch);
    }
}

static void stream_all(both *b, const ka_request *items, size_t batch,
                       size_t workers, int64_t timeout_us, uint32_t clients,
                       apr_pool_t *pool)
{
    ka_crew *crew;
    feed f = {.items = items, .n = b->q.n, .batch = batch};

    assert_int_equal(ka_crew_make(&crew, workers, pool), APR_SUCCESS);
    b->tally = ka_tally_make(b->timeouts, b->n, pool);
    b->tally->timeout_us = timeout_us;
    f.stream = ka_stream_make(b->tally, &b->info, clients, KA_STREAM_WAITING,
                              crew);
    assert_non_null(f.stream);
    feed_all(&f);
    assert_int_equal(ka_stream_finish(f.stream), APR_SUCCESS);
    ka_stream_free(f.stream);
}

static void group_all(both *b, int64_t timeout_us, apr_pool_t *pool)
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

static void both_free(both *b)
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
};

static ka_request random_request(const kind *k)
{
    static const unsigned flags[] = {KA_REQ_HTTP10, KA_REQ_HTTP2,
                                     KA_REQ_NOT_HTTP};
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
    const unsigned flag = flags[draw(3)];

    if (k->flags & flag && draw(3) == 0) {
        r.flags = (uint16_t)flag;
    }
    return r;
}

static int compare_starts(const void *a, const void *b)
{
    const ka_request *x = a, *y = b;

    return (x->begin_us > y->begin_us) - (x->begin_us < y->begin_us);
}

static both *make_log(const kind *k, uint64_t of_seed)
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

static void assert_side(const both *b, bool high)
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

static void assert_profile(const both *b, apr_pool_t *pool)
{
    const ka_profile *of = &b->profile;
    ka_tally *t = b->tally;
    ka_tally_server *server = ka_tally_server_at(t, "");
    ka_profile is;
    size_t i;

    server->first_us = of->first_us;
    server->last_us = of->last_us;
    server->window_us = t->window_us;
    ka_tally_profile(&is, t, pool);
    assert_near(is.window_s, of->window_s, 1e-9);
    assert_traffic(&is.total, &of->total);
    for (i = 0; i < KA_CLASS_N; i++) {
        assert_traffic(&is.classes[i], &of->classes[i]);
    }
    assert_int_equal(is.vhost_n, of->vhost_n);
    for (i = 0; i < of->vhost_n; i++) {
        assert_traffic(&is.vhosts[i], &of->vhosts[i]);
    }
    assert_int_equal(is.addresses, of->addresses);
    assert_int_equal(is.low.clients, of->low.clients);
    assert_int_equal(is.http10, of->http10);
    assert_int_equal(is.http2, of->http2);
    assert_int_equal(is.bracket, of->bracket);
    assert_dist(&is.low.requests_per_connection,
                &of->low.requests_per_connection);
    assert_dist(&is.high.requests_per_connection,
                &of->high.requests_per_connection);
    assert_near(is.high.single_share, of->high.single_share, 1e-9);
}

static void run_kind(const kind *k, uint64_t of_seed, int64_t timeout_us,
                     apr_pool_t *pool)
{
    both *b = make_log(k, of_seed);
    group_all(b, timeout_us, pool);
    stream_all(b, b->q.items, 50 + draw(1000), 1, timeout_us,
               KA_STREAM_CLIENTS, pool);
    assert_int_equal(b->tally->bracket, b->connections.bracket);
    assert_side(b, false);
    if (b->tally->bracket) {
        assert_side(b, true);
    }
    assert_profile(b, pool);
    both_free(b);
}

static void test_stream__equals_grouping_and_sweep(void **state)
{
    size_t i, s;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (s = 1; s <= 20; s++) {
            run_kind(&kinds[i], s, seconds_us(s % 5 * 5), *state);
        }
    }
}

/* ---- what must not change anything --------------------------------------- */

static bool same_occupancy(const ka_occupancy *a, const ka_occupancy *b)
{
    return a->ms == b->ms && a->sum == b->sum && a->squares == b->squares &&
           a->peak == b->peak && a->hour_n == b->hour_n &&
           !memcmp(a->hours, b->hours, a->hour_n * sizeof(*a->hours));
}

static void assert_same_tally(const ka_tally *a, const ka_tally *b)
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

static void test_stream__threads_and_batches_do_not_show(void **state)
{
    static const struct {
        size_t batch, workers;
    } ways[] = {{1, 1}, {7, 2}, {100, 3}, {5000, 4}};
    size_t i;

    for (i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        both *one = make_log(&kinds[2], 77), *other = make_log(&kinds[2], 77);

        stream_all(one, one->q.items, 333, 1, seconds_us(5),
                   KA_STREAM_CLIENTS, *state);
        stream_all(other, other->q.items, ways[i].batch, ways[i].workers,
                   seconds_us(5), KA_STREAM_CLIENTS, *state);
        assert_same_tally(one->tally, other->tally);
        both_free(one);
        both_free(other);
    }
}

static void test_stream__lines_out_of_order_are_put_in_order(void **state)
{
    both *one = make_log(&kinds[0], 5), *other = make_log(&kinds[0], 5);
    size_t i;

    /* Neighbours change places, but not those of one second. */
    for (i = 0; i + 1 < other->q.n; i += 2) {
        ka_request *r = &other->q.items[i], swap = r[0];

        if (r[0].begin_us != r[1].begin_us) {
            r[0] = r[1];
            r[1] = swap;
        }
    }
    stream_all(one, one->q.items, 333, 1, seconds_us(5), KA_STREAM_CLIENTS,
               *state);
    stream_all(other, other->q.items, 10, 2, seconds_us(5), KA_STREAM_CLIENTS,
               *state);
    assert_int_equal(other->tally->late, 0);
    assert_same_tally(one->tally, other->tally);
    both_free(one);
    both_free(other);
}

static void test_stream__what_is_late_is_counted(void **state)
{
    both *b = make_log(&kinds[0], 6);

    /* The first request comes last, most of an hour late. */
    b->q.items[b->q.n - 1].begin_us = b->q.items[0].begin_us;
    stream_all(b, b->q.items, 10, 1, seconds_us(5), KA_STREAM_CLIENTS, *state);
    assert_int_equal(b->tally->late, 1);
    assert_int_equal(b->tally->requests, b->q.n);
    both_free(b);
}

/* ---- room ---------------------------------------------------------------- */

/* Each request is a client of its own, ten a second: 3,000 are there at once,
 * and there is room for some 1,000. */
static void test_stream__forgets_clients_early_and_says_so(void **state)
{
    both *b = make_log(&kinds[0], 8);
    size_t i;

    b->q.n = REQUESTS_MAX;
    for (i = 0; i < b->q.n; i++) {
        ka_request *r = &b->q.items[i];

        *r = random_request(&kinds[0]);
        r->client = r->address = ka_key_mix(i + 1) | 1;
        r->client_limit_us = seconds_us(300);
        r->begin_us = seconds_us((double)(FIRST_S + i / 10));
    }
    stream_all(b, b->q.items, 100, 1, seconds_us(5), 1000, *state);
    assert_true(b->tally->forgotten > 2000);
    assert_true(b->tally->forgotten < REQUESTS_MAX);
    /* Nobody comes back, so what is counted is the same. */
    assert_int_equal(b->tally->side[0].chains, REQUESTS_MAX);
    assert_int_equal(ka_hist_count(&b->tally->side[0].tail), REQUESTS_MAX);
    both_free(b);
}

static void test_stream__nothing_is_nothing(void **state)
{
    both *b = make_log(&kinds[0], 9);

    b->q.n = 0;
    stream_all(b, b->q.items, 100, 1, seconds_us(5), KA_STREAM_CLIENTS, *state);
    assert_int_equal(b->tally->requests, 0);
    both_free(b);
}

static void test_stream_fits__formats_that_name_no_connection(void **state)
{
    static const struct {
        uint64_t fields;
        int64_t clock_us;
        bool fits;
    } rows[] = {
        {KA_LF_BIT(KA_LF_HOST) | KA_LF_BIT(KA_LF_USER_AGENT), 1000000, true},
        {KA_LF_BIT(KA_LF_SERVICE), 1000000, true},
        {KA_LF_BIT(KA_LF_REMOTE_PORT), 1000000, false},
        {KA_LF_BIT(KA_LF_PID), 1000000, false},
        {KA_LF_BIT(KA_LF_UNIQUE_ID), 1000000, false},
        {KA_LF_BIT(KA_LF_KEEPALIVES), 1000000, false},
        {KA_LF_BIT(KA_LF_CONN_STATUS), 1000000, false},
        {KA_LF_BIT(KA_LF_HOST), 1, false},
        {KA_LF_BIT(KA_LF_HOST), 1000, false},
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const ka_source_info info = {.fields = rows[i].fields,
                                     .clock_us = rows[i].clock_us};

        assert_int_equal(ka_stream_fits(&info), rows[i].fits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_stream__equals_grouping_and_sweep),
        unit_test(test_stream__threads_and_batches_do_not_show),
        unit_test(test_stream__lines_out_of_order_are_put_in_order),
        unit_test(test_stream__what_is_late_is_counted),
        unit_test(test_stream__forgets_clients_early_and_says_so),
        unit_test(test_stream__nothing_is_nothing),
        unit_test(test_stream_fits__formats_that_name_no_connection),
    };

    return unit_main(tests);
}
