/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What the model takes of a server that Prometheus knows, and of several. */
#include "prom_traffic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Beyond it a time is none (ten years). */
#define OVER_MAX_S 3e8

/* Steps for each piece of the line. */
#define PIECE_STEPS 8

static int compare_points(const void *a, const void *b)
{
    double x = ((const ka_prom_point *)a)->bound;
    double y = ((const ka_prom_point *)b)->bound;

    return (x > y) - (x < y);
}

/* Shares never rise, and bounds are finite. */
static ka_prom_points falling(const ka_prom_points *from, apr_pool_t *pool)
{
    ka_prom_points to = {
        .items = apr_palloc(pool, (from->n + 1) * sizeof(*to.items))};
    double share = 1;
    size_t i;

    for (i = 0; i < from->n; i++) {
        if (from->items[i].bound > 0 && from->items[i].bound < OVER_MAX_S) {
            to.items[to.n++] = from->items[i];
        }
    }
    qsort(to.items, to.n, sizeof(*to.items), compare_points);
    for (i = 0; i < to.n; i++) {
        share = fmin(share, to.items[i].value);
        to.items[i].value = share;
    }
    return to;
}

/* Each step stands in the middle of its part of the line. */
static size_t add_piece(int64_t *over_us, double *shares,
                        const ka_prom_point *a, const ka_prom_point *b)
{
    int k;

    for (k = 0; k < PIECE_STEPS; k++) {
        double at = (k + 0.5) / PIECE_STEPS, after = (k + 1.0) / PIECE_STEPS;

        over_us[k] = (int64_t)((a->bound + (b->bound - a->bound) * at) * 1e6);
        shares[k] = a->value + (b->value - a->value) * after;
    }
    return PIECE_STEPS;
}

void ka_prom_survival(ka_survival *out, const ka_prom_points *not_returned,
                      apr_pool_t *pool)
{
    ka_prom_points points = falling(not_returned, pool);
    size_t room = points.n * PIECE_STEPS + 1, n = 0, i;
    int64_t *over_us = apr_palloc(pool, room * sizeof(*over_us));
    double *shares = apr_palloc(pool, room * sizeof(*shares));
    ka_prom_point before = {0, 1};

    for (i = 0; i < points.n; i++) {
        n += add_piece(over_us + n, shares + n, &before, &points.items[i]);
        before = points.items[i];
    }
    *out = (ka_survival){.over_us = over_us, .share = shares, .n = n};
}

void ka_prom_traffic(ka_hist_traffic *out, const ka_live *live,
                     const ka_prom_server *server, int64_t step_s,
                     apr_pool_t *pool)
{
    uint32_t step = step_s > 0 && step_s < UINT32_MAX ? (uint32_t)step_s : 1;

    ka_live_traffic(out, live, pool);
    out->open.step_s = out->busy.step_s = step;
    /* Steps are longer than idle times: they do not tell who waits. */
    out->open.requests = out->open.connections = NULL;
    ka_prom_survival(&out->survival, &server->not_returned, pool);
}

/* ---- pieces --------------------------------------------------------------- */

/* The first block's end, and how many there are up to the last one: all end a
 * multiple of block_s later. */
static size_t count_blocks(int64_t *first_s,
                           const ka_prom_server *const *servers, size_t n,
                           int64_t block_s)
{
    int64_t last_s = INT64_MIN;
    size_t i;

    *first_s = INT64_MAX;
    for (i = 0; i < n; i++) {
        const ka_prom_step *blocks = servers[i]->blocks;
        const size_t own = servers[i]->block_n;

        if (own > 0) {
            *first_s = blocks[0].at_s < *first_s ? blocks[0].at_s : *first_s;
            last_s = blocks[own - 1].at_s > last_s ? blocks[own - 1].at_s
                                                   : last_s;
        }
    }
    if (last_s < *first_s || block_s <= 0) {
        return 0;
    }
    return (size_t)fmin((double)((last_s - *first_s) / block_s + 1),
                        KA_PROM_POINTS_MAX);
}

static void add_blocks(ka_span_counts *spans, size_t n,
                       const ka_prom_server *server, int64_t first_s,
                       int64_t block_s)
{
    size_t i;

    for (i = 0; i < server->block_n; i++) {
        const ka_prom_step *block = &server->blocks[i];
        const int64_t at = (block->at_s - first_s) / block_s;

        if (at < (int64_t)n) {
            spans[at].covered_us += (double)block_s * 1e6;
            spans[at].requests += block->requests;
            spans[at].connections +=
                fmax(0, block->requests - block->reused);
        }
    }
}

void ka_prom_pieces(ka_pieces *out, const ka_prom_server *const *servers,
                    size_t n, int64_t block_s, const ka_led *led,
                    apr_pool_t *pool)
{
    int64_t first_s;
    const size_t span_n = count_blocks(&first_s, servers, n, block_s);
    ka_span_counts *spans = apr_pcalloc(pool, (span_n + 1) * sizeof(*spans));
    size_t i;

    *out = (ka_pieces){.timeout_n = led->n, .block_us = block_s * 1000000};
    if (span_n > 0) {
        for (i = 0; i < n; i++) {
            add_blocks(spans, span_n, servers[i], first_s, block_s);
        }
        ka_spans_rows(&out->blocks, spans, span_n, led, pool);
    }
}

/* ---- several servers ------------------------------------------------------ */

static size_t levels_of(const ka_hist_traffic *const *traffic, size_t n)
{
    size_t sum = 0, i;

    for (i = 0; i < n; i++) {
        sum += traffic[i]->open.n;
    }
    return sum;
}

static void join_levels(ka_hist_traffic *out,
                        const ka_hist_traffic *const *traffic, size_t n,
                        apr_pool_t *pool)
{
    size_t room = levels_of(traffic, n) + 1, done = 0, i;
    uint32_t *open = apr_palloc(pool, room * sizeof(*open));
    uint32_t *busy = apr_palloc(pool, room * sizeof(*busy));
    uint32_t step_s = 1;

    for (i = 0; i < n; i++) {
        const ka_hist_traffic *t = traffic[i];

        if (t->open.n) {
            memcpy(open + done, t->open.values, t->open.n * sizeof(*open));
            memcpy(busy + done, t->busy.values, t->open.n * sizeof(*busy));
            done += t->open.n;
            step_s = t->open.step_s;
        }
    }
    out->open = (ka_levels){
        .values = open, .at_least = busy, .n = done, .step_s = step_s};
    out->busy = (ka_levels){.values = busy, .n = done, .step_s = step_s};
}

static double cut_of(const ka_hist_traffic *t)
{
    double cut = 0;
    size_t i;

    for (i = 0; i < t->part_n; i++) {
        cut += (double)t->parts[i].cut;
    }
    return cut;
}

static bool same_times(const ka_survival *a, const ka_survival *b)
{
    return a->n == b->n &&
           !memcmp(a->over_us, b->over_us, a->n * sizeof(*a->over_us));
}

/* The mean of those that stand at the same times, by what T0 cut. */
static void join_survival(ka_survival *out,
                          const ka_hist_traffic *const *traffic, size_t n,
                          apr_pool_t *pool)
{
    const ka_survival *first = NULL;
    double *shares = NULL, cut = 0;
    size_t i, k;

    for (i = 0; i < n; i++) {
        const ka_survival *s = &traffic[i]->survival;
        double own = cut_of(traffic[i]);

        if (s->n == 0 || own <= 0 || (first && !same_times(first, s))) {
            continue;
        }
        shares = shares ? shares : apr_pcalloc(pool, s->n * sizeof(*shares));
        first = first ? first : s;
        cut += own;
        for (k = 0; k < s->n; k++) {
            shares[k] += (s->share[k] - shares[k]) * own / cut;
        }
    }
    if (first) {
        *out = (ka_survival){
            .over_us = first->over_us, .share = shares, .n = first->n};
    }
}

static double opens_of(const ka_hist_traffic *t)
{
    double opens = 0;
    size_t i;

    for (i = 0; i < t->part_n; i++) {
        opens += (double)t->parts[i].opens;
    }
    return opens;
}

void ka_prom_traffic_join(ka_hist_traffic *out,
                          const ka_hist_traffic *const *traffic, size_t n,
                          apr_pool_t *pool)
{
    ka_hist_part *parts;
    size_t part_n = 0, i;
    double opens = 0;

    *out = (ka_hist_traffic){0};
    for (i = 0; i < n; i++) {
        part_n += traffic[i]->part_n;
    }
    out->parts = parts = apr_palloc(pool, (part_n + 1) * sizeof(*parts));
    for (i = 0; i < n; i++) {
        const ka_hist_traffic *t = traffic[i];

        if (t->part_n) {
            memcpy(parts + out->part_n, t->parts, t->part_n * sizeof(*parts));
        }
        out->part_n += t->part_n;
        out->busy_us += t->busy_us;
        out->accept_us += t->accept_us * opens_of(t);
        out->cold_us += t->cold_us;
        opens += opens_of(t);
        out->linger_us += t->linger_us;
        out->lazy_us += t->lazy_us;
        out->drain_us += t->drain_us;
        if (t->linger_off_us > out->linger_off_us) {
            out->linger_off_us = t->linger_off_us;
        }
        out->server_closes += t->server_closes;
        out->window_s += t->window_s;
    }
    out->accept_us = opens > 0 ? out->accept_us / opens : 0;
    join_levels(out, traffic, n, pool);
    join_survival(&out->survival, traffic, n, pool);
}
