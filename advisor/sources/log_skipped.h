/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Lines that do not follow the format: counted, the first few explained.
 */
#ifndef KA_LOG_SKIPPED_H
#define KA_LOG_SKIPPED_H

#include "linereader.h"
#include "logformat.h"
#include "observation.h"

/**
 * Takes a line apart and asks for a start.
 * @param out    filled if the line can be used; else it may have been written
 *               to
 * @param error  filled if the line cannot be used: what it should have had
 * @return whether it can be used
 */
bool ka_log_take(ka_logline *out, ka_logline_error *error,
                 ka_lineparser *parser, const ka_line *line);

/* What is kept of a line that is skipped until it can be explained: by the
 * thread that reads the line, without a pool. */
typedef struct ka_log_miss {
    uint64_t number;
    size_t column;
    const char *expected; /* as in ka_logline_error */
    char found[48];       /* found[found_n]: what stands at the column */
    uint8_t found_n;
    bool cut, overlong;
} ka_log_miss;

void ka_log_miss_note(ka_log_miss *out, const ka_line *line,
                      const ka_logline_error *error);

/** Keeps it as a sample while there is room. */
void ka_log_miss_keep(ka_source_info *info, const char *file,
                      const ka_log_miss *miss, apr_pool_t *pool);

/** Counts a line as skipped, and keeps it as a sample while there is room.
 * @param pool  that of info's strings */
void ka_log_skip(ka_source_info *info, const char *file, const ka_line *line,
                 const ka_logline_error *error, apr_pool_t *pool);

/** "expected X, found \"...\"": what a line should have had at a column, and
 * what stands there, escaped; owned by pool. */
const char *ka_log_reason(const char *text, size_t length,
                          const ka_logline_error *error, apr_pool_t *pool);

/** "  FILE:LINE:COLUMN: REASON\n" of each sample; owned by pool. */
const char *ka_log_samples_text(const ka_source_info *info, apr_pool_t *pool);

#endif
