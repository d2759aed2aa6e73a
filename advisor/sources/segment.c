/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "segment.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <apr_strings.h>

#include <ka_segment_file.h>
#include "../model/outcome.h"

#define SECOND_US INT64_C(1000000)

bool ka_segment_source_is(const char *path)
{
    uint64_t magic = 0;
    struct stat info;
    bool is;
    int fd;

    /* A FIFO must not even be opened: its writer would see us leave. */
    if (stat(path, &info) || !S_ISREG(info.st_mode)) {
        return false;
    }
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    is = pread(fd, &magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
         magic == KA_SEGMENT_MAGIC;
    close(fd);
    return is;
}

/* What to do about it, by the status of ka_segment_load. */
static const char *remedy_of(apr_status_t rv)
{
    switch (rv) {
    case APR_ENOTIMPL:
        return "use the kaadvisor that came with that module";
    case APR_EAGAIN:
        return "try again in a second";
    case APR_EINVAL:
        return "copy the file that KAStatsFile names once more (cp)";
    case APR_ENOMEM:
        return "use a machine with more of it";
    default:
        return NULL;
    }
}

static const char *failure(const char *path, const char *what, apr_status_t rv,
                           apr_pool_t *pool)
{
    const char *remedy = remedy_of(rv);
    char reason[120];

    if (!remedy) {
        what = apr_psprintf(pool, "%s: %s", what,
                            apr_strerror(rv, reason, sizeof(reason)));
    }
    return apr_pstrcat(pool, path, ": ", what, remedy ? "; " : "",
                       remedy ? remedy : "", NULL);
}

/* ---- vhosts ------------------------------------------------------------- */

/* `--vhost www.example.org` means it on any port. */
static bool is_named(const char *name, const char *wanted)
{
    size_t n = strlen(wanted);

    return !strncasecmp(name, wanted, n) && (name[n] == '\0' || name[n] == ':');
}

static int compare_vhosts(const void *a, const void *b)
{
    const ka_live_vhost *x = a, *y = b;
    uint64_t m = ka_stats_requests(x->stats), n = ka_stats_requests(y->stats);

    if (m != n) {
        return m < n ? 1 : -1;
    }
    return (x->vhost > y->vhost) - (x->vhost < y->vhost);
}

static int64_t timeout_of(const ka_segment_vhost *vhost)
{
    return vhost->flags & KA_VHOST_KEEP_ALIVE &&
                   vhost->keep_alive_timeout_us > 0
               ? vhost->keep_alive_timeout_us
               : KA_TIMEOUT_OFF;
}

static void add_stats(ka_stats *into, const ka_stats *from)
{
    size_t i;

    for (i = 0; i < KA_COUNTER_N; i++) {
        into->counter[i] += from->counter[i];
    }
    for (i = 0; i < KA_QUANTITY_N; i++) {
        ka_hist_merge(&into->quantity[i], &from->quantity[i]);
    }
    into->open += from->open;
}

/* Keeps the vhosts that have traffic. @return whether any bore the name */
static bool take_vhosts(ka_live *out, const char *wanted, apr_pool_t *pool)
{
    const ka_snapshot *s = &out->snapshot;
    ka_stats *stats = NULL;
    bool named = false;
    uint32_t i;

    out->vhosts = apr_palloc(pool, s->vhost_n * sizeof(*out->vhosts));
    out->total = apr_pcalloc(pool, sizeof(*out->total));
    for (i = 0; i < s->vhost_n; i++) {
        const ka_segment_vhost *vhost = &s->vhosts[i];

        if (!vhost->name[0] || (wanted && !is_named(vhost->name, wanted))) {
            continue;
        }
        named = true;
        stats = stats ? stats : apr_palloc(pool, sizeof(*stats));
        ka_stats_read(stats, out->header, i);
        if (ka_stats_requests(stats) || ka_stats_closed(stats) || stats->open) {
            out->vhosts[out->vhost_n++] =
                (ka_live_vhost){.vhost = vhost,
                                .timeout_us = timeout_of(vhost),
                                .stats = stats};
            add_stats(out->total, stats);
            stats = NULL;
        }
    }
    qsort(out->vhosts, out->vhost_n, sizeof(*out->vhosts), compare_vhosts);
    out->narrowed = wanted != NULL;
    return named || !wanted;
}

/* ---- when the traffic was ----------------------------------------------- */

/* A foreign file may claim any times. */
static int64_t sane_time(int64_t us)
{
    const int64_t most = INT64_C(1) << 60;

    return us < 0 ? 0 : us > most ? most : us;
}

static bool in_second(int64_t us, int64_t second)
{
    return us >= second &&
           (uint64_t)us - (uint64_t)second < (uint64_t)SECOND_US;
}

/* The history says the seconds; single connections in them say it closer. */
static void refine_window(ka_live *out)
{
    int64_t first = out->history[0].at;
    int64_t last = out->history[out->history_n - 1].at;
    int64_t begin = INT64_MAX, end = INT64_MIN;
    size_t i;

    for (i = 0; i < out->recent_n; i++) {
        const ka_segment_recent *r = &out->recent[i];

        if (r->requests == 0) {
            continue;
        }
        if (in_second(r->started_at, first) &&
            ka_recent_first_request(r) < begin) {
            begin = ka_recent_first_request(r);
        }
        if (in_second(ka_recent_last_response(r), last) &&
            ka_recent_last_response(r) > end) {
            end = ka_recent_last_response(r);
        }
    }
    out->first_us = begin == INT64_MAX ? first : begin;
    out->last_us = end == INT64_MIN ? sane_time(last) + SECOND_US : end;
}

/* Whether the history still has the segment's first second. */
static bool reaches_back(const ka_live *out, size_t n)
{
    return n > 0 && out->history[0].at <= out->snapshot.started_at;
}

static bool is_quiet(const ka_second *s)
{
    return s->requests == 0 && s->connections == 0;
}

static void take_history(ka_live *out, apr_pool_t *pool)
{
    size_t n = out->snapshot.history_n, last;
    bool whole;

    out->history = apr_palloc(pool, (n + 1) * sizeof(*out->history));
    n = ka_history_read(out->history, n, out->header,
                        out->live ? out->read_at : INT64_MIN);
    whole = reaches_back(out, n);
    out->first_us = out->snapshot.started_at;
    out->last_us = out->live ? out->read_at : out->snapshot.heartbeat_at;
    last = n;
    while (last > 0 && is_quiet(&out->history[last - 1])) {
        last--;
    }
    if (last == 0) {
        return; /* quiet for as long as it reaches */
    }
    while (whole && is_quiet(out->history)) {
        out->history++;
        last--;
    }
    out->history_n = last;
    refine_window(out);
    if (!whole) {
        out->first_us = out->snapshot.started_at;
    }
}

static void take_recent(ka_live *out, apr_pool_t *pool)
{
    out->recent =
        apr_palloc(pool, (out->snapshot.recent_n + 1) * sizeof(*out->recent));
    out->recent_n =
        ka_recent_read(out->recent, out->snapshot.recent_n, out->header);
    out->recent_whole = out->snapshot.recent_seen <= out->snapshot.recent_n &&
                        out->recent_n == out->snapshot.recent_seen;
}

apr_status_t ka_segment_source_read(ka_live *out, const char **error,
                                    const char *path, const char *vhost,
                                    int64_t now_at, apr_pool_t *pool)
{
    const char *what = "it cannot be read";
    apr_status_t rv;

    *out = (ka_live){.path = path, .read_at = now_at};
    rv = ka_segment_load(&out->header, path, &what, pool);
    if (rv) {
        *error = failure(path, what, rv, pool);
        return rv;
    }
    ka_snapshot_make(&out->snapshot, out->header, pool);
    out->snapshot.started_at = sane_time(out->snapshot.started_at);
    out->snapshot.heartbeat_at = sane_time(out->snapshot.heartbeat_at);
    out->live = ka_snapshot_is_live(&out->snapshot, now_at);
    if (!take_vhosts(out, vhost, pool)) {
        *error = apr_psprintf(pool,
                              "%s: there is no virtual host \"%s\" in it; "
                              "`kaadvisor show` lists those that there are",
                              path, vhost);
        return APR_ENOENT;
    }
    take_recent(out, pool);
    take_history(out, pool);
    out->first_us = sane_time(out->first_us);
    out->last_us = sane_time(out->last_us);
    return APR_SUCCESS;
}
