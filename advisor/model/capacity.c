/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "capacity.h"

#include <assert.h>
#include <math.h>

/* R3: below one second the Keep-Alive header says timeout=0. */
#define SHORTEST_US INT64_C(1000000)
/* [M18]: how far over the proxy's idle timeout (R1). */
#define PROXY_MARGIN_US (INT64_C(5) * 1000000)
/* [M18]: less reuse than this at T_cap is not worth holding anything. */
#define REUSE_WORTH 0.05
/* [M13]: slack on the peak of connections. */
#define CONNECTION_SLACK 1.3

static int64_t processes_of(const ka_supply *supply, int64_t workers)
{
    int64_t threads = supply->threads_per_child;

    assert(threads > 0);
    return (workers + threads - 1) / threads;
}

double ka_capacity_idle_memory(const ka_supply *supply,
                               double idle_connections)
{
    return supply->holds_idle ? 0
                              : idle_connections * (double)supply->idle_bytes;
}

int64_t ka_capacity_memory(const ka_supply *supply, int64_t workers,
                           double idle_connections)
{
    if (supply->process_bytes <= 0) {
        return -1;
    }
    return supply->shared_bytes +
           processes_of(supply, workers) * supply->process_bytes +
           (int64_t)ka_capacity_idle_memory(supply, idle_connections);
}

int64_t ka_capacity_limit(const ka_supply *supply, double idle_connections)
{
    double left;

    if (supply->process_bytes <= 0 || supply->memory_bytes < 0) {
        return -1;
    }
    left = (double)supply->memory_bytes - (double)supply->shared_bytes -
           ka_capacity_idle_memory(supply, idle_connections);
    if (left <= 0) {
        return 0;
    }
    return (int64_t)floor(left / (double)supply->process_bytes) *
           supply->threads_per_child;
}

ka_fit ka_capacity_fit(const ka_outcome *outcome, const ka_supply *supply)
{
    const ka_held *held = supply->holds_idle ? &outcome->held : &outcome->busy;
    ka_fit fit;

    fit.workers = fmax(held->workers, held->p999);
    if (!supply->holds_idle) {
        fit.workers =
            fmax(fit.workers, ceil(held->mean / KA_EVENT_UTILISATION));
    }
    fit.workers = ceil(fit.workers * supply->growth + supply->extra_mean);
    fit.connections = ceil(outcome->held.peak * supply->growth);
    fit.memory_bytes = ka_capacity_memory(supply, (int64_t)fit.workers,
                                          fit.connections);
    fit.fits = -1;
    if (fit.memory_bytes >= 0 && supply->memory_bytes >= 0) {
        fit.fits = fit.memory_bytes <= supply->memory_bytes;
    }
    return fit;
}

/* Index of the largest timeout <= limit; 0 (Off) if there is none. */
static size_t index_up_to(const ka_outcome *outcomes, size_t n, int64_t limit)
{
    size_t i, best = 0;

    for (i = 0; i < n; i++) {
        if (outcomes[i].timeout_us <= limit) {
            best = i;
        }
    }
    return best;
}

/* Index of the smallest timeout >= limit; the largest if there is none. */
static size_t index_from(const ka_outcome *outcomes, size_t n, int64_t limit)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (outcomes[i].timeout_us >= limit) {
            return i;
        }
    }
    return n - 1;
}

size_t ka_knee(const ka_outcome *outcomes, size_t n, double delta)
{
    const size_t cap = index_up_to(outcomes, n, KA_TIMEOUT_CAP_US);
    size_t i;

    for (i = 0; i < n; i++) {
        double more = (double)outcomes[i].connections -
                      (double)outcomes[cap].connections;

        if (outcomes[i].timeout_us >= 0 &&
            more <= delta * (double)outcomes[i].requests) {
            return i;
        }
    }
    return cap;
}

/* T_fit: the largest T up to which everything fits; -1: not even Off. */
static int index_of_fit(const ka_fit *fits, size_t n)
{
    size_t i;

    for (i = 0; i < n && fits[i].fits == 1; i++) {
        continue;
    }
    return (int)i - 1;
}

/* Without a proxy's demand: knee, fit and what is known, in [M18]'s order. */
static void choose_for_clients(ka_choice *choice, const ka_outcome *outcomes,
                               size_t n, size_t knee, int fit,
                               const ka_supply *supply,
                               const ka_choice_options *options)
{
    size_t shortest = index_from(outcomes, n, SHORTEST_US);

    choice->index = knee < shortest ? shortest : knee;
    choice->reason = KA_CHOICE_KNEE;
    if (choice->reuse_cap < REUSE_WORTH) {
        choice->index = 0;
        choice->reason = KA_CHOICE_OFF_NO_REUSE;
    }
    else if (!choice->fit_known && supply->holds_idle) {
        size_t now = index_up_to(outcomes, n, options->now_us);

        if (options->now_us >= KA_TIMEOUT_OFF && now < choice->index) {
            choice->index = now;
            choice->reason = KA_CHOICE_KEEP;
        }
    }
    else if (choice->fit_known && fit < (int)choice->index) {
        choice->index = fit > 0 ? (size_t)fit : 0;
        choice->reason = fit > 0 ? KA_CHOICE_FIT : KA_CHOICE_OFF_NO_FIT;
        choice->infeasible = fit < 0;
        if (fit > 0 && choice->index < shortest) {
            choice->index = shortest;
            choice->reason = KA_CHOICE_PAGE_BURST;
        }
    }
}

ka_choice ka_choose(const ka_outcome *outcomes, const ka_fit *fits, size_t n,
                    const ka_supply *supply, const ka_choice_options *options)
{
    size_t cap = index_up_to(outcomes, n, KA_TIMEOUT_CAP_US);
    size_t knee = ka_knee(outcomes, n, options->delta);
    int fit = index_of_fit(fits, n);
    ka_choice choice = {.fit_us = -2};

    choice.reuse_cap = outcomes[cap].reuse;
    choice.knee_us = outcomes[knee].timeout_us;
    choice.fit_known = fits[0].fits >= 0;
    if (choice.fit_known && fit >= 0) {
        choice.fit_us = outcomes[fit].timeout_us;
    }
    choose_for_clients(&choice, outcomes, n, knee, fit, supply, options);
    if (options->proxy_idle_us >= 0) {
        size_t wanted = index_from(outcomes, n,
                                   options->proxy_idle_us + PROXY_MARGIN_US);

        if (wanted > choice.index) {
            choice.index = wanted;
            choice.reason = KA_CHOICE_PROXY;
        }
        choice.infeasible = fits[choice.index].fits == 0;
    }
    return choice;
}

uint32_t ka_choose_max_requests(uint64_t requests,
                                uint64_t (*extra)(void *context, uint32_t m),
                                void *context)
{
    static const uint32_t customary[] = {100, 500, 1000, 5000, 10000};
    size_t i;

    for (i = 0; i < sizeof(customary) / sizeof(customary[0]); i++) {
        if (extra(context, customary[i]) * 1000 <= requests) {
            return customary[i];
        }
    }
    return 0;
}

int ka_async_factor(int64_t workers, double connections_peak)
{
    double wanted = (connections_peak * CONNECTION_SLACK / (double)workers -
                     1) /
                    (1 - KA_EVENT_UTILISATION);

    return wanted > 2 ? (int)ceil(fmin(wanted, 1e6)) : 2;
}

int64_t ka_max_connections_per_child(double leak_bytes_per_request,
                                     int64_t growth_bytes,
                                     double requests_per_connection)
{
    assert(requests_per_connection > 0);
    if (leak_bytes_per_request <= 0 || growth_bytes <= 0) {
        return 0;
    }
    return (int64_t)ceil((double)growth_bytes / leak_bytes_per_request /
                         requests_per_connection);
}
