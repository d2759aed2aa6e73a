/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What all levels share: when a connection takes a request, and when a
 * request ends one.
 *
 * HTTP/1 connections serve one request at a time.  Stamps that say otherwise
 * are rounded, or the client pipelined: the request then starts where the one
 * before it ends.  Within the clock's tick its service time is kept whole
 * (the true times did not overlap); beyond it the end stays where the log has
 * it, else a wrongly assumed queue would run away from the clock.
 *
 * On HTTP/2 a request is a stream: %X and %k speak of the stream, so they end
 * nothing and prove nothing.
 */
#include "connections_priv.h"

#include <stdlib.h>

#include "array.h"

/* A service time or limit beyond 35 years is a damaged line. */
#define LENGTH_MAX (INT64_C(1) << 50)

static int64_t held_in(int64_t us, int64_t min, int64_t max)
{
    return us < min ? min : us > max ? max : us;
}

int64_t ka_request_begin(const ka_request *r)
{
    return held_in(r->begin_us, -KA_TRACE_TIME_MAX, KA_TRACE_TIME_MAX);
}

int64_t ka_request_end(const ka_request *r)
{
    return held_in(ka_request_begin(r) + held_in(r->service_us, 0, LENGTH_MAX),
                   -KA_TRACE_TIME_MAX, KA_TRACE_TIME_MAX);
}

int64_t ka_request_limit(const ka_request *r)
{
    return held_in(r->client_limit_us, 0, LENGTH_MAX);
}

static bool by_time(const ka_grouping_rules *rules)
{
    return rules->identity == KA_IDENTITY_TIME;
}

bool ka_request_ends(const ka_grouping_rules *rules, const ka_request *r)
{
    if (r->flags & KA_REQ_HTTP2) {
        return false;
    }
    if (r->flags & (KA_REQ_ABORTED | KA_REQ_NOT_HTTP)) {
        return true;
    }
    if (r->flags & KA_REQ_HTTP10) {
        return by_time(rules) || !(r->flags & KA_REQ_KEPT);
    }
    return (r->flags & KA_REQ_FINAL) && !rules->off;
}

bool ka_request_alone(const ka_grouping_rules *rules, const ka_request *r)
{
    return (r->flags & KA_REQ_HTTP10) &&
           (by_time(rules) ||
            (!(r->flags & KA_REQ_KEPT) && r->keepalives <= 0));
}

/* %k counts the requests that were kept alive before this one; a request that
 * closes the connection is not counted itself and repeats the value. */
bool ka_k_continues(int32_t last_k, const ka_request *r)
{
    bool kept = (r->flags & KA_REQ_KEPT) != 0;

    if ((r->flags & KA_REQ_HTTP2) || r->keepalives < 0) {
        return true;
    }
    if (last_k < 0) {
        return r->keepalives > 0 || !kept;
    }
    return r->keepalives > last_k || (r->keepalives == last_k && !kept);
}

int64_t ka_request_reach(const ka_grouping_rules *rules, const ka_request *r)
{
    return rules->cut_us < 0
               ? ka_request_limit(r)
               : rules->cut_us + KA_TIMER_SLACK_US + rules->tick_us;
}

int64_t ka_request_span(int64_t *to_us, const ka_grouping_rules *rules,
                        const ka_request *r, int64_t end_us)
{
    int64_t begin = ka_request_begin(r);
    int64_t end = ka_request_end(r);
    int64_t late = end_us - begin;

    *to_us = end;
    if (late <= 0) {
        return begin;
    }
    if (r->flags & KA_REQ_HTTP2) {
        *to_us = end > end_us ? end : end_us;
        return begin;
    }
    *to_us = late <= rules->tick_us ? end + late : end > end_us ? end : end_us;
    return end_us;
}

bool ka_grouping_init(ka_grouping *g)
{
    g->conn = ka_array_alloc(g->n, sizeof(*g->conn));
    g->conns = ka_array_alloc(g->n, sizeof(*g->conns));
    g->failed = g->conn == NULL || g->conns == NULL;
    return !g->failed;
}

void ka_grouping_clear(ka_grouping *g)
{
    free(g->conn);
    free(g->conns);
    g->conn = NULL;
    g->conns = NULL;
}

/* %X prints `-` one request early at MaxKeepAliveRequests: the next %k proves
 * that the connection went on. */
static bool k_revives(const ka_conn *conn, const ka_request *r)
{
    return !(r->flags & KA_REQ_HTTP2) && conn->last_k >= 0 &&
           r->keepalives == conn->last_k + 1;
}

bool ka_request_continues(const ka_grouping_rules *rules, const ka_request *r,
                          const ka_conn *conn, bool same_address)
{
    const bool exact = rules->identity == KA_IDENTITY_PORT;

    if ((conn->ended && !k_revives(conn, r)) || ka_request_alone(rules, r) ||
        !ka_k_continues(conn->last_k, r)) {
        return false;
    }
    /* A port's key holds the address. */
    if (!exact && !same_address) {
        return false;
    }
    /* With KeepAlive Off a slot meets the same client by chance only. */
    if (rules->cut_us == 0 && !exact && !(r->flags & KA_REQ_HTTP2)) {
        return false;
    }
    return ka_request_begin(r) - conn->end_us <= ka_request_reach(rules, r);
}

static bool conn_takes(const ka_grouping *g, const ka_conn *conn,
                       const ka_request *r)
{
    return ka_request_continues(&g->rules, r, conn,
                                g->items[conn->last].address == r->address);
}

uint32_t ka_grouping_open(ka_grouping *g, size_t i, int64_t not_before_us)
{
    const ka_request *r = &g->items[i];
    ka_conn *conn = &g->conns[g->conn_n];

    *conn = (ka_conn){.tail_us = ka_request_limit(r),
                      .first = (uint32_t)i,
                      .last = (uint32_t)i,
                      .chain = KA_CHAIN_NONE,
                      .last_k = r->keepalives};
    conn->open_us = ka_request_span(&conn->end_us, &g->rules, r, not_before_us);
    g->conn[i] = (uint32_t)g->conn_n++;
    if (ka_request_ends(&g->rules, r)) {
        ka_grouping_end(g, g->conn[i]);
    }
    return g->conn[i];
}

void ka_grouping_follow(ka_grouping *g, size_t i, uint32_t c)
{
    const ka_request *r = &g->items[i];
    ka_conn *conn = &g->conns[c];
    int64_t to;

    ka_request_span(&to, &g->rules, r, conn->end_us);
    conn->end_us = to;
    conn->last = (uint32_t)i;
    conn->tail_us = ka_request_limit(r);
    conn->ended = false;
    if (ka_request_ends(&g->rules, r)) {
        ka_grouping_end(g, c);
    }
    if (!(r->flags & KA_REQ_HTTP2) && r->keepalives >= 0) {
        conn->last_k = r->keepalives;
    }
    g->conn[i] = c;
}

void ka_grouping_end(ka_grouping *g, uint32_t c)
{
    g->conns[c].ended = true;
    g->conns[c].tail_us = 0;
}

void ka_grouping_alone(ka_grouping *g, size_t i)
{
    uint32_t c = ka_grouping_open(g, i, ka_request_begin(&g->items[i]));

    ka_grouping_end(g, c);
}

void ka_conn_replaced(ka_conn *conn, const ka_grouping_rules *rules,
                      const ka_request *r)
{
    int64_t idle = ka_request_begin(r) - conn->end_us;

    if (rules->cut_us >= 0 && idle < rules->cut_us) {
        idle = idle > 0 ? idle : 0;
        conn->tail_us = idle < conn->tail_us ? idle : conn->tail_us;
        conn->client_closed = true;
    }
}

void ka_grouping_place(ka_grouping *g, size_t i, ka_keymap *map, uint64_t key)
{
    const ka_request *r = &g->items[i];
    uint32_t *at = ka_keymap_at(map, key, KA_INDEX_NONE);

    if (at == NULL) {
        g->failed = true;
        return;
    }
    if (*at != KA_INDEX_NONE && conn_takes(g, &g->conns[*at], r)) {
        ka_grouping_follow(g, i, *at);
        return;
    }
    if (*at != KA_INDEX_NONE) {
        ka_conn_replaced(&g->conns[*at], &g->rules, r);
    }
    *at = ka_grouping_open(g, i, ka_request_begin(r));
}

void ka_grouping_stream(ka_grouping *g, size_t i, ka_keymap *map)
{
    ka_grouping_place(g, i, map, g->items[i].client);
}
