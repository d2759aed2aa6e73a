/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Layouts as rows, told apart by their length.
 */
#include "uniqueid.h"

#include <string.h>

#include "hash.h"

#define DAY_S 86400
#define SHIFT_MAX_S (INT64_C(400) * DAY_S)
#define BYTES_MAX 20
/* 22 April 2021, httpd 2.4.47: the first release with base64url. */
#define URL_ALPHABET_S INT64_C(1619049600)

typedef struct layout {
    size_t characters;
    size_t bytes;
    size_t root_end;   /* bytes 4..root_end name the child */
    size_t worker;     /* where the worker's four bytes begin; 0: nowhere */
    bool two_alphabets;
} layout;

static const layout layouts[] = {
    {.characters = 19, .bytes = 14, .root_end = 12},
    {.characters = 24, .bytes = 18, .root_end = 12, .worker = 14},
    {.characters = 27,
     .bytes = 20,
     .root_end = 14,
     .worker = 16,
     .two_alphabets = true},
};

static const layout *layout_of(size_t characters)
{
    for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
        if (layouts[i].characters == characters) {
            return &layouts[i];
        }
    }
    return NULL;
}

/* A character's value, -1 if it is none of the alphabet's.  last_digit is
 * what stands for 63. */
static int digit(char c, char last_digit)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    if (c == last_digit) {
        return 63;
    }
    return c == (last_digit == '_' ? '-' : '@') ? 62 : -1;
}

static bool decode(unsigned char *bytes, const layout *how, const char *id,
                   char last_digit)
{
    uint32_t bits = 0;
    size_t n = 0;

    for (size_t i = 0; i < how->characters; i++) {
        const int value = digit(id[i], last_digit);

        if (value < 0) {
            return false;
        }
        bits = bits << 6 | (uint32_t)value;
        /* Character i completes a byte unless it starts a group of four. */
        if (i % 4) {
            bytes[n++] = (unsigned char)(bits >> (6 - i % 4 * 2));
        }
        if (n == how->bytes) {
            /* Padding that is not zero was not written by httpd. */
            return i + 1 == how->characters
                   && !(bits & ((1u << (6 - i % 4 * 2)) - 1));
        }
    }
    return false;
}

static uint32_t number(const unsigned char *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16
           | (uint32_t)at[2] << 8 | at[3];
}

/* The digit for 63 by what this id shows, by what others showed, or 0. */
static char known_last_digit(const ka_uniqueid *self, const layout *how,
                             const char *id)
{
    if (!how->two_alphabets || memchr(id, '@', how->characters)) {
        return '-';
    }
    if (memchr(id, '_', how->characters)) {
        return '_';
    }
    return self->last_digit;
}

static bool within(int64_t a, int64_t b, int64_t limit)
{
    return a - b <= limit && b - a <= limit;
}

/* Whether the stamp fits, given what earlier ids were off by. */
static bool stamp_fits(ka_uniqueid *self, int64_t stamp_s, int64_t begin_us)
{
    const int64_t offset = stamp_s - begin_us / 1000000;

    if (self->known && within(offset, self->offset_s, DAY_S)) {
        return true;
    }
    if (!within(offset, 0, SHIFT_MAX_S)) {
        return false;
    }
    if (self->known && !within(offset, self->other_s, DAY_S)) {
        self->other_s = offset;
        return false;
    }
    self->known = true;
    self->offset_s = offset;
    self->other_s = offset;
    return true;
}

bool ka_uniqueid_slot(ka_uniqueid *self, uint64_t *child, uint64_t *slot,
                      const char *id, size_t length, int64_t begin_us)
{
    const layout *how = layout_of(length);
    unsigned char bytes[BYTES_MAX];
    char last_digit;

    if (!how) {
        return false;
    }
    last_digit = known_last_digit(self, how, id);
    if (!decode(bytes, how, id,
                last_digit ? last_digit
                : begin_us / 1000000 < URL_ALPHABET_S ? '-' : '_')
        || !stamp_fits(self, number(bytes), begin_us)) {
        return false;
    }
    if (how->two_alphabets) {
        self->last_digit = last_digit;
    }
    *child = ka_hash_bytes(bytes + 4, how->root_end - 4);
    *slot = ka_hash_pair(*child, how->worker ? number(bytes + how->worker) : 0);
    return true;
}
