/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Whether a tally's profile and outcomes are those of the requests. */
#ifndef KA_TEST_SAME_H
#define KA_TEST_SAME_H

#include "tallies.h"

static inline void assert_same_dist(ka_dist a, ka_dist b)
{
    assert_int_equal(a.n, b.n);
    assert_near(a.mean, b.mean, 0);
    assert_near(a.p50, b.p50, 0);
    assert_near(a.p90, b.p90, 0);
    assert_near(a.p99, b.p99, 0);
    assert_near(a.max, b.max, 0);
}

static inline void assert_same_stats(const ka_connection_stats *a,
                                     const ka_connection_stats *b)
{
    assert_int_equal(a->connections, b->connections);
    assert_same_dist(a->requests_per_connection, b->requests_per_connection);
    assert_near(a->single_share, b->single_share, 0);
    assert_same_dist(a->parallel, b->parallel);
    assert_int_equal(a->clients, b->clients);
}

static inline void assert_same_rates(const ka_traffic *a, const ka_traffic *b)
{
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->requests, b->requests);
    assert_near(a->requests_per_s, b->requests_per_s, 1e-9);
    assert_near(a->p99_per_s, b->p99_per_s, 0);
    assert_near(a->peak_per_s, b->peak_per_s, 0);
    assert_same_hist(&a->service, &b->service);
    assert_same_hist(&a->gap, &b->gap);
    assert_int_equal(a->bytes, b->bytes);
    assert_int_equal(a->bytes_n, b->bytes_n);
}

/* Vhosts with as many requests may be in another order. */
static inline const ka_traffic *vhost_of(const ka_profile *p, const char *name)
{
    size_t i;

    for (i = 0; i < p->vhost_n; i++) {
        if (!strcmp(p->vhosts[i].name, name)) {
            return &p->vhosts[i];
        }
    }
    return NULL;
}

static inline void assert_same_vhosts(const ka_profile *a, const ka_profile *b)
{
    size_t i;

    assert_int_equal(a->vhost_n, b->vhost_n);
    assert_int_equal(a->vhosts_more, b->vhosts_more);
    for (i = 0; i < a->vhost_n; i++) {
        const ka_traffic *other = vhost_of(b, a->vhosts[i].name);

        assert_non_null(other);
        assert_same_rates(&a->vhosts[i], other);
        assert_int_equal(a->vhosts[i].requests, b->vhosts[i].requests);
    }
}

static inline void assert_same_profile(const ka_profile *a, const ka_profile *b)
{
    int i;

    assert_near(a->window_s, b->window_s, 1e-9);
    assert_int_equal(a->first_us, b->first_us);
    assert_int_equal(a->last_us, b->last_us);
    assert_same_rates(&a->total, &b->total);
    for (i = 0; i < KA_CLASS_N; i++) {
        assert_same_rates(&a->classes[i], &b->classes[i]);
    }
    assert_same_vhosts(a, b);
    assert_int_equal(a->addresses, b->addresses);
    /* Of 17 addresses hardly two share a cell in both rows. */
    assert_near(a->top_address_share, b->top_address_share, 1e-12);
    assert_int_equal(a->http10, b->http10);
    assert_int_equal(a->http2, b->http2);
    assert_int_equal(a->aborted, b->aborted);
    assert_int_equal(a->final, b->final);
    assert_int_equal(a->not_http, b->not_http);
    assert_int_equal(a->no_request, b->no_request);
    assert_int_equal(a->tls, b->tls);
    assert_int_equal(a->with_service, b->with_service);
    assert_int_equal(a->slow_bytes_n, b->slow_bytes_n);
    assert_int_equal(a->slow_service_us, b->slow_service_us);
    assert_int_equal(a->bracket, b->bracket);
    assert_same_stats(&a->low, &b->low);
    assert_same_stats(&a->high, &b->high);
}

static inline void assert_same_held(const ka_held *a, const ka_held *b,
                                    const ka_outcome *o)
{
    /* Each instant moves by less than a millisecond. */
    double moved = 4e-3 * (double)o->requests / o->window_s;

    assert_near(a->mean, b->mean, moved);
    assert_near(a->variance, b->variance, 3 * moved * (1 + a->peak));
    assert_near(a->p99, b->p99, 1);
    assert_near(a->p999, b->p999, 1);
    assert_near(a->peak, b->peak, 0);
    assert_near(a->workers, b->workers, 1);
}

static inline void assert_same_outcome(const ka_outcome *a, const ka_outcome *b)
{
    assert_int_equal(a->timeout_us, b->timeout_us);
    assert_int_equal(a->measured, b->measured);
    assert_int_equal(a->requests, b->requests);
    assert_int_equal(a->connections, b->connections);
    assert_int_equal(a->timeout_closes, b->timeout_closes);
    assert_int_equal(a->idle_us, b->idle_us);
    assert_int_equal(a->busy_us, b->busy_us);
    assert_near(a->reuse, b->reuse, 1e-12);
    assert_near(a->window_s, b->window_s, 1e-9);
    assert_near(a->connections_per_s, b->connections_per_s, 1e-9);
    assert_near(a->handshakes_saved_per_s, b->handshakes_saved_per_s, 1e-9);
    assert_near(a->idle_mean, b->idle_mean, 1e-9);
    assert_near(a->busy_mean, b->busy_mean, 1e-9);
    assert_near(a->held_mean, b->held_mean, 1e-9);
    assert_near(a->linger_bound_mean, b->linger_bound_mean, 1e-9);
    assert_near(a->held_per_second, b->held_per_second, 1e-9);
    assert_same_held(&a->held, &b->held, a);
    assert_same_held(&a->busy, &b->busy, a);
}

#endif
