/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_adaptive.h"

/* 64 bits: a limit of 2^32 times 100 fits. */
static uint64_t share(uint32_t percent, uint32_t limit)
{
    return (uint64_t)percent * limit;
}

int64_t ka_adaptive_timeout(const ka_adaptive *a, int64_t wanted_us,
                            uint32_t taken, uint32_t limit)
{
    uint64_t at = share(100, taken);
    uint64_t high = share(a->high, limit);
    double room;

    if (limit == 0 || wanted_us <= a->min_us || at <= share(a->low, limit)) {
        return wanted_us;
    }
    if (at >= high) {
        return a->min_us;
    }
    room = (double)(high - at) / (double)(high - share(a->low, limit));
    return a->min_us + (int64_t)((double)(wanted_us - a->min_us) * room);
}

uint32_t ka_adaptive_excess(const ka_adaptive *a, uint32_t taken,
                            uint32_t limit)
{
    uint64_t most = share(a->high, limit); /* the first that is too many */

    if (limit == 0 || share(100, taken) < most) {
        return 0;
    }
    return taken - (uint32_t)((most + 99) / 100) + 1;
}

bool ka_adaptive_is_calm(const ka_adaptive *a, uint32_t taken, uint32_t limit)
{
    return limit == 0 || share(100, taken) < share(a->low, limit);
}
