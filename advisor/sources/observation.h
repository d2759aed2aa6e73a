/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What a source of requests hands to the profile: one ka_request per request,
 * in order of start, and one ka_source_info at the end.
 */
#ifndef KA_OBSERVATION_H
#define KA_OBSERVATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <apr_pools.h>

typedef enum ka_class { KA_CLASS_STATIC, KA_CLASS_DYNAMIC, KA_CLASS_N }
    ka_class;

/* Facts about one request; flags are bits. */
typedef enum ka_request_flag {
    KA_REQ_HTTP10 = 1 << 0,     /* protocol HTTP/1.0 or older */
    KA_REQ_HTTP2 = 1 << 1,      /* protocol HTTP/2.x: a stream */
    KA_REQ_FINAL = 1 << 2,      /* %X '-': closed after the response */
    KA_REQ_ABORTED = 1 << 3,    /* %X 'X': aborted before it was complete */
    KA_REQ_KEPT = 1 << 4,       /* %X '+': may be kept alive */
    KA_REQ_NO_REQUEST = 1 << 5, /* 408/400 without a request: a connection
                                   that never sent one */
    KA_REQ_NOT_HTTP = 1 << 6,   /* 400 for bytes that are no HTTP request */
    KA_REQ_TLS = 1 << 7         /* the log says that it came over TLS */
} ka_request_flag;

typedef struct ka_request {
    int64_t begin_us;   /* start, us since the epoch */
    int64_t service_us; /* -1: the log does not tell */
    int64_t bytes;      /* to the client: %O, else %B/%b; -1: not told */
    uint64_t client;    /* hash of address and User-Agent; never 0 */
    uint64_t address;   /* hash of the connection's peer address; never 0 */
    uint64_t slot;      /* hash of child process and thread, from %P and
                           %{tid}P or UNIQUE_ID; 0: not told */
    uint64_t child;     /* hash of the child process alone; 0: not told */
    int64_t client_limit_us; /* how long such a client keeps an idle
                                connection: Firefox 115 s, others 300 s */
    uint32_t vhost;     /* index into ka_source_info.vhosts */
    int32_t keepalives; /* %k; -1: not told */
    int32_t remote_port; /* -1: not told */
    uint16_t status;    /* 0: not told */
    uint8_t cls;        /* ka_class */
    uint16_t flags;     /* ka_request_flag bits */
} ka_request;

/** Takes one request; requests come in ascending begin_us. */
typedef void ka_request_fn(void *context, const ka_request *request);

/* Traffic that the server or its operator makes itself; counted apart and not
 * handed to the profile (ADVICE R12). */
typedef enum ka_excluded {
    KA_EXCLUDED_DUMMY,     /* "internal dummy connection": httpd's own wake-ups */
    KA_EXCLUDED_PAGESPEED, /* mod_pagespeed's fetches from its own server */
    KA_EXCLUDED_HEALTH,    /* loopback health checks */
    KA_EXCLUDED_VHOST,     /* other vhosts, with --vhost */
    KA_EXCLUDED_TIME,      /* outside --since/--until */
    KA_EXCLUDED_N
} ka_excluded;

/** JSON name of a row: "internal_dummy_connection", "mod_pagespeed",
 * "loopback_health_check", "other_vhost", "outside_window". */
const char *ka_excluded_name(ka_excluded kind);

typedef struct ka_skipped_sample {
    const char *file;
    uint64_t line;
    size_t column;
    const char *reason; /* what was expected there and, escaped for a
                           terminal, what stands there */
} ka_skipped_sample;

#define KA_SKIPPED_SAMPLES 5

typedef struct ka_source_info {
    const char *kind; /* "log", "segment", "profile", "prometheus" */
    const char **files; /* as given, in the order in which they were read */
    size_t file_n;
    uint64_t lines;    /* non-empty lines, overlong ones included */
    uint64_t parsed;   /* of these, taken apart (excluded ones included) */
    uint64_t skipped;  /* lines - parsed */
    uint64_t overlong; /* of the skipped */
    uint64_t cut;      /* of the skipped: last lines that ended in the middle */
    uint64_t out_of_order; /* lines that start before the line above them */
    uint64_t late;         /* requests that came more than the window behind
                              those around them: their start was moved to the
                              window's edge */
    ka_skipped_sample samples[KA_SKIPPED_SAMPLES];
    size_t sample_n;
    const char *log_format;      /* name: a preset's, a nickname, "custom" */
    const char *log_format_text; /* the format itself */
    bool log_format_detected;    /* nobody named it */
    uint64_t fields;             /* KA_LF_BIT set of the format */
    int64_t clock_us;            /* resolution of starts */
    int64_t service_clock_us;    /* resolution of service times; 0: none */
    int64_t first_us, last_us;   /* starts of the first and last request handed
                                    on; 0 if there is none */
    uint64_t requests;           /* handed to the callback */
    uint64_t forgotten;          /* clients taken as gone early, for lack of
                                    room: up to so many connections too many */
    bool distinct_estimated;     /* clients and addresses were too many to
                                    count: their numbers are estimates */
    uint64_t excluded[KA_EXCLUDED_N];
    const char **vhosts; /* names by index; "" where the log has none */
    size_t vhost_n;
    const char **damaged; /* sentences: files cut or damaged on the way */
    size_t damaged_n;
} ka_source_info;

#endif
