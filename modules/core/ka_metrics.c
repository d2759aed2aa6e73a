/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_metrics.h"

#define BINS KA_QUANTITY_BINS
#define AFTER_TIMES (10 * BINS(KA_TIME_BITS))

#define TIME_ROW(place, name_, label_, value_, help_)                          \
    {                                                                          \
        .name = name_, .label = label_, .value = value_, .unit = KA_UNIT_US,   \
        .bits = KA_TIME_BITS, .first_bin = (place)*BINS(KA_TIME_BITS),         \
        .bin_n = BINS(KA_TIME_BITS), .help = help_                             \
    }

#define CLASS_ROWS(first, name, help)                                          \
    [(first) + KA_SERVED_STATIC] =                                             \
        TIME_ROW((first) + KA_SERVED_STATIC, name, "class", "static", help),   \
               [(first) + KA_SERVED_DYNAMIC] =                                 \
                   TIME_ROW((first) + KA_SERVED_DYNAMIC, name, "class",        \
                            "dynamic", help),                                  \
               [(first) + KA_SERVED_PROXIED] =                                 \
                   TIME_ROW((first) + KA_SERVED_PROXIED, name, "class",        \
                            "proxied", help)

const ka_quantity_row ka_quantities[KA_QUANTITY_N] = {
    CLASS_ROWS(KA_QUANTITY_GAP, "gap",
               "Idle time between a response and the next request on its "
               "connection, by the class of that response."),
    CLASS_ROWS(KA_QUANTITY_SERVICE, "service",
               "Time from the request line to the end of the response."),
    CLASS_ROWS(KA_QUANTITY_TAIL, "idle_tail",
               "Idle time between the last response and the close."),
    [KA_QUANTITY_LIFE] = TIME_ROW(9, "life", NULL, NULL,
                                  "Time from accept to the end of the "
                                  "connection."),
    [KA_QUANTITY_REQUESTS] = {.name = "requests_per_connection",
                              .unit = KA_UNIT_NUMBER,
                              .bits = KA_REQUESTS_BITS,
                              .first_bin = AFTER_TIMES,
                              .bin_n = BINS(KA_REQUESTS_BITS),
                              .help = "Requests that a closed connection "
                                      "carried."},
    [KA_QUANTITY_LINGER] = {.name = "linger",
                            .unit = KA_UNIT_US,
                            .bits = KA_LINGER_BITS,
                            .first_bin = AFTER_TIMES + BINS(KA_REQUESTS_BITS),
                            .bin_n = BINS(KA_LINGER_BITS),
                            .help = "Time from the decision to close until "
                                    "the connection was gone."},
    [KA_QUANTITY_FIRST] = {.name = "first_request",
                           .unit = KA_UNIT_US,
                           .bits = KA_FIRST_BITS,
                           .first_bin = AFTER_TIMES + BINS(KA_REQUESTS_BITS) +
                                        BINS(KA_LINGER_BITS),
                           .bin_n = BINS(KA_FIRST_BITS),
                           .help = "Time from accept to the first request "
                                   "line, TLS handshake included."},
    [KA_QUANTITY_RTT] = {.name = "rtt",
                         .unit = KA_UNIT_US,
                         .bits = KA_RTT_BITS,
                         .first_bin = AFTER_TIMES + BINS(KA_REQUESTS_BITS) +
                                      BINS(KA_LINGER_BITS) +
                                      BINS(KA_FIRST_BITS),
                         .bin_n = BINS(KA_RTT_BITS),
                         .help = "The kernel's round trip time at the "
                                 "close."},
};

static const char *const served_names[KA_SERVED_N] = {
    [KA_SERVED_STATIC] = "static",
    [KA_SERVED_DYNAMIC] = "dynamic",
    [KA_SERVED_PROXIED] = "proxied",
};

static const char *const protocol_names[KA_PROTOCOL_N] = {
    [KA_PROTOCOL_NONE] = "none",       [KA_PROTOCOL_HTTP09] = "http/0.9",
    [KA_PROTOCOL_HTTP10] = "http/1.0", [KA_PROTOCOL_HTTP11] = "http/1.1",
    [KA_PROTOCOL_HTTP2] = "h2",        [KA_PROTOCOL_UPGRADED] = "upgraded",
};

static const ka_counter_row single_rows[] = {
    {.name = "pipelined_requests",
     .help = "Requests that came while their connection was busy."},
    {.name = "dropped_requests",
     .help = "Connections closed although a request had already arrived."},
    {.name = "clamped",
     .help = "Values past the end of a distribution, kept in its last bin."},
    {.name = "internal_connections",
     .help = "Connections of httpd to itself, left out everywhere else."},
    {.name = "tls_connections", .help = "Closed connections that were TLS."},
};

ka_counter_row ka_counter_describe(size_t counter)
{
    ka_counter_row row = {0};

    if (counter < KA_COUNTER_PIPELINED) {
        if (counter < KA_REASON_N) {
            row = (ka_counter_row){.name = "closes",
                                   .label = "reason",
                                   .value = ka_reason_name((unsigned)counter),
                                   .help = "Closed connections by reason."};
        }
    }
    else if (counter < KA_COUNTER_BYTES) {
        row = single_rows[counter - KA_COUNTER_PIPELINED];
    }
    else if (counter < KA_COUNTER_PROTOCOL) {
        row =
            (ka_counter_row){.name = "response_body",
                             .label = "class",
                             .value = served_names[counter - KA_COUNTER_BYTES],
                             .unit = KA_UNIT_BYTES,
                             .help = "Response body bytes."};
    }
    else if (counter < KA_COUNTER_N) {
        row = (ka_counter_row){
            .name = "protocol_connections",
            .label = "protocol",
            .value = protocol_names[counter - KA_COUNTER_PROTOCOL],
            .help = "Closed connections by protocol."};
    }
    return row;
}

_Static_assert(sizeof(single_rows) / sizeof(single_rows[0]) ==
                   KA_COUNTER_BYTES - KA_COUNTER_PIPELINED,
               "one row per single counter");

const char *ka_served_name(unsigned served)
{
    return served_names[served < KA_SERVED_N ? served : KA_SERVED_STATIC];
}

const char *ka_protocol_name(unsigned protocol)
{
    return protocol_names[protocol < KA_PROTOCOL_N ? protocol
                                                   : KA_PROTOCOL_NONE];
}
