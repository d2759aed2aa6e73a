/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Prefork and worker: a connection that waits holds its worker, in a blocking
 * read with KeepAliveTimeout as the socket's timeout.  httpd sets that, then
 * reads the next request, whose first hook is pre_read_request: there the
 * socket gets the timeout that is in force for this connection.
 *
 * By load (KAPolicyAdaptive) a wait that has begun must end sooner when other
 * workers are taken meanwhile.  So it is spent here, in slices, and httpd's
 * read finds either data or the end.  The end is shutdown(SHUT_RD): what the
 * client has sent by then is still read and answered, only after that comes
 * end of file.  And since the read side is shut, httpd's lingering close, for
 * which a silent client could hold the worker two seconds more, is over at
 * once.
 *
 * The close itself: the worker is free as soon as the client's side has
 * acknowledged everything, the FIN included, and has nothing to say.  httpd
 * goes on waiting for the client to close; we do not while others need the
 * worker.
 */
#include "kapolicy.h"

#include <errno.h>
#include <poll.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <http_connection.h>
#include <http_core.h>

/* How soon a wait is looked at again: the longest that a rise in load can go
 * unnoticed. */
#define SLICE_US 50000
#define SLICE_CALM_US 200000
#define LINGER_US 2000000 /* httpd's own */

static int64_t lesser(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static bool poll_read(int fd, int64_t us)
{
    struct pollfd pfd = {.fd = fd, .events = POLLIN};
    int n = poll(&pfd, 1, (int)((us + 999) / 1000));

    return n > 0 || (n < 0 && errno != EINTR);
}

/* ---- the wait ------------------------------------------------------------ */

/* Oldest first: every waiter knows its rank, and those who must go are as
 * many as there are too many. */
static bool must_go(const kapolicy_load *load, kapolicy_taken now,
                    int64_t since)
{
    uint32_t excess =
        ka_adaptive_excess(kapolicy->adaptive, now.taken, now.limit);

    return excess > 0 && kapolicy_load_older(load, since) < excess;
}

/* How long it may wait from now on; 0 = not at all. */
static int64_t time_left(const kapolicy_conn *conn, kapolicy_taken now,
                         int64_t since)
{
    int64_t timeout = ka_adaptive_timeout(kapolicy->adaptive, conn->wanted_us,
                                          now.taken, now.limit);
    int64_t left = since + timeout - kapolicy_now_us();

    return left <= 0 || must_go(kapolicy->load, now, since) ? 0 : left;
}

static void wait_by_load(kapolicy_conn *conn, int fd)
{
    int64_t since = kapolicy_now_us();

    kapolicy_load_idle(kapolicy->load, conn, since);
    while (kapolicy_socket_of(conn->c) == fd) {
        kapolicy_taken now = kapolicy_load_now(kapolicy->load);
        bool calm =
            ka_adaptive_is_calm(kapolicy->adaptive, now.taken, now.limit);
        int64_t left = time_left(conn, now, since);

        if (left == 0) {
            shutdown(fd, SHUT_RD);
            conn->flags |= KAPOLICY_ENDED;
            break;
        }
        if (poll_read(fd, lesser(left, calm ? SLICE_CALM_US : SLICE_US))) {
            break;
        }
    }
    kapolicy_load_busy(kapolicy->load, conn);
}

static void pre_read_request(request_rec *r, conn_rec *c)
{
    kapolicy_conn *conn = kapolicy_conn_of(c);
    int fd;

    (void)r;
    if (!conn || kapolicy->async || c->master || !c->keepalives ||
        c->data_in_input_filters || !(conn->flags & KAPOLICY_GRANTED)) {
        return;
    }
    apr_socket_timeout_set(ap_get_conn_socket(c), conn->wait_us);
    fd = kapolicy_socket_of(c);
    if (kapolicy->load && fd >= 0) {
        wait_by_load(conn, fd);
        if (kapolicy_socket_of(c) != fd) {
            /* Worker, told to stop, has closed it.  A read that only begins
             * now would wait for a socket that is none. */
            apr_socket_timeout_set(ap_get_conn_socket(c), 0);
        }
    }
}

/* ---- the close ----------------------------------------------------------- */

static bool is_acknowledged(int fd)
{
#ifdef TCP_INFO
    struct tcp_info info;
    socklen_t size = sizeof(info);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) == 0 &&
           info.tcpi_state == TCP_FIN_WAIT2;
#else
    (void)fd;
    return false; /* not known: as httpd does */
#endif
}

/* Waits for the client's close as httpd would, but no longer than until all
 * of the response has arrived. */
static void close_promptly(int fd)
{
    int64_t waited = 0, slice = 1000;

    while (waited < LINGER_US && !poll_read(fd, slice)) {
        if (is_acknowledged(fd)) {
            shutdown(fd, SHUT_RD);
            return;
        }
        waited += slice;
        slice = lesser(slice * 2, SLICE_US);
    }
}

static bool is_calm(void)
{
    kapolicy_taken now = kapolicy_load_now(kapolicy->load);

    return ka_adaptive_is_calm(kapolicy->adaptive, now.taken, now.limit);
}

/* What httpd does next is what is done here first: it finds it done. */
static int pre_close_connection(conn_rec *c)
{
    kapolicy_conn *conn = kapolicy_conn_of(c);
    int fd;

    if (!conn || c->master || kapolicy->async || !kapolicy->load ||
        c->aborted || is_calm()) {
        return DECLINED;
    }
    fd = kapolicy_socket_of(c);
    ap_flush_conn(c);
    if (fd >= 0 && !c->aborted && shutdown(fd, SHUT_WR) == 0) {
        close_promptly(fd);
    }
    return DECLINED;
}

void kapolicy_wait_hooks(void)
{
    ap_hook_pre_read_request(pre_read_request, NULL, NULL, APR_HOOK_LAST);
    /* After all that still have something to send. */
    ap_hook_pre_close_connection(pre_close_connection, NULL, NULL,
                                 APR_HOOK_REALLY_LAST);
}
