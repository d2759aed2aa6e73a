/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A response decides on its connection, in an output filter that runs just
 * before httpd writes the headers: what served it, its status, type and size
 * are known by then.
 *
 *   insert_filter    a handler is about to be asked: add the filter
 *   handler, last    ... and only the default one is left: a static file
 *   insert_error_filter   httpd answers by itself
 *   the filter       rules -> connection, headers
 *
 * Whether the connection is kept, and what the headers say about it, is
 * worked out by httpd's ap_set_keepalive() from the server's settings.  The
 * filter lets it look at a copy, the view, in which the settings are those
 * that the rules gave this connection; then headers and behaviour agree in
 * HTTP/1.0 and 1.1 without a second implementation.  The copy is in place
 * only while the headers pass.
 */
#include "kapolicy.h"

#include <http_connection.h>
#include <http_core.h>
#include <http_request.h>
#include <util_filter.h>

#include "ka_proxied.h"
#include "ka_reasons.h"

#define FILTER_NAME "KAPOLICY"

/* In a request's config word. */
enum { WORD_HANDLED = 1, WORD_DEFAULT = 2, WORD_DECIDED = 4 };

static ap_filter_rec_t *filter_rec; /* set once, by register_hooks */

static uintptr_t word_of(const request_rec *r)
{
    return (uintptr_t)ap_get_module_config(r->request_config, &kapolicy_module);
}

static void word_add(request_rec *r, uintptr_t bits)
{
    ap_set_module_config(r->request_config, &kapolicy_module,
                         (void *)(word_of(r) | bits));
}

static const kapolicy_dir *dir_of(const request_rec *r)
{
    return ap_get_module_config(r->per_dir_config, &kapolicy_module);
}

/* ---- which response this is ---------------------------------------------- */

static unsigned served_of(const request_rec *r)
{
    uintptr_t word = word_of(r);

    if (!(word & WORD_HANDLED)) {
        return KAPOLICY_ERROR;
    }
    if (word & WORD_DEFAULT) {
        return KAPOLICY_STATIC;
    }
    return r->proxyreq != PROXYREQ_NONE && !ka_proxied_is_application(r->filename)
               ? KAPOLICY_PROXY
               : KAPOLICY_DYNAMIC;
}

static kapolicy_answer ask(const kapolicy_conn *conn, request_rec *r,
                           const apr_bucket_brigade *bb)
{
    const kapolicy_dir *dir = dir_of(r);
    kapolicy_answer answer = {.timeout_us = conn->timeout_us,
                              .max = conn->max};
    kapolicy_response response = {.r = r,
                                  .bb = bb,
                                  .served = served_of(r),
                                  .size = KAPOLICY_SIZE_UNREAD};

    if (dir->rules) {
        kapolicy_rules_ask(&answer, dir->rules, &response);
    }
    return answer;
}

/* ---- what becomes of the connection -------------------------------------- */

static void set_wait(kapolicy_conn *conn, const server_rec *s)
{
    int64_t wanted = conn->timeout_us != KAPOLICY_UNSET
                         ? conn->timeout_us
                         : kapolicy_usual_timeout(s, conn->c);

    if (kapolicy->async) { /* a rule in .htaccess may ask for more */
        int64_t most =
            kapolicy_timeout_server(s, conn->c)->keep_alive_timeout;

        wanted = wanted < most ? wanted : most;
    }
    conn->wanted_us = conn->wait_us = wanted;
    if (kapolicy->load) {
        kapolicy_taken now = kapolicy_load_now(kapolicy->load);

        conn->wait_us = ka_adaptive_timeout(kapolicy->adaptive, wanted,
                                            now.taken, now.limit);
    }
    conn->flags |= KAPOLICY_GRANTED;
}

static bool is_full(void)
{
    kapolicy_taken now;

    if (!kapolicy->load) {
        return false;
    }
    now = kapolicy_load_now(kapolicy->load);
    return ka_adaptive_excess(kapolicy->adaptive, now.taken, now.limit) > 0;
}

/* httpd counts the requests after which it kept the connection. */
static bool is_last(const kapolicy_conn *conn)
{
    return conn->max > 0 && conn->c->keepalives + 1 >= conn->max;
}

static void refuse(request_rec *r)
{
    conn_rec *c = r->connection;

    if (c->keepalive == AP_CONN_CLOSE) {
        return; /* somebody else has */
    }
    c->keepalive = AP_CONN_CLOSE;
    while (r->prev) {
        r = r->prev;
    }
    apr_table_setn(r->notes, KA_REASON_NOTE_POLICY, "1");
}

typedef struct view {
    const server_rec *of;
    server_rec server;
} view;

/* Made again only when it has to differ from the last one. */
static server_rec *view_with(kapolicy_conn *conn, const server_rec *s,
                             int keep_alive, int64_t timeout, int max)
{
    view *v = conn->view;

    if (!v) {
        v = conn->view = apr_pcalloc(conn->c->pool, sizeof(*v));
    }
    if (v->of != s || v->server.keep_alive != keep_alive ||
        v->server.keep_alive_timeout != timeout ||
        v->server.keep_alive_max != max) {
        v->of = s;
        v->server = *s;
        v->server.keep_alive = keep_alive;
        v->server.keep_alive_timeout = timeout;
        v->server.keep_alive_max = max;
    }
    return &v->server;
}

/* With KeepAlive Off, or a KeepAliveTimeout of 0, httpd keeps nothing: a rule
 * that asks for it is an exception from that, load is none.  MaxKeepAlive-
 * Requests N serves one request more than N: hence the 1. */
static server_rec *view_of(kapolicy_conn *conn, const server_rec *s,
                           bool granted)
{
    int64_t timeout = s->keep_alive_timeout;
    int64_t max = s->keep_alive_max;

    if (granted || timeout > 0) {
        timeout = conn->wait_us > 0 ? conn->wait_us : 1;
    }
    if (conn->max != KAPOLICY_UNSET) {
        max = conn->max > 0 ? conn->max - 1 : 0;
    }
    return view_with(conn, s, granted || s->keep_alive, timeout, (int)max);
}

static bool is_for_others(const apr_bucket_brigade *bb)
{
    apr_bucket *b;

    for (b = APR_BRIGADE_FIRST(bb); b != APR_BRIGADE_SENTINEL(bb);
         b = APR_BUCKET_NEXT(b)) {
        if (AP_BUCKET_IS_ERROR(b) || AP_BUCKET_IS_EOC(b)) {
            return true; /* httpd makes another response of it */
        }
    }
    return false;
}

static apr_status_t filter(ap_filter_t *f, apr_bucket_brigade *bb)
{
    request_rec *r = f->r;
    server_rec *server = r->server;
    kapolicy_conn *conn;
    apr_status_t rv;
    kapolicy_answer answer;

    ap_remove_output_filter(f);
    if (word_of(r) & WORD_DECIDED || is_for_others(bb)) {
        return ap_pass_brigade(f->next, bb);
    }
    word_add(r, WORD_DECIDED);
    conn = kapolicy_conn_need(r->connection);
    answer = ask(conn, r, bb);
    conn->timeout_us = answer.timeout_us;
    conn->max = answer.max;
    if (answer.close || conn->flags & KAPOLICY_ENDED || is_full() ||
        is_last(conn)) {
        refuse(r);
        return ap_pass_brigade(f->next, bb);
    }
    set_wait(conn, server);
    r->server = view_of(conn, server, answer.granted);
    rv = ap_pass_brigade(f->next, bb);
    r->server = server;
    return rv;
}

/* ---- hooks --------------------------------------------------------------- */

static bool concerns_us(const request_rec *r)
{
    const conn_rec *c = r->connection;

    return !r->main && !c->master &&
           (dir_of(r)->rules || kapolicy->load || kapolicy_conn_of(c));
}

static void insert_filter(request_rec *r)
{
    if (concerns_us(r)) {
        word_add(r, WORD_HANDLED);
        ap_add_output_filter_handle(filter_rec, NULL, r, r->connection);
    }
}

static void insert_error_filter(request_rec *r)
{
    if (concerns_us(r)) {
        ap_add_output_filter_handle(filter_rec, NULL, r, r->connection);
    }
}

static int handler_is_default(request_rec *r)
{
    if (word_of(r)) {
        word_add(r, WORD_DEFAULT);
    }
    return DECLINED;
}

void kapolicy_response_hooks(void)
{
    /* After all that make the content, before all that write it. */
    filter_rec = ap_register_output_filter(FILTER_NAME, filter, NULL,
                                           AP_FTYPE_PROTOCOL - 1);
    ap_hook_insert_filter(insert_filter, NULL, NULL, APR_HOOK_LAST);
    ap_hook_insert_error_filter(insert_error_filter, NULL, NULL,
                                APR_HOOK_LAST);
    /* The default handler is the only one at REALLY_LAST. */
    ap_hook_handler(handler_is_default, NULL, NULL, APR_HOOK_REALLY_LAST - 1);
}
