/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "jsonparts.h"

#define US_TO_S 1e-6

static const char *const class_keys[KA_CLASS_N] = {
    [KA_CLASS_STATIC] = "static", [KA_CLASS_DYNAMIC] = "dynamic"};

/* A quantity of which nothing was observed has nulls, not zeros. */
static json_t *observed(uint64_t n, double value)
{
    return n ? ka_doc_number(value) : json_null();
}

static json_t *rates(const ka_traffic *t)
{
    return json_pack(
        "{s:o, s:o, s:o}", "mean", ka_doc_number(t->requests_per_s), "p99",
        ka_doc_number(t->p99_per_s), "peak", ka_doc_number(t->peak_per_s));
}

static json_t *times(const ka_hist *h)
{
    ka_dist d = ka_dist_of(h, US_TO_S);

    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "mean",
                     observed(d.n, d.mean), "p50", observed(d.n, d.p50), "p90",
                     observed(d.n, d.p90), "p99", observed(d.n, d.p99), "max",
                     observed(d.n, d.max), "count", ka_doc_whole((int64_t)d.n));
}

static json_t *observed_bracket(bool bracket, uint64_t n, double a, double b)
{
    return n ? ka_doc_bracket(bracket, a, b) : json_null();
}

/* Both sides of a distribution, value by value. */
static json_t *dists(bool bracket, const ka_dist *a, const ka_dist *b)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "mean",
                     observed_bracket(bracket, a->n, a->mean, b->mean), "p50",
                     observed_bracket(bracket, a->n, a->p50, b->p50), "p90",
                     observed_bracket(bracket, a->n, a->p90, b->p90), "p99",
                     observed_bracket(bracket, a->n, a->p99, b->p99), "max",
                     observed_bracket(bracket, a->n, a->max, b->max));
}

static json_t *z(bool bracket, const ka_held *a, const ka_held *b)
{
    if (!(a->mean > 0) || !(b->mean > 0)) {
        return json_null();
    }
    return ka_doc_bracket(bracket, a->variance / a->mean,
                          b->variance / b->mean);
}

static json_t *held(const ka_report *report)
{
    bool bracket = report->low != report->high;
    const ka_held *a, *b;

    if (!report->timeout_n) {
        return json_pack("{s:n, s:n, s:n}", "mean", "peak", "z");
    }
    a = &report->low[report->now].held;
    b = &report->high[report->now].held;
    return json_pack("{s:o, s:o, s:o, s:o}", "mean",
                     ka_doc_bracket(bracket, a->mean, b->mean), "p999",
                     ka_doc_bracket(bracket, a->p999, b->p999), "peak",
                     ka_doc_bracket(bracket, a->peak, b->peak), "z",
                     z(bracket, a, b));
}

/* As the server counted them. */
static json_t *counted_closes(const ka_profile *p)
{
    json_t *object = json_object();
    unsigned i;

    for (i = 0; i < KA_REASON_N; i++) {
        if (p->closes[i]) {
            json_object_set_new(object, ka_reason_name(i),
                                ka_doc_whole((int64_t)p->closes[i]));
        }
    }
    return object;
}

/* The reasons that a log can tell; of %X `-` it only shows that the response
 * was the connection's last. */
static json_t *logged_closes(const ka_profile *p)
{
    const struct {
        const char *reason;
        uint64_t n;
    } rows[] = {{"http10", p->http10},
                {"aborted", p->aborted},
                {"no_request", p->no_request},
                {"other", p->final > p->http10 ? p->final - p->http10 : 0}};
    json_t *object = json_object();
    size_t i;

    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].n) {
            json_object_set_new(object, rows[i].reason,
                                ka_doc_whole((int64_t)rows[i].n));
        }
    }
    return object;
}

static json_t *traffic_of(const ka_traffic *t)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o}", "requests",
        ka_doc_whole((int64_t)t->requests), "requests_per_s", rates(t),
        "service_s", times(&t->service), "gap_s", times(&t->gap), "bytes_out",
        t->bytes_n ? ka_doc_whole((int64_t)t->bytes) : json_null());
}

static json_t *classes(const ka_profile *p)
{
    json_t *object = json_object();
    size_t i;

    for (i = 0; i < KA_CLASS_N; i++) {
        json_object_set_new(object, class_keys[i], traffic_of(&p->classes[i]));
    }
    return object;
}

static json_t *vhosts(const ka_profile *p, apr_pool_t *pool)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < p->vhost_n; i++) {
        json_t *one = traffic_of(&p->vhosts[i]);

        json_object_set_new(one, "name", ka_doc_text(p->vhosts[i].name, pool));
        json_array_append_new(array, one);
    }
    return array;
}

static json_t *excluded(const ka_report *report)
{
    json_t *object = json_object();
    size_t i;

    for (i = 0; i < KA_EXCLUDED_N; i++) {
        json_object_set_new(object, ka_excluded_name((ka_excluded)i),
                            ka_doc_whole((int64_t)report->source->excluded[i]));
    }
    json_object_set_new(object, "no_request",
                        ka_doc_whole((int64_t)report->profile->no_request));
    return object;
}

static json_t *share(uint64_t n, uint64_t of)
{
    return of ? ka_doc_number((double)n / (double)of) : json_null();
}

static void add_details(json_t *object, const ka_report *report,
                        apr_pool_t *pool)
{
    const ka_profile *p = report->profile;
    double all_service = (double)ka_hist_sum(&p->total.service);
    bool outcomes = report->timeout_n > 0;
    double low = outcomes ? report->low[report->now].linger_bound_mean : 0;
    double high = outcomes ? report->high[report->now].linger_bound_mean : 0;

    json_object_set_new(object, "http2_share",
                        share(p->http2, p->total.requests));
    json_object_set_new(object, "tls_share",
                        p->tls ? share(p->tls, p->total.requests)
                               : json_null());
    json_object_set_new(object, "excluded", excluded(report));
    json_object_set_new(object, "not_http", ka_doc_whole((int64_t)p->not_http));
    json_object_set_new(object, "clients",
                        p->live && !p->low.clients
                            ? json_null()
                            : ka_doc_whole((int64_t)p->low.clients));
    json_object_set_new(object, "addresses",
                        p->live && !p->low.clients
                            ? json_null()
                            : ka_doc_whole((int64_t)p->addresses));
    json_object_set_new(object, "clients_estimated",
                        json_boolean(report->source->distinct_estimated));
    json_object_set_new(object, "top_address_share",
                        p->live ? json_null()
                                : ka_doc_number(p->top_address_share));
    json_object_set_new(object, "parallel",
                        dists(p->bracket, &p->low.parallel, &p->high.parallel));
    json_object_set_new(
        object, "slow_clients",
        json_pack("{s:o, s:o}", "requests",
                  ka_doc_whole((int64_t)p->slow_bytes_n), "service_share",
                  all_service > 0
                      ? ka_doc_number((double)p->slow_service_us / all_service)
                      : json_null()));
    json_object_set_new(
        object, "linger_bound_mean",
        outcomes ? ka_doc_bracket(report->low != report->high, low, high)
                 : json_null());
    json_object_set_new(object, "vhosts", vhosts(p, pool));
    json_object_set_new(object, "vhosts_more",
                        ka_doc_whole((int64_t)p->vhosts_more));
}

json_t *ka_doc_traffic(const ka_report *report, apr_pool_t *pool)
{
    const ka_profile *p = report->profile;
    const ka_dist *low = &p->low.requests_per_connection;
    const ka_dist *high = &p->high.requests_per_connection;
    json_t *object = json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "window_s",
        ka_doc_number(p->window_s), "requests",
        ka_doc_whole((int64_t)p->total.requests), "connections",
        ka_doc_bracket_whole(p->bracket, (int64_t)p->low.connections,
                             (int64_t)p->high.connections),
        "requests_per_s", rates(&p->total), "keepalive_requests_mean",
        observed_bracket(p->bracket, low->n, low->mean, high->mean),
        "requests_per_connection", dists(p->bracket, low, high), "gap_s",
        times(&p->total.gap), "service_s", times(&p->total.service), "held",
        held(report), "closes", p->live ? counted_closes(p) : logged_closes(p),
        "classes", classes(p));

    if (object) {
        add_details(object, report, pool);
    }
    return object;
}
