/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Which virtual hosts of a configuration a log means by a name.
 */
#ifndef KA_CONFIG_NAMES_H
#define KA_CONFIG_NAMES_H

#include "config_server.h"

/**
 * The virtual hosts that a name of %v or %V stands for, with or without a
 * port: those with that ServerName, else those with a ServerAlias that fits
 * it, else the main server if that is its name.  One name on two addresses
 * (http and https) is two virtual hosts, unless the name says the port.
 * @param out  out[most], indexes, ascending
 * @return how many there are, at most `most`; 0: none is known
 * Pure.
 */
size_t ka_cfg_vhosts_named(int *out, size_t most, const ka_cfg_server *server,
                           const char *name, apr_pool_t *pool);

#endif
