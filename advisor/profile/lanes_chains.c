/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * chains.c without looking ahead.  A connection that opens goes on from the
 * client's latest one that T0 has cut.  Whether T0 has cut a connection shows
 * only when its reach is over, which the timer's slack and the clock's tick
 * put later: so long an opening waits to be decided.
 *
 *   lane  |==|.....T0.....:..slack..|
 *   new                      |==|
 *                            |......| decided: had the lane been used again?
 */
#include "lanes_priv.h"

#include <stdlib.h>

/* Openings that wait; of more the first ones are decided too early, and may
 * take over a connection that is used again. */
#define OPENINGS_MAX (1u << 17)
#define OPENINGS_FIRST 256

/* ---- a client's lanes ---------------------------------------------------- */

static uint32_t *list_of(ka_lane_client *client, const ka_lane *lane)
{
    return lane->state == KA_LANE_TIMED ? &client->timed : &client->live;
}

static void link_first(ka_lane_set *set, uint32_t at)
{
    ka_lane *lane = ka_lane_at(set, at);
    uint32_t *first = list_of(ka_lane_client_at(set, lane->client), lane);

    lane->newer = KA_LANE_NONE;
    lane->older = *first;
    if (*first != KA_LANE_NONE) {
        ka_lane_at(set, *first)->newer = at;
    }
    *first = at;
}

static void unlink_lane(ka_lane_set *set, uint32_t at)
{
    const ka_lane *lane = ka_lane_at(set, at);

    if (lane->newer != KA_LANE_NONE) {
        ka_lane_at(set, lane->newer)->older = lane->older;
    }
    else {
        *list_of(ka_lane_client_at(set, lane->client), lane) = lane->older;
    }
    if (lane->older != KA_LANE_NONE) {
        ka_lane_at(set, lane->older)->newer = lane->newer;
    }
}

/* Used last, by a client.  A connection may carry several: proxies do, and
 * whoever changes its User-Agent. */
static void use(ka_lane_set *set, uint32_t at, uint32_t client)
{
    ka_lane *lane = ka_lane_at(set, at);
    const uint32_t before = lane->client;

    if (before == client && lane->newer == KA_LANE_NONE) {
        return;
    }
    unlink_lane(set, at);
    lane->client = client;
    link_first(set, at);
    if (before != client) {
        ka_lane_client_at(set, before)->live_n -= !lane->ended;
        ka_lane_client_at(set, client)->live_n += !lane->ended;
        ka_lane_client_drop(set, before);
    }
}

static void set_ended(ka_lane_set *set, ka_lane *lane, bool ended)
{
    ka_lane_client *client = ka_lane_client_at(set, lane->client);

    client->live_n += (uint32_t)lane->ended - (uint32_t)ended;
    lane->ended = ended;
}

void ka_lane_client_drop(ka_lane_set *set, uint32_t at)
{
    const ka_lane_client *client = ka_lane_client_at(set, at);

    if (client->holds == 0 && client->live == KA_LANE_NONE &&
        client->timed == KA_LANE_NONE) {
        ka_hist_add(&set->shard->tally->side[set->side].parallel,
                    client->parallel);
        ka_slab_remove(&set->clients, at);
    }
}

/* Out of its client's list, and of memory. */
static void leave(ka_lane_set *set, uint32_t at)
{
    const ka_lane *lane = ka_lane_at(set, at);
    const uint32_t client = lane->client;

    if (lane->state == KA_LANE_LIVE && !lane->ended) {
        ka_lane_client_at(set, client)->live_n--;
    }
    unlink_lane(set, at);
    ka_lane_free(set, at);
    ka_lane_client_drop(set, client);
}

/* ---- openings ------------------------------------------------------------ */

static void take_over(ka_lane_set *set, uint32_t at, int64_t begin_us)
{
    const ka_lane *lane = ka_lane_at(set, at);

    ka_shard_gap(set->shard, set->side, begin_us, begin_us - lane->end_us);
    ka_hist_add(&set->shard->tally->side[set->side].lengths, lane->requests);
    leave(set, at);
}

static void decide_first(ka_lane_set *set)
{
    const ka_opening o = set->openings[set->opening_first];
    ka_shard *shard = set->shard;
    uint32_t earlier;

    set->opening_first = (set->opening_first + 1) & (set->opening_size - 1);
    set->opening_n--;
    /* Idle for more than T0, so that cutting chains at gaps above T0 gives
     * the connections back. */
    ka_lane_set_fire(set, o.begin_us);
    ka_shard_place(shard, o.group, o.begin_us);
    earlier = ka_lane_client_at(set, o.client)->timed;
    if (earlier != KA_LANE_NONE && ka_lane_at(set, earlier)->end_us >=
                                       o.begin_us - ka_lane_limit(o.limit_s)) {
        take_over(set, earlier, o.begin_us);
    }
    else {
        ka_shard_open(shard, set->side, o.begin_us);
    }
    ka_lane_client_at(set, o.client)->holds--;
    ka_lane_client_drop(set, o.client);
}

static bool openings_room(ka_lane_set *set)
{
    const size_t size =
        set->opening_size ? 2 * set->opening_size : OPENINGS_FIRST;
    ka_opening *openings;
    size_t i;

    if (set->opening_n < set->opening_size) {
        return true;
    }
    openings = malloc(size * sizeof(*openings));
    if (openings == NULL) {
        set->failed = true;
        return false;
    }
    for (i = 0; i < set->opening_n; i++) {
        openings[i] = set->openings[(set->opening_first + i) &
                                    (set->opening_size - 1)];
    }
    free(set->openings);
    set->openings = openings;
    set->opening_first = 0;
    set->opening_size = size;
    return true;
}

static void await(ka_lane_set *set, uint32_t client, const ka_request *r,
                  const ka_hit *hit)
{
    size_t at;

    if (set->opening_n == OPENINGS_MAX) {
        decide_first(set);
        ka_shard_place(set->shard, ka_sample_group(hit->address),
                       hit->begin_us);
    }
    if (!openings_room(set)) {
        return;
    }
    at = (set->opening_first + set->opening_n++) & (set->opening_size - 1);
    set->openings[at] =
        (ka_opening){ka_request_begin(r), client, hit->limit_s,
                     (uint8_t)ka_sample_group(hit->address)};
    ka_lane_client_at(set, client)->holds++;
}

/* A request that is a connection by protocol goes on from nothing. */
static void count_opening(ka_lane_set *set, uint32_t client,
                          const ka_request *r, const ka_hit *hit)
{
    set->opened++;
    if (set->rules->cut_us < 0 || ka_request_alone(set->rules, r)) {
        ka_shard_open(set->shard, set->side, ka_request_begin(r));
    }
    else {
        await(set, client, r, hit);
    }
}

/* ---- how many at once ---------------------------------------------------- */

/* Where no T0 cuts, lanes stay for longer than T0. */
static uint32_t open_now(const ka_lane_set *set, const ka_lane_client *client,
                         int64_t now_us)
{
    const int64_t wait_us = set->shard->timeout_us;
    const int64_t oldest_us = now_us - (wait_us > 0 ? wait_us : 0);
    uint32_t at = client->live, n = 0, looked = 0;

    if (set->rules->cut_us >= 0) {
        return client->live_n;
    }
    for (; at != KA_LANE_NONE && looked < KA_LANE_LOOK; looked++) {
        const ka_lane *lane = ka_lane_at(set, at);

        n += !lane->ended && lane->end_us >= oldest_us;
        at = lane->older;
    }
    return n;
}

static void count_parallel(ka_lane_set *set, uint32_t at, int64_t now_us,
                           bool ended)
{
    ka_lane_client *client = ka_lane_client_at(set, at);
    const uint32_t n = open_now(set, client, now_us) + ended;

    client->parallel = n > client->parallel ? n : client->parallel;
}

/* ---- lanes --------------------------------------------------------------- */

static void remember(ka_lane *lane, const ka_request *r, const ka_hit *hit)
{
    lane->address = (uint32_t)r->address;
    lane->vhost = hit->vhost;
    lane->limit_s = hit->limit_s;
    lane->cls = hit->cls;
    if (!(r->flags & KA_REQ_HTTP2) && r->keepalives >= 0) {
        lane->last_k = r->keepalives;
    }
}

static void add_lane(ka_lane_set *set, uint32_t client, const ka_request *r,
                     const ka_hit *hit, uint64_t place, int64_t end_us)
{
    uint32_t at;
    ka_lane *lane;

    if (set->lanes.n >= set->max) {
        ka_lane_set_make_room(set);
    }
    at = ka_slab_add(&set->lanes);
    if (at == KA_LANE_NONE) {
        set->failed = true;
        return;
    }
    lane = ka_lane_at(set, at);
    lane->client = client;
    lane->end_us = end_us;
    lane->requests = 1;
    lane->ended = true; /* not counted as live yet */
    lane->last_k = r->keepalives;
    remember(lane, r, hit);
    set_ended(set, lane, ka_request_ends(set->rules, r));
    lane->named = place != 0;
    if (place) {
        ka_slab_name(&set->lanes, at, place);
    }
    link_first(set, at);
    ka_lane_schedule(set, at);
}

void ka_lane_open(ka_lane_set *set, uint32_t client, const ka_request *r,
                  const ka_hit *hit, uint64_t place, bool keep)
{
    const bool ended = !keep || ka_request_ends(set->rules, r);
    int64_t to;
    const int64_t from =
        ka_request_span(&to, set->rules, r, ka_request_begin(r));

    count_opening(set, client, r, hit);
    ka_shard_busy(set->shard, set->side, from, to);
    if (ended && !place) {
        ka_shard_tail(set->shard, set->side, ka_sample_group(hit->address), to,
                      0, 1);
    }
    else {
        add_lane(set, client, r, hit, place, to);
    }
    count_parallel(set, client, from, ended);
}

/* A gap belongs to the request before it (profile.c). */
static void count_gap(const ka_lane_set *set, const ka_lane *lane,
                      int64_t gap_us)
{
    ka_tally_traffic *vhost = ka_shard_vhost(set->shard, lane->vhost);

    if (set->side != LOW) {
        return;
    }
    ka_hist_add(&set->shard->tally->classes[lane->cls].gap, (uint64_t)gap_us);
    if (vhost) {
        ka_hist_add(&vhost->gap, (uint64_t)gap_us);
    }
}

/* The server's timer is late now and then; the connection did last. */
static int64_t cut_gap(const ka_lane_set *set, int64_t gap_us)
{
    const int64_t cut_us = set->rules->cut_us;

    gap_us = cut_us >= 0 && gap_us > cut_us ? cut_us : gap_us;
    return gap_us < KA_TIMELINE_IDLE_US ? gap_us : KA_TIMELINE_IDLE_US;
}

/* An idle time within a connection; under a T0 that did not cut it, it may
 * be two. */
static void take_gap(ka_lane_set *set, ka_lane *lane, int64_t from_us)
{
    const int64_t gap_us = cut_gap(set, from_us - lane->end_us);

    ka_shard_gap(set->shard, set->side, from_us, gap_us);
    if (gap_us <= set->shard->timeout_us) {
        lane->requests++;
        count_gap(set, lane, gap_us);
        return;
    }
    ka_hist_add(&set->shard->tally->side[set->side].lengths, lane->requests);
    lane->requests = 1;
}

void ka_lane_follow(ka_lane_set *set, uint32_t at, uint32_t client,
                    const ka_request *r, const ka_hit *hit)
{
    ka_lane *lane = ka_lane_at(set, at);
    int64_t to, from = ka_request_span(&to, set->rules, r, lane->end_us);

    if (from >= lane->end_us) {
        take_gap(set, lane, from);
    }
    else {
        /* A stream joins the connection while that is in use (trace.h). */
        from = lane->end_us;
        lane->requests++;
    }
    ka_shard_busy(set->shard, set->side, from, to);
    lane->end_us = to;
    remember(lane, r, hit);
    use(set, at, client);
    set_ended(set, lane, ka_request_ends(set->rules, r));
}

void ka_lane_over(ka_lane_set *set, uint32_t at, int64_t len_us)
{
    const ka_lane *lane = ka_lane_at(set, at);

    ka_shard_tail(set->shard, set->side, ka_sample_group(lane->address),
                  lane->end_us, len_us, lane->requests);
    leave(set, at);
}

/* What the client would have closed before T0 did can not be taken over. */
static bool outlives_timeout(const ka_lane_set *set, const ka_lane *lane)
{
    return !lane->ended && set->rules->cut_us >= 0 &&
           ka_lane_limit(lane->limit_s) > set->rules->cut_us;
}

void ka_lane_times_out(ka_lane_set *set, uint32_t at)
{
    ka_lane *lane = ka_lane_at(set, at);

    if (!outlives_timeout(set, lane)) {
        ka_lane_over(set, at, lane->ended ? 0 : ka_lane_limit(lane->limit_s));
        return;
    }
    ka_slab_name(&set->lanes, at, 0);
    ka_lane_client_at(set, lane->client)->live_n--;
    unlink_lane(set, at);
    lane->state = KA_LANE_TIMED;
    link_first(set, at);
    ka_lane_schedule(set, at);
}

void ka_lane_replaced(ka_lane_set *set, uint32_t at, const ka_request *r)
{
    const ka_lane *lane = ka_lane_at(set, at);
    ka_conn conn = {.end_us = lane->end_us,
                    .tail_us = lane->ended ? 0 : ka_lane_limit(lane->limit_s)};

    ka_conn_replaced(&conn, set->rules, r);
    if (conn.client_closed || !outlives_timeout(set, lane)) {
        ka_lane_over(set, at, conn.tail_us);
        return;
    }
    /* It has timed out, and will be found by its client. */
    ka_slab_name(&set->lanes, at, 0);
}

/* ---- time ---------------------------------------------------------------- */

void ka_lane_set_pass(ka_lane_set *set, int64_t now_us)
{
    while (set->opening_n > 0 &&
           set->openings[set->opening_first].begin_us + set->delay_us <=
               now_us) {
        decide_first(set);
    }
    ka_lane_set_fire(set, now_us - set->delay_us);
}
