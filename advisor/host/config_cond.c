/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The If* sections of the reader. */
#include "config_read_priv.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <apr_strings.h>

#include "config_root.h"

typedef bool test_fn(ka_cfg_reader *reader, const ka_cfg_source *source,
                     const char *word);

static bool test_module(ka_cfg_reader *reader, const ka_cfg_source *source,
                        const char *word)
{
    (void)source;
    return ka_cfg_has_module(reader->tree, word);
}

static bool test_define(ka_cfg_reader *reader, const ka_cfg_source *source,
                        const char *word)
{
    (void)source;
    return apr_hash_get(reader->defines, word, APR_HASH_KEY_STRING) != NULL;
}

static bool test_file(ka_cfg_reader *reader, const ka_cfg_source *source,
                      const char *word)
{
    ka_root_stat info;

    (void)source;
    return ka_root_stat_of(&info, reader->input->root,
                           ka_root_join(reader->tree->server_root, word,
                                        reader->pool),
                           reader->pool) == APR_SUCCESS;
}

/* Which directives a module brings is known to the module alone. */
static const struct {
    const char *name, *module; /* NULL: core's */
} directives[] = {{"AsyncRequestWorkerFactor", "event.c"},
                  {"CustomLog", "mod_log_config.c"},
                  {"ExtendedStatus", NULL},
                  {"FcgidMaxProcesses", "mod_fcgid.c"},
                  {"GlobalLog", "mod_log_config.c"},
                  {"KeepAlive", NULL},
                  {"LogFormat", "mod_log_config.c"},
                  {"MinSpareServers", "prefork.c"},
                  {"Protocols", NULL},
                  {"ProxyPass", "mod_proxy.c"},
                  {"RewriteEngine", "mod_rewrite.c"},
                  {"SSLEngine", "mod_ssl.c"},
                  {"Timeout", NULL},
                  {"<Directory", NULL},
                  {"<DirectoryMatch", NULL},
                  {"<Else", NULL},
                  {"<Files", NULL},
                  {"<If", NULL},
                  {"<Location", NULL},
                  {"<LocationMatch", NULL},
                  {"<Macro", "mod_macro.c"},
                  {"<Proxy", "mod_proxy.c"},
                  {"<VirtualHost", NULL}};

static bool test_directive(ka_cfg_reader *reader, const ka_cfg_source *source,
                           const char *word)
{
    size_t i;

    for (i = 0; i < sizeof(directives) / sizeof(directives[0]); i++) {
        if (!strcasecmp(directives[i].name, word)) {
            return !directives[i].module ||
                   ka_cfg_has_module(reader->tree, directives[i].module);
        }
    }
    ka_cfg_problem(reader->tree,
                   "%s: only httpd knows whether it has %s; taken as yes",
                   ka_cfg_place(reader, source), word);
    return true;
}

static bool test_section(ka_cfg_reader *reader, const ka_cfg_source *source,
                         const char *word)
{
    return test_directive(reader, source,
                          apr_pstrcat(reader->pool, "<", word, NULL));
}

/* ---- IfVersion --------------------------------------------------------------
 */

/* The version less the one given: < 0, 0, > 0; false if that is none. */
static bool compare_version(int *order, const int version[3],
                            const char *text)
{
    int i;

    *order = 0;
    for (i = 0; i < 3; i++) {
        long part = 0;

        if (*text) {
            char *end;

            if (!isdigit((unsigned char)*text)) {
                return false;
            }
            part = strtol(text, &end, 10);
            text = *end == '.' ? end + 1 : end;
            if (*end && *end != '.') {
                return false;
            }
        }
        if (*order == 0) {
            *order = (version[i] > part) - (version[i] < part);
        }
    }
    return !*text;
}

/* httpd takes any regular expression; here are the parts that versions are
 * written with: `.`, `\.`, `^`, `$` and literal characters. */
static bool match_here(const char *pattern, const char *text)
{
    for (; *pattern; pattern++, text++) {
        bool literal = *pattern == '\\' && pattern[1];

        if (*pattern == '$' && !pattern[1]) {
            return !*text;
        }
        pattern += literal;
        if (!*text || (*pattern != *text && (literal || *pattern != '.'))) {
            return false;
        }
    }
    return true;
}

static bool match_version(ka_cfg_reader *reader, const ka_cfg_source *source,
                          const char *pattern, const char *version)
{
    if (strpbrk(pattern, "[](){}*+?|")) {
        ka_cfg_problem(reader->tree,
                       "%s: only httpd can match /%s/; taken as no",
                       ka_cfg_place(reader, source), pattern);
        return false;
    }
    if (*pattern == '^') {
        return match_here(pattern + 1, version);
    }
    for (; *version; version++) {
        if (match_here(pattern, version)) {
            return true;
        }
    }
    return !*pattern;
}

static bool version_holds(ka_cfg_reader *reader, const ka_cfg_source *source,
                          const char *op, const char *wanted)
{
    static const int at_least[3] = {2, 4, 0};
    const ka_cfg_input *in = reader->input;
    const int *version = in->version[0] ? in->version : at_least;
    size_t n = strlen(wanted);
    int order;

    if (*op == '~' || (*op == '=' && *wanted == '/')) {
        if (*op == '=' && n > 1 && wanted[n - 1] == '/') {
            wanted = apr_pstrmemdup(reader->pool, wanted + 1, n - 2);
        }
        return match_version(reader, source, wanted,
                             apr_psprintf(reader->pool, "%d.%d.%d%s",
                                          version[0], version[1], version[2],
                                          in->vendor ? in->vendor : ""));
    }
    if (!compare_version(&order, version, wanted)) {
        ka_cfg_problem(reader->tree, "%s: <IfVersion>: %s is no version",
                       ka_cfg_place(reader, source), wanted);
        return false;
    }
    switch (*op) {
    case '<':
        return order < 0 || (op[1] == '=' && order == 0);
    case '>':
        return order > 0 || (op[1] == '=' && order == 0);
    default:
        return order == 0;
    }
}

static int if_version(ka_cfg_reader *reader, const ka_cfg_source *source,
                      const char *args)
{
    apr_array_header_t *words = ka_cfg_words(args, reader->pool);
    const char *op = "=", *wanted = "";
    bool reverse;

    if (words->nelts == 1) {
        wanted = APR_ARRAY_IDX(words, 0, const char *);
    }
    else if (words->nelts >= 2) {
        op = APR_ARRAY_IDX(words, 0, const char *);
        wanted = APR_ARRAY_IDX(words, 1, const char *);
    }
    reverse = *op == '!';
    op += reverse;
    if (reverse && !*op) {
        op = "=";
    }
    if (!strchr("=<>~", *op) ||
        (op[1] && strcmp(op + 1, "="))) {
        ka_cfg_problem(reader->tree, "%s: <IfVersion>: unknown operator %s",
                       ka_cfg_place(reader, source), op);
        return 0;
    }
    return version_holds(reader, source, op, wanted) != reverse;
}

/* ---- all of them ------------------------------------------------------------
 */

static const struct {
    const char *name;
    test_fn *test;
} sections[] = {{"IfModule", test_module},
                {"IfDefine", test_define},
                {"IfFile", test_file},
                {"IfDirective", test_directive},
                {"IfSection", test_section}};

int ka_cfg_condition(ka_cfg_reader *reader, const ka_cfg_source *source,
                     const char *name, const char *args)
{
    const char *close = strrchr(args, '>');
    bool reverse = *args == '!';
    size_t i;

    args = close ? apr_pstrmemdup(reader->pool, args, (size_t)(close - args))
                 : args;
    if (!strcasecmp(name, "IfVersion")) {
        return if_version(reader, source, args);
    }
    for (i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
        if (!strcasecmp(name, sections[i].name)) {
            args += reverse && *args == '!';
            return sections[i].test(reader, source,
                                    ka_cfg_word(&args, reader->pool)) !=
                   reverse;
        }
    }
    return -1;
}
