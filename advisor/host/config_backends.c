/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What stands behind httpd: proxies, FastCGI, PHP inside the children. */
#include "config_server.h"

#include <string.h>
#include <strings.h>

#include <apr_lib.h>
#include <apr_strings.h>

#include "config_text.h"

#define SECOND INT64_C(1000000)
/* More say nothing that these do not. */
#define BACKENDS_MAX 1000

static const struct {
    const char *scheme;
    ka_cfg_backend_kind kind;
} schemes[] = {{"http", KA_CFG_BACKEND_HTTP},
               {"https", KA_CFG_BACKEND_HTTP},
               {"h2", KA_CFG_BACKEND_HTTP},
               {"h2c", KA_CFG_BACKEND_HTTP},
               {"ws", KA_CFG_BACKEND_HTTP},
               {"wss", KA_CFG_BACKEND_HTTP},
               {"ajp", KA_CFG_BACKEND_AJP},
               {"fcgi", KA_CFG_BACKEND_FCGI},
               {"scgi", KA_CFG_BACKEND_SCGI},
               {"uwsgi", KA_CFG_BACKEND_SCGI},
               {"balancer", KA_CFG_BACKEND_BALANCER}};

/* ---- URLs -------------------------------------------------------------------
 */

static ka_cfg_backend_kind kind_of(const char *url)
{
    const char *end = strstr(url, "://");
    size_t i;

    for (i = 0; end && i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        size_t n = strlen(schemes[i].scheme);

        if (n == (size_t)(end - url) &&
            !strncasecmp(url, schemes[i].scheme, n)) {
            return schemes[i].kind;
        }
    }
    return KA_CFG_BACKEND_OTHER;
}

/* unix:/run/php.sock|fcgi://localhost is fcgi at that socket. */
static void take_url(ka_cfg_backend *backend, const char *url,
                     apr_pool_t *pool)
{
    const char *pipe = strchr(url, '|'), *real = url, *host;

    backend->url = url;
    if (!strncasecmp(url, "unix:", 5) && pipe) {
        backend->address =
            apr_pstrmemdup(pool, url + 5, (size_t)(pipe - url - 5));
        real = pipe + 1;
    }
    backend->kind = kind_of(real);
    host = strstr(real, "://");
    if (host && !backend->address) {
        host += 3;
        backend->address = apr_pstrmemdup(pool, host, strcspn(host, "/$?"));
    }
}

/* ---- parameters: key=value --------------------------------------------------
 */

typedef struct parameter {
    const char *value, *origin;
    ka_cfg_backend *backend;
} parameter;

static void take_max(const parameter *p)
{
    p->backend->max =
        (ka_fact){true, false, ka_cfg_number(p->value), p->origin};
}

static void take_timeout(const parameter *p)
{
    p->backend->timeout =
        (ka_fact){true, false, ka_cfg_number(p->value) * SECOND, p->origin};
}

static void take_ttl(const parameter *p)
{
    p->backend->ttl =
        (ka_fact){true, false, ka_cfg_number(p->value) * SECOND, p->origin};
}

static void take_reuse(const parameter *p)
{
    bool on;

    if (ka_cfg_flag(&on, p->value)) {
        p->backend->reuse = (ka_fact){true, false, on, p->origin};
    }
}

static void take_no_reuse(const parameter *p)
{
    bool on;

    if (ka_cfg_flag(&on, p->value)) {
        p->backend->reuse = (ka_fact){true, false, !on, p->origin};
    }
}

static const struct {
    const char *key;
    void (*take)(const parameter *p);
} parameters[] = {{"max", take_max},
                  {"timeout", take_timeout},
                  {"ttl", take_ttl},
                  {"enablereuse", take_reuse},
                  {"disablereuse", take_no_reuse}};

static void take_parameter(ka_cfg_backend *backend, const char *word)
{
    const char *equals = strchr(word, '=');
    size_t i;

    for (i = 0; equals && i < sizeof(parameters) / sizeof(parameters[0]);
         i++) {
        size_t n = strlen(parameters[i].key);

        if (n == (size_t)(equals - word) &&
            !strncasecmp(word, parameters[i].key, n)) {
            parameters[i].take(&(parameter){.value = equals + 1,
                                            .origin = backend->origin,
                                            .backend = backend});
        }
    }
}

/* ---- directives -------------------------------------------------------------
 */

typedef struct place {
    ka_cfg_server *server;
    ka_cfg_tree *tree;
    int index; /* of the node */
    const ka_cfg_node *node;
    apr_array_header_t *words;
} place;

static const char *word_at(const place *at, int i)
{
    return i < at->words->nelts ? APR_ARRAY_IDX(at->words, i, const char *)
                                : "";
}

static ka_cfg_backend *add(const place *at)
{
    ka_cfg_backend *backend = at->server->backends->nelts < BACKENDS_MAX
                                  ? apr_array_push(at->server->backends)
                                  : apr_palloc(at->tree->pool,
                                               sizeof(*backend));

    *backend = (ka_cfg_backend){
        .kind = KA_CFG_BACKEND_OTHER,
        .vhost = ka_cfg_vhost_of(at->server, at->tree, at->index),
        .origin = ka_cfg_origin(at->tree, at->node)};
    return backend;
}

/* The argument of a section around, up to white space; NULL if none. */
static const char *section_word(const place *at, const char *section)
{
    int i = ka_cfg_inside(at->tree, at->index, section);
    const char *args;

    if (i == KA_CFG_TOP) {
        return NULL;
    }
    args = ka_cfg_node_at(at->tree, i)->args;
    return ka_cfg_word(&args, at->tree->pool);
}

static void add_with_parameters(const place *at, int url)
{
    ka_cfg_backend *backend;
    int i;

    if (!*word_at(at, url) || !strcmp(word_at(at, url), "!")) {
        return;
    }
    backend = add(at);
    take_url(backend, word_at(at, url), at->tree->pool);
    for (i = url + 1; i < at->words->nelts; i++) {
        take_parameter(backend, word_at(at, i));
    }
}

/* ProxyPass [path] url: in a <Location> the path is that of the section. */
static void take_proxy_pass(const place *at)
{
    bool located =
        ka_cfg_inside(at->tree, at->index, "Location") != KA_CFG_TOP ||
        ka_cfg_inside(at->tree, at->index, "LocationMatch") != KA_CFG_TOP;
    int url = located ? 0 : 1;

    add_with_parameters(at, url + !strcmp(word_at(at, 0), "~"));
}

/* BalancerMember [balancer] url: in <Proxy balancer://x> that one. */
static void take_member(const place *at)
{
    const char *balancer = section_word(at, "Proxy");
    int before = at->server->backends->nelts;
    int url = 0;

    if (!balancer || kind_of(balancer) != KA_CFG_BACKEND_BALANCER) {
        balancer = word_at(at, 0);
        url = 1;
    }
    add_with_parameters(at, url);
    if (at->server->backends->nelts > before) {
        APR_ARRAY_IDX(at->server->backends, before, ka_cfg_backend).balancer =
            balancer;
    }
}

/* ProxySet [url] key=value: of a worker named before, or by the section. */
static void take_set(const place *at)
{
    const char *url = section_word(at, "Proxy");
    int i, k, first = 0;

    if (!url) {
        url = word_at(at, first++);
    }
    for (i = 0; i < at->server->backends->nelts; i++) {
        ka_cfg_backend *backend =
            &APR_ARRAY_IDX(at->server->backends, i, ka_cfg_backend);

        if (backend->url && !strcasecmp(backend->url, url)) {
            const char *origin = backend->origin;

            backend->origin = ka_cfg_origin(at->tree, at->node);
            for (k = first; k < at->words->nelts; k++) {
                take_parameter(backend, word_at(at, k));
            }
            backend->origin = origin;
            return;
        }
    }
}

/* SetHandler "proxy:unix:/run/php.sock|fcgi://localhost" */
static void take_handler(const place *at)
{
    const char *handler = word_at(at, 0);

    if (!strncasecmp(handler, "proxy:", 6) && handler[6]) {
        take_url(add(at), handler + 6, at->tree->pool);
    }
    else if (!strncasecmp(handler, "application/x-httpd-php", 23) ||
             !strncasecmp(handler, "php-script", 10)) {
        add(at)->kind = KA_CFG_BACKEND_PHP;
    }
}

static void take_fcgid(const place *at)
{
    ka_cfg_backend *backend = add(at);

    backend->kind = KA_CFG_BACKEND_FCGID;
    backend->max = (ka_fact){true, false, ka_cfg_number(word_at(at, 0)),
                             backend->origin};
}

/* FastCgiExternalServer file -host host:port | -socket path */
static void take_fastcgi(const place *at)
{
    ka_cfg_backend *backend = add(at);
    int i;

    backend->kind = KA_CFG_BACKEND_FCGI;
    for (i = 1; i + 1 < at->words->nelts; i++) {
        if (!strcmp(word_at(at, i), "-host") ||
            !strcmp(word_at(at, i), "-socket")) {
            backend->address = word_at(at, i + 1);
        }
    }
}

/* RewriteRule pattern url [P]: a proxy whose connections are not reused. */
static void take_rewrite(const place *at)
{
    const char *flags = word_at(at, 2);
    const char *p = flags;
    bool proxies = false;

    while (*p == '[' || *p == ',') {
        size_t n = strcspn(p + 1, ",]");

        proxies = proxies || (n == 1 && apr_tolower(p[1]) == 'p') ||
                  (n == 5 && !strncasecmp(p + 1, "proxy", 5));
        p += 1 + n;
    }
    if (proxies) {
        ka_cfg_backend *backend = add(at);

        take_url(backend, word_at(at, 1), at->tree->pool);
        backend->reuse = (ka_fact){true, true, 0, backend->origin};
    }
}

static const struct {
    const char *name;
    void (*take)(const place *at);
} directives[] = {{"ProxyPass", take_proxy_pass},
                  {"ProxyPassMatch", take_proxy_pass},
                  {"BalancerMember", take_member},
                  {"ProxySet", take_set},
                  {"SetHandler", take_handler},
                  {"AddHandler", take_handler},
                  {"ForceType", take_handler},
                  {"AddType", take_handler},
                  {"RewriteRule", take_rewrite},
                  {"FcgidMaxProcesses", take_fcgid},
                  {"MaxProcessCount", take_fcgid},
                  {"FastCgiExternalServer", take_fastcgi}};

void ka_cfg_read_backends(ka_cfg_server *server, ka_cfg_tree *tree)
{
    place at = {.server = server, .tree = tree};
    size_t k;

    server->backends = apr_array_make(tree->pool, 4, sizeof(ka_cfg_backend));
    for (at.index = 0; at.index < tree->nodes->nelts; at.index++) {
        at.node = ka_cfg_node_at(tree, at.index);
        for (k = 0; k < sizeof(directives) / sizeof(directives[0]); k++) {
            if (!at.node->section && ka_cfg_is(at.node, directives[k].name)) {
                at.words = ka_cfg_words(at.node->args, tree->pool);
                directives[k].take(&at);
            }
        }
    }
}
