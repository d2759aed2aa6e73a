/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * An index of 8 bytes a place leads to the clients, by open addressing.  When
 * a client may go is kept on a wheel of seconds: it is looked at when its
 * second comes, and put further ahead if it has come back meanwhile; so a
 * request does not touch the wheel.
 *
 *   wheel   | s | s+1 | s+2 | ...        second s: look at the list
 *             |
 *             client -> client -> ...    due later? further ahead : gone
 */
#include "stream_priv.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

#define FIRST_ROOM 512
#define WHEEL_MASK (KA_WHEEL_SECONDS - 1)

/* The index is at most half full.  A key is never 0. */
static bool index_make(ka_stream_table *t, size_t size)
{
    free(t->index);
    t->index = ka_array_alloc(size, sizeof(*t->index));
    t->size = t->index ? size : 0;
    return t->index != NULL;
}

/* A key is a hash (hash.h). */
static size_t home_of(const ka_stream_table *t, uint64_t key)
{
    return (size_t)(key >> 8) & (t->size - 1);
}

static uint64_t entry_of(uint64_t key, uint32_t place)
{
    return (key & UINT64_C(0xffffffff00000000)) | ((uint64_t)place + 1);
}

static uint32_t place_of(uint64_t entry)
{
    return (uint32_t)entry - 1;
}

static bool same_half(uint64_t entry, uint64_t key)
{
    return entry >> 32 == key >> 32;
}

static void index_put(ka_stream_table *t, uint64_t key, uint32_t place)
{
    size_t at = home_of(t, key);

    while (t->index[at]) {
        at = (at + 1) & (t->size - 1);
    }
    t->index[at] = entry_of(key, place);
}

static size_t index_find(const ka_stream_table *t, uint64_t key)
{
    size_t at = home_of(t, key);

    while (t->index[at] &&
           !(same_half(t->index[at], key) &&
             t->clients[place_of(t->index[at])].key == key)) {
        at = (at + 1) & (t->size - 1);
    }
    return at;
}

/* Closes the hole that a removal leaves: what follows and would no longer be
 * found moves up. */
static void index_remove(ka_stream_table *t, uint64_t key)
{
    const size_t mask = t->size - 1;
    size_t hole = index_find(t, key), at = hole;

    for (;;) {
        size_t home;

        at = (at + 1) & mask;
        if (!t->index[at]) {
            break;
        }
        home = home_of(t, t->clients[place_of(t->index[at])].key);
        if (((at - home) & mask) >= ((at - hole) & mask)) {
            t->index[hole] = t->index[at];
            hole = at;
        }
    }
    t->index[hole] = 0;
}

static bool grow(ka_stream_table *t)
{
    const uint32_t room = t->room ? 2 * t->room : FIRST_ROOM;
    ka_stream_client *clients = ka_array_alloc(room, sizeof(*clients));
    uint32_t i;

    if (!clients || !index_make(t, 2 * (size_t)room)) {
        free(clients);
        return false;
    }
    if (t->room) {
        memcpy(clients, t->clients, t->used * sizeof(*clients));
    }
    free(t->clients);
    t->clients = clients;
    t->room = room;
    /* It grows when every place is taken. */
    for (i = 0; i < t->used; i++) {
        index_put(t, clients[i].key, i);
    }
    return true;
}

bool ka_stream_table_init(ka_stream_table *t, uint32_t max)
{
    size_t i;

    memset(t, 0, sizeof(*t));
    t->max = max;
    t->spare = KA_NO_CLIENT;
    for (i = 0; i < KA_WHEEL_SECONDS; i++) {
        t->wheel[i] = KA_NO_CLIENT;
    }
    return grow(t);
}

void ka_stream_table_clear(ka_stream_table *t)
{
    free(t->index);
    free(t->clients);
    memset(t, 0, sizeof(*t));
}

ka_stream_client *ka_stream_table_at(ka_stream_table *t, uint64_t key,
                                     bool *fresh)
{
    size_t at = index_find(t, key);
    uint32_t place;

    *fresh = !t->index[at];
    if (!*fresh) {
        return &t->clients[place_of(t->index[at])];
    }
    if (t->spare != KA_NO_CLIENT) {
        place = t->spare;
        t->spare = t->clients[place].next;
    }
    else {
        if (t->used == t->room) {
            if (!grow(t)) {
                t->failed = true;
                return NULL;
            }
            at = index_find(t, key);
        }
        place = t->used++;
    }
    t->index[at] = entry_of(key, place);
    t->n++;
    t->clients[place] = (ka_stream_client){.key = key, .next = KA_NO_CLIENT};
    return &t->clients[place];
}

void ka_stream_table_expect(const ka_stream_table *t, uint64_t key)
{
    __builtin_prefetch(&t->index[home_of(t, key)]);
}

void ka_stream_table_expect_client(const ka_stream_table *t, uint64_t key)
{
    const uint64_t entry = t->index[home_of(t, key)];

    if (entry) {
        const ka_stream_client *client = &t->clients[place_of(entry)];

        __builtin_prefetch(client);
        __builtin_prefetch((const char *)client + 64);
    }
}

/* ---- the wheel ----------------------------------------------------------- */

static void put_on_wheel(ka_stream_table *t, uint32_t place, int64_t due_us)
{
    const int64_t last = t->second + KA_WHEEL_SECONDS - 1;
    int64_t second = due_us / KA_SECOND_US + 1;
    uint32_t *list;

    second = second > last ? last : second < t->second ? t->second : second;
    list = &t->wheel[second & WHEEL_MASK];
    t->clients[place].next = *list;
    *list = place;
}

void ka_stream_table_watch(ka_stream_table *t, ka_stream_client *client,
                           int64_t due_us)
{
    put_on_wheel(t, (uint32_t)(client - t->clients), due_us);
}


static void forget(ka_stream_table *t, ka_shard *shard, uint32_t place)
{
    ka_stream_client *client = &t->clients[place];

    ka_stream_leave(shard, client);
    index_remove(t, client->key);
    client->key = 0;
    client->next = t->spare;
    t->spare = place;
    t->n--;
}

void ka_stream_table_expire(ka_stream_table *t, ka_shard *shard,
                            int64_t now_us)
{
    const int64_t now = now_us / KA_SECOND_US;
    int64_t second = t->second;

    /* After a long pause, once around. */
    if (now - second >= KA_WHEEL_SECONDS) {
        second = now - KA_WHEEL_SECONDS + 1;
    }
    for (; second <= now; second++) {
        uint32_t place = t->wheel[second & WHEEL_MASK];

        t->wheel[second & WHEEL_MASK] = KA_NO_CLIENT;
        t->second = second + 1;
        while (place != KA_NO_CLIENT) {
            const uint32_t next = t->clients[place].next;
            const int64_t due_us = ka_stream_due(&t->clients[place]);

            if (due_us < now_us) {
                forget(t, shard, place);
            }
            else {
                put_on_wheel(t, place, due_us);
            }
            place = next;
        }
    }
}

/* The lists that come next hold those who have been silent the longest, and
 * some who have come back since they were put there: these are put further
 * ahead first. */
void ka_stream_table_make_room(ka_stream_table *t, ka_shard *shard)
{
    const uint32_t wanted = t->max - t->max / 16;
    int64_t second;

    for (second = t->second;
         t->n > wanted && second < t->second + KA_WHEEL_SECONDS; second++) {
        uint32_t place = t->wheel[second & WHEEL_MASK];

        t->wheel[second & WHEEL_MASK] = KA_NO_CLIENT;
        while (place != KA_NO_CLIENT) {
            const uint32_t next = t->clients[place].next;
            const int64_t due_us = ka_stream_due(&t->clients[place]);

            if (due_us / KA_SECOND_US + 1 > second) {
                put_on_wheel(t, place, due_us);
            }
            else {
                forget(t, shard, place);
                shard->tally->forgotten++;
            }
            place = next;
        }
    }
}
