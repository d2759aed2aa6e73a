/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Where a file stands in a configuration. */
#include "apply.h"

#include <string.h>
#include <apr_fnmatch.h>
#include <apr_strings.h>

#include "../host/config_root.h"
#include "../host/config_text.h"

typedef struct search {
    ka_cfg_tree *own;
    const char *root, *file;
    ka_root_stat info; /* of the file */
    bool exists;
    apr_pool_t *pool;
} search;

/* By its name or by a link to it. */
static bool is_file(const search *s, const char *name)
{
    ka_root_stat info;

    if (!strcmp(name, s->file)) {
        return true;
    }
    return s->exists && *name == '/' &&
           !ka_root_stat_of(&info, s->root, name, s->pool) &&
           info.device == s->info.device && info.inode == s->info.inode;
}

/* Its last node, -1: none.  Nodes of a file follow each other. */
static int last_node(const search *s)
{
    const char *name = NULL;
    bool is = false;
    int last = -1, i;

    for (i = 0; i < s->own->nodes->nelts; i++) {
        const ka_cfg_node *node = ka_cfg_node_at(s->own, i);

        if (!name || strcmp(name, node->file)) {
            name = node->file;
            is = is_file(s, name);
        }
        last = is ? i : last;
    }
    return last;
}

/* An Include names it, by a pattern, a directory or as it is. */
static const char *names_it(const search *s, const ka_cfg_node *node)
{
    const char *args = node->args, *pattern;
    size_t n;

    if (!ka_cfg_is(node, "Include") && !ka_cfg_is(node, "IncludeOptional")) {
        return NULL;
    }
    pattern = ka_root_join(s->own->server_root, ka_cfg_word(&args, s->pool),
                           s->pool);
    n = strlen(pattern);
    while (n > 1 && pattern[n - 1] == '/') {
        n--;
    }
    if (apr_fnmatch_test(pattern)) {
        return apr_fnmatch(pattern, s->file, APR_FNM_PATHNAME | APR_FNM_PERIOD)
                   ? NULL
                   : pattern;
    }
    return !strcmp(pattern, s->file) ||
                   (!strncmp(pattern, s->file, n) && s->file[n] == '/')
               ? pattern
               : NULL;
}

/* Of the files that one Include reads, those before this one by name. */
static int end_of_smaller(const search *s, int include)
{
    const char *from = ka_cfg_node_at(s->own, include)->file;
    int i;

    for (i = include + 1; i < s->own->nodes->nelts; i++) {
        const ka_cfg_node *node = ka_cfg_node_at(s->own, i);

        if (!strcmp(node->file, from) || strcmp(node->file, s->file) > 0) {
            break;
        }
    }
    return i - 1;
}

ka_apply_place ka_apply_find(ka_cfg_tree *own, const char *root,
                             const char *file, apr_pool_t *pool)
{
    search s = {.own = own, .root = root, .file = file, .pool = pool};
    ka_apply_place place = {.behind = own->nodes->nelts - 1};
    int last, i;

    s.exists = !ka_root_stat_of(&s.info, root, file, pool);
    last = last_node(&s);
    for (i = own->nodes->nelts - 1; i >= 0 && !place.by; i--) {
        const ka_cfg_node *node = ka_cfg_node_at(own, i);

        if (node->parent == KA_CFG_TOP && names_it(&s, node)) {
            place.by = ka_cfg_origin(own, node);
            place.included = true;
            place.behind = end_of_smaller(&s, i);
        }
    }
    if (last >= 0) {
        place.included = true;
        place.behind = last;
    }
    return place;
}

/* ---- what wins over it ------------------------------------------------------
 */

static bool says_otherwise(const ka_cfg_node *node, ka_setting_id setting,
                           const char *to, apr_pool_t *pool)
{
    int64_t present, advised;

    return ka_setting_value(&present, setting, node->args, pool) &&
           ka_setting_value(&advised, setting, to, pool) && present != advised;
}

/* The one that holds, the last. */
static const ka_cfg_node *last_of(const ka_cfg_tree *own, int behind,
                                  ka_setting_id setting)
{
    int i;

    for (i = own->nodes->nelts - 1; i > behind; i--) {
        const ka_cfg_node *node = ka_cfg_node_at(own, i);

        if (node->parent == KA_CFG_TOP && !node->section &&
            ka_setting_find(node->name) == setting) {
            return node;
        }
    }
    return NULL;
}

const char *ka_apply_winners(const ka_cfg_tree *own, int behind,
                             const ka_report *report, ka_mpm mpm,
                             apr_pool_t *pool)
{
    const char *text = NULL;
    size_t i;

    for (i = 0; i < report->advice_n; i++) {
        const ka_advice *a = &report->advice[i];
        ka_setting_id setting =
            a->directive ? ka_setting_find(a->directive) : KA_SETTINGS;
        const ka_cfg_node *node;

        if (a->vhost || !a->to || setting == KA_SETTINGS ||
            (a->mpm != mpm && a->mpm != KA_MPM_N)) {
            continue;
        }
        node = last_of(own, behind, setting);
        if (node && says_otherwise(node, setting, a->to, pool)) {
            text = apr_psprintf(pool, "%s%s%s %s (%s:%d)", text ? text : "",
                                text ? ", " : "", node->name, node->args,
                                node->file, node->line);
        }
    }
    return text;
}
