/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The analysis of a log whose connections have to be found first: kept whole,
 * unless it is too long for that. */
#include "analysis.h"

#include <stdlib.h>

#include "../model/sweep.h"
#include "analysis_lanes.h"

/* Nearly every response closes its connection: KeepAlive must be Off. */
#define ALL_FINAL_SHARE 0.95

/* ---- what the requests mean --------------------------------------------- */

/* With KeepAlive Off the server closes after every response, so %X's `-` says
 * nothing about what clients would do. */
static bool settle_keepalive(ka_analysis *a)
{
    const ka_fact *keep_alive = &a->server.facts[KA_FACT_KEEP_ALIVE];
    size_t i, final = 0;

    for (i = 0; i < a->served.n; i++) {
        final += (a->served.items[i].flags & KA_REQ_FINAL) != 0;
    }
    if (!keep_alive->known && a->served.n > 0 &&
        (double)final >= ALL_FINAL_SHARE * (double)a->served.n) {
        static const char origin[] =
            "from the log: %X says that nearly every response closed its "
            "connection";

        ka_server_set(&a->server, KA_FACT_KEEP_ALIVE, 0, true, origin);
        ka_server_set(&a->server, KA_FACT_TIMEOUT, 0, true, origin);
    }
    return keep_alive->known && !keep_alive->value;
}

static ka_meaning settle(ka_analysis *a)
{
    ka_meaning meaning = {
        .unsaid = settle_keepalive(a) ? KA_REQ_FINAL : 0,
        .child_is_slot = ka_server_get(&a->server, KA_FACT_ID_MPM, -1) ==
                         KA_MPM_PREFORK};
    size_t i;

    for (i = 0; i < a->served.n; i++) {
        ka_meaning_give(&meaning, &a->served.items[i]);
    }
    return meaning;
}

static ka_connection_options connection_options(const ka_analysis *a)
{
    return (ka_connection_options){
        .timeout_us = ka_server_get(&a->server, KA_FACT_TIMEOUT, -1),
        .threaded = (int)ka_server_get(&a->server, KA_FACT_ID_MPM, -1),
        .clock_us = a->source.clock_us,
        .service_clock_us = a->source.service_clock_us};
}

/* ---- a log that was kept ------------------------------------------------- */

static void find_intervals(ka_analysis *a, const int64_t *timeouts,
                           const ka_options *options, apr_pool_t *pool)
{
    const size_t n = a->report.timeout_n;
    ka_sample *sample;

    if (n > KA_SAMPLE_TIMEOUTS) {
        a->report.no_intervals = "there are too many timeouts";
        return;
    }
    sample = ka_sample_of_connections(&a->connections, &a->served, timeouts, n);
    ka_analysis_intervals(a, sample, options, pool);
    ka_sample_free(sample);
}

static apr_status_t sweep(ka_analysis *a, const ka_options *options,
                          apr_pool_t *pool)
{
    ka_report *r = &a->report;
    int64_t *timeouts = ka_analysis_timeouts(&r->timeout_n, a, options, pool);
    ka_sweep_options sweep_options = {.measured_up_to_us = r->timeout_us};
    ka_outcome *low = apr_pcalloc(pool, r->timeout_n * sizeof(*low));
    ka_outcome *high = low;
    apr_status_t rv;

    rv = ka_sweep(low, timeouts, r->timeout_n, &a->connections.low,
                  &sweep_options);
    if (!rv && a->connections.bracket) {
        high = apr_pcalloc(pool, r->timeout_n * sizeof(*high));
        rv = ka_sweep(high, timeouts, r->timeout_n, &a->connections.high,
                      &sweep_options);
    }
    r->low = low;
    r->high = high;
    ka_analysis_set_now(r, timeouts);
    if (!rv) {
        find_intervals(a, timeouts, options, pool);
    }
    return rv;
}

static apr_status_t analyse_kept(ka_analysis *a, const ka_options *options,
                                 apr_pool_t *pool)
{
    ka_connection_options connection;
    ka_report *r = &a->report;
    apr_status_t rv;

    settle(a);
    connection = connection_options(a);
    rv = ka_connections_group(&a->connections, &a->served, &connection);
    if (rv) {
        return rv;
    }
    ka_analysis_settle_timeout(a);
    rv = ka_profile_build(&a->profile, &a->without, &a->served,
                          &a->connections, &a->source, r->timeout_us, pool);
    if (rv) {
        return rv;
    }
    r->generated_us = apr_time_now();
    r->version = KA_VERSION;
    r->source = &a->source;
    r->identity = ka_identity_name(a->connections.identity);
    r->identity_note = a->connections.why_not_better;
    r->profile = &a->profile;
    r->server = &a->server;
    return sweep(a, options, pool);
}

/* ---- reading ------------------------------------------------------------ */

typedef struct collector {
    ka_analysis *analysis;
    const ka_options *options;
    apr_pool_t *pool;
    size_t keep;
    ka_counting *counting; /* from when on requests are not kept any more */
    bool failed;
} collector;

static bool requests_push(ka_requests *requests, const ka_request *request)
{
    if (requests->n == requests->size) {
        size_t size = requests->size ? requests->size * 2 : 4096;
        ka_request *items =
            realloc(requests->items, size * sizeof(*requests->items));

        if (!items) {
            return false;
        }
        requests->items = items;
        requests->size = size;
    }
    requests->items[requests->n++] = *request;
    return true;
}

static void requests_free(ka_requests *requests)
{
    free(requests->items);
    *requests = (ka_requests){0};
}

/* The requests so far decide, are counted, and go. */
static bool stop_keeping(collector *c)
{
    ka_analysis *a = c->analysis;
    const ka_meaning meaning = settle(a);
    const ka_connection_options connection = connection_options(a);
    size_t i;

    c->counting = ka_counting_make(a, &meaning, &connection, c->options,
                                   c->pool);
    if (!c->counting) {
        return false;
    }
    for (i = 0; i < a->without.n; i++) {
        ka_counting_take(c->counting, &a->without.items[i]);
    }
    for (i = 0; i < a->served.n; i++) {
        ka_counting_take(c->counting, &a->served.items[i]);
    }
    requests_free(&a->without);
    requests_free(&a->served);
    return true;
}

static void collect(void *context, const ka_request *request)
{
    collector *c = context;
    ka_analysis *a = c->analysis;

    if (c->failed) {
        return;
    }
    /* Where no request has come yet, there is nothing to decide by. */
    if (!c->counting && a->served.n > 0 &&
        a->served.n + a->without.n >= c->keep) {
        c->failed = !stop_keeping(c);
    }
    if (c->counting) {
        ka_counting_take(c->counting, request);
    }
    else if (!c->failed) {
        c->failed = !requests_push(request->flags & KA_REQ_NO_REQUEST
                                       ? &a->without
                                       : &a->served,
                                   request);
    }
}

apr_status_t ka_analysis_requests(ka_analysis *a, const char **error,
                                  ka_log *log, size_t keep,
                                  const ka_options *options, apr_pool_t *pool)
{
    collector c = {
        .analysis = a, .options = options, .pool = pool, .keep = keep};
    apr_status_t rv = ka_log_requests(log, error, collect, &c);

    if (!rv) {
        *error = "not enough memory for the requests of this log; take a "
                 "shorter span with --since and --until";
        rv = c.failed     ? APR_ENOMEM
             : c.counting ? ka_counting_finish(c.counting, options, pool)
                          : analyse_kept(a, options, pool);
    }
    ka_counting_free(c.counting);
    return rv;
}
