/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Prints as JSON what host/httpd.h finds, for the end-to-end tests:
 *
 *   show_host find                       the servers that run
 *   show_host inspect PID                one of them
 *   show_host config BINARY FILE         an installed one, with the
 *                                        environment of this process
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <apr_general.h>
#include <jansson.h>

#include "host/config_logfiles.h"
#include "host/httpd.h"

extern char **environ;

static json_t *text(const char *value)
{
    return value ? json_string_nocheck(value) : json_null();
}

static json_t *texts(const apr_array_header_t *values)
{
    json_t *array = json_array();
    int i;

    for (i = 0; values && i < values->nelts; i++) {
        json_array_append_new(array,
                              text(APR_ARRAY_IDX(values, i, const char *)));
    }
    return array;
}

static json_t *fact(const ka_fact *f)
{
    return f->known ? json_pack("{s:I, s:b, s:o}", "value",
                                (json_int_t)f->value, "assumed",
                                (int)f->assumed, "origin", text(f->origin))
                    : json_null();
}

static json_t *settings(const ka_settings *s)
{
    json_t *object = json_object();
    int i;

    for (i = 0; i < KA_SETTINGS; i++) {
        json_object_set_new(object,
                            ka_setting_info_of((ka_setting_id)i)->key,
                            fact(&s->facts[i]));
    }
    return object;
}

static json_t *nodes(const ka_cfg_tree *tree)
{
    json_t *array = json_array();
    int i;

    for (i = 0; tree && i < tree->nodes->nelts; i++) {
        const ka_cfg_node *n = ka_cfg_node_at(tree, i);

        if (!n->early) {
            json_array_append_new(
                array, json_pack("{s:o, s:o, s:o, s:i, s:b}", "name",
                                 text(n->name), "args", text(n->args), "file",
                                 text(n->file), "line", n->line, "section",
                                 (int)n->section));
        }
    }
    return array;
}

static json_t *vhosts(const ka_cfg_server *server)
{
    json_t *array = json_array();
    int i;

    for (i = 0; i < server->vhosts->nelts; i++) {
        const ka_cfg_vhost *v = &APR_ARRAY_IDX(server->vhosts, i, ka_cfg_vhost);

        json_array_append_new(
            array, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name",
                             text(v->name), "addresses", texts(v->addresses),
                             "origin", text(v->origin), "keep_alive",
                             fact(&v->keep_alive), "keep_alive_timeout",
                             fact(&v->keep_alive_timeout), "idle_timeout",
                             fact(&v->idle_timeout), "error_log",
                             text(v->error_log)));
    }
    return array;
}

static json_t *log_files(const ka_cfg_log *log, const char *root,
                         apr_pool_t *pool)
{
    apr_array_header_t *files;
    const char *missing;
    json_t *array = json_array();
    int i;

    ka_cfg_log_files(&files, &missing, log, root, pool);
    for (i = 0; i < files->nelts; i++) {
        const ka_cfg_logfile *f = &APR_ARRAY_IDX(files, i, ka_cfg_logfile);

        json_array_append_new(array, text(f->path));
    }
    return array;
}

static json_t *logs(const ka_httpd *httpd, apr_pool_t *pool)
{
    json_t *array = json_array();
    int i;

    for (i = 0; i < httpd->server->logs->nelts; i++) {
        const ka_cfg_log *l =
            &APR_ARRAY_IDX(httpd->server->logs, i, ka_cfg_log);

        json_array_append_new(
            array,
            json_pack("{s:o, s:o, s:o, s:o, s:o}", "path", text(l->path),
                      "format", text(l->format), "nickname", text(l->nickname),
                      "origin", text(l->origin), "files",
                      log_files(l, httpd->files, pool)));
    }
    return array;
}

static json_t *inspected(const ka_httpd *h, apr_pool_t *pool)
{
    ka_cfg_server *own =
        h->own ? ka_cfg_interpret(h->own, h->build.mpm, h->build_origin) : NULL;

    return json_pack(
        "{s:[i,i,i], s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:o, s:i}",
        "version", h->build.version[0], h->build.version[1],
        h->build.version[2], "build_origin", text(h->build_origin), "binary",
        text(h->binary), "config_file", text(h->config_file), "server_root",
        text(h->run.server_root), "own_root",
        text(h->own ? h->own->server_root : NULL), "pid_file",
        text(h->run.pid_file), "own", nodes(h->own), "dumped",
        nodes(h->dumped), "own_settings",
        own ? settings(&own->settings) : json_null(), "settings",
        h->server ? settings(&h->server->settings) : json_null(), "mpm",
        text(h->server ? ka_mpm_name(h->server->mpm) : NULL), "vhosts",
        h->server ? vhosts(h->server) : json_null(), "logs",
        h->server ? logs(h, pool) : json_null(), "missing", texts(h->missing),
        "told_vhosts", h->told_vhosts->nelts);
}

static json_t *found(const ka_httpd_instance *i)
{
    return json_pack("{s:i, s:i, s:o, s:o, s:o, s:b, s:b, s:o}", "pid", i->pid,
                     "children", i->children, "binary", text(i->binary),
                     "file", text(i->args.file), "files", text(i->files),
                     "container", (int)i->container, "debug",
                     (int)i->args.debug, "missing", texts(i->missing));
}

static json_t *inspect(const ka_httpd_instance *instance,
                       const ka_httpd_options *options, apr_pool_t *pool)
{
    ka_httpd *httpd;

    ka_httpd_inspect(&httpd, instance, options, pool);
    return inspected(httpd, pool);
}

int main(int argc, char **argv)
{
    ka_httpd_options options = {.root = ""};
    apr_array_header_t *instances;
    json_t *json = json_array();
    apr_pool_t *pool;
    int i;

    apr_initialize();
    apr_pool_create(&pool, NULL);
    ka_httpd_find(&instances, "", pool);
    for (i = 0; i < instances->nelts; i++) {
        const ka_httpd_instance *instance =
            &APR_ARRAY_IDX(instances, i, ka_httpd_instance);

        if (argc == 2) {
            json_array_append_new(json, found(instance));
        }
        else if (argc == 3 && atoi(argv[2]) == instance->pid) {
            json = inspect(instance, &options, pool);
        }
    }
    if (argc == 4) {
        ka_httpd_instance own = {.uid = (uid_t)geteuid(),
                                 .gid = (gid_t)getegid(),
                                 .files = ""};
        apr_table_t *environment = apr_table_make(pool, 16);
        char **e;

        for (e = environ; *e; e++) {
            ka_cfg_env_block(environment, *e, strlen(*e), pool);
        }
        own.environment = environment;
        own.binary = argv[2];
        own.missing = apr_array_make(pool, 1, sizeof(const char *));
        ka_httpd_read_args(&own.args, "", 0, pool);
        options.config_file = argv[3];
        json = inspect(&own, &options, pool);
    }
    json_dumpf(json, stdout, JSON_INDENT(1));
    puts("");
    return 0;
}
