/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_workers.h"

ka_workers ka_workers_of(const ka_snapshot *snapshot)
{
    bool pins = snapshot->config.async != 1;
    int32_t max = snapshot->config.max_request_workers;
    ka_workers w = {.busy = snapshot->gauges.busy,
                    .idle = pins ? snapshot->gauges.idle : 0,
                    .closing = pins ? snapshot->gauges.closing : 0};
    uint32_t held = ka_workers_held(&w);

    w.free = max > 0 && (uint32_t)max > held ? (uint32_t)max - held : 0;
    return w;
}
