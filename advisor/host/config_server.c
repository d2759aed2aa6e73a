/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "config_server.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <apr_strings.h>

#include "config_root.h"
#include "config_text.h"

/* The port of "80", "*:80", "[::1]:80"; 0 if there is none. */
static int port_of(const char *address)
{
    const char *colon = strrchr(address, ':');
    const char *digits = colon ? colon + 1 : address;
    long port;
    char *end;

    port = strtol(digits, &end, 10);
    return *digits && !*end && port > 0 && port < 65536 ? (int)port : 0;
}

static void take_listen(ka_cfg_server *server, ka_cfg_tree *tree,
                        const ka_cfg_node *node)
{
    const char *args = node->args;
    ka_cfg_listen *listen = apr_array_push(server->listens);
    const char *protocol;

    *listen = (ka_cfg_listen){.address = ka_cfg_word(&args, tree->pool),
                              .origin = ka_cfg_origin(tree, node)};
    listen->port = port_of(listen->address);
    protocol = ka_cfg_word(&args, tree->pool);
    if (*protocol) {
        listen->protocol = protocol;
    }
}

static const char *absolute(const ka_cfg_tree *tree, const char *args)
{
    const char *path = ka_cfg_word(&args, tree->pool);

    return *path ? ka_root_join(tree->server_root, path, tree->pool) : NULL;
}

static void take_top(ka_cfg_server *server, ka_cfg_tree *tree,
                     const ka_cfg_node *node)
{
    if (ka_cfg_is(node, "Listen") || ka_cfg_is(node, "Port")) {
        take_listen(server, tree, node);
    }
    else if (ka_cfg_is(node, "KAStatsFile")) {
        server->kastats_file = absolute(tree, node->args);
    }
    else if (ka_cfg_is(node, "DefaultRuntimeDir")) {
        server->runtime_dir = absolute(tree, node->args);
    }
    else if (ka_cfg_is(node, "PidFile")) {
        server->pid_file = absolute(tree, node->args);
    }
}

ka_cfg_server *ka_cfg_interpret(ka_cfg_tree *tree, int32_t mpm,
                                const char *mpm_origin)
{
    ka_cfg_server *server = apr_pcalloc(tree->pool, sizeof(*server));
    int i;

    server->mpm = mpm;
    server->mpm_origin = mpm_origin;
    if (mpm == KA_MPM_UNKNOWN) {
        server->mpm = ka_settings_mpm(&server->mpm_origin, tree);
    }
    ka_settings_read(&server->settings, tree, server->mpm);
    ka_settings_obey(&server->settings, server->mpm, tree->pool);
    server->listens =
        apr_array_make(tree->pool, 4, sizeof(ka_cfg_listen));
    for (i = 0; i < tree->nodes->nelts; i++) {
        const ka_cfg_node *node = ka_cfg_node_at(tree, i);

        if (node->parent == KA_CFG_TOP && !node->section) {
            take_top(server, tree, node);
        }
    }
    ka_cfg_read_vhosts(server, tree);
    ka_cfg_read_logs(server, tree);
    ka_cfg_read_backends(server, tree);
    return server;
}

const char *ka_cfg_vhost_label(const ka_cfg_server *server, int vhost,
                               apr_pool_t *pool)
{
    const ka_cfg_vhost *v =
        &APR_ARRAY_IDX(server->vhosts, vhost, ka_cfg_vhost);

    if (vhost == 0) {
        return "main server";
    }
    if (v->name) {
        return v->name;
    }
    return apr_psprintf(pool, "%s (%s)",
                        v->addresses->nelts
                            ? APR_ARRAY_IDX(v->addresses, 0, const char *)
                            : "virtual host",
                        v->origin);
}

int ka_cfg_vhost_of(const ka_cfg_server *server, const ka_cfg_tree *tree,
                    int node)
{
    int section = ka_cfg_is(ka_cfg_node_at(tree, node), "VirtualHost")
                      ? node
                      : ka_cfg_inside(tree, node, "VirtualHost");
    int low = 1, high = server->vhosts->nelts;

    /* Sections stand in the order of the tree. */
    while (low < high) {
        int middle = low + (high - low) / 2;

        if (APR_ARRAY_IDX(server->vhosts, middle, ka_cfg_vhost).node <
            section) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low < server->vhosts->nelts &&
                   APR_ARRAY_IDX(server->vhosts, low, ka_cfg_vhost).node ==
                       section
               ? low
               : 0;
}
