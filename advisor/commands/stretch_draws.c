/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What the clients of a source want, drawn from what was counted of them. */
#include "stretch.h"

#include <math.h>
#include <apr_strings.h>

#include "../words.h"

#define HOUR_S 3600
#define MS 1000.0

/* Longer than any client keeps an idle connection (MODEL 6): for those of
 * which is only told that they outlasted the timeout. */
#define KEPT_US (UINT64_C(300) * 1000000)

/* Distributions that are made for the draws; too large for the stack. */
typedef struct drawn_from {
    ka_hist lengths, gap, tail;
} drawn_from;

/* ---- draws -------------------------------------------------------------- */

/* Of series[n], connections opened in each second, those around `peak` are
 * drawn: as many as `most` connections take, an hour at most, a quarter of
 * them after it where there are as many before. */
static void choose_seconds(ka_sim_draws *draws, const double *series, size_t n,
                           size_t peak, double most)
{
    size_t from = peak, to = peak + 1;
    double sum = series[peak];

    while (to < n && to - from < HOUR_S && sum + series[to] <= most / 4) {
        sum += series[to++];
    }
    while (from > 0 && to - from < HOUR_S && sum + series[from - 1] <= most) {
        sum += series[--from];
    }
    while (to < n && to - from < HOUR_S && sum + series[to] <= most) {
        sum += series[to++];
    }
    draws->rates = series + from;
    draws->rate_n = to - from;
}

/* An hour of the same rate, or as much of it as so many connections take. */
static void choose_rate(ka_sim_draws *draws, double rate, double most,
                        apr_pool_t *pool)
{
    double *rates = apr_palloc(pool, HOUR_S * sizeof(*rates));
    size_t i;

    for (i = 0; i < HOUR_S; i++) {
        rates[i] = rate;
    }
    choose_seconds(draws, rates, HOUR_S, HOUR_S - 1, most);
}

/* How many connections make the requests that are wanted. */
static double most_connections(const ka_stretch_want *want,
                               double requests_per_connection)
{
    return (double)want->most /
           (fmax(requests_per_connection, 1) * want->growth);
}

static apr_status_t from_draws(ka_stretch *out, const char **error,
                               const ka_sim_draws *draws, const char *what,
                               uint64_t seed, apr_pool_t *pool)
{
    ka_sim_traffic *traffic = apr_palloc(pool, sizeof(*traffic));
    apr_status_t rv = ka_sim_traffic_draw(traffic, draws, seed, pool);

    if (rv == APR_EINVAL) {
        *error = "the source's rates are too high, or there are none: no "
                 "traffic can be drawn from it";
    }
    out->traffic = traffic;
    out->requests = ka_stretch_requests(traffic);
    out->drawn = true;
    out->how = apr_psprintf(
        pool, "drawn from %s: %s of its busiest hour", what,
        ka_words_duration(pool, (double)draws->rate_n * draws->rate_step_s *
                                    1e6));
    return rv;
}

/* What was seen of each kind of content; NULL: it is not wanted, or not
 * known. */
static const ka_sim_draws_class *classes_of(const ka_stretch_want *want,
                                            const ka_profile *p,
                                            apr_pool_t *pool)
{
    ka_sim_draws_class *classes = apr_pcalloc(pool,
                                              KA_CLASS_N * sizeof(*classes));
    double followed = 0, last = 0;
    size_t i;

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
    return want->by_class && followed > 0 ? classes : NULL;
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

/* A second's number of connections is one draw already, and drawing around it
 * would double its variance: a rate is the mean of so many seconds. */
#define SMOOTH_S 10

/* smooth[n]: means of series[n] around each second. */
static double *smoothed(const double *series, size_t n, apr_pool_t *pool)
{
    double *smooth = apr_palloc(pool, (n + 1) * sizeof(*smooth));
    double sum = 0;
    size_t from = 0, to = 0, i;

    for (i = 0; i < n; i++) {
        for (; to < n && to <= i + SMOOTH_S / 2; to++) {
            sum += series[to];
        }
        for (; from + SMOOTH_S / 2 < i; from++) {
            sum -= series[from];
        }
        smooth[i] = sum > 0 ? sum / (double)(to - from) : 0;
    }
    return smooth;
}

/* Its own seconds, where they were kept. */
static bool choose_kept(ka_sim_draws *draws, const ka_tally *t, double most,
                        apr_pool_t *pool)
{
    ka_demand demand;
    double *series;
    size_t peak = 0, i;

    if (!ka_tally_demand(&demand, t, draws->timeout_us, KA_DEMAND_HELD)) {
        return false;
    }
    series = apr_palloc(pool, demand.n * sizeof(*series));
    for (i = 0; i < demand.n; i++) {
        series[i] = demand.arrivals[i];
        peak = demand.holders[i] > demand.holders[peak] ? i : peak;
    }
    choose_seconds(draws, smoothed(series, demand.n, pool), demand.n, peak,
                   most);
    return true;
}

apr_status_t ka_stretch_draw_tally(ka_stretch *out, const char **error,
                                   const ka_analysis *a,
                                   const ka_stretch_want *want,
                                   apr_pool_t *pool)
{
    const ka_tally *t = a->tally;
    const ka_tally_side *side = &t->side[t->bracket];
    size_t at = timeout_index(t);
    double opened = (double)side->timeouts[at].connections;
    double requests = (double)t->requests;
    double most =
        most_connections(want, opened > 0 ? requests / opened : 1);
    ka_sim_draws draws = {.rate_step_s = 1,
                          .lengths = &side->lengths,
                          .gap = &side->gap,
                          .service = &a->profile.total.service,
                          .tail = &side->tail,
                          .together = &side->parallel,
                          .timeout_us = t->timeouts[at],
                          .growth = want->growth,
                          .classes = classes_of(want, &a->profile, pool)};

    if (opened > 0) {
        draws.again = fmin(1 - (double)side->chains / opened, 0.999);
    }
    if (requests > opened) {
        draws.joined = fmax(requests - (double)side->chains -
                                (double)ka_hist_count(&side->gap),
                            0) /
                       (requests - opened);
    }
    if (!choose_kept(&draws, t, most, pool)) {
        choose_rate(&draws,
                    busiest_rate(&side->timeouts[at], a->profile.window_s),
                    most, pool);
    }
    return from_draws(out, error, &draws,
                      "the distributions that were counted", want->seed, pool);
}

/* ---- segments and Prometheus -------------------------------------------- */

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

/* The history's own seconds. */
static bool choose_history(ka_sim_draws *draws, const ka_live *live,
                           double most, apr_pool_t *pool)
{
    size_t from, n, peak = 0, i;
    double *series, sum = 0;

    if (!live || live->narrowed || live->history_n == 0) {
        return false;
    }
    from = busiest_second(live);
    n = live->history_n - from < HOUR_S ? live->history_n - from : HOUR_S;
    series = apr_palloc(pool, n * sizeof(*series));
    for (i = 0; i < n; i++) {
        series[i] = live->history[from + i].connections;
        sum += series[i];
        if (live->history[from + i].open > live->history[from + peak].open) {
            peak = i;
        }
    }
    if (sum > 0) {
        choose_seconds(draws, smoothed(series, n, pool), n, peak, most);
    }
    return sum > 0;
}

/* Connections opened per second, when there are most requests. */
static double peak_rate(const ka_profile *profile)
{
    const ka_traffic *total = &profile->total;
    double opened = (double)profile->low.connections;

    if (!(profile->window_s > 0) || !(total->requests_per_s > 0)) {
        return 0;
    }
    return opened / profile->window_s *
           (isfinite(total->peak_per_s)
                ? fmax(total->peak_per_s / total->requests_per_s, 1)
                : 1);
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

/* @return idle times that the timeout cut */
static uint64_t add_parts(drawn_from *from, uint64_t *joined,
                          const ka_analysis *a)
{
    uint64_t cut = 0, off = a->profile.closes[KA_REASON_KEEPALIVE_OFF];
    size_t i;

    *joined = 0;
    for (i = 0; i < a->hist->part_n; i++) {
        const ka_hist_part *part = &a->hist->parts[i];

        ka_hist_merge(&from->gap, &part->gap);
        ka_hist_merge(&from->tail, &part->tail);
        cut += part->cut;
        *joined += part->joined;
    }
    return cut > off ? cut - off : 0;
}

void ka_stretch_costs(ka_stretch *out, const ka_hist_traffic *hist)
{
    double closes = (double)hist->server_closes;

    out->accept_us = (int64_t)fmin(hist->accept_us, 1e15);
    if (closes > 0) {
        out->linger_us =
            (int64_t)fmin((hist->linger_us + hist->lazy_us) / closes, 1e15);
    }
}

apr_status_t ka_stretch_draw_hist(ka_stretch *out, const char **error,
                                  const ka_analysis *a,
                                  const ka_stretch_want *want,
                                  apr_pool_t *pool)
{
    drawn_from *from = apr_pcalloc(pool, sizeof(*from));
    int64_t timeout = a->report.timeout_us;
    double opened = (double)a->profile.low.connections;
    double requests = (double)a->profile.total.requests;
    double most = most_connections(want, opened > 0 ? requests / opened : 1);
    ka_sim_draws draws = {.rate_step_s = 1,
                          .lengths = &from->lengths,
                          .gap = &from->gap,
                          .service = &a->profile.total.service,
                          .tail = &from->tail,
                          .timeout_us = timeout,
                          .growth = want->growth,
                          .classes = classes_of(want, &a->profile, pool)};
    uint64_t cut, joined;

    from->lengths = *a->lengths;
    from->lengths.bins[0] = (ka_hist_bin){0};
    cut = add_parts(from, &joined, a);
    if (timeout >= 0) {
        draws.again =
            add_beyond(from, &a->hist->survival, cut, opened, timeout);
    }
    if (requests > opened) {
        draws.joined = fmin((double)joined / (requests - opened), 1);
    }
    if (!choose_history(&draws, a->live, most, pool)) {
        choose_rate(&draws, peak_rate(&a->profile), most, pool);
    }
    return from_draws(out, error, &draws,
                      a->live ? "the segment's distributions"
                              : "the distributions that Prometheus has",
                      want->seed, pool);
}
