/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "tally_trace.h"

#include <stdlib.h>

#include "../model/sweep.h"
#include "array.h"
#include "connections_priv.h"
#include "profile_priv.h"
#include "tally_priv.h"

#define MS_US 1000

/* Requests of one class or vhost, and those of the second in hand. */
typedef struct lane {
    ka_tally_traffic *traffic;
    int64_t second;
    uint64_t count;
} lane;

/* Without a vhost: of a number that has no name. */
#define LANES (KA_TALLY_VHOSTS + KA_CLASS_N)

typedef struct counter {
    ka_tally *tally;
    const ka_traced *from;
    lane lanes[LANES]; /* classes, then vhosts */
    size_t lane_n;
    lane **of_vhost; /* of_vhost[info->vhost_n]; NULL: not seen yet */
    lane total;      /* without traffic */
} counter;

/* ---- requests ----------------------------------------------------------- */

static lane *find_lane(counter *c, uint32_t vhost)
{
    const char *name = c->from->info->vhosts[vhost];
    ka_tally_traffic *traffic = ka_tally_vhost(c->tally, name ? name : "");
    size_t i = 0;

    if (traffic == NULL) {
        return NULL;
    }
    while (i < c->lane_n && c->lanes[i].traffic != traffic) {
        i++;
    }
    c->lanes[i].traffic = traffic;
    c->lane_n += i == c->lane_n;
    return c->of_vhost[vhost] = &c->lanes[i];
}

static lane *vhost_of(counter *c, const ka_request *r)
{
    if (r->vhost >= c->from->info->vhost_n) {
        return NULL;
    }
    return c->of_vhost[r->vhost] ? c->of_vhost[r->vhost]
                                 : find_lane(c, r->vhost);
}

static lane *class_of(counter *c, const ka_request *r)
{
    return &c->lanes[r->cls < KA_CLASS_N ? r->cls : KA_CLASS_DYNAMIC];
}

static void close_second(lane *l, ka_hist *per_second, uint64_t *peak)
{
    if (l->count > 0) {
        ka_tally_second(per_second, peak, l->count);
        l->count = 0;
    }
}

/* Requests come in order, so one running second is enough. */
static void count_second(lane *l, ka_hist *per_second, uint64_t *peak,
                         const ka_request *r)
{
    int64_t second = ka_second_of(r->begin_us);

    if (second != l->second) {
        close_second(l, per_second, peak);
        l->second = second;
    }
    l->count++;
}

static void count_traffic(lane *l, const ka_request *r)
{
    ka_tally_traffic *t = l->traffic;

    count_second(l, &t->per_second, &t->peak_per_second, r);
    ka_tally_count_traffic(t, r->service_us, r->bytes);
}

static void count_request(counter *c, const ka_request *r)
{
    ka_tally *tally = c->tally;
    lane *vhost = vhost_of(c, r);

    tally->requests++;
    ka_tally_count_flags(tally, r->flags,
                         r->service_us < 0
                             ? -1
                             : ka_request_end(r) - ka_request_begin(r),
                         r->bytes);
    count_second(&c->total, &tally->per_second, &tally->peak_per_second, r);
    count_traffic(class_of(c, r), r);
    if (vhost != NULL) {
        count_traffic(vhost, r);
    }
    ka_distinct_add(&tally->clients, r->client);
    ka_distinct_add(&tally->addresses, r->address);
    ka_weights_add(&tally->weights, r->address, 1);
}

static void count_requests(counter *c)
{
    const ka_requests *all = c->from->requests, *served = c->from->served;
    size_t i;

    for (i = 0; i < all->n; i++) {
        c->tally->no_request += (all->items[i].flags & KA_REQ_NO_REQUEST) != 0;
    }
    for (i = 0; i < served->n; i++) {
        count_request(c, &served->items[i]);
    }
    close_second(&c->total, &c->tally->per_second, &c->tally->peak_per_second);
    for (i = 0; i < c->lane_n; i++) {
        ka_tally_traffic *t = c->lanes[i].traffic;

        close_second(&c->lanes[i], &t->per_second, &t->peak_per_second);
    }
}

/* A gap belongs to the request before it on the chain; longer ones than T0
 * lie between two connections. */
static bool count_gaps(counter *c, const ka_trace *trace)
{
    uint32_t *last = ka_array_alloc(trace->chain_n, sizeof(*last));
    size_t i;

    for (i = 0; last != NULL && i < trace->request_n; i++) {
        const ka_trace_request *t = &trace->requests[i];

        if (t->gap_us >= 0 && t->gap_us <= c->from->timeout_us) {
            const ka_request *before = &c->from->served->items[last[t->chain]];
            lane *vhost = vhost_of(c, before);
            uint64_t gap = (uint64_t)t->gap_us;

            ka_hist_add(&class_of(c, before)->traffic->gap, gap);
            if (vhost != NULL) {
                ka_hist_add(&vhost->traffic->gap, gap);
            }
        }
        last[t->chain] = (uint32_t)i;
    }
    free(last);
    return last != NULL;
}

static void start_lanes(counter *c)
{
    int i;

    for (i = 0; i < KA_CLASS_N; i++) {
        c->lanes[i].traffic = &c->tally->classes[i];
    }
    c->lane_n = KA_CLASS_N;
}

static apr_status_t count_traffics(ka_tally *tally, const ka_traced *from)
{
    counter *c = calloc(1, sizeof(*c));
    bool room = c != NULL;

    if (room) {
        c->tally = tally;
        c->from = from;
        c->of_vhost = ka_array_alloc(from->info->vhost_n, sizeof(*c->of_vhost));
        room = c->of_vhost != NULL;
    }
    if (room) {
        start_lanes(c);
        count_requests(c);
        room = count_gaps(c, &from->connections->low) && !tally->failed;
        free(c->of_vhost);
    }
    free(c);
    return room ? APR_SUCCESS : APR_ENOMEM;
}

/* ---- holders ------------------------------------------------------------ */

typedef struct holders {
    ka_tally_side *side;
    const ka_trace *trace;
    ka_occupancy *held; /* at the timeout in hand */
    int64_t settled_ms; /* instants before belong to no hour */
    uint32_t server;
    bool failed;
} holders;

static int64_t ms_of(int64_t us)
{
    return us / MS_US - (us % MS_US < 0);
}

/* Each instant is rounded by itself, so that no time is lost; what rounding
 * leaves nothing of may still have been the peak. */
static void add_span(ka_occupancy *o, holders *h, uint64_t count,
                     int64_t from_us, int64_t to_us, int64_t settled_ms)
{
    int64_t from = ms_of(from_us), to = ms_of(to_us), cut = from;

    if (from < settled_ms) {
        cut = to < settled_ms ? to : settled_ms;
        ka_occupancy_add_span(o, count, from, cut, h->server, false);
    }
    ka_occupancy_add_span(o, count, cut, to, h->server, true);
    o->peak = count > o->peak ? count : o->peak;
    h->failed |= o->failed;
}

static void add_busy(void *context, uint64_t count, int64_t from_us,
                     int64_t to_us)
{
    holders *h = context;

    add_span(&h->side->busy, h, count, from_us, to_us, INT64_MIN);
}

static void add_held(void *context, uint64_t count, int64_t from_us,
                     int64_t to_us)
{
    holders *h = context;

    add_span(h->held, h, count, from_us, to_us, h->settled_ms);
}

/* As sweep.h: at first those connections are missing that opened before. */
static void start_timeout(void *context, size_t i, const ka_outcome *counts,
                          uint64_t waits)
{
    holders *h = context;
    ka_tally_timeout *t = &h->side->timeouts[i];
    int64_t wait_us = counts->timeout_us > 0 ? counts->timeout_us : 0;
    int64_t most_us = ka_trace_window(h->trace) / 4;

    t->connections = counts->connections;
    t->waits = waits;
    t->idle_us = (uint64_t)counts->idle_us;
    h->held = &t->held;
    h->settled_ms =
        ms_of(h->trace->begin_us + (wait_us < most_us ? wait_us : most_us));
}

static void count_idle(ka_tally_side *side, const ka_trace *trace)
{
    size_t i;

    side->chains = trace->chain_n;
    for (i = 0; i < trace->request_n; i++) {
        const ka_trace_request *r = &trace->requests[i];

        side->busy_us = ka_add_saturated(
            side->busy_us, (uint64_t)(r->busy_to_us - r->busy_from_us));
        if (r->gap_us >= 0) {
            ka_hist_add(&side->gap, (uint64_t)r->gap_us);
        }
    }
    for (i = 0; i < trace->chain_n; i++) {
        ka_hist_add(&side->tail, (uint64_t)trace->tails[i].len_us);
    }
}

static apr_status_t count_side(ka_tally *tally, int side, const ka_trace *trace,
                               const ka_traced *from, const uint32_t *client_of,
                               size_t client_n)
{
    ka_tally_side *s = &tally->side[side];
    holders h = {
        .side = s, .trace = trace, .server = ka_occupancy_server(from->server)};
    const ka_sweep_visitor visitor = {.context = &h,
                                      .busy = add_busy,
                                      .timeout = start_timeout,
                                      .held = add_held};
    apr_status_t rv =
        ka_sweep_visit(&visitor, tally->timeouts, tally->timeout_n, trace);

    if (rv != APR_SUCCESS || h.failed) {
        return rv != APR_SUCCESS ? rv : APR_ENOMEM;
    }
    count_idle(s, trace);
    return ka_connection_hists(&s->lengths, &s->parallel, trace, client_of,
                               client_n, from->timeout_us);
}

static apr_status_t count_sides(ka_tally *tally, const ka_traced *from)
{
    const ka_connections *connections = from->connections;
    size_t client_n;
    uint32_t *client_of =
        ka_clients_number(&client_n, from->served->items, from->served->n);
    apr_status_t rv;

    if (client_of == NULL) {
        return APR_ENOMEM;
    }
    tally->bracket = connections->bracket;
    rv = count_side(tally, 0, &connections->low, from, client_of, client_n);
    if (rv == APR_SUCCESS && connections->bracket) {
        rv =
            count_side(tally, 1, &connections->high, from, client_of, client_n);
    }
    free(client_of);
    return rv;
}

/* ---- all of it ---------------------------------------------------------- */

static void copy_source(ka_tally *tally, const ka_traced *from)
{
    const ka_source_info *info = from->info;
    int i;

    tally->timeout_us = from->timeout_us;
    tally->identity = from->connections->identity;
    tally->clock_us = info->clock_us;
    tally->service_clock_us = info->service_clock_us;
    tally->lines = info->lines;
    tally->parsed = info->parsed;
    tally->skipped = info->skipped;
    tally->late = info->late;
    for (i = 0; i < KA_EXCLUDED_N; i++) {
        tally->excluded[i] = info->excluded[i];
    }
}

static apr_status_t copy_server(ka_tally *tally, const ka_traced *from)
{
    const ka_requests *served = from->served;
    ka_tally_server *server = ka_tally_server_at(tally, from->server);
    size_t i;

    if (server == NULL) {
        return APR_ENOMEM;
    }
    server->facts = *from->facts;
    if (served->n == 0) {
        return APR_SUCCESS;
    }
    server->first_us = server->last_us = ka_request_begin(&served->items[0]);
    for (i = 0; i < served->n; i++) {
        int64_t end = ka_request_end(&served->items[i]);

        server->last_us = end > server->last_us ? end : server->last_us;
    }
    server->window_us = (uint64_t)(server->last_us - server->first_us);
    tally->window_us = server->window_us;
    return APR_SUCCESS;
}

static apr_status_t count_part(ka_tally *part, const ka_traced *from)
{
    apr_status_t rv = copy_server(part, from);

    if (rv == APR_SUCCESS) {
        copy_source(part, from);
        rv = count_traffics(part, from);
    }
    if (rv == APR_SUCCESS && from->served->n > 0) {
        rv = count_sides(part, from);
        part->sample = ka_sample_of_connections(
            from->connections, from->served, part->timeouts, part->timeout_n);
        part->failed |= part->sample == NULL;
    }
    return rv;
}

apr_status_t ka_tally_add_trace(ka_tally *tally, const ka_traced *traced)
{
    ka_tally *part =
        ka_tally_make(tally->timeouts, tally->timeout_n, tally->pool);
    apr_status_t rv;

    if (part == NULL) {
        return APR_ENOMEM;
    }
    rv = count_part(part, traced);
    if (rv == APR_SUCCESS) {
        ka_tally_merge(tally, part);
        rv = tally->failed ? APR_ENOMEM : APR_SUCCESS;
    }
    ka_tally_free(part);
    return rv;
}
