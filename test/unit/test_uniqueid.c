/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Child and worker out of UNIQUE_IDs of every layout. */
#include "unit.h"

#include <stdbool.h>

#include "sources/uniqueid.h"

#define SECOND INT64_C(1000000)

static const char at_dash[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789@-";
static const char dash_underscore[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/* An id as mod_unique_id would make it: stamp, root, counter, worker. */
typedef struct made {
    uint32_t stamp;
    unsigned char root[10];
    size_t root_n;   /* 8: address and pid, 10: random root */
    uint16_t counter;
    int64_t worker; /* -1: httpd 1.3, none */
    const char *alphabet;
} made;

static size_t put(unsigned char *to, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        to[i] = (unsigned char)(value >> (8 * (bytes - 1 - i)));
    }
    return (size_t)bytes;
}

static size_t encode(char *out, const made *id)
{
    unsigned char bytes[24] = {0};
    size_t n = put(bytes, id->stamp, 4), characters;

    memcpy(bytes + n, id->root, id->root_n);
    n += id->root_n;
    n += put(bytes + n, id->counter, 2);
    if (id->worker >= 0) {
        n += put(bytes + n, (uint32_t)id->worker, 4);
    }
    characters = (n * 8 + 5) / 6;
    for (size_t i = 0; i < characters; i++) {
        const size_t bit = i * 6;
        const unsigned pair =
            (unsigned)bytes[bit / 8] << 8 | bytes[bit / 8 + 1];

        out[i] = id->alphabet[pair >> (10 - bit % 8) & 63];
    }
    out[characters] = '\0';
    return characters;
}

static bool slot_of(ka_uniqueid *reader, uint64_t *child, uint64_t *slot,
                    const made *id)
{
    char text[32];
    const size_t n = encode(text, id);

    return ka_uniqueid_slot(reader, child, slot, text, n,
                            id->stamp * SECOND);
}

static const made layouts[] = {
    {1441183371, {192, 168, 3, 7, 0, 0, 0x37, 0xaf}, 8, 23560, 1, at_dash},
    {1441183371, {192, 168, 3, 7, 0, 0, 0x37, 0xaf}, 8, 23560, -1, at_dash},
    {1540000000, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 10, 7, 3, at_dash},
    {1640000000, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, 10, 7, 3, dash_underscore},
};

#define LAYOUTS_N (sizeof(layouts) / sizeof(layouts[0]))

/* The encoder of this test against an id that a real httpd logged. */
static void test_uniqueid__as_logged(void **state)
{
    ka_uniqueid reader = {0};
    uint64_t child, slot;
    char text[32];

    (void)state;
    assert_int_equal(encode(text, &layouts[0]), 24);
    assert_string_equal(text, "Vea2i8CoAwcAADevXAgAAAAB");
    assert_true(ka_uniqueid_slot(&reader, &child, &slot, text, 24,
                                 1441183371 * SECOND));
    assert_true(child != 0 && slot != 0 && child != slot);
}

/* Time and counter change from request to request, the identity does not. */
static void test_uniqueid__same_child_and_worker_same_slot(void **state)
{
    (void)state;
    for (size_t i = 0; i < LAYOUTS_N; i++) {
        ka_uniqueid reader = {0};
        uint64_t child, slot;

        assert_true(slot_of(&reader, &child, &slot, &layouts[i]));
        for (uint32_t k = 1; k < 2000; k++) {
            uint64_t child2 = 0, slot2 = 0;
            made next = layouts[i];

            next.stamp += k * 17;
            next.counter = (uint16_t)(next.counter + k * 31);
            assert_true(slot_of(&reader, &child2, &slot2, &next));
            assert_true(child == child2 && slot == slot2);
        }
    }
}

static void test_uniqueid__other_child_or_worker_other_slot(void **state)
{
    (void)state;
    for (size_t i = 0; i < LAYOUTS_N; i++) {
        ka_uniqueid reader = {0};
        uint64_t child, slot, child2, slot2;
        made next = layouts[i];

        assert_true(slot_of(&reader, &child, &slot, &layouts[i]));
        next.root[7] ^= 1;
        assert_true(slot_of(&reader, &child2, &slot2, &next));
        assert_true(child != child2 && slot != slot2);
        if (next.worker >= 0) {
            next = layouts[i];
            next.worker += 64;
            assert_true(slot_of(&reader, &child2, &slot2, &next));
            assert_true(child == child2);
            assert_true(slot != slot2);
        }
    }
}

/* 27 characters, a root full of ones: `-` is 63 in one alphabet and 62 in the
 * other.  Once a `@` or `_` has been seen, every id must agree. */
static void test_uniqueid__alphabet_is_learnt(void **state)
{
    static const char *const alphabets[] = {at_dash, dash_underscore};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        ka_uniqueid reader = {0};
        made id = {1640000000, {0}, 10, 0, 1008, alphabets[i]};
        uint64_t child, slot, child2, slot2;

        memset(id.root, 0xff, 10);
        id.root[1] = 0xbf; /* the 7th character is 62, others are 63 */
        assert_true(slot_of(&reader, &child, &slot, &id));
        assert_int_equal(reader.last_digit, alphabets[i][63]);
        memset(id.root, 0xff, 10);
        id.counter = 0xffff;
        assert_true(slot_of(&reader, &child, &slot, &id));
        for (uint32_t k = 0; k < 5000; k++) {
            id.stamp++;
            id.counter--;
            assert_true(slot_of(&reader, &child2, &slot2, &id));
            assert_true(child == child2 && slot == slot2);
        }
    }
}

static void test_uniqueid__refuses_what_it_is_not(void **state)
{
    static const char *const cases[] = {
        "",
        "-",
        "Vea2i8CoAwcAADevXAgAAAA",     /* 23 */
        "Vea2i8CoAwcAADevXAgAAAABA",   /* 25 */
        "Vea2i8CoAwcAADevXAgAAA B",    /* a blank */
        "Vea2i8CoAwcAADevXAgAAA_B",    /* not that alphabet's */
        "Vea2i8CoAwcAADevXAgAAAAB+++", /* plain base64 */
        "AAAAAAAAAAAAAAAAAAAAAAAA",    /* 1970 */
        "0f1e2d3c4b5a69788796a5b4c3d2e1f0" /* nginx's request_id */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_uniqueid reader = {0};
        uint64_t child = 11, slot = 12;

        assert_false(ka_uniqueid_slot(&reader, &child, &slot, cases[i],
                                      strlen(cases[i]),
                                      1441183371 * SECOND));
        assert_true(child == 11 && slot == 12);
    }
}

static void test_uniqueid__padding_must_be_zero(void **state)
{
    ka_uniqueid reader = {0};
    uint64_t child, slot;
    char text[32];
    size_t n = encode(text, &layouts[3]);

    (void)state;
    assert_int_equal(n, 27);
    text[26]++; /* sets the last of the two bits that httpd leaves zero */
    assert_false(ka_uniqueid_slot(&reader, &child, &slot, text, n,
                                  1640000000 * SECOND));
}

/* A log whose dates were shifted as a whole still tells its processes; an id
 * that is off from the others does not. */
static void test_uniqueid__stamp_must_agree(void **state)
{
    static const struct {
        int64_t shift_s; /* of the log against the stamps */
        bool taken;
    } cases[] = {
        {0, true},           {7200, true},         {-50400, true},
        {366 * 86400, true}, {-399 * 86400, true}, {401 * 86400, false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_uniqueid reader = {0};
        uint64_t child, slot;
        char text[32];
        const size_t n = encode(text, &layouts[0]);
        const int64_t begin = (layouts[0].stamp + cases[i].shift_s) * SECOND;

        assert_int_equal(
            ka_uniqueid_slot(&reader, &child, &slot, text, n, begin),
            cases[i].taken);
        if (cases[i].taken) {
            assert_true(ka_uniqueid_slot(&reader, &child, &slot, text, n,
                                         begin + 3600 * SECOND));
            /* Alone it is off; when the next is off alike, the clock of
             * the log has been set. */
            assert_false(ka_uniqueid_slot(&reader, &child, &slot, text, n,
                                          begin - 90000 * SECOND));
            assert_int_equal(ka_uniqueid_slot(&reader, &child, &slot, text, n,
                                              begin - 90000 * SECOND),
                             cases[i].shift_s > -399 * 86400);
        }
    }
}

/* Tokens of another make that happen to have the length: hardly any is taken,
 * and they do not spoil what follows. */
static void test_uniqueid__random_tokens(void **state)
{
    ka_uniqueid reader = {0};
    uint64_t child, slot, random = 1;
    int taken = 0;

    (void)state;
    for (int i = 0; i < 10000; i++) {
        char text[25];

        for (int k = 0; k < 24; k++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            text[k] = at_dash[random >> 58];
        }
        taken += ka_uniqueid_slot(&reader, &child, &slot, text, 24,
                                  1441183371 * SECOND);
    }
    /* The first that fits, then one in 25,000 (two days in 136 years). */
    assert_true(taken < 5);
    slot_of(&reader, &child, &slot, &layouts[0]);
    assert_true(slot_of(&reader, &child, &slot, &layouts[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_uniqueid__as_logged),
        unit_test(test_uniqueid__same_child_and_worker_same_slot),
        unit_test(test_uniqueid__other_child_or_worker_other_slot),
        unit_test(test_uniqueid__alphabet_is_learnt),
        unit_test(test_uniqueid__refuses_what_it_is_not),
        unit_test(test_uniqueid__padding_must_be_zero),
        unit_test(test_uniqueid__stamp_must_agree),
        unit_test(test_uniqueid__random_tokens),
    };

    return unit_main(tests);
}
