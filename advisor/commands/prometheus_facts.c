/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "prometheus_facts.h"

#include <string.h>
#include <apr_strings.h>

#include <ka_units.h>
#include "../words.h"

/* ---- facts -------------------------------------------------------------- */

#define ORIGIN "Prometheus: configuration in force"

/* What an option says stands. */
static void set_unless_given(ka_server *server, ka_fact_id id, double value,
                             double least)
{
    if (value >= least && value <= INT32_MAX && !server->facts[id].known) {
        ka_server_set(server, id, (int64_t)value, false, ORIGIN);
    }
}

static int32_t mpm_of(const char *name)
{
    int32_t mpm;

    for (mpm = 0; name && mpm < KA_MPM_N; mpm++) {
        if (!strcmp(ka_mpm_name(mpm), name)) {
            return mpm;
        }
    }
    return -1;
}

void ka_prom_facts(ka_server *server, const ka_prom_server *from,
                   const ka_live *live, apr_pool_t *pool)
{
    const ka_live_vhost *main_vhost = live->vhost_n ? live->vhosts : NULL;
    int32_t mpm = mpm_of(from->mpm);
    bool on = main_vhost && main_vhost->timeout_us > 0;
    const char *origin;

    set_unless_given(server, KA_FACT_ID_MPM, mpm, 0);
    set_unless_given(server, KA_FACT_MAX_REQUEST_WORKERS,
                     from->setting[KA_PROM_WORKERS], 1);
    set_unless_given(
        server, KA_FACT_THREADS_PER_CHILD,
        mpm == KA_MPM_PREFORK ? -1 : from->setting[KA_PROM_THREADS], 1);
    if (!main_vhost) {
        return;
    }
    set_unless_given(server, KA_FACT_MAX_KEEPALIVE_REQUESTS,
                     main_vhost->vhost->max_keep_alive_requests, 0);
    origin = apr_psprintf(pool, ORIGIN ", virtual host %s",
                          ka_words_clean(pool, main_vhost->vhost->name, false));
    ka_server_set(server, KA_FACT_KEEP_ALIVE, on, false, origin);
    ka_server_set(server, KA_FACT_TIMEOUT, on ? main_vhost->timeout_us : 0,
                  false, origin);
}

/* ---- notes -------------------------------------------------------------- */

static const char *peak_note(const ka_prom *prom, bool levels, apr_pool_t *pool)
{
    if (!levels) {
        return "without kastats_connections_peak, or with --vhost, peaks are "
               "estimated from means";
    }
    if (prom->interval_s > 1.1 * prom->asked.peak_window_s) {
        return apr_psprintf(pool,
                            "scraped every %s: peaks that no last %us of a "
                            "scrape held are missing",
                            ka_words_duration(pool, prom->interval_s * 1e6),
                            prom->asked.peak_window_s);
    }
    return apr_psprintf(
        pool,
        "peaks are those of steps of %s, so that quantiles of "
        "holders lie a little too high",
        ka_words_duration(pool, (double)prom->asked.step_s * 1e6));
}

static const char *also(const char *note, const char *more, apr_pool_t *pool)
{
    return note ? apr_pstrcat(pool, note, "; ", more, NULL) : more;
}

const char *ka_prom_note(const ka_prom *prom, double changes,
                         const ka_hist_traffic *traffic, apr_pool_t *pool)
{
    const char *note = NULL;

    if (!traffic->survival.n) {
        note = "for timeouts longer than those in force, connections opened "
               "and held are upper bounds: nothing tells how soon clients came "
               "back";
    }
    note = also(note, peak_note(prom, traffic->open.n > 0, pool), pool);
    if (changes > 0) {
        note = also(note,
                    "KeepAliveTimeout changed within the window, and all of it "
                    "counts as if under the latest: give a shorter --window",
                    pool);
    }
    if (prom->refused) {
        note = also(note,
                    apr_psprintf(pool, "%s were no sane numbers and left out",
                                 ka_words_plural(pool, (int64_t)prom->refused,
                                                 "sample")),
                    pool);
    }
    return note;
}
