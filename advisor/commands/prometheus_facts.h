/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What Prometheus tells of a server's settings, and what its numbers must not
 * be taken for. */
#ifndef KA_PROMETHEUS_FACTS_H
#define KA_PROMETHEUS_FACTS_H

#include "../host/facts.h"
#include "../profile/prom_traffic.h"

/** Sets what no option says; T0 is what the server did, whatever they say. */
void ka_prom_facts(ka_server *server, const ka_prom_server *from,
                   const ka_live *live, apr_pool_t *pool);

/**
 * The report's identity_note.
 * @param changes  of KeepAliveTimeout within the window
 */
const char *ka_prom_note(const ka_prom *prom, double changes,
                         const ka_hist_traffic *traffic, apr_pool_t *pool);

#endif
