/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "tally_priv.h"

#include <stdlib.h>
#include <string.h>
#include <apr_strings.h>

#include "profile_priv.h"

#define SECOND_US 1000000

/* ---- rates -------------------------------------------------------------- */

/* Seconds of the clock that the window touches, of all servers. */
static uint64_t seconds_of(const ka_tally *tally)
{
    uint64_t seconds = 0;
    size_t i;

    for (i = 0; i < tally->server_n; i++) {
        const ka_tally_server *s = &tally->servers[i];
        uint64_t span_us = (uint64_t)s->last_us - (uint64_t)s->first_us;

        if (!ka_tally_server_seen(s)) {
            continue;
        }
        /* Where there were several parts, where they began and ended is not
         * known. */
        seconds += s->window_us == span_us
                       ? (uint64_t)(ka_second_of(s->last_us) -
                                    ka_second_of(s->first_us)) +
                             1
                       : s->window_us / SECOND_US + 1;
    }
    return seconds;
}

static void set_rates(ka_traffic *out, const ka_hist *per_second, uint64_t peak,
                      uint64_t seconds, double window_s)
{
    ka_hist counts = *per_second;
    uint64_t filled = ka_hist_count(&counts);

    if (seconds > filled) {
        ka_hist_add_n(&counts, 0, seconds - filled);
    }
    if (window_s > 0) {
        out->requests_per_s = (double)out->requests / window_s;
    }
    out->p99_per_s = ka_hist_quantile(&counts, 0.99);
    out->peak_per_s = (double)peak;
}

static void fill_traffic(ka_traffic *out, const ka_tally_traffic *from,
                         uint64_t seconds, double window_s)
{
    out->requests = from->requests;
    out->service = from->service;
    out->gap = from->gap;
    out->bytes = from->bytes;
    out->bytes_n = from->bytes_n;
    set_rates(out, &from->per_second, from->peak_per_second, seconds, window_s);
}

static void fill_total(ka_profile *out, const ka_tally *tally, uint64_t seconds)
{
    int i;

    for (i = 0; i < KA_CLASS_N; i++) {
        fill_traffic(&out->classes[i], &tally->classes[i], seconds,
                     out->window_s);
        out->total.requests += out->classes[i].requests;
        out->total.bytes += out->classes[i].bytes;
        out->total.bytes_n += out->classes[i].bytes_n;
        ka_hist_merge(&out->total.service, &out->classes[i].service);
        ka_hist_merge(&out->total.gap, &out->classes[i].gap);
    }
    set_rates(&out->total, &tally->per_second, tally->peak_per_second, seconds,
              out->window_s);
}

/* ---- vhosts ------------------------------------------------------------- */

/* Most requests first, then by name. */
static int compare_vhosts(const void *a, const void *b)
{
    const ka_tally_traffic *const *x = a, *const *y = b;

    if ((*x)->requests != (*y)->requests) {
        return (*x)->requests < (*y)->requests ? 1 : -1;
    }
    return strcmp((*x)->name, (*y)->name);
}

static void fill_vhosts(ka_profile *out, const ka_tally *tally,
                        uint64_t seconds, apr_pool_t *pool)
{
    const ka_tally_traffic **named =
        apr_palloc(pool, (tally->vhost_n + 1) * sizeof(*named));
    size_t i, n = 0, others = 0;

    for (i = 0; i < tally->vhost_n; i++) {
        const ka_tally_traffic *vhost = tally->vhosts[i];
        bool is_other = !strcmp(vhost->name, KA_TALLY_OTHER);

        if (*vhost->name != '\0' && vhost->requests > 0) {
            named[n] = vhost;
            n += !is_other;
            others += is_other;
        }
    }
    qsort(named, n, sizeof(*named), compare_vhosts);
    out->vhost_n = n < KA_PROFILE_VHOSTS ? n : KA_PROFILE_VHOSTS;
    out->vhosts_more = n - out->vhost_n + others;
    out->vhosts = apr_pcalloc(pool, (out->vhost_n + 1) * sizeof(*out->vhosts));
    for (i = 0; i < out->vhost_n; i++) {
        out->vhosts[i].name = apr_pstrdup(pool, named[i]->name);
        fill_traffic(&out->vhosts[i], named[i], seconds, out->window_s);
    }
}

/* ---- the rest ----------------------------------------------------------- */

static void fill_span(ka_profile *out, const ka_tally *tally)
{
    bool any = false;
    size_t i;

    for (i = 0; i < tally->server_n; i++) {
        const ka_tally_server *s = &tally->servers[i];

        if (!ka_tally_server_seen(s)) {
            continue;
        }
        if (!any || s->first_us < out->first_us) {
            out->first_us = s->first_us;
        }
        if (!any || s->last_us > out->last_us) {
            out->last_us = s->last_us;
        }
        any = true;
    }
    out->window_s = (double)tally->window_us / SECOND_US;
}

static void fill_flags(ka_profile *out, const ka_tally *tally)
{
    out->http10 = tally->http10;
    out->http2 = tally->http2;
    out->aborted = tally->aborted;
    out->final = tally->final;
    out->not_http = tally->not_http;
    out->tls = tally->tls;
    out->with_service = tally->with_service;
    out->slow_bytes_n = tally->slow_bytes_n;
    out->slow_service_us = tally->slow_service_us < INT64_MAX
                               ? (int64_t)tally->slow_service_us
                               : INT64_MAX;
    out->addresses = ka_distinct_count(&tally->addresses);
    out->top_address_share = ka_weights_top(&tally->weights);
}

static ka_connection_stats stats_of(const ka_tally *tally, int side)
{
    return ka_connection_stats_of(&tally->side[side].lengths,
                                  &tally->side[side].parallel,
                                  ka_distinct_count(&tally->clients));
}

void ka_tally_profile(ka_profile *out, const ka_tally *tally, apr_pool_t *pool)
{
    uint64_t seconds = seconds_of(tally);

    memset(out, 0, sizeof(*out));
    out->total.name = "";
    out->classes[KA_CLASS_STATIC].name = "static";
    out->classes[KA_CLASS_DYNAMIC].name = "dynamic";
    out->no_request = tally->no_request;
    if (tally->requests == 0) {
        return;
    }
    fill_span(out, tally);
    fill_total(out, tally, seconds);
    fill_vhosts(out, tally, seconds, pool);
    fill_flags(out, tally);
    out->bracket = tally->bracket;
    out->low = stats_of(tally, 0);
    out->high = tally->bracket ? stats_of(tally, 1) : out->low;
}
