/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_logfiles: several log files read as one, merged by the start of the line
 * at which each stands.
 *
 *     access.log.2.gz  |------------------|
 *     access.log.1                        |-----------|
 *     access.log                                      |------|
 *     other_vhost.log          |-----------------------------|
 *
 * A regular file is looked into for its first start, closed, and opened again
 * when the merge gets there, so that a long rotated set needs few open files.
 * Standard input, pipes and devices are opened at once and once only.
 *
 * Order of calls: open, sample (when the format is not known), order, next.
 * What is read is counted into the ka_source_info: files, lines, parsed,
 * skipped, samples, cut, overlong, out_of_order, damaged.
 *
 * Concurrency: one thread.
 */
#ifndef KA_LOG_FILES_H
#define KA_LOG_FILES_H

#include "log.h"
#include "logformat.h"

/* How far a file is looked into: non-empty lines, and bytes of them. */
#define KA_LOG_PEEK_LINES 1000
#define KA_LOG_PEEK_BYTES (1024 * 1024)

typedef struct ka_logfiles ka_logfiles;

/* A line of the beginning, for the detection of the format. */
typedef struct ka_log_sample {
    const char *file;
    uint64_t number;
    const char *text; /* text[length] */
    size_t length;
} ka_log_sample;

/**
 * Opens streams and checks that the other files are there.  A file named
 * twice, under whatever name, is read once.
 * @param info     filled from now on; outlives `out`
 * @param options  for its progress callback
 * @param pool     memory of the reading itself
 * @param keep     memory for what info points to, and for errors
 * @return as ka_linereader_open
 */
apr_status_t ka_logfiles_open(ka_logfiles **out, const char **error,
                              ka_source_info *info,
                              const ka_log_options *options,
                              const char *const *paths, size_t path_n,
                              apr_pool_t *pool, apr_pool_t *keep);

/**
 * The first non-empty lines: up to KA_LOG_PEEK_LINES and KA_LOG_PEEK_BYTES,
 * of as many files as it takes.  Lines of a stream will be read again.
 * @param samples  samples[n], owned by the pool of the reading
 */
apr_status_t ka_logfiles_sample(ka_logfiles *self, const char **error,
                                const ka_log_sample **samples, size_t *n);

/** Sets the format and puts the files in order of their first starts. */
apr_status_t ka_logfiles_order(ka_logfiles *self, const char **error,
                               const ka_logformat *format);

/**
 * The next line that follows the format and has a start.
 * @param line  valid until the next call
 * @return APR_SUCCESS; APR_EOF at the end of all files; the system's status,
 *         with `error`, if a file can no longer be opened
 */
apr_status_t ka_logfiles_next(ka_logfiles *self, const char **error,
                              const ka_logline **line);

#endif
