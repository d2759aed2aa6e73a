/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_reorder: requests in nearly any order in, in ascending start out.
 *
 * Requests wait until a start later by more than the window has come in.
 * They wait in buckets of one second, a ring of them:
 *
 *      edge = newest - window                        newest
 *        |                                             |
 *     [second][second][second] ...             ... [second]
 *        |
 *        +-- a bucket leaves, sorted, once it lies before the edge
 *
 * so that taking one in costs the same however many wait.  Equal starts keep
 * the order in which they came.
 *
 * Concurrency: one thread.
 */
#ifndef KA_LOG_REORDER_H
#define KA_LOG_REORDER_H

#include <apr_errno.h>
#include "observation.h"

typedef struct ka_reorder ka_reorder;

/**
 * @param window_us  > 0, at most an hour
 * @param limit      requests that may wait, > 0; beyond it the oldest second
 *                   leaves early
 * @param take       called with each request on its way out
 * @param pool       owns it; memory is what the most waiting ones took
 */
ka_reorder *ka_reorder_make(int64_t window_us, size_t limit,
                            ka_request_fn *take, void *context,
                            apr_pool_t *pool);

/**
 * Takes a request in; begin_us >= 0.
 * @return whether it came too late for its place: it then stands at the
 *         edge, the earliest start that can still be handed out in order
 */
bool ka_reorder_add(ka_reorder *self, const ka_request *request);

/** Hands out all that wait; the end, or the start of another stretch. */
void ka_reorder_flush(ka_reorder *self);

#endif
