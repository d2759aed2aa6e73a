/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "cover.h"

#include <math.h>
#include <stdlib.h>

#define SECOND_US 1e6

/* One second's part in those after it, by their distance. */
typedef struct kernel {
    double *fresh, *again; /* [n] */
    size_t n;
} kernel;

static double timeout_of(const ka_hist_part *part, int64_t timeout_us,
                         double linger_us)
{
    int64_t us = timeout_us == KA_COVER_IN_FORCE ? part->limit_us : timeout_us;

    return (us > 0 ? (double)us : 0) + linger_us;
}

static double longest_us(const ka_hist_traffic *t, int64_t timeout_us,
                         double linger_us)
{
    double us = 0;
    size_t i;

    for (i = 0; i < t->part_n; i++) {
        us = fmax(us, timeout_of(&t->parts[i], timeout_us, linger_us));
    }
    return us;
}

/* Of [from, from + 1 s) what lies within [0, us), in seconds. */
static double within(double from_us, double us)
{
    return fmax(0, fmin(from_us + SECOND_US, us) - from_us) / SECOND_US;
}

static double waited(const ka_hist_part *part, double us)
{
    return us > 0 ? ka_hist_part_waited(part, (int64_t)us) / SECOND_US : 0;
}

static void add_part(kernel *k, const ka_hist_part *part, double us,
                     double opens, double gaps)
{
    size_t j;

    for (j = 0; j < k->n; j++) {
        double from_us = (double)j * SECOND_US;

        k->fresh[j] += within(from_us, us) * (double)part->opens / opens;
        k->again[j] += (waited(part, us - from_us) -
                        waited(part, us - from_us - SECOND_US)) /
                       gaps;
    }
}

static void fill_kernel(kernel *k, const ka_hist_traffic *t,
                        int64_t timeout_us, double linger_us)
{
    double opens = 0, gaps = 0;
    size_t i;

    for (i = 0; i < t->part_n; i++) {
        opens += (double)t->parts[i].opens;
        gaps += (double)t->parts[i].joined +
                (double)ka_hist_count(&t->parts[i].gap);
    }
    for (i = 0; i < t->part_n; i++) {
        add_part(k, &t->parts[i],
                 timeout_of(&t->parts[i], timeout_us, linger_us),
                 fmax(1, opens), fmax(1, gaps));
    }
}

static double again_in(const ka_levels *levels, size_t second)
{
    return fmax(0, (double)levels->requests[second] -
                       (double)levels->connections[second]);
}

static void spread(double *held, const ka_levels *levels, const kernel *k)
{
    size_t i, j;

    for (i = 0; i < levels->n; i++) {
        double fresh = levels->connections[i], again = again_in(levels, i);

        for (j = 0; j < k->n && i + j < levels->n; j++) {
            held[i + j] += fresh * k->fresh[j] + again * k->again[j];
        }
    }
}

/* What all seconds lead to, after the last one too. */
static double sum_of(const ka_levels *levels, const kernel *k)
{
    double fresh = 0, again = 0, sum = 0;
    size_t i;

    for (i = 0; i < levels->n; i++) {
        fresh += levels->connections[i];
        again += again_in(levels, i);
    }
    for (i = 0; i < k->n; i++) {
        sum += fresh * k->fresh[i] + again * k->again[i];
    }
    return sum;
}

static apr_status_t add_busy(double *held, const ka_levels *levels,
                             const kernel *k, double mean)
{
    double sum = sum_of(levels, k), scale;
    size_t i;

    if (!(sum > 0)) {
        return APR_EINVAL;
    }
    scale = mean * (double)levels->n / sum;
    for (i = 0; i < levels->n; i++) {
        held[i] = levels->at_least[i] + held[i] * scale;
    }
    return APR_SUCCESS;
}

static apr_status_t cover(double *held, const ka_hist_traffic *t,
                          int64_t timeout_us, double linger_us, double mean,
                          size_t n)
{
    kernel k = {.n = n};
    apr_status_t rv = APR_ENOMEM;

    k.fresh = calloc(n, sizeof(*k.fresh));
    k.again = calloc(n, sizeof(*k.again));
    if (k.fresh && k.again) {
        fill_kernel(&k, t, timeout_us, linger_us);
        spread(held, &t->open, &k);
        rv = add_busy(held, &t->open, &k, mean);
    }
    free(k.fresh);
    free(k.again);
    return rv;
}

apr_status_t ka_cover_held(double *held, const ka_hist_traffic *t,
                           int64_t timeout_us, double linger_us, double mean)
{
    const ka_levels *levels = &t->open;
    double us = longest_us(t, timeout_us, linger_us);
    size_t i;

    if (levels->n == 0 || !levels->at_least || !levels->requests ||
        !levels->connections) {
        return APR_EINVAL;
    }
    for (i = 0; i < levels->n; i++) {
        held[i] = us > 0 ? 0 : levels->at_least[i];
    }
    return us > 0 ? cover(held, t, timeout_us, linger_us, mean,
                          (size_t)fmin(ceil(us / SECOND_US),
                                       (double)levels->n))
                  : APR_SUCCESS;
}
