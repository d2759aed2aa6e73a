/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The analysis of a live segment, or of a copy of one. */
#include "analysis.h"

#include <apr_strings.h>
#include <apr_time.h>

#include "../profile/live.h"
#include "../profile/live_pieces.h"
#include "../words.h"

const char *ka_segment_unfit(const char *path, const ka_options *options,
                             apr_pool_t *pool)
{
    const char *name = ka_log_option(options, false);

    return name ? apr_psprintf(pool,
                               "%s: %s is for logs; a segment counts since the "
                               "start of its server",
                               path, name)
                : NULL;
}

/* ---- facts ------------------------------------------------------------- */

#define ORIGIN "segment: configuration in force"

/* What an option says stands, but for what the server did in this segment. */
static void set_unless_given(ka_server *server, ka_fact_id id, int64_t value,
                             int64_t least)
{
    if (value >= least && !server->facts[id].known) {
        ka_server_set(server, id, value, false, ORIGIN);
    }
}

/* The vhost that most requests went to; without any, the first in force. */
static const ka_segment_vhost *main_vhost(const ka_live *live)
{
    uint32_t i;

    if (live->vhost_n) {
        return live->vhosts[0].vhost;
    }
    for (i = 0; i + 1 < live->snapshot.vhost_n; i++) {
        if (live->snapshot.vhosts[i].flags & KA_VHOST_IN_FORCE) {
            break;
        }
    }
    return &live->snapshot.vhosts[i];
}

static void set_facts(ka_server *server, const ka_live *live, apr_pool_t *pool)
{
    const ka_segment_config *config = &live->snapshot.config;
    const ka_segment_vhost *vhost = main_vhost(live);
    bool on =
        vhost->flags & KA_VHOST_KEEP_ALIVE && vhost->keep_alive_timeout_us > 0;
    const char *origin = apr_psprintf(pool, ORIGIN ", virtual host %s",
                                      ka_words_clean(pool, vhost->name, false));

    bool threads = config->mpm != KA_MPM_PREFORK;
    const struct {
        ka_fact_id id;
        int32_t value, least;
    } told[] = {
        {KA_FACT_ID_MPM, config->mpm, 0},
        {KA_FACT_MAX_REQUEST_WORKERS, config->max_request_workers, 1},
        {KA_FACT_THREADS_PER_CHILD, threads ? config->threads_per_child : -1,
         1},
        {KA_FACT_SERVER_LIMIT, config->server_limit, 1},
        {KA_FACT_THREAD_LIMIT, threads ? config->thread_limit : -1, 1},
        {KA_FACT_MIN_SPARE, config->min_spare, 1},
        {KA_FACT_MAX_SPARE, config->max_spare, 1},
        {KA_FACT_MAX_CONNECTIONS_PER_CHILD, config->max_connections_per_child,
         0}};
    size_t i;

    for (i = 0; i < sizeof(told) / sizeof(told[0]); i++) {
        set_unless_given(server, told[i].id, told[i].value, told[i].least);
    }
    set_unless_given(server, KA_FACT_MAX_KEEPALIVE_REQUESTS,
                     vhost->max_keep_alive_requests, 0);
    ka_server_set(server, KA_FACT_KEEP_ALIVE, on, false, origin);
    ka_server_set(server, KA_FACT_TIMEOUT,
                  on ? vhost->keep_alive_timeout_us : 0, false, origin);
}

/* ---- source ------------------------------------------------------------ */

static void describe(ka_source_info *source, const ka_live *live,
                     apr_pool_t *pool)
{
    const char **files = apr_palloc(pool, sizeof(*files));

    files[0] = live->path;
    *source = (ka_source_info){.kind = "segment",
                               .files = files,
                               .file_n = 1,
                               .clock_us = 1,
                               .service_clock_us = 1,
                               .first_us = live->first_us,
                               .last_us = live->last_us,
                               .requests = ka_stats_requests(live->total)};
}

/* Requests per connection [M16]. */
static void set_lengths(ka_analysis *a, const ka_live *live)
{
    const ka_stats *total = live->total;
    int32_t limit = live->vhost_n
                        ? live->vhosts[0].vhost->max_keep_alive_requests
                        : 0;

    a->lengths = &total->quantity[KA_QUANTITY_REQUESTS];
    a->length_limit = limit > 0 ? (uint32_t)limit : 0;
    a->limited = total->counter[KA_COUNTER_CLOSE + KA_REASON_MAX_REQUESTS];
}

static const char *longer_note(const ka_hist_traffic *traffic)
{
    return traffic->survival.n
               ? NULL
               : "for timeouts longer than those in force, connections opened "
                 "and held are upper bounds: nothing tells how soon clients "
                 "came back";
}

static const char *peak_note(const ka_live *live,
                             const ka_hist_traffic *traffic)
{
    if (!traffic->open.n) {
        return "without a history of seconds, peaks are estimated from means";
    }
    return live->history[0].at > live->first_us + APR_USEC_PER_SEC
               ? "peaks are those of the time that the history reaches back"
               : NULL;
}

/* What the numbers must not be taken for; NULL if there is nothing. */
static const char *note_of(const ka_live *live, const ka_hist_traffic *traffic,
                           apr_pool_t *pool)
{
    const char *const notes[] = {longer_note(traffic),
                                 peak_note(live, traffic)};

    return ka_words_join(pool, notes, sizeof(notes) / sizeof(notes[0]));
}

static void find_intervals(ka_analysis *a, const ka_hist_traffic *traffic,
                           const ka_options *options, apr_pool_t *pool)
{
    const ka_report *r = &a->report;
    const ka_led led = {.traffic = traffic,
                        .outcomes = r->low,
                        .n = r->timeout_n,
                        .now = r->now};
    ka_pieces pieces;

    ka_live_pieces(&pieces, a->live, &led, pool);
    ka_analysis_resample(a, &pieces, &pieces,
                         "the connections that the segment keeps one by one "
                         "are of fewer than 6 groups of visitors, and its "
                         "seconds make less than an hour",
                         options, pool);
}

apr_status_t ka_analysis_segment(ka_analysis *a, const char **error,
                                 const char *path, const ka_options *options,
                                 apr_pool_t *pool)
{
    ka_report *r = &a->report;
    ka_hist_traffic *traffic = apr_palloc(pool, sizeof(*traffic));
    apr_status_t rv;

    *error = ka_segment_unfit(path, options, pool);
    if (*error) {
        return APR_EINVAL;
    }
    a->live = apr_palloc(pool, sizeof(*a->live));
    rv = ka_segment_source_read(a->live, error, path, options->vhost,
                                apr_time_now(), pool);
    if (rv) {
        return rv;
    }
    *error = "not enough memory for this segment";
    describe(&a->source, a->live, pool);
    set_facts(&a->server, a->live, pool);
    set_lengths(a, a->live);
    ka_live_profile(&a->profile, a->live, pool);
    ka_live_traffic(traffic, a->live, pool);
    a->hist = traffic;
    *r = (ka_report){.generated_us = apr_time_now(),
                     .version = KA_VERSION,
                     .source = &a->source,
                     .identity = ka_identity_name(KA_IDENTITY_LIVE),
                     .identity_note = note_of(a->live, traffic, pool),
                     .profile = &a->profile,
                     .server = &a->server};
    r->timeout_us = ka_server_get(&a->server, KA_FACT_TIMEOUT, 0);
    r->timeout_us = r->timeout_us > 0 ? r->timeout_us : KA_TIMEOUT_OFF;
    rv = ka_analysis_histsweep(a, traffic, options, pool);
    if (!rv) {
        find_intervals(a, traffic, options, pool);
    }
    return rv;
}
