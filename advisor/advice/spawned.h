/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Inside advice/: StartServers, MinSpare* and MaxSpare* from httpd's own spawn
 * loop, run on the busiest hour of the traffic. [M15] */
#ifndef KA_SPAWNED_H
#define KA_SPAWNED_H

#include "decide.h"

/**
 * Runs the search within the limits of the answer's block, growth included.
 * The numbers are not below httpd's defaults, as far as MaxRequestWorkers
 * allows.  Of a group each server is asked; one without single seconds leaves
 * all without.
 */
ka_spawned ka_spawned_of(const ka_decision *d, const ka_mpm_answer *answer);

/** The present settings, of which all must be known: a default would be blamed
 * on somebody.  @return false: they are not, or are another MPM's */
bool ka_spawned_settings_now(ka_spawn_settings *out, const ka_decision *d,
                             ka_mpm mpm);

#endif
