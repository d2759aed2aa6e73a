/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * `SetHandler kastats`: the segment over HTTP; show.c says what is shown.
 */
#include "kastats.h"

#define HANDLER "kastats"

static int answer(request_rec *r)
{
    r->allowed |= AP_METHOD_BIT << M_GET;
    if (r->method_number != M_GET) {
        return DECLINED;
    }
    if (!kastats || !kastats->writer.header) {
        return HTTP_SERVICE_UNAVAILABLE;
    }
    return kastats_show(r);
}

static int handler(request_rec *r)
{
    kastats_served_begins(r);
    return r->handler && strcmp(r->handler, HANDLER) == 0 ? answer(r)
                                                          : DECLINED;
}

void kastats_handler_hooks(void)
{
    ap_hook_handler(handler, NULL, NULL, APR_HOOK_REALLY_FIRST);
}
