/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The access-log source: files of any compression and order in, requests in
 * order of start out.
 *
 * httpd logs the start of a request but writes the line at its end, so lines
 * are put in order of start within KA_LOG_WINDOW_US (and at most
 * KA_LOG_WINDOW_LINES requests waiting).  Several files are merged by time:
 * rotated sets follow one another, logs of several vhosts interleave.
 */
#ifndef KA_LOG_H
#define KA_LOG_H

#include "observation.h"

/* Longer than any response worth sorting exactly; the slowest ones beyond it
 * are counted as `late`. */
#define KA_LOG_WINDOW_US (INT64_C(600) * 1000000)
#define KA_LOG_WINDOW_LINES (1u << 20)

typedef struct ka_log_options {
    const char *log_format; /* NULL: detect from the first lines */
    const char *vhost;      /* NULL: all; else only this %v (without port) */
    int64_t since_us, until_us; /* 0: no limit; start in [since, until) */
    /* Called now and then with compressed bytes taken, of how many (-1: not
     * known) and lines so far; may be NULL. */
    void (*progress)(void *context, int64_t taken, int64_t size,
                     uint64_t lines);
    void *progress_context;
} ka_log_options;

/**
 * Reads all files and hands each request to `take`, in order of start.
 * @param info   filled, strings owned by pool, also on failure as far as it
 *               went
 * @param error  on failure a sentence or a few lines for the user: file, line,
 *               column, expected item, remedy
 * @param paths  paths[path_n], "-" is standard input
 * @return APR_SUCCESS; APR_EINVAL for a log format that does not compile, can
 *         not be detected, or that over half of the lines do not follow (info
 *         has the samples); APR_EOF if no line holds a request; the system's
 *         status if a file cannot be opened.  A file that is damaged on the
 *         way is read up to there and named in info->damaged.
 */
apr_status_t ka_log_read(ka_source_info *info, const char **error,
                         const ka_log_options *options,
                         const char *const *paths, size_t path_n,
                         ka_request_fn *take, void *context,
                         apr_pool_t *pool);

/**
 * Copies bytes for a terminal: printable ASCII stays, a backslash doubles,
 * all else becomes \xHH; cut with "..." after `limit` bytes of input.
 * @return NUL-terminated, owned by pool
 */
const char *ka_escape(const char *text, size_t length, size_t limit,
                      apr_pool_t *pool);

#endif
