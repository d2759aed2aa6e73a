/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A batch is put in order; then time moves on in steps, from `edge` to a new
 * edge that all requests before it have come to:
 *
 *      counted in ticks        idle times not ended       waiting
 *   |-------------------|------------------------------|----------->
 *   begin             folded                          edge     newest
 *                       |<--------- 600 s ------------>|<- window ->|
 *
 *   1 each part: group what starts before the new edge, forget who is due
 *   2 add up seconds, fold the ticks that nothing can change any more
 */
#include "stream.h"

#include <stdlib.h>
#include <string.h>

#include "../sources/logformat.h"
#include "array.h"
#include "stream_priv.h"

/* An idle time is known once it has ended, a client's last ones when it may be
 * forgotten: that is when its last connection ended, up to as long after the
 * others; and it is found up to two seconds late. */
#define UNSETTLED_US (2 * KA_TIMELINE_IDLE_US + 2 * KA_SECOND_US)

#define PARTS_PER_SHARD (KA_HIT_PARTS / KA_SHARDS)

typedef struct part {
    ka_waiting waiting;
    ka_stream_table table;
} part;

struct ka_stream {
    ka_tally *tally;
    const ka_source_info *info;
    ka_crew *crew;
    part parts[KA_HIT_PARTS];
    ka_order_scratch scratch[KA_CREW_MAX];
    ka_hit *first; /* where parts begin to wait: one array for large pages */
    ka_shard shards[KA_SHARDS];
    ka_timeline *timeline; /* NULL until the first request */
    uint32_t waiting_max;
    int64_t begin_us;
    int64_t edge_us;   /* all that starts before it is grouped */
    int64_t next_us;   /* the new edge, during a step */
    int64_t newest_us; /* the latest start so far */
    int64_t window_us, window_max_us;
    const ka_hit_batch *batch;
    bool failed;
};

bool ka_stream_fits(const ka_source_info *info)
{
    const uint64_t names =
        KA_LF_BIT(KA_LF_REMOTE_PORT) | KA_LF_BIT(KA_LF_PID) |
        KA_LF_BIT(KA_LF_UNIQUE_ID) | KA_LF_BIT(KA_LF_KEEPALIVES) |
        KA_LF_BIT(KA_LF_CONN_STATUS);

    return !(info->fields & names) && info->clock_us >= KA_SECOND_US;
}

/* A part begins with room for so many requests. */
#define FIRST_WAITING 8192

static bool give_places(ka_stream *s)
{
    size_t i;

    s->first = ka_array_alloc(KA_HIT_PARTS * FIRST_WAITING, sizeof(ka_hit));
    for (i = 0; i < KA_HIT_PARTS && s->first; i++) {
        s->parts[i].waiting.hits = s->first + i * FIRST_WAITING;
        s->parts[i].waiting.size = FIRST_WAITING;
    }
    return s->first != NULL;
}

ka_stream *ka_stream_make(ka_tally *tally, const ka_source_info *info,
                          uint32_t clients, uint32_t waiting, ka_crew *crew)
{
    ka_stream *s = calloc(1, sizeof(*s));
    bool room;
    size_t i;

    if (!s) {
        return NULL;
    }
    s->tally = tally;
    s->info = info;
    s->crew = crew;
    s->waiting_max = waiting;
    s->window_us = KA_STREAM_WINDOW_FIRST_US;
    s->window_max_us = KA_STREAM_WINDOW_US;
    s->edge_us = INT64_MIN;
    for (i = 0; i < KA_HIT_PARTS; i++) {
        ka_stream_table_init(&s->parts[i].table, clients / KA_HIT_PARTS + 1);
    }
    room = give_places(s);
    room = ka_shards_init(s->shards, tally, info) && room;
    for (i = 0; i < KA_SHARDS; i++) {
        s->shards[i].free_us = ka_free_after(info->clock_us, info->service_clock_us);
    }
    if (!room) {
        ka_stream_free(s);
        return NULL;
    }
    return s;
}

void ka_stream_is_in_order(ka_stream *s)
{
    s->window_us = 0;
}

void ka_stream_free(ka_stream *s)
{
    size_t i;

    if (!s) {
        return;
    }
    for (i = 0; i < KA_HIT_PARTS; i++) {
        ka_waiting_clear(&s->parts[i].waiting);
        ka_stream_table_clear(&s->parts[i].table);
    }
    for (i = 0; i < KA_CREW_MAX; i++) {
        ka_order_scratch_clear(&s->scratch[i]);
    }
    free(s->first);
    ka_shards_clear(s->shards);
    ka_timeline_free(s->timeline);
    free(s);
}

/* ---- one part ------------------------------------------------------------ */

static void add_part(void *context, size_t item, size_t worker)
{
    ka_stream *s = context;

    ka_waiting_add(&s->parts[item].waiting, &s->scratch[worker], s->batch->runs[item],
                   s->batch->run_n[item], s->edge_us);
}

/* How many requests ahead memory is asked for, in two steps. */
#define AHEAD 12
#define NEAR 6

static void step_part(ka_shard *shard, part *p, int64_t next_us)
{
    ka_waiting *w = &p->waiting;

    for (; w->at < w->n && w->hits[w->at].begin_us < next_us; w->at++) {
        if (w->at + AHEAD < w->n) {
            ka_slab_expect(&p->table.clients, w->hits[w->at + AHEAD].client);
            ka_slab_expect_item(&p->table.clients,
                                w->hits[w->at + NEAR].client);
        }
        ka_shard_request(shard, &w->hits[w->at]);
        ka_stream_group(shard, &p->table, &w->hits[w->at]);
    }
    ka_stream_table_expire(&p->table, shard, next_us);
}

static void step_shard(void *context, size_t item, size_t worker)
{
    ka_stream *s = context;
    size_t i;

    (void)worker;
    for (i = item; i < KA_HIT_PARTS; i += KA_SHARDS) {
        step_part(&s->shards[item], &s->parts[i], s->next_us);
    }
}

/* ---- steps --------------------------------------------------------------- */

/* The earliest start that waits; INT64_MAX: none does. */
static int64_t earliest(const ka_stream *s)
{
    int64_t first_us = INT64_MAX;
    size_t i;

    for (i = 0; i < KA_HIT_PARTS; i++) {
        const ka_waiting *w = &s->parts[i].waiting;

        if (w->at < w->n && w->hits[w->at].begin_us < first_us) {
            first_us = w->hits[w->at].begin_us;
        }
    }
    return first_us;
}

static bool begin_time(ka_stream *s, int64_t begin_us)
{
    size_t i;

    s->timeline =
        ka_shards_begin(s->shards, ka_times_are_whole(s->info), begin_us);
    for (i = 0; i < KA_HIT_PARTS; i++) {
        s->parts[i].table.second = begin_us / KA_SECOND_US;
    }
    s->begin_us = s->edge_us = begin_us;
    return s->timeline != NULL;
}

static void step(ka_stream *s, int64_t next_us)
{
    size_t i;

    s->next_us = next_us;
    for (i = 0; i < KA_SHARDS; i++) {
        ka_shard_seconds(&s->shards[i], s->edge_us, next_us);
        s->failed = s->failed || s->shards[i].failed;
    }
    if (s->failed) {
        return;
    }
    ka_crew_run(s->crew, step_shard, s, KA_SHARDS);
    ka_shards_seconds_done(s->shards);
    s->edge_us = next_us;
    ka_timeline_fold(s->timeline, next_us - UNSETTLED_US, s->crew);
}

/* Over a pause that is longer than what clients wait, time jumps. */
static void jump(ka_stream *s, int64_t first_us)
{
    if (first_us - s->edge_us > 2 * UNSETTLED_US) {
        step(s, s->edge_us + UNSETTLED_US);
        s->edge_us = first_us;
        ka_timeline_fold(s->timeline, first_us - UNSETTLED_US, s->crew);
    }
}

static void advance(ka_stream *s, int64_t until_us)
{
    int64_t first_us;

    while (!s->failed && (first_us = earliest(s)) < until_us) {
        int64_t next_us;

        if (!s->timeline && !begin_time(s, first_us)) {
            s->failed = true;
            return;
        }
        jump(s, first_us);
        next_us = s->edge_us + ka_timeline_reach(s->timeline);
        step(s, next_us < until_us ? next_us : until_us);
    }
}

/* ---- batches ------------------------------------------------------------- */

static size_t waiting_from(const ka_stream *s, int64_t from_us)
{
    size_t i, n = 0;

    for (i = 0; i < KA_HIT_PARTS; i++) {
        n += ka_waiting_from(&s->parts[i].waiting, from_us);
    }
    return n;
}

/* As wide as lines have been out of order, with room to spare, and as there is
 * room for what waits. */
static void settle_window(ka_stream *s, int64_t reached_us)
{
    size_t i;

    for (i = 0; i < KA_HIT_PARTS; i++) {
        const int64_t wanted_us = 2 * s->parts[i].waiting.lag_us;

        s->window_us = wanted_us > s->window_us ? wanted_us : s->window_us;
    }
    if (s->window_us > s->window_max_us) {
        s->window_us = s->window_max_us;
    }
    while (s->window_us > KA_SECOND_US &&
           waiting_from(s, reached_us - s->window_us) > s->waiting_max) {
        s->window_us /= 2;
        s->window_max_us = s->window_us;
    }
}

/* Where some file has not told any time yet, nothing is reached: its lines may
 * be the earliest of all. */
void ka_stream_take(void *stream, const ka_hit_batch *batch)
{
    ka_stream *s = stream;
    const int64_t reached_us = batch->reached_us < batch->newest_us
                                   ? batch->reached_us
                                   : batch->newest_us;
    size_t i;

    s->batch = batch;
    s->newest_us = batch->newest_us;
    ka_crew_run(s->crew, add_part, s, KA_HIT_PARTS);
    for (i = 0; i < KA_HIT_PARTS; i++) {
        s->failed = s->failed || s->parts[i].waiting.failed;
    }
    if (reached_us != INT64_MIN) {
        settle_window(s, reached_us);
        advance(s, reached_us - s->window_us);
    }
}

/* ---- the end ------------------------------------------------------------- */

static void leave_all(void *context, size_t item, size_t worker)
{
    ka_stream *s = context;
    size_t i;

    (void)worker;
    for (i = item; i < KA_HIT_PARTS; i += KA_SHARDS) {
        ka_stream_table_leave(&s->parts[i].table, &s->shards[item]);
    }
}

/* Two connections that low put together may leave a later request without its
 * own (connections.c): then it is not low. */
static void settle_sides(ka_stream *s)
{
    const uint64_t low = s->tally->side[LOW].chains;
    const uint64_t high = s->tally->side[HIGH].chains;
    bool differ = low != high;
    size_t i;

    for (i = 0; i < KA_SHARDS; i++) {
        differ = differ || s->shards[i].differ;
    }
    ka_shards_settle(s->shards, differ, low > high);
}

apr_status_t ka_stream_finish(ka_stream *s)
{
    ka_tally *t = s->tally;
    int64_t ends_us[SIDES];
    apr_status_t rv;
    size_t i;

    /* Not further: time after the last request does not count. */
    advance(s, s->newest_us + 1);
    if (s->failed || !s->timeline) {
        return s->failed ? APR_ENOMEM : APR_SUCCESS;
    }
    ka_crew_run(s->crew, leave_all, s, KA_SHARDS);
    ka_shards_finish(s->shards, s->begin_us);
    for (i = 0; i < SIDES; i++) {
        ends_us[i] = s->shards[0].ends_us[i];
    }
    rv = ka_timeline_finish(s->timeline, t, ends_us, s->crew);
    for (i = 0; i < KA_SHARDS; i++) {
        s->failed = s->failed || s->shards[i].failed;
    }
    for (i = 0; i < KA_HIT_PARTS; i++) {
        t->late += s->parts[i].waiting.late;
        t->no_request += s->parts[i].waiting.no_request;
    }
    settle_sides(s);
    return rv || s->failed || t->failed ? APR_ENOMEM : APR_SUCCESS;
}
