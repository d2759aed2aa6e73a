/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * jansson skips what is NULL and reports it, so a lack of memory shows in the
 * value that is set and need not be looked for at every step: ka_pf_encode
 * asks once, by `failed`.
 */
#include "profilefile_priv.h"

#include <stdlib.h>
#include <string.h>

#include "../profile/saturate.h"
#include "../words.h"

#define HASH_DIGITS 16

typedef struct encoder {
    const ka_pf_detail *detail;
    apr_pool_t *pool;
    bool failed; /* memory ran out */
} encoder;

/* ---- pieces ------------------------------------------------------------- */

static void set(encoder *e, json_t *object, const char *key, json_t *value)
{
    e->failed |= json_object_set_new(object, key, value) != 0;
}

static void append(encoder *e, json_t *array, json_t *value)
{
    e->failed |= json_array_append_new(array, value) != 0;
}

static json_t *whole(uint64_t n)
{
    return json_integer(n < KA_PF_MOST ? (json_int_t)n : KA_PF_MOST);
}

static void append_whole(encoder *e, json_t *array, uint64_t n)
{
    append(e, array, whole(n));
}

/* Foreign text; JSON takes no bytes that are no UTF-8. */
static json_t *text(encoder *e, const char *foreign)
{
    return json_string(ka_words_clean(e->pool, foreign, false));
}

static void set_counts(encoder *e, json_t *object, const ka_pf_count *row,
                       const void *from)
{
    for (; row->key; row++) {
        uint64_t n;

        memcpy(&n, (const char *)from + row->offset, sizeof(n));
        set(e, object, row->key, whole(n));
    }
}

static void set_ranges(encoder *e, json_t *object, const ka_pf_range *row,
                       const void *from)
{
    for (; row->key; row++) {
        int64_t n;

        memcpy(&n, (const char *)from + row->offset, sizeof(n));
        set(e, object, row->key, json_integer(n));
    }
}

static json_t *hist_of(encoder *e, const ka_hist *h)
{
    json_t *array = json_array();
    size_t i, before = 0;

    for (i = 0; i < KA_HIST_BINS; i++) {
        if (h->bins[i].count) {
            append_whole(e, array, i - before);
            append_whole(e, array, h->bins[i].count);
            append_whole(e, array, h->bins[i].sum);
            before = i;
        }
    }
    return array;
}

static void set_hists(encoder *e, json_t *object, const ka_pf_hist *row,
                      const void *from)
{
    for (; row->key; row++) {
        const void *h = (const char *)from + row->offset;

        set(e, object, row->key, hist_of(e, h));
    }
}

/* ---- holders ------------------------------------------------------------ */

/* The last of the bins that count as one with this: at most 2^join / 256 of
 * its count wide, so that small counts stay apart. */
static size_t joined(size_t bin, unsigned join)
{
    unsigned bits = KA_OCCUPANCY_SUB_BITS - join;
    uint64_t low = ka_occupancy_bin_low(bin);
    unsigned shift;

    if (low >> bits < 2) {
        return bin;
    }
    shift = 63u - (unsigned)__builtin_clzll(low) - bits;
    return ka_occupancy_bin((((low >> shift) + 1) << shift) - 1);
}

static json_t *bins_of(encoder *e, const ka_occupancy *o)
{
    json_t *array = json_array();
    size_t i, before = 0;

    for (i = 0; i < o->size;) {
        size_t last = joined(i, e->detail->join);
        uint64_t ms = 0;

        for (; i < o->size && i <= last; i++) {
            ms = ka_add_saturated(ms, o->bins[i]);
        }
        if (ms) {
            append_whole(e, array, last - before);
            append_whole(e, array, ms);
            before = last;
        }
    }
    return array;
}

/* The fullest hours first: those that [M12] may size by.  All are of one
 * server. */
static int compare_fullness(const void *a, const void *b)
{
    const ka_occupancy_hour *x = a, *y = b;

    if (x->squares != y->squares) {
        return x->squares < y->squares ? 1 : -1;
    }
    return (x->hour > y->hour) - (x->hour < y->hour);
}

static int compare_hours(const void *a, const void *b)
{
    const ka_occupancy_hour *x = a, *y = b;

    return (x->hour > y->hour) - (x->hour < y->hour);
}

static json_t *hours_of(encoder *e, const ka_occupancy *o)
{
    json_t *array = json_array();
    ka_occupancy_hour *hours = malloc((o->hour_n + 1) * sizeof(*hours));
    size_t i, n = o->hour_n;
    int64_t before = 0;

    if (!hours) {
        e->failed = true;
        return array;
    }
    if (n) {
        memcpy(hours, o->hours, n * sizeof(*hours));
    }
    if (n > e->detail->hours) {
        qsort(hours, n, sizeof(*hours), compare_fullness);
        n = e->detail->hours;
        qsort(hours, n, sizeof(*hours), compare_hours);
    }
    for (i = 0; i < n; i++) {
        append(e, array, json_integer(hours[i].hour - before));
        append_whole(e, array, hours[i].ms);
        append_whole(e, array, hours[i].sum);
        append_whole(e, array, hours[i].squares);
        before = hours[i].hour;
    }
    free(hours);
    return array;
}

static json_t *occupancy_of(encoder *e, const ka_occupancy *o)
{
    json_t *object = json_object();

    set_counts(e, object, ka_pf_occupancy_counts, o);
    set(e, object, "bins", bins_of(e, o));
    if (o->hour_bits) {
        set(e, object, "hour_bits", json_integer(o->hour_bits));
    }
    set(e, object, "hours", hours_of(e, o));
    return object;
}

/* ---- sides -------------------------------------------------------------- */

static json_t *side_of(encoder *e, const ka_tally_side *side, size_t timeout_n)
{
    json_t *object = json_object(), *timeouts = json_array();
    size_t i;

    set_counts(e, object, ka_pf_side_counts, side);
    set(e, object, "busy", occupancy_of(e, &side->busy));
    set_hists(e, object, ka_pf_side_hists, side);
    for (i = 0; i < timeout_n; i++) {
        json_t *timeout = json_object();

        set_counts(e, timeout, ka_pf_timeout_counts, &side->timeouts[i]);
        set(e, timeout, "held", occupancy_of(e, &side->timeouts[i].held));
        append(e, timeouts, timeout);
    }
    set(e, object, "timeouts", timeouts);
    return object;
}

/* ---- traffic ------------------------------------------------------------ */

static json_t *traffic_of(encoder *e, const ka_tally_traffic *traffic)
{
    json_t *object = json_object();

    set_counts(e, object, ka_pf_traffic_counts, traffic);
    set_hists(e, object, ka_pf_traffic_hists, traffic);
    return object;
}

static json_t *classes_of(encoder *e, const ka_tally *tally)
{
    json_t *object = json_object();
    int i;

    for (i = 0; i < KA_CLASS_N; i++) {
        set(e, object, ka_pf_classes[i], traffic_of(e, &tally->classes[i]));
    }
    return object;
}

static bool is_rest(const ka_tally_traffic *vhost)
{
    return !strcmp(vhost->name, KA_TALLY_OTHER);
}

/* Most requests first; what is the rest already comes last. */
static int compare_vhosts(const void *a, const void *b)
{
    const ka_tally_traffic *x = *(ka_tally_traffic *const *)a;
    const ka_tally_traffic *y = *(ka_tally_traffic *const *)b;

    if (is_rest(x) != is_rest(y)) {
        return is_rest(x) ? 1 : -1;
    }
    if (x->requests != y->requests) {
        return x->requests < y->requests ? 1 : -1;
    }
    return strcmp(x->name, y->name);
}

static void add_traffic(ka_tally_traffic *into, const ka_tally_traffic *from)
{
    into->requests = ka_add_saturated(into->requests, from->requests);
    into->bytes = ka_add_saturated(into->bytes, from->bytes);
    into->bytes_n = ka_add_saturated(into->bytes_n, from->bytes_n);
    if (from->peak_per_second > into->peak_per_second) {
        into->peak_per_second = from->peak_per_second;
    }
    ka_hist_merge(&into->service, &from->service);
    ka_hist_merge(&into->gap, &from->gap);
    ka_hist_merge(&into->per_second, &from->per_second);
}

static void append_vhost(encoder *e, json_t *array,
                         const ka_tally_traffic *vhost)
{
    json_t *object = traffic_of(e, vhost);

    set(e, object, "name", text(e, vhost->name));
    append(e, array, object);
}

/* Those with a name. @return how many */
static size_t sort_vhosts(const ka_tally_traffic **sorted,
                          const ka_tally *tally)
{
    size_t i, n = 0;

    for (i = 0; i < tally->vhost_n; i++) {
        if (*tally->vhosts[i]->name) {
            sorted[n++] = tally->vhosts[i];
        }
    }
    qsort(sorted, n, sizeof(*sorted), compare_vhosts);
    return n;
}

static json_t *vhosts_of(encoder *e, const ka_tally *tally)
{
    json_t *array = json_array();
    size_t i, n, most = e->detail->vhosts;
    const ka_tally_traffic **sorted =
        malloc((tally->vhost_n + 1) * sizeof(*sorted));
    ka_tally_traffic *rest = calloc(1, sizeof(*rest));

    e->failed |= !sorted || !rest;
    if (!e->failed && most) {
        n = sort_vhosts(sorted, tally);
        if (n > most || (n == most && !is_rest(sorted[n - 1]))) {
            most--; /* a place for the rest, that a reader keeps anyway */
        }
        most = n < most ? n : most;
        for (i = 0; i < most; i++) {
            append_vhost(e, array, sorted[i]);
        }
        rest->name = KA_TALLY_OTHER;
        for (; i < n; i++) {
            add_traffic(rest, sorted[i]);
        }
        if (rest->requests) {
            append_vhost(e, array, rest);
        }
    }
    free(sorted);
    free(rest);
    return array;
}

/* ---- clients ------------------------------------------------------------ */

static json_t *hashes_of(encoder *e, const ka_distinct *distinct)
{
    static const char hex[] = "0123456789abcdef";
    size_t i, n = distinct->n;
    char *digits = malloc(n * HASH_DIGITS + 1), *to = digits;
    json_t *string;
    int shift;

    if (!digits) {
        e->failed = true;
        return json_null();
    }
    for (i = 0; i < n; i++) {
        for (shift = 4 * (HASH_DIGITS - 1); shift >= 0; shift -= 4) {
            *to++ = hex[distinct->hashes[i] >> shift & 15];
        }
    }
    string = json_stringn_nocheck(digits, n * HASH_DIGITS);
    free(digits);
    return string;
}

static json_t *row_of(encoder *e, const uint64_t *row)
{
    json_t *array = json_array();
    size_t i, before = 0;

    for (i = 0; i < KA_WEIGHTS_N; i++) {
        if (row[i]) {
            append_whole(e, array, i - before);
            append_whole(e, array, row[i]);
            before = i;
        }
    }
    return array;
}

static json_t *weights_of(encoder *e, const ka_weights *weights)
{
    json_t *object = json_object(), *rows = json_array();

    append(e, rows, row_of(e, weights->rows[0]));
    append(e, rows, row_of(e, weights->rows[1]));
    set(e, object, "sum", whole(weights->sum));
    set(e, object, "rows", rows);
    return object;
}

/* ---- the line ----------------------------------------------------------- */

static json_t *fact_of(encoder *e, ka_fact_id id, const ka_fact *fact)
{
    json_t *object = json_object();

    set(e, object, "value",
        id == KA_FACT_ID_MPM ? json_string(ka_mpm_name((int32_t)fact->value))
                             : whole((uint64_t)fact->value));
    if (fact->assumed) {
        set(e, object, "assumed", json_true());
    }
    if (fact->origin) {
        set(e, object, "origin", text(e, fact->origin));
    }
    return object;
}

static json_t *facts_of(encoder *e, const ka_tally_server *server)
{
    const ka_fact *facts = server->facts.facts;
    json_t *object = json_object();
    const ka_pf_fact *row;

    for (row = ka_pf_facts; row->key; row++) {
        if (server->differs[row->id]) {
            set(e, object, row->key, json_pack("{s:b}", "differs", 1));
        }
        else if (facts[row->id].known) {
            set(e, object, row->key, fact_of(e, row->id, &facts[row->id]));
        }
    }
    return object;
}

/* [T0, server time, ...] where parts had different ones. */
static json_t *limits_of(encoder *e, const ka_tally *tally)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < tally->limit_n; i++) {
        append(e, array, json_integer(tally->limits[i].timeout_us));
        append_whole(e, array, tally->limits[i].window_us);
    }
    return array;
}

static json_t *excluded_of(encoder *e, const ka_tally *tally)
{
    json_t *object = json_object();
    int i;

    for (i = 0; i < KA_EXCLUDED_N; i++) {
        set(e, object, ka_excluded_name((ka_excluded)i),
            whole(tally->excluded[i]));
    }
    return object;
}

static json_t *timeouts_of(encoder *e, const ka_tally *tally)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < tally->timeout_n; i++) {
        append(e, array, json_integer(tally->timeouts[i]));
    }
    return array;
}

json_t *ka_pf_encode(const ka_tally *tally, const ka_pf_detail *detail,
                     apr_pool_t *pool)
{
    encoder e = {.detail = detail, .pool = pool};
    const ka_tally_server *server = &tally->servers[0];
    json_t *line = json_object();

    set(&e, line, "schema", json_string(KA_PROFILE_SCHEMA));
    set(&e, line, "host", text(&e, server->name));
    set_ranges(&e, line, ka_pf_server_ranges, server);
    set_counts(&e, line, ka_pf_server_counts, server);
    set(&e, line, "facts", facts_of(&e, server));
    set(&e, line, "identity", json_string(ka_identity_name(tally->identity)));
    set(&e, line, "limits", limits_of(&e, tally));
    set_ranges(&e, line, ka_pf_tally_ranges, tally);
    set_counts(&e, line, ka_pf_tally_counts, tally);
    set(&e, line, "excluded", excluded_of(&e, tally));
    set(&e, line, "classes", classes_of(&e, tally));
    set(&e, line, "vhosts", vhosts_of(&e, tally));
    set(&e, line, "per_second", hist_of(&e, &tally->per_second));
    set(&e, line, "clients", hashes_of(&e, &tally->clients));
    set(&e, line, "addresses", hashes_of(&e, &tally->addresses));
    set(&e, line, "weights", weights_of(&e, &tally->weights));
    set(&e, line, "timeouts_us", timeouts_of(&e, tally));
    set(&e, line, "low", side_of(&e, &tally->side[0], tally->timeout_n));
    if (tally->bracket) {
        set(&e, line, "high", side_of(&e, &tally->side[1], tally->timeout_n));
    }
    if (tally->sample && detail->blocks) {
        set(&e, line, "sample",
            ka_pf_encode_sample(tally->sample, tally->bracket,
                                detail->blocks));
    }
    if (e.failed) {
        json_decref(line);
        return NULL;
    }
    return line;
}
