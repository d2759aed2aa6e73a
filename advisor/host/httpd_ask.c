/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Asking the binary. */
#include "httpd_priv.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <apr_strings.h>

#include "httpd_run.h"

/* ---- command lines ----------------------------------------------------------
 */

static void push(apr_array_header_t *argv, const char *option,
                 const char *value)
{
    if (option) {
        APR_ARRAY_PUSH(argv, const char *) = option;
    }
    APR_ARRAY_PUSH(argv, const char *) = value;
}

static void push_all(apr_array_header_t *argv, const char *option,
                     const apr_array_header_t *values)
{
    int i;

    for (i = 0; i < values->nelts; i++) {
        push(argv, option, APR_ARRAY_IDX(values, i, const char *));
    }
}

/* The binary and the arguments that choose a configuration. */
static apr_array_header_t *command_line(const ka_httpd_inspection *in)
{
    apr_array_header_t *argv =
        apr_array_make(in->pool, 16, sizeof(const char *));
    const ka_httpd_instance *instance = in->httpd->instance;
    const char *file = in->options->config_file;

    push(argv, NULL, in->httpd->binary);
    if (instance) {
        file = file ? file : instance->args.file;
        if (instance->args.server_root) {
            push(argv, "-d", instance->args.server_root);
        }
        push_all(argv, "-D", instance->args.defines);
        push_all(argv, "-C", instance->args.before);
        push_all(argv, "-c", instance->args.after);
    }
    if (file) {
        push(argv, "-f", file);
    }
    return argv;
}

/* The first line of its complaint, and the next one where that tells only the
 * place: "Syntax error on line 9 of FILE:". */
static const char *complaint(const ka_httpd_answer *answer, apr_pool_t *pool)
{
    const char *text = *answer->err ? answer->err : answer->out;
    size_t n = strcspn(text, "\n");
    const char *first = apr_pstrmemdup(pool, text, n);

    if (!n || text[n - 1] != ':' || !text[n]) {
        return first;
    }
    text += n + 1;
    return apr_pstrcat(pool, first, " ",
                       apr_pstrmemdup(pool, text, strcspn(text, "\n")), NULL);
}

/* ---- answers ---------------------------------------------------------------
 */

/* -V answers even if the configuration, which it reads for the MPM, does not
 * hold. */
static bool says_version(const char *text)
{
    return strstr(text, "Server version:") != NULL;
}

/* Its output; NULL, with a sentence in `missing`, if it did not answer. */
static const char *ask(ka_httpd_inspection *in, apr_array_header_t *argv,
                       const char **shown)
{
    const ka_httpd_instance *instance = in->httpd->instance;
    ka_httpd_command command = {.environment = in->environment,
                                .limit_us = in->options->limit_us};
    ka_httpd_answer answer;
    apr_status_t status;
    char reason[120];

    *shown = apr_array_pstrcat(in->pool, argv, ' ');
    APR_ARRAY_PUSH(argv, const char *) = NULL;
    command.argv = (const char *const *)(void *)argv->elts;
    if (instance && instance->uid != (uid_t)-1) {
        command.uid = instance->uid;
        command.gid = instance->gid;
    }
    status = ka_httpd_run_command(&answer, &command, in->pool);
    if (status != APR_SUCCESS) {
        ka_httpd_miss(
            in, apr_psprintf(in->pool, "%s: %s", *shown,
                             apr_strerror(status, reason, sizeof(reason))));
        return NULL;
    }
    if (answer.status != 0 && !says_version(answer.out)) {
        ka_httpd_miss(in, apr_psprintf(in->pool, "%s: exit %d: %s", *shown,
                                       answer.status,
                                       complaint(&answer, in->pool)));
        return NULL;
    }
    in->httpd->ran = true;
    return answer.out;
}

/* ---- questions --------------------------------------------------------------
 */

static void ask_version(ka_httpd_inspection *in)
{
    apr_array_header_t *argv = command_line(in);
    const char *shown, *text;
    ka_httpd_build build;

    push(argv, NULL, "-V");
    text = ask(in, argv, &shown);
    if (text && ka_httpd_read_version(&build, text, in->pool)) {
        in->httpd->build = build;
        in->httpd->build_origin = shown;
    }
}

static void ask_modules(ka_httpd_inspection *in)
{
    apr_array_header_t *argv = apr_array_make(in->pool, 3, sizeof(char *));
    const char *shown, *text;

    push(argv, in->httpd->binary, "-l");
    text = ask(in, argv, &shown);
    if (text) {
        in->builtin = ka_httpd_read_modules(text, in->pool);
    }
}

static void ask_run(ka_httpd_inspection *in)
{
    apr_array_header_t *argv = command_line(in);
    const char *shown, *text;

    push(argv, NULL, "-S");
    text = ask(in, argv, &shown);
    if (text) {
        ka_httpd_read_run(&in->httpd->run, text, in->pool);
        in->httpd->told_vhosts = ka_httpd_read_vhosts(text, in->pool);
    }
}

/* mod_info.so beside the modules that are loaded; NULL if it need not, or
 * cannot, be loaded. */
static const char *info_module(const ka_httpd_inspection *in, bool *there)
{
    const ka_cfg_tree *own = in->httpd->own;
    int i;

    *there = own && ka_cfg_has_module(own, "info_module");
    for (i = 0; own && !*there && i < own->modules->nelts; i++) {
        const ka_cfg_module *module =
            &APR_ARRAY_IDX(own->modules, i, ka_cfg_module);
        const char *slash = module->path ? strrchr(module->path, '/') : NULL;
        const char *path;

        if (slash) {
            path = apr_psprintf(in->pool, "%.*s/mod_info.so",
                                (int)(slash - module->path), module->path);
            if (!access(path, R_OK)) {
                *there = true;
                return path;
            }
        }
    }
    return NULL;
}

static void ask_dump(ka_httpd_inspection *in)
{
    apr_array_header_t *argv = command_line(in);
    const char *shown, *text, *path;
    const char *root = in->httpd->run.server_root;
    bool there;

    path = info_module(in, &there);
    if (!there) {
        ka_httpd_miss(
            in, apr_psprintf(in->pool,
                             "%s: mod_info, which prints the configuration, "
                             "was not found",
                             in->httpd->binary));
        return;
    }
    if (path) {
        push(argv, "-c",
             apr_psprintf(in->pool, "LoadModule info_module \"%s\"", path));
    }
    push(argv, NULL, "-t");
    push(argv, "-D", "DUMP_CONFIG");
    text = ask(in, argv, &shown);
    if (text) {
        in->httpd->dumped = ka_httpd_read_config(
            text, root ? root : in->server_root, shown, in->pool);
    }
}

apr_array_header_t *ka_httpd_command_line(const ka_httpd *httpd,
                                          apr_pool_t *pool)
{
    ka_httpd asked = *httpd;
    const ka_httpd_options options = {
        .root = "", .config_file = httpd->instance ? NULL : httpd->config_file};
    const ka_httpd_inspection in = {.httpd = &asked, .options = &options,
                                    .pool = pool};

    return httpd->binary ? command_line(&in)
                         : apr_array_make(pool, 1, sizeof(const char *));
}

apr_status_t ka_httpd_test_include(const char **complaint,
                                   const ka_httpd *httpd, const char *file,
                                   apr_pool_t *pool)
{
    ka_httpd asked = *httpd;
    const ka_httpd_options options = {.root = ""};
    ka_httpd_inspection in = {.httpd = &asked, .options = &options,
                              .pool = pool};
    apr_array_header_t *argv;
    const char *shown;
    char real[PATH_MAX];

    *complaint = NULL;
    if (!httpd->ran ||
        (file && (!realpath(file, real) || strpbrk(real, "\"\\*?[$")))) {
        return APR_ENOTIMPL;
    }
    asked.missing = apr_array_make(pool, 1, sizeof(const char *));
    in.environment = apr_table_copy(pool, httpd->environment);
    argv = ka_httpd_command_line(httpd, pool);
    if (file) {
        push(argv, "-c", apr_psprintf(pool, "Include \"%s\"", real));
    }
    push(argv, NULL, "-t");
    if (ask(&in, argv, &shown)) {
        return APR_SUCCESS;
    }
    *complaint = APR_ARRAY_IDX(asked.missing, 0, const char *);
    return APR_EINVAL;
}

void ka_httpd_ask_build(ka_httpd_inspection *in)
{
    ask_version(in);
    ask_modules(in);
}

void ka_httpd_ask_configuration(ka_httpd_inspection *in)
{
    ask_run(in);
    ask_dump(in);
}
