/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Inside tally.h.  Private to advisor/profile/.
 */
#ifndef KA_TALLY_PRIV_H
#define KA_TALLY_PRIV_H

#include "saturate.h"
#include "tally.h"

/** Some request of it was counted. */
static inline bool ka_tally_server_seen(const ka_tally_server *server)
{
    return server->window_us > 0 || server->first_us != 0 ||
           server->last_us != 0;
}

/** Frees the busiest hours of a side. */
void ka_tally_forget_seconds(ka_tally_side *side);

/** Counts a request's protocol, its end, and whether it was slow (R15).
 * @param flags  ka_request_flag bits
 * Times in us, -1: the log does not tell; bytes likewise. */
void ka_tally_count_flags(ka_tally *tally, unsigned flags, int64_t service_us,
                          int64_t bytes);

/** Counts a request as one of a class or vhost. */
static inline void ka_tally_count_traffic(ka_tally_traffic *t,
                                          int64_t service_us, int64_t bytes)
{
    t->requests++;
    if (service_us >= 0) {
        ka_hist_add(&t->service, (uint64_t)service_us);
    }
    if (bytes >= 0) {
        t->bytes = ka_add_saturated(t->bytes, (uint64_t)bytes);
        t->bytes_n++;
    }
}

#endif
