/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The constants are odd, with about half of their bits set and no pattern to
 * them; xoring them in keeps a word of zeros from wiping out the product.
 */
#include "hash.h"

#include "wide.h"

#define SEED UINT64_C(0xa2c5e1937d8b460f)
#define KEY_A UINT64_C(0x5d1f93b8c6e24a71)
#define KEY_B UINT64_C(0xb7394ce15a8d2f63)

static uint64_t fold(uint64_t a, uint64_t b)
{
    const __uint128_t product = (__uint128_t)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t not_zero(uint64_t hash)
{
    return hash ? hash : 1;
}

/* As ka_wide_word of the last n bytes, n of 1 .. 8, with zeros behind them. */
static inline uint64_t last_word(const char *end, size_t n, size_t length)
{
    return length >= 8 ? ka_wide_word(end - 8) >> (64 - 8 * n)
                       : ka_wide_short_word(end - n, n);
}

uint64_t ka_hash_bytes(const void *bytes, size_t length)
{
    const char *at = bytes, *end = at + length;
    uint64_t hash = SEED ^ length;

    /* The length is part of the hash, so short words may be padded. */
    for (; end - at >= 16; at += 16) {
        hash = fold(ka_wide_word(at) ^ KEY_A, ka_wide_word(at + 8) ^ hash);
    }
    if (end - at > 8) {
        hash = fold(ka_wide_word(at) ^ KEY_A,
                    last_word(end, (size_t)(end - at) - 8, length) ^ hash);
    }
    else if (end > at) {
        hash = fold(last_word(end, (size_t)(end - at), length) ^ KEY_B, hash);
    }
    return not_zero(fold(hash ^ KEY_A, KEY_B));
}

uint64_t ka_hash_pair(uint64_t first, uint64_t second)
{
    return not_zero(fold(fold(first ^ KEY_A, SEED) ^ second, KEY_B));
}
