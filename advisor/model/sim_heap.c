/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sim_priv.h"

#include <stdlib.h>

#define FIRST_SIZE 1024

/* At one instant by kind, then by id: so that the order never depends on how
 * the heap happened to be built. */
static bool before(const ka_sim_event *a, const ka_sim_event *b)
{
    if (a->at != b->at) {
        return a->at < b->at;
    }
    return a->kind != b->kind ? a->kind < b->kind : a->id < b->id;
}

static bool make_room(ka_sim_heap *heap)
{
    size_t size = heap->size ? heap->size * 2 : FIRST_SIZE;
    ka_sim_event *events = realloc(heap->events, size * sizeof(*events));

    if (events == NULL) {
        return false;
    }
    heap->events = events;
    heap->size = size;
    return true;
}

bool ka_sim_heap_push(ka_sim_heap *heap, int64_t at, ka_sim_kind kind,
                      uint32_t id)
{
    ka_sim_event event = {.at = at, .kind = kind, .id = id};
    size_t i = heap->n;

    if (heap->n == heap->size && !make_room(heap)) {
        return false;
    }
    heap->n++;
    while (i > 0 && before(&event, &heap->events[(i - 1) / 2])) {
        heap->events[i] = heap->events[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap->events[i] = event;
    return true;
}

ka_sim_event ka_sim_heap_pop(ka_sim_heap *heap)
{
    ka_sim_event top = heap->events[0], last = heap->events[--heap->n];
    size_t i = 0, child;

    while ((child = 2 * i + 1) < heap->n) {
        if (child + 1 < heap->n &&
            before(&heap->events[child + 1], &heap->events[child])) {
            child++;
        }
        if (!before(&heap->events[child], &last)) {
            break;
        }
        heap->events[i] = heap->events[child];
        i = child;
    }
    heap->events[i] = last;
    return top;
}
