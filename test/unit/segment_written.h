/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * For tests of the writer: a small empty segment, and what it counts. */
#ifndef KA_TEST_SEGMENT_WRITTEN_H
#define KA_TEST_SEGMENT_WRITTEN_H

#include "unit.h"
#include "ka_segment_reader.h"
#include "ka_segment_writer.h"

#define START_AT INT64_C(1700000000000000)
#define START_MONO INT64_C(5300000) /* within second 5 */

static const ka_segment_plan plan = {
    .vhost_n = 3, .slot_n = 4, .history_n = 10, .recent_n = 4, .stripe_n = 2};

static inline ka_segment_header *segment_made(apr_pool_t *pool)
{
    ka_segment_header *h = apr_pcalloc(pool, ka_segment_size(&plan));

    ka_segment_format(h, &plan, START_AT, START_MONO);
    return h;
}

static inline ka_stats *stats_of(const ka_segment_header *h, unsigned vhost,
                                 apr_pool_t *pool)
{
    ka_stats *stats = apr_palloc(pool, sizeof(*stats));

    ka_stats_read(stats, h, vhost);
    return stats;
}

#endif
