/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "live_pieces.h"

#include <math.h>

#include "../model/random.h"
#include "sample.h"

/* ---- by time ------------------------------------------------------------- */

/* What opens and what comes again, at a timeout: how much of N and H goes with
 * either. */
typedef struct shares {
    double opens_n, again_n;
    double opens_us, again_us;
} shares;

static shares shares_at(const ka_led *led, size_t j)
{
    const ka_outcome *o = &led->outcomes[j];
    const double opens = (double)o->connections;
    const double now = (double)led->outcomes[led->now].connections;
    const double idle_us = (double)o->idle_us;
    double waited_us = 0;
    size_t i;

    for (i = 0; i < led->traffic->part_n && o->timeout_us > 0; i++) {
        waited_us +=
            ka_hist_part_waited(&led->traffic->parts[i], o->timeout_us);
    }
    waited_us = fmin(waited_us, idle_us);
    return (shares){.opens_n = fmin(opens, now),
                    .again_n = fmax(0, opens - now),
                    .opens_us = idle_us - waited_us,
                    .again_us = waited_us};
}

static double again_of(const ka_span_counts *span)
{
    return fmax(0, span->requests - span->connections);
}

static double share_of(double part, double of)
{
    return of > 0 ? part / of : 0;
}

static void set_row(double *row, const ka_span_counts *span,
                    const ka_span_counts *all, double again,
                    const shares *at, size_t timeout_n)
{
    const double opens = share_of(span->connections, all->connections);
    const double more = share_of(again_of(span), again);
    size_t j;

    row[KA_PIECE_WEIGHT] = span->covered_us;
    row[KA_PIECE_REQUESTS] = span->requests;
    row[KA_PIECE_BUSY] = span->requests;
    for (j = 0; j < timeout_n; j++) {
        row[KA_PIECE_NUMBERS + j] =
            at[j].opens_n * opens + at[j].again_n * more;
        row[KA_PIECE_NUMBERS + timeout_n + j] =
            at[j].opens_us * opens + at[j].again_us * more;
    }
}

void ka_spans_rows(ka_piece_rows *out, const ka_span_counts *spans, size_t n,
                   const ka_led *led, apr_pool_t *pool)
{
    shares *at = apr_palloc(pool, (led->n + 1) * sizeof(*at));
    ka_span_counts all = {0};
    double again = 0, most_us = 0;
    size_t i;

    *out = ka_piece_rows_make(n, led->n, pool);
    for (i = 0; i < n; i++) {
        all.covered_us += spans[i].covered_us;
        most_us = fmax(most_us, spans[i].covered_us);
        all.requests += spans[i].requests;
        all.connections += spans[i].connections;
        again += again_of(&spans[i]);
    }
    if (!(all.requests > 0) || !(all.connections > 0)) {
        out->n = 0;
        return;
    }
    for (i = 0; i < led->n; i++) {
        at[i] = shares_at(led, i);
    }
    for (i = 0; i < n; i++) {
        set_row(out->rows + i * ka_pieces_width(led->n), &spans[i], &all,
                again, at, led->n);
    }
    ka_piece_rows_drop_empty(out, led->n);
    out->effective = fmin(all.covered_us / most_us, (double)out->n);
    ka_piece_rows_fit(out, led->outcomes, led->n);
}

/* ---- the history --------------------------------------------------------- */

#define SECOND_US INT64_C(1000000)

static int64_t floor_of(int64_t at, int64_t length)
{
    return at / length - (at % length < 0);
}

static void cut_history(ka_pieces *out, const ka_live *live,
                        const ka_led *led, apr_pool_t *pool)
{
    const double covered_us = (double)live->history_n * (double)SECOND_US;
    const int64_t times =
        ka_pieces_together(covered_us / (double)KA_SAMPLE_BLOCK_US);
    const int64_t length_us = times * KA_SAMPLE_BLOCK_US;
    ka_span_counts *spans;
    int64_t first;
    size_t n, i;

    if (live->narrowed || times == 0) {
        return;
    }
    first = floor_of(live->history[0].at, length_us);
    n = live->history_n / (size_t)(length_us / SECOND_US) + 2;
    spans = apr_pcalloc(pool, n * sizeof(*spans));
    for (i = 0; i < live->history_n; i++) {
        const ka_second *second = &live->history[i];
        const int64_t at = floor_of(second->at, length_us) - first;

        if (at >= 0 && at < (int64_t)n) {
            spans[at].covered_us += (double)SECOND_US;
            spans[at].requests += second->requests;
            spans[at].connections += second->connections;
        }
    }
    ka_spans_rows(&out->blocks, spans, n, led, pool);
    out->block_us = length_us;
}

/* ---- the latest connections ---------------------------------------------- */

/* So many gaps of a connection are drawn one by one: their number beyond a
 * timeout then varies as it does.  Of more than these their mean will do. */
#define DRAWN_MOST 64

#define SEED UINT64_C(0x6c61746573746b61)

/* All gaps of the segment, and what is asked of them for each connection. */
typedef struct gaps {
    double below[KA_HIST_BINS + 1]; /* below[i]: gaps in bins before i */
    double mean_us[KA_HIST_BINS];   /* of each bin */
    ka_hist all;
    double *above, *capped; /* [timeout_n]: at each timeout */
    ka_random random;
} gaps;

static gaps *gaps_of(const ka_live *live, const ka_led *led, apr_pool_t *pool)
{
    gaps *g = apr_pcalloc(pool, sizeof(*g));
    size_t i, j;

    ka_stats_classes(&g->all, live->total, KA_QUANTITY_GAP);
    for (i = 0; i < KA_HIST_BINS; i++) {
        const ka_hist_bin *bin = &g->all.bins[i];

        g->below[i + 1] = g->below[i] + (double)bin->count;
        g->mean_us[i] =
            bin->count ? (double)bin->sum / (double)bin->count : 0;
    }
    g->above = apr_palloc(pool, (led->n + 1) * sizeof(*g->above));
    g->capped = apr_palloc(pool, (led->n + 1) * sizeof(*g->capped));
    for (j = 0; j < led->n; j++) {
        const int64_t us = led->outcomes[j].timeout_us;

        g->above[j] = us < 0 ? g->below[KA_HIST_BINS]
                             : ka_hist_count_above(&g->all, (uint64_t)us);
        g->capped[j] = us < 0 ? 0 : ka_hist_sum_capped(&g->all, (uint64_t)us);
    }
    g->random.state = SEED;
    return g;
}

static void add_gap(double *row, const ka_led *led, double gap_us)
{
    size_t j;

    for (j = 0; j < led->n; j++) {
        const int64_t timeout_us = led->outcomes[j].timeout_us;
        const double us = fmax(0, (double)timeout_us);

        row[KA_PIECE_NUMBERS + j] += timeout_us < 0 || gap_us > us;
        row[KA_PIECE_NUMBERS + led->n + j] += fmin(gap_us, us);
    }
}

/* The gap of a rank, from 0 to less than all of them. */
static double gap_at(const gaps *g, double rank)
{
    size_t low = 0, high = KA_HIST_BINS - 1;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (g->below[middle + 1] > rank) {
            high = middle;
        }
        else {
            low = middle + 1;
        }
    }
    return g->mean_us[low];
}

static void add_mean(double *row, const gaps *g, const ka_led *led,
                     double others, double longest_us, double above)
{
    const double capped = ka_hist_sum_capped(&g->all, (uint64_t)longest_us);
    const double each =
        others / fmax(g->below[KA_HIST_BINS] - above, 1);
    size_t j;

    for (j = 0; j < led->n; j++) {
        const double us = fmax(0, (double)led->outcomes[j].timeout_us);
        const bool all = led->outcomes[j].timeout_us < 0;

        row[KA_PIECE_NUMBERS + j] +=
            all ? others : each * fmax(0, g->above[j] - above);
        row[KA_PIECE_NUMBERS + led->n + j] +=
            each * fmax(0, us < longest_us
                               ? g->capped[j] - us * above
                               : capped - longest_us * above);
    }
}

/* So many gaps up to the longest one, any of the segment's. */
static void add_others(double *row, gaps *g, const ka_led *led,
                       uint32_t others, double longest_us)
{
    const double above = ka_hist_count_above(&g->all, (uint64_t)longest_us);
    const double below = g->below[KA_HIST_BINS] - above;
    uint32_t i;

    if (others > DRAWN_MOST) {
        add_mean(row, g, led, others, longest_us, above);
        return;
    }
    for (i = 0; i < others; i++) {
        add_gap(row, led,
                fmin(longest_us,
                     gap_at(g, ka_random_unit(&g->random) * below)));
    }
}

/* A chain's first request and its tail. */
static void add_ends(double *row, const ka_segment_recent *r,
                     const ka_led *led)
{
    const bool waited = r->reason == KA_REASON_IDLE_TIMEOUT;
    size_t j;

    for (j = 0; j < led->n; j++) {
        const double us = fmax(0, (double)led->outcomes[j].timeout_us);

        row[KA_PIECE_NUMBERS + j]++;
        row[KA_PIECE_NUMBERS + led->n + j] +=
            waited ? us : fmin((double)r->tail_us, us);
    }
}

static void add_recent(double *row, const ka_segment_recent *r, gaps *g,
                       const ka_led *led)
{
    const double longest_us =
        fmin((double)r->longest_gap_us, (double)KA_HIST_MAX);

    row[KA_PIECE_WEIGHT] = 1; /* each group's as any other's */
    row[KA_PIECE_REQUESTS] += r->requests;
    row[KA_PIECE_BUSY] += (double)r->service_us;
    add_ends(row, r, led);
    if (r->requests > 1) {
        add_gap(row, led, longest_us);
        add_others(row, g, led, r->requests - 2, longest_us);
    }
}

static bool is_among(const ka_live *live, const ka_segment_recent *r)
{
    size_t i;

    for (i = 0; i < live->vhost_n && live->narrowed; i++) {
        if (live->vhosts[i].vhost == &live->snapshot.vhosts[r->vhost]) {
            return true;
        }
    }
    return !live->narrowed;
}

static void cut_recent(ka_pieces *out, const ka_live *live, const ka_led *led,
                       apr_pool_t *pool)
{
    const size_t width = ka_pieces_width(led->n);
    gaps *g = gaps_of(live, led, pool);
    ka_piece_rows *rows = &out->visitors;
    double seen = 0;
    size_t i;

    *rows = ka_piece_rows_make(KA_SAMPLE_GROUPS, led->n, pool);
    for (i = 0; i < live->recent_n; i++) {
        const ka_segment_recent *r = &live->recent[i];

        if (r->requests > 0 && is_among(live, r)) {
            add_recent(rows->rows + ka_sample_group(r->client_hash) * width,
                       r, g, led);
        }
    }
    for (i = 0; i < rows->n; i++) {
        seen += rows->rows[i * width + KA_PIECE_WEIGHT];
        rows->rows[i * width + KA_PIECE_WEIGHT] = 1;
    }
    rows->effective = seen;
    ka_piece_rows_fit(rows, led->outcomes, led->n);
}

void ka_live_pieces(ka_pieces *out, const ka_live *live, const ka_led *led,
                    apr_pool_t *pool)
{
    *out = (ka_pieces){.timeout_n = led->n};
    cut_recent(out, live, led, pool);
    cut_history(out, live, led, pool);
}
