/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Traffic and outcomes of report_fixture.h.  The numbers hang together (N
 * falls, H rises) but come from no traffic. */
#ifndef KA_TEST_REPORT_FIXTURE_TRAFFIC_H
#define KA_TEST_REPORT_FIXTURE_TRAFFIC_H

#include <apr_strings.h>
#include "render/render.h"
#include "unit.h"

#define FIXTURE_COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define FIXTURE_MB (INT64_C(1) << 20)
#define FIXTURE_REQUESTS 96426
#define FIXTURE_WINDOW_S 21600.0

/* 2026-03-02T08:00:00Z */
#define FIXTURE_FIRST_US (INT64_C(1772438400) * 1000000)

/* A report with its parts, to be changed by a test as it likes. */
typedef struct fixture {
    ka_report report;
    ka_profile profile;
    ka_source_info source;
    ka_server server;
    ka_outcome *low, *high;
    ka_traffic vhosts[12];
    apr_pool_t *pool;
} fixture;

static const int64_t fixture_timeouts_ms[] = {
    -1,    200,   500,   1000,  2000,  3000,  4000,   5000,   7000,  10000,
    15000, 20000, 30000, 45000, 60000, 90000, 115000, 120000, 300000};

#define FIXTURE_TIMEOUTS FIXTURE_COUNT(fixture_timeouts_ms)
#define FIXTURE_NOW 10 /* 15s */

/* ---- traffic ----------------------------------------------------------------
 */

static inline void fixture_hists(ka_traffic *t)
{
    static const struct {
        uint64_t us, n;
    } gaps[] = {{0, 40},       {12000, 410},  {90000, 220},  {450000, 96},
                {1900000, 60}, {4200000, 31}, {9000000, 12}, {14500000, 4}},
      services[] = {{180, 500},  {900, 240},  {4200, 90},
                    {38000, 40}, {310000, 8}, {2600000, 1}};
    size_t i;

    for (i = 0; i < FIXTURE_COUNT(gaps); i++) {
        ka_hist_add_n(&t->gap, gaps[i].us, gaps[i].n * t->requests / 1000);
    }
    for (i = 0; i < FIXTURE_COUNT(services); i++) {
        ka_hist_add_n(&t->service, services[i].us,
                      services[i].n * t->requests / 879);
    }
}

static inline void fixture_traffic(ka_traffic *t, const char *name,
                                   uint64_t requests, double peak)
{
    *t = (ka_traffic){.name = name,
                      .requests = requests,
                      .requests_per_s = (double)requests / FIXTURE_WINDOW_S,
                      .p99_per_s = peak / 3,
                      .peak_per_s = peak,
                      .bytes = requests * 18432,
                      .bytes_n = requests};
    fixture_hists(t);
}

static inline void fixture_profile(fixture *f)
{
    ka_profile *p = &f->profile;

    *p = (ka_profile){.window_s = FIXTURE_WINDOW_S,
                      .first_us = FIXTURE_FIRST_US,
                      .last_us = FIXTURE_FIRST_US + INT64_C(21600000000),
                      .addresses = 2811,
                      .top_address_share = 0.031,
                      .http10 = 312,
                      .http2 = 0,
                      .aborted = 41,
                      .final = 1870,
                      .not_http = 3,
                      .no_request = 57,
                      .with_service = FIXTURE_REQUESTS,
                      .slow_bytes_n = 88,
                      .slow_service_us = INT64_C(260000000)};
    fixture_traffic(&p->total, "", FIXTURE_REQUESTS, 61);
    fixture_traffic(&p->classes[KA_CLASS_STATIC], "static", 80110, 58);
    fixture_traffic(&p->classes[KA_CLASS_DYNAMIC], "dynamic", 16316, 9);
    p->low = (ka_connection_stats){
        .connections = 17234,
        .requests_per_connection = {17234, 5.595, 3, 12, 48, 612},
        .single_share = 0.312,
        .parallel = {2904, 1.41, 1, 3, 6, 14},
        .clients = 2904};
    p->high = p->low;
}

/* ---- outcomes ---------------------------------------------------------------
 */

/* N(T) = N0 + (n - N0)/(1 + 3 T), H' = N_to: simple and monotone. */
static inline ka_outcome fixture_outcome(int64_t timeout_us, double chains,
                                         double scale)
{
    double t = timeout_us < 0 ? 0 : (double)timeout_us / 1e6;
    double n = FIXTURE_REQUESTS;
    double opened = chains + (n - chains) / (1 + 3 * t);
    double idle = (opened * t * 0.55 + (n - chains) * 0.12) * scale;
    double mean;
    ka_outcome o = {.timeout_us = timeout_us,
                    .measured = timeout_us <= 15000000,
                    .requests = FIXTURE_REQUESTS,
                    .connections = (uint64_t)opened,
                    .timeout_closes = (uint64_t)(opened * 0.8),
                    .busy_us = INT64_C(5378000000),
                    .window_s = FIXTURE_WINDOW_S};

    idle = timeout_us < 0 ? 0 : idle;
    mean = (idle + 5378) / FIXTURE_WINDOW_S;
    o.idle_us = (int64_t)(idle * 1e6);
    o.connections_per_s = opened / o.window_s;
    o.reuse = 1 - opened / n;
    o.handshakes_saved_per_s = (n - opened) / o.window_s;
    o.idle_mean = idle / o.window_s;
    o.busy_mean = 5378 / o.window_s;
    o.held_mean = mean;
    o.linger_bound_mean = 2 * opened * 0.8 / o.window_s;
    o.held = (ka_held){.mean = mean,
                       .variance = mean * 2.75,
                       .p99 = (double)(int)(mean * 3.1 + 3),
                       .p999 = (double)(int)(mean * 3.9 + 4),
                       .peak = (double)(int)(mean * 4.4 + 6),
                       .workers = (double)(int)(mean * 4.1 + 5)};
    o.busy = (ka_held){.mean = o.busy_mean,
                       .variance = o.busy_mean * 1.4,
                       .p99 = 3,
                       .p999 = 5,
                       .peak = 9,
                       .workers = 6};
    o.held_per_second = opened * 0.8 / o.window_s;
    return o;
}

static inline ka_outcome *fixture_outcomes(apr_pool_t *pool, double chains,
                                           double scale)
{
    ka_outcome *all = apr_pcalloc(pool, FIXTURE_TIMEOUTS * sizeof(*all));
    size_t i;

    for (i = 0; i < FIXTURE_TIMEOUTS; i++) {
        int64_t ms = fixture_timeouts_ms[i];

        all[i] =
            fixture_outcome(ms < 0 ? KA_TIMEOUT_OFF : ms * 1000, chains, scale);
    }
    return all;
}

static inline ka_fit *fixture_fits(fixture *f, bool event, int64_t limit)
{
    ka_fit *fits = apr_pcalloc(f->pool, FIXTURE_TIMEOUTS * sizeof(*fits));
    size_t i;

    for (i = 0; i < FIXTURE_TIMEOUTS; i++) {
        fits[i].workers = event ? 64 : f->high[i].held.workers;
        fits[i].connections = f->high[i].held.peak;
        fits[i].memory_bytes =
            limit < 0 ? -1
                      : (int64_t)(fits[i].workers * 13.9 * FIXTURE_MB) +
                            120 * FIXTURE_MB;
        fits[i].fits = limit < 0 ? -1 : fits[i].memory_bytes <= limit;
    }
    return fits;
}

#endif
