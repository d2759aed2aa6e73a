/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Prometheus' HTTP API as seen from a client: one POST, one answer.
 *
 * What holds for all of it:
 *   - the token goes to the host of the URL only, whatever redirects say, and
 *     into no message;
 *   - redirects are followed three times at most, and never from https to
 *     http; the environment's proxies are not used;
 *   - an answer has 10 s to be connected, 60 s in all, and 64 MB.
 *
 * Concurrency: one thread.
 */
#ifndef KA_PROMETHEUS_HTTP_H
#define KA_PROMETHEUS_HTTP_H

#include <stdbool.h>
#include <stddef.h>
#include <apr_errno.h>
#include <apr_pools.h>

#define KA_PROM_ANSWER_MAX ((size_t)64 << 20)
#define KA_PROM_CONNECT_S 10L
#define KA_PROM_TOTAL_S 60L

typedef struct ka_prom_access {
    const char *url;        /* http[s]://host[:port][/prefix] */
    const char *token_file; /* of a bearer token; NULL: none */
    const char *ca_file;    /* PEM; NULL: the system's */
    bool insecure;          /* any certificate will do */
} ka_prom_access;

typedef struct ka_prom_http ka_prom_http;

/* Text of an answer: valid until the next question. */
typedef struct ka_prom_answer {
    long status;      /* of HTTP */
    const char *type; /* Content-Type; "" if there is none */
    const char *text; /* text[n] */
    size_t n;
} ka_prom_answer;

/** Whether a SOURCE is written as a URL: http:// or https://. */
bool ka_prometheus_source_is(const char *source);

/**
 * Checks the URL, reads the token and prepares to ask; nothing is sent yet.
 * @param out    freed with pool
 * @param error  on failure one sentence that says what to do
 * @return APR_SUCCESS; APR_EINVAL; APR_ENOMEM; what opening the token said
 */
apr_status_t ka_prom_http_make(ka_prom_http **out, const char **error,
                               const ka_prom_access *access, apr_pool_t *pool);

/** The URL without a slash at its end. */
const char *ka_prom_http_url(const ka_prom_http *http);

/** Appends name=value to a form, value percent-encoded. @return the form */
const char *ka_prom_form(const char *form, const char *name, const char *value,
                         apr_pool_t *pool);

/**
 * Posts a form to the URL followed by path.
 * @param answer  any HTTP status
 * @param error   on failure one sentence: what failed and what to do
 * @return APR_SUCCESS; APR_EGENERAL: no answer, or not one that is taken
 */
apr_status_t ka_prom_http_post(ka_prom_answer *answer, const char **error,
                               ka_prom_http *http, const char *path,
                               const char *form);

#endif
