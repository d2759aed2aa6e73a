/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * How long a client will go on reading a response that the kernel has taken.
 * While the connection is kept that is part of the idle time; with KeepAlive
 * Off httpd would linger for it.  Asked for only after long responses to slow
 * clients: two system calls.
 */
#include "kastats.h"

#ifdef __linux__
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <apr_portable.h>
#include <http_core.h>

/* What the kernel still has, as fast as it got rid of the rest while it had
 * something: pauses of the server do not count there. */
static uint64_t drain_us(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof(info);
    int waiting = 0;

    if (ioctl(fd, SIOCOUTQ, &waiting) != 0 || waiting <= 0 ||
        getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
        size < offsetof(struct tcp_info, tcpi_busy_time) +
                   sizeof(info.tcpi_busy_time) ||
        info.tcpi_bytes_acked == 0) {
        return 0;
    }
    return (uint64_t)((double)waiting * (double)info.tcpi_busy_time /
                      (double)info.tcpi_bytes_acked);
}

uint64_t kastats_drain_us(conn_rec *c, uint64_t most_us)
{
    apr_socket_t *csd = ap_get_conn_socket(c);
    uint64_t us;
    int fd;

    if (!csd || apr_os_sock_get(&fd, csd) != APR_SUCCESS) {
        return 0;
    }
    us = drain_us(fd);
    return us < most_us ? us : most_us;
}
#else
uint64_t kastats_drain_us(conn_rec *c, uint64_t most_us)
{
    (void)c;
    (void)most_us;
    return 0;
}
#endif
