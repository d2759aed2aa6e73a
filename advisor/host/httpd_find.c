/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "httpd_find.h"

#include <string.h>
#include <strings.h>

#include <apr_hash.h>
#include <apr_strings.h>

#include "config_env.h"
#include "config_root.h"
#include "httpd_mounts.h"
#include "procfs.h"

/* What is known of each process before it is taken for a server. */
typedef struct candidate {
    ka_process process;
    const char *exe; /* NULL: not readable, or a kernel thread */
    bool replaced;
    int same_children;
} candidate;

/* ---- arguments --------------------------------------------------------------
 */

/* The options of httpd that have an argument. */
#define WITH_ARGUMENT "CcDdEefknR"

static void take_argument(ka_httpd_args *out, char option, const char *value)
{
    switch (option) {
    case 'f':
        out->file = value;
        break;
    case 'd':
        out->server_root = value;
        break;
    case 'D':
        APR_ARRAY_PUSH(out->defines, const char *) = value;
        break;
    case 'C':
        APR_ARRAY_PUSH(out->before, const char *) = value;
        break;
    case 'c':
        APR_ARRAY_PUSH(out->after, const char *) = value;
        break;
    case 'k':
        out->transient = out->transient || strcmp(value, "start") != 0;
        break;
    default:
        break;
    }
}

static apr_array_header_t *words_of(const char *bytes, size_t length,
                                    apr_pool_t *pool)
{
    apr_array_header_t *words = apr_array_make(pool, 8, sizeof(const char *));
    const char *end = bytes + length;

    while (bytes < end) {
        size_t n = strnlen(bytes, (size_t)(end - bytes));

        APR_ARRAY_PUSH(words, const char *) = apr_pstrmemdup(pool, bytes, n);
        bytes += n + 1;
    }
    return words;
}

void ka_httpd_read_args(ka_httpd_args *out, const char *bytes, size_t length,
                        apr_pool_t *pool)
{
    apr_array_header_t *words = words_of(bytes, length, pool);
    int i;

    *out = (ka_httpd_args){
        .defines = apr_array_make(pool, 2, sizeof(const char *)),
        .before = apr_array_make(pool, 1, sizeof(const char *)),
        .after = apr_array_make(pool, 1, sizeof(const char *))};
    for (i = 1; i < words->nelts; i++) {
        const char *word = APR_ARRAY_IDX(words, i, const char *);

        if (*word != '-') {
            continue;
        }
        while (*++word) {
            if (strchr(WITH_ARGUMENT, *word)) {
                const char *value =
                    word[1]                ? word + 1
                    : i + 1 < words->nelts ? APR_ARRAY_IDX(words, ++i,
                                                           const char *)
                                           : "";

                take_argument(out, *word, value);
                break;
            }
            out->debug = out->debug || *word == 'X';
            out->transient = out->transient || strchr("vVlLtSMh?", *word);
        }
    }
}

/* ---- who is a server --------------------------------------------------------
 */

static const char *proc_path(int pid, const char *file, apr_pool_t *pool)
{
    return apr_psprintf(pool, "/proc/%d/%s", pid, file);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* httpd, httpd.worker, httpd-prefork, apache2, apache. */
static bool named_so(const char *name)
{
    return !strncasecmp(name, "httpd", 5) || !strncasecmp(name, "apache", 6);
}

/* The kernel adds this to the link of a file that is gone. */
static void take_exe(candidate *c, const char *link, apr_pool_t *pool)
{
    static const char gone[] = " (deleted)";
    size_t n = link ? strlen(link) : 0;

    c->exe = link;
    if (n > sizeof(gone) - 1 && !strcmp(link + n - (sizeof(gone) - 1), gone)) {
        c->exe = apr_pstrmemdup(pool, link, n - (sizeof(gone) - 1));
        c->replaced = true;
    }
}

static bool same_program(const candidate *a, const candidate *b)
{
    return a->exe && b->exe ? !strcmp(a->exe, b->exe)
                            : !strcmp(a->process.comm, b->process.comm);
}

/* A binary of another name gives itself away by APR and a module. */
static bool mapped_so(const candidate *c, const char *root, apr_pool_t *pool)
{
    const char *maps;

    return ka_root_read(&maps, NULL, root,
                        proc_path(c->process.pid, "maps", pool), pool) ==
               APR_SUCCESS &&
           strstr(maps, "/libapr-1.so") && strstr(maps, "/mod_");
}

static bool looks_like(const candidate *c, const char *root, apr_pool_t *pool)
{
    if (c->exe) {
        return named_so(base_name(c->exe)) ||
               ((c->same_children > 0 || named_so(c->process.comm)) &&
                mapped_so(c, root, pool));
    }
    /* Unreadable for us: the name must do.  A kernel thread has no memory. */
    return named_so(c->process.comm) && c->process.rss_bytes > 0;
}

/* ---- one server -------------------------------------------------------------
 */

static void miss(ka_httpd_instance *instance, const char *what,
                 apr_pool_t *pool)
{
    APR_ARRAY_PUSH(instance->missing, const char *) =
        apr_psprintf(pool, "pid %d: %s", instance->pid, what);
}

static void take_ids(ka_httpd_instance *instance, const char *root,
                     apr_pool_t *pool)
{
    const char *text;
    int64_t id;

    if (ka_root_read(&text, NULL, root,
                     proc_path(instance->pid, "status", pool),
                     pool) != APR_SUCCESS) {
        return;
    }
    if (ka_procfs_field(&id, text, "Uid")) {
        instance->uid = (uid_t)id;
    }
    if (ka_procfs_field(&id, text, "Gid")) {
        instance->gid = (gid_t)id;
    }
}

static void set_container(ka_httpd_instance *instance, const char *root,
                          const char *path, apr_pool_t *pool)
{
    const char *top = ka_root_link(root, path, pool);
    size_t n = top ? strlen(top) : 0;

    instance->container = true;
    instance->files = apr_pstrcat(pool, root, path, NULL);
    /* After chroot the binary's link begins where ours does. */
    if (instance->binary && n > 1 && !strncmp(instance->binary, top, n) &&
        instance->binary[n] == '/') {
        instance->binary += n;
    }
}

/* Another root, by device and inode, or other files below the same root: a
 * mount name space of its own does not say so, since services have one for a
 * private /tmp. */
static void take_root(ka_httpd_instance *instance, const char *root,
                      apr_pool_t *pool)
{
    const char *path = proc_path(instance->pid, "root", pool);
    ka_root_stat ours, theirs;
    apr_status_t status = ka_root_stat_of(&theirs, root, path, pool);

    instance->files = root;
    if (status != APR_SUCCESS) {
        miss(instance,
             "whether it runs in a container cannot be seen; run as root",
             pool);
        /* Then its paths would be those of other files here. */
        if (ka_httpd_has_other_pids(root, instance->pid, pool)) {
            set_container(instance, root, path, pool);
        }
        return;
    }
    if (ka_root_stat_of(&ours, root, "/", pool) == APR_SUCCESS &&
        (ours.device != theirs.device || ours.inode != theirs.inode ||
         ka_httpd_sees_other_files(root, instance->pid, pool))) {
        set_container(instance, root, path, pool);
    }
}

/* The unified hierarchy's line, else that of memory. */
static const char *cgroup_of(const char *text, apr_pool_t *pool)
{
    const char *line = text, *found = NULL;

    while (*line) {
        size_t n = strcspn(line, "\n");
        const char *first = memchr(line, ':', n);
        const char *second =
            first ? memchr(first + 1, ':', n - (size_t)(first + 1 - line))
                  : NULL;

        if (second) {
            const char *controllers = apr_pstrmemdup(
                pool, first + 1, (size_t)(second - first - 1));
            const char *path = apr_pstrmemdup(
                pool, second + 1, n - (size_t)(second + 1 - line));

            if (!strcmp(controllers, "memory")) {
                return path;
            }
            found = !*controllers ? path : found;
        }
        line += n + (line[n] == '\n');
    }
    return found;
}

static void take_environment(ka_httpd_instance *instance, const char *root,
                             apr_pool_t *pool)
{
    const char *bytes = NULL;
    size_t n = 0;
    apr_table_t *environment = apr_table_make(pool, 16);

    if (ka_root_read(&bytes, &n, root,
                     proc_path(instance->pid, "environ", pool),
                     pool) != APR_SUCCESS) {
        miss(instance, "its environment cannot be read; run as root", pool);
        return;
    }
    ka_cfg_env_block(environment, bytes, n, pool);
    instance->environment = environment;
}

static void fill(ka_httpd_instance *instance, const candidate *c,
                 const char *root, apr_pool_t *pool)
{
    const char *text = "";

    *instance = (ka_httpd_instance){
        .pid = c->process.pid,
        .children = c->same_children,
        .start_us = c->process.start_us,
        .name = c->process.comm,
        .binary = c->exe,
        .replaced = c->replaced,
        .uid = (uid_t)-1,
        .gid = (gid_t)-1,
        .missing = apr_array_make(pool, 2, sizeof(const char *))};
    if (!c->exe) {
        miss(instance,
             "its binary cannot be seen; run as root, or name the "
             "configuration with --httpd-config FILE",
             pool);
    }
    take_ids(instance, root, pool);
    take_root(instance, root, pool);
    take_environment(instance, root, pool);
    if (ka_root_read(&text, NULL, root,
                     proc_path(instance->pid, "cgroup", pool),
                     pool) == APR_SUCCESS) {
        instance->cgroup = cgroup_of(text, pool);
    }
}

/* ---- all of them ------------------------------------------------------------
 */

static apr_array_header_t *candidates(const apr_array_header_t *processes,
                                      apr_hash_t *by_pid, const char *root,
                                      apr_pool_t *pool)
{
    apr_array_header_t *all =
        apr_array_make(pool, processes->nelts, sizeof(candidate));
    int i;

    for (i = 0; i < processes->nelts; i++) {
        candidate *c = apr_array_push(all);

        *c = (candidate){
            .process = APR_ARRAY_IDX(processes, i, ka_process)};
        take_exe(c,
                 ka_root_link(root, proc_path(c->process.pid, "exe", pool),
                              pool),
                 pool);
    }
    /* The array no longer moves. */
    for (i = 0; i < all->nelts; i++) {
        candidate *c = &APR_ARRAY_IDX(all, i, candidate);

        apr_hash_set(by_pid, &c->process.pid, sizeof(c->process.pid), c);
    }
    for (i = 0; i < all->nelts; i++) {
        const candidate *c = &APR_ARRAY_IDX(all, i, candidate);
        candidate *parent = apr_hash_get(by_pid, &c->process.ppid,
                                         sizeof(c->process.ppid));

        if (parent && parent != c && same_program(parent, c)) {
            parent->same_children++;
        }
    }
    return all;
}

apr_status_t ka_httpd_find(apr_array_header_t **out, const char *root,
                           apr_pool_t *pool)
{
    apr_array_header_t *processes = NULL, *all;
    apr_hash_t *by_pid = apr_hash_make(pool);
    apr_status_t status = ka_processes_read(&processes, root, pool);
    int i;

    *out = apr_array_make(pool, 2, sizeof(ka_httpd_instance));
    if (status != APR_SUCCESS) {
        return status;
    }
    all = candidates(processes, by_pid, root, pool);
    for (i = 0; i < all->nelts; i++) {
        const candidate *c = &APR_ARRAY_IDX(all, i, candidate);
        const candidate *parent = apr_hash_get(by_pid, &c->process.ppid,
                                               sizeof(c->process.ppid));
        ka_httpd_args args;
        const char *bytes = "";
        size_t n = 0;

        if ((parent && parent != c && same_program(parent, c)) ||
            !looks_like(c, root, pool)) {
            continue;
        }
        ka_root_read(&bytes, &n, root,
                     proc_path(c->process.pid, "cmdline", pool), pool);
        ka_httpd_read_args(&args, bytes, n, pool);
        if (!args.transient) {
            ka_httpd_instance *instance = apr_array_push(*out);

            fill(instance, c, root, pool);
            instance->args = args;
        }
    }
    return APR_SUCCESS;
}

const char *ka_httpd_label(const ka_httpd_instance *instance,
                           apr_pool_t *pool)
{
    const ka_httpd_args *args = &instance->args;

    return apr_pstrcat(
        pool, instance->name, ", pid ", apr_itoa(pool, instance->pid),
        args->file ? ", -f " : "", args->file ? args->file : "",
        args->server_root ? ", -d " : "",
        args->server_root ? args->server_root : "",
        instance->container ? ", in a container" : "", NULL);
}
