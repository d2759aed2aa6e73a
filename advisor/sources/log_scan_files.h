/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_scan_files: which pieces of which files are parsed next.
 *
 * Files that follow one another in time are read one after the other; files
 * that overlap advance together: what is furthest behind comes first, so that
 * none gets more than a batch ahead of the others.  How far a chunk will get
 * is guessed from the file's pace so far:
 *
 *     a.log   |#########|...|...|            picks: a (furthest behind),
 *     b.log   |############|..|..|           a again, b, a, b, b ...
 *     c.log                  :first start    not opened before they get there
 *
 * The choice depends on the files' bytes alone, never on timing.
 *
 * Concurrency: one thread.
 */
#ifndef KA_LOG_SCAN_FILES_H
#define KA_LOG_SCAN_FILES_H

#include "log_files_priv.h"
#include "textchunks.h"

typedef struct ka_scan_file {
    ka_logfile *file;
    ka_textchunks *chunks; /* NULL: not opened yet, or closed again */
    bool exhausted;        /* has no more chunks */
    bool failed;           /* cannot be read on */
    size_t pending;        /* chunks chosen and not settled */
    int64_t at_us;         /* latest start so far; of a file not read yet its
                              first; KA_NO_START: not known */
    int64_t pace_us;       /* by how much a chunk moves it; -1: not known */
    int64_t before_us;     /* where it stood when the batch was chosen */
    int64_t planned_us;    /* where it will stand by its pace */
    size_t picked;         /* chunks in the batch */
    uint64_t numbered;     /* lines, empty ones included */
    int64_t taken;         /* bytes, for progress */
} ka_scan_file;

typedef struct ka_scan_files {
    ka_logfiles *files;
    ka_textbuffers *buffers;
    ka_scan_file *all; /* all[n], in order of first starts */
    size_t n;
    size_t opened;     /* all[opened..] have not been opened */
    size_t first;      /* all[..first) are closed again */
} ka_scan_files;

/** @param files  in order, none of their readers in use but for streams */
ka_scan_files *ka_scan_files_make(ka_logfiles *files, size_t chunk,
                                  apr_pool_t *pool);

/**
 * The next chunk of the batch.
 * @param out   whose chunk it is; NULL: the batch ends here, and if it has no
 *              chunk at all, so do the files
 * @return the system's status, with `error`, if a file cannot be opened
 */
apr_status_t ka_scan_files_next(ka_scan_files *self, const char **error,
                                ka_scan_file **out, ka_textchunk *chunk);

/** Starts a batch: paces are taken from the last one, whose chunks have all
 * been settled. */
void ka_scan_files_batch(ka_scan_files *self);

/**
 * Tells what parsing a chunk has shown, in order of chunks.
 * @param newest_us  latest start in it; KA_NO_START if it has none
 * @param lines      of it, empty ones included
 * @param whole      false: the chunk is not done with yet
 */
void ka_scan_files_settle(ka_scan_files *self, ka_scan_file *file,
                          ka_textchunk *chunk, int64_t newest_us,
                          uint64_t lines, bool whole);

/** The file cannot be read from a place on: takes no more chunks of it. */
void ka_scan_files_fail(ka_scan_files *self, ka_scan_file *file, int64_t from,
                        apr_status_t status);

/** As ka_hit_batch.reached_us. */
int64_t ka_scan_files_reached(const ka_scan_files *self);

/** Bytes of all files so far. */
int64_t ka_scan_files_taken(const ka_scan_files *self);

/** Ends all decoders and closes all files. */
void ka_scan_files_close(ka_scan_files *self);

#endif
