/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "config_text.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <apr_lib.h>
#include <apr_strings.h>

void ka_cfg_lines_init(ka_cfg_lines *lines, const char *text, size_t length)
{
    *lines = (ka_cfg_lines){.at = text, .end = text + length};
}

/* Length of the line without what ends it; `joined` if `\` ends it.  */
static size_t line_length(bool *joined, const char *at, size_t n)
{
    *joined = false;
    if (n > 0 && at[n - 1] == '\r') {
        /* A CR goes before the LF only; alone it is white space at the end. */
        n--;
    }
    if (n > 0 && at[n - 1] == '\\') {
        *joined = true;
        n--;
    }
    return n;
}

static char *trimmed(char *text, size_t n)
{
    while (n > 0 && apr_isspace(text[n - 1])) {
        n--;
    }
    text[n] = '\0';
    while (apr_isspace(*text)) {
        text++;
    }
    return text;
}

/* Bytes of the logical line, `\` and line ends included. */
static size_t logical_length(const ka_cfg_lines *lines)
{
    const char *at = lines->at;

    while (at < lines->end) {
        const char *lf = memchr(at, '\n', (size_t)(lines->end - at));
        bool joined;

        if (!lf) {
            return (size_t)(lines->end - lines->at);
        }
        line_length(&joined, at, (size_t)(lf - at));
        at = lf + 1;
        if (!joined) {
            break;
        }
    }
    return (size_t)(at - lines->at);
}

const char *ka_cfg_line_next(ka_cfg_lines *lines, apr_pool_t *pool)
{
    const char *end = lines->at + logical_length(lines);
    size_t used = 0;
    char *text;

    if (lines->at >= lines->end) {
        return NULL;
    }
    text = apr_palloc(pool, (apr_size_t)(end - lines->at) + 1);
    lines->first = lines->number + 1;
    while (lines->at < end) {
        const char *lf = memchr(lines->at, '\n', (size_t)(end - lines->at));
        const char *stop = lf ? lf : end;
        size_t n = (size_t)(stop - lines->at);
        bool joined = false;

        if (lf) {
            n = line_length(&joined, lines->at, n);
        }
        n = strnlen(lines->at, n);
        memcpy(text + used, lines->at, n);
        used += n;
        lines->at = lf ? lf + 1 : end;
        lines->number++;
    }
    return trimmed(text, used);
}

/* The text with `\\` and `\` before the quote undone. */
static const char *unescaped(const char *text, size_t n, char quote,
                             apr_pool_t *pool)
{
    char *out = apr_palloc(pool, n + 1);
    size_t i, used = 0;

    for (i = 0; i < n; i++) {
        if (text[i] == '\\' && i + 1 < n &&
            (text[i + 1] == '\\' || (quote && text[i + 1] == quote))) {
            i++;
        }
        out[used++] = text[i];
    }
    out[used] = '\0';
    return out;
}

static size_t quoted_length(const char *text, char quote)
{
    size_t n = 0;

    while (text[n] && text[n] != quote) {
        bool pair = text[n] == '\\' &&
                    (text[n + 1] == '\\' || text[n + 1] == quote);

        n += pair ? 2 : 1;
    }
    return n;
}

const char *ka_cfg_word(const char **line, apr_pool_t *pool)
{
    const char *at = *line, *word;
    size_t n = 0;

    while (apr_isspace(*at)) {
        at++;
    }
    if (*at == '"' || *at == '\'') {
        char quote = *at++;

        n = quoted_length(at, quote);
        word = unescaped(at, n, quote, pool);
        n += at[n] == quote;
    }
    else {
        while (at[n] && !apr_isspace(at[n])) {
            n++;
        }
        word = unescaped(at, n, '\0', pool);
    }
    at += n;
    while (apr_isspace(*at)) {
        at++;
    }
    *line = at;
    return word;
}

apr_array_header_t *ka_cfg_words(const char *line, apr_pool_t *pool)
{
    apr_array_header_t *words = apr_array_make(pool, 4, sizeof(const char *));

    while (apr_isspace(*line)) {
        line++;
    }
    while (*line) {
        APR_ARRAY_PUSH(words, const char *) = ka_cfg_word(&line, pool);
    }
    return words;
}

/* Unlike Define's, names of the environment differ by case. */
static const char *environment_value(const char *name,
                                     const apr_table_t *environment)
{
    const apr_array_header_t *all = apr_table_elts(environment);
    int i;

    for (i = 0; i < all->nelts; i++) {
        const apr_table_entry_t *entry =
            &APR_ARRAY_IDX(all, i, apr_table_entry_t);

        if (!strcmp(entry->key, name)) {
            return entry->val;
        }
    }
    return NULL;
}

static const char *value_of(const char *name, const apr_table_t *vars,
                            const apr_table_t *environment)
{
    const char *value = vars ? apr_table_get(vars, name) : NULL;

    return value || !environment ? value
                                 : environment_value(name, environment);
}

const char *ka_cfg_expand(const char **undefined, const char *text,
                          const apr_table_t *vars,
                          const apr_table_t *environment, apr_pool_t *pool)
{
    apr_array_header_t *pieces;
    size_t total = 0;
    const char *at = text, *start, *close;

    *undefined = NULL;
    if (!strstr(text, "${")) {
        return text;
    }
    pieces = apr_array_make(pool, 8, sizeof(const char *));
    while ((start = strstr(at, "${")) && (close = strchr(start, '}'))) {
        const char *name =
            apr_pstrmemdup(pool, start + 2, (apr_size_t)(close - start - 2));
        const char *value = value_of(name, vars, environment);
        const char *before =
            apr_pstrmemdup(pool, at, (apr_size_t)(start - at));

        if (!value) {
            value = apr_pstrmemdup(pool, start,
                                   (apr_size_t)(close + 1 - start));
            *undefined = *undefined ? *undefined : name;
        }
        total += strlen(before) + strlen(value);
        if (total > KA_CFG_EXPANDED_MAX) {
            return NULL;
        }
        APR_ARRAY_PUSH(pieces, const char *) = before;
        APR_ARRAY_PUSH(pieces, const char *) = value;
        at = close + 1;
    }
    APR_ARRAY_PUSH(pieces, const char *) = at;
    return apr_array_pstrcat(pool, pieces, '\0');
}

int64_t ka_cfg_number(const char *text)
{
    long long value = strtoll(text, NULL, 10);

    if (value > INT32_MAX) {
        return INT32_MAX;
    }
    return value < INT32_MIN ? INT32_MIN : value;
}

apr_status_t ka_cfg_time(int64_t *us, const char *text)
{
    static const struct {
        const char *unit;
        int64_t us;
    } units[] = {{"", 1000000},      {"s", 1000000},    {"ms", 1000},
                 {"mi", 60000000},   {"min", 60000000}, {"h", 3600000000},
                 {"sec", 1000000}};
    char *end = NULL;
    long long value = strtoll(text, &end, 10);
    size_t i;

    if (end == text || value < 0) {
        return APR_EINVAL;
    }
    for (i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (!strcasecmp(end, units[i].unit)) {
            if (value > INT64_MAX / units[i].us) {
                return APR_EINVAL;
            }
            *us = value * units[i].us;
            return APR_SUCCESS;
        }
    }
    return APR_EINVAL;
}

bool ka_cfg_flag(bool *on, const char *text)
{
    if (strcasecmp(text, "on") && strcasecmp(text, "off")) {
        return false;
    }
    *on = !strcasecmp(text, "on");
    return true;
}
