/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Sums that stop at UINT64_MAX instead of wrapping.  Addition that stops is
 * still commutative and associative, so what is merged with it stays so.
 */
#ifndef KA_SATURATE_H
#define KA_SATURATE_H

#include <stdint.h>

static inline uint64_t ka_add_saturated(uint64_t a, uint64_t b)
{
    uint64_t sum;

    return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline uint64_t ka_mul_saturated(uint64_t a, uint64_t b)
{
    uint64_t product;

    return __builtin_mul_overflow(a, b, &product) ? UINT64_MAX : product;
}

#endif
