/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The constants are odd, with about half of their bits set and no pattern to
 * them; xoring them in keeps a word of zeros from wiping out the product.
 */
#include "hash.h"

#include <string.h>

#define SEED UINT64_C(0xa2c5e1937d8b460f)
#define KEY_A UINT64_C(0x5d1f93b8c6e24a71)
#define KEY_B UINT64_C(0xb7394ce15a8d2f63)

static uint64_t fold(uint64_t a, uint64_t b)
{
    const __uint128_t product = (__uint128_t)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t word(const unsigned char *at, size_t length)
{
    uint64_t value = 0;

    memcpy(&value, at, length);
    return value;
}

static uint64_t not_zero(uint64_t hash)
{
    return hash ? hash : 1;
}

uint64_t ka_hash_bytes(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    uint64_t hash = SEED ^ length;

    /* The length is part of the hash, so short words may be padded. */
    for (; length >= 16; length -= 16, at += 16) {
        hash = fold(word(at, 8) ^ KEY_A, word(at + 8, 8) ^ hash);
    }
    if (length > 8) {
        hash = fold(word(at, 8) ^ KEY_A, word(at + 8, length - 8) ^ hash);
    }
    else if (length) {
        hash = fold(word(at, length) ^ KEY_B, hash);
    }
    return not_zero(fold(hash ^ KEY_A, KEY_B));
}

uint64_t ka_hash_pair(uint64_t first, uint64_t second)
{
    return not_zero(fold(fold(first ^ KEY_A, SEED) ^ second, KEY_B));
}
