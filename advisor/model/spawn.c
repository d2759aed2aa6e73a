/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * [M15] The loop itself; the search is in spawn_search.c. */
#include "spawn.h"

#include <stdlib.h>
#include <string.h>

/* Connections that came in one second and hold equally long. */
typedef struct batch {
    uint32_t came;
    uint32_t hold; /* seconds; HOLD_BEYOND: past the end of the series */
    uint64_t count;
} batch;

#define HOLD_BEYOND UINT32_MAX

/* ---- settings ---------------------------------------------------------- */

static uint32_t at_least(uint32_t value, uint32_t least)
{
    return value < least ? least : value;
}

static uint32_t at_most(uint32_t value, uint32_t most)
{
    return value > most ? most : value;
}

static uint32_t plus(uint32_t a, uint32_t b)
{
    return a > UINT32_MAX - b ? UINT32_MAX : a + b;
}

static uint32_t child_limit(const ka_spawn_settings *s)
{
    return at_least(
        at_most(s->max_request_workers / s->threads_per_child, s->server_limit),
        1);
}

/* prefork keeps MaxSpareServers above MinSpareServers, the others keep a
 * child's threads and one between them. */
ka_spawn_settings ka_spawn_normalized(const ka_spawn_settings *settings)
{
    ka_spawn_settings s = *settings;
    uint32_t between;

    s.threads_per_child =
        s.mpm == KA_MPM_PREFORK ? 1 : at_least(s.threads_per_child, 1);
    s.server_limit = at_least(s.server_limit, 1);
    s.max_request_workers = at_least(s.max_request_workers, 1);
    s.min_spare = at_least(s.min_spare, 1);
    between = s.mpm == KA_MPM_PREFORK ? 1 : plus(s.threads_per_child, 1);
    s.max_spare = at_least(s.max_spare, plus(s.min_spare, between));
    s.start_servers = at_most(at_least(s.start_servers, 1), child_limit(&s));
    return s;
}

/* ---- httpd's part ------------------------------------------------------ */

ka_spawner ka_spawner_of(const ka_spawn_settings *settings)
{
    ka_spawner v = {.settings = ka_spawn_normalized(settings), .rate = 1};

    v.limit = child_limit(&v.settings);
    v.children = v.settings.start_servers;
    return v;
}

static uint32_t workers_of(const ka_spawner *v)
{
    uint64_t workers = (uint64_t)v->children * v->settings.threads_per_child;

    return workers > UINT32_MAX ? UINT32_MAX : (uint32_t)workers;
}

/* Children that may be started.  Those that are ending still have a slot on
 * prefork, one of ServerLimit on event, and none on worker, whose slots are
 * given anew once a thread in them has ended. */
static uint32_t free_slots(const ka_spawner *v, const ka_spawn_ending *ending)
{
    const ka_spawn_settings *s = &v->settings;
    uint64_t most = v->limit, used = v->children;
    uint64_t active =
        (uint64_t)v->children * s->threads_per_child + ending->busy;

    if (s->mpm == KA_MPM_PREFORK) {
        used += ending->children;
    }
    else if (s->mpm == KA_MPM_EVENT) {
        uint64_t slots = s->server_limit > ending->children
                             ? s->server_limit - ending->children
                             : 0;

        most = active >= s->max_request_workers ? 0 : most;
        most = slots < most ? slots : most;
    }
    return most > used ? (uint32_t)(most - used) : 0;
}

/* event asks nobody while others are ending, unless the scoreboard has room
 * for a generation. */
static bool may_end(const ka_spawner *v, const ka_spawn_ending *ending)
{
    uint64_t total = (uint64_t)v->children + ending->children;

    return v->settings.mpm != KA_MPM_EVENT || ending->children == 0 ||
           v->settings.server_limit > total + v->limit;
}

int32_t ka_spawner_maintain(ka_spawner *v, uint32_t idle,
                            const ka_spawn_ending *ending)
{
    uint32_t room = free_slots(v, ending), start;

    if (idle > v->settings.max_spare) {
        v->rate = 1;
        if (v->children == 0 || !may_end(v, ending)) {
            return 0;
        }
        v->children--;
        return -1;
    }
    if (idle >= v->settings.min_spare || room == 0) {
        v->rate = 1;
        return 0;
    }
    start = at_most(v->rate, room);
    v->children += start;
    v->rate = at_most(v->rate * 2, KA_SPAWN_RATE_MAX);
    return (int32_t)start;
}

/* ---- connections ------------------------------------------------------- */

/* arrivals, but never fewer than the rise of holders. */
static uint64_t arrivals_in(const ka_spawn_demand *d, size_t t)
{
    uint64_t before = t > 0 ? d->holders[t - 1] : 0;
    uint64_t rise = d->holders[t] > before ? d->holders[t] - before : 0;
    uint64_t came = d->arrivals ? d->arrivals[t] : 0;

    return came > rise ? came : rise;
}

/* holders[t] = holders[t-1] + arrivals - departures, had nobody to wait. */
static uint64_t departures_in(const ka_spawn_demand *d, size_t t)
{
    uint64_t before = t > 0 ? d->holders[t - 1] : 0;

    return before + arrivals_in(d, t) - d->holders[t];
}

/* Pairs arrivals with departures, first come, first gone.  At most 2n + 1
 * batches: each step uses up an arrival's second or a departure's. */
static size_t pair_up(batch *batches, const ka_spawn_demand *d)
{
    uint64_t leave = departures_in(d, 0);
    size_t n = 0, gone = 0, t;

    for (t = 0; t < d->n; t++) {
        uint64_t came = arrivals_in(d, t);

        while (came > 0) {
            batch *b = &batches[n++];

            while (leave == 0 && gone + 1 < d->n) {
                leave = departures_in(d, ++gone);
            }
            *b = (batch){.came = (uint32_t)t,
                         .hold = (uint32_t)(gone - t),
                         .count = leave < came ? leave : came};
            if (leave == 0) {
                b->hold = HOLD_BEYOND;
                b->count = came;
            }
            leave -= leave ? b->count : 0;
            came -= b->count;
        }
    }
    return n;
}

/* What is kept while the series runs. */
typedef struct run {
    const batch *batches;
    size_t batch_n, next; /* next: the first that is not fully accepted */
    uint64_t taken;       /* of batches[next] */
    uint64_t came;        /* connections so far */
    uint64_t accepted;
    uint64_t busy;
    uint64_t *ends;  /* ends[n]: workers that come free in a second */
    uint64_t *waits; /* waits[n + 1]: connections by seconds waited */
    size_t n;
} run;

/* A connection that comes and goes within a second takes a worker only in
 * passing: any number can, if one is free. */
static void accept_batch(run *r, size_t t, uint64_t count, const batch *b)
{
    r->accepted += count;
    r->waits[t - b->came] += count;
    if (b->hold == 0) {
        return;
    }
    r->busy += count;
    if (b->hold < r->n - t) {
        r->ends[t + b->hold] += count;
    }
}

static void accept_all(run *r, size_t t, uint32_t workers)
{
    while (r->next < r->batch_n && r->batches[r->next].came <= t &&
           r->busy < workers) {
        const batch *b = &r->batches[r->next];
        uint64_t left = b->count - r->taken, room = workers - r->busy;
        uint64_t count = b->hold == 0 || left < room ? left : room;

        accept_batch(r, t, count, b);
        r->taken += count;
        if (r->taken == b->count) {
            r->next++;
            r->taken = 0;
        }
    }
}

/* ---- results ----------------------------------------------------------- */

/* Smallest wait that a share of all connections does not exceed. */
static uint32_t quantile(const run *r, uint64_t total, double share)
{
    uint64_t want = total - (uint64_t)((double)total * (1 - share)), sum = 0;
    size_t s;

    for (s = 0; s < r->n; s++) {
        sum += r->waits[s];
        if (sum >= want) {
            break;
        }
    }
    return (uint32_t)s;
}

/* Those still there waited until the end, at least. */
static void add_left(run *r)
{
    while (r->next < r->batch_n) {
        const batch *b = &r->batches[r->next++];

        r->waits[r->n - b->came] += b->count - r->taken;
        r->taken = 0;
    }
}

static void sum_up(ka_spawn_result *out, run *r)
{
    size_t s;

    out->connections = r->came;
    out->left_waiting = r->came - r->accepted;
    add_left(r);
    out->waited = r->came - r->waits[0];
    out->wait_p50_s = quantile(r, r->came, 0.5);
    out->wait_p99_s = quantile(r, r->came, 0.99);
    out->wait_p999_s = quantile(r, r->came, 0.999);
    for (s = 0; s <= r->n; s++) {
        out->wait_most_s = r->waits[s] ? (uint32_t)s : out->wait_most_s;
    }
    out->waiting_share /= (double)r->n;
    out->children_mean /= (double)r->n;
}

static void count_second(ka_spawn_result *out, const ka_spawn_second *second)
{
    out->waiting_share += second->waiting > 0;
    out->children_mean += second->children;
    out->waiting_most = at_least(out->waiting_most, second->waiting);
    out->children_most = at_least(out->children_most, second->children);
    if (second->spawned > 0) {
        out->spawned += (uint32_t)second->spawned;
        out->spawned_most =
            at_least(out->spawned_most, (uint32_t)second->spawned);
    }
    out->ended += second->spawned < 0;
}

static ka_spawn_second run_second(run *r, ka_spawner *v, size_t t,
                                  uint64_t came)
{
    static const ka_spawn_ending none;
    uint32_t workers = workers_of(v);
    uint64_t waiting;
    ka_spawn_second second = {.children = v->children, .workers = workers};

    r->busy -= r->ends[t];
    r->came += came;
    accept_all(r, t, workers);
    waiting = r->came - r->accepted;
    second.busy = (uint32_t)r->busy;
    second.idle = workers - second.busy;
    second.waiting = waiting > UINT32_MAX ? UINT32_MAX : (uint32_t)waiting;
    second.spawned = ka_spawner_maintain(v, second.idle, &none);
    return second;
}

apr_status_t ka_spawn_run(ka_spawn_result *out, ka_spawn_second *seconds,
                          const ka_spawn_demand *demand,
                          const ka_spawn_settings *settings, apr_pool_t *pool)
{
    ka_spawner v = ka_spawner_of(settings);
    apr_pool_t *scratch;
    batch *batches;
    run r = {.n = demand->n};
    size_t t;

    if (demand->n == 0 || demand->n > KA_SPAWN_SECONDS_MAX) {
        return APR_EINVAL;
    }
    if (apr_pool_create(&scratch, pool)) {
        return APR_ENOMEM;
    }
    batches = apr_palloc(scratch, (2 * r.n + 1) * sizeof(*batches));
    r.ends = apr_pcalloc(scratch, r.n * sizeof(*r.ends));
    r.waits = apr_pcalloc(scratch, (r.n + 1) * sizeof(*r.waits));
    r.batches = batches;
    r.batch_n = pair_up(batches, demand);
    memset(out, 0, sizeof(*out));
    for (t = 0; t < r.n; t++) {
        ka_spawn_second second = run_second(&r, &v, t, arrivals_in(demand, t));

        count_second(out, &second);
        if (seconds) {
            seconds[t] = second;
        }
    }
    sum_up(out, &r);
    apr_pool_destroy(scratch);
    return APR_SUCCESS;
}
