/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The document's advice and what goes with it. */
#include "jsonparts.h"

static json_t *evidence(const ka_advice *advice, apr_pool_t *pool)
{
    json_t *object = json_object();
    size_t i;

    for (i = 0; i < advice->evidence_n && i < KA_EVIDENCE_MAX; i++) {
        const ka_evidence *e = &advice->evidence[i];

        json_object_set_new(object, e->name,
                            e->is_text ? ka_doc_text(e->text, pool)
                                       : ka_doc_number(e->number));
    }
    return object;
}

static json_t *advice_json(const ka_advice *a, apr_pool_t *pool)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:s, s:o}", "rule",
        ka_doc_text(a->rule, pool), "mpm",
        a->mpm < KA_MPM_N ? json_string(ka_mpm_name(a->mpm)) : json_null(),
        "directive", ka_doc_text(a->directive, pool), "vhost",
        ka_doc_text(a->vhost, pool), "from", ka_doc_text(a->from, pool), "to",
        ka_doc_text(a->to, pool), "change", (int)a->change, "because",
        ka_doc_text(a->because, pool), "evidence", evidence(a, pool),
        "confidence", ka_confidence_name(a->confidence), "applies",
        ka_doc_text(a->applies, pool));
}

static json_t *advice(const ka_report *report, apr_pool_t *pool)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < report->advice_n; i++) {
        json_array_append_new(array, advice_json(&report->advice[i], pool));
    }
    return array;
}

static json_t *warnings(const ka_report *report, apr_pool_t *pool)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < report->warning_n; i++) {
        json_array_append_new(
            array, json_pack("{s:o, s:o, s:o}", "id",
                             ka_doc_text(report->warnings[i].id, pool), "text",
                             ka_doc_text(report->warnings[i].text, pool),
                             "rule",
                             ka_doc_text(report->warnings[i].rule, pool)));
    }
    return array;
}

static json_t *next_steps(const ka_report *report, apr_pool_t *pool)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < report->next_n; i++) {
        json_array_append_new(array, ka_doc_text(report->next[i], pool));
    }
    return array;
}

static json_t *verdict(const ka_report *report, apr_pool_t *pool)
{
    return json_pack("{s:o, s:b, s:s, s:o, s:b}", "text",
                     ka_doc_text(report->verdict.text, pool), "change_advised",
                     (int)report->verdict.change_advised, "confidence",
                     ka_confidence_name(report->verdict.confidence),
                     "confidence_why",
                     ka_doc_text(report->verdict.confidence_why, pool),
                     "refused", (int)report->verdict.refused);
}

static json_t *rules(const ka_report *report, apr_pool_t *pool)
{
    static const char *const states[] = {[KA_RULE_QUIET] = "quiet",
                                         [KA_RULE_SPEAKS] = "speaks",
                                         [KA_RULE_UNKNOWN] = "unknown"};
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < KA_RULES && report->findings[i].rule; i++) {
        const ka_finding *f = &report->findings[i];

        json_array_append_new(
            array, json_pack("{s:s, s:s, s:s, s:o}", "rule", f->rule, "title",
                             f->title, "state", states[f->state], "text",
                             ka_doc_text(f->text, pool)));
    }
    return array;
}

json_t *ka_doc_decisions(const ka_report *report, apr_pool_t *pool)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "advice",
                     advice(report, pool), "classes_advice",
                     ka_doc_kinds(report, pool), "policy",
                     ka_doc_policy(report, pool), "warnings",
                     warnings(report, pool),
                     "rules", rules(report, pool), "next",
                     next_steps(report, pool), "verdict",
                     verdict(report, pool));
}
