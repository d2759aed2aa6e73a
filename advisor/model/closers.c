/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "closers.h"

#include <math.h>
#include <stddef.h>

/* ---- theta -------------------------------------------------------------- */

/* Sum of ln(x / low) over the values of a bin: as long as their mean. */
static double exposure_of(const ka_hist_bin *bin, double low)
{
    const double count = (double)bin->count;

    return count > 0 ? count * fmax(0, log((double)bin->sum / count / low))
                     : 0;
}

ka_closers ka_closers_of(const ka_hist *gap, const ka_hist *tail,
                         uint64_t closed, uint64_t cut, int64_t limit_us)
{
    ka_closers c = {.limit_us = limit_us};
    double low, events = 0, exposure;
    const uint64_t tails = ka_hist_count(tail);
    size_t first, i;

    if (limit_us < 2 || tails == 0) {
        return c;
    }
    /* From the edge of a bin on, so that each value is on its side of it. */
    first = ka_hist_bin_index((uint64_t)limit_us / 2);
    low = fmax(1, (double)ka_hist_bin_low(first));
    exposure = (double)cut * log((double)limit_us / low);
    for (i = first; i < KA_HIST_BINS; i++) {
        exposure += exposure_of(&gap->bins[i], low) +
                    exposure_of(&tail->bins[i], low);
        events += (double)tail->bins[i].count;
    }
    events *= fmin((double)closed / (double)tails, 1);
    c.theta = exposure > 0 ? events / exposure : 0;
    return c;
}

/* ---- beyond T0 ---------------------------------------------------------- */

/* ln(x / T0), as far as the hazard goes. */
static double log_age(const ka_closers *c, int64_t over_us)
{
    return over_us < c->limit_us
               ? log1p((double)over_us / (double)c->limit_us)
               : M_LN2;
}

double ka_closers_stay(const ka_closers *c, int64_t over_us)
{
    return c->theta > 0 ? exp(-c->theta * log_age(c, over_us)) : 1;
}

/* T0 (e^((1 - theta) y) - 1) / (1 - theta), which goes to T0 y at theta 1. */
static double within_octave(const ka_closers *c, double y)
{
    const double power = 1 - c->theta;

    return (double)c->limit_us *
           (fabs(power) > 1e-9 ? expm1(power * y) / power : y);
}

double ka_closers_idle(const ka_closers *c, int64_t over_us)
{
    double idle_us;

    if (!(c->theta > 0)) {
        return (double)over_us;
    }
    idle_us = within_octave(c, log_age(c, over_us));
    if (over_us > c->limit_us) {
        idle_us += (double)(over_us - c->limit_us) *
                   ka_closers_stay(c, over_us);
    }
    return idle_us;
}
