/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A request fits into any socket's buffer, so writing is never waited for.
 * Where reading is slow on purpose the socket's own buffer is small and epoll
 * is left out: steps of 20 ms read what the rate allows.
 */
#include "visitors.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <netinet/tcp.h>

enum { PART = 65536, SLOW_BUFFER = 8192 };

/* What a read or a handshake came to, beside a number of bytes. */
enum { WIRE_CLOSED = 0, WIRE_AGAIN = -1, WIRE_AGAIN_WRITE = -2 };

static const char AGENT[] = "Mozilla/5.0 (X11; Linux x86_64) visitors";

static void set_state(connection *c, state to)
{
    c->state = to;
    c->serial++;
}

/* ---- epoll --------------------------------------------------------------- */

static void watch(world *w, connection *c, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = c};
    int op = c->watched ? EPOLL_CTL_MOD : EPOLL_CTL_ADD;

    if (events == 0) {
        op = EPOLL_CTL_DEL;
    }
    if (events || c->watched) {
        epoll_ctl(w->epoll, op, c->fd, &event);
    }
    c->watched = events != 0;
}

/* ---- bytes --------------------------------------------------------------- */

static ssize_t tls_result(connection *c, int result)
{
    switch (SSL_get_error(c->ssl, result)) {
    case SSL_ERROR_WANT_READ:
        return WIRE_AGAIN;
    case SSL_ERROR_WANT_WRITE:
        return WIRE_AGAIN_WRITE;
    default:
        return WIRE_CLOSED;
    }
}

static ssize_t take(connection *c, char *to, size_t n)
{
    ssize_t got;

    if (c->ssl) {
        int result = SSL_read(c->ssl, to, (int)n);

        return result > 0 ? result : tls_result(c, result);
    }
    got = read(c->fd, to, n);
    return got >= 0 ? got : errno == EAGAIN ? WIRE_AGAIN : WIRE_CLOSED;
}

static bool put(connection *c, const char *text, size_t n)
{
    return c->ssl ? SSL_write(c->ssl, text, (int)n) == (int)n
                  : send(c->fd, text, n, MSG_NOSIGNAL) == (ssize_t)n;
}

/* ---- the end ------------------------------------------------------------- */

void wire_close(world *w, connection *c)
{
    if (c->state == STATE_GONE) {
        return;
    }
    watch(w, c, 0);
    SSL_free(c->ssl);
    c->ssl = NULL;
    close(c->fd);
    c->closed_at = now_us();
    set_state(c, STATE_GONE);
    w->alive--;
}

void wire_ignore(world *w, connection *c)
{
    watch(w, c, 0);
    set_state(c, STATE_STALE);
}

static void server_closed(world *w, connection *c)
{
    const request *r = c->state == STATE_RESPONSE ? c->request : NULL;

    c->server_closed_at = now_us();
    visit_closed(w, c, r);
}

/* ---- a response ---------------------------------------------------------- */

static const char *find_header(const char *head, const char *name)
{
    const char *at = strcasestr(head, name);

    return at ? at + strlen(name) : NULL;
}

/* Once the empty line is there. @return false: not a response to count on */
static bool read_head(connection *c, char *end)
{
    size_t head_n = (size_t)(end - c->head) + 4;
    const char *length, *how;

    *end = '\0';
    length = find_header(c->head, "\r\nContent-Length: ");
    how = find_header(c->head, "\r\nConnection: ");
    if (strncmp(c->head, "HTTP/1.1 200 ", 13) != 0 || length == NULL) {
        return false;
    }
    c->last = how && strncasecmp(how, "close", 5) == 0;
    c->body_left = strtoll(length, NULL, 10) - (int64_t)(c->head_n - head_n);
    return c->body_left >= 0;
}

static void fail(world *w, connection *c)
{
    fprintf(stderr, "visitors: %s: no good response: %.60s\n",
            c->request->path, c->head);
    w->failed++;
    c->last = true;
    c->body_left = 0;
}

static void take_head(world *w, connection *c, const char *bytes, size_t n)
{
    char *end;

    /* The rest of the head, and the body's beginning, which only counts. */
    if (c->head_n + n > HEAD_MAX) {
        size_t room = HEAD_MAX - c->head_n;

        memcpy(c->head + c->head_n, bytes, room);
        c->head[HEAD_MAX] = '\0';
    }
    else {
        memcpy(c->head + c->head_n, bytes, n);
        c->head[c->head_n + n] = '\0';
    }
    c->head_n += n;
    end = strstr(c->head, "\r\n\r\n");
    if ((end && !read_head(c, end)) || (!end && c->head_n > HEAD_MAX)) {
        fail(w, c);
    }
}

static void take_bytes(world *w, connection *c, const char *bytes, size_t n)
{
    if (c->body_left < 0) {
        take_head(w, c, bytes, n);
    }
    else {
        c->body_left -= (int64_t)n;
    }
    if (c->body_left == 0) {
        c->served++;
        c->idle_at = now_us();
        set_state(c, STATE_IDLE);
        watch(w, c, EPOLLIN);
        visit_answered(w, c);
    }
}

static void read_step(world *w, void *connection_)
{
    static char bytes[PART];
    connection *c = connection_;
    int64_t rate = c->request->rate;
    size_t most = rate ? (size_t)(rate * STEP_US / 1000000) : PART;
    ssize_t n = take(c, bytes, most < PART ? most : PART);

    if (n == WIRE_CLOSED) {
        server_closed(w, c);
    }
    else if (n > 0) {
        take_bytes(w, c, bytes, (size_t)n);
    }
    if (rate && c->state == STATE_RESPONSE) {
        timer_set(w, now_us() + STEP_US, read_step, c, c);
    }
}

/* Nothing is expected: the server's close, or a TLS ticket. */
static void read_idle(world *w, connection *c)
{
    char byte;
    ssize_t n = take(c, &byte, 1);

    if (n >= 0) {
        server_closed(w, c);
    }
}

void wire_send(world *w, connection *c, const request *r)
{
    char text[512];
    int n = snprintf(text, sizeof(text),
                     "GET %s HTTP/1.1\r\nHost: localhost\r\n"
                     "User-Agent: %s\r\n\r\n",
                     r->path, AGENT);

    c->request = r;
    c->head_n = 0;
    c->body_left = -1;
    set_state(c, STATE_RESPONSE);
    if (!put(c, text, (size_t)n)) {
        server_closed(w, c);
        return;
    }
    watch(w, c, r->rate ? 0 : EPOLLIN);
    if (r->rate) {
        timer_set(w, now_us() + STEP_US, read_step, c, c);
    }
}

/* ---- the beginning ------------------------------------------------------- */

static void opened(world *w, connection *c)
{
    if (c->request) {
        wire_send(w, c, c->request);
        return;
    }
    set_state(c, STATE_HINT);
    watch(w, c, EPOLLIN);
}

static void handshake(world *w, connection *c)
{
    int result = SSL_connect(c->ssl);
    ssize_t why = result == 1 ? 1 : tls_result(c, result);

    if (why == 1) {
        opened(w, c);
    }
    else if (why == WIRE_CLOSED) {
        server_closed(w, c);
    }
    else {
        watch(w, c, why == WIRE_AGAIN ? EPOLLIN : EPOLLOUT);
    }
}

static void connected(world *w, connection *c)
{
    struct sockaddr_in own = {0};
    socklen_t size = sizeof(own);

    getsockname(c->fd, (struct sockaddr *)&own, &size);
    c->port = ntohs(own.sin_port);
    if (w->tls == NULL) {
        opened(w, c);
        return;
    }
    c->ssl = SSL_new(w->tls);
    if (c->ssl == NULL || SSL_set_fd(c->ssl, c->fd) != 1) {
        server_closed(w, c);
        return;
    }
    set_state(c, STATE_HANDSHAKE);
    handshake(w, c);
}

static int open_socket(const session *s, bool slow)
{
    struct sockaddr_in from = {.sin_family = AF_INET, .sin_addr = s->address};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), on = 1;
    int buffer = SLOW_BUFFER;

    if (fd < 0) {
        return fd;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    /* The port is chosen at connect, by destination: there are more then. */
    setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof(on));
    if (slow) {
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer, sizeof(buffer));
    }
    if (bind(fd, (struct sockaddr *)&from, sizeof(from)) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

void wire_open(world *w, session *s, const request *r)
{
    connection *c = calloc(1, sizeof(*c));
    int fd = open_socket(s, r && r->rate);

    if (c == NULL || fd < 0 ||
        (connect(fd, (struct sockaddr *)&w->server, sizeof(w->server)) < 0 &&
         errno != EINPROGRESS)) {
        perror("visitors: connect");
        exit(1);
    }
    *c = (connection){.next = s->connections,
                      .session = s,
                      .fd = fd,
                      .request = r,
                      .opened_at = now_us()};
    s->connections = c;
    w->alive++;
    watch(w, c, EPOLLOUT);
}

void wire_ready(world *w, connection *c)
{
    switch (c->state) {
    case STATE_CONNECT:
        connected(w, c);
        break;
    case STATE_HANDSHAKE:
        handshake(w, c);
        break;
    case STATE_RESPONSE:
        read_step(w, c);
        break;
    case STATE_HINT:
    case STATE_IDLE:
        read_idle(w, c);
        break;
    case STATE_STALE: /* of the same turn of epoll */
    case STATE_GONE:
        break;
    }
}
