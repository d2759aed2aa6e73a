/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What the two ways through log files share: line by line in order of time
 * (log_merge.c), and in pieces that are parsed side by side (log_scan.c).
 */
#ifndef KA_LOG_FILES_PRIV_H
#define KA_LOG_FILES_PRIV_H

#include <sys/types.h>
#include <apr_tables.h>

#include "linereader.h"
#include "log_files.h"

#define KA_NO_START INT64_MIN /* no line of its beginning has one */

/* The progress callback is called about every so many lines. */
#define KA_PROGRESS_LINES 65536

typedef struct ka_logfile {
    const char *path;
    size_t rank;   /* in order of first starts; of names until then */
    bool stream;   /* can be read once only */
    bool damaged;  /* and info tells */
    apr_pool_t *pool; /* of the reader; NULL while closed */
    ka_linereader *reader;
    apr_array_header_t *peeked; /* ka_line of a stream, read before */
    int peeked_at;
    int64_t first_us;
    ka_logline current;
    int64_t last_us; /* start of the line above */
    int64_t size; /* -1: not known */
    dev_t device;
    ino_t inode;
} ka_logfile;

struct ka_logfiles {
    apr_pool_t *pool, *keep;
    ka_source_info *info;
    const ka_log_options *options;
    const ka_logformat *format;
    ka_lineparser *parser; /* of the calling thread */
    ka_logfile *files; /* files[n] */
    size_t n;
    size_t next;    /* files[next..] are not open yet */
    ka_logfile **heap; /* heap[heap_n], the earliest line first */
    size_t heap_n;
    bool started;       /* heap[0]'s line has been handed out */
    int64_t taken_done; /* bytes of the files that are closed */
    apr_array_header_t *damaged;
};

/** Opens its reader, if it is not open. @return as ka_linereader_open */
apr_status_t ka_logfile_open(ka_logfiles *self, const char **error,
                             ka_logfile *file);

void ka_logfile_close(ka_logfile *file);

/** Notes a sentence about the file's damage in info, the first one only. */
void ka_logfile_damaged(ka_logfiles *self, ka_logfile *file,
                        const char *what);

/** Calls the progress callback. @param taken  bytes of all files */
void ka_logfiles_progress(ka_logfiles *self, int64_t taken);

#endif
