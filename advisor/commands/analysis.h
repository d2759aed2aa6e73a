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
#include "../options.h"
#include "../profile/connections.h"
#include "../sources/segment.h"

typedef struct ka_analysis {
    ka_source_info source;
    ka_requests requests;       /* all, those without a request included */
    ka_requests served;         /* without them */
    ka_connections connections;
    ka_live *live;              /* the segment; NULL: logs */
    ka_profile profile;
    ka_server server;           /* options, and what the log tells */
    ka_report report;           /* up to low, high and now */
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

/** What is wrong with the options for a segment, as a text for the user; NULL
 * if nothing is. */
const char *ka_segment_unfit(const char *path, const ka_options *options,
                             apr_pool_t *pool);

/** ka_analysis_run for a segment: analysis is empty but for `server`. */
apr_status_t ka_analysis_segment(ka_analysis *analysis, const char **error,
                                 const char *path, const ka_options *options,
                                 apr_pool_t *pool);

/** Timeouts to evaluate for the report's T0: Off, the default list, T0, what
 * the user asked for and what a proxy needs; ascending, each once. */
int64_t *ka_analysis_timeouts(size_t *n, const ka_analysis *analysis,
                              const ka_options *options, apr_pool_t *pool);

/** Sets the report's `now` to the index of T0 in timeouts, which hold it. */
void ka_analysis_set_now(ka_report *report, const int64_t *timeouts);

#endif
