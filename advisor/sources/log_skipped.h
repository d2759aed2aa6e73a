/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Lines that do not follow the format: counted, the first few explained.
 */
#ifndef KA_LOG_SKIPPED_H
#define KA_LOG_SKIPPED_H

#include "linereader.h"
#include "logformat.h"
#include "observation.h"

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
