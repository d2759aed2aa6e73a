/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * A timeout for each kind of content (R16). */
#include "policies.h"

#include <math.h>
#include <apr_strings.h>

#include "../words.h"
#include "parts.h"

#define FREES_SHARE 0.10
#define FREES_LEAST 1.0
#define OPENS_SHARE 0.10

/* A policy does nothing on HTTP/2, which histograms do not tell apart. */
#define HTTP2_SHARE 0.20

/* R3: below it the header says timeout=0. */
#define SHORTEST_US INT64_C(1000000)

/* Timeouts of the classes, by index in the report's. */
typedef struct pair {
    size_t at[KA_CLASS_N];
} pair;

typedef struct choosing {
    const ka_decision *d;
    const ka_mpm_answer *answer;
    const ka_report *report;
    size_t one; /* what all would get */
    bool estimated;
} choosing;

static const ka_traffic *class_of(const choosing *c, int cls)
{
    return &c->report->profile->classes[cls];
}

/* ---- what a pair does ---------------------------------------------------- */

static ka_policy policy_of(const choosing *c, const pair *at)
{
    ka_policy policy = {.other_us = c->report->low[c->one].timeout_us};
    int i;

    for (i = 0; i < KA_CLASS_N; i++) {
        policy.after_us[i] = c->report->low[at->at[i]].timeout_us;
    }
    return policy;
}

static double between(double a, double b, double share)
{
    return a + (b - a) * share;
}

/* Holders of the timeouts that hold a little less and a little more. */
static ka_held held_with_mean(const ka_report *r, double mean)
{
    size_t i = 1;
    const ka_outcome *a, *b;
    double share;

    while (i + 1 < r->timeout_n && r->low[i].held_mean < mean) {
        i++;
    }
    a = &r->low[i - 1];
    b = &r->low[i];
    share = b->held_mean > a->held_mean
                ? fmax(0, (mean - a->held_mean) / (b->held_mean - a->held_mean))
                : 0;
    return (ka_held){
        .mean = mean,
        .variance = between(a->held.variance, b->held.variance, share),
        .p99 = ceil(between(a->held.p99, b->held.p99, share)),
        .p999 = ceil(between(a->held.p999, b->held.p999, share)),
        .peak = ceil(between(a->held.peak, b->held.peak, share)),
        .workers = ceil(between(a->held.workers, b->held.workers, share))};
}

static void estimate(ka_outcome *out, const choosing *c, const pair *at)
{
    const ka_report *r = c->report;
    double opened, n = (double)r->low[c->one].requests;
    int i;

    *out = r->low[c->one];
    opened = (double)out->connections;
    for (i = 0; i < KA_CLASS_N; i++) {
        ka_part one = ka_part_at(r, class_of(c, i), c->one);
        ka_part own = ka_part_at(r, class_of(c, i), at->at[i]);

        opened += one.follows - own.follows;
        out->idle_mean += own.idle_mean - one.idle_mean;
        out->held_mean += own.idle_mean - one.idle_mean;
    }
    out->idle_mean = fmax(0, out->idle_mean);
    out->held_mean = fmax(out->busy_mean, out->held_mean);
    out->connections = (uint64_t)fmax(0, fmin(opened, n) + 0.5);
    out->reuse = n > 0 ? 1 - (double)out->connections / n : 0;
    if (out->window_s > 0) {
        out->connections_per_s = (double)out->connections / out->window_s;
        out->idle_us = (int64_t)(out->idle_mean * out->window_s * 1e6);
    }
    out->timeout_closes = 0;
    out->held = held_with_mean(r, out->held_mean);
}

static ka_policy_side predict(choosing *c, const pair *at)
{
    const ka_replay_source *replay = &c->report->replay;
    ka_policy policy = policy_of(c, at);
    ka_policy_side side;

    if (!replay->policy ||
        !replay->policy(&side.outcome, replay->context, &policy)) {
        c->estimated = true;
        estimate(&side.outcome, c, at);
    }
    side.fit = ka_capacity_fit(&side.outcome, &c->answer->supply);
    return side;
}

/* ---- which pair ---------------------------------------------------------- */

static size_t wanted_by(const choosing *c, int cls)
{
    const ka_report *r = c->report;
    size_t last = ka_part_last(r, r->timeout_us);
    size_t at = ka_part_knee(r, class_of(c, cls), last, c->d->options->delta);

    while (at > 0 && at < last && r->low[at].timeout_us < SHORTEST_US) {
        at++;
    }
    /* It would want longer than was seen, as all do. */
    if (at == last && c->one > last) {
        at = c->one;
    }
    /* What fits is not known: not above what is there. */
    if (!c->answer->choice.fit_known && at > r->now) {
        at = r->now;
    }
    return at;
}

/* What is lost for each worker freed by a class's next shorter timeout. */
static double cost_of_shortening(const choosing *c, const pair *at, int cls)
{
    size_t i = at->at[cls];
    ka_part now, then;

    if (i == 0) {
        return INFINITY;
    }
    now = ka_part_at(c->report, class_of(c, cls), i);
    then = ka_part_at(c->report, class_of(c, cls), i - 1);
    return now.idle_mean > then.idle_mean
               ? (now.follows - then.follows) / (now.idle_mean - then.idle_mean)
               : 0;
}

static bool shorten(pair *at, const choosing *c)
{
    double cost[KA_CLASS_N];
    int i, best = 0;

    for (i = 0; i < KA_CLASS_N; i++) {
        cost[i] = cost_of_shortening(c, at, i);
        best = cost[i] < cost[best] ? i : best;
    }
    if (!isfinite(cost[best])) {
        return false;
    }
    at->at[best]--;
    if (c->report->low[at->at[best]].timeout_us < SHORTEST_US) {
        at->at[best] = 0;
    }
    return true;
}

/* Steps of shortening until it fits: less does not, as each holds fewer. */
static pair shortened(const choosing *c, pair at, size_t steps)
{
    while (steps-- > 0 && shorten(&at, c)) {
        continue;
    }
    return at;
}

static pair fitting(choosing *c, const pair *wanted, ka_policy_side *side)
{
    size_t low = 0, high = KA_CLASS_N * c->report->timeout_n;
    pair at = *wanted;

    *side = predict(c, &at);
    if (side->fit.fits != 0) {
        return at;
    }
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;

        at = shortened(c, *wanted, middle);
        if (predict(c, &at).fit.fits != 0) {
            high = middle;
        }
        else {
            low = middle;
        }
    }
    at = shortened(c, *wanted, high);
    *side = predict(c, &at);
    return at;
}

/* ---- whether it pays ----------------------------------------------------- */

static bool pays(const ka_policy_side *one, const ka_policy_side *policy)
{
    double held = one->outcome.held_mean;
    double frees = held - policy->outcome.held_mean;
    double opened = (double)one->outcome.connections;
    double opens = (double)policy->outcome.connections - opened;

    if (policy->fit.fits == 0) {
        return false;
    }
    return (frees >= FREES_LEAST && frees >= FREES_SHARE * held &&
            opens <= OPENS_SHARE * opened) ||
           (opens <= -OPENS_SHARE * opened && -frees <= FREES_SHARE * held);
}

static bool can_tell(const choosing *c)
{
    int i;

    for (i = 0; i < KA_CLASS_N; i++) {
        if (class_of(c, i)->requests < KA_PART_REQUESTS) {
            return false;
        }
    }
    return c->one > 0 && ka_part_classes_told(c->report) &&
           ka_part_last(c->report, c->report->timeout_us) > 0 &&
           (c->answer->choice.reason == KA_CHOICE_KNEE ||
            c->answer->choice.reason == KA_CHOICE_FIT ||
            c->answer->choice.reason == KA_CHOICE_PAGE_BURST ||
            c->answer->choice.reason == KA_CHOICE_KEEP);
}

/* Single requests know which of them are streams. */
static bool is_blind(const choosing *c)
{
    const ka_profile *p = c->report->profile;

    return c->estimated &&
           (double)p->http2 > HTTP2_SHARE * (double)p->total.requests;
}

static const char *kind_text(const choosing *c, const pair *at, int cls)
{
    int64_t us = c->report->low[at->at[cls]].timeout_us;
    apr_pool_t *p = c->d->pool;

    return us == KA_TIMEOUT_OFF
               ? apr_pstrcat(p, "close after ", class_of(c, cls)->name,
                             " requests", NULL)
               : apr_pstrcat(p, "wait ", ka_words_timeout(p, us), " after ",
                             class_of(c, cls)->name, " ones", NULL);
}

static const char *because(const choosing *c, const pair *at,
                           const ka_policy_by_class *by)
{
    const ka_outcome *one = &by->one.outcome, *policy = &by->policy.outcome;
    apr_pool_t *p = c->d->pool;

    return apr_psprintf(
        p,
        "Connections that %s and %s hold %s workers in the mean and %s at "
        "p99.9, where under one KeepAliveTimeout of %s they hold %s and %s; %s "
        "a second are opened instead of %s (R16).%s",
        kind_text(c, at, KA_CLASS_DYNAMIC), kind_text(c, at, KA_CLASS_STATIC),
        ka_words_number(p, policy->held_mean),
        ka_words_whole(p, policy->held.p999),
        ka_words_timeout(p, one->timeout_us),
        ka_words_number(p, one->held_mean), ka_words_whole(p, one->held.p999),
        ka_words_number(p, policy->connections_per_s),
        ka_words_number(p, one->connections_per_s),
        by->estimated ? " Without single requests, p99.9 and peak are those of "
                        "timeouts that hold as much in the mean."
                      : "");
}

void ka_policy_choose_classes(ka_policy_by_class *out, const ka_decision *d,
                              const ka_mpm_answer *answer)
{
    choosing c = {.d = d,
                  .answer = answer,
                  .report = d->report,
                  .one = answer->choice.index};
    ka_policy_by_class by = {.proposed = true};
    pair wanted, at;
    int i;

    if (!can_tell(&c)) {
        return;
    }
    for (i = 0; i < KA_CLASS_N; i++) {
        wanted.at[i] = wanted_by(&c, i);
    }
    at = fitting(&c, &wanted, &by.policy);
    by.estimated = c.estimated;
    by.one = (ka_policy_side){.outcome = c.estimated ? c.report->low[c.one]
                                                     : c.report->high[c.one],
                              .fit = answer->fits[c.one]};
    if (at.at[KA_CLASS_STATIC] == at.at[KA_CLASS_DYNAMIC] || is_blind(&c) ||
        !pays(&by.one, &by.policy)) {
        return;
    }
    for (i = 0; i < KA_CLASS_N; i++) {
        by.after_us[i] = c.report->low[at.at[i]].timeout_us;
    }
    by.because = because(&c, &at, &by);
    *out = by;
}
