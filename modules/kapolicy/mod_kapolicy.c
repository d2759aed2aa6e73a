/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * mod_kapolicy: keep-alive by content and by load.
 *
 * A response decides what becomes of its connection (response.c); the wait
 * that follows ends accordingly (wait.c for prefork and worker, watch.c for
 * event).
 *
 * Concurrency: the parent's hooks run in one thread.  In a child a connection
 * belongs to the thread that works on it; what its watch or other processes
 * need of it are atomics (watch.c, load.c).
 */
#include "kapolicy.h"

#include <ap_mpm.h>
#include <apr_portable.h>
#include <http_connection.h>
#include <http_core.h>
#include <mpm_common.h>

#include "mod_kapolicy.h"

kapolicy_process *kapolicy;

/* ---- the server's life --------------------------------------------------- */

static bool mpm_is_async(void)
{
    int async;

    return ap_mpm_query(AP_MPMQ_IS_ASYNC, &async) == APR_SUCCESS && async > 0;
}

/* `httpd -t` runs this one, so that it tells before a restart does. */
static int check_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp,
                        server_rec *s)
{
    (void)pconf;
    (void)plog;
    (void)ptemp;
    return kapolicy_check(s, mpm_is_async());
}

static int post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp,
                       server_rec *s)
{
    const kapolicy_server *conf = kapolicy_server_of(s);

    (void)plog;
    (void)ptemp;
    kapolicy = apr_pcalloc(pconf, sizeof(*kapolicy));
    kapolicy->async = mpm_is_async();
    if (conf->has_adaptive &&
        ap_state_query(AP_SQ_MAIN_STATE) != AP_SQ_MS_CREATE_PRE_CONFIG) {
        kapolicy->adaptive = &conf->adaptive;
        kapolicy->load = kapolicy_load_make(s, kapolicy->async);
    }
    return OK;
}

static void child_init(apr_pool_t *p, server_rec *s)
{
    (void)s;
    if (kapolicy->async) {
        kapolicy_watch_init(p);
    }
}

static int monitor(apr_pool_t *p, server_rec *s)
{
    (void)p;
    (void)s;
    if (kapolicy->load) {
        kapolicy_load_settle(kapolicy->load);
    }
    return DECLINED;
}

static void child_status(server_rec *s, pid_t pid, ap_generation_t generation,
                         int slot, mpm_child_status state)
{
    (void)s;
    (void)pid;
    (void)generation;
    if (kapolicy->load && state == MPM_CHILD_EXITED) {
        kapolicy_load_child_gone(kapolicy->load, slot);
    }
}

/* ---- a connection -------------------------------------------------------- */

int kapolicy_socket_of(conn_rec *c)
{
    apr_socket_t *csd = ap_get_conn_socket(c);
    apr_os_sock_t fd;

    return csd && apr_os_sock_get(&fd, csd) == APR_SUCCESS ? fd : -1;
}

/* Where KAPolicyAdaptive is, its longest takes the place of the main server's
 * KeepAliveTimeout; a virtual host with one of its own keeps that if it is
 * shorter. */
int64_t kapolicy_usual_timeout(const server_rec *s, const conn_rec *c)
{
    const server_rec *from = kapolicy_timeout_server(s, c);
    int64_t longest;

    if (!kapolicy->adaptive) {
        return from->keep_alive_timeout;
    }
    longest = kapolicy->adaptive->max_us;
    return from->keep_alive_timeout_set && from->keep_alive_timeout < longest
               ? from->keep_alive_timeout
               : longest;
}

/* May run in event's listener thread: atomics only. */
static apr_status_t connection_gone(void *data)
{
    kapolicy_conn *conn = data;
    kapolicy_load *load = kapolicy->load;

    kapolicy_watch_release(conn);
    if (!load) {
        return APR_SUCCESS;
    }
    if (!kapolicy->async) {
        kapolicy_load_end(load, conn);
        return APR_SUCCESS;
    }
    kapolicy_load_shift(load, conn->flags & KAPOLICY_RUNNING ? -1 : 0,
                        conn->flags & KAPOLICY_OPEN ? -1 : 0);
    return APR_SUCCESS;
}

kapolicy_conn *kapolicy_conn_need(conn_rec *c)
{
    kapolicy_conn *conn = kapolicy_conn_of(c);

    if (conn) {
        return conn;
    }
    conn = apr_pcalloc(c->pool, sizeof(*conn));
    conn->c = c;
    conn->timeout_us = conn->max = KAPOLICY_UNSET;
    conn->place = UINT32_MAX;
    conn->wanted_us = conn->wait_us =
        kapolicy_usual_timeout(c->base_server, c);
    ap_set_module_config(c->conn_config, &kapolicy_module, conn);
    apr_pool_cleanup_register(c->pool, conn, connection_gone,
                              apr_pool_cleanup_null);
    return conn;
}

/* By load, a connection counts from its first moment. */
static int pre_connection(conn_rec *c, void *csd)
{
    kapolicy_conn *conn;

    (void)csd;
    if (!kapolicy->load || c->master || c->outgoing || !c->sbh) {
        return DECLINED;
    }
    conn = kapolicy_conn_need(c);
    if (kapolicy->async) {
        conn->flags |= KAPOLICY_RUNNING | KAPOLICY_OPEN;
        kapolicy_load_shift(kapolicy->load, 1, 1);
    }
    else {
        kapolicy_load_begin(kapolicy->load, conn);
    }
    return OK;
}

/* ---- what others may ask ------------------------------------------------- */

static int ka_policy_wait_get(conn_rec *c, ka_policy_wait *out)
{
    const kapolicy_conn *conn = kapolicy_conn_of(c);

    if (!conn || !(conn->flags & (KAPOLICY_GRANTED | KAPOLICY_ENDED))) {
        return 0;
    }
    *out = (ka_policy_wait){.timeout = conn->wait_us,
                            .ended = (conn->flags & KAPOLICY_ENDED) != 0};
    return 1;
}

static void register_hooks(apr_pool_t *p)
{
    (void)p;
    ap_hook_check_config(check_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_post_config(post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_monitor(monitor, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_status(child_status, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_pre_connection(pre_connection, NULL, NULL, APR_HOOK_FIRST);
    APR_REGISTER_OPTIONAL_FN(ka_policy_wait_get);
    kapolicy_response_hooks();
    kapolicy_wait_hooks();
    kapolicy_watch_hooks();
}

AP_DECLARE_MODULE(kapolicy) = {STANDARD20_MODULE_STUFF,
                               kapolicy_dir_create,
                               kapolicy_dir_merge,
                               kapolicy_server_create,
                               NULL,
                               kapolicy_commands,
                               register_hooks,
                               AP_MODULE_FLAG_NONE};
