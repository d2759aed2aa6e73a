/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Distributions of idle times that end at T0. */
#include "histsweep_priv.h"

#include <math.h>

/* Upper edge of a bin: nothing in T0's bin lies above T0. */
static double edge_of(size_t bin, int64_t limit_us)
{
    double high = (double)ka_hist_bin_low(bin + 1);

    if (limit_us >= 0 && bin == ka_hist_bin_index((uint64_t)limit_us)) {
        return fmin(high, (double)limit_us + 1);
    }
    return high;
}

static double count_from(const ka_hist *h, size_t bin)
{
    double count = 0;

    for (; bin < KA_HIST_BINS; bin++) {
        count += (double)h->bins[bin].count;
    }
    return count;
}

double ka_histsweep_above(const ka_hist *h, int64_t us, int64_t limit_us)
{
    double low, high, share;
    size_t cut;

    if (us < 0) {
        return count_from(h, 0);
    }
    if (us >= (int64_t)KA_HIST_MAX - 1) {
        return 0;
    }
    cut = ka_hist_bin_index((uint64_t)us);
    low = (double)ka_hist_bin_low(cut);
    high = edge_of(cut, limit_us);
    share = fmax(0, (high - 1 - (double)us) / (high - low));
    return (double)h->bins[cut].count * share + count_from(h, cut + 1);
}

double ka_histsweep_capped(const ka_hist *h, int64_t us, int64_t limit_us)
{
    double sum = 0, low, high, count, in_bin;
    size_t cut, i;

    if (us <= 0) {
        return 0;
    }
    cut = ka_hist_bin_index((uint64_t)us);
    for (i = 0; i < cut; i++) {
        sum += (double)h->bins[i].sum;
    }
    low = (double)ka_hist_bin_low(cut);
    high = edge_of(cut, limit_us) - 1;
    count = (double)h->bins[cut].count;
    in_bin = (double)h->bins[cut].sum;
    if ((double)us < high) {
        in_bin = low * count + fmax(0, in_bin - low * count) *
                                   ((double)us - low) / (high + 1 - low);
    }
    return sum + fmin(in_bin, count * (double)us) +
           count_from(h, cut + 1) * (double)us;
}

/* ---- parts -------------------------------------------------------------- */

void ka_hist_part_init(ka_hist_part *part)
{
    *part = (ka_hist_part){.limit_us = KA_TIMEOUT_OFF};
}

/* Values of the bins after T0's, up to the slack, become T0. */
static void fold(ka_hist *h, int64_t limit_us, int64_t slack_us)
{
    size_t to = ka_hist_bin_index((uint64_t)limit_us);
    size_t last = ka_hist_bin_index((uint64_t)(limit_us + slack_us)), i;
    ka_hist_bin *bin = &h->bins[to];

    for (i = to + 1; i <= last; i++) {
        bin->count += h->bins[i].count;
        bin->sum += h->bins[i].count * (uint64_t)limit_us;
        h->bins[i] = (ka_hist_bin){0};
    }
    if ((double)bin->sum > (double)bin->count * (double)limit_us) {
        bin->sum = bin->count * (uint64_t)limit_us;
    }
}

/* Takes the n largest values out. @return how many there were */
static uint64_t take_largest(ka_hist *h, uint64_t n)
{
    uint64_t taken = 0;
    size_t i = KA_HIST_BINS;

    while (i-- > 0 && taken < n) {
        ka_hist_bin *bin = &h->bins[i];
        uint64_t part = bin->count < n - taken ? bin->count : n - taken;

        if (part == 0) {
            continue;
        }
        bin->sum = part == bin->count ? 0
                                      : (uint64_t)((double)bin->sum *
                                                   (double)(bin->count - part) /
                                                   (double)bin->count);
        bin->count -= part;
        taken += part;
    }
    return taken;
}

void ka_hist_part_cut(ka_hist_part *part, uint64_t timed_out, int64_t slack_us)
{
    part->cut += timed_out;
    take_largest(&part->tail, timed_out);
    if (part->limit_us >= 0 &&
        part->limit_us < (int64_t)KA_HIST_MAX - slack_us) {
        fold(&part->gap, part->limit_us, slack_us);
        fold(&part->tail, part->limit_us, slack_us);
    }
}

double ka_hist_part_waited(const ka_hist_part *part, int64_t us)
{
    return ka_histsweep_capped(&part->gap, us, part->limit_us);
}
