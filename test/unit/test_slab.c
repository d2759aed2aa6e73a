/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "unit.h"

#include <profile/keymap.h>
#include <profile/slab.h>

typedef struct item {
    uint64_t key;
    uint64_t value;
} item;

static item *item_at(const ka_slab *slab, uint32_t place)
{
    return ka_slab_at(slab, place);
}

static void test_slab__empty_finds_nothing(void **state)
{
    ka_slab slab;

    (void)state;
    ka_slab_init(&slab, sizeof(item));
    assert_int_equal(ka_slab_find(&slab, 7), KA_SLAB_NONE);
    ka_slab_clear(&slab);
}

static void test_slab__names_come_and_go(void **state)
{
    ka_slab slab;
    uint32_t a, b;

    (void)state;
    ka_slab_init(&slab, sizeof(item));
    a = ka_slab_add(&slab);
    b = ka_slab_add(&slab);
    assert_int_equal(item_at(&slab, a)->key, 0);
    ka_slab_name(&slab, a, 5);
    ka_slab_name(&slab, b, 6);
    assert_int_equal(ka_slab_find(&slab, 5), a);
    ka_slab_name(&slab, a, 0);
    assert_int_equal(ka_slab_find(&slab, 5), KA_SLAB_NONE);
    ka_slab_name(&slab, a, 8);
    ka_slab_remove(&slab, b);
    assert_int_equal(ka_slab_find(&slab, 6), KA_SLAB_NONE);
    assert_int_equal(ka_slab_find(&slab, 8), a);
    assert_int_equal(slab.n, 1);
    ka_slab_clear(&slab);
}

static void test_slab__a_new_item_is_zeroed(void **state)
{
    ka_slab slab;
    uint32_t a;

    (void)state;
    ka_slab_init(&slab, sizeof(item));
    a = ka_slab_add(&slab);
    item_at(&slab, a)->value = 3;
    ka_slab_remove(&slab, a);
    assert_int_equal(ka_slab_add(&slab), a);
    assert_int_equal(item_at(&slab, a)->key, 0);
    assert_int_equal(item_at(&slab, a)->value, 0);
    ka_slab_clear(&slab);
}

/* Keys by the thousand, in an array of those that should be there. */
#define KEYS 5000

static void test_slab__finds_what_is_there(void **state)
{
    static uint32_t place[KEYS];
    uint64_t seed = 1;
    ka_slab slab;
    size_t i, round;

    (void)state;
    ka_slab_init(&slab, sizeof(item));
    memset(place, 0xff, sizeof(place));
    for (round = 0; round < 20 * KEYS; round++) {
        const uint64_t drawn = ka_key_mix(seed++);

        i = drawn % KEYS;
        if (place[i] == KA_SLAB_NONE) {
            place[i] = ka_slab_add(&slab);
            ka_slab_name(&slab, place[i], i + 1);
            item_at(&slab, place[i])->value = i;
        }
        else {
            ka_slab_remove(&slab, place[i]);
            place[i] = KA_SLAB_NONE;
        }
    }
    for (i = 0; i < KEYS; i++) {
        assert_int_equal(ka_slab_find(&slab, i + 1), place[i]);
        if (place[i] != KA_SLAB_NONE) {
            assert_int_equal(item_at(&slab, place[i])->value, i);
        }
    }
    assert_true(slab.room <= 2 * KEYS);
    ka_slab_clear(&slab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_slab__empty_finds_nothing),
        unit_test(test_slab__names_come_and_go),
        unit_test(test_slab__a_new_item_is_zeroed),
        unit_test(test_slab__finds_what_is_there),
    };

    return unit_main(tests);
}
