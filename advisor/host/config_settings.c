/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "config_settings.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <apr_strings.h>

#include "config_text.h"

#define NO_DEFAULT INT64_MIN
#define NO_FACT KA_FACTS
#define SECOND INT64_C(1000000)

/* How an argument is read. */
typedef enum value_kind {
    NUMBER,  /* atoi */
    FACTOR,  /* whole part of a decimal, at least 1 */
    KBYTES,  /* a number of kB */
    SECONDS, /* a bare number is seconds, no units */
    TIME,    /* with units */
    FLAG
} value_kind;

typedef struct setting_row {
    ka_fact_info info; /* of our own; without key that of the fact */
    ka_fact_id fact;   /* of ka_server that it is too, or NO_FACT */
    const char *directive, *old; /* old name, NULL if it had no other */
    value_kind kind;
    int64_t defaults[KA_MPM_N]; /* of prefork, worker, event */
} setting_row;

#define OWN_FOR(key_, name_, unit_, fact_)                                      \
    .info = {key_, name_, NULL, unit_, name_}, .fact = fact_,                  \
    .directive = name_
#define OWN(key_, name_, unit_) OWN_FOR(key_, name_, unit_, NO_FACT)
#define ALL(value) .defaults = {value, value, value}
#define THREADED(value) .defaults = {NO_DEFAULT, value, value}
#define PREFORK(value) .defaults = {value, NO_DEFAULT, NO_DEFAULT}

/* Defaults: httpd 2.4's server/mpm and include headers. */
static const setting_row rows[KA_SETTINGS] = {
    [KA_SETTING_KEEP_ALIVE] = {.fact = KA_FACT_KEEP_ALIVE,
                               .directive = "KeepAlive",
                               .kind = FLAG,
                               ALL(1)},
    [KA_SETTING_KEEP_ALIVE_TIMEOUT] = {.fact = KA_FACT_TIMEOUT,
                                       .directive = "KeepAliveTimeout",
                                       .kind = TIME,
                                       ALL(5 * SECOND)},
    [KA_SETTING_MAX_KEEP_ALIVE_REQUESTS] = {.fact =
                                                KA_FACT_MAX_KEEPALIVE_REQUESTS,
                                            .directive = "MaxKeepAliveRequests",
                                            .kind = NUMBER,
                                            ALL(100)},
    [KA_SETTING_MAX_REQUEST_WORKERS] = {.fact = KA_FACT_MAX_REQUEST_WORKERS,
                                        .directive = "MaxRequestWorkers",
                                        .old = "MaxClients",
                                        .kind = NUMBER,
                                        .defaults = {256, 400, 400}},
    [KA_SETTING_THREADS_PER_CHILD] = {.fact = KA_FACT_THREADS_PER_CHILD,
                                      .directive = "ThreadsPerChild",
                                      .kind = NUMBER,
                                      THREADED(25)},
    [KA_SETTING_SERVER_LIMIT] = {.fact = KA_FACT_SERVER_LIMIT,
                                 .directive = "ServerLimit",
                                 .defaults = {256, 16, 16}},
    [KA_SETTING_THREAD_LIMIT] = {.fact = KA_FACT_THREAD_LIMIT,
                                 .directive = "ThreadLimit",
                                 THREADED(64)},
    [KA_SETTING_START_SERVERS] = {.fact = KA_FACT_START_SERVERS,
                                  .directive = "StartServers",
                                  .defaults = {5, 3, 3}},
    [KA_SETTING_MIN_SPARE_SERVERS] = {OWN_FOR("min_spare_servers",
                                              "MinSpareServers", KA_FACT_COUNT,
                                              KA_FACT_MIN_SPARE),
                                      PREFORK(5)},
    [KA_SETTING_MAX_SPARE_SERVERS] = {OWN_FOR("max_spare_servers",
                                              "MaxSpareServers", KA_FACT_COUNT,
                                              KA_FACT_MAX_SPARE),
                                      PREFORK(10)},
    [KA_SETTING_MIN_SPARE_THREADS] = {OWN_FOR("min_spare_threads",
                                              "MinSpareThreads", KA_FACT_COUNT,
                                              KA_FACT_MIN_SPARE),
                                      THREADED(75)},
    [KA_SETTING_MAX_SPARE_THREADS] = {OWN_FOR("max_spare_threads",
                                              "MaxSpareThreads", KA_FACT_COUNT,
                                              KA_FACT_MAX_SPARE),
                                      THREADED(250)},
    [KA_SETTING_MAX_CONNECTIONS_PER_CHILD] = {.fact =
                                            KA_FACT_MAX_CONNECTIONS_PER_CHILD,
                                              .directive =
                                                  "MaxConnectionsPerChild",
                                              .old = "MaxRequestsPerChild",
                                              ALL(0)},
    [KA_SETTING_ASYNC_FACTOR] = {.fact = KA_FACT_ASYNC_FACTOR,
                                 .directive = "AsyncRequestWorkerFactor",
                                 .kind = FACTOR,
                                 .defaults = {NO_DEFAULT, NO_DEFAULT, 2}},
    [KA_SETTING_LISTEN_BACKLOG] = {.fact = KA_FACT_LISTEN_BACKLOG,
                                   .directive = "ListenBacklog",
                                   ALL(511)},
    [KA_SETTING_GRACEFUL_SHUTDOWN] = {OWN("graceful_shutdown_timeout_s",
                                          "GracefulShutdownTimeout",
                                          KA_FACT_US),
                                      .kind = SECONDS, ALL(0)},
    [KA_SETTING_IO_TIMEOUT] = {OWN("timeout_s", "Timeout", KA_FACT_US),
                               .kind = SECONDS, ALL(60 * SECOND)},
    [KA_SETTING_MAX_MEM_FREE] = {OWN("max_mem_free_bytes", "MaxMemFree",
                                     KA_FACT_BYTES),
                                 .kind = KBYTES, ALL(2048 * 1024)},
    [KA_SETTING_SENDFILE] = {.fact = KA_FACT_SENDFILE,
                             .directive = "EnableSendfile",
                             .kind = FLAG, ALL(0)},
    [KA_SETTING_EXTENDED_STATUS] = {
        OWN("extended_status", "ExtendedStatus", KA_FACT_ONOFF), .kind = FLAG,
        ALL(NO_DEFAULT)}};

static const char *const default_origins[KA_MPM_N] = {
    "assumed: default of httpd's prefork", "assumed: default of httpd's worker",
    "assumed: default of httpd's event"};

const ka_fact_info *ka_setting_info_of(ka_setting_id id)
{
    assert(id < KA_SETTINGS);
    return rows[id].info.key ? &rows[id].info : ka_fact_info_of(rows[id].fact);
}

ka_setting_id ka_setting_find(const char *directive)
{
    int i;

    for (i = 0; i < KA_SETTINGS; i++) {
        if (!strcasecmp(rows[i].directive, directive) ||
            (rows[i].old && !strcasecmp(rows[i].old, directive))) {
            break;
        }
    }
    return (ka_setting_id)i;
}

bool ka_setting_value(int64_t *value, ka_setting_id id, const char *args,
                      apr_pool_t *pool)
{
    const char *word = ka_cfg_word(&args, pool);
    double factor;
    bool on;

    switch (rows[id].kind) {
    case FLAG:
        if (!ka_cfg_flag(&on, word)) {
            return false;
        }
        *value = on;
        return true;
    case TIME:
        return ka_cfg_time(value, word) == APR_SUCCESS;
    case FACTOR:
        /* A fraction of it is dropped by httpd when it is used. */
        factor = strtod(word, NULL);
        if (!(factor > 0)) {
            return false;
        }
        *value = factor < 1 ? 1 : (int64_t)(factor < 1e6 ? factor : 1e6);
        return true;
    case SECONDS:
        *value = ka_cfg_number(word) * SECOND;
        break;
    case KBYTES:
        *value = ka_cfg_number(word) * 1024;
        break;
    case NUMBER:
        *value = ka_cfg_number(word);
        break;
    }
    return *word != '\0' && *value >= 0;
}

static void set_default(ka_fact *fact, const setting_row *row, int32_t mpm)
{
    if (mpm >= 0 && mpm < KA_MPM_N) {
        if (row->defaults[mpm] != NO_DEFAULT) {
            *fact =
                (ka_fact){true, true, row->defaults[mpm], default_origins[mpm]};
        }
    }
    /* MPMs that agree need not be known. */
    else if (row->defaults[0] != NO_DEFAULT &&
             row->defaults[0] == row->defaults[1] &&
             row->defaults[0] == row->defaults[2]) {
        *fact = (ka_fact){true, true, row->defaults[0],
                          "assumed: default of httpd"};
    }
}

static void take(ka_settings *out, ka_cfg_tree *tree, const ka_cfg_node *node)
{
    ka_setting_id id = ka_setting_find(node->name);
    int64_t value = 0;

    if (id == KA_SETTINGS) {
        return;
    }
    if (!ka_setting_value(&value, id, node->args, tree->pool)) {
        ka_cfg_problem(tree, "%s:%d: %s %s: this is no value for it",
                       node->file, node->line, node->name, node->args);
        return;
    }
    out->facts[id] = (ka_fact){true, false, value, ka_cfg_origin(tree, node)};
}

void ka_settings_read(ka_settings *out, ka_cfg_tree *tree, int32_t mpm)
{
    int i;

    memset(out, 0, sizeof(*out));
    for (i = 0; i < KA_SETTINGS; i++) {
        set_default(&out->facts[i], &rows[i], mpm);
    }
    for (i = 0; i < tree->nodes->nelts; i++) {
        const ka_cfg_node *node = ka_cfg_node_at(tree, i);

        if (node->parent == KA_CFG_TOP && !node->section) {
            take(out, tree, node);
        }
    }
}

/* ---- what httpd makes of them -----------------------------------------------
 */

static int64_t value_of(const ka_settings *s, ka_setting_id id)
{
    return s->facts[id].value;
}

static bool known(const ka_settings *s, ka_setting_id id)
{
    return s->facts[id].known;
}

static void correct(ka_settings *s, ka_setting_id id, int64_t value,
                    const char *reason, apr_pool_t *pool)
{
    ka_fact *fact = &s->facts[id];

    if (fact->known && fact->value != value) {
        fact->origin = apr_psprintf(
            pool,
            "%s: %" APR_INT64_T_FMT ", which httpd changes to %" APR_INT64_T_FMT
            ": %s",
            fact->origin, fact->value, value, reason);
        fact->value = value;
    }
}

static void at_least(ka_settings *s, ka_setting_id id, int64_t least,
                     const char *reason, apr_pool_t *pool)
{
    if (value_of(s, id) < least) {
        correct(s, id, least, reason, pool);
    }
}

static void obey_prefork(ka_settings *s, apr_pool_t *pool)
{
    if (value_of(s, KA_SETTING_MAX_REQUEST_WORKERS) >
        value_of(s, KA_SETTING_SERVER_LIMIT)) {
        correct(s, KA_SETTING_MAX_REQUEST_WORKERS,
                value_of(s, KA_SETTING_SERVER_LIMIT), "ServerLimit", pool);
    }
    at_least(s, KA_SETTING_MAX_REQUEST_WORKERS, 1, "at least 1", pool);
    at_least(s, KA_SETTING_MIN_SPARE_SERVERS, 1, "at least 1", pool);
    at_least(s, KA_SETTING_MAX_SPARE_SERVERS,
             value_of(s, KA_SETTING_MIN_SPARE_SERVERS) + 1,
             "MinSpareServers + 1", pool);
}

static void obey_threaded(ka_settings *s, apr_pool_t *pool)
{
    int64_t threads, workers, servers;

    at_least(s, KA_SETTING_THREAD_LIMIT, 1, "at least 1", pool);
    if (value_of(s, KA_SETTING_THREADS_PER_CHILD) >
        value_of(s, KA_SETTING_THREAD_LIMIT)) {
        correct(s, KA_SETTING_THREADS_PER_CHILD,
                value_of(s, KA_SETTING_THREAD_LIMIT), "ThreadLimit", pool);
    }
    at_least(s, KA_SETTING_THREADS_PER_CHILD, 1, "at least 1", pool);
    threads = value_of(s, KA_SETTING_THREADS_PER_CHILD);
    at_least(s, KA_SETTING_MAX_REQUEST_WORKERS, threads,
             "at least ThreadsPerChild", pool);
    workers = value_of(s, KA_SETTING_MAX_REQUEST_WORKERS);
    servers = workers / threads;
    if (servers > value_of(s, KA_SETTING_SERVER_LIMIT)) {
        servers = value_of(s, KA_SETTING_SERVER_LIMIT);
        correct(s, KA_SETTING_MAX_REQUEST_WORKERS, servers * threads,
                "ServerLimit x ThreadsPerChild", pool);
    }
    else {
        correct(s, KA_SETTING_MAX_REQUEST_WORKERS, servers * threads,
                "a multiple of ThreadsPerChild", pool);
    }
    at_least(s, KA_SETTING_MIN_SPARE_THREADS, 1, "at least 1", pool);
    at_least(s, KA_SETTING_MAX_SPARE_THREADS,
             value_of(s, KA_SETTING_MIN_SPARE_THREADS) + threads + 1,
             "MinSpareThreads + ThreadsPerChild + 1", pool);
}

void ka_settings_obey(ka_settings *settings, int32_t mpm, apr_pool_t *pool)
{
    if (mpm < 0 || mpm >= KA_MPM_N ||
        !known(settings, KA_SETTING_SERVER_LIMIT)) {
        return;
    }
    at_least(settings, KA_SETTING_SERVER_LIMIT, 1, "at least 1", pool);
    at_least(settings, KA_SETTING_START_SERVERS, 1, "at least 1", pool);
    if (mpm == KA_MPM_PREFORK) {
        obey_prefork(settings, pool);
    }
    else {
        obey_threaded(settings, pool);
    }
}

/* ---- what others take -------------------------------------------------------
 */

void ka_settings_to_server(ka_server *server, const ka_settings *settings)
{
    int i;

    for (i = 0; i < KA_SETTINGS; i++) {
        const ka_fact *fact = &settings->facts[i];
        const ka_fact *given;

        if (rows[i].fact == NO_FACT || !fact->known) {
            continue;
        }
        given = &server->facts[rows[i].fact];
        if (!given->known || given->assumed) {
            server->facts[rows[i].fact] = *fact;
        }
    }
}

int32_t ka_settings_mpm(const char **origin, const ka_cfg_tree *tree)
{
    static const char *const symbols[KA_MPM_N] = {
        "mpm_prefork_module", "mpm_worker_module", "mpm_event_module"};
    int i, mpm;

    for (i = 0; i < tree->modules->nelts; i++) {
        const ka_cfg_module *module =
            &APR_ARRAY_IDX(tree->modules, i, ka_cfg_module);

        for (mpm = 0; module->symbol && mpm < KA_MPM_N; mpm++) {
            if (!strcmp(module->symbol, symbols[mpm])) {
                *origin = module->origin;
                return mpm;
            }
        }
    }
    return KA_MPM_UNKNOWN;
}
