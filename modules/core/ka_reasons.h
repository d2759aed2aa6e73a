/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_reasons: why a connection ended.  One list for the recorder, its
 * readers, the metrics and the log items.
 *
 * The numbers are stored in segments: append only, never reorder.
 */
#ifndef KA_REASONS_H
#define KA_REASONS_H

typedef enum ka_reason {
    KA_REASON_IDLE_TIMEOUT = 0,    /* KeepAliveTimeout ran out */
    KA_REASON_CLIENT_CLOSED,       /* the client closed while idle */
    KA_REASON_CLIENT_CLOSE_HEADER, /* the client sent Connection: close */
    KA_REASON_HTTP10,              /* HTTP/1.0 without keep-alive */
    KA_REASON_MAX_REQUESTS,        /* MaxKeepAliveRequests reached */
    KA_REASON_KEEPALIVE_OFF,       /* KeepAlive Off or nokeepalive */
    KA_REASON_POLICY,              /* mod_kapolicy refused or cut it */
    KA_REASON_ERROR_STATUS,        /* a status that drops the connection */
    KA_REASON_ABORTED,             /* broken while a response was due */
    KA_REASON_EVICTED,             /* event: all workers of the child busy */
    KA_REASON_RETIRED,             /* its child was retired */
    KA_REASON_GRACEFUL,            /* a graceful restart or stop */
    KA_REASON_NO_REQUEST,          /* never sent a request */
    KA_REASON_LOST,                /* its child died */
    KA_REASON_OTHER,
    KA_REASON_N
} ka_reason;

/* Room that segments keep for reasons yet to come. */
#define KA_REASON_ROOM 32

/* Request note by which mod_kapolicy says that it refused keep-alive. */
#define KA_REASON_NOTE_POLICY "ka-policy"

/**
 * The reason's name as users and scripts see it: `idle_timeout`, ...
 * @return a static string; "other" for a number out of range
 */
const char *ka_reason_name(unsigned reason);

/** One sentence that says what the reason means; as ka_reason_name. */
const char *ka_reason_help(unsigned reason);

#endif
