/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A statistic is computed from the sums of a replicate, scaled to the whole
 * window:
 *
 *   stats  requests, S/W, knee, and of each T: N, reuse, H/W, (S+H)/W
 */
#include "intervals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capacity.h"

#define HOUR_S 3600.0

#define NORMAL_QUANTILE 1.6448536269514722

enum { OF_REQUESTS, OF_BUSY, OF_KNEE, OF_WINDOW };
enum { OF_OPENS, OF_REUSE, OF_IDLE, OF_HELD, OF_TIMEOUT };

typedef struct maker {
    size_t timeout_n;
    double delta;
    size_t width, stat_n;
    double *sums;        /* sums[KA_REPLICATES * width] */
    double *values;      /* values[stat_n * KA_REPLICATES] */
    double *total;       /* total[width]: of all pieces */
    ka_interval *stats;  /* stats[stat_n]; the widest so far */
    ka_outcome *scratch; /* scratch[timeout_n] */
} maker;

double ka_interval_width(ka_interval interval, double number)
{
    return number > 0 ? (interval.high - interval.low) / 2 / number : 0;
}

/* ---- statistics --------------------------------------------------------- */

/* Of the sums of one replicate, which stand for the whole window. */
static void compute_stats(const maker *m, const double *sum, size_t r)
{
    const double weight = sum[KA_PIECE_WEIGHT];
    const double scale = m->total[KA_PIECE_WEIGHT] / weight;
    const double requests = sum[KA_PIECE_REQUESTS] * scale;
    const double busy = sum[KA_PIECE_BUSY];
    const double *opens = sum + KA_PIECE_NUMBERS;
    const double *idle = opens + m->timeout_n;
    double *at = m->values + r;
    size_t j;

    for (j = 0; j < m->timeout_n; j++) {
        double *of = at + (OF_WINDOW + j * OF_TIMEOUT) * KA_REPLICATES;

        of[OF_OPENS * KA_REPLICATES] = opens[j] * scale;
        of[OF_REUSE * KA_REPLICATES] =
            requests > 0 ? 1 - opens[j] * scale / requests : 0;
        of[OF_IDLE * KA_REPLICATES] = idle[j] / weight;
        of[OF_HELD * KA_REPLICATES] = (busy + idle[j]) / weight;
        m->scratch[j].connections = (uint64_t)(opens[j] * scale);
        m->scratch[j].requests = (uint64_t)requests;
    }
    at[OF_REQUESTS * KA_REPLICATES] = requests;
    at[OF_BUSY * KA_REPLICATES] = busy / weight;
    at[OF_KNEE * KA_REPLICATES] =
        (double)m->scratch[ka_knee(m->scratch, m->timeout_n, m->delta)]
            .timeout_us;
}

static void widen(ka_interval *into, ka_interval interval)
{
    if (!(into->high - into->low >= interval.high - interval.low)) {
        *into = interval;
    }
}

static void resample(maker *m, const ka_piece_rows *pieces)
{
    const size_t outside = ka_resample_outside(pieces->effective);
    size_t r, i;

    ka_piece_rows_total(m->total, pieces, m->timeout_n);
    ka_resample(m->sums, pieces->rows, pieces->n, m->width);
    for (r = 0; r < KA_REPLICATES; r++) {
        compute_stats(m, m->sums + r * m->width, r);
    }
    for (i = 0; i < m->stat_n; i++) {
        widen(&m->stats[i],
              ka_resample_interval(m->values + i * KA_REPLICATES, outside));
    }
}

static bool are_enough(const ka_piece_rows *pieces)
{
    return pieces->n > 0 && pieces->effective >= KA_UNITS_MIN;
}

/* stats becomes the intervals of one side; says in out by what. */
static void resample_side(maker *m, ka_intervals *out, const ka_pieces *pieces)
{
    size_t i;

    for (i = 0; i < m->stat_n; i++) {
        m->stats[i] = (ka_interval){NAN, NAN};
    }
    out->groups = out->blocks = 0;
    out->block_us = pieces->block_us;
    if (are_enough(&pieces->visitors)) {
        out->groups = (size_t)pieces->visitors.effective;
        resample(m, &pieces->visitors);
    }
    if (are_enough(&pieces->blocks)) {
        out->blocks = pieces->blocks.n;
        resample(m, &pieces->blocks);
    }
}

/* ---- workers ------------------------------------------------------------ */

/* c at a mean of q times A, whose bursts keep their z (levels.h). */
static double workers_at(double workers, double mean, double q)
{
    q = fmax(q, 0);
    return mean * q + (workers - mean) * sqrt(q);
}

/* mean: the interval of the mean over the window, which is not A; but taken for
 * it where the busiest hour is not told apart. */
static ka_interval workers_of(const ka_held *held, ka_interval mean,
                              double held_s, double window_s)
{
    const bool told = held->busiest_mean > 0;
    const double a = told ? held->busiest_mean : held->mean;
    const double variance = told ? held->busiest_variance : held->variance;
    const double c = held->workers;
    double drift, shift, spread, low, high;

    if (!(a > 0) || !(held->mean > 0) || !(window_s > 0)) {
        return (ka_interval){c, c};
    }
    drift = NORMAL_QUANTILE * sqrt(2 * held_s / fmin(window_s, HOUR_S));
    shift = sqrt(variance) * drift / a;
    spread = (c - a) * (sqrt(1 + drift) - 1);
    low = c - workers_at(c, a, fmin(mean.low / held->mean, 1 - shift));
    high = workers_at(c, a, fmax(mean.high / held->mean, 1 + shift)) - c;
    return (ka_interval){fmax(c - hypot(low, spread), 0),
                         c + hypot(high, spread)};
}

/* How long one holder stays in the mean. */
static double held_s(double mean, double per_s)
{
    return per_s > 0 ? mean / per_s : 0;
}

/* ---- both sides --------------------------------------------------------- */

static void join(ka_interval *into, ka_interval interval, bool first)
{
    into->low = first ? interval.low : fmin(into->low, interval.low);
    into->high = first ? interval.high : fmax(into->high, interval.high);
}

/* Holders of a trace's window are cut off at its end (sweep.h), sums are not,
 * and sums know neither handshakes nor lingering closes: the intervals of means
 * are as the outcome's means. */
static ka_interval around(ka_interval interval, double from, double to)
{
    const double ratio = from > 0 ? to / from : 1;

    return (ka_interval){interval.low * ratio, interval.high * ratio};
}

static double total_held(const maker *m, size_t j)
{
    return (m->total[KA_PIECE_BUSY] +
            m->total[KA_PIECE_NUMBERS + m->timeout_n + j]) /
           m->total[KA_PIECE_WEIGHT];
}

static void take_timeout(ka_timeout_intervals *to, const maker *m, size_t j,
                         const ka_outcome *o, bool first)
{
    const ka_interval *stats = m->stats + OF_WINDOW + j * OF_TIMEOUT;
    const double held = total_held(m, j);

    join(&to->connections, stats[OF_OPENS], first);
    join(&to->reuse, stats[OF_REUSE], first);
    join(&to->idle_mean, stats[OF_IDLE], first);
    join(&to->held_mean, around(stats[OF_HELD], held, o->held_mean), first);
    join(&to->held_workers,
         workers_of(&o->held, around(stats[OF_HELD], held, o->held.mean),
                    held_s(o->held_mean, o->connections_per_s), o->window_s),
         first);
}

static void take_side(ka_intervals *out, const maker *m, const ka_outcome *o,
                      bool first)
{
    const ka_interval busy =
        around(m->stats[OF_BUSY],
               m->total[KA_PIECE_BUSY] / m->total[KA_PIECE_WEIGHT],
               o->busy_mean);
    size_t j;

    for (j = 0; j < m->timeout_n; j++) {
        take_timeout(&out->timeouts[j], m, j, &o[j], first);
    }
    join(&out->requests, m->stats[OF_REQUESTS], first);
    join(&out->busy_mean, busy, first);
    join(&out->busy_workers,
         workers_of(&o->busy, busy,
                    held_s(o->busy_mean, (double)o->requests / o->window_s),
                    o->window_s),
         first);
    /* Advice is from the high side, which comes last. */
    out->knee_us = m->stats[OF_KNEE];
}

static bool maker_init(maker *m, const ka_outcome *outcomes, size_t n,
                       double delta)
{
    size_t j;

    *m = (maker){.timeout_n = n,
                 .delta = delta,
                 .width = ka_pieces_width(n),
                 .stat_n = OF_WINDOW + n * OF_TIMEOUT};
    m->sums = malloc(KA_REPLICATES * m->width * sizeof(*m->sums));
    m->values = malloc(KA_REPLICATES * m->stat_n * sizeof(*m->values));
    m->total = calloc(m->width, sizeof(*m->total));
    m->stats = malloc(m->stat_n * sizeof(*m->stats));
    m->scratch = calloc(n, sizeof(*m->scratch));
    for (j = 0; m->scratch && j < n; j++) {
        m->scratch[j].timeout_us = outcomes[j].timeout_us;
    }
    return m->sums && m->values && m->total && m->stats && m->scratch;
}

static void maker_clear(maker *m)
{
    free(m->sums);
    free(m->values);
    free(m->total);
    free(m->stats);
    free(m->scratch);
}

static bool make_side(maker *m, ka_intervals *out, const ka_pieces *pieces,
                      const ka_outcome *outcomes, bool first)
{
    resample_side(m, out, pieces);
    if (out->groups == 0 && out->blocks == 0) {
        return false;
    }
    take_side(out, m, outcomes, first);
    return true;
}

apr_status_t ka_intervals_make(ka_intervals *out,
                               const ka_pieces *const pieces[2],
                               const ka_outcome *low, const ka_outcome *high,
                               size_t n, double delta, apr_pool_t *pool)
{
    apr_status_t rv = APR_ENOMEM;
    maker m;

    if (n == 0 || pieces[0]->timeout_n != n ||
        (high != low && pieces[1]->timeout_n != n)) {
        return APR_EINVAL;
    }
    *out = (ka_intervals){
        .timeouts = apr_pcalloc(pool, n * sizeof(*out->timeouts))};
    if (maker_init(&m, low, n, delta)) {
        rv = make_side(&m, out, pieces[0], low, true) &&
                     (high == low ||
                      make_side(&m, out, pieces[1], high, false))
                 ? APR_SUCCESS
                 : APR_INCOMPLETE;
    }
    maker_clear(&m);
    return rv;
}
