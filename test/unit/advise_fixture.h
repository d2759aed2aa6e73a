/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A made-up site for the tests of advice: what it would be under six timeouts.
 */
#ifndef KA_TEST_ADVISE_FIXTURE_H
#define KA_TEST_ADVISE_FIXTURE_H

#include <apr_strings.h>
#include "unit.h"
#include "advice/advise.h"

#define S INT64_C(1000000)
#define M (INT64_C(1) << 20)

/* N and held of the site at each timeout: n = 20,000 over two hours. */
static const struct {
    int64_t timeout_us;
    uint64_t connections;
    double held;
} site[] = {{KA_TIMEOUT_OFF, 20000, 5}, {S, 10000, 15},
            {5 * S, 6000, 50},          {15 * S, 5100, 120},
            {65 * S, 4960, 400},        {115 * S, 4940, 700}};

#define SITE_N (sizeof(site) / sizeof(site[0]))
#define NOW 2 /* 5 s */

typedef struct fixture {
    ka_report report;
    ka_source_info source;
    ka_profile *profile;
    ka_server server;
    ka_outcome outcomes[SITE_N];
    ka_extra extra;
    ka_advise_options options;
} fixture;

static inline void make_outcome(ka_outcome *o, size_t i)
{
    o->timeout_us = site[i].timeout_us;
    o->measured = i <= NOW;
    o->requests = 20000;
    o->connections = site[i].connections;
    o->window_s = 7200;
    o->connections_per_s = (double)site[i].connections / 7200;
    o->reuse = 1 - (double)site[i].connections / 20000;
    o->busy_mean = 2;
    o->held_mean = site[i].held / 1.5;
    o->idle_mean = o->held_mean - 2;
    o->held = (ka_held){.mean = o->held_mean,
                        .p999 = site[i].held,
                        .peak = site[i].held * 1.1,
                        .workers = site[i].held};
    o->busy = (ka_held){.mean = 2, .p999 = 5, .peak = 6, .workers = 6};
}

/* No connection carries more than one request. */
static inline uint64_t no_extra(void *context, int64_t timeout_us,
                                uint32_t max_requests)
{
    (void)context;
    (void)timeout_us;
    (void)max_requests;
    return 0;
}

static inline fixture *make_fixture(apr_pool_t *pool)
{
    fixture *f = apr_pcalloc(pool, sizeof(*f));
    ka_profile *p = apr_pcalloc(pool, sizeof(*p));
    size_t i;

    for (i = 0; i < SITE_N; i++) {
        make_outcome(&f->outcomes[i], i);
    }
    f->profile = p;
    p->window_s = 7200;
    p->total.requests = 20000;
    p->total.requests_per_s = 2.8;
    p->total.p99_per_s = 20;
    p->with_service = 20000;
    p->addresses = 900;
    p->low.connections = p->high.connections = 6000;
    p->low.clients = p->high.clients = 950;
    p->low.requests_per_connection.mean = 3.33;
    p->high.requests_per_connection.mean = 3.33;
    f->source.kind = "log";
    f->source.lines = f->source.parsed = 20000;
    ka_server_init(&f->server);
    ka_server_set(&f->server, KA_FACT_ID_MPM, KA_MPM_PREFORK, false, "test");
    ka_server_set(&f->server, KA_FACT_TIMEOUT, 5 * S, false, "test");
    ka_server_set(&f->server, KA_FACT_MEMORY, 2000 * M, false, "test");
    ka_server_set(&f->server, KA_FACT_PROCESS_MEMORY, 10 * M, false, "test");
    f->extra = (ka_extra){.count = no_extra};
    f->options = (ka_advise_options){.delta = 0.01, .growth = 1};
    f->report = (ka_report){.source = &f->source,
                            .identity = "port",
                            .profile = p,
                            .server = &f->server,
                            .timeout_n = SITE_N,
                            .low = f->outcomes,
                            .high = f->outcomes,
                            .now = NOW,
                            .timeout_us = 5 * S};
    return f;
}

static inline ka_report *advise(fixture *f, apr_pool_t *pool)
{
    assert_int_equal(ka_advise(&f->report, &f->extra, &f->options, pool),
                     APR_SUCCESS);
    return &f->report;
}

static inline const ka_advice *row_of(const ka_report *r, const char *directive)
{
    size_t i;

    for (i = 0; i < r->advice_n; i++) {
        if (!strcmp(r->advice[i].directive, directive)) {
            return &r->advice[i];
        }
    }
    return NULL;
}

/* A report may be asked again. */
static inline const ka_report *ask(fixture *f, apr_pool_t *pool)
{
    f->report.answer_n = 0;
    return advise(f, pool);
}

static inline int64_t value_of(const ka_report *r, const char *directive)
{
    const ka_advice *row = row_of(r, directive);

    assert_non_null(row);
    return apr_atoi64(row->to);
}

static inline const char *warning_of(const ka_report *r, const char *id)
{
    size_t i;

    for (i = 0; i < r->warning_n; i++) {
        if (!strcmp(r->warnings[i].id, id)) {
            return r->warnings[i].text;
        }
    }
    return NULL;
}

#endif
