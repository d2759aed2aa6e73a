/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * `%{NAME}^KA` in LogFormat and CustomLog:
 *
 *   connection  its number, counted from the segment's begin
 *   requests    those completed on it, this one included
 *   gap         us that it was idle before this request; 0 if the request was
 *               pipelined, `-` for the first one
 *   reason      why this response ends the connection; `-` if it stays open
 *
 * Another NAME prints `-`: mod_log_config asks only when a line is written.
 * record.c's log_transaction has run by then.
 */
#include "kastats.h"

#include <apr_optional.h>
#include <apr_strings.h>
#include <mod_log_config.h>

#include "ka_reasons.h"

#define TAG "^KA"

#define atomic_get(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

static const char *log_connection(const kastats_conn *conn, request_rec *r)
{
    return apr_psprintf(r->pool, "%u", conn->serial);
}

static const char *log_requests(const kastats_conn *conn, request_rec *r)
{
    return apr_psprintf(r->pool, "%u", atomic_get(conn->requests));
}

static const char *log_gap(const kastats_conn *conn, request_rec *r)
{
    int64_t begin = (int64_t)(kastats_word(r) >> KASTATS_WORD_SHIFT);

    if (begin == 0 || begin - conn->started == conn->first_us) {
        return NULL;
    }
    return begin == atomic_get(conn->gap_end)
               ? apr_psprintf(r->pool, "%" APR_INT64_T_FMT,
                              (apr_int64_t)atomic_get(conn->gap_us))
               : "0";
}

static const char *log_reason(const kastats_conn *conn, request_rec *r)
{
    unsigned reason = conn->reason;

    return r->connection->master || reason == KA_REASON_N
               ? NULL
               : ka_reason_name(reason);
}

static const struct {
    const char *name;
    const char *(*print)(const kastats_conn *conn, request_rec *r);
} items[] = {{"connection", log_connection},
             {"requests", log_requests},
             {"gap", log_gap},
             {"reason", log_reason}};

static const char *log_item(request_rec *r, char *name)
{
    const kastats_conn *conn = kastats ? kastats_conn_of(r->connection) : NULL;
    size_t i;

    for (i = 0; conn && i < sizeof(items) / sizeof(items[0]); i++) {
        if (strcmp(name, items[i].name) == 0) {
            return items[i].print(conn, r);
        }
    }
    return NULL;
}

/* Before any LogFormat is read.  The request as it came, not what it was
 * redirected to inside: its begin is what we keep. */
static int pre_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp)
{
    APR_OPTIONAL_FN_TYPE(ap_register_log_handler) *register_handler =
        APR_RETRIEVE_OPTIONAL_FN(ap_register_log_handler);

    (void)plog;
    (void)ptemp;
    if (register_handler) {
        register_handler(pconf, TAG, log_item, 1);
    }
    return OK;
}

void kastats_logitems_hooks(void)
{
    ap_hook_pre_config(pre_config, NULL, NULL, APR_HOOK_MIDDLE);
}
