/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * As time moves on with each request, what is due happens, and the ticks are
 * folded that nothing can change any more:
 *
 *      counted in ticks      idle times not ended    openings not decided
 *   |-------------------|---------------------------|--------------|
 *   begin             folded                                      now
 *                       |<---------- 300 s ----------------------->|
 *
 * Where the rules have two sides, each has its lanes.
 */
#include "lanes.h"

#include <stdlib.h>
#include <string.h>

#include "lanes_priv.h"
#include "round_trip.h"

/* Timed out lanes end at whole seconds. */
#define LATE_US (2 * KA_SECOND_US)
#define FOLD_US (60 * KA_SECOND_US)

struct ka_lanes {
    ka_tally *tally;
    const ka_source_info *info;
    ka_crew *crew;
    ka_grouping_rules rules;
    ka_shard shards[KA_SHARDS]; /* the first one counts */
    ka_lane_set sets[SIDES];
    size_t set_n;
    ka_keymap trips;
    ka_timeline *timeline; /* NULL until the first request */
    int64_t begin_us, now_us;
    int64_t fold_us; /* when to fold again */
    bool failed;
};

bool ka_lanes_fit(const ka_grouping_rules *rules)
{
    return rules->identity != KA_IDENTITY_TIME || !rules->coarse;
}

/* ---- sets ---------------------------------------------------------------- */

bool ka_lane_set_init(ka_lane_set *set, ka_shard *shard, int side,
                      const ka_grouping_rules *rules, uint32_t max)
{
    size_t i;

    *set = (ka_lane_set){.shard = shard,
                         .side = side,
                         .rules = rules,
                         .max = max};
    ka_slab_init(&set->lanes, sizeof(ka_lane));
    ka_slab_init(&set->clients, sizeof(ka_lane_client));
    for (i = 0; i < KA_WHEEL_SECONDS; i++) {
        set->live.lists[i] = set->timed.lists[i] = KA_LANE_NONE;
    }
    if (rules->cut_us >= 0) {
        set->delay_us = KA_TIMER_SLACK_US + rules->tick_us;
    }
    return max > 0;
}

void ka_lane_set_clear(ka_lane_set *set)
{
    ka_slab_clear(&set->lanes);
    ka_slab_clear(&set->clients);
    free(set->heap);
    free(set->openings);
    set->heap = NULL;
    set->openings = NULL;
}

/* ---- round trips --------------------------------------------------------- */

static int compare_trips(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Of those that have one.  @return 0 without memory */
static uint32_t median_trip(const ka_round_trips *trips)
{
    uint32_t *all = malloc((trips->client_n + 1) * sizeof(*all)), median = 0;
    size_t n = 0, i;

    for (i = 0; all && i < trips->client_n; i++) {
        if (trips->free_us[i] > 0) {
            all[n++] = (uint32_t)trips->free_us[i];
        }
    }
    if (n > 0) {
        qsort(all, n, sizeof(*all), compare_trips);
        median = all[n / 2];
    }
    free(all);
    return median;
}

static bool keep_trips(ka_lanes *l, const ka_round_trips *trips,
                       const ka_requests *head)
{
    size_t i;

    for (i = 0; i < head->n; i++) {
        const int64_t free_us = trips->free_us[trips->client_of[i]];

        /* Half of less than a second (round_trip.c). */
        if (!ka_keymap_at(&l->trips, head->items[i].client,
                          (uint32_t)free_us)) {
            return false;
        }
    }
    l->sets[LOW].trips = &l->trips;
    l->sets[LOW].trip_us = median_trip(trips);
    return l->sets[LOW].trip_us > 0;
}

static bool find_trips(ka_lanes *l, const ka_requests *head)
{
    const ka_grouping g = {
        .items = head->items, .n = head->n, .rules = l->rules};
    ka_round_trips trips;
    bool room;

    if (l->rules.identity != KA_IDENTITY_TIME || head->n == 0) {
        return true;
    }
    if (ka_round_trips_find(&trips, &g) != APR_SUCCESS) {
        return false;
    }
    room = !trips.any || keep_trips(l, &trips, head);
    ka_round_trips_clear(&trips);
    return room;
}

/* ---- making -------------------------------------------------------------- */

ka_lanes *ka_lanes_make(ka_tally *tally, const ka_source_info *info,
                        const ka_grouping_rules *rules,
                        const ka_requests *head, uint32_t max, ka_crew *crew)
{
    ka_lanes *l = calloc(1, sizeof(*l));
    bool room = l != NULL;
    size_t i;

    if (!l) {
        return NULL;
    }
    l->tally = tally;
    l->info = info;
    l->crew = crew;
    l->rules = *rules;
    l->set_n = ka_grouping_has_sides(rules) ? SIDES : 1;
    ka_keymap_init(&l->trips);
    room = ka_shards_init(l->shards, tally, info);
    for (i = 0; i < l->set_n; i++) {
        room = ka_lane_set_init(&l->sets[i], &l->shards[0], (int)i, &l->rules,
                                max / (uint32_t)l->set_n) &&
               room;
    }
    if (!room || !find_trips(l, head)) {
        ka_lanes_free(l);
        return NULL;
    }
    return l;
}

void ka_lanes_free(ka_lanes *l)
{
    size_t i;

    if (!l) {
        return;
    }
    for (i = 0; i < l->set_n; i++) {
        ka_lane_set_clear(&l->sets[i]);
    }
    ka_keymap_clear(&l->trips);
    ka_shards_clear(l->shards);
    ka_timeline_free(l->timeline);
    free(l);
}

/* ---- time ---------------------------------------------------------------- */

static void set_second(ka_lanes *l)
{
    size_t i;

    for (i = 0; i < KA_SHARDS; i++) {
        ka_shard_seconds(&l->shards[i], l->now_us, l->now_us);
        l->failed = l->failed || l->shards[i].failed;
    }
}

static void begin_time(ka_lanes *l, int64_t begin_us)
{
    /* A gap may be cut to T0. */
    const bool whole = ka_times_are_whole(l->info) &&
                       (l->rules.cut_us < 0 ||
                        l->rules.cut_us % KA_SECOND_US == 0);
    size_t i;

    l->timeline = ka_shards_begin(l->shards, whole, begin_us);
    if (!l->timeline) {
        l->failed = true;
        return;
    }
    for (i = 0; i < l->set_n; i++) {
        l->sets[i].live.second = begin_us / KA_SECOND_US;
        l->sets[i].timed.second = begin_us / KA_SECOND_US;
    }
    l->begin_us = l->now_us = begin_us;
    l->fold_us = begin_us + FOLD_US;
    set_second(l);
}

static void fold(ka_lanes *l)
{
    const int64_t unsettled_us =
        KA_TIMELINE_IDLE_US + l->sets[LOW].delay_us + LATE_US;

    ka_timeline_fold(l->timeline, l->now_us - unsettled_us, l->crew);
    l->fold_us = l->now_us + FOLD_US;
}

static void pass(ka_lanes *l, int64_t now_us)
{
    const bool new_second = now_us / KA_SECOND_US != l->now_us / KA_SECOND_US;
    size_t i;

    for (i = 0; i < l->set_n; i++) {
        ka_lane_set_pass(&l->sets[i], now_us);
        l->failed = l->failed || l->sets[i].failed;
    }
    l->now_us = now_us;
    if (new_second) {
        ka_shards_seconds_done(l->shards);
        set_second(l);
    }
    if (now_us >= l->fold_us) {
        fold(l);
    }
}

/* ---- requests ------------------------------------------------------------ */

void ka_lanes_take(ka_lanes *l, const ka_request *r)
{
    ka_hit hit;
    size_t i;

    if (r->flags & KA_REQ_NO_REQUEST) {
        l->tally->no_request++;
        return;
    }
    hit = ka_hit_of(r);
    if (!l->timeline && !l->failed) {
        begin_time(l, hit.begin_us);
    }
    if (l->failed) {
        return;
    }
    pass(l, hit.begin_us);
    if (l->failed) {
        return;
    }
    ka_shard_request(&l->shards[0], &hit);
    for (i = 0; i < l->set_n; i++) {
        ka_lane_set_take(&l->sets[i], r, &hit);
        l->failed = l->failed || l->sets[i].failed;
    }
}

/* ---- the end ------------------------------------------------------------- */

static bool sides_differ(const ka_lanes *l)
{
    const ka_shard *s = &l->shards[0];

    return l->set_n == SIDES &&
           (s->ends_us[LOW] != s->ends_us[HIGH] ||
            ka_sample_sides_differ(l->tally->sample));
}

apr_status_t ka_lanes_finish(ka_lanes *l)
{
    ka_tally *t = l->tally;
    int64_t ends_us[SIDES];
    apr_status_t rv;
    size_t i;

    if (l->failed || !l->timeline) {
        return l->failed ? APR_ENOMEM : APR_SUCCESS;
    }
    for (i = 0; i < l->set_n; i++) {
        ka_lane_set_pass(&l->sets[i], KA_TRACE_TIME_MAX * 2);
        l->failed = l->failed || l->sets[i].failed;
    }
    t->forgotten = l->sets[HIGH].forgotten > l->sets[LOW].forgotten
                       ? l->sets[HIGH].forgotten
                       : l->sets[LOW].forgotten;
    ka_shards_seconds_done(l->shards);
    ka_shards_finish(l->shards, l->begin_us);
    for (i = 0; i < SIDES; i++) {
        ends_us[i] = l->shards[0].ends_us[i];
    }
    rv = ka_timeline_finish(l->timeline, t, ends_us, l->crew);
    ka_shards_settle(l->shards, sides_differ(l),
                     l->sets[LOW].opened > l->sets[HIGH].opened);
    return rv || l->failed || l->shards[0].failed || t->failed ? APR_ENOMEM
                                                               : APR_SUCCESS;
}
