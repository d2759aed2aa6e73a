/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The bootstrap on units of traffic: groups of visitors, or blocks of time.
 *
 * Each replicate draws as many units as there are, with replacement, and adds
 * them up; a statistic of the sums, as it varies from replicate to replicate,
 * varies as it would from one such traffic to the next.
 * Source: Efron, Tibshirani, An Introduction to the Bootstrap (1993); units of
 * time keep what is correlated together: Carlstein, Annals of Statistics 14
 * (1986); Kunsch, Annals of Statistics 17 (1989).
 *
 * Quantiles of few units are too narrow; they are taken so far out that on a
 * mean they agree with Student's t.  Source: Hesterberg, What Teachers Should
 * Know About the Bootstrap, The American Statistician 69 (2015), "expanded
 * percentiles".
 *
 * Draws come from a generator of its own with a fixed seed: the same units
 * give the same intervals, everywhere.
 * Pure, but for what callers pass; safe from any thread.
 */
#ifndef KA_RESAMPLE_H
#define KA_RESAMPLE_H

#include <stddef.h>

/* Share of such intervals that hold the true value. */
#define KA_INTERVAL_LEVEL 0.9

#define KA_REPLICATES 400

/* With fewer units there is no interval. */
#define KA_UNITS_MIN 6

typedef struct ka_interval {
    double low, high;
} ka_interval;

/**
 * Draws KA_REPLICATES times from units.
 * @param sums   sums[KA_REPLICATES * width]: of each replicate
 * @param units  units[n * width], n > 0
 */
void ka_resample(double *sums, const double *units, size_t n, size_t width);

/**
 * How many replicates lie below an interval's low end, and above its high end.
 * @param n  units, >= KA_UNITS_MIN; may be fractional
 */
size_t ka_resample_outside(double n);

/** The interval of a statistic.
 * @param values   values[KA_REPLICATES], finite; put in another order
 * @param outside  of ka_resample_outside */
ka_interval ka_resample_interval(double *values, size_t outside);

/** Student's t: what a variable of nu (>= 4) degrees of freedom exceeds with
 * the probability that a normal one exceeds z; within 0.5 % for z < 2. */
double ka_student(double z, double nu);

#endif
