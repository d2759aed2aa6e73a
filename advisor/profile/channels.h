/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_channels: the open connections of one client, where only times tell: as
 * many as a browser opens to one host.  Ends are kept here, so that choosing
 * among them reads one place in memory.
 */
#ifndef KA_CHANNELS_H
#define KA_CHANNELS_H

#include "connections_priv.h"

typedef struct ka_channels {
    int64_t last_end_us; /* by_time.c, low: where its requests so far end */
    int64_t end_us[KA_BURST_CONNECTIONS];
    uint32_t conn[KA_BURST_CONNECTIONS];
    uint32_t n;
} ka_channels;

/** Forgets the channels that ended before oldest_us: the client gave them up.
 */
void ka_channels_expire(ka_channels *channels, int64_t oldest_us);

/**
 * The channel that has been free since free_end_us at least, the latest.
 * With none and KA_BURST_CONNECTIONS open, the one that ends first.
 * @return its position; KA_INDEX_NONE: the client opens another one
 */
uint32_t ka_channels_choose(const ka_channels *channels, int64_t free_end_us);

/** Puts request i on the channel at a position, which goes if that ends it. */
void ka_channels_follow(ka_channels *channels, ka_grouping *g, size_t i,
                        uint32_t position);

/** Opens a channel with request i, not before not_before_us; with no room
 * left the one that ends last makes way. */
void ka_channels_open(ka_channels *channels, ka_grouping *g, size_t i,
                      int64_t not_before_us);

#endif
