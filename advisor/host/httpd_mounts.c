/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Name spaces of an httpd: which files it sees, and whether its pids are its
 * own. */
#include "httpd_mounts.h"

#include <string.h>
#include <apr_strings.h>

#include "config_root.h"
#include "procfs.h"

typedef struct comparison {
    const char *ours, *theirs; /* roots */
    bool differ;
    apr_pool_t *pool; /* of one mount point */
} comparison;

static const char *proc_path(int pid, const char *name, apr_pool_t *pool)
{
    return apr_psprintf(pool, "/proc/%d/%s", pid, name);
}

static bool is_below(const char *path, const char *directory)
{
    size_t n = strlen(directory);

    return !strncmp(path, directory, n) && (path[n] == '/' || !path[n]);
}

/* What systemd makes private for a service, or hides from it. */
static bool does_not_count(const char *mounted, const char *point)
{
    static const char *const places[] = {"/tmp",      "/var/tmp", "/dev",
                                         "/proc",     "/sys",     "/run/user",
                                         "/run/lock", "/run/credentials",
                                         "/run/systemd"};
    size_t i;

    for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        if (is_below(point, places[i])) {
            return true;
        }
    }
    return strstr(mounted, "/systemd/inaccessible/") != NULL;
}

static bool is_missing(apr_status_t status)
{
    return APR_STATUS_IS_ENOENT(status) || APR_STATUS_IS_ENOTDIR(status);
}

static bool differs(const comparison *c, const char *point)
{
    ka_root_stat ours, theirs;
    apr_status_t a = ka_root_stat_of(&ours, c->ours, point, c->pool);
    apr_status_t b = ka_root_stat_of(&theirs, c->theirs, point, c->pool);

    if (a || b) {
        return (is_missing(a) && !b) || (is_missing(b) && !a);
    }
    return ours.device != theirs.device || ours.inode != theirs.inode;
}

/* `ID PARENT DEVICE ROOT POINT ...`; blanks in names are \ooo there, and such
 * a mount point, which no file of httpd's is below, is passed over. */
static bool take_mount(void *context, char *line)
{
    comparison *c = context;
    char *words[5], *state;
    size_t i;

    for (i = 0; i < 5; i++) {
        words[i] = apr_strtok(i ? NULL : line, " ", &state);
        if (!words[i]) {
            return true;
        }
    }
    if (!strchr(words[4], '\\') && !does_not_count(words[3], words[4])) {
        c->differ = differs(c, words[4]);
        apr_pool_clear(c->pool);
    }
    return !c->differ;
}

static bool same_link(const char *root, const char *a, const char *b,
                      apr_pool_t *pool)
{
    const char *first = ka_root_link(root, a, pool);
    const char *second = ka_root_link(root, b, pool);

    return !first || !second || !strcmp(first, second);
}

bool ka_httpd_sees_other_files(const char *root, int pid, apr_pool_t *pool)
{
    comparison c = {
        .ours = root,
        .theirs = apr_pstrcat(pool, root, proc_path(pid, "root", pool), NULL)};

    if (same_link(root, "/proc/self/ns/mnt", proc_path(pid, "ns/mnt", pool),
                  pool) ||
        apr_pool_create(&c.pool, pool)) {
        return false;
    }
    ka_procfs_each_line(root, proc_path(pid, "mountinfo", pool), take_mount,
                        &c);
    if (!c.differ) {
        ka_procfs_each_line(root, "/proc/self/mountinfo", take_mount, &c);
    }
    apr_pool_destroy(c.pool);
    return c.differ;
}

bool ka_httpd_has_other_pids(const char *root, int pid, apr_pool_t *pool)
{
    return ka_process_inner_pid(root, pid, pool) != pid;
}
