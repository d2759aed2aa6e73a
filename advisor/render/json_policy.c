/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * `policy`: what mod_kapolicy would do.
 *
 *   lines      directives, in order; active: in force with the rest of the
 *              file, since httpd has the module; kept: they are so already,
 *              and nothing is proposed
 *   by_class   static_timeout_s, dynamic_timeout_s (0: close); one, policy:
 *              what all under one KeepAliveTimeout, and these, would do
 *   by_load    min_s, max_s, low_percent, high_percent; fixed, wanted,
 *              by_load: played with the block proposed, under `traffic`
 *   by_proxy   proxy_timeout_s, others_timeout_s; all, none: bounds
 */
#include "jsonparts.h"

#include <math.h>

static json_t *workers(double n)
{
    return isfinite(n) ? json_integer((json_int_t)ceil(n)) : json_null();
}

static json_t *side(const ka_policy_side *s)
{
    const ka_outcome *o = &s->outcome;

    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "timeout_s",
        ka_doc_timeout(o->timeout_us), "connections",
        ka_doc_whole((int64_t)o->connections), "connections_per_s",
        ka_doc_number(o->connections_per_s), "reuse", ka_doc_number(o->reuse),
        "idle_mean", ka_doc_number(o->idle_mean), "held_mean",
        ka_doc_number(o->held_mean), "held_p999", ka_doc_number(o->held.p999),
        "held_peak", ka_doc_number(o->held.peak), "workers_needed",
        workers(s->fit.workers), "memory_bytes",
        ka_doc_whole(s->fit.memory_bytes));
}

static json_t *by_class(const ka_policy_by_class *by, apr_pool_t *pool)
{
    return by->proposed
               ? json_pack("{s:o, s:o, s:b, s:o, s:o, s:o}", "static_timeout_s",
                           ka_doc_timeout(by->after_us[KA_CLASS_STATIC]),
                           "dynamic_timeout_s",
                           ka_doc_timeout(by->after_us[KA_CLASS_DYNAMIC]),
                           "estimated",
                           (int)by->estimated, "one", side(&by->one), "policy",
                           side(&by->policy), "because",
                           ka_doc_text(by->because, pool))
               : json_null();
}

static json_t *played(const ka_policy_by_load *by, const ka_sim_result *r)
{
    const ka_outcome *o = &r->outcome;

    return by->why_not
               ? json_null()
               : json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                           "connections", ka_doc_whole((int64_t)o->connections),
                           "reuse", ka_doc_number(o->reuse), "held_mean",
                           ka_doc_number(o->held_mean), "waited",
                           ka_doc_whole((int64_t)r->waited), "wait_p99_s",
                           ka_doc_seconds(r->wait_p99_us), "wait_max_s",
                           ka_doc_seconds(r->wait_most_us), "waits_cut",
                           ka_doc_whole((int64_t)r->cut_waits), "closed_full",
                           ka_doc_whole((int64_t)r->closed_full));
}

static json_t *by_load(const ka_policy_by_load *by, apr_pool_t *pool)
{
    const ka_adaptive *a = &by->adaptive;

    return by->proposed
               ? json_pack("{s:o, s:o, s:i, s:i, s:o, s:o, s:o, s:o, s:o, s:o}",
                           "min_s", ka_doc_seconds(a->min_us), "max_s",
                           ka_doc_seconds(a->max_us), "low_percent",
                           (int)a->low, "high_percent", (int)a->high, "fixed",
                           played(by, &by->fixed), "wanted",
                           played(by, &by->wanted), "by_load",
                           played(by, &by->by_load), "traffic",
                           ka_doc_text(by->traffic, pool), "not_predicted",
                           ka_doc_text(by->why_not, pool), "because",
                           ka_doc_text(by->because, pool))
               : json_null();
}

static json_t *by_proxy(const ka_policy_by_proxy *by, apr_pool_t *pool)
{
    return by->proposed
               ? json_pack("{s:o, s:o, s:o, s:o, s:o}", "proxy_timeout_s",
                           ka_doc_timeout(by->proxy_us), "others_timeout_s",
                           ka_doc_timeout(by->others_us), "all", side(&by->all),
                           "none", side(&by->none), "because",
                           ka_doc_text(by->because, pool))
               : json_null();
}

json_t *ka_doc_policy(const ka_report *report, apr_pool_t *pool)
{
    const ka_policy_advice *p = &report->policy;
    json_t *lines;
    size_t i;

    if (p->line_n == 0) {
        return json_null();
    }
    lines = json_array();
    for (i = 0; i < p->line_n; i++) {
        json_array_append_new(lines, ka_doc_text(p->lines[i], pool));
    }
    return json_pack("{s:o, s:b, s:b, s:o, s:o, s:o, s:o}", "lines", lines,
                     "active", (int)p->active, "kept", (int)p->kept, "to_use",
                     ka_doc_text(p->to_use, pool), "by_class",
                     by_class(&p->by_class, pool), "by_load",
                     by_load(&p->by_load, pool), "by_proxy",
                     by_proxy(&p->by_proxy, pool));
}
