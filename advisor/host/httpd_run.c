/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "httpd_run.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <apr_strings.h>

#define ERROR_BYTES 4096

/* Bytes of one of its outputs. */
typedef struct output {
    int fd; /* -1 when it has ended */
    char *bytes;
    size_t used, limit;
} output;

static int64_t now_us(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* ---- the child --------------------------------------------------------------
 */

/* What the child needs is made before fork: after it, in a program with
 * threads, nothing may allocate. */
typedef struct child_plan {
    const ka_httpd_command *command;
    char **environment;
    int null, out, err, status; /* descriptors */
    bool drop;
} child_plan;

static char **environment_of(const apr_table_t *table, apr_pool_t *pool)
{
    const apr_array_header_t *entries = table ? apr_table_elts(table) : NULL;
    int i, n = entries ? entries->nelts : 0;
    char **environment = apr_pcalloc(pool, ((size_t)n + 1) * sizeof(char *));

    for (i = 0; i < n; i++) {
        const apr_table_entry_t *entry =
            &APR_ARRAY_IDX(entries, i, apr_table_entry_t);

        environment[i] =
            apr_pstrcat(pool, entry->key, "=", entry->val, NULL);
    }
    return environment;
}

/* What others have opened without saying so goes no further. */
static void keep_no_descriptors(void)
{
    int fd;

    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC)) {
        for (fd = 3; fd < 1024; fd++) {
            fcntl(fd, F_SETFD, FD_CLOEXEC);
        }
    }
}

static void become(const child_plan *plan)
{
    sigset_t none;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    setpgid(0, 0);
    if (plan->drop && (setgroups(1, &plan->command->gid) ||
                       setgid(plan->command->gid) ||
                       setuid(plan->command->uid))) {
        return;
    }
    if (dup2(plan->null, 0) < 0 || dup2(plan->out, 1) < 0 ||
        dup2(plan->err, 2) < 0 || chdir("/")) {
        return;
    }
    keep_no_descriptors();
    execve(plan->command->argv[0], (char *const *)plan->command->argv,
           plan->environment);
}

/* The child's errno comes through a pipe that a successful exec closes. */
static _Noreturn void run_child(const child_plan *plan)
{
    int error;
    ssize_t written;

    become(plan);
    error = errno;
    written = write(plan->status, &error, sizeof(error));
    _exit(written < 0 ? 126 : 127);
}

/* ---- the parent -------------------------------------------------------------
 */

static void take(output *o)
{
    char buffer[16384];
    ssize_t n = read(o->fd, buffer, sizeof(buffer));
    size_t room = o->limit - o->used;

    if (n < 0 && errno == EINTR) {
        return;
    }
    if (n <= 0) {
        close(o->fd);
        o->fd = -1;
        return;
    }
    if ((size_t)n > room) {
        n = (ssize_t)room;
    }
    memcpy(o->bytes + o->used, buffer, (size_t)n);
    o->used += (size_t)n;
}

/* Until both outputs have ended, or a limit is reached. */
static apr_status_t take_all(output *out, output *err, int64_t until)
{
    while (out->fd >= 0 || err->fd >= 0) {
        struct pollfd fds[2] = {{.fd = out->fd, .events = POLLIN},
                                {.fd = err->fd, .events = POLLIN}};
        int64_t left = until - now_us();

        if (left <= 0) {
            return APR_TIMEUP;
        }
        if (poll(fds, 2, (int)(left / 1000) + 1) < 0 && errno != EINTR) {
            return errno;
        }
        if (fds[0].revents) {
            take(out);
        }
        if (fds[1].revents) {
            take(err);
        }
        if (out->used == out->limit) {
            return APR_ENOSPC;
        }
    }
    return APR_SUCCESS;
}

/* It has closed its outputs; it may still run. */
static apr_status_t reap(int *status, pid_t pid, int64_t until)
{
    const struct timespec pause = {.tv_nsec = 2000000};
    pid_t got;

    while ((got = waitpid(pid, status, WNOHANG)) == 0 && now_us() < until) {
        nanosleep(&pause, NULL);
    }
    if (got < 0) {
        return errno;
    }
    return got == pid ? APR_SUCCESS : APR_TIMEUP;
}

static const char *text_of(const output *o, apr_pool_t *pool)
{
    char *text = apr_pstrmemdup(pool, o->bytes, o->used);
    size_t i;

    for (i = 0; i < o->used; i++) {
        text[i] = text[i] ? text[i] : '?';
    }
    return text;
}

static apr_status_t follow(ka_httpd_answer *answer, pid_t pid, int out_fd,
                           int err_fd, int64_t limit_us, apr_pool_t *pool)
{
    int64_t until = now_us() + limit_us;
    output out = {.fd = out_fd, .limit = KA_HTTPD_RUN_BYTES};
    output err = {.fd = err_fd, .limit = ERROR_BYTES};
    apr_status_t status = APR_ENOMEM;
    int code = 0;

    out.bytes = malloc(out.limit);
    err.bytes = malloc(err.limit);
    if (out.bytes && err.bytes) {
        status = take_all(&out, &err, until);
    }
    if (status == APR_SUCCESS) {
        status = reap(&code, pid, until);
    }
    /* Its own children too: a piped log, a lookup that hangs. */
    kill(-pid, SIGKILL);
    if (status != APR_SUCCESS) {
        kill(pid, SIGKILL);
        waitpid(pid, &code, 0);
    }
    if (out.bytes && err.bytes) {
        answer->out = text_of(&out, pool);
        answer->err = text_of(&err, pool);
    }
    answer->status =
        WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code);
    if (out.fd >= 0) {
        close(out.fd);
    }
    if (err.fd >= 0) {
        close(err.fd);
    }
    free(out.bytes);
    free(err.bytes);
    return status;
}

static void close_all(const int *fds, int n)
{
    int i;

    for (i = 0; i < n; i++) {
        if (fds[i] >= 0) {
            close(fds[i]);
        }
    }
}

static apr_status_t start(ka_httpd_answer *answer, child_plan *plan,
                          int64_t limit_us, apr_pool_t *pool)
{
    int out[2] = {-1, -1}, err[2] = {-1, -1}, status[2] = {-1, -1};
    int error = 0;
    pid_t pid = -1;

    if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) ||
        pipe2(status, O_CLOEXEC) || (pid = fork()) < 0) {
        error = errno;
        close_all((int[]){out[0], out[1], err[0], err[1], status[0],
                          status[1]}, 6);
        return error;
    }
    plan->out = out[1];
    plan->err = err[1];
    plan->status = status[1];
    if (pid == 0) {
        run_child(plan);
    }
    /* In both, so that the group is there whoever is first. */
    setpgid(pid, pid);
    close_all((int[]){out[1], err[1], status[1]}, 3);
    if (read(status[0], &error, sizeof(error)) != sizeof(error)) {
        error = 0;
    }
    close(status[0]);
    if (error) {
        waitpid(pid, NULL, 0);
        close_all((int[]){out[0], err[0]}, 2);
        return error;
    }
    return follow(answer, pid, out[0], err[0], limit_us, pool);
}

apr_status_t ka_httpd_run_command(ka_httpd_answer *answer,
                                  const ka_httpd_command *command,
                                  apr_pool_t *pool)
{
    child_plan plan = {.command = command,
                       .environment =
                           environment_of(command->environment, pool),
                       .null = open("/dev/null", O_RDONLY | O_CLOEXEC),
                       .drop = geteuid() == 0 && command->uid != 0};
    apr_status_t status;

    *answer = (ka_httpd_answer){.out = "", .err = "", .status = -1};
    if (plan.null < 0) {
        return errno;
    }
    status = start(answer, &plan,
                   command->limit_us ? command->limit_us
                                     : INT64_C(1000000) * KA_HTTPD_RUN_SECONDS,
                   pool);
    close(plan.null);
    return status;
}

/* ---- whom to trust ----------------------------------------------------------
 */

static bool trusted(const struct stat *info, uid_t uid)
{
    bool owner = info->st_uid == 0 || info->st_uid == geteuid() ||
                 (geteuid() == 0 && info->st_uid == uid);
    mode_t others = S_IWOTH | (info->st_gid ? S_IWGRP : 0);

    /* In a sticky directory others cannot replace a file. */
    return owner && (!(info->st_mode & others) ||
                     (S_ISDIR(info->st_mode) && info->st_mode & S_ISVTX));
}

bool ka_httpd_may_run(const char **reason, const char *path, uid_t uid,
                      apr_pool_t *pool)
{
    char *real = realpath(path, NULL), *slash;
    const char *at = real ? apr_pstrdup(pool, real) : path;
    struct stat info;

    free(real);
    if (*at != '/' || access(at, X_OK)) {
        *reason = apr_psprintf(pool, "%s cannot be run", path);
        return false;
    }
    do {
        if (stat(*at ? at : "/", &info) || !trusted(&info, uid)) {
            *reason = apr_psprintf(pool, "%s can be changed by other users",
                                   *at ? at : "/");
            return false;
        }
        slash = strrchr(at, '/');
        at = slash ? apr_pstrmemdup(pool, at, (size_t)(slash - at)) : NULL;
    } while (at && slash);
    return true;
}
