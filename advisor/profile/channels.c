/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "channels.h"

void ka_channels_expire(ka_channels *channels, int64_t oldest_us)
{
    uint32_t i, kept = 0;

    for (i = 0; i < channels->n; i++) {
        if (channels->end_us[i] >= oldest_us) {
            channels->end_us[kept] = channels->end_us[i];
            channels->conn[kept++] = channels->conn[i];
        }
    }
    channels->n = kept;
}

uint32_t ka_channels_choose(const ka_channels *channels, int64_t free_end_us)
{
    uint32_t latest = KA_INDEX_NONE, first = KA_INDEX_NONE, i;

    for (i = 0; i < channels->n; i++) {
        int64_t end = channels->end_us[i];

        if (end <= free_end_us &&
            (latest == KA_INDEX_NONE || end > channels->end_us[latest])) {
            latest = i;
        }
        if (first == KA_INDEX_NONE || end < channels->end_us[first]) {
            first = i;
        }
    }
    if (latest != KA_INDEX_NONE || channels->n < KA_BURST_CONNECTIONS) {
        return latest;
    }
    return first;
}

void ka_channels_follow(ka_channels *channels, ka_grouping *g, size_t i,
                        uint32_t position)
{
    const ka_conn *conn = &g->conns[channels->conn[position]];

    ka_grouping_follow(g, i, channels->conn[position]);
    channels->end_us[position] = conn->end_us;
    channels->last_end_us = conn->end_us;
    if (conn->ended) {
        channels->n--;
        channels->end_us[position] = channels->end_us[channels->n];
        channels->conn[position] = channels->conn[channels->n];
    }
}

static uint32_t ends_last(const ka_channels *channels)
{
    uint32_t i, last = 0;

    for (i = 1; i < channels->n; i++) {
        last = channels->end_us[i] > channels->end_us[last] ? i : last;
    }
    return last;
}

void ka_channels_open(ka_channels *channels, ka_grouping *g, size_t i,
                      int64_t not_before_us)
{
    uint32_t c = ka_grouping_open(g, i, not_before_us), at;

    channels->last_end_us = g->conns[c].end_us;
    if (g->conns[c].ended) {
        return;
    }
    at = channels->n < KA_BURST_CONNECTIONS ? channels->n++
                                            : ends_last(channels);
    channels->end_us[at] = g->conns[c].end_us;
    channels->conn[at] = c;
}
