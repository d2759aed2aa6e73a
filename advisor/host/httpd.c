/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "httpd_priv.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <apr_strings.h>

#include "config_read.h"
#include "config_root.h"
#include "httpd_run.h"

void ka_httpd_miss(ka_httpd_inspection *in, const char *text)
{
    APR_ARRAY_PUSH(in->httpd->missing, const char *) = text;
}

static void miss_all(ka_httpd_inspection *in, const apr_array_header_t *texts)
{
    apr_array_cat(in->httpd->missing, texts);
}

/* ---- environment ------------------------------------------------------------
 */

/* What httpd needs to start where no environment can be read. */
static void minimal_environment(ka_httpd_inspection *in)
{
    apr_table_set(in->environment, "PATH",
                  "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:"
                  "/bin");
    apr_table_set(in->environment, "LC_ALL", "C");
}

static void find_environment(ka_httpd_inspection *in)
{
    const ka_httpd_instance *instance = in->httpd->instance;
    apr_array_header_t *files;

    if (instance && instance->environment) {
        in->environment = apr_table_copy(in->pool, instance->environment);
        in->httpd->environment_origin =
            apr_psprintf(in->pool, "/proc/%d/environ", instance->pid);
    }
    else {
        in->environment = apr_table_make(in->pool, 16);
        minimal_environment(in);
        if (in->server_root) {
            apr_table_set(in->environment, "APACHE_CONFDIR", in->server_root);
        }
        files = ka_cfg_env_files(in->environment, in->httpd->files,
                                 in->server_root, in->pool);
        in->httpd->environment_origin = apr_array_pstrcat(in->pool, files, ' ');
    }
    in->httpd->environment = in->environment;
}

/* ---- the binary -------------------------------------------------------------
 */

/* With none running: what a shell would find. */
static const char *installed(const ka_httpd_inspection *in)
{
    static const char *const directories[] = {
        "/usr/sbin", "/usr/local/sbin",       "/usr/local/apache2/bin",
        "/usr/bin",  "/usr/local/apache/bin", "/opt/httpd/bin"};
    static const char *const names[] = {"apache2", "httpd"};
    ka_root_stat info;
    size_t i;

    for (i = 0; i < 2 * sizeof(directories) / sizeof(directories[0]); i++) {
        const char *path =
            apr_pstrcat(in->pool, directories[i / 2], "/", names[i % 2], NULL);

        if (ka_root_stat_of(&info, in->httpd->files, path, in->pool) ==
                APR_SUCCESS &&
            info.regular) {
            return path;
        }
    }
    return NULL;
}

/* The text behind `key` in the bytes, up to what is not printable. */
static const char *text_behind(const char *bytes, size_t length,
                               const char *key, apr_pool_t *pool)
{
    const char *at = memmem(bytes, length, key, strlen(key));
    size_t n = 0, left = at ? length - (size_t)(at - bytes) : 0;

    while (n < left && at[n] >= ' ' && at[n] < 127) {
        n++;
    }
    return at ? apr_pstrmemdup(pool, at, n) : NULL;
}

bool ka_httpd_read_binary(ka_httpd_build *out, const char *bytes, size_t length,
                          apr_pool_t *pool)
{
    /* -V prints its values from texts that hold the value already. */
    static const char *const keys[] = {
        "-D HTTPD_ROOT=\"", "-D SERVER_CONFIG_FILE=\"", "-D DEFAULT_PIDLOG=\"",
        "-D DEFAULT_ERRORLOG=\"", "-D APACHE_MPM_DIR=\""};
    const char *version = text_behind(bytes, length, "Apache/2.", pool);
    const char *text = apr_pstrcat(
        pool, "Server version: ", version ? version : "", "\n", NULL);
    size_t i;

    for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const char *line = text_behind(bytes, length, keys[i], pool);

        text = line ? apr_pstrcat(pool, text, line, "\n", NULL) : text;
    }
    ka_httpd_read_version(out, text, pool);
    return out->root && out->file;
}

static void read_binary(ka_httpd_inspection *in)
{
    const char *bytes;
    size_t n;

    if (in->httpd->binary &&
        ka_root_read(&bytes, &n, in->httpd->files, in->httpd->binary,
                     in->pool) == APR_SUCCESS &&
        ka_httpd_read_binary(&in->httpd->build, bytes, n, in->pool)) {
        in->httpd->build_origin =
            apr_psprintf(in->pool, "texts in %s", in->httpd->binary);
    }
}

static void find_binary(ka_httpd_inspection *in)
{
    ka_httpd *httpd = in->httpd;
    const char *reason;

    httpd->binary = in->options->binary ? in->options->binary
                    : httpd->instance   ? httpd->instance->binary
                                        : installed(in);
    if (!httpd->binary) {
        return;
    }
    if (*in->options->root || in->options->never_run) {
        return;
    }
    if (httpd->instance && httpd->instance->container) {
        ka_httpd_miss(
            in, apr_psprintf(in->pool,
                             "pid %d runs in a container: its binary is not "
                             "run, its files are read below %s",
                             httpd->instance->pid, httpd->files));
        return;
    }
    /* Root runs it as its own user, who must be known. */
    if (geteuid() == 0 && httpd->instance &&
        httpd->instance->uid == (uid_t)-1) {
        return;
    }
    in->may_run = ka_httpd_may_run(
        &reason, httpd->binary,
        httpd->instance ? httpd->instance->uid : (uid_t)-1, in->pool);
    if (!in->may_run) {
        ka_httpd_miss(in, apr_psprintf(in->pool, "%s; it is not run", reason));
    }
}

/* ---- the files --------------------------------------------------------------
 */

/* Where packages put it, for a binary that cannot be seen; and which ServerRoot
 * such a file goes with. */
static void guess_places(ka_httpd_inspection *in)
{
    static const struct {
        const char *root, *file;
    } places[] = {{"/etc/apache2", "apache2.conf"},
                  {"/etc/httpd", "conf/httpd.conf"},
                  {"/usr/local/apache2", "conf/httpd.conf"},
                  {"/etc/apache2", "httpd.conf"},
                  {"/usr/local/etc/apache24", "httpd.conf"}};
    const char *given = in->file;
    ka_root_stat info;
    size_t i;

    in->file = NULL;
    for (i = 0; i < sizeof(places) / sizeof(places[0]) && !in->file; i++) {
        const char *path =
            ka_root_join(places[i].root, places[i].file, in->pool);

        if (given ? !strcmp(given, path)
                  : ka_root_stat_of(&info, in->httpd->files, path, in->pool) ==
                        APR_SUCCESS) {
            in->file = places[i].file;
            in->server_root =
                in->server_root ? in->server_root : places[i].root;
        }
    }
    in->file = given ? given : in->file;
}

static const char *first_of(const char *a, const char *b, const char *c)
{
    return a ? a : b ? b : c;
}

static void find_places(ka_httpd_inspection *in)
{
    const ka_httpd_instance *instance = in->httpd->instance;
    const ka_httpd_build *build = &in->httpd->build;

    in->server_root = first_of(instance ? instance->args.server_root : NULL,
                               build->root, NULL);
    in->file = first_of(in->options->config_file,
                        instance ? instance->args.file : NULL, build->file);
    if (!in->file || !in->server_root) {
        guess_places(in);
    }
}

static apr_status_t read_own(ka_httpd_inspection *in)
{
    const ka_httpd_instance *instance = in->httpd->instance;
    const ka_httpd_build *build = &in->httpd->build;
    ka_cfg_input input = {
        .root = in->httpd->files,
        .server_root = in->server_root,
        .file = in->file,
        .environment = in->environment,
        .builtin = in->builtin,
        .version = {build->version[0], build->version[1], build->version[2]},
        .vendor = build->vendor};
    const char *error = NULL;
    apr_status_t status;

    if (!in->file) {
        ka_httpd_miss(in,
                      "no configuration was found; name it with --httpd-config "
                      "FILE");
        return APR_ENOENT;
    }
    if (instance) {
        input.defines = instance->args.defines;
        input.before = instance->args.before;
        input.after = instance->args.after;
    }
    in->httpd->config_file = ka_root_join(in->server_root, in->file, in->pool);
    status = ka_cfg_read(&in->httpd->own, &error, &input, in->pool);
    if (status != APR_SUCCESS) {
        ka_httpd_miss(in, error);
    }
    return status;
}

/* ---- what it all means ------------------------------------------------------
 */

static void interpret(ka_httpd_inspection *in)
{
    ka_httpd *httpd = in->httpd;
    const char *origin = httpd->build_origin;
    int32_t mpm = httpd->build.mpm;

    if (httpd->dumped && httpd->own) {
        httpd->dumped->modules = httpd->own->modules;
        httpd->dumped->module_names = httpd->own->module_names;
    }
    httpd->tree = httpd->dumped ? httpd->dumped : httpd->own;
    if (!httpd->tree) {
        return;
    }
    httpd->server = ka_cfg_interpret(httpd->tree, mpm, origin);
    if (httpd->dumped && httpd->own) {
        /* Obeyed while reading, so not in the dump. */
        httpd->server->runtime_dir =
            ka_cfg_interpret(httpd->own, mpm, origin)->runtime_dir;
    }
    if (httpd->run.pid_file) {
        httpd->server->pid_file = httpd->run.pid_file;
    }
    ka_settings_to_server(&httpd->facts, &httpd->server->settings);
    if (httpd->server->mpm != KA_MPM_UNKNOWN) {
        ka_server_set(&httpd->facts, KA_FACT_ID_MPM, httpd->server->mpm, false,
                      httpd->server->mpm_origin);
    }
    else {
        ka_httpd_miss(in,
                      "which MPM it runs was not found; name it with --mpm");
    }
    if (httpd->tree == httpd->own) {
        miss_all(in, httpd->own->problems);
    }
}

apr_status_t ka_httpd_inspect(ka_httpd **out, const ka_httpd_instance *instance,
                              const ka_httpd_options *options, apr_pool_t *pool)
{
    ka_httpd *httpd = apr_pcalloc(pool, sizeof(*httpd));
    ka_httpd_inspection in = {.httpd = httpd, .options = options, .pool = pool};
    apr_status_t status;

    *out = httpd;
    httpd->instance = instance;
    httpd->files = instance ? instance->files : options->root;
    httpd->missing = apr_array_make(pool, 4, sizeof(const char *));
    httpd->told_vhosts = apr_array_make(pool, 1, sizeof(ka_httpd_vhost));
    httpd->build = (ka_httpd_build){.vendor = "", .mpm = KA_MPM_UNKNOWN};
    ka_server_init(&httpd->facts);
    if (instance) {
        miss_all(&in, instance->missing);
    }
    find_binary(&in);
    read_binary(&in);
    find_places(&in);
    find_environment(&in);
    if (in.may_run) {
        ka_httpd_ask_build(&in);
        find_places(&in);
    }
    status = read_own(&in);
    if (in.may_run) {
        ka_httpd_ask_configuration(&in);
    }
    interpret(&in);
    return httpd->tree ? APR_SUCCESS : status;
}
