/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_root: files as another process sees them.
 *
 * A server's paths hold in its own file system.  Seen from outside, that lies
 * below a root: "" for this system, "/proc/PID/root" for a container, a
 * directory with a copy for a test.  Symbolic links on the way, absolute ones
 * and `..` too, are followed below the root: what a container names never
 * leads out of it.
 *
 * Paths given are absolute, as the server sees them.  Concurrency: pure but
 * for the file system and the pool.
 */
#ifndef KA_CONFIG_ROOT_H
#define KA_CONFIG_ROOT_H

#include <stdbool.h>
#include <stdint.h>
#include <apr_errno.h>
#include <apr_pools.h>
#include <apr_tables.h>

/* No file of a configuration, and nothing in /proc, is longer. */
#define KA_ROOT_FILE_MAX (8u << 20)
/* No directory has more entries that matter. */
#define KA_ROOT_LIST_MAX 20000

typedef struct ka_root_stat {
    bool directory, regular;
    uint64_t device, inode;
    int64_t size;     /* bytes */
    int64_t mtime_us; /* since the epoch */
} ka_root_stat;

/**
 * The path by which this process opens a file of the root.
 * @param real  owned by pool; for the root "" the path as it is
 * @return APR_SUCCESS, also if only the last component is missing; APR_EINVAL
 *         if path is not absolute; APR_ENOENT, APR_EACCES ... of a component
 *         on the way; ELOOP after 40 links
 */
apr_status_t ka_root_resolve(const char **real, const char *root,
                             const char *path, apr_pool_t *pool);

/**
 * The text of a regular file (those in /proc are too).
 * @param text    NUL-terminated, owned by pool; bytes of NUL stay
 * @param length  without the terminating NUL; may be NULL
 * @return APR_SUCCESS; APR_EINVAL if it is no regular file; APR_ENOSPC if it is
 *         longer than KA_ROOT_FILE_MAX; the system's status
 */
apr_status_t ka_root_read(const char **text, size_t *length, const char *root,
                          const char *path, apr_pool_t *pool);

/**
 * Names in a directory, without `.` and `..`, in byte order.
 * @param names  of const char *, owned by pool
 * @return APR_SUCCESS; APR_ENOSPC (names has the first KA_ROOT_LIST_MAX that
 *         the system named); the system's status
 */
apr_status_t ka_root_list(apr_array_header_t **names, const char *root,
                          const char *path, apr_pool_t *pool);

/** What is there, links followed. */
apr_status_t ka_root_stat_of(ka_root_stat *out, const char *root,
                             const char *path, apr_pool_t *pool);

/** The text of a link, not followed; NULL if it is none or unreadable. */
const char *ka_root_link(const char *root, const char *path,
                         apr_pool_t *pool);

/**
 * A path in one piece: relative ones below base, `.`, `..` and `//` undone,
 * as httpd's ServerRoot-relative paths are.
 * @return owned by pool; the path itself if it cannot be merged
 */
const char *ka_root_join(const char *base, const char *path,
                         apr_pool_t *pool);

#endif
