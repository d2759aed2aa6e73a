/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_reasons.h"

typedef struct reason_row {
    const char *name;
    const char *help;
} reason_row;

static const reason_row reasons[KA_REASON_N] = {
    [KA_REASON_IDLE_TIMEOUT] = {"idle_timeout",
                                "KeepAliveTimeout ran out on the idle "
                                "connection."},
    [KA_REASON_CLIENT_CLOSED] = {"client_closed",
                                 "The client closed the idle connection."},
    [KA_REASON_CLIENT_CLOSE_HEADER] = {"client_close_header",
                                       "The client asked for it with "
                                       "Connection: close."},
    [KA_REASON_HTTP10] = {"http10", "An HTTP/1.0 request without keep-alive."},
    [KA_REASON_MAX_REQUESTS] = {"max_requests",
                                "MaxKeepAliveRequests was reached."},
    [KA_REASON_KEEPALIVE_OFF] = {"keepalive_off",
                                 "KeepAlive is Off there, or nokeepalive is "
                                 "set."},
    [KA_REASON_POLICY] = {"policy", "mod_kapolicy refused keep-alive, or ended "
                                    "the wait early."},
    [KA_REASON_ERROR_STATUS] = {"error_status",
                                "The response's status ends the connection."},
    [KA_REASON_ABORTED] = {"aborted",
                           "The connection broke before the response was "
                           "complete."},
    [KA_REASON_EVICTED] = {"evicted",
                           "All workers of the child were busy, so event "
                           "closed its idle connections."},
    [KA_REASON_RETIRED] = {"retired",
                           "The child was retired (MaxSpareThreads or "
                           "MaxConnectionsPerChild)."},
    [KA_REASON_GRACEFUL] = {"graceful", "A graceful restart."},
    [KA_REASON_NO_REQUEST] = {"no_request", "The client never sent a request."},
    [KA_REASON_LOST] = {"lost", "The child that held it died."},
    [KA_REASON_OTHER] = {"other", "None of the other reasons."},
};

_Static_assert(KA_REASON_N <= KA_REASON_ROOM,
               "segments have no room for more reasons");

static const reason_row *row(unsigned reason)
{
    return &reasons[reason < KA_REASON_N ? reason : KA_REASON_OTHER];
}

const char *ka_reason_name(unsigned reason)
{
    return row(reason)->name;
}

const char *ka_reason_help(unsigned reason)
{
    return row(reason)->help;
}
