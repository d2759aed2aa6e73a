/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The analysis of a log that is counted as it is read (stream.h). */
#include "analysis.h"

#include <string.h>

#include "../crew.h"
#include "../profile/stream.h"
#include "analysis_profile.h"

ka_tally *ka_analysis_make_tally(const ka_analysis *a,
                                 const ka_options *options, apr_pool_t *pool)
{
    size_t n;
    const int64_t *timeouts = ka_analysis_timeouts(&n, a, options, pool);
    ka_tally *tally =
        n <= KA_TALLY_TIMEOUTS ? ka_tally_make(timeouts, n, pool) : NULL;

    if (tally) {
        tally->timeout_us = a->report.timeout_us;
    }
    return tally;
}

void ka_analysis_complete_tally(ka_analysis *a, ka_identity identity)
{
    ka_tally *t = a->tally;
    ka_source_info *source = &a->source;
    ka_tally_server *server = ka_tally_server_at(t, "");

    t->lines = source->lines;
    t->parsed = source->parsed;
    t->skipped = source->skipped;
    memcpy(t->excluded, source->excluded, sizeof(t->excluded));
    t->identity = identity;
    t->clock_us = source->clock_us;
    t->service_clock_us = source->service_clock_us;
    t->late += source->late;
    source->late = t->late;
    source->forgotten = t->forgotten;
    source->distinct_estimated = t->clients.n == KA_DISTINCT_MAX ||
                                 t->addresses.n == KA_DISTINCT_MAX;
    if (server) {
        server->first_us = source->first_us;
        server->last_us = source->first_us + (int64_t)t->window_us;
        server->window_us = t->window_us;
        server->facts = a->server;
    }
}

static apr_status_t count(ka_analysis *a, const char **error, ka_log *log,
                          const ka_options *options, apr_pool_t *pool)
{
    ka_stream *stream;
    ka_crew *crew;
    apr_status_t rv = ka_crew_make(&crew, (size_t)options->threads, pool);

    if (rv) {
        return rv;
    }
    stream = ka_stream_make(a->tally, &a->source, KA_STREAM_CLIENTS,
                            KA_STREAM_WAITING, crew);
    if (!stream) {
        return APR_ENOMEM;
    }
    rv = ka_log_scan(log, error, crew, ka_stream_take, stream);
    if (!rv) {
        *error = "not enough memory to count the requests of this log";
        rv = ka_stream_finish(stream);
    }
    ka_stream_free(stream);
    return rv;
}

apr_status_t ka_analysis_stream(ka_analysis *a, const char **error,
                                ka_log *log, const ka_options *options,
                                apr_pool_t *pool)
{
    apr_status_t rv;

    *error = "not enough memory to count the requests of this log";
    ka_analysis_settle_timeout(a);
    a->tally = ka_analysis_make_tally(a, options, pool);
    if (!a->tally) {
        return APR_ENOMEM;
    }
    rv = count(a, error, log, options, pool);
    if (rv) {
        return rv;
    }
    ka_analysis_complete_tally(a, KA_IDENTITY_TIME);
    return a->tally->failed ? APR_ENOMEM
                            : ka_analysis_of_tally(a, options, pool);
}
