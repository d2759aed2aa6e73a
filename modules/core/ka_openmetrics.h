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
 * and what advice from Prometheus needs besides (MODEL 3):
 *
 *   kastats_observed_seconds_total         time that the counters cover
 *   kastats_gap_up_to_seconds_total{vhost,up_to}        sums beside buckets,
 *   kastats_idle_tail_up_to_seconds_total{vhost,up_to}  cumulative like them
 *   kastats_first_request_seconds{vhost}   summaries: [M6]'s terms a and l
 *   kastats_linger_seconds{vhost}
 *   kastats_pipelined_requests_total{vhost} and the other counters of
 *   ka_metrics.h
 *   kastats_connections_peak{state,window} maxima of the last 5, 15, 60 s:
 *   kastats_requests_per_second_peak{window}   no peak between two scrapes is
 *                                          lost with a window not shorter
 *   kastats_recent_connections, kastats_recent_clients
 *   kastats_not_returned_ratio{over}       beyond T0 (MODEL 6, ka_survival.h)
 *   kastats_max_request_workers and the other settings of the MPM
 *   kastats_max_keepalive_requests{vhost}, kastats_timeout_seconds{vhost}
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
 * to vhost.  The number of series is bounded: 50, and about 360 a vhost.
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
    int64_t now_at;      /* us since the epoch; 0 = the last heartbeat */
} ka_openmetrics_options;

/**
 * Writes all metrics.
 * @param header  checked; may be written to meanwhile
 * @param pool    for about 140 kB, 7 kB a vhost and 250 bytes for each recent
 *                connection, of at most 4096
 */
void ka_openmetrics(const ka_text *out, const ka_segment_header *header,
                    const ka_openmetrics_options *options, apr_pool_t *pool);

#endif
