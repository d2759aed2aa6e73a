/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Virtual hosts of a configuration. */
#include "config_server.h"

#include <string.h>
#include <strings.h>

#include <apr_hash.h>
#include <apr_lib.h>
#include <apr_strings.h>

#include "config_root.h"
#include "config_text.h"

/* What one server sets itself; it becomes a ka_cfg_vhost when all are read. */
typedef void take_fn(ka_cfg_vhost *vhost, ka_cfg_tree *tree,
                     const ka_cfg_node *node);

static void take_name(ka_cfg_vhost *vhost, ka_cfg_tree *tree,
                      const ka_cfg_node *node)
{
    const char *args = node->args;
    const char *name = ka_cfg_word(&args, tree->pool);
    const char *scheme = strstr(name, "://"), *colon;

    name = scheme ? scheme + 3 : name;
    colon = strrchr(name, ':');
    /* An address in brackets has colons of its own. */
    if (colon && !strchr(colon, ']')) {
        name = apr_pstrmemdup(tree->pool, name, (size_t)(colon - name));
    }
    vhost->name = *name ? name : NULL;
}

static void take_alias(ka_cfg_vhost *vhost, ka_cfg_tree *tree,
                       const ka_cfg_node *node)
{
    apr_array_cat(vhost->aliases, ka_cfg_words(node->args, tree->pool));
}

static void take_fact(ka_fact *fact, ka_setting_id id, ka_cfg_tree *tree,
                      const ka_cfg_node *node)
{
    int64_t value;

    if (ka_setting_value(&value, id, node->args, tree->pool)) {
        *fact = (ka_fact){true, false, value, ka_cfg_origin(tree, node)};
    }
    /* Of the main server ka_settings_read has said it. */
    else if (node->parent != KA_CFG_TOP) {
        ka_cfg_problem(tree, "%s:%d: %s %s: this is no value for it",
                       node->file, node->line, node->name, node->args);
    }
}

static void take_keep_alive(ka_cfg_vhost *vhost, ka_cfg_tree *tree,
                            const ka_cfg_node *node)
{
    take_fact(&vhost->keep_alive, KA_SETTING_KEEP_ALIVE, tree, node);
}

static void take_timeout(ka_cfg_vhost *vhost, ka_cfg_tree *tree,
                         const ka_cfg_node *node)
{
    take_fact(&vhost->keep_alive_timeout, KA_SETTING_KEEP_ALIVE_TIMEOUT, tree,
              node);
    vhost->sets_timeout = vhost->keep_alive_timeout.known;
}

static void take_max(ka_cfg_vhost *vhost, ka_cfg_tree *tree,
                     const ka_cfg_node *node)
{
    take_fact(&vhost->max_keep_alive_requests,
              KA_SETTING_MAX_KEEP_ALIVE_REQUESTS, tree, node);
}

static void take_io_timeout(ka_cfg_vhost *vhost, ka_cfg_tree *tree,
                            const ka_cfg_node *node)
{
    take_fact(&vhost->io_timeout, KA_SETTING_IO_TIMEOUT, tree, node);
}

static void take_error_log(ka_cfg_vhost *vhost, ka_cfg_tree *tree,
                           const ka_cfg_node *node)
{
    const char *args = node->args;
    const char *target = ka_cfg_word(&args, tree->pool);

    vhost->error_log =
        *target == '|' || !strncasecmp(target, "syslog", 6)
            ? target
            : ka_root_join(tree->server_root, target, tree->pool);
}

static void take_tls(ka_cfg_vhost *vhost, ka_cfg_tree *tree,
                     const ka_cfg_node *node)
{
    vhost->tls = (ka_fact){true, false, strncasecmp(node->args, "off", 3) != 0,
                           ka_cfg_origin(tree, node)};
}

static void take_protocols(ka_cfg_vhost *vhost, ka_cfg_tree *tree,
                           const ka_cfg_node *node)
{
    apr_array_header_t *words = ka_cfg_words(node->args, tree->pool);
    bool http2 = false;
    int i;

    for (i = 0; i < words->nelts; i++) {
        const char *word = APR_ARRAY_IDX(words, i, const char *);

        http2 = http2 || !strcasecmp(word, "h2") || !strcasecmp(word, "h2c");
    }
    vhost->http2 = (ka_fact){true, false, http2, ka_cfg_origin(tree, node)};
}

static void take_kastats(ka_cfg_vhost *vhost, ka_cfg_tree *tree,
                         const ka_cfg_node *node)
{
    bool on;

    if (ka_cfg_flag(&on, node->args)) {
        vhost->kastats = (ka_fact){true, false, on, ka_cfg_origin(tree, node)};
    }
}

static const struct {
    const char *name;
    take_fn *take;
} directives[] = {{"ServerName", take_name},
                  {"ServerAlias", take_alias},
                  {"KeepAlive", take_keep_alive},
                  {"KeepAliveTimeout", take_timeout},
                  {"MaxKeepAliveRequests", take_max},
                  {"Timeout", take_io_timeout},
                  {"ErrorLog", take_error_log},
                  {"SSLEngine", take_tls},
                  {"Protocols", take_protocols},
                  {"KAStats", take_kastats}};

static void take(ka_cfg_vhost *vhost, ka_cfg_tree *tree,
                 const ka_cfg_node *node)
{
    size_t i;

    for (i = 0; i < sizeof(directives) / sizeof(directives[0]); i++) {
        if (ka_cfg_is(node, directives[i].name)) {
            directives[i].take(vhost, tree, node);
            return;
        }
    }
}

static ka_cfg_vhost *add_vhost(ka_cfg_server *server, ka_cfg_tree *tree,
                               int node)
{
    ka_cfg_vhost *vhost = apr_array_push(server->vhosts);

    *vhost = (ka_cfg_vhost){
        .node = node,
        .first_of_address = server->vhosts->nelts - 1,
        .aliases = apr_array_make(tree->pool, 1, sizeof(const char *)),
        .addresses = apr_array_make(tree->pool, 1, sizeof(const char *))};
    if (node != KA_CFG_TOP) {
        vhost->origin = ka_cfg_origin(tree, ka_cfg_node_at(tree, node));
        vhost->addresses =
            ka_cfg_words(ka_cfg_node_at(tree, node)->args, tree->pool);
    }
    return vhost;
}

static ka_fact own_or(ka_fact own, ka_fact otherwise)
{
    return own.known ? own : otherwise;
}

static void inherit(ka_cfg_vhost *vhost, const ka_cfg_vhost *from)
{
    vhost->keep_alive = own_or(vhost->keep_alive, from->keep_alive);
    vhost->max_keep_alive_requests = own_or(vhost->max_keep_alive_requests,
                                            from->max_keep_alive_requests);
    vhost->io_timeout = own_or(vhost->io_timeout, from->io_timeout);
    vhost->kastats = own_or(vhost->kastats, from->kastats);
    vhost->http2 = own_or(vhost->http2, from->http2);
    vhost->tls = own_or(vhost->tls, from->tls);
    if (!vhost->error_log) {
        vhost->error_log = from->error_log;
    }
    /* 0 is how httpd marks "not set here". */
    if (!vhost->keep_alive_timeout.known ||
        vhost->keep_alive_timeout.value == 0) {
        vhost->keep_alive_timeout = from->keep_alive_timeout;
    }
}

/* One spelling of an address: lower case, `*` for `_default_`. */
static const char *address_key(const char *address, apr_pool_t *pool)
{
    char *key = apr_pstrdup(pool, address), *c;

    for (c = key; *c; c++) {
        *c = (char)apr_tolower(*c);
    }
    return strncmp(key, "_default_", 9) ? key
                                        : apr_pstrcat(pool, "*", key + 9, NULL);
}

/* The first virtual host of an address reads the first request, and its idle
 * time holds for those that set none. */
static void find_first(ka_cfg_server *server, ka_cfg_tree *tree)
{
    apr_hash_t *firsts = apr_hash_make(tree->pool);
    int i, k;

    for (i = 1; i < server->vhosts->nelts; i++) {
        ka_cfg_vhost *vhost = &APR_ARRAY_IDX(server->vhosts, i, ka_cfg_vhost);

        for (k = 0; k < vhost->addresses->nelts; k++) {
            const char *key = address_key(
                APR_ARRAY_IDX(vhost->addresses, k, const char *), tree->pool);
            const int *first = apr_hash_get(firsts, key, APR_HASH_KEY_STRING);

            if (!first) {
                int *own = apr_palloc(tree->pool, sizeof(*own));

                *own = i;
                apr_hash_set(firsts, key, APR_HASH_KEY_STRING, own);
            }
            else if (k == 0) {
                vhost->first_of_address = *first;
            }
        }
    }
}

static void settle(ka_cfg_server *server, ka_cfg_tree *tree)
{
    ka_cfg_vhost *all = (ka_cfg_vhost *)(void *)server->vhosts->elts;
    int i;

    for (i = 1; i < server->vhosts->nelts; i++) {
        inherit(&all[i], &all[0]);
    }
    find_first(server, tree);
    for (i = 0; i < server->vhosts->nelts; i++) {
        all[i].idle_timeout =
            all[all[i].sets_timeout ? i : all[i].first_of_address]
                .keep_alive_timeout;
    }
}

static void main_server(ka_cfg_server *server, ka_cfg_tree *tree)
{
    const ka_settings *settings = &server->settings;
    ka_cfg_vhost *vhost = add_vhost(server, tree, KA_CFG_TOP);

    vhost->origin = "main server";
    vhost->keep_alive = settings->facts[KA_SETTING_KEEP_ALIVE];
    vhost->keep_alive_timeout = settings->facts[KA_SETTING_KEEP_ALIVE_TIMEOUT];
    vhost->max_keep_alive_requests =
        settings->facts[KA_SETTING_MAX_KEEP_ALIVE_REQUESTS];
    vhost->io_timeout = settings->facts[KA_SETTING_IO_TIMEOUT];
}

/* A port that listens with https needs no SSLEngine. */
static void listens_with_tls(ka_cfg_vhost *vhost,
                             const ka_cfg_listen *const by_port[65536])
{
    int k;

    for (k = 0; k < vhost->addresses->nelts && !vhost->tls.known; k++) {
        const char *colon = strrchr(
            APR_ARRAY_IDX(vhost->addresses, k, const char *), ':');
        int64_t port = colon ? ka_cfg_number(colon + 1) : 0;

        if (port > 0 && port < 65536 && by_port[port]) {
            vhost->tls = (ka_fact){true, false, 1, by_port[port]->origin};
        }
    }
}

static void find_tls(ka_cfg_server *server, ka_cfg_tree *tree)
{
    const ka_cfg_listen **by_port =
        apr_pcalloc(tree->pool, 65536 * sizeof(*by_port));
    int i;

    for (i = 0; i < server->listens->nelts; i++) {
        const ka_cfg_listen *listen =
            &APR_ARRAY_IDX(server->listens, i, ka_cfg_listen);

        if (listen->protocol && !strcasecmp(listen->protocol, "https")) {
            by_port[listen->port] = listen;
        }
    }
    for (i = 1; i < server->vhosts->nelts; i++) {
        listens_with_tls(&APR_ARRAY_IDX(server->vhosts, i, ka_cfg_vhost),
                         by_port);
    }
}

void ka_cfg_read_vhosts(ka_cfg_server *server, ka_cfg_tree *tree)
{
    int i;

    server->vhosts = apr_array_make(tree->pool, 8, sizeof(ka_cfg_vhost));
    main_server(server, tree);
    for (i = 0; i < tree->nodes->nelts; i++) {
        const ka_cfg_node *node = ka_cfg_node_at(tree, i);
        int owner = 0;

        if (node->section) {
            if (node->parent == KA_CFG_TOP && ka_cfg_is(node, "VirtualHost")) {
                add_vhost(server, tree, i);
            }
            continue;
        }
        if (node->parent != KA_CFG_TOP) {
            owner = server->vhosts->nelts - 1;
            if (APR_ARRAY_IDX(server->vhosts, owner, ka_cfg_vhost).node !=
                node->parent) {
                continue;
            }
        }
        take(&APR_ARRAY_IDX(server->vhosts, owner, ka_cfg_vhost), tree, node);
    }
    find_tls(server, tree);
    settle(server, tree);
}
