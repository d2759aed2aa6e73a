/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sections.h"

#include <math.h>
#include <string.h>
#include <apr_strings.h>

#include "known.h"
#include "table.h"

#define TIMEOUTS_SHOWN 12

/* Intervals are told only where one is wider than this. */
#define WIDE 0.1

typedef enum column_kind {
    ALWAYS,
    WITH_INTERVALS, /* with --verbose, and where there are some */
    WITH_MEMORY     /* where that is known */
} column_kind;

static const struct {
    ka_column column;
    column_kind kind;
} what_if_columns[] = {
    {{.head = ""}, ALWAYS},
    {{.head = "Keep-\nAlive", .right = true}, ALWAYS},
    {{.head = ""}, ALWAYS},
    {{.head = "opened\nper s", .right = true}, ALWAYS},
    {{.head = "\n+-", .right = true, .drop = 4}, WITH_INTERVALS},
    {{.head = "\nreused", .right = true}, ALWAYS},
    {{.head = "idle\nmean", .right = true, .drop = 1}, ALWAYS},
    {{.head = "busy\nmean", .right = true, .drop = 2}, ALWAYS},
    {{.head = "held\nmean", .right = true}, ALWAYS},
    {{.head = "\n+-", .right = true, .drop = 5}, WITH_INTERVALS},
    {{.head = "held\np99.9", .right = true, .drop = 3}, ALWAYS},
    {{.head = "held\npeak", .right = true}, ALWAYS},
    {{.head = "workers\nneeded", .right = true}, ALWAYS},
    {{.head = "\nbetween", .right = true, .drop = 6}, WITH_INTERVALS},
    {{.head = "\nmemory", .right = true}, WITH_MEMORY},
    {{.head = "\nfits", .right = true}, WITH_MEMORY}};

#define WHAT_IF_COLUMNS (sizeof(what_if_columns) / sizeof(what_if_columns[0]))

static bool memory_known(const ka_report *report)
{
    return report->answer_n && report->answers[0].fits &&
           report->answers[0].fits[report->now].memory_bytes >= 0;
}

static const char *fits_word(int fits)
{
    return fits < 0 ? "?" : fits ? "yes" : "NO";
}

static const char *workers_word(apr_pool_t *pool, const ka_report *report,
                                const ka_mpm_answer *answer, size_t timeout)
{
    return ka_workers_known(report, answer, timeout)
               ? ka_words_whole(pool, ceil(answer->fits[timeout].workers))
               : "?";
}

static const ka_mpm_answer *first_answer(const ka_report *report)
{
    return report->answer_n ? &report->answers[0] : NULL;
}

/* ---- which rows -----------------------------------------------------------
 */

static bool is_proposed(const ka_report *report, size_t timeout)
{
    size_t i;

    for (i = 0; i < report->answer_n; i++) {
        if (report->answers[i].choice.index == timeout) {
            return !report->verdict.refused;
        }
    }
    return false;
}

static bool is_wanted(const ka_report *report, size_t timeout, int64_t us)
{
    const ka_mpm_answer *answer = first_answer(report);
    int64_t at = report->low[timeout].timeout_us;

    return at == us ||
           (answer && answer->choice.fit_known && at == answer->choice.fit_us);
}

/* Marks the rows to print: what is in force and proposed, then the customary
 * timeouts, most telling first, until the table is full. */
static void pick_rows(bool *show, const ka_report *report, bool verbose)
{
    static const int64_t customary_ms[] = {5000,   15000,  1000,  2000,   30000,
                                           60000,  10000,  3000,  300000, 500,
                                           115000, 120000, 20000, 200};
    size_t n = report->timeout_n, picked = 0, i, c;

    for (i = 0; i < n; i++) {
        show[i] = verbose || i == report->now || is_proposed(report, i) ||
                  is_wanted(report, i, KA_TIMEOUT_OFF);
        picked += show[i];
    }
    for (c = 0; c < sizeof(customary_ms) / sizeof(customary_ms[0]); c++) {
        for (i = 0; i < n && picked < TIMEOUTS_SHOWN; i++) {
            if (!show[i] &&
                report->low[i].timeout_us == customary_ms[c] * 1000) {
                show[i] = true;
                picked++;
            }
        }
    }
}

/* ---- one row --------------------------------------------------------------
 */

/* `now`, `>`, `now>`; with several answers `>pwe` says whose proposal it is. */
static const char *mark(const ka_page *page, const ka_report *report,
                        size_t timeout)
{
    char letters[KA_MPM_N + 1];
    size_t i, n = 0;

    for (i = 0; i < report->answer_n && report->answer_n > 1; i++) {
        if (report->answers[i].choice.index == timeout && n < KA_MPM_N) {
            letters[n++] = ka_mpm_name(report->answers[i].mpm)[0];
        }
    }
    letters[n] = '\0';
    return apr_psprintf(page->pool, "%s%s%s",
                        timeout == report->now ? "now" : "",
                        is_proposed(report, timeout) ? ">" : "",
                        is_proposed(report, timeout) ? letters : "");
}

static const char *interval_word(apr_pool_t *pool, const ka_interval *interval,
                                 double number)
{
    return apr_pstrcat(pool, "+-",
                       ka_words_share(pool,
                                      ka_interval_width(*interval, number)),
                       NULL);
}

static const char *opened_interval(apr_pool_t *pool, const ka_report *report,
                                   size_t i)
{
    return report->intervals
               ? interval_word(pool,
                               &report->intervals->timeouts[i].connections,
                               (double)report->high[i].connections)
               : "?";
}

static const char *held_interval(apr_pool_t *pool, const ka_report *report,
                                 size_t i)
{
    return report->intervals
               ? interval_word(pool, &report->intervals->timeouts[i].held_mean,
                               report->high[i].held_mean)
               : "?";
}

static const char *workers_interval(apr_pool_t *pool, const ka_report *report,
                                    size_t i)
{
    const ka_mpm_answer *answer = first_answer(report);

    return answer && answer->workers && ka_workers_known(report, answer, i)
               ? ka_words_range(pool, ka_words_whole, answer->workers[i].low,
                                answer->workers[i].high)
               : "?";
}

/* Which columns the table has. */
static bool is_shown(const ka_report *report, bool verbose, size_t column)
{
    switch (what_if_columns[column].kind) {
    case WITH_INTERVALS:
        return verbose && report->intervals;
    case WITH_MEMORY:
        return memory_known(report);
    case ALWAYS:
        break;
    }
    return true;
}

static void what_if_row(ka_table *table, const ka_page *page,
                        const ka_report *report, bool verbose, size_t i)
{
    const ka_outcome *a = &report->low[i], *b = &report->high[i];
    const ka_mpm_answer *answer = first_answer(report);
    const ka_fit *fit = answer && answer->fits ? &answer->fits[i] : NULL;
    apr_pool_t *pool = page->pool;
    const char *all[WHAT_IF_COLUMNS] = {
        mark(page, report, i),
        ka_words_timeout(pool, a->timeout_us),
        a->measured ? "m" : "x",
        ka_words_range(pool, ka_words_number, a->connections_per_s,
                       b->connections_per_s),
        opened_interval(pool, report, i),
        ka_words_range(pool, ka_words_share, a->reuse, b->reuse),
        ka_words_range(pool, ka_words_number, a->idle_mean, b->idle_mean),
        ka_busy_known(report)
            ? ka_words_range(pool, ka_words_number, a->busy_mean, b->busy_mean)
            : "?",
        ka_words_range(pool, ka_words_number, a->held_mean, b->held_mean),
        held_interval(pool, report, i),
        ka_words_range(pool, ka_words_whole, a->held.p999, b->held.p999),
        ka_words_range(pool, ka_words_whole, a->held.peak, b->held.peak),
        answer ? workers_word(pool, report, answer, i) : "?",
        workers_interval(pool, report, i),
        fit ? ka_words_size(pool, fit->memory_bytes) : "?",
        fit ? fits_word(fit->fits) : "?"};
    const char *cells[WHAT_IF_COLUMNS];
    size_t c, n = 0;

    for (c = 0; c < WHAT_IF_COLUMNS; c++) {
        if (is_shown(report, verbose, c)) {
            cells[n++] = all[c];
        }
    }
    ka_table_row(table,
                 i == report->now || is_proposed(report, i) ? KA_STYLE_BOLD
                                                            : KA_STYLE_PLAIN,
                 cells);
}

/* ---- what stands below the table ------------------------------------------
 */

static void note(ka_page *page, const char *text)
{
    ka_page_paragraph(page, KA_STYLE_DIM, "  ", "  ", text);
}

/* Of one timeout, where one of them is wide. */
static const char *wide_words(apr_pool_t *pool, const ka_report *report,
                              const char *lead, size_t i)
{
    const ka_timeout_intervals *of = &report->intervals->timeouts[i];
    const double opened = (double)report->high[i].connections;
    const double held = report->high[i].held_mean;

    if (ka_interval_width(of->connections, opened) <= WIDE &&
        ka_interval_width(of->held_mean, held) <= WIDE) {
        return NULL;
    }
    return apr_psprintf(pool, "%s opened %s, held %s, workers %s", lead,
                        opened_interval(pool, report, i),
                        held_interval(pool, report, i),
                        workers_interval(pool, report, i));
}

static void intervals_note(ka_page *page, const ka_report *report, bool verbose)
{
    const ka_mpm_answer *answer = first_answer(report);
    apr_pool_t *pool = page->pool;
    const char *parts[2] = {NULL, NULL}, *text;

    if (!report->intervals) {
        if (verbose && report->no_intervals) {
            note(page, apr_pstrcat(pool, "No intervals: ",
                                   report->no_intervals, ".", NULL));
        }
        return;
    }
    if (verbose) {
        note(page, "+- and between: with other visitors at other hours, 90% "
                   "intervals.");
        return;
    }
    parts[0] = wide_words(pool, report, "now", report->now);
    if (answer && answer->choice.index != report->now &&
        is_proposed(report, answer->choice.index)) {
        parts[1] = wide_words(pool, report, "proposed", answer->choice.index);
    }
    text = ka_words_join(pool, parts, 2);
    if (text) {
        note(page, apr_pstrcat(pool,
                               "With other visitors at other hours (90% "
                               "intervals): ",
                               text, ".", NULL));
    }
}

static void bounds_note(ka_page *page, const ka_report *report)
{
    if (report->longer_unknown) {
        note(page, "x: upper bounds of what is opened and held.");
    }
    if (report->timeout_n > 0 && report->low[0].held_is_bound) {
        note(page, "Off: an upper bound of what is held: this MPM keeps a "
                   "close that a client leaves unanswered for up to 30 s, "
                   "and how soon those who do not come back look at it is "
                   "not known.");
    }
}

static void legend(ka_page *page, const ka_report *report, bool verbose,
                   const char *left_out)
{
    const ka_mpm_answer *answer = first_answer(report);
    apr_pool_t *pool = page->pool;

    note(page,
         apr_pstrcat(pool, "now in force; > proposed",
                     report->answer_n > 1 ? " (p prefork, w worker, e event)"
                                          : "",
                     "; m measured; x extrapolated, longer than the "
                     "timeout in force.",
                     NULL));
    if (report->host_n) {
        note(page, "Per server in the mean; peak, workers and memory are those "
                   "of the server with most.");
    }
    if (answer && answer->mpm == KA_MPM_EVENT) {
        note(page, "On event, held means open connections; workers are held "
                   "only while busy.");
    }
    if (report->answer_n > 1) {
        note(page, apr_psprintf(pool,
                                memory_known(report)
                                    ? "Workers, memory and fits: for %s."
                                    : "Workers needed: on %s.",
                                ka_mpm_name(answer->mpm)));
    }
    if (report->low != report->high) {
        note(page, "low..high: the log does not tell connections apart.");
    }
    intervals_note(page, report, verbose);
    bounds_note(page, report);
    if (!ka_busy_known(report)) {
        note(page, "? busy: the log has no service times, so what is held "
                   "counts idle connections only.");
    }
    if (!memory_known(report)) {
        note(page, apr_psprintf(pool, "Memory, and what fits, needs %s and %s.",
                                ka_fact_info_of(KA_FACT_PROCESS_MEMORY)->option,
                                ka_fact_info_of(KA_FACT_MEMORY)->option));
    }
    if (left_out) {
        note(page,
             apr_psprintf(pool, "Left out for lack of columns: %s.", left_out));
    }
}

static const char *choice_words(const ka_report *report,
                                ka_choice_reason reason)
{
    static const char *const words[] = {
        [KA_CHOICE_KNEE] = "the knee: longer saves hardly any connection",
        [KA_CHOICE_FIT] = "the longest that fits",
        [KA_CHOICE_PROXY] = "above the idle timeout of the proxy in front",
        [KA_CHOICE_PAGE_BURST] = "for the burst of one page: longer does not "
                                 "fit",
        [KA_CHOICE_OFF_NO_REUSE] = "no timeout makes clients reuse "
                                   "connections",
        [KA_CHOICE_OFF_NO_FIT] = "nothing else fits",
        [KA_CHOICE_KEEP] = "memory is not known, so not above the present "
                           "one"};

    if (reason == KA_CHOICE_KNEE && report->longer_unknown) {
        return "it opens hardly more connections than now; what a longer one "
               "would save is not known";
    }
    return (size_t)reason < sizeof(words) / sizeof(words[0]) ? words[reason]
                                                             : "";
}

static const char *fit_words(apr_pool_t *pool, const ka_choice *choice)
{
    if (!choice->fit_known) {
        return "not known";
    }
    return choice->fit_us < KA_TIMEOUT_OFF
               ? "none"
               : ka_words_timeout(pool, choice->fit_us);
}

static void choice_line(ka_page *page, const ka_report *report,
                        const ka_mpm_answer *answer)
{
    const ka_choice *choice = &answer->choice;
    apr_pool_t *pool = page->pool;

    ka_page_gap(page);
    ka_page_paragraph(
        page, KA_STYLE_PLAIN, "  ", "  ",
        apr_psprintf(
            pool, "Proposed: %s, %s. Longest that fits: %s.%s",
            ka_words_timeout(pool, report->low[choice->index].timeout_us),
            choice_words(report, choice->reason), fit_words(pool, choice),
            choice->infeasible ? " This one does not." : ""));
}

/* One row for each MPM answered, at the timeout proposed for it. */
static void choice_table(ka_page *page, const ka_report *report)
{
    static const ka_column columns[] = {
        {.head = "MPM"},
        {.head = "proposed", .right = true},
        {.head = "workers", .right = true},
        {.head = "open peak", .right = true, .drop = 1},
        {.head = "memory", .right = true},
        {.head = "fits", .right = true},
        {.head = "longest\nthat fits", .right = true, .drop = 2},
        {.head = "chosen as", .wrap = true}};
    ka_table table;
    size_t i;

    ka_table_init(&table, columns, sizeof(columns) / sizeof(columns[0]),
                  page->pool);
    for (i = 0; i < report->answer_n; i++) {
        const ka_mpm_answer *answer = &report->answers[i];
        const ka_choice *choice = &answer->choice;
        const ka_fit *fit;
        apr_pool_t *pool = page->pool;

        if (!answer->fits) {
            continue;
        }
        fit = &answer->fits[choice->index];
        ka_table_row(
            &table, KA_STYLE_PLAIN,
            (const char *[]){
                ka_mpm_name(answer->mpm),
                ka_words_timeout(pool, report->low[choice->index].timeout_us),
                workers_word(pool, report, answer, choice->index),
                ka_words_whole(pool, ceil(fit->connections)),
                ka_words_size(pool, fit->memory_bytes), fits_word(fit->fits),
                fit_words(pool, choice),
                apr_pstrcat(pool, choice_words(report, choice->reason),
                            choice->infeasible ? "; does not fit" : "", NULL)});
    }
    ka_page_gap(page);
    ka_table_print(&table, page, 2);
}

static void choices(ka_page *page, const ka_report *report)
{
    size_t i;

    for (i = 0; i < report->answer_n; i++) {
        if (report->answers[i].choice.index >= report->timeout_n) {
            return;
        }
    }
    if (report->answer_n == 1) {
        choice_line(page, report, &report->answers[0]);
    }
    else if (report->answer_n > 1) {
        choice_table(page, report);
    }
}

void ka_section_what_if(ka_page *page, const ka_report *report, bool verbose)
{
    ka_column columns[WHAT_IF_COLUMNS];
    ka_table table;
    bool *show;
    size_t i, n = 0;

    if (!report->timeout_n) {
        return;
    }
    show = apr_pcalloc(page->pool, report->timeout_n * sizeof(*show));
    pick_rows(show, report, verbose);
    for (i = 0; i < WHAT_IF_COLUMNS; i++) {
        if (is_shown(report, verbose, i)) {
            columns[n++] = what_if_columns[i].column;
        }
    }
    ka_table_init(&table, columns, n, page->pool);
    for (i = 0; i < report->timeout_n; i++) {
        if (show[i]) {
            what_if_row(&table, page, report, verbose, i);
        }
    }
    ka_page_heading(page, "What if: this traffic under other timeouts");
    legend(page, report, verbose, ka_table_print(&table, page, 2));
    if (!report->verdict.refused) {
        choices(page, report);
    }
}
