/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "jsonparts.h"

static json_t *texts(const char *const *items, size_t n, apr_pool_t *pool)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < n; i++) {
        json_array_append_new(array, ka_doc_text(items[i], pool));
    }
    return array;
}

static json_t *samples(const ka_source_info *source, apr_pool_t *pool)
{
    json_t *array = json_array();
    size_t i;

    for (i = 0; i < source->sample_n; i++) {
        const ka_skipped_sample *s = &source->samples[i];

        json_array_append_new(
            array, json_pack("{s:o, s:o, s:o, s:o}", "file",
                             ka_doc_text(s->file, pool), "line",
                             ka_doc_whole((int64_t)s->line), "column",
                             ka_doc_whole((int64_t)s->column), "reason",
                             ka_doc_text(s->reason, pool)));
    }
    return array;
}

static void add_quality(json_t *object, const ka_source_info *source,
                        apr_pool_t *pool)
{
    const struct {
        const char *key;
        uint64_t n;
    } counts[] = {
        {"overlong", source->overlong},         {"cut", source->cut},
        {"out_of_order", source->out_of_order}, {"late", source->late},
        {"forgotten", source->forgotten},       {"requests", source->requests}};
    size_t i;

    for (i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        json_object_set_new(object, counts[i].key,
                            ka_doc_whole((int64_t)counts[i].n));
    }
    json_object_set_new(object, "damaged",
                        texts(source->damaged, source->damaged_n, pool));
}

json_t *ka_doc_source(const ka_report *report, apr_pool_t *pool)
{
    const ka_source_info *source = report->source;
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "kind",
                  ka_doc_text(source->kind, pool), "files",
                  texts(source->files, source->file_n, pool), "lines",
                  ka_doc_whole((int64_t)source->lines), "parsed",
                  ka_doc_whole((int64_t)source->parsed), "skipped",
                  ka_doc_whole((int64_t)source->skipped), "skipped_samples",
                  samples(source, pool), "log_format",
                  ka_doc_text(source->log_format, pool), "log_format_text",
                  ka_doc_text(source->log_format_text, pool),
                  "log_format_detected", (int)source->log_format_detected);

    if (!object) {
        return NULL;
    }
    json_object_set_new(object, "found",
                        texts(report->found, report->found_n, pool));
    json_object_set_new(object, "identity",
                        ka_doc_text(report->identity, pool));
    json_object_set_new(object, "identity_note",
                        ka_doc_text(report->identity_note, pool));
    json_object_set_new(object, "clock_resolution_s",
                        ka_doc_seconds(source->clock_us));
    json_object_set_new(object, "service_clock_resolution_s",
                        source->service_clock_us
                            ? ka_doc_seconds(source->service_clock_us)
                            : json_null());
    json_object_set_new(object, "first", ka_doc_time(source->first_us, pool));
    json_object_set_new(object, "last", ka_doc_time(source->last_us, pool));
    add_quality(object, source, pool);
    return object;
}
