/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * `kaadvisor doctor` for programs, schema "kaadvisor-doctor/1". */
#include "doctor.h"

#include <math.h>

#include "../model/capacity.h"
#include "jsonparts.h"

#define SCHEMA "kaadvisor-doctor/1"

static const char *const trust_names[] = {"low", "medium", "high"};

static const char *measure_name(ka_measure measure)
{
    static const char *const names[] = {NULL, "rss", "smaps", "smaps_rollup"};

    return names[measure];
}

/* Counts and bytes as whole numbers. */
static json_t *quantity(double value)
{
    return value >= 0 && value < 9e15 && value == floor(value)
               ? json_integer((json_int_t)value)
               : ka_doc_number(value);
}

/* ---- parts ------------------------------------------------------------- */

static json_t *limits(const ka_limit_table *table, bool of_host,
                      apr_pool_t *pool)
{
    json_t *array = json_array();
    int i;

    for (i = 0; i < table->rows->nelts; i++) {
        const ka_limit *row = &APR_ARRAY_IDX(table->rows, i, const ka_limit);

        if (row->of_host == of_host) {
            json_array_append_new(
                array, json_pack("{s:s, s:s, s:o, s:o, s:o, s:o, s:s, s:o}",
                                 "id", row->id, "what", row->what, "value",
                                 quantity(row->value), "capacity",
                                 row->capacity < 0 ? json_null()
                                                   : quantity(row->capacity),
                                 "text", ka_doc_text(row->text, pool), "origin",
                                 ka_doc_text(row->origin, pool), "verdict",
                                 ka_limit_verdict_name(row->verdict), "remedy",
                                 ka_doc_text(row->remedy, pool)));
        }
    }
    return array;
}

static json_t *services(const ka_memory_others *others, apr_pool_t *pool)
{
    json_t *array = json_array();
    int i;

    for (i = 0; i < others->services->nelts; i++) {
        const ka_service *s =
            &APR_ARRAY_IDX(others->services, i, const ka_service);

        json_array_append_new(
            array, json_pack("{s:o, s:o, s:i, s:o, s:b}", "name",
                             ka_doc_text(s->name, pool), "kind",
                             ka_doc_text(s->kind, pool), "processes",
                             s->processes, "bytes", ka_doc_whole(s->bytes),
                             "upper_bound", s->upper_bound));
    }
    return array;
}

static json_t *leak(const ka_memory_leak *leak)
{
    return json_pack(
        "{s:b, s:o, s:o, s:I}", "measured", leak->measured, "bytes_per_request",
        leak->measured ? ka_doc_number(leak->bytes_per_request) : json_null(),
        "error", leak->measured ? ka_doc_number(leak->error) : json_null(),
        "children", (json_int_t)leak->children);
}

/* Requests of one are null where mod_kastats does not count them. */
static json_t *children(const ka_memory *m)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < m->child_n; i++) {
        const ka_memory_child *c = &m->children[i];

        json_array_append_new(
            array,
            json_pack("{s:i, s:o, s:o, s:o, s:o, s:b}", "pid", c->pid,
                      "requests", ka_doc_whole(c->requests), "age_s",
                      ka_doc_seconds(c->age_us), "unique_bytes",
                      ka_doc_whole(c->memory.uss), "pss_bytes",
                      ka_doc_whole(c->memory.pss), "warm", c->warm));
    }
    return array;
}

static json_t *memory(const ka_memory *m, apr_pool_t *pool)
{
    json_t *object =
        json_pack("{s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "known", m->known,
                  "measure", ka_doc_text(measure_name(m->measure), pool),
                  "shared_bytes", ka_doc_whole(m->shared_bytes), "unique_bytes",
                  ka_doc_whole(m->unique_bytes), "unique_max_bytes",
                  ka_doc_whole(m->unique_most), "pss_sum_bytes",
                  ka_doc_whole(m->pss_sum), "swap_bytes",
                  m->measure >= KA_MEASURE_SMAPS ? ka_doc_whole(m->swap_bytes)
                                                 : json_null(),
                  "leak", leak(&m->leak));
    json_t *more = json_pack(
        "{s:I, s:I, s:o, s:s, s:o, s:o, s:o}", "children",
        (json_int_t)m->child_n, "warm_children", (json_int_t)m->warm_n,
        "processes", children(m), "trust", trust_names[m->trust],
        "wait_s", ka_doc_seconds(m->wait_us), "origin",
        ka_doc_text(m->origin, pool), "remark", ka_doc_text(m->remark, pool));

    if (object) {
        json_object_update(object, more);
    }
    json_decref(more);
    return object;
}

static json_t *budget(const ka_doctor_httpd *httpd, apr_pool_t *pool)
{
    const ka_memory_budget *b = &httpd->site.budget;
    json_t *bounds = json_array();
    size_t i;

    for (i = 0; i < b->n; i++) {
        const ka_memory_bound *bound = &b->bounds[i];

        json_array_append_new(
            bounds, json_pack("{s:o, s:o, s:o, s:o, s:b, s:o, s:o}", "name",
                              ka_doc_text(bound->name, pool), "origin",
                              ka_doc_text(bound->origin, pool), "limit_bytes",
                              ka_doc_whole(bound->limit), "others_bytes",
                              ka_doc_whole(bound->others), "others_upper_bound",
                              bound->others_upper_bound, "headroom_bytes",
                              ka_doc_whole(bound->headroom), "bytes",
                              ka_doc_whole(bound->bytes)));
    }
    return json_pack(
        "{s:o, s:o, s:o, s:o}", "bytes", ka_doc_whole(b->bytes), "tightest",
        b->n ? ka_doc_text(b->bounds[b->tightest].name, pool) : json_null(),
        "children", ka_doc_whole(httpd->fits), "bounds", bounds);
}

static json_t *cgroup(const ka_cgroup *c, apr_pool_t *pool)
{
    return json_pack(
        "{s:b, s:o, s:o, s:o, s:o, s:o, s:o}", "known", c->known, "version",
        c->version ? json_integer(c->version) : json_null(), "path",
        ka_doc_text(c->path, pool), "cpus",
        c->cpus < 0 ? json_null() : ka_doc_number(c->cpus), "throttled",
        c->throttled < 0 ? json_null() : ka_doc_number(c->throttled),
        "pids_max", ka_doc_whole(c->pids_max), "pids",
        ka_doc_whole(c->pids_now));
}

static json_t *setting_value(const ka_fact *fact, ka_fact_unit unit)
{
    switch (unit) {
    case KA_FACT_US:
        return ka_doc_seconds(fact->value);
    case KA_FACT_ONOFF:
        return json_boolean(fact->value != 0);
    default:
        return json_integer(fact->value);
    }
}

static json_t *settings(const ka_doctor_httpd *h, apr_pool_t *pool)
{
    json_t *object = json_object();
    int i;

    if (h->mpm != KA_MPM_UNKNOWN) {
        json_object_set_new(
            object, "mpm",
            json_pack("{s:s, s:o, s:b}", "value", ka_mpm_name(h->mpm), "origin",
                      ka_doc_text(h->mpm_origin, pool), "assumed", 0));
    }
    for (i = 0; i < KA_SETTINGS; i++) {
        const ka_fact *fact = &h->settings.facts[i];
        const ka_fact_info *info = ka_setting_info_of((ka_setting_id)i);

        if (fact->known) {
            json_object_set_new(object, info->key,
                                json_pack("{s:o, s:o, s:b}", "value",
                                          setting_value(fact, info->unit),
                                          "origin",
                                          ka_doc_text(fact->origin, pool),
                                          "assumed", fact->assumed));
        }
    }
    return object;
}

/* [M14] What an idle connection takes on event, where it takes no worker. */
static json_t *idle_connection(void)
{
    return json_pack("{s:I, s:I, s:s}", "plain",
                     (json_int_t)KA_IDLE_PLAIN_BYTES, "tls",
                     (json_int_t)KA_IDLE_TLS_BYTES, "origin",
                     "assumed: [M14], measured on event");
}

static json_t *httpd(const ka_doctor_httpd *h, apr_pool_t *pool)
{
    return json_pack(
        "{s:i, s:o, s:o, s:b, s:o, s:i, s:o, s:o, s:o, s:o, s:o, s:o}", "pid",
        h->instance->pid, "name", ka_doc_text(h->instance->name, pool), "label",
        ka_doc_text(h->label, pool), "container", h->instance->container,
        "settings", settings(h, pool), "threads_per_process",
        h->site.memory.threads, "memory", memory(&h->site.memory, pool),
        "idle_connection_bytes", idle_connection(), "cgroup",
        cgroup(&h->site.cgroup, pool), "budget", budget(h, pool), "limits",
        limits(&h->site.limit_table, false, pool), "services",
        services(&h->site.others, pool));
}

/* ---- what is missing --------------------------------------------------- */

static void add_missing(json_t *array, const char *id, const char *what,
                        int pid, const char *help, apr_pool_t *pool)
{
    json_array_append_new(array,
                          json_pack("{s:s, s:o, s:o, s:o}", "id", id, "what",
                                    ka_doc_text(what, pool), "pid",
                                    pid ? json_integer(pid) : json_null(),
                                    "help", ka_doc_text(help, pool)));
}

static void add_limits(json_t *array, const ka_limit_table *table, bool host,
                       int pid, apr_pool_t *pool)
{
    int i;

    for (i = 0; i < table->missing->nelts; i++) {
        const ka_limit_missing *row =
            &APR_ARRAY_IDX(table->missing, i, const ka_limit_missing);

        if (row->of_host == host) {
            add_missing(array, row->id, row->what, pid, row->help, pool);
        }
    }
}

static json_t *missing(const ka_doctor *doctor, apr_pool_t *pool)
{
    json_t *array = json_array();
    size_t i;
    int k;

    if (doctor->failed) {
        add_missing(array, "proc", "processes", 0, doctor->failed, pool);
    }
    add_limits(array, &doctor->limits, true, 0, pool);
    for (i = 0; i < doctor->httpd_n; i++) {
        const ka_doctor_httpd *h = &doctor->httpds[i];
        const apr_array_header_t *own = h->missing;

        for (k = 0; k < own->nelts; k++) {
            add_missing(array, "httpd", "httpd", h->instance->pid,
                        APR_ARRAY_IDX(own, k, const char *), pool);
        }
        if (h->site.cgroup.missing) {
            add_missing(array, "cgroup", "control group", h->instance->pid,
                        h->site.cgroup.missing, pool);
        }
        add_limits(array, &h->site.limit_table, false, h->instance->pid,
                   pool);
    }
    return array;
}

/* ---- all --------------------------------------------------------------- */

static json_t *host(const ka_doctor *doctor, apr_pool_t *pool)
{
    const ka_machine *m = &doctor->machine;

    return json_pack("{s:o, s:{s:o, s:o, s:o, s:o}, s:o, s:o}", "name",
                     ka_doc_text(doctor->host, pool), "memory", "total_bytes",
                     m->known ? ka_doc_whole(m->total) : json_null(),
                     "available_bytes", ka_doc_whole(m->available),
                     "swap_total_bytes", ka_doc_whole(m->swap_total),
                     "swap_free_bytes", ka_doc_whole(m->swap_free), "limits",
                     limits(&doctor->limits, true, pool), "services",
                     services(&doctor->services, pool));
}

apr_status_t ka_render_doctor_json(FILE *out, const ka_doctor *doctor)
{
    json_t *httpds = json_array();
    apr_pool_t *pool;
    apr_status_t rv = apr_pool_create(&pool, NULL);
    size_t i;

    if (rv) {
        json_decref(httpds);
        return rv;
    }
    for (i = 0; i < doctor->httpd_n; i++) {
        json_array_append_new(httpds, httpd(&doctor->httpds[i], pool));
    }
    rv = ka_doc_write(out, json_pack("{s:s, s:o, s:o, s:o, s:o}", "schema",
                                     SCHEMA, "generated_at",
                                     ka_doc_time(doctor->generated_us, pool),
                                     "host", host(doctor, pool), "httpds",
                                     httpds, "missing", missing(doctor, pool)));
    apr_pool_destroy(pool);
    return rv;
}
