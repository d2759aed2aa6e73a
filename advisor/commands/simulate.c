/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * `kaadvisor simulate`: what a configuration would do under this traffic. */
#include "commands.h"

#include <apr_strings.h>

#include "../words.h"
#include "analysis_host.h"
#include "output.h"
#include "say.h"
#include "simulate.h"

/* Rows of the series that people get. */
#define POINTS_SHOWN 12

/* Requests that are drawn, where there is no trace. */
#define DRAWN_WANTED 1000000

/* ---- what the source says of each connection ---------------------------- */

/* CPU time of a handshake, by the share of TLS as far as the source tells. */
static int64_t handshake_us(const ka_profile *profile)
{
    double requests = (double)profile->total.requests;
    double tls = requests > 0 ? (double)profile->tls / requests : 0;

    return KA_CPU_CONNECTION_US +
           (int64_t)(tls * (KA_CPU_TLS_RSA_US - KA_CPU_CONNECTION_US) + 0.5);
}

static void fill_traffic_costs(ka_sim_config *c, const ka_sim_view *view,
                               const ka_analysis *a, const ka_options *options)
{
    const ka_server *server = &options->server;

    c->handshake_cpu_us = handshake_us(&a->profile);
    c->process_bytes = ka_server_get(server, KA_FACT_PROCESS_MEMORY, -1);
    c->shared_bytes = ka_server_get(server, KA_FACT_SHARED_MEMORY, 0);
    c->idle_bytes =
        a->profile.tls ? KA_IDLE_TLS_BYTES : KA_IDLE_PLAIN_BYTES;
    c->restart_us = options->restart_us;
    c->points = options->output == KA_OUTPUT_JSON ? 0 : POINTS_SHOWN;
    c->accept_us = view->stretch.accept_us;
    c->linger_us = options->linger_us >= 0 ? options->linger_us
                                           : view->stretch.linger_us;
}

/* ---- in words ----------------------------------------------------------- */

static const char *waits_in_words(const ka_sim_result *r, apr_pool_t *pool)
{
    double one_in = (double)r->outcome.connections / (double)r->waited;

    if (r->waited == 0) {
        return apr_psprintf(
            pool, "no connection waits for a worker; %s free at the least",
            ka_words_plural(pool, r->free_least, "worker"));
    }
    return apr_psprintf(
        pool, "1 connection in %s waits for a worker: %s at p99, %s at p99.9, "
        "%s at most",
        ka_words_number(pool, one_in),
        ka_words_duration(pool, (double)r->wait_p99_us),
        ka_words_duration(pool, (double)r->wait_p999_us),
        ka_words_duration(pool, (double)r->wait_most_us));
}

static const char *count_in_words(uint64_t n, const char *what,
                                  apr_pool_t *pool)
{
    return n ? apr_pstrcat(pool, ka_words_count(pool, (int64_t)n), " ", what,
                           NULL)
             : NULL;
}

static const char *memory_in_words(const ka_sim_result *r, int64_t budget,
                                   apr_pool_t *pool)
{
    if (budget < 0 || r->memory_most_bytes <= budget) {
        return NULL;
    }
    return apr_psprintf(pool, "memory reaches %s, more than the %s there are",
                        ka_words_size(pool, r->memory_most_bytes),
                        ka_words_size(pool, budget));
}

static const char *verdict(const ka_sim_side *side, const ka_server *server,
                           apr_pool_t *pool)
{
    const ka_sim_result *r = &side->result;
    const char *const parts[] = {
        waits_in_words(r, pool),
        count_in_words(r->refused, "attempts to connect are refused", pool),
        count_in_words(r->given_up, "requests are lost", pool),
        count_in_words(r->evicted,
                       "idle connections are closed for want of workers", pool),
        count_in_words(r->dropped, "requests meet such a close", pool),
        count_in_words(r->waited ? r->limited : 0,
                       "times a child with free workers stops accepting, for "
                       "too many connections (AsyncRequestWorkerFactor)",
                       pool),
        memory_in_words(r, ka_server_get(server, KA_FACT_MEMORY, -1), pool)};

    return ka_words_join(pool, parts, sizeof(parts) / sizeof(parts[0]));
}

static void add_note(apr_array_header_t *notes, const char *text)
{
    if (text) {
        APR_ARRAY_PUSH(notes, const char *) = text;
    }
}

static const char *longer_note(const ka_sim_view *view, apr_pool_t *pool)
{
    int64_t now = view->report->timeout_us;
    size_t i;

    for (i = 0; i < view->side_n; i++) {
        if (view->sides[i].result.outcome.timeout_us > now) {
            return apr_psprintf(
                pool,
                "the traffic was seen under a KeepAliveTimeout of %s: what a "
                "longer one does rests on linking connections by client",
                ka_words_timeout(pool, now));
        }
    }
    return NULL;
}

static void set_notes(ka_sim_view *view, apr_pool_t *pool)
{
    apr_array_header_t *notes = apr_array_make(pool, 6, sizeof(const char *));
    const ka_profile *profile = view->report->profile;
    const ka_sim_config *first = &view->sides[0].config;
    const ka_sim_config *last = &view->sides[view->side_n - 1].config;

    if (profile->with_service == 0) {
        add_note(notes, "the log has no service times (%D): requests take no "
                        "time here, so that workers look idler than they are");
    }
    add_note(notes, longer_note(view, pool));
    if (first->linger_us == 0) {
        add_note(notes, "clients answer the server's close at once; --linger "
                        "2 is the other end: none answers");
    }
    if (first->policy || last->policy) {
        add_note(notes, "by KAPolicy, a client whose last used connection is "
                        "closed is taken to open one, though it may have an "
                        "older one: connections are an upper bound");
    }
    if (view->stretch.drawn) {
        add_note(notes, "drawn traffic is as bursty as the distributions say, "
                        "no more: prefer a log that names connections, of at "
                        "most a million requests");
    }
    if (first->process_bytes < 0) {
        add_note(notes, "memory is not known: --process-memory gives that of "
                        "one process");
    }
    add_note(notes, "the server begins with StartServers as the traffic "
                    "begins, and is never short of processor");
    view->notes = (const char *const *)notes->elts;
    view->note_n = (size_t)notes->nelts;
}

/* ---- gather and run ----------------------------------------------------- */

/* A file that does not say its MPM is for that of the host's httpd. */
static apr_status_t read_file(ka_sim_side *side, const char **error,
                              const char *file, int32_t given, int32_t host,
                              apr_pool_t *pool)
{
    apr_status_t rv = ka_simulate_config(side, error, file, given, pool);

    if (rv == APR_EINVAL && given == KA_MPM_UNKNOWN && host != given) {
        rv = ka_simulate_config(side, error, file, host, pool);
        side->mpm_origin = "the httpd of this host";
    }
    return rv;
}

/* @param given  --mpm
 * Without --config the first is that of the host's httpd. */
static apr_status_t read_sides(ka_sim_side *sides, size_t *n,
                               const char **error, const ka_options *options,
                               const ka_host *host, int32_t given,
                               apr_pool_t *pool)
{
    const char *const files[] = {options->config, options->against};
    int32_t mpm =
        (int32_t)ka_server_get(&options->server, KA_FACT_ID_MPM, -1);
    apr_status_t rv = APR_SUCCESS;
    size_t i;

    *n = 0;
    if (!options->config) {
        rv = ka_simulate_server(&sides[(*n)++], error, host->httpd, mpm, pool);
    }
    for (i = 0; !rv && i < KA_SIM_SIDES; i++) {
        if (files[i]) {
            rv = read_file(&sides[(*n)++], error, files[i], given, mpm, pool);
        }
    }
    return rv;
}

static apr_status_t run_sides(ka_sim_view *view, ka_sim_side *sides,
                              const ka_analysis *a, const ka_options *options,
                              apr_pool_t *pool)
{
    apr_status_t rv = APR_SUCCESS;
    size_t i;

    for (i = 0; !rv && i < view->side_n; i++) {
        fill_traffic_costs(&sides[i].config, view, a, options);
        rv = ka_sim_run(&sides[i].result, &sides[i].config,
                        view->stretch.traffic, view->seed, pool);
        view->verdicts[i] = verdict(&sides[i], &options->server, pool);
    }
    return rv;
}

static int64_t window_of(const ka_stretch *stretch)
{
    return stretch->traffic->end_us - stretch->traffic->begin_us;
}

static bool has_policy(const ka_sim_side *sides, size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (sides[i].config.policy) {
            return true;
        }
    }
    return false;
}

static apr_status_t gather(ka_sim_view *view, const char **error,
                           const ka_options *options, const ka_host *host,
                           int32_t given, apr_pool_t *pool)
{
    ka_sim_side *sides = apr_pcalloc(pool, KA_SIM_SIDES * sizeof(*sides));
    ka_analysis *analysis = apr_palloc(pool, sizeof(*analysis));
    ka_stretch_want want = {
        .seed = view->seed, .growth = 1, .most = DRAWN_WANTED};
    apr_status_t rv =
        read_sides(sides, &view->side_n, error, options, host, given, pool);

    want.by_class = has_policy(sides, view->side_n);
    if (!rv) {
        rv = ka_analysis_run(analysis, error, options, pool);
    }
    if (!rv) {
        rv = ka_stretch_of(&view->stretch, error, analysis, &want, pool);
    }
    if (!rv && options->restart_us >= window_of(&view->stretch)) {
        *error = apr_psprintf(
            pool, "--restart-at %s: the traffic lasts %s; choose a time in it",
            ka_words_duration(pool, (double)options->restart_us),
            ka_words_duration(pool, (double)window_of(&view->stretch)));
        rv = APR_EINVAL;
    }
    if (!rv) {
        view->report = &analysis->report;
        view->sides = sides;
        *error = "not enough memory to simulate this traffic";
        rv = run_sides(view, sides, analysis, options, pool);
        set_notes(view, pool);
    }
    return rv;
}

/* What the host's httpd tells is wanted. */
static bool asks_host(const ka_options *options)
{
    return !options->config || options->source_n == 0 ||
           options->httpd_config != NULL;
}

static int prepare(ka_options *own, ka_host *host, const ka_options *options,
                   apr_pool_t *pool)
{
    int status = KA_EXIT_DONE;

    if (options->output == KA_OUTPUT_CONF) {
        ka_say(pool, "--output conf: simulate has no configuration to write; "
                     "expected text or json");
        return KA_EXIT_USAGE;
    }
    *own = *options;
    if (asks_host(options)) {
        status = ka_host_complete(host, "", options, pool);
        *own = host->options;
    }
    own->keep_requests = true;
    return status;
}

int ka_command_simulate(const ka_options *options, apr_pool_t *pool)
{
    ka_sim_view view = {.seed = options->seed};
    ka_render_options how = {.verbose = options->verbose};
    ka_host *host = apr_pcalloc(pool, sizeof(*host));
    const char *error = NULL;
    ka_result_file file;
    ka_options own;
    int32_t given;
    int status = prepare(&own, host, options, pool);

    if (status != KA_EXIT_DONE) {
        return status;
    }
    given = (int32_t)ka_server_get(&options->server, KA_FACT_ID_MPM, -1);
    if (gather(&view, &error, &own, host, given, pool)) {
        ka_say(pool, "%s", error);
        return KA_EXIT_FAILED;
    }
    if (ka_result_open(&file, options, pool)) {
        return KA_EXIT_FAILED;
    }
    how.color = ka_result_color(&file);
    how.width = ka_result_width(&file);
    return ka_result_close(&file,
                           options->output == KA_OUTPUT_JSON
                               ? ka_render_sim_json(file.stream, &view)
                               : ka_render_sim_text(file.stream, &view, &how));
}
