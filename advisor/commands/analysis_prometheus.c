/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Each server goes the way of a segment.  Histograms take 125 kB a virtual
 * host, so those of one server are let go of before the next one's are made;
 * what the model takes of them is kept for the group.
 */
#include "analysis_prometheus.h"

#include <math.h>
#include <strings.h>
#include <apr_strings.h>
#include <apr_time.h>

#include <ka_units.h>
#include "../profile/prom_traffic.h"
#include "../words.h"
#include "group.h"
#include "prometheus_facts.h"
#include "say.h"

/* ---- options ------------------------------------------------------------ */

apr_status_t ka_analysis_find_prometheus(const char **url, const char **error,
                                         const ka_options *options)
{
    size_t i;

    *url = NULL;
    for (i = 0; i < options->source_n && !*url; i++) {
        if (ka_prometheus_source_is(options->sources[i])) {
            *url = options->sources[i];
        }
    }
    if (*url && options->source_n > 1) {
        *error = "a Prometheus URL stands for all servers that it scrapes; "
                 "give it alone";
        return APR_EINVAL;
    }
    return APR_SUCCESS;
}

/* What is wrong with the options; NULL: nothing. */
static const char *unfit(const ka_options *options, apr_pool_t *pool)
{
    const char *match = options->match;
    const char *name = ka_log_option(options, false);

    if (name) {
        return apr_pstrcat(pool, name,
                           " is for logs; of Prometheus --window says how far "
                           "back",
                           NULL);
    }
    match = match ? ka_prom_match_unfit(match) : NULL;
    return match ? apr_pstrcat(pool, "--match: ", match, NULL) : NULL;
}

static apr_status_t ask(ka_prom *prom, const char **error, const char *url,
                        const ka_options *options, apr_pool_t *pool)
{
    const ka_prom_access access = {.url = url,
                                   .token_file = options->token_file,
                                   .ca_file = options->ca_file,
                                   .insecure = options->insecure};
    ka_prom_asked asked = {.match = options->match,
                           .window_s = options->window_us / 1000000};

    asked.window_s = asked.window_s > 0 ? asked.window_s : KA_PROM_WINDOW_S;
    if (options->token_file && !options->quiet &&
        !strncasecmp(url, "http://", 7)) {
        ka_say(pool,
               "%s: the token goes over http, which anybody on the way "
               "can read",
               url);
    }
    return ka_prom_read(prom, error, &access, &asked, pool);
}

/* ---- one report --------------------------------------------------------- */

static void describe(ka_analysis *a, const ka_prom *prom, apr_pool_t *pool)
{
    const char **files = apr_palloc(pool, sizeof(*files));

    files[0] = prom->url;
    a->source = (ka_source_info){.kind = "prometheus",
                                 .files = files,
                                 .file_n = 1,
                                 .first_us = a->profile.first_us,
                                 .last_us = a->profile.last_us,
                                 .requests = a->profile.total.requests};
    a->report = (ka_report){.generated_us = apr_time_now(),
                            .version = KA_VERSION,
                            .source = &a->source,
                            .identity = ka_identity_name(KA_IDENTITY_LIVE),
                            .profile = &a->profile,
                            .server = &a->server};
}

static void set_lengths(ka_analysis *a, const ka_live *live, apr_pool_t *pool)
{
    int32_t limit =
        live->vhost_n ? live->vhosts[0].vhost->max_keep_alive_requests : 0;

    a->lengths = apr_pmemdup(pool, &live->total->quantity[KA_QUANTITY_REQUESTS],
                             sizeof(*a->lengths));
    a->length_limit = limit > 0 ? (uint32_t)limit : 0;
    a->limited =
        live->total->counter[KA_COUNTER_CLOSE + KA_REASON_MAX_REQUESTS];
}

/* Of servers[n]. */
static void find_intervals(ka_analysis *a, const ka_hist_traffic *traffic,
                           const ka_prom_server *const *servers, size_t n,
                           int64_t block_s, const ka_options *options,
                           apr_pool_t *pool)
{
    ka_report *r = &a->report;
    const ka_led led = {.traffic = traffic,
                        .outcomes = r->low,
                        .n = r->timeout_n,
                        .now = r->now};
    ka_pieces pieces;

    if (options->vhost) {
        r->no_intervals = "Prometheus is not asked how the hours of one "
                          "virtual host differ";
        return;
    }
    ka_prom_pieces(&pieces, servers, n, block_s, &led, pool);
    ka_analysis_resample(a, &pieces, &pieces,
                         "Prometheus knows no visitors, and has the requests "
                         "of less than an hour",
                         options, pool);
}

/* What is known of one server, or of all; live is in a pool of its own. */
static apr_status_t report_on(ka_analysis *a, ka_live *live,
                              const ka_hist_traffic *traffic,
                              int64_t timeout_us, uint64_t addresses,
                              const ka_prom *prom, const ka_options *options,
                              apr_pool_t *pool)
{
    size_t i;

    ka_prom_profile(&a->profile, live, addresses, pool);
    for (i = 0; i < a->profile.vhost_n; i++) {
        a->profile.vhosts[i].name =
            apr_pstrdup(pool, a->profile.vhosts[i].name);
    }
    describe(a, prom, pool);
    set_lengths(a, live, pool);
    a->hist = traffic;
    a->report.timeout_us = timeout_us > 0 ? timeout_us : KA_TIMEOUT_OFF;
    return ka_analysis_histsweep(a, traffic, options, pool);
}

static void set_times(ka_analysis *a, const ka_prom *prom, double first_s)
{
    a->profile.last_us = a->source.last_us = prom->asked.at_s * 1000000;
    a->profile.first_us = a->source.first_us = (int64_t)first_s * 1000000;
}

/* ---- servers ------------------------------------------------------------ */

typedef struct gathering {
    const ka_prom *prom;
    const ka_options *options;
    const ka_server *given; /* facts of the options */
    ka_analysis *members;
    const ka_hist_traffic **traffic;
    double *first_s;
    double *changes;
    uint64_t *addresses;
    const ka_prom_server **servers;
    size_t n;
    ka_live group;
    bool named; /* some server has the --vhost */
    apr_pool_t *pool;
} gathering;

static double changes_of(const ka_prom_server *server)
{
    double changes = 0;
    size_t i;

    for (i = 0; i < server->vhost_n; i++) {
        changes += server->vhosts[i]->timeout_changes;
    }
    return changes;
}

static apr_status_t add_server(gathering *g, const ka_prom_server *server,
                               apr_pool_t *scratch)
{
    ka_analysis *a = &g->members[g->n];
    ka_hist_traffic *traffic = apr_palloc(g->pool, sizeof(*traffic));
    ka_live live;
    apr_status_t rv;

    if (!ka_prom_live(&live, g->prom, server, g->options->vhost, scratch)) {
        return APR_SUCCESS;
    }
    g->named = true;
    if (server->observed_s <= 0 || live.vhost_n == 0) {
        return APR_SUCCESS;
    }
    *a = (ka_analysis){.server = *g->given};
    ka_prom_facts(&a->server, server, &live, g->pool);
    ka_prom_traffic(traffic, &live, server, g->prom->asked.step_s, g->pool);
    g->traffic[g->n] = traffic;
    g->first_s[g->n] = server->first_s;
    g->changes[g->n] = changes_of(server);
    g->addresses[g->n] = g->options->vhost ? 0 : ka_prom_addresses(server);
    rv = report_on(a, &live, traffic,
                   ka_server_get(&a->server, KA_FACT_TIMEOUT, 0),
                   g->addresses[g->n], g->prom, g->options, g->pool);
    g->servers[g->n] = server;
    if (!rv) {
        find_intervals(a, traffic, &g->servers[g->n], 1,
                       g->prom->asked.block_s, g->options, g->pool);
    }
    set_times(a, g->prom, server->first_s);
    a->report.host = server->name;
    a->report.identity_note =
        ka_prom_note(g->prom, g->changes[g->n], traffic, g->pool);
    ka_prom_group_add(&g->group, &live, g->pool);
    g->n++;
    return rv;
}

static apr_status_t add_servers(gathering *g)
{
    apr_status_t rv = APR_SUCCESS;
    apr_pool_t *scratch;
    size_t i;

    apr_pool_create(&scratch, g->pool);
    for (i = 0; i < g->prom->server_n && !rv; i++) {
        rv = add_server(g, g->prom->servers[i], scratch);
        apr_pool_clear(scratch);
    }
    apr_pool_destroy(scratch);
    return rv;
}

static const char *no_traffic(const gathering *g)
{
    const char *vhost = g->options->vhost;

    if (vhost && !g->named) {
        return apr_psprintf(g->pool,
                            "%s: there is no virtual host \"%s\" on any "
                            "server",
                            g->prom->url, vhost);
    }
    return apr_psprintf(
        g->pool,
        "%s: no requests between two scrapes of mod_kastats in the last %s; "
        "give a longer --window, or wait for traffic",
        g->prom->url,
        ka_words_duration(g->pool, (double)g->prom->asked.window_s * 1e6));
}

/* ---- the group ---------------------------------------------------------- */

/* T0 of most server time. */
static int64_t common_timeout(const gathering *g)
{
    int64_t best = KA_TIMEOUT_OFF;
    double most = -1;
    size_t i, k;

    for (i = 0; i < g->n; i++) {
        double seconds = 0;

        for (k = 0; k < g->n; k++) {
            if (g->members[k].report.timeout_us ==
                g->members[i].report.timeout_us) {
                seconds += g->members[k].profile.window_s;
            }
        }
        if (seconds > most) {
            most = seconds;
            best = g->members[i].report.timeout_us;
        }
    }
    return best;
}

/* The most of any server's clients; 0 unless known of all. */
static uint64_t most_addresses(const gathering *g)
{
    uint64_t most = 0;
    size_t i;

    for (i = 0; i < g->n; i++) {
        if (g->addresses[i] == 0) {
            return 0;
        }
        most = g->addresses[i] > most ? g->addresses[i] : most;
    }
    return most;
}

/* Rates of busy seconds are those of the busiest server. */
static void join_rates(ka_traffic *total, const gathering *g)
{
    size_t i;

    for (i = 0; i < g->n; i++) {
        const ka_traffic *own = &g->members[i].profile.total;

        total->p99_per_s = fmax(total->p99_per_s, own->p99_per_s);
        total->peak_per_s = fmax(total->peak_per_s, own->peak_per_s);
    }
}

static apr_status_t make_group(ka_analysis *a, gathering *g)
{
    ka_hist_traffic *traffic = apr_palloc(g->pool, sizeof(*traffic));
    double first_s = g->first_s[0], changes = 0;
    apr_status_t rv;
    size_t i;

    for (i = 0; i < g->n; i++) {
        first_s = g->first_s[i] < first_s ? g->first_s[i] : first_s;
        changes += g->changes[i];
    }
    a->members = g->members;
    a->member_n = g->n;
    ka_group_share_facts(a, g->pool);
    ka_prom_traffic_join(traffic, g->traffic, g->n, g->pool);
    rv = report_on(a, &g->group, traffic, common_timeout(g), most_addresses(g),
                   g->prom, g->options, g->pool);
    if (!rv) {
        find_intervals(a, traffic, g->servers, g->n, g->prom->asked.block_s,
                       g->options, g->pool);
    }
    set_times(a, g->prom, first_s);
    join_rates(&a->profile.total, g);
    a->report.identity_note = ka_prom_note(g->prom, changes, traffic, g->pool);
    return rv;
}

/* A server that is alone is no group. */
static void take_only(ka_analysis *a, const gathering *g)
{
    *a = g->members[0];
    a->report.source = &a->source;
    a->report.profile = &a->profile;
    a->report.server = &a->server;
}

apr_status_t ka_analysis_prometheus(ka_analysis *a, const char **error,
                                    const char *url, const ka_options *options,
                                    apr_pool_t *pool)
{
    ka_prom prom;
    gathering g = {
        .prom = &prom, .options = options, .given = &a->server, .pool = pool};
    apr_status_t rv;

    *error = unfit(options, pool);
    if (*error) {
        return APR_EINVAL;
    }
    rv = ask(&prom, error, url, options, pool);
    if (rv) {
        return rv;
    }
    g.members = apr_pcalloc(pool, prom.server_n * sizeof(*g.members));
    g.traffic = apr_palloc(pool, prom.server_n * sizeof(*g.traffic));
    g.first_s = apr_palloc(pool, prom.server_n * sizeof(*g.first_s));
    g.changes = apr_palloc(pool, prom.server_n * sizeof(*g.changes));
    g.addresses = apr_palloc(pool, prom.server_n * sizeof(*g.addresses));
    g.servers = apr_palloc(pool, prom.server_n * sizeof(*g.servers));
    ka_prom_group_init(&g.group, pool);
    *error = "not enough memory for what Prometheus answered";
    rv = add_servers(&g);
    if (!rv && g.n == 0) {
        *error = no_traffic(&g);
        return APR_ENOENT;
    }
    if (!rv && g.n == 1) {
        take_only(a, &g);
    }
    return rv || g.n == 1 ? rv : make_group(a, &g);
}
