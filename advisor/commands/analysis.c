/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "analysis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <apr_strings.h>

#include <ka_units.h>
#include "../model/histsweep.h"
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

/* %P without %{tid}P: a process of prefork is a slot. */
static void settle_slots(ka_analysis *a)
{
    size_t i;

    if (ka_server_get(&a->server, KA_FACT_ID_MPM, -1) != KA_MPM_PREFORK) {
        return;
    }
    for (i = 0; i < a->served.n; i++) {
        ka_request *request = &a->served.items[i];

        if (request->slot == 0) {
            request->slot = request->child;
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

int64_t *ka_analysis_timeouts(size_t *n, const ka_analysis *a,
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
    return rv;
}

void ka_analysis_set_now(ka_report *report, const int64_t *timeouts)
{
    while (timeouts[report->now] != report->timeout_us) {
        report->now++;
    }
}

/* ---- MaxKeepAliveRequests [M16] ---------------------------------------- */

static uint64_t extra_of_trace(void *context, int64_t timeout_us,
                               uint32_t max_requests)
{
    const ka_connections *c = &((ka_analysis *)context)->connections;

    return ka_extra_opens(c->bracket ? &c->high : &c->low, timeout_us,
                          max_requests);
}

/* Connections as they were under T0. */
static uint64_t extra_of_segment(void *context, int64_t timeout_us,
                                 uint32_t max_requests)
{
    const ka_live *live = ((ka_analysis *)context)->live;
    int32_t limit = live->vhost_n
                        ? live->vhosts[0].vhost->max_keep_alive_requests
                        : 0;

    (void)timeout_us;
    return ka_hist_extra_opens(
        &live->total->quantity[KA_QUANTITY_REQUESTS], max_requests,
        limit > 0 ? (uint32_t)limit : 0,
        live->total->counter[KA_COUNTER_CLOSE + KA_REASON_MAX_REQUESTS]);
}

ka_extra ka_analysis_extra(ka_analysis *analysis)
{
    return (ka_extra){analysis->live ? extra_of_segment : extra_of_trace,
                      analysis};
}

/* ---- all of it --------------------------------------------------------- */

apr_status_t ka_analysis_find_segment(const char **path, const char **error,
                                      const ka_options *options)
{
    size_t i;

    *path = NULL;
    for (i = 0; i < options->source_n && !*path; i++) {
        if (ka_segment_source_is(options->sources[i])) {
            *path = options->sources[i];
        }
    }
    if (*path && options->source_n > 1) {
        *error = apr_psprintf(options->pool,
                              "%s is a segment of mod_kastats, which stands "
                              "for all of its server's traffic; give it alone",
                              *path);
        return APR_EINVAL;
    }
    return APR_SUCCESS;
}

apr_status_t ka_analysis_run(ka_analysis *a, const char **error,
                             const ka_options *options, apr_pool_t *pool)
{
    ka_report *r = &a->report;
    const char *segment;
    int64_t timeout_us;
    apr_status_t rv;

    memset(a, 0, sizeof(*a));
    apr_pool_cleanup_register(pool, a, free_analysis, apr_pool_cleanup_null);
    a->server = options->server;
    rv = ka_analysis_find_segment(&segment, error, options);
    if (rv) {
        return rv;
    }
    if (segment) {
        return ka_analysis_segment(a, error, segment, options, pool);
    }
    rv = read_sources(a, error, options, pool);
    if (rv) {
        return rv;
    }
    *error = "not enough memory for this log; take a shorter span with "
             "--since and --until";
    settle_keepalive(a);
    settle_slots(a);
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
