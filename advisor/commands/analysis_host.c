/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "analysis_host.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <apr_strings.h>
#include <apr_time.h>

#include "../host/config_root.h"
#include "../sources/segment.h"
#include "../words.h"
#include "analysis.h"
#include "host_segment.h"
#include "say.h"

void ka_host_found(ka_host *host, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    APR_ARRAY_PUSH(host->found, const char *) =
        apr_pvsprintf(host->pool, format, args);
    va_end(args);
}

void ka_host_warn(ka_host *host, const char *id, const char *format, ...)
{
    ka_warning *warning = apr_array_push(host->warnings);
    va_list args;

    va_start(args, format);
    *warning = (ka_warning){
        .id = id, .text = apr_pvsprintf(host->pool, format, args)};
    va_end(args);
}

/* ---- which httpd ------------------------------------------------------- */

/* Its main file, by a path that this process can open; NULL: not known.  The
 * binary is not run for it: this may be somebody else's server. */
static const char *main_file(const ka_httpd_instance *instance,
                             const char *root, apr_pool_t *pool)
{
    ka_httpd_options how = {.root = root, .never_run = true};
    const char *path = NULL;
    ka_httpd *httpd;

    ka_httpd_inspect(&httpd, instance, &how, pool);
    return httpd->config_file && !ka_root_resolve(&path, instance->files,
                                                  httpd->config_file, pool)
               ? path
               : NULL;
}

/* By which file it is, not by its name: that of a container is another one
 * than the file of the same name here. */
static bool same_file(const char *a, const char *b)
{
    struct stat first, second;

    return !stat(a, &first) && !stat(b, &second) &&
           first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

/* The one that runs with this main file; NULL if none does.  Several may: then
 * the one whose path is just that. */
static const ka_httpd_instance *running_with(const apr_array_header_t *httpds,
                                             const char *root,
                                             const char *file,
                                             apr_pool_t *pool)
{
    const ka_httpd_instance *found = NULL;
    int i;

    for (i = 0; i < httpds->nelts; i++) {
        const ka_httpd_instance *instance =
            &APR_ARRAY_IDX(httpds, i, ka_httpd_instance);
        const char *own = main_file(instance, root, pool);

        if (own && !strcmp(own, file)) {
            return instance;
        }
        if (own && !found && same_file(own, file)) {
            found = instance;
        }
    }
    return found;
}

/* @param missing  what would have told which one is meant */
static int say_several(const apr_array_header_t *httpds, const char *root,
                       const char *missing, apr_pool_t *pool)
{
    const char *text = "";
    int i;

    for (i = 0; i < httpds->nelts; i++) {
        const ka_httpd_instance *instance =
            &APR_ARRAY_IDX(httpds, i, ka_httpd_instance);
        const char *file = main_file(instance, root, pool);

        text = apr_pstrcat(
            pool, text, "\n    ", ka_httpd_label(instance, pool),
            file ? ": --httpd-config " : ": its configuration was not found",
            file ? file : "", NULL);
    }
    ka_say(pool,
           "no %s, and %d httpds run here; choose one by its "
           "configuration, or name its access log:%s",
           missing, httpds->nelts, text);
    return KA_EXIT_USAGE;
}

static int say_none(bool sources, apr_pool_t *pool)
{
    if (sources) {
        ka_say(pool, "no --config, and no httpd runs here: name an httpd "
                     "configuration, or a block as `kaadvisor --output conf` "
                     "writes it, with --config FILE");
        return KA_EXIT_USAGE;
    }
    ka_say(pool, "no SOURCE, and no httpd runs here: name one or more access "
                 "logs, or - for standard input, or a configuration with "
                 "--httpd-config FILE; `kaadvisor doctor` tells what this "
                 "host has; see `kaadvisor advise --help`");
    return KA_EXIT_USAGE;
}

/* Links stay as they are: followed by name, /proc/PID/root would lead here. */
static const char *absolute(const char *path, apr_pool_t *pool)
{
    char *here = *path == '/' ? NULL : getcwd(NULL, 0);
    const char *whole = *path == '/' ? path
                        : here       ? apr_pstrcat(pool, here, "/", path, NULL)
                                     : NULL;

    free(here);
    return whole;
}

/* *instance is NULL if only the file of --httpd-config is there. */
static int choose(const ka_httpd_instance **instance, const char **file,
                  const char *root, const ka_options *options,
                  apr_pool_t *pool)
{
    apr_array_header_t *httpds;
    char reason[120];
    apr_status_t rv = ka_httpd_find(&httpds, root, pool);

    *instance = NULL;
    *file = NULL;
    if (rv) {
        ka_say(pool, "/proc cannot be read, so no httpd is found: %s; name its "
                     "access logs, or its configuration with --httpd-config",
               apr_strerror(rv, reason, sizeof(reason)));
        httpds = apr_array_make(pool, 1, sizeof(ka_httpd_instance));
    }
    if (options->httpd_config) {
        *file = absolute(options->httpd_config, pool);
        if (!*file || access(*file, F_OK)) {
            ka_say(pool,
                   "--httpd-config %s: %s; give the server's main "
                   "configuration file, as `httpd -V` names it",
                   options->httpd_config,
                   apr_strerror(errno, reason, sizeof(reason)));
            return KA_EXIT_FAILED;
        }
        *instance = running_with(httpds, root, *file, pool);
        return KA_EXIT_DONE;
    }
    if (httpds->nelts != 1) {
        return httpds->nelts
                   ? say_several(httpds, root,
                                 options->source_n ? "--config" : "SOURCE",
                                 pool)
                   : say_none(options->source_n > 0, pool);
    }
    *instance = &APR_ARRAY_IDX(httpds, 0, ka_httpd_instance);
    return KA_EXIT_DONE;
}

/* ---- its configuration ------------------------------------------------- */

static void tell_httpd(ka_host *host)
{
    const ka_httpd *httpd = host->httpd;
    int32_t mpm = httpd->server->mpm;
    int i;

    if (httpd->instance) {
        ka_host_found(host, "httpd: %s%s%s",
                      ka_httpd_label(httpd->instance, host->pool),
                      httpd->binary ? ", " : "",
                      httpd->binary ? httpd->binary : "");
    }
    else {
        ka_host_found(host, "httpd: none runs with this configuration");
    }
    ka_host_found(host, "configuration: %s, %s", httpd->config_file,
                  httpd->dumped ? "as httpd itself obeys it"
                                : "as read without asking httpd");
    if (mpm != KA_MPM_UNKNOWN) {
        ka_host_found(host, "MPM: %s, by %s", ka_mpm_name(mpm),
                      httpd->server->mpm_origin);
    }
    for (i = 0; i < httpd->missing->nelts; i++) {
        ka_host_warn(host, "not_found", "%s",
                     APR_ARRAY_IDX(httpd->missing, i, const char *));
    }
}

/* As a server with that root would name it. */
static const char *below_root(const char *root, const char *file)
{
    size_t n = strlen(root);

    return !strncmp(file, root, n) ? file + n : file;
}

static int inspect(ka_host *host, const ka_httpd_instance *instance,
                   const char *file)
{
    ka_httpd_options how = {.root = host->root,
                            .config_file = instance
                                               ? NULL
                                               : below_root(host->root, file)};
    ka_httpd *httpd;
    apr_status_t rv = ka_httpd_inspect(&httpd, instance, &how, host->pool);
    ka_server *server = &host->options.server;
    const ka_fact *mpm = &httpd->facts.facts[KA_FACT_ID_MPM];

    host->httpd = httpd;
    if (rv || !httpd->server) {
        const char *why = apr_array_pstrcat(host->pool, httpd->missing, '\n');

        ka_say(host->pool, "the configuration of httpd cannot be read: %s",
               why);
        return KA_EXIT_FAILED;
    }
    tell_httpd(host);
    ka_settings_to_server(server, &httpd->server->settings);
    if (!server->facts[KA_FACT_ID_MPM].known && mpm->known) {
        server->facts[KA_FACT_ID_MPM] = *mpm;
    }
    if (!ka_server_get(server, KA_FACT_KEEP_ALIVE, 1)) {
        ka_server_set(server, KA_FACT_TIMEOUT, 0,
                      server->facts[KA_FACT_KEEP_ALIVE].assumed,
                      server->facts[KA_FACT_KEEP_ALIVE].origin);
    }
    return KA_EXIT_DONE;
}

/* ---- the live segment -------------------------------------------------- */

static bool use_segment(ka_host *host, const char *path)
{
    const char **sources = apr_palloc(host->pool, sizeof(*sources));

    sources[0] = path;
    host->options.sources = sources;
    host->options.source_n = 1;
    return true;
}

/* Whether there is one and it is used: if it has seen enough, or (`any`) if
 * there is nothing better. */
static bool try_segment(ka_host *host, bool any)
{
    const ka_options *o = &host->options;
    const char *path = ka_host_segment_path(host->httpd, host->pool), *error;
    uint64_t connections;
    ka_live *live;

    if (!path || !host->httpd->instance ||
        ka_segment_unfit(path, o, host->pool)) {
        return false;
    }
    live = apr_palloc(host->pool, sizeof(*live));
    if (ka_segment_source_read(live, &error, path, o->vhost, apr_time_now(),
                               host->pool)) {
        if (!any) {
            ka_host_warn(host, "segment_unreadable", "%s", error);
        }
        return false;
    }
    connections = ka_stats_closed(live->total);
    if (!live->live || (any && ka_stats_requests(live->total) == 0)) {
        return false;
    }
    if (!any && (live->last_us - live->first_us < KA_HOST_ENOUGH_US ||
                 connections < KA_HOST_ENOUGH_CONNECTIONS)) {
        ka_host_found(
            host,
            "segment of mod_kastats: %s, with %s in %s; it is used from %s "
            "and an hour on",
            path,
            ka_words_plural(host->pool, (int64_t)connections, "connection"),
            ka_words_duration(host->pool,
                              (double)(live->last_us - live->first_us)),
            ka_words_plural(host->pool, KA_HOST_ENOUGH_CONNECTIONS,
                            "connection"));
        return false;
    }
    ka_host_found(host, "traffic: the live segment of mod_kastats, %s", path);
    return use_segment(host, path);
}

/* ---- all of it --------------------------------------------------------- */

static void say_all(const ka_host *host)
{
    int i;

    if (host->options.quiet) {
        return;
    }
    for (i = 0; i < host->found->nelts; i++) {
        ka_say(host->pool, "%s", APR_ARRAY_IDX(host->found, i, const char *));
    }
}

static int find_traffic(ka_host *host)
{
    int i;

    if (try_segment(host, false) || ka_host_logs(host) ||
        try_segment(host, true)) {
        return KA_EXIT_DONE;
    }
    say_all(host);
    for (i = 0; i < host->warnings->nelts; i++) {
        ka_say(host->pool, "%s",
               APR_ARRAY_IDX(host->warnings, i, ka_warning).text);
    }
    ka_say(host->pool, "no SOURCE, and neither an access log nor a segment of "
                       "mod_kastats with traffic was found: name access logs, "
                       "or - for standard input");
    return KA_EXIT_FAILED;
}

int ka_host_complete(ka_host *host, const char *root,
                     const ka_options *options, apr_pool_t *pool)
{
    ka_site *only_configured = apr_palloc(pool, sizeof(*only_configured));
    const ka_httpd_instance *instance;
    const char *file;
    int status;

    *host = (ka_host){
        .root = root,
        .options = *options,
        .found = apr_array_make(pool, 8, sizeof(const char *)),
        .warnings = apr_array_make(pool, 4, sizeof(ka_warning)),
        .pool = pool};
    status = choose(&instance, &file, root, options, pool);
    if (status == KA_EXIT_DONE) {
        status = inspect(host, instance, file);
    }
    if (status != KA_EXIT_DONE) {
        return status;
    }
    ka_site_look(only_configured, host->httpd, "", NULL, NULL, pool);
    host->site = only_configured;
    if (instance) {
        ka_host_memory(host);
    }
    if (options->source_n == 0) {
        status = find_traffic(host);
    }
    if (status == KA_EXIT_DONE) {
        say_all(host);
    }
    return status;
}

void ka_host_report(ka_report *report, const ka_host *host)
{
    size_t n = report->warning_n + (size_t)host->warnings->nelts;
    ka_warning *all = apr_palloc(host->pool, (n + 1) * sizeof(*all));

    memcpy(all, report->warnings, report->warning_n * sizeof(*all));
    memcpy(all + report->warning_n, host->warnings->elts,
           (size_t)host->warnings->nelts * sizeof(*all));
    report->warnings = all;
    report->warning_n = n;
    report->found = (const char *const *)host->found->elts;
    report->found_n = (size_t)host->found->nelts;
}
