/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Bins: values below 2^SUB_BITS have a bin each; from there on every power of
 * two is cut into 2^SUB_BITS equal bins.
 *
 *   value    0 1 .. 15 | 16 17 .. 31 | 32 34 .. 62 | 64 68 .. 124 | ...
 *   bin      0 1 .. 15 | 16 17 .. 31 | 32 33 .. 47 | 48 49 ..  63 | ...
 *
 * Sums saturate instead of wrapping: saturated addition of unsigned numbers
 * is still commutative and associative, so merging stays so.
 */
#include "ka_histogram.h"

#include <string.h>

#define SUB_BINS (UINT64_C(1) << KA_HIST_SUB_BITS)

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t mul_saturated(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

void ka_hist_init(ka_hist *h)
{
    memset(h, 0, sizeof(*h));
}

uint64_t ka_hist_bin_low(size_t bin)
{
    unsigned shift;

    if (bin < SUB_BINS) {
        return bin;
    }
    if (bin >= KA_HIST_BINS) {
        return KA_HIST_MAX;
    }
    shift = (unsigned)(bin >> KA_HIST_SUB_BITS) - 1;
    return (uint64_t)(SUB_BINS + (bin & (SUB_BINS - 1))) << shift;
}

void ka_hist_add_n(ka_hist *h, uint64_t value, uint64_t n)
{
    ka_hist_bin *bin = &h->bins[ka_hist_bin_index(value)];

    bin->count = add_saturated(bin->count, n);
    bin->sum = add_saturated(bin->sum, mul_saturated(value, n));
}

void ka_hist_merge(ka_hist *into, const ka_hist *from)
{
    size_t i;

    for (i = 0; i < KA_HIST_BINS; i++) {
        ka_hist_bin *bin = &into->bins[i];

        bin->count = add_saturated(bin->count, from->bins[i].count);
        bin->sum = add_saturated(bin->sum, from->bins[i].sum);
    }
}

uint64_t ka_hist_count(const ka_hist *h)
{
    uint64_t count = 0;
    size_t i;

    for (i = 0; i < KA_HIST_BINS; i++) {
        count = add_saturated(count, h->bins[i].count);
    }
    return count;
}

uint64_t ka_hist_sum(const ka_hist *h)
{
    uint64_t sum = 0;
    size_t i;

    for (i = 0; i < KA_HIST_BINS; i++) {
        sum = add_saturated(sum, h->bins[i].sum);
    }
    return sum;
}

double ka_hist_mean(const ka_hist *h)
{
    uint64_t count = ka_hist_count(h);

    return count ? (double)ka_hist_sum(h) / (double)count : 0;
}

/* The value at `share` (0 .. 1) of the way through a bin that is not empty.
 * The values are integers, so the bin's last one is its upper edge minus 1:
 * a bin of width 1 is exact without a case of its own. */
static double value_in_bin(const ka_hist *h, size_t i, double share)
{
    double low = (double)ka_hist_bin_low(i);
    double last = (double)(ka_hist_bin_low(i + 1) - 1);

    if (h->bins[i].count == 1) {
        return (double)h->bins[i].sum;
    }
    return low + (last - low) * share;
}

double ka_hist_quantile(const ka_hist *h, double q)
{
    double below = 0, rank;
    size_t i, last = KA_HIST_BINS;

    /* Written so that a NaN counts as 0. */
    q = q > 0 ? (q < 1 ? q : 1) : 0;
    rank = q * (double)ka_hist_count(h);
    for (i = 0; i < KA_HIST_BINS; i++) {
        double count = (double)h->bins[i].count;

        if (count == 0) {
            continue;
        }
        if (below + count >= rank) {
            return value_in_bin(h, i, (rank - below) / count);
        }
        below += count;
        last = i;
    }
    /* Past 2^53 values the rounding of `below` may miss the last rank. */
    return last < KA_HIST_BINS ? value_in_bin(h, last, 1) : 0;
}

double ka_hist_max(const ka_hist *h)
{
    return ka_hist_quantile(h, 1);
}

double ka_hist_count_above(const ka_hist *h, uint64_t x)
{
    double count = 0, low, high;
    size_t first, i;

    if (x >= KA_HIST_MAX - 1) {
        return 0;
    }
    first = ka_hist_bin_index(x + 1);
    for (i = first + 1; i < KA_HIST_BINS; i++) {
        count += (double)h->bins[i].count;
    }
    low = (double)ka_hist_bin_low(first);
    high = (double)ka_hist_bin_low(first + 1);
    return count + (double)h->bins[first].count * (high - (double)(x + 1)) /
                       (high - low);
}

/* sum min(v, x) of the bin that x cuts: a line from low * count at the lower
 * edge to the bin's sum at the upper one.  Never more than x each: clamped
 * values make the last bin's sum larger than its edge allows. */
static double cut_bin_capped(const ka_hist *h, size_t i, uint64_t x)
{
    double low = (double)ka_hist_bin_low(i);
    double high = (double)ka_hist_bin_low(i + 1);
    double count = (double)h->bins[i].count;
    double sum = (double)h->bins[i].sum;
    double share = (double)x < high ? ((double)x - low) / (high - low) : 1;
    double capped = low * count + (sum - low * count) * share;

    return capped < count * (double)x ? capped : count * (double)x;
}

double ka_hist_sum_capped(const ka_hist *h, uint64_t x)
{
    size_t cut = ka_hist_bin_index(x), i;
    double sum = 0, above = 0;

    for (i = 0; i < cut; i++) {
        sum += (double)h->bins[i].sum;
    }
    for (i = cut + 1; i < KA_HIST_BINS; i++) {
        above += (double)h->bins[i].count;
    }
    return sum + cut_bin_capped(h, cut, x) + above * (double)x;
}
