/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "levels.h"

#include <math.h>
#include <stdlib.h>

#include "erlang.h"

#define PERIOD_S 3600
/* Load changes over minutes; bursts of visitors are shorter.  Of 20 s to two
 * minutes this fits traces best. */
#define AROUND_S 120
#define AROUND 2
/* Shares of time above p99 and p99.9. */
#define P99_PARTS 100
#define P999_PARTS 1000

typedef struct moments {
    double mean, variance;
} moments;

typedef struct tally {
    const ka_levels *levels;
    const ka_levels_expected *expected;
    double ratio;     /* of means, wanted / present */
    double bias;      /* time-weighted mean / mean of maxima, <= 1 */
    double *around;   /* around[n]: mean level about each second */
    uint32_t *scaled; /* scaled[n]: levels at the wanted mean */
    uint32_t *counts; /* counts[most + 1]: seconds per level */
    size_t most;
} tally;

static double level_of(uint32_t value)
{
    return value < KA_LEVEL_MAX ? value : KA_LEVEL_MAX;
}

static moments moments_of(const uint32_t *values, size_t n)
{
    moments m = {0};
    size_t i;

    for (i = 0; i < n; i++) {
        m.mean += level_of(values[i]);
    }
    m.mean /= (double)n;
    for (i = 0; i < n; i++) {
        double d = level_of(values[i]) - m.mean;

        m.variance += d * d;
    }
    m.variance /= (double)n;
    return m;
}

static double z_of(const moments *m)
{
    return m->mean > 0 ? fmax(1, m->variance / m->mean) : 1;
}

/* Values that stand for so many seconds, but at least one. */
static size_t values_in(const ka_levels *levels, size_t seconds)
{
    size_t n = seconds / (levels->step_s ? levels->step_s : 1);

    return n ? n : 1;
}

/* Means of the time around each second, from running sums. */
static void fill_around(double *around, const ka_levels *levels)
{
    size_t half = values_in(levels, AROUND_S / 2);
    size_t n = levels->n, from = 0, to = 0, i;
    double sum = 0;

    for (i = 0; i < n; i++) {
        while (to < n && to <= i + half) {
            sum += level_of(levels->values[to++]);
        }
        while (from + half < i) {
            sum -= level_of(levels->values[from++]);
        }
        around[i] = sum / (double)(to - from);
    }
}

static double by_ratio(const tally *t, size_t second, double value)
{
    return t->around[second] * t->ratio +
           (value - t->around[second]) * sqrt(t->ratio);
}

/* What was seen beyond the expected. */
static double beyond_at(const tally *t, size_t second)
{
    return level_of(t->levels->values[second]) - t->expected->now[second];
}

/* The same of the seconds around. */
static double beyond_around(const tally *t, size_t second)
{
    size_t from = second > AROUND ? second - AROUND : 0, i;
    size_t to = second + AROUND + 1;
    double sum = 0;

    to = to < t->levels->n ? to : t->levels->n;
    for (i = from; i < to; i++) {
        sum += beyond_at(t, i);
    }
    return sum / (double)(to - from);
}

static double by_expected(const tally *t, size_t second, double busy)
{
    double now = t->expected->now[second] - busy;
    double to = t->expected->to[second] - busy;
    double around = beyond_around(t, second);
    double ratio = now > 0 && to > 0 ? to / now : 0;

    return busy + to + around * sqrt(ratio) +
           (beyond_at(t, second) - around) * ratio;
}

/* The level of one second at the wanted mean. */
static uint32_t scaled(const tally *t, size_t second)
{
    double value = level_of(t->levels->values[second]);
    double least =
        t->levels->at_least ? level_of(t->levels->at_least[second]) : 0;

    value = t->expected ? by_expected(t, second, least)
                    : by_ratio(t, second, value);
    value = round(fmax(value, least));
    return value < KA_LEVEL_MAX ? (uint32_t)value : KA_LEVEL_MAX;
}

/* Ends of periods: a last one of less than half is merged. */
static size_t period_end(size_t from, size_t n, size_t period)
{
    return n - from < period + period / 2 ? n : from + period;
}

static double most_in(const uint32_t *values, size_t n)
{
    uint32_t most = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        most = values[i] > most ? values[i] : most;
    }
    return most;
}

/* [M12] on the busiest period.  Maxima of longer steps hide the variance
 * within: workers are then no fewer than the period's peak. */
static void size_periods(ka_held *out, const tally *t)
{
    size_t period = values_in(t->levels, PERIOD_S), from, to;

    for (from = 0; from < t->levels->n; from = to) {
        double workers, mean;
        moments m;

        to = period_end(from, t->levels->n, period);
        m = moments_of(t->scaled + from, to - from);
        mean = m.mean * t->bias;
        workers = ka_workers_needed(mean, z_of(&m), KA_BLOCKING);
        if (t->levels->step_s > 1) {
            workers = fmax(workers, most_in(t->scaled + from, to - from));
        }
        if (workers > out->workers) {
            out->workers = workers;
            out->busiest_mean = mean;
            out->busiest_variance = mean * z_of(&m);
        }
    }
}

static apr_status_t scale(tally *t)
{
    size_t i;

    fill_around(t->around, t->levels);
    for (i = 0; i < t->levels->n; i++) {
        t->scaled[i] = scaled(t, i);
    }
    t->most = (size_t)most_in(t->scaled, t->levels->n);
    t->counts = calloc(t->most + 1, sizeof(*t->counts));
    if (t->counts == NULL) {
        return APR_ENOMEM;
    }
    for (i = 0; i < t->levels->n; i++) {
        t->counts[t->scaled[i]]++;
    }
    return APR_SUCCESS;
}

/* The smallest level that all but 1/parts of the seconds stay within. */
static double quantile_but(const tally *t, size_t parts)
{
    size_t above = t->levels->n, level;

    for (level = 0; level < t->most; level++) {
        above -= t->counts[level];
        if (above <= t->levels->n / parts) {
            break;
        }
    }
    return (double)level;
}

static void assume(ka_held *out, double mean)
{
    double workers = ka_workers_needed(mean, KA_LEVELS_Z, KA_BLOCKING);

    *out = (ka_held){.mean = mean,
                     .variance = mean * KA_LEVELS_Z,
                     .p99 = workers,
                     .p999 = workers,
                     .peak = workers,
                     .workers = workers};
}

static void summarize(ka_held *out, const tally *t)
{
    moments m = moments_of(t->scaled, t->levels->n);

    out->variance = m.mean > 0 ? out->mean * m.variance / m.mean : 0;
    size_periods(out, t);
    out->p99 = quantile_but(t, P99_PARTS);
    out->p999 = quantile_but(t, P999_PARTS);
    out->peak = (double)t->most;
}

apr_status_t ka_levels_held(ka_held *out, const ka_levels *levels,
                            const ka_levels_expected *expected, double mean_now,
                            double mean_to)
{
    tally t = {.levels = levels, .expected = expected};
    apr_status_t rv = APR_ENOMEM;
    double mean;

    if (levels->n == 0 || !(mean_now > 0)) {
        assume(out, mean_to);
        return APR_SUCCESS;
    }
    mean = moments_of(levels->values, levels->n).mean;
    t.ratio = mean_to / mean_now;
    t.bias = mean > mean_now ? mean_now / mean : 1;
    t.around = malloc(levels->n * sizeof(*t.around));
    t.scaled = malloc(levels->n * sizeof(*t.scaled));
    *out = (ka_held){.mean = mean_to};
    if (t.around && t.scaled) {
        rv = scale(&t);
    }
    if (rv == APR_SUCCESS) {
        summarize(out, &t);
    }
    free(t.around);
    free(t.scaled);
    free(t.counts);
    return rv;
}
