/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What the spawn loop says of StartServers and spare workers [M15], in words.
 */
#include "group.h"
#include "rows.h"

#include <apr_strings.h>

#include "../words.h"

/* ---- words --------------------------------------------------------------- */

/* What waits: on event a request on a connection that is open takes a worker
 * as a new one does. */
static const char *noun_of(ka_mpm mpm)
{
    return mpm == KA_MPM_EVENT ? "request" : "connection";
}

/* Of a number of spare or started ones. */
static const char *who_waits(apr_pool_t *p, const ka_spawn_result *r)
{
    const uint64_t waited = r->waited, all = r->connections;

    if (waited == 0 || r->wait_p999_s == 0) {
        return "nobody waits at p99.9";
    }
    return apr_psprintf(
        p, "%s, up to %s",
        waited > all / 2
            ? apr_psprintf(p, "%s wait",
                           ka_words_share(p, (double)waited / (double)all))
            : apr_psprintf(p, "1 in %s waits",
                           ka_words_whole(p, (double)all / (double)waited)),
        ka_words_duration(p, r->wait_most_s * 1e6));
}

/* Where the seconds are from. */
static const char *hour_of(const ka_row_context *c, const ka_spawn_result *r,
                           const char *host)
{
    apr_pool_t *p = c->d->pool;
    const ka_supply *supply = &c->answer->supply;

    return apr_psprintf(
        p, "the busiest hour (%s%s%s%s)",
        ka_words_plural(p, (int64_t)r->connections, noun_of(c->answer->mpm)),
        host ? apr_psprintf(p, " on %s", ka_words_clean(p, host, false)) : "",
        supply->growth != 1
            ? apr_psprintf(p, ", times %s for growth",
                           ka_words_number(p, supply->growth))
            : "",
        c->answer->spawned.scaled
            ? apr_psprintf(p, ", scaled from a timeout of %s",
                           ka_words_timeout(p, c->d->report->timeout_us))
            : "");
}

/* "; with 5 (now) 1 in 200 waits, up to 3s". */
static const char *otherwise(apr_pool_t *p, const ka_spawn_other *other,
                             uint32_t number)
{
    if (other->number == number) {
        return "";
    }
    return apr_psprintf(p, "; with %s (%s) %s",
                        ka_words_count(p, other->number),
                        other->is_default ? "httpd's default" : "now",
                        who_waits(p, &other->result));
}

static const char *no_series(const ka_row_context *c)
{
    return apr_psprintf(c->d->pool,
                        " An estimate: %s, so httpd's spawning cannot be "
                        "simulated.",
                        c->answer->spawned.why_not);
}

/* ---- reasons ------------------------------------------------------------- */

const char *ka_why_start(const ka_row_context *c)
{
    apr_pool_t *p = c->d->pool;
    const ka_spawned *s = &c->answer->spawned;

    if (s->why_not) {
        return apr_psprintf(p,
                            "The mean of %s workers and the spare ones at once "
                            "after a start.%s",
                            ka_words_number(p, c->answer->supply.holds_idle
                                                   ? c->to->held_mean
                                                   : c->to->busy_mean),
                            no_series(c));
    }
    return apr_psprintf(
        p, "With %s %s after a start into %s%s.",
        ka_words_count(p, s->start_servers), who_waits(p, &s->started),
        hour_of(c, &s->started, s->start_host),
        otherwise(p, &s->start, s->start_servers));
}

const char *ka_why_min_spare(const ka_row_context *c)
{
    apr_pool_t *p = c->d->pool;
    const ka_spawned *s = &c->answer->spawned;

    if (s->why_not) {
        return apr_psprintf(
            p,
            "A busy second (p99) opens %s connections%s; httpd adds workers "
            "once a second.%s",
            ka_words_number(p,
                            ka_busy_opens(c->d->report, c->to->timeout_us) *
                                c->answer->supply.growth),
            c->d->report->host_n > 0 ? " on the busiest server" : "",
            no_series(c));
    }
    return apr_psprintf(
        p, "With %s spare %s in %s%s.%s", ka_words_count(p, s->min_spare),
        who_waits(p, &s->running), hour_of(c, &s->running, s->spare_host),
        otherwise(p, &s->spare, s->min_spare),
        s->feasible ? "" : " More spare would not help: all workers are held.");
}

const char *ka_why_max_spare(const ka_row_context *c)
{
    return c->answer->mpm == KA_MPM_EVENT
               ? "MaxRequestWorkers: no child is retired for being spare, "
                 "which would close its idle connections (R4)."
               : "Twice the minimum, so that children are not stopped and "
                 "started in turn.";
}

/* ---- evidence ------------------------------------------------------------ */

void ka_spawn_evidence(ka_advice *row, const ka_row_context *c,
                       ka_block_item item)
{
    const ka_spawned *s = &c->answer->spawned;
    const bool start = item == KA_BLOCK_START_SERVERS;
    const ka_spawn_result *r = start ? &s->started : &s->running;
    const ka_spawn_other *other = start ? &s->start : &s->spare;

    if (s->why_not || (!start && item != KA_BLOCK_MIN_SPARE)) {
        return;
    }
    ka_row_evidence(row, "arrivals", (double)r->connections);
    ka_row_evidence(row, "waited", (double)r->waited);
    ka_row_evidence(row, "wait_p999_s", r->wait_p999_s);
    ka_row_evidence(row, "wait_most_s", r->wait_most_s);
    ka_row_evidence(row, "compared_with", other->number);
    ka_row_evidence(row, "compared_waited", (double)other->result.waited);
    ka_row_evidence(row, "compared_wait_most_s", other->result.wait_most_s);
}

/* ---- warnings ------------------------------------------------------------ */

const char *ka_warn_spawn(const ka_decision *d)
{
    apr_pool_t *p = d->pool;
    size_t i;

    for (i = 0; i < d->report->answer_n; i++) {
        const ka_mpm_answer *a = &d->report->answers[i];

        if (!a->block_known || a->spawned.why_not || a->spawned.feasible ||
            (a->simulated.known && a->simulated.decides)) {
            continue;
        }
        return apr_psprintf(
            p,
            "On %s, %ss wait for a worker even with all %s of "
            "MaxRequestWorkers there: in the busiest hour %s.",
            ka_mpm_name(a->mpm), noun_of(a->mpm),
            ka_words_count(p, a->block.value[KA_BLOCK_MAX_REQUEST_WORKERS]),
            who_waits(p, &a->spawned.running));
    }
    return NULL;
}

/* What httpd does with its present settings at the present timeout. */
const char *ka_warn_spawn_now(const ka_decision *d)
{
    apr_pool_t *p = d->pool;
    const ka_mpm_answer *a = d->report->answers;
    const ka_spawned *s = &a->spawned;

    if (d->report->answer_n != 1 || !a->block_known || s->why_not ||
        !s->now_known || s->now_result.wait_p999_s == 0) {
        return NULL;
    }
    if (s->now_scarce) {
        return apr_psprintf(
            p,
            "With the present MaxRequestWorkers %s all are held in the busiest "
            "hour: of %s %s for one.",
            ka_words_count(p, s->now.max_request_workers),
            ka_words_plural(p, (int64_t)s->now_result.connections,
                            noun_of(a->mpm)),
            who_waits(p, &s->now_result));
    }
    return apr_psprintf(
        p,
        "With the present %s %s httpd starts workers too late: of the busiest "
        "hour's %s %s for one.",
        ka_block_info_of(KA_BLOCK_MIN_SPARE)->directive[a->mpm],
        ka_words_count(p, s->now.min_spare),
        ka_words_plural(p, (int64_t)s->now_result.connections,
                        noun_of(a->mpm)),
        who_waits(p, &s->now_result));
}
