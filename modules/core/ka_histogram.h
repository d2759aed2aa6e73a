/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_histogram: a log-linear histogram that keeps COUNT and SUM per bin.
 *
 * What it is for: gaps, service times and connection lives span six decades,
 * so bins have a constant RELATIVE width; and [M4] N(T) = N0 + #{g > T} and
 * [M5] H(T) = sum min(g, T) need, per bin, how many values fell into it and
 * what they add up to.  With both, N and H are exact at every bin edge.
 *
 * Assumptions: values are unsigned integers (microseconds, bytes or plain
 * counts).  Values from KA_HIST_MAX on are clamped into the last bin; their
 * true size still goes into that bin's sum.  Counts and sums stop at
 * UINT64_MAX instead of wrapping.  No total is stored beside its
 * parts: the count of the histogram is the sum of its bins.
 *
 * Concurrency: a ka_hist is plain memory.  Readers and writers in one thread
 * only; the segment of mod_kastats has its own atomic adds on the same bins
 * (ka_hist_bin_index says which).
 */
#ifndef KA_HISTOGRAM_H
#define KA_HISTOGRAM_H

#include <stddef.h>
#include <stdint.h>

/* Bins per power of two = 2^KA_HIST_SUB_BITS: relative width <= 1/16. */
#define KA_HIST_SUB_BITS 4
/* Values below 2^KA_HIST_MAX_BITS have a bin of their own (76 h in us). */
#define KA_HIST_MAX_BITS 38
#define KA_HIST_MAX (UINT64_C(1) << KA_HIST_MAX_BITS)
#define KA_HIST_BINS                                                           \
    ((KA_HIST_MAX_BITS - KA_HIST_SUB_BITS + 1) << KA_HIST_SUB_BITS)

typedef struct ka_hist_bin {
    uint64_t count; /* values in the bin */
    uint64_t sum;   /* what they add up to, in the histogram's unit */
} ka_hist_bin;

typedef struct ka_hist {
    ka_hist_bin bins[KA_HIST_BINS]; /* ascending by value */
} ka_hist;

/** Empties the caller's storage. */
void ka_hist_init(ka_hist *h);

/**
 * The bin that a value belongs to, 0 .. KA_HIST_BINS-1; non-decreasing in
 * value.  Pure; no loop, one count-leading-zeros.  Inline, as it is asked for
 * each request.
 */
static inline size_t ka_hist_bin_index(uint64_t value)
{
    unsigned shift;

    if (value < UINT64_C(1) << KA_HIST_SUB_BITS) {
        return (size_t)value;
    }
    if (value >= KA_HIST_MAX) {
        return KA_HIST_BINS - 1;
    }
    shift = 63u - (unsigned)__builtin_clzll(value) - KA_HIST_SUB_BITS;
    return ((size_t)shift << KA_HIST_SUB_BITS) + (size_t)(value >> shift);
}

/**
 * The smallest value of a bin.  bin == KA_HIST_BINS gives KA_HIST_MAX, so
 * that [low(bin), low(bin + 1)) is the range of any bin.
 */
uint64_t ka_hist_bin_low(size_t bin);

/** Records n times the same value; n == 0 does nothing. */
void ka_hist_add_n(ka_hist *h, uint64_t value, uint64_t n);

/** Records one value. */
static inline void ka_hist_add(ka_hist *h, uint64_t value)
{
    ka_hist_bin *bin = &h->bins[ka_hist_bin_index(value)];

    bin->count += bin->count < UINT64_MAX;
    if (__builtin_add_overflow(bin->sum, value, &bin->sum)) {
        bin->sum = UINT64_MAX;
    }
}

/** Adds all of `from` to `into`: commutative and associative. */
void ka_hist_merge(ka_hist *into, const ka_hist *from);

/** Values recorded; 0 if empty. */
uint64_t ka_hist_count(const ka_hist *h);

/** Sum of the values recorded, exact (not rounded to bins); 0 if empty. */
uint64_t ka_hist_sum(const ka_hist *h);

/** Mean of the values recorded, exact; 0 if empty. */
double ka_hist_mean(const ka_hist *h);

/**
 * Value at a quantile, interpolated in its bin (between the bin's edges, by
 * rank), so within one relative bin width (1/16) of the true order statistic.
 * A bin that holds one value only returns exactly that value.
 * @param q  0 .. 1; values outside are clamped, NaN counts as 0
 * @return the value in the histogram's unit; 0 if the histogram is empty
 */
double ka_hist_quantile(const ka_hist *h, double q);

/** Largest value recorded, to the upper edge of its bin at most; 0 if empty.
 * A highest bin that holds one value only returns exactly that value. */
double ka_hist_max(const ka_hist *h);

/**
 * #{v > x}, the second term of [M4]: exact when x is a bin edge minus one,
 * linear by share of the bin's width in between.  0 from KA_HIST_MAX - 1 on:
 * how far clamped values exceed it is not kept.
 */
double ka_hist_count_above(const ka_hist *h, uint64_t x);

/**
 * sum min(v, x), the terms of [M5]: exact when x is a bin edge, piecewise
 * linear in between.
 */
double ka_hist_sum_capped(const ka_hist *h, uint64_t x);

#endif
