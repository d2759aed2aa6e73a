/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Prometheus as a source: what mod_kastats exposed over a window, per server
 * (labels job and instance) and virtual host, as numbers that have increased,
 * last settings, and peaks over time.
 *
 *     ka_prom_rows          one row a question: metric, function, labels
 *     ka_prom_query         a row as PromQL
 *     ka_prom_take          an answer of Prometheus -> the servers
 *     ka_prom_read          asks and takes all of them
 *
 * How much a counter has increased, by the course of its server:
 *   steady     seen at both ends of the window, no restart in between: the
 *              difference, which two samples a series tell at once
 *   young      no restart, but not seen at one of the ends: last value less
 *              first one
 *   restarted  increase(), which knows of restarts, but extrapolates to the
 *              window's edges
 * The time covered is itself a counter and is treated alike, so times when a
 * server was down, or was not scraped before it restarted, are not part of it.
 *
 * Concurrency: one thread.
 */
#ifndef KA_PROMETHEUS_H
#define KA_PROMETHEUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <apr_errno.h>
#include <apr_hash.h>
#include <apr_pools.h>
#include <ka_metrics.h>

#include "prometheus_http.h"

/* What is asked if nobody says how far back. */
#define KA_PROM_WINDOW_S 604800
/* More are too many for one report. */
#define KA_PROM_SERVERS_MAX 2000
#define KA_PROM_VHOSTS_MAX 10000
/* Prometheus refuses more points a series. */
#define KA_PROM_POINTS_MAX 10000

/* Distributions of a vhost. */
typedef enum ka_prom_dist {
    KA_PROM_GAP,
    KA_PROM_TAIL,
    KA_PROM_LENGTH,  /* requests per connection */
    KA_PROM_SERVICE, /* + ka_served */
    KA_PROM_DIST_N = KA_PROM_SERVICE + KA_SERVED_N
} ka_prom_dist;

typedef struct ka_prom_point {
    double bound; /* inclusive; +Inf for the last of a histogram */
    double value; /* cumulative */
} ka_prom_point;

/* In the order in which they were answered. */
typedef struct ka_prom_points {
    ka_prom_point *items; /* items[n], owned by the pool */
    size_t n, size;
} ka_prom_points;

typedef struct ka_prom_histogram {
    ka_prom_points buckets; /* counts */
    ka_prom_points sums;    /* what values up to a bound add up to; n 0: not
                               told */
    double sum;             /* of all values */
} ka_prom_histogram;

typedef struct ka_prom_vhost {
    const char *name;
    double counter[KA_COUNTER_N];
    ka_prom_histogram dist[KA_PROM_DIST_N];
    double first_n, first_s; /* accept to first request */
    double linger_n, linger_s;
    double timeout_s;              /* 0: KeepAlive Off; -1: not told */
    double max_keepalive_requests; /* -1: not told */
    double timeout_changes;        /* of KeepAliveTimeout within the window */
} ka_prom_vhost;

/* Maxima over one step of time; what came in a block of time, which is longer.
 * Both may end at one time. */
typedef struct ka_prom_step {
    int64_t at_s;                      /* its end, since the epoch */
    double open, busy, requests_per_s; /* -1: not told */
    double requests, reused;           /* in the block; -1: not told */
} ka_prom_step;

typedef enum ka_prom_course {
    KA_PROM_STEADY,
    KA_PROM_YOUNG,
    KA_PROM_RESTARTED,
    KA_PROM_COURSES
} ka_prom_course;

typedef struct ka_prom_server {
    const char *job, *instance;
    const char *name; /* the instance; job/instance where that is not
                         enough to tell servers apart */
    ka_prom_course course;
    double restarts;
    bool both_ends;    /* of the window are told */
    double observed_s; /* time covered */
    double scrapes;
    double first_s;    /* of the first sample, since the epoch, to a
                          thousandth of the window; 0: it is younger */
    double setting[2]; /* ka_prom_setting; -1: not told */
    const char *mpm;   /* NULL: not told */
    double recent_connections, recent_clients; /* -1: not told */
    ka_prom_points not_returned;               /* shares by seconds beyond T0 */
    ka_prom_vhost **vhosts;
    size_t vhost_n;
    ka_prom_step *steps; /* ascending, with open and busy; not contiguous */
    size_t step_n;
    ka_prom_step *blocks; /* ascending, with requests and reused */
    size_t block_n;
    apr_hash_t *vhosts_by_name, *steps_by_time;
} ka_prom_server;

typedef enum ka_prom_setting {
    KA_PROM_WORKERS, /* MaxRequestWorkers */
    KA_PROM_THREADS  /* ThreadsPerChild */
} ka_prom_setting;

typedef struct ka_prom_asked {
    const char *match;      /* inside the braces; NULL or "": all */
    int64_t window_s;       /* > 0 */
    ka_prom_course course;  /* of the servers that are asked for */
    const char *instances;  /* a regular expression for them; NULL: all */
    int64_t at_s;           /* when it ends; 0: Prometheus' present */
    int64_t span_s;         /* of range queries: the part of the window that has
                               samples; 0: not known yet */
    int64_t step_s;         /* of range queries for maxima */
    int64_t block_s;        /* of those for what came */
    unsigned peak_window_s; /* of 5, 15, 60 */
} ka_prom_asked;

typedef struct ka_prom {
    apr_pool_t *pool;
    const char *url;
    ka_prom_asked asked;
    ka_prom_server **servers; /* ascending by name once read */
    size_t server_n;
    double interval_s; /* between scrapes; 0: not known */
    uint64_t refused;  /* samples that are no sane numbers */
    size_t vhost_n;    /* of all servers */
    apr_hash_t *by_name;
} ka_prom;

typedef enum ka_prom_function {
    KA_PROM_INCREASE,   /* over the window, by course */
    KA_PROM_DIFFERENCE, /* of the window's ends */
    KA_PROM_RESETS,     /* in the window */
    KA_PROM_LAST,       /* in the window */
    KA_PROM_COUNT,      /* samples in the window */
    KA_PROM_FIRST,      /* time of the first sample in it */
    KA_PROM_MEAN,       /* over the window */
    KA_PROM_CHANGES,    /* of the value in the window */
    KA_PROM_PRESENT,    /* now, or else the last in the window */
    KA_PROM_PEAK,       /* maxima of steps: a range query */
    KA_PROM_BLOCK       /* increase in each block: a range query */
} ka_prom_function;

typedef struct ka_prom_row {
    const char *metric;
    ka_prom_function function;
    const char *by;   /* labels kept besides job and instance; "" */
    const char *only; /* matchers of its own; "" */
    bool required;    /* without it there is no advice */
    /* What to do with a number; label is the value of the last one in `by`. */
    void (*take)(ka_prom *prom, ka_prom_server *server, ka_prom_vhost *vhost,
                 const char *label, double value, unsigned index);
    unsigned index;
} ka_prom_row;

/** The questions; *n of them. */
const ka_prom_row *ka_prom_rows(size_t *n);

/** Whether a row is asked as a range query. */
static inline bool ka_prom_is_range(const ka_prom_row *row)
{
    return row->function == KA_PROM_PEAK || row->function == KA_PROM_BLOCK;
}

/** A thousandth of the window, in seconds, but at least one. */
int64_t ka_prom_thousandth(const ka_prom_asked *asked);

/** A row as PromQL, owned by pool. */
const char *ka_prom_query(const ka_prom_row *row, const ka_prom_asked *asked,
                          apr_pool_t *pool);

/**
 * What is wrong with label matchers that go between braces, as a text for the
 * user; NULL if nothing is.  Only what could end the braces is looked for: the
 * rest Prometheus says better.
 */
const char *ka_prom_match_unfit(const char *match);

/** Empties the caller's storage. */
void ka_prom_init(ka_prom *prom, const char *url, const ka_prom_asked *asked,
                  apr_pool_t *pool);

/**
 * Takes the answer to a row's question.
 * @param taken  set to the samples that it held
 * @param error  on failure one sentence; foreign text in it is escaped
 * @return APR_SUCCESS; APR_EGENERAL: Prometheus says no, or it is no answer
 *         of its HTTP API v1; APR_ENOSPC: too many servers
 */
apr_status_t ka_prom_take(ka_prom *prom, size_t *taken, const char **error,
                          const ka_prom_row *row, const ka_prom_answer *answer);

/** Prometheus' clock, from the answer to the question `time()`. */
apr_status_t ka_prom_take_time(int64_t *at_s, const char **error,
                               const char *url, const ka_prom_answer *answer,
                               apr_pool_t *pool);

/** Decides the course of each server. */
void ka_prom_set_courses(ka_prom *prom);

/**
 * A regular expression for the instances of one course, to be asked for alone;
 * NULL if these are too many, or all there are, or odd.  What is answered for
 * other servers is not taken.
 * @param n  set to how many servers have that course
 */
const char *ka_prom_instances(size_t *n, const ka_prom *prom,
                              ka_prom_course course);

/** Names the servers, puts them in order, and steps in order of time. */
void ka_prom_settle(ka_prom *prom);

/**
 * Asks everything.
 * @param out   caller's storage, what it points to is owned by pool
 * @param error on failure one sentence that says what to do
 */
apr_status_t ka_prom_read(ka_prom *out, const char **error,
                          const ka_prom_access *access,
                          const ka_prom_asked *asked, apr_pool_t *pool);

#endif
