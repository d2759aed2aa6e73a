/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * ka_proxied: what mod_proxy sends a request to. */
#ifndef KA_PROXIED_H
#define KA_PROXIED_H

#include <stdbool.h>

/**
 * Whether a target is this server's own application (FastCGI, SCGI, uWSGI):
 * proxied in httpd's words, but it keeps no connections to clients and is as
 * dynamic as a script.
 * @param filename  as mod_proxy leaves it, "proxy:fcgi://..." or
 *                  "proxy:unix:/run/php.sock|fcgi://..."; may be NULL
 * Pure; safe from any thread.
 */
bool ka_proxied_is_application(const char *filename);

#endif
