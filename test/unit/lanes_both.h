/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Random logs that name connections, and what lanes and grouping make of them.
 */
#ifndef KA_TEST_LANES_BOTH_H
#define KA_TEST_LANES_BOTH_H

#include <profile/lanes.h>

#include "both_ways.h"

#define STEP_US 100000 /* a tick of the timeline: on these all is exact */

/* ---- logs ---------------------------------------------------------------- */

typedef struct kind {
    const char *name;
    ka_identity identity;
    int threaded;
    unsigned clients;
    unsigned ports;  /* a client's, or slots of the server */
    unsigned pause;  /* most tenths of a second between requests, or nearly */
    unsigned flags;  /* drawn now and then */
    int64_t grain_us; /* of all times */
    bool coarse;     /* the log's clocks are those of a second */
} kind;

#define ANY_FLAG                                                              \
    (KA_REQ_HTTP10 | KA_REQ_HTTP2 | KA_REQ_FINAL | KA_REQ_ABORTED |           \
     KA_REQ_NOT_HTTP | KA_REQ_KEPT)

static const kind kinds[] = {
    {"port", KA_IDENTITY_PORT, -1, 20, 6, 40, KA_REQ_FINAL, STEP_US, false},
    {"port, protocols", KA_IDENTITY_PORT, -1, 9, 3, 30, ANY_FLAG, STEP_US,
     false},
    {"port, quiet", KA_IDENTITY_PORT, -1, 9, 2, 900, ANY_FLAG, STEP_US, false},
    {"port, %t", KA_IDENTITY_PORT, -1, 30, 3, 40, KA_REQ_FINAL, 1000000, true},
    {"slot", KA_IDENTITY_SLOT, 1, 10, 30, 9, KA_REQ_FINAL | KA_REQ_ABORTED,
     STEP_US, false},
    {"slot, quiet", KA_IDENTITY_SLOT, 0, 5, 20, 90, ANY_FLAG & ~KA_REQ_HTTP2,
     STEP_US, false},
    {"k", KA_IDENTITY_K, -1, 20, 4, 20, KA_REQ_FINAL | KA_REQ_KEPT, STEP_US,
     false},
    {"k, protocols", KA_IDENTITY_K, -1, 20, 4, 60,
     ANY_FLAG & ~KA_REQ_HTTP2, STEP_US, false},
    {"port, us", KA_IDENTITY_PORT, -1, 20, 6, 40, ANY_FLAG, 1, false},
    /* No two ends are the same: either could be taken. */
    {"time", KA_IDENTITY_TIME, -1, 20, 1, 20, KA_REQ_FINAL, 1, false},
    {"time, protocols", KA_IDENTITY_TIME, -1, 8, 1, 200, ANY_FLAG, 1, false},
};

static inline void name_connection(ka_request *r, const kind *k,
                                   uint64_t client)
{
    if (k->identity == KA_IDENTITY_PORT && draw(50)) {
        r->remote_port = (int32_t)(1000 + draw(k->ports));
    }
    if (k->identity == KA_IDENTITY_SLOT && draw(50)) {
        r->slot = ka_key_mix(draw(k->ports)) | 1;
        r->child = r->slot;
    }
    if (k->identity == KA_IDENTITY_K ||
        (k->identity != KA_IDENTITY_TIME && client % 2)) {
        r->keepalives = (int32_t)draw(k->ports);
    }
}

static inline ka_request random_request(const kind *k)
{
    const uint64_t client = 1 + draw(k->clients);
    const uint16_t flag = (uint16_t)(1u << draw(7));
    ka_request r = {.client = ka_key_mix(client + 9000) | 1,
                    .address = ka_key_mix(client / 2 + 5000) | 1,
                    .bytes = (int64_t)draw(100000) - 1,
                    .service_us = k->grain_us == 1
                                      ? (int64_t)draw(900000)
                                      : (int64_t)draw(9) * k->grain_us,
                    .client_limit_us = seconds_us(client % 3 ? 300 : 115),
                    .vhost = (uint32_t)draw(3),
                    .cls = (uint8_t)draw(KA_CLASS_N),
                    .keepalives = -1,
                    .remote_port = -1};

    name_connection(&r, k, client);
    if (k->flags & flag && draw(2)) {
        r.flags = flag;
    }
    return r;
}

/* Like connections that are kept: most of %k counts up. */
static inline void count_up(ka_request *items, size_t n)
{
    size_t i, j;

    for (i = 0; i < n; i++) {
        for (j = i; j-- > 0 && items[i].keepalives > 0;) {
            if (items[j].client == items[i].client && draw(3)) {
                items[i].keepalives = items[j].keepalives + 1;
                break;
            }
        }
    }
}

static inline both *make_log(const kind *k, uint64_t of_seed,
                             int64_t timeout_us)
{
    both *b = calloc(1, sizeof(*b));
    const int64_t clock_us = k->coarse ? 1000000 : 1;
    int64_t at_us = seconds_us(FIRST_S);
    size_t i;

    seed = of_seed;
    b->timeouts = ka_sweep_default_timeouts(&b->n);
    b->info = (ka_source_info){.clock_us = clock_us,
                               .service_clock_us = clock_us,
                               .vhosts = (const char **)names,
                               .vhost_n = 3};
    b->options = (ka_connection_options){.timeout_us = timeout_us,
                                         .threaded = k->threaded,
                                         .clock_us = clock_us,
                                         .service_clock_us = clock_us};
    b->q.n = 600 + draw(1200);
    for (i = 0; i < b->q.n; i++) {
        b->q.items[i] = random_request(k);
        at_us += (int64_t)draw(draw(30) ? k->pause / 8 + 2 : 3 * k->pause) *
                     STEP_US +
                 (k->grain_us == 1 ? (int64_t)draw(STEP_US) : 0);
        b->q.items[i].begin_us = at_us / k->grain_us * k->grain_us;
    }
    count_up(b->q.items, b->q.n);
    b->q.list = (ka_requests){.items = b->q.items, .n = b->q.n};
    return b;
}

/* ---- both ways ----------------------------------------------------------- */

static inline void lanes_all(both *b, size_t head, int64_t timeout_us,
                             uint32_t max, apr_pool_t *pool)
{
    const ka_requests first = {.items = b->q.items, .n = head};
    ka_grouping_rules rules;
    ka_lanes *lanes;
    ka_crew *crew;
    size_t i;

    assert_int_equal(ka_crew_make(&crew, 1, pool), APR_SUCCESS);
    assert_int_equal(ka_connections_decide(&rules, &first, &b->options),
                     APR_SUCCESS);
    b->tally = ka_tally_make(b->timeouts, b->n, pool);
    b->tally->timeout_us = timeout_us;
    lanes = ka_lanes_make(b->tally, &b->info, &rules, &first, max, crew);
    assert_non_null(lanes);
    for (i = 0; i < b->q.n; i++) {
        ka_lanes_take(lanes, &b->q.items[i]);
    }
    assert_int_equal(ka_lanes_finish(lanes), APR_SUCCESS);
    ka_lanes_free(lanes);
}

/* As the analysis does: T0 as given or estimated, or httpd's default. */
static inline int64_t timeout_of(const both *b)
{
    int64_t us = b->options.timeout_us;

    us = us < 0 ? b->connections.timeout_us : us;
    us = us < 0 ? seconds_us(5) : us;
    return us > 0 ? us : KA_TIMEOUT_OFF;
}

/* @return T0 */
static inline int64_t group_all(both *b, apr_pool_t *pool)
{
    ka_connections *c = &b->connections;
    ka_sweep_options sweep = {0};
    int64_t timeout_us;

    assert_int_equal(ka_connections_group(c, &b->q.list, &b->options),
                     APR_SUCCESS);
    timeout_us = timeout_of(b);
    sweep.measured_up_to_us = timeout_us;
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
    return timeout_us;
}

static inline void both_free(both *b)
{
    ka_connections_clear(&b->connections);
    ka_tally_free(b->tally);
    free(b);
}

#endif
