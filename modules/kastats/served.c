/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What really served a request: not what the URL looks like.  Two handlers,
 * one before and one after all others but the default one, leave their mark
 * on the requests that pass.  The first is the status handler: one hook less.
 */
#include "kastats.h"

#include "ka_proxied.h"

static int handler_is_default(request_rec *r)
{
    kastats_word_set(r, kastats_word(r) | KASTATS_DEFAULT);
    return DECLINED;
}

ka_served kastats_served_by_handler(const request_rec *r)
{
    return r->proxyreq != PROXYREQ_NONE && !ka_proxied_is_application(r->filename)
               ? KA_SERVED_PROXIED
               : KA_SERVED_DYNAMIC;
}

void kastats_served_hooks(void)
{
    /* The default handler is the only one at REALLY_LAST.  Naming core.c as
     * our successor would put us before its other handlers too. */
    ap_hook_handler(handler_is_default, NULL, NULL, APR_HOOK_REALLY_LAST - 1);
}
