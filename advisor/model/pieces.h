/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_pieces: traffic cut into pieces, once by visitor and once by time: what
 * intervals are resampled from (intervals.h).  Each piece is a row of numbers
 * that add up:
 *
 *   weight | requests | S | N[0] .. N[n - 1] | H[0] .. H[n - 1]
 *
 * of the n timeouts that are evaluated; weight and times in us.  Where they
 * come from, sample.h (requests one by one), live_pieces.h (the module's own
 * records) and prom_traffic.h say.
 */
#ifndef KA_PIECES_H
#define KA_PIECES_H

#include <stddef.h>
#include <stdint.h>
#include <apr_pools.h>
#include "outcome.h"

/* Blocks of time are as long as there can be so many of them. */
#define KA_BLOCKS_WANTED 12

enum {
    KA_PIECE_WEIGHT, /* server time that it stands for, > 0 */
    KA_PIECE_REQUESTS,
    KA_PIECE_BUSY,   /* S */
    KA_PIECE_NUMBERS /* N[0] */
};

typedef struct ka_piece_rows {
    double *rows; /* rows[n * ka_pieces_width()] */
    size_t n;
    double effective; /* how many count, <= n: those that saw visitors; blocks
                         that time covers in part, by that */
} ka_piece_rows;

typedef struct ka_pieces {
    size_t timeout_n;
    ka_piece_rows visitors, blocks; /* n 0: not known */
    int64_t block_us;               /* length of a block */
} ka_pieces;

/** Numbers in a row. */
static inline size_t ka_pieces_width(size_t timeout_n)
{
    return KA_PIECE_NUMBERS + 2 * timeout_n;
}

/** Rows of zeros, owned by pool. */
ka_piece_rows ka_piece_rows_make(size_t n, size_t timeout_n, apr_pool_t *pool);

/** sums[ka_pieces_width()]: of all rows; 0 without. */
void ka_piece_rows_total(double *sums, const ka_piece_rows *rows,
                         size_t timeout_n);

/** How many stretches of time are to be one block, where so many are covered;
 * 0: too few are (KA_UNITS_MIN). */
int64_t ka_pieces_together(double covered);

/** Leaves out rows without weight. */
void ka_piece_rows_drop_empty(ka_piece_rows *rows, size_t timeout_n);

/**
 * Scales each number so that the rows add up to what outcomes[timeout_n] say,
 * weights to their window: for pieces that only show how traffic differs from
 * one to the next.  What no row has is spread by requests.  Without a window
 * no rows are left.
 */
void ka_piece_rows_fit(ka_piece_rows *rows, const ka_outcome *outcomes,
                       size_t timeout_n);

#endif
