/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * How connections end: what was found out about them is published when the
 * pool goes, so that requests that are logged late count.
 *
 * event's listener may leave with connections in its queues: those that the
 * workers took over at the very end of a child.  Their pools never go, so the
 * child's last act is to publish what is still in its list of live ones.
 */
#include "clock.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <apr_portable.h>
#include <apr_siphash.h>
#include <ap_mpm.h>
#include <http_connection.h>
#include <http_core.h>
#include <http_ssl.h>
#include <mpm_common.h>

/* Enough for connections opened near a child's end to find a place. */
#define LIVE_THREADED 16384
#define LIVE_PREFORK 8
#define LIVE_TRIES 16

void kastats_count_connection(const kastats_conn *conn, int32_t delta)
{
    ka_moment moment =
        ka_writer_moment(&kastats->writer, conn->started / 1000000);

    if (moment.second) {
        ka_second_add(&moment.second->connections, moment.tag, delta);
    }
}

static uint32_t rtt_of(conn_rec *c)
{
#ifdef TCP_INFO
    apr_socket_t *csd = ap_get_conn_socket(c);
    struct tcp_info info;
    socklen_t size = sizeof(info);
    int fd;

    if (csd && apr_os_sock_get(&fd, csd) == APR_SUCCESS &&
        getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0) {
        return info.tcpi_rtt;
    }
#endif
    return 0;
}

static int pre_close_connection(conn_rec *c)
{
    kastats_conn *conn;
    uint32_t flight;
    instant now;
    bool idle, dropped = false;

    if (!kastats || c->master || !(conn = kastats_conn_of(c))) {
        return DECLINED;
    }
    flight =
        __atomic_fetch_or(&conn->flight, KASTATS_CLOSING, __ATOMIC_RELAXED);
    if (flight & KASTATS_CLOSING) {
        return DECLINED;
    }
    now = mono_now();
    conn->closing = now.us;
    idle = flight == 0;
    ka_writer_shift(&kastats->writer, idle ? KA_IDLE_CLOSES : KA_BUSY_CLOSES,
                    moment_of(now));
    if (conn->reason == KA_REASON_N) {
        conn->reason =
            (uint8_t)kastats_reason_of_close(conn, idle, now.us, &dropped);
    }
    if (idle) {
        conn->tail_us = at_least(now.us - atomic_get(conn->ended), 0);
    }
    if (dropped && stats_of(conn->server)) {
        ka_stats_count(stats_of(conn->server), KA_COUNTER_DROPPED_REQUEST, 1);
    }
    conn->tls = ap_ssl_conn_is_ssl(c) != 0;
    conn->rtt_us = rtt_of(c);
    return DECLINED;
}

static uint32_t timeout_ms_of(const kastats_conn *conn)
{
    int64_t us = kastats_wait_of(conn).timeout;

    return us > 0 && us < UINT32_MAX * INT64_C(1000) ? (uint32_t)(us / 1000)
                                                     : 0;
}

static void publish_recent(const kastats_conn *conn, int64_t now)
{
    const apr_sockaddr_t *client = conn->c->client_addr;
    const ka_writer *writer = &kastats->writer;
    const ka_segment_recent record = {
        .started_at =
            writer->header->started_at + conn->started - writer->started_mono,
        .life_us = (uint64_t)(now - conn->started),
        .service_us = conn->service_us,
        .idle_us = conn->idle_us,
        .longest_gap_us = conn->longest_gap_us,
        .tail_us = (uint64_t)at_least(conn->tail_us, 0),
        .linger_us = conn->closing ? (uint64_t)(now - conn->closing) : 0,
        .bytes = conn->bytes,
        .first_us = (uint64_t)conn->first_us,
        .client_hash = client ? apr_siphash24(client->ipaddr_ptr,
                                              (apr_size_t)client->ipaddr_len,
                                              kastats->retained->key)
                              : 0,
        .requests = conn->requests,
        .timeout_ms = timeout_ms_of(conn),
        .rtt_us = conn->rtt_us,
        .vhost = (uint16_t)place_of(conn->server),
        .reason = conn->reason,
        .protocol = conn->protocol,
        .tls = conn->tls,
        .served = conn->served};

    ka_writer_recent(writer, &record);
}

static void publish(const kastats_conn *conn, int64_t now)
{
    ka_segment_stats *stats = stats_of(conn->server);

    ka_stats_count(stats, KA_COUNTER_CLOSE + conn->reason, 1);
    ka_stats_count(stats, KA_COUNTER_PROTOCOL + conn->protocol, 1);
    ka_stats_count(stats, KA_COUNTER_TLS, conn->tls);
    ka_stats_add(stats, KA_QUANTITY_REQUESTS, conn->requests);
    ka_stats_add(stats, KA_QUANTITY_LIFE, (uint64_t)(now - conn->started));
    if (conn->first_us >= 0) {
        ka_stats_add(stats, KA_QUANTITY_FIRST, (uint64_t)conn->first_us);
    }
    if (conn->tail_us >= 0) {
        ka_stats_add_time(stats, KA_QUANTITY_TAIL + conn->served,
                          (uint64_t)conn->tail_us);
        ka_ticks_idle(&kastats->ticks, conn->ended, now);
    }
    if (conn->closing) {
        ka_stats_add(stats, KA_QUANTITY_LINGER,
                     (uint64_t)(now - conn->closing));
    }
    if (conn->rtt_us) {
        ka_stats_add(stats, KA_QUANTITY_RTT, conn->rtt_us);
    }
    publish_recent(conn, now);
}

/* ---- a child's first connection ------------------------------------------ */

void kastats_cold_take(kastats_conn *conn)
{
    kastats_conn *none = NULL;

    if (!atomic_get(kastats->cold)) {
        __atomic_compare_exchange_n(&kastats->cold, &none, conn, 0,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
}

/* Until a connection had a request the next is the first. */
static void cold_leave(const kastats_conn *conn, bool counts)
{
    ka_segment_header *header = kastats->writer.header;

    if (atomic_get(kastats->cold) != conn) {
        return;
    }
    if (counts && conn->first_us >= 0) {
        ka_atomic_add(&header->cold_n, 1);
        ka_atomic_add(&header->cold_us, (uint64_t)conn->first_us);
        atomic_set(kastats->cold, KASTATS_WARM);
    }
    else {
        atomic_set(kastats->cold, NULL);
    }
}

static ka_transition gone(uint32_t flight)
{
    if (flight & KASTATS_CLOSING) {
        return KA_CLOSING_GONE;
    }
    return flight ? KA_BUSY_GONE : KA_IDLE_GONE;
}

static void live_remove(const kastats_conn *conn)
{
    if (conn->live < kastats->live_n) {
        atomic_set(kastats->live[conn->live], NULL);
    }
}

/* httpd's own, or of a vhost where KAStats is Off. */
static void leave_out(const kastats_conn *conn)
{
    kastats_count_connection(conn, -1);
    if (kastats_conn_is(conn, KASTATS_INTERNAL)) {
        ka_stats_count(&kastats->writer.stats[place_of(conn->server)],
                       KA_COUNTER_INTERNAL, 1);
    }
}

apr_status_t kastats_connection_gone(void *data)
{
    kastats_conn *conn = data;
    instant now = mono_now();

    if (!kastats || kastats_conn_is(conn, KASTATS_GONE)) {
        return APR_SUCCESS;
    }
    conn->flags |= KASTATS_GONE;
    live_remove(conn);
    if (kastats_conn_is(conn, KASTATS_INTERNAL) || !stats_of(conn->server)) {
        cold_leave(conn, false);
        leave_out(conn);
    }
    else {
        cold_leave(conn, true);
        if (conn->reason == KA_REASON_N) {
            conn->reason = (uint8_t)kastats_reason_of_cleanup(conn);
        }
        publish(conn, now.us);
    }
    ka_writer_open(&kastats->writer, place_of(conn->server), -1);
    ka_writer_shift(&kastats->writer, gone(conn->flight), moment_of(now));
    tick_open(now);
    return APR_SUCCESS;
}

/* ---- live connections ---------------------------------------------------- */

/* Only where no worker can be at work on them any more. */
static apr_status_t child_ends(void *data)
{
    uint32_t i;

    (void)data;
    if (!kastats || !kastats->ends_gracefully) {
        return APR_SUCCESS;
    }
    for (i = 0; i < kastats->live_n; i++) {
        kastats_conn *conn = atomic_get(kastats->live[i]);

        if (conn) {
            kastats_connection_gone(conn);
        }
    }
    return APR_SUCCESS;
}

void kastats_live_init(apr_pool_t *p)
{
    int threaded = AP_MPMQ_NOT_SUPPORTED;
    uint32_t n;

    ap_mpm_query(AP_MPMQ_IS_THREADED, &threaded);
    n = threaded == AP_MPMQ_NOT_SUPPORTED ? LIVE_PREFORK : LIVE_THREADED;
    /* Not from the pool: the kernel gives pages only as they are used. */
    kastats->live = calloc(n, sizeof(*kastats->live));
    kastats->live_n = kastats->live ? n : 0;
    apr_pool_cleanup_register(p, NULL, child_ends, apr_pool_cleanup_null);
}

/* A connection that finds no place is counted as lost if the child ends
 * before it does. */
void kastats_live_add(kastats_conn *conn)
{
    uint32_t i;

    conn->live = UINT16_MAX;
    for (i = 0; i < LIVE_TRIES && i < kastats->live_n; i++) {
        uint32_t at = atomic_add(kastats->live_next, 1) % kastats->live_n;
        kastats_conn *expected = NULL;

        if (__atomic_compare_exchange_n(&kastats->live[at], &expected, conn, 0,
                                        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
            conn->live = (uint16_t)at;
            return;
        }
    }
}

static void child_stopping(apr_pool_t *pchild, int graceful)
{
    (void)pchild;
    if (kastats) {
        kastats->ends_gracefully = graceful != 0;
    }
}

void kastats_close_hooks(void)
{
    /* Before mod_http2's, which takes its session down in pre_close. */
    ap_hook_pre_close_connection(pre_close_connection, NULL, NULL,
                                 APR_HOOK_REALLY_FIRST);
    ap_hook_child_stopping(child_stopping, NULL, NULL, APR_HOOK_MIDDLE);
}
