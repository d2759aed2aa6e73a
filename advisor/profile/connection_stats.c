/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Chains cut into connections, and how many of them each client has at once.
 */
#include "profile_priv.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

/* A connection from its first request's start to its last one's end. */
typedef struct span {
    int64_t from_us, to_us;
    uint32_t client;
    uint32_t requests;
} span;

typedef struct spans {
    span *items; /* in order of opening */
    size_t n;
    uint32_t *of_chain; /* the chain's present one */
} spans;

static bool opens(const ka_trace_request *r, int64_t timeout_us)
{
    if (r->gap_us == KA_GAP_OPENS) {
        return true;
    }
    return r->gap_us >= 0 &&
           (timeout_us == KA_TIMEOUT_OFF || r->gap_us > timeout_us);
}

static void cut_chains(spans *s, const ka_trace *trace,
                       const uint32_t *client_of, int64_t timeout_us)
{
    size_t i;

    for (i = 0; i < trace->request_n; i++) {
        const ka_trace_request *r = &trace->requests[i];
        span *connection;

        if (opens(r, timeout_us)) {
            s->of_chain[r->chain] = (uint32_t)s->n;
            s->items[s->n++] =
                (span){.from_us = r->busy_from_us, .client = client_of[i]};
        }
        connection = &s->items[s->of_chain[r->chain]];
        connection->to_us = r->busy_to_us;
        connection->requests++;
    }
}

/* ---- parallel connections ----------------------------------------------- */

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Mostly in order already. */
static void sort_times(int64_t *times, size_t n)
{
    size_t i;

    for (i = 1; i < n; i++) {
        if (times[i - 1] > times[i]) {
            qsort(times, n, sizeof(*times), compare_times);
            return;
        }
    }
}

/* Most intervals at once: where one ends as another begins, they do not
 * overlap. */
static uint64_t peak_of(int64_t *from, int64_t *to, size_t n)
{
    uint64_t peak = 0;
    size_t started, ended = 0;

    sort_times(from, n);
    sort_times(to, n);
    for (started = 0; started < n; started++) {
        while (to[ended] <= from[started]) {
            ended++;
        }
        if (started + 1 - ended > peak) {
            peak = started + 1 - ended;
        }
    }
    return peak;
}

/* Starts and ends, client by client: a counting sort, which keeps the order
 * of opening.  after[c] becomes the index past client c's last one. */
static void sort_by_client(int64_t *from, int64_t *to, size_t *after,
                           const spans *s, size_t client_n)
{
    size_t i, sum = 0;

    for (i = 0; i < s->n; i++) {
        after[s->items[i].client]++;
    }
    for (i = 0; i < client_n; i++) {
        size_t own = after[i];

        after[i] = sum;
        sum += own;
    }
    for (i = 0; i < s->n; i++) {
        const span *connection = &s->items[i];
        size_t at = after[connection->client]++;

        from[at] = connection->from_us;
        /* One that takes no time by the log was still there. */
        to[at] = connection->to_us > connection->from_us
                     ? connection->to_us
                     : connection->from_us + 1;
    }
}

static bool count_parallel(ka_hist *h, const spans *s, size_t client_n)
{
    int64_t *from = ka_array_alloc(s->n, sizeof(*from));
    int64_t *to = ka_array_alloc(s->n, sizeof(*to));
    size_t *after = ka_array_alloc(client_n, sizeof(*after));
    bool room = from != NULL && to != NULL && after != NULL;
    size_t client, first = 0;

    if (room) {
        sort_by_client(from, to, after, s, client_n);
    }
    for (client = 0; room && client < client_n; client++) {
        if (after[client] > first) {
            ka_hist_add(
                h, peak_of(from + first, to + first, after[client] - first));
        }
        first = after[client];
    }
    free(from);
    free(to);
    free(after);
    return room;
}

apr_status_t ka_connection_hists(ka_hist *lengths, ka_hist *parallel,
                                 const ka_trace *trace,
                                 const uint32_t *client_of, size_t client_n,
                                 int64_t timeout_us)
{
    spans s = {.n = 0};
    apr_status_t status = APR_ENOMEM;
    size_t i;

    s.items = ka_array_alloc(trace->request_n, sizeof(*s.items));
    s.of_chain = ka_array_alloc(trace->chain_n, sizeof(*s.of_chain));
    if (s.items != NULL && s.of_chain != NULL) {
        cut_chains(&s, trace, client_of, timeout_us);
        for (i = 0; i < s.n; i++) {
            ka_hist_add(lengths, s.items[i].requests);
        }
        if (count_parallel(parallel, &s, client_n)) {
            status = APR_SUCCESS;
        }
    }
    free(s.of_chain);
    free(s.items);
    return status;
}

ka_connection_stats ka_connection_stats_of(const ka_hist *lengths,
                                           const ka_hist *parallel,
                                           uint64_t clients)
{
    ka_connection_stats stats = {.connections = ka_hist_count(lengths),
                                 .requests_per_connection =
                                     ka_dist_of(lengths, 1),
                                 .parallel = ka_dist_of(parallel, 1),
                                 .clients = clients};

    if (stats.connections > 0) {
        stats.single_share = (double)lengths->bins[ka_hist_bin_index(1)].count /
                             (double)stats.connections;
    }
    return stats;
}

apr_status_t ka_connection_stats_build(ka_connection_stats *out,
                                       const ka_trace *trace,
                                       const uint32_t *client_of,
                                       size_t client_n, int64_t timeout_us)
{
    ka_hist *hists = calloc(2, sizeof(*hists));
    apr_status_t status = APR_ENOMEM;

    memset(out, 0, sizeof(*out));
    if (hists != NULL) {
        status = ka_connection_hists(&hists[0], &hists[1], trace, client_of,
                                     client_n, timeout_us);
    }
    if (status == APR_SUCCESS) {
        *out = ka_connection_stats_of(&hists[0], &hists[1], client_n);
    }
    free(hists);
    return status;
}
