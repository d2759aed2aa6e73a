/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "analysis_lanes.h"

#include <stdlib.h>
#include <apr_strings.h>

#include "../profile/lanes.h"
#include "../profile/stream_requests.h"
#include "analysis_profile.h"

/* At once: the reader, which puts requests in order, needs room as well. */
#define CLIENTS (KA_STREAM_CLIENTS / 2)

struct ka_counting {
    ka_analysis *analysis;
    ka_meaning meaning;
    ka_grouping_rules rules;
    size_t first_n; /* requests that decided */
    /* One of the two ways: */
    ka_lanes *lanes;
    ka_stream *stream;
    ka_stream_requests *requests;
};

void ka_meaning_give(const ka_meaning *meaning, ka_request *request)
{
    request->flags &= (uint16_t)~meaning->unsaid;
    if (meaning->child_is_slot && request->slot == 0) {
        request->slot = request->child;
    }
}

static bool make_way(ka_counting *c, const ka_options *options,
                     apr_pool_t *pool)
{
    ka_analysis *a = c->analysis;
    ka_crew *crew;

    if (ka_crew_make(&crew, (size_t)options->threads, pool)) {
        return false;
    }
    if (ka_lanes_fit(&c->rules)) {
        c->lanes = ka_lanes_make(a->tally, &a->source, &c->rules, &a->served,
                                 KA_LANES_MAX, crew);
        return c->lanes != NULL;
    }
    c->stream = ka_stream_make(a->tally, &a->source, CLIENTS,
                               KA_STREAM_WAITING, crew);
    if (c->stream) {
        c->requests = ka_stream_requests_make(c->stream, c->rules.off);
    }
    return c->requests != NULL;
}

static bool decide(ka_counting *c, const ka_connection_options *connection,
                   const ka_options *options, apr_pool_t *pool)
{
    ka_analysis *a = c->analysis;
    ka_connections *connections = &a->connections;

    if (ka_connections_decide(&c->rules, &a->served, connection)) {
        return false;
    }
    connections->identity = c->rules.identity;
    connections->why_not_better = c->rules.why_not_better;
    connections->timeout_us = c->rules.cut_us;
    connections->timeout_estimated = c->rules.timeout_estimated;
    ka_analysis_settle_timeout(a);
    a->tally = ka_analysis_make_tally(a, options, pool);
    return a->tally != NULL;
}

ka_counting *ka_counting_make(ka_analysis *a, const ka_meaning *meaning,
                              const ka_connection_options *connection,
                              const ka_options *options, apr_pool_t *pool)
{
    ka_counting *c = calloc(1, sizeof(*c));

    if (!c) {
        return NULL;
    }
    c->analysis = a;
    c->meaning = *meaning;
    c->first_n = a->served.n;
    if (!decide(c, connection, options, pool) || !make_way(c, options, pool)) {
        ka_counting_free(c);
        return NULL;
    }
    return c;
}

void ka_counting_free(ka_counting *c)
{
    if (c) {
        ka_lanes_free(c->lanes);
        ka_stream_requests_free(c->requests);
        ka_stream_free(c->stream);
        free(c);
    }
}

void ka_counting_take(ka_counting *c, const ka_request *request)
{
    ka_request meant = *request;

    ka_meaning_give(&c->meaning, &meant);
    if (c->lanes) {
        ka_lanes_take(c->lanes, &meant);
    }
    else {
        ka_stream_requests_take(c->requests, &meant);
    }
}

/* ---- the end ------------------------------------------------------------- */

static const char *note_of(const ka_counting *c, apr_pool_t *pool)
{
    const char *why = c->rules.why_not_better;

    return apr_psprintf(
        pool,
        "%s%sthe first %" APR_SIZE_T_FMT " requests decided how connections "
        "are told apart%s; the log is too long to keep the others",
        why ? why : "", why ? "; " : "", c->first_n,
        c->rules.timeout_estimated ? ", and the timeout that cut them" : "");
}

apr_status_t ka_counting_finish(ka_counting *c, const ka_options *options,
                                apr_pool_t *pool)
{
    ka_analysis *a = c->analysis;
    apr_status_t rv;

    if (c->lanes) {
        rv = ka_lanes_finish(c->lanes);
    }
    else {
        ka_stream_requests_end(c->requests);
        rv = ka_stream_finish(c->stream);
    }
    if (rv) {
        return rv;
    }
    ka_analysis_complete_tally(a, c->rules.identity);
    if (a->tally->failed) {
        return APR_ENOMEM;
    }
    rv = ka_analysis_of_tally(a, options, pool);
    a->report.identity_note = note_of(c, pool);
    return rv;
}
