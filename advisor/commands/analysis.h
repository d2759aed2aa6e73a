/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What advise and show have in common: sources -> requests -> connections ->
 * profile -> outcomes, gathered into a report that advice may complete.  A
 * segment has no requests: its histograms lead to profile and outcomes.
 */
#ifndef KA_ANALYSIS_H
#define KA_ANALYSIS_H

#include <apr_errno.h>
#include <apr_pools.h>
#include "../advice/advise.h"
#include "../model/histsweep.h"
#include "../model/stretch.h"
#include "../options.h"
#include "../profile/connections.h"
#include "../profile/tally.h"
#include "../sources/log.h"
#include "../sources/segment.h"

typedef struct ka_analysis {
    ka_source_info source;
    ka_requests served;         /* of a log that is kept */
    ka_requests without;        /* connections without a request */
    ka_connections connections;
    ka_live *live;              /* the segment; NULL: another source */
    const ka_hist_traffic *hist; /* of a segment, or of a server that Prometheus
                                   knows; NULL: another source */
    ka_tally *tally;            /* logs too large to keep, profiles; NULL:
                                   another source; freed with the pool */
    const ka_hist *lengths;     /* requests per connection at T0, for [M16]
                                   where there is no trace; NULL: there is */
    uint32_t length_limit;      /* MaxKeepAliveRequests that cut them; 0: none
                                   known */
    uint64_t limited;           /* connections that it cut */
    struct ka_analysis *members; /* members[member_n]: a group's servers, each
                                   complete but for members; then this one is
                                   the group's (report.h) */
    size_t member_n;
    ka_profile profile;
    ka_server server;           /* options, and what the log tells */
    ka_report report;           /* up to low, high and now */
    ka_stretch stretch;         /* the busiest one, once it was asked for */
    bool stretch_asked, stretch_found;
} ka_analysis;

/**
 * Reads the sources of the options and evaluates every timeout.
 * @param analysis  caller's storage; what it owns beyond the pool is freed
 *                  when the pool is
 * @param error     on failure a text for the user
 * @return APR_SUCCESS, or the status of the step that failed
 */
apr_status_t ka_analysis_run(ka_analysis *analysis, const char **error,
                             const ka_options *options, apr_pool_t *pool);

/** Says on stderr that a SOURCE is missing. @return KA_EXIT_USAGE */
int ka_no_source(const char *command);

/** [M16] on what is advised from: of a bracket, the high side.  Valid once
 * the analysis has run, for as long as it lives. */
ka_extra ka_analysis_extra(ka_analysis *analysis);

/**
 * The segment among the sources.
 * @param path   set to it; NULL: there is none
 * @param error  on failure a text for the user
 * @return APR_SUCCESS; APR_EINVAL: it does not stand alone
 */
apr_status_t ka_analysis_find_segment(const char **path, const char **error,
                                      const ka_options *options);

/** The first option given that only makes sense for logs, by name; NULL: none
 * is.  @param vhost  --vhost is one */
const char *ka_log_option(const ka_options *options, bool vhost);

/** What is wrong with the options for a segment, as a text for the user; NULL
 * if nothing is. */
const char *ka_segment_unfit(const char *path, const ka_options *options,
                             apr_pool_t *pool);

/** ka_analysis_run for a segment: analysis is empty but for `server`. */
apr_status_t ka_analysis_segment(ka_analysis *analysis, const char **error,
                                 const char *path, const ka_options *options,
                                 apr_pool_t *pool);

/* Of a log that names connections, so many requests are kept: with what they
 * lead to that takes 170 MB at most, and 50 MB what waits to be put in order.
 */
#define KA_KEEP_REQUESTS 300000
/* Where the requests themselves are wanted. */
#define KA_KEEP_FOR_TRACE 1000000

/**
 * ka_analysis_run for an open log that names connections: source and server
 * are set.  The analysis has a trace, or, if there are more than `keep`
 * requests, a tally (analysis_lanes.h).
 */
apr_status_t ka_analysis_requests(ka_analysis *analysis, const char **error,
                                  ka_log *log, size_t keep,
                                  const ka_options *options, apr_pool_t *pool);

/** A tally for the report's T0 and the timeouts to evaluate.
 * @return NULL without memory, or if they are too many */
ka_tally *ka_analysis_make_tally(const ka_analysis *analysis,
                                 const ka_options *options, apr_pool_t *pool);

/** Adds to the analysis's tally what only the reader of its log knows, and
 * whose it is; and to the source what only the tally knows. */
void ka_analysis_complete_tally(ka_analysis *analysis, ka_identity identity);

/** ka_analysis_run for an open log that a stream can count: source and server
 * are set.  See stream.h; the analysis has a tally then, and no trace. */
apr_status_t ka_analysis_stream(ka_analysis *analysis, const char **error,
                                ka_log *log, const ka_options *options,
                                apr_pool_t *pool);

/** Sets KeepAlive, T0 and the report's T0 where nothing tells them: estimated
 * from the connections, or httpd's default. */
void ka_analysis_settle_timeout(ka_analysis *analysis);

/** Timeouts to evaluate for the report's T0: Off, the default list, T0, what
 * the user asked for and what a proxy needs; ascending, each once. */
int64_t *ka_analysis_timeouts(size_t *n, const ka_analysis *analysis,
                              const ka_options *options, apr_pool_t *pool);

/** Evaluates every timeout on histograms, once the report has its T0.
 * @return as ka_histsweep */
apr_status_t ka_analysis_histsweep(ka_analysis *analysis,
                                   const ka_hist_traffic *traffic,
                                   const ka_options *options,
                                   apr_pool_t *pool);

/**
 * Sets the report's intervals, or why there are none, once it has its
 * outcomes.
 * @param sample  NULL: there was no memory for it
 */
void ka_analysis_intervals(ka_analysis *analysis, const ka_sample *sample,
                           const ka_options *options, apr_pool_t *pool);

/**
 * The same from pieces of the traffic.
 * @param high     of a report without bracket, the same as low
 * @param too_few  why there are no intervals if these are too few, part of a
 *                 sentence
 */
void ka_analysis_resample(ka_analysis *analysis, const ka_pieces *low,
                          const ka_pieces *high, const char *too_few,
                          const ka_options *options, apr_pool_t *pool);

/** Sets the report's `now` to the index of T0 in timeouts, which hold it. */
void ka_analysis_set_now(ka_report *report, const int64_t *timeouts);

#endif
