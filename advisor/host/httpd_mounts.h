/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#ifndef KA_HTTPD_MOUNTS_H
#define KA_HTTPD_MOUNTS_H

#include <stdbool.h>
#include <apr_pools.h>

/**
 * Whether a process that has the same root directory still sees other files
 * than this one, by what is mounted: for one of the two another directory
 * lies on some mount point.  A private /tmp, /dev and the like, which services
 * have, do not count: no configuration and no log is there.
 * @param root  of proc/, as in procfs.h
 * @return false too if that cannot be seen
 */
bool ka_httpd_sees_other_files(const char *root, int pid, apr_pool_t *pool);

/** Whether a process has pids of its own, as in a container.  This can be seen
 * of other users' processes too.  False if it cannot. */
bool ka_httpd_has_other_pids(const char *root, int pid, apr_pool_t *pool);

#endif
