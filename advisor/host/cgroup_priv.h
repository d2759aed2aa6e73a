/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Where the files of a process's control groups are. */
#ifndef KA_CGROUP_PRIV_H
#define KA_CGROUP_PRIV_H

#include "cgroup.h"

/* Where the groups of one controller are, for one process. */
typedef struct ka_cgroup_place {
    int version;
    const char *mount; /* "/sys/fs/cgroup/memory" */
    const char *group; /* "/docker/1a2b" */
    const char *below; /* of the mount: "" or "/1a2b" */
} ka_cgroup_place;

typedef struct ka_cgroup_reader {
    const char *root;
    apr_pool_t *pool;
    const char *groups; /* /proc/PID/cgroup */
    const char *mounts; /* /proc/self/mountinfo */
} ka_cgroup_reader;

/** The group of a controller (v1) or of all (v2), by /proc/PID/cgroup; NULL if
 * it is not there. */
const char *ka_cgroup_group_of(const ka_cgroup_reader *r, int version,
                               const char *controller);

/** The place of a controller, in whichever version has it.
 * @return false if it cannot be found, or lies outside of our namespace */
bool ka_cgroup_place_of(ka_cgroup_place *out, const ka_cgroup_reader *r,
                        const char *controller);

#endif
