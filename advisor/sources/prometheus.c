/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The order of questions: the present time, so that all others end at the same
 * one; which servers there are, how often they are scraped and whether they
 * were restarted; the rest.
 */
#include "prometheus.h"

#include <math.h>
#include <apr_strings.h>

#include "../words.h"

/* Points of all servers together that are worth their transfer. */
#define POINTS_ALL 600000.0
#define POINTS_LEAST 100.0
/* Blocks of time for what came, of which there are about so many; and scrapes
 * in one at the least, since what came before the first is guessed. */
#define BLOCK_LEAST_S 600
#define BLOCKS 12
#define SCRAPES_LEAST 4.0
/* Scrapes come a little late now and then. */
#define LATE 1.1

/* ---- one question ------------------------------------------------------- */

static const char *form_of(const ka_prom_row *row, const ka_prom_asked *asked,
                           apr_pool_t *pool)
{
    const char *at = apr_psprintf(pool, "%" APR_INT64_T_FMT, asked->at_s);
    const char *form =
        ka_prom_form("", "query", ka_prom_query(row, asked, pool), pool);
    const int64_t step_s = row->function == KA_PROM_BLOCK ? asked->block_s
                                                          : asked->step_s;
    int64_t steps;

    if (!ka_prom_is_range(row)) {
        return ka_prom_form(form, "time", at, pool);
    }
    /* A step covers the time before it. */
    steps = asked->span_s / step_s;
    steps = steps > 0 ? steps - 1 : 0;
    form = ka_prom_form(form, "start",
                        apr_psprintf(pool, "%" APR_INT64_T_FMT,
                                     asked->at_s - steps * step_s),
                        pool);
    form = ka_prom_form(form, "end", at, pool);
    return ka_prom_form(form, "step",
                        apr_psprintf(pool, "%" APR_INT64_T_FMT, step_s),
                        pool);
}

/* Of metrics that came later than the module's first release. */
static apr_status_t missing(const char **error, const ka_prom *prom,
                            const ka_prom_row *row)
{
    *error = apr_psprintf(
        prom->pool,
        "%s: %s of mod_kastats there, but not %s: its mod_kastats is older "
        "than this kaadvisor, or the scrape drops that metric "
        "(metric_relabel_configs)",
        prom->url,
        prom->server_n == 1 ? "there is a server" : "there are servers",
        row->metric);
    return APR_EGENERAL;
}

static const char *match_shown(const ka_prom *prom)
{
    const char *match = prom->asked.match;

    return match && *match
               ? apr_pstrcat(prom->pool, "{",
                             ka_words_clean(prom->pool, match, false), "}",
                             NULL)
               : "";
}

static apr_status_t nothing(const char **error, const ka_prom *prom,
                            const ka_prom_row *row)
{
    *error = apr_psprintf(
        prom->pool,
        "%s: no %s%s in the last %s; is mod_kastats scraped (the page Status / "
        "Targets says), does its version match this kaadvisor's, does --match "
        "fit, is --window long enough?",
        prom->url, row->metric, match_shown(prom),
        ka_words_duration(prom->pool, (double)prom->asked.window_s * 1e6));
    return APR_EGENERAL;
}

static apr_status_t ask(size_t *taken, ka_prom *prom, const char **error,
                        ka_prom_http *http, const ka_prom_row *row)
{
    const char *path =
        ka_prom_is_range(row) ? "/api/v1/query_range" : "/api/v1/query";
    ka_prom_answer answer;
    apr_status_t rv = ka_prom_http_post(&answer, error, http, path,
                                        form_of(row, &prom->asked, prom->pool));

    return rv ? rv : ka_prom_take(prom, taken, error, row, &answer);
}

/* The servers of each course by a question of their own. */
static apr_status_t ask_courses(size_t *taken, ka_prom *prom,
                                const char **error, ka_prom_http *http,
                                const ka_prom_row *row)
{
    apr_status_t rv = APR_SUCCESS;
    size_t all = 0, n;
    int course;

    for (course = 0; course < KA_PROM_COURSES && !rv; course++) {
        prom->asked.course = (ka_prom_course)course;
        prom->asked.instances =
            ka_prom_instances(&n, prom, (ka_prom_course)course);
        if (n > 0) {
            rv = ask(taken, prom, error, http, row);
            all += *taken;
        }
    }
    prom->asked.instances = NULL;
    *taken = all;
    return rv;
}

static apr_status_t ask_row(ka_prom *prom, const char **error,
                            ka_prom_http *http, const ka_prom_row *row)
{
    bool first = prom->server_n == 0;
    size_t taken = 0;
    apr_status_t rv = row->function == KA_PROM_INCREASE
                          ? ask_courses(&taken, prom, error, http, row)
                          : ask(&taken, prom, error, http, row);

    if (!rv && taken == 0 && row->required) {
        rv = first ? nothing(error, prom, row) : missing(error, prom, row);
    }
    if (row->function == KA_PROM_DIFFERENCE) {
        ka_prom_set_courses(prom);
    }
    return rv;
}

/* ---- peaks -------------------------------------------------------------- */

/* What was most at once within an interval, the module says for the last 5, 15
 * and 60 seconds. */
static unsigned window_for(double interval_s)
{
    static const unsigned windows[] = {5, 15};
    size_t i;

    for (i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
        if (interval_s <= (double)windows[i] * LATE) {
            return windows[i];
        }
    }
    return 60;
}

/* Who is too young to be found by a look at each thousandth of the window has
 * been there for as long as was observed. */
static void set_first(ka_prom *prom)
{
    size_t i;

    for (i = 0; i < prom->server_n; i++) {
        ka_prom_server *s = prom->servers[i];

        if (s->first_s <= 0) {
            s->first_s = fmax(0, (double)prom->asked.at_s - s->observed_s);
        }
    }
}

/* Since the first sample of any server; all of the window if that is older. */
static int64_t span_of(const ka_prom *prom)
{
    int64_t slack_s = ka_prom_thousandth(&prom->asked);
    int64_t span_s = 1;
    size_t i;

    for (i = 0; i < prom->server_n; i++) {
        int64_t first_s = (int64_t)prom->servers[i]->first_s;
        int64_t own_s = prom->asked.at_s - first_s + slack_s;

        span_s = own_s > span_s ? own_s : span_s;
    }
    return span_s < prom->asked.window_s ? span_s : prom->asked.window_s;
}

static int64_t block_for(int64_t span_s, double interval_s)
{
    const int64_t times = span_s / (BLOCK_LEAST_S * BLOCKS);
    const int64_t block_s = BLOCK_LEAST_S * (times > 1 ? times : 1);
    const int64_t least_s =
        (int64_t)ceil(fmin(interval_s, 1e6) * SCRAPES_LEAST);

    return block_s > least_s ? block_s : least_s;
}

static void plan_steps(ka_prom *prom)
{
    double points = POINTS_ALL / (3 * fmax(1, (double)prom->server_n));
    double step;

    points = fmin(fmax(points, POINTS_LEAST), KA_PROM_POINTS_MAX);
    set_first(prom);
    prom->asked.span_s = span_of(prom);
    step = fmax((double)prom->asked.span_s / points, prom->interval_s);
    prom->asked.step_s = (int64_t)fmax(1, ceil(step * 0.999));
    prom->asked.peak_window_s = window_for(prom->interval_s);
    prom->asked.block_s = block_for(prom->asked.span_s, prom->interval_s);
}

/* ---- all of them -------------------------------------------------------- */

static apr_status_t ask_time(ka_prom *prom, const char **error,
                             ka_prom_http *http)
{
    ka_prom_answer answer;
    apr_status_t rv =
        ka_prom_http_post(&answer, error, http, "/api/v1/query",
                          ka_prom_form("", "query", "time()", prom->pool));
    int64_t at_s = 0;

    if (!rv) {
        rv = ka_prom_take_time(&at_s, error, prom->url, &answer, prom->pool);
    }
    if (prom->asked.at_s == 0) {
        prom->asked.at_s = at_s;
    }
    return rv;
}

apr_status_t ka_prom_read(ka_prom *out, const char **error,
                          const ka_prom_access *access,
                          const ka_prom_asked *asked, apr_pool_t *pool)
{
    ka_prom_http *http;
    size_t n, i;
    const ka_prom_row *rows = ka_prom_rows(&n);
    apr_status_t rv = ka_prom_http_make(&http, error, access, pool);

    if (rv) {
        return rv;
    }
    ka_prom_init(out, ka_prom_http_url(http), asked, pool);
    rv = ask_time(out, error, http);
    for (i = 0; i < n && !rv; i++) {
        if (ka_prom_is_range(&rows[i]) && out->asked.span_s == 0) {
            ka_prom_settle(out);
            plan_steps(out);
        }
        rv = ask_row(out, error, http, &rows[i]);
    }
    if (!rv) {
        ka_prom_settle(out);
    }
    return rv;
}
