/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"

#include <profile/keymap.h>

static void test_keymap__new_key_gets_the_fresh_value(void **state)
{
    ka_keymap map;

    (void)state;
    ka_keymap_init(&map);
    assert_int_equal(*ka_keymap_at(&map, 42, 7), 7);
    assert_int_equal(*ka_keymap_at(&map, 42, 9), 7);
    assert_int_equal(map.n, 1);
    ka_keymap_clear(&map);
    assert_int_equal(map.n, 0);
}

static void test_keymap__keeps_values_as_it_grows(void **state)
{
    ka_keymap map;
    uint32_t i;

    (void)state;
    ka_keymap_init(&map);
    for (i = 0; i < 100000; i++) {
        uint32_t *at = ka_keymap_at(&map, UINT64_C(1) << 40 | i * 64, i);

        assert_int_equal(*at, i);
        ka_keymap_expect(&map, i);
    }
    for (i = 0; i < 100000; i++) {
        assert_int_equal(*ka_keymap_at(&map, UINT64_C(1) << 40 | i * 64, 1),
                         i);
    }
    assert_int_equal(map.n, 100000);
    ka_keymap_clear(&map);
}

static void test_keymap__any_key_may_be_used(void **state)
{
    static const uint64_t keys[] = {0, 2, UINT64_MAX, UINT64_MAX - 1};
    ka_keymap map;
    uint32_t i;

    (void)state;
    ka_keymap_init(&map);
    ka_keymap_expect(&map, 0);
    for (i = 0; i < 4; i++) {
        *ka_keymap_at(&map, keys[i], 0) = 10 + i;
    }
    for (i = 0; i < 4; i++) {
        assert_int_equal(*ka_keymap_at(&map, keys[i], 0), 10 + i);
    }
    ka_keymap_clear(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_keymap__new_key_gets_the_fresh_value),
        unit_test(test_keymap__keeps_values_as_it_grows),
        unit_test(test_keymap__any_key_may_be_used),
    };

    return unit_main(tests);
}
