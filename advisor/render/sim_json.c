/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * `kaadvisor simulate` for programs, schema "kaadvisor/simulate/1". */
#include "sim.h"

#include <ka_units.h>

#include "jsonparts.h"

static json_t *value_of(const ka_fact *fact, ka_fact_unit unit)
{
    switch (unit) {
    case KA_FACT_US:
        return ka_doc_seconds(fact->value);
    case KA_FACT_ONOFF:
        return json_boolean(fact->value != 0);
    case KA_FACT_MPM:
        return json_string(ka_mpm_name((int32_t)fact->value));
    default:
        return ka_doc_whole(fact->value);
    }
}

static json_t *settings(const ka_sim_side *side, apr_pool_t *pool)
{
    json_t *object = json_object();
    size_t n, i;
    const ka_setting_id *ids = ka_sim_settings(&n, side->mpm);

    for (i = 0; i < n; i++) {
        const ka_fact_info *info = ka_setting_info_of(ids[i]);
        const ka_fact *fact = &side->settings.facts[ids[i]];

        if (fact->known) {
            json_object_set_new(
                object, info->key,
                json_pack("{s:o, s:o}", "value", value_of(fact, info->unit),
                          "origin", ka_doc_text(fact->origin, pool)));
        }
    }
    return object;
}

static json_t *held(const ka_held *h)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "mean",
                     ka_doc_number(h->mean), "variance",
                     ka_doc_number(h->variance), "p99", ka_doc_number(h->p99),
                     "p999", ka_doc_number(h->p999), "peak",
                     ka_doc_number(h->peak));
}

static json_t *timeout(int64_t us)
{
    return us < 0 ? json_string("off") : ka_doc_seconds(us);
}

static json_t *outcome(const ka_outcome *o)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "timeout_s",
        timeout(o->timeout_us), "requests", ka_doc_whole((int64_t)o->requests),
        "connections", ka_doc_whole((int64_t)o->connections),
        "connections_per_s", ka_doc_number(o->connections_per_s), "reuse",
        ka_doc_number(o->reuse), "timeout_closes",
        ka_doc_whole((int64_t)o->timeout_closes), "idle_mean",
        ka_doc_number(o->idle_mean), "busy_mean", ka_doc_number(o->busy_mean),
        "held_mean", ka_doc_number(o->held_mean), "held", held(&o->held),
        "busy", held(&o->busy));
}

static json_t *series(const ka_sim_result *r)
{
    json_t *points = json_array();
    size_t i;

    for (i = 0; i < r->point_n; i++) {
        const ka_sim_point *p = &r->points[i];

        json_array_append_new(
            points,
            json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                      "t_s", ka_doc_seconds((int64_t)i * r->step_us),
                      "children", ka_doc_whole(p->children), "busy",
                      ka_doc_whole(p->busy), "free", ka_doc_whole(p->free),
                      "connections", ka_doc_whole(p->connections), "waiting",
                      ka_doc_whole(p->waiting), "refused",
                      ka_doc_whole(p->refused), "evicted",
                      ka_doc_whole(p->evicted), "dropped",
                      ka_doc_whole(p->dropped), "memory_bytes",
                      ka_doc_whole(p->memory_bytes)));
    }
    return json_pack("{s:o, s:o}", "step_s", ka_doc_seconds(r->step_us),
                     "points", points);
}

static json_t *texts(const char *const *items, size_t n, apr_pool_t *pool)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < n; i++) {
        json_array_append_new(array, ka_doc_text(items[i], pool));
    }
    return array;
}

static json_t *children(const ka_sim_result *r)
{
    return json_pack("{s:o, s:o, s:o, s:o}", "mean",
                     ka_doc_number(r->children_mean), "peak",
                     ka_doc_whole(r->children_most), "started",
                     ka_doc_whole((int64_t)r->spawned), "ended",
                     ka_doc_whole((int64_t)r->ended));
}

static json_t *memory(const ka_sim_result *r)
{
    return json_pack("{s:o, s:o}", "mean",
                     r->memory_most_bytes < 0
                         ? json_null()
                         : ka_doc_number(r->memory_mean_bytes),
                     "peak", ka_doc_whole(r->memory_most_bytes));
}

/* ---- mod_kapolicy ------------------------------------------------------- */

static json_t *rules(const ka_sim_side *side, apr_pool_t *pool)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < side->rule_n; i++) {
        const ka_sim_rule *rule = &side->rules[i];

        json_array_append_new(
            array, json_pack("{s:o, s:o, s:o, s:b}", "directive",
                             ka_doc_text(rule->directive, pool), "value",
                             ka_doc_text(rule->value, pool), "origin",
                             ka_doc_text(rule->origin, pool), "obeyed",
                             (int)rule->obeyed));
    }
    return array;
}

static json_t *after(const ka_sim_side *side, int64_t us)
{
    return !side->config.policy || us == KA_POLICY_STAYS ? json_null()
                                                         : timeout(us);
}

static json_t *adaptive(const ka_adaptive *a)
{
    return a ? json_pack("{s:o, s:o, s:i, s:i}", "min_s",
                         ka_doc_seconds(a->min_us), "max_s",
                         ka_doc_seconds(a->max_us), "low_percent",
                         (int)a->low, "high_percent", (int)a->high)
             : json_null();
}

/* null where the configuration says nothing of it.  Timeouts are seconds, "off"
 * for a close, null for what no rule names; waits_cut and closed_full count
 * connections closed by load, idle and with a response. */
static json_t *policy(const ka_sim_side *side, apr_pool_t *pool)
{
    const ka_policy *p = &side->policy;
    const ka_sim_result *r = &side->result;

    if (side->rule_n == 0) {
        return json_null();
    }
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "rules", rules(side, pool),
        "static_timeout_s", after(side, p->after_us[KA_CLASS_STATIC]),
        "dynamic_timeout_s", after(side, p->after_us[KA_CLASS_DYNAMIC]),
        "other_timeout_s", after(side, p->other_us), "adaptive",
        adaptive(side->config.adaptive), "waits_cut",
        ka_doc_whole((int64_t)r->cut_waits), "closed_full",
        ka_doc_whole((int64_t)r->closed_full));
}

/* R10 */
static json_t *restart(const ka_sim_side *side)
{
    const ka_sim_wave *w = &side->result.restart;

    if (side->config.restart_us < 0) {
        return json_null();
    }
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "at_s",
        ka_doc_seconds(side->config.restart_us), "window_s",
        ka_doc_seconds(KA_SIM_WAVE_US), "idle_closed",
        ka_doc_whole((int64_t)w->closed), "connections_before",
        ka_doc_whole((int64_t)w->opened_before), "connections_after",
        ka_doc_whole((int64_t)w->opened_after), "waited",
        ka_doc_whole((int64_t)w->waited), "wait_max_s",
        ka_doc_seconds(w->wait_most_us));
}

/* ---- a run -------------------------------------------------------------- */

static json_t *run(const ka_sim_side *side, const char *verdict,
                   apr_pool_t *pool)
{
    const ka_sim_result *r = &side->result;

    return json_pack(
        "{s:o, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
        "config", ka_doc_text(side->file, pool), "mpm", ka_mpm_name(side->mpm),
        "mpm_origin", ka_doc_text(side->mpm_origin, pool), "settings",
        settings(side, pool), "remarks",
        texts(side->remarks, side->remark_n, pool), "verdict",
        ka_doc_text(verdict, pool), "outcome", outcome(&r->outcome), "wait",
        ka_doc_waits(r), "refused", ka_doc_whole((int64_t)r->refused),
        "given_up", ka_doc_whole((int64_t)r->given_up), "evicted",
        ka_doc_whole((int64_t)r->evicted), "dropped",
        ka_doc_whole((int64_t)r->dropped), "limited",
        ka_doc_whole((int64_t)r->limited), "retired",
        ka_doc_whole((int64_t)r->retired), "free_least",
        ka_doc_whole(r->free_least), "children", children(r), "memory_bytes",
        memory(r), "handshake_cpu_s", ka_doc_number(r->handshake_cpu_s),
        "policy", policy(side, pool), "restart", restart(side), "series",
        series(r));
}

static json_t *traffic(const ka_sim_view *view, apr_pool_t *pool)
{
    return json_pack("{s:o, s:o, s:o, s:b, s:o}", "requests",
                     ka_doc_whole((int64_t)view->stretch.requests), "chains",
                     ka_doc_whole((int64_t)view->stretch.traffic->chain_n),
                     "window_s",
                     ka_doc_seconds(view->stretch.traffic->end_us -
                                    view->stretch.traffic->begin_us),
                     "drawn", view->stretch.drawn, "how",
                     ka_doc_text(view->stretch.how, pool));
}

apr_status_t ka_render_sim_json(FILE *out, const ka_sim_view *view)
{
    json_t *runs = json_array();
    apr_pool_t *pool;
    apr_status_t rv = apr_pool_create(&pool, NULL);
    size_t i;

    if (rv != APR_SUCCESS) {
        json_decref(runs);
        return rv;
    }
    for (i = 0; i < view->side_n; i++) {
        json_array_append_new(runs,
                              run(&view->sides[i], view->verdicts[i], pool));
    }
    rv = ka_doc_write(
        out, json_pack("{s:s, s:o, s:I, s:o, s:o, s:o, s:o}", "schema",
                       KA_SIM_DOC_SCHEMA, "generated_at",
                       ka_doc_time(view->report->generated_us, pool), "seed",
                       (json_int_t)view->seed, "source",
                       ka_doc_source(view->report, pool), "traffic",
                       traffic(view, pool), "runs", runs, "notes",
                       texts(view->notes, view->note_n, pool)));
    apr_pool_destroy(pool);
    return rv;
}
