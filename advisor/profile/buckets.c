/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "buckets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values from a histogram's last bound on, where nothing else tells. */
#define LAST_WIDTH 2.0
/* Largest count that a double holds exactly. */
#define COUNT_MAX 9e15

/* One bucket: whole numbers in [low, high). */
typedef struct cell {
    double low, high;
    double count;
    double limited; /* taken out of it: values at the limit */
    double mean;
    bool ends_sum; /* sum is told up to high */
    double sum_up_to;
} cell;

/* ---- points in order ---------------------------------------------------- */

static int compare_points(const void *a, const void *b)
{
    double x = ((const ka_prom_point *)a)->bound;
    double y = ((const ka_prom_point *)b)->bound;

    return (x > y) - (x < y);
}

/* Ascending bounds, each once: two spellings of one bound are two series that
 * add up.  Values never fall. */
static ka_prom_points in_order(const ka_prom_points *from, apr_pool_t *pool)
{
    ka_prom_points to = {
        .items = apr_palloc(pool, (from->n + 1) * sizeof(*to.items))};
    size_t i;

    if (from->n) {
        memcpy(to.items, from->items, from->n * sizeof(*to.items));
        qsort(to.items, from->n, sizeof(*to.items), compare_points);
    }
    for (i = 0; i < from->n; i++) {
        if (to.n > 0 && to.items[to.n - 1].bound == to.items[i].bound) {
            to.items[to.n - 1].value += to.items[i].value;
        }
        else {
            to.items[to.n++] = to.items[i];
        }
    }
    for (i = 1; i < to.n; i++) {
        to.items[i].value = fmax(to.items[i].value, to.items[i - 1].value);
    }
    return to;
}

/* ---- cells -------------------------------------------------------------- */

/* The first whole number above an inclusive bound. */
static double edge_of(double bound, double scale)
{
    return fmin(round(bound * scale) + 1, (double)KA_HIST_MAX);
}

static void find_sum(cell *c, const ka_prom_points *sums, double bound,
                     double scale)
{
    size_t i;

    for (i = 0; i < sums->n && sums->items[i].bound <= bound; i++) {
        if (sums->items[i].bound == bound) {
            c->ends_sum = true;
            c->sum_up_to = sums->items[i].value * scale;
        }
    }
}

/* @return how many; the last one ends the sum of all */
static size_t cells_of(cell *cells, const ka_prom_histogram *in, double scale,
                       apr_pool_t *pool)
{
    ka_prom_points points = in_order(&in->buckets, pool);
    ka_prom_points sums = in_order(&in->sums, pool);
    double low = 0, below = 0;
    size_t i;

    for (i = 0; i < points.n; i++) {
        double count = fmin(round(points.items[i].value), COUNT_MAX);
        cell *c = &cells[i];

        *c = (cell){.low = low,
                    .high = isinf(points.items[i].bound)
                                ? fmin(low * LAST_WIDTH + 1, KA_HIST_MAX)
                                : edge_of(points.items[i].bound, scale),
                    .count = count - below};
        c->high = fmax(c->high, c->low + 1);
        find_sum(c, &sums, points.items[i].bound, scale);
        low = c->high;
        below = count;
    }
    if (points.n) {
        cells[points.n - 1].ends_sum = true;
        cells[points.n - 1].sum_up_to = in->sum * scale;
    }
    return points.n;
}

/* ---- values at the limit ------------------------------------------------ */

/* Takes them out, down to the bucket that the limit lies in: what is larger is
 * late. @return how many */
static uint64_t take_limited(cell *cells, size_t n,
                             const ka_bucket_options *options)
{
    double limit = (double)options->limit, taken = 0, sum = 0;
    double last = limit + (double)options->slack;
    size_t i;

    for (i = n; i-- > 0 && options->limit >= 0;) {
        cell *c = &cells[i];

        if (c->high > limit && c->low <= last) {
            c->limited = fmin(c->count, (double)options->at_limit - taken);
            c->count -= c->limited;
            taken += c->limited;
        }
    }
    for (i = 0; i < n; i++) {
        sum += cells[i].limited * fmax(limit, cells[i].low);
        cells[i].sum_up_to = fmax(0, cells[i].sum_up_to - sum);
    }
    return (uint64_t)taken;
}

/* Nothing else lies above the limit, in the bucket that it lies in. */
static void narrow(cell *cells, size_t n, int64_t limit)
{
    size_t i;

    for (i = 0; i < n && limit >= 0; i++) {
        if (cells[i].low <= (double)limit && cells[i].high > (double)limit) {
            cells[i].high = (double)limit + 1;
        }
    }
}

/* ---- means -------------------------------------------------------------- */

/* Of cells[n] that add up to sum. */
static void share_sum(cell *cells, size_t n, double sum)
{
    double least = 0, width = 0, share;
    size_t i;

    for (i = 0; i < n; i++) {
        least += cells[i].count * cells[i].low;
        width += cells[i].count * (cells[i].high - 1 - cells[i].low);
    }
    share = width > 0 ? (sum - least) / width : 0;
    share = fmin(fmax(share, 0), 1);
    for (i = 0; i < n; i++) {
        cells[i].mean =
            cells[i].low + share * (cells[i].high - 1 - cells[i].low);
    }
}

static void set_means(cell *cells, size_t n)
{
    double before = 0;
    size_t from = 0, i;

    for (i = 0; i < n; i++) {
        if (cells[i].ends_sum) {
            share_sum(cells + from, i + 1 - from, cells[i].sum_up_to - before);
            before = cells[i].sum_up_to;
            from = i + 1;
        }
    }
}

/* ---- into bins ---------------------------------------------------------- */

static void add_bin(ka_hist *h, size_t bin, uint64_t count, double each)
{
    h->bins[bin].count += count;
    h->bins[bin].sum += (uint64_t)llround((double)count * fmax(each, 0));
}

/* What lies in a bin of count values that lie evenly over [from, to), and all
 * together in the bins up to it. */
typedef struct part {
    double middle;
    uint64_t up_to;
    bool last;
} part;

static part part_of(size_t bin, double from, double to, double count)
{
    double low = fmax(from, (double)ka_hist_bin_low(bin));
    double high = fmin(to, (double)ka_hist_bin_low(bin + 1));
    bool last = high >= to || bin + 1 == KA_HIST_BINS;

    return (part){
        .middle = (low + high - 1) / 2,
        .up_to = last ? (uint64_t)count
                      : (uint64_t)round(count * (high - from) / (to - from)),
        .last = last};
}

/* The first time to see what whole counts make of the sum, the second time
 * with each moved by the difference. */
static void add_evenly(ka_hist *h, double from, double to, double count,
                       double mean)
{
    size_t first = ka_hist_bin_index((uint64_t)from), bin;
    double sum = 0;
    uint64_t done = 0;
    part p = {0};

    for (bin = first; bin < KA_HIST_BINS && !p.last; bin++) {
        p = part_of(bin, from, to, count);
        sum += (double)(p.up_to - done) * p.middle;
        done = p.up_to;
    }
    done = 0;
    p.last = false;
    for (bin = first; bin < KA_HIST_BINS && !p.last; bin++) {
        p = part_of(bin, from, to, count);
        add_bin(h, bin, p.up_to - done, p.middle + mean - sum / count);
        done = p.up_to;
    }
}

static void add_cell(ka_hist *h, const cell *c)
{
    double about = fmin(c->mean - c->low, c->high - 1 - c->mean);

    if (c->count <= 0) {
        return;
    }
    if (about < 1) {
        add_bin(h, ka_hist_bin_index((uint64_t)c->mean), (uint64_t)c->count,
                c->mean);
        return;
    }
    add_evenly(h, c->mean - about, c->mean + about + 1, c->count, c->mean);
}

void ka_buckets_spread(ka_hist *out, const ka_prom_histogram *in,
                       const ka_bucket_options *options, apr_pool_t *pool)
{
    cell *cells = apr_pcalloc(pool, (in->buckets.n + 1) * sizeof(*cells));
    size_t n, i;
    uint64_t limited;

    ka_hist_init(out);
    n = cells_of(cells, in, options->scale, pool);
    limited = take_limited(cells, n, options);
    narrow(cells, n, options->limit);
    set_means(cells, n);
    for (i = 0; i < n; i++) {
        add_cell(out, &cells[i]);
    }
    if (limited) {
        ka_hist_add_n(out, (uint64_t)options->limit, limited);
    }
}
