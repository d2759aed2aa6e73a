/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#ifndef KA_MEMORY_SUM_H
#define KA_MEMORY_SUM_H

#include <stdint.h>

/** Adds a value to a sum that stops at INT64_MAX; what is not known (< 0) adds
 * nothing. */
static inline void ka_sum_add(int64_t *sum, int64_t value)
{
    if (value > 0 && __builtin_add_overflow(*sum, value, sum)) {
        *sum = INT64_MAX;
    }
}

#endif
