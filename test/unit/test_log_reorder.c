/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Requests in nearly any order in, in order of start out. */
#include "taken.h"

#include "sources/log_reorder.h"

#define SECOND INT64_C(1000000)
#define NOON INT64_C(1700000000)

typedef struct order_case {
    int64_t window_us;
    size_t limit;
    int64_t in[8]; /* starts, 0 ends; the request's bytes say its place */
    int64_t out[8];
    int64_t places[8]; /* of those that came out */
    int late;
} order_case;

static const order_case order_cases[] = {
    {10 * SECOND, 100, {5, 3, 4}, {3, 4, 5}, {1, 2, 0}, 0},
    {10 * SECOND, 100, {7, 7, 7, 6, 6}, {6, 6, 7, 7, 7}, {3, 4, 0, 1, 2}, 0},
    /* across seconds */
    {10 * SECOND,
     100,
     {3 * SECOND, 1 * SECOND, 2 * SECOND, 1},
     {1, 1 * SECOND, 2 * SECOND, 3 * SECOND},
     {3, 1, 2, 0},
     0},
    /* exactly the window is in time, one more is moved to the edge */
    {10 * SECOND,
     100,
     {30 * SECOND, 20 * SECOND, 20 * SECOND - 1, 25 * SECOND},
     {20 * SECOND, 20 * SECOND, 25 * SECOND, 30 * SECOND},
     {1, 2, 3, 0},
     1},
    /* a long silence in between */
    {10 * SECOND,
     100,
     {1, 900000 * SECOND, 900000 * SECOND - 5, 2},
     {1, 899990 * SECOND, 900000 * SECOND - 5, 900000 * SECOND},
     {0, 3, 2, 1},
     1},
    /* too many wait: the oldest second leaves; a line for it comes late */
    {10 * SECOND,
     3,
     {2 * SECOND + 5, 2 * SECOND, 3 * SECOND, 2 * SECOND + 5, 1 * SECOND},
     {2 * SECOND, 2 * SECOND + 5, 2 * SECOND + 5, 2 * SECOND + 5, 3 * SECOND},
     {1, 0, 3, 4, 2},
     1},
    /* a window of part of a second */
    {SECOND / 2, 100, {900000, 400000, 399999}, {400000, 400000, 900000},
     {1, 2, 0}, 1},
};

static void check_order(const order_case *c, apr_pool_t *pool)
{
    taken got = {.ascending = true};
    ka_reorder *order =
        ka_reorder_make(c->window_us, c->limit, take, &got, pool);
    int late = 0;

    for (size_t i = 0; i < 8 && c->in[i]; i++) {
        const ka_request request = {.begin_us = c->in[i],
                                    .bytes = (int64_t)i};

        late += ka_reorder_add(order, &request);
    }
    ka_reorder_flush(order);
    assert_true(got.ascending);
    assert_int_equal(late, c->late);
    for (size_t i = 0; i < 8 && c->in[i]; i++) {
        assert_true(i < got.n);
        assert_int_equal(got.requests[i].begin_us, c->out[i]);
        assert_int_equal(got.requests[i].bytes, c->places[i]);
    }
    free(got.requests);
}

static void test_reorder__cases(void **state)
{
    for (size_t i = 0; i < sizeof(order_cases) / sizeof(order_cases[0]); i++) {
        check_order(&order_cases[i], *state);
    }
}

/* Against a stable sort, with more requests than wait at a time. */
static void test_reorder__a_million_nearly_sorted(void **state)
{
    taken got = {.ascending = true};
    ka_reorder *order = ka_reorder_make(600 * SECOND, 1u << 20, take, &got,
                                        *state);
    uint64_t random = 7;
    uint64_t sum = 0;

    for (int64_t i = 0; i < 1000000; i++) {
        ka_request request = {.bytes = i};

        random = random * UINT64_C(6364136223846793005) + 1;
        request.begin_us = NOON * SECOND + i * 5000
                           - (int64_t)(random >> 40) * 30; /* up to 503 s */
        sum += (uint64_t)request.begin_us;
        assert_false(ka_reorder_add(order, &request));
    }
    ka_reorder_flush(order);
    assert_true(got.ascending);
    assert_int_equal(got.n, 1000000);
    for (size_t i = 0; i < got.n; i++) {
        sum -= (uint64_t)got.requests[i].begin_us;
        if (i && got.requests[i].begin_us == got.requests[i - 1].begin_us) {
            assert_true(got.requests[i].bytes > got.requests[i - 1].bytes);
        }
    }
    assert_int_equal(sum, 0);
    free(got.requests);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_reorder__cases),
        unit_test(test_reorder__a_million_nearly_sorted),
    };

    return unit_main(tests);
}
