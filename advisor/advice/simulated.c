/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "simulated.h"

#include <math.h>
#include <apr_strings.h>

#include "group.h"
#include "spawned.h"

/* Linux's default net.core.somaxconn, and the connection more that a queue
 * holds. */
#define SOMAXCONN_DEFAULT 4096
#define QUEUE_MORE 1

/* httpd's default. */
#define MAX_KEEPALIVE_REQUESTS 100

/* Where no memory limits them, no more workers are tried, nor a larger
 * factor. */
#define WORKERS_MOST 4096u
#define FACTOR_MOST 64u

/* A number is found to this part of it. */
#define PRECISION 16

static uint32_t whole(int64_t value)
{
    return value < 0 ? 0 : value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
}

/* ---- one run ------------------------------------------------------------ */

typedef struct job {
    const ka_decision *d;
    const ka_mpm_answer *answer;
    ka_stretch stretch;
    const char *host;
    apr_pool_t *pool; /* of runs that are not kept */
} job;

static bool find_stretch(job *j)
{
    const ka_decision *d = j->d;
    const ka_report *r = d->report;
    const ka_outcome *unused;

    if (r->host_n > 0) {
        r = ka_group_busiest(&unused, r, &j->answer->supply,
                             r->high[j->answer->choice.index].timeout_us);
    }
    j->host = r && d->report->host_n > 0 ? r->host : NULL;
    return r && r->stretch.at &&
           r->stretch.at(&j->stretch, r->stretch.context, d->options->growth,
                         d->pool);
}

/* As long as a server has run: the workers that are held in the mean, and
 * spare ones. */
static void set_running(const job *j, ka_sim_config *c)
{
    const ka_stretch_model model = ka_stretch_expect(
        &j->stretch, c->spawn.mpm, c->timeout_us, c->max_requests);
    const double workers =
        ceil(c->spawn.mpm == KA_MPM_EVENT ? model.busy_mean
                                          : model.held_mean) +
        c->spawn.min_spare;

    c->spawn.start_servers =
        whole((int64_t)ceil(fmin(workers, 1e9) / c->spawn.threads_per_child));
}

static ka_sim_config config_of(const job *j, const ka_spawn_settings *spawn,
                               int64_t timeout_us)
{
    const ka_server *server = j->d->report->server;
    const ka_supply *supply = &j->answer->supply;
    const int64_t backlog = ka_server_get(server, KA_FACT_LISTEN_BACKLOG, -1);
    ka_sim_config c = ka_sim_defaults(spawn->mpm);

    c.spawn = *spawn;
    c.timeout_us = timeout_us;
    c.max_requests = 0;
    c.queue = (backlog < 0                  ? c.queue
               : backlog < SOMAXCONN_DEFAULT ? whole(backlog) + QUEUE_MORE
                                             : SOMAXCONN_DEFAULT + QUEUE_MORE);
    c.accept_us = j->stretch.accept_us;
    c.linger_us = j->stretch.linger_us;
    c.process_bytes = supply->process_bytes;
    c.shared_bytes = supply->shared_bytes;
    c.idle_bytes = supply->idle_bytes;
    c.points = 1;
    return c;
}

static bool somebody_waits(const ka_sim_result *r)
{
    return r->wait_p999_us > 0 || r->given_up > 0 ||
           r->dropped * 1000 > r->outcome.requests;
}

/* Its series are not kept, but in the job's pool.
 * @param start  with StartServers as configured; else from a server that runs
 */
static bool run(const job *j, ka_sim_result *out, const ka_sim_config *config,
                bool start)
{
    ka_sim_config c = *config;
    bool done;

    if (!start) {
        set_running(j, &c);
    }
    done = !ka_sim_run(out, &c, j->stretch.traffic, 1, j->pool);
    out->points = NULL;
    out->point_n = 0;
    apr_pool_clear(j->pool);
    return done;
}

static bool play(const job *j, ka_simulated_run *out,
                 const ka_sim_config *config, bool start)
{
    const ka_stretch_model model =
        ka_stretch_expect(&j->stretch, config->spawn.mpm, config->timeout_us,
                          config->max_requests);

    *out = (ka_simulated_run){.timeout_us = config->timeout_us,
                              .held_expected = model.held_mean};
    if (!run(j, &out->result, config, start)) {
        return false;
    }
    out->waits = somebody_waits(&out->result);
    return true;
}

/* ---- the block ---------------------------------------------------------- */

static ka_sim_config config_of_block(const job *j)
{
    const ka_mpm_answer *a = j->answer;
    const int64_t *v = a->block.value;
    const ka_spawn_settings spawn = {
        .mpm = a->mpm,
        .start_servers = whole(v[KA_BLOCK_START_SERVERS]),
        .min_spare = whole(v[KA_BLOCK_MIN_SPARE]),
        .max_spare = whole(v[KA_BLOCK_MAX_SPARE]),
        .threads_per_child =
            a->mpm == KA_MPM_PREFORK ? 1 : whole(v[KA_BLOCK_THREADS_PER_CHILD]),
        .server_limit = whole(v[KA_BLOCK_SERVER_LIMIT]),
        .max_request_workers = whole(v[KA_BLOCK_MAX_REQUEST_WORKERS])};
    const ka_spawn_settings normal = ka_spawn_normalized(&spawn);
    ka_sim_config c = config_of(
        j, &normal, j->d->report->high[a->choice.index].timeout_us);

    c.max_connections = whole(v[KA_BLOCK_MAX_CONNECTIONS_PER_CHILD]);
    if (v[KA_BLOCK_ASYNC_FACTOR] > 0) {
        c.async_factor = whole(v[KA_BLOCK_ASYNC_FACTOR]);
    }
    return c;
}

/* Without service times only idle connections are known. */
static bool is_blind(const ka_decision *d, const ka_mpm_answer *a)
{
    return !ka_service_known(d->report->profile) &&
           (!a->supply.holds_idle ||
            d->report->high[a->choice.index].timeout_us == KA_TIMEOUT_OFF);
}

static bool job_begin(job *j, const ka_decision *d, const ka_mpm_answer *a)
{
    *j = (job){.d = d, .answer = a};
    return !is_blind(d, a) && find_stretch(j) &&
           !apr_pool_create(&j->pool, d->pool);
}

static void job_end(job *j)
{
    apr_pool_destroy(j->pool);
}

bool ka_simulate_block(const ka_decision *d, ka_mpm_answer *a)
{
    ka_simulated *out = &a->simulated;
    ka_sim_config config;
    job j;

    if (!job_begin(&j, d, a)) {
        return false;
    }
    config = config_of_block(&j);
    out->stretch = j.stretch;
    out->host = j.host;
    out->known = play(&j, &out->proposed, &config, false);
    job_end(&j);
    return out->known;
}

bool ka_simulate_otherwise(ka_sim_result *out, const ka_decision *d,
                           const ka_mpm_answer *a, int64_t timeout_us,
                           const ka_adaptive *adaptive)
{
    ka_sim_config config;
    bool done;
    job j;

    if (!job_begin(&j, d, a)) {
        return false;
    }
    config = config_of_block(&j);
    config.timeout_us = timeout_us;
    config.adaptive = adaptive;
    done = run(&j, out, &config, false);
    job_end(&j);
    return done;
}

/* ---- present settings --------------------------------------------------- */

static bool same_settings(const ka_sim_config *a, const ka_sim_config *b)
{
    return a->timeout_us == b->timeout_us &&
           a->spawn.min_spare == b->spawn.min_spare &&
           a->spawn.max_spare == b->spawn.max_spare &&
           a->spawn.threads_per_child == b->spawn.threads_per_child &&
           a->spawn.server_limit == b->spawn.server_limit &&
           a->spawn.max_request_workers == b->spawn.max_request_workers &&
           a->async_factor == b->async_factor;
}

void ka_simulate_now(const ka_decision *d, ka_mpm_answer *a)
{
    const ka_report *r = d->report;
    ka_simulated *out = &a->simulated;
    ka_spawn_settings spawn;
    ka_sim_config config, proposed;
    job j;

    if (r->host_n > 0 || !ka_spawned_settings_now(&spawn, d, a->mpm) ||
        !job_begin(&j, d, a)) {
        return;
    }
    config = config_of(&j, &spawn, r->timeout_us);
    config.max_requests = whole(ka_server_get(
        r->server, KA_FACT_MAX_KEEPALIVE_REQUESTS, MAX_KEEPALIVE_REQUESTS));
    config.max_connections = whole(
        ka_server_get(r->server, KA_FACT_MAX_CONNECTIONS_PER_CHILD, 0));
    config.async_factor = whole(
        ka_server_get(r->server, KA_FACT_ASYNC_FACTOR, config.async_factor));
    proposed = config_of_block(&j);
    out->now_settings = spawn;
    out->now_differs = !same_settings(&config, &proposed);
    out->now_known = play(&j, &out->now, &config, false);
    job_end(&j);
}

/* ---- the search --------------------------------------------------------- */

typedef struct search {
    const job *j;
    ka_sim_config config;
    ka_sim_result result; /* of the last try */
    uint32_t max_spare;   /* of the block: not less */
    bool start;           /* as in run() */
    bool failed;          /* no memory: nothing is enough then */
} search;

static bool suffices(search *s)
{
    s->failed = s->failed || !run(s->j, &s->result, &s->config, s->start);
    return !s->failed && !somebody_waits(&s->result);
}

static void set_spare(search *s, uint32_t min_spare)
{
    ka_spawn_settings *spawn = &s->config.spawn;
    const uint32_t most = ka_spawn_max_spare(spawn, min_spare);

    spawn->min_spare = min_spare;
    spawn->max_spare = most > s->max_spare ? most : s->max_spare;
}

static void set_factor(search *s, uint32_t factor)
{
    s->config.async_factor = factor;
}

/* With all of them there. */
static void set_workers(search *s, uint32_t workers)
{
    const uint32_t threads = s->config.spawn.threads_per_child;

    s->config.spawn.max_request_workers = workers;
    if (workers / threads > s->config.spawn.server_limit) {
        s->config.spawn.server_limit = workers / threads;
    }
    set_spare(s, workers);
}

typedef void set_fn(search *s, uint32_t number);

/* `most` is enough, `least` is not. */
static uint32_t smallest(search *s, set_fn *set, uint32_t least, uint32_t most)
{
    while (most - least > 1 && most - least > most / PRECISION) {
        const uint32_t middle = least + (most - least) / 2;

        set(s, middle);
        if (suffices(s)) {
            most = middle;
        }
        else {
            least = middle;
        }
    }
    set(s, most);
    return most;
}

/* More spare ones, or a larger factor, of the workers that there are. */
static bool search_within(ka_simulated_more *more, search *s,
                          const ka_sim_config *block)
{
    const uint32_t workers = s->config.spawn.max_request_workers;

    if (suffices(s)) {
        return true;
    }
    set_spare(s, workers);
    if (!suffices(s) && s->config.spawn.mpm == KA_MPM_EVENT &&
        s->config.async_factor < FACTOR_MOST) {
        set_factor(s, FACTOR_MOST);
        if (suffices(s)) {
            more->async_factor =
                smallest(s, set_factor, block->async_factor, FACTOR_MOST);
        }
    }
    if (!suffices(s)) {
        return false;
    }
    more->min_spare = workers;
    if (block->spawn.min_spare < workers) {
        more->min_spare =
            smallest(s, set_spare, block->spawn.min_spare, workers);
    }
    return true;
}

/* The most workers worth a try: those that are held at once, if each finds
 * one.  0: no more than there are. */
static uint32_t most_workers(search *s, int64_t limit)
{
    const uint32_t threads = s->config.spawn.threads_per_child;
    const uint32_t now = s->config.spawn.max_request_workers;
    uint32_t most = limit >= 0 ? whole(limit) : WORKERS_MOST;
    double peak;

    most -= most % threads;
    if (most <= now) {
        return 0;
    }
    set_workers(s, most);
    if (!suffices(s)) {
        return s->failed ? 0 : most;
    }
    peak = s->config.spawn.mpm == KA_MPM_EVENT ? s->result.outcome.busy.peak
                                               : s->result.outcome.held.peak;
    peak = ceil(peak / threads) * threads;
    return peak < most && peak > now ? (uint32_t)peak : most;
}

/* Numbers of whole children. */
static uint32_t children_for(uint32_t workers, uint32_t threads)
{
    return (workers + threads - 1) / threads * threads;
}

/* More workers than the block has, as many as memory holds. */
static void search_beyond(ka_simulated_more *more, search *s,
                          const ka_sim_config *block, int64_t limit)
{
    const uint32_t now = block->spawn.max_request_workers;
    uint32_t most;

    s->config = *block;
    most = most_workers(s, limit);
    if (most <= now) {
        return;
    }
    set_workers(s, most);
    if (!suffices(s)) {
        /* All that fit, if that spares somebody the wait. */
        more->workers =
            limit >= 0 && s->result.waited <
                              s->j->answer->simulated.proposed.result.waited
                ? most
                : 0;
        return;
    }
    more->workers = children_for(smallest(s, set_workers, now, most),
                                 block->spawn.threads_per_child);
    set_workers(s, more->workers);
    s->config.spawn.min_spare = block->spawn.min_spare;
    s->config.spawn.max_spare = block->spawn.max_spare;
    search_within(more, s, block);
}

ka_simulated_more ka_simulate_search(const ka_decision *d,
                                     const ka_mpm_answer *a, int64_t limit)
{
    ka_simulated_more more = {0};
    ka_sim_config block;
    search s;
    job j;

    if (!job_begin(&j, d, a)) {
        return more;
    }
    block = config_of_block(&j);
    s = (search){
        .j = &j, .config = block, .max_spare = block.spawn.max_spare};
    if (!search_within(&more, &s, &block)) {
        more = (ka_simulated_more){0};
        search_beyond(&more, &s, &block, limit);
    }
    job_end(&j);
    return s.failed ? (ka_simulated_more){0} : more;
}

/* ---- a start ------------------------------------------------------------ */

static void set_start(search *s, uint32_t children)
{
    s->config.spawn.start_servers = children;
}

uint32_t ka_simulate_start(const ka_decision *d, ka_mpm_answer *a)
{
    ka_simulated *out = &a->simulated;
    uint32_t children = 0, most;
    search s;
    job j;

    if (!job_begin(&j, d, a)) {
        return 0;
    }
    s = (search){.j = &j, .config = config_of_block(&j), .start = true};
    out->started_known = play(&j, &out->started, &s.config, true);
    most = s.config.spawn.max_request_workers /
           s.config.spawn.threads_per_child;
    if (out->started_known && out->started.waits &&
        s.config.spawn.start_servers < most) {
        const uint32_t least = s.config.spawn.start_servers;

        set_start(&s, most);
        children = suffices(&s) ? smallest(&s, set_start, least, most) : 0;
    }
    job_end(&j);
    return children;
}
