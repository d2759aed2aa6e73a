/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "tally.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <apr_strings.h>

#include "profile_priv.h"
#include "tally_priv.h"

/* ---- single seconds ----------------------------------------------------- */

void ka_tally_forget_seconds(ka_tally_side *side)
{
    size_t i;

    for (i = 0; i < KA_TALLY_TIMEOUTS; i++) {
        ka_busiest_clear(&side->timeouts[i].busiest);
    }
    ka_busiest_clear(&side->busiest);
}

bool ka_tally_demand(ka_demand *out, const ka_tally *tally, int64_t timeout_us,
                     ka_demand_kind kind)
{
    const ka_tally_side *side = &tally->side[tally->bracket ? 1 : 0];
    size_t i;

    if (kind == KA_DEMAND_BUSY) {
        return ka_busiest_demand(out, &side->busiest);
    }
    for (i = 0; i < tally->timeout_n; i++) {
        if (tally->timeouts[i] == timeout_us) {
            return ka_busiest_demand(out, &side->timeouts[i].busiest);
        }
    }
    return false;
}

/* ---- making and freeing ------------------------------------------------- */

ka_tally *ka_tally_make(const int64_t *timeouts, size_t n, apr_pool_t *pool)
{
    ka_tally *tally = calloc(1, sizeof(*tally));

    assert(n <= KA_TALLY_TIMEOUTS);
    if (tally == NULL) {
        return NULL;
    }
    tally->pool = pool;
    tally->timeout_us = KA_TIMEOUT_OFF;
    tally->timeout_n = n;
    if (n > 0) {
        memcpy(tally->timeouts, timeouts, n * sizeof(*timeouts));
    }
    ka_distinct_init(&tally->clients);
    ka_distinct_init(&tally->addresses);
    ka_weights_init(&tally->weights);
    return tally;
}

static void side_clear(ka_tally_side *side)
{
    size_t i;

    ka_tally_forget_seconds(side);
    for (i = 0; i < KA_TALLY_TIMEOUTS; i++) {
        ka_occupancy_clear(&side->timeouts[i].held);
    }
    ka_occupancy_clear(&side->busy);
}

void ka_tally_free(ka_tally *tally)
{
    size_t i;

    if (tally == NULL) {
        return;
    }
    for (i = 0; i < tally->vhost_n; i++) {
        free(tally->vhosts[i]);
    }
    free(tally->vhosts);
    free(tally->servers);
    free(tally->limits);
    ka_sample_free(tally->sample);
    side_clear(&tally->side[0]);
    side_clear(&tally->side[1]);
    free(tally);
}

bool ka_tally_is_empty(const ka_tally *tally)
{
    return tally->server_n == 0 && tally->lines == 0 && tally->requests == 0 &&
           tally->no_request == 0 && tally->window_us == 0;
}

/* ---- arrays in order ---------------------------------------------------- */

/* Room for one more item, and the place at `at` free for it; NULL, and
 * nothing changed, without memory. */
static void *array_insert(void *items, size_t n, size_t *size, size_t width,
                          size_t at)
{
    size_t wanted = *size ? *size * 2 : 4;
    char *grown = items;

    if (n == *size) {
        grown = realloc(items, wanted * width);
        if (grown == NULL) {
            return NULL;
        }
        *size = wanted;
    }
    memmove(grown + (at + 1) * width, grown + at * width, (n - at) * width);
    memset(grown + at * width, 0, width);
    return grown;
}

static const char *copy_name(ka_tally *tally, const char *name)
{
    return *name ? apr_pstrdup(tally->pool, name) : "";
}

/* Index of the first vhost that is not before name. */
static size_t find_vhost(const ka_tally *tally, const char *name)
{
    size_t low = 0, high = tally->vhost_n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(tally->vhosts[middle]->name, name) < 0) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

static bool vhost_is(const ka_tally *tally, size_t at, const char *name)
{
    return at < tally->vhost_n && !strcmp(tally->vhosts[at]->name, name);
}

static ka_tally_traffic *insert_vhost(ka_tally *tally, size_t at,
                                      const char *name)
{
    ka_tally_traffic *vhost = calloc(1, sizeof(*vhost));
    void *grown = NULL;

    if (vhost != NULL) {
        grown = array_insert(tally->vhosts, tally->vhost_n, &tally->vhost_size,
                             sizeof(*tally->vhosts), at);
    }
    if (grown == NULL) {
        free(vhost);
        tally->failed = true;
        return NULL;
    }
    vhost->name = copy_name(tally, name);
    tally->vhosts = grown;
    tally->vhosts[at] = vhost;
    tally->vhost_n++;
    return vhost;
}

ka_tally_traffic *ka_tally_vhost(ka_tally *tally, const char *name)
{
    size_t at = find_vhost(tally, name);

    /* One place is kept for the others. */
    if (!vhost_is(tally, at, name) && tally->vhost_n >= KA_TALLY_VHOSTS - 1) {
        name = KA_TALLY_OTHER;
        at = find_vhost(tally, name);
    }
    return vhost_is(tally, at, name) ? tally->vhosts[at]
                                     : insert_vhost(tally, at, name);
}

ka_tally_traffic *ka_tally_vhost_at(ka_tally *tally, const char *name)
{
    size_t at = find_vhost(tally, name);

    return vhost_is(tally, at, name) ? tally->vhosts[at]
                                     : insert_vhost(tally, at, name);
}

ka_tally_server *ka_tally_server_at(ka_tally *tally, const char *name)
{
    size_t at = 0;
    void *grown;

    while (at < tally->server_n && strcmp(tally->servers[at].name, name) < 0) {
        at++;
    }
    if (at < tally->server_n && !strcmp(tally->servers[at].name, name)) {
        return &tally->servers[at];
    }
    grown = array_insert(tally->servers, tally->server_n, &tally->server_size,
                         sizeof(*tally->servers), at);
    if (grown == NULL) {
        tally->failed = true;
        return NULL;
    }
    tally->servers = grown;
    tally->server_n++;
    tally->servers[at].name = copy_name(tally, name);
    return &tally->servers[at];
}

/* ---- T0 ----------------------------------------------------------------- */

static void choose_limit(ka_tally *tally)
{
    const ka_tally_limit *most = &tally->limits[0];
    size_t i;

    for (i = 1; i < tally->limit_n; i++) {
        if (tally->limits[i].window_us > most->window_us) {
            most = &tally->limits[i];
        }
    }
    tally->timeout_us = most->timeout_us;
    tally->timeouts_differ = tally->limit_n > 1;
}

void ka_tally_limit_add(ka_tally *tally, int64_t timeout_us, uint64_t window_us)
{
    size_t at = 0;

    while (at < tally->limit_n && tally->limits[at].timeout_us < timeout_us) {
        at++;
    }
    if (at == tally->limit_n || tally->limits[at].timeout_us != timeout_us) {
        void *grown =
            array_insert(tally->limits, tally->limit_n, &tally->limit_size,
                         sizeof(*tally->limits), at);

        if (grown == NULL) {
            tally->failed = true;
            return;
        }
        tally->limits = grown;
        tally->limit_n++;
        tally->limits[at].timeout_us = timeout_us;
    }
    tally->limits[at].window_us =
        ka_add_saturated(tally->limits[at].window_us, window_us);
    choose_limit(tally);
}

/* ---- counting ----------------------------------------------------------- */

void ka_tally_count_flags(ka_tally *tally, unsigned flags, int64_t service_us,
                          int64_t bytes)
{
    tally->http10 += (flags & KA_REQ_HTTP10) != 0;
    tally->http2 += (flags & KA_REQ_HTTP2) != 0;
    tally->aborted += (flags & KA_REQ_ABORTED) != 0;
    tally->final += (flags & KA_REQ_FINAL) != 0;
    tally->not_http += (flags & KA_REQ_NOT_HTTP) != 0;
    tally->tls += (flags & KA_REQ_TLS) != 0;
    tally->with_service += service_us >= 0;
    if (ka_sent_slowly(service_us, bytes)) {
        tally->slow_bytes_n++;
        tally->slow_service_us =
            ka_add_saturated(tally->slow_service_us, (uint64_t)service_us);
    }
}
