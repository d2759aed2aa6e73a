/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * What Prometheus was asked, for tests of what it answers. */
#ifndef KA_TEST_PROMETHEUS_ASKED_H
#define KA_TEST_PROMETHEUS_ASKED_H

#include <apr_strings.h>

#include "sources/prometheus.h"

#define URL "http://prom.example.org:9090"

static inline const ka_prom_row *row_of(const char *metric, ka_prom_function function)
{
    size_t n, i;
    const ka_prom_row *rows = ka_prom_rows(&n);

    for (i = 0; i < n; i++) {
        if (!strcmp(rows[i].metric, metric) && rows[i].function == function) {
            return &rows[i];
        }
    }
    fail_msg("no question about %s", metric);
    return NULL;
}

static inline ka_prom *prom_make(apr_pool_t *pool)
{
    ka_prom *prom = apr_palloc(pool, sizeof(*prom));
    const ka_prom_asked asked = {
        .window_s = 3600, .at_s = 1000000, .step_s = 15};

    ka_prom_init(prom, URL, &asked, pool);
    return prom;
}

static inline ka_prom_answer json_of(const char *text)
{
    return (ka_prom_answer){.status = 200,
                            .type = "application/json",
                            .text = text,
                            .n = strlen(text)};
}

static inline apr_status_t take(ka_prom *prom, const char **error, const char *metric,
                         ka_prom_function function, const char *text)
{
    ka_prom_answer answer = json_of(text);
    size_t taken;

    *error = NULL;
    return ka_prom_take(prom, &taken, error, row_of(metric, function), &answer);
}

#define VECTOR(result)                                                         \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\","             \
    "\"result\":[" result "]}}"
#define MATRIX(result)                                                         \
    "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\","             \
    "\"result\":[" result "]}}"
#define SAMPLE(labels, value)                                                  \
    "{\"metric\":{\"job\":\"apache\",\"instance\":\"a:80\"" labels             \
    "},\"value\":[1000000.123,\"" value "\"]}"
#define GAPS "kastats_gap_seconds_bucket"

#endif
