/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sections.h"

#include <apr_strings.h>

#include "known.h"
#include "table.h"

static void row(ka_table *table, const ka_page *page, const ka_report *report,
                const ka_mpm_answer *a, const char *mark)
{
    apr_pool_t *p = page->pool;
    size_t i = a->choice.index;
    const ka_fit *fit = &a->fits[i];
    bool known = ka_workers_known(report, a, i);
    const char *cells[] = {
        mark,
        ka_mpm_name(a->mpm),
        ka_words_timeout(p, report->high[i].timeout_us),
        ka_words_share(p, report->high[i].reuse),
        known ? ka_words_whole(p, fit->workers) : "?",
        ka_words_whole(p, fit->connections),
        a->supply.holds_idle
            ? (fit->memory_bytes < 0 ? "?"
                                     : ka_words_size(p, fit->memory_bytes))
            : apr_pstrcat(p, ka_words_size(p, (int64_t)a->idle_bytes),
                          " at most for idle ones, and its "
                          "processes", NULL)};

    ka_table_row(table, KA_STYLE_PLAIN, cells);
}

void ka_section_mpm(ka_page *page, const ka_report *report)
{
    static const ka_column columns[] = {
        {.head = ""},
        {.head = "MPM"},
        {.head = "Keep-\nAlive", .right = true},
        {.head = "\nreused", .right = true},
        {.head = "workers\nneeded", .right = true},
        {.head = "connections\npeak", .right = true},
        {.head = "\nmemory", .wrap = true}};
    ka_table table;

    if (!report->alternative || report->verdict.refused) {
        return;
    }
    ka_page_heading(page, "The MPM: this traffic under event");
    ka_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]),
                  page->pool);
    row(&table, page, report, &report->answers[0], "now");
    row(&table, page, report, report->alternative, "");
    ka_table_print(&table, page, 2);
    ka_page_gap(page);
    ka_page_paragraph(
        page, KA_STYLE_PLAIN, "  ", "  ",
        "On event a worker is a thread, and an idle connection holds none: it "
        "takes memory alone. Each row is at the timeout that this MPM would "
        "get. Modules that are not made for threads (mod_php) keep a server on "
        "prefork.");
}
