/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_idle: idle connections, each waiting for a request with its key; the one
 * that became ready last is taken first, as clients do (MODEL 3, M3).
 *
 *   put(key, id, ready)        advance(now)              take(key)
 *   ---------------->  heap  ---------------->  stacks  ----------->
 *                    by ready                   by key
 *
 * The heap hands out in order of `ready`, so each stack is sorted and its top
 * is the latest: put, advance and take are O(log n) at most, however many
 * connections one client has.  Calls must come with `now` ascending and
 * ready >= the last `now`; otherwise a take may miss the latest, no more.
 *
 * Concurrency: one thread.
 */
#ifndef KA_IDLE_H
#define KA_IDLE_H

#include <stdbool.h>
#include "keymap.h"

typedef struct ka_idle_entry {
    int64_t ready_us;
    uint64_t key;
    uint32_t below; /* in the stack of its key */
} ka_idle_entry;

typedef struct ka_idle {
    ka_idle_entry *entries; /* by id */
    uint32_t *heap;         /* ids */
    size_t heap_n;
    ka_keymap tops; /* key -> id on top of its stack */
    bool failed;    /* memory ran out: do not use it */
} ka_idle;

/** Prepares empty caller's storage for ids below id_n; without memory it is
 * `failed`. */
void ka_idle_init(ka_idle *idle, size_t id_n);
/** Frees what it owns. */
void ka_idle_clear(ka_idle *idle);

/** Puts a connection that is in no stack now; it can be taken once `advance`
 * has reached ready_us. */
void ka_idle_put(ka_idle *idle, uint64_t key, uint32_t id, int64_t ready_us);

/** Makes those with ready_us <= now_us takable. */
void ka_idle_advance(ka_idle *idle, int64_t now_us);

/**
 * Takes the connection of a key that became ready last, if that was at
 * oldest_us or later.  If it was not, the key's connections are forgotten.
 * @return its id; KA_INDEX_NONE if there is none
 */
uint32_t ka_idle_take(ka_idle *idle, uint64_t key, int64_t oldest_us);

#endif
