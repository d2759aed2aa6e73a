/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sections.h"

#include <string.h>
#include <apr_strings.h>
#include <ka_units.h>

#include "table.h"

#define FILES_SHOWN 4
#define SAMPLES_SHOWN 2
#define SERVERS_NAMED 10

static void files(ka_page *page, const ka_source_info *source, bool verbose)
{
    size_t n =
        verbose || source->file_n <= FILES_SHOWN ? source->file_n : FILES_SHOWN;
    const char *text = "";
    size_t i;

    for (i = 0; i < n; i++) {
        const char *file =
            strcmp(source->files[i], "-") ? source->files[i] : "standard input";

        text = apr_pstrcat(page->pool, text, i ? ", " : "", file, NULL);
    }
    if (n < source->file_n) {
        text = apr_psprintf(page->pool, "%s and %s", text,
                            ka_words_plural(page->pool,
                                            (int64_t)(source->file_n - n),
                                            "more file"));
    }
    if (source->file_n) {
        ka_page_item(page, "Read", text);
    }
    for (i = 0; i < source->damaged_n; i++) {
        ka_page_item(page, "Damaged", source->damaged[i]);
    }
}

static void lines(ka_page *page, const ka_source_info *source, bool verbose)
{
    apr_pool_t *pool = page->pool;
    const char *of = source->lines
                         ? ka_words_share(pool, (double)source->skipped /
                                                    (double)source->lines)
                         : "0%";
    size_t n = verbose || source->sample_n < SAMPLES_SHOWN ? source->sample_n
                                                           : SAMPLES_SHOWN;
    size_t i;

    if (!source->log_format && !source->lines) {
        return; /* no log */
    }
    ka_page_item(page, "Lines",
                 apr_psprintf(pool, "%s, %s of them parsed, %s skipped (%s)",
                              ka_words_count(pool, (int64_t)source->lines),
                              ka_words_count(pool, (int64_t)source->parsed),
                              ka_words_count(pool, (int64_t)source->skipped),
                              of));
    for (i = 0; i < n; i++) {
        const ka_skipped_sample *s = &source->samples[i];

        ka_page_item(
            page, "  skipped",
            apr_psprintf(
                pool, "%s:%s:%s: %s", ka_words_clean(pool, s->file, false),
                apr_psprintf(pool, "%" APR_UINT64_T_FMT, s->line),
                apr_psprintf(pool, "%" APR_SIZE_T_FMT, s->column), s->reason));
    }
    if (source->forgotten) {
        ka_page_item(
            page, "  forgotten",
            apr_psprintf(
                pool, "%s taken as gone early, for lack of room",
                ka_words_plural(pool, (int64_t)source->forgotten, "client")));
    }
    if (source->late) {
        ka_page_item(
            page, "  late",
            apr_psprintf(pool, "%s came too late to be put in order",
                         ka_words_plural(pool, (int64_t)source->late, "line")));
    }
}

/* What is not plain from the files' names: how they came to be. */
static void kind(ka_page *page, const ka_source_info *source)
{
    static const struct {
        const char *name, *words;
    } kinds[] = {
        {"profile", "profiles: traffic that was counted before, and added up"},
        {"prometheus", "Prometheus: what mod_kastats counted, over a window"}};
    size_t i;

    for (i = 0; source->kind && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (!strcmp(source->kind, kinds[i].name)) {
            ka_page_item(page, "Source", kinds[i].words);
        }
    }
}

static void servers(ka_page *page, const ka_report *report)
{
    size_t n = report->host_n < SERVERS_NAMED ? report->host_n : SERVERS_NAMED;
    const char *text = NULL;
    apr_pool_t *pool = page->pool;
    size_t i;

    if (report->host) {
        ka_page_item(page, "Server", ka_words_clean(pool, report->host, false));
    }
    for (i = 0; i < n; i++) {
        const char *name = report->hosts[i]->host;

        text = apr_pstrcat(
            pool, text ? text : "", text ? ", " : "",
            name ? ka_words_clean(pool, name, false) : "(no name)", NULL);
    }
    if (text) {
        ka_page_item(page, "Servers",
                     apr_psprintf(pool, "%s: %s%s",
                                  ka_words_count(pool, (int64_t)report->host_n),
                                  text, n < report->host_n ? ", ..." : ""));
    }
}

static void format(ka_page *page, const ka_source_info *source)
{
    if (!source->log_format) {
        return;
    }
    ka_page_item(
        page, "Log format",
        apr_psprintf(page->pool, "%s (%s): %s", source->log_format,
                     source->log_format_detected ? "detected" : "given",
                     source->log_format_text ? source->log_format_text : ""));
}

static void identity(ka_page *page, const ka_report *report)
{
    static const struct {
        const char *name, *words;
    } levels[] = {
        {"port", "address and port name them: exact"},
        {"slot", "child and thread name them: exact on prefork and worker"},
        {"k", "%k counts their requests: a range, since %k repeats"},
        {"time", "put together from clients and times"},
        {"live", "counted by mod_kastats: exact"}};
    const char *words = NULL;
    size_t i;

    if (!report->identity) {
        return;
    }
    for (i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (!strcmp(report->identity, levels[i].name)) {
            words = levels[i].words;
        }
    }
    ka_page_item(
        page, "Connections",
        apr_psprintf(page->pool, "%s%s%s%s%s", report->identity,
                     words ? ": " : "", words ? words : "",
                     report->identity_note ? "; " : "",
                     report->identity_note ? report->identity_note : ""));
}

static void window(ka_page *page, const ka_source_info *source)
{
    apr_pool_t *pool = page->pool;
    const char *first = ka_words_time(pool, source->first_us);
    const char *last = ka_words_time(pool, source->last_us);

    if (first && last) {
        ka_page_item(page, "Window",
                     apr_psprintf(pool, "%s to %s", first, last));
    }
    if (!source->clock_us) {
        return; /* Prometheus has no single requests */
    }
    ka_page_item(page, "Clock",
                 apr_psprintf(pool, "starts to %s, service times %s%s",
                              ka_words_duration(pool, (double)source->clock_us),
                              source->service_clock_us ? "to " : "unknown",
                              source->service_clock_us
                                  ? ka_words_duration(
                                        pool, (double)source->service_clock_us)
                                  : ""));
}

static void known_facts(ka_page *page, const ka_server *server)
{
    static const ka_column columns[] = {{.head = "Server"},
                                        {.head = "value", .right = true},
                                        {.head = "from", .wrap = true}};
    ka_table table;
    int i;

    ka_table_init(&table, columns, 3, page->pool);
    for (i = 0; i < KA_FACTS; i++) {
        char buffer[KA_UNITS_BUFFER];

        if (server->facts[i].known) {
            ka_table_row(
                &table, KA_STYLE_PLAIN,
                (const char *[]){ka_fact_info_of((ka_fact_id)i)->label,
                                 ka_fact_text(buffer, server, (ka_fact_id)i),
                                 server->facts[i].origin});
        }
    }
    if (table.rows->nelts) {
        ka_page_gap(page);
        ka_table_print(&table, page, 2);
    }
}

/* Known of each of a group's servers, but not the same for all. */
static void different_facts(ka_page *page, const ka_report *report)
{
    const char *text = NULL;
    int i;

    for (i = 0; i < KA_FACTS; i++) {
        if (report->facts_differ[i]) {
            text = apr_pstrcat(page->pool, text ? text : "", text ? ", " : "",
                               ka_fact_info_of((ka_fact_id)i)->label, NULL);
        }
    }
    if (text) {
        ka_page_gap(page);
        ka_page_item(page, "Not the same", text);
    }
}

/* Those that an option would tell. */
static void unknown_facts(ka_page *page, const ka_report *report)
{
    const ka_server *server = report->server;
    const char *text = NULL;
    int i;

    for (i = 0; i < KA_FACTS; i++) {
        const ka_fact_info *info = ka_fact_info_of((ka_fact_id)i);

        if (!server->facts[i].known && !report->facts_differ[i] &&
            info->option) {
            text = apr_pstrcat(page->pool, text ? text : "", text ? ", " : "",
                               info->label, " (", info->option, ")", NULL);
        }
    }
    if (text) {
        ka_page_gap(page);
        ka_page_item(page, "Not known", text);
    }
}

void ka_section_source(ka_page *page, const ka_report *report, bool verbose)
{
    const ka_source_info *source = report->source;
    size_t i;

    ka_page_heading(page, "Where these numbers come from");
    for (i = 0; i < report->found_n; i++) {
        ka_page_item(page, i ? "" : "Found",
                     ka_words_clean(page->pool, report->found[i], false));
    }
    kind(page, source);
    servers(page, report);
    files(page, source, verbose);
    lines(page, source, verbose);
    format(page, source);
    identity(page, report);
    window(page, source);
    if (report->server) {
        known_facts(page, report->server);
        different_facts(page, report);
        unknown_facts(page, report);
    }
}
