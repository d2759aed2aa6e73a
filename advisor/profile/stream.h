/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_stream: from a log's requests to a tally in one pass, without keeping
 * them: for logs that name no connection and whose times are too coarse to
 * tell parallel requests from successive ones (connections.h, the two sides of
 * the level `time`).  Sides, chains and counts are those of by_time.c, and of
 * the sweep.
 *
 *   hits --> put in order --> grouped by client --> ring of ticks --> tally
 *            (a window)       (a table of those      (timeline.h)
 *                              who may come back)
 *
 * Requests are split by address into KA_HIT_PARTS parts that know nothing of
 * each other.  What is counted are whole numbers, so neither the number of
 * threads nor their timing changes any result.
 *
 * Memory does not grow with the log: a client is forgotten when it can no
 * longer use its connections.  Where there are more than
 * KA_STREAM_CLIENTS at once, those that have been silent the longest are
 * forgotten early, and counted (ka_tally.forgotten); where more than
 * KA_STREAM_WAITING requests would wait to be put in order, the window shrinks,
 * and what then comes too late is counted (ka_tally.late).
 */
#ifndef KA_STREAM_H
#define KA_STREAM_H

#include "../crew.h"
#include "../sources/log_hits.h"
#include "tally.h"

/* Clients at once, and requests that wait: at most 120 + 40 MB. */
#define KA_STREAM_CLIENTS (UINT32_C(1) << 20)
#define KA_STREAM_WAITING (UINT32_C(1) << 19)

/* How far lines may be out of order, and how far it is taken that they are
 * until they are further: the window is twice what was seen. */
#define KA_STREAM_WINDOW_US (INT64_C(600) * 1000000)
#define KA_STREAM_WINDOW_FIRST_US (INT64_C(60) * 1000000)

typedef struct ka_stream ka_stream;

/** Whether a source is one for a stream: by its format alone. */
bool ka_stream_fits(const ka_source_info *info);

/**
 * @param tally    what is counted into; has its timeouts, T0 and server
 * @param info     of the source that is read: clocks, and vhosts as they come
 * @param clients  KA_STREAM_CLIENTS, or fewer for tests
 * @param waiting  KA_STREAM_WAITING, or fewer
 * @return to be freed by ka_stream_free; NULL without memory
 */
ka_stream *ka_stream_make(ka_tally *tally, const ka_source_info *info,
                          uint32_t clients, uint32_t waiting, ka_crew *crew);
void ka_stream_free(ka_stream *stream);

/** Says that batches come in order of start: none of their hits has to
 * wait. */
void ka_stream_is_in_order(ka_stream *stream);

/** Takes a batch: a ka_hit_fn, the context is the stream. */
void ka_stream_take(void *stream, const ka_hit_batch *batch);

/** Counts what is still waiting and completes the tally, but for what only the
 * reader knows (lines, parsed, skipped, excluded).
 * @return APR_SUCCESS; APR_ENOMEM */
apr_status_t ka_stream_finish(ka_stream *stream);

#endif
