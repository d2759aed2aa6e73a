/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What each row of the table of limits says. */
#include "limits_priv.h"

#include <math.h>
#include <apr_strings.h>

#include "../words.h"

#define MEMORY_NEAR 0.75
#define SWAP_NEAR 0.1
#define THROTTLED_NEAR 0.01
#define THROTTLED_BAD 0.1
#define QUEUE_NEAR 0.1
#define QUEUE_BAD 0.5
#define CLOSE_WAIT_FEW 10
#define CLOSE_WAIT_NEAR 0.1
#define OVERFLOW_BAD 0.001
#define SWAPPED_BAD (INT64_C(64) << 20)
/* How long the kernel keeps TIME_WAIT (R11). */
#define TIME_WAIT_S 60

static ka_limit_verdict verdict_of(double value, double near, double bad)
{
    return value >= bad    ? KA_LIMIT_IS_BAD
           : value >= near ? KA_LIMIT_IS_NEAR
                           : KA_LIMIT_OK;
}

static double share_of(double value, double capacity)
{
    return capacity > 0 ? value / capacity : value > 0 ? INFINITY : 0;
}

static const char *count(apr_pool_t *pool, int64_t n)
{
    return n == INT64_MAX ? "unlimited" : ka_words_count(pool, n);
}

/* "312 of 1,024", judged by the share in use. */
static ka_limit_finding used(ka_limit *row, int64_t value, int64_t capacity,
                             const char *origin, apr_pool_t *pool)
{
    row->value = (double)value;
    row->capacity = capacity == INT64_MAX ? -1 : (double)capacity;
    row->text = apr_pstrcat(pool, count(pool, value), " of ",
                            count(pool, capacity), NULL);
    row->origin = origin;
    row->verdict = verdict_of(share_of((double)value, (double)capacity),
                              KA_LIMIT_NEAR, KA_LIMIT_BAD);
    return KA_LIMIT_SHOWN;
}

/* The same in bytes; the free part may be more than the whole for a moment. */
static ka_limit_finding used_bytes(ka_limit *row, int64_t total, int64_t spare,
                                   const char *origin, double near, double bad,
                                   apr_pool_t *pool)
{
    row->capacity = (double)total;
    row->value = fmax(0, row->capacity - (double)spare);
    row->text = apr_pstrcat(pool, ka_words_size(pool, (int64_t)row->value),
                            " of ", ka_words_size(pool, total), NULL);
    row->origin = origin;
    row->verdict = verdict_of(row->value / row->capacity, near, bad);
    return KA_LIMIT_SHOWN;
}

/* ---- the host ---------------------------------------------------------- */

ka_limit_finding ka_limit_fill_load(ka_limit *row, const ka_limits *l,
                                    apr_pool_t *pool)
{
    if (l->load[1] < 0 || l->cores <= 0) {
        return KA_LIMIT_MISSING;
    }
    row->value = l->load[1] / l->cores;
    row->capacity = 1;
    row->text = apr_psprintf(
        pool, "%s (%s, %s, %s on %s)", ka_words_number(pool, row->value),
        ka_words_number(pool, l->load[0]), ka_words_number(pool, l->load[1]),
        ka_words_number(pool, l->load[2]),
        ka_words_plural(pool, l->cores, "core"));
    row->origin = "/proc/loadavg of 1, 5, 15 min, /proc/stat";
    row->verdict = verdict_of(row->value, KA_LIMIT_NEAR, 1);
    return KA_LIMIT_SHOWN;
}

ka_limit_finding ka_limit_fill_memory(ka_limit *row, const ka_limits *l,
                                      apr_pool_t *pool)
{
    const ka_machine *m = &l->machine;

    if (!m->known || m->available < 0) {
        return KA_LIMIT_MISSING;
    }
    return used_bytes(row, m->total, m->available,
                      "/proc/meminfo, MemTotal less MemAvailable", MEMORY_NEAR,
                      KA_LIMIT_BAD, pool);
}

ka_limit_finding ka_limit_fill_swap(ka_limit *row, const ka_limits *l,
                                    apr_pool_t *pool)
{
    const ka_machine *m = &l->machine;

    if (!m->known || m->swap_total < 0 || m->swap_free < 0) {
        return KA_LIMIT_MISSING;
    }
    if (m->swap_total == 0) {
        return KA_LIMIT_ABSENT;
    }
    return used_bytes(row, m->swap_total, m->swap_free,
                      "/proc/meminfo, SwapTotal less SwapFree", SWAP_NEAR,
                      KA_LIMIT_NEAR, pool);
}

ka_limit_finding ka_limit_fill_oom(ka_limit *row, const ka_limits *l,
                                   apr_pool_t *pool)
{
    if (l->oom_kills < 0) {
        return KA_LIMIT_MISSING;
    }
    row->value = (double)l->oom_kills;
    row->text =
        apr_pstrcat(pool, count(pool, l->oom_kills), " since boot", NULL);
    row->origin = "/proc/vmstat, oom_kill";
    row->verdict = l->oom_kills ? KA_LIMIT_IS_NEAR : KA_LIMIT_OK;
    return KA_LIMIT_SHOWN;
}

ka_limit_finding ka_limit_fill_conntrack(ka_limit *row, const ka_limits *l,
                                         apr_pool_t *pool)
{
    if (l->conntrack_max < 0) {
        return KA_LIMIT_ABSENT; /* nf_conntrack is not loaded */
    }
    if (l->conntrack_now < 0) {
        return KA_LIMIT_MISSING;
    }
    return used(row, l->conntrack_now, l->conntrack_max,
                "/proc/sys/net/netfilter/nf_conntrack_count, "
                "nf_conntrack_max",
                pool);
}

/* ---- the listening sockets --------------------------------------------- */

static int64_t backlog(const ka_limits *l)
{
    return l->query.listen_backlog >= 0 ? l->query.listen_backlog
                                        : KA_LISTEN_BACKLOG;
}

/* A backlog against a setting of the kernel's: what is asked for should not
 * exceed what is allowed. */
static ka_limit_finding allowed(ka_limit *row, const ka_limits *l,
                                int64_t allows, const char *origin,
                                apr_pool_t *pool)
{
    if (allows < 0 || l->other_network) {
        return KA_LIMIT_MISSING;
    }
    row->value = (double)backlog(l);
    row->capacity = (double)allows;
    row->text = apr_psprintf(pool, "%s, ListenBacklog %s%s",
                             count(pool, allows), count(pool, backlog(l)),
                             l->query.listen_backlog >= 0 ? "" : " (default)");
    row->origin = origin;
    row->verdict = backlog(l) > allows ? KA_LIMIT_IS_NEAR : KA_LIMIT_OK;
    return KA_LIMIT_SHOWN;
}

ka_limit_finding ka_limit_fill_somaxconn(ka_limit *row, const ka_limits *l,
                                         apr_pool_t *pool)
{
    return allowed(row, l, l->somaxconn, "/proc/sys/net/core/somaxconn", pool);
}

ka_limit_finding ka_limit_fill_syn_backlog(ka_limit *row, const ka_limits *l,
                                           apr_pool_t *pool)
{
    return allowed(row, l, l->syn_backlog,
                   "/proc/sys/net/ipv4/tcp_max_syn_backlog", pool);
}

static bool ports_known(const ka_limits *l)
{
    return l->sockets.known && l->sockets.ports && l->sockets.ports->nelts > 0;
}

ka_limit_finding ka_limit_fill_queue(ka_limit *row, const ka_limits *l,
                                     apr_pool_t *pool)
{
    int64_t capacity = backlog(l);

    if (!ports_known(l)) {
        return KA_LIMIT_MISSING;
    }
    if (!l->other_network && l->somaxconn >= 0 && l->somaxconn < capacity) {
        capacity = l->somaxconn;
    }
    used(row, l->sockets.queue, capacity, l->sockets.origin, pool);
    row->verdict =
        verdict_of(share_of(row->value, row->capacity), QUEUE_NEAR, QUEUE_BAD);
    return KA_LIMIT_SHOWN;
}

/* Counters since boot, of all listening sockets of the namespace. */
static ka_limit_finding fill_lost(ka_limit *row, const ka_limits *l,
                                  int64_t lost, const char *name,
                                  apr_pool_t *pool)
{
    if (lost < 0) {
        return KA_LIMIT_MISSING;
    }
    row->value = (double)lost;
    row->text = l->accepted >= 0
                    ? apr_psprintf(pool, "%s, %s accepted since boot",
                                   count(pool, lost), count(pool, l->accepted))
                    : apr_pstrcat(pool, count(pool, lost), " since boot", NULL);
    row->origin = apr_pstrcat(pool, l->netstat_origin, ", ", name, NULL);
    if (lost > 0) {
        row->verdict =
            l->accepted >= 0 && row->value > OVERFLOW_BAD * (double)l->accepted
                ? KA_LIMIT_IS_BAD
                : KA_LIMIT_IS_NEAR;
    }
    return KA_LIMIT_SHOWN;
}

ka_limit_finding ka_limit_fill_overflows(ka_limit *row, const ka_limits *l,
                                         apr_pool_t *pool)
{
    return fill_lost(row, l, l->overflows, "ListenOverflows", pool);
}

ka_limit_finding ka_limit_fill_drops(ka_limit *row, const ka_limits *l,
                                     apr_pool_t *pool)
{
    return fill_lost(row, l, l->drops, "ListenDrops", pool);
}

/* ---- connections ------------------------------------------------------- */

ka_limit_finding ka_limit_fill_established(ka_limit *row, const ka_limits *l,
                                           apr_pool_t *pool)
{
    int64_t n = l->sockets.established;

    if (!ports_known(l)) {
        return KA_LIMIT_MISSING;
    }
    if (l->query.max_request_workers >= 0) {
        return used(row, n, l->query.max_request_workers, l->sockets.origin,
                    pool);
    }
    row->value = (double)n;
    row->text = count(pool, n);
    row->origin = l->sockets.origin;
    return KA_LIMIT_SHOWN;
}

ka_limit_finding ka_limit_fill_time_wait(ka_limit *row, const ka_limits *l,
                                         apr_pool_t *pool)
{
    int64_t n = l->sockets.time_wait;

    if (!ports_known(l)) {
        return KA_LIMIT_MISSING;
    }
    if (l->time_wait_max >= 0 && !l->other_network) {
        used(row, n, l->time_wait_max, l->sockets.origin, pool);
    }
    else {
        row->value = (double)n;
        row->text = count(pool, n);
        row->origin = l->sockets.origin;
    }
    row->text = apr_psprintf(pool, "%s (%s server closes/s)", row->text,
                             ka_words_number(pool, (double)n / TIME_WAIT_S));
    return KA_LIMIT_SHOWN;
}

/* The client has closed and httpd has not noticed yet: on prefork and worker
 * all of them are in a request. */
ka_limit_finding ka_limit_fill_close_wait(ka_limit *row, const ka_limits *l,
                                          apr_pool_t *pool)
{
    int64_t n = l->sockets.close_wait;

    if (!ports_known(l)) {
        return KA_LIMIT_MISSING;
    }
    row->value = (double)n;
    row->text = count(pool, n);
    row->origin = l->sockets.origin;
    if (n > CLOSE_WAIT_FEW) {
        row->verdict = verdict_of(
            share_of(row->value, row->value + (double)l->sockets.established),
            CLOSE_WAIT_NEAR, KA_LIMIT_NEAR);
    }
    return KA_LIMIT_SHOWN;
}

ka_limit_finding ka_limit_fill_ports(ka_limit *row, const ka_limits *l,
                                     apr_pool_t *pool)
{
    if (!l->sockets.known || l->ports_low < 0) {
        return KA_LIMIT_MISSING;
    }
    used(row, l->sockets.outgoing, l->ports_high - l->ports_low + 1,
         apr_pstrcat(pool, l->sockets.origin,
                     ", /proc/sys/net/ipv4/ip_local_port_range", NULL),
         pool);
    if (l->sockets.outgoing_to) {
        row->text =
            apr_pstrcat(pool, row->text, ", to ", l->sockets.outgoing_to, NULL);
    }
    return KA_LIMIT_SHOWN;
}

/* ---- processes --------------------------------------------------------- */

/* What a child needs: what its connections will take, if their number is
 * known, else what it has open now. */
ka_limit_finding ka_limit_fill_files(ka_limit *row, const ka_limits *l,
                                     apr_pool_t *pool)
{
    int64_t now = l->files_now, connections = l->query.connections_per_child;

    if (l->files_max < 0 || (now < 0 && connections < 0)) {
        return KA_LIMIT_MISSING;
    }
    if (connections < 0) {
        return used(row, now, l->files_max, l->limits_origin, pool);
    }
    used(row, connections + (now > 0 ? now : 0), l->files_max, l->limits_origin,
         pool);
    row->text = apr_psprintf(
        pool, "%s (%s + %s)", row->text,
        now >= 0 ? apr_pstrcat(pool, count(pool, now), " open", NULL) : "?",
        ka_words_plural(pool, connections, "connection"));
    return KA_LIMIT_SHOWN;
}

ka_limit_finding ka_limit_fill_processes(ka_limit *row, const ka_limits *l,
                                         apr_pool_t *pool)
{
    if (l->processes_root) {
        return KA_LIMIT_ABSENT; /* the limit does not bind root */
    }
    if (l->processes_max < 0 || l->processes_now < 0) {
        return KA_LIMIT_MISSING;
    }
    return used(row, l->processes_now, l->processes_max, l->limits_origin,
                pool);
}

ka_limit_finding ka_limit_fill_pids(ka_limit *row, const ka_limits *l,
                                    apr_pool_t *pool)
{
    const ka_cgroup *c = &l->cgroup;

    if (c->pids_max < 0) {
        return KA_LIMIT_ABSENT;
    }
    if (c->pids_now < 0) {
        return KA_LIMIT_MISSING;
    }
    return used(row, c->pids_now, c->pids_max, c->pids_origin, pool);
}

ka_limit_finding ka_limit_fill_quota(ka_limit *row, const ka_limits *l,
                                     apr_pool_t *pool)
{
    const ka_cgroup *c = &l->cgroup;

    if (c->cpus < 0) {
        return KA_LIMIT_ABSENT;
    }
    row->value = c->throttled >= 0 ? c->throttled : 0;
    row->capacity = 1;
    row->text = apr_psprintf(
        pool, "%s of %s%s", ka_words_number(pool, c->cpus),
        l->cores > 0 ? ka_words_plural(pool, l->cores, "core") : "? cores",
        c->throttled >= 0 ? apr_psprintf(pool, ", held back in %s of periods",
                                         ka_words_share(pool, c->throttled))
                          : "");
    row->origin = c->cpu_origin;
    row->verdict = verdict_of(row->value, THROTTLED_NEAR, THROTTLED_BAD);
    return KA_LIMIT_SHOWN;
}

ka_limit_finding ka_limit_fill_swapped(ka_limit *row, const ka_limits *l,
                                       apr_pool_t *pool)
{
    if (l->swap_bytes < 0) {
        return KA_LIMIT_MISSING;
    }
    row->value = (double)l->swap_bytes;
    row->text = ka_words_size(pool, l->swap_bytes);
    row->origin = "/proc/PID/smaps_rollup, Swap";
    row->verdict = l->swap_bytes >= SWAPPED_BAD ? KA_LIMIT_IS_BAD
                   : l->swap_bytes > 0          ? KA_LIMIT_IS_NEAR
                                                : KA_LIMIT_OK;
    return KA_LIMIT_SHOWN;
}

ka_limit_finding ka_limit_fill_group_oom(ka_limit *row, const ka_limits *l,
                                         apr_pool_t *pool)
{
    if (l->cgroup.oom_kills < 0) {
        return KA_LIMIT_ABSENT;
    }
    row->value = (double)l->cgroup.oom_kills;
    row->text = count(pool, l->cgroup.oom_kills);
    row->origin = l->cgroup.oom_origin;
    row->verdict = l->cgroup.oom_kills ? KA_LIMIT_IS_BAD : KA_LIMIT_OK;
    return KA_LIMIT_SHOWN;
}
