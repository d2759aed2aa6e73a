/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "spawned.h"

#include <apr_strings.h>

#include "group.h"

/* One report's own traffic. */
typedef struct job {
    const ka_decision *d;
    const ka_mpm_answer *answer;
    const ka_report *report;
    ka_spawn_settings limits; /* of the block; the other numbers are sought */
    uint32_t least;           /* MinSpare* */
    ka_spawn_demand demand;
    bool scaled;
} job;

static uint32_t whole(int64_t value)
{
    return value < 0 ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

static uint32_t at_most(uint32_t value, uint32_t most)
{
    return value < most ? value : most;
}

static uint32_t at_least(uint32_t value, uint32_t least)
{
    return value > least ? value : least;
}

static uint32_t default_of(ka_block_item item, ka_mpm mpm)
{
    return whole(ka_block_info_of(item)->httpd_default[mpm]);
}

/* ---- demand -------------------------------------------------------------- */

static ka_demand_kind kind_of(const ka_mpm_answer *answer)
{
    return answer->supply.holds_idle ? KA_DEMAND_HELD : KA_DEMAND_BUSY;
}

/* Arrivals are few in a second: rounded up, one would become two. */
static void grow(ka_spawn_demand *to, const ka_demand *from, double growth,
                 apr_pool_t *pool)
{
    uint32_t *holders = apr_palloc(pool, from->n * sizeof(*holders));
    uint32_t *arrivals = apr_palloc(pool, from->n * sizeof(*arrivals));

    ka_demand_raise(holders, from->holders, from->n, growth);
    ka_demand_spread(arrivals, from->arrivals, from->n, growth);
    *to = (ka_spawn_demand){holders, arrivals, from->n};
}

static bool find_demand(ka_spawn_demand *out, bool *scaled, const job *j,
                        int64_t timeout_us, double growth)
{
    const ka_report *r = j->report;
    const ka_outcome *at = &r->high[ka_timeout_index(r, timeout_us)];
    ka_demand demand;

    if (!r->demand.at ||
        !r->demand.at(&demand, r->demand.context, at->timeout_us,
                      kind_of(j->answer), j->d->pool)) {
        return false;
    }
    *scaled = demand.scaled;
    grow(out, &demand, growth, j->d->pool);
    return true;
}

/* Without service times only idle connections are known. */
static bool is_blind(const job *j, int64_t timeout_us)
{
    return !ka_service_known(j->report->profile) &&
           (kind_of(j->answer) == KA_DEMAND_BUSY ||
            timeout_us == KA_TIMEOUT_OFF);
}

/* ---- the loop ------------------------------------------------------------ */

static ka_spawn_settings limits_of(const ka_mpm_answer *answer)
{
    const int64_t *v = answer->block.value;

    return ka_spawn_normalized(&(ka_spawn_settings){
        .mpm = answer->mpm,
        .threads_per_child = whole(v[KA_BLOCK_THREADS_PER_CHILD]),
        .server_limit = whole(v[KA_BLOCK_SERVER_LIMIT]),
        .max_request_workers = whole(v[KA_BLOCK_MAX_REQUEST_WORKERS])});
}

static ka_spawn_result run(const job *j, const ka_spawn_demand *demand,
                           const ka_spawn_settings *settings)
{
    ka_spawn_result result = {0};

    ka_spawn_run(&result, NULL, demand, settings, j->d->pool);
    return result;
}

/* The present value, if it is one of this MPM. */
static ka_spawn_other other_of(const job *j, ka_block_item item,
                               ka_fact_id fact)
{
    const ka_server *server = j->d->report->server;
    const bool same =
        ka_server_get(server, KA_FACT_ID_MPM, -1) == j->answer->mpm;
    const int64_t now = same ? ka_server_get(server, fact, -1) : -1;

    return (ka_spawn_other){.number = now > 0 ? whole(now)
                                              : default_of(item,
                                                           j->answer->mpm),
                            .is_default = now <= 0};
}

static void compare(ka_spawned *out, const job *j)
{
    ka_spawn_settings set;

    out->spare = other_of(j, KA_BLOCK_MIN_SPARE, KA_FACT_MIN_SPARE);
    set = ka_spawn_running(&j->limits, &j->demand,
                           at_least(out->spare.number, 1));
    out->spare.result = run(j, &j->demand, &set);
    out->start = other_of(j, KA_BLOCK_START_SERVERS, KA_FACT_START_SERVERS);
    set = ka_spawn_running(&j->limits, &j->demand, out->min_spare);
    set.start_servers = out->start.number;
    out->start.result = run(j, &j->demand, &set);
}

static void search(ka_spawned *out, const job *j)
{
    const ka_mpm mpm = j->answer->mpm;
    const uint32_t workers = j->limits.max_request_workers;
    const uint32_t children =
        at_least(workers / j->limits.threads_per_child, 1);
    ka_spawn_advice advice;

    if (ka_spawn_search(&advice, &j->demand, &j->limits, j->least,
                        j->d->pool)) {
        out->why_not = "there is not enough memory for that";
        return;
    }
    *out = (ka_spawned){
        .scaled = j->scaled,
        .feasible = advice.feasible,
        .min_spare = advice.min_spare,
        .max_spare = at_least(
            advice.max_spare,
            at_most(default_of(KA_BLOCK_MAX_SPARE, mpm), workers)),
        .start_servers = at_least(
            advice.start_servers,
            at_most(default_of(KA_BLOCK_START_SERVERS, mpm), children)),
        .running = advice.running,
        .started = advice.started,
        .spare_host = j->report->host,
        .start_host = j->report->host};
    compare(out, j);
}

/* ---- present settings ---------------------------------------------------- */

bool ka_spawned_settings_now(ka_spawn_settings *out, const ka_decision *d,
                             ka_mpm mpm)
{
    static const ka_fact_id needed[] = {
        KA_FACT_MIN_SPARE, KA_FACT_MAX_SPARE, KA_FACT_MAX_REQUEST_WORKERS};
    const ka_server *server = d->report->server;
    const size_t n = sizeof(needed) / sizeof(needed[0]);
    int64_t threads = ka_server_get(
        server, KA_FACT_THREADS_PER_CHILD,
        ka_block_info_of(KA_BLOCK_THREADS_PER_CHILD)->httpd_default[mpm]);
    size_t i;

    for (i = 0; i < n; i++) {
        if (!server->facts[needed[i]].known) {
            return false;
        }
    }
    *out = ka_spawn_normalized(&(ka_spawn_settings){
        .mpm = mpm,
        .threads_per_child = whole(threads),
        .server_limit = whole(ka_server_get(
            server, KA_FACT_SERVER_LIMIT,
            ka_block_info_of(KA_BLOCK_SERVER_LIMIT)->httpd_default[mpm])),
        .max_request_workers =
            whole(ka_server_get(server, KA_FACT_MAX_REQUEST_WORKERS, 0)),
        .min_spare = whole(ka_server_get(server, KA_FACT_MIN_SPARE, 0)),
        .max_spare = whole(ka_server_get(server, KA_FACT_MAX_SPARE, 0))});
    return ka_server_get(server, KA_FACT_ID_MPM, -1) == mpm;
}

static void judge_now(ka_spawned *out, const job *j)
{
    ka_spawn_settings set;
    ka_spawn_demand demand;
    bool scaled;

    if (!ka_spawned_settings_now(&out->now, j->d, j->answer->mpm) ||
        !find_demand(&demand, &scaled, j, j->report->timeout_us, 1)) {
        return;
    }
    out->now_known = true;
    set = ka_spawn_running(&out->now, &demand, out->now.min_spare);
    set.max_spare = out->now.max_spare;
    out->now_result = run(j, &demand, &set);
    set = ka_spawn_running(&out->now, &demand, out->now.max_request_workers);
    out->now_scarce = run(j, &demand, &set).waited >= out->now_result.waited;
}

/* ---- one report, and a group --------------------------------------------- */

static void spawned_of_one(ka_spawned *out, job *j)
{
    const int64_t timeout_us =
        j->d->report->high[j->answer->choice.index].timeout_us;

    *out = (ka_spawned){
        .why_not = is_blind(j, timeout_us)
                       ? "busy workers are not known (no %D in the log)"
                       : ka_source_words_of(j->report)->no_seconds};
    if (!is_blind(j, timeout_us) &&
        find_demand(&j->demand, &j->scaled, j, timeout_us,
                    j->d->options->growth)) {
        search(out, j);
    }
}

static void take_in(ka_spawned *all, const ka_spawned *own)
{
    if (own->min_spare > all->min_spare) {
        all->min_spare = own->min_spare;
        all->running = own->running;
        all->spare = own->spare;
        all->spare_host = own->spare_host;
    }
    all->max_spare = at_least(all->max_spare, own->max_spare);
    if (own->start_servers > all->start_servers) {
        all->start_servers = own->start_servers;
        all->started = own->started;
        all->start = own->start;
        all->start_host = own->start_host;
    }
    all->feasible = all->feasible && own->feasible;
    all->scaled = all->scaled || own->scaled;
}

static void spawned_of_group(ka_spawned *out, job *j)
{
    const ka_report *group = j->d->report;
    bool any = false;
    size_t i;

    *out = (ka_spawned){.why_not = ka_source_words_of(group)->no_seconds};
    for (i = 0; i < group->host_n; i++) {
        ka_spawned own;

        if (group->hosts[i]->timeout_n == 0) {
            continue;
        }
        j->report = group->hosts[i];
        spawned_of_one(&own, j);
        if (own.why_not) {
            *out = own;
            return;
        }
        if (any) {
            take_in(out, &own);
        }
        else {
            *out = own;
        }
        any = true;
    }
}

ka_spawned ka_spawned_of(const ka_decision *d, const ka_mpm_answer *answer)
{
    const uint32_t workers =
        whole(answer->block.value[KA_BLOCK_MAX_REQUEST_WORKERS]);
    job j = {.d = d,
             .answer = answer,
             .report = d->report,
             .limits = limits_of(answer),
             .least = at_most(default_of(KA_BLOCK_MIN_SPARE, answer->mpm),
                              at_least(workers / 2, 1))};
    ka_spawned out;

    if (d->report->host_n > 0) {
        spawned_of_group(&out, &j);
        return out;
    }
    spawned_of_one(&out, &j);
    if (!out.why_not) {
        judge_now(&out, &j);
    }
    return out;
}
