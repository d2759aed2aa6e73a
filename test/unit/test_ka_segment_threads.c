/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Several writers of one segment, and a reader beside them. */
#include <pthread.h>

#include "segment_written.h"

#define THREADS 4
#define ROUNDS 20000

static void *work(void *data)
{
    ka_segment_header *h = data;
    static int32_t pid = 1000;
    ka_writer w;
    int i;

    ka_writer_attach(&w, h, __atomic_add_fetch(&pid, 1, __ATOMIC_RELAXED), 0,
                     START_AT);
    for (i = 0; i < ROUNDS; i++) {
        ka_moment at = ka_writer_moment(&w, 5 + i / 5000);

        ka_writer_shift(&w, KA_OPENED, at);
        ka_writer_went(&w, true, at);
        ka_writer_went(&w, false, at);
        ka_stats_add_time(&w.stats[0], KA_QUANTITY_SERVICE, 5);
        ka_writer_second_request(at);
        ka_writer_recent(&w, &(ka_segment_recent){.life_us = (uint64_t)i,
                                                  .tail_us = (uint64_t)i});
        ka_writer_shift(&w, KA_BUSY_GONE, at);
    }
    return NULL;
}

static void test_threads__nothing_is_lost_or_torn(void **state)
{
    ka_segment_header *h = segment_made(*state);
    ka_segment_recent recent[4];
    ka_second seconds[4];
    pthread_t threads[THREADS];
    uint64_t requests = 0;
    size_t n, i;

    for (i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, work, h), 0);
    }
    for (i = 0; i < 2000; i++) {
        for (n = ka_recent_read(recent, 4, h); n > 0; n--) {
            assert_int_equal(recent[n - 1].life_us, recent[n - 1].tail_us);
        }
    }
    for (i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    n = ka_history_read(seconds, 4, h, INT64_MIN);
    for (i = 0; i < n; i++) {
        requests += seconds[i].requests;
        assert_in_range(seconds[i].open, 1, THREADS);
    }
    assert_int_equal(h->gauges, KA_GAUGE_ZERO);
    assert_int_equal(ka_stats_requests(stats_of(h, 0, *state)),
                     THREADS * ROUNDS);
    assert_int_equal(requests, THREADS * ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_threads__nothing_is_lost_or_torn)};

    return unit_main(tests);
}
