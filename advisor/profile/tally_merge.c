/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Every part of a tally is merged by an operation that is associative and
 * commutative by itself: sums that stop at their end, minima, maxima, unions
 * and intersections of sets, and facts, which only ever go from unknown to
 * known to "differs".
 */
#include "tally_priv.h"

#include <stdlib.h>
#include <string.h>
#include <apr_strings.h>

#include "saturate.h"

/* What is only counted. */
static const size_t counts[] = {
    offsetof(ka_tally, window_us),
    offsetof(ka_tally, lines),
    offsetof(ka_tally, parsed),
    offsetof(ka_tally, skipped),
    offsetof(ka_tally, late),
    offsetof(ka_tally, forgotten),
    offsetof(ka_tally, requests),
    offsetof(ka_tally, no_request),
    offsetof(ka_tally, http10),
    offsetof(ka_tally, http2),
    offsetof(ka_tally, aborted),
    offsetof(ka_tally, final),
    offsetof(ka_tally, not_http),
    offsetof(ka_tally, tls),
    offsetof(ka_tally, with_service),
    offsetof(ka_tally, slow_bytes_n),
    offsetof(ka_tally, slow_service_us),
};

static void add(uint64_t *into, uint64_t from)
{
    *into = ka_add_saturated(*into, from);
}

static void raise_to(uint64_t *into, uint64_t from)
{
    *into = from > *into ? from : *into;
}

static void merge_counts(ka_tally *into, const ka_tally *from)
{
    size_t i;

    for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        add((uint64_t *)((char *)into + counts[i]),
            *(const uint64_t *)((const char *)from + counts[i]));
    }
    for (i = 0; i < KA_EXCLUDED_N; i++) {
        add(&into->excluded[i], from->excluded[i]);
    }
}

/* How little an identity tells. */
static int weakness(ka_identity identity)
{
    static const int ranks[] = {
        [KA_IDENTITY_NONE] = 0, [KA_IDENTITY_LIVE] = 1, [KA_IDENTITY_PORT] = 2,
        [KA_IDENTITY_SLOT] = 3, [KA_IDENTITY_K] = 4,    [KA_IDENTITY_TIME] = 5,
    };

    return ranks[identity];
}

static void merge_clocks(ka_tally *into, const ka_tally *from)
{
    if (weakness(from->identity) > weakness(into->identity)) {
        into->identity = from->identity;
    }
    if (from->clock_us > into->clock_us) {
        into->clock_us = from->clock_us;
    }
    if (from->service_clock_us > into->service_clock_us) {
        into->service_clock_us = from->service_clock_us;
    }
}

/* ---- servers ------------------------------------------------------------ */

/* The better told of two facts of one value; any order but one that depends
 * on who comes first. */
static bool tells_more(const ka_fact *a, const ka_fact *b)
{
    if (a->assumed != b->assumed) {
        return !a->assumed;
    }
    return strcmp(a->origin ? a->origin : "", b->origin ? b->origin : "") < 0;
}

static void merge_fact(ka_fact *into, bool *differs, const ka_fact *from,
                       bool from_differs, apr_pool_t *pool)
{
    if (*differs) {
        return;
    }
    if (from_differs ||
        (into->known && from->known && into->value != from->value)) {
        *into = (ka_fact){.known = false};
        *differs = true;
        return;
    }
    if (from->known && (!into->known || tells_more(from, into))) {
        *into = *from;
        into->origin = from->origin ? apr_pstrdup(pool, from->origin) : NULL;
    }
}

static void merge_span(ka_tally_server *into, const ka_tally_server *from)
{
    bool first = !ka_tally_server_seen(into);

    if (!ka_tally_server_seen(from)) {
        return;
    }
    if (first || from->first_us < into->first_us) {
        into->first_us = from->first_us;
    }
    if (first || from->last_us > into->last_us) {
        into->last_us = from->last_us;
    }
    add(&into->window_us, from->window_us);
}

static void merge_servers(ka_tally *into, const ka_tally *from)
{
    size_t i;
    int id;

    for (i = 0; i < from->server_n; i++) {
        const ka_tally_server *other = &from->servers[i];
        ka_tally_server *server = ka_tally_server_at(into, other->name);

        if (server == NULL) {
            return;
        }
        merge_span(server, other);
        for (id = 0; id < KA_FACTS; id++) {
            merge_fact(&server->facts.facts[id], &server->differs[id],
                       &other->facts.facts[id], other->differs[id], into->pool);
        }
    }
}

/* ---- T0 ----------------------------------------------------------------- */

static void add_limits(ka_tally *into, const ka_tally *from)
{
    size_t i;

    if (from->limit_n == 0) {
        ka_tally_limit_add(into, from->timeout_us, from->window_us);
    }
    for (i = 0; i < from->limit_n; i++) {
        ka_tally_limit_add(into, from->limits[i].timeout_us,
                           from->limits[i].window_us);
    }
}

/* Before the windows are added up. */
static void merge_limits(ka_tally *into, const ka_tally *from)
{
    if (into->limit_n == 0 && !ka_tally_is_empty(into)) {
        ka_tally_limit_add(into, into->timeout_us, into->window_us);
    }
    add_limits(into, from);
    if (into->limit_n == 1) {
        into->limit_n = 0; /* timeout_us and window_us tell it */
    }
}

/* ---- requests ----------------------------------------------------------- */

static void merge_traffic(ka_tally_traffic *into, const ka_tally_traffic *from)
{
    add(&into->requests, from->requests);
    add(&into->bytes, from->bytes);
    add(&into->bytes_n, from->bytes_n);
    ka_hist_merge(&into->service, &from->service);
    ka_hist_merge(&into->gap, &from->gap);
    ka_hist_merge(&into->per_second, &from->per_second);
    raise_to(&into->peak_per_second, from->peak_per_second);
}

typedef struct ranked {
    uint32_t hash;
    ka_tally_traffic *vhost;
} ranked;

static int compare_ranks(const void *a, const void *b)
{
    const ranked *x = a, *y = b;

    if (x->hash != y->hash) {
        return x->hash < y->hash ? -1 : 1;
    }
    return strcmp(x->vhost->name, y->vhost->name);
}

static int compare_names(const void *a, const void *b)
{
    const ka_tally_traffic *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

/* A name that is among the lowest hashes of all parts is so in each of them:
 * whatever was merged first, its count is whole. */
static void keep_few_vhosts(ka_tally *tally)
{
    ka_tally_traffic *other = ka_tally_vhost_at(tally, KA_TALLY_OTHER);
    ranked *all = malloc((tally->vhost_n + 1) * sizeof(*all));
    size_t i, n = 0, kept = 0;

    if (other == NULL || all == NULL) {
        free(all);
        tally->failed = true;
        return;
    }
    for (i = 0; i < tally->vhost_n; i++) {
        if (tally->vhosts[i] != other) {
            all[n++] = (ranked){ka_occupancy_server(tally->vhosts[i]->name),
                                tally->vhosts[i]};
        }
    }
    qsort(all, n, sizeof(*all), compare_ranks);
    tally->vhosts[kept++] = other;
    for (i = 0; i < n; i++) {
        if (i < KA_TALLY_VHOSTS_MERGED - 1) {
            tally->vhosts[kept++] = all[i].vhost;
            continue;
        }
        merge_traffic(other, all[i].vhost);
        free(all[i].vhost);
    }
    tally->vhost_n = kept;
    qsort(tally->vhosts, kept, sizeof(*tally->vhosts), compare_names);
    free(all);
}

static void merge_vhosts(ka_tally *into, const ka_tally *from)
{
    size_t i;

    for (i = 0; i < from->vhost_n; i++) {
        ka_tally_traffic *vhost =
            ka_tally_vhost_at(into, from->vhosts[i]->name);

        if (vhost == NULL) {
            return;
        }
        merge_traffic(vhost, from->vhosts[i]);
    }
    /* With KA_TALLY_OTHER, whether it is there yet or not. */
    if (into->vhost_n > KA_TALLY_VHOSTS_MERGED - 1) {
        keep_few_vhosts(into);
    }
}

static void merge_requests(ka_tally *into, const ka_tally *from)
{
    int i;

    for (i = 0; i < KA_CLASS_N; i++) {
        merge_traffic(&into->classes[i], &from->classes[i]);
    }
    merge_vhosts(into, from);
    ka_hist_merge(&into->per_second, &from->per_second);
    raise_to(&into->peak_per_second, from->peak_per_second);
    ka_distinct_merge(&into->clients, &from->clients);
    ka_distinct_merge(&into->addresses, &from->addresses);
    ka_weights_merge(&into->weights, &from->weights);
}

/* ---- sides -------------------------------------------------------------- */

/* Index of a timeout; timeout_n if there is none. */
static size_t find_timeout(const ka_tally *tally, int64_t timeout_us)
{
    size_t i = 0;

    while (i < tally->timeout_n && tally->timeouts[i] != timeout_us) {
        i++;
    }
    return i;
}

static void move_timeout(ka_tally *tally, size_t to, size_t from)
{
    int side;

    tally->timeouts[to] = tally->timeouts[from];
    for (side = 0; side < 2 && to != from; side++) {
        ka_tally_timeout *timeouts = tally->side[side].timeouts;

        timeouts[to] = timeouts[from];
        memset(&timeouts[from], 0, sizeof(*timeouts));
    }
}

static void drop_timeout(ka_tally *tally, size_t at)
{
    int side;

    for (side = 0; side < 2; side++) {
        ka_tally_timeout *timeout = &tally->side[side].timeouts[at];

        ka_occupancy_clear(&timeout->held);
        memset(timeout, 0, sizeof(*timeout));
    }
}

static void merge_timeouts(ka_tally *into, const ka_tally *from)
{
    size_t i, kept = 0;

    if (ka_tally_is_empty(into)) {
        into->timeout_n = from->timeout_n;
        memcpy(into->timeouts, from->timeouts, sizeof(into->timeouts));
        return;
    }
    for (i = 0; i < into->timeout_n; i++) {
        if (find_timeout(from, into->timeouts[i]) < from->timeout_n) {
            move_timeout(into, kept++, i);
        }
        else {
            drop_timeout(into, i);
        }
    }
    into->timeout_n = kept;
}

/* The timeouts of `into` are among those of `from`. */
static void merge_side(ka_tally *into, int to, const ka_tally *from, int side)
{
    ka_tally_side *a = &into->side[to];
    const ka_tally_side *b = &from->side[side];
    size_t i;

    for (i = 0; i < into->timeout_n; i++) {
        const ka_tally_timeout *other =
            &b->timeouts[find_timeout(from, into->timeouts[i])];

        add(&a->timeouts[i].connections, other->connections);
        add(&a->timeouts[i].waits, other->waits);
        add(&a->timeouts[i].idle_us, other->idle_us);
        ka_occupancy_merge(&a->timeouts[i].held, &other->held);
        into->failed |= a->timeouts[i].held.failed;
    }
    add(&a->busy_us, b->busy_us);
    add(&a->chains, b->chains);
    ka_occupancy_merge(&a->busy, &b->busy);
    into->failed |= a->busy.failed;
    ka_hist_merge(&a->gap, &b->gap);
    ka_hist_merge(&a->tail, &b->tail);
    ka_hist_merge(&a->lengths, &b->lengths);
    ka_hist_merge(&a->parallel, &b->parallel);
}

static void merge_sides(ka_tally *into, const ka_tally *from)
{
    if (from->bracket && !into->bracket) {
        merge_side(into, 1, into, 0);
        into->bracket = true;
    }
    merge_side(into, 0, from, 0);
    if (into->bracket) {
        merge_side(into, 1, from, from->bracket ? 1 : 0);
    }
}

/* ---- the sample ---------------------------------------------------------- */

static bool lacks_sample(const ka_tally *tally)
{
    return tally->requests > 0 && tally->sample == NULL;
}

static void drop_sample(ka_tally *tally)
{
    ka_sample_free(tally->sample);
    tally->sample = NULL;
}

/* Of a part without bracket both sides are the low one. */
static void fit_sample(ka_sample *sample, const ka_tally *into, bool to_double)
{
    ka_sample_keep(sample, into->timeouts, into->timeout_n);
    if (to_double) {
        ka_sample_double(sample);
    }
}

/* Only of parts that all have one.  Once the timeouts are settled. */
static void merge_sample(ka_tally *into, const ka_tally *from)
{
    const bool bracket = into->bracket || from->bracket;
    ka_sample *copy;

    if (lacks_sample(into) || lacks_sample(from)) {
        drop_sample(into);
        return;
    }
    copy = from->sample ? ka_sample_copy(from->sample) : NULL;
    if (into->sample) {
        fit_sample(into->sample, into, bracket && !into->bracket);
    }
    if (copy == NULL) {
        into->failed |= from->sample != NULL;
        return;
    }
    fit_sample(copy, into, bracket && !from->bracket);
    if (into->sample) {
        ka_sample_merge(into->sample, copy);
        ka_sample_free(copy);
    }
    else {
        into->sample = copy;
    }
}

void ka_tally_merge(ka_tally *into, const ka_tally *from)
{
    into->failed |= from->failed;
    if (ka_tally_is_empty(from)) {
        return;
    }
    ka_tally_forget_seconds(&into->side[0]);
    ka_tally_forget_seconds(&into->side[1]);
    /* These ask whether `into` is empty, and what it was. */
    merge_timeouts(into, from);
    merge_sample(into, from);
    merge_limits(into, from);
    merge_counts(into, from);
    merge_clocks(into, from);
    merge_servers(into, from);
    merge_requests(into, from);
    merge_sides(into, from);
}
