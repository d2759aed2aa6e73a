/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_html.h"

void ka_html_section(const ka_text *out, const char *id, const char *title)
{
    ka_text_put(out, "<section id=\"");
    ka_text_put(out, id);
    ka_text_put(out, "\">\n<h2>");
    ka_text_put(out, title);
    ka_text_put(out, "</h2>\n");
}

void ka_html_section_end(const ka_text *out)
{
    ka_text_put(out, "</section>\n");
}

static void put_head_cell(const ka_text *out, const char *head)
{
    bool text = head[0] == '<';

    ka_text_put(out, "<th scope=\"col\"");
    ka_text_put(out, text ? " class=\"text\">"
                          : head[0] ? ">" : " class=\"bar\">");
    ka_text_put(out, head + text);
    ka_text_put(out, "</th>");
}

void ka_html_table(const ka_text *out, const char *caption,
                   const char *const *heads, size_t n)
{
    size_t i;

    ka_text_put(out, "<div class=\"wide\" tabindex=\"0\"><table>\n<caption>"
                     "<span>");
    ka_text_put(out, caption);
    ka_text_put(out, "</span></caption>\n<thead><tr>");
    for (i = 0; i < n; i++) {
        put_head_cell(out, heads[i]);
    }
    ka_text_put(out, "</tr></thead>\n<tbody>\n");
}

void ka_html_table_end(const ka_text *out)
{
    ka_text_put(out, "</tbody></table></div>\n");
}

void ka_html_count(const ka_text *out, uint64_t value)
{
    ka_text_put(out, value ? "<td>" : "<td class=\"none\">");
    ka_text_count(out, value);
    ka_text_put(out, "</td>");
}

void ka_html_figure(const ka_text *out, double value)
{
    ka_text_put(out, "<td>");
    ka_text_figure(out, value);
    ka_text_put(out, "</td>");
}

void ka_html_share(const ka_text *out, double part, double whole)
{
    ka_text_put(out, part > 0 ? "<td>" : "<td class=\"none\">");
    ka_text_share(out, part, whole);
    ka_text_put(out, "</td>");
}

void ka_html_duration(const ka_text *out, double us)
{
    ka_text_put(out, "<td>");
    ka_text_duration(out, us);
    ka_text_put(out, "</td>");
}

void ka_html_cell(const ka_text *out, const char *text)
{
    ka_text_put(out, "<td class=\"text\">");
    ka_text_html(out, text);
    ka_text_put(out, "</td>");
}

/* What is there at all is seen: at least one part in a hundred. */
void ka_html_bar(const ka_text *out, double part, double whole)
{
    double width = whole > 0 ? 100 * part / whole : 0;

    if (part > 0 && width < 1) {
        width = 1;
    }
    ka_text_put(out, "<td class=\"bar\"><svg viewBox=\"0 0 100 8\" "
                     "preserveAspectRatio=\"none\" aria-hidden=\"true\">"
                     "<rect width=\"");
    ka_text_decimal(out, width < 100 ? width : 100, 1);
    ka_text_put(out, "\" height=\"8\"/></svg></td>");
}
