/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The report of `advise` for programs, schema "kaadvisor/1". */
#include "render.h"

#include <stddef.h>
#include <math.h>

#include "jsonparts.h"
#include "known.h"

static bool bracketed(const ka_report *report)
{
    return report->low != report->high;
}

/* ---- server ----------------------------------------------------------------
 */

static json_t *fact_value(const ka_fact *fact, ka_fact_unit unit)
{
    switch (unit) {
    case KA_FACT_US:
        return ka_doc_seconds(fact->value);
    case KA_FACT_ONOFF:
        return json_boolean(fact->value);
    case KA_FACT_MPM:
        return json_string(ka_mpm_name((ka_mpm)fact->value));
    case KA_FACT_COUNT:
    case KA_FACT_BYTES:
        break;
    }
    return json_integer(fact->value);
}

static json_t *server(const ka_server *facts, apr_pool_t *pool)
{
    json_t *object = json_object();
    int i;

    for (i = 0; i < KA_FACTS; i++) {
        const ka_fact *fact = &facts->facts[i];
        const ka_fact_info *info = ka_fact_info_of((ka_fact_id)i);

        if (fact->known) {
            json_object_set_new(object, info->key,
                                json_pack("{s:o, s:o, s:b}", "value",
                                          fact_value(fact, info->unit),
                                          "origin",
                                          ka_doc_text(fact->origin, pool),
                                          "assumed", (int)fact->assumed));
        }
    }
    return object;
}

static json_t *unknown(const ka_server *facts, apr_pool_t *pool)
{
    json_t *array = json_array();
    int i;

    for (i = 0; i < KA_FACTS; i++) {
        const ka_fact_info *info = ka_fact_info_of((ka_fact_id)i);

        if (!facts->facts[i].known) {
            json_array_append_new(
                array, json_pack("{s:s, s:o}", "fact", info->key, "option",
                                 ka_doc_text(info->option, pool)));
        }
    }
    return array;
}

/* ---- timeouts and answers --------------------------------------------------
 */

static json_t *fits_json(int fits)
{
    return fits < 0 ? json_null() : json_boolean(fits);
}

static json_t *workers_json(double workers)
{
    return isfinite(workers) ? json_integer((json_int_t)ceil(workers))
                             : json_null();
}

/* The keys of a timeout that are one number of the outcome, or its bracket. */
static const struct {
    const char *key;
    size_t offset;
    bool busy; /* rests on service times alone */
} outcome_keys[] = {
    {"connections_per_s", offsetof(ka_outcome, connections_per_s), false},
    {"reuse", offsetof(ka_outcome, reuse), false},
    {"idle_mean", offsetof(ka_outcome, idle_mean), false},
    {"busy_mean", offsetof(ka_outcome, busy_mean), true},
    {"held_mean", offsetof(ka_outcome, held_mean), false},
    {"held_p99", offsetof(ka_outcome, held.p99), false},
    {"held_p999", offsetof(ka_outcome, held.p999), false},
    {"held_peak", offsetof(ka_outcome, held.peak), false},
    {"busy_p999", offsetof(ka_outcome, busy.p999), true},
    {"busy_peak", offsetof(ka_outcome, busy.peak), true},
    {"handshakes_saved_per_s", offsetof(ka_outcome, handshakes_saved_per_s),
     false},
    {"held_per_second", offsetof(ka_outcome, held_per_second), false},
    {"linger_bound_mean", offsetof(ka_outcome, linger_bound_mean), false}};

static double outcome_number(const ka_outcome *outcome, size_t offset)
{
    return *(const double *)((const char *)outcome + offset);
}

static json_t *timeout_json(const ka_report *report, size_t i)
{
    bool workers =
        report->answer_n && ka_workers_known(report, &report->answers[0], i);
    const ka_outcome *a = &report->low[i], *b = &report->high[i];
    const ka_fit *fit = report->answer_n && report->answers[0].fits
                            ? &report->answers[0].fits[i]
                            : NULL;
    json_t *object = json_pack(
        "{s:o, s:b, s:b, s:o}", "timeout_s", ka_doc_timeout(a->timeout_us),
        "keep_alive", a->timeout_us != KA_TIMEOUT_OFF, "measured",
        (int)a->measured, "connections",
        ka_doc_bracket_whole(bracketed(report), (int64_t)a->connections,
                             (int64_t)b->connections));
    size_t k;

    for (k = 0; k < sizeof(outcome_keys) / sizeof(outcome_keys[0]); k++) {
        size_t offset = outcome_keys[k].offset;
        bool known = !outcome_keys[k].busy || ka_busy_known(report);

        json_object_set_new(object, outcome_keys[k].key,
                            known ? ka_doc_bracket(bracketed(report),
                                                   outcome_number(a, offset),
                                                   outcome_number(b, offset))
                                  : json_null());
    }
    json_object_set_new(object, "workers_needed",
                        workers ? workers_json(fit->workers) : json_null());
    json_object_set_new(object, "memory_bytes",
                        fit ? ka_doc_whole(fit->memory_bytes) : json_null());
    json_object_set_new(object, "fits",
                        fit ? fits_json(fit->fits) : json_null());
    if (a->held_is_bound) {
        json_object_set_new(object, "held_is_upper_bound", json_true());
    }
    json_object_set_new(object, "now", json_boolean(i == report->now));
    ka_doc_add_intervals(object, report, i);
    return object;
}

static json_t *timeouts(const ka_report *report)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < report->timeout_n; i++) {
        json_array_append_new(array, timeout_json(report, i));
    }
    return array;
}

static json_t *fits(const ka_report *report, const ka_mpm_answer *answer)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; answer->fits && i < report->timeout_n; i++) {
        const ka_fit *fit = &answer->fits[i];
        int64_t us = report->low[i].timeout_us;

        json_array_append_new(
            array,
            json_pack(
                "{s:o, s:b, s:o, s:o, s:o, s:o}", "timeout_s",
                ka_doc_timeout(us),
                "keep_alive", us != KA_TIMEOUT_OFF, "workers_needed",
                ka_workers_known(report, answer, i) ? workers_json(fit->workers)
                                                    : json_null(),
                "connections_peak", ka_doc_number(fit->connections),
                "memory_bytes", ka_doc_whole(fit->memory_bytes), "fits",
                fits_json(fit->fits)));
    }
    return array;
}

/* By the names that the MPM's directives have in httpd 2.4. */
static json_t *block(const ka_mpm_answer *answer)
{
    json_t *object;
    int i;

    if (!answer->block_known) {
        return json_null();
    }
    object = json_object();
    for (i = 0; i < KA_BLOCK_ITEMS; i++) {
        const char *name =
            ka_block_info_of((ka_block_item)i)->directive[answer->mpm];

        if (name && answer->block.value[i] >= 0) {
            json_object_set_new(object, name,
                                ka_doc_whole(answer->block.value[i]));
        }
    }
    return object;
}

static json_t *choice(const ka_report *report, const ka_mpm_answer *answer)
{
    static const char *const reasons[] = {[KA_CHOICE_KNEE] = "knee",
                                          [KA_CHOICE_FIT] = "fit",
                                          [KA_CHOICE_PROXY] = "proxy",
                                          [KA_CHOICE_PAGE_BURST] = "page_burst",
                                          [KA_CHOICE_OFF_NO_REUSE] =
                                              "off_no_reuse",
                                          [KA_CHOICE_OFF_NO_FIT] = "off_no_fit",
                                          [KA_CHOICE_KEEP] = "keep"};
    const ka_choice *c = &answer->choice;
    bool known = c->index < report->timeout_n;
    int64_t us = known ? report->low[c->index].timeout_us : 0;

    if (!known || (size_t)c->reason >= sizeof(reasons) / sizeof(reasons[0])) {
        return json_null();
    }
    return json_pack(
        "{s:o, s:b, s:s, s:o, s:o, s:b, s:b, s:o}", "timeout_s",
        ka_doc_timeout(us),
        "keep_alive", us != KA_TIMEOUT_OFF, "reason", reasons[c->reason],
        "knee_s", ka_doc_timeout(c->knee_us), "fit_s",
        c->fit_known ? ka_doc_timeout(c->fit_us) : json_null(), "fit_known",
        (int)c->fit_known, "infeasible", (int)c->infeasible, "reuse_cap",
        ka_doc_number(c->reuse_cap));
}

static json_t *answer_json(const ka_report *report,
                           const ka_mpm_answer *answer, apr_pool_t *pool)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o}", "mpm",
                     ka_mpm_name(answer->mpm), "choice",
                     choice(report, answer), "block", block(answer), "needs",
                     ka_doc_text(answer->needs, pool), "fits",
                     fits(report, answer), "simulation",
                     ka_doc_simulated(answer, pool));
}

static json_t *answers(const ka_report *report, apr_pool_t *pool)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < report->answer_n; i++) {
        json_array_append_new(array,
                              answer_json(report, &report->answers[i], pool));
    }
    return array;
}

/* What other MPMs would need. */
static json_t *alternatives(const ka_report *report, apr_pool_t *pool)
{
    json_t *array = json_array();

    if (report->alternative) {
        json_array_append_new(array,
                              answer_json(report, report->alternative, pool));
    }
    return array;
}

/* ---- the document ----------------------------------------------------------
 */

/* Adds what a report says, be it the document's or that of one of a group's
 * servers; false without memory. */
static bool add_report(json_t *object, const ka_report *report,
                       apr_pool_t *pool)
{
    const ka_formula *other =
        report->profile->bracket ? &report->formula_high : NULL;
    json_t *body = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "host",
        ka_doc_text(report->host, pool), "source", ka_doc_source(report, pool),
        "traffic", ka_doc_traffic(report, pool), "server",
        server(report->server, pool), "unknown", unknown(report->server, pool),
        "formula",
        ka_doc_formula(&report->formula, other, report->formula_rule,
                       report->why_it_differs, pool),
        "timeouts", timeouts(report), "intervals",
        ka_doc_intervals(report, pool), "answers", answers(report, pool),
        "alternatives", alternatives(report, pool));
    json_t *decisions = ka_doc_decisions(report, pool);
    bool added = body && decisions && json_object_update(object, body) == 0 &&
                 json_object_update(object, decisions) == 0;

    json_decref(body);
    json_decref(decisions);
    return added;
}

apr_status_t ka_render_json(FILE *out, const ka_report *report,
                            const ka_render_options *options)
{
    apr_pool_t *pool;
    apr_status_t rv = apr_pool_create(&pool, NULL);
    json_t *root;

    (void)options;
    if (rv != APR_SUCCESS) {
        return rv;
    }
    root = json_pack("{s:s, s:o, s:o}", "schema", KA_DOC_SCHEMA, "generated_at",
                     ka_doc_time(report->generated_us, pool), "version",
                     ka_doc_text(report->version, pool));
    if (!add_report(root, report, pool) ||
        json_object_set_new(root, "hosts",
                            ka_doc_hosts(report, add_report, pool))) {
        json_decref(root);
        root = NULL;
    }
    rv = ka_doc_write(out, root);
    apr_pool_destroy(pool);
    return rv;
}
