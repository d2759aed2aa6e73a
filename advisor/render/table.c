/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "table.h"

#include <assert.h>
#include <string.h>
#include <apr_strings.h>

#include "../words.h"

typedef struct row {
    const char *cells[KA_TABLE_COLUMNS];
    ka_style style;
} row;

/* How a table goes onto one page. */
typedef struct layout {
    int widths[KA_TABLE_COLUMNS];
    bool shown[KA_TABLE_COLUMNS];
    int gap;
    int indent;
    int wrap;       /* column that wraps, -1: none */
    int wrap_width; /* 0: below its row */
} layout;

void ka_table_init(ka_table *table, const ka_column *columns, size_t n,
                   apr_pool_t *pool)
{
    assert(n > 0 && n <= KA_TABLE_COLUMNS);
    *table = (ka_table){.columns = columns, .n = n, .pool = pool};
    table->rows = apr_array_make(pool, 16, sizeof(row));
}

static const char *clean_cell(const ka_table *table, const ka_column *column,
                              const char *text)
{
    text = ka_words_clean(table->pool, text, column->wrap);
    if (column->most > 3 && strlen(text) > (size_t)column->most) {
        return apr_psprintf(table->pool, "%.*s...", column->most - 3, text);
    }
    return text;
}

void ka_table_row(ka_table *table, ka_style style, const char *const *cells)
{
    row *r = apr_array_push(table->rows);
    size_t i;

    r->style = style;
    for (i = 0; i < table->n; i++) {
        r->cells[i] = clean_cell(table, &table->columns[i], cells[i]);
    }
}

static const row *row_at(const ka_table *table, int i)
{
    return &((const row *)table->rows->elts)[i];
}

/* The heads' lines: 0 the upper, 1 the lower; a head of one line is below. */
static const char *head_line(const ka_table *table, size_t column, int line)
{
    const char *head = table->columns[column].head;
    const char *feed = strchr(head, '\n');

    if (line == 1) {
        return feed ? feed + 1 : head;
    }
    return feed ? apr_pstrmemdup(table->pool, head, (apr_size_t)(feed - head))
                : "";
}

static int column_width(const ka_table *table, size_t column)
{
    size_t width = 0, length;
    int i;

    for (i = 0; i < 2; i++) {
        length = strlen(head_line(table, column, i));
        width = length > width ? length : width;
    }
    for (i = 0; i < table->rows->nelts; i++) {
        length = strlen(row_at(table, i)->cells[column]);
        width = length > width ? length : width;
    }
    return (int)width;
}

/* Columns that the fixed ones take, gaps between them included. */
static int fixed_width(const ka_table *table, const layout *l)
{
    int width = l->indent;
    size_t i;

    for (i = 0; i < table->n; i++) {
        if (l->shown[i] && (int)i != l->wrap) {
            width += l->widths[i] + l->gap;
        }
    }
    return l->wrap < 0 ? width - l->gap : width;
}

static bool fits(const ka_table *table, const layout *l, const ka_page *page)
{
    int least = l->wrap < 0 ? 0 : KA_TABLE_WRAP_MIN;

    return fixed_width(table, l) + least <= page->width;
}

/* Takes the next column out; false if none may go. */
static bool drop_one(const ka_table *table, layout *l)
{
    size_t i, pick = table->n;

    for (i = 0; i < table->n; i++) {
        if (l->shown[i] && table->columns[i].drop > 0 &&
            (pick == table->n ||
             table->columns[i].drop < table->columns[pick].drop)) {
            pick = i;
        }
    }
    if (pick == table->n) {
        return false;
    }
    l->shown[pick] = false;
    return true;
}

static layout lay_out(const ka_table *table, const ka_page *page, int indent)
{
    layout l = {.gap = 2, .indent = indent, .wrap = -1};
    size_t i;

    for (i = 0; i < table->n; i++) {
        l.shown[i] = true;
        l.widths[i] = column_width(table, i);
        if (table->columns[i].wrap) {
            l.wrap = (int)i;
        }
    }
    if (!fits(table, &l, page)) {
        l.gap = 1;
    }
    while (!fits(table, &l, page) && drop_one(table, &l))
        ;
    if (l.wrap >= 0) {
        int left = page->width - fixed_width(table, &l);

        l.wrap_width = left < KA_TABLE_WRAP_MIN ? 0 : left;
    }
    return l;
}

/* One line of the fixed columns, empty if cells is NULL; the text of the
 * wrapped one behind it. */
static void print_line(const ka_table *table, const layout *l, ka_page *page,
                       ka_style style, const char *const *cells,
                       const char *wrapped)
{
    char *line = apr_psprintf(page->pool, "%*s", l->indent, "");
    bool first = true;
    size_t i, end;

    for (i = 0; i < table->n; i++) {
        if (!l->shown[i] || (int)i == l->wrap) {
            continue;
        }
        line = apr_psprintf(
            page->pool, table->columns[i].right ? "%s%*s%*s" : "%s%*s%-*s",
            line, first ? 0 : l->gap, "", l->widths[i], cells ? cells[i] : "");
        first = false;
    }
    if (wrapped) {
        line = apr_psprintf(page->pool, "%s%*s%s", line, l->gap, "", wrapped);
    }
    for (end = strlen(line); end > 0 && line[end - 1] == ' '; end--) {
        line[end - 1] = '\0';
    }
    ka_page_line(page, style, line);
}

static void print_heads(const ka_table *table, const layout *l, ka_page *page)
{
    const char *cells[KA_TABLE_COLUMNS];
    bool two = false;
    size_t i;
    int line;

    for (i = 0; i < table->n; i++) {
        two = two || (l->shown[i] && strchr(table->columns[i].head, '\n'));
    }
    for (line = two ? 0 : 1; line < 2; line++) {
        for (i = 0; i < table->n; i++) {
            cells[i] = head_line(table, i, line);
        }
        print_line(table, l, page, KA_STYLE_DIM, cells,
                   l->wrap >= 0 && l->wrap_width ? cells[l->wrap] : NULL);
    }
}

/* @return lines printed */
static int print_row(const ka_table *table, const layout *l, ka_page *page,
                     const row *r)
{
    const char *text = l->wrap < 0 ? NULL : r->cells[l->wrap];
    const char *const *cells = r->cells;
    int lines = 0;

    if (!text || !l->wrap_width) {
        print_line(table, l, page, r->style, cells, NULL);
        if (text) {
            const char *lead =
                apr_psprintf(page->pool, "%*s", l->indent + 4, "");

            ka_page_paragraph(page, r->style, lead, lead, text);
        }
        return text ? 2 : 1;
    }
    for (; text; lines++) {
        const char *line = text;
        size_t length = ka_wrap_line(&text, (size_t)l->wrap_width);

        print_line(table, l, page, r->style, cells,
                   apr_pstrmemdup(page->pool, line, length));
        cells = NULL;
    }
    return lines;
}

/* Heads of the columns that are not shown, on one line each. */
static const char *left_out(const ka_table *table, const layout *l,
                            apr_pool_t *pool)
{
    const char *names = NULL;
    size_t i;

    for (i = 0; i < table->n; i++) {
        char *name, *feed;

        if (l->shown[i]) {
            continue;
        }
        name = apr_pstrdup(pool, table->columns[i].head);
        feed = strchr(name, '\n');
        if (feed) {
            *feed = ' ';
        }
        names = names ? apr_pstrcat(pool, names, ", ", name, NULL) : name;
    }
    return names;
}

const char *ka_table_print(const ka_table *table, ka_page *page, int indent)
{
    layout l;
    int i;

    if (!table->rows->nelts) {
        return NULL;
    }
    l = lay_out(table, page, indent);
    print_heads(table, &l, page);
    for (i = 0; i < table->rows->nelts; i++) {
        int lines = print_row(table, &l, page, row_at(table, i));

        if (table->blank_between && lines > 1 && i + 1 < table->rows->nelts) {
            ka_page_gap(page);
        }
    }
    return left_out(table, &l, page->pool);
}
