/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_distinct: how many different keys there were, in bounded memory, and in a
 * form that merges: the KA_DISTINCT_MAX smallest hashes are kept.  Up to that
 * many the count is exact; beyond, the n-th smallest of uniform hashes tells
 * how dense they lie (k minimum values), within 1.6 % (one standard error).
 * The union of two is the smallest hashes of both: associative, commutative,
 * idempotent.
 *
 * ka_weights: the weight of the heaviest key, the same way: two rows of
 * counters by two hashes of the key; the smaller of the rows' maxima is never
 * less than the heaviest key's weight, and more by what else met in its cell
 * (some 1/KA_WEIGHTS_N of all).
 *
 * Concurrency: one thread.
 */
#ifndef KA_DISTINCT_H
#define KA_DISTINCT_H

#include <stddef.h>
#include <stdint.h>

#define KA_DISTINCT_MAX 4096
#define KA_WEIGHTS_N 4096

typedef struct ka_distinct {
    uint64_t hashes[KA_DISTINCT_MAX]; /* hashes[n], ascending */
    size_t n;
} ka_distinct;

typedef struct ka_weights {
    uint64_t rows[2][KA_WEIGHTS_N];
    uint64_t sum;
} ka_weights;

/** Prepares empty caller's storage. */
void ka_distinct_init(ka_distinct *d);
/** Counts a key; any 64 bits, hashed again. */
void ka_distinct_add(ka_distinct *d, uint64_t key);
/** Adds all keys of `from` to `into`. */
void ka_distinct_merge(ka_distinct *into, const ka_distinct *from);
/** How many different keys there were. */
uint64_t ka_distinct_count(const ka_distinct *d);
/** Takes in one of another's hashes, as it is: from a file. */
void ka_distinct_put(ka_distinct *d, uint64_t hash);

/** Prepares empty caller's storage. */
void ka_weights_init(ka_weights *w);
void ka_weights_add(ka_weights *w, uint64_t key, uint64_t weight);
void ka_weights_merge(ka_weights *into, const ka_weights *from);
/** The heaviest key's share of all weight, 0 if there is none. */
double ka_weights_top(const ka_weights *w);

#endif
