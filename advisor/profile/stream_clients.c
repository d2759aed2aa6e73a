/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * When a client may go is kept on a wheel of seconds: it is looked at when its
 * second comes, and put further ahead if it has come back meanwhile; so a
 * request does not touch the wheel.
 *
 *   wheel   | s | s+1 | s+2 | ...        second s: look at the list
 *             |
 *             client -> client -> ...    due later? further ahead : gone
 */
#include "stream_priv.h"

#include <string.h>

#define WHEEL_MASK (KA_WHEEL_SECONDS - 1)

void ka_stream_table_init(ka_stream_table *t, uint32_t max)
{
    size_t i;

    memset(t, 0, sizeof(*t));
    t->max = max;
    ka_slab_init(&t->clients, sizeof(ka_stream_client));
    for (i = 0; i < KA_WHEEL_SECONDS; i++) {
        t->wheel[i] = KA_SLAB_NONE;
    }
}

void ka_stream_table_clear(ka_stream_table *t)
{
    ka_slab_clear(&t->clients);
}

static ka_stream_client *client_at(const ka_stream_table *t, uint32_t place)
{
    return ka_slab_at(&t->clients, place);
}

static void put_on_wheel(ka_stream_table *t, uint32_t place, int64_t due_us)
{
    const int64_t last = t->second + KA_WHEEL_SECONDS - 1;
    int64_t second = due_us / KA_SECOND_US + 1;
    uint32_t *list;

    second = second > last ? last : second < t->second ? t->second : second;
    list = &t->wheel[second & WHEEL_MASK];
    client_at(t, place)->next = *list;
    *list = place;
}

ka_stream_client *ka_stream_table_find(ka_stream_table *t, uint64_t key)
{
    const uint32_t place = ka_slab_find(&t->clients, key);

    return place == KA_SLAB_NONE ? NULL : client_at(t, place);
}

ka_stream_client *ka_stream_table_add(ka_stream_table *t, uint64_t key,
                                      int64_t due_us)
{
    const uint32_t place = ka_slab_add(&t->clients);

    if (place == KA_SLAB_NONE) {
        return NULL;
    }
    ka_slab_name(&t->clients, place, key);
    put_on_wheel(t, place, due_us);
    return client_at(t, place);
}

static void forget(ka_stream_table *t, ka_shard *shard, uint32_t place)
{
    ka_stream_leave(shard, client_at(t, place));
    ka_slab_remove(&t->clients, place);
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

        t->wheel[second & WHEEL_MASK] = KA_SLAB_NONE;
        t->second = second + 1;
        while (place != KA_SLAB_NONE) {
            const uint32_t next = client_at(t, place)->next;
            const int64_t due_us = ka_stream_due(client_at(t, place));

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
         t->clients.n > wanted && second < t->second + KA_WHEEL_SECONDS; second++) {
        uint32_t place = t->wheel[second & WHEEL_MASK];

        t->wheel[second & WHEEL_MASK] = KA_SLAB_NONE;
        while (place != KA_SLAB_NONE) {
            const uint32_t next = client_at(t, place)->next;
            const int64_t due_us = ka_stream_due(client_at(t, place));

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

/* Every client is on the wheel once. */
void ka_stream_table_leave(const ka_stream_table *t, ka_shard *shard)
{
    uint32_t place;
    size_t i;

    for (i = 0; i < KA_WHEEL_SECONDS; i++) {
        for (place = t->wheel[i]; place != KA_SLAB_NONE;
             place = client_at(t, place)->next) {
            ka_stream_leave(shard, client_at(t, place));
        }
    }
}
