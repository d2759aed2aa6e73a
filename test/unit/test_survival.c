/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include <ka_survival.h>
#include "unit.h"

#define SEC INT64_C(1000000)
#define T0 (5 * SEC)

/* A connection of a second that T0 ended, from `at` on. */
static ka_span timed_out(uint64_t client, int64_t at)
{
    return (ka_span){.client = client,
                     .start_us = at,
                     .first_us = at,
                     .idle_us = at + SEC,
                     .timed_out = true,
                     .limit_us = T0};
}

/* 20 clients; every second one comes back 9 s after its last response. */
static size_t make_spans(ka_span *spans)
{
    size_t n = 0;
    uint64_t client;

    for (client = 0; client < 20; client++) {
        spans[n++] = timed_out(client, 0);
        if (client % 2) {
            spans[n++] = (ka_span){.client = client,
                                   .start_us = 10 * SEC,
                                   .first_us = 10 * SEC,
                                   .idle_us = 11 * SEC};
        }
    }
    return n;
}

static void test_survival__all_known(void **state)
{
    ka_span spans[40];
    ka_survival s;

    ka_survival_make(&s, spans, make_spans(spans), KA_SPANS_ALL, *state);
    assert_int_equal(s.n, 1);
    assert_int_equal(s.over_us[0], 4 * SEC);
    assert_near(s.share[0], 0.5, 1e-12);
}

/* Ten more are seen for 1 s beyond T0 only: they say nothing of 4 s. */
static void test_survival__product_limit_of_censored_ones(void **state)
{
    ka_span spans[50];
    size_t n = make_spans(spans), i;
    ka_survival s;

    for (i = 0; i < 10; i++) {
        spans[n++] = timed_out(1000 + i, 23 * SEC);
    }
    ka_survival_make(&s, spans, n, 30 * SEC, *state);
    assert_int_equal(s.n, 1);
    assert_near(s.share[0], 0.5, 1e-12);
    ka_survival_make(&s, spans, n, KA_SPANS_ALL, *state);
    assert_near(s.share[0], 20 / 30.0, 1e-12);
}

static void test_survival__latest_end_first_and_each_once(void **state)
{
    ka_span spans[40];
    size_t n = make_spans(spans);
    ka_survival s;

    /* client 1 had two, and comes back twice: 9 s after the later one, and
     * 12 s after the earlier one */
    spans[n++] = timed_out(1, -2 * SEC);
    spans[n++] = (ka_span){.client = 1,
                           .start_us = 11 * SEC,
                           .first_us = 11 * SEC,
                           .idle_us = 12 * SEC};
    ka_survival_make(&s, spans, n, KA_SPANS_ALL, *state);
    assert_int_equal(s.n, 2);
    assert_int_equal(s.over_us[0], 4 * SEC);
    assert_int_equal(s.over_us[1], 7 * SEC);
    assert_near(s.share[1], 10 / 21.0, 1e-12);
}

/* One that begins while the other is still kept takes nothing up. */
static void test_survival__within_t0_is_no_return(void **state)
{
    ka_span spans[60];
    size_t n = 0, i;
    ka_survival s;

    for (i = 0; i < 20; i++) {
        spans[n++] = timed_out(i, 0);
        spans[n++] = (ka_span){.client = i,
                               .start_us = 4 * SEC,
                               .first_us = 4 * SEC,
                               .idle_us = 5 * SEC};
    }
    ka_survival_make(&s, spans, n, KA_SPANS_ALL, *state);
    assert_int_equal(s.n, 0);
}

static void test_survival__too_few_tell_nothing(void **state)
{
    ka_span spans[40];
    size_t n = make_spans(spans);
    ka_survival s;

    spans[0].timed_out = false;
    ka_survival_make(&s, spans, n, KA_SPANS_ALL, *state);
    assert_int_equal(s.n, 0);
    ka_survival_make(&s, spans, 0, 0, *state);
    assert_int_equal(s.n, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_survival__all_known),
        unit_test(test_survival__product_limit_of_censored_ones),
        unit_test(test_survival__latest_end_first_and_each_once),
        unit_test(test_survival__within_t0_is_no_return),
        unit_test(test_survival__too_few_tell_nothing)};

    return unit_main(tests);
}
