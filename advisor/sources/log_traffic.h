/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Who asks: traits of a User-Agent, and the traffic that the server or its
 * operator makes itself.
 */
#ifndef KA_LOG_TRAFFIC_H
#define KA_LOG_TRAFFIC_H

#include "log_request.h"

typedef enum ka_agent_trait {
    KA_AGENT_DUMMY = 1 << 0,     /* httpd's own wake-up */
    KA_AGENT_PAGESPEED = 1 << 1, /* mod_pagespeed's fetcher */
    KA_AGENT_CHECK = 1 << 2,     /* a monitoring probe or command-line tool */
    KA_AGENT_BROWSER = 1 << 3,   /* says so; also what pretends to be one */
    KA_AGENT_FIREFOX = 1 << 4    /* keeps idle connections 115 s, not 300 s */
} ka_agent_trait;

/** Traits of a User-Agent as logged (absent: none, 0).  Pure. */
unsigned ka_agent_traits(ka_str agent);

/** Whether an address as logged is the host's own: 127.0/16, ::1, the mapped
 * form, or localhost.  Absent is not.  Pure. */
bool ka_address_is_loopback(ka_str address);

/** Whether the path is one that probes ask for (/server-status, /healthz
 * ...), it or anything below it.  Pure. */
bool ka_path_is_check(ka_str path);

#endif
