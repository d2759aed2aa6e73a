/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * [M4] to [M10] at the timeouts that were evaluated as the tally was counted,
 * and in between from its histograms.  N, N_to and H are monotone in T, so
 * that what was counted below and above bounds them; who held at once is only
 * known there.
 */
#include "tally.h"

#include <math.h>

#include "../model/levels.h"

#define SECOND_US 1e6

/* The longest that httpd waits for a client that does not answer a close. */
#define LINGER_BOUND_S 2.0

/* Largest double that is a whole number and fits. */
#define COUNT_MAX 9e15

/* What a timeout does to one side. */
typedef struct effect {
    uint64_t connections, waits, idle_us;
} effect;

typedef struct evaluation {
    const ka_tally *tally;
    const ka_tally_side *side;
    int64_t measured_up_to_us;
    double window_us;
    ka_held busy;
} evaluation;

static uint64_t whole(double value)
{
    return value > 0 ? (uint64_t)llround(fmin(value, COUNT_MAX)) : 0;
}

/* ---- rates -------------------------------------------------------------- */

static void set_rates(ka_outcome *out, const evaluation *e, uint64_t waits)
{
    double opened = (double)out->connections;

    if (out->requests > 0) {
        out->reuse = 1 - opened / (double)out->requests;
    }
    if (!(e->window_us > 0)) {
        return;
    }
    out->window_s = e->window_us / SECOND_US;
    out->connections_per_s = opened / out->window_s;
    out->handshakes_saved_per_s =
        ((double)out->requests - opened) / out->window_s;
    out->idle_mean = (double)out->idle_us / e->window_us;
    out->busy_mean = (double)out->busy_us / e->window_us;
    out->held_mean = out->busy_mean + out->idle_mean;
    out->linger_bound_mean = (double)waits * LINGER_BOUND_S / out->window_s;
    out->held_per_second = (double)out->timeout_closes / out->window_s;
}

static void set_outcome(ka_outcome *out, const evaluation *e,
                        int64_t timeout_us, const effect *effect)
{
    uint64_t busy_us = e->side->busy_us;

    *out = (ka_outcome){
        .timeout_us = timeout_us,
        .measured = timeout_us <= e->measured_up_to_us,
        .requests = e->tally->requests,
        .connections = effect->connections,
        .timeout_closes = timeout_us < 0 ? 0 : effect->waits,
        .idle_us = (int64_t)(effect->idle_us < INT64_MAX ? effect->idle_us
                                                         : INT64_MAX),
        .busy_us = (int64_t)(busy_us < INT64_MAX ? busy_us : INT64_MAX),
        .busy = e->busy};
    set_rates(out, e, effect->waits);
}

/* ---- at the tally's own timeouts ---------------------------------------- */

static effect effect_at(const ka_tally_timeout *t)
{
    return (effect){t->connections, t->waits, t->idle_us};
}

static void evaluate_own(ka_outcome *out, const evaluation *e, size_t i)
{
    const ka_tally_timeout *t = &e->side->timeouts[i];
    effect effect = effect_at(t);

    set_outcome(out, e, e->tally->timeouts[i], &effect);
    ka_occupancy_held(&out->held, &t->held, 0);
}

/* ---- at others ---------------------------------------------------------- */

static effect effect_of_hists(const ka_tally_side *side, int64_t timeout_us)
{
    double gaps, tails, idle_us = 0;

    if (timeout_us < 0) {
        gaps = (double)ka_hist_count(&side->gap);
        tails = (double)ka_hist_count(&side->tail);
    }
    else {
        gaps = ka_hist_count_above(&side->gap, (uint64_t)timeout_us);
        tails = ka_hist_count_above(&side->tail, (uint64_t)timeout_us);
        idle_us = ka_hist_sum_capped(&side->gap, (uint64_t)timeout_us) +
                  ka_hist_sum_capped(&side->tail, (uint64_t)timeout_us);
    }
    return (effect){.connections = whole((double)side->chains + gaps),
                    .waits = whole(gaps + tails),
                    .idle_us = whole(idle_us)};
}

static uint64_t within(uint64_t value, uint64_t min, uint64_t max)
{
    return value < min ? min : value > max ? max : value;
}

static double scale(double value, double mean, double ratio)
{
    double scaled = mean * ratio + (value - mean) * sqrt(ratio);

    return ceil(fmax(0, ratio > 1 ? value * ratio : scaled));
}

/* Another timeout's holders with another mean.  Fewer: the load shrinks with
 * it, bursts by its root (levels.h).  More: all in proportion, which is at
 * least as many. */
static void scale_held(ka_held *out, const ka_held *held, double ratio)
{
    *out = (ka_held){.mean = held->mean * ratio,
                     .variance = held->variance * ratio * fmax(1, ratio),
                     .p99 = scale(held->p99, held->mean, ratio),
                     .p999 = scale(held->p999, held->mean, ratio),
                     .peak = scale(held->peak, held->mean, ratio),
                     .workers = scale(held->workers, held->mean, ratio)};
}

static double between(double a, double b, double share)
{
    return a + (b - a) * share;
}

static void join_held(ka_held *out, const ka_held *a, const ka_held *b,
                      double share)
{
    *out = (ka_held){.mean = between(a->mean, b->mean, share),
                     .variance = between(a->variance, b->variance, share),
                     .p99 = ceil(between(a->p99, b->p99, share)),
                     .p999 = ceil(between(a->p999, b->p999, share)),
                     .peak = ceil(between(a->peak, b->peak, share)),
                     .workers = ceil(between(a->workers, b->workers, share))};
}

static void evaluate_between(ka_outcome *out, const evaluation *e,
                             int64_t timeout_us, size_t above)
{
    effect low = effect_at(&e->side->timeouts[above - 1]);
    effect high = effect_at(&e->side->timeouts[above]);
    effect effect = effect_of_hists(e->side, timeout_us);
    ka_held a, b;

    effect.connections =
        within(effect.connections, high.connections, low.connections);
    effect.waits = within(effect.waits, high.waits, low.waits);
    effect.idle_us = within(effect.idle_us, low.idle_us, high.idle_us);
    set_outcome(out, e, timeout_us, &effect);
    ka_occupancy_held(&a, &e->side->timeouts[above - 1].held, 0);
    ka_occupancy_held(&b, &e->side->timeouts[above].held, 0);
    join_held(&out->held, &a, &b,
              high.idle_us > low.idle_us
                  ? (double)(effect.idle_us - low.idle_us) /
                        (double)(high.idle_us - low.idle_us)
                  : 1);
}

/* Below the first or above the last one, which is `nearest`. */
static void evaluate_beyond(ka_outcome *out, const evaluation *e,
                            int64_t timeout_us, size_t nearest)
{
    effect known = effect_at(&e->side->timeouts[nearest]);
    effect effect = effect_of_hists(e->side, timeout_us);
    bool longer = timeout_us > e->tally->timeouts[nearest];
    double busy_us = (double)e->side->busy_us, now;
    ka_held held;

    effect.connections =
        longer ? within(effect.connections, 0, known.connections)
               : within(effect.connections, known.connections, UINT64_MAX);
    effect.waits = longer ? within(effect.waits, 0, known.waits)
                          : within(effect.waits, known.waits, UINT64_MAX);
    effect.idle_us = longer ? within(effect.idle_us, known.idle_us, UINT64_MAX)
                            : within(effect.idle_us, 0, known.idle_us);
    set_outcome(out, e, timeout_us, &effect);
    ka_occupancy_held(&held, &e->side->timeouts[nearest].held, 0);
    now = busy_us + (double)known.idle_us;
    scale_held(&out->held, &held,
               now > 0 ? (busy_us + (double)effect.idle_us) / now : 1);
}

/* No timeout was evaluated in all parts: z is that of browsing (levels.h). */
static apr_status_t evaluate_alone(ka_outcome *out, const evaluation *e,
                                   int64_t timeout_us)
{
    static const ka_levels none;
    effect effect = effect_of_hists(e->side, timeout_us);

    set_outcome(out, e, timeout_us, &effect);
    return ka_levels_held(&out->held, &none, NULL, out->held_mean,
                          out->held_mean);
}

/* ---- all timeouts ------------------------------------------------------- */

static apr_status_t evaluate(ka_outcome *out, const evaluation *e,
                             int64_t timeout_us)
{
    const ka_tally *tally = e->tally;
    size_t i = 0;

    while (i < tally->timeout_n && tally->timeouts[i] < timeout_us) {
        i++;
    }
    if (tally->timeout_n == 0) {
        return evaluate_alone(out, e, timeout_us);
    }
    if (i < tally->timeout_n && tally->timeouts[i] == timeout_us) {
        evaluate_own(out, e, i);
    }
    else if (i == 0 || i == tally->timeout_n) {
        evaluate_beyond(out, e, timeout_us, i ? i - 1 : 0);
    }
    else {
        evaluate_between(out, e, timeout_us, i);
    }
    return APR_SUCCESS;
}

apr_status_t ka_tally_outcomes(ka_outcome *out, const int64_t *timeouts,
                               size_t n, const ka_tally *tally, bool high,
                               int64_t measured_up_to_us)
{
    evaluation e = {.tally = tally,
                    .side = &tally->side[high && tally->bracket],
                    .measured_up_to_us = measured_up_to_us,
                    .window_us = (double)tally->window_us};
    apr_status_t rv = APR_SUCCESS;
    size_t i;

    ka_occupancy_held(&e.busy, &e.side->busy, 0);
    for (i = 0; i < n && rv == APR_SUCCESS; i++) {
        if (timeouts[i] < (i ? timeouts[i - 1] : KA_TIMEOUT_OFF)) {
            return APR_EINVAL;
        }
        rv = evaluate(&out[i], &e, timeouts[i]);
    }
    return rv;
}
