/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "block.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "capacity.h"

/* Threads of a child: few large children protect idle connections (R4). */
#define EVENT_THREADS 64
#define DEFAULT_THREAD_LIMIT 64
/* httpd's defaults: never less, as far as all workers allow. */
#define START_SERVERS 5
#define START_CHILDREN 3
#define MIN_SPARE_SERVERS 5
#define MIN_SPARE_THREADS 75
#define MAX_SPARE_THREADS 250

static const ka_block_info block_infos[KA_BLOCK_ITEMS] = {
    [KA_BLOCK_SERVER_LIMIT] = {{"ServerLimit", "ServerLimit", "ServerLimit"},
                               NULL,
                               {256, 16, 16},
                               true},
    [KA_BLOCK_THREAD_LIMIT] = {{NULL, "ThreadLimit", "ThreadLimit"},
                               NULL,
                               {-1, 64, 64},
                               true},
    [KA_BLOCK_THREADS_PER_CHILD] = {{NULL, "ThreadsPerChild",
                                     "ThreadsPerChild"},
                                    NULL,
                                    {-1, 25, 25},
                                    false},
    [KA_BLOCK_START_SERVERS] = {{"StartServers", "StartServers",
                                 "StartServers"},
                                NULL,
                                {START_SERVERS, START_CHILDREN,
                                START_CHILDREN},
                                false},
    [KA_BLOCK_MIN_SPARE] = {{"MinSpareServers", "MinSpareThreads",
                             "MinSpareThreads"},
                            NULL,
                            {MIN_SPARE_SERVERS, MIN_SPARE_THREADS,
                             MIN_SPARE_THREADS},
                            false},
    [KA_BLOCK_MAX_SPARE] = {{"MaxSpareServers", "MaxSpareThreads",
                             "MaxSpareThreads"},
                            NULL,
                            {10, MAX_SPARE_THREADS, MAX_SPARE_THREADS},
                            false},
    [KA_BLOCK_MAX_REQUEST_WORKERS] = {{"MaxRequestWorkers",
                                       "MaxRequestWorkers",
                                       "MaxRequestWorkers"},
                                      "MaxClients",
                                      {256, 400, 400},
                                      false},
    [KA_BLOCK_MAX_CONNECTIONS_PER_CHILD] = {{"MaxConnectionsPerChild",
                                             "MaxConnectionsPerChild",
                                             "MaxConnectionsPerChild"},
                                            "MaxRequestsPerChild",
                                            {0, 0, 0},
                                            false},
    [KA_BLOCK_ASYNC_FACTOR] = {{NULL, NULL, "AsyncRequestWorkerFactor"},
                               NULL,
                               {-1, -1, 2},
                               false}};

const ka_block_info *ka_block_info_of(ka_block_item item)
{
    assert(item < KA_BLOCK_ITEMS);
    return &block_infos[item];
}

int64_t ka_block_threads(ka_mpm mpm, int64_t present)
{
    if (mpm == KA_MPM_PREFORK) {
        return 1;
    }
    if (present <= 0 || (mpm == KA_MPM_EVENT && present < EVENT_THREADS)) {
        return EVENT_THREADS;
    }
    return present;
}

static int64_t at_least(int64_t value, int64_t floor)
{
    return value < floor ? floor : value;
}

static int64_t at_most(int64_t value, int64_t ceiling)
{
    return value > ceiling ? ceiling : value;
}

static int64_t ceil_div(int64_t value, int64_t by)
{
    return (value + by - 1) / by;
}

/* Spare workers meet the connections of a busy second, since httpd looks
 * after its spares once a second ([M15]'s cycle). */
static void block_prefork(ka_block *block, const ka_block_demand *d)
{
    int64_t workers = at_least(d->workers, MIN_SPARE_SERVERS + 1);
    int64_t spare = at_least((int64_t)ceil(d->opens_per_s),
                             MIN_SPARE_SERVERS);
    int64_t *v = block->value;

    if (d->workers_limit > 0) {
        workers = at_most(workers, d->workers_limit);
    }
    spare = at_least(at_most(spare, workers / 2), 1);
    v[KA_BLOCK_SERVER_LIMIT] = workers;
    v[KA_BLOCK_MAX_REQUEST_WORKERS] = workers;
    v[KA_BLOCK_MIN_SPARE] = spare;
    v[KA_BLOCK_MAX_SPARE] = at_least(spare * 2, spare + 5);
    v[KA_BLOCK_START_SERVERS] = at_most(
        at_least((int64_t)ceil(d->held_mean) + spare, START_SERVERS), workers);
}

static void block_threads(ka_block *block, const ka_block_demand *d)
{
    int64_t threads = ka_block_threads(d->mpm, d->threads_per_child);
    int64_t *v = block->value;
    int64_t spare, children, workers;

    if (d->workers_limit > 0) {
        threads = at_most(threads, d->workers_limit);
    }
    spare = at_least(at_least((int64_t)ceil(d->opens_per_s), threads),
                     MIN_SPARE_THREADS);
    /* Two children, so that one can be replaced while the other serves. */
    children = at_least(ceil_div(d->workers, threads), 2);
    if (d->workers_limit > 0) {
        children = at_most(children, d->workers_limit / threads);
    }
    workers = children * threads;
    spare = at_most(spare, at_least(workers / 2, 1));
    v[KA_BLOCK_SERVER_LIMIT] = children;
    v[KA_BLOCK_THREAD_LIMIT] = at_least(threads, DEFAULT_THREAD_LIMIT);
    v[KA_BLOCK_THREADS_PER_CHILD] = threads;
    v[KA_BLOCK_MAX_REQUEST_WORKERS] = workers;
    v[KA_BLOCK_MIN_SPARE] = spare;
    v[KA_BLOCK_MAX_SPARE] = at_least(at_least(spare * 2, spare + threads),
                                     at_most(MAX_SPARE_THREADS, workers));
    v[KA_BLOCK_START_SERVERS] = at_most(
        at_least(ceil_div((int64_t)ceil(d->held_mean) + spare, threads),
                 START_CHILDREN),
        children);
}

/* R4: idle connections live in children, so none is retired for being spare;
 * children of an old generation finish beside the new ones. */
static void block_event(ka_block *block, const ka_block_demand *d)
{
    int64_t *v = block->value;

    block_threads(block, d);
    v[KA_BLOCK_SERVER_LIMIT] =
        (int64_t)ceil((double)v[KA_BLOCK_SERVER_LIMIT] * 1.25) + 1;
    v[KA_BLOCK_MAX_SPARE] = at_least(v[KA_BLOCK_MAX_REQUEST_WORKERS],
                                     v[KA_BLOCK_MIN_SPARE] +
                                         v[KA_BLOCK_THREADS_PER_CHILD]);
    v[KA_BLOCK_ASYNC_FACTOR] = ka_async_factor(
        v[KA_BLOCK_MAX_REQUEST_WORKERS], d->connections_peak);
}

ka_block ka_block_make(const ka_block_demand *demand)
{
    static void (*const makers[KA_MPM_N])(ka_block *,
                                          const ka_block_demand *) = {
        block_prefork, block_threads, block_event};
    ka_block block;
    int i;

    assert(demand->workers > 0);
    for (i = 0; i < KA_BLOCK_ITEMS; i++) {
        block.value[i] = -1;
    }
    block.value[KA_BLOCK_MAX_CONNECTIONS_PER_CHILD] =
        demand->max_connections_per_child;
    makers[demand->mpm](&block, demand);
    return block;
}

void ka_block_set_spare(ka_block *block, ka_mpm mpm, int64_t start_servers,
                        int64_t min_spare, int64_t max_spare)
{
    int64_t *v = block->value;
    int64_t threads =
        mpm == KA_MPM_PREFORK ? 1 : v[KA_BLOCK_THREADS_PER_CHILD];

    v[KA_BLOCK_START_SERVERS] = start_servers;
    v[KA_BLOCK_MIN_SPARE] = min_spare;
    max_spare =
        mpm == KA_MPM_EVENT ? v[KA_BLOCK_MAX_REQUEST_WORKERS] : max_spare;
    v[KA_BLOCK_MAX_SPARE] = at_least(max_spare, min_spare + threads);
}
