/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Among n uniform hashes the k-th smallest lies near k/n of their range; the
 * estimate (k - 1) over its share is free of bias (Beyer et al., 2007).
 */
#include "distinct.h"

#include <math.h>
#include <string.h>

#include "keymap.h"
#include "saturate.h"

/* The rows' cells come from different bits of one hash. */
#define WEIGHTS_BITS 12
#define WEIGHTS_SHIFT 32

_Static_assert(1u << WEIGHTS_BITS == KA_WEIGHTS_N, "a cell for each index");

/* ---- distinct ----------------------------------------------------------- */

void ka_distinct_init(ka_distinct *d)
{
    d->n = 0;
}

/* Index of the first hash that is not below. */
static size_t find(const ka_distinct *d, uint64_t hash)
{
    const uint64_t *base = d->hashes;
    size_t n = d->n;

    if (n == 0) {
        return 0;
    }
    /* No branch depends on the hash: which way it goes cannot be predicted. */
    while (n > 1) {
        size_t half = n / 2;

        base += base[half - 1] < hash ? half : 0;
        n -= half;
    }
    return (size_t)(base - d->hashes) + (*base < hash);
}

void ka_distinct_put(ka_distinct *d, uint64_t hash)
{
    size_t at, stay;

    if (d->n == KA_DISTINCT_MAX && hash >= d->hashes[KA_DISTINCT_MAX - 1]) {
        return;
    }
    at = find(d, hash);
    if (at < d->n && d->hashes[at] == hash) {
        return;
    }
    d->n += d->n < KA_DISTINCT_MAX;
    stay = d->n - 1 - at;
    memmove(&d->hashes[at + 1], &d->hashes[at], stay * sizeof(*d->hashes));
    d->hashes[at] = hash;
}

void ka_distinct_add(ka_distinct *d, uint64_t key)
{
    ka_distinct_put(d, ka_key_mix(key));
}

void ka_distinct_merge(ka_distinct *into, const ka_distinct *from)
{
    size_t i;

    for (i = 0; i < from->n; i++) {
        ka_distinct_put(into, from->hashes[i]);
    }
}

uint64_t ka_distinct_count(const ka_distinct *d)
{
    double share, count;

    if (d->n < KA_DISTINCT_MAX) {
        return d->n;
    }
    share = ldexp((double)d->hashes[d->n - 1] + 1, -64);
    count = round((double)(d->n - 1) / share);
    /* A file may hold any hashes. */
    return count > 0x1p63 ? UINT64_C(1) << 63 : (uint64_t)count;
}

/* ---- weights ------------------------------------------------------------ */

void ka_weights_init(ka_weights *w)
{
    memset(w, 0, sizeof(*w));
}

void ka_weights_add(ka_weights *w, uint64_t key, uint64_t weight)
{
    uint64_t hash = ka_key_mix(key);
    uint64_t *first = &w->rows[0][hash & (KA_WEIGHTS_N - 1)];
    uint64_t *second =
        &w->rows[1][(hash >> WEIGHTS_SHIFT) & (KA_WEIGHTS_N - 1)];

    *first = ka_add_saturated(*first, weight);
    *second = ka_add_saturated(*second, weight);
    w->sum = ka_add_saturated(w->sum, weight);
}

void ka_weights_merge(ka_weights *into, const ka_weights *from)
{
    size_t row, i;

    for (row = 0; row < 2; row++) {
        for (i = 0; i < KA_WEIGHTS_N; i++) {
            into->rows[row][i] =
                ka_add_saturated(into->rows[row][i], from->rows[row][i]);
        }
    }
    into->sum = ka_add_saturated(into->sum, from->sum);
}

static uint64_t heaviest(const uint64_t *row)
{
    uint64_t most = 0;
    size_t i;

    for (i = 0; i < KA_WEIGHTS_N; i++) {
        most = row[i] > most ? row[i] : most;
    }
    return most;
}

double ka_weights_top(const ka_weights *w)
{
    uint64_t first = heaviest(w->rows[0]), second = heaviest(w->rows[1]);
    uint64_t most = first < second ? first : second;

    if (w->sum == 0) {
        return 0;
    }
    return most < w->sum ? (double)most / (double)w->sum : 1;
}
