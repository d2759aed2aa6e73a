/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Memory of a running httpd and of what runs beside it.   [M14] [M17]
 *
 *   PSS  a process's pages, each divided by the number of its users: summed
 *        over all users it is what they take together
 *   USS  pages that nobody else has: what goes when the process goes
 *   RSS  all of its pages: summed, shared ones count once a process, so it is
 *        an upper bound and never used as the size of a child
 *
 *   Shared = sum of PSS (parent and children) - sum of the children's USS
 *   M(c)   = Shared + c x USS of a warm child
 *
 * Gathering (ka_memory_read, ka_memory_others_read) fills structs; the rest
 * are pure functions of them.
 */
#ifndef KA_MEMORY_H
#define KA_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <apr_pools.h>
#include <apr_tables.h>
#include "cgroup.h"
#include "procfs.h"

/* A child that has served as many requests has its working set (M14). */
#define KA_WARM_REQUESTS 200
/* Without a count: so old, and so much processor time for each thread. */
#define KA_WARM_AGE_US (INT64_C(300) * 1000000)
#define KA_WARM_CPU_US INT64_C(100000)

/* Left free: page cache for what is served, tables of the kernel, bursts. */
#define KA_MEMORY_HEADROOM 0.10

typedef enum ka_measure {
    KA_MEASURE_NONE,  /* could not be read */
    KA_MEASURE_RSS,   /* RSS alone: over-counts */
    KA_MEASURE_SMAPS, /* smaps, added up */
    KA_MEASURE_ROLLUP /* smaps_rollup */
} ka_measure;

/* Bytes; -1: not known. */
typedef struct ka_process_memory {
    ka_measure measure;
    int64_t pss, uss, rss, swap;
    int64_t held; /* of the PSS (or RSS) what cannot be reclaimed: no pages of
                     files; 0 if not known */
} ka_process_memory;

typedef struct ka_memory_child {
    int pid, threads;
    ka_process_memory memory;
    int64_t age_us, cpu_us; /* age -1: not known */
    int64_t requests;       /* served so far; -1: not known */
    bool warm;
} ka_memory_child;

/* What is known from elsewhere, the segment or the scoreboard. */
typedef struct ka_memory_requests {
    int pid;
    int64_t requests;
} ka_memory_requests;

typedef enum ka_trust { KA_TRUST_LOW, KA_TRUST_MEDIUM, KA_TRUST_HIGH } ka_trust;

typedef struct ka_memory_leak {
    bool judged;              /* there are enough children to tell */
    bool measured;            /* a growth that chance does not explain */
    double bytes_per_request; /* slope of USS over requests; 0 unless
                                 measured */
    double error;             /* its standard error */
    size_t children;          /* that the line goes through */
} ka_memory_leak;

typedef struct ka_memory {
    int parent_pid;
    ka_process_memory parent;
    ka_memory_child *children;
    size_t child_n;
    int threads;          /* of a child, the most; 0 without one */
    ka_measure measure;   /* the poorest of all that was read */
    size_t warm_n, pss_n; /* children that are warm; whose PSS is known */
    size_t counted_n;     /* children whose requests are known */
    int64_t requests_least, requests_most; /* of these; -1 without one */
    int64_t pss_sum;      /* parent and children; -1 unless all are known */
    int64_t held;         /* that cannot be reclaimed, at least; >= 0 */
    int64_t swap_bytes;   /* of all whose swap is known */
    bool known;           /* the two below are PSS and USS */
    int64_t shared_bytes; /* once */
    int64_t unique_bytes; /* of each child: the mean of the warm ones, of
                             all if none is warm; -1 not known */
    int64_t unique_most;  /* the largest */
    ka_memory_leak leak;
    ka_trust trust;
    int64_t wait_us;    /* until children are warm; 0: they are, -1: not
                           known */
    const char *origin; /* of shared and unique, for people */
    const char *remark; /* why the trust is not high, and how long to
                           wait; NULL */
} ka_memory;

/**
 * Memory of one process; never fails.  It is read once, and kept with the
 * process.
 * @param pool  of what is kept: lives as long as the process's array
 */
void ka_process_memory_read(ka_process_memory *out, const char *root,
                            ka_process *process, apr_pool_t *pool);

/** Adds up the Pss, Private_*, Rss and Swap lines of smaps or smaps_rollup.
 * @return false if there is no Pss in it; `out` is untouched then */
bool ka_smaps_parse(ka_process_memory *out, const char *text);

/**
 * The memory of an httpd.
 * @param processes  of ka_process, from the same root
 * @param requests   requests[request_n] per child; NULL if not known
 * Children are processes whose parent is parent_pid and whose name is its
 * name; where some have threads, those without are helpers (mod_cgid).
 */
void ka_memory_read(ka_memory *out, const char *root, int parent_pid,
                    const apr_array_header_t *processes,
                    const ka_memory_requests *requests, size_t request_n,
                    apr_pool_t *pool);

/** Whether a process is the parent or one of the children. */
bool ka_memory_has(const ka_memory *memory, int pid);

/** Everything below `child_n` from the children and the parent.  Pure. */
void ka_memory_fit(ka_memory *memory, apr_pool_t *pool);

/**
 * [M17] Growth of USS per request: least squares over the warm children whose
 * requests are known.  Measured if there are at least 5, the slope is 3
 * standard errors above 0, and the line climbs by at least 5 % of the mean
 * USS, and a megabyte, over the range seen.
 */
ka_memory_leak ka_memory_leak_of(const ka_memory_child *children, size_t n);

/* ---- what others hold -------------------------------------------------- */

typedef struct ka_memory_other {
    int pid;
    const char *name;
    const char *group; /* memory control group; NULL: not known */
    int64_t bytes;
    bool upper_bound; /* RSS: at most this */
} ka_memory_other;

/* Processes of one name. */
typedef struct ka_service {
    const char *name;
    const char *kind; /* "PHP", "database" ...; NULL if none that is known */
    int processes;
    int64_t bytes;
    bool upper_bound;
} ka_service;

typedef struct ka_memory_others {
    apr_array_header_t *processes; /* of ka_memory_other */
    apr_array_header_t *services;  /* of ka_service, the largest first */
    int64_t bytes;
    bool upper_bound; /* RSS stands for some */
} ka_memory_others;

/** Memory of all processes but those of this httpd.
 * @param version  of the memory controller, as in ka_cgroup */
void ka_memory_others_read(ka_memory_others *out, const char *root,
                           const apr_array_header_t *processes,
                           const ka_memory *httpd, int version,
                           apr_pool_t *pool);

typedef struct ka_machine {
    bool known;
    int64_t total, available, free_bytes; /* available -1: not known */
    int64_t swap_total, swap_free;        /* -1: not known */
} ka_machine;

void ka_machine_read(ka_machine *out, const char *root, apr_pool_t *pool);

/* ---- the budget -------------------------------------------------------- */

/* One limit on what httpd may take. */
typedef struct ka_memory_bound {
    /* "machine", a control group's path, or "above PATH" if the group is one
     * that cannot be seen */
    const char *name;
    const char *origin;
    int64_t limit;
    int64_t others; /* held by others below this limit; at most limit */
    bool others_upper_bound;
    int64_t headroom;
    int64_t bytes; /* limit - others - headroom, never negative */
} ka_memory_bound;

typedef struct ka_memory_budget {
    ka_memory_bound *bounds; /* bounds[n]: the machine, then control groups */
    size_t n;
    size_t tightest;
    int64_t bytes; /* of the tightest; -1 if n == 0 */
} ka_memory_budget;

/**
 * [M14] The memory that httpd may take in all: the smallest over the machine
 * and every control group that limits it, of limit less others less headroom.
 * What others hold is the larger of what their processes add up to and what
 * the kernel counts as used beyond httpd.
 * @param headroom  share of each limit that stays free, 0 .. 1
 * So budget + others + headroom is at most the limit, for each of them.
 */
void ka_memory_budget_make(ka_memory_budget *out, const ka_machine *machine,
                           const ka_cgroup *cgroup, const ka_memory *httpd,
                           const ka_memory_others *others, double headroom,
                           apr_pool_t *pool);

/** [M14] Children that a budget holds: floor((budget - Shared) / USS), at
 * least 0; -1 if not known. */
int64_t ka_memory_children(const ka_memory *httpd, int64_t budget);

#endif
