/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 *   visitors PORT plain|tls SECONDS DELAY SCRIPT
 *
 * Plays a script against 127.0.0.1:PORT from DELAY us on, gives up after
 * SECONDS.  stdout: a
 * line for each connection that was opened,
 *
 *   connection ADDRESS PORT OPENED SERVER_CLOSED CLOSED REQUESTS
 *
 * times in us since the epoch, 0: not; then "completed N again N failed N
 * late US", the last one the most that anything was late.  Exit status 0 if
 * all was answered.
 */
#include "visitors.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

enum { EVENTS = 256 };

static void begin_all(world *w, int64_t origin_us)
{
    size_t i;

    for (i = 0; i < w->script.session_n; i++) {
        session *s = &w->script.sessions[i];

        w->alive++;
        timer_set(w, origin_us + s->start_us, visit_begin, s, NULL);
    }
}

static bool play(world *w, int64_t until_us)
{
    struct epoll_event events[EVENTS];

    while (w->alive && now_us() < until_us) {
        int64_t us = timers_fire(w);
        struct timespec wait = {us / 1000000, us % 1000000 * 1000};
        int n = epoll_pwait2(w->epoll, events, EVENTS, &wait, NULL), i;

        for (i = 0; i < n; i++) {
            wire_ready(w, events[i].data.ptr);
        }
    }
    return w->alive == 0;
}

static void tell_session(const session *s)
{
    char address[INET_ADDRSTRLEN];
    const connection *c;

    inet_ntop(AF_INET, &s->address, address, sizeof(address));
    for (c = s->connections; c; c = c->next) {
        printf("connection %s %d %" PRId64 " %" PRId64 " %" PRId64 " %u\n",
               address, c->port, c->opened_at, c->server_closed_at,
               c->closed_at, c->served);
    }
}

static void tell(const world *w)
{
    size_t i;

    for (i = 0; i < w->script.session_n; i++) {
        tell_session(&w->script.sessions[i]);
    }
    printf("completed %" PRIu64 " again %" PRIu64 " failed %" PRIu64
           " late %" PRId64 "\n",
           w->completed, w->again, w->failed, w->latest_us);
}

static bool prepare(world *w, const char *port, const char *how)
{
    w->epoll = epoll_create1(EPOLL_CLOEXEC);
    w->server = (struct sockaddr_in){.sin_family = AF_INET,
                                     .sin_port = htons((uint16_t)atoi(port))};
    w->server.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (strcmp(how, "tls") == 0) {
        /* The certificate is the test's own: nothing to verify. */
        w->tls = SSL_CTX_new(TLS_client_method());
        return w->tls && w->epoll >= 0;
    }
    return w->epoll >= 0;
}

int main(int argc, char **argv)
{
    world w = {0};
    bool all;

    if (argc != 6 || atoi(argv[1]) <= 0 || atoi(argv[3]) <= 0) {
        fprintf(stderr,
                "usage: visitors PORT plain|tls SECONDS DELAY SCRIPT\n");
        return 2;
    }
    if (!script_read(&w.script, argv[5]) || !prepare(&w, argv[1], argv[2])) {
        return 1;
    }
    begin_all(&w, now_us() + atoi(argv[4]));
    all = play(&w, now_us() + (int64_t)atoi(argv[3]) * 1000000);
    if (!all) {
        fprintf(stderr, "visitors: %zu visitors and connections are left\n",
                w.alive);
    }
    tell(&w);
    return all && w.failed == 0 ? 0 : 1;
}
