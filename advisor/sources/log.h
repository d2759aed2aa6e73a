/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The access-log source: files of any compression and order in; out come
 * either requests in order of start, or, several times faster, batches of
 * hits in nearly the order of the files (log_hits.h).
 *
 * httpd logs the start of a request but writes the line at its end, so lines
 * are put in order of start within KA_LOG_WINDOW_US (and at most
 * KA_LOG_WINDOW_LINES requests waiting).  Several files are merged by time:
 * rotated sets follow one another, logs of several vhosts interleave.
 */
#ifndef KA_LOG_H
#define KA_LOG_H

#include "../crew.h"
#include "log_hits.h"
#include "observation.h"

/* Longer than any response worth sorting exactly; the slowest ones beyond it
 * are counted as `late`. */
#define KA_LOG_WINDOW_US (INT64_C(600) * 1000000)
#define KA_LOG_WINDOW_LINES (1u << 19) /* some 50 MB */

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

typedef struct ka_log ka_log;

/**
 * Opens the files, chooses the format, and puts the files in order.
 * @param info   filled, strings owned by pool, also on failure as far as it
 *               went; outlives `out`
 * @param error  on failure a sentence or a few lines for the user: file, line,
 *               column, expected item, remedy
 * @param options  outlives `out`
 * @param paths  paths[path_n], "-" is standard input
 * @return APR_SUCCESS; APR_EINVAL for a log format that does not compile or
 *         cannot be detected; APR_EOF if there is no line to detect it by; the
 *         system's status if a file cannot be opened
 */
apr_status_t ka_log_open(ka_log **out, ka_source_info *info,
                         const char **error, const ka_log_options *options,
                         const char *const *paths, size_t path_n,
                         apr_pool_t *pool);

/**
 * Reads all files and hands each request to `take`, in order of start.  Once,
 * and instead of ka_log_scan; closes the files.
 * @return APR_SUCCESS; APR_EINVAL if over half of the lines do not follow the
 *         format (info has the samples); APR_EOF if no line holds a request;
 *         the system's status if a file can no longer be opened.  A file that
 *         is damaged on the way is read up to there and named in
 *         info->damaged.
 */
apr_status_t ka_log_requests(ka_log *log, const char **error,
                             ka_request_fn *take, void *context);

/**
 * The same in batches, parsed by a crew: for logs that name no connection.
 * Batches are the same for any size of crew.  info->late stays 0: whoever
 * sorts the hits counts those that come too late.  Memory: some ten MB,
 * whatever the log.
 * @param crew  free for `take` to use while it is called
 * @return as ka_log_requests, or APR_ENOMEM
 */
apr_status_t ka_log_scan(ka_log *log, const char **error, ka_crew *crew,
                         ka_hit_fn *take, void *context);

/** ka_log_open and ka_log_requests. */
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
