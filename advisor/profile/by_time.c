/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * MODEL 7.4: only times.  With fine stamps and service times a client's
 * requests are partitioned into channels, the latest free one first.  With
 * coarse ones nothing tells parallel requests from successive ones, so there
 * are two answers: one connection per client, all requests in a row (low);
 * and as many as browsers open, each used again only when it is surely free
 * (high).
 *
 * low <= high at every timeout: the low connection of a client ends where the
 * last of all its requests so far ends, also over a closed connection's end
 * (not_before), so when it has been idle for T, so has every high one; and
 * each closing response ends one connection on both sides.
 */
#include "array.h"
#include "channels.h"
#include "round_trip.h"

#include <stdlib.h>

/* ---- fine stamps -------------------------------------------------------- */

typedef struct fine {
    ka_grouping *g;
    ka_keymap streams;
    ka_round_trips trips;
    ka_channels *channels; /* of clients with a round trip, by client */
    ka_idle idle;          /* the free channels of the others */
} fine;

/* On the channel that ended last. */
static void group_latest(fine *f, size_t i)
{
    ka_grouping *g = f->g;
    const ka_request *r = &g->items[i];
    int64_t begin = ka_request_begin(r);
    uint32_t c;

    ka_idle_advance(&f->idle, begin);
    c = ka_idle_take(&f->idle, r->client,
                     begin - ka_request_reach(&g->rules, r) - g->rules.tick_us);
    if (c == KA_INDEX_NONE) {
        c = ka_grouping_open(g, i, begin);
    }
    else {
        ka_grouping_follow(g, i, c);
    }
    if (!g->conns[c].ended) {
        ka_idle_put(&f->idle, r->client, c,
                    g->conns[c].end_us - g->rules.tick_us);
    }
}

/* The same, but a channel is free a round trip later only.  With as many idle
 * ones as browsers open, the round trip was overrated: one is used. */
static void group_distant(fine *f, size_t i, ka_channels *channels,
                          int64_t free_us)
{
    ka_grouping *g = f->g;
    const ka_request *r = &g->items[i];
    int64_t begin = ka_request_begin(r);
    uint32_t at;

    ka_channels_expire(channels, begin - ka_request_reach(&g->rules, r));
    at = ka_channels_choose(channels, begin - free_us);
    if (at != KA_INDEX_NONE &&
        channels->end_us[at] <= begin + g->rules.tick_us) {
        ka_channels_follow(channels, g, i, at);
        return;
    }
    ka_channels_open(channels, g, i, begin);
}

static void group_fine(fine *f, size_t i)
{
    const ka_request *r = &f->g->items[i];
    uint32_t client = f->trips.client_of[i];

    if (r->flags & KA_REQ_HTTP2) {
        ka_grouping_stream(f->g, i, &f->streams);
    }
    else if (ka_request_alone(&f->g->rules, r)) {
        ka_grouping_alone(f->g, i);
    }
    else if (f->trips.free_us[client] > 0) {
        group_distant(f, i, &f->channels[client], f->trips.free_us[client]);
    }
    else {
        group_latest(f, i);
    }
}

void ka_group_by_time(ka_grouping *g)
{
    fine f = {.g = g};
    size_t i;

    ka_keymap_init(&f.streams);
    ka_idle_init(&f.idle, g->n);
    g->failed =
        ka_round_trips_find(&f.trips, g) != APR_SUCCESS || f.idle.failed;
    if (!g->failed && f.trips.any) {
        f.channels = ka_array_alloc(f.trips.client_n, sizeof(*f.channels));
        g->failed = f.channels == NULL;
    }
    for (i = 0; i < g->n && !g->failed; i++) {
        if (i + KA_KEYMAP_AHEAD < g->n) {
            ka_keymap_expect(&f.idle.tops,
                             g->items[i + KA_KEYMAP_AHEAD].client);
        }
        group_fine(&f, i);
    }
    g->failed = g->failed || f.idle.failed;
    free(f.channels);
    ka_round_trips_clear(&f.trips);
    ka_idle_clear(&f.idle);
    ka_keymap_clear(&f.streams);
}

/* ---- the two sides of the bracket --------------------------------------- */

typedef struct client_table {
    ka_keymap index; /* client -> row */
    ka_channels *rows;
    size_t n, size;
} client_table;

static ka_channels *client_row(client_table *table, uint64_t client)
{
    uint32_t *at = ka_keymap_at(&table->index, client, (uint32_t)table->n);

    if (at == NULL) {
        return NULL;
    }
    if (*at < table->n) {
        return &table->rows[*at];
    }
    if (table->n == table->size) {
        size_t wanted = table->size ? table->size * 2 : 256;
        ka_channels *grown = realloc(table->rows, wanted * sizeof(*grown));

        if (grown == NULL) {
            return NULL;
        }
        table->rows = grown;
        table->size = wanted;
    }
    table->rows[table->n] = (ka_channels){.last_end_us = INT64_MIN};
    return &table->rows[table->n++];
}

static void group_low(ka_grouping *g, ka_channels *row, size_t i)
{
    const ka_request *r = &g->items[i];
    int64_t begin = ka_request_begin(r), end = row->last_end_us;

    ka_channels_expire(row, begin - ka_request_reach(&g->rules, r));
    if (row->n == 0) {
        ka_channels_open(row, g, i, end > begin ? end : begin);
    }
    else {
        ka_channels_follow(row, g, i, 0);
    }
}

static void group_high(ka_grouping *g, ka_channels *row, size_t i)
{
    const ka_request *r = &g->items[i];
    int64_t begin = ka_request_begin(r);
    uint32_t at;

    ka_channels_expire(row, begin - ka_request_reach(&g->rules, r));
    at = ka_channels_choose(row, begin - g->rules.free_us);
    if (at == KA_INDEX_NONE) {
        ka_channels_open(row, g, i, begin);
    }
    else {
        ka_channels_follow(row, g, i, at);
    }
}

typedef void group_row_fn(ka_grouping *g, ka_channels *row, size_t i);

static void group_bracket(ka_grouping *g, group_row_fn *group_row)
{
    client_table clients = {.rows = NULL};
    ka_keymap streams;
    size_t i;

    ka_keymap_init(&clients.index);
    ka_keymap_init(&streams);
    for (i = 0; i < g->n && !g->failed; i++) {
        const ka_request *r = &g->items[i];
        ka_channels *row;

        if (i + KA_KEYMAP_AHEAD < g->n) {
            ka_keymap_expect(&clients.index, r[KA_KEYMAP_AHEAD].client);
        }
        if (r->flags & KA_REQ_HTTP2) {
            ka_grouping_stream(g, i, &streams);
            continue;
        }
        if (ka_request_alone(&g->rules, r)) {
            ka_grouping_alone(g, i);
            continue;
        }
        row = client_row(&clients, r->client);
        if (row == NULL) {
            g->failed = true;
            break;
        }
        group_row(g, row, i);
    }
    free(clients.rows);
    ka_keymap_clear(&clients.index);
    ka_keymap_clear(&streams);
}

void ka_group_by_time_low(ka_grouping *g)
{
    group_bracket(g, group_low);
}

void ka_group_by_time_high(ka_grouping *g)
{
    group_bracket(g, group_high);
}
