/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "config_names.h"

#include <string.h>
#include <strings.h>

#include <apr_fnmatch.h>
#include <apr_strings.h>

/* A name as a log has it, taken apart. */
typedef struct asked {
    const char *host;
    const char *port; /* NULL: not told */
} asked;

/* The port behind a host; an address in brackets has colons of its own. */
static const char *port_of(const char *text)
{
    const char *colon = strrchr(text, ':');

    return colon && !strchr(colon, ']') ? colon + 1 : NULL;
}

static asked take_apart(const char *name, apr_pool_t *pool)
{
    const char *port = port_of(name);
    size_t length = port ? (size_t)(port - name - 1) : strlen(name);

    if (!port || !*port || strspn(port, "0123456789") != strlen(port)) {
        return (asked){name, NULL};
    }
    return (asked){apr_pstrmemdup(pool, name, length), port};
}

static bool listens_there(const ka_cfg_vhost *vhost, const asked *what)
{
    int k;

    if (!what->port || vhost->addresses->nelts == 0) {
        return true;
    }
    for (k = 0; k < vhost->addresses->nelts; k++) {
        const char *port =
            port_of(APR_ARRAY_IDX(vhost->addresses, k, const char *));

        if (!port || !strcmp(port, "*") || !strcmp(port, what->port)) {
            return true;
        }
    }
    return false;
}

static bool has_name(const ka_cfg_vhost *vhost, const asked *what)
{
    return vhost->name && !strcasecmp(vhost->name, what->host);
}

static bool has_alias(const ka_cfg_vhost *vhost, const asked *what)
{
    int k;

    for (k = 0; k < vhost->aliases->nelts; k++) {
        if (apr_fnmatch(APR_ARRAY_IDX(vhost->aliases, k, const char *),
                        what->host, APR_FNM_CASE_BLIND) == APR_SUCCESS) {
            return true;
        }
    }
    return false;
}

typedef bool fits_fn(const ka_cfg_vhost *vhost, const asked *what);

static size_t find(int *out, size_t most, const ka_cfg_server *server,
                   const asked *what, fits_fn *fits)
{
    size_t n = 0;
    int i;

    for (i = 1; i < server->vhosts->nelts && n < most; i++) {
        const ka_cfg_vhost *vhost =
            &APR_ARRAY_IDX(server->vhosts, i, ka_cfg_vhost);

        if (fits(vhost, what) && listens_there(vhost, what)) {
            out[n++] = i;
        }
    }
    return n;
}

size_t ka_cfg_vhosts_named(int *out, size_t most, const ka_cfg_server *server,
                           const char *name, apr_pool_t *pool)
{
    const asked what = take_apart(name, pool);
    size_t n = find(out, most, server, &what, has_name);

    if (n == 0) {
        n = find(out, most, server, &what, has_alias);
    }
    if (n == 0 && most > 0 && server->vhosts->nelts > 0 &&
        has_name(&APR_ARRAY_IDX(server->vhosts, 0, ka_cfg_vhost), &what)) {
        out[n++] = 0;
    }
    return n;
}
