/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * KeepAlive and KeepAliveTimeout of single virtual hosts (R3, [M18]). */
#include "rows.h"

#include <math.h>
#include <string.h>
#include <apr_strings.h>

#include <ka_units.h>
#include "../host/config_names.h"
#include "../words.h"
#include "parts.h"
#include "vhosts.h"

/* Under it a connection less a minute, or a twentieth of a worker, would count
 * on a quiet server. */
#define HELD_LEAST 0.5
#define OPENS_LEAST (1 / 60.0)

/* The shortest that the Keep-Alive header can say; as for the whole. */
#define SHORTEST_US INT64_C(1000000)

/* ---- what it asks for --------------------------------------------------- */

static void find_sections(ka_vhost_choice *c, const ka_decision *d,
                          const ka_traffic *vhost)
{
    const ka_site *site = d->report->site;

    if (site && site->httpd->server) {
        c->section_n =
            ka_cfg_vhosts_named(c->sections, KA_VHOST_SECTIONS,
                                site->httpd->server, vhost->name, d->pool);
    }
}

static const ka_cfg_vhost *section_of(const ka_decision *d,
                                      const ka_vhost_choice *c, size_t i)
{
    return &APR_ARRAY_IDX(d->report->site->httpd->server->vhosts,
                          c->sections[i], ka_cfg_vhost);
}

ka_fact ka_vhost_timeout(const ka_decision *d, const ka_vhost_choice *c)
{
    ka_fact fact = {.known = false};
    size_t i;

    for (i = 0; i < c->section_n; i++) {
        const ka_fact *own = &section_of(d, c, i)->idle_timeout;

        if (!own->known || (i > 0 && own->value != fact.value)) {
            return (ka_fact){.known = false};
        }
        fact = *own;
    }
    return fact;
}

/* What cut this virtual host's own connections. */
static int64_t limit_of(const ka_decision *d, const ka_vhost_choice *c)
{
    ka_fact own = ka_vhost_timeout(d, c);

    return own.known && own.value < d->report->timeout_us
               ? own.value
               : d->report->timeout_us;
}

static void compare(ka_vhost_choice *c, const ka_decision *d,
                    const ka_traffic *vhost, size_t common)
{
    const ka_report *r = d->report;
    ka_part now = ka_part_at(r, vhost, common);
    ka_part to = ka_part_at(r, vhost, c->index);

    c->idle_now = now.idle_mean;
    c->idle_mean = to.idle_mean;
    c->reuse_now = now.reuse;
    c->reuse = to.reuse;
    if (r->profile->window_s > 0) {
        c->opens_less = (to.follows - now.follows) / r->profile->window_s;
    }
}

static ka_vhost_ask shorter(const ka_vhost_choice *c, const ka_decision *d,
                            const ka_mpm_answer *answer, size_t common)
{
    double frees = c->idle_now - c->idle_mean;

    if (!answer->supply.holds_idle || frees < HELD_LEAST ||
        frees < KA_VHOST_WORTH * d->report->low[common].held_mean) {
        return KA_VHOST_SAME;
    }
    return c->index == 0 ? KA_VHOST_OFF : KA_VHOST_SHORTER;
}

static ka_vhost_ask longer(const ka_vhost_choice *c, const ka_decision *d,
                           const ka_mpm_answer *answer, size_t common)
{
    const ka_outcome *now = &d->report->low[common];

    return answer->fits[c->index].fits == 1 && c->opens_less >= OPENS_LEAST &&
                   c->opens_less >= KA_VHOST_WORTH * now->connections_per_s
               ? KA_VHOST_LONGER
               : KA_VHOST_SAME;
}

/* Where the gaps reach up to what cuts them, what would be enough is not
 * known: such a virtual host asks for nothing. */
static bool is_cut(const ka_report *r, const ka_vhost_choice *c, size_t last)
{
    return c->index == last && !r->profile->longer_known;
}

static size_t at_least_shortest(const ka_report *r, size_t index)
{
    while (index > 0 && index + 1 < r->timeout_n &&
           r->low[index].timeout_us < SHORTEST_US) {
        index++;
    }
    return index;
}

ka_vhost_choice ka_vhost_judge(const ka_decision *d,
                               const ka_mpm_answer *answer,
                               const ka_traffic *vhost)
{
    const ka_report *r = d->report;
    ka_vhost_choice c = {.ask = KA_VHOST_SAME, .index = answer->choice.index};
    size_t common = answer->choice.index, last;

    find_sections(&c, d, vhost);
    if (vhost->requests < KA_PART_REQUESTS) {
        c.ask = KA_VHOST_FEW;
        return c;
    }
    last = ka_part_last(r, limit_of(d, &c));
    if (last == 0) {
        return c;
    }
    c.index = ka_part_knee(r, vhost, last, d->options->delta);
    if (is_cut(r, &c, last)) {
        c.index = common;
        return c;
    }
    c.index = at_least_shortest(r, c.index);
    compare(&c, d, vhost, common);
    if (c.index < common) {
        c.ask = shorter(&c, d, answer, common);
    }
    else if (c.index > common) {
        c.ask = longer(&c, d, answer, common);
    }
    return c;
}

bool ka_vhosts_several(const ka_report *report)
{
    return report->profile->vhost_n + report->profile->vhosts_more > 1 &&
           report->host_n == 0;
}

/* ---- the row ------------------------------------------------------------ */

static const char *where_of(const ka_decision *d, const ka_vhost_choice *c)
{
    const char *where = NULL;
    size_t i;

    for (i = 0; i < c->section_n; i++) {
        const ka_cfg_vhost *vhost = section_of(d, c, i);

        if (vhost->node != KA_CFG_TOP) {
            where = where ? apr_pstrcat(d->pool, where, ", ", vhost->origin,
                                        NULL)
                          : vhost->origin;
        }
    }
    return where;
}

/* KeepAlive as all of its sections have it; NULL: not known, or differs. */
static const char *keep_alive_of(const ka_decision *d,
                                 const ka_vhost_choice *c)
{
    const ka_fact *first = NULL;
    size_t i;

    for (i = 0; i < c->section_n; i++) {
        const ka_fact *own = &section_of(d, c, i)->keep_alive;

        if (!own->known || (first && first->value != own->value)) {
            return NULL;
        }
        first = own;
    }
    return first ? (first->value ? "On" : "Off") : NULL;
}

static const char *why_off(const ka_row_context *c, const ka_vhost_choice *v,
                           const ka_traffic *vhost)
{
    apr_pool_t *p = c->d->pool;

    return apr_psprintf(
        p,
        "Only %s of its %s requests are followed by another on their "
        "connection (R14): with %s, as proposed for all, they would keep %s "
        "workers idle in the mean for nothing.",
        ka_words_share(p, v->reuse_now),
        ka_words_count(p, (int64_t)vhost->requests),
        ka_words_timeout(p, c->to->timeout_us),
        ka_words_number(p, v->idle_now));
}

static const char *why_shorter(const ka_row_context *c,
                               const ka_vhost_choice *v,
                               const ka_traffic *vhost)
{
    apr_pool_t *p = c->d->pool;

    return apr_psprintf(
        p,
        "Its requests follow each other sooner (R3): it keeps %s workers idle "
        "in the mean instead of %s at %s, as proposed for all, and %s of its "
        "%s requests reuse a connection (%s at %s).",
        ka_words_number(p, v->idle_mean), ka_words_number(p, v->idle_now),
        ka_words_timeout(p, c->to->timeout_us), ka_words_share(p, v->reuse),
        ka_words_count(p, (int64_t)vhost->requests),
        ka_words_share(p, v->reuse_now),
        ka_words_timeout(p, c->to->timeout_us));
}

static const char *idle_unit(const ka_row_context *c)
{
    return c->answer->supply.holds_idle ? "workers" : "connections";
}

static const char *why_longer(const ka_row_context *c,
                              const ka_vhost_choice *v,
                              const ka_traffic *vhost)
{
    apr_pool_t *p = c->d->pool;

    return apr_psprintf(
        p,
        "Its clients come back later (R3): %s instead of %s of its %s "
        "requests would reuse a connection, %s connections a second less are "
        "opened, and %s %s are held idle in the mean instead of %s. All "
        "virtual hosts together would fit even with it.",
        ka_words_share(p, v->reuse), ka_words_share(p, v->reuse_now),
        ka_words_count(p, (int64_t)vhost->requests),
        ka_words_number(p, v->opens_less), ka_words_number(p, v->idle_mean),
        idle_unit(c), ka_words_number(p, v->idle_now));
}

/* What is above T0 rests on linked connections (MODEL 6). */
static ka_confidence confidence_of(const ka_row_context *c,
                                   const ka_vhost_choice *v)
{
    const ka_report *r = c->d->report;
    ka_confidence own = r->low[v->index].measured ? KA_CONFIDENCE_HIGH
                                                  : KA_CONFIDENCE_MEDIUM;

    return own < r->verdict.confidence ? own : r->verdict.confidence;
}

static const char *(*const why[])(const ka_row_context *c,
                                  const ka_vhost_choice *v,
                                  const ka_traffic *vhost) = {
    [KA_VHOST_SHORTER] = why_shorter,
    [KA_VHOST_LONGER] = why_longer,
    [KA_VHOST_OFF] = why_off};

static void text_evidence(ka_advice *row, const char *name, const char *text)
{
    if (text && row->evidence_n < KA_EVIDENCE_MAX) {
        row->evidence[row->evidence_n++] =
            (ka_evidence){.name = name, .is_text = true, .text = text};
    }
}

/* Others of its address that set none take the timeout of the first. */
static bool others_take_it(const ka_decision *d, const ka_vhost_choice *c)
{
    const apr_array_header_t *all;
    size_t k;
    int i;

    for (k = 0; k < c->section_n; k++) {
        all = d->report->site->httpd->server->vhosts;
        for (i = 1; i < all->nelts; i++) {
            const ka_cfg_vhost *v = &APR_ARRAY_IDX(all, i, ka_cfg_vhost);

            if (i != c->sections[k] && !v->sets_timeout &&
                v->first_of_address == c->sections[k]) {
                return true;
            }
        }
    }
    return false;
}

static void advise_vhost(const ka_row_context *c, const ka_traffic *vhost,
                         const ka_vhost_choice *v)
{
    char buffer[KA_UNITS_BUFFER];
    apr_pool_t *p = c->d->pool;
    const ka_report *r = c->d->report;
    ka_fact now = ka_vhost_timeout(c->d, v);
    bool off = v->ask == KA_VHOST_OFF;
    ka_advice *row = ka_row_push(
        c, off ? "R14" : "R3", off ? "KeepAlive" : "KeepAliveTimeout",
        "reload");

    row->vhost = vhost->name;
    row->where = where_of(c->d, v);
    row->from = off          ? keep_alive_of(c->d, v)
                : !now.known ? NULL
                             : apr_pstrdup(p, ka_print_httpd_time(buffer,
                                                                  now.value));
    row->to = off ? "Off"
                  : apr_pstrdup(p, ka_print_httpd_time(
                                       buffer, r->low[v->index].timeout_us));
    row->change = !row->from || strcmp(row->from, row->to) != 0;
    row->confidence = confidence_of(c, v);
    row->because = why[v->ask](c, v, vhost);
    if (!off && others_take_it(c->d, v)) {
        row->because = apr_pstrcat(
            p, row->because,
            " It is the first of its address: those behind it that set none "
            "take this value too, so give them theirs.", NULL);
    }
    ka_row_evidence(row, "requests", (double)vhost->requests);
    ka_row_evidence(row, "reuse", v->reuse);
    ka_row_evidence(row, "reuse_common", v->reuse_now);
    ka_row_evidence(row, "idle_mean", v->idle_mean);
    ka_row_evidence(row, "idle_mean_common", v->idle_now);
    text_evidence(row, "section", row->where);
    text_evidence(row, "from_origin", now.known ? now.origin : NULL);
}

/* Behind a proxy all of them must outlast its idle timeout (R1); with
 * KeepAlive Off for all there is no timeout to differ from. */
static bool may_differ(const ka_row_context *c)
{
    return ka_vhosts_several(c->d->report) &&
           c->to->timeout_us != KA_TIMEOUT_OFF &&
           c->answer->choice.reason != KA_CHOICE_PROXY;
}

void ka_rows_vhosts(const ka_row_context *c)
{
    const ka_profile *p = c->d->report->profile;
    size_t i;

    if (!may_differ(c)) {
        return;
    }
    for (i = 0; i < p->vhost_n; i++) {
        ka_vhost_choice v = ka_vhost_judge(c->d, c->answer, &p->vhosts[i]);

        if (v.ask >= KA_VHOST_SHORTER) {
            advise_vhost(c, &p->vhosts[i], &v);
        }
    }
}
