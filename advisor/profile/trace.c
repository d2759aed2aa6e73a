/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Two arrays that double.  They are malloc'd, not pooled: a log of millions
 * of requests grows them many times, and a pool would keep every old copy.
 */
#include "trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SIZE 1024

static int64_t held_in(int64_t us, int64_t min, int64_t max)
{
    return us < min ? min : us > max ? max : us;
}

static int64_t time_of(int64_t us)
{
    return held_in(us, -KA_TRACE_TIME_MAX, KA_TRACE_TIME_MAX);
}

void ka_trace_init(ka_trace *trace)
{
    memset(trace, 0, sizeof(*trace));
}

void ka_trace_clear(ka_trace *trace)
{
    free(trace->requests);
    free(trace->tails);
    ka_trace_init(trace);
}

/* Room for one more item; NULL, and the old array kept, without memory. */
static void *array_room(void *items, size_t *size, size_t used, size_t width)
{
    size_t wanted = *size ? *size * 2 : FIRST_SIZE;
    void *grown;

    if (used < *size) {
        return items;
    }
    if (wanted > SIZE_MAX / width) {
        return NULL;
    }
    grown = realloc(items, wanted * width);
    if (grown != NULL) {
        *size = wanted;
    }
    return grown;
}

static ka_trace_request *append_request(ka_trace *trace)
{
    void *room = array_room(trace->requests, &trace->request_size,
                            trace->request_n, sizeof(*trace->requests));

    if (room == NULL) {
        trace->failed = true;
        return NULL;
    }
    trace->requests = room;
    return &trace->requests[trace->request_n++];
}

static ka_trace_tail *append_tail(ka_trace *trace)
{
    void *room = array_room(trace->tails, &trace->chain_size, trace->chain_n,
                            sizeof(*trace->tails));

    if (room == NULL || trace->chain_n >= KA_CHAIN_NONE) {
        trace->failed = true;
        return NULL;
    }
    trace->tails = room;
    trace->tails[trace->chain_n] = (ka_trace_tail){0};
    return &trace->tails[trace->chain_n++];
}

static void widen_window(ka_trace *trace, int64_t begin_us, int64_t end_us)
{
    if (trace->request_n == 1) {
        trace->begin_us = begin_us;
        trace->end_us = end_us;
        return;
    }
    trace->begin_us = begin_us < trace->begin_us ? begin_us : trace->begin_us;
    trace->end_us = end_us > trace->end_us ? end_us : trace->end_us;
}

uint32_t ka_trace_open(ka_trace *trace, int64_t begin_us, int64_t end_us)
{
    ka_trace_tail *tail = append_tail(trace);
    ka_trace_request *request = tail ? append_request(trace) : NULL;

    if (request == NULL) {
        return KA_CHAIN_NONE;
    }
    begin_us = time_of(begin_us);
    end_us = held_in(end_us, begin_us, KA_TRACE_TIME_MAX);
    *tail = (ka_trace_tail){.from_us = end_us};
    *request = (ka_trace_request){.busy_from_us = begin_us,
                                  .busy_to_us = end_us,
                                  .gap_us = KA_GAP_OPENS,
                                  .chain = (uint32_t)trace->chain_n - 1};
    widen_window(trace, begin_us, end_us);
    return request->chain;
}

void ka_trace_follow(ka_trace *trace, uint32_t chain, int64_t begin_us,
                     int64_t end_us)
{
    ka_trace_request *request;
    ka_trace_tail *tail;

    if (chain == KA_CHAIN_NONE) {
        return;
    }
    assert(chain < trace->chain_n);
    request = append_request(trace);
    if (request == NULL) {
        return;
    }
    tail = &trace->tails[chain];
    begin_us = time_of(begin_us);
    request->chain = chain;
    request->gap_us = begin_us - tail->from_us;
    if (request->gap_us < 0) {
        request->gap_us = KA_GAP_JOINED;
        begin_us = tail->from_us;
    }
    end_us = held_in(end_us, begin_us, KA_TRACE_TIME_MAX);
    request->busy_from_us = begin_us;
    request->busy_to_us = end_us;
    tail->from_us = end_us;
    widen_window(trace, begin_us, end_us);
}

void ka_trace_class_set(ka_trace *trace, uint8_t cls)
{
    if (trace->request_n > 0) {
        trace->requests[trace->request_n - 1].cls = cls;
    }
}

void ka_trace_tail_set(ka_trace *trace, uint32_t chain, int64_t len_us)
{
    if (chain == KA_CHAIN_NONE) {
        return;
    }
    assert(chain < trace->chain_n);
    trace->tails[chain].len_us = held_in(len_us, 0, KA_TRACE_TIME_MAX);
}

int64_t ka_trace_window(const ka_trace *trace)
{
    return trace->end_us - trace->begin_us;
}
