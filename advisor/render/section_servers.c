/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A group's servers beside each other, those that need most workers first. */
#include "sections.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <apr_strings.h>

#include "known.h"
#include "table.h"

#define SERVERS_SHOWN 40

static const ka_column columns[] = {
    {.head = "Server", .most = 28},
    {.head = "requests\nper s", .right = true},
    {.head = "opened\nper s", .right = true, .drop = 1},
    {.head = "held\np99.9", .right = true},
    {.head = "timeout\nnow", .right = true},
    {.head = "timeout\nproposed", .right = true},
    {.head = "workers\nneeded", .right = true},
    {.head = "workers\nproposed", .right = true, .drop = 2},
    {.head = "\nconfidence"}};

#define COLUMNS (sizeof(columns) / sizeof(columns[0]))
#define TRAFFIC_COLUMNS 5 /* the first ones; the others are advice */

/* ---- which rows, and in what order ----------------------------------------
 */

typedef struct place {
    double workers; /* -1: not known */
    size_t host;
} place;

static const ka_mpm_answer *answer_of(const ka_report *host)
{
    return host->answer_n && host->answers[0].fits &&
                   host->answers[0].choice.index < host->timeout_n
               ? &host->answers[0]
               : NULL;
}

/* Under the server's own advice; without any, as it is now. */
static double workers_of(const ka_report *host)
{
    const ka_mpm_answer *answer = answer_of(host);

    if (answer) {
        return answer->fits[answer->choice.index].workers;
    }
    return host->timeout_n ? host->high[host->now].held.workers : -1;
}

static int most_first(const void *a, const void *b)
{
    const place *x = a, *y = b;

    if (x->workers != y->workers) {
        return x->workers < y->workers ? 1 : -1;
    }
    return (x->host > y->host) - (x->host < y->host);
}

static place *places_of(const ka_report *report, apr_pool_t *pool)
{
    place *places = apr_palloc(pool, report->host_n * sizeof(*places));
    size_t i;

    for (i = 0; i < report->host_n; i++) {
        double workers = workers_of(report->hosts[i]);

        places[i].workers = isfinite(workers) ? workers : -1;
        places[i].host = i;
    }
    qsort(places, report->host_n, sizeof(*places), most_first);
    return places;
}

/* ---- one row --------------------------------------------------------------
 */

static void traffic_cells(const char **cells, const ka_report *host,
                          apr_pool_t *pool)
{
    const ka_outcome *low, *high;

    cells[0] = host->host ? host->host : "(no name)";
    cells[1] = ka_words_number(pool, host->profile->total.requests_per_s);
    cells[4] = ka_words_timeout(pool, host->timeout_us);
    if (!host->timeout_n) {
        return;
    }
    low = &host->low[host->now];
    high = &host->high[host->now];
    cells[2] = ka_words_range(pool, ka_words_number, low->connections_per_s,
                              high->connections_per_s);
    cells[3] =
        ka_words_range(pool, ka_words_whole, low->held.p999, high->held.p999);
}

static void advice_cells(const char **cells, const ka_report *host,
                         apr_pool_t *pool)
{
    const ka_mpm_answer *answer = answer_of(host);
    size_t at;

    cells[8] = host->verdict.refused
                   ? "too little"
                   : ka_confidence_name(host->verdict.confidence);
    if (!answer || host->verdict.refused) {
        return;
    }
    at = answer->choice.index;
    cells[5] = ka_words_timeout(pool, host->low[at].timeout_us);
    if (ka_workers_known(host, answer, at)) {
        cells[6] = ka_words_whole(pool, ceil(answer->fits[at].workers));
    }
    if (answer->block_known) {
        cells[7] = ka_words_count(
            pool, answer->block.value[KA_BLOCK_MAX_REQUEST_WORKERS]);
    }
}

static void server_row(ka_table *table, const ka_report *host)
{
    const char *cells[COLUMNS] = {"", "-", "-", "-", "-", "-", "-", "-", "-"};

    traffic_cells(cells, host, table->pool);
    advice_cells(cells, host, table->pool);
    ka_table_row(table, KA_STYLE_PLAIN, cells);
}

/* ---- what stands below the table ------------------------------------------
 */

static void note(ka_page *page, const char *text)
{
    ka_page_paragraph(page, KA_STYLE_DIM, "  ", "  ", text);
}

/* The MPM that stands for those that are not known; NULL: all are known. */
static const char *assumed_mpm(const ka_report *report)
{
    size_t i;

    for (i = 0; i < report->host_n; i++) {
        if (report->hosts[i]->answer_n > 1) {
            return ka_mpm_name(report->hosts[i]->answers[0].mpm);
        }
    }
    return NULL;
}

static void notes(ka_page *page, const ka_report *report, size_t shown,
                  const char *left_out)
{
    const char *mpm = assumed_mpm(report);
    apr_pool_t *pool = page->pool;

    if (shown < report->host_n) {
        note(page, apr_psprintf(
                       pool, "... and %s (--verbose has all)",
                       ka_words_plural(pool, (int64_t)(report->host_n - shown),
                                       "more server")));
    }
    if (report->answer_n) {
        note(page, "Each by its own traffic alone; what is proposed below fits "
                   "all of them.");
    }
    if (mpm) {
        note(page,
             apr_psprintf(pool, "Where the MPM is not known: proposed for %s.",
                          mpm));
    }
    if (left_out) {
        note(page,
             apr_psprintf(pool, "Left out for lack of columns: %s.", left_out));
    }
}

void ka_section_servers(ka_page *page, const ka_report *report, bool verbose)
{
    size_t n = verbose || report->host_n < SERVERS_SHOWN ? report->host_n
                                                         : SERVERS_SHOWN;
    const place *places;
    ka_table table;
    size_t i;

    if (!report->host_n) {
        return;
    }
    ka_table_init(&table, columns, report->answer_n ? COLUMNS : TRAFFIC_COLUMNS,
                  page->pool);
    places = places_of(report, page->pool);
    for (i = 0; i < n; i++) {
        server_row(&table, report->hosts[places[i].host]);
    }
    ka_page_heading(page, "Servers");
    notes(page, report, n, ka_table_print(&table, page, 2));
}
