/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A unit is a row of additive numbers; a statistic is computed from the sums
 * of a replicate, scaled to the whole window:
 *
 *   unit   weight | requests | S | N[0] .. | H[0] ..
 *   stats  requests, S/W, knee, and of each T: N, reuse, H/W, (S+H)/W
 */
#include "intervals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capacity.h"

#define HOUR_S 3600.0

#define NORMAL_QUANTILE 1.6448536269514722

enum { WEIGHT, REQUESTS, BUSY, ADDITIVE };
enum { OF_REQUESTS, OF_BUSY, OF_KNEE, OF_WINDOW };
enum { OF_OPENS, OF_REUSE, OF_IDLE, OF_HELD, OF_TIMEOUT };

typedef struct maker {
    const ka_sample *sample;
    size_t timeout_n;
    double delta;
    double window_us;
    size_t width, stat_n;
    double *units;        /* units[max(groups, blocks) * width] */
    double *sums;         /* sums[KA_REPLICATES * width] */
    double *values;       /* values[stat_n * KA_REPLICATES] */
    ka_interval *stats;   /* stats[stat_n]; the widest so far */
    ka_outcome *scratch;  /* scratch[timeout_n] */
} maker;

double ka_interval_width(ka_interval interval, double number)
{
    return number > 0 ? (interval.high - interval.low) / 2 / number : 0;
}

/* ---- units -------------------------------------------------------------- */

static double *opens_of(double *unit)
{
    return unit + ADDITIVE;
}

static double *idle_of(const maker *m, double *unit)
{
    return unit + ADDITIVE + m->timeout_n;
}

/* Requests are those of the low side. */
static void set_unit(const maker *m, double *unit, const ka_sample_side *low,
                     const ka_sample_side *side, double weight)
{
    unit[WEIGHT] = weight;
    unit[REQUESTS] = (double)low->requests;
    unit[BUSY] = (double)side->busy_us;
    ka_sample_evaluate(opens_of(unit), idle_of(m, unit), m->sample, side);
}

/* @return those with traffic */
static size_t units_of_groups(maker *m, int side)
{
    size_t i, n = 0;

    for (i = 0; i < KA_SAMPLE_GROUPS; i++) {
        const ka_sample_side *low = ka_sample_group_side(m->sample, i, 0);

        set_unit(m, m->units + i * m->width, low,
                 ka_sample_group_side(m->sample, i, side),
                 m->window_us / KA_SAMPLE_GROUPS);
        n += low->requests > 0;
    }
    return n;
}

/* The part of [from, to) that the window covers. */
static double covered(const ka_sample *s, int64_t from_us, int64_t to_us)
{
    const int64_t from = from_us > s->begin_us ? from_us : s->begin_us;
    const int64_t to = to_us < s->end_us ? to_us : s->end_us;

    return to > from ? (double)(to - from) : 0;
}

/* Blocks of length_us, a multiple of the sample's. @return their number */
static size_t units_of_blocks(maker *m, int side, int64_t length_us,
                              double *unit)
{
    const ka_sample *s = m->sample;
    const size_t n = ka_sample_block_n(s);
    const int64_t times = length_us / s->block_us;
    const int64_t first = s->first / times - (s->first % times < 0);
    size_t i, v, last = 0;

    memset(m->units, 0, KA_SAMPLE_BLOCKS * m->width * sizeof(*m->units));
    for (i = 0; i < n; i++) {
        const int64_t at = s->first + (int64_t)i;
        double *into;

        last = (size_t)(at / times - (at % times < 0) - first);
        into = m->units + last * m->width;
        set_unit(m, unit, ka_sample_block_side(s, i, 0),
                 ka_sample_block_side(s, i, side),
                 covered(s, at * s->block_us, (at + 1) * s->block_us));
        for (v = 0; v < m->width; v++) {
            into[v] += unit[v];
        }
    }
    return last + 1;
}

/* ---- statistics --------------------------------------------------------- */

/* Of the sums of one replicate, which stand for the whole window. */
static void compute_stats(const maker *m, const double *sum, size_t r)
{
    const double scale = m->window_us / sum[WEIGHT];
    const double requests = sum[REQUESTS] * scale;
    const double *opens = sum + ADDITIVE, *idle = opens + m->timeout_n;
    double *at = m->values + r;
    size_t j;

    for (j = 0; j < m->timeout_n; j++) {
        double *of = at + (OF_WINDOW + j * OF_TIMEOUT) * KA_REPLICATES;

        of[OF_OPENS * KA_REPLICATES] = opens[j] * scale;
        of[OF_REUSE * KA_REPLICATES] =
            requests > 0 ? 1 - opens[j] * scale / requests : 0;
        of[OF_IDLE * KA_REPLICATES] = idle[j] / sum[WEIGHT];
        of[OF_HELD * KA_REPLICATES] = (sum[BUSY] + idle[j]) / sum[WEIGHT];
        m->scratch[j].connections = (uint64_t)(opens[j] * scale);
        m->scratch[j].requests = (uint64_t)requests;
    }
    at[OF_REQUESTS * KA_REPLICATES] = requests;
    at[OF_BUSY * KA_REPLICATES] = sum[BUSY] / sum[WEIGHT];
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

static void resample(maker *m, size_t n, double effective)
{
    const size_t outside = ka_resample_outside(effective);
    size_t r, i;

    ka_resample(m->sums, m->units, n, m->width);
    for (r = 0; r < KA_REPLICATES; r++) {
        compute_stats(m, m->sums + r * m->width, r);
    }
    for (i = 0; i < m->stat_n; i++) {
        widen(&m->stats[i],
              ka_resample_interval(m->values + i * KA_REPLICATES, outside));
    }
}

/* ---- how ---------------------------------------------------------------- */

/* Blocks as long as there can be enough of them; 0: there are none. */
static int64_t block_length(const ka_sample *s, double window_us)
{
    const double block_us = (double)s->block_us;
    const double times = floor(window_us / (block_us * KA_BLOCKS_WANTED));

    if (window_us < block_us * KA_UNITS_MIN) {
        return 0;
    }
    return s->block_us * (int64_t)fmax(times, 1);
}

/* stats becomes the intervals of one side; says in out by what. */
static void resample_side(maker *m, ka_intervals *out, int side)
{
    const int64_t length_us = block_length(m->sample, m->window_us);
    const size_t groups = units_of_groups(m, side);
    size_t i;

    for (i = 0; i < m->stat_n; i++) {
        m->stats[i] = (ka_interval){NAN, NAN};
    }
    out->groups = groups >= KA_UNITS_MIN ? groups : 0;
    if (out->groups) {
        resample(m, KA_SAMPLE_GROUPS, (double)groups);
    }
    out->block_us = length_us;
    if (length_us) {
        out->blocks = units_of_blocks(m, side, length_us, m->sums);
        resample(m, out->blocks, m->window_us / (double)length_us);
    }
}

/* ---- workers ------------------------------------------------------------ */

/* c at a mean of q times A, whose bursts keep their z (levels.h). */
static double workers_at(double workers, double mean, double q)
{
    q = fmax(q, 0);
    return mean * q + (workers - mean) * sqrt(q);
}

/* mean: the interval of the mean over the window, which is not A. */
static ka_interval workers_of(const ka_held *held, ka_interval mean,
                              double held_s, double window_s)
{
    const double c = held->workers, a = held->busiest_mean;
    double drift, shift, spread, low, high;

    if (!(a > 0) || !(held->mean > 0) || !(window_s > 0)) {
        return (ka_interval){c, c};
    }
    drift = NORMAL_QUANTILE * sqrt(2 * held_s / fmin(window_s, HOUR_S));
    shift = sqrt(held->busiest_variance) * drift / a;
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

/* Holders of a trace's window are cut off at its end (sweep.h), sums are not;
 * the intervals of means are as the outcome's means. */
static ka_interval around(ka_interval interval, double from, double to)
{
    const double ratio = from > 0 ? to / from : 1;

    return (ka_interval){interval.low * ratio, interval.high * ratio};
}

static void take_timeout(ka_timeout_intervals *to, const ka_interval *stats,
                         const ka_outcome *o, bool first)
{
    const ka_interval held =
        around(stats[OF_HELD], o->held_mean, o->held.mean);

    join(&to->connections, stats[OF_OPENS], first);
    join(&to->reuse, stats[OF_REUSE], first);
    join(&to->idle_mean, stats[OF_IDLE], first);
    join(&to->held_mean, stats[OF_HELD], first);
    join(&to->held_workers,
         workers_of(&o->held, held,
                    held_s(o->held_mean, o->connections_per_s), o->window_s),
         first);
}

static void take_side(ka_intervals *out, const maker *m, const ka_outcome *o,
                      bool first)
{
    size_t j;

    for (j = 0; j < m->timeout_n; j++) {
        take_timeout(&out->timeouts[j],
                     m->stats + OF_WINDOW + j * OF_TIMEOUT, &o[j], first);
    }
    join(&out->requests, m->stats[OF_REQUESTS], first);
    join(&out->busy_mean, m->stats[OF_BUSY], first);
    join(&out->busy_workers,
         workers_of(&o->busy, m->stats[OF_BUSY],
                    held_s(o->busy_mean, (double)o->requests / o->window_s),
                    o->window_s),
         first);
    /* Advice is from the high side, which comes last. */
    out->knee_us = m->stats[OF_KNEE];
}

static bool maker_init(maker *m, const ka_sample *sample, double delta)
{
    const size_t n = sample->timeout_n;
    size_t j;

    *m = (maker){.sample = sample,
                 .timeout_n = n,
                 .delta = delta,
                 .window_us = (double)(sample->end_us - sample->begin_us),
                 .width = ADDITIVE + 2 * n,
                 .stat_n = OF_WINDOW + n * OF_TIMEOUT};
    m->units = malloc(KA_SAMPLE_BLOCKS * m->width * sizeof(*m->units));
    m->sums = malloc(KA_REPLICATES * m->width * sizeof(*m->sums));
    m->values = malloc(KA_REPLICATES * m->stat_n * sizeof(*m->values));
    m->stats = malloc(m->stat_n * sizeof(*m->stats));
    m->scratch = calloc(n, sizeof(*m->scratch));
    for (j = 0; m->scratch && j < n; j++) {
        m->scratch[j].timeout_us = sample->timeouts[j];
    }
    return m->units && m->sums && m->values && m->stats && m->scratch;
}

static void maker_clear(maker *m)
{
    free(m->units);
    free(m->sums);
    free(m->values);
    free(m->stats);
    free(m->scratch);
}

static bool same_timeouts(const ka_sample *sample, const ka_outcome *outcomes,
                          size_t n)
{
    size_t j;

    for (j = 0; j < n && j < sample->timeout_n; j++) {
        if (sample->timeouts[j] != outcomes[j].timeout_us) {
            return false;
        }
    }
    return n > 0 && n == sample->timeout_n;
}

apr_status_t ka_intervals_make(ka_intervals *out, const ka_sample *sample,
                               const ka_outcome *low, const ka_outcome *high,
                               size_t n, double delta, apr_pool_t *pool)
{
    maker m;
    bool room;

    if (!same_timeouts(sample, low, n)) {
        return APR_EINVAL;
    }
    if (sample->end_us <= sample->begin_us) {
        return APR_INCOMPLETE;
    }
    *out = (ka_intervals){
        .timeouts = apr_pcalloc(pool, n * sizeof(*out->timeouts))};
    room = maker_init(&m, sample, delta);
    if (room) {
        resample_side(&m, out, 0);
        take_side(out, &m, low, true);
    }
    if (room && high != low) {
        resample_side(&m, out, 1);
        take_side(out, &m, high, false);
    }
    maker_clear(&m);
    if (!room) {
        return APR_ENOMEM;
    }
    return out->groups || out->blocks ? APR_SUCCESS : APR_INCOMPLETE;
}
