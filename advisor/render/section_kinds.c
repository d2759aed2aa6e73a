/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sections.h"

#include <apr_strings.h>

#include "table.h"

static const char *alone(apr_pool_t *pool, const ka_class_advice *c)
{
    return !c->idle_known ? "-"
           : c->alone_longer
               ? apr_pstrcat(pool, ">= ", ka_words_timeout(pool, c->alone_us),
                             NULL)
               : ka_words_timeout(pool, c->alone_us);
}

static const char *number(apr_pool_t *pool, bool known, double value)
{
    return known ? ka_words_number(pool, value) : "-";
}

static void row(ka_table *table, const ka_traffic *t, const ka_class_advice *c)
{
    apr_pool_t *p = table->pool;
    const char *cells[] = {
        t->name,
        ka_words_share(p, c->requests_share),
        c->busy_known ? ka_words_duration(p, c->service_s * 1e6) : "-",
        number(p, c->busy_known, c->busy_mean),
        c->busy_known ? ka_words_whole(p, c->busy_peak) : "-",
        c->idle_known ? ka_words_share(p, c->reuse) : "-",
        number(p, c->idle_known, c->idle_mean),
        alone(p, c)};

    if (t->requests) {
        ka_table_row(table, KA_STYLE_PLAIN, cells);
    }
}

void ka_section_kinds(ka_page *page, const ka_report *report)
{
    static const ka_column columns[] = {
        {.head = ""},
        {.head = "\nrequests", .right = true},
        {.head = "service\nmean", .right = true},
        {.head = "busy\nmean", .right = true},
        {.head = "busy at\nthe peak", .right = true},
        {.head = "followed\nwithin T", .right = true},
        {.head = "idle\nafter it", .right = true},
        {.head = "T it would\nwant alone", .right = true}};
    const ka_by_class *by = &report->by_class;
    ka_table table;
    int i;

    if (!by->known || report->verdict.refused) {
        return;
    }
    ka_page_heading(page,
                    apr_psprintf(page->pool, "By kind of content (T = %s)",
                                 ka_words_timeout(page->pool,
                                                  by->timeout_us)));
    ka_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]),
                  page->pool);
    for (i = 0; i < KA_CLASS_N; i++) {
        row(&table, &report->profile->classes[i], &by->classes[i]);
    }
    ka_table_print(&table, page, 2);
    if (by->verdict) {
        ka_page_gap(page);
        ka_page_paragraph(page, KA_STYLE_PLAIN, "  ", "  ", by->verdict);
    }
    if (by->line_n) {
        ka_page_paragraph(page, KA_STYLE_PLAIN, "  ", "  ",
                          "--output conf has the lines for it.");
    }
}
