/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Answers as Prometheus gives them, from the metrics that the module prints of
 * a segment.
 */
#ifndef KA_TEST_PROM_ANSWERS_H
#define KA_TEST_PROM_ANSWERS_H

#include <math.h>
#include <apr_strings.h>
#include <jansson.h>
#include <ka_openmetrics.h>

#include "profile/live.h"
#include "sources/prometheus.h"
#include "unit.h"

#define STEP_S 15
#define BLOCK_S 600

typedef struct text {
    char bytes[1 << 20];
    size_t n;
} text;

static void sink(void *baton, const char *bytes, size_t n)
{
    text *t = baton;

    assert_true(t->n + n < sizeof(t->bytes));
    memcpy(t->bytes + t->n, bytes, n);
    t->n += n;
}

static const char *metrics_of(const ka_segment_header *header, apr_pool_t *pool)
{
    text *t = apr_pcalloc(pool, sizeof(*t));
    const ka_text out = {sink, t};
    const ka_openmetrics_options options = {.prometheus = true};

    ka_openmetrics(&out, header, &options, pool);
    return t->bytes;
}

/* a="b",c="d"} -> labels; @return behind the brace */
static const char *take_labels(json_t *labels, const char *at)
{
    char name[64];

    while (*at != '}') {
        const char *equals = strchr(at, '='), *end;

        end = strchr(equals + 2, '"');
        snprintf(name, sizeof(name), "%.*s", (int)(equals - at), at);
        json_object_set_new(labels, name,
                            json_stringn(equals + 2, end - equals - 2));
        at = end[1] == ',' ? end + 2 : end + 1;
    }
    return at + 1;
}

static void add_sample(json_t *result, const char *line, size_t name_n,
                       const char *instance, const char *value)
{
    json_t *labels =
        json_pack("{ss ss}", "job", "apache", "instance", instance);
    const char *at = line + name_n;
    size_t n;

    if (*at == '{') {
        at = take_labels(labels, at + 1);
    }
    n = strcspn(++at, "\n");
    json_array_append_new(
        result, json_pack("{so s[io]}", "metric", labels, "value", 1000,
                          value ? json_string(value) : json_stringn(at, n)));
}

/* Samples of a metric; value NULL: their own. */
static json_t *samples_of(const char *metrics, const ka_prom_row *row,
                          const char *instance, const char *value)
{
    size_t n = strlen(row->metric);
    json_t *result = json_array();
    const char *line;

    for (line = metrics; *line; line = strchr(line, '\n') + 1) {
        const char *only = strstr(line, row->only);

        if (!strncmp(line, row->metric, n) && strchr("{ ", line[n]) && only &&
            only < strchr(line, '\n')) {
            add_sample(result, line, n, instance, value);
        }
    }
    return result;
}

/* Maxima of steps, from a segment's seconds. */
static json_t *peaks_of(const ka_live *live, const ka_prom_row *row,
                        const char *instance)
{
    json_t *values = json_array();
    size_t i, k;

    for (i = 0; i < live->history_n; i += STEP_S) {
        uint32_t most = 0;

        for (k = i; k < i + STEP_S && k < live->history_n; k++) {
            const ka_second *s = &live->history[k];
            uint32_t level = !strcmp(row->only, "state=\"open\"") ? s->open
                             : *row->only                         ? s->busy
                                                                  : s->requests;

            most = level > most ? level : most;
        }
        json_array_append_new(values, json_pack("[io]", (int)i + STEP_S,
                                                json_sprintf("%u", most)));
    }
    return json_pack("[{s{ss ss} so}]", "metric", "job", "apache", "instance",
                     instance, "values", values);
}

/* What came in blocks, on a grid of its own. */
static json_t *blocks_of(const ka_live *live, const ka_prom_row *row,
                         const char *instance)
{
    json_t *values = json_array();
    size_t i, k;

    for (i = 0; i + BLOCK_S <= live->history_n; i += BLOCK_S) {
        uint32_t n = 0;

        for (k = i; k < i + BLOCK_S; k++) {
            const ka_second *s = &live->history[k];

            n += strstr(row->metric, "reused")
                     ? s->requests - s->connections
                     : s->requests;
        }
        json_array_append_new(values, json_pack("[io]", (int)i + BLOCK_S,
                                                json_sprintf("%u", n)));
    }
    return json_pack("[{s{ss ss} so}]", "metric", "job", "apache", "instance",
                     instance, "values", values);
}

static void take(ka_prom *prom, const ka_prom_row *row, json_t *result)
{
    json_t *root = json_pack(
        "{ss s{ss so}}", "status", "success", "data", "resultType",
        ka_prom_is_range(row) ? "matrix" : "vector", "result", result);
    char *bytes = json_dumps(root, 0);
    const ka_prom_answer answer = {
        .status = 200, .type = "", .text = bytes, .n = strlen(bytes)};
    const char *error = NULL;
    size_t taken;

    assert_int_equal(ka_prom_take(prom, &taken, &error, row, &answer),
                     APR_SUCCESS);
    if (row->required) {
        assert_true(taken > 0);
    }
    free(bytes);
    json_decref(root);
}

/* What Prometheus would know of a server that began within the window. */
static void scrape(ka_prom *prom, const ka_segment_header *header,
                   const ka_live *live, const char *instance, apr_pool_t *pool)
{
    static const char *const values[] = {[KA_PROM_COUNT] = "241",
                                         [KA_PROM_FIRST] = "500",
                                         [KA_PROM_CHANGES] = "0",
                                         [KA_PROM_RESETS] = "0",
                                         [KA_PROM_BLOCK] = NULL};
    const char *metrics = metrics_of(header, pool);
    size_t n, i;
    const ka_prom_row *rows = ka_prom_rows(&n);

    for (i = 0; i < n; i++) {
        take(prom, &rows[i],
             rows[i].function == KA_PROM_PEAK
                 ? peaks_of(live, &rows[i], instance)
             : rows[i].function == KA_PROM_BLOCK
                 ? blocks_of(live, &rows[i], instance)
                 : samples_of(metrics, &rows[i], instance,
                              values[rows[i].function]));
    }
}

#endif
