/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What the control groups of a process let it have: memory, processors,
 * processes.  A limit of any ancestor holds, so all of them are read; both
 * versions of the interface, also side by side.
 *
 *   /proc/PID/cgroup          which group, per controller (v1) or one (v2)
 *   /proc/self/mountinfo      where its files are
 *   MOUNT/a/b, MOUNT/a, MOUNT the group, then its ancestors
 *
 * Inside a container the mount's own directory is the container's group, and
 * what lies above cannot be seen; v1 still tells the tightest of all ancestors
 * in memory.stat.
 */
#ifndef KA_CGROUP_H
#define KA_CGROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <apr_pools.h>
#include <apr_tables.h>

/* From here on a limit is none: v1 writes the largest page count there is. */
#define KA_CGROUP_NO_LIMIT (INT64_C(1) << 60)

/* One group that limits memory. */
typedef struct ka_cgroup_memory {
    const char *path;   /* as in /proc/PID/cgroup: "/system.slice" */
    const char *origin; /* the file that holds the limit */
    bool seen;          /* false: a limit from above what can be seen, whose
                           processes are not known */
    int64_t limit_bytes;
    int64_t used_bytes; /* that cannot be reclaimed: usage less page cache;
                           -1 not known */
} ka_cgroup_memory;

typedef struct ka_cgroup {
    bool known;                 /* the memory group was found */
    int version;                /* of the memory controller; 0: not known */
    const char *path;           /* of the memory group */
    apr_array_header_t *memory; /* of ka_cgroup_memory, the group itself first;
                                   only those with a limit */
    double cpus;                /* the tightest; -1: no limit, or not known */
    const char *cpu_origin;
    double throttled; /* share of periods; -1 not known */
    const char *throttled_origin;
    int64_t pids_max; /* of the ancestor with the largest share in use; -1:
                         no limit, or not known */
    int64_t pids_now; /* in that one; -1 not known */
    const char *pids_origin;
    int64_t oom_kills; /* in its memory group; -1 not known */
    const char *oom_origin;
    const char *missing; /* a sentence: what is not known and why; or NULL */
} ka_cgroup;

/**
 * Reads the groups of a process.  Never fails: what could not be read is not
 * known, and `missing` says so.
 */
void ka_cgroup_read(ka_cgroup *out, const char *root, int pid,
                    apr_pool_t *pool);

/** The memory group of a process, as in ka_cgroup.path, in this version of
 * the interface; NULL if not known. */
const char *ka_cgroup_memory_path(const char *root, int pid, int version,
                                  apr_pool_t *pool);

/** Whether a group is `ancestor` or lies below it. */
bool ka_cgroup_within(const char *path, const char *ancestor);

#endif
