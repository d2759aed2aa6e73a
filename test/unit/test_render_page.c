/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include <errno.h>
#include <apr_strings.h>
#include "render/page.h"
#include "render/table.h"
#include "unit.h"

/* All lines that wrapping makes, joined by "|". */
static const char *wrapped(apr_pool_t *pool, const char *text, size_t width)
{
    const char *all = "";

    while (text) {
        const char *line = text;
        size_t n = ka_wrap_line(&text, width);

        all = apr_pstrcat(pool, all, *all ? "|" : "",
                          apr_pstrmemdup(pool, line, n), NULL);
    }
    return all;
}

static void test_wrap__cases(void **state)
{
    static const struct {
        const char *text;
        size_t width;
        const char *lines;
    } cases[] = {{"", 10, ""},
                 {"one two", 10, "one two"},
                 {"one two", 7, "one two"},
                 {"one two", 6, "one|two"},
                 {"one  two   ", 5, "one|two"},
                 {"one two three", 8, "one two|three"},
                 {"abcdefghij", 4, "abcd|efgh|ij"},
                 {"ab cdefghij", 4, "ab|cdef|ghij"},
                 {"a\nb c", 10, "a|b c"},
                 {"a\n\nb", 10, "a||b"},
                 {"a\n", 10, "a|"},
                 {"say\n   as it is, however long\nso", 8,
                  "say|   as it is, however long|so"},
                 {"one two  \nthree", 7, "one two|three"},
                 {"x", 1, "x"},
                 {"xyz", 1, "x|y|z"},
                 /* an escape is never cut */
                 {"abc\\x0adef", 4, "abc|\\x0a|def"},
                 {"abc\\x0adef", 5, "abc|\\x0ad|ef"},
                 {"abc\\x0adef", 6, "abc|\\x0ade|f"},
                 {"abc\\x0adef", 7, "abc\\x0a|def"},
                 {"\\x0a", 2, "\\x|0a"}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(wrapped(*state, cases[i].text, cases[i].width),
                            cases[i].lines);
    }
}

/* ---- pages ------------------------------------------------------------------
 */

typedef struct sheet {
    char *text;
    size_t size;
    FILE *out;
    ka_page page;
} sheet;

static void sheet_begin(sheet *s, int width, bool color)
{
    s->out = open_memstream(&s->text, &s->size);
    assert_non_null(s->out);
    assert_int_equal(ka_page_begin(&s->page, s->out, width, color),
                     APR_SUCCESS);
}

static void sheet_expect(sheet *s, const char *expected)
{
    assert_int_equal(ka_page_end(&s->page), APR_SUCCESS);
    fclose(s->out);
    assert_string_equal(s->text, expected);
    free(s->text);
}

static void test_page__headings_paragraphs_items(void **state)
{
    sheet s;

    (void)state;
    sheet_begin(&s, 40, false);
    ka_page_heading(&s.page, "First");
    ka_page_paragraph(&s.page, KA_STYLE_PLAIN, "  1. ", "     ",
                      "a sentence that needs two lines of it");
    ka_page_heading(&s.page, "Second");
    ka_page_item(&s.page, "Label", "text that goes to a second line");
    sheet_expect(&s, "First\n"
                     "  1. a sentence that needs two lines of\n"
                     "     it\n"
                     "\n"
                     "Second\n"
                     "  Label             text that goes to a\n"
                     "                    second line\n");
}

static void test_page__color_only_where_wanted(void **state)
{
    sheet s;

    (void)state;
    sheet_begin(&s, 0, true);
    ka_page_line(&s.page, KA_STYLE_BOLD, "x\033[2Jy");
    ka_page_line(&s.page, KA_STYLE_PLAIN, "z");
    sheet_expect(&s, "\033[1mx\\x1b[2Jy\033[0m\nz\n");
    sheet_begin(&s, 0, false);
    ka_page_line(&s.page, KA_STYLE_BOLD, "x");
    sheet_expect(&s, "x\n");
}

static void test_page__a_full_disk_is_a_status(void **state)
{
    FILE *full = fopen("/dev/full", "w");
    ka_page page;

    (void)state;
    assert_non_null(full);
    assert_int_equal(ka_page_begin(&page, full, 0, false), APR_SUCCESS);
    ka_page_line(&page, KA_STYLE_PLAIN, "x");
    assert_int_equal(ka_page_end(&page), ENOSPC);
    fclose(full);
}

/* ---- tables -----------------------------------------------------------------
 */

static const ka_column columns[] = {{.head = "name", .most = 12},
                                    {.head = "per s\nmean", .right = true},
                                    {.head = "less", .right = true, .drop = 1},
                                    {.head = "why", .wrap = true}};

static void fill(ka_table *table, apr_pool_t *pool)
{
    ka_table_init(table, columns, 4, pool);
    ka_table_row(table, KA_STYLE_PLAIN,
                 (const char *[]){"a", "1.25", "12",
                                  "a reason that wraps in its own column"});
    ka_table_row(table, KA_STYLE_PLAIN,
                 (const char *[]){"a name that is long\n", "10", NULL, "b"});
}

static void test_table__aligns_and_wraps(void **state)
{
    ka_table table;
    sheet s;

    fill(&table, *state);
    sheet_begin(&s, 58, false);
    assert_null(ka_table_print(&table, &s.page, 2));
    sheet_expect(&s, "                per s\n"
                     "  name           mean  less  why\n"
                     "  a              1.25    12  a reason that wraps in its\n"
                     "                             own column\n"
                     "  a name th...     10        b\n");
}

/* One space between columns, then the column that may go is left out. */
static void test_table__leaves_columns_out_to_fit(void **state)
{
    ka_table table;
    sheet s;

    fill(&table, *state);
    sheet_begin(&s, 46, false);
    assert_string_equal(ka_table_print(&table, &s.page, 2), "less");
    sheet_expect(&s, "               per s\n"
                     "  name          mean why\n"
                     "  a             1.25 a reason that wraps in\n"
                     "                     its own column\n"
                     "  a name th...    10 b\n");
}

/* Too narrow for a column of its own: the reason goes below its row. */
static void test_table__puts_the_reason_below(void **state)
{
    ka_table table;
    sheet s;

    fill(&table, *state);
    sheet_begin(&s, 40, false);
    assert_string_equal(ka_table_print(&table, &s.page, 2), "less");
    sheet_expect(&s, "               per s\n"
                     "  name          mean\n"
                     "  a             1.25\n"
                     "      a reason that wraps in its own\n"
                     "      column\n"
                     "  a name th...    10\n"
                     "      b\n");
}

static void test_table__without_rows_prints_nothing(void **state)
{
    ka_table table;
    sheet s;

    ka_table_init(&table, columns, 4, *state);
    sheet_begin(&s, 80, false);
    assert_null(ka_table_print(&table, &s.page, 2));
    sheet_expect(&s, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_wrap__cases),
        unit_test(test_page__headings_paragraphs_items),
        unit_test(test_page__color_only_where_wanted),
        unit_test(test_page__a_full_disk_is_a_status),
        unit_test(test_table__aligns_and_wraps),
        unit_test(test_table__leaves_columns_out_to_fit),
        unit_test(test_table__puts_the_reason_below),
        unit_test(test_table__without_rows_prints_nothing)};

    return unit_main(tests);
}
