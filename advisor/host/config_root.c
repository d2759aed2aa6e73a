/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "config_root.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <apr_file_info.h>
#include <apr_strings.h>

/* As the kernel's own limit. */
#define LINKS_MAX 40

static const char *link_text(const char *real, apr_pool_t *pool)
{
    char buffer[PATH_MAX];
    ssize_t n = readlink(real, buffer, sizeof(buffer));

    return n > 0 && n < (ssize_t)sizeof(buffer)
               ? apr_pstrmemdup(pool, buffer, (apr_size_t)n)
               : NULL;
}

/* Takes the first component off a path; NULL at its end. */
static const char *next_component(const char **path, apr_pool_t *pool)
{
    const char *start = *path + strspn(*path, "/");
    size_t n = strcspn(start, "/");

    *path = start + n;
    return n ? apr_pstrmemdup(pool, start, n) : NULL;
}

static const char *parent_of(const char *path, apr_pool_t *pool)
{
    const char *slash = strrchr(path, '/');

    return slash ? apr_pstrmemdup(pool, path, (apr_size_t)(slash - path))
                 : path;
}

/* The components one by one: `done` holds no link, `rest` is to do. */
static apr_status_t walk(const char **real, const char *root,
                         const char *path, apr_pool_t *pool)
{
    const char *done = "", *rest = path, *name;
    int links = 0;

    while ((name = next_component(&rest, pool)) != NULL) {
        const char *next, *target;
        struct stat info;

        if (!strcmp(name, ".")) {
            continue;
        }
        if (!strcmp(name, "..")) {
            done = parent_of(done, pool);
            continue;
        }
        next = apr_pstrcat(pool, done, "/", name, NULL);
        if (strlen(root) + strlen(next) >= PATH_MAX) {
            return ENAMETOOLONG;
        }
        *real = apr_pstrcat(pool, root, next, NULL);
        if (lstat(*real, &info)) {
            return errno == ENOENT && !rest[strspn(rest, "/")] ? APR_SUCCESS
                                                               : errno;
        }
        if (!S_ISLNK(info.st_mode)) {
            done = next;
            continue;
        }
        target = link_text(*real, pool);
        if (!target || ++links > LINKS_MAX) {
            return target ? ELOOP : APR_ENOENT;
        }
        done = *target == '/' ? "" : done;
        rest = apr_pstrcat(pool, target, "/", rest, NULL);
    }
    *real = apr_pstrcat(pool, root, *done ? done : "/", NULL);
    return APR_SUCCESS;
}

apr_status_t ka_root_resolve(const char **real, const char *root,
                             const char *path, apr_pool_t *pool)
{
    if (*path != '/') {
        return APR_EINVAL;
    }
    if (!*root) {
        *real = path;
        return APR_SUCCESS;
    }
    return walk(real, root, path, pool);
}

/* Opens without waiting for a FIFO's writer, and never a terminal of ours. */
static apr_status_t open_real(int *fd, const char *root, const char *path,
                              int flags, apr_pool_t *pool)
{
    const char *real = NULL;
    apr_status_t status = ka_root_resolve(&real, root, path, pool);

    if (status != APR_SUCCESS) {
        return status;
    }
    /* Below a foreign root no link is left to follow. */
    flags |= *root ? O_NOFOLLOW : 0;
    *fd = open(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
    return *fd < 0 ? errno : APR_SUCCESS;
}

static apr_status_t read_all(char **text, size_t *length, int fd,
                             apr_pool_t *pool)
{
    size_t size = 4096, n = 0;
    char *bytes = malloc(size + 1);
    ssize_t got = 0;

    while (bytes && (got = read(fd, bytes + n, size - n)) != 0) {
        if (got < 0 && errno != EINTR) {
            break;
        }
        n += got > 0 ? (size_t)got : 0;
        if (n == size && size <= KA_ROOT_FILE_MAX) {
            char *more = realloc(bytes, 2 * size + 1);

            if (!more) {
                break;
            }
            bytes = more;
            size *= 2;
        }
        if (n > KA_ROOT_FILE_MAX) {
            free(bytes);
            return APR_ENOSPC;
        }
    }
    if (!bytes || got != 0) {
        apr_status_t status = bytes && got < 0 ? errno : APR_ENOMEM;

        free(bytes);
        return status;
    }
    *text = apr_pstrmemdup(pool, bytes, n);
    *length = n;
    free(bytes);
    return APR_SUCCESS;
}

apr_status_t ka_root_read(const char **text, size_t *length, const char *root,
                          const char *path, apr_pool_t *pool)
{
    struct stat info;
    size_t n = 0;
    char *bytes = NULL;
    int fd = -1;
    apr_status_t status = open_real(&fd, root, path, 0, pool);

    if (status != APR_SUCCESS) {
        return status;
    }
    if (fstat(fd, &info)) {
        status = errno;
    }
    else {
        status = S_ISREG(info.st_mode) ? read_all(&bytes, &n, fd, pool)
                                       : APR_EINVAL;
    }
    close(fd);
    if (status == APR_SUCCESS) {
        *text = bytes;
        if (length) {
            *length = n;
        }
    }
    return status;
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

apr_status_t ka_root_list(apr_array_header_t **names, const char *root,
                          const char *path, apr_pool_t *pool)
{
    const struct dirent *entry;
    int fd = -1;
    apr_status_t status = open_real(&fd, root, path, O_DIRECTORY, pool);
    DIR *directory = status == APR_SUCCESS ? fdopendir(fd) : NULL;

    if (!directory) {
        if (status == APR_SUCCESS) {
            status = errno;
            close(fd);
        }
        return status;
    }
    *names = apr_array_make(pool, 64, sizeof(const char *));
    while ((entry = readdir(directory)) != NULL) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) {
            continue;
        }
        if ((*names)->nelts == KA_ROOT_LIST_MAX) {
            status = APR_ENOSPC;
            break;
        }
        APR_ARRAY_PUSH(*names, const char *) =
            apr_pstrdup(pool, entry->d_name);
    }
    closedir(directory);
    qsort((*names)->elts, (size_t)(*names)->nelts, sizeof(const char *),
          by_bytes);
    return status;
}

apr_status_t ka_root_stat_of(ka_root_stat *out, const char *root,
                             const char *path, apr_pool_t *pool)
{
    const char *real = NULL;
    struct stat info;
    apr_status_t status = ka_root_resolve(&real, root, path, pool);

    if (status != APR_SUCCESS) {
        return status;
    }
    if (*root ? lstat(real, &info) : stat(real, &info)) {
        return errno;
    }
    *out = (ka_root_stat){.directory = S_ISDIR(info.st_mode),
                          .regular = S_ISREG(info.st_mode),
                          .device = info.st_dev,
                          .inode = info.st_ino,
                          .size = info.st_size,
                          .mtime_us = (int64_t)info.st_mtim.tv_sec * 1000000 +
                                      info.st_mtim.tv_nsec / 1000};
    return APR_SUCCESS;
}

const char *ka_root_link(const char *root, const char *path, apr_pool_t *pool)
{
    const char *real = NULL, *slash = strrchr(path, '/');

    if (!slash || slash == path ||
        ka_root_resolve(&real, root, parent_of(path, pool), pool) !=
            APR_SUCCESS) {
        return NULL;
    }
    return link_text(apr_pstrcat(pool, real, slash, NULL), pool);
}

const char *ka_root_join(const char *base, const char *path, apr_pool_t *pool)
{
    char *merged = NULL;

    /* Without a base APR would ask for the working directory. */
    if (!base || *base != '/') {
        base = "/";
    }
    return apr_filepath_merge(&merged, base, path, 0, pool) == APR_SUCCESS
               ? merged
               : path;
}
