/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * by_time.c's two sides and chains.c on one client at a time, without a T0
 * that cuts: a chain ends when the client's limit is over, or with a response
 * that closes it.
 *
 *   low    one connection a client: it takes every request, one after the other
 *   high   as many as browsers open: one takes a request again when it is
 *          surely free, the latest first; with all in use the one that ends
 *          first
 */
#include "stream_priv.h"

/* Of the key of a client that speaks HTTP/2. */
#define STREAM_KEY UINT64_C(0x9d5b3c01e6f8a274)

static int64_t limit_of(const ka_stream_client *client)
{
    return client->limit_s * KA_SECOND_US;
}

static int64_t end_of(const ka_hit *hit)
{
    return hit->begin_us + (hit->service_us > 0 ? hit->service_us : 0);
}

static bool ends(const ka_hit *hit)
{
    return hit->flags & (KA_REQ_ABORTED | KA_REQ_NOT_HTTP | KA_REQ_FINAL) &&
           !(hit->flags & KA_REQ_HTTP2);
}

/* When a request is served on a connection that is in use until busy_us. */
static int64_t serve(ka_shard *shard, int side, const ka_hit *hit,
                     int64_t busy_us)
{
    const int64_t from =
        hit->begin_us > busy_us ? hit->begin_us : busy_us;
    const int64_t end = end_of(hit), to = end > from ? end : from;

    ka_shard_busy(shard, side, from, to);
    return to;
}

/* ---- gaps ---------------------------------------------------------------- */

static bool within(const ka_shard *shard, int64_t gap_us)
{
    return gap_us <= shard->timeout_us;
}

/* An idle time ends: under T0 the connection goes on, or another one opens.
 * @return its requests with this one */
static uint32_t take_gap(ka_shard *shard, int side, const ka_hit *hit,
                         int64_t end_us, uint32_t requests)
{
    const int64_t late = hit->begin_us > end_us ? 0 : end_us - hit->begin_us;
    const int64_t from_us = hit->begin_us + late, gap_us = from_us - end_us;

    ka_shard_gap(shard, side, from_us, gap_us);
    if (within(shard, gap_us)) {
        return requests + 1;
    }
    ka_hist_add(&shard->tally->side[side].lengths, requests);
    return 1;
}

/* A gap belongs to the request before it (profile.c). */
static void count_low_gap(ka_shard *shard, const ka_stream_client *client,
                          const ka_hit *hit)
{
    const int64_t gap = hit->begin_us - client->low_end_us;
    const uint64_t gap_us = gap > 0 ? (uint64_t)gap : 0;
    ka_tally_traffic *vhost;

    if (!within(shard, (int64_t)gap_us)) {
        return;
    }
    ka_hist_add(&shard->tally->classes[client->low_cls].gap, gap_us);
    if (!shard->named) {
        return;
    }
    vhost = ka_shard_vhost(shard, client->low_vhost);
    if (vhost) {
        ka_hist_add(&vhost->gap, gap_us);
    }
}

/* ---- low ----------------------------------------------------------------- */

static void remember_low(ka_stream_client *client, const ka_hit *hit)
{
    client->low_vhost = hit->vhost;
    client->low_cls = hit->cls;
}

static void low_ends(ka_shard *shard, ka_stream_client *client, int64_t len_us)
{
    ka_shard_tail(shard, LOW, client->group, client->low_end_us, len_us,
                  client->low_requests);
    client->low_open = false;
}

static void group_low(ka_shard *shard, ka_stream_client *client,
                      const ka_hit *hit)
{
    const int64_t end_us = client->low_end_us;

    if (client->low_open) {
        count_low_gap(shard, client, hit);
        client->low_requests =
            take_gap(shard, LOW, hit, end_us, client->low_requests);
    }
    else {
        ka_shard_open(shard, LOW, hit->begin_us > end_us ? hit->begin_us
                                                         : end_us);
        client->low_requests = 1;
        client->low_open = true;
    }
    client->low_end_us = serve(shard, LOW, hit, end_us);
    remember_low(client, hit);
    if (ends(hit)) {
        low_ends(shard, client, 0);
    }
}

/* ---- high ---------------------------------------------------------------- */

static void high_ends(ka_shard *shard, ka_stream_client *client, size_t at,
                      int64_t len_us)
{
    const size_t last = --client->high_n;

    ka_shard_tail(shard, HIGH, client->group, client->high_end_us[at], len_us,
                  client->high_requests[at]);
    client->high_end_us[at] = client->high_end_us[last];
    client->high_requests[at] = client->high_requests[last];
}

/* As ka_channels_expire: the others stay in their order. */
static void expire_high(ka_shard *shard, ka_stream_client *client,
                        int64_t oldest_us)
{
    size_t i, kept = 0;

    for (i = 0; i < client->high_n; i++) {
        const int64_t end_us = client->high_end_us[i];

        if (end_us < oldest_us) {
            ka_shard_tail(shard, HIGH, client->group, end_us, limit_of(client),
                          client->high_requests[i]);
            continue;
        }
        client->high_end_us[kept] = end_us;
        client->high_requests[kept++] = client->high_requests[i];
    }
    client->high_n = (uint8_t)kept;
}

/* As ka_channels_choose. @return high_n: the client opens another one */
static size_t choose_high(const ka_stream_client *client, int64_t free_end_us)
{
    const size_t none = client->high_n;
    size_t latest = none, first = none, i;

    for (i = 0; i < none; i++) {
        const int64_t end_us = client->high_end_us[i];

        if (end_us <= free_end_us &&
            (latest == none || end_us > client->high_end_us[latest])) {
            latest = i;
        }
        if (first == none || end_us < client->high_end_us[first]) {
            first = i;
        }
    }
    return latest == none && none == KA_BURST_CONNECTIONS ? first : latest;
}

static void group_high(ka_shard *shard, ka_stream_client *client,
                       const ka_hit *hit)
{
    int64_t busy_us = hit->begin_us;
    size_t at;

    at = choose_high(client, hit->begin_us - shard->free_us);
    if (at < client->high_n) {
        busy_us = client->high_end_us[at];
        client->high_requests[at] =
            take_gap(shard, HIGH, hit, busy_us, client->high_requests[at]);
    }
    else {
        ka_shard_open(shard, HIGH, hit->begin_us);
        client->high_requests[at] = 1;
        client->high_n++;
        shard->differ = shard->differ || client->high_n > 1;
    }
    client->high_end_us[at] = serve(shard, HIGH, hit, busy_us);
    if (ends(hit)) {
        high_ends(shard, client, at, 0);
    }
}

/* ---- HTTP/2 -------------------------------------------------------------- */

/* A stream joins the connection while that is in use (trace.h). */
static void join_stream(ka_shard *shard, ka_stream_client *client,
                        const ka_hit *hit)
{
    const int64_t end_us = client->low_end_us;
    const bool idle = hit->begin_us >= end_us;
    uint32_t requests = client->low_requests + 1;
    int side;

    if (idle) {
        count_low_gap(shard, client, hit);
    }
    for (side = LOW; side < SIDES; side++) {
        if (idle) {
            requests = take_gap(shard, side, hit, end_us,
                                client->low_requests);
        }
        client->low_end_us = serve(shard, side, hit, end_us);
    }
    client->low_requests = requests;
}

static void stream_ends(ka_shard *shard, const ka_stream_client *client)
{
    int side;

    for (side = LOW; side < SIDES; side++) {
        ka_shard_tail(shard, side, client->group, client->low_end_us,
                      limit_of(client), client->low_requests);
    }
}

static void group_stream(ka_shard *shard, ka_stream_client *client,
                         const ka_hit *hit)
{
    int side;

    client->stream = true;
    if (client->low_open &&
        hit->begin_us - client->low_end_us > limit_of(client)) {
        stream_ends(shard, client);
        client->low_open = false;
    }
    if (client->low_open) {
        join_stream(shard, client, hit);
    }
    else {
        for (side = LOW; side < SIDES; side++) {
            ka_shard_open(shard, side, hit->begin_us);
            client->low_end_us = serve(shard, side, hit, hit->begin_us);
        }
        client->low_open = true;
        client->low_requests = 1;
    }
    remember_low(client, hit);
}

/* ---- requests that are connections --------------------------------------- */

static void group_alone(ka_shard *shard, ka_stream_client *client,
                        const ka_hit *hit)
{
    const uint32_t second = (uint32_t)(hit->begin_us / KA_SECOND_US);
    int side;

    for (side = LOW; side < SIDES; side++) {
        ka_shard_open(shard, side, hit->begin_us);
        ka_shard_tail(shard, side, client->group,
                      serve(shard, side, hit, hit->begin_us), 0, 1);
    }
    client->alone = client->alone_s == second && client->alone < UINT16_MAX
                        ? (uint16_t)(client->alone + 1)
                        : 1;
    client->alone_s = second;
}

/* Ends what the client has left for good, also before a request that does not
 * ask for it: idle times must not become known later than that. */
static void expire(ka_shard *shard, ka_stream_client *client, int64_t now_us)
{
    const int64_t oldest_us = now_us - limit_of(client);

    if (client->low_open && client->low_end_us < oldest_us) {
        low_ends(shard, client, limit_of(client));
    }
    expire_high(shard, client, oldest_us);
}

/* ---- clients ------------------------------------------------------------- */

/* Connections that are open now under T0, those of this second included. */
static void count_parallel(const ka_shard *shard, ka_stream_client *client,
                           const ka_hit *hit)
{
    const int64_t oldest_us =
        hit->begin_us - (shard->timeout_us > 0 ? shard->timeout_us : 0);
    size_t n = client->stream, i;

    for (i = 0; i < client->high_n; i++) {
        n += client->high_end_us[i] >= oldest_us;
    }
    if (client->alone_s == (uint32_t)(hit->begin_us / KA_SECOND_US)) {
        n += client->alone;
    }
    n = n < UINT8_MAX ? n : UINT8_MAX;
    if (n > client->parallel) {
        client->parallel = (uint8_t)n;
    }
}

static void arrive(ka_stream_client *client, const ka_hit *hit)
{
    *client = (ka_stream_client){.key = client->key,
                                 .next = client->next,
                                 .group =
                                     (uint8_t)ka_sample_group(hit->address),
                                 .limit_s = hit->limit_s,
                                 .low_end_us = INT64_MIN / 2};
}

static ka_stream_client *client_of(ka_shard *shard, ka_stream_table *table,
                                   const ka_hit *hit, bool stream)
{
    const uint64_t key = stream ? hit->client ^ STREAM_KEY : hit->client;
    ka_stream_client *client;

    if (table->clients.n >= table->max) {
        ka_stream_table_make_room(table, shard);
    }
    client = ka_stream_table_find(table, key);
    if (client) {
        if (ka_stream_due(client) < hit->begin_us) {
            /* It was just not forgotten yet. */
            ka_stream_leave(shard, client);
            arrive(client, hit);
        }
        return client;
    }
    client = ka_stream_table_add(table, key,
                                 end_of(hit) + hit->limit_s * KA_SECOND_US);
    if (client) {
        arrive(client, hit);
        ka_distinct_add(&shard->tally->clients, hit->client);
        ka_distinct_add(&shard->tally->addresses, hit->address);
    }
    return client;
}

void ka_stream_group(ka_shard *shard, ka_stream_table *table,
                     const ka_hit *hit)
{
    const bool stream = hit->flags & KA_REQ_HTTP2;
    ka_stream_client *client = client_of(shard, table, hit, stream);

    if (!client) {
        shard->failed = true;
        return;
    }
    if (stream) {
        group_stream(shard, client, hit);
        count_parallel(shard, client, hit);
        return;
    }
    expire(shard, client, hit->begin_us);
    if (hit->flags & KA_REQ_HTTP10) {
        group_alone(shard, client, hit);
    }
    else {
        group_low(shard, client, hit);
        group_high(shard, client, hit);
    }
    count_parallel(shard, client, hit);
}

void ka_stream_leave(ka_shard *shard, const ka_stream_client *leaving)
{
    ka_stream_client client = *leaving;
    ka_tally_side *sides = shard->tally->side;
    const bool alone = client.parallel && !client.stream;

    if (client.stream) {
        stream_ends(shard, &client);
    }
    else {
        expire(shard, &client, INT64_MAX);
    }
    ka_hist_add(&sides[LOW].parallel, 1);
    ka_hist_add(&sides[HIGH].parallel, alone ? client.parallel : 1);
}
