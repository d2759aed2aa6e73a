/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * mod_kastats, what its files share: structs by lifetime.
 *
 *   mod_kastats.c  hooks of the server's life: the segment comes and goes
 *   config.c       directives
 *   facts.c        the configuration in force, written into the segment
 *   record.c       connections and requests begin, requests end
 *   close.c        connections end
 *   reason.c       why a connection ended
 *   drain.c        how long its client will go on reading
 *   served.c       what served a request
 *   handler.c      the status handler
 *   show.c         its formats
 *   status.c       the section in mod_status's page
 *   logitems.c     %{...}^KA
 *
 * Promise: nothing here fails a request or a start.  Without a segment every
 * hook steps aside.
 */
#ifndef KASTATS_H
#define KASTATS_H

#include <httpd.h>
#include <http_config.h>
#include <http_log.h>
#include <http_protocol.h>

#include "ka_segment_file.h"
#include "ka_segment_writer.h"
#include "ka_ticks.h"
#include "mod_kapolicy.h"

/* Core objects and ours are hidden; httpd must find this one. */
extern module __attribute__((visibility("default"))) kastats_module;

/* ---- the server's life --------------------------------------------------- */

/* Survives restarts, which unload and load the module. */
typedef struct kastats_retained {
    ka_segment_map map;
    uint64_t settle;       /* see ka_segment_gauges_settle */
    unsigned char key[16]; /* of the client hash; never in the segment */
} kastats_retained;

/* One configuration's life in one process. */
typedef struct kastats_process {
    kastats_retained *retained;
    ka_writer writer;           /* header NULL: not attached, record nothing */
    ka_ticks ticks;
    struct kastats_conn *cold;  /* this child's first connection; NULL: none
                                   yet; KASTATS_WARM: it has gone */
    int generation;             /* of this child */
    struct kastats_conn **live; /* [live_n], NULL = free: connections whose
                                   pools have not gone */
    uint32_t live_n;            /* < UINT16_MAX */
    uint32_t live_next;
    bool ends_gracefully; /* its workers are joined before it exits */
    APR_OPTIONAL_FN_TYPE(ka_policy_wait_get) *policy; /* NULL: not loaded */
} kastats_process;

#define KASTATS_WARM ((struct kastats_conn *)&kastats_module)

/* NULL while recording is off.  Set in post_config, before any child. */
extern kastats_process *kastats;

/* ---- configuration ------------------------------------------------------- */

#define KASTATS_UNSET (-1)

typedef struct kastats_server { /* per server_rec */
    int on;                     /* 1, 0, KASTATS_UNSET */
    unsigned place;             /* its vhost in the segment */
    ka_segment_stats *stats; /* in a child; NULL: its requests do not count */
    bool aside; /* off, and so is every vhost on its address and port */
    /* The main server's only: */
    const char *file;
    int mode;
    int vhosts;
    int history;
    int recent;
} kastats_server;

extern const command_rec kastats_commands[];
void *kastats_server_create(apr_pool_t *p, server_rec *s);
void *kastats_server_merge(apr_pool_t *p, void *base, void *add);

static inline kastats_server *kastats_server_of(const server_rec *s)
{
    return ap_get_module_config(s->module_config, &kastats_module);
}

/** Whether KAStats is On there. */
static inline bool kastats_on(const server_rec *s)
{
    return kastats_server_of(s)->on != 0;
}

/** The main server's settings, defaults filled in. */
kastats_server kastats_settings(const server_rec *main_server, apr_pool_t *p);

/* ---- facts --------------------------------------------------------------- */

/** How many children, dying ones included, may need a slot. */
uint32_t kastats_slots_wanted(void);

/** Writes MPM and vhosts into the segment and gives each vhost its place. */
void kastats_facts_write(ka_segment_header *header, server_rec *main_server);

/* ---- a connection -------------------------------------------------------- */

/* kastats_conn.flight: requests begun and not ended, and this.  A connection
 * that waits for its first request, or that will be closed because the last
 * response refused keep-alive, counts as one in flight: it is busy. */
#define KASTATS_CLOSING 0x80000000u

enum {                       /* kastats_conn.flags */
       KASTATS_FRESH = 1,    /* no request yet */
       KASTATS_INTERNAL = 2, /* httpd waking its own child */
       KASTATS_PRIMARY = 4,  /* a request began on the connection itself */
       KASTATS_UPGRADED = 8, /* and stream 1 has taken it over (h2c) */
       KASTATS_GONE = 16,    /* published */
       KASTATS_STREAMS = 32, /* HTTP/2 */
       KASTATS_BROKEN = 64   /* one of the streams was aborted */
};

/* On HTTP/2 the streams' threads share it: what they write is atomic. */
typedef struct kastats_conn {
    conn_rec *c;
    server_rec *server; /* of the latest request; before that the base */
    int64_t started;    /* monotonic us, as all below */
    int64_t ended;      /* latest response; before that `started` */
    int64_t closing;    /* 0 = not yet */
    int64_t first_us;   /* started .. first request; -1 = none */
    int64_t tail_us;    /* -1 = it did not end idle */
    uint64_t service_us, idle_us, longest_gap_us, bytes;
    int64_t gap_us, gap_end; /* the latest gap, and the begin that ended it */
    uint32_t flight;
    uint32_t requests;
    uint32_t rtt_us; /* 0 = unknown */
    uint32_t serial; /* number of the connection */
    uint16_t live;   /* its place in kastats_process.live */
    uint8_t flags;
    uint8_t reason; /* KA_REASON_N = none yet */
    uint8_t protocol, tls, served;
} kastats_conn;
_Static_assert(sizeof(kastats_conn) <= 128, "two cache lines");

static inline bool kastats_conn_is(const kastats_conn *conn, unsigned flag)
{
    return __atomic_load_n(&conn->flags, __ATOMIC_RELAXED) & flag;
}

/** The state of the primary connection; NULL if it is not recorded. */
static inline kastats_conn *kastats_conn_of(conn_rec *c)
{
    return ap_get_module_config((c->master ? c->master : c)->conn_config,
                                &kastats_module);
}

void kastats_record_hooks(void);
void kastats_close_hooks(void);

/** Counts its accept in the history, or takes that back. */
void kastats_count_connection(const kastats_conn *conn, int32_t delta);

/** Makes it this child's first connection, if there was none. */
void kastats_cold_take(kastats_conn *conn);

/** Publishes a connection: cleanup of its pool. */
apr_status_t kastats_connection_gone(void *conn);

/** Prepares the list of live connections; p: the child's pool. */
void kastats_live_init(apr_pool_t *p);
void kastats_live_add(kastats_conn *conn);

/** How long the client will go on reading, at most most_us; 0: not known. */
uint64_t kastats_drain_us(conn_rec *c, uint64_t most_us);

/* ---- reasons ------------------------------------------------------------- */

/** Whether r, an OPTIONS request, is the server's own call to a child. */
bool kastats_is_internal(request_rec *r);

/** Why the response refused keep-alive, or could not be sent: when r is
 * logged, and either is the case. */
ka_reason kastats_reason_of_request(request_rec *r);

/**
 * Why a connection ends that nobody has refused yet: when it is closed.
 * @param idle     no request is in flight
 * @param dropped  set if a request had arrived that nobody will read
 */
ka_reason kastats_reason_of_close(const kastats_conn *conn, bool idle,
                                  int64_t now, bool *dropped);

/** How long the connection may wait for its next request, and whether
 * mod_kapolicy has ended that. */
ka_policy_wait kastats_wait_of(const kastats_conn *conn);

/** Why it ends if that is not known yet: when its pool goes, or its child. */
ka_reason kastats_reason_of_cleanup(const kastats_conn *conn);

/* ---- what served a request ----------------------------------------------- */

/* Flags that a request's config word keeps beside its begin: no allocation. */
enum {
    KASTATS_HANDLED = 1, /* the handler phase was reached */
    KASTATS_DEFAULT = 2, /* ... and no handler but the default one took it */
    KASTATS_WORD_SHIFT = 2
};
_Static_assert(sizeof(void *) == 8, "a begin in us needs a 64-bit word");

static inline uintptr_t kastats_word(const request_rec *r)
{
    return (uintptr_t)ap_get_module_config(r->request_config, &kastats_module);
}

static inline void kastats_word_set(request_rec *r, uintptr_t word)
{
    ap_set_module_config(r->request_config, &kastats_module, (void *)word);
}

/** Marks a request that reaches the handler phase. */
static inline void kastats_served_begins(request_rec *r)
{
    kastats_word_set(r, kastats_word(r) | KASTATS_HANDLED);
}

/** What a handler served: kastats_served for what was not the default one. */
ka_served kastats_served_by_handler(const request_rec *r);

/** @param r  the last of its chain of internal redirects */
static inline ka_served kastats_served(const request_rec *r)
{
    uintptr_t word = kastats_word(r);

    return !(word & KASTATS_HANDLED) || word & KASTATS_DEFAULT
               ? KA_SERVED_STATIC
               : kastats_served_by_handler(r);
}

void kastats_served_hooks(void);

/* ---- handler ------------------------------------------------------------- */

void kastats_handler_hooks(void);

/** Answers a GET or HEAD from the segment. */
int kastats_show(request_rec *r);

void kastats_status_hooks(void);
void kastats_logitems_hooks(void);

#endif
