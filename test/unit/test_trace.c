/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"
#include "profile/trace.h"

static int trace_make(void **state)
{
    static ka_trace trace;

    ka_trace_init(&trace);
    *state = &trace;
    return 0;
}

static int trace_clear(void **state)
{
    ka_trace_clear(*state);
    return 0;
}

#define trace_test(function)                                                   \
    cmocka_unit_test_setup_teardown(function, trace_make, trace_clear)

static void assert_request(const ka_trace *trace, size_t i, uint32_t chain,
                           int64_t from_us, int64_t to_us, int64_t gap_us)
{
    const ka_trace_request *request = &trace->requests[i];

    assert_true(i < trace->request_n);
    assert_int_equal(request->chain, chain);
    assert_int_equal(request->busy_from_us, from_us);
    assert_int_equal(request->busy_to_us, to_us);
    assert_int_equal(request->gap_us, gap_us);
}

static void test_trace__empty_has_no_window(void **state)
{
    ka_trace *trace = *state;

    assert_int_equal(ka_trace_window(trace), 0);
    assert_int_equal(trace->request_n, 0);
    assert_int_equal(trace->chain_n, 0);
    assert_false(trace->failed);
}

static void test_trace__open_starts_a_chain(void **state)
{
    ka_trace *trace = *state;

    assert_int_equal(ka_trace_open(trace, 100, 150), 0);
    assert_int_equal(ka_trace_open(trace, 120, 130), 1);
    assert_request(trace, 0, 0, 100, 150, KA_GAP_OPENS);
    assert_request(trace, 1, 1, 120, 130, KA_GAP_OPENS);
    assert_int_equal(trace->tails[0].from_us, 150);
    assert_int_equal(trace->tails[0].len_us, 0);
    assert_int_equal(trace->begin_us, 100);
    assert_int_equal(trace->end_us, 150);
    assert_int_equal(ka_trace_window(trace), 50);
}

static void test_trace_follow__gap_or_joined(void **state)
{
    static const struct {
        int64_t begin, end;
        int64_t from, to, gap;
    } cases[] = {
        /* on a chain that is busy 100 .. 200 */
        {250, 300, 250, 300, 50},
        {200, 210, 200, 210, 0},
        {199, 260, 200, 260, KA_GAP_JOINED},
        {150, 180, 200, 200, KA_GAP_JOINED},
        {300, 290, 300, 300, 100},
        {150, 100, 200, 200, KA_GAP_JOINED},
    };
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_trace *trace = *state;
        uint32_t chain;

        ka_trace_clear(trace);
        chain = ka_trace_open(trace, 100, 200);
        ka_trace_follow(trace, chain, cases[i].begin, cases[i].end);
        assert_request(trace, 1, chain, cases[i].from, cases[i].to,
                       cases[i].gap);
        assert_int_equal(trace->tails[chain].from_us, cases[i].to);
        assert_int_equal(trace->end_us, cases[i].to);
    }
}

static void test_trace_tail__length_is_kept_from_negative(void **state)
{
    ka_trace *trace = *state;
    uint32_t chain = ka_trace_open(trace, 0, 10);

    ka_trace_tail_set(trace, chain, 77);
    assert_int_equal(trace->tails[chain].len_us, 77);
    ka_trace_follow(trace, chain, 20, 30);
    assert_int_equal(trace->tails[chain].from_us, 30);
    assert_int_equal(trace->tails[chain].len_us, 77);
    ka_trace_tail_set(trace, chain, -5);
    assert_int_equal(trace->tails[chain].len_us, 0);
}

static void test_trace__window_spans_unsorted_requests(void **state)
{
    ka_trace *trace = *state;

    ka_trace_open(trace, -50, 900);
    ka_trace_open(trace, 100, 200);
    ka_trace_open(trace, -70, -60);
    assert_int_equal(trace->begin_us, -70);
    assert_int_equal(trace->end_us, 900);
}

static void test_trace__extreme_times_do_not_overflow(void **state)
{
    ka_trace *trace = *state;
    uint32_t chain = ka_trace_open(trace, INT64_MIN, INT64_MIN);

    ka_trace_follow(trace, chain, INT64_MAX, INT64_MAX);
    ka_trace_follow(trace, chain, INT64_MIN, INT64_MAX);
    ka_trace_tail_set(trace, chain, INT64_MAX);
    assert_request(trace, 1, chain, KA_TRACE_TIME_MAX, KA_TRACE_TIME_MAX,
                   2 * KA_TRACE_TIME_MAX);
    assert_int_equal(ka_trace_window(trace), 2 * KA_TRACE_TIME_MAX);
    assert_int_equal(trace->tails[chain].len_us, KA_TRACE_TIME_MAX);
}

static void test_trace__no_chain_does_nothing(void **state)
{
    ka_trace *trace = *state;

    ka_trace_follow(trace, KA_CHAIN_NONE, 0, 1);
    ka_trace_tail_set(trace, KA_CHAIN_NONE, 1);
    assert_int_equal(trace->request_n, 0);
}

static void test_trace__grows_and_clears(void **state)
{
    ka_trace *trace = *state;
    uint32_t i;

    for (i = 0; i < 10000; i++) {
        assert_int_equal(ka_trace_open(trace, i * 10, i * 10 + 5), i);
        ka_trace_follow(trace, i, i * 10 + 7, i * 10 + 9);
    }
    assert_int_equal(trace->request_n, 20000);
    assert_int_equal(trace->chain_n, 10000);
    for (i = 0; i < 10000; i++) {
        assert_request(trace, 2 * i, i, i * 10, i * 10 + 5, KA_GAP_OPENS);
        assert_request(trace, 2 * i + 1, i, i * 10 + 7, i * 10 + 9, 2);
        assert_int_equal(trace->tails[i].from_us, i * 10 + 9);
    }
    ka_trace_clear(trace);
    assert_null(trace->requests);
    assert_int_equal(ka_trace_window(trace), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        trace_test(test_trace__empty_has_no_window),
        trace_test(test_trace__open_starts_a_chain),
        trace_test(test_trace_follow__gap_or_joined),
        trace_test(test_trace_tail__length_is_kept_from_negative),
        trace_test(test_trace__window_spans_unsorted_requests),
        trace_test(test_trace__extreme_times_do_not_overflow),
        trace_test(test_trace__no_chain_does_nothing),
        trace_test(test_trace__grows_and_clears),
    };

    return unit_main(tests);
}
