/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A stream counts what grouping, profile and sweep find on the same requests:
 * MODEL 7.4, [M4] [M5] [M8] [M11]. */
#include "unit.h"

#include <profile/stream_priv.h>
#include <sources/logformat.h>

#include "stream_both.h"

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
    assert_demands(b, pool);
    assert_profile(b, pool);
    both_free(b);
}

static void test_stream__equals_grouping_and_sweep(void **state)
{
    size_t i, s;

    for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        for (s = 1; s <= 20; s++) {
            /* Not Off, under which a final response ends nothing. */
            const bool off = s % 5 == 0 && !(kinds[i].flags & KA_REQ_FINAL);

            run_kind(&kinds[i], s, seconds_us(off ? 0 : 5 + s % 4 * 5), *state);
        }
    }
}

/* ---- what must not change anything --------------------------------------- */

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

/* Each is one thread's, and keeps the names of vhosts in its pool. */
static void test_stream__shards_have_pools_of_their_own(void **state)
{
    const ka_source_info info = {.clock_us = 1000000};
    ka_shard shards[KA_SHARDS];
    ka_tally *tally = ka_tally_make(NULL, 0, *state);
    size_t i, j;

    assert_true(ka_shards_init(shards, tally, &info));
    for (i = 0; i < KA_SHARDS; i++) {
        for (j = 0; j < i; j++) {
            assert_ptr_not_equal(shards[i].tally->pool,
                                 shards[j].tally->pool);
        }
    }
    ka_shards_clear(shards);
    ka_tally_free(tally);
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

/* Two pipes: what the first one has must not go before the second one tells
 * where it begins. */
static void test_stream__nothing_is_reached_until_all_files_tell(void **state)
{
    both *one = make_log(&kinds[0], 5), *other = make_log(&kinds[0], 5);
    feed f = {.items = other->q.items,
              .n = other->q.n,
              .batch = 10,
              .untold = 200};

    stream_all(one, one->q.items, 333, 1, seconds_us(5), KA_STREAM_CLIENTS,
               *state);
    stream_feed(other, &f, 2, seconds_us(5), KA_STREAM_CLIENTS, *state);
    assert_int_equal(other->tally->late, 0);
    assert_same_tally(one->tally, other->tally);
    both_free(one);
    both_free(other);
}

/* From the year 10000 back to this century: the sanitizer sees it if that
 * adds up. */
static void test_stream__lines_millennia_late_are_counted(void **state)
{
    both *b = make_log(&kinds[0], 7);
    size_t i;

    for (i = 0; i < b->q.n; i++) {
        b->q.items[i].address = 1;
    }
    b->q.items[0].begin_us = INT64_C(253402300799) * 1000000 - seconds_us(999);
    b->q.items[1].begin_us = b->q.items[0].begin_us + seconds_us(999);
    stream_all(b, b->q.items, 2, 1, seconds_us(5), KA_STREAM_CLIENTS, *state);
    assert_int_equal(b->tally->late, b->q.n - 2);
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
        unit_test(test_stream__shards_have_pools_of_their_own),
        unit_test(test_stream__lines_out_of_order_are_put_in_order),
        unit_test(test_stream__what_is_late_is_counted),
        unit_test(test_stream__nothing_is_reached_until_all_files_tell),
        unit_test(test_stream__lines_millennia_late_are_counted),
        unit_test(test_stream__forgets_clients_early_and_says_so),
        unit_test(test_stream__nothing_is_nothing),
        unit_test(test_stream_fits__formats_that_name_no_connection),
    };

    return unit_main(tests);
}
