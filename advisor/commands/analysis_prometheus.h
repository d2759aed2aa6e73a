/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The analysis of what Prometheus has scraped from mod_kastats. */
#ifndef KA_ANALYSIS_PROMETHEUS_H
#define KA_ANALYSIS_PROMETHEUS_H

#include "analysis.h"

/**
 * The URL among the sources.
 * @param url    set to it; NULL: there is none
 * @param error  on failure a text for the user
 * @return APR_SUCCESS; APR_EINVAL: it does not stand alone
 */
apr_status_t ka_analysis_find_prometheus(const char **url, const char **error,
                                         const ka_options *options);

/**
 * ka_analysis_run for a URL of Prometheus: analysis is empty but for `server`.
 * One server gives a plain report with its name; several are members, and the
 * analysis itself is the group's.
 */
apr_status_t ka_analysis_prometheus(ka_analysis *analysis, const char **error,
                                    const char *url, const ka_options *options,
                                    apr_pool_t *pool);

#endif
