/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * From cumulative buckets, as Prometheus keeps them, to a histogram with count
 * and sum per bin.
 *
 *     count up to ...   |-----------|----|--------------|----> +Inf
 *     sum up to ...                 |----|              |
 *     values            |    [=====]|[==]|  [====]      |
 *
 * Counts at bounds stay exact, and so do sums where they are told: there [M4]
 * and [M5] are as exact as in the segment.  Within a bucket values lie evenly
 * about their mean, as far as the nearer bound.  Where sums are not told for
 * each bucket, the means of several stand at one and the same share of their
 * widths, so that all together add up to what is told.
 */
#ifndef KA_BUCKETS_H
#define KA_BUCKETS_H

#include <ka_histogram.h>
#include "../sources/prometheus.h"

typedef struct ka_bucket_options {
    double scale;      /* of bounds and sums to the histogram's unit: 1e6 */
    int64_t limit;     /* no value is larger, but for some late ones; -1: no
                          limit is known */
    uint64_t at_limit; /* values that are as large as the limit */
    uint64_t slack;    /* how late these may be */
} ka_bucket_options;

/**
 * @param out  emptied first
 * @param in   points in any order; sums without order or bounds, falling
 *             counts and the like give some histogram, never a fault
 */
void ka_buckets_spread(ka_hist *out, const ka_prom_histogram *in,
                       const ka_bucket_options *options, apr_pool_t *pool);

#endif
