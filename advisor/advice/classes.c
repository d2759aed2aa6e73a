/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Static and dynamic requests by themselves (R16, R17). */
#include "classes.h"

#include <math.h>
#include <string.h>
#include <apr_strings.h>

#include "../model/erlang.h"
#include "../sources/log_content.h"
#include "../words.h"
#include "decide.h"
#include "parts.h"

/* Closing after each dynamic request pays where it frees as much of what is
 * held, for as little of what is opened. */
#define FREES_SHARE 0.10
#define OPENS_SHARE 0.10
/* Less than a worker in the mean is not worth a line of configuration. */
#define FREES_LEAST 1.0

/* Extensions on one line of the configuration, in bytes.  Names are so short
 * that each line takes at least half of it. */
#define NAMES_A_LINE 80

/* ---- requests in progress [M12] ----------------------------------------- */

/* The load that needs as many workers: ka_workers_needed grows with it. */
static double busiest_load(double workers, double z)
{
    double low = 0, high = workers;
    int i;

    for (i = 0; i < 40; i++) {
        double middle = (low + high) / 2;

        if (ka_workers_needed(middle, z, KA_BLOCKING) <= workers) {
            low = middle;
        }
        else {
            high = middle;
        }
    }
    return low;
}

static double z_of(const ka_held *busy)
{
    return busy->mean > 0 ? fmax(busy->variance / busy->mean, 1) : 1;
}

double ka_class_peak_of_part(const ka_outcome *outcome, double share,
                             double growth, int64_t n)
{
    const ka_held *busy = &outcome->busy;
    double z = z_of(busy), load, part;

    if (!(busy->workers > 0) || !isfinite(busy->workers) || share <= 0) {
        return 0;
    }
    part = share * growth / (double)n;
    load = busiest_load(busy->workers, z);
    return fmax(ka_workers_needed(load * part, z, KA_BLOCKING),
                ceil(busy->mean * part));
}

double ka_class_peak(const ka_outcome *outcome, double share, double growth)
{
    return ka_class_peak_of_part(outcome, share, growth, 1);
}

double ka_class_busy_share(const ka_profile *profile, ka_class cls)
{
    double all = (double)ka_hist_sum(&profile->total.service);

    return all > 0
               ? (double)ka_hist_sum(&profile->classes[cls].service) / all
               : 0;
}

bool ka_class_busy_known(const ka_profile *profile, ka_class cls)
{
    const ka_traffic *t = &profile->classes[cls];

    return t->requests > 0 && (double)ka_hist_count(&t->service) >=
                                  KA_SERVICE_KNOWN_SHARE * (double)t->requests;
}

/* ---- one class ---------------------------------------------------------- */

static void fill_busy(ka_class_advice *out, const ka_decision *d, ka_class cls,
                      size_t index)
{
    const ka_profile *p = d->report->profile;
    const ka_traffic *t = &p->classes[cls];

    out->busy_known = ka_class_busy_known(p, cls);
    if (!out->busy_known) {
        return;
    }
    out->service_s = ka_hist_mean(&t->service) / 1e6;
    out->busy_mean = t->requests_per_s * out->service_s;
    out->busy_share = ka_class_busy_share(p, cls);
    out->busy_peak = ka_class_peak(&d->report->high[index], out->busy_share,
                                   d->options->growth);
}

static void fill_idle(ka_class_advice *out, const ka_decision *d, ka_class cls,
                      size_t index)
{
    const ka_report *r = d->report;
    const ka_traffic *t = &r->profile->classes[cls];
    const ka_outcome *o = &r->low[index];
    size_t last = ka_part_last(r, r->timeout_us);
    ka_part part = ka_part_at(r, t, index);
    size_t knee;

    out->idle_known =
        t->requests > 0 && last > 0 && ka_part_classes_told(r);
    if (!out->idle_known) {
        return;
    }
    knee = ka_part_knee(r, t, last, d->options->delta);
    out->reuse = part.reuse;
    out->idle_mean = part.idle_mean;
    out->alone_us = r->low[knee].timeout_us;
    out->alone_longer = knee == last;
    if (r->profile->window_s > 0) {
        out->opens_per_s = part.follows / r->profile->window_s;
    }
    out->close_pays =
        part.idle_mean >= FREES_LEAST &&
        part.idle_mean >= FREES_SHARE * o->held_mean &&
        out->opens_per_s <= OPENS_SHARE * o->connections_per_s;
}

/* The timeout proposed, or the longest that was seen, if that is shorter. */
static size_t compared_at(const ka_report *r)
{
    size_t last = ka_part_last(r, r->timeout_us);
    size_t chosen = r->answers[0].choice.index;

    return chosen > 0 && chosen < last ? chosen : last;
}

/* ---- what to do about it ------------------------------------------------ */

/* What is not a file gets the mark, what is one loses it again: so addresses
 * without an extension (front controllers, proxied paths) are dynamic, just as
 * they were counted.  mod_setenvif looks again after an internal redirect. */
static void make_lines(ka_by_class *by, apr_pool_t *pool)
{
    const char *names = ka_content_static_names(pool);
    size_t most = strlen(names) / (NAMES_A_LINE / 2) + 3;

    by->lines = apr_palloc(pool, most * sizeof(*by->lines));
    by->lines[by->line_n++] = "SetEnvIf Request_URI \"^\" nokeepalive";
    while (*names) {
        size_t n = strlen(names);

        if (n > NAMES_A_LINE) {
            n = NAMES_A_LINE;
            while (names[n] != '|') {
                n--;
            }
        }
        by->lines[by->line_n++] = apr_psprintf(
            pool, "SetEnvIfNoCase Request_URI \"\\.(%.*s)$\" !nokeepalive",
            (int)n, names);
        names += n + (names[n] == '|');
    }
}

static const char *pays_text(const ka_decision *d, const ka_by_class *by)
{
    const ka_class_advice *dynamic = &by->classes[KA_CLASS_DYNAMIC];
    const ka_report *r = d->report;
    apr_pool_t *p = d->pool;

    return apr_psprintf(
        p,
        "Closing the connection after each dynamic request, and keeping it "
        "after static ones, would free %s of the %s workers held in the mean "
        "at %s and open at most %s connections a second more (%s now): what "
        "R16 does with two servers, one can do by kind of content.",
        ka_words_number(p, dynamic->idle_mean),
        ka_words_number(p, r->low[compared_at(r)].held_mean),
        ka_words_timeout(p, by->timeout_us),
        ka_words_number(p, dynamic->opens_per_s),
        ka_words_number(p, r->low[r->now].connections_per_s));
}

static const char *not_text(const ka_decision *d, const ka_by_class *by)
{
    const ka_class_advice *dynamic = &by->classes[KA_CLASS_DYNAMIC];
    apr_pool_t *p = d->pool;

    if (!dynamic->idle_known) {
        return "How long connections stay idle after each kind is not told "
               "here.";
    }
    if (!d->report->answers[0].supply.holds_idle) {
        return "On event an idle connection holds no worker: keeping "
               "connections alive after dynamic requests costs memory alone, "
               "so one KeepAliveTimeout serves both kinds (R16).";
    }
    return apr_psprintf(
        p,
        "Closing after each dynamic request would free %s workers in the mean "
        "at %s, but open up to %s connections a second more: %s (R16).",
        ka_words_number(p, dynamic->idle_mean),
        ka_words_timeout(p, by->timeout_us),
        ka_words_number(p, dynamic->opens_per_s),
        d->report->policy.by_class.proposed
            ? "a timeout for each kind serves them better, see by policy"
            : "one KeepAliveTimeout serves both kinds");
}

/* Dynamic ones close early while static ones stay: with no static traffic it
 * is KeepAlive Off, which the choice of the timeout has judged. */
static bool pays(const ka_decision *d, const ka_by_class *by)
{
    const ka_mpm_answer *answer = &d->report->answers[0];

    return answer->supply.holds_idle && answer->choice.index > 0 &&
           by->classes[KA_CLASS_STATIC].idle_known &&
           by->classes[KA_CLASS_STATIC].alone_us != KA_TIMEOUT_OFF &&
           by->classes[KA_CLASS_DYNAMIC].close_pays;
}

void ka_advise_classes(ka_decision *d)
{
    ka_report *r = d->report;
    ka_by_class *by = &r->by_class;
    size_t index;
    int i;

    if (r->verdict.refused || r->host_n > 0 || r->answer_n == 0) {
        return;
    }
    index = compared_at(r);
    by->known = true;
    by->timeout_us = r->low[index].timeout_us;
    for (i = 0; i < KA_CLASS_N; i++) {
        ka_class_advice *c = &by->classes[i];

        c->requests_share = (double)r->profile->classes[i].requests /
                            (double)r->profile->total.requests;
        fill_busy(c, d, (ka_class)i, index);
        fill_idle(c, d, (ka_class)i, index);
    }
    if (r->profile->classes[KA_CLASS_DYNAMIC].requests == 0) {
        return;
    }
    by->classes[KA_CLASS_STATIC].close_pays = false;
    by->classes[KA_CLASS_DYNAMIC].close_pays = pays(d, by);
    if (by->classes[KA_CLASS_DYNAMIC].close_pays) {
        make_lines(by, d->pool);
        by->verdict = pays_text(d, by);
    }
    else {
        by->verdict = not_text(d, by);
    }
}
