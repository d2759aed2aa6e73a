/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The clock and the clients.  A chain has one event at most: as its response
 * ends it is known what its client does next and when the server would close.
 * If the connection is closed before by something else, that event finds it
 * gone and goes on from there.
 */
#include "sim_priv.h"

#include <stdlib.h>
#include <string.h>

/* Beyond that TCP's pauses between attempts do not double any more. */
#define PAUSE_DOUBLINGS 7

int64_t ka_sim_add(int64_t a, int64_t b)
{
    int64_t sum;

    if (__builtin_add_overflow(a, b, &sum)) {
        return a < 0 ? INT64_MIN : INT64_MAX;
    }
    return sum;
}

void ka_sim_push(ka_sim *s, int64_t at, ka_sim_kind kind, uint32_t id)
{
    if (!ka_sim_heap_push(&s->heap, at, kind, id)) {
        s->failed = true;
    }
}

static const ka_sim_request *request_of(const ka_sim *s, uint32_t client)
{
    return &s->traffic->requests[s->clients[client].request];
}

static bool has_more(const ka_sim_client *c)
{
    return c->request + 1 < c->end;
}

/* ---- connecting --------------------------------------------------------- */

/* accept_us ahead of the request, if its client is free by then. */
static void connect_for(ka_sim *s, uint32_t client)
{
    ka_sim_client *c = &s->clients[client];
    int64_t at = ka_sim_add(c->due, -s->config->accept_us);

    c->attempts = 0;
    ka_sim_push(s, at > s->now ? at : s->now, KA_SIM_CONNECT, client);
}

/* The request is lost; its client goes on with the next one. */
static void give_up(ka_sim *s, uint32_t client)
{
    ka_sim_client *c = &s->clients[client];

    s->out->given_up += request_of(s, client)->requests;
    if (has_more(c)) {
        c->request++;
        c->due = ka_sim_add(s->now, request_of(s, client)->gap_us);
        connect_for(s, client);
    }
}

static void attempt(ka_sim *s, uint32_t client)
{
    ka_sim_client *c = &s->clients[client];
    unsigned doublings =
        c->attempts < PAUSE_DOUBLINGS ? c->attempts : PAUSE_DOUBLINGS;

    if (c->attempts == 0) {
        c->came = s->now;
    }
    if (ka_sim_enqueue(s, client)) {
        ka_sim_dispatch(s);
        return;
    }
    s->out->refused++;
    ka_sim_point_now(s)->refused++;
    if (c->attempts >= s->config->retries) {
        give_up(s, client);
        return;
    }
    c->attempts++;
    ka_sim_push(s, ka_sim_add(s->now, KA_SIM_SECOND << doublings),
                KA_SIM_CONNECT, client);
}

/* ---- serving ------------------------------------------------------------ */

static void serve(ka_sim *s, uint32_t client, int64_t from)
{
    const ka_sim_request *r = request_of(s, client);
    ka_outcome *o = &s->out->outcome;

    o->requests += r->requests;
    o->busy_us = ka_sim_add(o->busy_us, r->busy_us);
    ka_sim_push(s, ka_sim_add(from, r->busy_us), KA_SIM_END, client);
}

void ka_sim_accepted(ka_sim *s, uint32_t client, uint32_t child)
{
    ka_sim_client *c = &s->clients[client];
    int64_t wait = ka_sim_add(s->now, -c->came);

    c->child = child;
    c->served = 0;
    c->timeout_us = s->policy.other_us;
    s->out->outcome.connections++;
    if (wait > 0) {
        s->out->waited++;
        ka_sim_time(s, &s->counts.waits, wait);
    }
    ka_sim_count_wave(s, c->came, wait);
    s->counts.now.connections++;
    ka_sim_time(s, &s->counts.held_up, s->now);
    ka_sim_time(s, &s->counts.busy_up, s->now);
    serve(s, client, ka_sim_add(s->now, s->config->accept_us));
}

/* ---- closing ------------------------------------------------------------ */

/* The client has no connection any more; on prefork and worker that frees the
 * worker, after it has waited for the client's close. */
static void close_held(ka_sim *s, uint32_t client, bool by_server)
{
    ka_sim_client *c = &s->clients[client];
    uint32_t child = c->child;
    bool lingers = by_server && !s->event && ka_sim_is_calm(s, child);
    int64_t linger = lingers ? s->config->linger_us : 0;

    c->child = KA_SIM_NONE;
    s->counts.server_closes += by_server;
    s->counts.now.connections--;
    ka_sim_closed(s, child);
    if (linger > 0) {
        ka_sim_push(s, ka_sim_add(s->now, linger), KA_SIM_LINGER, child);
        return;
    }
    ka_sim_time(s, &s->counts.held_down, s->now);
    if (!s->event) {
        ka_sim_free(s, child);
    }
    ka_sim_left(s, child);
}

static void linger_over(ka_sim *s, uint32_t child)
{
    ka_sim_time(s, &s->counts.held_down, s->now);
    ka_sim_free(s, child);
    ka_sim_left(s, child);
    ka_sim_dispatch(s);
}

static void count_idle(ka_sim *s, const ka_sim_client *c)
{
    int64_t idle = ka_sim_add(s->now, -c->idle_from);

    if (idle > 0) {
        s->out->outcome.idle_us = ka_sim_add(s->out->outcome.idle_us, idle);
    }
}

void ka_sim_cut(ka_sim *s, uint32_t client, ka_sim_why why)
{
    uint64_t *const counts[] = {[KA_SIM_EVICTED] = &s->out->evicted,
                                [KA_SIM_RETIRED] = &s->out->retired,
                                [KA_SIM_BY_LOAD] = &s->out->cut_waits};

    count_idle(s, &s->clients[client]);
    ka_sim_idle_take(s, client);
    ++*counts[why];
    ka_sim_point_now(s)->evicted += why == KA_SIM_EVICTED;
    close_held(s, client, true);
}

/* The client's next request, where its connection is closed. */
static void go_on(ka_sim *s, uint32_t client)
{
    if (has_more(&s->clients[client])) {
        s->clients[client].request++;
        connect_for(s, client);
    }
}

/* ---- what happens ------------------------------------------------------- */

static bool server_closes(const ka_sim *s, const ka_sim_client *c)
{
    uint32_t most = s->config->max_requests;

    return c->timeout_us < 0 || s->children[c->child].ending ||
           (most > 0 && c->served > most);
}

/* Idle until the next request, the timeout or the client's own close. */
static void wait_idle(ka_sim *s, uint32_t client, int64_t gap)
{
    ka_sim_client *c = &s->clients[client];
    bool reused = has_more(c) && gap <= c->timeout_us;
    int64_t wait = gap < c->timeout_us ? gap : c->timeout_us;

    if (s->listed) {
        ka_sim_idle_put(s, client);
        ka_sim_watch(s, c->child);
    }
    ka_sim_push(s, ka_sim_add(c->idle_from, wait),
                reused ? KA_SIM_REQUEST : KA_SIM_CLOSE, client);
}

static void response_ends(ka_sim *s, uint32_t client)
{
    ka_sim_client *c = &s->clients[client];
    uint32_t child = c->child;
    int64_t gap = has_more(c) ? s->traffic->requests[c->request + 1].gap_us
                              : s->traffic->chains[client].tail_us;
    bool full = ka_sim_is_full(s, child);

    c->served++;
    c->timeout_us = ka_policy_next(&s->policy, c->timeout_us,
                                   request_of(s, client)->cls);
    c->idle_from = ka_sim_add(s->now, request_of(s, client)->lag_us);
    c->due = ka_sim_add(c->idle_from, gap);
    ka_sim_time(s, &s->counts.busy_down, s->now);
    if (s->event) {
        ka_sim_free(s, child);
    }
    if (server_closes(s, c) || full) {
        s->out->closed_full += full && !server_closes(s, c);
        close_held(s, client, true);
        go_on(s, client);
    }
    else {
        wait_idle(s, client, gap);
    }
    ka_sim_dispatch(s);
}

static void request_comes(ka_sim *s, uint32_t client)
{
    ka_sim_client *c = &s->clients[client];

    c->request++;
    if (c->child == KA_SIM_NONE) {
        connect_for(s, client);
        return;
    }
    if (s->event && !ka_sim_worker_for(s, c->child)) {
        s->out->dropped++;
        ka_sim_point_now(s)->dropped++;
        connect_for(s, client);
        ka_sim_dispatch(s);
        return;
    }
    count_idle(s, c);
    if (s->listed) {
        ka_sim_idle_take(s, client);
    }
    if (s->event) {
        ka_sim_busy(s, c->child);
    }
    ka_sim_time(s, &s->counts.busy_up, s->now);
    serve(s, client, s->now);
    ka_sim_dispatch(s);
}

static void idle_ends(ka_sim *s, uint32_t client)
{
    ka_sim_client *c = &s->clients[client];
    bool timed_out = c->due > s->now;

    if (c->child != KA_SIM_NONE) {
        count_idle(s, c);
        if (s->listed) {
            ka_sim_idle_take(s, client);
        }
        s->out->outcome.timeout_closes += timed_out;
        close_held(s, client, timed_out);
    }
    go_on(s, client);
    ka_sim_dispatch(s);
}

static void child_ready(ka_sim *s, uint32_t child)
{
    ka_sim_ready(s, child);
    ka_sim_dispatch(s);
}

/* ---- the clock ---------------------------------------------------------- */

typedef void happens_fn(ka_sim *s, uint32_t id);

static happens_fn *const happens[] = {
    [KA_SIM_END] = response_ends,     [KA_SIM_LINGER] = linger_over,
    [KA_SIM_READY] = child_ready,     [KA_SIM_REQUEST] = request_comes,
    [KA_SIM_CLOSE] = idle_ends,       [KA_SIM_LOOK] = ka_sim_look,
    [KA_SIM_RESTART] = ka_sim_restart,
    [KA_SIM_CONNECT] = attempt};

/* Chains come in order, so that only those begun are in the heap. */
static void let_come(ka_sim *s)
{
    while (s->arrived < s->traffic->chain_n && !s->failed) {
        const ka_sim_chain *chain = &s->traffic->chains[s->arrived];
        int64_t at = ka_sim_add(chain->start_us, -s->config->accept_us);

        if (s->heap.n > 0 && s->heap.events[0].at < at) {
            break;
        }
        s->clients[s->arrived] =
            (ka_sim_client){.request = chain->first,
                            .end = chain->first + chain->n,
                            .child = KA_SIM_NONE};
        ka_sim_push(s, at, KA_SIM_CONNECT, (uint32_t)s->arrived++);
    }
}

static int64_t second_after(const ka_sim *s, int64_t at)
{
    int64_t over = ka_sim_add(at, -s->traffic->begin_us) % KA_SIM_SECOND;

    return over > 0 ? ka_sim_add(at, KA_SIM_SECOND - over) : at;
}

/* The parent's seconds before `at`.  While nothing changes they change
 * nothing, and are passed over. */
static int64_t maintain_until(ka_sim *s, int64_t tick, int64_t at)
{
    while (tick < at && !s->failed) {
        bool more;

        ka_sim_count_until(s, tick);
        s->now = tick;
        more = ka_sim_maintain(s);
        let_come(s);
        /* What it lets in may be over before `at`. */
        at = s->heap.n > 0 && s->heap.events[0].at < at ? s->heap.events[0].at
                                                        : at;
        tick = ka_sim_add(tick, KA_SIM_SECOND);
        if (!more && tick < at) {
            tick = second_after(s, at);
        }
    }
    return tick;
}

/* What is left in the queue when no child is there to come, and what these
 * clients would have wanted after it. */
static void leave_queue(ka_sim *s)
{
    while (s->queue_n > 0) {
        ka_sim_client *c = &s->clients[s->queue_first];

        s->queue_first = c->next;
        s->queue_n--;
        for (; c->request < c->end; c->request++) {
            s->out->given_up += s->traffic->requests[c->request].requests;
        }
    }
}

/* Children that are to come take a few seconds of the parent; that they never
 * come is not possible, but shall not be a loop without end either. */
#define SECONDS_WITHOUT_EVENT 100

static void run(ka_sim *s)
{
    int64_t tick = s->traffic->begin_us + KA_SIM_SECOND;
    int alone = 0;

    let_come(s);
    while (!s->failed && (s->heap.n > 0 || s->queue_n > 0)) {
        bool empty = s->heap.n == 0;
        int64_t at = empty ? ka_sim_add(tick, 1) : s->heap.events[0].at;

        if (empty || tick < at) {
            alone = empty ? alone + 1 : 0;
            if (alone > SECONDS_WITHOUT_EVENT) {
                break;
            }
            tick = maintain_until(s, tick, at);
        }
        else {
            ka_sim_event event = ka_sim_heap_pop(&s->heap);

            ka_sim_count_until(s, event.at);
            s->now = event.at;
            happens[event.kind](s, event.id);
            let_come(s);
        }
    }
    leave_queue(s);
    maintain_until(s, tick, s->traffic->end_us);
}

/* ---- all of it ---------------------------------------------------------- */

static void clear(ka_sim *s)
{
    size_t i;

    for (i = 0; i < KA_SIM_LISTS; i++) {
        free(s->lists[i].items);
    }
    free(s->spare.items);
    free(s->children);
    free(s->clients);
    free(s->heap.events);
    ka_sim_count_clear(s);
}

apr_status_t ka_sim_run(ka_sim_result *out, const ka_sim_config *config,
                        const ka_sim_traffic *traffic, uint64_t seed,
                        apr_pool_t *pool)
{
    ka_sim_config own;
    ka_sim s = {.traffic = traffic,
                .out = out,
                .random = {seed},
                .idle = {KA_SIM_NONE, KA_SIM_NONE, false}};
    apr_status_t rv;

    memset(out, 0, sizeof(*out));
    if (!ka_sim_config_valid(config)) {
        return APR_EINVAL;
    }
    own = ka_sim_config_within(config);
    s.config = &own;
    s.policy = ka_sim_policy_of(config);
    s.event = own.spawn.mpm == KA_MPM_EVENT;
    s.listed = s.event || own.adaptive;
    s.now = traffic->begin_us;
    s.parent = ka_spawner_of(&own.spawn);
    s.clients = malloc((traffic->chain_n + 1) * sizeof(*s.clients));
    s.failed = !s.clients || traffic->chain_n >= KA_SIM_NONE ||
               !ka_sim_count_begin(&s, pool);
    ka_sim_start(&s, s.parent.children, true);
    ka_sim_count_levels(&s);
    ka_sim_expect_restart(&s);
    run(&s);
    rv = s.failed ? APR_ENOMEM : ka_sim_count_end(&s);
    out->outcome.timeout_us = ka_policy_longest(&s.policy);
    clear(&s);
    return rv;
}
