/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sections.h"

#include <string.h>
#include <apr_strings.h>

#include "table.h"

/* The reason; what belongs to one vhost says so, --verbose names the rule. */
static const char *why(apr_pool_t *pool, const ka_advice *a, bool verbose)
{
    const char *text = a->because ? a->because : "";

    if (verbose && a->rule && !strstr(text, a->rule)) {
        text = apr_pstrcat(pool, text, *text ? " (" : "(", a->rule, ")", NULL);
    }
    return a->vhost ? apr_pstrcat(pool, "In vhost ",
                                  ka_words_clean(pool, a->vhost, false), ": ",
                                  text, NULL)
                    : text;
}

/* Rows of one MPM; KA_MPM_N: those that hold for any. */
static void advice_table(ka_page *page, const ka_report *report, ka_mpm mpm,
                         bool with_any, bool verbose)
{
    static const ka_column columns[] = {
        {.head = ""},
        {.head = "Directive"},
        {.head = "Now", .right = true, .most = 16},
        {.head = "Proposed", .right = true, .most = 16},
        {.head = "Why", .wrap = true}};
    ka_table table;
    size_t i;

    ka_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]),
                  page->pool);
    for (i = 0; i < report->advice_n; i++) {
        const ka_advice *a = &report->advice[i];
        const char *cells[] = {a->change ? "*" : "", a->directive,
                               a->from           ? a->from
                               : a->from_differs ? "differs"
                                                 : "?",
                               a->to, why(page->pool, a, verbose)};

        if (a->mpm == mpm || (with_any && a->mpm == KA_MPM_N)) {
            ka_table_row(&table, a->change ? KA_STYLE_PLAIN : KA_STYLE_DIM,
                         cells);
        }
    }
    ka_table_print(&table, page, 2);
}

/* Directives that change and take effect in the way given, each once. */
static const char *changed(apr_pool_t *pool, const ka_report *report,
                           const char *applies)
{
    const char *names = NULL;
    size_t i, j;

    for (i = 0; i < report->advice_n; i++) {
        const ka_advice *a = &report->advice[i];

        if (!a->change || !a->applies || strcmp(a->applies, applies)) {
            continue;
        }
        for (j = 0; j < i; j++) {
            const ka_advice *b = &report->advice[j];

            if (b->change && !strcmp(a->directive, b->directive)) {
                break;
            }
        }
        if (j == i) {
            names = names ? apr_pstrcat(pool, names, ", ", a->directive, NULL)
                          : a->directive;
        }
    }
    return names;
}

static void legend(ka_page *page, const ka_report *report)
{
    const char *restart = changed(page->pool, report, "restart");
    const char *reload = changed(page->pool, report, "reload");
    bool unknown = false;
    size_t i;

    for (i = 0; i < report->advice_n; i++) {
        unknown = unknown ||
                  (!report->advice[i].from && !report->advice[i].from_differs);
    }
    ka_page_gap(page);
    if (!restart && !reload) {
        ka_page_paragraph(page, KA_STYLE_PLAIN, "  ", "  ", "Nothing changes.");
    }
    if (restart) {
        ka_page_paragraph(page, KA_STYLE_PLAIN, "  * ", "    ",
                          apr_psprintf(page->pool,
                                       "changes after a full restart: %s",
                                       restart));
    }
    if (reload) {
        ka_page_paragraph(page, KA_STYLE_PLAIN, "  * ", "    ",
                          apr_psprintf(page->pool,
                                       "changes with a graceful reload: %s",
                                       reload));
    }
    if (unknown) {
        ka_page_paragraph(page, KA_STYLE_PLAIN, "  ? ", "    ",
                          "the present value is not known");
    }
}

static bool same_needs(const ka_report *report)
{
    const char *first = report->answers[0].needs;
    size_t i;

    for (i = 1; first && i < report->answer_n; i++) {
        const char *other = report->answers[i].needs;

        if (!other || strcmp(first, other)) {
            return false;
        }
    }
    return true;
}

static void needs(ka_page *page, const ka_mpm_answer *answer)
{
    if (answer->needs) {
        ka_page_paragraph(page, KA_STYLE_PLAIN, "  - ", "    ", answer->needs);
    }
}

static const char *why_each(const ka_page *page, const ka_report *report)
{
    const char *option = ka_fact_info_of(KA_FACT_ID_MPM)->option;

    return report->facts_differ[KA_FACT_ID_MPM]
               ? "The servers have different MPMs, so each has its own table."
               : apr_psprintf(page->pool,
                              "The MPM is not known, so each has its own "
                              "table; %s settles it (httpd -V names it).",
                              option ? option : "--mpm");
}

static void for_each_mpm(ka_page *page, const ka_report *report, bool verbose)
{
    bool same = same_needs(report);
    size_t i;

    ka_page_paragraph(page, KA_STYLE_PLAIN, "  ", "  ", why_each(page, report));
    advice_table(page, report, KA_MPM_N, false, verbose);
    for (i = 0; i < report->answer_n; i++) {
        const ka_mpm_answer *answer = &report->answers[i];

        ka_page_heading(page, apr_psprintf(page->pool, "  If the MPM is %s",
                                           ka_mpm_name(answer->mpm)));
        advice_table(page, report, answer->mpm, false, verbose);
        if (!same) {
            needs(page, answer);
        }
    }
    if (same && report->answers[0].needs) {
        ka_page_gap(page);
        needs(page, &report->answers[0]);
    }
}

void ka_section_advice(ka_page *page, const ka_report *report, bool verbose)
{
    if (!report->advice_n && !report->answer_n) {
        return;
    }
    if (report->answer_n > 1) {
        ka_page_heading(page, "Proposed settings");
        for_each_mpm(page, report, verbose);
    }
    else {
        ka_mpm mpm = report->answer_n ? report->answers[0].mpm : KA_MPM_N;

        ka_page_heading(page, mpm == KA_MPM_N
                                  ? "Proposed settings"
                                  : apr_psprintf(page->pool,
                                                 "Proposed settings (MPM %s)",
                                                 ka_mpm_name(mpm)));
        advice_table(page, report, mpm, true, verbose);
        if (report->answer_n) {
            needs(page, &report->answers[0]);
        }
    }
    if (report->advice_n) {
        legend(page, report);
    }
}
