/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Explanations of skipped lines.
 */
#include "log_skipped.h"

#include <apr_strings.h>

#include "log.h"

#define EXCERPT_BYTES 40

const char *ka_log_reason(const char *text, size_t length,
                          const ka_logline_error *error, apr_pool_t *pool)
{
    const size_t at = error->column ? error->column - 1 : 0;

    if (at >= length) {
        return apr_psprintf(pool, "expected %s, found the end of the line",
                            error->expected);
    }
    return apr_psprintf(
        pool, "expected %s, found \"%s\"", error->expected,
        ka_escape(text + at, length - at, EXCERPT_BYTES, pool));
}

void ka_log_skip(ka_source_info *info, const char *file, const ka_line *line,
                 const ka_logline_error *error, apr_pool_t *pool)
{
    ka_skipped_sample *sample;

    info->skipped++;
    info->overlong += line->overlong;
    info->cut += line->cut && !line->overlong;
    if (info->sample_n == KA_SKIPPED_SAMPLES) {
        return;
    }
    sample = &info->samples[info->sample_n++];
    sample->file = file;
    sample->line = line->number;
    sample->column = error->column;
    sample->reason =
        line->overlong
            ? apr_psprintf(pool, "the line is longer than %d bytes",
                           KA_LINE_MAX)
            : ka_log_reason(line->text, line->length, error, pool);
    if (line->cut && !line->overlong) {
        sample->reason =
            apr_pstrcat(pool, sample->reason,
                        " (the file ends in the middle of this line)", NULL);
    }
}

const char *ka_log_samples_text(const ka_source_info *info, apr_pool_t *pool)
{
    const char *text = "";

    for (size_t i = 0; i < info->sample_n; i++) {
        const ka_skipped_sample *sample = &info->samples[i];

        text = apr_psprintf(
            pool, "%s  %s:%" APR_UINT64_T_FMT ":%" APR_SIZE_T_FMT ": %s\n",
            text, sample->file, (apr_uint64_t)sample->line, sample->column,
            sample->reason);
    }
    return text;
}
