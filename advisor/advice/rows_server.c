/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Directives beside the MPM's block: ListenBacklog (R11), EnableSendfile
 * (R4, R15). */
#include "group.h"
#include "rows.h"

#include <inttypes.h>
#include <math.h>
#include <apr_strings.h>

#include "../words.h"

/* Busy worker time of static files that makes EnableSendfile worth a row, and
 * how many workers they must hold in the mean. */
#define STATIC_SHARE 0.2
#define STATIC_WORKERS 1.0

/* ---- ListenBacklog ------------------------------------------------------- */

static int64_t power_of_two(double least)
{
    int64_t value = 1;

    while ((double)value < least && value < (INT64_C(1) << 20)) {
        value *= 2;
    }
    return value;
}

/* net.core.somaxconn, which cuts it; -1: not known. */
static int64_t most_backlog(const ka_report *r)
{
    return r->site && r->site->runs && !r->site->limits.other_network
               ? r->site->limits.somaxconn
               : -1;
}

static const char *why_backlog(const ka_row_context *c, double second,
                               bool enough, int64_t most)
{
    apr_pool_t *p = c->d->pool;

    return apr_psprintf(
        p,
        "A busy second (p99) opens %s connections, and httpd looks after its "
        "spare workers once a second: %s.%s",
        ka_words_number(p, second),
        enough ? "so many wait at most" : "so many may have to wait",
        enough || most < 0
            ? ""
            : apr_psprintf(p,
                           " The kernel allows %s (net.core.somaxconn); a "
                           "socket that is open keeps its queue until a full "
                           "restart.",
                           ka_words_count(p, most)));
}

static void listen_backlog(const ka_row_context *c)
{
    const ka_report *r = c->d->report;
    int64_t now = ka_server_get(r->server, KA_FACT_LISTEN_BACKLOG, -1);
    int64_t compared = now < 0 ? KA_LISTEN_BACKLOG : now;
    int64_t most = most_backlog(r);
    double second = ka_busy_opens(r, c->to->timeout_us) *
                    c->answer->supply.growth;
    int64_t to = compared;
    ka_advice *row;

    if (!isfinite(second) || (now < 0 && second <= (double)compared)) {
        return;
    }
    if (second > (double)compared) {
        to = power_of_two(second);
        to = most > 0 && to > most ? most : to;
        to = to < compared ? compared : to;
    }
    row = ka_row_push(c, "R11", "ListenBacklog", "restart");
    row->from = now < 0 ? NULL : apr_psprintf(c->d->pool, "%" PRId64, now);
    row->to = apr_psprintf(c->d->pool, "%" PRId64, to);
    row->change = to != compared;
    ka_row_differs(c, row, KA_FACT_LISTEN_BACKLOG);
    row->because = why_backlog(c, second, !row->change, most);
    ka_row_evidence(row, "opens_per_s_p99", second);
    if (most >= 0) {
        ka_row_evidence(row, "somaxconn", (double)most);
    }
}

/* ---- EnableSendfile ------------------------------------------------------ */

static double static_share(const ka_profile *profile)
{
    double total = (double)ka_hist_sum(&profile->total.service);

    return total > 0 ? (double)ka_hist_sum(
                           &profile->classes[KA_CLASS_STATIC].service) /
                           total
                     : 0;
}

/* Only where files hold workers, and it is known to be off. */
static void sendfile(const ka_row_context *c)
{
    const ka_report *r = c->d->report;
    double share = static_share(r->profile);
    ka_advice *row;

    if (c->answer->mpm != KA_MPM_EVENT || share < STATIC_SHARE ||
        share * c->to->busy_mean < STATIC_WORKERS ||
        ka_server_get(r->server, KA_FACT_SENDFILE, 1)) {
        return;
    }
    row = ka_row_push(c, "R4", "EnableSendfile", "reload");
    row->from = "Off";
    row->to = "On";
    row->change = true;
    row->because = apr_psprintf(
        c->d->pool,
        "Static files take %s of the busy worker time: with sendfile the "
        "kernel sends them, and a slow client holds no worker of event. For "
        "local files, not for network file systems.",
        ka_words_share(c->d->pool, share));
    ka_row_evidence(row, "static_service_share", share);
}

void ka_rows_server(const ka_row_context *c)
{
    listen_backlog(c);
    sendfile(c);
}
