/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The sample of a line: {"block_us", "first", "begin_us", "end_us", "low":
 * {"groups": [row, ...], "blocks": [row, ...]}, "high": likewise}, of the
 * line's timeouts.  A row is flat: [requests, opens, busy_us, covered_us, and
 * for each class of idle times that is not empty: step, gap_n, gap_us, tail_n,
 * tail_us].
 */
#include "profilefile_take.h"

/* Numbers of a row before its classes, and of a class. */
#define ROW_HEAD 4
#define ROW_CLASS 5

/* Blocks are never longer (500 years), and may still become so. */
#define LENGTH_MOST (INT64_C(1) << 54)

/* In the order in which a row has them. */
static const size_t head[ROW_HEAD] = {
    offsetof(ka_sample_side, requests), offsetof(ka_sample_side, opens),
    offsetof(ka_sample_side, busy_us), offsetof(ka_sample_side, covered_us)};

static const size_t of_class[ROW_CLASS - 1] = {
    offsetof(ka_sample_idle, gap_n), offsetof(ka_sample_idle, gap_us),
    offsetof(ka_sample_idle, tail_n), offsetof(ka_sample_idle, tail_us)};

static uint64_t *field(void *of, size_t offset)
{
    return (uint64_t *)(void *)((char *)of + offset);
}

/* ---- writing ------------------------------------------------------------ */

static int append(json_t *row, uint64_t n)
{
    return json_array_append_new(
        row, json_integer(n < KA_PF_MOST ? (json_int_t)n : KA_PF_MOST));
}

static bool is_empty(const ka_sample_idle *idle)
{
    return idle->gap_n == 0 && idle->tail_n == 0;
}

static json_t *row_of(ka_sample_side *side, size_t classes, bool *failed)
{
    json_t *row = json_array();
    size_t i, k, before = 0;

    for (i = 0; i < ROW_HEAD; i++) {
        *failed |= append(row, *field(side, head[i])) != 0;
    }
    for (k = 0; k < classes; k++) {
        if (is_empty(&side->idle[k])) {
            continue;
        }
        *failed |= append(row, k - before) != 0;
        for (i = 0; i < ROW_CLASS - 1; i++) {
            *failed |= append(row, *field(&side->idle[k], of_class[i])) != 0;
        }
        before = k;
    }
    return row;
}

static json_t *side_of(const ka_sample *s, int side, bool *failed)
{
    json_t *object = json_object(), *groups = json_array();
    json_t *blocks = json_array();
    const size_t classes = s->timeout_n + 1;
    size_t i;

    for (i = 0; i < KA_SAMPLE_GROUPS; i++) {
        *failed |= json_array_append_new(
                       groups, row_of(ka_sample_group_side(s, i, side),
                                      classes, failed)) != 0;
    }
    for (i = 0; i < s->block_n; i++) {
        *failed |= json_array_append_new(
                       blocks, row_of(ka_sample_block_side(s, i, side),
                                      classes, failed)) != 0;
    }
    *failed |= json_object_set_new(object, "groups", groups) != 0;
    *failed |= json_object_set_new(object, "blocks", blocks) != 0;
    return object;
}

json_t *ka_pf_encode_sample(const ka_sample *sample, bool bracket,
                            size_t blocks)
{
    ka_sample *s = ka_sample_copy(sample);
    bool failed = false;
    json_t *object;

    if (s == NULL) {
        return NULL;
    }
    ka_sample_shorten(s, blocks);
    object = json_pack("{s:I, s:I, s:I, s:I}", "block_us",
                       (json_int_t)s->block_us, "first", (json_int_t)s->first,
                       "begin_us", (json_int_t)s->begin_us, "end_us",
                       (json_int_t)s->end_us);
    failed |= json_object_set_new(object, "low", side_of(s, 0, &failed)) != 0;
    if (bracket) {
        failed |=
            json_object_set_new(object, "high", side_of(s, 1, &failed)) != 0;
    }
    ka_sample_free(s);
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

/* ---- reading ------------------------------------------------------------ */

static bool take_number(ka_pf_taker *d, uint64_t *out, const json_t *row,
                        size_t i, const ka_pf_place *up)
{
    const ka_pf_place at = {.up = up, .index = i};

    return ka_pf_take_whole(d, out, json_array_get(row, i), &at);
}

static bool take_class(ka_pf_taker *d, ka_sample_idle *idle,
                       const json_t *row, size_t i, const ka_pf_place *up)
{
    size_t f;

    for (f = 0; f < ROW_CLASS - 1; f++) {
        if (!take_number(d, field(idle, of_class[f]), row, i + 1 + f, up)) {
            return false;
        }
    }
    return true;
}

static bool take_row(ka_pf_taker *d, ka_sample_side *side, const json_t *row,
                     size_t classes, const ka_pf_place *at)
{
    const size_t n = json_array_size(row);
    size_t i, k = 0;

    if (n < ROW_HEAD || (n - ROW_HEAD) % ROW_CLASS != 0) {
        return ka_pf_refuse(d, at, "4 numbers, and 5 for each class");
    }
    for (i = 0; i < ROW_HEAD; i++) {
        if (!take_number(d, field(side, head[i]), row, i, at)) {
            return false;
        }
    }
    for (; i < n; i += ROW_CLASS) {
        const ka_pf_place place = {.up = at, .index = i};
        int64_t step;

        if (!ka_pf_take_range(d, &step, json_array_get(row, i), &place,
                              i > ROW_HEAD, (int64_t)(classes - 1 - k))) {
            return false;
        }
        k += (size_t)step;
        if (!take_class(d, &side->idle[k], row, i, at)) {
            return false;
        }
    }
    return true;
}

typedef ka_sample_side *side_at(const ka_sample *sample, size_t i, int side);

static bool take_rows(ka_pf_taker *d, ka_sample *s, int side, side_at *row_at,
                      const json_t *array, const ka_pf_place *at)
{
    size_t i;

    for (i = 0; i < json_array_size(array); i++) {
        const ka_pf_place place = {.up = at, .index = i};

        if (!take_row(d, row_at(s, i, side), json_array_get(array, i),
                      s->timeout_n + 1, &place)) {
            return false;
        }
    }
    return true;
}

static bool take_side(ka_pf_taker *d, ka_sample *s, int side,
                      const json_t *object, const char *key,
                      const ka_pf_place *up)
{
    const ka_pf_place at = {.up = up, .key = key};
    const ka_pf_place groups_at = {.up = &at, .key = "groups"};
    const ka_pf_place blocks_at = {.up = &at, .key = "blocks"};
    const json_t *of = ka_pf_member(d, object, key, JSON_OBJECT, &at);
    const json_t *groups =
        of ? ka_pf_member(d, of, groups_at.key, JSON_ARRAY, &groups_at) : NULL;
    const json_t *blocks =
        of ? ka_pf_member(d, of, blocks_at.key, JSON_ARRAY, &blocks_at) : NULL;

    if (!groups || !blocks) {
        return false;
    }
    if (json_array_size(groups) != KA_SAMPLE_GROUPS) {
        return ka_pf_refuse(d, &groups_at, "64 rows");
    }
    if (json_array_size(blocks) > KA_SAMPLE_BLOCKS ||
        (side > 0 && json_array_size(blocks) != s->block_n)) {
        return ka_pf_refuse(d, &blocks_at,
                            "at most 256 rows, on both sides as many");
    }
    s->block_n = json_array_size(blocks);
    return take_rows(d, s, side, ka_sample_group_side, groups, &groups_at) &&
           take_rows(d, s, side, ka_sample_block_side, blocks, &blocks_at);
}

static bool is_length(int64_t block_us)
{
    int64_t length_us = KA_SAMPLE_BLOCK_US;

    while (length_us < block_us) {
        length_us = ka_sample_longer(length_us);
    }
    return length_us == block_us;
}

static bool take_times(ka_pf_taker *d, ka_sample *s, const json_t *object,
                       const ka_pf_place *up)
{
    static const ka_pf_range times[] = {
        {"block_us", offsetof(ka_sample, block_us), KA_SAMPLE_BLOCK_US,
         LENGTH_MOST},
        {"begin_us", offsetof(ka_sample, begin_us), -KA_PF_MOST_US,
         KA_PF_MOST_US},
        {"end_us", offsetof(ka_sample, end_us), -KA_PF_MOST_US,
         KA_PF_MOST_US},
        {NULL}};
    const ka_pf_place at = {.up = up, .key = "block_us"};
    const ka_pf_place first_at = {.up = up, .key = "first"};
    int64_t most;

    if (!ka_pf_take_ranges(d, s, times, object, up)) {
        return false;
    }
    if (!is_length(s->block_us)) {
        return ka_pf_refuse(d, &at, "a length that blocks have");
    }
    most = KA_PF_MOST_US / s->block_us;
    return ka_pf_take_range(d, &s->first, json_object_get(object, "first"),
                            &first_at, -most, most);
}

bool ka_pf_take_sample(ka_pf_taker *d, ka_tally *tally, const json_t *line)
{
    const ka_pf_place at = {.key = "sample"};
    const json_t *object = json_object_get(line, at.key);

    if (object == NULL) {
        return true; /* older than samples, or too long with one */
    }
    if (!json_is_object(object)) {
        return ka_pf_refuse(d, &at, "an object {...}");
    }
    tally->sample = ka_sample_make(tally->timeouts, tally->timeout_n);
    if (tally->sample == NULL) {
        return ka_pf_no_memory(d);
    }
    return take_times(d, tally->sample, object, &at) &&
           take_side(d, tally->sample, 0, object, "low", &at) &&
           (!tally->bracket ||
            take_side(d, tally->sample, 1, object, "high", &at));
}
