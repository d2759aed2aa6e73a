/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * CustomLog, GlobalLog, TransferLog and LogFormat. */
#include "config_server.h"

#include <string.h>
#include <strings.h>

#include <apr_lib.h>
#include <apr_strings.h>

#include "config_root.h"
#include "config_text.h"

#define COMMON "%h %l %u %t \"%r\" %>s %b"

/* What LogFormat lines have set so far: a format counts for logs above it
 * too, so all are read first. */
typedef struct formats {
    apr_hash_t *named;         /* "VHOST nickname" -> format */
    const char **defaults;     /* [vhost]; NULL: not set */
    apr_pool_t *pool;
} formats;

/* ---- formats ----------------------------------------------------------------
 */

/* Nicknames know no case. */
static const char *format_key(const formats *f, int vhost, const char *name)
{
    char *key = apr_psprintf(f->pool, "%d %s", vhost, name), *c;

    for (c = key; *c; c++) {
        *c = (char)apr_tolower(*c);
    }
    return key;
}

static const char *named(const formats *f, int vhost, const char *name)
{
    const char *format = apr_hash_get(f->named, format_key(f, vhost, name),
                                      APR_HASH_KEY_STRING);

    if (!format && vhost > 0) {
        format = apr_hash_get(f->named, format_key(f, 0, name),
                              APR_HASH_KEY_STRING);
    }
    return format || strcasecmp(name, "CLF") ? format : COMMON;
}

static const char *default_format(const formats *f, int vhost)
{
    const char *text =
        f->defaults[vhost] ? f->defaults[vhost] : f->defaults[0];
    const char *format = text ? named(f, vhost, text) : COMMON;

    return format ? format : text;
}

static void take_format(formats *f, const ka_cfg_node *node, int vhost)
{
    const char *args = node->args;
    const char *format = ka_cfg_word(&args, f->pool);
    const char *name = ka_cfg_word(&args, f->pool);

    if (*name) {
        apr_hash_set(f->named, format_key(f, vhost, name),
                     APR_HASH_KEY_STRING, format);
    }
    else {
        f->defaults[vhost] = format;
    }
}

/* ---- programs that rotate ---------------------------------------------------
 */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

static void set_path(ka_cfg_log *log, ka_cfg_log_kind kind,
                     const ka_cfg_tree *tree, const char *path)
{
    log->kind = kind;
    log->path = ka_root_join(tree->server_root, path, tree->pool);
}

/* rotatelogs [-lfDtTvec] [-L link] [-p program] [-n number] file ... */
static void take_rotatelogs(ka_cfg_log *log, const ka_cfg_tree *tree,
                            const apr_array_header_t *words, int i)
{
    bool truncate = false, numbered = false;
    const char *path;

    for (; i < words->nelts; i++) {
        const char *word = APR_ARRAY_IDX(words, i, const char *);
        size_t option;

        if (*word != '-' || !word[1]) {
            break;
        }
        option = strcspn(word, "Lpn");
        truncate = truncate || memchr(word, 't', option);
        if (!word[option]) {
            continue;
        }
        numbered = numbered || word[option] == 'n';
        if (word[option + 1]) {
            path = word + option + 1;
        }
        else {
            path = ++i < words->nelts ? APR_ARRAY_IDX(words, i, const char *)
                                      : "";
        }
        if (word[option] == 'L') {
            log->link = ka_root_join(tree->server_root, path, tree->pool);
        }
    }
    if (i >= words->nelts) {
        return;
    }
    path = APR_ARRAY_IDX(words, i, const char *);
    set_path(log,
             strchr(path, '%') ? KA_CFG_LOG_STRFTIME
             : truncate        ? KA_CFG_LOG_FILE
             : numbered        ? KA_CFG_LOG_NUMBERED
                               : KA_CFG_LOG_SECONDS,
             tree, path);
}

/* -S name and --symlink=name of cronolog; NULL if the word is another. */
static const char *link_option(const apr_array_header_t *words, int i)
{
    static const char *const names[] = {"--symlink=", "--link=",
                                        "--hardlink="};
    const char *word = APR_ARRAY_IDX(words, i, const char *);
    size_t k;

    if (!strcmp(word, "-S") || !strcmp(word, "-l") || !strcmp(word, "-H")) {
        return i + 1 < words->nelts ? APR_ARRAY_IDX(words, i + 1, const char *)
                                    : NULL;
    }
    for (k = 0; k < sizeof(names) / sizeof(names[0]); k++) {
        if (!strncmp(word, names[k], strlen(names[k]))) {
            return word + strlen(names[k]);
        }
    }
    return NULL;
}

/* cronolog [options] template: the template is the last word. */
static void take_cronolog(ka_cfg_log *log, const ka_cfg_tree *tree,
                          const apr_array_header_t *words, int i)
{
    const char *path;

    for (; i < words->nelts - 1; i++) {
        path = link_option(words, i);
        if (path) {
            log->link = ka_root_join(tree->server_root, path, tree->pool);
        }
    }
    if (i < words->nelts) {
        path = APR_ARRAY_IDX(words, i, const char *);
        set_path(log, strchr(path, '%') ? KA_CFG_LOG_STRFTIME : KA_CFG_LOG_FILE,
                 tree, path);
    }
}

static const struct {
    const char *name; /* what the program's name begins with */
    void (*take)(ka_cfg_log *log, const ka_cfg_tree *tree,
                 const apr_array_header_t *words, int i);
} rotators[] = {{"rotatelogs", take_rotatelogs},
                {"cronolog", take_cronolog}};

/* The program may stand behind nice, env and the like. */
static void take_pipe(ka_cfg_log *log, const ka_cfg_tree *tree)
{
    const apr_array_header_t *words;
    const char *command = log->target + 1;
    size_t k;
    int i;

    command += *command == '|' || *command == '$';
    log->command = command;
    log->kind = KA_CFG_LOG_PIPE;
    words = ka_cfg_words(command, tree->pool);
    for (i = 0; i < words->nelts; i++) {
        const char *name = base_name(APR_ARRAY_IDX(words, i, const char *));

        for (k = 0; k < sizeof(rotators) / sizeof(rotators[0]); k++) {
            if (!strncmp(name, rotators[k].name, strlen(rotators[k].name))) {
                rotators[k].take(log, tree, words, i + 1);
                return;
            }
        }
    }
}

/* ---- logs -------------------------------------------------------------------
 */

static void take_target(ka_cfg_log *log, const ka_cfg_tree *tree)
{
    if (*log->target == '|') {
        take_pipe(log, tree);
    }
    else if (!strncasecmp(log->target, "syslog", 6) ||
             !strncasecmp(log->target, "journald", 8)) {
        log->kind = KA_CFG_LOG_OTHER;
    }
    else {
        set_path(log, KA_CFG_LOG_FILE, tree, log->target);
    }
}

static void take_log(ka_cfg_server *server, ka_cfg_tree *tree,
                     const formats *f, const ka_cfg_node *node, int vhost)
{
    ka_cfg_log *log = apr_array_push(server->logs);
    const char *args = node->args, *format, *condition;

    *log = (ka_cfg_log){.target = ka_cfg_word(&args, tree->pool),
                        .vhosts = apr_array_make(tree->pool, 1, sizeof(int)),
                        .origin = ka_cfg_origin(tree, node),
                        .global = ka_cfg_is(node, "GlobalLog")};
    take_target(log, tree);
    format = ka_cfg_is(node, "TransferLog") ? ""
                                            : ka_cfg_word(&args, tree->pool);
    log->format = named(f, vhost, format);
    if (log->format) {
        log->nickname = format;
    }
    else {
        log->format = *format ? format : default_format(f, vhost);
    }
    condition = ka_cfg_word(&args, tree->pool);
    log->condition = *condition ? condition : NULL;
    APR_ARRAY_PUSH(log->vhosts, int) = vhost;
    APR_ARRAY_IDX(server->vhosts, vhost, ka_cfg_vhost).own_logs = true;
}

/* The main server's logs go on in virtual hosts that have none. */
static void pass_on(ka_cfg_server *server)
{
    int i, v, any = 0;

    for (i = 0; i < server->logs->nelts; i++) {
        ka_cfg_log *log = &APR_ARRAY_IDX(server->logs, i, ka_cfg_log);

        if (APR_ARRAY_IDX(log->vhosts, 0, int) != 0) {
            continue;
        }
        /* Logs x virtual hosts: a real server has few of the first. */
        if (++any > 100) {
            return;
        }
        for (v = 1; v < server->vhosts->nelts; v++) {
            if (log->global ||
                !APR_ARRAY_IDX(server->vhosts, v, ka_cfg_vhost).own_logs) {
                APR_ARRAY_PUSH(log->vhosts, int) = v;
            }
        }
    }
}

/* The server that a node sets something for; -1 if it stands in a section of
 * another kind. */
static int owner_of(const ka_cfg_server *server, const ka_cfg_tree *tree,
                    int i)
{
    int parent = ka_cfg_node_at(tree, i)->parent;
    int vhost = parent == KA_CFG_TOP ? 0 : ka_cfg_vhost_of(server, tree, i);

    return parent == KA_CFG_TOP ||
                   (vhost > 0 &&
                    APR_ARRAY_IDX(server->vhosts, vhost, ka_cfg_vhost).node ==
                        parent)
               ? vhost
               : -1;
}

void ka_cfg_read_logs(ka_cfg_server *server, ka_cfg_tree *tree)
{
    formats f = {.named = apr_hash_make(tree->pool), .pool = tree->pool};
    int i, owner;

    f.defaults = apr_pcalloc(tree->pool,
                             (size_t)server->vhosts->nelts * sizeof(char *));
    server->logs = apr_array_make(tree->pool, 8, sizeof(ka_cfg_log));
    for (i = 0; i < tree->nodes->nelts; i++) {
        const ka_cfg_node *node = ka_cfg_node_at(tree, i);

        if (ka_cfg_is(node, "LogFormat") &&
            (owner = owner_of(server, tree, i)) >= 0) {
            take_format(&f, node, owner);
        }
    }
    for (i = 0; i < tree->nodes->nelts; i++) {
        const ka_cfg_node *node = ka_cfg_node_at(tree, i);

        if ((ka_cfg_is(node, "CustomLog") || ka_cfg_is(node, "GlobalLog") ||
             ka_cfg_is(node, "TransferLog")) &&
            (owner = owner_of(server, tree, i)) >= 0) {
            take_log(server, tree, &f, node, owner);
        }
    }
    pass_on(server);
}
