/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A stream that is fed request by request: MODEL 7.4. */
#include "unit.h"

#include <profile/stream_requests.h>

#include "stream_both.h"

static void requests_all(both *b, bool off, apr_pool_t *pool)
{
    ka_stream_requests *feed;
    ka_stream *stream;
    ka_crew *crew;
    size_t i;

    assert_int_equal(ka_crew_make(&crew, 2, pool), APR_SUCCESS);
    b->tally = ka_tally_make(b->timeouts, b->n, pool);
    b->tally->timeout_us = seconds_us(5);
    stream = ka_stream_make(b->tally, &b->info, KA_STREAM_CLIENTS,
                            KA_STREAM_WAITING, crew);
    feed = ka_stream_requests_make(stream, off);
    assert_non_null(feed);
    for (i = 0; i < b->q.n; i++) {
        ka_stream_requests_take(feed, &b->q.items[i]);
    }
    ka_stream_requests_end(feed);
    assert_int_equal(ka_stream_finish(stream), APR_SUCCESS);
    ka_stream_requests_free(feed);
    ka_stream_free(stream);
}

static void test_stream_requests__order_is_that_of_batches(void **state)
{
    both *one = make_log(&kinds[5], 31), *other = make_log(&kinds[5], 31);

    stream_all(one, one->q.items, 333, 1, seconds_us(5), KA_STREAM_CLIENTS,
               *state);
    requests_all(other, false, *state);
    assert_same_tally(one->tally, other->tally);
    both_free(one);
    both_free(other);
}

/* A stamp in hundredths and no service time: coarse, but finer than a second.
 */
static void test_stream_requests__finer_clocks_equal_grouping(void **state)
{
    size_t s;

    for (s = 1; s <= 5; s++) {
        both *b = make_log(&kinds[5], s);

        b->info.clock_us = 20000;
        group_all(b, seconds_us(5), *state);
        requests_all(b, false, *state);
        assert_side(b, false);
        assert_side(b, true);
        both_free(b);
    }
}

/* Under KeepAlive Off a final response ends no chain. */
static void test_stream_requests__off_says_nothing_about_clients(void **state)
{
    both *b = make_log(&kinds[5], 32), *other = make_log(&kinds[5], 32);
    size_t i;

    for (i = 0; i < b->q.n; i++) {
        b->q.items[i].flags &= (uint16_t)~KA_REQ_FINAL;
    }
    requests_all(b, false, *state);
    requests_all(other, true, *state);
    assert_same_tally(b->tally, other->tally);
    both_free(b);
    both_free(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_stream_requests__order_is_that_of_batches),
        unit_test(test_stream_requests__finer_clocks_equal_grouping),
        unit_test(test_stream_requests__off_says_nothing_about_clients),
    };

    return unit_main(tests);
}
