/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_crew: a fixed number of threads that do the items of a job together.
 *
 * The caller is one of them, so a crew of one has no thread at all.  Items are
 * handed out one by one in ascending order; which worker gets which depends on
 * timing, so results must not.
 */
#ifndef KA_CREW_H
#define KA_CREW_H

#include <stddef.h>
#include <apr_errno.h>
#include <apr_pools.h>

/* More threads than this have nothing left to share. */
#define KA_CREW_MAX 16

typedef struct ka_crew ka_crew;

/** Does one item.  @param worker  0 .. ka_crew_size()-1, the caller's is 0 */
typedef void ka_crew_fn(void *context, size_t item, size_t worker);

/**
 * Starts the threads; they end with the pool.
 * @param workers  1 .. KA_CREW_MAX; 0: one for each processor that this
 *                 process may use (sched_getaffinity(2)), at most KA_CREW_MAX
 * @return APR_SUCCESS; a crew of fewer if a thread cannot be started
 */
apr_status_t ka_crew_make(ka_crew **out, size_t workers, apr_pool_t *pool);

size_t ka_crew_size(const ka_crew *crew);

/** Does items 0 .. item_n-1; returns when all are done, and everything that
 * they wrote is then visible to the caller.  Not from within an item. */
void ka_crew_run(ka_crew *crew, ka_crew_fn *fn, void *context, size_t item_n);

#endif
