/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "kastats.h"

#include <apr_strings.h>

#include "ka_units.h"

#define DEFAULT_FILE "kastats.seg"
#define DEFAULT_MODE 0640
#define DEFAULT_HISTORY 86400
#define DEFAULT_RECENT 1000

void *kastats_server_create(apr_pool_t *p, server_rec *s)
{
    kastats_server *conf = apr_pcalloc(p, sizeof(*conf));

    (void)s;
    conf->on = conf->mode = conf->vhosts = KASTATS_UNSET;
    conf->history = conf->recent = KASTATS_UNSET;
    return conf;
}

void *kastats_server_merge(apr_pool_t *p, void *base, void *add)
{
    const kastats_server *above = base;
    kastats_server *conf = apr_pmemdup(p, add, sizeof(*conf));

    if (conf->on == KASTATS_UNSET) {
        conf->on = above->on;
    }
    return conf;
}

static int or_default(int value, int standard)
{
    return value == KASTATS_UNSET ? standard : value;
}

/* Places for vhosts that a graceful restart may bring, so that the segment
 * can go on. */
static int default_vhosts(const server_rec *main_server)
{
    const server_rec *s;
    int n = 0;

    for (s = main_server; s; s = s->next) {
        n++;
    }
    n += n / 4 + 4;
    return n < 64 ? n : 64;
}

kastats_server kastats_settings(const server_rec *main_server, apr_pool_t *p)
{
    kastats_server conf = *kastats_server_of(main_server);

    conf.file =
        ap_runtime_dir_relative(p, conf.file ? conf.file : DEFAULT_FILE);
    conf.mode = or_default(conf.mode, DEFAULT_MODE);
    conf.vhosts = or_default(conf.vhosts, default_vhosts(main_server));
    conf.history = or_default(conf.history, DEFAULT_HISTORY);
    conf.recent = or_default(conf.recent, DEFAULT_RECENT);
    return conf;
}

/* ---- setters ------------------------------------------------------------- */

static const char *set_on(cmd_parms *cmd, void *dir, int on)
{
    (void)dir;
    kastats_server_of(cmd->server)->on = on;
    return NULL;
}

static const char *set_file(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);

    (void)dir;
    if (error) {
        return error;
    }
    if (!arg[0] || arg[strlen(arg) - 1] == '/' ||
        !ap_runtime_dir_relative(cmd->temp_pool, arg)) {
        return apr_psprintf(cmd->pool,
                            "KAStatsFile: '%s' is not the name of a file; use "
                            "an absolute path or one relative to "
                            "DefaultRuntimeDir, such as " DEFAULT_FILE,
                            arg);
    }
    kastats_server_of(cmd->server)->file = arg;
    return NULL;
}

/* Whoever may write to the file could cut it under the server's feet. */
static const char *set_mode(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t mode;
    char *end;

    (void)dir;
    if (error) {
        return error;
    }
    mode = apr_strtoi64(arg, &end, 8);
    if (*arg < '0' || *arg > '7' || *end || mode > 0777 ||
        (mode & 0600) != 0600 || mode & 0133) {
        return apr_psprintf(cmd->pool,
                            "KAStatsMode: '%s' is not a mode for the segment; "
                            "use 0600 (owner), 0640 (group may read) or 0644 "
                            "(everybody may read)",
                            arg);
    }
    kastats_server_of(cmd->server)->mode = (int)mode;
    return NULL;
}

static const char *set_number(cmd_parms *cmd, int *to, const char *arg, int low,
                              int high, const char *what)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    apr_int64_t value;
    char *end;

    if (error) {
        return error;
    }
    value = apr_strtoi64(arg, &end, 10);
    if (*arg < '0' || *arg > '9' || *end || value < low || value > high) {
        return apr_psprintf(cmd->pool,
                            "%s: '%s' is not a number of %s; use a "
                            "whole number from %d to %d",
                            cmd->cmd->name, arg, what, low, high);
    }
    *to = (int)value;
    return NULL;
}

static const char *set_vhosts(cmd_parms *cmd, void *dir, const char *arg)
{
    (void)dir;
    return set_number(cmd, &kastats_server_of(cmd->server)->vhosts, arg,
                      KA_VHOSTS_MIN, KA_VHOSTS_MAX, "virtual hosts");
}

static const char *set_recent(cmd_parms *cmd, void *dir, const char *arg)
{
    (void)dir;
    return set_number(cmd, &kastats_server_of(cmd->server)->recent, arg, 0,
                      KA_RECENT_MAX, "connections");
}

static const char *set_history(cmd_parms *cmd, void *dir, const char *arg)
{
    const char *error = ap_check_cmd_context(cmd, GLOBAL_ONLY);
    int64_t us;

    (void)dir;
    if (error) {
        return error;
    }
    if (ka_parse_duration(&us, arg) != APR_SUCCESS || us % 1000000 != 0 ||
        us / 1000000 > KA_HISTORY_MAX) {
        return apr_psprintf(cmd->pool,
                            "KAStatsHistory: '%s' is not a length of history; "
                            "use whole seconds up to seven days, such as "
                            "86400, 24h or 7d, or 0 for none",
                            arg);
    }
    kastats_server_of(cmd->server)->history = (int)(us / 1000000);
    return NULL;
}

const command_rec kastats_commands[] = {
    AP_INIT_FLAG("KAStats", set_on, NULL, RSRC_CONF,
                 "On (default) or Off: record the connections of this server "
                 "or virtual host"),
    AP_INIT_TAKE1("KAStatsFile", set_file, NULL, RSRC_CONF,
                  "the segment's file, relative to DefaultRuntimeDir "
                  "(default " DEFAULT_FILE ")"),
    AP_INIT_TAKE1("KAStatsMode", set_mode, NULL, RSRC_CONF,
                  "the file's mode, octal: 0600, 0640 (default) or 0644"),
    AP_INIT_TAKE1("KAStatsVhosts", set_vhosts, NULL, RSRC_CONF,
                  "virtual hosts to tell apart, the one for all others "
                  "included (default: those configured and a few more)"),
    AP_INIT_TAKE1("KAStatsHistory", set_history, NULL, RSRC_CONF,
                  "how long to keep the history of single seconds (default "
                  "24h)"),
    AP_INIT_TAKE1("KAStatsRecent", set_recent, NULL, RSRC_CONF,
                  "how many closed connections to keep one by one (default "
                  "1000)"),
    {.name = NULL}};
