/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "httpd_output.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <apr_lib.h>
#include <apr_strings.h>

#include "config_read.h"
#include "config_root.h"

/* ---- lines and values -------------------------------------------------------
 */

/* The next line without its end; NULL at the end of the text. */
static const char *next_line(const char **text, apr_pool_t *pool)
{
    const char *line = *text;
    size_t n = strcspn(line, "\n");

    if (!*line) {
        return NULL;
    }
    *text = line + n + (line[n] == '\n');
    n -= n > 0 && line[n - 1] == '\r';
    return apr_pstrmemdup(pool, line, n);
}

/* What follows `lead` at the beginning of a line; NULL if it is another. */
static const char *after(const char *line, const char *lead)
{
    size_t n = strlen(lead);

    return strncasecmp(line, lead, n) ? NULL
                                      : line + n + strspn(line + n, " \t");
}

/* The text between the first quotes, else up to white space. */
static const char *unquoted(const char *text, apr_pool_t *pool)
{
    if (*text == '"') {
        text++;
        return apr_pstrmemdup(pool, text, strcspn(text, "\""));
    }
    return apr_pstrmemdup(pool, text, strcspn(text, " \t"));
}

/* ---- -V ---------------------------------------------------------------------
 */

/* "Apache/2.4.62 (Debian)", also behind a vendor's own name. */
static void take_version(ka_httpd_build *out, const char *text,
                         apr_pool_t *pool)
{
    const char *slash = strchr(text, '/');
    char *end;
    int i;

    if (!slash) {
        return;
    }
    text = slash + 1;
    for (i = 0; i < 3 && isdigit((unsigned char)*text); i++) {
        long part = strtol(text, &end, 10);

        out->version[i] = part > 9999 ? 9999 : (int)part;
        text = *end == '.' && i < 2 ? end + 1 : end;
    }
    out->vendor = apr_pstrdup(pool, text);
}

static const struct {
    const char *name;
    size_t offset;
} defines[] = {{"HTTPD_ROOT=", offsetof(ka_httpd_build, root)},
               {"SERVER_CONFIG_FILE=", offsetof(ka_httpd_build, file)},
               {"DEFAULT_PIDLOG=", offsetof(ka_httpd_build, pid_file)},
               {"DEFAULT_ERRORLOG=", offsetof(ka_httpd_build, error_log)}};

static void take_build_define(ka_httpd_build *out, const char *text,
                              apr_pool_t *pool)
{
    size_t i;

    for (i = 0; i < sizeof(defines) / sizeof(defines[0]); i++) {
        const char *value = after(text, defines[i].name);

        if (value) {
            *(const char **)(void *)((char *)out + defines[i].offset) =
                unquoted(value, pool);
        }
    }
    /* Httpd 2.2: -D APACHE_MPM_DIR="server/mpm/prefork" */
    text = after(text, "APACHE_MPM_DIR=");
    if (text) {
        text = unquoted(text, pool);
        out->mpm =
            ka_mpm_parse(strrchr(text, '/') ? strrchr(text, '/') + 1 : text);
    }
}

bool ka_httpd_read_version(ka_httpd_build *out, const char *text,
                           apr_pool_t *pool)
{
    const char *line, *value;

    *out = (ka_httpd_build){.vendor = "", .mpm = KA_MPM_UNKNOWN};
    while ((line = next_line(&text, pool)) != NULL) {
        line += strspn(line, " \t");
        if ((value = after(line, "Server version:")) != NULL) {
            take_version(out, value, pool);
        }
        else if ((value = after(line, "Server MPM:")) != NULL && *value) {
            out->mpm = ka_mpm_parse(unquoted(value, pool));
        }
        else if ((value = after(line, "-D ")) != NULL) {
            take_build_define(out, value, pool);
        }
    }
    return out->version[0] > 0;
}

/* ---- -l ---------------------------------------------------------------------
 */

apr_array_header_t *ka_httpd_read_modules(const char *text, apr_pool_t *pool)
{
    apr_array_header_t *sources =
        apr_array_make(pool, 16, sizeof(const char *));
    const char *line;

    while ((line = next_line(&text, pool)) != NULL) {
        size_t n = strlen(line);

        if (*line == ' ' && n > 2 && !strcmp(line + n - 2, ".c")) {
            APR_ARRAY_PUSH(sources, const char *) = line + strspn(line, " ");
        }
    }
    return sources;
}

/* ---- -D DUMP_RUN_CFG --------------------------------------------------------
 */

static const struct {
    const char *lead;
    size_t offset;
} run_lines[] = {{"ServerRoot:", offsetof(ka_httpd_run, server_root)},
                 {"Main DocumentRoot:", offsetof(ka_httpd_run, document_root)},
                 {"Main ErrorLog:", offsetof(ka_httpd_run, error_log)},
                 {"PidFile:", offsetof(ka_httpd_run, pid_file)},
                 {"User: name=", offsetof(ka_httpd_run, user)},
                 {"Group: name=", offsetof(ka_httpd_run, group)}};

bool ka_httpd_read_run(ka_httpd_run *out, const char *text, apr_pool_t *pool)
{
    const char *line, *value;
    size_t i;

    *out = (ka_httpd_run){.defines =
                              apr_array_make(pool, 4, sizeof(const char *))};
    while ((line = next_line(&text, pool)) != NULL) {
        for (i = 0; i < sizeof(run_lines) / sizeof(run_lines[0]); i++) {
            if ((value = after(line, run_lines[i].lead)) != NULL) {
                *(const char **)(void *)((char *)out + run_lines[i].offset) =
                    unquoted(value, pool);
            }
        }
        if ((value = after(line, "Define:")) != NULL) {
            APR_ARRAY_PUSH(out->defines, const char *) = value;
        }
    }
    return out->server_root != NULL;
}

/* ---- -S ---------------------------------------------------------------------
 */

/* "(file:line)" at the end of a line, of which a macro's name has brackets of
 * its own; NULL if there is none. */
static const char *place_of(const char *line, apr_pool_t *pool)
{
    const char *open = strchr(line, '(');
    size_t n = open ? strlen(open) : 0;

    return n > 2 && open[n - 1] == ')' ? apr_pstrmemdup(pool, open + 1, n - 2)
                                       : NULL;
}

static void add_vhost(apr_array_header_t *vhosts, const char *address,
                      const char *name, const char *line, bool is_default,
                      apr_pool_t *pool)
{
    ka_httpd_vhost *vhost = apr_array_push(vhosts);

    *vhost = (ka_httpd_vhost){.address = address,
                              .name = unquoted(name, pool),
                              .origin = place_of(line, pool),
                              .is_default = is_default};
}

/*
 * *:80      a.example (/etc/apache2/sites-enabled/a.conf:1)
 * *:443     is a NameVirtualHost
 *          default server b.example (/etc/.../b.conf:2)
 *          port 443 namevhost b.example (/etc/.../b.conf:2)
 *                  alias www.b.example
 */
apr_array_header_t *ka_httpd_read_vhosts(const char *text, apr_pool_t *pool)
{
    apr_array_header_t *vhosts =
        apr_array_make(pool, 8, sizeof(ka_httpd_vhost));
    const char *line, *value, *address = NULL, *first = NULL;
    bool inside = false;

    while ((line = next_line(&text, pool)) != NULL) {
        size_t indent = strspn(line, " \t");
        const char *at = line + indent;

        if (indent == 0) {
            inside = inside || after(line, "VirtualHost configuration:");
            address = inside && strchr(at, ':')
                          ? apr_pstrmemdup(pool, at, strcspn(at, " \t"))
                          : NULL;
            value = at + strcspn(at, " \t");
            value += strspn(value, " \t");
            first = NULL;
            if (address && place_of(line, pool) && !after(value, "is a ")) {
                add_vhost(vhosts, address, value, line, true, pool);
            }
            continue;
        }
        if (address && (value = after(at, "default server ")) != NULL) {
            first = place_of(line, pool);
        }
        else if (address && after(at, "port ") &&
                 (value = strstr(at, "namevhost ")) != NULL) {
            const char *place = place_of(line, pool);

            add_vhost(vhosts, address, value + 10, line,
                      first && place && !strcmp(first, place), pool);
        }
    }
    return vhosts;
}

/* ---- -D DUMP_CONFIG ---------------------------------------------------------
 */

typedef struct dump {
    ka_cfg_tree *tree;
    const char *file;
    int line;
    int open[KA_CFG_NESTED_MAX]; /* sections around, outermost first */
    size_t depth;                /* of them */
} dump;

/* "# In file: NAME" and "#  12:"; false for any other line. */
static bool take_comment(dump *d, const char *at)
{
    const char *file = after(at, "# In file:");
    char *end;
    long line;

    if (*at != '#') {
        return false;
    }
    if (file) {
        d->file = file;
        return true;
    }
    line = strtol(at + 1, &end, 10);
    if (end > at + 1 && *end == ':' && line > 0 && line < INT32_MAX) {
        d->line = (int)line;
    }
    return true;
}

/* Two spaces for each section around: the end tag of one that is empty is
 * not printed. */
static void take_directive(dump *d, const char *at, size_t nest,
                           apr_pool_t *pool)
{
    bool section = *at == '<';
    size_t n = strcspn(at, " \t");
    const char *args = at + n + strspn(at + n, " \t");
    size_t args_n = strlen(args);
    ka_cfg_node *node = apr_array_push(d->tree->nodes);

    d->depth = nest < d->depth ? nest : d->depth;
    args_n -= section && args_n > 0 && args[args_n - 1] == '>';
    *node =
        (ka_cfg_node){.name = apr_pstrmemdup(pool, at + section, n - section),
                      .args = apr_pstrmemdup(pool, args, args_n),
                      .file = d->file,
                      .line = d->line,
                      .parent = d->depth ? d->open[d->depth - 1] : KA_CFG_TOP,
                      .section = section};
    if (section && d->depth < KA_CFG_NESTED_MAX) {
        d->open[d->depth++] = d->tree->nodes->nelts - 1;
    }
}

ka_cfg_tree *ka_httpd_read_config(const char *text, const char *server_root,
                                  const char *by, apr_pool_t *pool)
{
    dump d = {.tree = ka_cfg_tree_make(pool)};
    const char *line;

    d.tree->server_root = server_root;
    d.tree->by = by;
    while ((line = next_line(&text, pool)) != NULL &&
           d.tree->nodes->nelts < KA_CFG_LINES_MAX) {
        size_t indent = strspn(line, " ");
        const char *at = line + indent;

        /* Before the first file stands what -t itself prints. */
        if (*at && !take_comment(&d, at) && d.file && strncmp(at, "</", 2)) {
            take_directive(&d, at, indent / 2, pool);
        }
    }
    return d.tree->nodes->nelts ? d.tree : NULL;
}
