/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Jagerman's integral is an incomplete gamma function,
 *
 *   1/B(s, A) = A^-s e^A Gamma(s + 1, A)
 *
 * and is computed as one, which is exact where a quadrature of (1 + y)^s is
 * slow (A tiny: the mass lies at y = 1/A) or loses digits.  Two forms share
 * the work:
 *   A >= 2 and s <= A - 1   Legendre's continued fraction, O(sqrt A) steps,
 *                           its first denominator well away from 0
 *   A <  2 and s <  1       Gamma(s + 1) less the power series, 30 terms at
 *                           most, and at most one digit is lost
 * A larger s is reached from the largest such s - k by k steps of the
 * recursion, which keeps the relative error where s > A.
 */
#include "erlang.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>

#define LOAD_MAX 1e9
#define SERVERS_MAX 1e12 /* for any load below LOAD_MAX, B is 0 there */
#define SERIES_END 2
#define Z_MAX 1e9
#define STEPS_MAX 10000000
/* Where the fraction stops: its steps are exact to a few DBL_EPSILON. */
#define FRACTION_END 1e-14

/* 1/B(s, A) for A >= 2, 0 <= s <= A - 1, by the modified Lentz method.
 * With a = s + 1, Gamma(a, A) = e^-A A^a
 *                    / (A+1-a - 1(1-a) / (A+3-a - 2(2-a) / (A+5-a - ...))) */
static double inverse_by_fraction(double s, double load)
{
    double b = load - s;
    double c = 1 / DBL_MIN, d = 1 / b, value = d;
    int k;

    for (k = 1; k < STEPS_MAX; k++) {
        double a = k * (s + 1 - k), change;

        b += 2;
        d = a * d + b;
        c = b + a / c;
        d = 1 / (d != 0 ? d : DBL_MIN);
        c = c != 0 ? c : DBL_MIN;
        change = c * d;
        value *= change;
        if (fabs(change - 1) < FRACTION_END) {
            break;
        }
    }
    return load * value;
}

/* 1/B(s, A) for 0 < A < 2, 0 <= s < 1. */
static double inverse_by_series(double s, double load)
{
    double term = load / (s + 1), sum = term;
    int k;

    for (k = 2; term > sum * DBL_EPSILON / 4; k++) {
        term *= load / (s + k);
        sum += term;
    }
    return pow(load, -s) * exp(load) * tgamma(s + 1) - sum;
}

/* B(s', A) for the start s' of the recursion. */
static double start_of(double *start, double s, double load)
{
    if (load < SERIES_END) {
        *start = s - floor(s);
        return 1 / inverse_by_series(*start, load);
    }
    *start = s <= load - 1 ? s : s - ceil(s - (load - 1));
    return 1 / inverse_by_fraction(*start, load);
}

double ka_erlang_b(double servers, double load)
{
    double s, b;

    servers = servers > 0 ? servers : 0;
    if (!(load > 0)) {
        return servers > 0 ? 0 : 1;
    }
    if (load > LOAD_MAX) {
        return fmax(0, 1 - servers / load);
    }
    servers = fmin(servers, SERVERS_MAX);
    b = start_of(&s, servers, load);
    for (; s + 0.5 < servers; s += 1) {
        /* Where there are very many servers this comes long before the end;
         * below DBL_MIN, rounding would stop b from falling at all. */
        if (b < DBL_MIN) {
            return 0;
        }
        b = load * b / (s + 1 + load * b);
    }
    return fmin(b, 1);
}

static bool enough(double c, double mean, double z, double eps)
{
    return ka_erlang_b(c / z, mean / z) <= eps;
}

double ka_workers_needed(double mean, double z, double eps)
{
    double low, high, step;

    if (!(mean > 0) || isinf(mean)) {
        return 0;
    }
    z = z > 1 ? fmin(z, Z_MAX) : 1;
    eps = eps > 0 && eps < 1 ? eps : KA_BLOCKING;
    low = ceil(mean);
    if (enough(low, mean, z, eps)) {
        return low;
    }
    /* low is not enough, high is: one standard deviation first, then twice
     * as far each time. */
    step = ceil(sqrt(mean * z));
    for (high = low + step; !enough(high, mean, z, eps); high += step) {
        low = high;
        step *= 2;
    }
    for (;;) {
        double middle = floor(low + (high - low) / 2);

        /* Past 2^53 there may be no number between the two. */
        if (middle <= low || middle >= high) {
            return high;
        }
        if (enough(middle, mean, z, eps)) {
            high = middle;
        }
        else {
            low = middle;
        }
    }
}
