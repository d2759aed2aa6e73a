/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "jsonparts.h"

static json_t *run_json(const ka_simulated_run *run)
{
    const ka_sim_result *r = &run->result;

    return json_pack(
        "{s:o, s:b, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
        "s:o, s:o}",
        "timeout_s", ka_doc_timeout(run->timeout_us), "keep_alive",
        run->timeout_us != KA_TIMEOUT_OFF, "somebody_waits", (int)run->waits,
        "requests", ka_doc_whole((int64_t)r->outcome.requests), "connections",
        ka_doc_whole((int64_t)r->outcome.connections), "wait", ka_doc_waits(r),
        "refused", ka_doc_whole((int64_t)r->refused), "given_up",
        ka_doc_whole((int64_t)r->given_up), "evicted",
        ka_doc_whole((int64_t)r->evicted), "dropped",
        ka_doc_whole((int64_t)r->dropped), "free_workers_least",
        ka_doc_whole(r->free_least), "children",
        json_pack("{s:o, s:o}", "mean", ka_doc_number(r->children_mean),
                  "peak", ka_doc_whole(r->children_most)),
        "memory_peak_bytes", ka_doc_whole(r->memory_most_bytes), "held_mean",
        ka_doc_number(r->outcome.held_mean), "held_mean_expected",
        ka_doc_number(run->held_expected));
}

static json_t *traffic(const ka_stretch *s, apr_pool_t *pool)
{
    const ka_sim_traffic *t = s->traffic;

    return json_pack("{s:o, s:o, s:o, s:b, s:o}", "requests",
                     ka_doc_whole((int64_t)s->requests), "chains",
                     ka_doc_whole((int64_t)t->chain_n), "window_s",
                     ka_doc_seconds(t->end_us - t->begin_us), "drawn",
                     (int)s->drawn, "how", ka_doc_text(s->how, pool));
}

static json_t *raised(const ka_mpm_answer *answer)
{
    json_t *array = json_array();
    int i;

    for (i = 0; i < KA_BLOCK_ITEMS; i++) {
        const char *name =
            ka_block_info_of((ka_block_item)i)->directive[answer->mpm];

        if (name && answer->simulated.raised & 1u << i) {
            json_array_append_new(array, json_string(name));
        }
    }
    return array;
}

json_t *ka_doc_simulated(const ka_mpm_answer *answer, apr_pool_t *pool)
{
    const ka_simulated *s = &answer->simulated;

    if (!s->known) {
        return json_null();
    }
    return json_pack("{s:o, s:b, s:o, s:o, s:o, s:o, s:o}", "traffic",
                     traffic(&s->stretch, pool), "decides", (int)s->decides,
                     "host",
                     ka_doc_text(s->host, pool), "now",
                     s->now_known ? run_json(&s->now) : json_null(),
                     "proposed", run_json(&s->proposed), "started",
                     s->started_known ? run_json(&s->started) : json_null(),
                     "raised", raised(answer));
}
