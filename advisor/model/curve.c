/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "curve.h"

#include <math.h>

static double between(double a, double b, double share)
{
    return a + (b - a) * share;
}

/* Quantiles are numbers of connections. */
static double whole_between(double a, double b, double share)
{
    return round(between(a, b, share));
}

static void interpolate(ka_held *out, const ka_held *a, const ka_held *b,
                        double share)
{
    out->variance = between(a->variance, b->variance, share);
    out->p99 = whole_between(a->p99, b->p99, share);
    out->p999 = whole_between(a->p999, b->p999, share);
    out->peak = whole_between(a->peak, b->peak, share);
    out->workers = whole_between(a->workers, b->workers, share);
    out->busiest_mean = between(a->busiest_mean, b->busiest_mean, share);
    out->busiest_variance =
        between(a->busiest_variance, b->busiest_variance, share);
}

bool ka_curve_held(ka_held *out, const ka_curve *curve, double mean,
                   double mean_now)
{
    const ka_held *points = curve->points;
    size_t last = curve->n ? curve->n - 1 : 0, i = 1;
    double at, step;

    if (curve->n < 2 || !(mean_now > 0) || !(points[last].mean > 0)) {
        return false;
    }
    at = mean / mean_now * points[last].mean;
    while (i < last && points[i].mean < at) {
        i++;
    }
    step = points[i].mean - points[i - 1].mean;
    *out = (ka_held){.mean = mean};
    interpolate(out, &points[i - 1], &points[i],
                step > 0 ? fmin(fmax((at - points[i - 1].mean) / step, 0), 1)
                         : 1);
    return true;
}

bool ka_curve_held_by(ka_held *out, const ka_curve *curve,
                      const ka_curve_means *m)
{
    double unanswered = fmin(m->unanswered, m->now);
    double step = unanswered - m->answered;
    ka_held a, b;

    if (!(step > 0) || !(m->mean < unanswered) || !(m->mean > m->answered)) {
        return ka_curve_held(out, curve, m->mean, m->now);
    }
    if (!ka_curve_held(&a, curve, m->answered, m->now) ||
        !ka_curve_held(&b, curve, unanswered, m->now)) {
        return false;
    }
    *out = (ka_held){.mean = m->mean};
    interpolate(out, &a, &b, (m->mean - m->answered) / step);
    return true;
}
