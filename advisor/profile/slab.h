/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_slab: items that come and go, some of which have a key to be found by.
 *
 * Places are taken again, so memory is that of the most items at once; it
 * grows from small, by moving.  An item's first member is its key, a uint64_t
 * that is 0 while it has none.
 *
 * Concurrency: one thread.
 */
#ifndef KA_SLAB_H
#define KA_SLAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KA_SLAB_NONE UINT32_MAX

typedef struct ka_slab {
    char *items;     /* items[room], each `width` bytes */
    size_t width;
    uint64_t *index; /* index[size]: 0, or a key's upper half and place + 1 */
    size_t size;     /* a power of two; 0 until the first item */
    uint32_t n;      /* items there are */
    uint32_t used, room;
    uint32_t spare;  /* list of places that are free again */
} ka_slab;

/** Prepares empty caller's storage for items of a multiple of 8 bytes. */
void ka_slab_init(ka_slab *slab, size_t width);
/** Frees what it owns. */
void ka_slab_clear(ka_slab *slab);

/** A new item, zeroed.  Pointers to items are not valid any more.
 * @return its place; KA_SLAB_NONE without memory */
uint32_t ka_slab_add(ka_slab *slab);

/** Frees an item; it loses its key. */
void ka_slab_remove(ka_slab *slab, uint32_t place);

/** Gives an item a key (> 0) that no other one has, or with 0 takes it. */
void ka_slab_name(ka_slab *slab, uint32_t place, uint64_t key);

/** The place of a key (> 0); KA_SLAB_NONE: no item has it. */
uint32_t ka_slab_find(const ka_slab *slab, uint64_t key);

/** Says that a key will be looked for: its place in the index, then what that
 * leads to. */
void ka_slab_expect(const ka_slab *slab, uint64_t key);
void ka_slab_expect_item(const ka_slab *slab, uint64_t key);

/** The item at a place. */
static inline void *ka_slab_at(const ka_slab *slab, uint32_t place)
{
    return slab->items + place * slab->width;
}

#endif
