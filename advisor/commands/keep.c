/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "keep.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <apr_strings.h>

#include "../host/config_root.h"
#include "../render/conf.h"

#define NAMES_MAX 1000

static const char *name_of(const char *path, int n, apr_pool_t *pool)
{
    return n ? apr_psprintf(pool, "%s.bak.%d", path, n)
             : apr_pstrcat(pool, path, ".bak", NULL);
}

/* Files of a configuration: no longer than httpd's own may be. */
static apr_status_t read_file(const char **bytes, size_t *n, const char *path,
                              apr_pool_t *pool)
{
    return ka_root_read(bytes, n, "", path, pool);
}

apr_status_t ka_keep_plan(ka_keep *keep, const char *path, apr_pool_t *pool)
{
    const char *own, *other;
    size_t own_n, other_n;
    apr_status_t rv;
    int i;

    *keep = (ka_keep){.path = path};
    rv = read_file(&own, &own_n, path, pool);
    if (rv) {
        return APR_STATUS_IS_ENOENT(rv) ? APR_SUCCESS : rv;
    }
    for (i = 0; i < NAMES_MAX; i++) {
        const char *name = name_of(path, i, pool);

        rv = read_file(&other, &other_n, name, pool);
        keep->name = name;
        if (APR_STATUS_IS_ENOENT(rv)) {
            return APR_SUCCESS;
        }
        if (!rv && own_n == other_n && !memcmp(own, other, own_n)) {
            keep->already = true;
            return APR_SUCCESS;
        }
        /* What cannot be read is not ours to look into: the next name. */
    }
    keep->name = NULL;
    return APR_ENOSPC;
}

/* Where a file system has no links: never over a file that is there. */
static apr_status_t copy(const char *from, const char *to, apr_pool_t *pool)
{
    struct stat info;
    const char *bytes;
    size_t n, done = 0;
    apr_status_t rv = read_file(&bytes, &n, from, pool);
    int fd;

    if (rv || stat(from, &info)) {
        return rv ? rv : errno;
    }
    fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
              info.st_mode & 0777);
    if (fd < 0) {
        return errno;
    }
    while (done < n && !rv) {
        ssize_t written = write(fd, bytes + done, n - done);

        rv = written < 0 && errno != EINTR ? errno : APR_SUCCESS;
        done += written > 0 ? (size_t)written : 0;
    }
    rv = !rv && fsync(fd) ? errno : rv;
    rv = close(fd) && !rv ? errno : rv;
    if (rv) {
        unlink(to);
    }
    return rv;
}

apr_status_t ka_keep_do(const ka_keep *keep, apr_pool_t *pool)
{
    if (!keep->name || keep->already) {
        return APR_SUCCESS;
    }
    /* The file is renamed over, not written to: a link keeps its bytes. */
    if (!link(keep->path, keep->name)) {
        return APR_SUCCESS;
    }
    return errno == EEXIST ? EEXIST : copy(keep->path, keep->name, pool);
}

/* ---- the same settings ------------------------------------------------------
 */

static bool begins(const char *line, size_t n, const char *lead)
{
    return n >= strlen(lead) && !strncmp(line, lead, strlen(lead));
}

/* The next line that says something about settings; false at the end. */
static bool next_line(const char **line, size_t *n, const char **at,
                      bool *applying)
{
    while (**at) {
        *line = *at;
        *n = strcspn(*at, "\n");
        *at += *n + ((*at)[*n] == '\n');
        if (begins(*line, *n, "# " KA_CONF_APPLY) ||
            begins(*line, *n, "# " KA_CONF_BACK)) {
            *applying = true;
        }
        else if (!begins(*line, *n, "# " KA_CONF_MORE)) {
            *applying = false;
        }
        if (!*applying && !begins(*line, *n, "# " KA_CONF_WRITTEN)) {
            return true;
        }
    }
    return false;
}

bool ka_keep_same_conf(const char *a, const char *b, apr_pool_t *pool)
{
    const char *line[2];
    size_t n[2];
    bool applying[2] = {false, false}, more[2];

    if (read_file(&a, NULL, a, pool) || read_file(&b, NULL, b, pool)) {
        return false;
    }
    do {
        more[0] = next_line(&line[0], &n[0], &a, &applying[0]);
        more[1] = next_line(&line[1], &n[1], &b, &applying[1]);
        if (more[0] != more[1] ||
            (more[0] && (n[0] != n[1] || memcmp(line[0], line[1], n[0])))) {
            return false;
        }
    } while (more[0]);
    return true;
}
