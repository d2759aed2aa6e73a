/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "analysis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <apr_strings.h>

#include <ka_units.h>
#include "../model/histsweep.h"
#include "../model/sweep.h"
#include "../profile/live_demand.h"
#include "../profile/stream.h"
#include "analysis_profile.h"
#include "analysis_prometheus.h"
#include "progress.h"
#include "stretch.h"

/* R1's margin over a proxy's idle timeout: a timeout of the sweep. */
#define PROXY_MARGIN_US (INT64_C(5) * 1000000)
/* httpd's default, assumed where nothing tells. */
#define DEFAULT_TIMEOUT_US (INT64_C(5) * 1000000)

static apr_status_t free_analysis(void *data)
{
    ka_analysis *a = data;
    size_t i;

    for (i = 0; i < a->member_n; i++) {
        ka_tally_free(a->members[i].tally);
    }
    ka_tally_free(a->tally);
    free(a->without.items);
    free(a->served.items);
    ka_connections_clear(&a->connections);
    return APR_SUCCESS;
}

/* ---- KeepAlive now ----------------------------------------------------- */

static void find_timeout(ka_analysis *a)
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

void ka_analysis_settle_timeout(ka_analysis *a)
{
    int64_t timeout_us;

    find_timeout(a);
    timeout_us = ka_server_get(&a->server, KA_FACT_TIMEOUT, 0);
    a->report.timeout_us = timeout_us > 0 ? timeout_us : KA_TIMEOUT_OFF;
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

void ka_analysis_set_now(ka_report *report, const int64_t *timeouts)
{
    while (timeouts[report->now] != report->timeout_us) {
        report->now++;
    }
}

apr_status_t ka_analysis_histsweep(ka_analysis *a,
                                   const ka_hist_traffic *traffic,
                                   const ka_options *options, apr_pool_t *pool)
{
    ka_report *r = &a->report;
    int64_t *timeouts = ka_analysis_timeouts(&r->timeout_n, a, options, pool);
    ka_outcome *outcomes = apr_pcalloc(pool, r->timeout_n * sizeof(*outcomes));

    r->low = r->high = outcomes;
    r->longer_unknown = traffic->survival.n == 0;
    ka_analysis_set_now(r, timeouts);
    return ka_histsweep(outcomes, timeouts, r->timeout_n, traffic);
}

/* ---- MaxKeepAliveRequests [M16] ---------------------------------------- */

static uint64_t extra_of_trace(void *context, int64_t timeout_us,
                               uint32_t max_requests)
{
    const ka_connections *c = &((ka_analysis *)context)->connections;

    return ka_extra_opens(c->bracket ? &c->high : &c->low, timeout_us,
                          max_requests);
}

/* Connections as they were under T0, whatever the timeout. */
static uint64_t extra_of_lengths(void *context, int64_t timeout_us,
                                 uint32_t max_requests)
{
    const ka_analysis *a = context;

    (void)timeout_us;
    return ka_hist_extra_opens(a->lengths, max_requests, a->length_limit,
                               a->limited);
}

ka_extra ka_analysis_extra(ka_analysis *analysis)
{
    return (ka_extra){analysis->lengths ? extra_of_lengths : extra_of_trace,
                      analysis};
}

/* ---- single seconds [M15] ----------------------------------------------- */

static const ka_outcome *outcome_at(const ka_report *r, int64_t timeout_us)
{
    size_t i = 0;

    while (i + 1 < r->timeout_n && r->high[i].timeout_us < timeout_us) {
        i++;
    }
    return &r->high[i];
}

static bool demand_at(ka_demand *out, void *context, int64_t timeout_us,
                      ka_demand_kind kind, apr_pool_t *pool)
{
    const ka_analysis *a = context;
    const ka_report *r = &a->report;
    const ka_connections *c = &a->connections;

    if (a->live) {
        return ka_live_demand(out, a->live, &r->high[r->now],
                              outcome_at(r, timeout_us), kind, pool);
    }
    return a->tally ? ka_tally_demand(out, a->tally, timeout_us, kind)
                    : ka_demand_of_trace(out, c->bracket ? &c->high : &c->low,
                                         timeout_us, kind, pool);
}

/* ---- single requests ----------------------------------------------------- */

/* Of a bracket, the side that is advised from; NULL: none were kept. */
static const ka_trace *trace_of(const ka_analysis *a)
{
    const ka_connections *c = &a->connections;
    const ka_trace *trace = c->bracket ? &c->high : &c->low;

    return trace->request_n > 0 ? trace : NULL;
}

static bool replay_policy(ka_outcome *out, void *context,
                          const ka_policy *policy)
{
    const ka_analysis *a = context;
    ka_sweep_options options = {.measured_up_to_us = a->report.timeout_us};
    const ka_trace *trace = trace_of(a);

    return trace && !ka_policy_sweep(out, policy, trace, &options);
}

static void set_callbacks(ka_analysis *a)
{
    a->report.demand = (ka_demand_source){demand_at, a};
    a->report.replay = (ka_replay_source){replay_policy, a};
    a->report.stretch = ka_stretch_source_of(a);
}

/* ---- options ----------------------------------------------------------- */

const char *ka_log_option(const ka_options *options, bool vhost)
{
    const struct {
        bool given;
        const char *name;
    } rows[] = {{options->since_us != 0, "--since"},
                {options->until_us != 0, "--until"},
                {vhost && options->vhost, "--vhost"},
                {options->log_format != NULL, "--log-format"}};
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].given) {
            return rows[i].name;
        }
    }
    return NULL;
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

static apr_status_t analyse_log(ka_analysis *a, const char **error,
                                const ka_options *options, apr_pool_t *pool)
{
    ka_progress progress;
    ka_log_options with = {.log_format = options->log_format,
                           .vhost = options->vhost,
                           .since_us = options->since_us,
                           .until_us = options->until_us,
                           .progress = ka_progress_show,
                           .progress_context = &progress};
    ka_log *log;
    apr_status_t rv;

    ka_progress_start(&progress, options->quiet);
    rv = ka_log_open(&log, &a->source, error, &with, options->sources,
                     options->source_n, pool);
    if (!rv) {
        rv = ka_stream_fits(&a->source) && !options->keep_requests
                 ? ka_analysis_stream(a, error, log, options, pool)
                 : ka_analysis_requests(a, error, log,
                                        options->keep_requests
                                            ? KA_KEEP_FOR_TRACE
                                            : KA_KEEP_REQUESTS,
                                        options, pool);
    }
    ka_progress_end(&progress);
    return rv;
}

static apr_status_t analyse(ka_analysis *a, const char **error,
                            const ka_options *options, apr_pool_t *pool)
{
    const char *segment, *url;
    bool profiles;
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
    rv = ka_analysis_find_prometheus(&url, error, options);
    if (rv) {
        return rv;
    }
    if (url) {
        return ka_analysis_prometheus(a, error, url, options, pool);
    }
    rv = ka_analysis_find_profiles(&profiles, error, options, pool);
    if (rv || profiles) {
        return rv ? rv : ka_analysis_profiles(a, error, options, pool);
    }
    return analyse_log(a, error, options, pool);
}

apr_status_t ka_analysis_run(ka_analysis *a, const char **error,
                             const ka_options *options, apr_pool_t *pool)
{
    apr_status_t rv = analyse(a, error, options, pool);
    size_t i;

    set_callbacks(a);
    for (i = 0; i < a->member_n; i++) {
        set_callbacks(&a->members[i]);
    }
    return rv;
}

int ka_no_source(const char *command)
{
    fprintf(stderr,
            "kaadvisor: no SOURCE: name one or more access logs, or - for "
            "standard input; see `kaadvisor %s --help`\n",
            command);
    return KA_EXIT_USAGE;
}
