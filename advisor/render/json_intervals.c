/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Intervals, beside the numbers that they are of. */
#include "jsonparts.h"

#include <stddef.h>

#include "known.h"

json_t *ka_doc_interval(const ka_interval *interval, double scale)
{
    return interval == NULL
               ? json_null()
               : json_pack("{s:o, s:o, s:f}", "low",
                           ka_doc_number(interval->low * scale), "high",
                           ka_doc_number(interval->high * scale), "level",
                           KA_INTERVAL_LEVEL);
}

static const struct {
    const char *key;
    size_t offset;
} timeout_keys[] = {
    {"connections_ci", offsetof(ka_timeout_intervals, connections)},
    {"reuse_ci", offsetof(ka_timeout_intervals, reuse)},
    {"idle_mean_ci", offsetof(ka_timeout_intervals, idle_mean)},
    {"held_mean_ci", offsetof(ka_timeout_intervals, held_mean)}};

void ka_doc_add_intervals(json_t *object, const ka_report *report,
                          size_t timeout)
{
    const ka_mpm_answer *answer = report->answer_n ? report->answers : NULL;
    const bool workers = answer && answer->workers &&
                         ka_workers_known(report, answer, timeout);
    size_t k;

    for (k = 0; k < sizeof(timeout_keys) / sizeof(timeout_keys[0]); k++) {
        const char *of = report->intervals
                             ? (const char *)&report->intervals
                                   ->timeouts[timeout]
                             : NULL;

        json_object_set_new(
            object, timeout_keys[k].key,
            ka_doc_interval(of ? (const ka_interval *)(of +
                                                       timeout_keys[k].offset)
                               : NULL,
                            1));
    }
    json_object_set_new(object, "workers_needed_ci",
                        ka_doc_interval(workers ? &answer->workers[timeout]
                                                : NULL,
                                        1));
}

json_t *ka_doc_intervals(const ka_report *report, apr_pool_t *pool)
{
    const ka_intervals *of = report->intervals;

    if (of == NULL) {
        return json_pack("{s:n, s:o}", "level", "why_not",
                         ka_doc_text(report->no_intervals, pool));
    }
    return json_pack(
        "{s:f, s:n, s:i, s:I, s:I, s:o, s:o, s:o, s:o}", "level",
        KA_INTERVAL_LEVEL, "why_not", "replicates", KA_REPLICATES,
        "visitor_groups", (json_int_t)of->groups, "time_blocks",
        (json_int_t)of->blocks, "time_block_s",
        of->blocks ? ka_doc_seconds(of->block_us) : json_null(), "requests",
        ka_doc_interval(&of->requests, 1), "busy_mean",
        ka_doc_interval(ka_busy_known(report) ? &of->busy_mean : NULL, 1),
        "knee_s",
        ka_doc_interval(&of->knee_us, 1e-6));
}
