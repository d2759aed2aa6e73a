/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "sections.h"

#include <string.h>
#include <apr_strings.h>
#include <ka_units.h>

#include "table.h"

#define FILES_SHOWN 4
#define SAMPLES_SHOWN 2

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

    if (!source->log_format) {
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
    if (source->late) {
        ka_page_item(
            page, "  late",
            apr_psprintf(pool, "%s came too late to be put in order",
                         ka_words_plural(pool, (int64_t)source->late, "line")));
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

static void unknown_facts(ka_page *page, const ka_server *server)
{
    const char *text = NULL;
    int i;

    for (i = 0; i < KA_FACTS; i++) {
        const ka_fact_info *info = ka_fact_info_of((ka_fact_id)i);

        if (!server->facts[i].known) {
            text = apr_pstrcat(page->pool, text ? text : "", text ? ", " : "",
                               info->label, info->option ? " (" : "",
                               info->option ? info->option : "",
                               info->option ? ")" : "", NULL);
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

    ka_page_heading(page, "Where these numbers come from");
    files(page, source, verbose);
    lines(page, source, verbose);
    format(page, source);
    identity(page, report);
    window(page, source);
    if (report->server) {
        known_facts(page, report->server);
        unknown_facts(page, report->server);
    }
}
