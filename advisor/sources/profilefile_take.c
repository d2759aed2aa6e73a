/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "profilefile_take.h"

#include <string.h>
#include <apr_strings.h>

#include "../profile/saturate.h"

#define MOST_HOUR (KA_PF_MOST_US / 1000000 / 3600)

/* ---- failures ----------------------------------------------------------- */

static const char *path_of(const ka_pf_taker *d, const ka_pf_place *at)
{
    const char *up;

    if (!at) {
        return "";
    }
    up = path_of(d, at->up);
    return at->key ? apr_pstrcat(d->pool, up, *up ? "." : "", at->key, NULL)
                   : apr_psprintf(d->pool, "%s[%" APR_SIZE_T_FMT "]", up,
                                  at->index);
}

/* Keeps the first. */
bool ka_pf_refuse(ka_pf_taker *d, const ka_pf_place *at, const char *wanted)
{
    if (!d->rv) {
        d->rv = APR_EINVAL;
        d->error = apr_psprintf(d->pool,
                                "\"%s\": expected %s; the file is damaged or "
                                "was made by other means: write it again with "
                                "`kaadvisor profile`",
                                path_of(d, at), wanted);
    }
    return false;
}

bool ka_pf_no_memory(ka_pf_taker *d)
{
    if (!d->rv) {
        d->rv = APR_ENOMEM;
        d->error = "not enough memory for it";
    }
    return false;
}

/* ---- pieces ------------------------------------------------------------- */

bool ka_pf_take_whole(ka_pf_taker *d, uint64_t *out, const json_t *value,
                      const ka_pf_place *at)
{
    if (!json_is_integer(value) || json_integer_value(value) < 0) {
        return ka_pf_refuse(d, at,
                            "a whole number from 0 to 9223372036854775807");
    }
    *out = (uint64_t)json_integer_value(value);
    if (*out == KA_PF_MOST) {
        *out = UINT64_MAX;
    }
    return true;
}

bool ka_pf_take_range(ka_pf_taker *d, int64_t *out, const json_t *value,
                      const ka_pf_place *at, int64_t least, int64_t most)
{
    int64_t n = json_is_integer(value) ? json_integer_value(value) : least - 1;

    if (n < least || n > most) {
        return ka_pf_refuse(d, at,
                            apr_psprintf(d->pool,
                                         "a whole number from %" APR_INT64_T_FMT
                                         " to %" APR_INT64_T_FMT,
                                         least, most));
    }
    *out = n;
    return true;
}

const json_t *ka_pf_member(ka_pf_taker *d, const json_t *object,
                           const char *key, json_type type,
                           const ka_pf_place *at)
{
    static const char *const kinds[] = {[JSON_OBJECT] = "an object {...}",
                                        [JSON_ARRAY] = "an array [...]",
                                        [JSON_STRING] = "a string"};
    const json_t *value = json_object_get(object, key);

    if (!value || json_typeof(value) != type) {
        ka_pf_refuse(d, at, kinds[type]);
        return NULL;
    }
    return value;
}

bool ka_pf_take_ranges(ka_pf_taker *d, void *into, const ka_pf_range *row,
                       const json_t *object, const ka_pf_place *up)
{
    for (; row->key; row++) {
        const ka_pf_place at = {.up = up, .key = row->key};
        int64_t n;

        if (!ka_pf_take_range(d, &n, json_object_get(object, row->key), &at,
                              row->least, row->most)) {
            return false;
        }
        memcpy((char *)into + row->offset, &n, sizeof(n));
    }
    return true;
}

bool ka_pf_take_counts(ka_pf_taker *d, void *into, const ka_pf_count *row,
                       const json_t *object, const ka_pf_place *up)
{
    for (; row->key; row++) {
        const ka_pf_place at = {.up = up, .key = row->key};
        uint64_t n;

        if (!ka_pf_take_whole(d, &n, json_object_get(object, row->key), &at)) {
            return false;
        }
        memcpy((char *)into + row->offset, &n, sizeof(n));
    }
    return true;
}

/* Walks [step, columns...]: the place of the next item in an array of `size`.
 * The first step may be 0. */
static bool take_step(ka_pf_taker *d, size_t *index, const json_t *array,
                      size_t i, size_t size, const ka_pf_place *up)
{
    const ka_pf_place at = {.up = up, .index = i};
    int64_t step;

    if (!ka_pf_take_range(d, &step, json_array_get(array, i), &at, i > 0,
                          (int64_t)size)) {
        return false;
    }
    *index += (size_t)step;
    return *index < size ? true
                         : ka_pf_refuse(d, &at, "a step to a bin that is");
}

static bool take_column(ka_pf_taker *d, uint64_t *out, const json_t *array,
                        size_t i, const ka_pf_place *up)
{
    const ka_pf_place at = {.up = up, .index = i};

    return ka_pf_take_whole(d, out, json_array_get(array, i), &at);
}

static bool is_of(ka_pf_taker *d, const json_t *array, size_t columns,
                  const ka_pf_place *at)
{
    return json_array_size(array) % columns == 0
               ? true
               : ka_pf_refuse(d, at,
                              apr_psprintf(d->pool,
                                           "%" APR_SIZE_T_FMT " numbers a bin",
                                           columns));
}

/* ---- histograms --------------------------------------------------------- */

/* Values that lie in the bin cannot add up to less or more. */
static bool adds_up(const ka_hist_bin *bin, size_t i)
{
    if (bin->count == 0) {
        return false;
    }
    return bin->count == UINT64_MAX || bin->sum == UINT64_MAX ||
           (bin->sum >= ka_mul_saturated(bin->count, ka_hist_bin_low(i)) &&
            (i == KA_HIST_BINS - 1 ||
             bin->sum <=
                 ka_mul_saturated(bin->count, ka_hist_bin_low(i + 1) - 1)));
}

bool ka_pf_take_hist(ka_pf_taker *d, ka_hist *h, const json_t *object,
                     const char *key, const ka_pf_place *up)
{
    const ka_pf_place at = {.up = up, .key = key};
    const json_t *array = ka_pf_member(d, object, key, JSON_ARRAY, &at);
    size_t i, index = 0;

    if (!array || !is_of(d, array, 3, &at)) {
        return false;
    }
    for (i = 0; i < json_array_size(array); i += 3) {
        ka_hist_bin bin;

        if (!take_step(d, &index, array, i, KA_HIST_BINS, &at) ||
            !take_column(d, &bin.count, array, i + 1, &at) ||
            !take_column(d, &bin.sum, array, i + 2, &at)) {
            return false;
        }
        if (!adds_up(&bin, index)) {
            const ka_pf_place sum = {.up = &at, .index = i + 2};

            return ka_pf_refuse(d, &sum, "what values of that bin add up to");
        }
        h->bins[index] = bin;
    }
    return true;
}

bool ka_pf_take_hists(ka_pf_taker *d, void *into, const ka_pf_hist *row,
                      const json_t *object, const ka_pf_place *at)
{
    for (; row->key; row++) {
        if (!ka_pf_take_hist(d, (ka_hist *)(void *)((char *)into + row->offset),
                             object, row->key, at)) {
            return false;
        }
    }
    return true;
}

bool ka_pf_take_row(ka_pf_taker *d, uint64_t *row, const json_t *array,
                    const ka_pf_place *at)
{
    size_t i, index = 0;

    if (!is_of(d, array, 2, at)) {
        return false;
    }
    for (i = 0; i < json_array_size(array); i += 2) {
        if (!take_step(d, &index, array, i, KA_WEIGHTS_N, at) ||
            !take_column(d, &row[index], array, i + 1, at)) {
            return false;
        }
    }
    return true;
}

/* ---- holders ------------------------------------------------------------ */

static bool take_bins(ka_pf_taker *d, ka_occupancy *o, const json_t *object,
                      const ka_pf_place *up)
{
    const ka_pf_place at = {.up = up, .key = "bins"};
    const json_t *array = ka_pf_member(d, object, at.key, JSON_ARRAY, &at);
    size_t i, index = 0;
    uint64_t ms;

    if (!array || !is_of(d, array, 2, &at)) {
        return false;
    }
    for (i = 0; i < json_array_size(array); i += 2) {
        if (!take_step(d, &index, array, i, KA_OCCUPANCY_BINS, &at) ||
            !take_column(d, &ms, array, i + 1, &at)) {
            return false;
        }
        ka_occupancy_put_bin(o, index, ms);
    }
    return true;
}

static bool take_hour(ka_pf_taker *d, ka_occupancy_hour *hour,
                      const json_t *array, size_t i, const ka_pf_place *up)
{
    const ka_pf_place at = {.up = up, .index = i};
    int64_t step;

    if (!ka_pf_take_range(d, &step, json_array_get(array, i), &at,
                          i ? 1 : -MOST_HOUR, 2 * MOST_HOUR)) {
        return false;
    }
    hour->hour += step;
    if (hour->hour > MOST_HOUR) {
        return ka_pf_refuse(d, &at, "a step to an hour of this age");
    }
    return take_column(d, &hour->ms, array, i + 1, up) &&
           take_column(d, &hour->sum, array, i + 2, up) &&
           take_column(d, &hour->squares, array, i + 3, up);
}

static bool take_hours(ka_pf_taker *d, ka_occupancy *o, uint32_t server,
                       const json_t *object, const ka_pf_place *up)
{
    const ka_pf_place at = {.up = up, .key = "hours"};
    const json_t *array = ka_pf_member(d, object, at.key, JSON_ARRAY, &at);
    ka_occupancy_hour hour = {.server = server};
    size_t i;

    if (!array || !is_of(d, array, 4, &at)) {
        return false;
    }
    for (i = 0; i < json_array_size(array); i += 4) {
        if (!take_hour(d, &hour, array, i, &at)) {
            return false;
        }
        ka_occupancy_put_hour(o, &hour);
    }
    return true;
}

/* An entry of `hours` may stand for several. */
static bool take_hour_bits(ka_pf_taker *d, ka_occupancy *o,
                           const json_t *object, const ka_pf_place *up)
{
    const ka_pf_place at = {.up = up, .key = "hour_bits"};
    const json_t *value = json_object_get(object, at.key);
    int64_t bits = 0;

    if (value && !ka_pf_take_range(d, &bits, value, &at, 0,
                                   KA_OCCUPANCY_HOUR_BITS_MAX)) {
        return false;
    }
    o->hour_bits = (unsigned)bits;
    return true;
}

bool ka_pf_take_occupancy(ka_pf_taker *d, ka_occupancy *o, uint32_t server,
                          const json_t *object, const char *key,
                          const ka_pf_place *up)
{
    const ka_pf_place at = {.up = up, .key = key};
    const json_t *value = ka_pf_member(d, object, key, JSON_OBJECT, &at);

    return value &&
           ka_pf_take_counts(d, o, ka_pf_occupancy_counts, value, &at) &&
           take_hour_bits(d, o, value, &at) && take_bins(d, o, value, &at) &&
           take_hours(d, o, server, value, &at) &&
           (!o->failed || ka_pf_no_memory(d));
}
