/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "rules.h"

#include <string.h>
#include <apr_strings.h>

bool ka_report_restarts(const ka_report *report)
{
    size_t i;

    for (i = 0; i < report->advice_n; i++) {
        const ka_advice *a = &report->advice[i];

        if (a->change && a->applies && !strcmp(a->applies, "restart")) {
            return true;
        }
    }
    return false;
}

const char *ka_confidence_name(ka_confidence confidence)
{
    static const char *const names[] = {"low", "medium", "high"};

    return names[confidence];
}

static void fill_formula(const ka_decision *d, ka_formula *formula, double k)
{
    const ka_report *r = d->report;

    *formula = (ka_formula){
        .timeout_s = r->timeout_us == KA_TIMEOUT_OFF
                         ? 0
                         : (double)r->timeout_us / 1e6,
        .requests_per_s = r->profile->total.requests_per_s,
        .keepalive_requests = k,
        .process_bytes =
            ka_server_get(r->server, KA_FACT_PROCESS_MEMORY, -1)};
    if (ka_formula_compute(formula)) {
        formula->processes = 0;
        formula->memory_bytes = -1;
    }
}

static void fill_classic(ka_decision *d)
{
    ka_report *r = d->report;
    char rule[512];

    fill_formula(d, &r->formula, r->profile->low.requests_per_connection.mean);
    fill_formula(d, &r->formula_high,
                 r->profile->high.requests_per_connection.mean);
    r->formula_rule = apr_pstrdup(
        d->pool, ka_formula_rule(rule, sizeof(rule), &r->formula));
    r->why_it_differs =
        ka_formula_why_it_differs(r->timeout_us == KA_TIMEOUT_OFF);
}

/* One answer where the MPM is known, else one for each. */
static void fill_answers(ka_decision *d)
{
    ka_report *r = d->report;
    const ka_fact *mpm = &r->server->facts[KA_FACT_ID_MPM];
    int i;

    r->answers = apr_pcalloc(d->pool, KA_MPM_N * sizeof(*r->answers));
    for (i = 0; i < KA_MPM_N; i++) {
        if (!mpm->known || mpm->value == i) {
            r->answers[r->answer_n] = ka_answer(d, (ka_mpm)i);
            ka_answer_intervals(d, &r->answers[r->answer_n++]);
        }
    }
}

/* R5: what event would need, where idle connections hold workers now. */
static void fill_alternative(ka_decision *d)
{
    ka_report *r = d->report;

    if (r->answer_n == 1 && r->answers[0].supply.holds_idle) {
        r->alternative = apr_palloc(d->pool, sizeof(*r->alternative));
        *r->alternative = ka_answer_beside(d, KA_MPM_EVENT);
    }
}

static void close_arrays(ka_decision *d)
{
    ka_report *r = d->report;

    r->advice = (ka_advice *)d->advice->elts;
    r->advice_n = (size_t)d->advice->nelts;
    r->warnings = (ka_warning *)d->warnings->elts;
    r->warning_n = (size_t)d->warnings->nelts;
    r->next = (const char **)d->next->elts;
    r->next_n = (size_t)d->next->nelts;
}

apr_status_t ka_advise(ka_report *report, const ka_extra *extra,
                       const ka_advise_options *options, apr_pool_t *pool)
{
    ka_decision d = {.report = report,
                     .extra = extra,
                     .options = options,
                     .pool = pool,
                     .advice = apr_array_make(pool, 40, sizeof(ka_advice)),
                     .warnings = apr_array_make(pool, 8, sizeof(ka_warning)),
                     .next = apr_array_make(pool, 4, sizeof(char *))};
    size_t i;

    if (report->timeout_n == 0) {
        return APR_EINVAL;
    }
    fill_classic(&d);
    fill_answers(&d);
    fill_alternative(&d);
    ka_judge_confidence(&d);
    if (!report->verdict.refused) {
        for (i = 0; i < report->answer_n; i++) {
            ka_advise_directives(&d, &report->answers[i]);
        }
    }
    ka_advise_policy(&d);
    ka_advise_classes(&d);
    close_arrays(&d);
    ka_judge_verdict(&d);
    ka_advise_warnings(&d);
    close_arrays(&d);
    ka_judge_rules(&d);
    return APR_SUCCESS;
}
