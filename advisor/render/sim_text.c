/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * `kaadvisor simulate` for people: the configurations beside each other, then
 * each over time. */
#include "sim.h"

#include <string.h>
#include <apr_strings.h>

#include <ka_units.h>

#include "sections.h"
#include "table.h"

/* ---- names -------------------------------------------------------------- */

#define LABEL_MOST 24

static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* A short name of a configuration: its file's, where that tells which. */
static const char *label_of(const ka_sim_view *view, size_t side,
                            apr_pool_t *pool)
{
    static const char *const options[KA_SIM_SIDES] = {"--config", "--against"};
    const char *name = base_of(view->sides[side].file);
    const char *other = base_of(view->sides[view->side_n - 1 - side].file);

    if (strlen(name) > LABEL_MOST || (view->side_n > 1 && !strcmp(name, other))) {
        return options[side];
    }
    return ka_words_clean(pool, name, false);
}

/* ---- one value for each configuration ----------------------------------- */

typedef const char *cell_fn(const ka_sim_side *side, apr_pool_t *pool);

#define CELL(name, text)                                                       \
    static const char *name(const ka_sim_side *side, apr_pool_t *pool)         \
    {                                                                          \
        const ka_sim_result *r = &side->result;                                \
        const ka_outcome *o = &r->outcome;                                     \
                                                                               \
        (void)r;                                                               \
        (void)o;                                                               \
        return text;                                                           \
    }

static const char *whole(apr_pool_t *pool, uint64_t n)
{
    return ka_words_count(pool, (int64_t)n);
}

static const char *levels(apr_pool_t *pool, double mean, double p999,
                          double peak)
{
    return apr_pstrcat(pool, ka_words_number(pool, mean), " / ",
                       ka_words_whole(pool, p999), " / ",
                       ka_words_whole(pool, peak), NULL);
}

static const char *time_of(apr_pool_t *pool, int64_t us)
{
    return us ? ka_words_duration(pool, (double)us) : "0";
}

static const char *memory(const ka_sim_result *r, apr_pool_t *pool)
{
    return r->memory_most_bytes < 0
               ? "?"
               : apr_pstrcat(pool,
                             ka_words_size(pool, (int64_t)r->memory_mean_bytes),
                             " / ", ka_words_size(pool, r->memory_most_bytes),
                             NULL);
}

static const char *after(int64_t us, apr_pool_t *pool)
{
    return us == KA_POLICY_STAYS ? "-" : ka_words_timeout(pool, us);
}

static const char *policy(const ka_sim_side *side, apr_pool_t *pool)
{
    const ka_policy *p = side->config.policy;

    return p ? apr_pstrcat(pool, after(p->after_us[KA_CLASS_STATIC], pool),
                           " / ", after(p->after_us[KA_CLASS_DYNAMIC], pool),
                           NULL)
             : "-";
}

static const char *adaptive(const ka_sim_side *side, apr_pool_t *pool)
{
    const ka_adaptive *a = side->config.adaptive;

    return a ? apr_pstrcat(pool, ka_words_timeout(pool, a->max_us), " to ",
                           ka_words_timeout(pool, a->min_us), NULL)
             : "-";
}

CELL(mpm_cell, ((void)pool, ka_mpm_name(side->mpm)))
CELL(timeout_cell, ka_words_timeout(pool, side->config.timeout_us))
CELL(policy_cell, policy(side, pool))
CELL(adaptive_cell, adaptive(side, pool))
CELL(cut_cell, apr_pstrcat(pool, whole(pool, r->cut_waits), " / ",
                           whole(pool, r->closed_full), NULL))
CELL(requests_cell, whole(pool, o->requests))
CELL(connections_cell, whole(pool, o->connections))
CELL(reuse_cell, ka_words_share(pool, o->reuse))
CELL(waited_cell, whole(pool, r->waited))
CELL(wait_p99_cell, time_of(pool, r->wait_p99_us))
CELL(wait_p999_cell, time_of(pool, r->wait_p999_us))
CELL(wait_most_cell, time_of(pool, r->wait_most_us))
CELL(waiting_cell, whole(pool, r->waiting_most))
CELL(refused_cell, whole(pool, r->refused))
CELL(lost_cell, whole(pool, r->given_up))
CELL(evicted_cell, whole(pool, r->evicted))
CELL(dropped_cell, whole(pool, r->dropped))
CELL(retired_cell, whole(pool, r->retired))
CELL(limited_cell, whole(pool, r->limited))
CELL(held_cell,
     levels(pool, o->held.mean, o->held.p999, o->held.peak))
CELL(busy_cell,
     levels(pool, o->busy.mean, o->busy.p999, o->busy.peak))
CELL(free_cell, whole(pool, r->free_least))
CELL(children_cell, apr_pstrcat(pool, ka_words_number(pool, r->children_mean),
                                " / ", whole(pool, r->children_most), NULL))
CELL(started_cell, apr_pstrcat(pool, whole(pool, r->spawned), " / ",
                               whole(pool, r->ended), NULL))
CELL(memory_cell, memory(r, pool))
CELL(cpu_cell, ka_words_duration(pool, r->handshake_cpu_s * 1e6))
CELL(closed_cell, whole(pool, r->restart.closed))
CELL(wave_cell, apr_pstrcat(pool, whole(pool, r->restart.opened_before), " / ",
                            whole(pool, r->restart.opened_after), NULL))
CELL(after_cell, apr_pstrcat(pool, whole(pool, r->restart.waited), " / ",
                             time_of(pool, r->restart.wait_most_us), NULL))

enum when {
    ALWAYS,
    BY_POLICY, /* mod_kapolicy is told something */
    AT_RESTART /* there is one */
};

static const struct {
    const char *label;
    cell_fn *cell;
    enum when when;
} rows[] = {
    {"MPM", mpm_cell, ALWAYS},
    {"KeepAliveTimeout", timeout_cell, ALWAYS},
    {"  by KAPolicy: static / dynamic", policy_cell, BY_POLICY},
    {"  by load (KAPolicyAdaptive)", adaptive_cell, BY_POLICY},
    {"requests served", requests_cell, ALWAYS},
    {"connections accepted", connections_cell, ALWAYS},
    {"requests on an open connection", reuse_cell, ALWAYS},
    {"connections that wait for a worker", waited_cell, ALWAYS},
    {"  wait, p99", wait_p99_cell, ALWAYS},
    {"  wait, p99.9", wait_p999_cell, ALWAYS},
    {"  wait, longest", wait_most_cell, ALWAYS},
    {"  waiting at once, most", waiting_cell, ALWAYS},
    {"attempts refused (queue full)", refused_cell, ALWAYS},
    {"requests lost", lost_cell, ALWAYS},
    {"closed by load: idle / with a response", cut_cell, BY_POLICY},
    {"idle connections evicted (event)", evicted_cell, ALWAYS},
    {"requests dropped with them", dropped_cell, ALWAYS},
    {"stops at AsyncRequestWorkerFactor", limited_cell, ALWAYS},
    {"idle ones closed with a child (event)", retired_cell, ALWAYS},
    {"the restart: idle ones closed (event)", closed_cell, AT_RESTART},
    {"  connections, 10s before / after it", wave_cell, AT_RESTART},
    {"  of these that wait / longest", after_cell, AT_RESTART},
    {"connections held, mean / p99.9 / most", held_cell, ALWAYS},
    {"busy with requests, the same", busy_cell, ALWAYS},
    {"free workers, least", free_cell, ALWAYS},
    {"children, mean / most", children_cell, ALWAYS},
    {"children started / ended", started_cell, ALWAYS},
    {"memory, mean / most", memory_cell, ALWAYS},
    {"CPU time of handshakes", cpu_cell, ALWAYS},
};

static bool has_policy(const ka_sim_view *view)
{
    size_t i;

    for (i = 0; i < view->side_n; i++) {
        if (view->sides[i].rule_n > 0) {
            return true;
        }
    }
    return false;
}

static bool shown(const ka_sim_view *view, enum when when)
{
    return when == ALWAYS || (when == BY_POLICY && has_policy(view)) ||
           (when == AT_RESTART && view->sides[0].config.restart_us >= 0);
}

static void print_rows(ka_page *page, const ka_sim_view *view)
{
    const ka_column columns[] = {
        {.head = ""},
        {.head = label_of(view, 0, page->pool), .right = true},
        {.head = label_of(view, view->side_n - 1, page->pool), .right = true}};
    ka_table table;
    size_t i, k;

    ka_page_heading(page, "What would happen");
    ka_table_init(&table, columns, 1 + view->side_n, page->pool);
    for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *cells[1 + KA_SIM_SIDES] = {rows[i].label};

        if (!shown(view, rows[i].when)) {
            continue;
        }
        for (k = 0; k < view->side_n; k++) {
            cells[1 + k] = rows[i].cell(&view->sides[k], page->pool);
        }
        ka_table_row(&table, KA_STYLE_PLAIN, cells);
    }
    ka_table_print(&table, page, 2);
}

/* ---- over time ---------------------------------------------------------- */

static const ka_column point_columns[] = {
    {.head = "from"},
    {.head = "children", .right = true},
    {.head = "busy", .right = true},
    {.head = "free", .right = true},
    {.head = "open", .right = true},
    {.head = "waiting", .right = true},
    {.head = "refused", .right = true, .drop = 1},
    {.head = "evicted", .right = true, .drop = 2},
    {.head = "dropped", .right = true, .drop = 3},
    {.head = "memory", .right = true, .drop = 4}};

#define POINT_COLUMNS (sizeof(point_columns) / sizeof(point_columns[0]))

static void print_points(ka_page *page, const ka_sim_view *view, size_t side)
{
    const ka_sim_result *r = &view->sides[side].result;
    apr_pool_t *pool = page->pool;
    ka_table table;
    size_t i;

    ka_page_heading(
        page,
        apr_psprintf(pool, "%s over time: the most, of free workers the "
                           "fewest, in each %s",
                     label_of(view, side, pool),
                     ka_words_duration(pool, (double)r->step_us)));
    ka_table_init(&table, point_columns, POINT_COLUMNS, pool);
    for (i = 0; i < r->point_n; i++) {
        const ka_sim_point *p = &r->points[i];
        const char *cells[POINT_COLUMNS] = {
            i ? ka_words_duration(pool, (double)i * (double)r->step_us) : "0",
            whole(pool, p->children),
            whole(pool, p->busy),
            whole(pool, p->free),
            whole(pool, p->connections),
            whole(pool, p->waiting),
            whole(pool, p->refused),
            whole(pool, p->evicted),
            whole(pool, p->dropped),
            p->memory_bytes < 0 ? "?" : ka_words_size(pool, p->memory_bytes)};

        ka_table_row(&table, KA_STYLE_PLAIN, cells);
    }
    ka_table_print(&table, page, 2);
}

/* ---- settings ----------------------------------------------------------- */

static const char *value_text(const ka_fact *fact, ka_fact_unit unit,
                              apr_pool_t *pool)
{
    switch (unit) {
    case KA_FACT_US:
        return ka_words_duration(pool, (double)fact->value);
    case KA_FACT_ONOFF:
        return fact->value ? "On" : "Off";
    default:
        return apr_psprintf(pool, "%" APR_INT64_T_FMT, fact->value);
    }
}

static void print_settings(ka_page *page, const ka_sim_view *view, size_t at)
{
    const ka_sim_side *side = &view->sides[at];
    static const ka_column columns[] = {{.head = "Directive"},
                                        {.head = "Value", .right = true},
                                        {.head = "From", .wrap = true}};
    size_t n, i;
    const ka_setting_id *ids = ka_sim_settings(&n, side->mpm);
    ka_table table;

    ka_page_heading(page, apr_psprintf(page->pool, "Settings of %s",
                                       label_of(view, at, page->pool)));
    ka_page_item(page, "MPM",
                 apr_pstrcat(page->pool, ka_mpm_name(side->mpm), ", by ",
                             side->mpm_origin, NULL));
    ka_table_init(&table, columns, 3, page->pool);
    for (i = 0; i < n; i++) {
        const ka_fact_info *info = ka_setting_info_of(ids[i]);
        const ka_fact *fact = &side->settings.facts[ids[i]];
        const char *cells[3] = {info->directive, "?", ""};

        if (fact->known) {
            cells[1] = value_text(fact, info->unit, page->pool);
            cells[2] = fact->origin;
        }
        ka_table_row(&table, KA_STYLE_PLAIN, cells);
    }
    ka_table_print(&table, page, 2);
    for (i = 0; i < side->rule_n; i++) {
        const ka_sim_rule *rule = &side->rules[i];

        ka_page_paragraph(page, KA_STYLE_PLAIN, "  ", "    ",
                          apr_pstrcat(page->pool, rule->directive, " ",
                                      rule->value, "  (", rule->origin,
                                      rule->obeyed ? ")" : "; left out)",
                                      NULL));
    }
    for (i = 0; i < side->remark_n; i++) {
        ka_page_paragraph(page, KA_STYLE_PLAIN, "  - ", "    ",
                          side->remarks[i]);
    }
}

/* ---- all of it ---------------------------------------------------------- */

static void print_verdicts(ka_page *page, const ka_sim_view *view)
{
    size_t i;

    for (i = 0; i < view->side_n; i++) {
        ka_page_paragraph(
            page, KA_STYLE_BOLD, "", "  ",
            apr_pstrcat(page->pool, view->sides[i].file, " (",
                        ka_mpm_name(view->sides[i].mpm), "): ",
                        view->verdicts[i], ".", NULL));
    }
}

static void print_basis(ka_page *page, const ka_sim_view *view)
{
    apr_pool_t *pool = page->pool;
    const ka_stretch *s = &view->stretch;
    int64_t us = s->traffic->end_us - s->traffic->begin_us;
    size_t i;

    ka_page_heading(page, "What this rests on");
    ka_page_item(page, "traffic", view->stretch.how);
    ka_page_item(page, "",
                 apr_psprintf(pool, "%s of %s in %s, seed %" APR_UINT64_T_FMT,
                              ka_words_plural(pool, (int64_t)s->requests,
                                              "request"),
                              ka_words_plural(
                                  pool, (int64_t)view->stretch.traffic->chain_n,
                                  "chain"),
                              ka_words_duration(pool, (double)us),
                              view->seed));
    for (i = 0; i < view->note_n; i++) {
        ka_page_paragraph(page, KA_STYLE_PLAIN, "  - ", "    ",
                          view->notes[i]);
    }
}

apr_status_t ka_render_sim_text(FILE *out, const ka_sim_view *view,
                                const ka_render_options *options)
{
    ka_page page;
    apr_status_t rv = ka_page_begin(&page, out, options->width, options->color);
    size_t i;

    if (rv != APR_SUCCESS) {
        return rv;
    }
    print_verdicts(&page, view);
    print_rows(&page, view);
    for (i = 0; i < view->side_n; i++) {
        print_points(&page, view, i);
    }
    for (i = 0; i < view->side_n; i++) {
        print_settings(&page, view, i);
    }
    print_basis(&page, view);
    ka_section_source(&page, view->report, options->verbose);
    return ka_page_end(&page);
}
