/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "live_curve.h"

#include <math.h>
#include <string.h>

#include <ka_ticks.h>

#include "../model/erlang.h"
#include "../model/levels.h"

/* Three seconds: fewer are no distribution. */
#define TICKS_LEAST 100
/* A timer may be late by this. */
#define LATE_US 1000000

static int64_t longest_timeout(const ka_live *live)
{
    int64_t us = 0;
    size_t i;

    for (i = 0; i < live->vhost_n; i++) {
        us = live->vhosts[i].timeout_us > us ? live->vhosts[i].timeout_us : us;
    }
    return us;
}

/* Idle times that go on are not told yet. */
static int64_t end_of_known(const ka_live *live, int64_t timeout_us)
{
    const ka_gauges *g = &live->snapshot.gauges;

    if (g->idle + g->busy + g->closing == 0) {
        return INT64_MAX;
    }
    return (live->live ? live->read_at : live->snapshot.heartbeat_at) -
           timeout_us - LATE_US;
}

/* Ticks of the traffic: those before its first request held nothing. */
static double ticks_within(const ka_live *live, uint32_t known)
{
    double first = (double)live->first_us, start;
    double last = (double)live->last_us, end;

    start = (double)live->snapshot.started_at;
    end = start + (double)known * KA_TICK_US;
    return (fmin(last, end) - fmax(first, start)) / KA_TICK_US;
}

/* The smallest level that all but 1/parts of n ticks stay within.  How long
 * before and after a tick's end its level stood nobody knows: half a tick more
 * is taken to be above. */
static double quantile_but(const ka_segment_level *level, double n,
                           double parts)
{
    size_t bin = KA_LEVEL_BINS;
    double above = 0.5;

    while (bin > 0 &&
           (level->bins[bin - 1] == 0 ||
            above + (double)level->bins[bin - 1] <= n / parts)) {
        above += (double)level->bins[--bin];
    }
    return bin > 0 ? (double)ka_level_most(bin - 1) : 0;
}

static double variance_of(const ka_segment_level *level, double n, double mean)
{
    double squares = 0;
    size_t i;

    for (i = 1; i < KA_LEVEL_BINS; i++) {
        double at = (double)ka_level_most(i);

        squares += (double)level->bins[i] * at * at;
    }
    return fmax(0, squares / n - mean * mean);
}

/* The busiest hour, by three standard deviations above its mean; one that is
 * less than half full is left out.  Without any it is the whole. */
static void busiest_hour(ka_held *held, const ka_segment_level *level)
{
    double half = 3600e6 / KA_TICK_US / 2, most = 0;
    size_t i;

    held->busiest_mean = held->mean;
    held->busiest_variance = held->variance;
    for (i = 0; i < KA_LEVEL_HOURS; i++) {
        const ka_segment_hour *hour = &level->hours[i];
        double n = hour->n, mean = n > 0 ? (double)hour->sum / n : 0;
        double variance =
            n > 0 ? fmax(0, (double)hour->squares / n - mean * mean) : 0;

        if (n >= half && mean + 3 * sqrt(variance) > most) {
            most = mean + 3 * sqrt(variance);
            held->busiest_mean = fmin(mean, KA_LEVEL_MAX);
            held->busiest_variance = variance;
        }
    }
}

static ka_held held_of(const ka_segment_level *level, double n)
{
    ka_held held = {.mean = fmin((double)level->sum / n, KA_LEVEL_MAX),
                    .p99 = quantile_but(level, n, 100),
                    .p999 = quantile_but(level, n, 1000),
                    .peak = (double)ka_level_most(ka_level_bin(level->peak))};

    held.variance = variance_of(level, n, held.mean);
    busiest_hour(&held, level);
    if (held.busiest_mean > 0) {
        held.workers = ka_workers_needed(
            held.busiest_mean, held.busiest_variance / held.busiest_mean,
            KA_BLOCKING); /* [M12] */
    }
    return held;
}

/* Means ascend, whatever the file says. */
static void append(ka_held *points, size_t *n, const ka_segment_level *level,
                   double ticks)
{
    ka_held held = held_of(level, ticks);

    if (*n == 0 || held.mean > points[*n - 1].mean) {
        points[(*n)++] = held;
    }
}

static double most_busy(const ka_live *live)
{
    uint32_t most = 0;
    size_t i;

    for (i = 0; i < live->history_n; i++) {
        most = live->history[i].busy > most ? live->history[i].busy : most;
    }
    return most;
}

static void fill(ka_curve *out, const ka_segment_level *levels, double ticks,
                 const ka_live *live, apr_pool_t *pool)
{
    ka_held *points = apr_palloc(pool, KA_LEVEL_N * sizeof(*points));
    int64_t longest_us = longest_timeout(live);
    size_t n = 0, i;

    append(points, &n, &levels[KA_TICK_SERVED], ticks);
    points[0].peak = most_busy(live); /* of short ones, too */
    for (i = 0; i < KA_AGE_N && ka_ages_us[i] < longest_us; i++) {
        append(points, &n, &levels[i], ticks);
    }
    append(points, &n, &levels[KA_LEVEL_OPEN], ticks);
    *out = (ka_curve){.points = points, .n = n};
}

void ka_live_curve(ka_curve *out, const ka_live *live, apr_pool_t *pool)
{
    int64_t longest_us = longest_timeout(live);
    ka_segment_level *levels;
    uint32_t known;
    double ticks;

    *out = (ka_curve){0};
    if (!live->header || live->narrowed || longest_us <= 0 ||
        longest_us > ka_ticks_reach_us(live->header)) {
        return;
    }
    levels = apr_palloc(pool, KA_LEVEL_N * sizeof(*levels));
    known = ka_ticks_read(levels, live->header, end_of_known(live, longest_us),
                          pool);
    ticks = known ? ticks_within(live, known) : 0;
    if (ticks >= TICKS_LEAST) {
        fill(out, levels, ticks, live, pool);
    }
}
