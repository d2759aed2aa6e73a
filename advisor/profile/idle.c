/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "idle.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

void ka_idle_init(ka_idle *idle, size_t id_n)
{
    memset(idle, 0, sizeof(*idle));
    idle->entries = ka_array_alloc(id_n, sizeof(*idle->entries));
    idle->heap = ka_array_alloc(id_n, sizeof(*idle->heap));
    idle->failed = idle->entries == NULL || idle->heap == NULL;
}

void ka_idle_clear(ka_idle *idle)
{
    free(idle->entries);
    free(idle->heap);
    ka_keymap_clear(&idle->tops);
    memset(idle, 0, sizeof(*idle));
}

/* Ids break ties, so that the order does not depend on the heap's shape. */
static bool earlier(const ka_idle *idle, uint32_t a, uint32_t b)
{
    int64_t ready_a = idle->entries[a].ready_us;
    int64_t ready_b = idle->entries[b].ready_us;

    return ready_a < ready_b || (ready_a == ready_b && a < b);
}

static void sift_up(ka_idle *idle, size_t i)
{
    uint32_t id = idle->heap[i];

    while (i > 0 && earlier(idle, id, idle->heap[(i - 1) / 2])) {
        idle->heap[i] = idle->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    idle->heap[i] = id;
}

static void sift_down(ka_idle *idle, uint32_t id)
{
    size_t i = 0, child;

    while ((child = 2 * i + 1) < idle->heap_n) {
        if (child + 1 < idle->heap_n &&
            earlier(idle, idle->heap[child + 1], idle->heap[child])) {
            child++;
        }
        if (!earlier(idle, idle->heap[child], id)) {
            break;
        }
        idle->heap[i] = idle->heap[child];
        i = child;
    }
    idle->heap[i] = id;
}

void ka_idle_put(ka_idle *idle, uint64_t key, uint32_t id, int64_t ready_us)
{
    idle->entries[id] = (ka_idle_entry){ready_us, key, KA_INDEX_NONE};
    idle->heap[idle->heap_n++] = id;
    sift_up(idle, idle->heap_n - 1);
}

static void stack_push(ka_idle *idle, uint32_t id)
{
    uint32_t *top =
        ka_keymap_at(&idle->tops, idle->entries[id].key, KA_INDEX_NONE);

    if (top == NULL) {
        idle->failed = true;
        return;
    }
    idle->entries[id].below = *top;
    *top = id;
}

void ka_idle_advance(ka_idle *idle, int64_t now_us)
{
    while (idle->heap_n > 0 &&
           idle->entries[idle->heap[0]].ready_us <= now_us) {
        uint32_t first = idle->heap[0];
        uint32_t moved = idle->heap[--idle->heap_n];

        if (idle->heap_n > 0) {
            sift_down(idle, moved);
        }
        stack_push(idle, first);
    }
}

uint32_t ka_idle_take(ka_idle *idle, uint64_t key, int64_t oldest_us)
{
    uint32_t *top = ka_keymap_at(&idle->tops, key, KA_INDEX_NONE);
    uint32_t id;

    if (top == NULL) {
        idle->failed = true;
        return KA_INDEX_NONE;
    }
    id = *top;
    if (id == KA_INDEX_NONE) {
        return KA_INDEX_NONE;
    }
    if (idle->entries[id].ready_us < oldest_us) {
        /* What lies below is older still. */
        *top = KA_INDEX_NONE;
        return KA_INDEX_NONE;
    }
    *top = idle->entries[id].below;
    return id;
}
