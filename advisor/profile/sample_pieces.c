/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * From a sample's sums to what follows from them: [M4] and [M5], by piece. */
#include "sample.h"

#include <math.h>
#include <string.h>

/* ---- [M4] [M5] ----------------------------------------------------------- */

void ka_sample_evaluate(double *n, double *idle_us, const ka_sample *s,
                        const ka_sample_side *side)
{
    double gaps = 0, waits = 0, shorter_us = 0;
    size_t j, k;

    for (k = 0; k <= s->timeout_n; k++) {
        gaps += (double)side->idle[k].gap_n;
        waits += (double)(side->idle[k].gap_n + side->idle[k].tail_n);
    }
    for (j = 0; j < s->timeout_n; j++) {
        const int64_t wait_us = s->timeouts[j] > 0 ? s->timeouts[j] : 0;
        const ka_sample_idle *idle = &side->idle[j];

        gaps -= (double)idle->gap_n;
        waits -= (double)(idle->gap_n + idle->tail_n);
        shorter_us += (double)(idle->gap_us + idle->tail_us);
        n[j] = (double)side->opens + gaps;
        idle_us[j] = shorter_us + waits * (double)wait_us;
    }
}

/* ---- fewer timeouts ------------------------------------------------------ */

static void join_class(ka_sample_side *side, size_t k, size_t classes)
{
    const ka_sample_idle *next = &side->idle[k + 1];

    side->idle[k].gap_n += next->gap_n;
    side->idle[k].gap_us += next->gap_us;
    side->idle[k].tail_n += next->tail_n;
    side->idle[k].tail_us += next->tail_us;
    memmove(&side->idle[k + 1], &side->idle[k + 2],
            (classes - k - 2) * sizeof(*side->idle));
    memset(&side->idle[classes - 1], 0, sizeof(*side->idle));
}

/* Idle times of class k and k + 1 are told apart by timeout k alone. */
static void forget_timeout(ka_sample *s, size_t k)
{
    const size_t classes = s->timeout_n + 1;
    size_t i;
    int side;

    for (side = 0; side < 2; side++) {
        for (i = 0; i < KA_SAMPLE_GROUPS; i++) {
            join_class(ka_sample_group_side(s, i, side), k, classes);
        }
        for (i = 0; i < KA_SAMPLE_BLOCKS; i++) {
            join_class(ka_sample_block_side(s, i, side), k, classes);
        }
    }
    s->timeout_n--;
    memmove(&s->timeouts[k], &s->timeouts[k + 1],
            (s->timeout_n - k) * sizeof(*s->timeouts));
}

void ka_sample_keep(ka_sample *s, const int64_t *timeouts, size_t n)
{
    size_t k = 0, i = 0;

    while (k < s->timeout_n) {
        while (i < n && timeouts[i] < s->timeouts[k]) {
            i++;
        }
        if (i < n && timeouts[i] == s->timeouts[k]) {
            k++;
        }
        else {
            forget_timeout(s, k);
        }
    }
}

void ka_sample_double(ka_sample *s)
{
    size_t i;

    for (i = 0; i < KA_SAMPLE_GROUPS; i++) {
        memcpy(ka_sample_group_side(s, i, 1), ka_sample_group_side(s, i, 0),
               s->side_bytes);
        ka_sample_group_side(s, i, 1)->requests = 0;
    }
    for (i = 0; i < KA_SAMPLE_BLOCKS; i++) {
        memcpy(ka_sample_block_side(s, i, 1), ka_sample_block_side(s, i, 0),
               s->side_bytes);
        ka_sample_block_side(s, i, 1)->requests = 0;
        ka_sample_block_side(s, i, 1)->covered_us = 0;
    }
}

/* ---- pieces -------------------------------------------------------------- */

typedef struct cutter {
    const ka_sample *sample;
    const int64_t *timeouts; /* timeouts[n]: wanted */
    size_t n;
    int side;
    double opens[KA_SAMPLE_TIMEOUTS], idle_us[KA_SAMPLE_TIMEOUTS];
} cutter;

/* Of values at the sample's timeouts, that at another: in between on a
 * straight line, beyond them the nearest. */
static double value_at(const cutter *c, const double *values,
                       int64_t timeout_us)
{
    const int64_t *own = c->sample->timeouts;
    const size_t last = c->sample->timeout_n - 1;
    size_t k = 0;

    while (k < last && own[k] < timeout_us) {
        k++;
    }
    if (k == 0 || own[k] <= timeout_us) {
        return values[k];
    }
    return values[k - 1] + (values[k] - values[k - 1]) *
                               (double)(timeout_us - own[k - 1]) /
                               (double)(own[k] - own[k - 1]);
}

/* Requests and time are those of the low side.  Adds to the row. */
static void add_cell(cutter *c, double *row, const ka_sample_side *low,
                     const ka_sample_side *side, double weight)
{
    size_t j;

    row[KA_PIECE_WEIGHT] += weight;
    row[KA_PIECE_REQUESTS] += (double)low->requests;
    row[KA_PIECE_BUSY] += (double)side->busy_us;
    ka_sample_evaluate(c->opens, c->idle_us, c->sample, side);
    for (j = 0; j < c->n && c->sample->timeout_n > 0; j++) {
        row[KA_PIECE_NUMBERS + j] += value_at(c, c->opens, c->timeouts[j]);
        row[KA_PIECE_NUMBERS + c->n + j] +=
            value_at(c, c->idle_us, c->timeouts[j]);
    }
}

/* What blocks cover in all, and the most that one does. */
static void sum_covered(double *sum, double *most, const ka_sample *s)
{
    size_t i;

    *sum = *most = 0;
    for (i = 0; i < s->block_n; i++) {
        const double own = (double)ka_sample_block_side(s, i, 0)->covered_us;

        *sum += own;
        *most = fmax(*most, own);
    }
}

static void cut_groups(ka_piece_rows *rows, cutter *c, double window_us,
                       apr_pool_t *pool)
{
    const ka_sample *s = c->sample;
    size_t i;

    *rows = ka_piece_rows_make(KA_SAMPLE_GROUPS, c->n, pool);
    rows->effective = 0;
    for (i = 0; i < KA_SAMPLE_GROUPS; i++) {
        const ka_sample_side *low = ka_sample_group_side(s, i, 0);

        add_cell(c, rows->rows + i * ka_pieces_width(c->n), low,
                 ka_sample_group_side(s, i, c->side),
                 window_us / KA_SAMPLE_GROUPS);
        rows->effective += low->requests > 0;
    }
}

/* So many of the sample's blocks as one. */
static void cut_blocks(ka_piece_rows *rows, cutter *c, int64_t times,
                       apr_pool_t *pool)
{
    const ka_sample *s = c->sample;
    const int64_t first = s->first / times - (s->first % times < 0);
    size_t i;

    *rows = ka_piece_rows_make(KA_SAMPLE_BLOCKS, c->n, pool);
    for (i = 0; i < s->block_n; i++) {
        const int64_t at = s->first + (int64_t)i;
        const size_t into = (size_t)(at / times - (at % times < 0) - first);
        const ka_sample_side *low = ka_sample_block_side(s, i, 0);

        add_cell(c, rows->rows + into * ka_pieces_width(c->n), low,
                 ka_sample_block_side(s, i, c->side),
                 (double)low->covered_us);
    }
    /* Logs of some days may lie far apart. */
    ka_piece_rows_drop_empty(rows, c->n);
}

void ka_sample_pieces(ka_pieces *out, const ka_sample *sample, int side,
                      const int64_t *timeouts, size_t n, apr_pool_t *pool)
{
    cutter c = {.sample = sample, .timeouts = timeouts, .n = n, .side = side};
    double sum, most, full;
    int64_t times;

    *out = (ka_pieces){.timeout_n = n};
    sum_covered(&sum, &most, sample);
    if (!(sum > 0)) {
        return;
    }
    cut_groups(&out->visitors, &c, sum, pool);
    full = sum / most; /* blocks that are covered, the fullest as one */
    times = ka_pieces_together(full);
    if (times == 0) {
        return;
    }
    cut_blocks(&out->blocks, &c, times, pool);
    out->blocks.effective = fmin(full / (double)times, (double)out->blocks.n);
    out->block_us = times * sample->block_us;
}
