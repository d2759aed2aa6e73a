/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Which of the preset formats a log follows.
 */
#ifndef KA_LOG_DETECT_H
#define KA_LOG_DETECT_H

#include <apr_errno.h>
#include "log_files.h"

/**
 * The preset that takes most of the lines apart; of equals the more specific.
 * @param out    owned by pool
 * @param error  if none does so with more than half of them: what was tried,
 *               the closest one with the first line that it fails on, and
 *               what to do; owned by pool
 * @return APR_SUCCESS; APR_EINVAL if no preset fits; APR_EOF if n is 0
 */
apr_status_t ka_log_detect(const ka_logformat **out, const char **error,
                           const ka_log_sample *samples, size_t n,
                           apr_pool_t *pool);

#endif
