/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Server-wide settings of a configuration: a value, and the file and line of
 * it, for each directive of the table below; httpd's own default, marked as
 * assumed, where the configuration says nothing.
 *
 * They are those of the files.  A server that runs obeys the files as they
 * were at its last restart, and ServerLimit and ThreadLimit as they were at
 * its start.
 */
#ifndef KA_CONFIG_SETTINGS_H
#define KA_CONFIG_SETTINGS_H

#include "config_tree.h"
#include "facts.h"

typedef enum ka_setting_id {
    KA_SETTING_KEEP_ALIVE,
    KA_SETTING_KEEP_ALIVE_TIMEOUT,
    KA_SETTING_MAX_KEEP_ALIVE_REQUESTS,
    KA_SETTING_MAX_REQUEST_WORKERS,
    KA_SETTING_THREADS_PER_CHILD,
    KA_SETTING_SERVER_LIMIT,
    KA_SETTING_THREAD_LIMIT,
    KA_SETTING_START_SERVERS,
    KA_SETTING_MIN_SPARE_SERVERS,
    KA_SETTING_MAX_SPARE_SERVERS,
    KA_SETTING_MIN_SPARE_THREADS,
    KA_SETTING_MAX_SPARE_THREADS,
    KA_SETTING_MAX_CONNECTIONS_PER_CHILD,
    KA_SETTING_ASYNC_FACTOR,
    KA_SETTING_LISTEN_BACKLOG,
    KA_SETTING_GRACEFUL_SHUTDOWN,
    KA_SETTING_IO_TIMEOUT,  /* Timeout */
    KA_SETTING_MAX_MEM_FREE,
    KA_SETTING_SENDFILE,
    KA_SETTING_EXTENDED_STATUS,
    KA_SETTINGS
} ka_setting_id;

typedef struct ka_settings {
    ka_fact facts[KA_SETTINGS]; /* unknown: not a setting of this MPM */
} ka_settings;

/** JSON key, directive, unit, label; rows shared with ka_fact_info_of where
 * both know the fact.  Never NULL. */
const ka_fact_info *ka_setting_info_of(ka_setting_id id);

/** By the directive's name, old or new, whatever its case; KA_SETTINGS if it
 * is none of them. */
ka_setting_id ka_setting_find(const char *directive);

/**
 * A directive's argument as a value in the unit of its setting.
 * @return false if httpd would refuse it
 */
bool ka_setting_value(int64_t *value, ka_setting_id id, const char *args,
                      apr_pool_t *pool);

/**
 * What the configuration says outside of virtual hosts; the last one wins.
 * Problems go to the tree.
 * @param mpm  ka_mpm: whose settings and defaults; KA_MPM_UNKNOWN gives those
 *             that all have, and what is set
 */
void ka_settings_read(ka_settings *out, ka_cfg_tree *tree, int32_t mpm);

/**
 * What httpd makes of them at its start: MaxRequestWorkers within ServerLimit
 * x ThreadsPerChild and a multiple of ThreadsPerChild, ThreadsPerChild within
 * ThreadLimit, spare limits apart.  A fact that changes says so in its origin.
 * @param pool  of new origins
 */
void ka_settings_obey(ka_settings *settings, int32_t mpm, apr_pool_t *pool);

/** Copies those that ka_server knows too; what it has from an option, known
 * and not assumed, stays.  Origins are shared, not copied. */
void ka_settings_to_server(ka_server *server, const ka_settings *settings);

/** The MPM that the tree loads or has built in; KA_MPM_UNKNOWN.
 * @param origin  of the module; untouched if unknown */
int32_t ka_settings_mpm(const char **origin, const ka_cfg_tree *tree);

#endif
