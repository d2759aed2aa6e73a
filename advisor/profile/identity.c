/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The best level that a log allows (MODEL 7), and why not a better one.
 */
#include "connections_priv.h"

#include <stdlib.h>

#define ADD_PORT "add %{c}a and %{remote}p to its LogFormat"

static const char why_port[] =
    "the log does not say which connection a request came on: " ADD_PORT;
static const char why_slot_http2[] =
    "process and thread do not tell HTTP/2 connections apart: " ADD_PORT;
static const char why_slot_event[] =
    "on the event MPM one thread serves many connections by turns, so process "
    "and thread do not tell them apart: " ADD_PORT;
static const char why_slot_mpm[] =
    "the log names process and thread, which tell connections apart on worker "
    "but not on event: add --mpm worker if this server runs the worker MPM, "
    "or " ADD_PORT;
static const char why_slot_child[] =
    "the log names the process, which tells connections apart on prefork "
    "alone: add --mpm prefork if this server runs it, or " ADD_PORT;
static const char why_k_http2[] =
    "%k is the same on all requests of HTTP/2, so it does not tell connections "
    "apart: " ADD_PORT;

#define NEARLY_ALL 0.95
#define HTTP2_MAX_FOR_SLOT 0.01
#define HTTP2_MAX_FOR_K 0.20

/* A child with so few requests shows one slot on any MPM. */
#define CHILD_REQUESTS_MIN 4
/* So many requests with %k > 0 must be there to judge the slots by. */
#define K_REQUESTS_MIN 20

const char *ka_identity_name(ka_identity identity)
{
    static const char *const names[] = {
        [KA_IDENTITY_NONE] = "none", [KA_IDENTITY_PORT] = "port",
        [KA_IDENTITY_SLOT] = "slot", [KA_IDENTITY_K] = "k",
        [KA_IDENTITY_TIME] = "time", [KA_IDENTITY_LIVE] = "live",
    };

    return (size_t)identity < sizeof(names) / sizeof(names[0]) ? names[identity]
                                                               : "none";
}

ka_log_facts ka_log_facts_of(const ka_requests *requests)
{
    ka_log_facts f = {.n = requests->n};
    size_t i;

    for (i = 0; i < requests->n; i++) {
        const ka_request *r = &requests->items[i];

        f.port += r->remote_port >= 0;
        f.slot += r->slot != 0;
        f.child += r->child != 0;
        f.k += r->keepalives >= 0;
        if (r->flags & KA_REQ_HTTP2) {
            f.http2++;
            continue;
        }
        f.k_above_0 += r->keepalives > 0;
        if (!(r->flags & KA_REQ_HTTP10)) {
            f.kept += (r->flags & KA_REQ_KEPT) != 0;
            f.final += (r->flags & KA_REQ_FINAL) != 0;
        }
    }
    return f;
}

static bool nearly_all(uint64_t part, uint64_t whole)
{
    return (double)part > NEARLY_ALL * (double)whole;
}

static bool share_below(uint64_t part, uint64_t whole, double share)
{
    return (double)part < share * (double)whole;
}

/* ---- which MPM wrote the log? ------------------------------------------- */

typedef struct child_seen {
    uint64_t slot; /* the first */
    uint32_t requests;
    bool several; /* slots */
} child_seen;

static void see_child(child_seen *child, const ka_request *r)
{
    if (child->requests == 0) {
        child->slot = r->slot;
    }
    child->requests += child->requests < UINT32_MAX;
    child->several = child->several || child->slot != r->slot;
}

/* Prefork: nearly every child shows one slot.  1 yes, 0 no, -1 no memory. */
static int looks_like_prefork(const ka_requests *requests)
{
    uint64_t judged = 0, single = 0;
    child_seen *children = calloc(requests->n, sizeof(*children));
    ka_keymap index;
    uint32_t *at;
    size_t i;
    bool failed = children == NULL;

    ka_keymap_init(&index);
    for (i = 0; i < requests->n && !failed; i++) {
        const ka_request *r = &requests->items[i];

        if (r->slot == 0 || r->child == 0) {
            continue;
        }
        at = ka_keymap_at(&index, r->child, (uint32_t)index.n);
        if (at == NULL) {
            failed = true;
            break;
        }
        see_child(&children[*at], r);
    }
    for (i = 0; i < index.n && !failed; i++) {
        if (children[i].requests >= CHILD_REQUESTS_MIN) {
            judged++;
            single += !children[i].several;
        }
    }
    free(children);
    ka_keymap_clear(&index);
    return failed ? -1 : judged > 0 && nearly_all(single, judged);
}

/* Worker: in each slot %k counts up for one address at a time; on event,
 * connections take turns.  1 yes, 0 no or not to be told, -1 no memory. */
static int slots_count_up(const ka_requests *requests)
{
    uint64_t above_0 = 0, in_step = 0;
    ka_keymap last; /* slot -> its last request */
    uint32_t *at;
    size_t i;

    ka_keymap_init(&last);
    for (i = 0; i < requests->n; i++) {
        const ka_request *r = &requests->items[i];
        const ka_request *before;

        if (r->slot == 0 || r->keepalives < 0 || (r->flags & KA_REQ_HTTP2)) {
            continue;
        }
        at = ka_keymap_at(&last, r->slot, (uint32_t)i);
        if (at == NULL) {
            ka_keymap_clear(&last);
            return -1;
        }
        before = &requests->items[*at];
        *at = (uint32_t)i;
        if (before != r && r->keepalives > 0) {
            above_0++;
            in_step += before->address == r->address &&
                       (before->keepalives == r->keepalives ||
                        before->keepalives == r->keepalives - 1);
        }
    }
    ka_keymap_clear(&last);
    return above_0 >= K_REQUESTS_MIN && nearly_all(in_step, above_0);
}

/* NULL: slots may be used.  *status says whether memory ran out. */
static const char *why_not_slot(apr_status_t *status, const ka_log_facts *facts,
                                const ka_requests *requests,
                                const ka_connection_options *options)
{
    int found;

    if (!share_below(facts->http2, facts->n, HTTP2_MAX_FOR_SLOT)) {
        return why_slot_http2;
    }
    if (options->threaded >= 0) {
        return options->threaded < 2 ? NULL : why_slot_event;
    }
    found = looks_like_prefork(requests);
    if (found == 0) {
        found = slots_count_up(requests);
    }
    if (found < 0) {
        *status = APR_ENOMEM;
    }
    return found > 0 ? NULL : why_slot_mpm;
}

apr_status_t ka_identity_choose(ka_identity *identity, const char **why,
                                const ka_log_facts *facts,
                                const ka_requests *requests,
                                const ka_connection_options *options)
{
    apr_status_t status = APR_SUCCESS;
    bool k = nearly_all(facts->k, facts->n);

    *why = NULL;
    *identity = KA_IDENTITY_PORT;
    if (nearly_all(facts->port, facts->n)) {
        return APR_SUCCESS;
    }
    *why = why_port;
    if (nearly_all(facts->slot, facts->n)) {
        *why = why_not_slot(&status, facts, requests, options);
        *identity = KA_IDENTITY_SLOT;
        if (*why == NULL || status != APR_SUCCESS) {
            return status;
        }
    }
    else if (nearly_all(facts->child, facts->n) && options->threaded < 0) {
        *why = why_slot_child;
    }
    *identity = KA_IDENTITY_TIME;
    if (k && share_below(facts->http2, facts->n, HTTP2_MAX_FOR_K)) {
        *identity = KA_IDENTITY_K;
    }
    else if (k && *why == why_port) {
        *why = why_k_http2;
    }
    return APR_SUCCESS;
}
