/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_cfg_tree: a configuration after Include, Define and If*: what is left is
 * what httpd obeys.  Our own reader (config_read.h) and `httpd -D DUMP_CONFIG`
 * (httpd_output.h) both give one.
 *
 *     nodes   0  Listen 80                 parent -1
 *             1  VirtualHost *:80          parent -1, section
 *             2    ServerName a.example    parent 1
 *             3  Timeout 60                parent -1
 *
 * Nodes stand in the order of the files; a section before what it holds.
 * Everything is owned by one pool.
 */
#ifndef KA_CONFIG_TREE_H
#define KA_CONFIG_TREE_H

#include <stdbool.h>
#include <apr_hash.h>
#include <apr_pools.h>
#include <apr_tables.h>

#define KA_CFG_TOP (-1)

typedef struct ka_cfg_node {
    const char *name; /* of the directive as written; no `<` of a section */
    const char *args; /* the rest of the line, ${VAR} replaced; of a section
                         without the `>` */
    const char *file; /* as the server sees it */
    int line;         /* as httpd counts: the last one of joined lines */
    int parent;       /* index of the section around it, or KA_CFG_TOP */
    bool section;
    bool early;       /* obeyed while reading (ServerRoot, LoadModule ...):
                         DUMP_CONFIG does not show these */
} ka_cfg_node;

typedef struct ka_cfg_module {
    const char *symbol; /* "ssl_module"; NULL if only the source is known */
    const char *source; /* "mod_ssl.c" */
    const char *path;   /* of the file loaded, absolute; NULL: built in */
    const char *origin; /* file:line */
} ka_cfg_module;

typedef struct ka_cfg_tree {
    apr_pool_t *pool;
    apr_array_header_t *nodes;    /* of ka_cfg_node */
    apr_array_header_t *modules;  /* of ka_cfg_module, built in and loaded */
    apr_hash_t *module_names;     /* symbols and sources of these */
    apr_array_header_t *problems; /* of const char *: sentences */
    apr_hash_t *said;             /* these */
    apr_array_header_t *files;    /* of const char *: those that were read */
    const char *server_root;      /* absolute, or NULL if not known */
    const char *by; /* how it was got: "kaadvisor's own reading of ..." or
                       the command */
} ka_cfg_tree;

/** Empty, owned by pool. */
ka_cfg_tree *ka_cfg_tree_make(apr_pool_t *pool);

const ka_cfg_node *ka_cfg_node_at(const ka_cfg_tree *tree, int index);

/** file:line, as facts carry it.  Owned by the tree's pool. */
const char *ka_cfg_origin(const ka_cfg_tree *tree, const ka_cfg_node *node);

/** The name of a directive or section, whatever its case. */
bool ka_cfg_is(const ka_cfg_node *node, const char *name);

/** Index of the nearest section of that name around a node, itself not
 * included; KA_CFG_TOP if there is none. */
int ka_cfg_inside(const ka_cfg_tree *tree, int index, const char *section);

/** Adds a sentence to problems, each once; at most 200 are kept. */
void ka_cfg_problem(ka_cfg_tree *tree, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/**
 * Is a module there?
 * @param name  symbol or source, as <IfModule> takes it
 */
bool ka_cfg_has_module(const ka_cfg_tree *tree, const char *name);

/**
 * Notes a module.
 * @param symbol  NULL: by the source, where the rule of names gives it
 * @param source  NULL: by the symbol
 */
void ka_cfg_add_module(ka_cfg_tree *tree, const char *symbol,
                       const char *source, const char *path,
                       const char *origin);

#endif
