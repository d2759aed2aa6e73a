/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Explanations of skipped lines.
 */
#include "log_skipped.h"

#include <string.h>
#include <apr_strings.h>

#include "log.h"

#define EXCERPT_BYTES 40 /* fewer than a ka_log_miss keeps */

bool ka_log_take(ka_logline *out, ka_logline_error *error,
                 ka_lineparser *parser, const ka_line *line)
{
    if (line->overlong) {
        *error = (ka_logline_error){.column = 1};
        return false;
    }
    if (ka_lineparser_parse(out, error, parser, line->text, line->length)
        != APR_SUCCESS) {
        return false;
    }
    if (out->begin_us < 0) {
        *error = (ka_logline_error){.column = 1,
                                    .expected = "the start of a request"};
        return false;
    }
    return true;
}

/* found[found_n] is cut at EXCERPT_BYTES by ka_escape, which says so. */
static const char *reason_of(const char *expected, const char *found,
                             size_t found_n, apr_pool_t *pool)
{
    if (found_n == 0) {
        return apr_psprintf(pool, "expected %s, found the end of the line",
                            expected);
    }
    return apr_psprintf(pool, "expected %s, found \"%s\"", expected,
                        ka_escape(found, found_n, EXCERPT_BYTES, pool));
}

const char *ka_log_reason(const char *text, size_t length,
                          const ka_logline_error *error, apr_pool_t *pool)
{
    const size_t at = error->column ? error->column - 1 : 0;

    return at < length ? reason_of(error->expected, text + at, length - at,
                                   pool)
                       : reason_of(error->expected, "", 0, pool);
}

void ka_log_miss_note(ka_log_miss *out, const ka_line *line,
                      const ka_logline_error *error)
{
    const size_t at = error->column ? error->column - 1 : 0;
    size_t n = at < line->length ? line->length - at : 0;

    if (n > sizeof(out->found)) {
        n = sizeof(out->found);
    }
    out->number = line->number;
    out->column = error->column;
    out->expected = error->expected;
    out->found_n = (uint8_t)n;
    out->cut = line->cut;
    out->overlong = line->overlong;
    if (n) {
        memcpy(out->found, line->text + at, n);
    }
}

void ka_log_miss_keep(ka_source_info *info, const char *file,
                      const ka_log_miss *miss, apr_pool_t *pool)
{
    ka_skipped_sample *sample;

    if (info->sample_n == KA_SKIPPED_SAMPLES) {
        return;
    }
    sample = &info->samples[info->sample_n++];
    sample->file = file;
    sample->line = miss->number;
    sample->column = miss->column;
    sample->reason =
        miss->overlong
            ? apr_psprintf(pool, "the line is longer than %d bytes",
                           KA_LINE_MAX)
            : reason_of(miss->expected, miss->found, miss->found_n, pool);
    if (miss->cut && !miss->overlong) {
        sample->reason =
            apr_pstrcat(pool, sample->reason,
                        " (the file ends in the middle of this line)", NULL);
    }
}

void ka_log_skip(ka_source_info *info, const char *file, const ka_line *line,
                 const ka_logline_error *error, apr_pool_t *pool)
{
    ka_log_miss miss;

    info->skipped++;
    info->overlong += line->overlong;
    info->cut += line->cut && !line->overlong;
    if (info->sample_n < KA_SKIPPED_SAMPLES) {
        ka_log_miss_note(&miss, line, error);
        ka_log_miss_keep(info, file, &miss, pool);
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
