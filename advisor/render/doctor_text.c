/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * `kaadvisor doctor` for people. */
#include "doctor.h"

#include <string.h>
#include <apr_strings.h>

#include "../model/capacity.h"
#include "../words.h"
#include "page.h"
#include "table.h"

#define SERVICES_SHOWN 6
#define INDENT 2

/* ---- limits ------------------------------------------------------------ */

static const ka_column limit_columns[] = {{.head = "Within limits"},
                                          {.head = "now", .most = 36},
                                          {.head = "from", .drop = 1}};

/* What needs a look, with what to do. */
static void print_near(ka_page *page, const ka_limit *row)
{
    const char *lead = apr_psprintf(page->pool, "  %-4s  ",
                                    ka_limit_verdict_name(row->verdict));
    static const char rest[] = "        ";

    ka_page_paragraph(
        page, KA_STYLE_BOLD, lead, rest,
        apr_pstrcat(page->pool, row->what, ": ", row->text, NULL));
    ka_page_paragraph(page, KA_STYLE_PLAIN, rest, rest, row->remedy);
    ka_page_paragraph(page, KA_STYLE_DIM, rest, rest,
                      apr_pstrcat(page->pool, "from ", row->origin, NULL));
}

/* Rows of the host, or those of its httpd; what needs a look comes first. */
static void print_limits(ka_page *page, const ka_limit_table *limits,
                         bool of_host)
{
    ka_table table;
    int verdict, i;
    bool near = false;

    ka_table_init(&table, limit_columns, 3, page->pool);
    for (verdict = KA_LIMIT_IS_BAD; verdict >= KA_LIMIT_OK; verdict--) {
        for (i = 0; i < limits->rows->nelts; i++) {
            const ka_limit *row =
                &APR_ARRAY_IDX(limits->rows, i, const ka_limit);
            const char *cells[] = {row->what, row->text, row->origin};

            if (row->of_host != of_host || (int)row->verdict != verdict) {
                continue;
            }
            if (verdict == KA_LIMIT_OK) {
                ka_table_row(&table, KA_STYLE_PLAIN, cells);
            }
            else {
                print_near(page, row);
                near = true;
            }
        }
    }
    if (near && table.rows->nelts) {
        ka_page_gap(page);
    }
    ka_table_print(&table, page, INDENT);
}

/* ---- memory ------------------------------------------------------------ */

static const char *size(const ka_page *page, int64_t bytes)
{
    return ka_words_size(page->pool, bytes);
}

static void print_requests(ka_page *page, const ka_memory *m)
{
    apr_pool_t *pool = page->pool;
    const char *most = ka_words_count(pool, m->requests_most);

    if (m->counted_n == 0) {
        return;
    }
    ka_page_item(
        page, "Requests",
        apr_psprintf(pool, "%s%s%s served by each child so far (mod_kastats)",
                     m->requests_least == m->requests_most
                         ? ""
                         : ka_words_count(pool, m->requests_least),
                     m->requests_least == m->requests_most ? "" : " to ",
                     most));
}

static const ka_column child_columns[] = {
    {.head = "Child", .right = true}, {.head = "requests", .right = true},
    {.head = "age", .right = true},   {.head = "unique", .right = true},
    {.head = "PSS", .right = true},   {.head = ""}};

/* One by one, where each is asked for. */
static void print_each_child(ka_page *page, const ka_memory *m)
{
    apr_pool_t *pool = page->pool;
    ka_table table;
    size_t i;

    ka_table_init(&table, child_columns,
                  sizeof(child_columns) / sizeof(child_columns[0]), pool);
    for (i = 0; i < m->child_n; i++) {
        const ka_memory_child *c = &m->children[i];
        const char *cells[] = {
            apr_psprintf(pool, "%d", c->pid),
            c->requests < 0 ? "?" : ka_words_count(pool, c->requests),
            c->age_us < 0 ? "?" : ka_words_duration(pool, (double)c->age_us),
            c->memory.uss < 0 ? "?" : size(page, c->memory.uss),
            c->memory.pss < 0 ? "?" : size(page, c->memory.pss),
            c->warm ? "warm" : "cold"};

        ka_table_row(&table, KA_STYLE_PLAIN, cells);
    }
    if (table.rows->nelts) {
        ka_page_gap(page);
        ka_table_print(&table, page, INDENT);
    }
}

static void print_children(ka_page *page, const ka_memory *m)
{
    static const char *const trust_names[] = {"low", "medium", "high"};
    apr_pool_t *pool = page->pool;

    if (m->known) {
        ka_page_item(page, "Shared",
                     apr_pstrcat(pool, size(page, m->shared_bytes),
                                 ", once for all", NULL));
        ka_page_item(page, "Each child",
                     apr_psprintf(pool, "%s; the largest %s",
                                  size(page, m->unique_bytes),
                                  size(page, m->unique_most)));
        ka_page_item(page, "All now", size(page, m->pss_sum));
    }
    print_requests(page, m);
    ka_page_item(page, "From", m->origin);
    ka_page_item(page, "Confidence",
                 m->remark ? apr_pstrcat(pool, trust_names[m->trust], ": ",
                                         m->remark, NULL)
                           : trust_names[m->trust]);
    if (m->leak.measured) {
        ka_page_item(
            page, "[M17] leak",
            apr_psprintf(pool,
                         "each request leaves %s behind, over %d "
                         "children",
                         size(page, (int64_t)m->leak.bytes_per_request),
                         (int)m->leak.children));
    }
    if (m->threads > 1) {
        ka_page_item(
            page, "Connections",
            apr_psprintf(pool,
                         "on event an idle one takes no worker but %s, "
                         "%s with TLS (assumed: [M14])",
                         size(page, KA_IDLE_PLAIN_BYTES),
                         size(page, KA_IDLE_TLS_BYTES)));
    }
}

static const ka_column bound_columns[] = {
    {.head = "Limit", .most = 40},        {.head = "size", .right = true},
    {.head = "others", .right = true},    {.head = "spare", .right = true},
    {.head = "for httpd", .right = true}, {.head = "from", .wrap = true}};

static void print_budget(ka_page *page, const ka_doctor_httpd *h)
{
    const ka_memory_budget *b = &h->site.budget;
    ka_table table;
    size_t i;

    ka_table_init(&table, bound_columns, 6, page->pool);
    for (i = 0; i < b->n; i++) {
        const ka_memory_bound *bound = &b->bounds[i];
        const char *cells[] = {
            bound->name,
            size(page, bound->limit),
            apr_pstrcat(page->pool, bound->others_upper_bound ? "<=" : "",
                        size(page, bound->others), NULL),
            size(page, bound->headroom),
            size(page, bound->bytes),
            bound->origin};

        ka_table_row(&table, i == b->tightest ? KA_STYLE_BOLD : KA_STYLE_PLAIN,
                     cells);
    }
    ka_page_gap(page);
    ka_table_print(&table, page, INDENT);
}

static void print_room(ka_page *page, const ka_doctor_httpd *h)
{
    const ka_memory_budget *b = &h->site.budget;
    const char *text, *lead = "  ";

    if (b->n == 0) {
        return;
    }
    text = apr_psprintf(page->pool, "[M14] httpd may take %s in all (%s)",
                        size(page, b->bytes), b->bounds[b->tightest].name);
    if (h->fits >= 0) {
        text = apr_psprintf(page->pool, "%s: (%s - %s shared) / %s = %s %s",
                            text, size(page, b->bytes),
                            size(page, h->site.memory.shared_bytes),
                            size(page, h->site.memory.unique_bytes),
                            ka_words_count(page->pool, h->fits),
                            h->fits == 1 ? "child" : "children");
    }
    if (h->fits >= 0 && h->site.memory.warm_n == 0) {
        text = apr_pstrcat(page->pool, text,
                           ", of cold ones; of warm ones fewer", NULL);
    }
    ka_page_gap(page);
    ka_page_paragraph(page, KA_STYLE_BOLD, lead, lead,
                      apr_pstrcat(page->pool, text, ".", NULL));
}

/* ---- settings ---------------------------------------------------------- */

static const ka_column setting_columns[] = {{.head = "Directive"},
                                            {.head = "value", .right = true},
                                            {.head = "from", .wrap = true}};

static const char *value_of(const ka_fact *fact, ka_fact_unit unit,
                            apr_pool_t *pool)
{
    switch (unit) {
    case KA_FACT_US:
        return ka_words_duration(pool, (double)fact->value);
    case KA_FACT_BYTES:
        return ka_words_size(pool, fact->value);
    case KA_FACT_ONOFF:
        return fact->value ? "On" : "Off";
    default:
        return ka_words_count(pool, fact->value);
    }
}

static void print_settings(ka_page *page, const ka_doctor_httpd *h,
                           const char *label)
{
    ka_table table;
    int i;

    ka_table_init(&table, setting_columns, 3, page->pool);
    if (h->mpm != KA_MPM_UNKNOWN) {
        const char *cells[] = {"MPM", ka_mpm_name(h->mpm), h->mpm_origin};

        ka_table_row(&table, KA_STYLE_PLAIN, cells);
    }
    for (i = 0; i < KA_SETTINGS; i++) {
        const ka_fact *fact = &h->settings.facts[i];
        const ka_fact_info *info = ka_setting_info_of((ka_setting_id)i);
        const char *cells[] = {info->directive,
                               value_of(fact, info->unit, page->pool),
                               fact->origin};

        if (fact->known) {
            ka_table_row(&table, KA_STYLE_PLAIN, cells);
        }
    }
    if (table.rows->nelts) {
        ka_page_heading(page,
                        apr_pstrcat(page->pool, "Settings of ", label, NULL));
        ka_table_print(&table, page, INDENT);
    }
}

/* ---- services ---------------------------------------------------------- */

static const ka_column service_columns[] = {{.head = "Process", .most = 24},
                                            {.head = "", .most = 16},
                                            {.head = "number", .right = true},
                                            {.head = "memory", .right = true}};

static void print_services(ka_page *page, const ka_memory_others *others,
                           bool verbose)
{
    int n = others->services->nelts, i;
    ka_table table;

    if (!verbose && n > SERVICES_SHOWN) {
        n = SERVICES_SHOWN;
    }
    ka_table_init(&table, service_columns, 4, page->pool);
    for (i = 0; i < n; i++) {
        const ka_service *s =
            &APR_ARRAY_IDX(others->services, i, const ka_service);
        const char *cells[] = {
            s->name, s->kind, ka_words_count(page->pool, s->processes),
            apr_pstrcat(page->pool, s->upper_bound ? "<=" : "",
                        size(page, s->bytes), NULL)};

        ka_table_row(&table, KA_STYLE_PLAIN, cells);
    }
    ka_table_print(&table, page, INDENT);
    if (n < others->services->nelts) {
        ka_page_paragraph(page, KA_STYLE_DIM, "  ", "  ",
                          apr_psprintf(page->pool, "and %d more (--verbose)",
                                       others->services->nelts - n));
    }
    if (others->upper_bound) {
        ka_page_paragraph(page, KA_STYLE_PLAIN, "  ", "  ",
                          "<= is RSS, which counts shared pages once a "
                          "process; root sees what they really take.");
    }
}

/* ---- what is missing --------------------------------------------------- */

static void print_point(ka_page *page, const char *text)
{
    ka_page_paragraph(page, KA_STYLE_PLAIN, "  - ", "    ", text);
}

/* Those that one remedy helps are one point. */
static void print_missing_limits(ka_page *page, const ka_limit_table *limits,
                                 bool of_host)
{
    const ka_limit_missing *rows =
        (const ka_limit_missing *)limits->missing->elts;
    int n = limits->missing->nelts, i, k;

    for (i = 0; i < n; i++) {
        const char *names = rows[i].what;
        bool first = rows[i].of_host == of_host;

        for (k = 0; k < i; k++) {
            first = first && strcmp(rows[k].help, rows[i].help) != 0;
        }
        for (k = i + 1; first && k < n; k++) {
            if (!strcmp(rows[k].help, rows[i].help)) {
                names =
                    apr_pstrcat(page->pool, names, ", ", rows[k].what, NULL);
            }
        }
        if (first) {
            print_point(
                page, apr_pstrcat(page->pool, names, ": ", rows[i].help, NULL));
        }
    }
}

static bool has_missing(const ka_doctor *doctor)
{
    bool missing = doctor->failed || doctor->limits.missing->nelts > 0;
    size_t i;

    for (i = 0; i < doctor->httpd_n; i++) {
        const ka_doctor_httpd *h = &doctor->httpds[i];

        missing = missing || h->site.limit_table.missing->nelts ||
                  h->missing->nelts || h->site.cgroup.missing;
    }
    return missing;
}

static void print_missing(ka_page *page, const ka_doctor *doctor)
{
    size_t i;
    int k;

    if (!has_missing(doctor)) {
        return;
    }
    ka_page_heading(page, "Not known");
    if (doctor->failed) {
        print_point(page, doctor->failed);
    }
    print_missing_limits(page, &doctor->limits, true);
    for (i = 0; i < doctor->httpd_n; i++) {
        const ka_doctor_httpd *h = &doctor->httpds[i];

        for (k = 0; k < h->missing->nelts; k++) {
            print_point(page, APR_ARRAY_IDX(h->missing, k, const char *));
        }
        if (h->site.cgroup.missing) {
            print_point(page, h->site.cgroup.missing);
        }
        print_missing_limits(page, &h->site.limit_table, false);
    }
}

/* ---- all --------------------------------------------------------------- */

static int to_look_at(const ka_limit_table *limits, bool of_host)
{
    int i, n = 0;

    for (i = 0; i < limits->rows->nelts; i++) {
        const ka_limit *row = &APR_ARRAY_IDX(limits->rows, i, const ka_limit);

        n += row->of_host == of_host && row->verdict != KA_LIMIT_OK;
    }
    return n;
}

static void print_summary(ka_page *page, const ka_doctor *doctor)
{
    int n = to_look_at(&doctor->limits, true);
    size_t i;

    for (i = 0; i < doctor->httpd_n; i++) {
        n += to_look_at(&doctor->httpds[i].site.limit_table, false);
    }
    ka_page_paragraph(
        page, KA_STYLE_BOLD, "", "",
        apr_psprintf(
            page->pool, "%s%s%s, %s",
            doctor->httpd_n
                ? ka_words_plural(page->pool, (int64_t)doctor->httpd_n, "httpd")
                : "No httpd",
            doctor->httpd_n == 0   ? " is running here"
            : doctor->httpd_n == 1 ? " runs here"
                                   : " run here",
            doctor->httpd_n ? "" : " (or none that can be seen)",
            n ? apr_psprintf(
                    page->pool, "%s a look",
                    n == 1 ? "1 limit needs"
                           : apr_psprintf(page->pool, "%d limits need", n))
              : "no limit is near"));
}

apr_status_t ka_render_doctor_text(FILE *out, const ka_doctor *doctor,
                                   const ka_render_options *options)
{
    ka_page page;
    apr_status_t rv = ka_page_begin(&page, out, options->width, options->color);
    size_t i;

    if (rv) {
        return rv;
    }
    print_summary(&page, doctor);
    for (i = 0; i < doctor->httpd_n; i++) {
        const ka_doctor_httpd *h = &doctor->httpds[i];
        const char *label = ka_words_clean(page.pool, h->label, false);

        ka_page_heading(
            &page, apr_psprintf(page.pool, "Memory of %s, with %d %s", label,
                                (int)h->site.memory.child_n,
                                h->site.memory.child_n == 1 ? "child"
                                                            : "children"));
        print_children(&page, &h->site.memory);
        if (options->verbose) {
            print_each_child(&page, &h->site.memory);
        }
        print_budget(&page, h);
        print_room(&page, h);
        print_settings(&page, h, label);
        ka_page_heading(&page,
                        apr_pstrcat(page.pool, "Limits of ", label, NULL));
        print_limits(&page, &h->site.limit_table, false);
    }
    ka_page_heading(&page, "Limits of this host");
    print_limits(&page, &doctor->limits, true);
    ka_page_heading(&page, "What else holds memory");
    print_services(&page, &doctor->services, options->verbose);
    print_missing(&page, doctor);
    return ka_page_end(&page);
}
