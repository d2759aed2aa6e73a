/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * libFuzzer: any bytes as a configuration that may include itself, as the
 * environment it is read in, and as what httpd prints of one.
 *
 *   clang -g -O1 -fsanitize=fuzzer,address,undefined ... fuzz_config.c
 *
 * Input: an envvars file, NUL, a configuration.  Both lie in one directory, so
 * that Include finds them. */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <apr_general.h>
#include <apr_strings.h>

#include "host/config_env.h"
#include "host/config_logfiles.h"
#include "host/config_read.h"
#include "host/httpd_find.h"
#include "host/httpd.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char root[] = "/tmp/ka-fuzz-config-XXXXXX";

static void remove_all(void)
{
    char path[64];
    const char *const names[] = {"/a.conf", "/envvars"};

    for (size_t i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s%s", root, names[i]);
        unlink(path);
    }
    rmdir(root);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    apr_initialize();
    assert(mkdtemp(root));
    atexit(remove_all);
    return 0;
}

static void put(const char *name, const uint8_t *data, size_t size)
{
    char path[64];
    FILE *file;

    snprintf(path, sizeof(path), "%s/%s", root, name);
    file = fopen(path, "wb");
    assert(file);
    assert(fwrite(data, 1, size, file) == size);
    fclose(file);
}

/* What is told of a configuration holds together. */
static void check(ka_cfg_tree *tree)
{
    const ka_cfg_server *server =
        ka_cfg_interpret(tree, KA_MPM_UNKNOWN, NULL);
    int i;

    for (i = 0; i < tree->nodes->nelts; i++) {
        const ka_cfg_node *node = ka_cfg_node_at(tree, i);

        assert(node->name && node->args && node->file);
        assert(node->parent >= KA_CFG_TOP && node->parent < i);
        assert(node->parent == KA_CFG_TOP ||
               ka_cfg_node_at(tree, node->parent)->section);
    }
    for (i = 0; i < server->logs->nelts; i++) {
        const ka_cfg_log *log =
            &APR_ARRAY_IDX(server->logs, i, ka_cfg_log);
        apr_array_header_t *files;
        const char *missing;

        assert(log->format && log->origin && log->vhosts->nelts > 0);
        if (i < 4) {
            ka_cfg_log_files(&files, &missing, log, root, tree->pool);
        }
    }
    for (i = 0; i < server->vhosts->nelts; i++) {
        const ka_cfg_vhost *vhost =
            &APR_ARRAY_IDX(server->vhosts, i, ka_cfg_vhost);

        assert(vhost->idle_timeout.known && vhost->idle_timeout.value >= 0);
        assert(vhost->first_of_address <= i);
        assert(ka_cfg_vhost_label(server, i, tree->pool));
    }
}

static void read_outputs(const uint8_t *data, size_t size, apr_pool_t *pool)
{
    const char *text = apr_pstrmemdup(pool, (const char *)data, size);
    ka_httpd_build build;
    ka_httpd_run run;
    ka_httpd_args args;
    ka_cfg_tree *tree;

    ka_httpd_read_version(&build, text, pool);
    ka_httpd_read_binary(&build, text, size, pool);
    ka_httpd_read_modules(text, pool);
    ka_httpd_read_run(&run, text, pool);
    ka_httpd_read_vhosts(text, pool);
    ka_httpd_read_args(&args, text, size, pool);
    tree = ka_httpd_read_config(text, "/etc", "fuzz", pool);
    if (tree) {
        check(tree);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, '\0', size) : NULL;
    size_t length = end ? (size_t)(end - data) : 0;
    const uint8_t *configuration = end ? end + 1 : data;
    size_t configuration_n = end ? size - length - 1 : size;
    ka_cfg_input input = {.root = root, .server_root = "/", .file = "a.conf"};
    apr_table_t *environment;
    ka_cfg_tree *tree;
    const char *error;
    apr_pool_t *pool;

    apr_pool_create(&pool, NULL);
    put("a.conf", configuration, configuration_n);
    put("envvars", data, length);
    environment = apr_table_make(pool, 4);
    ka_cfg_env_files(environment, root, "/", pool);
    input.environment = environment;
    if (ka_cfg_read(&tree, &error, &input, pool) == APR_SUCCESS) {
        check(tree);
    }
    read_outputs(configuration, configuration_n, pool);
    apr_pool_destroy(pool);
    return 0;
}
