/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "cgroup_priv.h"

#include <string.h>
#include <apr_strings.h>

#include "procfs.h"

/* Deeper trees are not made by hand or by systemd. */
#define DEPTH_MAX 64

/* ---- walking up -------------------------------------------------------- */

typedef struct step {
    const ka_cgroup_reader *reader;
    const char *directory; /* without the root */
    const char *group;
    int version;
    ka_cgroup *out;
} step;

typedef void visit_fn(const step *at);

static void walk_up(const ka_cgroup_reader *r, const ka_cgroup_place *p,
                    ka_cgroup *out, visit_fn *visit)
{
    char *below = apr_pstrdup(r->pool, p->below);
    size_t top = strlen(p->group) - strlen(p->below);
    int depth;

    for (depth = 0; depth < DEPTH_MAX; depth++) {
        const char *group = apr_pstrcat(
            r->pool, apr_pstrmemdup(r->pool, p->group, top), below, NULL);
        step at = {.reader = r,
                   .directory = apr_pstrcat(r->pool, p->mount, below, NULL),
                   .group = *group ? group : "/",
                   .version = p->version,
                   .out = out};
        char *slash = strrchr(below, '/');

        visit(&at);
        if (!slash) {
            break;
        }
        *slash = '\0';
    }
}

static const char *file_of(const step *at, const char *name)
{
    return apr_pstrcat(at->reader->pool, at->directory, "/", name, NULL);
}

static bool number_of(int64_t *out, const step *at, const char *name)
{
    return !ka_procfs_number(out, at->reader->root, file_of(at, name),
                             at->reader->pool);
}

static bool text_of(const char **out, const step *at, const char *name)
{
    return !ka_procfs_read(out, at->reader->root, file_of(at, name),
                           at->reader->pool);
}

/* ---- memory ------------------------------------------------------------ */

typedef struct memory_files {
    const char *limits[2];
    const char *usage;
    const char *cache[2]; /* keys of memory.stat */
    const char *events;   /* with oom_kill */
} memory_files;

static const memory_files memory_names[3] = {
    [1] = {{"memory.limit_in_bytes", NULL},
           "memory.usage_in_bytes",
           {"total_inactive_file", "total_active_file"},
           "memory.oom_control"},
    [2] = {{"memory.max", "memory.high"},
           "memory.current",
           {"inactive_file", "active_file"},
           "memory.events"}};

/* Page cache gives way to processes; the rest does not. */
static int64_t used_bytes(const step *at, const memory_files *names)
{
    int64_t used, cache;
    const char *stat = NULL;
    size_t i;

    if (!number_of(&used, at, names->usage) || used < 0) {
        return -1;
    }
    if (text_of(&stat, at, "memory.stat")) {
        for (i = 0; i < 2; i++) {
            if (ka_procfs_field(&cache, stat, names->cache[i]) && cache > 0) {
                used = cache < used ? used - cache : 0;
            }
        }
    }
    return used;
}

static void add_limit(const step *at, int64_t limit, int64_t used, bool seen,
                      const char *origin)
{
    if (limit < 0 || limit >= KA_CGROUP_NO_LIMIT) {
        return;
    }
    APR_ARRAY_PUSH(at->out->memory, ka_cgroup_memory) =
        (ka_cgroup_memory){.path = at->group,
                           .origin = origin,
                           .seen = seen,
                           .limit_bytes = limit,
                           .used_bytes = used};
}

static void visit_memory(const step *at)
{
    const memory_files *names = &memory_names[at->version];
    int64_t limit, used = used_bytes(at, names);
    size_t i;

    for (i = 0; i < 2 && names->limits[i]; i++) {
        if (number_of(&limit, at, names->limits[i])) {
            at->out->known = true;
            add_limit(at, limit, used, true, file_of(at, names->limits[i]));
        }
    }
}

/* v1 tells the tightest limit of all ancestors, also of those that a container
 * cannot see.  It is one more only if none that was seen is as tight. */
static void add_hidden_limit(const step *at)
{
    const apr_array_header_t *memory = at->out->memory;
    const char *stat;
    int64_t limit;
    int i;

    if (at->version != 1 || !text_of(&stat, at, "memory.stat") ||
        !ka_procfs_field(&limit, stat, "hierarchical_memory_limit")) {
        return;
    }
    for (i = 0; i < memory->nelts; i++) {
        if (APR_ARRAY_IDX(memory, i, ka_cgroup_memory).limit_bytes <= limit) {
            return;
        }
    }
    add_limit(at, limit, -1, false,
              apr_pstrcat(at->reader->pool, file_of(at, "memory.stat"),
                          ", hierarchical_memory_limit", NULL));
}

static void visit_own_memory(const step *at)
{
    const char *name = memory_names[at->version].events, *text;

    add_hidden_limit(at);
    if (text_of(&text, at, name) &&
        ka_procfs_field(&at->out->oom_kills, text, "oom_kill")) {
        at->out->oom_origin = file_of(at, name);
    }
}

/* ---- processors and processes ------------------------------------------ */

static bool quota_of(double *cpus, const step *at)
{
    int64_t quota, period;
    const char *text, *end;

    if (at->version == 1) {
        if (!number_of(&quota, at, "cpu.cfs_quota_us") ||
            !number_of(&period, at, "cpu.cfs_period_us")) {
            return false;
        }
    }
    else if (!text_of(&text, at, "cpu.max") ||
             !ka_procfs_parse(&quota, text, &end) ||
             !ka_procfs_parse(&period, end, NULL)) {
        return false;
    }
    if (quota <= 0 || quota == INT64_MAX || period <= 0) {
        return false;
    }
    *cpus = (double)quota / (double)period;
    return true;
}

static void visit_cpu(const step *at)
{
    int64_t periods, throttled;
    const char *stat;
    double cpus;

    if (!quota_of(&cpus, at) || (at->out->cpus >= 0 && at->out->cpus <= cpus)) {
        return;
    }
    at->out->cpus = cpus;
    at->out->cpu_origin =
        file_of(at, at->version == 1 ? "cpu.cfs_quota_us" : "cpu.max");
    at->out->throttled = -1;
    if (text_of(&stat, at, "cpu.stat") &&
        ka_procfs_field(&periods, stat, "nr_periods") &&
        ka_procfs_field(&throttled, stat, "nr_throttled") && periods > 0 &&
        throttled >= 0 && throttled <= periods) {
        at->out->throttled = (double)throttled / (double)periods;
        at->out->throttled_origin = file_of(at, "cpu.stat");
    }
}

/* Share of a limit in use; what is in use may not be known. */
static double share(int64_t now, int64_t max)
{
    return now < 0 ? 0 : max <= 0 ? 1 : (double)now / (double)max;
}

static void visit_pids(const step *at)
{
    int64_t max, now;

    if (!number_of(&max, at, "pids.max") || max < 0 || max == INT64_MAX) {
        return;
    }
    if (!number_of(&now, at, "pids.current")) {
        now = -1;
    }
    if (at->out->pids_max >= 0 &&
        share(at->out->pids_now, at->out->pids_max) >= share(now, max)) {
        return;
    }
    at->out->pids_max = max;
    at->out->pids_now = now;
    at->out->pids_origin = file_of(at, "pids.max");
}

/* ---- all --------------------------------------------------------------- */

static void read_memory(const ka_cgroup_reader *r, ka_cgroup *out)
{
    ka_cgroup_place p;
    step own;

    if (!ka_cgroup_place_of(&p, r, "memory")) {
        out->missing = "the memory control group could not be found; "
                       "--memory SIZE gives what httpd may take";
        return;
    }
    out->version = p.version;
    out->path = p.group;
    walk_up(r, &p, out, visit_memory);
    own = (step){.reader = r,
                 .directory = apr_pstrcat(r->pool, p.mount, p.below, NULL),
                 .group = p.group,
                 .version = p.version,
                 .out = out};
    visit_own_memory(&own);
    /* The root group has no limits, and no files for them. */
    out->known = out->known || !*p.below;
    if (!out->known) {
        out->missing = apr_psprintf(
            r->pool,
            "%s%s could not be read; --memory SIZE gives what httpd "
            "may take",
            p.mount, p.below);
    }
}

void ka_cgroup_read(ka_cgroup *out, const char *root, int pid, apr_pool_t *pool)
{
    static const struct {
        const char *controller;
        visit_fn *visit;
    } others[] = {{"cpu", visit_cpu}, {"pids", visit_pids}};
    ka_cgroup_reader r = {.root = root, .pool = pool};
    const char *path = apr_psprintf(pool, "/proc/%d/cgroup", pid);
    ka_cgroup_place p;
    size_t i;

    *out = (ka_cgroup){.cpus = -1,
                       .throttled = -1,
                       .pids_max = -1,
                       .pids_now = -1,
                       .oom_kills = -1};
    out->memory = apr_array_make(pool, 4, sizeof(ka_cgroup_memory));
    if (ka_procfs_read(&r.groups, root, path, pool) ||
        ka_procfs_read(&r.mounts, root, "/proc/self/mountinfo", pool)) {
        out->missing = apr_pstrcat(pool, path,
                                   " or /proc/self/mountinfo could "
                                   "not be read, so limits of "
                                   "control groups are not known; "
                                   "--memory SIZE gives what httpd "
                                   "may take",
                                   NULL);
        return;
    }
    read_memory(&r, out);
    for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (ka_cgroup_place_of(&p, &r, others[i].controller)) {
            walk_up(&r, &p, out, others[i].visit);
        }
    }
}

const char *ka_cgroup_memory_path(const char *root, int pid, int version,
                                  apr_pool_t *pool)
{
    ka_cgroup_reader r = {.root = root, .pool = pool};

    if (ka_procfs_read(&r.groups, root,
                       apr_psprintf(pool, "/proc/%d/cgroup", pid), pool)) {
        return NULL;
    }
    return ka_cgroup_group_of(&r, version, "memory");
}
