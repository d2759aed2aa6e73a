/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_table: rows in aligned columns that fit the page.
 *
 *   | gap | head    |  head |  head that wraps     |
 *   |     | left    | right |  the one column that |
 *   |     |         |       |  takes what is left  |
 *
 * Fitting, in this order: two spaces between columns; one; columns with a
 * `drop` are left out, the lowest first; a wrapped column that has under
 * KA_TABLE_WRAP_MIN left goes below its row.  A table of columns that cannot
 * be left out may still be wider than the page.
 */
#ifndef KA_TABLE_H
#define KA_TABLE_H

#include <apr_tables.h>
#include "page.h"

#define KA_TABLE_WRAP_MIN 24
#define KA_TABLE_COLUMNS 16

typedef struct ka_column {
    const char *head; /* one \n makes two lines of it */
    bool right;       /* aligned to the right */
    bool wrap;        /* at most one, the last */
    int drop;         /* > 0: may be left out, the lowest first */
    int most;         /* > 0: longer cells are cut with "..." */
} ka_column;

typedef struct ka_table {
    const ka_column *columns;
    size_t n;
    apr_pool_t *pool;
    apr_array_header_t *rows; /* of ka_table_row */
    bool blank_between;       /* an empty line after a row of several lines */
} ka_table;

/** An empty table; columns[n] must outlive it, 0 < n <= KA_TABLE_COLUMNS. */
void ka_table_init(ka_table *table, const ka_column *columns, size_t n,
                   apr_pool_t *pool);

/** Adds a row of cells[table->n]; NULL is an empty cell.  Cells are copied
 * and cleaned. */
void ka_table_row(ka_table *table, ka_style style, const char *const *cells);

/**
 * Prints it, indented, with its heads; nothing if it has no rows.
 * @return heads of the columns left out, `idle, busy`; NULL if none were;
 *         owned by the page's pool
 */
const char *ka_table_print(const ka_table *table, ka_page *page, int indent);

#endif
