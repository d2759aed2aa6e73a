/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Whether requests that were counted one by one and requests that were kept
 * come to the same. */
#ifndef KA_TEST_BOTH_WAYS_H
#define KA_TEST_BOTH_WAYS_H

#include <crew.h>
#include <model/sweep.h>
#include <profile/keymap.h>
#include <profile/tally.h>

#include "requests.h"

#define FIRST_S 1700000000

static uint64_t seed;

static inline uint64_t draw(uint64_t n)
{
    seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return (seed >> 33) % n;
}

/* One log, both ways. */
typedef struct both {
    requests q;
    ka_source_info info;
    ka_connection_options options;
    ka_connections connections;
    ka_outcome *low, *high; /* of the sweep */
    ka_profile profile;
    ka_tally *tally;
    const int64_t *timeouts;
    size_t n;
} both;

static const char *const names[] = {"", "a.example", "b.example"};

/* Counts from 512 on share bins (occupancy.h). */
static inline double bin_of(double count)
{
    return count < 512 ? 1e-9 : count / 256;
}

static inline void assert_held(const ka_held *is, const ka_held *of)
{
    assert_near(is->mean, of->mean, 1e-6);
    assert_near(is->variance, of->variance, 1e-6);
    assert_near(is->p99, of->p99, bin_of(of->p99));
    assert_near(is->p999, of->p999, bin_of(of->p999));
    assert_near(is->peak, of->peak, 1e-9);
}

/* Second by second, of the side that needs more. */
static inline void assert_demand(const both *b, int64_t timeout_us,
                                 ka_demand_kind kind, apr_pool_t *pool)
{
    const ka_connections *c = &b->connections;
    ka_demand is, of;

    assert_true(ka_tally_demand(&is, b->tally, timeout_us, kind));
    assert_true(ka_demand_of_trace(&of, c->bracket ? &c->high : &c->low,
                                   timeout_us, kind, pool));
    assert_int_equal(is.first_us, of.first_us);
    assert_int_equal(is.n, of.n);
    assert_memory_equal(is.holders, of.holders, of.n * sizeof(*of.holders));
    assert_memory_equal(is.arrivals, of.arrivals, of.n * sizeof(*of.arrivals));
}

static inline void assert_demands(const both *b, apr_pool_t *pool)
{
    size_t j;

    for (j = 0; j < b->n; j++) {
        assert_demand(b, b->timeouts[j], KA_DEMAND_HELD, pool);
    }
    assert_demand(b, KA_TIMEOUT_OFF, KA_DEMAND_BUSY, pool);
}

static inline void assert_dist(const ka_dist *is, const ka_dist *of)
{
    assert_int_equal(is->n, of->n);
    assert_near(is->mean, of->mean, 1e-9);
    assert_near(is->p50, of->p50, 1e-9);
    assert_near(is->p99, of->p99, 1e-9);
    assert_near(is->max, of->max, 1e-9);
}

static inline void assert_traffic(const ka_traffic *is, const ka_traffic *of)
{
    assert_string_equal(is->name, of->name);
    assert_int_equal(is->requests, of->requests);
    assert_int_equal(is->bytes, of->bytes);
    assert_int_equal(is->bytes_n, of->bytes_n);
    assert_near(is->requests_per_s, of->requests_per_s, 1e-9);
    assert_near(is->p99_per_s, of->p99_per_s, 1e-9);
    assert_near(is->peak_per_s, of->peak_per_s, 1e-9);
    assert_memory_equal(&is->service, &of->service, sizeof(is->service));
    assert_memory_equal(&is->gap, &of->gap, sizeof(is->gap));
}

#endif
