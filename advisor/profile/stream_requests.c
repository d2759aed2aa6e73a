/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "stream_requests.h"

#include <stdlib.h>

#include "stream_priv.h"

/* Of one part; large enough for the threads' start not to matter. */
#define BATCH_HITS 1024

struct ka_stream_requests {
    ka_stream *stream;
    uint16_t unsaid; /* flags that are left out */
    int64_t newest_us;
    size_t n;
    ka_hit_run runs[KA_HIT_PARTS];
    ka_hit hits[KA_HIT_PARTS][BATCH_HITS];
};

ka_stream_requests *ka_stream_requests_make(ka_stream *stream, bool off)
{
    ka_stream_requests *self = calloc(1, sizeof(*self));
    size_t p;

    if (!self) {
        return NULL;
    }
    self->stream = stream;
    self->unsaid = off ? KA_REQ_FINAL : 0;
    for (p = 0; p < KA_HIT_PARTS; p++) {
        self->runs[p].hits = self->hits[p];
    }
    ka_stream_is_in_order(stream);
    return self;
}

void ka_stream_requests_free(ka_stream_requests *self)
{
    free(self);
}

static void hand_on(ka_stream_requests *self, int64_t reached_us)
{
    ka_hit_batch batch = {.n = self->n,
                          .newest_us = self->newest_us,
                          .reached_us = reached_us};
    size_t p;

    for (p = 0; p < KA_HIT_PARTS; p++) {
        batch.runs[p] = &self->runs[p];
        batch.run_n[p] = self->runs[p].n > 0;
    }
    ka_stream_take(self->stream, &batch);
    for (p = 0; p < KA_HIT_PARTS; p++) {
        self->runs[p].n = 0;
    }
    self->n = 0;
}

void ka_stream_requests_take(ka_stream_requests *self, const ka_request *r)
{
    const size_t part = r->address % KA_HIT_PARTS;

    if (self->runs[part].n == BATCH_HITS) {
        hand_on(self, self->newest_us);
    }
    self->newest_us = ka_request_begin(r);
    self->hits[part][self->runs[part].n++] = ka_hit_of(r);
    self->hits[part][self->runs[part].n - 1].flags &= (uint16_t)~self->unsaid;
    self->n++;
}

void ka_stream_requests_end(ka_stream_requests *self)
{
    hand_on(self, INT64_MAX);
}
