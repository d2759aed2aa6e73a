/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "parts.h"

#include <math.h>

static uint64_t gaps_of(const ka_traffic *t)
{
    return ka_hist_count(&t->gap) + ka_hist_count(&t->longer);
}

/* #{g <= T}.  A gap of T itself is followed. */
static double followed(const ka_traffic *t, int64_t timeout_us)
{
    uint64_t x = timeout_us > 0 ? (uint64_t)timeout_us : 0;

    return timeout_us < 0 ? 0
                          : (double)gaps_of(t) -
                                ka_hist_count_above(&t->gap, x) -
                                ka_hist_count_above(&t->longer, x);
}

static double gap_time(const ka_traffic *t, int64_t timeout_us)
{
    uint64_t x = timeout_us > 0 ? (uint64_t)timeout_us : 0;

    return ka_hist_sum_capped(&t->gap, x) + ka_hist_sum_capped(&t->longer, x);
}

static double unfollowed(const ka_traffic *t)
{
    uint64_t gaps = gaps_of(t);

    return t->requests > gaps ? (double)(t->requests - gaps) : 0;
}

ka_part ka_part_at(const ka_report *report, const ka_traffic *part,
                   size_t index)
{
    const ka_traffic *all = &report->profile->total;
    const ka_outcome *o = &report->low[index];
    double window_us = report->profile->window_s * 1e6;
    double tails, ends = unfollowed(all);
    ka_part out = {.follows = fmax(0, followed(part, o->timeout_us))};

    if (part->requests > 0) {
        out.reuse = fmin(1, out.follows / (double)part->requests);
    }
    if (window_us <= 0) {
        return out;
    }
    tails = fmax(0, o->idle_mean * window_us - gap_time(all, o->timeout_us));
    out.idle_mean = gap_time(part, o->timeout_us) / window_us;
    if (ends > 0) {
        out.idle_mean += tails * fmin(1, unfollowed(part) / ends) / window_us;
    }
    return out;
}

bool ka_part_classes_told(const ka_report *report)
{
    const ka_profile *p = report->profile;
    uint64_t told = 0;
    int i;

    for (i = 0; i < KA_CLASS_N; i++) {
        told += gaps_of(&p->classes[i]);
    }
    return told > 0 || gaps_of(&p->total) == 0;
}

size_t ka_part_last(const ka_report *report, int64_t limit_us)
{
    int64_t known_us =
        report->profile->longer_known ? KA_TIMEOUT_CAP_US : limit_us;
    size_t i = report->timeout_n - 1;

    while (i > 0 && report->low[i].timeout_us > known_us) {
        i--;
    }
    return i;
}

size_t ka_part_knee(const ka_report *report, const ka_traffic *part,
                    size_t last, double delta)
{
    double most = ka_part_at(report, part, last).follows;
    double n = (double)part->requests;
    size_t i = 0;

    if (n <= 0 || most < KA_LITTLE_REUSE * n) {
        return 0;
    }
    while (i < last &&
           most - ka_part_at(report, part, i).follows > delta * n) {
        i++;
    }
    return i;
}
