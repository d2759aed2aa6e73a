/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Why a connection ended.  There are three moments to tell:
 * - when a response refuses keep-alive, by what ap_set_keepalive looked at;
 * - when a connection that may be kept is closed, by what the MPM left:
 *
 *   how it ended              keepalive  short-linger note  since last log
 *   idle timeout, sync MPM    CLOSE      -                  >= T
 *   stopping, sync MPM        KEEPALIVE  -                  ~ 0
 *   idle timeout, event       KEEPALIVE  1                  >= T
 *   evicted, event            KEEPALIVE  1                  < T
 *   retired, graceful, event  KEEPALIVE  1 or -             < T, stopping
 *   client closed             CLOSE      -                  < T, or EOF
 *
 * - when its pool goes and neither has told.
 */
#include "kastats.h"

#include <errno.h>
#include <sys/socket.h>
#include <apr_portable.h>
#include <apr_strings.h>
#include <ap_mpm.h>
#include <http_connection.h>
#include <http_core.h>
#include <scoreboard.h>

/* The wait ends by a clock that is adjusted while ours is not, and is set in
 * whole milliseconds. */
#define TIMEOUT_SLACK_US 2000

bool kastats_is_internal(request_rec *r)
{
    const char *agent;

    if (!r->uri || strcmp(r->uri, "*") != 0 || r->connection->master) {
        return false;
    }
    agent = apr_table_get(r->headers_in, "User-Agent");
    /* The server calls its own address: both ends are the same. */
    return agent && strstr(agent, "(internal dummy connection)") &&
           strcmp(r->connection->client_ip, r->connection->local_ip) == 0;
}

static bool is_stopping(void)
{
    int state;

    return ap_mpm_query(AP_MPMQ_MPM_STATE, &state) == APR_SUCCESS &&
           state == AP_MPMQ_STOPPING;
}

/* A graceful restart has moved the running generation on before children
 * hear of it; a child that retires is of the running one. */
static ka_reason stopping_reason(void)
{
    if (ap_exists_scoreboard_image() &&
        ap_get_scoreboard_global()->running_generation != kastats->generation) {
        return KA_REASON_GRACEFUL;
    }
    return KA_REASON_RETIRED;
}

/* ---- keep-alive refused -------------------------------------------------- */

static bool client_asks_close(request_rec *r)
{
    const char *connection = apr_table_get(r->headers_in, "Connection");

    return connection && ap_find_token(r->pool, connection, "close");
}

static bool policy_refuses(request_rec *r)
{
    return apr_table_get(r->notes, KA_REASON_NOTE_POLICY) != NULL;
}

static bool is_plain_http10(request_rec *r)
{
    const char *connection = apr_table_get(r->headers_in, "Connection");

    return r->proto_num < HTTP_VERSION(1, 1) && r->method &&
           !(connection && ap_find_token(r->pool, connection, "keep-alive"));
}

static bool keepalive_is_off(request_rec *r)
{
    return !r->server->keep_alive || r->server->keep_alive_timeout <= 0 ||
           (apr_table_get(r->subprocess_env, "nokeepalive") &&
            !apr_table_get(r->headers_in, "Via"));
}

/* The last request allowed has bumped keepalives past the limit. */
static bool max_is_reached(request_rec *r)
{
    return r->server->keep_alive_max > 0 &&
           r->connection->keepalives > r->server->keep_alive_max;
}

/* Refused before any hook ran: the request is unusable, and with it what may
 * follow on the connection. */
static bool status_drops(request_rec *r)
{
    const request_rec *last = r;

    while (last->next) {
        last = last->next;
    }
    return ap_status_drops_connection(r->status) ||
           ap_status_drops_connection(last->status) ||
           kastats_word(r) >> KASTATS_WORD_SHIFT == 0;
}

static bool server_is_stopping(request_rec *r)
{
    (void)r;
    return is_stopping();
}

/* In the order of blame: what the client wanted, what was configured for
 * good, what happened. */
static const struct {
    bool (*applies)(request_rec *r);
    ka_reason reason;
} refusals[] = {
    {client_asks_close, KA_REASON_CLIENT_CLOSE_HEADER},
    {policy_refuses, KA_REASON_POLICY},
    {status_drops, KA_REASON_ERROR_STATUS},
    {is_plain_http10, KA_REASON_HTTP10},
    {keepalive_is_off, KA_REASON_KEEPALIVE_OFF},
    {max_is_reached, KA_REASON_MAX_REQUESTS},
    {server_is_stopping, KA_REASON_GRACEFUL},
};

ka_reason kastats_reason_of_request(request_rec *r)
{
    size_t i;

    if (r->connection->aborted) {
        return KA_REASON_ABORTED;
    }
    for (i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        if (refusals[i].applies(r)) {
            return refusals[i].reason == KA_REASON_GRACEFUL
                       ? stopping_reason()
                       : refusals[i].reason;
        }
    }
    return KA_REASON_OTHER;
}

/* ---- keep-alive granted -------------------------------------------------- */

typedef enum peek_result { PEEK_NOTHING, PEEK_EOF, PEEK_DATA } peek_result;

static peek_result peek(conn_rec *c)
{
    apr_socket_t *csd = ap_get_conn_socket(c);
    ssize_t n;
    char byte;
    int fd;

    if (!csd || apr_os_sock_get(&fd, csd) != APR_SUCCESS) {
        return PEEK_NOTHING;
    }
    n = recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    if (n > 0) {
        return PEEK_DATA;
    }
    return n < 0 && (errno == EAGAIN || errno == EINTR) ? PEEK_NOTHING
                                                        : PEEK_EOF;
}

ka_policy_wait kastats_wait_of(const kastats_conn *conn)
{
    const server_rec *s = conn->server->keep_alive_timeout_set
                              ? conn->server
                              : conn->c->base_server;
    ka_policy_wait wait = {.timeout = s->keep_alive_timeout};

    if (kastats->policy) {
        kastats->policy(conn->c, &wait);
    }
    return wait;
}

static bool timed_out(const kastats_conn *conn, ka_policy_wait wait,
                      int64_t now)
{
    int64_t waited = now - __atomic_load_n(&conn->ended, __ATOMIC_RELAXED);

    return waited + TIMEOUT_SLACK_US + waited / 1000 >= wait.timeout;
}

static ka_reason reason_of_idle(const kastats_conn *conn, int64_t now,
                                bool *dropped)
{
    conn_rec *c = conn->c;
    bool by_mpm = apr_table_get(c->notes, "short-lingering-close") != NULL;
    peek_result seen = peek(c);
    ka_policy_wait wait = kastats_wait_of(conn);
    bool over = timed_out(conn, wait, now);

    if (wait.ended) { /* it has shut the socket: EOF is its doing */
        *dropped = seen == PEEK_DATA;
        return over ? KA_REASON_IDLE_TIMEOUT : KA_REASON_POLICY;
    }
    if (by_mpm && over) {
        return KA_REASON_IDLE_TIMEOUT;
    }
    if (by_mpm || c->keepalive == AP_CONN_KEEPALIVE) {
        *dropped = seen == PEEK_DATA;
        if (is_stopping()) {
            return stopping_reason();
        }
        if (by_mpm) {
            return KA_REASON_EVICTED;
        }
    }
    if (seen == PEEK_EOF || !over) {
        return KA_REASON_CLIENT_CLOSED;
    }
    return KA_REASON_IDLE_TIMEOUT;
}

/* A stream may still be at its end although the client has all of it: whether
 * it was broken off is known when it has been logged. */
ka_reason kastats_reason_of_close(const kastats_conn *conn, bool idle,
                                  int64_t now, bool *dropped)
{
    if (kastats_conn_is(conn, KASTATS_FRESH)) {
        return KA_REASON_NO_REQUEST;
    }
    if (idle) {
        return reason_of_idle(conn, now, dropped);
    }
    return kastats_conn_is(conn, KASTATS_STREAMS) ? KA_REASON_N
                                                  : KA_REASON_ABORTED;
}

ka_reason kastats_reason_of_cleanup(const kastats_conn *conn)
{
    if (kastats_conn_is(conn, KASTATS_FRESH)) {
        return KA_REASON_NO_REQUEST;
    }
    if (kastats_conn_is(conn, KASTATS_STREAMS) && conn->closing) {
        return kastats_conn_is(conn, KASTATS_BROKEN) ? KA_REASON_ABORTED
                                                     : KA_REASON_CLIENT_CLOSED;
    }
    if (conn->c->aborted) {
        return KA_REASON_ABORTED;
    }
    return is_stopping() ? stopping_reason() : KA_REASON_OTHER;
}
