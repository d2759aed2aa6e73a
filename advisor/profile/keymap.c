/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Linear probing at half load: one cache line per look-up, most of the time.
 */
#include "array.h"
#include "keymap.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 1024

void ka_keymap_init(ka_keymap *map)
{
    memset(map, 0, sizeof(*map));
}

void ka_keymap_clear(ka_keymap *map)
{
    free(map->slots);
    ka_keymap_init(map);
}

/* Multiply and fold, twice: every bit of the input reaches the low ones,
 * which choose the place. */
uint64_t ka_key_mix(uint64_t value)
{
    value ^= value >> 32;
    value *= UINT64_C(0x9e3779b97f4a7c15);
    value ^= value >> 29;
    value *= UINT64_C(0xd1342543de82ef95);
    return value ^ (value >> 32);
}

static ka_keymap_slot *find(const ka_keymap *map, uint64_t key)
{
    size_t mask = map->size - 1;
    size_t i = (size_t)ka_key_mix(key) & mask;

    while (map->slots[i].key != 0 && map->slots[i].key != key) {
        i = (i + 1) & mask;
    }
    return &map->slots[i];
}

void ka_keymap_expect(const ka_keymap *map, uint64_t key)
{
    if (map->size > 0) {
        size_t mask = map->size - 1;

        __builtin_prefetch(&map->slots[(size_t)ka_key_mix(key) & mask]);
    }
}

static int grow(ka_keymap *map)
{
    ka_keymap old = *map;
    size_t i;

    map->size = old.size ? old.size * 2 : FIRST_SIZE;
    map->slots = ka_array_alloc(map->size, sizeof(*map->slots));
    if (map->slots == NULL) {
        *map = old;
        return 0;
    }
    for (i = 0; i < old.size; i++) {
        if (old.slots[i].key != 0) {
            *find(map, old.slots[i].key) = old.slots[i];
        }
    }
    free(old.slots);
    return 1;
}

const uint32_t *ka_keymap_find(const ka_keymap *map, uint64_t key)
{
    const ka_keymap_slot *slot;

    if (map->size == 0) {
        return NULL;
    }
    slot = find(map, key ? key : 1);
    return slot->key ? &slot->value : NULL;
}

uint32_t *ka_keymap_at(ka_keymap *map, uint64_t key, uint32_t fresh)
{
    ka_keymap_slot *slot;

    key = key ? key : 1;
    if (map->n >= map->size / 2 && !grow(map)) {
        return NULL;
    }
    slot = find(map, key);
    if (slot->key == 0) {
        slot->key = key;
        slot->value = fresh;
        map->n++;
    }
    return &slot->value;
}
