/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sections.h"

#include <apr_strings.h>

#include "table.h"

/* One MPM: present and proposed settings; else each MPM's proposed ones. */
#define COLUMNS_MOST (1 + KA_MPM_N)

typedef struct shown {
    const char *heads[COLUMNS_MOST];
    const ka_simulated_run *runs[COLUMNS_MOST];
    const ka_simulated *of; /* the first; NULL: none */
    size_t n;
} shown;

static void add(shown *s, const char *head, const ka_simulated_run *run)
{
    s->heads[s->n] = head;
    s->runs[s->n++] = run;
}

static shown runs_of(const ka_report *report)
{
    shown s = {.n = 0};
    size_t i;

    for (i = 0; i < report->answer_n && i < KA_MPM_N; i++) {
        const ka_mpm_answer *a = &report->answers[i];

        if (!a->simulated.known) {
            continue;
        }
        s.of = s.of ? s.of : &a->simulated;
        if (report->answer_n == 1 && a->simulated.now_known) {
            add(&s, "now", &a->simulated.now);
        }
        add(&s, report->answer_n == 1 ? "proposed" : ka_mpm_name(a->mpm),
            &a->simulated.proposed);
    }
    return s;
}

/* ---- cells -------------------------------------------------------------- */

typedef const char *cell_fn(const ka_simulated_run *run, apr_pool_t *p);

static const char *whole(apr_pool_t *p, uint64_t n)
{
    return ka_words_count(p, (int64_t)n);
}

static const char *time_of(apr_pool_t *p, int64_t us)
{
    return us ? ka_words_duration(p, (double)us) : "0";
}

static const char *timeout_cell(const ka_simulated_run *run, apr_pool_t *p)
{
    return ka_words_timeout(p, run->timeout_us);
}

static const char *connections_cell(const ka_simulated_run *run, apr_pool_t *p)
{
    return apr_pstrcat(p, whole(p, run->result.outcome.connections), " / ",
                       whole(p, run->result.waited), NULL);
}

static const char *wait_cell(const ka_simulated_run *run, apr_pool_t *p)
{
    const ka_sim_result *r = &run->result;

    return apr_pstrcat(p, time_of(p, r->wait_p50_us), " / ",
                       time_of(p, r->wait_p99_us), " / ",
                       time_of(p, r->wait_p999_us), NULL);
}

static const char *refused_cell(const ka_simulated_run *run, apr_pool_t *p)
{
    return apr_pstrcat(p, whole(p, run->result.refused), " / ",
                       whole(p, run->result.given_up), NULL);
}

static const char *evicted_cell(const ka_simulated_run *run, apr_pool_t *p)
{
    return apr_pstrcat(p, whole(p, run->result.evicted), " / ",
                       whole(p, run->result.dropped), NULL);
}

static const char *free_cell(const ka_simulated_run *run, apr_pool_t *p)
{
    return whole(p, run->result.free_least);
}

static const char *children_cell(const ka_simulated_run *run, apr_pool_t *p)
{
    return apr_pstrcat(p, ka_words_number(p, run->result.children_mean), " / ",
                       whole(p, run->result.children_most), NULL);
}

static const char *memory_cell(const ka_simulated_run *run, apr_pool_t *p)
{
    return run->result.memory_most_bytes < 0
               ? "?"
               : ka_words_size(p, run->result.memory_most_bytes);
}

static const struct {
    const char *label;
    cell_fn *cell;
} rows[] = {{"KeepAliveTimeout", timeout_cell},
            {"connections / that wait for a worker", connections_cell},
            {"wait p50 / p99 / p99.9", wait_cell},
            {"attempts refused / requests lost", refused_cell},
            {"evicted / requests dropped (event)", evicted_cell},
            {"free workers, fewest", free_cell},
            {"children, mean / most", children_cell},
            {"memory of processes, most", memory_cell}};

/* ---- all of it ---------------------------------------------------------- */

static const char *basis(apr_pool_t *p, const ka_simulated *s)
{
    const ka_sim_traffic *t = s->stretch.traffic;

    return apr_psprintf(
        p,
        "The MPM itself, event by event, from a server that runs, under the "
        "busiest %s%s%s: %s, %s. kaadvisor simulate plays any configuration.",
        ka_words_duration(p, (double)t->end_us - (double)t->begin_us),
        s->host ? " of " : "",
        s->host ? ka_words_clean(p, s->host, false) : "",
        ka_words_plural(p, (int64_t)s->stretch.requests, "request"),
        s->stretch.how);
}

void ka_section_simulated(ka_page *page, const ka_report *report)
{
    const shown s = runs_of(report);
    ka_column columns[1 + COLUMNS_MOST] = {{.head = ""}};
    ka_table table;
    size_t i, k;

    if (!s.of || report->verdict.refused) {
        return;
    }
    for (k = 0; k < s.n; k++) {
        columns[1 + k] = (ka_column){.head = s.heads[k], .right = true};
    }
    ka_page_heading(page, "Simulated: who would wait");
    ka_table_init(&table, columns, 1 + s.n, page->pool);
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *cells[1 + COLUMNS_MOST] = {rows[i].label};

        for (k = 0; k < s.n; k++) {
            cells[1 + k] = rows[i].cell(s.runs[k], page->pool);
        }
        ka_table_row(&table, KA_STYLE_PLAIN, cells);
    }
    ka_table_print(&table, page, 2);
    ka_page_gap(page);
    ka_page_paragraph(page, KA_STYLE_PLAIN, "  ", "  ",
                      basis(page->pool, s.of));
    if (!s.of->decides) {
        ka_page_paragraph(page, KA_STYLE_PLAIN, "  ", "  ",
                          "Draws are burstier than the log: spare workers are "
                          "those that its own seconds ask for.");
    }
}
