/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sections.h"

#include <apr_strings.h>

#include "table.h"

void ka_section_rules(ka_page *page, const ka_report *report)
{
    static const char *const states[] = {[KA_RULE_QUIET] = "-",
                                         [KA_RULE_SPEAKS] = "*",
                                         [KA_RULE_UNKNOWN] = "?"};
    static const ka_column columns[] = {{.head = "Rule"},
                                        {.head = ""},
                                        {.head = "What it asks, and here",
                                         .wrap = true}};
    ka_table table;
    size_t i;

    if (!report->findings[0].rule) {
        return;
    }
    ka_page_heading(page, "Rules");
    ka_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]),
                  page->pool);
    for (i = 0; i < KA_RULES; i++) {
        const ka_finding *f = &report->findings[i];
        const char *cells[] = {
            f->rule, states[f->state],
            apr_pstrcat(page->pool, f->title, ": ",
                        f->text ? f->text : "nothing to say", NULL)};

        ka_table_row(&table,
                     f->state == KA_RULE_SPEAKS ? KA_STYLE_PLAIN
                                                : KA_STYLE_DIM,
                     cells);
    }
    ka_table_print(&table, page, 2);
    ka_page_gap(page);
    ka_page_paragraph(page, KA_STYLE_PLAIN, "  ", "  ",
                      "* speaks above; - has nothing to say; ? cannot be "
                      "judged.");
}
