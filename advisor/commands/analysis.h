/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What advise and show have in common: sources -> requests -> connections ->
 * profile -> outcomes, gathered into a report that advice may complete.
 */
#ifndef KA_ANALYSIS_H
#define KA_ANALYSIS_H

#include <apr_errno.h>
#include <apr_pools.h>
#include "../advice/report.h"
#include "../options.h"
#include "../profile/connections.h"

typedef struct ka_analysis {
    ka_source_info source;
    ka_requests requests;       /* all, those without a request included */
    ka_requests served;         /* without them */
    ka_connections connections;
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

/** The trace that is advised from: high where there is a bracket. */
const ka_trace *ka_analysis_trace(const ka_analysis *analysis);

#endif
