/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What stands behind httpd, and what to check about it (R17). */
#include "backends.h"

#include <inttypes.h>
#include <string.h>
#include <apr_strings.h>

#include "../words.h"

#define LISTED 5

bool ka_backends_known(const ka_report *report)
{
    return report->site && report->site->httpd->server;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? !strcmp(a, b) : a == b;
}

bool ka_backend_is_first(const apr_array_header_t *backends, int index)
{
    const ka_cfg_backend *own =
        &APR_ARRAY_IDX(backends, index, ka_cfg_backend);
    int i;

    for (i = 0; i < index; i++) {
        const ka_cfg_backend *b = &APR_ARRAY_IDX(backends, i, ka_cfg_backend);

        if (b->kind == own->kind && same_text(b->address, own->address) &&
            b->max.known == own->max.known && b->max.value == own->max.value) {
            return false;
        }
    }
    return true;
}

ka_fpm_size ka_fpm_size_of(const ka_site *site)
{
    ka_fpm_size size = {.known = false};
    int64_t bytes = 0;
    int i;

    for (i = 0; site->others.services && i < site->others.services->nelts;
         i++) {
        const ka_service *s =
            &APR_ARRAY_IDX(site->others.services, i, ka_service);

        if (!strncmp(s->name, "php-fpm", 7) && s->processes > 0) {
            size.children += s->processes;
            bytes += s->bytes;
        }
    }
    if (size.children > 0 && bytes > 0) {
        size.bytes = bytes / size.children;
        size.known = size.bytes > 0;
    }
    return size;
}

/* ---- warnings ----------------------------------------------------------- */

typedef bool match_fn(const ka_cfg_backend *backend);

/* "http://10.0.0.1:8080/ (file:line), ..."; NULL: none matches. */
static const char *list(const ka_decision *d, match_fn *matches)
{
    const apr_array_header_t *all;
    const char *text = NULL;
    int i, n = 0;

    if (!ka_backends_known(d->report)) {
        return NULL;
    }
    all = d->report->site->httpd->server->backends;
    for (i = 0; i < all->nelts; i++) {
        const ka_cfg_backend *b = &APR_ARRAY_IDX(all, i, ka_cfg_backend);

        if (!matches(b) || !ka_backend_is_first(all, i) || n++ >= LISTED) {
            continue;
        }
        text = apr_psprintf(d->pool, "%s%s%s (%s)", text ? text : "",
                            text ? ", " : "",
                            ka_words_clean(d->pool, b->url, false),
                            b->origin);
    }
    return n > LISTED
               ? apr_psprintf(d->pool, "%s and %d more", text, n - LISTED)
               : text;
}

static bool speaks_http(const ka_cfg_backend *b)
{
    return b->url &&
           (b->kind == KA_CFG_BACKEND_HTTP || b->kind == KA_CFG_BACKEND_AJP);
}

static bool is_not_reused(const ka_cfg_backend *b)
{
    return speaks_http(b) && b->reuse.known && !b->reuse.value;
}

const char *ka_warn_backend_reuse(const ka_decision *d)
{
    const char *which = list(d, is_not_reused);

    return which == NULL
               ? NULL
               : apr_psprintf(d->pool,
                              "Connections to backends are not reused (R17), "
                              "so each dynamic request opens one and leaves a "
                              "port in TIME_WAIT for 60s: %s. A ProxyPass "
                              "without disablereuse, also for the target of a "
                              "RewriteRule [P], keeps them.",
                              which);
}

static bool outlives_unsaid(const ka_cfg_backend *b)
{
    return speaks_http(b) && !(b->reuse.known && !b->reuse.value) &&
           !b->ttl.known;
}

const char *ka_warn_backend_idle(const ka_decision *d)
{
    const char *which = list(d, outlives_unsaid);

    return which == NULL
               ? NULL
               : apr_psprintf(d->pool,
                              "Idle connections to backends are kept without "
                              "a limit (R17): %s. Where the backend closes "
                              "them first, a request meets a closing "
                              "connection (502). Look up the backend's own "
                              "keep-alive timeout and give ProxyPass a ttl= "
                              "below it.",
                              which);
}

/* What pools may grow to, against what is left for them. */
const char *ka_warn_fpm_memory(const ka_decision *d)
{
    const ka_site *site = d->report->site;
    ka_fpm_size size;
    int64_t children = 0, most;
    int i;

    if (!ka_backends_known(d->report) || !site->fpm_pools ||
        site->budget.n == 0) {
        return NULL;
    }
    size = ka_fpm_size_of(site);
    for (i = 0; i < site->fpm_pools->nelts; i++) {
        const ka_fpm_pool *p =
            &APR_ARRAY_IDX(site->fpm_pools, i, ka_fpm_pool);

        children += p->max_children.known ? p->max_children.value : 0;
    }
    most = site->budget.bounds[site->budget.tightest].limit;
    if (!size.known || children == 0 || children <= most / size.bytes) {
        return NULL;
    }
    return apr_psprintf(
        d->pool,
        "php-fpm may start %s children (pm.max_children of all pools), and one "
        "takes %s now: together more than the %s that this host has for "
        "everything (R17).",
        ka_words_count(d->pool, children), ka_words_size(d->pool, size.bytes),
        ka_words_size(d->pool, most));
}
