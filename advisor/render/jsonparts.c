/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "jsonparts.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "../words.h"

/* Digits of a real: more than any of our measurements has, few enough that
 * 0.1 prints as 0.1. */
#define REAL_DIGITS 10

/* Length of the UTF-8 sequence at text, 0 if there is none: jansson is asked,
 * since it is jansson that must take it. */
static size_t utf8_length(const char *text)
{
    size_t left = strnlen(text, 4), n;

    for (n = 1; n <= left; n++) {
        json_t *one = json_stringn(text, n);

        json_decref(one);
        if (one) {
            return n;
        }
    }
    return 0;
}

json_t *ka_doc_text(const char *text, apr_pool_t *pool)
{
    static const char hex[] = "0123456789abcdef";
    json_t *valid;
    char *repaired, *to;

    if (!text) {
        return json_null();
    }
    valid = json_string(text);
    if (valid) {
        return valid;
    }
    repaired = to = apr_palloc(pool, 4 * strlen(text) + 1);
    while (*text) {
        size_t n = utf8_length(text);

        if (n) {
            memcpy(to, text, n);
            to += n;
            text += n;
        }
        else {
            unsigned char c = (unsigned char)*text++;

            *to++ = '\\';
            *to++ = 'x';
            *to++ = hex[c >> 4];
            *to++ = hex[c & 15];
        }
    }
    *to = '\0';
    return json_string(repaired);
}

json_t *ka_doc_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *ka_doc_whole(int64_t value)
{
    return value < 0 ? json_null() : json_integer(value);
}

json_t *ka_doc_seconds(int64_t us)
{
    return us < 0 ? json_null() : json_real((double)us / 1e6);
}

json_t *ka_doc_timeout(int64_t us)
{
    return us == KA_TIMEOUT_OFF ? json_real(0) : ka_doc_seconds(us);
}

json_t *ka_doc_waits(const ka_sim_result *r)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "connections",
                     ka_doc_whole((int64_t)r->waited), "p50_s",
                     ka_doc_seconds(r->wait_p50_us), "p99_s",
                     ka_doc_seconds(r->wait_p99_us), "p999_s",
                     ka_doc_seconds(r->wait_p999_us), "max_s",
                     ka_doc_seconds(r->wait_most_us), "waiting_peak",
                     ka_doc_whole(r->waiting_most));
}

json_t *ka_doc_time(int64_t us, apr_pool_t *pool)
{
    return ka_doc_text(ka_words_time(pool, us), pool);
}

json_t *ka_doc_bracket(bool bracket, double a, double b)
{
    if (!bracket) {
        return ka_doc_number(a);
    }
    return json_pack("{s:o, s:o}", "low", ka_doc_number(a < b ? a : b), "high",
                     ka_doc_number(a < b ? b : a));
}

json_t *ka_doc_bracket_whole(bool bracket, int64_t a, int64_t b)
{
    if (!bracket) {
        return ka_doc_whole(a);
    }
    return json_pack("{s:o, s:o}", "low", ka_doc_whole(a < b ? a : b), "high",
                     ka_doc_whole(a < b ? b : a));
}

/* 0 stands for a mean that was not given: KeepAlive Off needs none. */
static json_t *mean_requests(const ka_formula *f, const ka_formula *high,
                             bool bracket)
{
    return f->keepalive_requests > 0
               ? ka_doc_bracket(bracket, f->keepalive_requests,
                                high->keepalive_requests)
               : json_null();
}

json_t *ka_doc_formula(const ka_formula *f, const ka_formula *high,
                       const char *rule, const char *why, apr_pool_t *pool)
{
    bool bracket = high != NULL;
    json_t *pays;

    if (!high) {
        high = f;
    }
    /* Where the two sides disagree, the answer is not known. */
    pays = f->keepalive_pays == high->keepalive_pays
               ? json_boolean(f->keepalive_pays)
               : json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "timeout_s", ka_doc_number(f->timeout_s), "requests_per_s",
                     ka_doc_number(f->requests_per_s), "keepalive_requests",
                     mean_requests(f, high, bracket), "process_bytes",
                     ka_doc_whole(f->process_bytes), "processes",
                     ka_doc_bracket(bracket, f->processes, high->processes),
                     "memory_bytes",
                     ka_doc_bracket_whole(bracket && f->memory_bytes >= 0,
                                          f->memory_bytes, high->memory_bytes),
                     "keepalive_pays", pays, "rule", ka_doc_text(rule, pool),
                     "why_it_differs", ka_doc_text(why, pool));
}

json_t *ka_doc_hosts(const ka_report *report, ka_doc_add_fn *add,
                     apr_pool_t *pool)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < report->host_n; i++) {
        json_t *object = json_object();

        if (!add(object, report->hosts[i], pool)) {
            json_decref(object);
            json_decref(array);
            return NULL;
        }
        json_array_append_new(array, object);
    }
    return array;
}

apr_status_t ka_doc_write(FILE *out, json_t *root)
{
    int failed;

    if (!root) {
        return APR_ENOMEM;
    }
    errno = 0;
    failed = json_dumpf(root, out,
                        JSON_INDENT(2) | JSON_REAL_PRECISION(REAL_DIGITS));
    json_decref(root);
    fputc('\n', out);
    if (fflush(out) || ferror(out)) {
        failed = -1;
    }
    if (!failed) {
        return APR_SUCCESS;
    }
    return errno ? APR_FROM_OS_ERROR(errno) : APR_EGENERAL;
}
