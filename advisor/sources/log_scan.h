/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The fast way through log files, for logs whose requests need not come in
 * order: chunks of text are parsed side by side.
 *
 *     ka_scan_files --chunks--> ka_crew (ka_scan_chunk_parse)
 *                                  |
 *                in order of chunks: counts, samples, numbers of vhosts
 *                                  |
 *                               batches --> take, which may use the crew
 *
 * Batches are the same for any number of threads, and in every run.
 */
#ifndef KA_LOG_SCAN_H
#define KA_LOG_SCAN_H

#include "../crew.h"
#include "log_files.h"
#include "log_hits.h"

/* Memory is bounded by them: text for the workers and the decoders, hits of
 * all chunks of a batch. */
typedef struct ka_scan_limits {
    size_t chunk; /* bytes of a chunk, > 0 */
    size_t hits;  /* of a chunk, 1 .. KA_SCAN_HITS */
    size_t slots; /* chunks of a batch, 1 .. KA_SCAN_SLOTS */
    size_t batch; /* hits that a batch should have */
} ka_scan_limits;

#define KA_SCAN_SLOTS 64

/** What suits so many files: the more may be open at once, the smaller. */
ka_scan_limits ka_scan_limits_for(size_t file_n);

/**
 * Reads all files, after ka_logfiles_order, into batches.
 * @return APR_SUCCESS; APR_ENOMEM; the system's status, with `error`, if a
 *         file can no longer be opened
 */
apr_status_t ka_logfiles_scan(ka_logfiles *files, const char **error,
                              ka_crew *crew, const ka_scan_limits *limits,
                              ka_hit_fn *take, void *context);

/** ka_log_scan with limits of one's own: what a log gives must not depend on
 * them. */
apr_status_t ka_log_scan_within(ka_log *log, const char **error,
                                ka_crew *crew, const ka_scan_limits *limits,
                                ka_hit_fn *take, void *context);

#endif
