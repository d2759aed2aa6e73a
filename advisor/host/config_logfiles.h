/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The files of a configured access log: the one that is written now and those
 * that logrotate, rotatelogs or cronolog left beside it.
 *
 *     access.log    access.log.1  access.log.2.gz  access.log-20261130.zst
 *                   access-20261130.log  (all of CustomLog access.log)
 *     access.1790000000              (of |rotatelogs access 86400)
 *     2026/11/access.30              (of |cronolog %Y/%m/access.%d)
 */
#ifndef KA_CONFIG_LOGFILES_H
#define KA_CONFIG_LOGFILES_H

#include "config_server.h"

typedef struct ka_cfg_logfile {
    const char *path;  /* by which this process opens it */
    const char *shown; /* as the server sees it */
    int64_t mtime_us;  /* last written, since the epoch */
    int64_t size;      /* bytes */
    bool compressed;   /* by its name: gz, xz, zst, bz2, lz4, lzma, Z */
    bool current;      /* not rotated: the file named, or the newest one */
    bool readable;     /* by this process */
} ka_cfg_logfile;

/**
 * Finds them, oldest first by the time they were last written.
 * @param files    of ka_cfg_logfile, regular files only, each once; empty on
 *                 failure
 * @param missing  NULL, or a sentence: what could not be found or read, and
 *                 what would help
 * @param root     of the server's files, see config_root.h
 * @return APR_SUCCESS if at least one can be read; APR_EACCES; APR_ENOENT;
 *         APR_ENOTIMPL for a log that goes to no file
 */
apr_status_t ka_cfg_log_files(apr_array_header_t **files, const char **missing,
                              const ka_cfg_log *log, const char *root,
                              apr_pool_t *pool);

/**
 * Does a file's name belong to a log?  Pure.
 * @param pattern  last component of the log's path
 * @param rotated  set if the name is not just the pattern
 */
bool ka_cfg_log_name(bool *rotated, const char *pattern, ka_cfg_log_kind kind,
                     const char *name);

#endif
