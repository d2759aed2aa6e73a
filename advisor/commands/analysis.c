/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "analysis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <apr_strings.h>

#include <ka_units.h>
#include "../model/sweep.h"
#include "../sources/log.h"
#include "progress.h"

/* R1's margin over a proxy's idle timeout: a timeout of the sweep. */
#define PROXY_MARGIN_US (INT64_C(5) * 1000000)
/* httpd's default, assumed where nothing tells. */
#define DEFAULT_TIMEOUT_US (INT64_C(5) * 1000000)
/* Nearly every response closes its connection: KeepAlive must be Off. */
#define ALL_FINAL_SHARE 0.95

/* ---- requests ---------------------------------------------------------- */

static apr_status_t free_analysis(void *data)
{
    ka_analysis *a = data;

    free(a->requests.items);
    free(a->served.items);
    ka_connections_clear(&a->connections);
    return APR_SUCCESS;
}

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

typedef struct collector {
    ka_analysis *analysis;
    bool failed;
} collector;

static void collect(void *context, const ka_request *request)
{
    collector *c = context;

    if (!requests_push(&c->analysis->requests, request) ||
        (!(request->flags & KA_REQ_NO_REQUEST) &&
         !requests_push(&c->analysis->served, request))) {
        c->failed = true;
    }
}

static apr_status_t read_sources(ka_analysis *a, const char **error,
                                 const ka_options *options, apr_pool_t *pool)
{
    ka_progress progress;
    collector c = {.analysis = a};
    ka_log_options log = {.log_format = options->log_format,
                          .vhost = options->vhost,
                          .since_us = options->since_us,
                          .until_us = options->until_us,
                          .progress = ka_progress_show,
                          .progress_context = &progress};
    apr_status_t rv;

    ka_progress_start(&progress, options->quiet);
    rv = ka_log_read(&a->source, error, &log, options->sources,
                     options->source_n, collect, &c, pool);
    ka_progress_end(&progress);
    if (!rv && c.failed) {
        *error = "not enough memory for the requests of this log; take a "
                 "shorter span with --since and --until";
        rv = APR_ENOMEM;
    }
    return rv;
}

/* ---- KeepAlive now ----------------------------------------------------- */

/* With KeepAlive Off the server closes after every response, so %X's `-` says
 * nothing about what clients would do. */
static void settle_keepalive(ka_analysis *a)
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
    if (keep_alive->known && !keep_alive->value) {
        for (i = 0; i < a->served.n; i++) {
            a->served.items[i].flags &= (uint16_t)~KA_REQ_FINAL;
        }
    }
}

static void settle_timeout(ka_analysis *a)
{
    if (a->server.facts[KA_FACT_TIMEOUT].known) {
        return;
    }
    if (a->connections.timeout_estimated && a->connections.timeout_us >= 0) {
        ka_server_set(&a->server, KA_FACT_TIMEOUT, a->connections.timeout_us,
                      true,
                      "estimated from the idle times in the log; --timeout "
                      "says it for certain");
    }
    else {
        ka_server_set(&a->server, KA_FACT_TIMEOUT, DEFAULT_TIMEOUT_US, true,
                      "assumed: httpd's default; --timeout says it for "
                      "certain");
    }
    ka_server_set(&a->server, KA_FACT_KEEP_ALIVE, 1, true,
                  a->server.facts[KA_FACT_TIMEOUT].origin);
}

static apr_status_t group(ka_analysis *a)
{
    ka_connection_options options = {
        .timeout_us = ka_server_get(&a->server, KA_FACT_TIMEOUT, -1),
        .threaded = (int)ka_server_get(&a->server, KA_FACT_ID_MPM, -1),
        .clock_us = a->source.clock_us,
        .service_clock_us = a->source.service_clock_us};

    return ka_connections_group(&a->connections, &a->served, &options);
}

/* ---- timeouts ---------------------------------------------------------- */

static int compare_timeouts(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Off, the default list, T0, what the user asked for and what a proxy needs;
 * ascending, each once. */
static int64_t *timeouts_of(size_t *n, const ka_analysis *a,
                            const ka_options *options, apr_pool_t *pool)
{
    size_t default_n, i, unique = 0;
    const int64_t *defaults = ka_sweep_default_timeouts(&default_n);
    int64_t *all = apr_palloc(pool, (default_n + options->timeout_n + 3) *
                                        sizeof(*all));
    int64_t proxy = ka_server_get(&a->server, KA_FACT_PROXY_IDLE, -1);

    *n = 0;
    all[(*n)++] = KA_TIMEOUT_OFF;
    all[(*n)++] = a->report.timeout_us;
    if (proxy >= 0) {
        all[(*n)++] = proxy + PROXY_MARGIN_US;
    }
    memcpy(all + *n, defaults, default_n * sizeof(*all));
    *n += default_n;
    memcpy(all + *n, options->timeouts, options->timeout_n * sizeof(*all));
    *n += options->timeout_n;
    qsort(all, *n, sizeof(*all), compare_timeouts);
    for (i = 0; i < *n; i++) {
        if (i == 0 || all[i] != all[i - 1]) {
            all[unique++] = all[i];
        }
    }
    *n = unique;
    return all;
}

static apr_status_t sweep(ka_analysis *a, const ka_options *options,
                          apr_pool_t *pool)
{
    ka_report *r = &a->report;
    int64_t *timeouts = timeouts_of(&r->timeout_n, a, options, pool);
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
    while (timeouts[r->now] != r->timeout_us) {
        r->now++;
    }
    return rv;
}

const ka_trace *ka_analysis_trace(const ka_analysis *analysis)
{
    return analysis->connections.bracket ? &analysis->connections.high
                                         : &analysis->connections.low;
}

apr_status_t ka_analysis_run(ka_analysis *a, const char **error,
                             const ka_options *options, apr_pool_t *pool)
{
    ka_report *r = &a->report;
    int64_t timeout_us;
    apr_status_t rv;

    memset(a, 0, sizeof(*a));
    apr_pool_cleanup_register(pool, a, free_analysis, apr_pool_cleanup_null);
    a->server = options->server;
    rv = read_sources(a, error, options, pool);
    if (rv) {
        return rv;
    }
    *error = "not enough memory for this log; take a shorter span with "
             "--since and --until";
    settle_keepalive(a);
    rv = group(a);
    if (rv) {
        return rv;
    }
    settle_timeout(a);
    timeout_us = ka_server_get(&a->server, KA_FACT_TIMEOUT, 0);
    r->timeout_us = timeout_us > 0 ? timeout_us : KA_TIMEOUT_OFF;
    rv = ka_profile_build(&a->profile, &a->requests, &a->served,
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

int ka_no_source(const char *command)
{
    fprintf(stderr,
            "kaadvisor: no SOURCE: name one or more access logs, or - for "
            "standard input; see `kaadvisor %s --help`\n",
            command);
    return KA_EXIT_USAGE;
}
