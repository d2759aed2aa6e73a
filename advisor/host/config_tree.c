/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "config_tree.h"

#include <stdarg.h>
#include <string.h>
#include <strings.h>

#include <apr_strings.h>

#define PROBLEMS_MAX 200

ka_cfg_tree *ka_cfg_tree_make(apr_pool_t *pool)
{
    ka_cfg_tree *tree = apr_pcalloc(pool, sizeof(*tree));

    tree->pool = pool;
    tree->nodes = apr_array_make(pool, 256, sizeof(ka_cfg_node));
    tree->modules = apr_array_make(pool, 64, sizeof(ka_cfg_module));
    tree->module_names = apr_hash_make(pool);
    tree->said = apr_hash_make(pool);
    tree->problems = apr_array_make(pool, 4, sizeof(const char *));
    tree->files = apr_array_make(pool, 16, sizeof(const char *));
    return tree;
}

const ka_cfg_node *ka_cfg_node_at(const ka_cfg_tree *tree, int index)
{
    return &APR_ARRAY_IDX(tree->nodes, index, ka_cfg_node);
}

const char *ka_cfg_origin(const ka_cfg_tree *tree, const ka_cfg_node *node)
{
    return apr_psprintf(tree->pool, "%s:%d", node->file, node->line);
}

bool ka_cfg_is(const ka_cfg_node *node, const char *name)
{
    return !strcasecmp(node->name, name);
}

int ka_cfg_inside(const ka_cfg_tree *tree, int index, const char *section)
{
    int i = ka_cfg_node_at(tree, index)->parent;

    while (i != KA_CFG_TOP && !ka_cfg_is(ka_cfg_node_at(tree, i), section)) {
        i = ka_cfg_node_at(tree, i)->parent;
    }
    return i;
}

void ka_cfg_problem(ka_cfg_tree *tree, const char *format, ...)
{
    const char *text;
    va_list args;

    if (tree->problems->nelts >= PROBLEMS_MAX) {
        return;
    }
    va_start(args, format);
    text = apr_pvsprintf(tree->pool, format, args);
    va_end(args);
    /* A file included twice complains once. */
    if (!apr_hash_get(tree->said, text, APR_HASH_KEY_STRING)) {
        apr_hash_set(tree->said, text, APR_HASH_KEY_STRING, text);
        APR_ARRAY_PUSH(tree->problems, const char *) = text;
    }
}

/* ---- modules ----------------------------------------------------------------
 */

/* Where the source is not mod_X.c of X_module. */
static const struct {
    const char *symbol, *source;
} odd_names[] = {{"core_module", "core.c"},
                 {"http_module", "http_core.c"},
                 {"ldap_module", "util_ldap.c"},
                 {"mpm_event_module", "event.c"},
                 {"mpm_itk_module", "mpm_itk.c"},
                 {"mpm_prefork_module", "prefork.c"},
                 {"mpm_worker_module", "worker.c"},
                 {"php4_module", "mod_php4.c"},
                 {"systemd_module", "mod_systemd.c"}};

#define ODD_NAMES (sizeof(odd_names) / sizeof(odd_names[0]))

static const char *source_of(const char *symbol, apr_pool_t *pool)
{
    static const char end[] = "_module";
    size_t n = strlen(symbol), i;

    for (i = 0; i < ODD_NAMES; i++) {
        if (!strcmp(symbol, odd_names[i].symbol)) {
            return odd_names[i].source;
        }
    }
    if (n > sizeof(end) - 1 && !strcmp(symbol + n - (sizeof(end) - 1), end)) {
        n -= sizeof(end) - 1;
    }
    return apr_psprintf(pool, "mod_%.*s.c", (int)n, symbol);
}

static const char *symbol_of(const char *source, apr_pool_t *pool)
{
    size_t n = strlen(source), i;

    for (i = 0; i < ODD_NAMES; i++) {
        if (!strcmp(source, odd_names[i].source)) {
            return odd_names[i].symbol;
        }
    }
    if (n < 7 || strncmp(source, "mod_", 4) || strcmp(source + n - 2, ".c")) {
        return NULL;
    }
    return apr_psprintf(pool, "%.*s_module", (int)n - 6, source + 4);
}

bool ka_cfg_has_module(const ka_cfg_tree *tree, const char *name)
{
    return apr_hash_get(tree->module_names, name, APR_HASH_KEY_STRING) != NULL;
}

static void note_name(ka_cfg_tree *tree, const char *name)
{
    if (name) {
        apr_hash_set(tree->module_names, name, APR_HASH_KEY_STRING, name);
    }
}

void ka_cfg_add_module(ka_cfg_tree *tree, const char *symbol,
                       const char *source, const char *path,
                       const char *origin)
{
    ka_cfg_module *module;

    if (ka_cfg_has_module(tree, symbol ? symbol : source)) {
        return;
    }
    module = apr_array_push(tree->modules);
    *module = (ka_cfg_module){
        .symbol = symbol ? symbol : symbol_of(source, tree->pool),
        .source = source ? source : source_of(symbol, tree->pool),
        .path = path,
        .origin = origin};
    note_name(tree, module->symbol);
    note_name(tree, module->source);
}
