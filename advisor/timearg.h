/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Points in time as people give them on a command line. */
#ifndef KA_TIMEARG_H
#define KA_TIMEARG_H

#include <stdint.h>
#include <apr_errno.h>

/**
 * Parses `2026-11-30`, `2026-11-30T12:00`, `2026-11-30 12:00:30Z`,
 * `2026-11-30T12:00:30.5+01:00` or `@SECONDS`; UTC where no zone is given.
 * @param us  microseconds since the epoch
 * @return APR_SUCCESS; APR_EINVAL (us untouched), also for a day or an hour
 *         that does not exist
 */
apr_status_t ka_parse_time(int64_t *us, const char *text);

#endif
