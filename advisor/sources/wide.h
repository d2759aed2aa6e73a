/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_wide: compares of many bytes at a time.
 *
 * A mask has one bit for each of 64 bytes, the first byte's is the lowest.
 * Each mask has two twins: 16 bytes in a register of SSE2, which all x86-64
 * processors have, and plain arithmetic on 64-bit words for all others; tests
 * hold them against each other.
 *
 * Nothing is read outside of the bytes that are given: near the end the last
 * 64 bytes are looked at, not the next ones, which is why searches want to
 * know from where on they may read (floor).
 *
 * Pure; safe from any thread.
 */
#ifndef KA_WIDE_H
#define KA_WIDE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define KA_WIDE 64

/* ---- words ------------------------------------------------------------ */

/* The first byte is the lowest one on any machine. */
static inline uint64_t ka_wide_word(const char *at)
{
    uint64_t word;

    memcpy(&word, at, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

static inline uint64_t ka_wide_half(const char *at)
{
    uint32_t half;

    memcpy(&half, at, sizeof(half));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    half = __builtin_bswap32(half);
#endif
    return half;
}

/* As ka_wide_word of at[n], n < 8, with zeros behind it; none but these n
 * bytes are read. */
static inline uint64_t ka_wide_short_word(const char *at, size_t n)
{
    if (n >= 4) {
        return ka_wide_half(at)
               | ka_wide_half(at + n - 4) << (8 * (n - 4));
    }
    if (n == 0) {
        return 0;
    }
    return (uint64_t)(unsigned char)at[0]
           | (uint64_t)(unsigned char)at[n / 2] << (8 * (n / 2))
           | (uint64_t)(unsigned char)at[n - 1] << (8 * (n - 1));
}

/* The same for n up to 8. */
static inline uint64_t ka_wide_text_word(const char *at, size_t n)
{
    return n == 8 ? ka_wide_word(at) : ka_wide_short_word(at, n);
}

/* ---- arithmetic on eight bytes at once -------------------------------- */

#define KA_WIDE_LOW UINT64_C(0x0101010101010101)
#define KA_WIDE_TOP (KA_WIDE_LOW << 7)

/* The top bit of each byte that is zero; no carry crosses a byte. */
static inline uint64_t ka_wide_zeros(uint64_t word)
{
    return ~(((word & ~KA_WIDE_TOP) + ~KA_WIDE_TOP) | word | ~KA_WIDE_TOP);
}

/* The top bit of each byte that is less than ' '. */
static inline uint64_t ka_wide_controls(uint64_t word)
{
    return ~(((word & ~KA_WIDE_TOP) + KA_WIDE_LOW * (0x80 - ' ')) | word)
           & KA_WIDE_TOP;
}

/* Top bits to one bit a byte. */
static inline uint64_t ka_wide_gather(uint64_t tops)
{
    return (tops >> 7) * UINT64_C(0x0102040810204080) >> 56;
}

/* ---- masks ------------------------------------------------------------ */

static inline uint64_t ka_wide_mask_plain(const char *at, char byte)
{
    uint64_t mask = 0;

    for (size_t i = 0; i < KA_WIDE; i += 8) {
        uint64_t word = ka_wide_word(at + i);

        word ^= KA_WIDE_LOW * (unsigned char)byte;
        mask |= ka_wide_gather(ka_wide_zeros(word)) << i;
    }
    return mask;
}

static inline uint64_t ka_wide_word_end_plain(const char *at, char byte)
{
    uint64_t mask = 0;

    for (size_t i = 0; i < KA_WIDE; i += 8) {
        uint64_t word = ka_wide_word(at + i);
        uint64_t controls = ka_wide_controls(word);

        word ^= KA_WIDE_LOW * (unsigned char)byte;
        mask |= ka_wide_gather(ka_wide_zeros(word) | controls) << i;
    }
    return mask;
}

#ifdef __SSE2__
static inline __m128i ka_wide_load(const char *at)
{
    return _mm_loadu_si128((const __m128i *)(const void *)at);
}

static inline uint64_t ka_wide_bits(__m128i lanes)
{
    return (uint64_t)(unsigned)_mm_movemask_epi8(lanes);
}

/* Lanes of `byte` and of control bytes. */
static inline __m128i ka_wide_word_end_lanes(__m128i bytes, __m128i byte)
{
    const __m128i last = _mm_set1_epi8(' ' - 1);

    return _mm_or_si128(_mm_cmpeq_epi8(bytes, byte),
                        _mm_cmpeq_epi8(_mm_min_epu8(bytes, last), bytes));
}
#endif

/* Where at[64] is `byte`. */
static inline uint64_t ka_wide_mask(const char *at, char byte)
{
#ifdef __SSE2__
    const __m128i wanted = _mm_set1_epi8(byte);

    return ka_wide_bits(_mm_cmpeq_epi8(ka_wide_load(at), wanted))
           | ka_wide_bits(_mm_cmpeq_epi8(ka_wide_load(at + 16), wanted)) << 16
           | ka_wide_bits(_mm_cmpeq_epi8(ka_wide_load(at + 32), wanted)) << 32
           | ka_wide_bits(_mm_cmpeq_epi8(ka_wide_load(at + 48), wanted)) << 48;
#else
    return ka_wide_mask_plain(at, byte);
#endif
}

/* Where at[64] is `byte` or a control byte (less than a blank). */
static inline uint64_t ka_wide_word_end(const char *at, char byte)
{
#ifdef __SSE2__
    const __m128i wanted = _mm_set1_epi8(byte);
    uint64_t mask = 0;

    for (int i = 0; i < KA_WIDE; i += 16) {
        mask |= ka_wide_bits(ka_wide_word_end_lanes(ka_wide_load(at + i),
                                                    wanted)) << i;
    }
    return mask;
#else
    return ka_wide_word_end_plain(at, byte);
#endif
}

static inline unsigned ka_wide_mask16_plain(const char *at, char byte)
{
    const uint64_t wanted = KA_WIDE_LOW * (unsigned char)byte;
    const uint64_t low = ka_wide_zeros(ka_wide_word(at) ^ wanted);
    const uint64_t high = ka_wide_zeros(ka_wide_word(at + 8) ^ wanted);

    return (unsigned)(ka_wide_gather(low) | ka_wide_gather(high) << 8);
}

/* Where at[16] is `byte`. */
static inline unsigned ka_wide_mask16(const char *at, char byte)
{
#ifdef __SSE2__
    return (unsigned)ka_wide_bits(_mm_cmpeq_epi8(ka_wide_load(at),
                                                 _mm_set1_epi8(byte)));
#else
    return ka_wide_mask16_plain(at, byte);
#endif
}

/* ---- searches --------------------------------------------------------- */

/**
 * The first place of `byte` in [at, end), or `end`.
 * @param floor  <= at: bytes from there on may be read
 */
static inline const char *ka_wide_find(const char *floor, const char *at,
                                       const char *end, char byte)
{
    uint64_t mask;

    for (; end - at >= KA_WIDE; at += KA_WIDE) {
        mask = ka_wide_mask(at, byte);
        if (mask) {
            return at + __builtin_ctzll(mask);
        }
    }
    if (end - floor >= KA_WIDE && at < end) {
        mask = ka_wide_mask(end - KA_WIDE, byte) >> (KA_WIDE - (end - at));
        return mask ? at + __builtin_ctzll(mask) : end;
    }
    while (at < end && *at != byte) {
        at++;
    }
    return at;
}

/** The same for `byte` or a control byte, for texts of mostly less than 16
 * bytes. */
static inline const char *ka_wide_find_word_end(const char *floor,
                                                const char *at,
                                                const char *end, char byte)
{
    uint64_t mask;

#ifdef __SSE2__
    if (end - at >= 16) {
        mask = ka_wide_bits(ka_wide_word_end_lanes(ka_wide_load(at),
                                                   _mm_set1_epi8(byte)));
        if (mask) {
            return at + __builtin_ctzll(mask);
        }
        at += 16;
    }
#endif
    for (; end - at >= KA_WIDE; at += KA_WIDE) {
        mask = ka_wide_word_end(at, byte);
        if (mask) {
            return at + __builtin_ctzll(mask);
        }
    }
    if (end - floor >= KA_WIDE && at < end) {
        mask = ka_wide_word_end(end - KA_WIDE, byte)
               >> (KA_WIDE - (end - at));
        return mask ? at + __builtin_ctzll(mask) : end;
    }
    while (at < end && *at != byte && (unsigned char)*at >= ' ') {
        at++;
    }
    return at;
}

/* ASCII capitals become small letters. */
static inline uint64_t ka_wide_lower(uint64_t word)
{
    const uint64_t low = word & ~KA_WIDE_TOP;
    const uint64_t from_a = low + KA_WIDE_LOW * (0x80 - 'A');
    const uint64_t behind_z = low + KA_WIDE_LOW * (0x80 - 'Z' - 1);

    return word | (from_a & ~behind_z & ~word & KA_WIDE_TOP) >> 2;
}

/* ---- numbers ---------------------------------------------------------- */

/* How many of the eight bytes, from the first on, are digits. */
static inline unsigned ka_wide_digits(uint64_t word)
{
    const uint64_t value = word ^ KA_WIDE_LOW * '0';
    /* Each byte's top bit: more than 9.  The sum's low seven bits are at most
     * 0x7f + 0x76, so no carry crosses a byte. */
    const uint64_t others =
        (((value & ~KA_WIDE_TOP) + KA_WIDE_LOW * 0x76) | value) & KA_WIDE_TOP;

    return others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
}

/* The number that the first n bytes are, n of 1 .. 8, all digits. */
static inline uint64_t ka_wide_number(uint64_t word, unsigned n)
{
    uint64_t value = (word ^ KA_WIDE_LOW * '0') << (64 - 8 * n);

    /* Pairs, then fours, then all: ones + 10 * tens, in bytes of ever more
     * width. */
    value = (value * 10 + (value >> 8)) & UINT64_C(0x00ff00ff00ff00ff);
    value = (value * 100 + (value >> 16)) & UINT64_C(0x0000ffff0000ffff);
    return (value * 10000 + (value >> 32)) & UINT64_C(0xffffffff);
}

#endif
