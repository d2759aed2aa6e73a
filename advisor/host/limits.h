/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Limits around a running httpd, other than memory.   [R11] [R18]
 *
 *   ka_limits_read  gathers what the kernel tells, as numbers
 *   ka_limits_judge makes a table of them: what, how much, of how much, from
 *                   where, how bad, what to do
 *
 * A number that is not known is -1.  What could not be read becomes a row of
 * `missing`, with what would help.
 */
#ifndef KA_LIMITS_H
#define KA_LIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <apr_pools.h>
#include <apr_tables.h>
#include "cgroup.h"
#include "memory.h"

#define KA_LISTEN_BACKLOG 511 /* httpd's default */

/* Share of a capacity from which response times climb (R18), and from which
 * there is little left. */
#define KA_LIMIT_NEAR 0.5
#define KA_LIMIT_BAD 0.9

/* What is known of the configuration; -1: not known. */
typedef struct ka_limits_query {
    int64_t listen_backlog;        /* ListenBacklog */
    int64_t connections_per_child; /* prefork 1, worker ThreadsPerChild, event
                                      ThreadsPerChild x (1 + factor) */
    int64_t max_request_workers;   /* where a connection holds a worker, else
                                      -1 */
    const int *ports;              /* ports[port_n], of Listen; else those
                                      that the parent listens on */
    size_t port_n;
} ka_limits_query;

/* TCP sockets of a network namespace, both IP versions. */
typedef struct ka_sockets {
    bool known; /* /proc/PID/net/tcp could be read */
    const char *origin;
    apr_array_header_t *ports; /* of int, ascending: that httpd listens on */
    const char *ports_missing; /* why they are not known; NULL */
    int64_t established, time_wait, close_wait, syn_recv; /* on these ports */
    int64_t queue;    /* longest listen queue now */
    int64_t outgoing; /* from ephemeral ports to one destination, the most */
    const char *outgoing_to; /* that destination, address:port */
} ka_sockets;

typedef struct ka_limits {
    int parent_pid; /* 0: this host alone */
    /* the host */
    int cores;      /* processors online; 0: not known */
    double load[3]; /* of 1, 5, 15 min; -1 */
    ka_machine machine;
    int64_t oom_kills; /* since boot */
    int64_t conntrack_now, conntrack_max;
    int64_t ports_low, ports_high; /* ephemeral ports */
    int64_t somaxconn, syn_backlog, time_wait_max;
    bool other_network; /* the three above are of another network
                           namespace than httpd's */
    ka_sockets sockets;
    int64_t overflows, drops, accepted; /* of listen queues, since boot */
    const char *netstat_origin;
    /* the httpd */
    int64_t files_max, files_now;         /* of a child: the least, the most */
    int64_t processes_max, processes_now; /* of its user, threads included */
    bool processes_root;                  /* that user is root: no limit */
    const char *limits_origin;
    int64_t swap_bytes;
    ka_cgroup cgroup;
    ka_limits_query query;
} ka_limits;

/**
 * Gathers.  Never fails.
 * @param httpd      parent and children; parent_pid 0: no httpd, the host alone
 * @param processes  of ka_process, from the same root
 * @param cgroup     of the parent
 */
void ka_limits_read(ka_limits *out, const char *root,
                    const ka_limits_query *query, const ka_memory *httpd,
                    const apr_array_header_t *processes,
                    const ka_cgroup *cgroup, apr_pool_t *pool);

/** Sockets of the process's network namespace.
 * @param ports  ports[port_n]; with none, those that pid listens on */
void ka_sockets_read(ka_sockets *out, const char *root, int pid,
                     const int *ports, size_t port_n, int64_t ports_low,
                     int64_t ports_high, apr_pool_t *pool);

typedef enum ka_limit_verdict {
    KA_LIMIT_OK,
    KA_LIMIT_IS_NEAR,
    KA_LIMIT_IS_BAD
} ka_limit_verdict;

typedef struct ka_limit {
    const char *id;   /* for programs */
    const char *what; /* for people */
    bool of_host;     /* else of this httpd */
    double value;
    double capacity;    /* -1: there is none */
    const char *text;   /* value and capacity: "312 of 1,024" */
    const char *origin; /* path */
    ka_limit_verdict verdict;
    const char *remedy; /* a sentence; NULL with KA_LIMIT_OK */
} ka_limit;

typedef struct ka_limit_missing {
    const char *id, *what;
    bool of_host;
    const char *help; /* a sentence: why, and what would help */
} ka_limit_missing;

typedef struct ka_limit_table {
    apr_array_header_t *rows;    /* of ka_limit */
    apr_array_header_t *missing; /* of ka_limit_missing */
} ka_limit_table;

/** "ok", "near", "bad". */
const char *ka_limit_verdict_name(ka_limit_verdict verdict);

/** Judges what was gathered; rows of a httpd only if there is one.  Pure. */
void ka_limits_judge(ka_limit_table *out, const ka_limits *limits,
                     apr_pool_t *pool);

#endif
