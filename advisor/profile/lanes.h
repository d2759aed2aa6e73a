/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_lanes: from the requests of a log that names connections to a tally in
 * one pass, without keeping them.  Connections and chains are those of
 * ka_connections_group under the same rules, counts those of the sweep; the
 * rules come from the log's first requests.
 *
 *   request --> lane --> chain --> ring of ticks --> tally
 *               |        (whether an opening connection goes on where one
 *               |        that timed out ended is known a little later)
 *               a connection that is followed until its client has left it
 *
 * What differs from a kept log:
 *   - a connection is followed for KA_TIMELINE_IDLE_US at most, however long
 *     T0 is;
 *   - numbers of holders are looked at once a tick (timeline.h);
 *   - `parallel` counts connections that are open under T0;
 *   - of many connections of one client with the same %k, or with nothing to
 *     tell them apart, the KA_LANE_LOOK used last are considered;
 *   - at the level `time` a client that the first requests do not show has
 *     the round trip that is typical of those that they show.
 *
 * Memory does not grow with the log.  Where there are more than `max`
 * connections at once those are forgotten first that have timed out, the
 * longest ago; they are counted (ka_tally.forgotten).
 *
 * Concurrency: one thread, and a crew that helps to count.
 */
#ifndef KA_LANES_H
#define KA_LANES_H

#include "../crew.h"
#include "connections.h"
#include "tally.h"

/* Connections at once: at most some 60 MB. */
#define KA_LANES_MAX (UINT32_C(1) << 19)

#define KA_LANE_LOOK 256

typedef struct ka_lanes ka_lanes;

/** Whether the rules are for lanes; else the log's clocks are too coarse, and
 * it is one for a stream (stream_requests.h). */
bool ka_lanes_fit(const ka_grouping_rules *rules);

/**
 * @param tally  what is counted into; has its timeouts, T0 and server
 * @param info   of the source that is read: clocks, and vhosts as they come
 * @param rules  copied
 * @param head   the requests that the rules come from, in order; used here
 *               only, and not counted
 * @param max    KA_LANES_MAX, or fewer for tests
 * @return to be freed by ka_lanes_free; NULL without memory
 */
ka_lanes *ka_lanes_make(ka_tally *tally, const ka_source_info *info,
                        const ka_grouping_rules *rules,
                        const ka_requests *head, uint32_t max, ka_crew *crew);
void ka_lanes_free(ka_lanes *lanes);

/** Takes a request, in order of start; those without one are counted. */
void ka_lanes_take(ka_lanes *lanes, const ka_request *request);

/** Counts what is still open and completes the tally, but for what only the
 * reader knows (lines, parsed, skipped, late, excluded).
 * @return APR_SUCCESS; APR_ENOMEM */
apr_status_t ka_lanes_finish(ka_lanes *lanes);

#endif
