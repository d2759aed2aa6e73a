/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What the clients of an analysis want, for a simulation: its own chains where
 * it has them (of a bracket those of the side with most connections), else
 * draws from its distributions.
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

/** ka_stretch_of for an analysis that has a tally, or that has `hist`: drawn. */
apr_status_t ka_stretch_draw_tally(ka_stretch *out, const char **error,
                                   const ka_analysis *analysis,
                                   const ka_stretch_want *want,
                                   apr_pool_t *pool);
apr_status_t ka_stretch_draw_hist(ka_stretch *out, const char **error,
                                  const ka_analysis *analysis,
                                  const ka_stretch_want *want,
                                  apr_pool_t *pool);

/** For the report of an analysis that has been run: its busiest stretch, found
 * when it is first asked for.  Valid for as long as the analysis. */
ka_stretch_source ka_stretch_source_of(ka_analysis *analysis);

#endif
