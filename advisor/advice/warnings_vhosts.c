/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What an operator must know about virtual hosts (R3). */
#include "vhosts.h"

#include <inttypes.h>
#include <string.h>
#include <apr_strings.h>

#include "../host/config_text.h"
#include "../words.h"

/* More are counted, not listed. */
#define LISTED 8
#define SECOND_US INT64_C(1000000)

/* ---- lists -------------------------------------------------------------- */

typedef struct list {
    const char *text;
    int n;
} list;

static void list_add(list *l, apr_pool_t *pool, const char *item)
{
    if (l->n < LISTED) {
        l->text = l->n ? apr_pstrcat(pool, l->text, ", ", item, NULL) : item;
    }
    l->n++;
}

static const char *list_text(const list *l, apr_pool_t *pool)
{
    return l->n > LISTED ? apr_psprintf(pool, "%s and %d more", l->text,
                                        l->n - LISTED)
                         : l->text;
}

/* ---- the configuration -------------------------------------------------- */

static const ka_httpd *httpd_of(const ka_decision *d)
{
    const ka_site *site = d->report->site;

    return site && site->httpd->server && site->httpd->tree ? site->httpd
                                                            : NULL;
}

static const ka_cfg_vhost *vhost_at(const ka_httpd *httpd, int i)
{
    return &APR_ARRAY_IDX(httpd->server->vhosts, i, ka_cfg_vhost);
}

static const char *label(const ka_decision *d, const ka_httpd *httpd, int i)
{
    return ka_words_clean(
        d->pool, ka_cfg_vhost_label(httpd->server, i, d->pool), false);
}

static bool in_vhost(const ka_httpd *httpd, const ka_cfg_node *node)
{
    return !node->section && node->parent != KA_CFG_TOP &&
           ka_cfg_is(ka_cfg_node_at(httpd->tree, node->parent), "VirtualHost");
}

/* How httpd marks "not set here". */
static bool is_zero_timeout(const ka_cfg_node *node)
{
    int64_t us;

    return ka_cfg_is(node, "KeepAliveTimeout") &&
           !ka_cfg_time(&us, node->args) && us == 0;
}

static bool is_keepalive(const ka_cfg_node *node)
{
    static const char *const names[] = {"KeepAlive", "KeepAliveTimeout",
                                        "MaxKeepAliveRequests"};
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (ka_cfg_is(node, names[i])) {
            return !is_zero_timeout(node);
        }
    }
    return false;
}

static list settings_of_vhosts(const ka_decision *d, const ka_httpd *httpd,
                               bool (*wanted)(const ka_cfg_node *node))
{
    list l = {0};
    int i;

    for (i = 0; i < httpd->tree->nodes->nelts; i++) {
        const ka_cfg_node *node = ka_cfg_node_at(httpd->tree, i);

        if (in_vhost(httpd, node) && wanted(node)) {
            list_add(&l, d->pool,
                     apr_psprintf(
                         d->pool, "%s %s of %s (%s:%d)", node->name,
                         ka_words_clean(d->pool, node->args, false),
                         label(d, httpd,
                               ka_cfg_vhost_of(httpd->server, httpd->tree, i)),
                         node->file, node->line));
        }
    }
    return l;
}

const char *ka_warn_vhost_overrides(const ka_decision *d)
{
    const ka_httpd *httpd = httpd_of(d);
    list l = {0};

    if (httpd) {
        l = settings_of_vhosts(d, httpd, is_keepalive);
    }
    return l.n == 0 ? NULL
                    : apr_psprintf(d->pool,
                                   "Virtual hosts that set these themselves "
                                   "keep their own values, whatever is set "
                                   "for all (R3): %s.",
                                   list_text(&l, d->pool));
}

const char *ka_warn_vhost_zero(const ka_decision *d)
{
    const ka_httpd *httpd = httpd_of(d);
    list l = {0};

    if (httpd) {
        l = settings_of_vhosts(d, httpd, is_zero_timeout);
    }
    return l.n == 0 ? NULL
                    : apr_psprintf(d->pool,
                                   "KeepAliveTimeout 0 within a virtual host "
                                   "is not Off: the server's own value holds "
                                   "(R3). KeepAlive Off is what closes at "
                                   "once: %s.",
                                   list_text(&l, d->pool));
}

/* The first of the address sets a timeout of its own, and this one none. */
static bool takes_the_first(const ka_httpd *httpd, int i)
{
    const ka_cfg_vhost *own = vhost_at(httpd, i);
    const ka_cfg_vhost *first = vhost_at(httpd, own->first_of_address);

    return own->first_of_address != i && !own->sets_timeout &&
           own->idle_timeout.known && own->keep_alive_timeout.known &&
           first->sets_timeout &&
           own->idle_timeout.value != own->keep_alive_timeout.value;
}

const char *ka_warn_vhost_first(const ka_decision *d)
{
    const ka_httpd *httpd = httpd_of(d);
    list l = {0};
    int i;

    for (i = 1; httpd && i < httpd->server->vhosts->nelts; i++) {
        const ka_cfg_vhost *own = vhost_at(httpd, i);

        if (takes_the_first(httpd, i)) {
            list_add(&l, d->pool,
                     apr_psprintf(
                         d->pool, "%s (%s) waits %s, which %s sets at %s",
                         label(d, httpd, i), own->origin,
                         ka_words_timeout(d->pool, own->idle_timeout.value),
                         label(d, httpd, own->first_of_address),
                         own->idle_timeout.origin));
        }
    }
    return l.n == 0 ? NULL
                    : apr_psprintf(d->pool,
                                   "The first virtual host of an address and "
                                   "port gives its KeepAliveTimeout to those "
                                   "behind it that set none (R3), not the "
                                   "server: %s.",
                                   list_text(&l, d->pool));
}

/* ---- under a second ----------------------------------------------------- */

static bool is_below(const ka_fact *timeout)
{
    return timeout->known && timeout->value > 0 && timeout->value < SECOND_US;
}

static void list_present(list *l, const ka_decision *d)
{
    const ka_httpd *httpd = httpd_of(d);
    int i;

    for (i = 0; httpd && i < httpd->server->vhosts->nelts; i++) {
        const ka_cfg_vhost *own = vhost_at(httpd, i);

        if (is_below(&own->idle_timeout)) {
            list_add(l, d->pool,
                     apr_psprintf(
                         d->pool, "%s of %s (%s)",
                         ka_words_timeout(d->pool, own->idle_timeout.value),
                         label(d, httpd, i), own->idle_timeout.origin));
        }
    }
}

static void list_proposed(list *l, const ka_decision *d)
{
    size_t i;

    for (i = 0; i < d->report->advice_n; i++) {
        const ka_advice *a = &d->report->advice[i];

        if (a->change && a->to && !strcmp(a->directive, "KeepAliveTimeout") &&
            strstr(a->to, "ms")) {
            list_add(l, d->pool,
                     apr_psprintf(d->pool, "%s, as proposed%s%s", a->to,
                                  a->vhost ? " for " : "",
                                  ka_words_clean(d->pool, a->vhost, false)));
        }
    }
}

const char *ka_warn_below_second(const ka_decision *d)
{
    list l = {0};

    list_present(&l, d);
    list_proposed(&l, d);
    return l.n == 0 ? NULL
                    : apr_psprintf(d->pool,
                                   "A KeepAliveTimeout under 1s works, but the "
                                   "Keep-Alive header then says timeout=0 (R3),"
                                   " and clients that heed it do not reuse the "
                                   "connection: %s.",
                                   list_text(&l, d->pool));
}

/* ---- several ------------------------------------------------------------ */

typedef struct counts {
    int own, few, judged;
} counts;

static counts count(const ka_decision *d)
{
    const ka_profile *p = d->report->profile;
    counts n = {0};
    size_t i;

    for (i = 0; d->report->answer_n && i < p->vhost_n; i++) {
        ka_vhost_choice v =
            ka_vhost_judge(d, &d->report->answers[0], &p->vhosts[i]);

        n.few += v.ask == KA_VHOST_FEW;
        n.judged += v.ask != KA_VHOST_FEW;
    }
    for (i = 0; i < d->report->advice_n; i++) {
        const ka_advice *a = &d->report->advice[i];

        n.own += a->vhost != NULL && a->mpm == d->report->answers[0].mpm;
    }
    return n;
}

static const char *differ_text(const ka_decision *d, const counts *n)
{
    if (n->own > 0) {
        return apr_psprintf(d->pool,
                            "%s by their own traffic for other settings than "
                            "all together: they have rows of their own.",
                            n->own == 1 ? "1 virtual host asks"
                                        : apr_psprintf(d->pool,
                                                       "%d virtual hosts ask",
                                                       n->own));
    }
    return n->judged == 0
               ? ""
               : "None asks for another KeepAliveTimeout than all together "
                 "that would free, or save in new connections, 5% of what "
                 "there is.";
}

static const char *few_text(const ka_decision *d, const counts *n)
{
    return n->few == 0
               ? ""
               : apr_psprintf(d->pool,
                              " %s under 1,000 requests, too few to judge it "
                              "by itself.",
                              n->few == 1 ? "1 virtual host has"
                                          : apr_psprintf(
                                                d->pool,
                                                "%d virtual hosts have each",
                                                n->few));
}

const char *ka_warn_vhosts(const ka_decision *d)
{
    counts n;

    if (!ka_vhosts_several(d->report) && d->report->profile->vhost_n < 2) {
        return NULL;
    }
    n = d->report->verdict.refused || d->report->host_n > 0 ? (counts){0}
                                                            : count(d);
    return apr_pstrcat(
        d->pool, differ_text(d, &n), few_text(d, &n),
        n.judged || n.few ? " " : "",
        httpd_of(d) ? "A KeepAliveTimeout for all belongs into the server "
                      "configuration (R3)."
                    : "Several virtual hosts: httpd takes KeepAliveTimeout "
                      "from the first virtual host of the address and port "
                      "unless the virtual host that serves the request sets "
                      "its own (R3). Set it in the server configuration, or "
                      "in each of them.",
        NULL);
}
