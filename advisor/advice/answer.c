/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The numbers of one MPM: supply, fit of every timeout, choice, block. */
#include "group.h"

#include <math.h>
#include <apr_strings.h>

#include <ka_units.h>
#include "../model/sweep.h"
#include "simulated.h"
#include "spawned.h"

/* RequestReadTimeout header=20 is httpd's default: a connection without a
 * request is closed then at the latest. */
#define REQUEST_READ_S 20.0

/* R1: what a reverse proxy looks like from behind. */
#define PROXY_ADDRESSES 20
#define PROXY_REQUESTS 1000
#define PROXY_REQUESTS_PER_ADDRESS 200
#define PROXY_REQUESTS_PER_CONNECTION 20

bool ka_service_known(const ka_profile *profile)
{
    return (double)profile->with_service >=
           KA_SERVICE_KNOWN_SHARE * (double)profile->total.requests;
}

/* A log tells clients by their User-Agent; the server itself tells how many
 * requests connections really carry. */
static bool serves_many(const ka_profile *profile)
{
    return profile->live ? profile->low.requests_per_connection.mean >=
                               PROXY_REQUESTS_PER_CONNECTION
                         : profile->low.clients > profile->addresses;
}

bool ka_looks_proxied(const ka_profile *profile)
{
    return profile->addresses > 0 && profile->addresses <= PROXY_ADDRESSES &&
           profile->total.requests >= PROXY_REQUESTS &&
           profile->total.requests >=
               profile->addresses * PROXY_REQUESTS_PER_ADDRESS &&
           serves_many(profile);
}

double ka_no_request_workers(const ka_profile *profile)
{
    if (profile->window_s <= 0) {
        return 0;
    }
    return (double)profile->no_request * REQUEST_READ_S / profile->window_s;
}

int64_t ka_workers_now(const ka_report *report, ka_mpm mpm)
{
    const ka_block_info *info = ka_block_info_of(KA_BLOCK_MAX_REQUEST_WORKERS);
    int64_t known = ka_most_known(report, KA_FACT_MAX_REQUEST_WORKERS);

    return known < 0 ? info->httpd_default[mpm] : known;
}

double ka_requests_per_connection(const ka_report *report,
                                  const ka_mpm_answer *answer)
{
    const ka_outcome *outcome = &report->low[answer->choice.index];

    return outcome->connections > 0
               ? fmax((double)outcome->requests / (double)outcome->connections,
                      1)
               : 1;
}

static ka_supply supply_of(const ka_decision *d, ka_mpm mpm)
{
    const ka_server *server = d->report->server;
    const ka_profile *profile = d->report->profile;
    int64_t threads = ka_server_get(server, KA_FACT_THREADS_PER_CHILD, -1);

    return (ka_supply){
        .memory_bytes = ka_server_get(server, KA_FACT_MEMORY, -1),
        .process_bytes = ka_server_get(server, KA_FACT_PROCESS_MEMORY, -1),
        .shared_bytes = ka_server_get(server, KA_FACT_SHARED_MEMORY, 0),
        .threads_per_child = (int)ka_block_threads(mpm, threads),
        .holds_idle = mpm != KA_MPM_EVENT,
        .idle_bytes = profile->tls ? KA_IDLE_TLS_BYTES : KA_IDLE_PLAIN_BYTES,
        .growth = d->options->growth,
        .extra_mean = ka_no_request_workers(profile)};
}

ka_fit ka_fit_of(const ka_report *report, size_t timeout,
                 const ka_supply *supply)
{
    ka_fit low = ka_capacity_fit(&report->low[timeout], supply);
    ka_fit high = ka_capacity_fit(&report->high[timeout], supply);
    ka_fit fit = low.workers > high.workers ? low : high;

    fit.connections = fmax(low.connections, high.connections);
    return fit;
}

static ka_fit *fits_of(const ka_decision *d, const ka_supply *supply)
{
    const ka_report *report = d->report;
    ka_fit *fits = apr_pcalloc(d->pool, report->timeout_n * sizeof(*fits));
    size_t i;

    if (report->host_n > 0) {
        ka_group_fits(fits, report, supply);
        return fits;
    }
    for (i = 0; i < report->timeout_n; i++) {
        fits[i] = ka_fit_of(report, i, supply);
    }
    return fits;
}

/* MaxRequestWorkers before rounding.  It is a limit, not a reservation: it is
 * lowered only where memory says so (R7), never because one log was quiet or
 * lacks service times; where the present one is not known, httpd's default
 * takes its place. */
static int64_t workers_of(const ka_decision *d, const ka_mpm_answer *answer,
                          int64_t limit, const char **needs)
{
    int64_t need = (int64_t)answer->fits[answer->choice.index].workers;
    int64_t now = ka_workers_now(d->report, answer->mpm);
    int64_t workers = need > now ? need : now;

    if (limit == 0) {
        *needs = "--memory is less than one process takes "
                 "(--process-memory): nothing can be sized to it";
        return 0;
    }
    return limit > 0 && workers > limit ? limit : workers;
}

static void fill_spare(const ka_decision *d, ka_mpm_answer *answer)
{
    const ka_spawned *spawned = &answer->spawned;

    answer->spawned = ka_spawned_of(d, answer);
    if (!spawned->why_not) {
        ka_block_set_spare(&answer->block, answer->mpm, spawned->start_servers,
                           spawned->min_spare, spawned->max_spare);
    }
}

/* [M17] Connections as they would be under the proposed timeout; of a bracket
 * the side on which a child's connections carry more. */
static int64_t connections_per_child(const ka_decision *d,
                                     const ka_mpm_answer *answer)
{
    const ka_server *server = d->report->server;
    int64_t unique = ka_server_get(server, KA_FACT_PROCESS_MEMORY, -1);
    int64_t leak = ka_server_get(server, KA_FACT_LEAK, -1);

    return ka_max_connections_per_child(
        (double)leak, (int64_t)(KA_LEAK_GROWTH * (double)unique),
        ka_requests_per_connection(d->report, answer));
}

static void make_block(const ka_decision *d, ka_mpm_answer *answer,
                       const ka_block_demand *demand)
{
    answer->block = ka_block_make(demand);
    answer->stays = 0;
    fill_spare(d, answer);
    ka_keep_enough(d, answer);
}

/* A number that the simulation asks for. */
static void raise_item(ka_mpm_answer *answer, ka_block_item item, int64_t to)
{
    if (answer->block.value[item] >= 0 && answer->block.value[item] < to) {
        answer->block.value[item] = to;
    }
}

static void mark_raised(ka_mpm_answer *answer)
{
    ka_simulated *s = &answer->simulated;
    int i;

    for (i = 0; i < KA_BLOCK_ITEMS; i++) {
        if (answer->block.value[i] > s->before.value[i]) {
            s->raised |= 1u << i;
            answer->stays &= ~(1u << i);
        }
    }
}

/* More StartServers, where somebody waits after a start and not later. */
static void simulate_start(const ka_decision *d, ka_mpm_answer *answer)
{
    ka_simulated *s = &answer->simulated;
    const uint32_t children = ka_simulate_start(d, answer);

    if (children > 0 && !s->proposed.waits) {
        s->before_start = s->started.result;
        raise_item(answer, KA_BLOCK_START_SERVERS, children);
        ka_simulate_start(d, answer);
    }
}

/* Plays it, and raises what makes somebody wait, as far as memory holds it. */
static void simulate_block(const ka_decision *d, ka_mpm_answer *answer,
                           ka_block_demand *demand)
{
    ka_simulated *s = &answer->simulated;
    const int64_t *v = answer->block.value;
    ka_simulated_more more = {0};

    s->limit = demand->workers_limit;
    if (!ka_simulate_block(d, answer)) {
        return;
    }
    s->decides = !s->stretch.drawn || answer->spawned.why_not;
    s->before = answer->block;
    if (s->proposed.waits && s->decides) {
        more = ka_simulate_search(d, answer, demand->workers_limit);
    }
    if (more.workers || more.min_spare || more.async_factor) {
        s->before_result = s->proposed.result;
        if (more.workers) {
            demand->workers = more.workers;
            make_block(d, answer, demand);
        }
        ka_block_set_spare(&answer->block, answer->mpm,
                           v[KA_BLOCK_START_SERVERS],
                           more.min_spare > v[KA_BLOCK_MIN_SPARE]
                               ? more.min_spare
                               : v[KA_BLOCK_MIN_SPARE],
                           2 * (int64_t)more.min_spare >
                                   v[KA_BLOCK_MAX_SPARE]
                               ? 2 * (int64_t)more.min_spare
                               : v[KA_BLOCK_MAX_SPARE]);
        raise_item(answer, KA_BLOCK_ASYNC_FACTOR, more.async_factor);
        ka_simulate_block(d, answer);
    }
    if (s->decides) {
        simulate_start(d, answer);
    }
    mark_raised(answer);
    ka_simulate_now(d, answer);
}

static void fill_block(const ka_decision *d, ka_mpm_answer *answer,
                       bool simulate)
{
    const ka_report *report = d->report;
    const ka_outcome *outcome = &report->high[answer->choice.index];
    const ka_fit *fit = &answer->fits[answer->choice.index];
    int64_t limit = ka_capacity_limit(&answer->supply, fit->connections);
    int64_t workers = workers_of(d, answer, limit, &answer->needs);
    double opens = ka_busy_opens(report, outcome->timeout_us);
    ka_block_demand demand = {
        .mpm = answer->mpm,
        .workers = workers,
        .workers_limit = limit,
        .held_mean = answer->supply.holds_idle ? outcome->held_mean
                                               : outcome->busy_mean,
        .opens_per_s = opens * d->options->growth,
        .connections_peak = fit->connections,
        .threads_per_child =
            ka_server_get(report->server, KA_FACT_THREADS_PER_CHILD, -1),
        .max_connections_per_child = connections_per_child(d, answer)};

    answer->block_known = workers > 0;
    if (answer->block_known) {
        make_block(d, answer, &demand);
        if (simulate) {
            simulate_block(d, answer, &demand);
        }
    }
}

static ka_mpm_answer answer_with(const ka_decision *d, ka_mpm mpm,
                                 ka_supply supply, bool simulate)
{
    const ka_report *report = d->report;
    ka_mpm_answer answer = {.mpm = mpm, .supply = supply};
    ka_choice_options options = {
        .delta = d->options->delta,
        .now_us = report->timeout_us,
        .proxy_idle_us =
            ka_server_get(report->server, KA_FACT_PROXY_IDLE, -1)};

    answer.fits = fits_of(d, &answer.supply);
    answer.choice = ka_choose(report->high, answer.fits, report->timeout_n,
                              &answer.supply, &options);
    answer.idle_bytes = ka_capacity_idle_memory(
        &answer.supply, answer.fits[answer.choice.index].connections);
    fill_block(d, &answer, simulate);
    return answer;
}

ka_mpm_answer ka_answer(const ka_decision *d, ka_mpm mpm)
{
    return answer_with(d, mpm, supply_of(d, mpm), true);
}

ka_mpm_answer ka_answer_beside(const ka_decision *d, ka_mpm mpm)
{
    ka_supply supply = supply_of(d, mpm);

    supply.process_bytes = -1;
    supply.shared_bytes = 0;
    return answer_with(d, mpm, supply, false);
}
