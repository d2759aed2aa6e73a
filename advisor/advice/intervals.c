/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What follows from the intervals of a report: how many workers it might be,
 * and whether the advice would have been another (MODEL 6). */
#include "decide.h"

#include <math.h>
#include <apr_strings.h>

#include "../words.h"

/* Half of an interval, as a share of its number, that makes the advice less
 * certain, and uncertain. */
#define WIDE 0.25
#define TOO_WIDE 0.5

/* Timeouts further apart than this are not the same advice. */
#define KNEE_APART 2.0

/* ---- workers ------------------------------------------------------------- */

/* What an outcome needs if [M12] asks for so many. */
static double workers_with(const ka_outcome *outcome, const ka_supply *supply,
                           double workers)
{
    ka_outcome other = *outcome;
    ka_held *held = supply->holds_idle ? &other.held : &other.busy;
    const double ratio = held->workers > 0 ? workers / held->workers : 1;

    held->workers = workers;
    held->p999 *= ratio;
    held->mean *= ratio;
    return ka_capacity_fit(&other, supply).workers;
}

void ka_answer_intervals(const ka_decision *d, ka_mpm_answer *answer)
{
    const ka_report *r = d->report;
    const ka_supply *supply = &answer->supply;
    size_t i;

    if (r->intervals == NULL) {
        return;
    }
    answer->workers =
        apr_palloc(d->pool, r->timeout_n * sizeof(*answer->workers));
    for (i = 0; i < r->timeout_n; i++) {
        const ka_interval *of = supply->holds_idle
                                    ? &r->intervals->timeouts[i].held_workers
                                    : &r->intervals->busy_workers;

        answer->workers[i] = (ka_interval){
            fmin(workers_with(&r->low[i], supply, of->low),
                 workers_with(&r->high[i], supply, of->low)),
            fmax(workers_with(&r->low[i], supply, of->high),
                 workers_with(&r->high[i], supply, of->high))};
    }
}

/* ---- shortcomings --------------------------------------------------------- */

static bool within(double width, double from, double to)
{
    return width > from && width <= to;
}

/* A bracket is wide for another reason, and says so itself. */
static size_t judged(const ka_report *r)
{
    return r->intervals && r->low == r->high ? r->answer_n : 0;
}

/* Of the mean held, at the timeout that is proposed. */
static const char *held_between(const ka_report *r, apr_pool_t *pool,
                                double from, double to)
{
    size_t i;

    for (i = 0; i < judged(r); i++) {
        const size_t at = r->answers[i].choice.index;
        const ka_interval held = r->intervals->timeouts[at].held_mean;

        if (within(ka_interval_width(held, r->high[at].held_mean), from, to)) {
            return apr_psprintf(
                pool,
                "with other visitors at other hours %s might be held in the "
                "mean (90%% interval)",
                ka_words_range(pool, ka_words_number, held.low, held.high));
        }
    }
    return NULL;
}

/* Only where more than is proposed might be needed. */
static const char *workers_between(const ka_report *r, apr_pool_t *pool,
                                   double from, double to)
{
    size_t i;

    for (i = 0; i < judged(r); i++) {
        const ka_mpm_answer *a = &r->answers[i];
        const ka_interval needed = a->workers[a->choice.index];

        if (a->block_known && ka_service_known(r->profile) &&
            needed.high >
                (double)a->block.value[KA_BLOCK_MAX_REQUEST_WORKERS] &&
            within(ka_interval_width(needed,
                                     a->fits[a->choice.index].workers),
                   from, to)) {
            return apr_psprintf(
                pool, "%s workers might be needed (90%% interval)",
                ka_words_range(pool, ka_words_whole, needed.low, needed.high));
        }
    }
    return NULL;
}

const char *ka_held_wide(const ka_report *report, apr_pool_t *pool)
{
    return held_between(report, pool, WIDE, TOO_WIDE);
}

const char *ka_held_too_wide(const ka_report *report, apr_pool_t *pool)
{
    return held_between(report, pool, TOO_WIDE, INFINITY);
}

const char *ka_workers_wide(const ka_report *report, apr_pool_t *pool)
{
    return workers_between(report, pool, WIDE, TOO_WIDE);
}

const char *ka_workers_too_wide(const ka_report *report, apr_pool_t *pool)
{
    return workers_between(report, pool, TOO_WIDE, INFINITY);
}

const char *ka_knee_wide(const ka_report *report, apr_pool_t *pool)
{
    size_t i;

    for (i = 0; i < judged(report); i++) {
        const ka_interval knee = report->intervals->knee_us;

        if (report->answers[i].choice.reason == KA_CHOICE_KNEE &&
            knee.high > KNEE_APART * knee.low) {
            return apr_psprintf(
                pool,
                "the KeepAliveTimeout might as well be anything from %s to "
                "%s (90%% interval)",
                ka_words_timeout(pool, (int64_t)knee.low),
                ka_words_timeout(pool, (int64_t)knee.high));
        }
    }
    return NULL;
}
