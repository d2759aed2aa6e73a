/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * mod_kapolicy, what its files share: structs by lifetime.
 *
 *   mod_kapolicy.c  hooks of the server's life and of connections
 *   config.c        directives
 *   check.c         what the MPM can do of them
 *   rule.c          one KAPolicy line is read
 *   match.c         rules are asked about a response
 *   response.c      a response decides on its connection
 *   wait.c          the idle wait and the close on prefork and worker
 *   watch.c         the idle wait on event
 *   load.c          how much of the server is taken
 *
 * Promise: where no directive applies, nothing changes.  Nothing here fails a
 * request.
 */
#ifndef KAPOLICY_H
#define KAPOLICY_H

#include <httpd.h>
#include <http_config.h>
#include <http_log.h>
#include <http_protocol.h>
#include <ap_expr.h>

#include "ka_adaptive.h"

/* Core objects and ours are hidden; httpd must find this one. */
extern module __attribute__((visibility("default"))) kapolicy_module;

#define KAPOLICY_UNSET (-1)

/* ---- one KAPolicy line --------------------------------------------------- */

enum { /* kapolicy_rule.served, a set */
       KAPOLICY_STATIC = 1,
       KAPOLICY_DYNAMIC = 2,
       KAPOLICY_PROXY = 4,
       KAPOLICY_ERROR = 8 /* no handler was asked */
};

typedef struct kapolicy_range {
    int64_t low, high; /* both included */
} kapolicy_range;

typedef struct kapolicy_rule {
    /* What it asks for. */
    bool close;
    bool keep;
    int64_t timeout_us; /* KAPOLICY_UNSET */
    int64_t max;        /* requests, 0 = no limit; KAPOLICY_UNSET */
    /* Where it applies: all that is set must be so. */
    unsigned served;                 /* 0 = any */
    const kapolicy_range *status;    /* [status_n] */
    const char *const *types;        /* [types_n], lower case */
    const char *const *handlers;     /* [handlers_n], lower case */
    kapolicy_range size;             /* high < 0: any */
    const char *env;                 /* NULL: any */
    const ap_expr_info_t *expr;      /* NULL: any */
    unsigned char status_n, types_n, handlers_n;
    bool env_absent; /* env=!NAME */
} kapolicy_rule;

#define KAPOLICY_SIZE_UNREAD (-2)

typedef struct kapolicy_response { /* what rules may ask about */
    request_rec *r;
    const apr_bucket_brigade *bb; /* its first part */
    unsigned served;              /* one of KAPOLICY_STATIC ... */
    int64_t size; /* of the body; -1 = not known; KAPOLICY_SIZE_UNREAD */
} kapolicy_response;

/**
 * Reads the arguments of one KAPolicy line.
 * @param rule  filled; what it points to is in cmd->pool
 * @return NULL, or a sentence naming value and remedy
 */
const char *kapolicy_rule_parse(kapolicy_rule *rule, cmd_parms *cmd, int argc,
                                char *const argv[]);

typedef struct kapolicy_answer {
    bool close;
    bool granted;       /* a rule wants it kept */
    int64_t timeout_us; /* KAPOLICY_UNSET: the server's */
    int64_t max;        /* requests, 0 = no limit; KAPOLICY_UNSET */
} kapolicy_answer;

/**
 * Asks all rules, in order; each that applies overrides what it names.
 * @param answer    what holds already; changed
 * @param response  its size is read when a rule asks for it
 */
void kapolicy_rules_ask(kapolicy_answer *answer,
                        const apr_array_header_t *rules,
                        kapolicy_response *response);

/* ---- configuration ------------------------------------------------------- */

typedef struct kapolicy_dir { /* per directory, outer contexts first */
    apr_array_header_t *rules; /* kapolicy_rule; NULL: none */
} kapolicy_dir;

typedef struct kapolicy_server { /* per server_rec */
    int64_t longest_us;          /* of its rules; 0 = none names a timeout */
    const char *longest_at;      /* FILE:LINE of that rule */
    /* The main server's only: */
    bool has_adaptive;
    ka_adaptive adaptive;
} kapolicy_server;

extern const command_rec kapolicy_commands[];
void *kapolicy_dir_create(apr_pool_t *p, char *path);
void *kapolicy_dir_merge(apr_pool_t *p, void *base, void *add);
void *kapolicy_server_create(apr_pool_t *p, server_rec *s);

static inline kapolicy_server *kapolicy_server_of(const server_rec *s)
{
    return ap_get_module_config(s->module_config, &kapolicy_module);
}

/** Checks that the MPM can do what the rules ask; logs what it cannot.
 * @return OK, or HTTP_INTERNAL_SERVER_ERROR: httpd must not start */
int kapolicy_check(server_rec *main_server, bool async);

/* ---- the server's life --------------------------------------------------- */

typedef struct kapolicy_load kapolicy_load;

/* One configuration's life in one process. */
typedef struct kapolicy_process {
    bool async;                  /* event: idle connections hold no thread */
    const ka_adaptive *adaptive; /* NULL: not configured */
    kapolicy_load *load;         /* where adaptive is, NULL: not available */
} kapolicy_process;

/* Set in post_config, before any child; read-only in children. */
extern kapolicy_process *kapolicy;

/* ---- a connection -------------------------------------------------------- */

typedef struct kapolicy_slot kapolicy_slot;

enum {                       /* kapolicy_conn.flags */
       KAPOLICY_ENDED = 1,   /* its wait was ended; nothing more is read */
       KAPOLICY_GRANTED = 2, /* wait_us was told by a response */
       KAPOLICY_RUNNING = 4, /* event: it holds a thread */
       KAPOLICY_OPEN = 8     /* event: it counts as a connection */
};

typedef struct kapolicy_conn {
    conn_rec *c;
    int64_t timeout_us;    /* of the rules so far; KAPOLICY_UNSET */
    int64_t max;           /* of the rules so far; KAPOLICY_UNSET */
    int64_t wanted_us;     /* for this wait, without load */
    int64_t wait_us;       /* ... and as the load was when it was granted */
    struct view *view;     /* see response.c; NULL until it is needed */
    kapolicy_slot *slot;   /* event; NULL: not watched */
    uint32_t place;        /* prefork, worker: its worker, see load.c */
    unsigned flags;
} kapolicy_conn;

/** NULL if there is nothing to know about it. */
static inline kapolicy_conn *kapolicy_conn_of(const conn_rec *c)
{
    return ap_get_module_config(c->conn_config, &kapolicy_module);
}

/** The state of a primary connection, made at need. */
kapolicy_conn *kapolicy_conn_need(conn_rec *c);

/** The server whose KeepAliveTimeout httpd applies after r. */
static inline const server_rec *kapolicy_timeout_server(const server_rec *s,
                                                        const conn_rec *c)
{
    return s->keep_alive_timeout_set ? s : c->base_server;
}

/** What a connection waits where no rule names a timeout; no load. */
int64_t kapolicy_usual_timeout(const server_rec *s, const conn_rec *c);

void kapolicy_response_hooks(void);
void kapolicy_wait_hooks(void);
void kapolicy_watch_hooks(void);

/* ---- the watch on event -------------------------------------------------- */

/** Prepares a child; p: its pool. */
void kapolicy_watch_init(apr_pool_t *p);

/** Gives the slot of a connection back: it is closing, or gone. */
void kapolicy_watch_release(kapolicy_conn *conn);

/* ---- load ---------------------------------------------------------------- */

typedef struct kapolicy_taken {
    uint32_t taken, limit; /* limit 0: not known */
} kapolicy_taken;

/** In the parent.  What is shared stays for the life of the server.
 * @return NULL if it cannot be had: then there is no load */
kapolicy_load *kapolicy_load_make(server_rec *s, bool async);

/** The parent, once a second, and when a child has gone. */
void kapolicy_load_settle(kapolicy_load *load);
void kapolicy_load_child_gone(kapolicy_load *load, int child);

/** Prefork and worker: a connection takes a worker, waits, or leaves it. */
void kapolicy_load_begin(kapolicy_load *load, kapolicy_conn *conn);
void kapolicy_load_idle(kapolicy_load *load, const kapolicy_conn *conn,
                        int64_t since_us);
void kapolicy_load_busy(kapolicy_load *load, const kapolicy_conn *conn);
void kapolicy_load_end(kapolicy_load *load, kapolicy_conn *conn);

/** How many wait since before `since_us`. */
uint32_t kapolicy_load_older(const kapolicy_load *load, int64_t since_us);

/** Event: threads and connections of this child, -1, 0 or 1 each. */
void kapolicy_load_shift(kapolicy_load *load, int threads, int connections);

/** Threads of this child without work, event. */
uint32_t kapolicy_load_free_threads(const kapolicy_load *load);

/** O(1), any thread. */
kapolicy_taken kapolicy_load_now(const kapolicy_load *load);

/* ---- small things -------------------------------------------------------- */

/** Monotonic, the same in all processes. */
int64_t kapolicy_now_us(void);

/** The descriptor; -1 if there is none. */
int kapolicy_socket_of(conn_rec *c);

#endif
