/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * From connections to chains (MODEL 6).  A connection that T0 cut would have
 * been there for the client's next one: the latest such that was idle for
 * longer than T0, but not for longer than the client keeps one.
 *
 *   connection 1  |==|....|==|.....T0.....x
 *   connection 2                                |==|...|==|
 *   chain         |==|....|==|..................|==|...|==|......
 */
#include "connections_priv.h"

typedef struct linker {
    ka_trace *trace;
    ka_grouping *g;
    ka_idle timed_out; /* by client; ready at end + T0 */
} linker;

/* What serves the streams of a connection says nothing about its timeout. */
static uint8_t class_of(const ka_request *r)
{
    return r->flags & KA_REQ_HTTP2 ? KA_CLASS_N : r->cls;
}

/* The connection that request r would have reused under a longer timeout. */
static uint32_t find_earlier(linker *l, const ka_request *r)
{
    int64_t begin = ka_request_begin(r);

    if (l->g->rules.cut_us < 0) {
        return KA_INDEX_NONE;
    }
    /* Ready before `begin`: idle for more than T0, so that cutting chains at
     * gaps above T0 gives the connections back. */
    ka_idle_advance(&l->timed_out, begin - 1);
    return ka_idle_take(&l->timed_out, r->client,
                        begin - ka_request_limit(r) + l->g->rules.cut_us);
}

static void begin_connection(linker *l, ka_conn *conn)
{
    const ka_request *r = &l->g->items[conn->first];
    uint32_t earlier = KA_INDEX_NONE;
    int64_t end = ka_request_end(r);

    /* A request that is a connection by protocol reuses nothing. */
    if (!ka_request_alone(&l->g->rules, r)) {
        earlier = find_earlier(l, r);
    }
    if (earlier != KA_INDEX_NONE) {
        conn->chain = l->g->conns[earlier].chain;
        ka_trace_follow(l->trace, conn->chain, ka_request_begin(r), end);
        return;
    }
    conn->chain = ka_trace_open(l->trace, conn->open_us, end);
}

static void continue_connection(linker *l, const ka_conn *conn, size_t i)
{
    const ka_request *r = &l->g->items[i];
    ka_trace *trace = l->trace;
    int64_t to, from, cut = l->g->rules.cut_us;

    from = ka_request_span(&to, &l->g->rules, r,
                           trace->tails[conn->chain].from_us);
    ka_trace_follow(trace, conn->chain, from, to);
    /* The server's timer is late now and then; the connection did last. */
    if (!trace->failed && cut >= 0 &&
        trace->requests[trace->request_n - 1].gap_us > cut) {
        trace->requests[trace->request_n - 1].gap_us = cut;
    }
}

static void end_connection(linker *l, uint32_t c)
{
    const ka_conn *conn = &l->g->conns[c];

    if (l->g->rules.cut_us >= 0 && !conn->ended && !conn->client_closed) {
        ka_idle_put(&l->timed_out, l->g->items[conn->last].client, c,
                    conn->end_us + l->g->rules.cut_us);
    }
}

/* Connections come in order of opening: a chain's last one has the last word.
 */
static void set_tails(linker *l)
{
    size_t c;

    for (c = 0; c < l->g->conn_n; c++) {
        ka_trace_tail_set(l->trace, l->g->conns[c].chain,
                          l->g->conns[c].tail_us);
    }
}

apr_status_t ka_chains_build(ka_trace *trace, uint32_t *chain_of,
                             ka_grouping *g)
{
    linker l = {.trace = trace, .g = g};
    bool failed;
    size_t i;

    ka_idle_init(&l.timed_out, g->conn_n);
    for (i = 0; i < g->n && !trace->failed && !l.timed_out.failed; i++) {
        ka_conn *conn = &g->conns[g->conn[i]];

        if (i + KA_KEYMAP_AHEAD < g->n) {
            __builtin_prefetch(&g->conns[g->conn[i + KA_KEYMAP_AHEAD]]);
            ka_keymap_expect(&l.timed_out.tops,
                             g->items[i + KA_KEYMAP_AHEAD].client);
        }
        if (conn->first == i) {
            begin_connection(&l, conn);
        }
        else {
            continue_connection(&l, conn, i);
        }
        if (conn->last == i) {
            end_connection(&l, g->conn[i]);
        }
        ka_trace_class_set(trace, class_of(&g->items[i]));
        chain_of[i] = conn->chain;
    }
    failed = trace->failed || l.timed_out.failed;
    if (!failed) {
        set_tails(&l);
    }
    ka_idle_clear(&l.timed_out);
    return failed ? APR_ENOMEM : APR_SUCCESS;
}
