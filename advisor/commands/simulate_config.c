/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * `kaadvisor simulate`: a configuration from a file. */
#include "simulate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <apr_strings.h>

#include "../host/config_env.h"
#include "../host/config_read.h"
#include "../host/config_server.h"
#include "../words.h"

/* Linux's default net.core.somaxconn, and the connection more that its queue
 * holds. */
#define SOMAXCONN_DEFAULT 4096
#define QUEUE_MORE 1

/* A block says what it would do with it. */
#define KAPOLICY_LINE "LoadModule kapolicy_module mod_kapolicy.so"

/* Remarks on a file: its problems beyond are counted. */
#define PROBLEMS_SHOWN 5

/* ---- reading ------------------------------------------------------------ */

static const char *load_line(ka_mpm mpm, apr_pool_t *pool)
{
    const char *name = ka_mpm_name(mpm);

    return apr_psprintf(pool, "LoadModule mpm_%s_module mod_mpm_%s.so", name,
                        name);
}

/* @param mpm  is loaded before the file is read, and mod_kapolicy with it;
 *             KA_MPM_UNKNOWN: neither is */
static apr_status_t read_tree(ka_cfg_tree **tree, const char **error,
                              const char *file, int32_t mpm, apr_pool_t *pool)
{
    apr_array_header_t *before = apr_array_make(pool, 2, sizeof(const char *));
    apr_table_t *environment = apr_table_make(pool, 8);
    const char *slash = strrchr(file, '/');
    ka_cfg_input input = {.root = "",
                          .file = file,
                          .before = before,
                          .environment = environment};

    input.server_root = slash > file ? apr_pstrmemdup(pool, file,
                                           (apr_size_t)(slash - file))
                                     : "/";
    ka_cfg_env_files(environment, "", input.server_root, pool);
    if (mpm != KA_MPM_UNKNOWN) {
        APR_ARRAY_PUSH(before, const char *) = load_line((ka_mpm)mpm, pool);
        APR_ARRAY_PUSH(before, const char *) = KAPOLICY_LINE;
    }
    return ka_cfg_read(tree, error, &input, pool);
}

/* Whether a file says anything about the workers of an MPM. */
static bool has_settings_for(const char *file, ka_mpm mpm, apr_pool_t *pool)
{
    const char *error;
    ka_cfg_tree *tree;
    ka_settings settings;
    size_t n, i;
    const ka_setting_id *ids = ka_sim_settings(&n, mpm);

    if (read_tree(&tree, &error, file, mpm, pool)) {
        return false;
    }
    ka_settings_read(&settings, tree, mpm);
    for (i = 0; i < n; i++) {
        const ka_fact *fact = &settings.facts[ids[i]];

        if (ids[i] > KA_SETTING_MAX_KEEP_ALIVE_REQUESTS &&
            ids[i] != KA_SETTING_LISTEN_BACKLOG && fact->known &&
            !fact->assumed) {
            return true;
        }
    }
    return false;
}

/* The one MPM whose block a file holds. */
static int32_t mpm_by_block(const char *file, apr_pool_t *pool)
{
    int32_t mpm, found = KA_MPM_UNKNOWN;

    for (mpm = 0; mpm < KA_MPM_N; mpm++) {
        if (has_settings_for(file, (ka_mpm)mpm, pool)) {
            if (found != KA_MPM_UNKNOWN) {
                return KA_MPM_UNKNOWN;
            }
            found = mpm;
        }
    }
    return found;
}

static apr_status_t read_with_mpm(ka_cfg_tree **tree, ka_sim_side *side,
                                  const char **error, const char *path,
                                  int32_t wanted, apr_pool_t *pool)
{
    apr_status_t rv = read_tree(tree, error, path, KA_MPM_UNKNOWN, pool);
    int32_t mpm;

    if (rv) {
        return rv;
    }
    mpm = ka_settings_mpm(&side->mpm_origin, *tree);
    if (mpm == KA_MPM_UNKNOWN) {
        mpm = wanted != KA_MPM_UNKNOWN ? wanted : mpm_by_block(path, pool);
        side->mpm_origin = wanted != KA_MPM_UNKNOWN
                               ? "option --mpm"
                               : "the block that the file holds";
        if (mpm != KA_MPM_UNKNOWN) {
            rv = read_tree(tree, error, path, mpm, pool);
        }
    }
    side->mpm = (ka_mpm)mpm;
    return rv;
}

/* ---- what it means ------------------------------------------------------ */

static uint32_t count_of(const ka_sim_side *side, ka_setting_id id,
                         uint32_t otherwise)
{
    const ka_fact *fact = &side->settings.facts[id];

    if (!fact->known || fact->value < 0) {
        return otherwise;
    }
    return fact->value < UINT32_MAX ? (uint32_t)fact->value : UINT32_MAX;
}

static void fill_spawn(ka_spawn_settings *s, const ka_sim_side *side)
{
    bool prefork = side->mpm == KA_MPM_PREFORK;

    s->start_servers =
        count_of(side, KA_SETTING_START_SERVERS, s->start_servers);
    s->min_spare = count_of(side,
                            prefork ? KA_SETTING_MIN_SPARE_SERVERS
                                    : KA_SETTING_MIN_SPARE_THREADS,
                            s->min_spare);
    s->max_spare = count_of(side,
                            prefork ? KA_SETTING_MAX_SPARE_SERVERS
                                    : KA_SETTING_MAX_SPARE_THREADS,
                            s->max_spare);
    s->threads_per_child =
        prefork ? 1
                : count_of(side, KA_SETTING_THREADS_PER_CHILD,
                           s->threads_per_child);
    s->server_limit = count_of(side, KA_SETTING_SERVER_LIMIT, s->server_limit);
    s->max_request_workers = count_of(side, KA_SETTING_MAX_REQUEST_WORKERS,
                                      s->max_request_workers);
}

static void fill_config(ka_sim_side *side)
{
    const ka_fact *facts = side->settings.facts;
    const ka_fact *timeout = &facts[KA_SETTING_KEEP_ALIVE_TIMEOUT];
    ka_sim_config *c = &side->config;
    uint32_t backlog;

    *c = ka_sim_defaults(side->mpm);
    fill_spawn(&c->spawn, side);
    if (timeout->known) {
        c->timeout_us = timeout->value;
    }
    if (c->timeout_us <= 0 || (facts[KA_SETTING_KEEP_ALIVE].known &&
                               !facts[KA_SETTING_KEEP_ALIVE].value)) {
        c->timeout_us = KA_TIMEOUT_OFF;
    }
    c->max_requests =
        count_of(side, KA_SETTING_MAX_KEEP_ALIVE_REQUESTS, c->max_requests);
    c->max_connections = count_of(side, KA_SETTING_MAX_CONNECTIONS_PER_CHILD,
                                  c->max_connections);
    c->async_factor = count_of(side, KA_SETTING_ASYNC_FACTOR, c->async_factor);
    backlog = count_of(side, KA_SETTING_LISTEN_BACKLOG, c->queue);
    c->queue = (backlog < SOMAXCONN_DEFAULT ? backlog : SOMAXCONN_DEFAULT) +
               QUEUE_MORE;
}

/* ---- remarks ------------------------------------------------------------ */

static void remark(apr_array_header_t *remarks, const char *text)
{
    APR_ARRAY_PUSH(remarks, const char *) = text;
}

/* One timeout is simulated: the main server's. */
static void remark_vhosts(apr_array_header_t *remarks,
                          const ka_cfg_server *server, apr_pool_t *pool)
{
    const ka_fact *of_main = &server->settings.facts[KA_SETTING_KEEP_ALIVE];
    int64_t timeout =
        server->settings.facts[KA_SETTING_KEEP_ALIVE_TIMEOUT].value;
    int i, others = 0;

    for (i = 1; i < server->vhosts->nelts; i++) {
        const ka_cfg_vhost *v = &APR_ARRAY_IDX(server->vhosts, i, ka_cfg_vhost);

        others += v->idle_timeout.value != timeout ||
                  v->keep_alive.value != of_main->value;
    }
    if (others) {
        remark(remarks,
               apr_psprintf(pool,
                            "%s KeepAlive settings of %s own: what is "
                            "simulated are the main server's",
                            ka_words_plural(pool, others, "virtual host"),
                            others == 1 ? "its" : "their"));
    }
}

static void set_remarks(ka_sim_side *side, const ka_cfg_tree *tree,
                        const ka_cfg_server *server, apr_pool_t *pool)
{
    apr_array_header_t *remarks =
        apr_array_make(pool, 4, sizeof(const char *));
    int i, n = tree->problems->nelts;

    remark_vhosts(remarks, server, pool);
    ka_simulate_policy(side, remarks, tree, pool);
    for (i = 0; i < n && i < PROBLEMS_SHOWN; i++) {
        remark(remarks, APR_ARRAY_IDX(tree->problems, i, const char *));
    }
    if (n > PROBLEMS_SHOWN) {
        remark(remarks, apr_psprintf(pool, "and %d more of this kind",
                                     n - PROBLEMS_SHOWN));
    }
    side->remarks = (const char *const *)remarks->elts;
    side->remark_n = (size_t)remarks->nelts;
}

/* ---- all of it ---------------------------------------------------------- */

static void settle(ka_sim_side *side, const ka_cfg_tree *tree,
                   const ka_cfg_server *server, apr_pool_t *pool)
{
    side->settings = server->settings;
    fill_config(side);
    set_remarks(side, tree, server, pool);
}

apr_status_t ka_simulate_config(ka_sim_side *side, const char **error,
                                const char *file, int32_t mpm,
                                apr_pool_t *pool)
{
    char *real = realpath(file, NULL), reason[120];
    const char *path = real ? apr_pstrdup(pool, real) : NULL;
    ka_cfg_server *server;
    ka_cfg_tree *tree;
    apr_status_t rv = real ? APR_SUCCESS : errno;

    free(real);
    memset(side, 0, sizeof(*side));
    side->file = file;
    if (rv) {
        *error = apr_psprintf(pool, "%s: %s", file,
                              apr_strerror(rv, reason, sizeof(reason)));
        return rv;
    }
    rv = read_with_mpm(&tree, side, error, path, mpm, pool);
    if (rv) {
        return rv;
    }
    if ((int32_t)side->mpm == KA_MPM_UNKNOWN) {
        *error = apr_psprintf(pool,
                              "%s: loads no MPM, and does not hold the "
                              "settings of just one; name it with --mpm "
                              "prefork, worker or event",
                              file);
        return APR_EINVAL;
    }
    server = ka_cfg_interpret(tree, (int32_t)side->mpm, side->mpm_origin);
    settle(side, tree, server, pool);
    return APR_SUCCESS;
}

apr_status_t ka_simulate_server(ka_sim_side *side, const char **error,
                                const ka_httpd *httpd, int32_t mpm,
                                apr_pool_t *pool)
{
    const ka_cfg_server *server = httpd->server;

    if (mpm == KA_MPM_UNKNOWN) {
        *error = apr_psprintf(pool,
                              "%s: its MPM was not found out; name it with "
                              "--mpm prefork, worker or event",
                              httpd->config_file);
        return APR_EINVAL;
    }
    *side = (ka_sim_side){.file = httpd->config_file,
                          .mpm = (ka_mpm)mpm,
                          .mpm_origin = "option --mpm"};
    if (mpm == server->mpm) {
        side->mpm_origin = server->mpm_origin;
    }
    else {
        server = ka_cfg_interpret(httpd->tree, mpm, side->mpm_origin);
    }
    settle(side, httpd->tree, server, pool);
    return APR_SUCCESS;
}
