/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_keymap: from a 64-bit key to a 32-bit value, an open-addressing hash.
 * Clients, addresses, slots and ports are known by their hashes only, so a
 * key is all that has to be stored.
 *
 * Concurrency: one thread.
 */
#ifndef KA_KEYMAP_H
#define KA_KEYMAP_H

#include <stddef.h>
#include <stdint.h>

/* How many requests ahead a loop says what it will ask a map for. */
#define KA_KEYMAP_AHEAD 8

/* No index: what a map of indexes holds for a key without one. */
#define KA_INDEX_NONE UINT32_MAX

typedef struct ka_keymap_slot {
    uint64_t key; /* 0: empty */
    uint32_t value;
} ka_keymap_slot;

typedef struct ka_keymap {
    ka_keymap_slot *slots;
    size_t size; /* a power of two, or 0 */
    size_t n;    /* keys */
} ka_keymap;

/** Prepares empty caller's storage. */
void ka_keymap_init(ka_keymap *map);
/** Frees what the map owns and leaves it empty. */
void ka_keymap_clear(ka_keymap *map);

/**
 * The value of a key; a new key gets `fresh`.  Any key may be used; 0 and 1
 * share one place.
 * @return valid until the next call; NULL without memory
 */
uint32_t *ka_keymap_at(ka_keymap *map, uint64_t key, uint32_t fresh);

/** The value of a key; NULL: the map does not have it. */
const uint32_t *ka_keymap_find(const ka_keymap *map, uint64_t key);

/** Says that ka_keymap_at will be asked for key soon: of a map larger than
 * the caches, most of the time goes into waiting for memory. */
void ka_keymap_expect(const ka_keymap *map, uint64_t key);

/** Spreads the bits of a value over all 64: a hash of it. */
uint64_t ka_key_mix(uint64_t value);

#endif
