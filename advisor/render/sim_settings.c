/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sim.h"

static const ka_setting_id prefork_settings[] = {
    KA_SETTING_KEEP_ALIVE,          KA_SETTING_KEEP_ALIVE_TIMEOUT,
    KA_SETTING_MAX_KEEP_ALIVE_REQUESTS,
    KA_SETTING_SERVER_LIMIT,        KA_SETTING_START_SERVERS,
    KA_SETTING_MIN_SPARE_SERVERS,   KA_SETTING_MAX_SPARE_SERVERS,
    KA_SETTING_MAX_REQUEST_WORKERS, KA_SETTING_MAX_CONNECTIONS_PER_CHILD,
    KA_SETTING_LISTEN_BACKLOG};

/* event's last. */
static const ka_setting_id threads_settings[] = {
    KA_SETTING_KEEP_ALIVE,          KA_SETTING_KEEP_ALIVE_TIMEOUT,
    KA_SETTING_MAX_KEEP_ALIVE_REQUESTS,
    KA_SETTING_SERVER_LIMIT,        KA_SETTING_THREADS_PER_CHILD,
    KA_SETTING_START_SERVERS,       KA_SETTING_MIN_SPARE_THREADS,
    KA_SETTING_MAX_SPARE_THREADS,   KA_SETTING_MAX_REQUEST_WORKERS,
    KA_SETTING_MAX_CONNECTIONS_PER_CHILD,
    KA_SETTING_LISTEN_BACKLOG,      KA_SETTING_ASYNC_FACTOR};

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

const ka_setting_id *ka_sim_settings(size_t *n, ka_mpm mpm)
{
    if (mpm == KA_MPM_PREFORK) {
        *n = COUNT_OF(prefork_settings);
        return prefork_settings;
    }
    *n = COUNT_OF(threads_settings) - (mpm != KA_MPM_EVENT);
    return threads_settings;
}
