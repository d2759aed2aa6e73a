/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "kapolicy.h"

#include <apr_lib.h>
#include <apr_strings.h>

#include "ka_units.h"

#define DEFAULT_LOW 50
#define DEFAULT_HIGH 90

void *kapolicy_server_create(apr_pool_t *p, server_rec *s)
{
    (void)s;
    return apr_pcalloc(p, sizeof(kapolicy_server));
}

void *kapolicy_dir_create(apr_pool_t *p, char *path)
{
    (void)path;
    return apr_pcalloc(p, sizeof(kapolicy_dir));
}

/* In the order in which httpd merges: what comes later is asked later, and
 * the last word counts. */
void *kapolicy_dir_merge(apr_pool_t *p, void *base, void *add)
{
    const kapolicy_dir *outer = base, *inner = add;
    kapolicy_dir *conf;

    if (!outer->rules || !inner->rules) {
        return outer->rules ? base : add;
    }
    conf = apr_palloc(p, sizeof(*conf));
    conf->rules = apr_array_append(p, outer->rules, inner->rules);
    return conf;
}

/* ---- setters ------------------------------------------------------------- */

/* Not from .htaccess, which is read while the server is in use. */
static void note_longest(cmd_parms *cmd, const kapolicy_rule *rule)
{
    kapolicy_server *server = kapolicy_server_of(cmd->server);

    if (ap_check_cmd_context(cmd, NOT_IN_HTACCESS) ||
        rule->timeout_us <= server->longest_us) {
        return;
    }
    server->longest_us = rule->timeout_us;
    server->longest_at =
        apr_psprintf(cmd->pool, "%s:%d", cmd->directive->filename,
                     cmd->directive->line_num);
}

static const char *set_rule(cmd_parms *cmd, void *dir, int argc,
                            char *const argv[])
{
    kapolicy_dir *conf = dir;
    kapolicy_rule rule;
    const char *error = kapolicy_rule_parse(&rule, cmd, argc, argv);

    if (error) {
        return error;
    }
    if (!conf->rules) {
        conf->rules = apr_array_make(cmd->pool, 4, sizeof(kapolicy_rule));
    }
    APR_ARRAY_PUSH(conf->rules, kapolicy_rule) = rule;
    note_longest(cmd, &rule);
    return NULL;
}

static const char *read_wait(int64_t *us, cmd_parms *cmd, const char *arg)
{
    if (ka_parse_duration(us, arg) == APR_SUCCESS &&
        *us <= INT64_C(86400) * 1000000) {
        return NULL;
    }
    return apr_psprintf(cmd->pool,
                        "KAPolicyAdaptive: '%s' is not a time to wait; use "
                        "seconds such as 5 or 0.5, 400ms, at most 24h",
                        arg);
}

static const char *read_share(uint32_t *out, cmd_parms *cmd, const char *arg)
{
    char *end;
    apr_int64_t percent = apr_strtoi64(arg, &end, 10);

    if (*end == '%') {
        end++;
    }
    if (apr_isdigit(*arg) && !*end && percent <= 100) {
        *out = (uint32_t)percent;
        return NULL;
    }
    return apr_psprintf(cmd->pool,
                        "KAPolicyAdaptive: '%s' is not a share of the "
                        "workers; use whole per cents such as 50%%",
                        arg);
}

static const char *check_adaptive(const ka_adaptive *adaptive)
{
    if (adaptive->max_us == 0 || adaptive->min_us > adaptive->max_us) {
        return "KAPolicyAdaptive: the first time must not be longer than the "
               "second, and that not 0: KAPolicyAdaptive MIN MAX [LOW% "
               "HIGH%], such as 1 15 50% 90%";
    }
    if (adaptive->low >= adaptive->high) {
        return "KAPolicyAdaptive: the first share must be less than the "
               "second: KAPolicyAdaptive MIN MAX [LOW% HIGH%], such as 1 15 "
               "50% 90%";
    }
    return NULL;
}

static const char *set_adaptive(cmd_parms *cmd, void *dir, int argc,
                                char *const argv[])
{
    kapolicy_server *server = kapolicy_server_of(cmd->server);
    ka_adaptive *adaptive = &server->adaptive;
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)dir;
    if (error) {
        return error;
    }
    if (argc != 2 && argc != 4) {
        return "KAPolicyAdaptive takes two times, and two shares or none: "
               "KAPolicyAdaptive MIN MAX [LOW% HIGH%], such as 1 15 50% 90%";
    }
    *adaptive = (ka_adaptive){.low = DEFAULT_LOW, .high = DEFAULT_HIGH};
    if ((error = read_wait(&adaptive->min_us, cmd, argv[0])) ||
        (error = read_wait(&adaptive->max_us, cmd, argv[1])) ||
        (argc == 4 && ((error = read_share(&adaptive->low, cmd, argv[2])) ||
                       (error = read_share(&adaptive->high, cmd, argv[3]))))) {
        return error;
    }
    server->has_adaptive = true;
    return check_adaptive(adaptive);
}

const command_rec kapolicy_commands[] = {
    AP_INIT_TAKE_ARGV("KAPolicy", set_rule, NULL, OR_FILEINFO,
                      "what becomes of the connection: keep, close, "
                      "timeout=SECONDS, max=REQUESTS; where: served=, "
                      "status=, type=, size=, handler=, env=, expr="),
    AP_INIT_TAKE_ARGV("KAPolicyAdaptive", set_adaptive, NULL, RSRC_CONF,
                      "shortest and longest wait, and between which shares "
                      "of taken workers it falls (default 50% 90%)"),
    {.name = NULL}};
