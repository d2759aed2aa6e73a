/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What is there and enough stays: a limit above what is needed reserves
 * nothing, and a server is not to be changed for nothing. */
#include "group.h"
#include "rows.h"

#include <apr_strings.h>

#include "../words.h"

static int64_t children_of(const ka_mpm_answer *a)
{
    const int64_t *v = a->block.value;

    return a->mpm == KA_MPM_PREFORK
               ? v[KA_BLOCK_MAX_REQUEST_WORKERS]
               : v[KA_BLOCK_MAX_REQUEST_WORKERS] /
                     v[KA_BLOCK_THREADS_PER_CHILD];
}

/* Above it the present value is no longer just enough; -1: never. */
typedef int64_t most_fn(const ka_mpm_answer *a);

static int64_t all_children(const ka_mpm_answer *a)
{
    return children_of(a);
}

static int64_t half_of_workers(const ka_mpm_answer *a)
{
    return a->block.value[KA_BLOCK_MAX_REQUEST_WORKERS] / 2;
}

static int64_t unlimited(const ka_mpm_answer *a)
{
    (void)a;
    return INT64_MAX;
}

static const struct {
    ka_block_item item;
    ka_fact_id fact;
    most_fn *most;
} stays[] = {{KA_BLOCK_SERVER_LIMIT, KA_FACT_SERVER_LIMIT, unlimited},
             {KA_BLOCK_THREAD_LIMIT, KA_FACT_THREAD_LIMIT, unlimited},
             {KA_BLOCK_START_SERVERS, KA_FACT_START_SERVERS, all_children},
             {KA_BLOCK_MIN_SPARE, KA_FACT_MIN_SPARE, half_of_workers},
             {KA_BLOCK_MAX_SPARE, KA_FACT_MAX_SPARE, unlimited},
             {KA_BLOCK_ASYNC_FACTOR, KA_FACT_ASYNC_FACTOR, unlimited}};

/* httpd's loop on the busiest hour finds that nobody waits with the present
 * number either: then it need not be as large as httpd's default. */
static bool does_as_well(const ka_mpm_answer *a, const ka_spawn_other *now)
{
    return !a->spawned.why_not && !now->is_default &&
           now->result.wait_p999_s == 0;
}

static void keep_spawning(const ka_decision *d, ka_mpm_answer *a,
                          ka_block_item item, ka_fact_id fact,
                          const ka_spawn_other *other)
{
    int64_t now = ka_server_get(d->report->server, fact, -1);

    if (d->report->host_n == 0 && now > 0 && now < a->block.value[item] &&
        now == (int64_t)other->number && does_as_well(a, other)) {
        a->block.value[item] = now;
        a->stays |= 1u << item;
    }
}

/* Unless it was measured that requests leave nothing, an operator's limit on
 * the life of children may have its reason ([M17], R9). */
static void keep_life(const ka_decision *d, ka_mpm_answer *a)
{
    const ka_server *server = d->report->server;
    int64_t now =
        ka_server_get(server, KA_FACT_MAX_CONNECTIONS_PER_CHILD, 0);

    if (now > 0 && !server->facts[KA_FACT_LEAK].known) {
        a->block.value[KA_BLOCK_MAX_CONNECTIONS_PER_CHILD] = now;
        a->stays |= 1u << KA_BLOCK_MAX_CONNECTIONS_PER_CHILD;
    }
}

void ka_keep_enough(const ka_decision *d, ka_mpm_answer *a)
{
    const ka_server *server = d->report->server;
    const ka_fact *mpm = &server->facts[KA_FACT_ID_MPM];
    int64_t *v = a->block.value;
    int64_t threads;
    size_t i;

    if (!mpm->known || mpm->value != a->mpm) {
        return;
    }
    for (i = 0; i < sizeof(stays) / sizeof(stays[0]); i++) {
        int64_t now = ka_server_get(server, stays[i].fact, -1);

        if (v[stays[i].item] >= 0 && now > v[stays[i].item] &&
            now <= stays[i].most(a)) {
            v[stays[i].item] = now;
            a->stays |= 1u << stays[i].item;
        }
    }
    keep_spawning(d, a, KA_BLOCK_MIN_SPARE, KA_FACT_MIN_SPARE,
                  &a->spawned.spare);
    keep_spawning(d, a, KA_BLOCK_START_SERVERS, KA_FACT_START_SERVERS,
                  &a->spawned.start);
    threads = a->mpm == KA_MPM_PREFORK ? 1 : v[KA_BLOCK_THREADS_PER_CHILD];
    if (v[KA_BLOCK_MAX_SPARE] < v[KA_BLOCK_MIN_SPARE] + threads) {
        v[KA_BLOCK_MAX_SPARE] = v[KA_BLOCK_MIN_SPARE] + threads;
    }
    keep_life(d, a);
}

const char *ka_why_stays(const ka_row_context *c, ka_block_item item,
                         const char *why)
{
    if (!(c->answer->stays & 1u << item)) {
        return why;
    }
    if (item == KA_BLOCK_MAX_CONNECTIONS_PER_CHILD) {
        return "Whether requests leave memory behind was not measured, so the "
               "present value stays; where they leave none, 0 is right. It "
               "counts connections, not requests (R9).";
    }
    return apr_pstrcat(c->d->pool, why,
                       " The present value is enough, and stays.",
                       NULL);
}
