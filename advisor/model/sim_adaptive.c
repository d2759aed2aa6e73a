/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Waits by load, as mod_kapolicy has them.  There each wait of prefork and
 * worker looks at the load by itself, more often when it is not calm; on event
 * a thread of the child looks at all.  Here one event looks at a whole list,
 * and there is none while it is calm: then waits are as long as they began.
 */
#include "sim_priv.h"

/* mod_kapolicy's own.  A calm wait looks each 200 ms: half of that passes in
 * the mean before it knows of a rise. */
#define SLICE_US INT64_C(50000)
#define SLICE_CALM_US INT64_C(100000)
#define SLICE_ASYNC_US INT64_C(25000)
/* No two looks are nearer: a list may be long. */
#define SLICE_LEAST_US INT64_C(1000)

typedef struct taken {
    uint32_t taken, limit;
} taken;

static uint32_t held_within(uint64_t n)
{
    return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* Whichever of its two limits a child is closer to. */
static taken taken_of_child(const ka_sim *s, const ka_sim_child *child)
{
    uint32_t threads = s->parent.settings.threads_per_child;
    uint64_t idle = threads - child->busy;
    taken busy = {child->busy, threads};
    taken open = {child->connections,
                  held_within(threads + idle * s->config->async_factor)};

    return (uint64_t)open.taken * busy.limit > (uint64_t)busy.taken * open.limit
               ? open
               : busy;
}

static taken taken_now(const ka_sim *s, uint32_t child)
{
    if (s->event) {
        return taken_of_child(s, &s->children[child]);
    }
    return (taken){s->counts.now.busy, s->parent.settings.max_request_workers};
}

static uint32_t excess_now(const ka_sim *s, uint32_t child)
{
    taken now = taken_now(s, child);

    return ka_adaptive_excess(s->config->adaptive, now.taken, now.limit);
}

bool ka_sim_is_full(const ka_sim *s, uint32_t child)
{
    return s->config->adaptive && excess_now(s, child) > 0;
}

bool ka_sim_is_calm(const ka_sim *s, uint32_t child)
{
    taken now;

    if (!s->config->adaptive) {
        return true;
    }
    now = taken_now(s, child);
    return ka_adaptive_is_calm(s->config->adaptive, now.taken, now.limit);
}

/* How much longer a client may wait, as the load is now. */
static int64_t time_left(const ka_sim *s, const ka_sim_client *c)
{
    taken now = taken_now(s, c->child);
    int64_t timeout = ka_adaptive_timeout(s->config->adaptive, c->timeout_us,
                                          now.taken, now.limit);

    return ka_sim_add(ka_sim_add(c->idle_from, timeout), -s->now);
}

static void look_again(ka_sim *s, uint32_t child, int64_t after_us)
{
    int64_t after = after_us > SLICE_LEAST_US ? after_us : SLICE_LEAST_US;

    ka_sim_idle_of(s, child)->watched = true;
    ka_sim_push(s, ka_sim_add(s->now, after), KA_SIM_LOOK, child);
}

void ka_sim_watch(ka_sim *s, uint32_t child)
{
    const ka_sim_idle *idle;
    int64_t left, slice = s->event ? SLICE_ASYNC_US : SLICE_CALM_US;

    if (!s->config->adaptive) {
        return;
    }
    idle = ka_sim_idle_of(s, child);
    if (idle->watched || idle->first == KA_SIM_NONE ||
        ka_sim_is_calm(s, child)) {
        return;
    }
    left = time_left(s, &s->clients[idle->last]);
    look_again(s, child, left < slice ? left : slice);
}

/* Those whose time is over as the load is now. @return how soon the next is */
static int64_t end_those_due(ka_sim *s, ka_sim_idle *idle)
{
    int64_t soonest = INT64_MAX;
    uint32_t client = idle->first;

    while (client != KA_SIM_NONE) {
        uint32_t next = s->clients[client].next;
        int64_t left = time_left(s, &s->clients[client]);

        if (left <= 0) {
            ka_sim_cut(s, client, KA_SIM_BY_LOAD);
        }
        else if (left < soonest) {
            soonest = left;
        }
        client = next;
    }
    return soonest;
}

void ka_sim_look(ka_sim *s, uint32_t child)
{
    ka_sim_idle *idle = ka_sim_idle_of(s, child);
    int64_t slice = s->event ? SLICE_ASYNC_US : SLICE_US, soonest;

    idle->watched = false;
    while (idle->first != KA_SIM_NONE && excess_now(s, child) > 0) {
        ka_sim_cut(s, idle->first, KA_SIM_BY_LOAD);
    }
    soonest = end_those_due(s, idle);
    if (idle->first != KA_SIM_NONE && !ka_sim_is_calm(s, child)) {
        look_again(s, child, soonest < slice ? soonest : slice);
    }
    ka_sim_dispatch(s);
}
