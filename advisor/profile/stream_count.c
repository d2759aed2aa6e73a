/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Idle times are counted by class (timeline.h), so that one addition serves
 * all timeouts; the sums by timeout are made in the end:
 *
 *   N(T[j]) = N0 + #{k > j}         H(T[j]) = sum{k <= j} + T[j] #{k > j}
 *
 * They are counted in the sample's groups and blocks, and the total is the sum
 * over the groups: one address's requests come together, so its group is near.
 */
#include "stream_priv.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "tally_priv.h"

/* Numbers of vhosts from here on share KA_TALLY_OTHER. */
#define VHOST_OTHER (KA_TALLY_VHOSTS - 1)

/* Names of vhosts are kept in its pool, and a pool is for one thread. */
static ka_tally *make_own_tally(const ka_tally *tally)
{
    apr_pool_t *pool;

    if (apr_pool_create(&pool, tally->pool)) {
        return NULL;
    }
    return ka_tally_make(tally->timeouts, tally->timeout_n, pool);
}

bool ka_shards_init(ka_shard *shards, ka_tally *tally,
                    const ka_source_info *info)
{
    bool room = true;
    size_t i;

    memset(shards, 0, KA_SHARDS * sizeof(*shards));
    for (i = 0; i < KA_SHARDS; i++) {
        ka_shard *s = &shards[i];

        s->info = info;
        s->timeout_us = tally->timeout_us;
        s->columns = KA_CLASS_N;
        s->sample = ka_sample_make(tally->timeouts, tally->timeout_n);
        room = room && s->sample;
        s->tally = i ? make_own_tally(tally) : tally;
        if (!s->tally) {
            room = false;
            continue;
        }
        s->tally->timeout_us = tally->timeout_us;
        s->tally->bracket = true; /* until all is known */
    }
    return room;
}

ka_timeline *ka_shards_begin(ka_shard *shards, bool whole, int64_t begin_us)
{
    const ka_tally *tally = shards[0].tally;
    const char *name = tally->server_n ? tally->servers[0].name : "";
    ka_timeline *timeline =
        ka_timeline_make(tally->timeouts, tally->timeout_n, whole, begin_us,
                         ka_occupancy_server(name));
    size_t i;

    for (i = 0; i < KA_SHARDS && timeline; i++) {
        shards[i].timeline = timeline;
        ka_sample_begin(shards[i].sample, begin_us);
        shards[i].ring = ka_timeline_ring(timeline, i);
    }
    return timeline;
}

void ka_shards_clear(ka_shard *shards)
{
    size_t i;

    for (i = 0; i < KA_SHARDS; i++) {
        if (i > 0 && shards[i].tally) {
            apr_pool_t *pool = shards[i].tally->pool;

            ka_tally_free(shards[i].tally);
            apr_pool_destroy(pool);
        }
        free(shards[i].seconds);
        ka_sample_free(shards[i].sample);
    }
    memset(shards, 0, KA_SHARDS * sizeof(*shards));
}

/* ---- requests as hits ---------------------------------------------------- */

ka_hit ka_hit_of(const ka_request *r)
{
    const int64_t limit_us = ka_request_limit(r);

    return (ka_hit){
        .begin_us = ka_request_begin(r),
        .service_us = r->service_us < 0
                          ? -1
                          : ka_request_end(r) - ka_request_begin(r),
        .bytes = r->bytes,
        .client = r->client,
        .address = r->address,
        .vhost = r->vhost < UINT16_MAX ? (uint16_t)r->vhost : UINT16_MAX,
        .flags = r->flags,
        .limit_s = (uint16_t)((limit_us < KA_TIMELINE_IDLE_US
                                   ? limit_us
                                   : KA_TIMELINE_IDLE_US) /
                              KA_SECOND_US),
        .cls = r->cls < KA_CLASS_N ? r->cls : KA_CLASS_DYNAMIC};
}

/* ---- traffic ------------------------------------------------------------- */

static uint32_t vhost_place(uint32_t number)
{
    return number < VHOST_OTHER ? number : VHOST_OTHER;
}

ka_tally_traffic *ka_shard_vhost(ka_shard *s, uint32_t number)
{
    const uint32_t place = vhost_place(number);
    const char *name;

    if (s->vhosts[place]) {
        return s->vhosts[place];
    }
    if (number >= s->info->vhost_n) {
        return NULL;
    }
    name = s->info->vhosts[number];
    if (!name || !*name) {
        return NULL;
    }
    s->vhosts[place] = ka_tally_vhost_at(
        s->tally, place < VHOST_OTHER ? name : KA_TALLY_OTHER);
    return s->vhosts[place];
}

/* Requests of one address often come in a row. */
static void count_address(ka_shard *s, uint64_t address)
{
    if (address != s->last_address) {
        ka_weights_add(&s->tally->weights, s->last_address, s->last_requests);
        s->last_address = address;
        s->last_requests = 0;
    }
    s->last_requests++;
}

static void count_second(ka_shard *s, const ka_hit *hit)
{
    const int64_t at = hit->begin_us / KA_SECOND_US - s->seconds_from;
    uint32_t *row = s->seconds + (size_t)at * s->columns;
    const size_t vhost = KA_CLASS_N + vhost_place(hit->vhost);

    row[hit->cls]++;
    if (vhost < s->columns) {
        row[vhost]++;
    }
}

void ka_shard_request(ka_shard *s, const ka_hit *hit)
{
    const int64_t end_us =
        hit->begin_us + (hit->service_us > 0 ? hit->service_us : 0);
    ka_tally_traffic *vhost = s->named ? ka_shard_vhost(s, hit->vhost) : NULL;

    s->tally->requests++;
    if (hit->flags || hit->service_us >= 0) {
        ka_tally_count_flags(s->tally, hit->flags, hit->service_us,
                             hit->bytes);
    }
    ka_tally_count_traffic(&s->tally->classes[hit->cls], hit->service_us,
                           hit->bytes);
    if (vhost) {
        ka_tally_count_traffic(vhost, hit->service_us, hit->bytes);
    }
    count_address(s, hit->address);
    count_second(s, hit);
    ka_shard_place(s, ka_sample_group(hit->address), hit->begin_us);
    s->group[LOW]->requests++;
    s->blocks[KA_SAMPLE_REQUESTS][LOW]->requests++;
    s->end_us = end_us > s->end_us ? end_us : s->end_us;
}

/* ---- seconds ------------------------------------------------------------- */

/* Vhosts that the log has so far; a log without has one, of no name. */
static size_t columns_of(const ka_shard *s)
{
    const size_t n = s->info->vhost_n;

    if (n == 0 || (n == 1 && !*s->info->vhosts[0])) {
        return KA_CLASS_N;
    }
    return KA_CLASS_N + (n < KA_TALLY_VHOSTS ? n : KA_TALLY_VHOSTS);
}

void ka_shard_seconds(ka_shard *s, int64_t from_us, int64_t until_us)
{
    size_t cells;

    s->seconds_from = from_us / KA_SECOND_US;
    s->seconds_n = until_us / KA_SECOND_US - s->seconds_from + 1;
    s->columns = columns_of(s);
    s->named = s->columns > KA_CLASS_N;
    cells = (size_t)s->seconds_n * s->columns;
    if (cells > s->columns_room) {
        free(s->seconds);
        s->seconds = ka_array_alloc(cells, sizeof(*s->seconds));
        s->columns_room = s->seconds ? cells : 0;
        s->failed = s->failed || !s->seconds;
    }
    else if (cells) {
        memset(s->seconds, 0, cells * sizeof(*s->seconds));
    }
}

/* The requests of one second, in all shards; those of the classes add up to
 * all. @return all */
static uint64_t sum_second(uint32_t *row, const ka_shard *shards, size_t at)
{
    const size_t columns = shards[0].columns;
    uint64_t all = 0;
    size_t i, c;

    memset(row, 0, columns * sizeof(*row));
    for (i = 0; i < KA_SHARDS; i++) {
        const uint32_t *from = shards[i].seconds + at * columns;

        for (c = 0; c < columns; c++) {
            row[c] += from[c];
        }
    }
    for (c = 0; c < KA_CLASS_N; c++) {
        all += row[c];
    }
    return all;
}

static void count_column(ka_shard *s, size_t column, uint32_t requests)
{
    ka_tally_traffic *t =
        column < KA_CLASS_N
            ? &s->tally->classes[column]
            : ka_shard_vhost(s, (uint32_t)(column - KA_CLASS_N));

    if (t && requests) {
        ka_tally_second(&t->per_second, &t->peak_per_second, requests);
    }
}

void ka_shards_seconds_done(ka_shard *shards)
{
    ka_tally *tally = shards[0].tally;
    uint32_t row[KA_SECOND_COLUMNS];
    size_t i, c;

    for (i = 0; i < (size_t)shards[0].seconds_n; i++) {
        const uint64_t all = sum_second(row, shards, i);

        if (!all) {
            continue;
        }
        ka_tally_second(&tally->per_second, &tally->peak_per_second, all);
        for (c = 0; c < shards[0].columns; c++) {
            count_column(&shards[0], c, row[c]);
        }
    }
}

/* ---- connections --------------------------------------------------------- */

/* The high side lies behind the low one. */
static ka_sample_side *side_after(const ka_shard *s, ka_sample_side *low)
{
    return (ka_sample_side *)(void *)((char *)low + s->sample->side_bytes);
}

/* Most come in the block of the one before, so that it is not looked for. */
static ka_sample_side **blocks_at(ka_shard *s, int which, int64_t at_us)
{
    ka_sample_side **blocks = s->blocks[which];

    if (!ka_sample_is_at(s->sample, which, at_us)) {
        const size_t block = ka_sample_block(s->sample, which, at_us);

        blocks[LOW] = ka_sample_block_side(s->sample, block, LOW);
        blocks[HIGH] = side_after(s, blocks[LOW]);
    }
    return blocks;
}

void ka_shard_place(ka_shard *s, unsigned group, int64_t begin_us)
{
    s->group[LOW] = ka_sample_group_side(s->sample, group, LOW);
    s->group[HIGH] = side_after(s, s->group[LOW]);
    blocks_at(s, KA_SAMPLE_REQUESTS, begin_us);
}

void ka_shard_open(ka_shard *s, int side, int64_t from_us)
{
    s->group[side]->opens++;
    s->blocks[KA_SAMPLE_REQUESTS][side]->opens++;
    ka_ring_open(s->ring, side, from_us, s->tally->timeout_n);
}

void ka_shard_gap(ka_shard *s, int side, int64_t from_us, int64_t gap_us)
{
    const size_t k = ka_timeline_class(s->timeline, gap_us);
    ka_sample_idle *group = &s->group[side]->idle[k];
    ka_sample_idle *block = &s->blocks[KA_SAMPLE_REQUESTS][side]->idle[k];

    group->gap_n++;
    block->gap_n++;
    if (gap_us == 0) {
        /* With KeepAlive Off one opens as another ends: as many hold. */
        s->tally->side[side].gap.bins[0].count++;
        ka_ring_again(s->ring, side, from_us);
        return;
    }
    ka_ring_open(s->ring, side, from_us, k);
    ka_ring_wait(s->ring, side, from_us - gap_us, k);
    group->gap_us += (uint64_t)gap_us;
    block->gap_us += (uint64_t)gap_us;
    ka_hist_add(&s->tally->side[side].gap, (uint64_t)gap_us);
}

void ka_shard_tail(ka_shard *s, int side, unsigned group, int64_t end_us,
                   int64_t len_us, uint32_t requests)
{
    const size_t k = ka_timeline_class(s->timeline, len_us);
    ka_sample_idle *of_group =
        &ka_sample_group_side(s->sample, group, side)->idle[k];
    ka_sample_idle *of_block =
        &blocks_at(s, KA_SAMPLE_TAILS, end_us)[side]->idle[k];

    ka_ring_wait(s->ring, side, end_us, k);
    ka_ring_quit(s->ring, side, end_us + len_us, k);
    of_group->tail_n++;
    of_group->tail_us += (uint64_t)len_us;
    of_block->tail_n++;
    of_block->tail_us += (uint64_t)len_us;
    ka_hist_add(&s->tally->side[side].tail, (uint64_t)len_us);
    ka_hist_add(&s->tally->side[side].lengths, requests);
}

void ka_shard_busy(ka_shard *s, int side, int64_t from_us, int64_t to_us)
{
    if (to_us > s->ends_us[side]) {
        s->ends_us[side] = to_us;
    }
    if (to_us > from_us) {
        s->group[side]->busy_us += (uint64_t)(to_us - from_us);
        s->blocks[KA_SAMPLE_REQUESTS][side]->busy_us +=
            (uint64_t)(to_us - from_us);
        ka_ring_busy(s->ring, side, from_us, to_us);
    }
}

/* ---- the end ------------------------------------------------------------- */

/* [M4] [M5] [M8] */
static void evaluate(ka_tally *t, int side, const ka_sample_side *sums)
{
    uint64_t gaps = 0, waits = 0, shorter_us = 0;
    size_t j, k;

    t->side[side].chains = sums->opens;
    t->side[side].busy_us = sums->busy_us;
    for (k = 0; k <= t->timeout_n; k++) {
        gaps += sums->idle[k].gap_n;
        waits += sums->idle[k].gap_n + sums->idle[k].tail_n;
    }
    for (j = 0; j < t->timeout_n; j++) {
        const ka_sample_idle *idle = &sums->idle[j];
        ka_tally_timeout *at = &t->side[side].timeouts[j];
        const uint64_t wait_us =
            t->timeouts[j] > 0 ? (uint64_t)t->timeouts[j] : 0;

        gaps -= idle->gap_n;
        waits -= idle->gap_n + idle->tail_n;
        shorter_us += idle->gap_us + idle->tail_us;
        at->connections = sums->opens + gaps;
        at->waits = waits;
        at->idle_us = shorter_us + waits * wait_us;
    }
}

static void raise_to(int64_t *to, int64_t value)
{
    *to = value > *to ? value : *to;
}

static void evaluate_sides(ka_tally *tally, const ka_sample *sample)
{
    ka_sample_side *sums = malloc(sample->side_bytes);
    int side;

    for (side = LOW; sums && side < SIDES; side++) {
        memset(sums, 0, sample->side_bytes);
        ka_sample_total(sums, sample, side);
        evaluate(tally, side, sums);
    }
    tally->failed = tally->failed || !sums;
    free(sums);
}

void ka_shards_finish(ka_shard *shards, int64_t begin_us)
{
    ka_tally *tally = shards[0].tally;
    ka_sample *sample = shards[0].sample;
    size_t i, side;

    for (i = 0; i < KA_SHARDS; i++) {
        count_address(&shards[i], 0);
    }
    for (i = 1; i < KA_SHARDS; i++) {
        ka_tally_merge(tally, shards[i].tally);
        ka_sample_merge(sample, shards[i].sample);
        for (side = 0; side < SIDES; side++) {
            raise_to(&shards[0].ends_us[side], shards[i].ends_us[side]);
        }
        raise_to(&shards[0].end_us, shards[i].end_us);
    }
    evaluate_sides(tally, sample);
    ka_sample_end(sample, shards[0].end_us);
    tally->sample = sample;
    shards[0].sample = NULL;
    tally->window_us = (uint64_t)(shards[0].end_us - begin_us);
}

static void drop_high(ka_tally *t)
{
    ka_tally_side *high = &t->side[HIGH];
    size_t j;

    ka_tally_forget_seconds(high);
    for (j = 0; j < t->timeout_n; j++) {
        ka_occupancy_clear(&high->timeouts[j].held);
    }
    ka_occupancy_clear(&high->busy);
    memset(high, 0, sizeof(*high));
}

void ka_shards_settle(ka_shard *shards, bool differ, bool swapped)
{
    ka_tally *t = shards[0].tally;

    t->bracket = differ;
    if (!differ) {
        drop_high(t);
    }
    else if (swapped) {
        ka_sample_swap(t->sample);
        const ka_tally_side low = t->side[LOW];

        t->side[LOW] = t->side[HIGH];
        t->side[HIGH] = low;
    }
}

bool ka_times_are_whole(const ka_source_info *info)
{
    return info->clock_us >= KA_SECOND_US &&
           (info->service_clock_us == 0 ||
            info->service_clock_us >= KA_SECOND_US);
}
