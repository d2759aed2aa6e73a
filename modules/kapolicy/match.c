/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What the rules say about a response.  Runs for every response where there
 * are rules: nothing is allocated, and a rule costs some dozens of
 * instructions.
 */
#include "kapolicy.h"

#include <apr_lib.h>

/* Letters in either case; the pattern, in lower case, may end in `*`.  No
 * strncasecmp: a type is asked about for every rule and response. */
static bool is_like(const char *pattern, const char *text, char end)
{
    for (; *pattern; pattern++, text++) {
        if (*pattern == '*' && !pattern[1]) {
            return true;
        }
        if (*pattern != *text && *pattern != apr_tolower(*text)) {
            return false;
        }
    }
    return !*text || *text == end || (end && apr_isspace(*text));
}

/* @param end  what else may end the text; 0 = nothing */
static bool is_one_of(const char *const *patterns, unsigned n,
                      const char *text, char end)
{
    unsigned i;

    for (i = 0; text && i < n; i++) {
        if (is_like(patterns[i], text, end)) {
            return true;
        }
    }
    return false;
}

static bool is_within(const kapolicy_range *ranges, unsigned n, int64_t value)
{
    unsigned i;

    for (i = 0; i < n; i++) {
        if (value >= ranges[i].low && value <= ranges[i].high) {
            return true;
        }
    }
    return false;
}

static bool holds(const ap_expr_info_t *expr, request_rec *r)
{
    const char *error = NULL;
    int value = ap_expr_exec(r, expr, &error);

    if (value < 0) {
        ap_log_rerror(APLOG_MARK, APLOG_ERR, 0, r,
                      "mod_kapolicy: the rule at %s:%u does not apply: its "
                      "expression failed: %s",
                      expr->filename, expr->line_number,
                      error ? error : "no reason given");
    }
    return value > 0;
}

/* 18 digits fit.  -1 for what is no number. */
static int64_t number_of(const char *text)
{
    int64_t n = 0;
    size_t i;

    for (i = 0; i < 18 && apr_isdigit(text[i]); i++) {
        n = n * 10 + (text[i] - '0');
    }
    return i > 0 && !text[i] ? n : -1;
}

/* As it was declared, or as it is if it has come in one piece. */
static int64_t read_size_of(const kapolicy_response *response)
{
    const char *declared =
        apr_table_get(response->r->headers_out, "Content-Length");
    int64_t sum = 0;
    apr_bucket *b;

    if (declared) {
        return number_of(declared);
    }
    for (b = APR_BRIGADE_FIRST(response->bb);
         b != APR_BRIGADE_SENTINEL(response->bb); b = APR_BUCKET_NEXT(b)) {
        if (APR_BUCKET_IS_EOS(b)) {
            return sum;
        }
        if (b->length == (apr_size_t)-1) {
            return -1;
        }
        sum += (int64_t)b->length;
    }
    return -1;
}

static int64_t size_of(kapolicy_response *response)
{
    if (response->size == KAPOLICY_SIZE_UNREAD) {
        response->size = read_size_of(response);
    }
    return response->size;
}

/* What is quick to tell comes first. */
static inline bool applies(const kapolicy_rule *rule,
                           kapolicy_response *response)
{
    request_rec *r = response->r;

    if (rule->served && !(rule->served & response->served)) {
        return false;
    }
    if (rule->status && !is_within(rule->status, rule->status_n, r->status)) {
        return false;
    }
    if (rule->types &&
        !is_one_of(rule->types, rule->types_n, r->content_type, ';')) {
        return false;
    }
    if (rule->handlers &&
        !is_one_of(rule->handlers, rule->handlers_n, r->handler, 0)) {
        return false;
    }
    if (rule->env && !apr_table_get(r->subprocess_env, rule->env) !=
                         rule->env_absent) {
        return false;
    }
    if (rule->size.high >= 0 && !is_within(&rule->size, 1, size_of(response))) {
        return false;
    }
    return !rule->expr || holds(rule->expr, r);
}

static inline void take(kapolicy_answer *answer, const kapolicy_rule *rule)
{
    answer->close = rule->close;
    answer->granted = !rule->close;
    if (rule->keep) { /* as the server is configured, and as this line says */
        answer->timeout_us = answer->max = KAPOLICY_UNSET;
    }
    if (rule->timeout_us != KAPOLICY_UNSET) {
        answer->timeout_us = rule->timeout_us;
    }
    if (rule->max != KAPOLICY_UNSET) {
        answer->max = rule->max;
    }
}

void kapolicy_rules_ask(kapolicy_answer *answer,
                        const apr_array_header_t *rules,
                        kapolicy_response *response)
{
    int i;

    for (i = 0; i < rules->nelts; i++) {
        const kapolicy_rule *rule = &APR_ARRAY_IDX(rules, i, kapolicy_rule);

        if (applies(rule, response)) {
            take(answer, rule);
        }
    }
}
