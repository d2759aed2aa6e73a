/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Loaded by races.py before httpd, and as a module.  The thread sanitizer
 * does not see atomics of code that it did not compile, and two lists of
 * httpd's are ordered by nothing else.  This tells it of their order, and of
 * no other:
 * - MPMs pass cleared pools on: what was done to a pool before it was cleared
 *   comes before what the connection accepted into it does.
 * - event's listener leaves connections that it gives up to any worker: what
 *   was done before a connection was suspended comes before it is resumed.
 */
#include <dlfcn.h>
#include <apr_network_io.h>
#include <apr_pools.h>
#include <httpd.h>
#include <http_config.h>
#include <http_connection.h>
#include <mpm_common.h>

void __tsan_acquire(void *address);
void __tsan_release(void *address);

void apr_pool_clear(apr_pool_t *p)
{
    static void (*real)(apr_pool_t *p);

    if (!real) {
        *(void **)&real = dlsym(RTLD_NEXT, "apr_pool_clear");
    }
    real(p);
    __tsan_release(p);
}

apr_status_t apr_socket_accept(apr_socket_t **new, apr_socket_t *sock,
                               apr_pool_t *p)
{
    static apr_status_t (*real)(apr_socket_t **, apr_socket_t *, apr_pool_t *);

    if (!real) {
        *(void **)&real = dlsym(RTLD_NEXT, "apr_socket_accept");
    }
    __tsan_acquire(p);
    return real(new, sock, p);
}

static void suspend_connection(conn_rec *c, request_rec *r)
{
    (void)r;
    __tsan_release(c);
}

static void resume_connection(conn_rec *c, request_rec *r)
{
    (void)r;
    __tsan_acquire(c);
}

static int pre_close_connection(conn_rec *c)
{
    __tsan_acquire(c);
    return DECLINED;
}

static void register_hooks(apr_pool_t *p)
{
    (void)p;
    ap_hook_suspend_connection(suspend_connection, NULL, NULL,
                               APR_HOOK_REALLY_LAST);
    ap_hook_resume_connection(resume_connection, NULL, NULL,
                              APR_HOOK_REALLY_FIRST);
    ap_hook_pre_close_connection(pre_close_connection, NULL, NULL,
                                 APR_HOOK_REALLY_FIRST - 1);
}

AP_DECLARE_MODULE(races_order) = {STANDARD20_MODULE_STUFF,
                                  NULL,
                                  NULL,
                                  NULL,
                                  NULL,
                                  NULL,
                                  register_hooks,
                                  AP_MODULE_FLAG_NONE};
