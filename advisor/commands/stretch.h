/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What the clients of an analysis want, for a simulation: its own chains where
 * it has them (of a bracket those of the side with most connections; of a
 * segment those of the recent connections, if they say enough), else draws
 * from its distributions.
 */
#ifndef KA_COMMAND_STRETCH_H
#define KA_COMMAND_STRETCH_H

#include "../model/stretch.h"
#include "analysis.h"

typedef struct ka_stretch_want {
    uint64_t seed;  /* of draws, and of growth */
    double growth;  /* factor on the traffic */
    bool busiest;   /* only the part with most connections at T0, of `most`
                       requests; else all there is of a trace */
    bool by_class;  /* draws tell kinds of content apart */
    size_t most;    /* requests, about; of draws always obeyed */
} ka_stretch_want;

/**
 * The traffic of an analysis.
 * @param error  on failure a text for the user
 * @return APR_SUCCESS; APR_EINVAL: a source without either; APR_ENOMEM
 */
apr_status_t ka_stretch_of(ka_stretch *out, const char **error,
                           const ka_analysis *analysis,
                           const ka_stretch_want *want, apr_pool_t *pool);

/** Part of ka_stretch_of: that of a trace.  `how` is set for a log's. */
apr_status_t ka_stretch_of_trace(ka_stretch *out, const ka_trace *trace,
                                 int64_t timeout_us,
                                 const ka_stretch_want *want,
                                 apr_pool_t *pool);

/**
 * ka_stretch_of from the recent connections of a segment.
 * @param why_not  a clause, if they are not used
 * @return APR_SUCCESS; APR_ENOENT: draws tell more; APR_ENOMEM
 */
apr_status_t ka_stretch_recent(ka_stretch *out, const char **why_not,
                               const ka_analysis *analysis,
                               const ka_stretch_want *want, apr_pool_t *pool);

/** ka_stretch_of for an analysis that has a tally, or `hist`: drawn. */
apr_status_t ka_stretch_draw_tally(ka_stretch *out, const char **error,
                                   const ka_analysis *analysis,
                                   const ka_stretch_want *want,
                                   apr_pool_t *pool);
apr_status_t ka_stretch_draw_hist(ka_stretch *out, const char **error,
                                  const ka_analysis *analysis,
                                  const ka_stretch_want *want,
                                  apr_pool_t *pool);

/** Sets a stretch's accept and linger times to those measured. */
void ka_stretch_costs(ka_stretch *stretch, const ka_hist_traffic *hist);

/** For the report of an analysis that has been run: its busiest stretch, found
 * when it is first asked for.  Valid for as long as the analysis. */
ka_stretch_source ka_stretch_source_of(ka_analysis *analysis);

#endif
