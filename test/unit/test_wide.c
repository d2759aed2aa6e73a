/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Wide compares against their twins and against byte by byte. */
#include "unit.h"

#include "sources/wide.h"

#define ROUNDS 2000

/* Seeded: the same bytes in every run. */
static uint64_t next_random(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005)
             + UINT64_C(1442695040888963407);
    return *state >> 33;
}

/* Few values, so that they are found, and those at the edges of a class. */
static char next_byte(uint64_t *state)
{
    static const char bytes[] = "  \"\"aaZz-09/:\\\x1f\x1e!\t\x7f\x80\xff"
                                "\x9f\xa0";

    return bytes[next_random(state) % sizeof(bytes)]; /* NUL included */
}

static void fill(char *out, size_t n, uint64_t *state)
{
    for (size_t i = 0; i < n; i++) {
        out[i] = next_byte(state);
    }
}

static void test_wide__masks_equal_their_twins(void **state)
{
    uint64_t seed = 1;
    char text[KA_WIDE];

    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        const char byte = next_byte(&seed);
        uint64_t same = 0, ends = 0;

        fill(text, sizeof(text), &seed);
        for (size_t i = 0; i < KA_WIDE; i++) {
            const int control = (unsigned char)text[i] < ' ';

            same |= (uint64_t)(text[i] == byte) << i;
            ends |= (uint64_t)(text[i] == byte || control) << i;
        }
        assert_int_equal(ka_wide_mask(text, byte), same);
        assert_int_equal(ka_wide_mask_plain(text, byte), same);
        assert_int_equal(ka_wide_word_end(text, byte), ends);
        assert_int_equal(ka_wide_word_end_plain(text, byte), ends);
        assert_int_equal(ka_wide_mask16(text + 3, byte),
                         same >> 3 & 0xffff);
        assert_int_equal(ka_wide_mask16_plain(text + 3, byte),
                         same >> 3 & 0xffff);
    }
}

/* Every byte value in every place of a word. */
static void test_wide__every_byte(void **state)
{
    char text[KA_WIDE];

    (void)state;
    for (int value = 0; value < 256; value++) {
        memset(text, value, sizeof(text));
        for (int byte = 0; byte < 256; byte++) {
            const uint64_t same = value == byte ? ~UINT64_C(0) : 0;
            const uint64_t ends = value < ' ' ? ~UINT64_C(0) : same;

            assert_int_equal(ka_wide_mask(text, (char)byte), same);
            assert_int_equal(ka_wide_mask_plain(text, (char)byte), same);
            assert_int_equal(ka_wide_word_end(text, (char)byte), ends);
            assert_int_equal(ka_wide_word_end_plain(text, (char)byte), ends);
        }
    }
}

/* In blocks of just their size, so that a byte too far is seen. */
static void test_wide__searches_stay_inside(void **state)
{
    uint64_t seed = 2;

    (void)state;
    for (int round = 0; round < 20 * ROUNDS; round++) {
        const size_t n = next_random(&seed) % 200;
        const size_t from = n ? next_random(&seed) % (n + 1) : 0;
        const char byte = next_byte(&seed);
        char *text = malloc(n ? n : 1);
        size_t same = from, end = from;

        assert_non_null(text);
        fill(text, n, &seed);
        /* Long stretches without what is looked for, too. */
        for (size_t i = 0; i < n && round % 2; i++) {
            text[i] = text[i] == byte || (unsigned char)text[i] < ' '
                              ? (next_random(&seed) % 40 ? 'x' : text[i])
                              : text[i];
        }
        while (same < n && text[same] != byte) {
            same++;
        }
        while (end < n && text[end] != byte
               && (unsigned char)text[end] >= ' ') {
            end++;
        }
        assert_ptr_equal(ka_wide_find(text, text + from, text + n, byte),
                         text + same);
        assert_ptr_equal(ka_wide_find_word_end(text, text + from, text + n,
                                               byte), text + end);
        free(text);
    }
}

static void test_wide__words_of_short_texts(void **state)
{
    static const char text[] = "abcdefgh";

    (void)state;
    for (size_t n = 0; n <= 8; n++) {
        char *copy = malloc(n ? n : 1);
        uint64_t expected = 0;

        assert_non_null(copy);
        memcpy(copy, text, n);
        for (size_t i = 0; i < n; i++) {
            expected |= (uint64_t)(unsigned char)text[i] << 8 * i;
        }
        assert_int_equal(ka_wide_text_word(copy, n), expected);
        if (n < 8) {
            assert_int_equal(ka_wide_short_word(copy, n), expected);
        }
        free(copy);
    }
}

static void test_wide__small_letters(void **state)
{
    (void)state;
    for (int value = 0; value < 256; value++) {
        const int lower = value >= 'A' && value <= 'Z' ? value + 32 : value;

        assert_int_equal(
            ka_wide_lower((uint64_t)value << 56 | (uint64_t)value << 8),
            (uint64_t)lower << 56 | (uint64_t)lower << 8);
    }
}

static void test_wide__numbers(void **state)
{
    static const char *const texts[] = {
        "0", "7", "10", "00", "99", "123", "4096", "65536", "100000",
        "9999999", "12345678", "99999999", "00000001"
    };
    char text[9];

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const unsigned n = (unsigned)strlen(texts[i]);

        memset(text, '9', sizeof(text)); /* behind what ends the number */
        memcpy(text, texts[i], n);
        text[n] = ' ';
        assert_int_equal(ka_wide_digits(ka_wide_word(text)), n);
        assert_int_equal(ka_wide_number(ka_wide_word(text), n),
                         atoi(texts[i]));
    }
}

static void test_wide__what_is_a_digit(void **state)
{
    char text[8];

    (void)state;
    for (int value = 0; value < 256; value++) {
        for (size_t at = 0; at < sizeof(text); at++) {
            memset(text, '5', sizeof(text));
            text[at] = (char)value;
            assert_int_equal(ka_wide_digits(ka_wide_word(text)),
                             value >= '0' && value <= '9' ? 8 : at);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_wide__masks_equal_their_twins),
        unit_test(test_wide__every_byte),
        unit_test(test_wide__searches_stay_inside),
        unit_test(test_wide__words_of_short_texts),
        unit_test(test_wide__small_letters),
        unit_test(test_wide__numbers),
        unit_test(test_wide__what_is_a_digit),
    };

    return unit_main(tests);
}
