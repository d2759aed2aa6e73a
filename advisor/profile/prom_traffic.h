/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * From what Prometheus knows to the shape of a segment (ka_live), and from
 * there to the profile and to what the model takes, by the same way as a
 * segment.  Idle times are not told by class.
 *
 * A group is all servers' time put together: a server of this kind.
 */
#ifndef KA_PROM_TRAFFIC_H
#define KA_PROM_TRAFFIC_H

#include "../sources/prometheus.h"
#include "live.h"
#include "live_pieces.h"

/* Virtual hosts of a group that are told apart. */
#define KA_PROM_GROUP_VHOSTS 1024

/**
 * A server in the shape of a segment that was quiet but for the window: from
 * first_us 0 to last_us, the time observed.  Its history has a place for each
 * step of time, no recent connections, no segment header.
 * @param vhost  only this one, by `host:port` or by all of a host; NULL: all
 * @return whether any bore the name; true for NULL
 */
bool ka_prom_live(ka_live *out, const ka_prom *prom,
                  const ka_prom_server *server, const char *vhost,
                  apr_pool_t *pool);

/** A group without servers. */
void ka_prom_group_init(ka_live *group, apr_pool_t *pool);

/** Adds a server's traffic to a group's; its history is not kept. */
void ka_prom_group_add(ka_live *group, const ka_live *from, apr_pool_t *pool);

/** ka_live_profile, and what Prometheus knows otherwise.
 * @param live       its vhosts are put in order, most requests first
 * @param addresses  different clients; 0: not known */
void ka_prom_profile(ka_profile *out, ka_live *live, uint64_t addresses,
                     apr_pool_t *pool);

/** Different clients of a server's recent connections; 0: too few of them. */
uint64_t ka_prom_addresses(const ka_prom_server *server);

/**
 * How long clients stay away beyond T0, from the shares that were not back
 * after some seconds; in a straight line from one to the next.
 * @param out  arrays owned by pool; n 0: nothing is told
 */
void ka_prom_survival(ka_survival *out, const ka_prom_points *not_returned,
                      apr_pool_t *pool);

/** ka_live_traffic, and the survival above.
 * @param step_s  seconds that a level stands for */
void ka_prom_traffic(ka_hist_traffic *out, const ka_live *live,
                     const ka_prom_server *server, int64_t step_s,
                     apr_pool_t *pool);

/**
 * The pieces of servers[n] as one, by time: from what came in each block.
 * Prometheus knows no visitors.
 * @param led  what all of them lead to
 * @param out  arrays owned by pool
 */
void ka_prom_pieces(ka_pieces *out, const ka_prom_server *const *servers,
                    size_t n, int64_t block_s, const ka_led *led,
                    apr_pool_t *pool);

/**
 * All of traffic[n] as one, time after time.
 * @param out  arrays owned by pool
 */
void ka_prom_traffic_join(ka_hist_traffic *out,
                          const ka_hist_traffic *const *traffic, size_t n,
                          apr_pool_t *pool);

#endif
