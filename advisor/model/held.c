/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The time spent at each count is kept in whole microseconds, first for the
 * period in hand, then for the window: sums stay exact, and moments are taken
 * from the table once per period instead of at every step.
 */
#include "held.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "erlang.h"

#define FIRST_SIZE 256

typedef struct moments {
    double time_us, mean, variance;
} moments;

typedef struct tally {
    const ka_held_window *window;
    int64_t period_us;
    int64_t period_end_us;
    int64_t *period; /* period[size]: us at each count, this period */
    int64_t *whole;  /* whole[size]: the same, periods that are over */
    size_t size;
    size_t low, high; /* counts of this period: low .. high */
    double workers;   /* [M12], periods that are over */
    moments busiest;  /* of the one that asks for them */
    bool settling;    /* this period is not sized */
    bool failed;      /* no memory */
} tally;

/* ---- a table of time per count ------------------------------------------ */

static moments moments_of(const int64_t *time_us, size_t low, size_t high)
{
    moments m = {0};
    size_t c;

    for (c = low; c <= high; c++) {
        m.time_us += (double)time_us[c];
        m.mean += (double)c * (double)time_us[c];
    }
    if (m.time_us <= 0) {
        return (moments){0};
    }
    m.mean /= m.time_us;
    for (c = low; c <= high; c++) {
        double d = (double)c - m.mean;

        m.variance += d * d * (double)time_us[c];
    }
    m.variance /= m.time_us;
    return m;
}

/* The smallest count that is not exceeded but for 1/parts of the time; in
 * whole numbers, so that no rounding decides. */
static double quantile_but(const int64_t *time_us, size_t high,
                           int64_t window_us, int64_t parts)
{
    int64_t above = window_us;
    size_t c;

    for (c = 0; c < high; c++) {
        above -= time_us[c];
        if (above <= window_us / parts) {
            break;
        }
    }
    return (double)c;
}

/* ---- periods ------------------------------------------------------------ */

static int64_t period_of(const ka_held_window *window)
{
    int64_t window_us = window->end_us - window->begin_us;
    int64_t shortest_us = window_us / KA_PERIODS_MAX + 1;
    int64_t us = window->period_us;

    us = us > shortest_us ? us : shortest_us;
    return us < window_us ? us : window_us;
}

static int64_t period_end_after(const tally *t, int64_t from_us)
{
    int64_t end_us = from_us + t->period_us;
    int64_t rest_us = t->window->end_us - end_us;

    return rest_us < t->period_us - t->period_us / 2 ? t->window->end_us
                                                     : end_us;
}

static void size_for_period(tally *t)
{
    moments m = moments_of(t->period, t->low, t->high);
    double z = m.mean > 0 ? fmax(1, m.variance / m.mean) : 1;

    /* One look at what there is already spares most periods the search. */
    if (t->workers >= m.mean &&
        ka_erlang_b(t->workers / z, m.mean / z) <= t->window->eps) {
        return;
    }
    t->workers = ka_workers_needed(m.mean, z, t->window->eps);
    t->busiest = m;
}

static void close_period(tally *t)
{
    size_t c;

    if (t->low > t->high) {
        return;
    }
    if (!t->settling) {
        size_for_period(t);
    }
    t->settling = false;
    for (c = t->low; c <= t->high; c++) {
        t->whole[c] += t->period[c];
        t->period[c] = 0;
    }
    t->low = SIZE_MAX;
    t->high = 0;
}

static void add_in_period(tally *t, size_t count, int64_t us)
{
    t->period[count] += us;
    t->low = count < t->low ? count : t->low;
    t->high = count > t->high ? count : t->high;
}

static void add_span(tally *t, size_t count, int64_t from_us, int64_t to_us)
{
    while (to_us > t->period_end_us) {
        add_in_period(t, count, t->period_end_us - from_us);
        close_period(t);
        from_us = t->period_end_us;
        t->period_end_us = period_end_after(t, from_us);
    }
    add_in_period(t, count, to_us - from_us);
}

static bool zero_tail(int64_t **table, size_t size, size_t wanted)
{
    int64_t *grown = realloc(*table, wanted * sizeof(*grown));

    if (grown == NULL) {
        return false;
    }
    memset(grown + size, 0, (wanted - size) * sizeof(*grown));
    *table = grown;
    return true;
}

static bool make_room(tally *t, size_t count)
{
    size_t wanted = t->size ? t->size : FIRST_SIZE;

    while (wanted <= count) {
        wanted *= 2;
    }
    if (!zero_tail(&t->period, t->size, wanted) ||
        !zero_tail(&t->whole, t->size, wanted)) {
        t->failed = true;
        return false;
    }
    t->size = wanted;
    return true;
}

/* The first period, or the time before it. */
static void start_periods(tally *t)
{
    const ka_held_window *w = t->window;
    int64_t settle_us = (w->end_us - w->begin_us) / 4;

    settle_us = w->settle_us < settle_us ? w->settle_us : settle_us;
    t->period_us = period_of(w);
    t->settling = settle_us > 0;
    t->period_end_us = t->settling ? w->begin_us + settle_us
                                   : period_end_after(t, w->begin_us);
}

/* ---- merging the steps -------------------------------------------------- */

typedef struct cursor {
    const int64_t *at, *end;
    int64_t shift, next; /* next: INT64_MAX at the end */
    int step;
} cursor;

static int64_t next_of(const cursor *c)
{
    return c->at < c->end ? *c->at + c->shift : INT64_MAX;
}

static int64_t first_next(const cursor *cursors, size_t n)
{
    int64_t first = cursors[0].next;
    size_t i;

    for (i = 1; i < n; i++) {
        first = cursors[i].next < first ? cursors[i].next : first;
    }
    return first;
}

static int64_t take_steps(cursor *cursors, size_t n, int64_t now)
{
    int64_t change = 0;
    size_t i;

    for (i = 0; i < n; i++) {
        cursor *c = &cursors[i];

        while (c->next == now) {
            change += c->step;
            c->at++;
            c->next = next_of(c);
        }
    }
    return change;
}

static void set_cursors(cursor *cursors, const ka_steps *steps, size_t n)
{
    size_t i;

    assert(n > 0 && n <= KA_STEPS_MAX);
    for (i = 0; i < n; i++) {
        cursors[i] = (cursor){.at = steps[i].at_us,
                              .end = steps[i].at_us + steps[i].n,
                              .shift = steps[i].shift_us,
                              .step = steps[i].step};
        cursors[i].next = next_of(&cursors[i]);
    }
}

/* Inlined, so that ka_held_of's visits are no calls. */
static inline __attribute__((always_inline)) void
walk(const ka_steps *steps, size_t n, int64_t now, int64_t end,
     ka_held_visit *visit, void *context)
{
    cursor cursors[KA_STEPS_MAX];
    int64_t count = 0;

    set_cursors(cursors, steps, n);
    while (now < end) {
        int64_t next = first_next(cursors, n);

        if (next > now) {
            next = next < end ? next : end;
            visit(context, count > 0 ? (uint64_t)count : 0, now, next);
            now = next;
        }
        if (now < end) {
            count += take_steps(cursors, n, next);
        }
    }
}

void ka_held_walk(const ka_steps *steps, size_t n, int64_t begin_us,
                  int64_t end_us, ka_held_visit *visit, void *context)
{
    walk(steps, n, begin_us, end_us, visit, context);
}

static void visit_tally(void *context, uint64_t count, int64_t from_us,
                        int64_t to_us)
{
    tally *t = context;

    if (!t->failed && (count < t->size || make_room(t, (size_t)count))) {
        add_span(t, (size_t)count, from_us, to_us);
    }
}

static void summarize(ka_held *out, tally *t)
{
    int64_t window_us = t->window->end_us - t->window->begin_us;
    size_t high = t->size - 1;
    moments m;

    close_period(t);
    while (high > 0 && t->whole[high] == 0) {
        high--;
    }
    m = moments_of(t->whole, 0, high);
    *out = (ka_held){.mean = m.mean,
                     .variance = m.variance,
                     .p99 = quantile_but(t->whole, high, window_us, 100),
                     .p999 = quantile_but(t->whole, high, window_us, 1000),
                     .peak = (double)high,
                     .workers = t->workers,
                     .busiest_mean = t->busiest.mean,
                     .busiest_variance = t->busiest.variance};
}

apr_status_t ka_held_of(ka_held *out, const ka_steps *steps, size_t n,
                        const ka_held_window *window)
{
    int64_t window_us = window->end_us - window->begin_us;
    tally t = {.window = window, .low = SIZE_MAX};

    assert(window->period_us > 0);
    memset(out, 0, sizeof(*out));
    if (window_us <= 0) {
        return APR_SUCCESS;
    }
    start_periods(&t);
    walk(steps, n, window->begin_us, window->end_us, visit_tally, &t);
    if (!t.failed) {
        summarize(out, &t);
    }
    free(t.period);
    free(t.whole);
    return t.failed ? APR_ENOMEM : APR_SUCCESS;
}
