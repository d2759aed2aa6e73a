/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * A ka_logline in one line, absent fields left out: what tests compare. */
#ifndef KA_TEST_LOGLINE_SHOW_H
#define KA_TEST_LOGLINE_SHOW_H

#include "unit.h"

#include <inttypes.h>
#include <apr_strings.h>
#include "sources/logformat.h"

/* "begin=0 host=<h> status=200": numbers as they are, text in brackets. */
static inline const char *logline_show(const ka_logline *v, apr_pool_t *pool)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        { "begin", v->begin_us }, { "end", v->end_us },
        { "service", v->service_us }, { "first_byte", v->first_byte_us },
        { "body", v->body_bytes }, { "in", v->bytes_in },
        { "out", v->bytes_out }, { "pid", v->pid }, { "tid", v->tid },
        { "remote", v->remote_port }, { "local", v->local_port },
        { "status", v->status }, { "k", v->keepalives }
    };
    const struct {
        const char *name;
        ka_str value;
    } texts[] = {
        { "host", v->host }, { "client", v->client }, { "peer", v->peer },
        { "request", v->request }, { "method", v->method }, { "uri", v->uri },
        { "query", v->query }, { "protocol", v->protocol },
        { "vhost", v->vhost }, { "handler", v->handler },
        { "agent", v->user_agent }, { "id", v->unique_id },
        { "tls", v->tls_protocol }
    };
    const char *out = "";

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (numbers[i].value != -1) {
            out = apr_psprintf(pool, "%s %s=%" PRId64, out, numbers[i].name,
                               numbers[i].value);
        }
    }
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        if (texts[i].value.ptr) {
            out = apr_pstrcat(pool, out, " ", texts[i].name, "=<",
                              apr_pstrmemdup(pool, texts[i].value.ptr,
                                             texts[i].value.len), ">", NULL);
        }
    }
    if (v->conn_status) {
        out = apr_psprintf(pool, "%s X=%c", out, v->conn_status);
    }
    return *out ? out + 1 : out;
}

static inline ka_logformat *logline_format(const char *text, apr_pool_t *pool)
{
    ka_logformat *format = NULL;
    const char *error = "";

    if (ka_logformat_compile(&format, &error, text, pool) != APR_SUCCESS) {
        fail_msg("%s\n%s", text, error);
    }
    return format;
}

/* The line in a block of just its size, so that a byte too far is seen. */
static inline const char *logline_read(const char *format, const char *line,
                                       size_t length, apr_pool_t *pool)
{
    ka_logline values;
    ka_logline_error error;
    char *copy = malloc(length + 1);
    const char *out;

    assert_non_null(copy);
    copy = memcpy(copy, line, length);
    copy = realloc(copy, length ? length : 1);
    assert_non_null(copy);
    if (ka_logline_parse(&values, &error, logline_format(format, pool), copy,
                         length) == APR_SUCCESS) {
        out = logline_show(&values, pool);
    }
    else {
        out = apr_psprintf(pool, "%d: %s", (int)error.column, error.expected);
    }
    free(copy);
    return out;
}

/* What a test is: a format, a line, and what comes of it. */
typedef struct logline_case {
    const char *format, *line, *expected;
} logline_case;

static inline void logline_check(const logline_case *cases, size_t n,
                                 apr_pool_t *pool)
{
    for (size_t i = 0; i < n; i++) {
        const char *got = logline_read(cases[i].format, cases[i].line,
                                       strlen(cases[i].line), pool);

        if (strcmp(got, cases[i].expected) != 0) {
            fail_msg("%s\n%s\n     got %s\nexpected %s", cases[i].format,
                     cases[i].line, got, cases[i].expected);
        }
    }
}

#define LOGLINE_CHECK(cases, pool)                                             \
    logline_check(cases, sizeof(cases) / sizeof((cases)[0]), pool)

#endif
