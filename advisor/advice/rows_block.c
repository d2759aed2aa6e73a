/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * The directives of an MPM's block (R4, R8), each with its reason. */
#include "group.h"
#include "rows.h"

#include <inttypes.h>
#include <apr_strings.h>

#include "../words.h"

/* What the traffic needs. */
static const char *why_demand(const ka_row_context *c)
{
    apr_pool_t *p = c->d->pool;
    const ka_supply *supply = &c->answer->supply;
    const ka_outcome *to = c->to;
    const ka_report *busiest = ka_group_busiest(&to, c->d->report, supply,
                                                c->to->timeout_us);
    const ka_held *held = supply->holds_idle ? &to->held : &to->busy;
    const char *growth = "", *where = "";

    if (!ka_service_known(c->d->report->profile)) {
        return supply->holds_idle
                   ? apr_psprintf(p,
                                  "Idle connections alone need %s; busy "
                                  "workers are not known (no %%D in the log).",
                                  ka_words_whole(p, c->fit->workers))
                   : "Busy workers are not known (no %D in the log).";
    }
    if (supply->growth != 1) {
        growth = apr_psprintf(p, ", times %s for growth",
                              ka_words_number(p, supply->growth));
    }
    if (busiest) {
        where = apr_psprintf(p, " on %s, the busiest server",
                             ka_words_clean(p, busiest->host, false));
    }
    return apr_psprintf(
        p,
        "%s needed so that 1 arrival in 1,000 waits%s: mean %s, peak %s%s%s.",
        ka_words_whole(p, c->fit->workers), where,
        ka_words_number(p, held->mean),
        ka_words_whole(p, held->peak),
        supply->holds_idle ? "" : ", threads up to 65% busy", growth);
}

/* Why the limit is not just what the traffic needs. */
static const char *why_limit(const ka_row_context *c, int64_t to)
{
    const ka_server *server = c->d->report->server;
    apr_pool_t *p = c->d->pool;
    int64_t now = ka_workers_now(c->d->report, c->answer->mpm);

    if ((double)to < c->fit->workers) {
        return " That is all that fits.";
    }
    if (to < now) {
        return apr_psprintf(p, " %s do not fit.", ka_words_count(p, now));
    }
    if (c->fit->workers >= (double)now) {
        return "";
    }
    if (to > now && c->d->report->server->facts[KA_FACT_MAX_REQUEST_WORKERS]
                        .known) {
        return apr_psprintf(p,
                            " Not below the present %s: a limit reserves "
                            "nothing; %s are whole children.",
                            ka_words_count(p, now), ka_words_count(p, to));
    }
    if (c->d->report->facts_differ[KA_FACT_MAX_REQUEST_WORKERS]) {
        return " Not below the largest present limit: it reserves nothing.";
    }
    return server->facts[KA_FACT_MAX_REQUEST_WORKERS].known
               ? " The present limit stays: it reserves nothing."
               : apr_psprintf(p,
                              " Not below httpd's default %s: a limit "
                              "reserves nothing.",
                              ka_words_count(p, now));
}

static const char *why_workers(const ka_row_context *c)
{
    apr_pool_t *p = c->d->pool;
    const ka_supply *supply = &c->answer->supply;
    int64_t to = c->answer->block.value[KA_BLOCK_MAX_REQUEST_WORKERS];
    int64_t memory = ka_capacity_memory(supply, to, c->fit->connections);
    const char *memory_text = "";

    if (memory >= 0) {
        memory_text = apr_psprintf(
            p, " %s of them take %s%s%s.", ka_words_count(p, to),
            ka_words_size(p, memory),
            supply->memory_bytes >= 0 ? " of " : "",
            supply->memory_bytes >= 0 ? ka_words_size(p, supply->memory_bytes)
                                      : "");
    }
    return apr_pstrcat(p, why_demand(c), memory_text, why_limit(c, to), NULL);
}

static const char *why_server_limit(const ka_row_context *c)
{
    return c->answer->mpm == KA_MPM_PREFORK
               ? "Room for MaxRequestWorkers (R8)."
           : c->answer->mpm == KA_MPM_WORKER
               ? "MaxRequestWorkers / ThreadsPerChild (R8)."
               : "MaxRequestWorkers / ThreadsPerChild x 1.25 + 1: children of "
                 "the old generation finish beside the new ones (R4).";
}

static const char *why_thread_limit(const ka_row_context *c)
{
    (void)c;
    return "At least ThreadsPerChild (R8).";
}

static const char *why_threads(const ka_row_context *c)
{
    return c->answer->mpm == KA_MPM_EVENT
               ? "Few large children: idle connections are dropped when all "
                 "threads of their child are busy, and 64 threads at 60% load "
                 "are so 4e-5 of the time, 25 threads 5e-3 (R4)."
               : "Fewer processes for the same workers.";
}

static const char *why_per_child(const ka_row_context *c)
{
    const ka_server *server = c->d->report->server;
    int64_t leak = ka_server_get(server, KA_FACT_LEAK, -1);
    int64_t unique = ka_server_get(server, KA_FACT_PROCESS_MEMORY, -1);
    apr_pool_t *p = c->d->pool;

    if (c->answer->block.value[KA_BLOCK_MAX_CONNECTIONS_PER_CHILD] <= 0) {
        return "No leak was measured; it counts connections, not requests "
               "(R9).";
    }
    return apr_psprintf(
        p,
        "A request leaves %s in a child: after %s of them it has grown by "
        "%.0f%% of its %s. It counts connections, of %s requests each, not "
        "requests (R9).",
        ka_words_size(p, leak),
        ka_words_whole(p, KA_LEAK_GROWTH * (double)unique / (double)leak),
        100 * KA_LEAK_GROWTH, ka_words_size(p, unique),
        ka_words_number(p, ka_requests_per_connection(c->d->report, c->answer)));
}

static const char *why_async(const ka_row_context *c)
{
    return apr_psprintf(
        c->d->pool,
        "Room for %s open connections at the peak, x 1.3, on %s workers of "
        "which 65%% are busy (M13).",
        ka_words_whole(c->d->pool, c->fit->connections),
        ka_words_count(
            c->d->pool,
            c->answer->block.value[KA_BLOCK_MAX_REQUEST_WORKERS]));
}

static const struct {
    const char *rule;
    ka_fact_id fact; /* that holds the present value; KA_FACTS: none */
    const char *(*why)(const ka_row_context *c);
} block_rows[KA_BLOCK_ITEMS] = {
    [KA_BLOCK_SERVER_LIMIT] = {"R8", KA_FACT_SERVER_LIMIT, why_server_limit},
    [KA_BLOCK_THREAD_LIMIT] = {"R8", KA_FACT_THREAD_LIMIT, why_thread_limit},
    [KA_BLOCK_THREADS_PER_CHILD] = {"R4", KA_FACT_THREADS_PER_CHILD,
                                    why_threads},
    [KA_BLOCK_START_SERVERS] = {"M15", KA_FACT_START_SERVERS, ka_why_start},
    [KA_BLOCK_MIN_SPARE] = {"M15", KA_FACT_MIN_SPARE, ka_why_min_spare},
    [KA_BLOCK_MAX_SPARE] = {"R4", KA_FACT_MAX_SPARE, ka_why_max_spare},
    [KA_BLOCK_MAX_REQUEST_WORKERS] = {"M12", KA_FACT_MAX_REQUEST_WORKERS,
                                      why_workers},
    [KA_BLOCK_MAX_CONNECTIONS_PER_CHILD] = {"M17",
                                            KA_FACT_MAX_CONNECTIONS_PER_CHILD,
                                            why_per_child},
    [KA_BLOCK_ASYNC_FACTOR] = {"M13", KA_FACT_ASYNC_FACTOR, why_async}};

static void advise_block_item(const ka_row_context *c, ka_block_item item)
{
    const ka_block_info *info = ka_block_info_of(item);
    const ka_server *server = c->d->report->server;
    int64_t to = c->answer->block.value[item];
    int64_t now = block_rows[item].fact == KA_FACTS
                      ? -1
                      : ka_server_get(server, block_rows[item].fact, -1);
    ka_advice *row;

    if (to < 0) {
        return;
    }
    row = ka_row_push(c, block_rows[item].rule, info->directive[c->answer->mpm],
                   info->restart ? "restart" : "reload");
    row->from = now < 0 ? NULL : apr_psprintf(c->d->pool, "%" PRId64, now);
    row->to = apr_psprintf(c->d->pool, "%" PRId64, to);
    row->change =
        to != (now < 0 ? info->httpd_default[c->answer->mpm] : now);
    ka_row_differs(c, row, block_rows[item].fact);
    row->because = ka_why_raised(
        c, item, ka_why_stays(c, item, block_rows[item].why(c)));
    if (!ka_service_known(c->d->report->profile)) {
        row->confidence = KA_CONFIDENCE_LOW;
    }
    ka_row_evidence(row, "workers_needed", c->fit->workers);
    ka_spawn_evidence(row, c, item);
    if (item == KA_BLOCK_MAX_REQUEST_WORKERS) {
        ka_row_evidence(row, "held_mean", c->to->held_mean);
        ka_row_evidence(row, "held_peak", c->to->held.peak);
        if (c->answer->supply.process_bytes > 0) {
            ka_row_evidence(row, "memory_bytes",
                     (double)ka_capacity_memory(&c->answer->supply, to,
                                                c->fit->connections));
        }
    }
}

void ka_rows_block(const ka_row_context *c)
{
    int i;

    for (i = 0; i < KA_BLOCK_ITEMS; i++) {
        advise_block_item(c, (ka_block_item)i);
    }
}
