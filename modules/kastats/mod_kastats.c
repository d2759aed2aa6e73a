/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * mod_kastats records connections and requests into a segment.
 *
 * The segment's life: a full start makes a new file; a graceful restart goes
 * on with the mapping that the parent kept, while its layout fits, so that
 * what old children still count is not lost.  Children inherit the mapping.
 *
 * Concurrency: the parent's hooks run in one thread.  In a child everything
 * set by child_init is read-only from then on; numbers are atomics in the
 * segment (ka_segment_writer.h).
 */
#include "kastats.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <ap_mpm.h>
#include <apr_general.h>
#include <apr_optional.h>
#include <apr_strings.h>
#include <http_core.h>
#include <mpm_common.h>
#include <unixd.h>

#define RETAINED_KEY "mod_kastats"
#define STRIPES 8

kastats_process *kastats;

static int64_t mono_now(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

static kastats_retained *retained_get(void)
{
    kastats_retained *retained = ap_retained_data_get(RETAINED_KEY);

    return retained ? retained
                    : ap_retained_data_create(RETAINED_KEY, sizeof(*retained));
}

/* ---- the segment --------------------------------------------------------- */

static ka_segment_plan plan_of(const kastats_server *settings)
{
    ka_segment_plan plan = {.vhost_n = (uint32_t)settings->vhosts,
                            .slot_n = kastats_slots_wanted(),
                            .history_n = (uint32_t)settings->history,
                            .recent_n = (uint32_t)settings->recent,
                            .stripe_n = STRIPES,
                            .tick_n = settings->history > 0 ? KA_TICKS : 0};

    ka_segment_plan_fit(&plan);
    return plan;
}

static bool can_go_on(const kastats_retained *retained,
                      const kastats_server *settings,
                      const ka_segment_plan *plan)
{
    return ap_unixd_mpm_get_retained_data()->was_graceful &&
           ka_segment_is_at(&retained->map, settings->file) &&
           ka_segment_fits(retained->map.header, plan);
}

static apr_status_t segment_create(kastats_retained *retained,
                                   const kastats_server *settings,
                                   const ka_segment_plan *plan, server_rec *s,
                                   apr_pool_t *p)
{
    const char *error;
    apr_status_t rv = ka_segment_create(&retained->map, settings->file,
                                        (mode_t)settings->mode, plan,
                                        apr_time_now(), mono_now(), &error, p);

    if (rv != APR_SUCCESS) {
        ap_log_error(APLOG_MARK, APLOG_WARNING, rv, s,
                     "mod_kastats: nothing is recorded: segment %s: %s",
                     settings->file, error);
        return rv;
    }
    retained->settle = 0;
    return apr_generate_random_bytes(retained->key, sizeof(retained->key));
}

static apr_status_t segment_ready(kastats_retained *retained, server_rec *s,
                                  apr_pool_t *p)
{
    kastats_server settings = kastats_settings(s, p);
    ka_segment_plan plan = plan_of(&settings);

    if (can_go_on(retained, &settings, &plan)) {
        retained->map.header->generation++;
        chmod(settings.file, (mode_t)settings.mode);
        return APR_SUCCESS;
    }
    ka_segment_unmap(&retained->map);
    return segment_create(retained, &settings, &plan, s, p);
}

/* ---- hooks --------------------------------------------------------------- */

static bool any_on(const server_rec *s)
{
    for (; s; s = s->next) {
        if (kastats_on(s)) {
            return true;
        }
    }
    return false;
}

static int post_config(apr_pool_t *pconf, apr_pool_t *plog, apr_pool_t *ptemp,
                       server_rec *s)
{
    kastats_retained *retained;

    (void)plog;
    kastats = NULL;
    if (ap_state_query(AP_SQ_MAIN_STATE) == AP_SQ_MS_CREATE_PRE_CONFIG) {
        return OK;
    }
    retained = retained_get();
    if (!any_on(s) || segment_ready(retained, s, ptemp) != APR_SUCCESS) {
        ka_segment_unmap(&retained->map);
        return OK;
    }
    retained->map.header->parent_pid = (int32_t)getpid();
    kastats_facts_write(retained->map.header, s);
    kastats = apr_pcalloc(pconf, sizeof(*kastats));
    kastats->retained = retained;
    kastats->ticks = ka_ticks_of(retained->map.header);
    kastats->policy = APR_RETRIEVE_OPTIONAL_FN(ka_policy_wait_get);
    return OK;
}

static void child_init(apr_pool_t *p, server_rec *s)
{
    if (!kastats) {
        return;
    }
    kastats_live_init(p);
    ap_mpm_query(AP_MPMQ_GENERATION, &kastats->generation);
    ka_writer_attach(&kastats->writer, kastats->retained->map.header,
                     (int32_t)getpid(), kastats->generation, apr_time_now());
    for (; s; s = s->next) {
        kastats_server *conf = kastats_server_of(s);

        conf->stats =
            kastats_on(s) ? &kastats->writer.stats[conf->place] : NULL;
    }
}

static void heartbeat(void)
{
    ka_segment_header *header = kastats->retained->map.header;

    ka_segment_gauges_settle(header, &kastats->retained->settle);
    ka_ticks_fold(&kastats->ticks, mono_now());
    __atomic_store_n(&header->heartbeat_at, apr_time_now(), __ATOMIC_RELAXED);
}

static int monitor(apr_pool_t *p, server_rec *s)
{
    (void)p;
    (void)s;
    if (kastats) {
        heartbeat();
    }
    return DECLINED;
}

/* The parent reaps at least once a second, so that the gauges of a child that
 * was killed are right again by then. */
static void child_status(server_rec *s, pid_t pid, ap_generation_t generation,
                         int slot, mpm_child_status state)
{
    (void)s;
    (void)generation;
    (void)slot;
    if (kastats && state == MPM_CHILD_EXITED) {
        ka_segment_header *header = kastats->retained->map.header;

        if (ka_segment_slot_release(header, (int32_t)pid) > 0) {
            ka_ticks_open(&kastats->ticks, header->gauges, mono_now());
        }
        heartbeat();
    }
}

static void register_hooks(apr_pool_t *p)
{
    (void)p;
    ap_hook_post_config(post_config, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_init(child_init, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_monitor(monitor, NULL, NULL, APR_HOOK_MIDDLE);
    ap_hook_child_status(child_status, NULL, NULL, APR_HOOK_MIDDLE);
    kastats_record_hooks();
    kastats_close_hooks();
    kastats_served_hooks();
    kastats_handler_hooks();
    kastats_status_hooks();
    kastats_logitems_hooks();
}

AP_DECLARE_MODULE(kastats) = {STANDARD20_MODULE_STUFF,
                              NULL,
                              NULL,
                              kastats_server_create,
                              kastats_server_merge,
                              kastats_commands,
                              register_hooks,
                              AP_MODULE_FLAG_NONE};
