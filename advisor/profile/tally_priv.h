/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Inside tally.h.  Private to advisor/profile/.
 */
#ifndef KA_TALLY_PRIV_H
#define KA_TALLY_PRIV_H

#include "tally.h"

/** Some request of it was counted. */
static inline bool ka_tally_server_seen(const ka_tally_server *server)
{
    return server->window_us > 0 || server->first_us != 0 ||
           server->last_us != 0;
}

#endif
