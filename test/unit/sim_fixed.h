/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * For tests of the simulator: a server whose children are always there. */
#ifndef KA_TEST_SIM_FIXED_H
#define KA_TEST_SIM_FIXED_H

#include "model/sim.h"

/* Children that are there from the start and stay. */
static inline ka_sim_config sim_fixed(ka_mpm mpm, uint32_t children,
                                      uint32_t threads)
{
    ka_sim_config c = ka_sim_defaults(mpm);

    c.spawn = (ka_spawn_settings){.mpm = mpm,
                                  .start_servers = children,
                                  .min_spare = 1,
                                  .max_spare = 1000 + children * threads,
                                  .threads_per_child = threads,
                                  .server_limit = children,
                                  .max_request_workers = children * threads};
    return c;
}

#endif
