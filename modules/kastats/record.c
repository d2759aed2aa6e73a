/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Hooks of connections and requests: how they begin, and how requests end.
 *
 *  pre_connection   post_read_request  log_transaction   pre_close   cleanup
 *       |  busy  ...........|.... busy ......|... idle ......|. closing .|
 *       started          begin            ended           closing     publish
 *
 * log_transaction runs when the kernel took the whole response, so it can
 * come after the next post_read_request (pipelining) and after
 * pre_close_connection; what a connection adds up to is published when its
 * pool goes.  That may be event's listener thread or a signal handler:
 * atomics only.
 */
#include "kastats.h"

#include <http_connection.h>
#include <http_core.h>

#include "clock.h"

/* Smaller responses fit any socket's buffer, and soon leave it. */
#define DRAIN_BYTES 16384
/* How long httpd waits for a client's close after a response. */
#define LINGER_US 2000000
#define LINGER_ASYNC_US 30000000

/* ---- a connection begins ------------------------------------------------- */

static int pre_connection(conn_rec *c, void *csd)
{
    kastats_conn *conn;
    instant now;

    (void)csd;
    if (!kastats || !kastats->writer.header || c->master || c->outgoing ||
        !c->sbh || kastats_server_of(c->base_server)->aside) {
        return DECLINED;
    }
    conn = apr_pcalloc(c->pool, sizeof(*conn));
    conn->c = c;
    conn->server = c->base_server;
    now = mono_now();
    conn->started = conn->ended = now.us;
    conn->first_us = conn->tail_us = -1;
    conn->flight = 1;
    conn->flags = KASTATS_FRESH;
    conn->reason = KA_REASON_N;
    conn->serial = (uint32_t)__atomic_add_fetch(
        &kastats->writer.header->connection_serial, 1, __ATOMIC_RELAXED);
    ap_set_module_config(c->conn_config, &kastats_module, conn);
    kastats_cold_take(conn);
    ka_writer_open(&kastats->writer, place_of(conn->server), 1);
    kastats_count_connection(conn, 1);
    ka_writer_shift(&kastats->writer, KA_OPENED, moment_of(now));
    tick_open(now);
    kastats_live_add(conn);
    apr_pool_cleanup_register(c->pool, conn, kastats_connection_gone,
                              apr_pool_cleanup_null);
    return OK;
}

/* ---- a request begins ---------------------------------------------------- */

/* request_time was taken when the request line was read: on the other clock,
 * so only the time since then is used. */
static int64_t begin_of(const kastats_conn *conn, const request_rec *r,
                        int64_t now)
{
    int64_t since =
        at_least(clock_read(CLOCK_REALTIME).us - r->request_time, 0);

    return at_least(now - since, conn->started);
}

static __attribute__((noinline)) void switch_server(kastats_conn *conn,
                                                    server_rec *server)
{
    server_rec *old =
        __atomic_exchange_n(&conn->server, server, __ATOMIC_RELAXED);

    ka_writer_open(&kastats->writer, place_of(old), -1);
    ka_writer_open(&kastats->writer, place_of(server), 1);
}

static inline void record_gap(kastats_conn *conn, server_rec *server,
                              int64_t begin)
{
    ka_segment_stats *stats = stats_of(server);
    uint64_t gap = (uint64_t)at_least(begin - atomic_get(conn->ended), 0);

    if (gap > atomic_get(conn->longest_gap_us)) {
        atomic_set(conn->longest_gap_us, gap);
    }
    if (stats) {
        ka_stats_add_span(stats, KA_QUANTITY_GAP + atomic_get(conn->served),
                          gap);
    }
    atomic_add(conn->idle_us, gap);
    atomic_set(conn->gap_us, (int64_t)gap);
    atomic_set(conn->gap_end, begin);
}

/* What the connection was before this request.  A stream that begins while a
 * request of the connection itself is in flight is that request: it asked for
 * the upgrade to HTTP/2. */
static __attribute__((noinline)) uint8_t flags_begin_stream(kastats_conn *conn)
{
    const uint8_t clear = KASTATS_FRESH | KASTATS_PRIMARY;
    uint8_t before =
        __atomic_fetch_and(&conn->flags, (uint8_t)~clear, __ATOMIC_RELAXED);

    __atomic_fetch_or(&conn->flags,
                      KASTATS_STREAMS |
                          (before & KASTATS_PRIMARY ? KASTATS_UPGRADED : 0),
                      __ATOMIC_RELAXED);
    return before;
}

static inline uint8_t flags_begin(kastats_conn *conn, const request_rec *r)
{
    uint8_t before = atomic_get(conn->flags);

    if (r->connection->master) {
        return flags_begin_stream(conn);
    }
    atomic_set(conn->flags, KASTATS_PRIMARY); /* no streams: one thread */
    return before & KASTATS_FRESH;
}

static inline __attribute__((always_inline)) void
begin_again(kastats_conn *conn, request_rec *r, int64_t begin, instant now)
{
    const ka_writer *writer = &kastats->writer;
    uint32_t before = atomic_add(conn->flight, 1);

    if ((before & ~KASTATS_CLOSING) == 0 &&
        !r->connection->data_in_input_filters) {
        record_gap(conn, r->server, begin);
    }
    else if (stats_of(r->server)) {
        ka_stats_count(stats_of(r->server), KA_COUNTER_PIPELINED, 1);
    }
    if (before == 0) {
        ka_writer_went(writer, false, ka_writer_moment(writer, now.second));
    }
}

static inline __attribute__((always_inline)) int64_t
request_begin(kastats_conn *conn, request_rec *r, instant now)
{
    int64_t begin = begin_of(conn, r, now.us);
    uint8_t before = flags_begin(conn, r);

    if (atomic_get(conn->server) != r->server) {
        switch_server(conn, r->server);
    }
    if (before & KASTATS_FRESH) { /* in flight: it waited for this */
        conn->first_us = begin - conn->started;
    }
    else if (!(before & KASTATS_PRIMARY)) {
        begin_again(conn, r, begin, now);
    }
    return begin;
}

/* What short gaps need not be asked for.  The latest one need not have been
 * before this request. */
static __attribute__((noinline)) void
long_gap(const kastats_conn *conn, const request_rec *r, int64_t begin)
{
    int64_t gap = atomic_get(conn->gap_us);

    if (atomic_get(conn->gap_end) == begin && stats_of(r->server) &&
        !r->connection->data_in_input_filters) {
        ka_stats_clamp(stats_of(r->server), (uint64_t)gap);
        ka_ticks_idle(&kastats->ticks, begin - gap, begin);
    }
}

/* Last of all, from what the connection keeps: nothing is held ready for it. */
static inline void look_at_gap(const kastats_conn *conn, const request_rec *r,
                               int64_t begin)
{
    if (__builtin_expect(atomic_get(conn->gap_us) > KA_AGE_LEAST_US, 0)) {
        long_gap(conn, r, begin);
    }
}

/* For a request that was refused before any hook ran. */
static __attribute__((noinline)) int64_t late_begin(kastats_conn *conn,
                                                    request_rec *r)
{
    int64_t begin = request_begin(conn, r, mono_now());

    look_at_gap(conn, r, begin);
    return begin;
}

static int post_read_request(request_rec *r)
{
    kastats_conn *conn;
    int64_t begin;

    if (!kastats || r->main || r->prev ||
        !(conn = kastats_conn_of(r->connection))) {
        return DECLINED;
    }
    begin = request_begin(conn, r, mono_now());
    kastats_word_set(r, (uintptr_t)begin << KASTATS_WORD_SHIFT);
    look_at_gap(conn, r, begin);
    return DECLINED;
}

/* ---- a request ends ------------------------------------------------------ */

static ka_protocol protocol_of(const request_rec *r)
{
    if (r->connection->master) {
        return KA_PROTOCOL_HTTP2;
    }
    if (r->status == HTTP_SWITCHING_PROTOCOLS) {
        return KA_PROTOCOL_UPGRADED;
    }
    if (r->proto_num >= HTTP_VERSION(1, 1)) {
        return KA_PROTOCOL_HTTP11;
    }
    return r->proto_num >= HTTP_VERSION(1, 0) ? KA_PROTOCOL_HTTP10
                                              : KA_PROTOCOL_HTTP09;
}

/* bytes_sent grows for a HEAD request too, as if there had been a body. */
static inline uint64_t body_bytes(const request_rec *r)
{
    return r->header_only ? 0 : (uint64_t)r->bytes_sent;
}

/* While a connection is kept its client may take its time to read what the
 * kernel has left; with KeepAlive Off httpd would linger for that. */
static void drain(const request_rec *r)
{
    ka_segment_header *header = kastats->writer.header;
    conn_rec *c = r->connection;

    if (c->keepalive == AP_CONN_KEEPALIVE && !c->aborted &&
        body_bytes(r) >= DRAIN_BYTES) {
        ka_atomic_add(&header->drain_us,
                      kastats_drain_us(c, header->config.async == 1
                                              ? LINGER_ASYNC_US
                                              : LINGER_US));
    }
}

/* A stream does not hold its connection alone: it is left out of the ticks. */
static __attribute__((noinline)) void long_service(const request_rec *r,
                                                   uint64_t service)
{
    ka_segment_stats *stats = stats_of(r->server);
    int64_t now = mono_now().us;

    if (!stats) {
        return;
    }
    ka_stats_clamp(stats, service);
    if (!r->connection->master) {
        ka_ticks_served(&kastats->ticks, now - (int64_t)service, now);
        drain(r);
    }
}

/* Looks everything up before the first atomic, past which the compiler must
 * look it up again. */
static inline void record_request(kastats_conn *conn, const request_rec *r,
                                  uint64_t service, ka_moment moment)
{
    ka_segment_stats *stats = stats_of(r->server);
    const request_rec *last = r;
    uint64_t bytes;
    ka_served served;

    while (last->next) {
        last = last->next;
    }
    served = kastats_served(last);
    bytes = body_bytes(last);
    ka_writer_child_request(&kastats->writer);
    if (stats) {
        ka_stats_count(stats, KA_COUNTER_BYTES + served, bytes);
        ka_stats_add_span(stats, KA_QUANTITY_SERVICE + served, service);
        ka_writer_second_request(moment);
    }
    if (atomic_add(conn->requests, 1) == 0 ||
        r->status == HTTP_SWITCHING_PROTOCOLS) {
        atomic_set(conn->protocol, (uint8_t)protocol_of(r));
    }
    atomic_set(conn->served, (uint8_t)served);
    atomic_add(conn->service_us, service);
    atomic_add(conn->bytes, bytes);
    if (__builtin_expect(service > KA_TICK_US, 0)) {
        long_service(r, service);
    }
}

/* A read that timed out before there was a request line is logged as 408. */
static bool is_request(const request_rec *r)
{
    return r->method || r->status != HTTP_REQUEST_TIME_OUT;
}

static inline void request_end(kastats_conn *conn, request_rec *r)
{
    const ka_writer *writer = &kastats->writer;
    const conn_rec *c = r->connection;
    int64_t begin = (int64_t)(kastats_word(r) >> KASTATS_WORD_SHIFT);
    instant now = mono_now();
    ka_moment moment = ka_writer_moment(writer, now.second);

    if (__builtin_expect(begin == 0, 0)) {
        begin = late_begin(conn, r);
    }
    record_request(conn, r, (uint64_t)at_least(now.us - begin, 0), moment);
    atomic_set(conn->ended, now.us);
    if (c->master) {
        if (c->aborted) {
            __atomic_fetch_or(&conn->flags, KASTATS_BROKEN, __ATOMIC_RELAXED);
        }
    }
    else if (c->keepalive != AP_CONN_KEEPALIVE || c->aborted) {
        conn->reason = (uint8_t)kastats_reason_of_request(r);
        return; /* stays in flight until it is closed */
    }
    if (atomic_add(conn->flight, -1) == 1) {
        ka_writer_went(writer, true, moment);
    }
}

static int log_transaction(request_rec *r)
{
    kastats_conn *conn;

    if (!kastats || r->main || !(conn = kastats_conn_of(r->connection)) ||
        !is_request(r)) {
        return DECLINED;
    }
    if (kastats_conn_is(conn, KASTATS_UPGRADED) && !r->connection->master) {
        return DECLINED; /* counted as stream 1 */
    }
    if (r->method_number == M_OPTIONS && kastats_is_internal(r)) {
        conn->flags |= KASTATS_INTERNAL;
        return DECLINED;
    }
    request_end(conn, r);
    return DECLINED;
}

void kastats_record_hooks(void)
{
    /* First of all: no other module may keep a request from us, and log
     * items that mod_log_config prints need what we find out. */
    ap_hook_pre_connection(pre_connection, NULL, NULL, APR_HOOK_REALLY_FIRST);
    ap_hook_post_read_request(post_read_request, NULL, NULL,
                              APR_HOOK_REALLY_FIRST);
    ap_hook_log_transaction(log_transaction, NULL, NULL, APR_HOOK_REALLY_FIRST);
}
