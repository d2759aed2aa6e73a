/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What is counted while it runs, and what it comes to.  Distributions of
 * holders are made as the closed form makes them, from the instants at which
 * they go up and down.
 */
#include "sim_priv.h"

#include <stdlib.h>
#include <string.h>

#include "erlang.h"
#include "held.h"
#include "radix.h"

#define FIRST_SIZE 1024
#define HOUR (3600 * KA_SIM_SECOND)
#define LINGER_BOUND_S 2.0 /* as in sweep.c */

/* ---- lists of instants -------------------------------------------------- */

void ka_sim_time(ka_sim *s, ka_sim_times *times, int64_t at)
{
    if (times->n == times->size) {
        size_t size = times->size ? times->size * 2 : FIRST_SIZE;
        int64_t *grown = realloc(times->at, size * sizeof(*grown));

        if (grown == NULL) {
            s->failed = true;
            return;
        }
        times->at = grown;
        times->size = size;
    }
    times->at[times->n++] = at;
}

/* ---- the series --------------------------------------------------------- */

static int64_t window_of(const ka_sim *s)
{
    int64_t us = ka_sim_add(s->traffic->end_us, -s->traffic->begin_us);

    return us > 0 ? us : 0;
}

bool ka_sim_count_begin(ka_sim *s, apr_pool_t *pool)
{
    int64_t window = window_of(s), most = (int64_t)s->config->points;
    int64_t seconds = (window + KA_SIM_SECOND - 1) / KA_SIM_SECOND;
    int64_t step = (seconds + most - 1) / most * KA_SIM_SECOND;
    size_t i;

    step = step > 0 ? step : KA_SIM_SECOND;
    s->out->step_us = step;
    s->out->begin_us = s->traffic->begin_us;
    s->out->point_n = (size_t)((window + step - 1) / step);
    s->out->memory_most_bytes = -1;
    s->out->free_least = UINT32_MAX;
    s->counts.points =
        apr_pcalloc(pool, (s->out->point_n + 1) * sizeof(ka_sim_point));
    for (i = 0; i <= s->out->point_n; i++) {
        s->counts.points[i].free = UINT32_MAX;
        s->counts.points[i].memory_bytes = -1;
    }
    s->counts.seen = s->traffic->begin_us;
    s->out->points = s->counts.points;
    return s->counts.points != NULL;
}

/* Within the window, else the one beyond the last, which nobody reads. */
ka_sim_point *ka_sim_point_now(ka_sim *s)
{
    int64_t since = ka_sim_add(s->now, -s->traffic->begin_us);
    size_t n = s->out->point_n;

    if (since < 0 || s->now >= s->traffic->end_us) {
        return &s->counts.points[n];
    }
    return &s->counts.points[since / s->out->step_us];
}

static void raise_to(uint32_t *most, uint32_t level)
{
    *most = *most > level ? *most : level;
}

static void merge(ka_sim_point *into, const ka_sim_point *now)
{
    raise_to(&into->children, now->children);
    raise_to(&into->busy, now->busy);
    into->free = now->free < into->free ? now->free : into->free;
    raise_to(&into->connections, now->connections);
    raise_to(&into->waiting, now->waiting);
    if (now->memory_bytes > into->memory_bytes) {
        into->memory_bytes = now->memory_bytes;
    }
}

/* The levels last until `at`: so long they are those of the steps begun. */
void ka_sim_count_until(ka_sim *s, int64_t at)
{
    ka_sim_counts *c = &s->counts;
    int64_t to = at < s->traffic->end_us ? at : s->traffic->end_us;
    size_t last;

    if (to <= c->seen) {
        return;
    }
    c->children_us += (double)c->now.children * (double)(to - c->seen);
    c->memory_us += (double)c->now.memory_bytes * (double)(to - c->seen);
    last = (size_t)((to - 1 - s->traffic->begin_us) / s->out->step_us);
    while (c->step < last) {
        merge(&c->points[++c->step], &c->now);
    }
    c->seen = to;
}

/* [M14] */
static int64_t memory_of(const ka_sim *s)
{
    const ka_sim_config *c = s->config;
    const ka_sim_point *now = &s->counts.now;
    double bytes = (double)now->children * (double)c->process_bytes;

    if (c->process_bytes < 0) {
        return -1;
    }
    bytes += c->shared_bytes > 0 ? (double)c->shared_bytes : 0;
    if (s->event && c->idle_bytes > 0 && now->connections > now->busy) {
        bytes += (double)(now->connections - now->busy) *
                 (double)c->idle_bytes;
    }
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

void ka_sim_count_levels(ka_sim *s)
{
    ka_sim_counts *c = &s->counts;
    ka_sim_result *out = s->out;

    c->now.free = s->free < UINT32_MAX ? (uint32_t)s->free : UINT32_MAX;
    c->now.memory_bytes = memory_of(s);
    if (s->now < s->traffic->begin_us || s->now >= s->traffic->end_us) {
        return;
    }
    merge(ka_sim_point_now(s), &c->now);
    raise_to(&out->children_most, c->now.children);
    raise_to(&out->waiting_most, c->now.waiting);
    if (c->now.free < out->free_least) {
        out->free_least = c->now.free;
    }
    if (c->now.memory_bytes > out->memory_most_bytes) {
        out->memory_most_bytes = c->now.memory_bytes;
    }
}

/* ---- results ------------------------------------------------------------ */

/* Smallest wait that a share of the connections does not exceed. */
static int64_t wait_quantile(const ka_sim *s, double share)
{
    const ka_sim_times *waits = &s->counts.waits;
    uint64_t total = s->out->outcome.connections;
    uint64_t rank = total - (uint64_t)((double)total * (1 - share));
    uint64_t at_once = total - waits->n;

    return rank > at_once ? waits->at[rank - at_once - 1] : 0;
}

static apr_status_t sum_up_waits(ka_sim *s)
{
    const ka_sim_times *waits = &s->counts.waits;
    ka_sim_result *out = s->out;
    apr_status_t rv = ka_radix_sort(waits->at, NULL, waits->n);

    if (!rv) {
        out->wait_p50_us = wait_quantile(s, 0.5);
        out->wait_p99_us = wait_quantile(s, 0.99);
        out->wait_p999_us = wait_quantile(s, 0.999);
        out->wait_most_us = waits->n ? waits->at[waits->n - 1] : 0;
    }
    return rv;
}

static apr_status_t holders(ka_held *out, const ka_sim *s,
                            const ka_sim_times *up, const ka_sim_times *down,
                            int64_t settle_us)
{
    const ka_steps steps[] = {{up->at, up->n, 0, 1}, {down->at, down->n, 0, -1}};
    const ka_held_window window = {.begin_us = s->traffic->begin_us,
                                   .end_us = s->traffic->end_us,
                                   .period_us = HOUR,
                                   .settle_us = settle_us,
                                   .eps = KA_BLOCKING};

    return ka_held_of(out, steps, 2, &window);
}

/* [M6] [M7] [M9] [M10], from the sums. */
static void rates(ka_sim *s)
{
    ka_outcome *o = &s->out->outcome;
    double us = (double)window_of(s);
    double opened = (double)o->connections;
    double closes = (double)s->counts.server_closes;
    double linger_us = s->event ? 0 : (double)s->config->linger_us;

    if (o->requests > 0) {
        o->reuse = 1 - opened / (double)o->requests;
    }
    if (us <= 0) {
        return;
    }
    o->window_s = us / 1e6;
    o->connections_per_s = opened / o->window_s;
    o->handshakes_saved_per_s = ((double)o->requests - opened) / o->window_s;
    o->idle_mean = (double)o->idle_us / us;
    o->busy_mean =
        ((double)o->busy_us + opened * (double)s->config->accept_us) / us;
    o->held_mean = o->busy_mean + o->idle_mean + closes * linger_us / us;
    o->linger_bound_mean = closes * LINGER_BOUND_S / o->window_s;
    o->held_per_second = (double)o->timeout_closes / o->window_s;
    s->out->children_mean = s->counts.children_us / us;
    s->out->memory_mean_bytes =
        s->config->process_bytes < 0 ? -1 : s->counts.memory_us / us;
}

apr_status_t ka_sim_count_end(ka_sim *s)
{
    ka_sim_counts *c = &s->counts;
    ka_outcome *o = &s->out->outcome;
    int64_t longest = ka_policy_longest(&s->policy);
    int64_t settle = longest > 0 ? longest : 0;
    apr_status_t rv;

    ka_sim_count_until(s, s->traffic->end_us);
    rates(s);
    s->out->handshake_cpu_s = (double)o->connections *
                              (double)s->config->handshake_cpu_us / 1e6;
    if (s->out->free_least == UINT32_MAX) {
        s->out->free_least = 0;
    }
    rv = sum_up_waits(s);
    if (!rv) {
        rv = holders(&o->held, s, &c->held_up, &c->held_down, settle);
    }
    return rv ? rv : holders(&o->busy, s, &c->busy_up, &c->busy_down, 0);
}

void ka_sim_count_clear(ka_sim *s)
{
    free(s->counts.held_up.at);
    free(s->counts.held_down.at);
    free(s->counts.busy_up.at);
    free(s->counts.busy_down.at);
    free(s->counts.waits.at);
}
