/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The index is open addressing at half load at most; half a key in it saves
 * most looks at other items.
 */
#include "slab.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "keymap.h"

#define FIRST_ROOM 512

void ka_slab_init(ka_slab *slab, size_t width)
{
    *slab = (ka_slab){.width = width, .spare = KA_SLAB_NONE};
}

void ka_slab_clear(ka_slab *slab)
{
    free(slab->items);
    free(slab->index);
    ka_slab_init(slab, slab->width);
}

static uint64_t key_of(const ka_slab *slab, uint32_t place)
{
    uint64_t key;

    memcpy(&key, ka_slab_at(slab, place), sizeof(key));
    return key;
}

static void set_key(ka_slab *slab, uint32_t place, uint64_t key)
{
    memcpy(ka_slab_at(slab, place), &key, sizeof(key));
}

/* ---- index --------------------------------------------------------------- */

static size_t home_of(const ka_slab *slab, uint64_t key)
{
    return (size_t)ka_key_mix(key) & (slab->size - 1);
}

static uint32_t place_of(uint64_t entry)
{
    return (uint32_t)entry - 1;
}

static bool is_of(const ka_slab *slab, uint64_t entry, uint64_t key)
{
    return entry >> 32 == key >> 32 && key_of(slab, place_of(entry)) == key;
}

/* Where a key's entry is, or would be. */
static size_t find(const ka_slab *slab, uint64_t key)
{
    size_t at = home_of(slab, key);

    while (slab->index[at] && !is_of(slab, slab->index[at], key)) {
        at = (at + 1) & (slab->size - 1);
    }
    return at;
}

static void put(ka_slab *slab, uint64_t key, uint32_t place)
{
    slab->index[find(slab, key)] =
        (key & UINT64_C(0xffffffff00000000)) | ((uint64_t)place + 1);
}

/* Closes the hole that a removal leaves: what follows and would no longer be
 * found moves up. */
static void take_out(ka_slab *slab, uint64_t key)
{
    const size_t mask = slab->size - 1;
    size_t hole = find(slab, key), at = (hole + 1) & mask;

    for (; slab->index[at]; at = (at + 1) & mask) {
        const size_t home =
            home_of(slab, key_of(slab, place_of(slab->index[at])));

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            slab->index[hole] = slab->index[at];
            hole = at;
        }
    }
    slab->index[hole] = 0;
}

void ka_slab_expect(const ka_slab *slab, uint64_t key)
{
    if (slab->size > 0) {
        __builtin_prefetch(&slab->index[home_of(slab, key)]);
    }
}

void ka_slab_expect_item(const ka_slab *slab, uint64_t key)
{
    const uint64_t entry = slab->size > 0 ? slab->index[home_of(slab, key)] : 0;

    if (entry) {
        const char *item = ka_slab_at(slab, place_of(entry));

        __builtin_prefetch(item);
        __builtin_prefetch(item + 64);
    }
}

/* ---- items --------------------------------------------------------------- */

/* It grows when every place is taken, so each item is one. */
static bool grow(ka_slab *slab)
{
    const uint32_t room = slab->room ? 2 * slab->room : FIRST_ROOM;
    char *items = realloc(slab->items, room * slab->width);
    uint64_t *index;
    uint32_t i;

    if (items == NULL) {
        return false;
    }
    slab->items = items;
    index = ka_array_alloc(2 * (size_t)room, sizeof(*index));
    if (index == NULL) {
        return false;
    }
    free(slab->index);
    slab->index = index;
    slab->size = 2 * (size_t)room;
    slab->room = room;
    for (i = 0; i < slab->used; i++) {
        if (key_of(slab, i) != 0) {
            put(slab, key_of(slab, i), i);
        }
    }
    return true;
}

uint32_t ka_slab_add(ka_slab *slab)
{
    uint32_t place = slab->spare;

    if (place != KA_SLAB_NONE) {
        slab->spare = (uint32_t)key_of(slab, place);
    }
    else if (slab->used < slab->room || grow(slab)) {
        place = slab->used++;
    }
    else {
        return KA_SLAB_NONE;
    }
    memset(ka_slab_at(slab, place), 0, slab->width);
    slab->n++;
    return place;
}

void ka_slab_remove(ka_slab *slab, uint32_t place)
{
    ka_slab_name(slab, place, 0);
    set_key(slab, place, slab->spare); /* the next free one */
    slab->spare = place;
    slab->n--;
}

void ka_slab_name(ka_slab *slab, uint32_t place, uint64_t key)
{
    const uint64_t old = key_of(slab, place);

    if (old != 0) {
        take_out(slab, old);
    }
    set_key(slab, place, key);
    if (key != 0) {
        put(slab, key, place);
    }
}

uint32_t ka_slab_find(const ka_slab *slab, uint64_t key)
{
    uint64_t entry;

    if (slab->size == 0) {
        return KA_SLAB_NONE;
    }
    entry = slab->index[find(slab, key)];
    return entry ? place_of(entry) : KA_SLAB_NONE;
}
