/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Scripted visitors of a server.  A script says what each visitor does and how
 * long it thinks, never when a connection opens or closes: that follows from
 * the server's answers, so that one script means the same under any
 * KeepAliveTimeout.  It is text, a line each, times in us:
 *
 *   session START ADDRESS PARALLEL LAZY CLOSE LEAVE
 *       from START on a visitor from ADDRESS, with at most PARALLEL
 *       connections in use.  LAZY 1: does not answer the server's close until
 *       it next needs a connection.  CLOSE: closes what was idle for so long;
 *       LEAVE: closes all so long after the last page; -1: never
 *   page THINK HINT
 *       THINK after the page before is complete.  HINT: with it opens a
 *       connection that sends nothing and is closed after so long; -1: none
 *   get STAGE RATE PATH
 *       a stage begins when all of the one before is complete.  RATE in bytes
 *       per second; 0: as fast as it comes
 *
 * A request takes the idle connection that was used last, else opens one while
 * fewer than PARALLEL are in use, else waits.  One that the server closed
 * before it answered is sent again, as browsers do.
 *
 * Concurrency: one thread.  Times are CLOCK_REALTIME, as a log's are.
 */
#ifndef VISITORS_H
#define VISITORS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <openssl/ssl.h>

#define NEVER INT64_C(-1)

enum { HEAD_MAX = 1024, PATH_MAX_LEN = 63, STEP_US = 20000 };

typedef struct request {
    char path[PATH_MAX_LEN + 1];
    int stage;
    int64_t rate;
} request;

typedef struct page {
    int64_t think_us, hint_us;
    size_t first, n; /* of the script's requests */
} page;

typedef struct connection connection;

typedef struct session {
    int64_t start_us;
    struct in_addr address;
    int parallel, lazy;
    int64_t close_us, leave_us;
    size_t first, n; /* of the script's pages */
    /* as it goes */
    size_t page;            /* of the n */
    size_t next, stage_end; /* of the page's requests: not sent yet; in hand */
    size_t under_way;       /* sent, not complete */
    connection *connections; /* all that it ever opened, latest first */
} session;

typedef struct script {
    session *sessions;
    page *pages;
    request *requests;
    size_t session_n, page_n, request_n;
} script;

typedef enum state {
    STATE_CONNECT,
    STATE_HANDSHAKE,
    STATE_HINT,     /* open, nothing sent */
    STATE_RESPONSE, /* a request is sent */
    STATE_IDLE,
    STATE_STALE, /* the server has closed it, the visitor did not look */
    STATE_GONE
} state;

struct connection {
    connection *next; /* of its session */
    session *session;
    int fd;
    SSL *ssl;
    state state;
    bool watched;           /* by epoll */
    const request *request; /* in hand */
    unsigned served;
    unsigned serial; /* of its state: timers of an earlier one are void */
    char head[HEAD_MAX + 1];
    size_t head_n;
    int64_t body_left; /* -1: the head is not complete */
    bool last;         /* the server said Connection: close */
    int64_t idle_at;
    int64_t opened_at, server_closed_at, closed_at; /* 0: did not happen */
    int port;
};

typedef struct world world;

typedef struct timer {
    int64_t at_us;
    void (*fire)(world *w, void *of);
    void *of;
    connection *guard; /* fires only in the state it was set in; or NULL */
    unsigned serial;
} timer;

struct world {
    script script;
    int epoll;
    struct sockaddr_in server;
    SSL_CTX *tls; /* NULL: plain */
    timer *timers; /* a heap, the next one first */
    size_t timer_n, timer_size;
    size_t alive; /* visitors on their way, and open connections */
    uint64_t completed, again, failed;
    int64_t latest_us; /* the most that a timer was late */
};

int64_t now_us(void);

/* ---- script.c ----------------------------------------------------------- */

/** Reads a script; says on stderr what is wrong with it. @return success */
bool script_read(script *s, const char *path);

/* ---- timers.c ----------------------------------------------------------- */

/** Calls fire(w, of) at at_us; with a guard only if it has not changed state.
 */
void timer_set(world *w, int64_t at_us, void (*fire)(world *, void *),
               void *of, connection *guard);
/** Fires what is due. @return us until the next one; 1 s at most */
int64_t timers_fire(world *w);

/* ---- wire.c: one connection --------------------------------------------- */

/**
 * Begins a connection from the session's address; r is sent when it is open,
 * NULL: nothing is.
 */
void wire_open(world *w, session *s, const request *r);
/** Sends r on an idle connection. */
void wire_send(world *w, connection *c, const request *r);
/** epoll says that something can be read or written. */
void wire_ready(world *w, connection *c);
/** Closes at once, if it is not closed. */
void wire_close(world *w, connection *c);
/** Leaves it as it is, and looks no more. */
void wire_ignore(world *w, connection *c);

/* ---- visit.c: what visitors do ------------------------------------------ */

/** A visitor begins: a timer's. */
void visit_begin(world *w, void *session_);
/** The response is complete; the connection is idle. */
void visit_answered(world *w, connection *c);
/** The server has closed c: while idle, or r was not answered. */
void visit_closed(world *w, connection *c, const request *r);

#endif
