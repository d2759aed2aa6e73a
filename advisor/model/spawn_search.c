/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * [M15] The smallest numbers with which nobody waits. */
#include "spawn.h"

#include <stdbool.h>

#define HOUR_S 3600u

typedef struct search {
    const ka_spawn_demand *demand;
    ka_spawn_settings settings; /* normalized, the number sought aside */
    ka_spawn_result result;     /* of the last try */
    bool scarce;                /* somebody waits whatever the number: */
    uint64_t waited;            /* so many, at least */
    apr_status_t rv;
    apr_pool_t *pool;
} search;

/* Whether nobody waits at p99.9 with this number. */
typedef bool try_fn(search *s, uint32_t number);

uint32_t ka_spawn_max_spare(const ka_spawn_settings *settings,
                            uint32_t min_spare)
{
    uint64_t child = settings->mpm == KA_MPM_PREFORK
                         ? 5
                         : (uint64_t)settings->threads_per_child + 1;
    uint64_t spare = 2 * (uint64_t)min_spare;

    spare = spare > min_spare + child ? spare : min_spare + child;
    if (settings->mpm == KA_MPM_EVENT &&
        spare < settings->max_request_workers) {
        spare = settings->max_request_workers;
    }
    return spare > UINT32_MAX ? UINT32_MAX : (uint32_t)spare;
}

static bool suffices(search *s)
{
    if (!s->rv) {
        s->rv =
            ka_spawn_run(&s->result, NULL, s->demand, &s->settings, s->pool);
    }
    return !s->rv && (s->scarce ? s->result.waited <= s->waited
                                : s->result.wait_p999_s == 0);
}

ka_spawn_settings ka_spawn_running(const ka_spawn_settings *settings,
                                   const ka_spawn_demand *demand,
                                   uint32_t min_spare)
{
    ka_spawn_settings set = *settings;
    uint64_t workers = (uint64_t)demand->holders[0] + min_spare;
    uint64_t children =
        (workers + set.threads_per_child - 1) / set.threads_per_child;

    set.min_spare = min_spare;
    set.max_spare = ka_spawn_max_spare(&set, min_spare);
    set.start_servers =
        children > UINT32_MAX ? UINT32_MAX : (uint32_t)children;
    return set;
}

static bool try_min_spare(search *s, uint32_t min_spare)
{
    s->settings = ka_spawn_running(&s->settings, s->demand, min_spare);
    return suffices(s);
}

static bool try_start(search *s, uint32_t start_servers)
{
    s->settings.start_servers = start_servers;
    return suffices(s);
}

/* Smallest number in [least, most] that passes, `most` if none does.  More
 * spare or more started children never make a connection wait that did not
 * before, so halving finds it. */
static uint32_t smallest(search *s, uint32_t least, uint32_t most, try_fn *try)
{
    while (least < most) {
        uint32_t middle = least + (most - least) / 2;

        if (try(s, middle)) {
            most = middle;
        }
        else {
            least = middle + 1;
        }
    }
    return most;
}

/* The smallest number that is enough; if none is, the smallest that does as
 * well as the most.  @return whether it is enough */
static bool find(uint32_t *number, search *s, uint32_t least, uint32_t most,
                 try_fn *try)
{
    s->scarce = false;
    *number = smallest(s, least, most, try);
    if (try(s, *number)) {
        return true;
    }
    s->scarce = true;
    s->waited = s->result.waited;
    *number = smallest(s, least, most, try);
    try(s, *number);
    return false;
}

/* First second of the hour with most holders. */
static size_t busiest_hour(const ka_spawn_demand *demand)
{
    uint64_t sum = 0, most = 0;
    size_t t, best = 0;

    for (t = 0; t < demand->n; t++) {
        sum += demand->holders[t];
        if (t >= HOUR_S) {
            sum -= demand->holders[t - HOUR_S];
        }
        if (sum > most) {
            most = sum;
            best = t >= HOUR_S ? t - HOUR_S + 1 : 0;
        }
    }
    return best;
}

static void search_start(ka_spawn_advice *out, search *s, uint32_t children)
{
    const ka_spawn_demand *all = s->demand;
    size_t left = all->n - out->busiest;
    ka_spawn_demand hour = {
        .holders = all->holders + out->busiest,
        .arrivals = all->arrivals ? all->arrivals + out->busiest : NULL,
        .n = left < HOUR_S ? left : HOUR_S};

    s->demand = &hour;
    find(&out->start_servers, s, 1, children, try_start);
    out->started = s->result;
}

apr_status_t ka_spawn_search(ka_spawn_advice *out,
                             const ka_spawn_demand *demand,
                             const ka_spawn_settings *settings, uint32_t least,
                             apr_pool_t *pool)
{
    search s = {.demand = demand,
                .settings = ka_spawn_normalized(settings),
                .pool = pool};
    uint32_t children, workers;

    if (demand->n == 0 || demand->n > KA_SPAWN_SECONDS_MAX) {
        return APR_EINVAL;
    }
    children = s.settings.max_request_workers / s.settings.threads_per_child;
    children =
        children < s.settings.server_limit ? children : s.settings.server_limit;
    children = children ? children : 1;
    workers = s.settings.max_request_workers;
    least = least < 1 ? 1 : least > workers ? workers : least;
    *out = (ka_spawn_advice){.busiest = busiest_hour(demand)};
    out->feasible = find(&out->min_spare, &s, least, workers, try_min_spare);
    out->running = s.result;
    out->max_spare = s.settings.max_spare;
    if (!s.rv) {
        search_start(out, &s, children);
    }
    return s.rv;
}
