/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "resample.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#define SEED UINT64_C(0x6b617374617473)

/* Exceeded by a normal variable in (1 - KA_INTERVAL_LEVEL) / 2 of cases. */
#define NORMAL_QUANTILE 1.6448536269514722

/* ---- draws -------------------------------------------------------------- */

/* Steele, Lea, Flood: SplitMix (OOPSLA 2014). */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static size_t draw_below(uint64_t *state, size_t n)
{
    return (size_t)(((draw(state) >> 32) * (uint64_t)n) >> 32);
}

/* By fours, which compilers make vectors of. */
static void add_unit(double *restrict sum, const double *restrict unit,
                     size_t width)
{
    size_t v = 0;

    for (; v + 4 <= width; v += 4) {
        sum[v] += unit[v];
        sum[v + 1] += unit[v + 1];
        sum[v + 2] += unit[v + 2];
        sum[v + 3] += unit[v + 3];
    }
    for (; v < width; v++) {
        sum[v] += unit[v];
    }
}

void ka_resample(double *sums, const double *units, size_t n, size_t width)
{
    uint64_t state = SEED;
    size_t r, i;

    memset(sums, 0, KA_REPLICATES * width * sizeof(*sums));
    for (r = 0; r < KA_REPLICATES; r++) {
        double *sum = sums + r * width;

        for (i = 0; i < n; i++) {
            add_unit(sum, units + draw_below(&state, n) * width, width);
        }
    }
}

/* ---- quantiles ---------------------------------------------------------- */

/* Abramowitz, Stegun 26.7.5. */
double ka_student(double z, double nu)
{
    const double z2 = z * z;

    return z + z * (z2 + 1) / (4 * nu) +
           z * (5 * z2 * z2 + 16 * z2 + 3) / (96 * nu * nu) +
           z * (3 * z2 * z2 * z2 + 19 * z2 * z2 + 17 * z2 - 15) /
               (384 * nu * nu * nu);
}

size_t ka_resample_outside(double n)
{
    const double t = ka_student(NORMAL_QUANTILE, n - 1) * sqrt(n / (n - 1));
    const double share = erfc(t / M_SQRT2) / 2;

    /* Of R values, R + 1 intervals are as likely as each other. */
    return (size_t)fmax(floor(share * (KA_REPLICATES + 1)) - 1, 0);
}

static void swap(double *a, double *b)
{
    const double was = *a;

    *a = *b;
    *b = was;
}

/* Hoare's selection: values[k] becomes the one that sorting would put there,
 * with none greater before it and none smaller behind. */
static double pick(double *values, ptrdiff_t n, ptrdiff_t k)
{
    ptrdiff_t low = 0, high = n - 1;

    while (low < high) {
        const double pivot = values[low + (high - low) / 2];
        ptrdiff_t i = low, j = high;

        while (i <= j) {
            for (; values[i] < pivot; i++)
                ;
            for (; values[j] > pivot; j--)
                ;
            if (i <= j) {
                swap(&values[i++], &values[j--]);
            }
        }
        if (k > j && k < i) {
            break;
        }
        low = k >= i ? i : low;
        high = k <= j ? j : high;
    }
    return values[k];
}

ka_interval ka_resample_interval(double *values, size_t outside)
{
    ka_interval interval;

    interval.low = pick(values, KA_REPLICATES, (ptrdiff_t)outside);
    interval.high = pick(values, KA_REPLICATES,
                         KA_REPLICATES - 1 - (ptrdiff_t)outside);
    return interval;
}
