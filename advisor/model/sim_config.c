/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sim_priv.h"

#include "block.h"
#include "capacity.h"

static uint32_t setting_of(ka_mpm mpm, ka_block_item item)
{
    int64_t value = ka_block_info_of(item)->httpd_default[mpm];

    return value > 0 ? (uint32_t)value : 0;
}

ka_sim_config ka_sim_defaults(ka_mpm mpm)
{
    return (ka_sim_config){
        .spawn = {.mpm = mpm,
                  .start_servers = setting_of(mpm, KA_BLOCK_START_SERVERS),
                  .min_spare = setting_of(mpm, KA_BLOCK_MIN_SPARE),
                  .max_spare = setting_of(mpm, KA_BLOCK_MAX_SPARE),
                  .threads_per_child =
                      setting_of(mpm, KA_BLOCK_THREADS_PER_CHILD),
                  .server_limit = setting_of(mpm, KA_BLOCK_SERVER_LIMIT),
                  .max_request_workers =
                      setting_of(mpm, KA_BLOCK_MAX_REQUEST_WORKERS)},
        .timeout_us = 5 * KA_SIM_SECOND,
        .max_requests = 100,
        .async_factor = 2,
        .queue = 512,
        .retries = KA_SIM_RETRIES,
        .restart_us = -1,
        .handshake_cpu_us = KA_CPU_CONNECTION_US,
        .process_bytes = -1,
        .shared_bytes = -1,
        .idle_bytes = KA_IDLE_PLAIN_BYTES};
}

static bool adaptive_valid(const ka_adaptive *a)
{
    return a->min_us >= 0 && a->min_us <= a->max_us && a->low < a->high &&
           a->high <= 100;
}

bool ka_sim_config_valid(const ka_sim_config *c)
{
    return (unsigned)c->spawn.mpm < KA_MPM_N &&
           c->timeout_us >= KA_TIMEOUT_OFF && c->accept_us >= 0 &&
           c->linger_us >= 0 && c->child_start_us >= 0 &&
           c->handshake_cpu_us >= 0 &&
           (!c->policy || ka_policy_valid(c->policy)) &&
           (!c->adaptive || adaptive_valid(c->adaptive));
}

static int64_t within(int64_t us)
{
    return us < KA_TRACE_TIME_MAX ? us : KA_TRACE_TIME_MAX;
}

ka_sim_config ka_sim_config_within(const ka_sim_config *config)
{
    ka_sim_config c = *config;

    c.timeout_us = within(c.timeout_us);
    c.accept_us = within(c.accept_us);
    c.linger_us = within(c.linger_us);
    c.child_start_us = within(c.child_start_us);
    c.restart_us = within(c.restart_us);
    if (c.spawn.server_limit > KA_SIM_CHILDREN_MAX) {
        c.spawn.server_limit = KA_SIM_CHILDREN_MAX;
    }
    c.async_factor = c.async_factor ? c.async_factor : 1;
    c.points = c.points ? c.points : KA_SIM_POINTS;
    c.points = c.points < KA_SIM_POINTS_MAX ? c.points : KA_SIM_POINTS_MAX;
    return c;
}

ka_policy ka_sim_policy_of(const ka_sim_config *c)
{
    bool by_load = c->adaptive && c->timeout_us != KA_TIMEOUT_OFF;

    return c->policy ? *c->policy
                     : ka_policy_uniform(by_load ? c->adaptive->max_us
                                                 : c->timeout_us);
}
