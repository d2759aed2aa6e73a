/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "pieces.h"

#include <math.h>
#include <string.h>

#include "resample.h"

ka_piece_rows ka_piece_rows_make(size_t n, size_t timeout_n, apr_pool_t *pool)
{
    return (ka_piece_rows){
        .rows = apr_pcalloc(pool, (n + 1) * ka_pieces_width(timeout_n) *
                                      sizeof(double)),
        .n = n,
        .effective = (double)n};
}

void ka_piece_rows_total(double *sums, const ka_piece_rows *rows,
                         size_t timeout_n)
{
    const size_t width = ka_pieces_width(timeout_n);
    size_t i, v;

    memset(sums, 0, width * sizeof(*sums));
    for (i = 0; i < rows->n; i++) {
        for (v = 0; v < width; v++) {
            sums[v] += rows->rows[i * width + v];
        }
    }
}

void ka_piece_rows_drop_empty(ka_piece_rows *rows, size_t timeout_n)
{
    const size_t width = ka_pieces_width(timeout_n);
    size_t i, kept = 0;

    for (i = 0; i < rows->n; i++) {
        const double *row = rows->rows + i * width;

        if (row[KA_PIECE_WEIGHT] > 0) {
            memmove(rows->rows + kept++ * width, row, width * sizeof(*row));
        }
    }
    rows->n = kept;
}

int64_t ka_pieces_together(double covered)
{
    return covered < KA_UNITS_MIN
               ? 0
               : (int64_t)fmax(floor(covered / KA_BLOCKS_WANTED), 1);
}

/* ---- as the outcomes say ------------------------------------------------- */

static double column_sum(const ka_piece_rows *rows, size_t width, size_t v)
{
    double sum = 0;
    size_t i;

    for (i = 0; i < rows->n; i++) {
        sum += rows->rows[i * width + v];
    }
    return sum;
}

/* Column v becomes as large as `wanted`, in proportion to column `by`. */
static void fit_column(ka_piece_rows *rows, size_t width, size_t v, size_t by,
                       double wanted)
{
    const double sum = column_sum(rows, width, by);
    size_t i;

    for (i = 0; i < rows->n; i++) {
        double *row = rows->rows + i * width;

        row[v] = sum > 0 ? row[by] * (wanted / sum)
                         : wanted / (double)rows->n;
    }
}

static void fit_or_spread(ka_piece_rows *rows, size_t width, size_t v,
                          double wanted)
{
    fit_column(rows, width, v,
               column_sum(rows, width, v) > 0 ? v : KA_PIECE_REQUESTS,
               wanted);
}

void ka_piece_rows_fit(ka_piece_rows *rows, const ka_outcome *outcomes,
                       size_t timeout_n)
{
    const size_t width = ka_pieces_width(timeout_n);
    const double window_us =
        timeout_n > 0 ? outcomes[0].window_s * 1e6 : 0;
    size_t j;

    if (rows->n == 0 || !(window_us > 0)) {
        rows->n = 0;
        return;
    }
    fit_column(rows, width, KA_PIECE_WEIGHT, KA_PIECE_WEIGHT, window_us);
    fit_column(rows, width, KA_PIECE_REQUESTS, KA_PIECE_REQUESTS,
               (double)outcomes[0].requests);
    fit_or_spread(rows, width, KA_PIECE_BUSY, (double)outcomes[0].busy_us);
    for (j = 0; j < timeout_n; j++) {
        fit_or_spread(rows, width, KA_PIECE_NUMBERS + j,
                      (double)outcomes[j].connections);
        fit_or_spread(rows, width, KA_PIECE_NUMBERS + timeout_n + j,
                      (double)outcomes[j].idle_us);
    }
}
