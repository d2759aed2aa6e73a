/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sections.h"

#include <apr_strings.h>

#include "table.h"

static void say(ka_page *page, const char *text)
{
    if (text) {
        ka_page_gap(page);
        ka_page_paragraph(page, KA_STYLE_PLAIN, "  ", "  ", text);
    }
}

static const char *memory(apr_pool_t *p, int64_t bytes)
{
    return bytes < 0 ? "?" : ka_words_size(p, bytes);
}

/* ---- under one timeout, and under others --------------------------------- */

static const ka_column side_columns[] = {
    {.head = ""},
    {.head = "opened\nper s", .right = true},
    {.head = "\nreused", .right = true},
    {.head = "held\nmean", .right = true},
    {.head = "held\np99.9", .right = true},
    {.head = "held\npeak", .right = true},
    {.head = "workers\nneeded", .right = true},
    {.head = "\nmemory", .right = true}};

#define SIDE_COLUMNS (sizeof(side_columns) / sizeof(side_columns[0]))

static void side_row(ka_table *table, const char *name, const ka_policy_side *s)
{
    apr_pool_t *p = table->pool;
    const ka_outcome *o = &s->outcome;
    const char *cells[SIDE_COLUMNS] = {name,
                                       ka_words_number(p, o->connections_per_s),
                                       ka_words_share(p, o->reuse),
                                       ka_words_number(p, o->held_mean),
                                       ka_words_whole(p, o->held.p999),
                                       ka_words_whole(p, o->held.peak),
                                       ka_words_whole(p, s->fit.workers),
                                       memory(p, s->fit.memory_bytes)};

    ka_table_row(table, KA_STYLE_PLAIN, cells);
}

static void sides(ka_page *page, const ka_policy_advice *policy)
{
    const ka_policy_by_class *by = &policy->by_class;
    const ka_policy_by_proxy *proxy = &policy->by_proxy;
    apr_pool_t *p = page->pool;
    ka_table table;

    ka_table_init(&table, side_columns, SIDE_COLUMNS, p);
    if (by->proposed) {
        side_row(&table,
                 apr_pstrcat(p, "one timeout, ",
                             ka_words_timeout(p, by->one.outcome.timeout_us),
                             NULL),
                 &by->one);
        side_row(
            &table,
            apr_psprintf(p, "static %s, dynamic %s",
                         ka_words_timeout(p, by->after_us[KA_CLASS_STATIC]),
                         ka_words_timeout(p, by->after_us[KA_CLASS_DYNAMIC])),
            &by->policy);
    }
    if (proxy->proposed) {
        side_row(&table,
                 apr_pstrcat(p, "all as the proxy, ",
                             ka_words_timeout(p, proxy->proxy_us), NULL),
                 &proxy->all);
        side_row(&table,
                 apr_pstrcat(p, "all as others, ",
                             ka_words_timeout(p, proxy->others_us), NULL),
                 &proxy->none);
    }
    ka_table_print(&table, page, 2);
}

/* ---- by load ------------------------------------------------------------- */

static const ka_column load_columns[] = {
    {.head = ""},
    {.head = "\nconnections", .right = true},
    {.head = "\nreused", .right = true},
    {.head = "held\nmean", .right = true},
    {.head = "wait for a\nworker, p99", .right = true},
    {.head = "\nlongest", .right = true},
    {.head = "cut\nby load", .right = true}};

#define LOAD_COLUMNS (sizeof(load_columns) / sizeof(load_columns[0]))

static const char *time_of(apr_pool_t *p, int64_t us)
{
    return us ? ka_words_duration(p, (double)us) : "0";
}

static void load_row(ka_table *table, const char *name, const ka_sim_result *r)
{
    apr_pool_t *p = table->pool;
    const ka_outcome *o = &r->outcome;
    const char *cells[LOAD_COLUMNS] = {
        name,
        ka_words_count(p, (int64_t)o->connections),
        ka_words_share(p, o->reuse),
        ka_words_number(p, o->held_mean),
        time_of(p, r->wait_p99_us),
        time_of(p, r->wait_most_us),
        ka_words_count(p, (int64_t)(r->cut_waits + r->closed_full))};

    ka_table_row(table, KA_STYLE_PLAIN, cells);
}

static void by_load(ka_page *page, const ka_policy_by_load *by)
{
    apr_pool_t *p = page->pool;
    ka_table table;

    if (!by->proposed) {
        return;
    }
    if (by->why_not) {
        say(page,
            apr_pstrcat(p, "KAPolicyAdaptive is not predicted: ", by->why_not,
                        "; kaadvisor simulate plays a log against it.", NULL));
        return;
    }
    ka_table_init(&table, load_columns, LOAD_COLUMNS, p);
    load_row(&table,
             apr_pstrcat(p, "always ",
                         ka_words_timeout(p, by->fixed.outcome.timeout_us),
                         NULL),
             &by->fixed);
    load_row(&table,
             apr_pstrcat(p, "always ", ka_words_timeout(p, by->adaptive.max_us),
                         NULL),
             &by->wanted);
    load_row(&table,
             apr_psprintf(p, "%s to %s by load",
                          ka_words_timeout(p, by->adaptive.max_us),
                          ka_words_timeout(p, by->adaptive.min_us)),
             &by->by_load);
    ka_table_print(&table, page, 2);
    if (by->traffic) {
        ka_page_paragraph(page, KA_STYLE_PLAIN, "  ", "  ",
                          apr_pstrcat(p,
                                      "Played with the proposed block: the "
                                      "busiest stretch of the traffic, ",
                                      by->traffic, ".", NULL));
    }
}

/* ---- all of it ----------------------------------------------------------- */

void ka_section_policy(ka_page *page, const ka_report *report)
{
    const ka_policy_advice *policy = &report->policy;
    size_t i;

    if (policy->line_n == 0 || report->verdict.refused) {
        return;
    }
    ka_page_heading(page, "By policy: what mod_kapolicy would do");
    sides(page, policy);
    by_load(page, &policy->by_load);
    say(page, policy->by_class.because);
    say(page, policy->by_proxy.because);
    say(page, policy->by_load.because);
    ka_page_gap(page);
    for (i = 0; i < policy->line_n; i++) {
        ka_page_line(page, KA_STYLE_PLAIN,
                     apr_pstrcat(page->pool, "      ", policy->lines[i], NULL));
    }
    say(page, policy->kept     ? policy->to_use
              : policy->active ? "--output conf has them, in force."
                               : "--output conf has them, as comments.");
}
