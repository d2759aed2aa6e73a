/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * by_place.c, by_k.c and by_time.c (with fine stamps), one request at a time.
 *
 * Where no name leads to a lane, its client's are looked at, those used last
 * first.  A proxy has thousands; but %k counts up on each, and what is wanted
 * is the one that was free last, so it is rarely far down: no more than
 * KA_LANE_LOOK are looked at, or a log of one proxy would take the square of
 * its length.
 */
#include "lanes_priv.h"

/* Of the name of a client's HTTP/2 connection. */
#define STREAM_KEY UINT64_C(0x9d5b3c01e6f8a274)

/* ---- at a place ---------------------------------------------------------- */

static void group_place(ka_lane_set *set, uint32_t client, const ka_request *r,
                        const ka_hit *hit, uint64_t place)
{
    const uint32_t at = ka_slab_find(&set->lanes, place);

    if (at != KA_LANE_NONE) {
        const ka_lane *lane = ka_lane_at(set, at);
        const ka_conn conn = {.end_us = lane->end_us,
                              .last_k = lane->last_k,
                              .ended = lane->ended};

        if (ka_request_continues(set->rules, r, &conn,
                                 lane->address ==
                                     (uint32_t)r->address)) {
            ka_lane_follow(set, at, client, r, hit);
            return;
        }
        ka_lane_replaced(set, at, r);
    }
    ka_lane_open(set, client, r, hit, place, true);
}

static uint64_t never_0(uint64_t key)
{
    return key ? key : 1;
}

static void group_stream(ka_lane_set *set, uint32_t client,
                         const ka_request *r, const ka_hit *hit)
{
    group_place(set, client, r, hit, never_0(r->client ^ STREAM_KEY));
}

static void group_alone(ka_lane_set *set, uint32_t client, const ka_request *r,
                        const ka_hit *hit)
{
    ka_lane_open(set, client, r, hit, 0, false);
}

static void group_port(ka_lane_set *set, uint32_t client, const ka_request *r,
                       const ka_hit *hit)
{
    if (r->remote_port < 0) {
        group_alone(set, client, r, hit);
        return;
    }
    group_place(set, client, r, hit, never_0(ka_port_key(r)));
}

static void group_slot(ka_lane_set *set, uint32_t client, const ka_request *r,
                       const ka_hit *hit)
{
    if (r->flags & KA_REQ_HTTP2) {
        group_stream(set, client, r, hit);
    }
    else if (r->slot == 0) {
        group_alone(set, client, r, hit);
    }
    else {
        group_place(set, client, r, hit, r->slot);
    }
}

/* ---- among a client's lanes ---------------------------------------------- */

/* Which of them: last_k counts if it is not negative. */
typedef struct wanted {
    int64_t oldest_us, newest_us; /* of ends */
    int32_t last_k;
} wanted;

static bool fits(const ka_lane *lane, const wanted *w)
{
    return !lane->named && lane->end_us >= w->oldest_us &&
           lane->end_us <= w->newest_us &&
           (w->last_k < 0 || lane->last_k == w->last_k);
}

/* The one that ended last. */
static uint32_t find_latest(const ka_lane_set *set, uint32_t client,
                            const wanted *w)
{
    uint32_t at = ka_lane_client_at(set, client)->live;
    uint32_t best = KA_LANE_NONE, looked;
    int64_t best_us = INT64_MIN;

    for (looked = 0; at != KA_LANE_NONE && looked < KA_LANE_LOOK; looked++) {
        const ka_lane *lane = ka_lane_at(set, at);

        if (fits(lane, w) && lane->end_us > best_us) {
            best = at;
            best_us = lane->end_us;
        }
        at = lane->older;
    }
    return best;
}

/* Rounded stamps may show an end after the next request's start. */
static wanted free_lanes(const ka_lane_set *set, const ka_request *r)
{
    const int64_t begin = ka_request_begin(r);

    return (wanted){.oldest_us = begin - ka_request_reach(set->rules, r),
                    .newest_us = begin + set->rules->tick_us,
                    .last_k = -1};
}

static void follow(ka_lane_set *set, uint32_t at, const ka_request *r,
                   const ka_hit *hit, bool last)
{
    ka_lane_follow(set, at, ka_lane_at(set, at)->client, r, hit);
    if (last || ka_lane_at(set, at)->ended) {
        ka_lane_over(set, at, 0);
    }
}

/* ---- %k ------------------------------------------------------------------ */

static void group_channel(ka_lane_set *set, uint32_t client,
                          const ka_request *r, const ka_hit *hit)
{
    wanted w = free_lanes(set, r);
    int32_t before[2];
    const size_t n = ka_k_before(before, set->rules, r, set->side == LOW);
    uint32_t at = KA_LANE_NONE;
    size_t i;

    for (i = 0; i < n && at == KA_LANE_NONE; i++) {
        w.last_k = before[i];
        at = find_latest(set, client, &w);
    }
    if (at == KA_LANE_NONE) {
        ka_lane_open(set, client, r, hit, 0, true);
    }
    else {
        follow(set, at, r, hit, w.last_k == r->keepalives);
    }
}

static void group_k(ka_lane_set *set, uint32_t client, const ka_request *r,
                    const ka_hit *hit)
{
    if (r->flags & KA_REQ_HTTP2) {
        group_stream(set, client, r, hit);
    }
    else if (r->keepalives < 0 || ka_request_alone(set->rules, r)) {
        group_alone(set, client, r, hit);
    }
    else {
        group_channel(set, client, r, hit);
    }
}

/* ---- times --------------------------------------------------------------- */

/* As ka_channels_choose, on as many as browsers open. */
typedef struct channels {
    uint32_t n;
    uint32_t first, last; /* in order of their ends */
} channels;

static channels channels_of(const ka_lane_set *set, uint32_t client)
{
    channels c = {.first = KA_LANE_NONE, .last = KA_LANE_NONE};
    uint32_t at = ka_lane_client_at(set, client)->live;

    for (; at != KA_LANE_NONE; at = ka_lane_at(set, at)->older) {
        const ka_lane *lane = ka_lane_at(set, at);

        if (lane->named) {
            continue; /* HTTP/2 */
        }
        c.n++;
        if (c.first == KA_LANE_NONE ||
            lane->end_us < ka_lane_at(set, c.first)->end_us) {
            c.first = at;
        }
        if (c.last == KA_LANE_NONE ||
            lane->end_us > ka_lane_at(set, c.last)->end_us) {
            c.last = at;
        }
    }
    return c;
}

/* A lane is free a round trip later only (by_time.c). */
static void group_distant(ka_lane_set *set, uint32_t client,
                          const ka_request *r, const ka_hit *hit)
{
    const int64_t begin = ka_request_begin(r);
    wanted w = free_lanes(set, r);
    const channels all = channels_of(set, client);
    uint32_t at;

    w.newest_us = begin - ka_lane_client_at(set, client)->free_us;
    at = find_latest(set, client, &w);
    if (at == KA_LANE_NONE && all.n >= KA_BURST_CONNECTIONS &&
        ka_lane_at(set, all.first)->end_us <= begin + set->rules->tick_us) {
        at = all.first;
    }
    if (at != KA_LANE_NONE) {
        follow(set, at, r, hit, false);
        return;
    }
    if (all.n >= KA_BURST_CONNECTIONS) {
        ka_lane_over(set, all.last,
                     ka_lane_limit(ka_lane_at(set, all.last)->limit_s));
    }
    ka_lane_open(set, client, r, hit, 0, true);
}

static void group_near(ka_lane_set *set, uint32_t client, const ka_request *r,
                       const ka_hit *hit)
{
    const wanted w = free_lanes(set, r);
    const uint32_t at = find_latest(set, client, &w);

    if (at == KA_LANE_NONE) {
        ka_lane_open(set, client, r, hit, 0, true);
    }
    else {
        follow(set, at, r, hit, false);
    }
}

static void group_time(ka_lane_set *set, uint32_t client, const ka_request *r,
                       const ka_hit *hit)
{
    if (r->flags & KA_REQ_HTTP2) {
        group_stream(set, client, r, hit);
    }
    else if (ka_request_alone(set->rules, r)) {
        group_alone(set, client, r, hit);
    }
    else if (ka_lane_client_at(set, client)->free_us > 0) {
        group_distant(set, client, r, hit);
    }
    else {
        group_near(set, client, r, hit);
    }
}

/* ---- clients ------------------------------------------------------------- */

static uint32_t trip_of(const ka_lane_set *set, uint64_t key)
{
    const uint32_t *at;

    if (!set->trips) {
        return 0;
    }
    at = ka_keymap_find(set->trips, key);
    return at ? *at : set->trip_us;
}

static uint32_t client_of(ka_lane_set *set, const ka_request *r)
{
    const uint64_t key = never_0(r->client);
    uint32_t at = ka_slab_find(&set->clients, key);
    ka_lane_client *client;

    if (at != KA_SLAB_NONE) {
        return at;
    }
    at = ka_slab_add(&set->clients);
    if (at == KA_SLAB_NONE) {
        set->failed = true;
        return at;
    }
    ka_slab_name(&set->clients, at, key);
    client = ka_lane_client_at(set, at);
    client->live = client->timed = KA_LANE_NONE;
    client->free_us = trip_of(set, key);
    if (set->side == LOW) {
        ka_distinct_add(&set->shard->tally->clients, r->client);
        ka_distinct_add(&set->shard->tally->addresses, r->address);
    }
    return at;
}

typedef void group_fn(ka_lane_set *set, uint32_t client, const ka_request *r,
                      const ka_hit *hit);

void ka_lane_set_take(ka_lane_set *set, const ka_request *r, const ka_hit *hit)
{
    static group_fn *const levels[] = {[KA_IDENTITY_PORT] = group_port,
                                       [KA_IDENTITY_SLOT] = group_slot,
                                       [KA_IDENTITY_K] = group_k,
                                       [KA_IDENTITY_TIME] = group_time};
    const uint32_t client = client_of(set, r);

    if (client == KA_SLAB_NONE) {
        return;
    }
    /* Making room must not take it away. */
    ka_lane_client_at(set, client)->holds++;
    levels[set->rules->identity](set, client, r, hit);
    ka_lane_client_at(set, client)->holds--;
    ka_lane_client_drop(set, client);
}
