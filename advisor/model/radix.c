/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Least significant digit first, 11 bits at a time: 2048 counters stay in
 * the first-level cache.  Keys are taken relative to the smallest, so the
 * digits that all have in common cost nothing.
 */
#include "radix.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define DIGIT_BITS 11
#define DIGITS (1u << DIGIT_BITS)

typedef struct columns {
    int64_t *keys;
    int64_t *values; /* or NULL */
} columns;

/* The largest key less the smallest; *sorted says whether there is work. */
static uint64_t key_range(uint64_t *min, bool *sorted, const int64_t *keys,
                          size_t n)
{
    int64_t low = keys[0], high = keys[0];
    size_t i;

    *sorted = true;
    for (i = 1; i < n; i++) {
        *sorted = *sorted && keys[i - 1] <= keys[i];
        low = keys[i] < low ? keys[i] : low;
        high = keys[i] > high ? keys[i] : high;
    }
    *min = (uint64_t)low;
    return (uint64_t)high - (uint64_t)low;
}

static size_t digit_of(int64_t key, uint64_t min, unsigned shift)
{
    return (size_t)(((uint64_t)key - min) >> shift) & (DIGITS - 1);
}

static void sort_by_digit(columns to, columns from, size_t n, uint64_t min,
                          unsigned shift)
{
    size_t start[DIGITS] = {0}, at = 0, i;

    for (i = 0; i < n; i++) {
        start[digit_of(from.keys[i], min, shift)]++;
    }
    for (i = 0; i < DIGITS; i++) {
        size_t count = start[i];

        start[i] = at;
        at += count;
    }
    for (i = 0; i < n; i++) {
        size_t place = start[digit_of(from.keys[i], min, shift)]++;

        to.keys[place] = from.keys[i];
        if (from.values) {
            to.values[place] = from.values[i];
        }
    }
}

apr_status_t ka_radix_sort(int64_t *keys, int64_t *values, size_t n)
{
    columns from = {keys, values}, to = {NULL, NULL}, swap;
    uint64_t min, range;
    int64_t *spare;
    unsigned shift;
    bool sorted;

    if (n < 2) {
        return APR_SUCCESS;
    }
    range = key_range(&min, &sorted, keys, n);
    if (sorted) {
        return APR_SUCCESS;
    }
    spare = calloc(n, sizeof(*spare) * (values ? 2 : 1));
    if (spare == NULL) {
        return APR_ENOMEM;
    }
    to.keys = spare;
    to.values = values ? spare + n : NULL;
    for (shift = 0; shift < 64 && range >> shift; shift += DIGIT_BITS) {
        sort_by_digit(to, from, n, min, shift);
        swap = from;
        from = to;
        to = swap;
    }
    if (from.keys != keys) {
        memcpy(keys, from.keys, n * sizeof(*keys));
        if (values) {
            memcpy(values, from.values, n * sizeof(*values));
        }
    }
    free(spare);
    return APR_SUCCESS;
}
