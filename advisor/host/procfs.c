/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <apr_strings.h>

#define FIRST_READ 4096
/* The kernel counts in USER_HZ for readers, whatever its own tick is. */
#define TICK_US INT64_C(10000)

static FILE *open_below(const char *root, const char *path)
{
    char full[4096];

    if (snprintf(full, sizeof(full), "%s%s", root, path) >= (int)sizeof(full)) {
        errno = ENAMETOOLONG;
        return NULL;
    }
    return fopen(full, "re");
}

apr_status_t ka_procfs_read(const char **text, const char *root,
                            const char *path, apr_pool_t *pool)
{
    size_t size = FIRST_READ, used = 0;
    char *buffer, *larger;
    FILE *file = open_below(root, path);
    apr_status_t rv;

    if (!file) {
        return errno;
    }
    buffer = malloc(size);
    while (buffer) {
        used += fread(buffer + used, 1, size - 1 - used, file);
        if (used < size - 1 || size >= KA_PROCFS_FILE_MAX) {
            break;
        }
        size *= 2;
        larger = realloc(buffer, size);
        if (!larger) {
            free(buffer);
        }
        buffer = larger;
    }
    rv = !buffer ? APR_ENOMEM : ferror(file) ? (errno ? errno : EIO) : 0;
    fclose(file);
    if (!rv) {
        /* A NUL ends an argument in cmdline; none is in what is a text. */
        *text = apr_pstrmemdup(pool, buffer, used);
    }
    free(buffer);
    return rv;
}

apr_status_t ka_procfs_each_line(const char *root, const char *path,
                                 ka_procfs_line *take, void *context)
{
    char line[KA_PROCFS_LINE_MAX];
    FILE *file = open_below(root, path);
    bool more = true, whole = true;
    apr_status_t rv;

    if (!file) {
        return errno;
    }
    while (more && fgets(line, sizeof(line), file)) {
        bool begins = whole;
        size_t n = strlen(line);

        whole = n > 0 && line[n - 1] == '\n';
        if (whole) {
            line[n - 1] = '\0';
        }
        if (begins) {
            more = take(context, line);
        }
    }
    rv = ferror(file) ? (errno ? errno : EIO) : APR_SUCCESS;
    fclose(file);
    return rv;
}

bool ka_procfs_parse(int64_t *out, const char *text, const char **end)
{
    const char *start = text + strspn(text, " \t");
    long long value;
    char *stop;

    if (isspace((unsigned char)*start)) {
        return false; /* strtoll would go on in the next line */
    }
    if (!strncmp(start, "max", 3) && !isalnum((unsigned char)start[3])) {
        *out = INT64_MAX;
        stop = (char *)start + 3;
    }
    else {
        errno = 0;
        value = strtoll(start, &stop, 10); /* ERANGE: the limit it stops at */
        if (stop == start) {
            return false;
        }
        *out = value;
    }
    if (end) {
        *end = stop;
    }
    return true;
}

apr_status_t ka_procfs_number(int64_t *out, const char *root, const char *path,
                              apr_pool_t *pool)
{
    const char *text;
    apr_status_t rv = ka_procfs_read(&text, root, path, pool);

    if (rv) {
        return rv;
    }
    return ka_procfs_parse(out, text, NULL) ? APR_SUCCESS : APR_EINVAL;
}

static int64_t times(int64_t value, int64_t factor)
{
    int64_t product;

    if (__builtin_mul_overflow(value, factor, &product)) {
        return INT64_MAX;
    }
    return product;
}

bool ka_procfs_field(int64_t *out, const char *text, const char *key)
{
    size_t length = strlen(key);

    while (text && *text) {
        if (!strncmp(text, key, length) &&
            (text[length] == ':' || text[length] == ' ' ||
             text[length] == '\t')) {
            const char *end;

            if (!ka_procfs_parse(out, text + length + 1, &end)) {
                return false;
            }
            if (!strncmp(end, " kB", 3)) {
                *out = times(*out, 1024);
            }
            return true;
        }
        text = strchr(text, '\n');
        text = text ? text + 1 : NULL;
    }
    return false;
}

/* Fields of /proc/PID/stat behind the name, which may itself hold blanks and
 * brackets: [0] is the state. */
enum {
    STAT_PPID = 1,
    STAT_UTIME = 11,
    STAT_STIME,
    STAT_THREADS = 17,
    STAT_START = 19,
    STAT_RSS = 21,
    STAT_FIELDS
};

static int64_t at_least_0(int64_t value)
{
    return value < 0 ? 0 : value;
}

static int as_int(int64_t value)
{
    return value < 0 ? 0 : value > INT32_MAX ? INT32_MAX : (int)value;
}

apr_status_t ka_process_parse(ka_process *out, const char *stat,
                              apr_pool_t *pool)
{
    const char *open = strchr(stat, '('), *close = strrchr(stat, ')');
    int64_t fields[STAT_FIELDS] = {0}, pid, cpu;
    const char *at;
    int i;

    if (!open || !close || close < open || close[1] != ' ' ||
        !ka_procfs_parse(&pid, stat, NULL) || pid <= 0 || pid > INT32_MAX) {
        return APR_EINVAL;
    }
    at = close + 2 + strcspn(close + 2, " ");
    for (i = 1; i < STAT_FIELDS; i++) {
        if (!ka_procfs_parse(&fields[i], at, &at)) {
            return APR_EINVAL;
        }
    }
    if (__builtin_add_overflow(at_least_0(fields[STAT_UTIME]),
                               at_least_0(fields[STAT_STIME]), &cpu)) {
        cpu = INT64_MAX;
    }
    *out = (ka_process){
        .pid = (int)pid,
        .ppid = as_int(fields[STAT_PPID]),
        .threads = as_int(fields[STAT_THREADS]),
        .comm = apr_pstrmemdup(pool, open + 1, (size_t)(close - open - 1)),
        .start_us = times(at_least_0(fields[STAT_START]), TICK_US),
        .cpu_us = times(cpu, TICK_US),
        .rss_bytes =
            times(at_least_0(fields[STAT_RSS]), sysconf(_SC_PAGESIZE))};
    return APR_SUCCESS;
}

apr_status_t ka_process_read(ka_process *out, const char *root, int pid,
                             apr_pool_t *pool)
{
    const char *text;
    char path[64];
    apr_status_t rv;

    snprintf(path, sizeof(path), "/proc/%d/stat", pid);
    rv = ka_procfs_read(&text, root, path, pool);
    return rv ? rv : ka_process_parse(out, text, pool);
}

static int by_pid(const void *a, const void *b)
{
    int left = ((const ka_process *)a)->pid;
    int right = ((const ka_process *)b)->pid;

    return (left > right) - (left < right);
}

apr_status_t ka_processes_read(apr_array_header_t **out, const char *root,
                               apr_pool_t *pool)
{
    DIR *directory = opendir(apr_pstrcat(pool, root, "/proc", NULL));
    struct dirent *entry;
    ka_process process;

    if (!directory) {
        return errno;
    }
    *out = apr_array_make(pool, 64, sizeof(ka_process));
    while ((entry = readdir(directory))) {
        int64_t pid;
        const char *end;

        if (isdigit((unsigned char)entry->d_name[0]) &&
            ka_procfs_parse(&pid, entry->d_name, &end) && !*end &&
            pid <= INT32_MAX &&
            !ka_process_read(&process, root, (int)pid, pool)) {
            APR_ARRAY_PUSH(*out, ka_process) = process;
        }
    }
    closedir(directory);
    qsort((*out)->elts, (size_t)(*out)->nelts, sizeof(ka_process), by_pid);
    return APR_SUCCESS;
}

ka_process *ka_processes_find(const apr_array_header_t *processes, int pid)
{
    ka_process wanted = {.pid = pid};

    return bsearch(&wanted, processes->elts, (size_t)processes->nelts,
                   sizeof(ka_process), by_pid);
}

/* NSpid: pids from the name space of this /proc down to the process's own. */
int ka_process_inner_pid(const char *root, int pid, apr_pool_t *pool)
{
    const char *text, *at = NULL;
    int64_t inner = pid, next;

    if (!ka_procfs_read(&text, root, apr_psprintf(pool, "/proc/%d/status", pid),
                        pool)) {
        at = strstr(text, "\nNSpid:");
    }
    if (at) {
        at += strlen("\nNSpid:");
        while (*at == '\t' || *at == ' ') {
            if (!ka_procfs_parse(&next, at, &at)) {
                break;
            }
            inner = next;
        }
    }
    return inner > 0 && inner <= INT_MAX ? (int)inner : pid;
}

int64_t ka_procfs_uptime_us(const char *root, apr_pool_t *pool)
{
    const char *text;
    int64_t seconds;

    if (ka_procfs_read(&text, root, "/proc/uptime", pool) ||
        !ka_procfs_parse(&seconds, text, NULL) || seconds < 0) {
        return -1;
    }
    return times(seconds, 1000000);
}
