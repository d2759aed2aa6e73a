/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Reading /proc and /sys.  Every path goes through a root: "" is this host, a
 * directory that holds proc/ and sys/ is a copy of another one.
 *
 * Files there have no size and change while they are read: a process that is
 * gone is no error of the reader.  What they hold is foreign text; numbers in
 * it that do not fit stop at INT64_MAX.
 */
#ifndef KA_PROCFS_H
#define KA_PROCFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <apr_errno.h>
#include <apr_pools.h>
#include <apr_tables.h>

/* A longer file is read no further; only lists of sockets are longer, which
 * ka_procfs_each_line takes. */
#define KA_PROCFS_FILE_MAX (4u << 20)
#define KA_PROCFS_LINE_MAX 1024

/**
 * Reads a file whole.
 * @param text  its bytes, NUL-terminated, owned by pool
 * @param path  absolute: "/proc/meminfo"
 * @return APR_SUCCESS or the system's status: APR_ENOENT, EACCES, ESRCH;
 *         `text` is untouched then
 */
apr_status_t ka_procfs_read(const char **text, const char *root,
                            const char *path, apr_pool_t *pool);

/** False ends the reading.  `line` has no line feed and may be changed. */
typedef bool ka_procfs_line(void *context, char *line);

/** Hands over a file line by line; what a line has beyond
 * KA_PROCFS_LINE_MAX - 1 bytes is left out. */
apr_status_t ka_procfs_each_line(const char *root, const char *path,
                                 ka_procfs_line *take, void *context);

/**
 * Reads a file that holds one number.  "max" is INT64_MAX.
 * @return as ka_procfs_read; APR_EINVAL if it holds none
 */
apr_status_t ka_procfs_number(int64_t *out, const char *root, const char *path,
                              apr_pool_t *pool);

/**
 * The number at the start of a text, after blanks; "max" is INT64_MAX.
 * @param end  where it ends; may be NULL
 * @return false if there is none; `out` is untouched then
 */
bool ka_procfs_parse(int64_t *out, const char *text, const char **end);

/**
 * The number on the line that begins with a key and then a colon or a blank,
 * as in meminfo, status, smaps_rollup, vmstat and memory.stat.  `kB` behind it
 * makes it bytes.
 * @return false if there is no such line, or no number on it
 */
bool ka_procfs_field(int64_t *out, const char *text, const char *key);

typedef struct ka_process {
    int pid, ppid;
    int threads;
    const char *comm;  /* at most 15 bytes, the kernel's rule */
    int64_t start_us;  /* since the machine started */
    int64_t cpu_us;    /* user and system */
    int64_t rss_bytes; /* 0 for a kernel thread or a zombie */
    struct ka_process_memory *memory; /* as it was read, once (memory.h); NULL:
                                         not yet */
} ka_process;

/** Parses /proc/PID/stat.
 * @return APR_SUCCESS; APR_EINVAL if it is none */
apr_status_t ka_process_parse(ka_process *out, const char *stat,
                              apr_pool_t *pool);

/** Reads one process. */
apr_status_t ka_process_read(ka_process *out, const char *root, int pid,
                             apr_pool_t *pool);

/**
 * All processes that can be seen.
 * @param out  of ka_process, ascending by pid
 * @return APR_SUCCESS; the system's status if there is no /proc
 */
apr_status_t ka_processes_read(apr_array_header_t **out, const char *root,
                               apr_pool_t *pool);

/** Finds one by pid; NULL if it is not there. */
ka_process *ka_processes_find(const apr_array_header_t *processes, int pid);

/** The pid that a process has in its own name space, as it knows itself; the
 * one given if that is not told. */
int ka_process_inner_pid(const char *root, int pid, apr_pool_t *pool);

/** Time since the machine started; -1 if not known. */
int64_t ka_procfs_uptime_us(const char *root, apr_pool_t *pool);

#endif
