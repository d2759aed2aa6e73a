/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "confedit_priv.h"

#include <stdarg.h>
#include <string.h>
#include <strings.h>
#include <apr_strings.h>

#include "../host/config_settings.h"
#include "../host/config_text.h"

/* A directive that advice wants, not yet found in the files. */
typedef struct want {
    const char *directive, *to;
    ka_setting_id setting; /* KA_SETTINGS: none of ours */
    bool change;           /* what the advice says of itself */
    bool restart;
    const char *label;     /* of the virtual host; NULL: the whole server */
} want;

/* Where a line is put that is nowhere yet: behind others of its kind. */
typedef enum kind {
    KIND_KEEPALIVE,
    KIND_BLOCK, /* of the MPM */
    KIND_OTHER
} kind;

void ka_confedit_note(const ka_confedit_work *work, const char *format, ...)
{
    const char *text;
    va_list args;
    int i;

    va_start(args, format);
    text = apr_pvsprintf(work->pool, format, args);
    va_end(args);
    for (i = 0; i < work->out->notes->nelts; i++) {
        if (!strcmp(APR_ARRAY_IDX(work->out->notes, i, const char *), text)) {
            return;
        }
    }
    APR_ARRAY_PUSH(work->out->notes, const char *) = text;
}

static kind kind_of(ka_setting_id setting)
{
    switch (setting) {
    case KA_SETTING_KEEP_ALIVE:
    case KA_SETTING_KEEP_ALIVE_TIMEOUT:
    case KA_SETTING_MAX_KEEP_ALIVE_REQUESTS:
        return KIND_KEEPALIVE;
    case KA_SETTING_MAX_REQUEST_WORKERS:
    case KA_SETTING_THREADS_PER_CHILD:
    case KA_SETTING_SERVER_LIMIT:
    case KA_SETTING_THREAD_LIMIT:
    case KA_SETTING_START_SERVERS:
    case KA_SETTING_MIN_SPARE_SERVERS:
    case KA_SETTING_MAX_SPARE_SERVERS:
    case KA_SETTING_MIN_SPARE_THREADS:
    case KA_SETTING_MAX_SPARE_THREADS:
    case KA_SETTING_MAX_CONNECTIONS_PER_CHILD:
    case KA_SETTING_ASYNC_FACTOR:
        return KIND_BLOCK;
    default:
        return KIND_OTHER;
    }
}

/* ---- what is there ---------------------------------------------------------
 */

/* By either of its names. */
static bool names_it(const ka_cfg_node *node, const want *w)
{
    return w->setting == KA_SETTINGS
               ? ka_cfg_is(node, w->directive)
               : ka_setting_find(node->name) == w->setting;
}

/* The last occurrence right inside a section, or at the top: the one that
 * holds.  -1: none. */
static int last_of(const ka_confedit_work *work, const want *w, int section)
{
    const ka_cfg_tree *tree = work->in->tree;
    int i;

    for (i = tree->nodes->nelts - 1; i > section; i--) {
        const ka_cfg_node *node = ka_cfg_node_at(tree, i);

        if (node->parent == section && !node->section && names_it(node, w)) {
            return i;
        }
    }
    return -1;
}

static bool has_value(const ka_confedit_work *work, const want *w,
                      const char *args)
{
    int64_t present, wanted;

    if (w->setting == KA_SETTINGS) {
        return !strcasecmp(ka_cfg_word(&args, work->pool), w->to);
    }
    return ka_setting_value(&present, w->setting, args, work->pool) &&
           ka_setting_value(&wanted, w->setting, w->to, work->pool) &&
           present == wanted;
}

/* Without the directive, the fact tells what holds all the same. */
static bool is_fact(const ka_confedit_work *work, const want *w,
                    const ka_fact *fact)
{
    int64_t wanted;

    return fact->known &&
           ka_setting_value(&wanted, w->setting, w->to, work->pool) &&
           fact->value == wanted;
}

/* ---- a directive that is there ---------------------------------------------
 */

static const char *by_hand(const ka_confedit_work *work, const want *w)
{
    return apr_pstrcat(work->pool, w->directive, " ", w->to,
                       w->label ? " in the <VirtualHost> of " : "",
                       w->label ? w->label : "",
                       " is left to be set by hand", NULL);
}

/* The Define that gives ${NAME} its value; NULL if it is no Define's. */
static const ka_cfg_node *define_of(const ka_confedit_work *work,
                                    const char *name)
{
    const ka_cfg_tree *own = work->in->own;
    int i;

    for (i = own ? own->nodes->nelts - 1 : -1; i >= 0; i--) {
        const ka_cfg_node *node = ka_cfg_node_at(own, i);
        const char *args = node->args;

        if (ka_cfg_is(node, "Define") &&
            !strcmp(ka_cfg_word(&args, work->pool), name)) {
            return node;
        }
    }
    return NULL;
}

static void note_variable(const ka_confedit_work *work, const want *w,
                          const ka_cfg_node *node, const char *variable)
{
    const ka_cfg_node *define = define_of(work, variable);

    if (define) {
        ka_confedit_note(work,
                         "%s:%d: %s takes ${%s} from %s:%d, Define %s: a "
                         "person must decide where to make it %s, since other "
                         "lines may use that too",
                         node->file, node->line, node->name, variable,
                         define->file, define->line, define->args, w->to);
    }
    else {
        ka_confedit_note(work,
                         "%s:%d: %s takes ${%s} from httpd's environment or "
                         "command line: a person must decide where to make it "
                         "%s",
                         node->file, node->line, node->name, variable, w->to);
    }
}

static void set(const ka_confedit_work *work, const want *w,
                const ka_cfg_node *node)
{
    const char *variable;
    ka_conf_line line;

    if (!ka_conf_line_of(&line, work, node)) {
        ka_confedit_note(work,
                         "%s:%d: %s is not written there as httpd obeys it (a "
                         "macro, or no file): %s",
                         node->file, node->line, node->name, by_hand(work, w));
        return;
    }
    variable = ka_conf_line_variable(&line, work->pool);
    if (variable) {
        note_variable(work, w, node, variable);
        return;
    }
    ka_conf_line_set(work, &line, w->to);
    work->out->restart = work->out->restart || w->restart;
}

/* ---- one that is not -------------------------------------------------------
 */

/* Behind the last line of the server's own that is of this kind. */
static bool add_behind(const ka_confedit_work *work, const want *w, kind k)
{
    const ka_cfg_tree *tree = work->in->tree;
    ka_conf_line line;
    int i;

    for (i = tree->nodes->nelts - 1; i >= 0; i--) {
        const ka_cfg_node *node = ka_cfg_node_at(tree, i);

        if (node->parent == KA_CFG_TOP && !node->section &&
            kind_of(ka_setting_find(node->name)) == k &&
            ka_conf_line_of(&line, work, node)) {
            ka_conf_line_add(work, &line, false, w->directive, w->to);
            return true;
        }
    }
    return false;
}

/* At the end of the main file, those of the MPM in a section for it. */
typedef struct tail {
    const char *plain, *block; /* lines; "" */
} tail;

static void add(const ka_confedit_work *work, tail *end, const want *w)
{
    kind k = kind_of(w->setting);

    work->out->restart = work->out->restart || w->restart;
    if (k != KIND_OTHER && add_behind(work, w, k)) {
        return;
    }
    if (k == KIND_KEEPALIVE && add_behind(work, w, KIND_BLOCK)) {
        return;
    }
    if (k == KIND_BLOCK) {
        end->block = apr_pstrcat(work->pool, end->block, "    ", w->directive,
                                 " ", w->to, "\n", NULL);
    }
    else {
        end->plain = apr_pstrcat(work->pool, end->plain, w->directive, " ",
                                 w->to, "\n", NULL);
    }
}

static void append(const ka_confedit_work *work, const tail *end)
{
    const ka_conf_text *text;

    if (!*end->plain && !*end->block) {
        return;
    }
    text = work->in->read(work->in->context, work->in->main_file);
    if (!text) {
        ka_confedit_note(work, "%s cannot be read: nothing is put at its end",
                         work->in->main_file);
        return;
    }
    ka_conf_text_append(
        work, text,
        apr_pstrcat(work->pool, "\n", end->plain,
                    *end->block ? apr_psprintf(work->pool,
                                               "<IfModule mpm_%s_module>\n",
                                               ka_mpm_name(work->in->mpm))
                                : "",
                    end->block, *end->block ? "</IfModule>\n" : "", NULL));
}

/* ---- the whole server, one virtual host ------------------------------------
 */

static void want_server(const ka_confedit_work *work, tail *end,
                        const want *w)
{
    int at = last_of(work, w, KA_CFG_TOP);

    if (at >= 0) {
        const ka_cfg_node *node = ka_cfg_node_at(work->in->tree, at);

        if (!has_value(work, w, node->args)) {
            set(work, w, node);
        }
        return;
    }
    if (w->setting == KA_SETTINGS
            ? w->change
            : !is_fact(work, w,
                       &work->in->server->settings.facts[w->setting])) {
        add(work, end, w);
    }
}

static bool is_called(const ka_cfg_vhost *vhost, const char *label)
{
    int i;

    if (vhost->name && !strcasecmp(vhost->name, label)) {
        return true;
    }
    for (i = 0; i < vhost->aliases->nelts; i++) {
        if (!strcasecmp(APR_ARRAY_IDX(vhost->aliases, i, const char *),
                        label)) {
            return true;
        }
    }
    return false;
}

static void want_inside(const ka_confedit_work *work, const want *w,
                        int section)
{
    const ka_cfg_node *opens = ka_cfg_node_at(work->in->tree, section);
    int at = last_of(work, w, section);
    const ka_cfg_node *node =
        at >= 0 ? ka_cfg_node_at(work->in->tree, at) : NULL;
    ka_conf_line line;

    if (node && has_value(work, w, node->args)) {
        return;
    }
    if (node && strcmp(node->file, opens->file)) {
        ka_confedit_note(work,
                         "%s:%d: %s may be included by other sections too: %s",
                         node->file, node->line, node->name, by_hand(work, w));
    }
    else if (node) {
        set(work, w, node);
    }
    else if (!w->change) {
        return;
    }
    else if (ka_conf_line_of(&line, work, opens)) {
        ka_conf_line_add(work, &line, true, w->directive, w->to);
    }
    else {
        ka_confedit_note(work,
                         "%s:%d: <VirtualHost> is not written there (a "
                         "macro?): %s",
                         opens->file, opens->line, by_hand(work, w));
    }
}

/* Those of http and https bear one name, and each sets its own. */
static void want_vhost(const ka_confedit_work *work, const want *w)
{
    const apr_array_header_t *vhosts = work->in->server->vhosts;
    bool found = false;
    int i;

    for (i = 1; i < vhosts->nelts; i++) {
        const ka_cfg_vhost *vhost = &APR_ARRAY_IDX(vhosts, i, ka_cfg_vhost);

        if (is_called(vhost, w->label)) {
            found = true;
            want_inside(work, w, vhost->node);
        }
    }
    if (!found && w->change) {
        ka_confedit_note(work, "no <VirtualHost> is called so: %s",
                         by_hand(work, w));
    }
}

/* ---- all of them -----------------------------------------------------------
 */

/* As the configuration's renderer has it: no text of a log becomes a line. */
static bool is_plain(const char *value)
{
    return *value && !value[strspn(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                          "abcdefghijklmnopqrstuvwxyz"
                                          "0123456789.")];
}

static bool is_of(const ka_advice *a, ka_mpm mpm)
{
    return a->directive && a->to && (a->mpm == mpm || a->mpm == KA_MPM_N);
}

void ka_confedit_make(ka_confedit *out, const ka_confedit_input *input,
                      apr_pool_t *pool)
{
    ka_confedit_work work = {.in = input, .out = out, .pool = pool};
    tail end = {"", ""};
    size_t i;

    out->edits = apr_array_make(pool, 16, sizeof(ka_edit));
    out->notes = apr_array_make(pool, 4, sizeof(const char *));
    out->restart = false;
    for (i = 0; i < input->advice_n; i++) {
        const ka_advice *a = &input->advice[i];
        want w = {.directive = a->directive, .to = a->to, .label = a->vhost,
                  .change = a->change,
                  .restart = a->applies && !strcmp(a->applies, "restart")};

        if (!is_of(a, input->mpm)) {
            continue;
        }
        w.setting = ka_setting_find(a->directive);
        if (!is_plain(a->to) || !is_plain(a->directive)) {
            if (a->change) {
                ka_confedit_note(&work, "%s", by_hand(&work, &w));
            }
        }
        else if (a->vhost) {
            want_vhost(&work, &w);
        }
        else {
            want_server(&work, &end, &w);
        }
    }
    append(&work, &end);
}
