/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What tests of the log source do with the requests they are handed. */
#ifndef KA_TEST_TAKEN_H
#define KA_TEST_TAKEN_H

#include "unit.h"

#include "sources/observation.h"

typedef struct taken {
    ka_request *requests;
    size_t n, room;
    bool ascending;
} taken;

static inline void take(void *context, const ka_request *request)
{
    taken *to = context;

    if (to->n && request->begin_us < to->requests[to->n - 1].begin_us) {
        to->ascending = false;
    }
    if (to->n == to->room) {
        to->room = to->room ? to->room * 2 : 64;
        to->requests =
            realloc(to->requests, to->room * sizeof(*to->requests));
    }
    to->requests[to->n++] = *request;
}

#endif
