/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * For tests of the simulator against closed forms: random traces, a server with
 * workers for everybody, and equality of outcomes. */
#ifndef KA_TEST_SIM_TRACES_H
#define KA_TEST_SIM_TRACES_H

#include "unit.h"
#include "model/random.h"
#include "model/sweep.h"
#include "sim_fixed.h"

#define SEC INT64_C(1000000)
#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static const int64_t timeouts[] = {
    KA_TIMEOUT_OFF, 0,        1,        1000,     SEC / 4,   SEC,
    5 * SEC,        15 * SEC, 60 * SEC, 90 * SEC, 300 * SEC, INT64_MAX / 2,
};

/* ---- random traces ------------------------------------------------------ */

typedef struct shape {
    bool joins; /* HTTP/2 */
    int64_t gap_least_us; /* and its unit; 0: any */
    int64_t start_within_us;
} shape;

/* Any size, the timeouts themselves included. */
static inline int64_t random_time(ka_random *r, int64_t least)
{
    static const int64_t scales[] = {1, 1000, SEC / 10, SEC, 20 * SEC};
    uint32_t kind = ka_random_below(r, 8);
    int64_t time = (int64_t)ka_random_below(r, 100) *
                   scales[ka_random_below(r, COUNT_OF(scales))];

    if (kind < 2) {
        time = timeouts[1 + ka_random_below(r, COUNT_OF(timeouts) - 2)];
    }
    return least ? (time / least + 1) * least : time;
}

/* Drawn apart, so that times do not depend on it. */
static inline uint8_t random_class(const ka_random *r)
{
    ka_random other = {r->state ^ UINT64_C(0x5bd1e995)};

    return (uint8_t)ka_random_below(&other, KA_CLASS_N + 1);
}

static inline void add_chain(ka_trace *trace, ka_random *r, const shape *shape)
{
    int64_t at = ka_random_below(r, (uint32_t)(shape->start_within_us / 1000)) *
                 INT64_C(1000);
    uint32_t n = ka_random_below(r, 9), i;
    int64_t end = at + random_time(r, 0) / 8;
    uint32_t chain = ka_trace_open(trace, at, end);

    ka_trace_class_set(trace, random_class(r));
    for (i = 0; i < n; i++) {
        bool joins = shape->joins && ka_random_below(r, 4) == 0 && end > at;

        at = joins ? at + (end - at) / 2
                   : end + random_time(r, shape->gap_least_us);
        end = (at > end ? at : end) + random_time(r, 0) / 8;
        ka_trace_follow(trace, chain, at, end);
        ka_trace_class_set(trace, random_class(r));
    }
    ka_trace_tail_set(trace, chain,
                      ka_random_below(r, 3) ? random_time(r, 0) : 0);
}

static inline void random_trace(ka_trace *trace, ka_random *r,
                                const shape *shape)
{
    uint32_t n = 1 + ka_random_below(r, 80), i;

    ka_trace_init(trace);
    for (i = 0; i < n; i++) {
        add_chain(trace, r, shape);
    }
}

/* ---- comparison --------------------------------------------------------- */

/* Children enough from the first instant to the last. */
static inline ka_sim_config ample(ka_mpm mpm, int64_t timeout_us)
{
    uint32_t threads = mpm == KA_MPM_PREFORK ? 1 : 400;
    ka_sim_config c = sim_fixed(mpm, 800 / threads, threads);

    c.timeout_us = timeout_us;
    c.max_requests = 0;
    return c;
}

static inline void assert_held(const ka_held *is, const ka_held *of)
{
    assert_near(is->mean, of->mean, 1e-9 * (1 + of->mean));
    assert_near(is->variance, of->variance, 1e-7 * (1 + of->variance));
    assert_near(is->p99, of->p99, 0);
    assert_near(is->p999, of->p999, 0);
    assert_near(is->peak, of->peak, 0);
    assert_near(is->workers, of->workers, 0);
}

static inline void assert_outcome(const ka_outcome *is, const ka_outcome *of)
{
    assert_int_equal(is->timeout_us, of->timeout_us);
    assert_int_equal(is->requests, of->requests);
    assert_int_equal(is->connections, of->connections);
    assert_int_equal(is->timeout_closes, of->timeout_closes);
    assert_int_equal(is->idle_us, of->idle_us);
    assert_int_equal(is->busy_us, of->busy_us);
    assert_near(is->window_s, of->window_s, 0);
    assert_near(is->connections_per_s, of->connections_per_s, 1e-12);
    assert_near(is->reuse, of->reuse, 1e-12);
    assert_near(is->handshakes_saved_per_s, of->handshakes_saved_per_s, 1e-12);
    assert_near(is->idle_mean, of->idle_mean, 1e-12 * (1 + of->idle_mean));
    assert_near(is->busy_mean, of->busy_mean, 1e-12 * (1 + of->busy_mean));
    assert_near(is->held_mean, of->held_mean, 1e-12 * (1 + of->held_mean));
    assert_near(is->linger_bound_mean, of->linger_bound_mean, 1e-12);
    assert_near(is->held_per_second, of->held_per_second, 1e-12);
    assert_held(&is->held, &of->held);
    assert_held(&is->busy, &of->busy);
}

static inline ka_sim_result simulate(const ka_trace *trace,
                                     const ka_sim_config *c, apr_pool_t *pool)
{
    ka_sim_traffic traffic;
    ka_sim_result result;

    assert_int_equal(ka_sim_traffic_of_trace(&traffic, trace, pool),
                     APR_SUCCESS);
    assert_int_equal(ka_sim_run(&result, c, &traffic, 1, pool), APR_SUCCESS);
    return result;
}

#endif
