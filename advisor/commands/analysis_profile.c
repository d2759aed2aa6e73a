/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The analysis of profile files: of one server, or of a group. */
#include "analysis_profile.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <apr_strings.h>
#include <apr_time.h>

#include "../profile/saturate.h"
#include "../profile/tally_trace.h"
#include "../sources/logformat.h"
#include "../words.h"
#include "group.h"

/* A server whose parts cover so much more time than has passed had several
 * logs at once. */
#define OVERLAP_MOST 1.1
/* Largest double that is a whole number and fits. */
#define COUNT_MAX 9e15

apr_status_t ka_analysis_find_profiles(bool *profiles, const char **error,
                                       const ka_options *options,
                                       apr_pool_t *pool)
{
    const char *profile = NULL, *log = NULL;
    size_t i;

    for (i = 0; i < options->source_n; i++) {
        const char **found =
            ka_profile_source_is(options->sources[i]) ? &profile : &log;

        *found = *found ? *found : options->sources[i];
    }
    *profiles = profile != NULL;
    if (profile && log) {
        *error = apr_psprintf(pool,
                              "%s is a profile, and %s is none: make one of it "
                              "first: `kaadvisor profile --host NAME -o FILE "
                              "%s`",
                              profile, log, log);
        return APR_EINVAL;
    }
    return APR_SUCCESS;
}

const char *ka_profile_unfit(const char *path, const ka_options *options,
                             apr_pool_t *pool)
{
    const char *name = ka_log_option(options, true);

    return name ? apr_psprintf(pool,
                               "%s: %s is for logs, and this is a profile, "
                               "which no longer tells single requests: give it "
                               "to the `kaadvisor profile` that reads the log",
                               path, name)
                : NULL;
}

/* ---- reading ------------------------------------------------------------ */

/* The same regular file again, under whatever name. */
static bool seen_before(const char *const *paths, size_t at)
{
    struct stat info, other;
    size_t i;

    if (stat(paths[at], &info) || !S_ISREG(info.st_mode)) {
        return false;
    }
    for (i = 0; i < at; i++) {
        if (stat(paths[i], &other) == 0 && other.st_dev == info.st_dev &&
            other.st_ino == info.st_ino) {
            return true;
        }
    }
    return false;
}

apr_status_t ka_profiles_read(ka_hosts *hosts, const char **error,
                              const char *const *paths, size_t n,
                              apr_pool_t *pool)
{
    apr_status_t rv = APR_SUCCESS;
    size_t i;

    for (i = 0; !rv && i < n; i++) {
        if (!seen_before(paths, i)) {
            rv = ka_profilefile_read(hosts, error, paths[i], pool);
        }
    }
    return rv;
}

/* ---- facts -------------------------------------------------------------- */

/* What an option says stands. */
static void set_facts(ka_server *server, const ka_tally_server *from,
                      apr_pool_t *pool)
{
    int id;

    for (id = 0; id < KA_FACTS; id++) {
        const ka_fact *fact = &from->facts.facts[id];

        if (fact->known && !server->facts[id].known) {
            ka_server_set(
                server, (ka_fact_id)id, fact->value, fact->assumed,
                apr_psprintf(pool, "profile of %s: %s",
                             ka_words_clean(pool, from->name, false),
                             ka_words_clean(pool, fact->origin, false)));
        }
    }
}

/* Parts of one server that were counted under different timeouts. */
static void settle_timeout(ka_server *server, const ka_tally *tally)
{
    const char *origin =
        tally->timeouts_differ
            ? "assumed: of the timeouts that its parts were counted under, "
              "that of most of the time"
            : "assumed: the timeout that the profile was counted under";
    bool on = tally->timeout_us > 0;

    if (!server->facts[KA_FACT_TIMEOUT].known) {
        ka_server_set(server, KA_FACT_TIMEOUT, on ? tally->timeout_us : 0, true,
                      origin);
        ka_server_set(server, KA_FACT_KEEP_ALIVE, on, true, origin);
    }
}

/* ---- source ------------------------------------------------------------- */

static void set_span(ka_source_info *source, const ka_tally *tally)
{
    size_t i;

    for (i = 0; i < tally->server_n; i++) {
        const ka_tally_server *s = &tally->servers[i];

        if (s->first_us == 0 && s->last_us == 0) {
            continue;
        }
        if (source->first_us == 0 || s->first_us < source->first_us) {
            source->first_us = s->first_us;
        }
        if (source->last_us == 0 || s->last_us > source->last_us) {
            source->last_us = s->last_us;
        }
    }
}

static void describe(ka_source_info *source, const ka_tally *tally,
                     const ka_options *options)
{
    *source = (ka_source_info){.kind = "profile",
                               .files = options->sources,
                               .file_n = options->source_n,
                               .lines = tally->lines,
                               .parsed = tally->parsed,
                               .skipped = tally->skipped,
                               .late = tally->late,
                               .clock_us = tally->clock_us,
                               .service_clock_us = tally->service_clock_us,
                               .requests = ka_add_saturated(
                                   tally->requests, tally->no_request),
                               .forgotten = tally->forgotten,
                               .distinct_estimated =
                                   tally->clients.n == KA_DISTINCT_MAX ||
                                   tally->addresses.n == KA_DISTINCT_MAX};
    if (tally->identity == KA_IDENTITY_PORT) {
        source->fields = KA_LF_BIT(KA_LF_REMOTE_PORT);
    }
    memcpy(source->excluded, tally->excluded, sizeof(source->excluded));
    set_span(source, tally);
}

/* ---- notes -------------------------------------------------------------- */

static const char *identity_note(const ka_tally *tally)
{
    return tally->identity == KA_IDENTITY_TIME ||
                   tally->identity == KA_IDENTITY_K
               ? "the log does not say which connection a request came on: "
                 "add %{c}a and %{remote}p to its LogFormat"
               : NULL;
}

/* Of one server, since another's parts may make up for it. */
static const char *overlap_note(const ka_tally *tally, apr_pool_t *pool)
{
    size_t i;

    for (i = 0; i < tally->server_n; i++) {
        const ka_tally_server *s = &tally->servers[i];
        double passed_us = (double)s->last_us - (double)s->first_us;

        if ((double)s->window_us > OVERLAP_MOST * passed_us + 1e6) {
            return apr_psprintf(
                pool,
                "the parts of %s cover the same time more than once: give "
                "each once, and read logs of one server and time in one call",
                ka_words_clean(pool, s->name, false));
        }
    }
    return NULL;
}

static const char *timeout_note(const ka_analysis *a, apr_pool_t *pool)
{
    int64_t counted = a->tally->timeout_us;

    return counted == a->report.timeout_us
               ? NULL
               : apr_psprintf(pool,
                              "connections and their lengths are those under "
                              "the KeepAliveTimeout of %s that they were "
                              "counted with",
                              ka_words_timeout(pool, counted));
}

static const char *note_of(const ka_analysis *a, apr_pool_t *pool)
{
    const char *const notes[] = {identity_note(a->tally),
                                 overlap_note(a->tally, pool),
                                 timeout_note(a, pool)};

    return ka_words_join(pool, notes, sizeof(notes) / sizeof(notes[0]));
}

/* ---- analysis ----------------------------------------------------------- */

/* [M16].  httpd serves one request more than MaxKeepAliveRequests says. */
static void set_lengths(ka_analysis *a)
{
    const ka_tally *tally = a->tally;
    int64_t limit =
        ka_server_get(&a->server, KA_FACT_MAX_KEEPALIVE_REQUESTS, 0);

    a->lengths = &tally->side[tally->bracket ? 1 : 0].lengths;
    a->length_limit = limit > 0 && limit < UINT32_MAX ? (uint32_t)limit : 0;
    if (a->length_limit) {
        a->limited = (uint64_t)fmin(
            ka_hist_count_above(a->lengths, a->length_limit), COUNT_MAX);
    }
}

static apr_status_t sweep(ka_analysis *a, const ka_options *options,
                          apr_pool_t *pool)
{
    ka_report *r = &a->report;
    int64_t *timeouts = ka_analysis_timeouts(&r->timeout_n, a, options, pool);
    ka_outcome *low = apr_pcalloc(pool, r->timeout_n * sizeof(*low));
    ka_outcome *high = low;
    apr_status_t rv = ka_tally_outcomes(low, timeouts, r->timeout_n, a->tally,
                                        false, r->timeout_us);

    if (!rv && a->tally->bracket) {
        high = apr_pcalloc(pool, r->timeout_n * sizeof(*high));
        rv = ka_tally_outcomes(high, timeouts, r->timeout_n, a->tally, true,
                               r->timeout_us);
    }
    r->low = low;
    r->high = high;
    ka_analysis_set_now(r, timeouts);
    if (!rv && a->tally->sample) {
        ka_analysis_intervals(a, a->tally->sample, options, pool);
    }
    else {
        r->no_intervals = "the profile, or a part of it, was written without "
                          "what tells visitors and hours apart; `kaadvisor "
                          "profile` of this version keeps it";
    }
    return rv;
}

apr_status_t ka_analysis_of_tally(ka_analysis *a, const ka_options *options,
                                  apr_pool_t *pool)
{
    ka_report *r = &a->report;
    int64_t timeout_us;

    settle_timeout(&a->server, a->tally);
    timeout_us = ka_server_get(&a->server, KA_FACT_TIMEOUT, 0);
    ka_tally_profile(&a->profile, a->tally, pool);
    set_lengths(a);
    *r =
        (ka_report){.generated_us = apr_time_now(),
                    .version = KA_VERSION,
                    .source = &a->source,
                    .identity = ka_identity_name(a->tally->identity),
                    .profile = &a->profile,
                    .server = &a->server,
                    .timeout_us = timeout_us > 0 ? timeout_us : KA_TIMEOUT_OFF};
    r->identity_note = note_of(a, pool);
    return sweep(a, options, pool);
}

static apr_status_t analyse_host(ka_analysis *a, ka_tally *tally,
                                 const ka_options *options, apr_pool_t *pool)
{
    apr_status_t rv;

    a->tally = tally;
    a->server = options->server;
    set_facts(&a->server, &tally->servers[0], pool);
    describe(&a->source, tally, options);
    rv = ka_analysis_of_tally(a, options, pool);
    a->report.host = tally->servers[0].name;
    return rv;
}

/* Each server's own, then all of them as one. */
static apr_status_t analyse_group(ka_analysis *a, ka_hosts *hosts,
                                  const ka_options *options, apr_pool_t *pool)
{
    size_t i, n = hosts->n;

    a->tally = ka_hosts_sum(hosts);
    if (!a->tally) {
        return APR_ENOMEM;
    }
    a->members = apr_pcalloc(pool, n * sizeof(*a->members));
    a->member_n = n;
    hosts->n = 0; /* the members own them now */
    for (i = 0; i < n; i++) {
        a->members[i].tally = hosts->items[i];
    }
    for (i = 0; i < n; i++) {
        apr_status_t rv =
            analyse_host(&a->members[i], a->members[i].tally, options, pool);

        if (rv) {
            return rv;
        }
    }
    /* T0, where they differ, is that of most server time (settle_timeout). */
    ka_group_share_facts(a, pool);
    describe(&a->source, a->tally, options);
    return ka_analysis_of_tally(a, options, pool);
}

apr_status_t ka_analysis_profiles(ka_analysis *a, const char **error,
                                  const ka_options *options, apr_pool_t *pool)
{
    ka_hosts *hosts = apr_palloc(pool, sizeof(*hosts));
    apr_status_t rv;

    *error = ka_profile_unfit(options->sources[0], options, pool);
    if (*error) {
        return APR_EINVAL;
    }
    ka_hosts_init(hosts, pool);
    rv = ka_profiles_read(hosts, error, options->sources, options->source_n,
                          pool);
    if (rv) {
        return rv;
    }
    *error = "not enough memory for these profiles";
    if (hosts->n == 0) {
        *error = apr_psprintf(pool, "%s: holds no profile any more",
                              options->sources[0]);
        return APR_EOF;
    }
    if (hosts->n == 1) {
        ka_tally *tally = hosts->items[0];

        hosts->n = 0; /* the analysis owns it now */
        return analyse_host(a, tally, options, pool);
    }
    return analyse_group(a, hosts, options, pool);
}

/* ---- from an analysis to a tally ---------------------------------------- */

static void name_hours(ka_occupancy *o, uint32_t server)
{
    size_t i;

    for (i = 0; i < o->hour_n; i++) {
        o->hours[i].server = server;
    }
}

/* A log's tally was counted before anybody told whose it is.  One server's
 * hours stay in order whatever its number. */
static void name_server(ka_tally *tally, const char *host)
{
    uint32_t server = ka_occupancy_server(host);
    size_t side, i;

    tally->servers[0].name = apr_pstrdup(tally->pool, host);
    for (side = 0; side < 2; side++) {
        for (i = 0; i < tally->timeout_n; i++) {
            name_hours(&tally->side[side].timeouts[i].held, server);
        }
        name_hours(&tally->side[side].busy, server);
    }
}

/* The timeouts that were evaluated anyway; the longest go if they are too
 * many. */
static ka_tally *tally_of_trace(const ka_analysis *a, const char *host,
                                apr_pool_t *pool)
{
    const ka_report *r = &a->report;
    const ka_traced traced = {.requests = &a->without,
                              .served = &a->served,
                              .connections = &a->connections,
                              .info = &a->source,
                              .facts = &a->server,
                              .server = host,
                              .timeout_us = r->timeout_us};
    int64_t timeouts[KA_TALLY_TIMEOUTS];
    size_t n = 0;
    ka_tally *tally;

    while (n < r->timeout_n && n < KA_TALLY_TIMEOUTS) {
        timeouts[n] = r->low[n].timeout_us;
        n++;
    }
    tally = ka_tally_make(timeouts, n, pool);
    if (tally && ka_tally_add_trace(tally, &traced)) {
        ka_tally_free(tally);
        return NULL;
    }
    return tally;
}

ka_tally *ka_analysis_tally(ka_analysis *a, const char *host, apr_pool_t *pool)
{
    ka_tally *tally = a->tally;

    if (!tally) {
        return tally_of_trace(a, host, pool);
    }
    a->tally = NULL; /* the caller's from now on */
    a->lengths = NULL;
    if (tally->server_n != 1 && !ka_tally_server_at(tally, host)) {
        ka_tally_free(tally);
        return NULL;
    }
    name_server(tally, host);
    return tally;
}
