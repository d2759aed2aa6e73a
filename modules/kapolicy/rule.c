/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * One KAPolicy line: actions and conditions in any order.
 */
#include "kapolicy.h"

#include <apr_lib.h>
#include <apr_strings.h>

#include "ka_units.h"

#define TIMEOUT_MAX_US (INT64_C(86400) * 1000000)
#define MAX_MAX 1000000000
#define LIST_MAX 64

typedef struct reading {
    kapolicy_rule *rule;
    cmd_parms *cmd;
    unsigned seen; /* rows of the table below */
} reading;

#define refuse(in, ...) apr_psprintf((in)->cmd->pool, __VA_ARGS__)

/* ---- actions ------------------------------------------------------------- */

static const char *read_close(reading *in, const char *value)
{
    (void)value;
    in->rule->close = true;
    return NULL;
}

static const char *read_keep(reading *in, const char *value)
{
    (void)value;
    in->rule->keep = true;
    return NULL;
}

static const char *read_timeout(reading *in, const char *value)
{
    int64_t us;

    if (ka_parse_duration(&us, value) != APR_SUCCESS || us <= 0 ||
        us > TIMEOUT_MAX_US) {
        return refuse(in,
                      "KAPolicy: 'timeout=%s' is not a time to wait; use "
                      "seconds such as 5 or 2.5, 400ms, at most 24h, or "
                      "'close' for none",
                      value);
    }
    in->rule->timeout_us = us;
    return NULL;
}

static const char *read_max(reading *in, const char *value)
{
    char *end;
    apr_int64_t max = apr_strtoi64(value, &end, 10);

    if (!apr_isdigit(*value) || *end || max > MAX_MAX) {
        return refuse(in,
                      "KAPolicy: 'max=%s' is not a number of requests; use a "
                      "whole number up to %d, 0 for no limit",
                      value, MAX_MAX);
    }
    in->rule->max = max;
    return NULL;
}

/* ---- conditions ---------------------------------------------------------- */

typedef struct word_list {
    const char *word[LIST_MAX];
    unsigned char n;
} word_list;

/* At commas; no word may be empty. */
static const char *split(word_list *out, reading *in, const char *key,
                         const char *value)
{
    char *rest = apr_pstrdup(in->cmd->pool, value);

    out->n = 0;
    for (;;) {
        char *comma = strchr(rest, ',');

        if (comma) {
            *comma = '\0';
        }
        if (!*rest || out->n == LIST_MAX) {
            return refuse(in,
                          "KAPolicy: '%s=%s' is not a list; use 1 to %d words "
                          "with a comma between them",
                          key, value, LIST_MAX);
        }
        out->word[out->n++] = rest;
        if (!comma) {
            return NULL;
        }
        rest = comma + 1;
    }
}

static const char *lower_case(apr_pool_t *pool, const char *text)
{
    char *copy = apr_pstrdup(pool, text);

    ap_str_tolower(copy);
    return copy;
}

static const char *const *keep_words(reading *in, const word_list *list)
{
    return apr_pmemdup(in->cmd->pool, list->word,
                       list->n * sizeof(list->word[0]));
}

static const struct {
    const char *name;
    unsigned served;
} served_names[] = {{"static", KAPOLICY_STATIC},
                    {"dynamic", KAPOLICY_DYNAMIC},
                    {"proxy", KAPOLICY_PROXY},
                    {"error", KAPOLICY_ERROR}};

static unsigned served_of(const char *name)
{
    size_t i;

    for (i = 0; i < sizeof(served_names) / sizeof(served_names[0]); i++) {
        if (strcasecmp(name, served_names[i].name) == 0) {
            return served_names[i].served;
        }
    }
    return 0;
}

static const char *read_served(reading *in, const char *value)
{
    word_list list;
    const char *error = split(&list, in, "served", value);
    unsigned i;

    for (i = 0; !error && i < list.n; i++) {
        unsigned served = served_of(list.word[i]);

        if (!served) {
            return refuse(in,
                          "KAPolicy: 'served=%s': nothing is served by '%s'; "
                          "use static, dynamic, proxy or error",
                          value, list.word[i]);
        }
        in->rule->served |= served;
    }
    return error;
}

/* 404, 5xx or 400-499. */
static bool read_status_range(kapolicy_range *out, const char *word)
{
    char *end;

    if (word[0] >= '1' && word[0] <= '9' && strcasecmp(word + 1, "xx") == 0) {
        *out = (kapolicy_range){(word[0] - '0') * 100,
                                (word[0] - '0') * 100 + 99};
        return true;
    }
    if (!apr_isdigit(*word)) {
        return false;
    }
    out->low = out->high = apr_strtoi64(word, &end, 10);
    if (*end == '-' && apr_isdigit(end[1])) {
        out->high = apr_strtoi64(end + 1, &end, 10);
    }
    return !*end && out->low >= 100 && out->low <= out->high &&
           out->high <= 999;
}

static const char *read_status(reading *in, const char *value)
{
    word_list list;
    const char *error = split(&list, in, "status", value);
    kapolicy_range *ranges;
    unsigned i;

    if (error) {
        return error;
    }
    ranges = apr_palloc(in->cmd->pool, list.n * sizeof(*ranges));
    for (i = 0; i < list.n; i++) {
        if (!read_status_range(&ranges[i], list.word[i])) {
            return refuse(in,
                          "KAPolicy: 'status=%s': '%s' is not a status; use "
                          "404, 5xx or 400-499",
                          value, list.word[i]);
        }
    }
    in->rule->status = ranges;
    in->rule->status_n = list.n;
    return NULL;
}

static const char *read_type(reading *in, const char *value)
{
    word_list list;
    const char *error =
        split(&list, in, "type", lower_case(in->cmd->pool, value));
    unsigned i;

    for (i = 0; !error && i < list.n; i++) {
        if (strcmp(list.word[i], "*/*") == 0) {
            list.word[i] = "*";
            continue;
        }
        if (!strchr(list.word[i], '/') || strchr(list.word[i], ';')) {
            return refuse(in,
                          "KAPolicy: 'type=%s': '%s' is not a content type; "
                          "use TYPE/SUBTYPE or TYPE/*, without parameters",
                          value, list.word[i]);
        }
    }
    in->rule->types = error ? NULL : keep_words(in, &list);
    in->rule->types_n = error ? 0 : list.n;
    return error;
}

static const char *read_handler(reading *in, const char *value)
{
    word_list list;
    const char *error =
        split(&list, in, "handler", lower_case(in->cmd->pool, value));

    in->rule->handlers = error ? NULL : keep_words(in, &list);
    in->rule->handlers_n = error ? 0 : list.n;
    return error;
}

/* FROM-TO, FROM- or -TO. */
static bool read_size_range(kapolicy_range *out, char *text)
{
    char *dash = strchr(text, '-');

    if (!dash || !(text[1])) {
        return false;
    }
    *dash = '\0';
    out->low = 0;
    out->high = INT64_MAX;
    return (!*text || ka_parse_size(&out->low, text) == APR_SUCCESS) &&
           (!dash[1] || ka_parse_size(&out->high, dash + 1) == APR_SUCCESS) &&
           out->low <= out->high;
}

static const char *read_size(reading *in, const char *value)
{
    if (!read_size_range(&in->rule->size,
                         apr_pstrdup(in->cmd->temp_pool, value))) {
        return refuse(in,
                      "KAPolicy: 'size=%s' is not a range of sizes; use "
                      "1M- (from), -10K (to) or 10K-1M",
                      value);
    }
    return NULL;
}

static const char *read_env(reading *in, const char *value)
{
    in->rule->env_absent = *value == '!';
    in->rule->env = value + in->rule->env_absent;
    if (!*in->rule->env || strchr(in->rule->env, '=')) {
        return refuse(in,
                      "KAPolicy: 'env=%s' is not the name of a variable; use "
                      "env=NAME where it is set, env=!NAME where it is not",
                      value);
    }
    return NULL;
}

static const char *read_expr(reading *in, const char *value)
{
    unsigned flags = AP_EXPR_FLAG_DONT_VARY;
    const char *error = NULL;

    if (ap_check_cmd_context(in->cmd, NOT_IN_HTACCESS)) {
        flags |= AP_EXPR_FLAG_RESTRICTED;
    }
    in->rule->expr = ap_expr_parse_cmd(in->cmd, value, flags, &error, NULL);
    return error ? refuse(in, "KAPolicy: 'expr=%s' is not an expression: %s",
                          value, error)
                 : NULL;
}

/* ---- a line -------------------------------------------------------------- */

static const struct {
    const char *key;
    bool has_value;
    bool is_action;
    const char *(*read)(reading *in, const char *value);
} words[] = {{"close", false, true, read_close},
             {"keep", false, true, read_keep},
             {"timeout", true, true, read_timeout},
             {"max", true, true, read_max},
             {"served", true, false, read_served},
             {"status", true, false, read_status},
             {"type", true, false, read_type},
             {"size", true, false, read_size},
             {"handler", true, false, read_handler},
             {"env", true, false, read_env},
             {"expr", true, false, read_expr}};

#define WORDS_N (sizeof(words) / sizeof(words[0]))

static bool is_word(size_t i, const char *arg, size_t key_n, bool has_value)
{
    return words[i].has_value == has_value &&
           strlen(words[i].key) == key_n &&
           strncasecmp(words[i].key, arg, key_n) == 0;
}

static const char *read_word(reading *in, const char *arg)
{
    size_t key_n = strcspn(arg, "=");
    bool has_value = arg[key_n] == '=';
    size_t i = 0;

    while (i < WORDS_N && !is_word(i, arg, key_n, has_value)) {
        i++;
    }
    if (i == WORDS_N) {
        return refuse(in,
                      "KAPolicy: '%s' is neither an action (keep, close, "
                      "timeout=SECONDS, max=REQUESTS) nor a condition "
                      "(served=, status=, type=, size=, handler=, env=, "
                      "expr=)",
                      arg);
    }
    if (in->seen & 1u << i) {
        return refuse(in,
                      "KAPolicy: '%s': '%s' is there twice; write one value, "
                      "or several with commas, or two lines",
                      arg, words[i].key);
    }
    in->seen |= 1u << i;
    return words[i].read(in, arg + key_n + has_value);
}

/* Fixed by the caller: on one line there are no two minds. */
static const char *check(reading *in)
{
    const kapolicy_rule *rule = in->rule;
    bool keeps = rule->keep || rule->timeout_us != KAPOLICY_UNSET ||
                 rule->max != KAPOLICY_UNSET;

    if (!rule->close && !keeps) {
        return "KAPolicy: only conditions; say what to do: keep, close, "
               "timeout=SECONDS or max=REQUESTS";
    }
    if (rule->close && keeps) {
        return "KAPolicy: 'close' leaves nothing to keep; drop it, or keep=, "
               "timeout= and max= on this line";
    }
    return NULL;
}

const char *kapolicy_rule_parse(kapolicy_rule *rule, cmd_parms *cmd, int argc,
                                char *const argv[])
{
    reading in = {.rule = rule, .cmd = cmd};
    const char *error = NULL;
    int i;

    *rule = (kapolicy_rule){.timeout_us = KAPOLICY_UNSET,
                            .max = KAPOLICY_UNSET,
                            .size = {.low = 0, .high = -1}};
    for (i = 0; !error && i < argc; i++) {
        error = read_word(&in, argv[i]);
    }
    return error ? error : check(&in);
}
