/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What an occupancy says: moments from whole sums, with 128 bits in between,
 * so that a variance far smaller than the mean squared is not lost.
 */
#include "occupancy.h"

#include <math.h>
#include <string.h>

#include "../model/erlang.h"
#include "saturate.h"

typedef struct moments {
    double mean, variance;
} moments;

static moments moments_of(uint64_t ms, uint64_t sum, uint64_t squares)
{
    unsigned __int128 both, product;
    moments m = {0};

    if (ms == 0) {
        return m;
    }
    m.mean = (double)sum / (double)ms;
    both = (unsigned __int128)squares * ms;
    product = (unsigned __int128)sum * sum;
    /* Less only if the sums are not of one another: a damaged file. */
    if (both > product) {
        m.variance = (double)(both - product) / (double)ms / (double)ms;
    }
    return m;
}

/* ---- all time ----------------------------------------------------------- */

/* The largest count of a bin that is known to be possible. */
static double bin_high(const ka_occupancy *o, size_t bin)
{
    uint64_t high = ka_occupancy_bin_low(bin + 1) - 1;

    if (bin + 1 >= KA_OCCUPANCY_BINS || high > o->peak) {
        high = o->peak;
    }
    return (double)high;
}

static moments moments_of_bins(const ka_occupancy *o)
{
    double ms = 0, sum = 0, squares = 0;
    moments m = {0};
    size_t i;

    for (i = 0; i < o->size; i++) {
        double count = ((double)ka_occupancy_bin_low(i) + bin_high(o, i)) / 2;

        ms += (double)o->bins[i];
        sum += count * (double)o->bins[i];
        squares += count * count * (double)o->bins[i];
    }
    if (ms > 0) {
        m.mean = sum / ms;
        m.variance = fmax(0, squares / ms - m.mean * m.mean);
    }
    return m;
}

static moments moments_of_all(const ka_occupancy *o)
{
    if (o->squares == UINT64_MAX || o->sum == UINT64_MAX) {
        return moments_of_bins(o);
    }
    return moments_of(o->ms, o->sum, o->squares);
}

static uint64_t time_of(const ka_occupancy *o)
{
    uint64_t ms = 0;
    size_t i;

    for (i = 0; i < o->size; i++) {
        ms = ka_add_saturated(ms, o->bins[i]);
    }
    return ms;
}

/* The smallest count that is not exceeded but for 1/parts of the time, to its
 * bin's edge; in whole numbers, so that no rounding decides. */
static double quantile_but(const ka_occupancy *o, uint64_t ms, uint64_t parts)
{
    uint64_t above = ms;
    size_t i;

    for (i = 0; i < o->size; i++) {
        above -= o->bins[i] < above ? o->bins[i] : above;
        if (above <= ms / parts) {
            return bin_high(o, i);
        }
    }
    return 0;
}

/* ---- [M12] -------------------------------------------------------------- */

typedef struct sizing {
    ka_occupancy_hour last;      /* a period that is not sized yet */
    ka_occupancy_hour short_one; /* too short to be one, so far */
    uint64_t half_ms;
    double workers, eps;
    moments busiest; /* of the period that asks for workers */
} sizing;

static void add_to(ka_occupancy_hour *period, const ka_occupancy_hour *hour)
{
    period->ms = ka_add_saturated(period->ms, hour->ms);
    period->sum = ka_add_saturated(period->sum, hour->sum);
    period->squares = ka_add_saturated(period->squares, hour->squares);
}

static void size_for(sizing *s, const ka_occupancy_hour *period)
{
    moments m = moments_of(period->ms, period->sum, period->squares);
    double z = m.mean > 0 ? fmax(1, m.variance / m.mean) : 1;

    /* One look at what there is already spares most periods the search. */
    if (s->workers >= m.mean &&
        ka_erlang_b(s->workers / z, m.mean / z) <= s->eps) {
        return;
    }
    s->workers = ka_workers_needed(m.mean, z, s->eps);
    s->busiest = m;
}

static void take_hour(sizing *s, const ka_occupancy_hour *hour)
{
    add_to(&s->short_one, hour);
    if (s->short_one.ms >= s->half_ms) {
        size_for(s, &s->last);
        s->last = s->short_one;
        s->short_one = (ka_occupancy_hour){0};
    }
}

static void end_server(sizing *s)
{
    add_to(&s->last, &s->short_one);
    size_for(s, &s->last);
    s->last = s->short_one = (ka_occupancy_hour){0};
}

static sizing size_of(const ka_occupancy *o, double eps)
{
    sizing s = {.eps = eps > 0 && eps < 1 ? eps : KA_BLOCKING,
                .half_ms = ((uint64_t)KA_OCCUPANCY_HOUR_MS / 2)
                           << o->hour_bits};
    size_t i;

    for (i = 0; i < o->hour_n; i++) {
        if (i > 0 && o->hours[i].server != o->hours[i - 1].server) {
            end_server(&s);
        }
        if (o->hours[i].sum > 0) {
            take_hour(&s, &o->hours[i]);
        }
    }
    end_server(&s);
    return s;
}

void ka_occupancy_held(ka_held *out, const ka_occupancy *o, double eps)
{
    moments m = moments_of_all(o);
    const sizing s = size_of(o, eps);
    uint64_t ms = time_of(o);

    *out = (ka_held){.mean = m.mean,
                     .variance = m.variance,
                     .p99 = quantile_but(o, ms, 100),
                     .p999 = quantile_but(o, ms, 1000),
                     .peak = (double)o->peak,
                     .workers = s.workers,
                     .busiest_mean = s.busiest.mean,
                     .busiest_variance = s.busiest.variance};
}
