/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_openmetrics: a segment as metrics, for Prometheus and its kin.
 *
 * One text in two dialects.  Samples, names and labels are the same:
 *
 *   kastats_connections_total{vhost}       kastats_gap_seconds{vhost}
 *   kastats_requests_total{vhost,class}    kastats_service_seconds{vhost,class}
 *   kastats_reused_requests_total{vhost}   kastats_requests_per_connection{..}
 *   kastats_closes_total{vhost,reason}     kastats_idle_tail_seconds{vhost}
 *   kastats_connections{state}             kastats_workers{state}
 *   kastats_keepalive_timeout_seconds{vhost}   kastats_build_info{...}
 *
 * - Prometheus text 0.0.4 tells counters from gauges.
 * - OpenMetrics 1.0 does too, but names a counter's family without _total;
 *   kastats_connections is the gauge's family already, and `promtool check
 *   metrics` finds no help for samples named otherwise than their family.  So
 *   counters go without a type there, each under its own name: valid for
 *   both.
 *
 * Counters never fall within one segment: kastats_connections_total counts
 * connections when they are over, since an open one still moves from vhost
 * to vhost.  The number of series is bounded by the segment's vhosts.
 */
#ifndef KA_OPENMETRICS_H
#define KA_OPENMETRICS_H

#include <stdbool.h>
#include <apr_pools.h>

#include "ka_segment.h"
#include "ka_text.h"

#define KA_OPENMETRICS_TYPE                                                    \
    "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define KA_PROMETHEUS_TYPE "text/plain; version=0.0.4; charset=utf-8"

typedef struct ka_openmetrics_options {
    bool prometheus;     /* the older dialect */
    const char *version; /* of the module, for build_info; NULL = untold */
} ka_openmetrics_options;

/**
 * Writes all metrics.
 * @param header  checked; may be written to meanwhile
 * @param pool    for about 130 kB, and 1.5 kB a vhost
 */
void ka_openmetrics(const ka_text *out, const ka_segment_header *header,
                    const ka_openmetrics_options *options, apr_pool_t *pool);

#endif
