/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * One pass over the requests fills the classes and the vhosts; the total is
 * the sum of the classes.
 */
#include "profile.h"

#include <stdlib.h>
#include <string.h>

#include "array.h"
#include "connections_priv.h"
#include "profile_priv.h"

#define SLOW_BYTES_PER_S 100000 /* R15 */

typedef struct builder {
    ka_profile *out;
    const ka_requests *served;
    ka_seconds *seconds;   /* of the total, then the classes, then vhosts */
    ka_traffic **of_vhost; /* vhost index -> its traffic; NULL: not listed */
    size_t vhost_n;        /* entries of of_vhost */
    uint32_t *client_of;   /* request -> client, from 0 */
    size_t client_n;
} builder;

/* ---- vhosts ------------------------------------------------------------- */

typedef struct vhost_count {
    uint64_t requests;
    size_t index;
} vhost_count;

/* Most requests first; the order of the log among equals. */
static int compare_counts(const void *a, const void *b)
{
    const vhost_count *x = a, *y = b;

    if (x->requests != y->requests) {
        return x->requests < y->requests ? 1 : -1;
    }
    return (x->index > y->index) - (x->index < y->index);
}

static void list_vhosts(builder *b, vhost_count *counts,
                        const ka_source_info *info, apr_pool_t *pool)
{
    ka_profile *out = b->out;
    size_t i, named = 0;

    for (i = 0; i < b->served->n; i++) {
        uint32_t vhost = b->served->items[i].vhost;

        if (vhost < info->vhost_n) {
            counts[vhost].requests++;
        }
    }
    for (i = 0; i < info->vhost_n; i++) {
        const char *name = info->vhosts[i];

        counts[i].index = i;
        if (name == NULL || *name == '\0') {
            counts[i].requests = 0;
        }
        named += counts[i].requests > 0;
    }
    qsort(counts, info->vhost_n, sizeof(*counts), compare_counts);
    out->vhost_n = named < KA_PROFILE_VHOSTS ? named : KA_PROFILE_VHOSTS;
    out->vhosts_more = named - out->vhost_n;
    out->vhosts = apr_pcalloc(pool, (out->vhost_n + 1) * sizeof(*out->vhosts));
    for (i = 0; i < out->vhost_n; i++) {
        out->vhosts[i].name = info->vhosts[counts[i].index];
        b->of_vhost[counts[i].index] = &out->vhosts[i];
    }
}

static apr_status_t find_vhosts(builder *b, const ka_source_info *info,
                                apr_pool_t *pool)
{
    vhost_count *counts = calloc(info->vhost_n + 1, sizeof(*counts));

    b->vhost_n = info->vhost_n;
    b->of_vhost = calloc(info->vhost_n + 1, sizeof(*b->of_vhost));
    if (counts == NULL || b->of_vhost == NULL) {
        free(counts);
        return APR_ENOMEM;
    }
    list_vhosts(b, counts, info, pool);
    free(counts);
    return APR_SUCCESS;
}

static ka_traffic *vhost_of(const builder *b, const ka_request *r)
{
    return r->vhost < b->vhost_n ? b->of_vhost[r->vhost] : NULL;
}

static ka_traffic *class_of(const builder *b, const ka_request *r)
{
    return &b->out->classes[r->cls < KA_CLASS_N ? r->cls : KA_CLASS_DYNAMIC];
}

/* ---- requests ----------------------------------------------------------- */

static void count_traffic(ka_traffic *t, ka_seconds *seconds,
                          const ka_request *r)
{
    t->requests++;
    ka_seconds_add(seconds, r->begin_us);
    if (r->service_us >= 0) {
        ka_hist_add(&t->service, (uint64_t)r->service_us);
    }
    if (r->bytes >= 0) {
        t->bytes += (uint64_t)r->bytes;
        t->bytes_n++;
    }
}

/* Bytes per second at under 100 kB/s, written without a division. */
bool ka_sent_slowly(int64_t service_us, int64_t bytes)
{
    return service_us > KA_SECOND_US && bytes > 0 &&
           (double)bytes * KA_SECOND_US <
               (double)SLOW_BYTES_PER_S * (double)service_us;
}

static void count_flags(ka_profile *out, const ka_request *r)
{
    out->http10 += (r->flags & KA_REQ_HTTP10) != 0;
    out->http2 += (r->flags & KA_REQ_HTTP2) != 0;
    out->aborted += (r->flags & KA_REQ_ABORTED) != 0;
    out->final += (r->flags & KA_REQ_FINAL) != 0;
    out->not_http += (r->flags & KA_REQ_NOT_HTTP) != 0;
    out->tls += (r->flags & KA_REQ_TLS) != 0;
    out->with_service += r->service_us >= 0;
    if (ka_sent_slowly(r->service_us, r->bytes)) {
        out->slow_bytes_n++;
        out->slow_service_us += ka_request_end(r) - ka_request_begin(r);
    }
}

static void count_requests(builder *b)
{
    ka_profile *out = b->out;
    size_t i;

    for (i = 0; i < b->served->n; i++) {
        const ka_request *r = &b->served->items[i];
        ka_traffic *class = class_of(b, r), *vhost = vhost_of(b, r);

        count_flags(out, r);
        ka_seconds_add(&b->seconds[0], r->begin_us);
        count_traffic(class, &b->seconds[1 + (class - out->classes)], r);
        if (vhost != NULL) {
            count_traffic(
                vhost, &b->seconds[1 + KA_CLASS_N + (vhost - out->vhosts)], r);
        }
    }
}

static void add_gap(ka_traffic *t, uint64_t gap, bool longer)
{
    ka_hist_add(longer ? &t->longer : &t->gap, gap);
}

/* A gap belongs to the request before it on the chain.  Longer ones than T0
 * lie between two connections, not within one. */
static apr_status_t count_gaps(builder *b, const ka_trace *trace,
                               int64_t timeout_us)
{
    uint32_t *last = ka_array_alloc(trace->chain_n, sizeof(*last));
    size_t i;

    if (last == NULL) {
        return APR_ENOMEM;
    }
    for (i = 0; i < trace->request_n; i++) {
        const ka_trace_request *t = &trace->requests[i];

        if (t->gap_us >= 0) {
            const ka_request *before = &b->served->items[last[t->chain]];
            ka_traffic *vhost = vhost_of(b, before);
            bool longer = t->gap_us > timeout_us;

            add_gap(class_of(b, before), (uint64_t)t->gap_us, longer);
            if (vhost != NULL) {
                add_gap(vhost, (uint64_t)t->gap_us, longer);
            }
        }
        last[t->chain] = (uint32_t)i;
    }
    free(last);
    b->out->longer_known = true;
    return APR_SUCCESS;
}

static void sum_classes(ka_profile *out)
{
    int i;

    for (i = 0; i < KA_CLASS_N; i++) {
        const ka_traffic *class = &out->classes[i];

        out->total.requests += class->requests;
        out->total.bytes += class->bytes;
        out->total.bytes_n += class->bytes_n;
        ka_hist_merge(&out->total.service, &class->service);
        ka_hist_merge(&out->total.gap, &class->gap);
        ka_hist_merge(&out->total.longer, &class->longer);
    }
}

static void finish_traffic(const builder *b, ka_traffic *t, size_t seconds)
{
    const ka_profile *out = b->out;

    if (out->window_s > 0) {
        t->requests_per_s = (double)t->requests / out->window_s;
    }
    ka_seconds_finish(t, &b->seconds[seconds], out->first_us, out->last_us);
}

static void finish_all(builder *b)
{
    size_t i;

    finish_traffic(b, &b->out->total, 0);
    for (i = 0; i < KA_CLASS_N; i++) {
        finish_traffic(b, &b->out->classes[i], 1 + i);
    }
    for (i = 0; i < b->out->vhost_n; i++) {
        finish_traffic(b, &b->out->vhosts[i], 1 + KA_CLASS_N + i);
    }
}

static void find_window(ka_profile *out, const ka_requests *served)
{
    size_t i;

    out->first_us = ka_request_begin(&served->items[0]);
    out->last_us = out->first_us;
    for (i = 0; i < served->n; i++) {
        int64_t end = ka_request_end(&served->items[i]);

        out->last_us = end > out->last_us ? end : out->last_us;
    }
    out->window_s = (double)(out->last_us - out->first_us) / KA_SECOND_US;
}

/* ---- clients ------------------------------------------------------------ */

static apr_status_t count_addresses(builder *b)
{
    const ka_request *items = b->served->items;
    uint32_t top = 0, *at = NULL;
    ka_keymap addresses;
    size_t i, n = b->served->n;

    ka_keymap_init(&addresses);
    for (i = 0; i < n; i++) {
        if (i + KA_KEYMAP_AHEAD < n) {
            ka_keymap_expect(&addresses, items[i + KA_KEYMAP_AHEAD].address);
        }
        at = ka_keymap_at(&addresses, items[i].address, 0);
        if (at == NULL) {
            break;
        }
        top = ++*at > top ? *at : top;
    }
    b->out->addresses = addresses.n;
    b->out->top_address_share = (double)top / (double)n;
    ka_keymap_clear(&addresses);
    return at == NULL ? APR_ENOMEM : APR_SUCCESS;
}

static apr_status_t count_connections(builder *b,
                                      const ka_connections *connections,
                                      int64_t timeout_us)
{
    ka_profile *out = b->out;
    apr_status_t status = ka_connection_stats_build(
        &out->low, &connections->low, b->client_of, b->client_n, timeout_us);

    out->bracket = connections->bracket;
    out->high = out->low;
    if (status != APR_SUCCESS || !connections->bracket) {
        return status;
    }
    return ka_connection_stats_build(&out->high, &connections->high,
                                     b->client_of, b->client_n, timeout_us);
}

static apr_status_t build(builder *b, const ka_connections *connections,
                          const ka_source_info *info, int64_t timeout_us,
                          apr_pool_t *pool)
{
    apr_status_t status = find_vhosts(b, info, pool);

    if (status != APR_SUCCESS) {
        return status;
    }
    b->seconds = calloc(1 + KA_CLASS_N + b->out->vhost_n, sizeof(*b->seconds));
    if (b->seconds == NULL) {
        return APR_ENOMEM;
    }
    find_window(b->out, b->served);
    count_requests(b);
    status = count_gaps(b, &connections->low, timeout_us);
    sum_classes(b->out);
    finish_all(b);
    if (status == APR_SUCCESS) {
        status = count_addresses(b);
    }
    if (status == APR_SUCCESS) {
        b->client_of =
            ka_clients_number(&b->client_n, b->served->items, b->served->n);
        status = b->client_of != NULL ? APR_SUCCESS : APR_ENOMEM;
    }
    if (status == APR_SUCCESS) {
        status = count_connections(b, connections, timeout_us);
    }
    return status;
}

apr_status_t ka_profile_build(ka_profile *out, const ka_requests *requests,
                              const ka_requests *served,
                              const ka_connections *connections,
                              const ka_source_info *info, int64_t timeout_us,
                              apr_pool_t *pool)
{
    builder b = {.out = out, .served = served};
    apr_status_t status;
    size_t i;

    memset(out, 0, sizeof(*out));
    out->total.name = "";
    out->classes[KA_CLASS_STATIC].name = "static";
    out->classes[KA_CLASS_DYNAMIC].name = "dynamic";
    for (i = 0; i < requests->n; i++) {
        out->no_request += (requests->items[i].flags & KA_REQ_NO_REQUEST) != 0;
    }
    if (served->n == 0) {
        return APR_SUCCESS;
    }
    status = build(&b, connections, info, timeout_us, pool);
    free(b.seconds);
    free(b.of_vhost);
    free(b.client_of);
    return status;
}

ka_dist ka_dist_of(const ka_hist *h, double scale)
{
    ka_dist dist = {.n = ka_hist_count(h)};

    if (dist.n > 0) {
        dist.mean = ka_hist_mean(h) * scale;
        dist.p50 = ka_hist_quantile(h, 0.50) * scale;
        dist.p90 = ka_hist_quantile(h, 0.90) * scale;
        dist.p99 = ka_hist_quantile(h, 0.99) * scale;
        dist.max = ka_hist_max(h) * scale;
    }
    return dist;
}
