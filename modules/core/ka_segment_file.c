/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_segment_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <apr_strings.h>

static apr_status_t fail(const char **error, const char *what, int code)
{
    *error = what;
    return code ? code : APR_EGENERAL;
}

static apr_status_t check_place(const char *path, bool *exists,
                                const char **error)
{
    struct stat st;

    *exists = lstat(path, &st) == 0;
    if (!*exists) {
        return errno == ENOENT ? APR_SUCCESS
                               : fail(error, "cannot look at it", errno);
    }
    if (!S_ISREG(st.st_mode)) {
        return fail(error, "there is something that is not a regular file",
                    EEXIST);
    }
    return APR_SUCCESS;
}

static apr_status_t map_file(ka_segment_map *map, int fd, uint64_t size,
                             const char **error)
{
    struct stat st;
    void *base;

    if (fstat(fd, &st) != 0) {
        return fail(error, "cannot look at the new file", errno);
    }
    base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (base == MAP_FAILED) {
        return fail(error, "cannot map the new file", errno);
    }
    *map = (ka_segment_map){
        .header = base, .size = size, .dev = st.st_dev, .ino = st.st_ino};
    return APR_SUCCESS;
}

static apr_status_t fill_file(ka_segment_map *map, int fd, mode_t mode,
                              uint64_t size, const char **error)
{
    int code;

    if (fchmod(fd, mode) != 0) {
        return fail(error, "cannot set the mode of the new file", errno);
    }
    if ((code = posix_fallocate(fd, 0, (off_t)size)) != 0) {
        return fail(error, "cannot allocate the new file", code);
    }
    return map_file(map, fd, size, error);
}

/* The name changes last: readers see the old segment or the whole new one.
 * link() keeps the old one at path until rename() replaces it. */
static apr_status_t put_in_place(const char *temp, const char *path,
                                 bool exists, const char **error,
                                 apr_pool_t *pool)
{
    const char *old = apr_pstrcat(pool, path, KA_SEGMENT_OLD_SUFFIX, NULL);

    if (exists) {
        unlink(old);
        if (link(path, old) != 0) {
            return fail(error, "cannot keep the old file beside it", errno);
        }
    }
    if (rename(temp, path) != 0) {
        return fail(error, "cannot rename the new file", errno);
    }
    return APR_SUCCESS;
}

apr_status_t ka_segment_create(ka_segment_map *map, const char *path,
                               mode_t mode, const ka_segment_plan *plan,
                               int64_t now_at, int64_t now_mono,
                               const char **error, apr_pool_t *pool)
{
    const char *temp = apr_pstrcat(pool, path, KA_SEGMENT_NEW_SUFFIX, NULL);
    uint64_t size = ka_segment_size(plan);
    apr_status_t rv;
    bool exists;
    int fd;

    *map = (ka_segment_map){0};
    if (size > KA_SEGMENT_SIZE_MAX) {
        return fail(error, "it would be larger than 1 GB", EFBIG);
    }
    if ((rv = check_place(path, &exists, error)) != APR_SUCCESS) {
        return rv;
    }
    unlink(temp); /* left by a start that was killed */
    fd = open(temp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) {
        return fail(error, "cannot create it", errno);
    }
    rv = fill_file(map, fd, mode, size, error);
    close(fd);
    if (rv == APR_SUCCESS) {
        ka_segment_format(map->header, plan, now_at, now_mono);
        rv = put_in_place(temp, path, exists, error, pool);
    }
    if (rv != APR_SUCCESS) {
        ka_segment_unmap(map);
        unlink(temp);
    }
    return rv;
}

bool ka_segment_is_at(const ka_segment_map *map, const char *path)
{
    struct stat st;

    return map->header && lstat(path, &st) == 0 && S_ISREG(st.st_mode) &&
           st.st_dev == map->dev && st.st_ino == map->ino &&
           (uint64_t)st.st_size == map->size;
}

void ka_segment_unmap(ka_segment_map *map)
{
    if (map->header) {
        munmap(map->header, map->size);
    }
    *map = (ka_segment_map){0};
}

/* ---- loading --------------------------------------------------------- */

static apr_status_t read_all(char *to, int fd, uint64_t size,
                             const char **error)
{
    uint64_t have = 0;

    while (have < size) {
        ssize_t n = read(fd, to + have, size - have);

        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return fail(error, "cannot read it", errno);
        }
        if (n == 0) {
            return fail(error, "it shrank while it was read", APR_EINVAL);
        }
        have += (uint64_t)n;
    }
    return APR_SUCCESS;
}

/* A foreign file is refused by its first bytes, before its size matters. */
static apr_status_t check_start(int fd, const char **error)
{
    uint64_t magic = 0;
    ssize_t n = pread(fd, &magic, sizeof(magic), 0);

    if (n < 0) {
        return fail(error, "cannot read it", errno);
    }
    if (n != (ssize_t)sizeof(magic) || magic != KA_SEGMENT_MAGIC) {
        return fail(error, "it is not a segment of mod_kastats", APR_EINVAL);
    }
    return APR_SUCCESS;
}

static apr_status_t load_fd(const ka_segment_header **out, int fd,
                            const char **error, apr_pool_t *pool)
{
    struct stat st;
    apr_status_t rv;
    char *bytes;

    if (fstat(fd, &st) != 0) {
        return fail(error, "cannot look at it", errno);
    }
    if (!S_ISREG(st.st_mode)) {
        return fail(error, "it is not a regular file", APR_EINVAL);
    }
    if ((rv = check_start(fd, error)) != APR_SUCCESS) {
        return rv;
    }
    if ((uint64_t)st.st_size > KA_SEGMENT_SIZE_MAX) {
        return fail(error, "it is larger than a segment can be", APR_EINVAL);
    }
    bytes = apr_palloc(pool, (apr_size_t)st.st_size);
    if (!bytes) {
        return fail(error, "there is not enough memory for it", APR_ENOMEM);
    }
    rv = read_all(bytes, fd, (uint64_t)st.st_size, error);
    if (rv == APR_SUCCESS) {
        rv = ka_segment_check(bytes, (uint64_t)st.st_size, error);
    }
    *out = rv == APR_SUCCESS ? (const ka_segment_header *)bytes : NULL;
    return rv;
}

apr_status_t ka_segment_load(const ka_segment_header **out, const char *path,
                             const char **error, apr_pool_t *pool)
{
    /* O_NONBLOCK: a FIFO of that name must not hang us. */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    apr_status_t rv;

    *out = NULL;
    if (fd < 0) {
        return fail(error, "cannot open it", errno);
    }
    rv = load_fd(out, fd, error, pool);
    close(fd);
    return rv;
}
