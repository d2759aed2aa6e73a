/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The report of `advise` for people: the verdict first, then what to set and
 * why, then the numbers behind it, then where they come from. */
#include "render.h"

#include <apr_strings.h>

#include "sections.h"

/* `web1: ` in front of what is said about a server that has a name. */
static const char *host_lead(apr_pool_t *pool, const ka_report *report)
{
    return report->host
               ? apr_pstrcat(pool, ka_words_clean(pool, report->host, false),
                             ": ", NULL)
               : "";
}

static void verdict(ka_page *page, const ka_report *report)
{
    const char *limit = report->verdict.confidence_why;

    ka_page_paragraph(
        page, KA_STYLE_BOLD, "", "",
        apr_pstrcat(page->pool, host_lead(page->pool, report),
                    report->verdict.text ? report->verdict.text : "", NULL));
    ka_page_paragraph(
        page, KA_STYLE_PLAIN, "", "  ",
        apr_pstrcat(page->pool, "Confidence: ",
                    ka_confidence_name(report->verdict.confidence),
                    limit ? " - " : "", limit ? limit : "", NULL));
}

static void warnings(ka_page *page, const ka_report *report)
{
    size_t i;

    if (!report->warning_n) {
        return;
    }
    ka_page_heading(page, "Warnings");
    for (i = 0; i < report->warning_n; i++) {
        ka_page_paragraph(page, KA_STYLE_PLAIN, "  - ", "    ",
                          report->warnings[i].text);
    }
}

static void next_steps(ka_page *page, const ka_report *report)
{
    size_t i;

    if (!report->next_n) {
        return;
    }
    ka_page_heading(page, "What to do next");
    for (i = 0; i < report->next_n; i++) {
        ka_page_paragraph(page, KA_STYLE_PLAIN,
                          apr_psprintf(page->pool, "  %d. ", (int)i + 1),
                          "     ", report->next[i]);
    }
}

apr_status_t ka_render_text(FILE *out, const ka_report *report,
                            const ka_render_options *options)
{
    ka_page page;
    apr_status_t rv;

    rv = ka_page_begin(&page, out, options->width, options->color);
    if (rv != APR_SUCCESS) {
        return rv;
    }
    verdict(&page, report);
    ka_section_servers(&page, report, options->verbose);
    if (!report->verdict.refused) {
        ka_section_advice(&page, report, options->verbose);
    }
    ka_section_what_if(&page, report, options->verbose);
    ka_section_simulated(&page, report);
    ka_section_kinds(&page, report);
    ka_section_policy(&page, report);
    ka_section_mpm(&page, report);
    ka_section_classic(&page, report);
    ka_section_traffic(&page, report, options->verbose);
    ka_section_source(&page, report, options->verbose);
    warnings(&page, report);
    if (options->verbose) {
        ka_section_rules(&page, report);
    }
    next_steps(&page, report);
    return ka_page_end(&page);
}
