/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Children and the accept queue.  A child stands in the list of those that
 * could take a connection, or, on event, of those that listen but could not;
 * ka_sim_place puts it there after each change, and keeps count of the free
 * workers that the parent would see.
 */
#include "sim_priv.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 64

static bool indices_push(ka_sim_indices *list, uint32_t item)
{
    if (list->n == list->size) {
        size_t size = list->size ? list->size * 2 : FIRST_SIZE;
        uint32_t *items = realloc(list->items, size * sizeof(*items));

        if (items == NULL) {
            return false;
        }
        list->items = items;
        list->size = size;
    }
    list->items[list->n++] = item;
    return true;
}

static uint32_t threads(const ka_sim *s)
{
    return s->parent.settings.threads_per_child;
}

/* ---- who listens -------------------------------------------------------- */

/* event's limit: a child takes as many connections as it has threads, and
 * AsyncRequestWorkerFactor more for each idle one; a listener that was stopped
 * starts again one idle thread later. */
static bool above_limit(const ka_sim *s, const ka_sim_child *child)
{
    uint64_t idle = threads(s) - child->busy;

    return idle == 0 ||
           child->connections >= threads(s) + (idle - child->disabled) *
                                                  s->config->async_factor;
}

static ka_sim_list list_of(ka_sim *s, ka_sim_child *child)
{
    if (!child->used || !child->ready || child->ending) {
        return KA_SIM_AWAY;
    }
    if (!s->event) {
        return child->busy < threads(s) ? KA_SIM_OPEN : KA_SIM_AWAY;
    }
    if (child->disabled && !above_limit(s, child)) {
        child->disabled = false;
    }
    if (child->disabled) {
        return KA_SIM_AWAY;
    }
    return above_limit(s, child) ? KA_SIM_FULL : KA_SIM_OPEN;
}

static void list_leave(ka_sim *s, ka_sim_child *child)
{
    ka_sim_indices *list = &s->lists[child->list];
    uint32_t last = list->items[--list->n];

    list->items[child->place] = last;
    s->children[last].place = child->place;
    child->list = KA_SIM_AWAY;
}

static void list_enter(ka_sim *s, uint32_t index, ka_sim_list to)
{
    ka_sim_child *child = &s->children[index];

    child->place = (uint32_t)s->lists[to].n;
    if (indices_push(&s->lists[to], index)) {
        child->list = to;
    }
    else {
        s->failed = true;
    }
}

static void place(ka_sim *s, uint32_t index)
{
    ka_sim_child *child = &s->children[index];
    ka_sim_list to = list_of(s, child);
    bool counts = child->used && !child->ending && !child->disabled;
    uint32_t free = counts ? threads(s) - child->busy : 0;

    s->free = s->free - child->counted_free + free;
    child->counted_free = free;
    if (to != child->list) {
        if (child->list != KA_SIM_AWAY) {
            list_leave(s, child);
        }
        if (to != KA_SIM_AWAY) {
            list_enter(s, index, to);
        }
    }
}

/* ---- their life --------------------------------------------------------- */

static bool children_room(ka_sim *s)
{
    size_t size = s->child_size ? s->child_size * 2 : FIRST_SIZE;
    ka_sim_child *children;

    if (s->child_n < s->child_size) {
        return true;
    }
    children = realloc(s->children, size * sizeof(*children));
    if (children == NULL) {
        return false;
    }
    s->children = children;
    s->child_size = size;
    return true;
}

/* KA_SIM_NONE without memory. */
static uint32_t slot_for_child(ka_sim *s)
{
    if (s->spare.n > 0) {
        return s->spare.items[--s->spare.n];
    }
    return children_room(s) ? (uint32_t)s->child_n++ : KA_SIM_NONE;
}

void ka_sim_start(ka_sim *s, uint32_t n, bool ready)
{
    for (; n > 0 && !s->failed; n--) {
        uint32_t index = slot_for_child(s);

        if (index == KA_SIM_NONE) {
            s->failed = true;
            return;
        }
        s->children[index] = (ka_sim_child){.used = true,
                                            .ready = ready,
                                            .idle = {KA_SIM_NONE, KA_SIM_NONE,
                                                     false},
                                            .list = KA_SIM_AWAY};
        s->counts.now.children++;
        place(s, index);
        if (!ready) {
            ka_sim_push(s, ka_sim_add(s->now, s->config->child_start_us),
                        KA_SIM_READY, index);
        }
    }
}

void ka_sim_ready(ka_sim *s, uint32_t index)
{
    ka_sim_child *child = &s->children[index];

    /* It may have been asked to end meanwhile. */
    child->ready = true;
    place(s, index);
    if (child->ending) {
        ka_sim_left(s, index);
    }
}

static void cut_idle(ka_sim *s, uint32_t index, ka_sim_why why)
{
    while (s->event && s->children[index].idle.first != KA_SIM_NONE) {
        ka_sim_cut(s, s->children[index].idle.first, why);
    }
}

void ka_sim_end_child(ka_sim *s, uint32_t index)
{
    ka_sim_child *child = &s->children[index];

    child->ending = true;
    s->ending.children++;
    s->ending.busy += child->busy;
    place(s, index);
    cut_idle(s, index, KA_SIM_RETIRED);
    ka_sim_left(s, index);
}

void ka_sim_left(ka_sim *s, uint32_t index)
{
    ka_sim_child *child = &s->children[index];

    if (!child->ending || !child->ready || !child->used || child->busy ||
        child->connections) {
        return;
    }
    child->used = false;
    s->ending.children--;
    s->counts.now.children--;
    s->failed = s->failed || !indices_push(&s->spare, index);
}

/* ---- workers and connections -------------------------------------------- */

void ka_sim_busy(ka_sim *s, uint32_t index)
{
    s->children[index].busy++;
    s->counts.now.busy++;
    s->ending.busy += s->children[index].ending;
    place(s, index);
    ka_sim_watch(s, index);
}

void ka_sim_free(ka_sim *s, uint32_t index)
{
    s->children[index].busy--;
    s->counts.now.busy--;
    s->ending.busy -= s->children[index].ending;
    place(s, index);
}

void ka_sim_closed(ka_sim *s, uint32_t index)
{
    s->children[index].connections--;
    place(s, index);
}

ka_sim_idle *ka_sim_idle_of(ka_sim *s, uint32_t child)
{
    return s->event ? &s->children[child].idle : &s->idle;
}

static uint32_t *next_of(ka_sim *s, ka_sim_idle *idle, uint32_t client)
{
    return client == KA_SIM_NONE ? &idle->first : &s->clients[client].next;
}

static uint32_t *prev_of(ka_sim *s, ka_sim_idle *idle, uint32_t client)
{
    return client == KA_SIM_NONE ? &idle->last : &s->clients[client].prev;
}

void ka_sim_idle_put(ka_sim *s, uint32_t client)
{
    ka_sim_client *c = &s->clients[client];
    ka_sim_idle *idle = ka_sim_idle_of(s, c->child);

    c->next = KA_SIM_NONE;
    c->prev = idle->last;
    *next_of(s, idle, c->prev) = client;
    idle->last = client;
}

void ka_sim_idle_take(ka_sim *s, uint32_t client)
{
    ka_sim_client *c = &s->clients[client];
    ka_sim_idle *idle = ka_sim_idle_of(s, c->child);

    *next_of(s, idle, c->prev) = c->next;
    *prev_of(s, idle, c->next) = c->prev;
}

/* ---- event's listener --------------------------------------------------- */

static void wake(ka_sim *s, uint32_t index)
{
    ka_sim_child *child = &s->children[index];

    child->disabled = true;
    s->out->limited += child->busy < threads(s);
    place(s, index);
    if (child->busy == threads(s)) {
        cut_idle(s, index, KA_SIM_EVICTED);
        place(s, index);
    }
}

bool ka_sim_worker_for(ka_sim *s, uint32_t index)
{
    ka_sim_child *child = &s->children[index];

    if (child->busy < threads(s)) {
        return true;
    }
    wake(s, index);
    return false;
}

/* ---- the accept queue --------------------------------------------------- */

bool ka_sim_enqueue(ka_sim *s, uint32_t client)
{
    ka_sim_client *c = &s->clients[client];
    ka_sim_point *now = &s->counts.now;

    /* Whoever can be accepted at once does not fill the queue. */
    if (s->queue_n >= s->config->queue && s->lists[KA_SIM_OPEN].n == 0) {
        return false;
    }
    c->next = KA_SIM_NONE;
    if (s->queue_n++ == 0) {
        s->queue_first = client;
    }
    else {
        s->clients[s->queue_last].next = client;
    }
    s->queue_last = client;
    now->waiting = s->queue_n;
    return true;
}

static uint32_t dequeue(ka_sim *s)
{
    uint32_t client = s->queue_first;

    s->queue_first = s->clients[client].next;
    s->queue_n--;
    s->counts.now.waiting = s->queue_n;
    return client;
}

static void accept_one(ka_sim *s, uint32_t index)
{
    uint32_t most = s->config->max_connections;
    ka_sim_child *child = &s->children[index];

    child->connections++;
    child->accepted++;
    ka_sim_busy(s, index);
    ka_sim_accepted(s, dequeue(s), index);
    if (most > 0 && s->children[index].accepted >= most) {
        s->parent.children--;
        s->out->ended++;
        ka_sim_end_child(s, index);
    }
}

void ka_sim_dispatch(ka_sim *s)
{
    const ka_sim_indices *open = &s->lists[KA_SIM_OPEN];
    const ka_sim_indices *full = &s->lists[KA_SIM_FULL];

    while (s->queue_n > 0 && !s->failed) {
        while (full->n > 0) {
            wake(s, full->items[full->n - 1]);
        }
        if (open->n == 0) {
            break;
        }
        accept_one(s, open->items[ka_random_below(&s->random,
                                                  (uint32_t)open->n)]);
    }
    ka_sim_count_levels(s);
}

/* ---- the parent --------------------------------------------------------- */

/* On prefork an idle one; of the others any one reads the pipe first. */
static uint32_t child_to_end(ka_sim *s)
{
    bool prefork = s->config->spawn.mpm == KA_MPM_PREFORK;
    uint32_t start = ka_random_below(&s->random, (uint32_t)s->child_n);
    size_t i;

    for (i = 0; i < s->child_n; i++) {
        uint32_t index = (uint32_t)((start + i) % s->child_n);
        const ka_sim_child *child = &s->children[index];

        if (child->used && !child->ending && !(prefork && child->busy)) {
            return index;
        }
    }
    return KA_SIM_NONE;
}

bool ka_sim_maintain(ka_sim *s)
{
    uint32_t rate = s->parent.rate;
    uint32_t idle = s->free < UINT32_MAX ? (uint32_t)s->free : UINT32_MAX;
    int32_t change = ka_spawner_maintain(&s->parent, idle, &s->ending);

    if (change > 0) {
        s->out->spawned += (uint32_t)change;
        ka_sim_start(s, (uint32_t)change, s->config->child_start_us == 0);
    }
    else if (change < 0) {
        uint32_t index = child_to_end(s);

        s->out->ended++;
        if (index != KA_SIM_NONE) {
            ka_sim_end_child(s, index);
        }
    }
    ka_sim_dispatch(s);
    return change != 0 || rate != s->parent.rate;
}
