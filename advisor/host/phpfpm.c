/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * php-fpm's files are INI: [pool], key = value, `;` and `#` comment. */
#include "phpfpm.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include <apr_fnmatch.h>
#include <apr_strings.h>

#include "config_root.h"
#include "config_text.h"

/* ---- one file ----------------------------------------------------------- */

/* Without white space around it, and without quotes. */
static char *bare(const char *from, size_t length, apr_pool_t *pool)
{
    while (length && isspace((unsigned char)*from)) {
        from++;
        length--;
    }
    while (length && isspace((unsigned char)from[length - 1])) {
        length--;
    }
    if (length >= 2 && *from == '"' && from[length - 1] == '"') {
        from++;
        length -= 2;
    }
    return apr_pstrmemdup(pool, from, length);
}

/* "/run/$pool.sock" of the pool www is "/run/www.sock". */
static const char *with_name(const char *value, const char *name,
                             apr_pool_t *pool)
{
    const char *at = strstr(value, "$pool");

    return at ? apr_pstrcat(pool,
                            apr_pstrmemdup(pool, value, (size_t)(at - value)),
                            name, at + strlen("$pool"), NULL)
              : value;
}

static void take(ka_fpm_pool *to, const char *key, const char *value,
                 const char *origin, apr_pool_t *pool)
{
    if (!strcmp(key, "listen")) {
        to->listen = with_name(value, to->name, pool);
    }
    else if (!strcmp(key, "pm")) {
        to->pm = value;
    }
    else if (!strcmp(key, "pm.max_children")) {
        int64_t children = ka_cfg_number(value);

        to->max_children = (ka_fact){children > 0, false, children, origin};
    }
}

static ka_fpm_pool *start(apr_array_header_t *pools, const char *name,
                          const char *file, const char *origin)
{
    ka_fpm_pool *to;

    if (!strcasecmp(name, "global") || pools->nelts >= KA_FPM_POOLS_MAX) {
        return NULL;
    }
    to = apr_array_push(pools);
    *to = (ka_fpm_pool){.name = name, .file = file, .origin = origin};
    return to;
}

void ka_fpm_parse(apr_array_header_t *pools, const char *text,
                  const char *file, apr_pool_t *pool)
{
    ka_fpm_pool *to = NULL;
    int number = 0;

    while (*text) {
        size_t length = strcspn(text, "\n");
        const char *line = bare(text, length, pool);
        const char *equals = strchr(line, '=');
        const char *origin = apr_psprintf(pool, "%s:%d", file, ++number);

        if (*line == '[' && strchr(line, ']')) {
            to = start(pools, bare(line + 1, strcspn(line + 1, "]"), pool),
                       file, origin);
        }
        else if (to && equals && *line != ';' && *line != '#') {
            const char *value = equals + 1;

            take(to, bare(line, (size_t)(equals - line), pool),
                 bare(value, strcspn(value, ";"), pool), origin, pool);
        }
        text += length + (text[length] == '\n');
    }
}

/* ---- where they lie ----------------------------------------------------- */

static void read_directory(apr_array_header_t *pools, const char *root,
                           const char *directory, apr_pool_t *pool)
{
    apr_array_header_t *names;
    int i;

    if (ka_root_list(&names, root, directory, pool)) {
        return;
    }
    for (i = 0; i < names->nelts; i++) {
        const char *name = APR_ARRAY_IDX(names, i, const char *);
        const char *path = apr_pstrcat(pool, directory, "/", name, NULL);
        const char *text;

        if (apr_fnmatch("*.conf", name, 0) == APR_SUCCESS &&
            !ka_root_read(&text, NULL, root, path, pool)) {
            ka_fpm_parse(pools, text, path, pool);
        }
    }
}

/* One directory for each version of PHP in `above`. */
static void read_versions(apr_array_header_t *pools, const char *root,
                          const char *above, const char *below,
                          apr_pool_t *pool)
{
    apr_array_header_t *names;
    int i;

    if (ka_root_list(&names, root, above, pool)) {
        return;
    }
    for (i = 0; i < names->nelts; i++) {
        read_directory(pools, root,
                       apr_pstrcat(pool, above, "/",
                                   APR_ARRAY_IDX(names, i, const char *),
                                   below, NULL),
                       pool);
    }
}

apr_array_header_t *ka_fpm_read(const char *root, apr_pool_t *pool)
{
    /* Debian and its like, then collections of Red Hat and Remi. */
    static const struct {
        const char *above, *below;
    } versions[] = {{"/etc/php", "/fpm/pool.d"},
                    {"/etc/php", "/php-fpm.d"},
                    {"/etc/opt/remi", "/php-fpm.d"},
                    {"/etc/opt/rh", "/php-fpm.d"}};
    static const char *const directories[] = {
        "/etc/php-fpm.d", "/usr/local/etc/php-fpm.d", "/etc/php8/fpm/php-fpm.d",
        "/etc/php7/fpm/php-fpm.d"};
    apr_array_header_t *pools = apr_array_make(pool, 4, sizeof(ka_fpm_pool));
    size_t i;

    for (i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
        read_versions(pools, root, versions[i].above, versions[i].below, pool);
    }
    for (i = 0; i < sizeof(directories) / sizeof(directories[0]); i++) {
        read_directory(pools, root, directories[i], pool);
    }
    return pools;
}

/* ---- by address --------------------------------------------------------- */

static const char *port_of(const char *address)
{
    const char *colon = strrchr(address, ':');

    return colon && !strchr(colon, ']') ? colon + 1 : address;
}

/* httpd's address is one of this machine's own, by name or number. */
static bool is_local(const char *address)
{
    return !strncasecmp(address, "localhost:", 10) ||
           !strncmp(address, "127.", 4) || !strncmp(address, "[::1]:", 6);
}

const ka_fpm_pool *ka_fpm_at(const apr_array_header_t *pools,
                             const char *address)
{
    int i;

    for (i = 0; pools && address && i < pools->nelts; i++) {
        const ka_fpm_pool *p = &APR_ARRAY_IDX(pools, i, ka_fpm_pool);

        if (!p->listen) {
            continue;
        }
        if (!strcmp(p->listen, address) ||
            (*p->listen != '/' && is_local(address) &&
             !strcmp(port_of(p->listen), port_of(address)))) {
            return p;
        }
    }
    return NULL;
}
