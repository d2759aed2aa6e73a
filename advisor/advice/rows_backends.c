/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What stands behind httpd must answer as many dynamic requests at once as
 * there are in progress (R17).  Limits are raised to that, never lowered: a
 * log may have been a quiet one. */
#include "rows.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <apr_strings.h>

#include "../words.h"
#include "backends.h"
#include "classes.h"

/* ---- how many at once --------------------------------------------------- */

static double peak_of(const ka_row_context *c)
{
    const ka_report *r = c->d->report;

    return ka_class_busy_known(r->profile, KA_CLASS_DYNAMIC)
               ? ka_class_peak(c->to,
                               ka_class_busy_share(r->profile,
                                                   KA_CLASS_DYNAMIC),
                               c->d->options->growth)
               : 0;
}

static const char *demand(const ka_row_context *c, double peak)
{
    apr_pool_t *p = c->d->pool;
    const ka_traffic *t = &c->d->report->profile->classes[KA_CLASS_DYNAMIC];
    double service_us = ka_hist_mean(&t->service);

    return apr_psprintf(
        p,
        "%s dynamic requests a second x %s each are %s in progress in the mean "
        "and %s at once in the busiest period (R17, [M12])",
        ka_words_number(p, t->requests_per_s),
        ka_words_duration(p, service_us),
        ka_words_number(p, t->requests_per_s * service_us / 1e6),
        ka_words_whole(p, peak));
}

/* A row for any MPM, or for the answer's. */
static ka_advice *push(const ka_row_context *c, const char *directive,
                       const ka_fact *now, int64_t to, bool any_mpm)
{
    apr_pool_t *p = c->d->pool;
    ka_advice *row = ka_row_push(c, "R17", directive, "reload");

    row->mpm = any_mpm ? KA_MPM_N : row->mpm;
    row->from =
        now->known ? apr_psprintf(p, "%" PRId64, now->value) : NULL;
    row->to = apr_psprintf(p, "%" PRId64, to);
    row->change = now->known && to != now->value;
    row->where = now->origin;
    return row;
}

static void add_demand(const ka_row_context *c, ka_advice *row, double peak)
{
    const ka_traffic *t = &c->d->report->profile->classes[KA_CLASS_DYNAMIC];

    ka_row_evidence(row, "dynamic_requests_per_s", t->requests_per_s);
    ka_row_evidence(row, "dynamic_service_s", ka_hist_mean(&t->service) / 1e6);
    ka_row_evidence(row, "dynamic_busy_peak", peak);
}

/* ---- mod_fcgid ---------------------------------------------------------- */

static void advise_fcgid(const ka_row_context *c, const ka_cfg_backend *b,
                         double peak)
{
    int64_t to = (int64_t)peak;
    ka_advice *row;

    if (!b->max.known || b->max.value <= 0) {
        return;
    }
    to = to > b->max.value ? to : b->max.value;
    row = push(c, "FcgidMaxProcesses", &b->max, to, true);
    row->because = apr_psprintf(
        c->d->pool, "%s: %s.", demand(c, peak),
        row->change ? "fewer processes let requests wait"
                    : "the present limit is enough");
    add_demand(c, row, peak);
}

/* ---- ProxyPass max= ------------------------------------------------------ */

/* Connections of one child to the backend.  httpd's own default, as many as
 * the child has threads, never lets one wait. */
static int64_t proxy_max(const ka_row_context *c)
{
    const ka_mpm_answer *a = c->answer;
    int64_t threads = a->supply.threads_per_child;
    int64_t workers = a->block_known
                          ? a->block.value[KA_BLOCK_MAX_REQUEST_WORKERS]
                          : ka_workers_now(c->d->report, a->mpm);
    int64_t children = threads > 0 ? workers / threads : 1;
    double share =
        ka_class_busy_share(c->d->report->profile, KA_CLASS_DYNAMIC);
    double need = ka_class_peak_of_part(c->to, share, c->d->options->growth,
                                        children > 0 ? children : 1);

    return threads > 0 && need > (double)threads ? threads : (int64_t)need;
}

static void advise_proxy(const ka_row_context *c, const ka_cfg_backend *b,
                         double peak)
{
    apr_pool_t *p = c->d->pool;
    int64_t to;
    ka_advice *row;

    if (!b->max.known || b->max.value <= 0 || c->d->report->answer_n > 1) {
        return;
    }
    to = proxy_max(c);
    to = to > b->max.value ? to : b->max.value;
    row = push(c, "ProxyPass max=", &b->max, to, false);
    row->because = apr_psprintf(
        p,
        "To %s: %s. It counts for each child: %s; httpd's own default, as "
        "many as a child has threads, is never too few.",
        ka_words_clean(p, b->url, false), demand(c, peak),
        row->change ? "fewer let requests wait for a connection"
                    : "the present one is enough");
    add_demand(c, row, peak);
}

/* ---- php-fpm ------------------------------------------------------------- */

/* The most children that memory holds, by those that run; INT64_MAX where it
 * is not known. */
static int64_t children_that_fit(const ka_row_context *c,
                                 const ka_fpm_size *size)
{
    const ka_site *site = c->d->report->site;
    int64_t room = site->budget.bytes - c->fit->memory_bytes;

    if (!size->known || site->budget.n == 0 || c->fit->memory_bytes < 0) {
        return INT64_MAX;
    }
    return size->children + (room > 0 ? room / size->bytes : 0);
}

static const char *memory_text(const ka_row_context *c,
                               const ka_fpm_size *size, int64_t fit,
                               int64_t need)
{
    apr_pool_t *p = c->d->pool;

    if (!size->known) {
        return " What a child of php-fpm takes was not measured: check that "
               "so many fit.";
    }
    if (fit < need) {
        return apr_psprintf(
            p,
            " A child takes %s, so beside httpd memory holds %s of them, no "
            "more: shorter answers, or more memory, are the way.",
            ka_words_size(p, size->bytes), ka_words_count(p, fit));
    }
    return apr_psprintf(p, " A child takes %s: that fits.",
                        ka_words_size(p, size->bytes));
}

static void advise_fpm(const ka_row_context *c, const ka_fpm_pool *pool,
                       double peak)
{
    apr_pool_t *p = c->d->pool;
    ka_fpm_size size = ka_fpm_size_of(c->d->report->site);
    int64_t fit = children_that_fit(c, &size), need = (int64_t)peak;
    int64_t now = pool->max_children.value, to;
    ka_advice *row;

    if (!pool->max_children.known) {
        return;
    }
    to = need < fit ? need : fit;
    to = to > now ? to : now;
    row = push(c, "pm.max_children", &pool->max_children, to, true);
    row->because = apr_psprintf(
        p, "php-fpm's pool %s: %s; %s.%s", ka_words_clean(p, pool->name, false),
        demand(c, peak),
        need > now ? "with fewer children, requests wait in its queue and hold "
                     "a worker of httpd's meanwhile; reload php-fpm"
                   : "the present limit is enough",
        need > now ? memory_text(c, &size, fit, need) : "");
    add_demand(c, row, peak);
    if (size.known) {
        ka_row_evidence(row, "child_bytes", (double)size.bytes);
    }
}

/* ---- all of them --------------------------------------------------------- */

typedef void advise_fn(const ka_row_context *c, const ka_cfg_backend *b,
                       double peak);

static void advise_fcgi(const ka_row_context *c, const ka_cfg_backend *b,
                        double peak)
{
    const ka_fpm_pool *pool =
        ka_fpm_at(c->d->report->site->fpm_pools, b->address);

    advise_proxy(c, b, peak);
    if (pool) {
        advise_fpm(c, pool, peak);
    }
}

static advise_fn *const kinds[] = {[KA_CFG_BACKEND_HTTP] = advise_proxy,
                                   [KA_CFG_BACKEND_AJP] = advise_proxy,
                                   [KA_CFG_BACKEND_FCGI] = advise_fcgi,
                                   [KA_CFG_BACKEND_SCGI] = advise_proxy,
                                   [KA_CFG_BACKEND_FCGID] = advise_fcgid,
                                   [KA_CFG_BACKEND_OTHER] = NULL};

void ka_rows_backends(const ka_row_context *c)
{
    const ka_report *r = c->d->report;
    double peak = peak_of(c);
    const apr_array_header_t *all;
    int i;

    /* What does not depend on the MPM is said once. */
    if (peak <= 0 || !ka_backends_known(r) || c->answer != r->answers) {
        return;
    }
    all = r->site->httpd->server->backends;
    for (i = 0; i < all->nelts; i++) {
        const ka_cfg_backend *b = &APR_ARRAY_IDX(all, i, ka_cfg_backend);

        if ((size_t)b->kind < sizeof(kinds) / sizeof(kinds[0]) &&
            kinds[b->kind] && ka_backend_is_first(all, i)) {
            kinds[b->kind](c, b, peak);
        }
    }
}
