/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Seeded draws: the same seed gives the same numbers on every machine.
 * SplitMix64 (Steele, Lea and Flood, 2014): a counter stepped by the golden
 * ratio, then mixed; period 2^64.
 */
#ifndef KA_RANDOM_H
#define KA_RANDOM_H

#include <stdint.h>

typedef struct ka_random {
    uint64_t state; /* the seed, any */
} ka_random;

static inline uint64_t ka_random_next(ka_random *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/** 0 .. n - 1; n > 0.  The bias is below n / 2^32. */
static inline uint32_t ka_random_below(ka_random *r, uint32_t n)
{
    return (uint32_t)((ka_random_next(r) >> 32) * n >> 32);
}

/** 0 <= x < 1 */
static inline double ka_random_unit(ka_random *r)
{
    return (double)(ka_random_next(r) >> 11) * 0x1p-53;
}

#endif
