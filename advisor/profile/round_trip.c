/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "round_trip.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"

/* A client that was silent for so long starts anew, and so long a gap is no
 * round trip. */
#define PAUSE_US KA_SECOND_US

/* Shares of the requests after the first that come within half the gap: on
 * one connection with random pauses a third do. */
#define FAST_IN_LOG 0.6
#define FAST_IN_CLIENT 0.5

typedef struct client_pace {
    int64_t end_us;  /* of its requests so far */
    int64_t trip_us; /* shortest gap after a first request; -1: none yet */
    uint32_t judged; /* requests after the second of a visit */
    uint32_t fast;   /* of these, within half of trip_us */
    bool first;      /* the last request was the first after a pause */
} client_pace;

static bool speaks(const ka_grouping *g, const ka_request *r)
{
    return !(r->flags & KA_REQ_HTTP2) && !ka_request_alone(&g->rules, r);
}

/* The idle time before r within a visit; -1 for the first of one. */
static int64_t gap_in_visit(const client_pace *pace, const ka_request *r)
{
    int64_t begin = ka_request_begin(r);

    if (pace->end_us == INT64_MIN || begin - pace->end_us >= PAUSE_US) {
        return -1;
    }
    return begin > pace->end_us ? begin - pace->end_us : 0;
}

static void pace_moves(client_pace *pace, const ka_request *r, int64_t gap)
{
    int64_t end = ka_request_end(r);

    pace->first = gap < 0;
    pace->end_us = gap < 0 || end > pace->end_us ? end : pace->end_us;
}

static void find_trip(client_pace *pace, const ka_request *r)
{
    int64_t gap = gap_in_visit(pace, r);

    /* A second request before the first response ends is no answer to it. */
    if (pace->first && gap >= 0 && ka_request_begin(r) >= pace->end_us &&
        (pace->trip_us < 0 || gap < pace->trip_us)) {
        pace->trip_us = gap;
    }
    pace_moves(pace, r, gap);
}

static void judge_trip(client_pace *pace, const ka_request *r)
{
    int64_t gap = gap_in_visit(pace, r);

    if (gap >= 0 && !pace->first && pace->trip_us > 0) {
        pace->judged++;
        pace->fast += gap < pace->trip_us / 2;
    }
    pace_moves(pace, r, gap);
}

static void all_clients(ka_round_trips *trips, client_pace *paces,
                        const ka_grouping *g,
                        void (*take)(client_pace *pace, const ka_request *r))
{
    size_t i;

    for (i = 0; i < trips->client_n; i++) {
        paces[i].end_us = INT64_MIN;
        paces[i].first = false;
    }
    for (i = 0; i < g->n; i++) {
        if (speaks(g, &g->items[i])) {
            take(&paces[trips->client_of[i]], &g->items[i]);
        }
    }
}

static void decide(ka_round_trips *trips, const client_pace *paces)
{
    uint64_t fast = 0, judged = 0;
    size_t i;

    for (i = 0; i < trips->client_n; i++) {
        fast += paces[i].fast;
        judged += paces[i].judged;
    }
    if ((double)fast <= FAST_IN_LOG * (double)judged) {
        return;
    }
    for (i = 0; i < trips->client_n; i++) {
        if ((double)paces[i].fast > FAST_IN_CLIENT * (double)paces[i].judged) {
            trips->free_us[i] = paces[i].trip_us / 2;
            trips->any = true;
        }
    }
}

apr_status_t ka_round_trips_find(ka_round_trips *out, const ka_grouping *g)
{
    client_pace *paces = NULL;
    size_t i;

    memset(out, 0, sizeof(*out));
    out->client_of = ka_clients_number(&out->client_n, g->items, g->n);
    if (out->client_of != NULL) {
        out->free_us = ka_array_alloc(out->client_n, sizeof(*out->free_us));
        paces = ka_array_alloc(out->client_n, sizeof(*paces));
    }
    if (out->free_us == NULL || paces == NULL) {
        free(paces);
        ka_round_trips_clear(out);
        return APR_ENOMEM;
    }
    for (i = 0; i < out->client_n; i++) {
        paces[i].trip_us = -1;
    }
    all_clients(out, paces, g, find_trip);
    all_clients(out, paces, g, judge_trip);
    decide(out, paces);
    free(paces);
    return APR_SUCCESS;
}

void ka_round_trips_clear(ka_round_trips *trips)
{
    free(trips->client_of);
    free(trips->free_us);
    memset(trips, 0, sizeof(*trips));
}
