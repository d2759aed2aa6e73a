/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Rows of advice: one table row per directive, with the numbers behind it. */
#include "group.h"
#include "rows.h"

void ka_row_evidence(ka_advice *row, const char *name, double number)
{
    if (row->evidence_n < KA_EVIDENCE_MAX) {
        row->evidence[row->evidence_n++] =
            (ka_evidence){.name = name, .number = number};
    }
}

ka_advice *ka_row_push(const ka_row_context *c, const char *rule,
                           const char *directive, const char *applies)
{
    ka_advice *row = apr_array_push(c->d->advice);

    *row = (ka_advice){.rule = rule,
                       .mpm = c->answer->mpm,
                       .directive = directive,
                       .applies = applies,
                       .confidence = c->d->report->verdict.confidence};
    return row;
}

void ka_row_differs(const ka_row_context *c, ka_advice *row, ka_fact_id fact)
{
    if (fact < KA_FACTS && c->d->report->facts_differ[fact]) {
        row->from = NULL;
        row->from_differs = true;
        row->change = true;
    }
}

void ka_advise_directives(ka_decision *d, const ka_mpm_answer *answer)
{
    const ka_report *report = d->report;
    ka_row_context c = {.d = d,
                     .answer = answer,
                     .to = &report->high[answer->choice.index],
                     .now = &report->high[report->now],
                     .fit = &answer->fits[answer->choice.index]};

    ka_rows_keepalive(&c);
    if (answer->block_known) {
        ka_rows_block(&c);
    }
    ka_rows_server(&c);
    ka_rows_vhosts(&c);
    ka_rows_backends(&c);
}
