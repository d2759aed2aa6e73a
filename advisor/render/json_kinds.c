/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Kinds of content by themselves (R16, R17). */
#include "jsonparts.h"

static const char *const keys[KA_CLASS_N] = {[KA_CLASS_STATIC] = "static",
                                             [KA_CLASS_DYNAMIC] = "dynamic"};

static json_t *known(bool is, double value)
{
    return is ? ka_doc_number(value) : json_null();
}

static json_t *class_json(const ka_class_advice *c)
{
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}",
        "requests_share", ka_doc_number(c->requests_share), "service_s",
        known(c->busy_known, c->service_s), "busy_mean",
        known(c->busy_known, c->busy_mean), "busy_share",
        known(c->busy_known, c->busy_share), "busy_peak",
        known(c->busy_known, c->busy_peak), "reuse",
        known(c->idle_known, c->reuse), "idle_mean",
        known(c->idle_known, c->idle_mean), "alone_keep_alive",
        c->idle_known ? json_boolean(c->alone_us != KA_TIMEOUT_OFF)
                      : json_null(),
        "alone_timeout_s",
        c->idle_known ? ka_doc_timeout(c->alone_us) : json_null(),
        "alone_longer",
        c->idle_known ? json_boolean(c->alone_longer) : json_null(),
        "opens_per_s", known(c->idle_known, c->opens_per_s), "close_pays",
        (int)c->close_pays);
}

json_t *ka_doc_kinds(const ka_report *report, apr_pool_t *pool)
{
    const ka_by_class *by = &report->by_class;
    json_t *object, *lines;
    size_t i;

    if (!by->known) {
        return json_null();
    }
    lines = json_array();
    for (i = 0; i < by->line_n; i++) {
        json_array_append_new(lines, ka_doc_text(by->lines[i], pool));
    }
    object = json_pack("{s:o, s:o, s:o}", "timeout_s",
                       ka_doc_timeout(by->timeout_us),
                       "text", ka_doc_text(by->verdict, pool), "lines", lines);
    for (i = 0; i < KA_CLASS_N; i++) {
        json_object_set_new(object, keys[i], class_json(&by->classes[i]));
    }
    return object;
}
