/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * An hour of visitors as a trace, and second by second as mod_kastats would
 * have seen it under T0. */
#ifndef OBSERVED_HOUR_H
#define OBSERVED_HOUR_H

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "profile/trace.h"

#define SEC INT64_C(1000000)
#define T0 (5 * SEC)

static uint64_t dice_next(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* From 1 ms on, six decades wide. */
static int64_t dice_time(uint64_t *seed, int64_t most_us)
{
    double share = (double)(dice_next(seed) % 1000000) / 1e6;

    return (int64_t)(1000 * pow((double)most_us / 1000, share));
}

#define WINDOW_S 3600
#define VISITORS 12000

/* An hour of visitors with a page or more, six connections each, busier in
 * its middle. */
static void browsing(ka_trace *trace, uint64_t seed)
{
    int i, k;

    ka_trace_init(trace);
    for (i = 0; i < VISITORS / 6; i++) {
        int64_t at =
            (int64_t)((dice_next(&seed) % 1800 + dice_next(&seed) % 1800) *
                      (uint64_t)SEC) +
            (int64_t)(dice_next(&seed) % (uint64_t)SEC);

        for (k = 0; k < 6; k++) {
            int64_t end = at + dice_time(&seed, SEC);
            uint32_t chain = ka_trace_open(trace, at, end);
            uint64_t more = dice_next(&seed) % 4;

            while (more-- > 0) {
                int64_t next = end + dice_time(&seed, T0);

                end = next + dice_time(&seed, SEC / 4);
                ka_trace_follow(trace, chain, next, end);
            }
            ka_trace_tail_set(trace, chain, 12 * T0);
        }
    }
}

static int compare_times(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* Maxima of the seconds; steps[n] are instants, doubled, odd where one more
 * is there. */
static void maxima(uint32_t *levels, int64_t *steps, size_t n)
{
    size_t at = 0, second;
    uint32_t now = 0;

    qsort(steps, n, sizeof(*steps), compare_times);
    for (second = 0; second < WINDOW_S; second++) {
        int64_t end = (int64_t)(second + 1) * SEC * 2;

        levels[second] = now;
        for (; at < n && steps[at] < end; at++) {
            now += steps[at] % 2 ? 1 : -1u;
            levels[second] = now > levels[second] ? now : levels[second];
        }
    }
}

/* [WINDOW_S]: maxima, and what was completed and accepted. */
typedef struct seconds {
    uint32_t open[WINDOW_S], busy[WINDOW_S];
    uint32_t requests[WINDOW_S], connections[WINDOW_S];
} seconds;

static void count(uint32_t *seconds, int64_t at_us)
{
    if (at_us < WINDOW_S * SEC) {
        seconds[at_us / SEC]++;
    }
}

static void observe_counts(seconds *s, const ka_trace *trace)
{
    size_t i;

    memset(s->requests, 0, sizeof(s->requests));
    memset(s->connections, 0, sizeof(s->connections));
    for (i = 0; i < trace->request_n; i++) {
        const ka_trace_request *r = &trace->requests[i];

        count(s->requests, r->busy_to_us);
        if (r->gap_us == KA_GAP_OPENS) {
            count(s->connections, r->busy_from_us);
        }
    }
}

/* As mod_kastats would have seen it at T0: all gaps lie within. */
static void observe(seconds *s, const ka_trace *trace)
{
    size_t n = 0, i;
    int64_t *steps = calloc(trace->request_n + trace->chain_n, 2 * 8);

    for (i = 0; i < trace->request_n; i++) {
        steps[n++] = trace->requests[i].busy_from_us * 2 + 1;
        steps[n++] = trace->requests[i].busy_to_us * 2;
    }
    maxima(s->busy, steps, n);
    n = 0;
    for (i = 0; i < trace->request_n; i++) {
        if (trace->requests[i].gap_us == KA_GAP_OPENS) {
            steps[n++] = trace->requests[i].busy_from_us * 2 + 1;
        }
    }
    for (i = 0; i < trace->chain_n; i++) {
        int64_t tail = trace->tails[i].len_us;

        steps[n++] = (trace->tails[i].from_us + (tail < T0 ? tail : T0)) * 2;
    }
    maxima(s->open, steps, n);
    free(steps);
    observe_counts(s, trace);
}

#endif
