/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sections.h"

#include <math.h>
#include <apr_strings.h>

#include "known.h"
#include "table.h"

const char *ka_formula_in_words(apr_pool_t *pool, const ka_formula *f,
                                const ka_formula *high)
{
    const char *result;

    if (!high) {
        high = f;
    }
    result =
        ka_words_range(pool, ka_words_number, f->processes, high->processes);
    if (f->timeout_s == 0) {
        return apr_psprintf(pool, "%s requests/s = %s",
                            ka_words_number(pool, f->requests_per_s), result);
    }
    return apr_psprintf(pool, "%s x %s requests/s / %s = %s",
                        ka_words_duration(pool, f->timeout_s * 1e6),
                        ka_words_number(pool, f->requests_per_s),
                        ka_words_range(pool, ka_words_number,
                                       f->keepalive_requests,
                                       high->keepalive_requests),
                        result);
}

static void inputs(ka_page *page, const ka_report *report)
{
    const ka_formula *f = &report->formula;
    const ka_formula *high =
        report->profile->bracket ? &report->formula_high : NULL;
    apr_pool_t *pool = page->pool;

    ka_page_item(page, "[M1] processes",
                 f->timeout_s == 0
                     ? "requests per second (KeepAlive Off)"
                     : "KeepAliveTimeout x requests per second / mean "
                       "keep-alive requests");
    ka_page_item(
        page, "",
        apr_pstrcat(pool, "= ", ka_formula_in_words(pool, f, high), NULL));
    if (f->process_bytes >= 0) {
        ka_page_item(page, "     memory",
                     apr_psprintf(pool, "processes x %s per process",
                                  ka_words_size(pool, f->process_bytes)));
    }
    if (report->formula_rule) {
        ka_page_item(page, "[M2] rule", report->formula_rule);
    }
}

static const char *size_words(apr_pool_t *pool, double bytes)
{
    return ka_words_size(pool, (int64_t)bytes);
}

static void beside(ka_page *page, const ka_report *report)
{
    static const ka_column columns[] = {{.head = ""},
                                        {.head = "classic", .right = true},
                                        {.head = "full model", .right = true}};
    const ka_formula *low = &report->formula;
    const ka_formula *high =
        report->profile->bracket ? &report->formula_high : low;
    const ka_outcome *a = &report->low[report->now];
    const ka_outcome *b = &report->high[report->now];
    const ka_mpm_answer *answer = report->answer_n ? report->answers : NULL;
    const ka_fit *fit =
        answer && answer->fits ? &answer->fits[report->now] : NULL;
    apr_pool_t *pool = page->pool;
    ka_table table;

    ka_table_init(&table, columns, 3, pool);
    ka_table_row(
        &table, KA_STYLE_PLAIN,
        (const char *[]){
            "processes held, mean",
            ka_words_range(pool, ka_words_number, low->processes,
                           high->processes),
            ka_words_range(pool, ka_words_number, a->held_mean, b->held_mean)});
    ka_table_row(&table, KA_STYLE_PLAIN,
                 (const char *[]){"at the peak", "-",
                                  ka_words_range(pool, ka_words_whole,
                                                 a->held.peak, b->held.peak)});
    ka_table_row(
        &table, KA_STYLE_PLAIN,
        (const char *[]){"workers to provide", "-",
                         fit ? ka_words_whole(pool, ceil(fit->workers)) : "?"});
    ka_table_row(
        &table, KA_STYLE_PLAIN,
        (const char *[]){"memory",
                         low->memory_bytes < 0
                             ? "?"
                             : ka_words_range(pool, size_words,
                                              (double)low->memory_bytes,
                                              (double)high->memory_bytes),
                         fit ? ka_words_size(pool, fit->memory_bytes) : "?"});
    ka_page_gap(page);
    ka_table_print(&table, page, 2);
}

void ka_section_classic(ka_page *page, const ka_report *report)
{
    if (!report->timeout_n) {
        return;
    }
    ka_page_heading(
        page,
        apr_psprintf(
            page->pool,
            "Classic estimate and full model, at the present "
            "KeepAliveTimeout (%s)",
            ka_words_timeout(page->pool, report->low[report->now].timeout_us)));
    inputs(page, report);
    beside(page, report);
    if (report->why_it_differs) {
        ka_page_gap(page);
        ka_page_paragraph(page, KA_STYLE_PLAIN, "  ", "  ",
                          apr_pstrcat(page->pool, "Why they differ: ",
                                      report->why_it_differs, NULL));
    }
}
