/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * `kaadvisor simulate`: what the clients of a source want. */
#include "simulate.h"

#include <math.h>
#include <string.h>
#include <apr_strings.h>

#include "../profile/live.h"
#include "../words.h"

#define HOUR_S 3600
#define MS 1000.0

/* Longer than any client keeps an idle connection (MODEL 6): for those of
 * which a segment only tells that they outlasted its timeout. */
#define KEPT_US (UINT64_C(300) * 1000000)

/* Requests that are drawn: the hour is cut to so many. */
#define DRAWN_WANTED 1000000

/* Distributions that are made for the draws; too large for the stack. */
typedef struct drawn_from {
    ka_hist lengths, gap, service, tail;
    double *rates;
} drawn_from;

/* ---- a trace ------------------------------------------------------------ */

static apr_status_t from_trace(ka_sim_view *view, const ka_trace *trace,
                               bool bracket, apr_pool_t *pool)
{
    ka_sim_traffic *traffic = apr_palloc(pool, sizeof(*traffic));

    view->traffic = traffic;
    view->requests = trace->request_n;
    view->how =
        bracket ? "the source's own requests, on the most connections that "
                  "its lines allow"
                : "the source's own requests and connections";
    return ka_sim_traffic_of_trace(traffic, trace, pool);
}

/* ---- draws -------------------------------------------------------------- */

static uint64_t requests_of(const ka_sim_traffic *traffic)
{
    uint64_t n = 0;
    size_t i;

    for (i = 0; i < traffic->request_n; i++) {
        n += traffic->requests[i].requests;
    }
    return n;
}

/* An hour, or as much of it as DRAWN_WANTED requests take. */
static size_t seconds_to_draw(double requests_per_s)
{
    double seconds = requests_per_s > 0 ? DRAWN_WANTED / requests_per_s : 0;

    return seconds >= 1 && seconds < HOUR_S ? (size_t)seconds : HOUR_S;
}

static apr_status_t from_draws(ka_sim_view *view, const char **error,
                               const ka_sim_draws *draws, const char *what,
                               uint64_t seed, apr_pool_t *pool)
{
    ka_sim_traffic *traffic = apr_palloc(pool, sizeof(*traffic));
    apr_status_t rv = ka_sim_traffic_draw(traffic, draws, seed, pool);

    if (rv == APR_EINVAL) {
        *error = "the source's rates are too high, or there are none: no "
                 "traffic can be drawn from it";
    }
    view->traffic = traffic;
    view->requests = requests_of(traffic);
    view->drawn = true;
    view->how = apr_psprintf(
        pool, "drawn from %s: %s of its busiest hour", what,
        ka_words_duration(pool, (double)draws->rate_n * draws->rate_step_s *
                                    1e6));
    return rv;
}

/* What was seen of each kind of content, for configurations that tell them
 * apart; NULL: it is not needed, or not known. */
static const ka_sim_draws_class *classes_of(const ka_sim_view *view,
                                            const ka_profile *p,
                                            apr_pool_t *pool)
{
    ka_sim_draws_class *classes = apr_pcalloc(pool,
                                              KA_CLASS_N * sizeof(*classes));
    double followed = 0, last = 0;
    bool wanted = false;
    size_t i;

    for (i = 0; i < view->side_n; i++) {
        wanted = wanted || view->sides[i].config.policy;
    }
    for (i = 0; i < KA_CLASS_N; i++) {
        const ka_traffic *t = &p->classes[i];

        classes[i].gap = &t->gap;
        classes[i].service = &t->service;
        classes[i].followed = (double)ka_hist_count(&t->gap);
        classes[i].last = fmax(0, (double)t->requests - classes[i].followed);
        followed += classes[i].followed;
        last += classes[i].last;
    }
    for (i = 0; i < KA_CLASS_N; i++) {
        classes[i].followed /= fmax(followed, 1);
        classes[i].last /= fmax(last, 1);
    }
    return wanted && followed > 0 ? classes : NULL;
}

/* ---- profiles and streams ----------------------------------------------- */

static size_t timeout_index(const ka_tally *t)
{
    size_t i = 0;

    while (i + 1 < t->timeout_n && t->timeouts[i] < t->timeout_us) {
        i++;
    }
    return i;
}

/* Connections opened per second in the hour with most holders: those opened in
 * all, by its share of the holding. */
static double busiest_rate(const ka_tally_timeout *at, double window_s)
{
    double sum = 0, rate = 0, mean;
    size_t i;

    for (i = 0; i < at->held.hour_n; i++) {
        sum += (double)at->held.hours[i].sum;
    }
    mean = window_s > 0 ? (double)at->connections / window_s : 0;
    for (i = 0; i < at->held.hour_n; i++) {
        const ka_occupancy_hour *hour = &at->held.hours[i];

        if (hour->ms * 2 >= KA_OCCUPANCY_HOUR_MS && sum > 0) {
            rate = fmax(rate, (double)at->connections * (double)hour->sum /
                                  sum / ((double)hour->ms / MS));
        }
    }
    return rate > 0 ? rate : mean;
}

static apr_status_t from_tally(ka_sim_view *view, const char **error,
                               const ka_analysis *a, uint64_t seed,
                               apr_pool_t *pool)
{
    const ka_tally *t = a->tally;
    const ka_tally_side *side = &t->side[t->bracket];
    size_t at = timeout_index(t);
    int64_t timeout = t->timeouts[at];
    double opened = (double)side->timeouts[at].connections;
    double requests = (double)t->requests, rate;
    ka_sim_draws draws = {.rate_step_s = 1,
                          .lengths = &side->lengths,
                          .gap = &side->gap,
                          .service = &a->profile.total.service,
                          .tail = &side->tail,
                          .together = &side->parallel,
                          .timeout_us = timeout,
                          .growth = 1,
                          .classes = classes_of(view, &a->profile, pool)};
    double *rates = apr_palloc(pool, HOUR_S * sizeof(*rates));
    size_t i;

    if (opened > 0) {
        draws.again = fmin(1 - (double)side->chains / opened, 0.999);
    }
    if (requests > opened) {
        draws.joined = fmax(requests - (double)side->chains -
                                (double)ka_hist_count(&side->gap),
                            0) /
                       (requests - opened);
    }
    rate = busiest_rate(&side->timeouts[at], a->profile.window_s);
    draws.rate_n =
        seconds_to_draw(opened > 0 ? rate * requests / opened : 0);
    for (i = 0; i < draws.rate_n; i++) {
        rates[i] = rate;
    }
    draws.rates = rates;
    return from_draws(view, error, &draws,
                      "the distributions that were counted", seed, pool);
}

/* ---- a segment ---------------------------------------------------------- */

/* First second of the hour with most connections. */
static size_t busiest_second(const ka_live *live)
{
    uint64_t sum = 0, most = 0;
    size_t t, best = 0;

    for (t = 0; t < live->history_n; t++) {
        sum += live->history[t].connections;
        sum -= t >= HOUR_S ? live->history[t - HOUR_S].connections : 0;
        if (sum > most) {
            most = sum;
            best = t >= HOUR_S ? t - HOUR_S + 1 : 0;
        }
    }
    return best;
}

/* The history's own seconds, else the mean of all time. */
static void rates_of_live(ka_sim_draws *draws, double *rates,
                          const ka_live *live, double opened, double requests)
{
    double window_s = (double)(live->last_us - live->first_us) / 1e6;
    double per_connection = opened > 0 ? requests / opened : 1;
    size_t from = busiest_second(live), n = live->history_n - from, i;
    double sum = 0;

    draws->rates = rates;
    n = n < HOUR_S ? n : HOUR_S;
    for (i = 0; i < n && !live->narrowed; i++) {
        rates[i] = live->history[from + i].connections;
        sum += rates[i];
    }
    if (sum > 0) {
        size_t most = seconds_to_draw(sum / (double)n * per_connection);

        draws->rate_n = most < n ? most : n;
        return;
    }
    draws->rate_n =
        seconds_to_draw(window_s > 0 ? requests / window_s : 0);
    for (i = 0; i < draws->rate_n; i++) {
        rates[i] = window_s > 0 ? opened / window_s : 0;
    }
}

/* Those that timed out: some come back after what survival tells, the others
 * would have been kept. @return share of connections that come back */
static double add_beyond(drawn_from *from, const ka_survival *survival,
                         uint64_t timed_out, double opened, int64_t timeout)
{
    double before = 1;
    uint64_t back = 0;
    size_t i;

    for (i = 0; i < survival->n; i++) {
        uint64_t n =
            (uint64_t)((before - survival->share[i]) * (double)timed_out + 0.5);

        ka_hist_add_n(&from->gap,
                      (uint64_t)(timeout + 1 + survival->over_us[i]), n);
        before = survival->share[i];
        back += n;
    }
    if (timed_out > back) {
        ka_hist_add_n(&from->tail, KEPT_US, timed_out - back);
    }
    return opened > 0 ? fmin((double)back / opened, 0.999) : 0;
}

static apr_status_t from_live(ka_sim_view *view, const char **error,
                              const ka_analysis *a, uint64_t seed,
                              apr_pool_t *pool)
{
    const ka_stats *total = a->live->total;
    drawn_from *from = apr_pcalloc(pool, sizeof(*from));
    int64_t timeout = a->report.timeout_us;
    double opened = (double)a->profile.low.connections;
    double requests = (double)a->profile.total.requests;
    ka_sim_draws draws = {.rate_step_s = 1,
                          .lengths = &from->lengths,
                          .gap = &from->gap,
                          .service = &a->profile.total.service,
                          .tail = &from->tail,
                          .timeout_us = timeout,
                          .growth = 1,
                          .classes = classes_of(view, &a->profile, pool)};
    ka_hist_traffic traffic;
    ka_hist_part part = {.limit_us = timeout};

    ka_live_traffic(&traffic, a->live, pool);
    from->lengths = total->quantity[KA_QUANTITY_REQUESTS];
    from->lengths.bins[0] = (ka_hist_bin){0};
    ka_stats_classes(&part.gap, total, KA_QUANTITY_GAP);
    ka_stats_classes(&part.tail, total, KA_QUANTITY_TAIL);
    ka_hist_part_cut(&part,
                     total->counter[KA_COUNTER_CLOSE + KA_REASON_IDLE_TIMEOUT],
                     KA_TIMER_SLACK_US);
    from->gap = part.gap;
    from->tail = part.tail;
    if (timeout >= 0) {
        draws.again = add_beyond(from, &traffic.survival, part.cut, opened,
                                 timeout);
    }
    if (requests > opened) {
        draws.joined = (double)total->counter[KA_COUNTER_PIPELINED] /
                       (requests - opened);
    }
    from->rates = apr_palloc(pool, HOUR_S * sizeof(*from->rates));
    rates_of_live(&draws, from->rates, a->live, opened, requests);
    return from_draws(view, error, &draws, "the segment's distributions", seed,
                      pool);
}

/* ---- all of it ---------------------------------------------------------- */

apr_status_t ka_simulate_traffic(ka_sim_view *view, const char **error,
                                 const ka_analysis *a, uint64_t seed,
                                 apr_pool_t *pool)
{
    const ka_connections *c = &a->connections;

    *error = "not enough memory to simulate this traffic; take a shorter span "
             "with --since and --until";
    if (a->member_n > 0) {
        *error = "simulate is about one server: give the profile of one";
        return APR_EINVAL;
    }
    if (a->live) {
        return from_live(view, error, a, seed, pool);
    }
    if (a->tally) {
        return from_tally(view, error, a, seed, pool);
    }
    if (c->low.request_n > 0) {
        return from_trace(view, c->bracket ? &c->high : &c->low, c->bracket,
                          pool);
    }
    *error = a->served.n == 0 && !strcmp(a->source.kind, "log")
                 ? "there is no request to simulate in this log"
                 : "simulate takes access logs, a segment of mod_kastats, or "
                   "the profile of one server";
    return APR_EINVAL;
}
