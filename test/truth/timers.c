/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * A binary heap; a timer whose connection has moved on is dropped when it is
 * due. */
#include "visitors.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WAIT_MAX_US = 1000000 };

int64_t now_us(void)
{
    struct timespec t;

    clock_gettime(CLOCK_REALTIME, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static void grow(world *w)
{
    w->timer_size = w->timer_size ? 2 * w->timer_size : 1024;
    w->timers = realloc(w->timers, w->timer_size * sizeof(*w->timers));
    if (w->timers == NULL) {
        perror("visitors");
        exit(1);
    }
}

void timer_set(world *w, int64_t at_us, void (*fire)(world *, void *),
               void *of, connection *guard)
{
    timer new = {at_us, fire, of, guard, guard ? guard->serial : 0};
    size_t i = w->timer_n;

    if (w->timer_n == w->timer_size) {
        grow(w);
    }
    w->timer_n++;
    for (; i > 0 && w->timers[(i - 1) / 2].at_us > at_us; i = (i - 1) / 2) {
        w->timers[i] = w->timers[(i - 1) / 2];
    }
    w->timers[i] = new;
}

static timer take_first(world *w)
{
    timer first = w->timers[0], last = w->timers[--w->timer_n];
    size_t i = 0, child;

    for (; (child = 2 * i + 1) < w->timer_n; i = child) {
        child += child + 1 < w->timer_n &&
                 w->timers[child + 1].at_us < w->timers[child].at_us;
        if (w->timers[child].at_us >= last.at_us) {
            break;
        }
        w->timers[i] = w->timers[child];
    }
    w->timers[i] = last;
    return first;
}

int64_t timers_fire(world *w)
{
    while (w->timer_n) {
        int64_t late_us = now_us() - w->timers[0].at_us;
        timer t;

        if (late_us < 0) {
            return -late_us < WAIT_MAX_US ? -late_us : WAIT_MAX_US;
        }
        t = take_first(w);
        if (t.guard && t.guard->serial != t.serial) {
            continue;
        }
        w->latest_us = late_us > w->latest_us ? late_us : w->latest_us;
        t.fire(w, t.of);
    }
    return WAIT_MAX_US;
}
