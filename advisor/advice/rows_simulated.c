/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What the simulation of the MPM says, in words: why a number was raised, and
 * who waits all the same. */
#include "rows.h"

#include <apr_strings.h>

#include "../words.h"

static const char *count_of(apr_pool_t *p, uint64_t n, const char *what)
{
    return n ? apr_pstrcat(p, ka_words_count(p, (int64_t)n), " ", what, NULL)
             : NULL;
}

/* "1 connection in 40 waits for a worker, 1 in 1,000 at least 2s". */
static const char *who_waits(apr_pool_t *p, const ka_sim_result *r)
{
    const char *const parts[] = {
        r->waited ? apr_psprintf(
                        p, "1 connection in %s waits for a worker, up to %s",
                        ka_words_number(p, (double)r->outcome.connections /
                                               (double)r->waited),
                        ka_words_duration(p, (double)r->wait_most_us))
                  : NULL,
        count_of(p, r->refused, "attempts to connect are refused"),
        count_of(p, r->given_up, "requests are lost"),
        count_of(p, r->dropped, "requests meet the eviction of their "
                                "connection")};
    const char *text =
        ka_words_join(p, parts, sizeof(parts) / sizeof(parts[0]));

    return text ? text : "nobody waits";
}

static const char *stretch_of(apr_pool_t *p, const ka_simulated *s)
{
    const ka_sim_traffic *t = s->stretch.traffic;

    return apr_psprintf(
        p, "the busiest %s%s%s",
        ka_words_duration(p, (double)t->end_us - (double)t->begin_us),
        s->host ? " on " : "",
        s->host ? ka_words_clean(p, s->host, false) : "");
}

/* ---- rows --------------------------------------------------------------- */

/* What the simulation asks for; the others follow from these. */
#define ASKED_FOR                                                              \
    (1u << KA_BLOCK_MIN_SPARE | 1u << KA_BLOCK_MAX_REQUEST_WORKERS |           \
     1u << KA_BLOCK_ASYNC_FACTOR | 1u << KA_BLOCK_START_SERVERS)

/* The number itself is what was sought; of the others more was. */
static const char *sought(const ka_row_context *c, ka_block_item item,
                          const char *where, const ka_sim_result *before)
{
    const ka_mpm_answer *a = c->answer;
    apr_pool_t *p = c->d->pool;

    return apr_psprintf(
        p, "With %s%s nobody waits at p99.9: simulated, %s %s; with %s, %s.",
        ka_words_count(p, a->block.value[item]),
        item == KA_BLOCK_MIN_SPARE ? " spare" : "", where,
        stretch_of(p, &a->simulated),
        ka_words_count(p, a->simulated.before.value[item]),
        who_waits(p, before));
}

const char *ka_why_raised(const ka_row_context *c, ka_block_item item,
                          const char *why)
{
    const ka_simulated *s = &c->answer->simulated;
    apr_pool_t *p = c->d->pool;

    if (!(s->raised & ASKED_FOR & 1u << item)) {
        return why;
    }
    if (item == KA_BLOCK_START_SERVERS) {
        return s->before_start.waited
                   ? sought(c, item, "after a start into", &s->before_start)
                   : why;
    }
    if (item == KA_BLOCK_MIN_SPARE && !s->proposed.waits) {
        return sought(c, item, "in", &s->before_result);
    }
    return apr_psprintf(p, "%s Raised from %s: simulated, in %s %s without.",
                        why, ka_words_count(p, s->before.value[item]),
                        stretch_of(p, s), who_waits(p, &s->before_result));
}

/* ---- warnings ----------------------------------------------------------- */

/* What would have to change, where no number of the block is enough. */
static const char *way_out(const ka_decision *d, const ka_mpm_answer *a)
{
    const ka_simulated *s = &a->simulated;
    const int64_t workers = a->block.value[KA_BLOCK_MAX_REQUEST_WORKERS];
    const char *event =
        a->supply.holds_idle
            ? ", or the event MPM, where an idle connection holds no worker"
            : "";

    if (s->limit >= 0 && workers + a->supply.threads_per_child > s->limit) {
        return apr_psprintf(
            d->pool,
            "No more fit into %s: give httpd more memory, or shorten "
            "KeepAliveTimeout below %s%s.",
            ka_words_size(d->pool, a->supply.memory_bytes),
            ka_words_timeout(d->pool, s->proposed.timeout_us), event);
    }
    return apr_psprintf(d->pool,
                        "More of them would not help; a shorter "
                        "KeepAliveTimeout than %s may%s.",
                        ka_words_timeout(d->pool, s->proposed.timeout_us),
                        event);
}

static bool decides(const ka_mpm_answer *a)
{
    return a->simulated.known && a->simulated.decides;
}

const char *ka_warn_waits(const ka_decision *d)
{
    apr_pool_t *p = d->pool;
    size_t i;

    for (i = 0; i < d->report->answer_n; i++) {
        const ka_mpm_answer *a = &d->report->answers[i];

        if (decides(a) && a->simulated.proposed.waits) {
            return apr_psprintf(
                p,
                "On %s somebody waits under the proposed settings, even with "
                "all %s of MaxRequestWorkers there: simulated, in %s %s. %s",
                ka_mpm_name(a->mpm),
                ka_words_count(p,
                               a->block.value[KA_BLOCK_MAX_REQUEST_WORKERS]),
                stretch_of(p, &a->simulated),
                who_waits(p, &a->simulated.proposed.result), way_out(d, a));
        }
    }
    return ka_warn_spawn(d);
}

const char *ka_warn_waits_now(const ka_decision *d)
{
    apr_pool_t *p = d->pool;
    const ka_mpm_answer *a = d->report->answers;
    const ka_simulated *s = &a->simulated;

    if (!decides(a) || !s->now_known) {
        return ka_warn_spawn_now(d);
    }
    if (!s->now.waits || !s->now_differs) {
        return NULL;
    }
    return apr_psprintf(
        p,
        "Under the present settings (%s %s, MaxRequestWorkers %s, "
        "KeepAliveTimeout %s) somebody waits: simulated, in %s %s.",
        ka_block_info_of(KA_BLOCK_MIN_SPARE)->directive[a->mpm],
        ka_words_count(p, s->now_settings.min_spare),
        ka_words_count(p, s->now_settings.max_request_workers),
        ka_words_timeout(p, s->now.timeout_us), stretch_of(p, s),
        who_waits(p, &s->now.result));
}
