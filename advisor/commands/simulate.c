/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * `kaadvisor simulate`: what a configuration would do under this traffic. */
#include "commands.h"

#include <apr_strings.h>

#include "../words.h"
#include "output.h"
#include "say.h"
#include "simulate.h"

/* Rows of the series that people get. */
#define POINTS_SHOWN 12

/* ---- what the source says of each connection ---------------------------- */

/* CPU time of a handshake, by the share of TLS as far as the source tells. */
static int64_t handshake_us(const ka_profile *profile)
{
    double requests = (double)profile->total.requests;
    double tls = requests > 0 ? (double)profile->tls / requests : 0;

    return KA_CPU_CONNECTION_US +
           (int64_t)(tls * (KA_CPU_TLS_RSA_US - KA_CPU_CONNECTION_US) + 0.5);
}

static void fill_traffic_costs(ka_sim_config *c, const ka_analysis *a,
                               const ka_options *options)
{
    const ka_server *server = &options->server;

    c->handshake_cpu_us = handshake_us(&a->profile);
    c->process_bytes = ka_server_get(server, KA_FACT_PROCESS_MEMORY, -1);
    c->shared_bytes = ka_server_get(server, KA_FACT_SHARED_MEMORY, 0);
    c->idle_bytes =
        a->profile.tls ? KA_IDLE_TLS_BYTES : KA_IDLE_PLAIN_BYTES;
    c->points = options->output == KA_OUTPUT_JSON ? 0 : POINTS_SHOWN;
    if (a->live) {
        const ka_stats *total = a->live->total;

        c->accept_us =
            (int64_t)ka_hist_mean(&total->quantity[KA_QUANTITY_FIRST]);
        c->linger_us =
            (int64_t)ka_hist_mean(&total->quantity[KA_QUANTITY_LINGER]);
    }
    if (options->linger_us >= 0) {
        c->linger_us = options->linger_us;
    }
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
    bool by_class = first->policy || view->sides[view->side_n - 1].config.policy;

    if (profile->with_service == 0) {
        add_note(notes, "the log has no service times (%D): requests take no "
                        "time here, so that workers look idler than they are");
    }
    add_note(notes, longer_note(view, pool));
    if (first->linger_us == 0) {
        add_note(notes, "clients answer the server's close at once; --linger "
                        "2 is the other end: none answers");
    }
    if (by_class) {
        add_note(notes, "by KAPolicy, a client whose last used connection is "
                        "closed is taken to open one, though it may have an "
                        "older one: connections are an upper bound");
    }
    if (view->drawn) {
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

static apr_status_t read_sides(ka_sim_side *sides, size_t *n,
                               const char **error, const ka_options *options,
                               apr_pool_t *pool)
{
    const char *const files[] = {options->config, options->against};
    int32_t mpm =
        (int32_t)ka_server_get(&options->server, KA_FACT_ID_MPM, -1);
    apr_status_t rv = APR_SUCCESS;

    for (*n = 0; !rv && *n < KA_SIM_SIDES && files[*n]; ++*n) {
        rv = ka_simulate_config(&sides[*n], error, files[*n], mpm, pool);
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
        fill_traffic_costs(&sides[i].config, a, options);
        rv = ka_sim_run(&sides[i].result, &sides[i].config, view->traffic,
                        view->seed, pool);
        view->verdicts[i] = verdict(&sides[i], &options->server, pool);
    }
    return rv;
}

static apr_status_t gather(ka_sim_view *view, const char **error,
                           const ka_options *options, apr_pool_t *pool)
{
    ka_sim_side *sides = apr_pcalloc(pool, KA_SIM_SIDES * sizeof(*sides));
    ka_analysis *analysis = apr_palloc(pool, sizeof(*analysis));
    apr_status_t rv = read_sides(sides, &view->side_n, error, options, pool);

    view->sides = sides;
    if (!rv) {
        rv = ka_analysis_run(analysis, error, options, pool);
    }
    if (!rv) {
        rv = ka_simulate_traffic(view, error, analysis, view->seed, pool);
    }
    if (!rv) {
        view->report = &analysis->report;
        *error = "not enough memory to simulate this traffic";
        rv = run_sides(view, sides, analysis, options, pool);
        set_notes(view, pool);
    }
    return rv;
}

static int unfit(const ka_options *options, apr_pool_t *pool)
{
    if (!options->config) {
        ka_say(pool, "simulate needs --config FILE, an httpd configuration or "
                     "a block as `kaadvisor --output conf` writes it");
        return KA_EXIT_USAGE;
    }
    if (options->output == KA_OUTPUT_CONF) {
        ka_say(pool, "--output conf: simulate has no configuration to write; "
                     "expected text or json");
        return KA_EXIT_USAGE;
    }
    return options->source_n ? KA_EXIT_DONE : ka_no_source("simulate");
}

int ka_command_simulate(const ka_options *options, apr_pool_t *pool)
{
    ka_sim_view view = {.seed = options->seed};
    ka_render_options how = {.verbose = options->verbose};
    ka_options own = *options;
    const char *error = NULL;
    ka_result_file file;
    int status = unfit(options, pool);

    if (status != KA_EXIT_DONE) {
        return status;
    }
    own.keep_requests = true;
    if (gather(&view, &error, &own, pool)) {
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
