/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "output.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <apr_strings.h>

#include "say.h"

#define DEFAULT_WIDTH 80
#define LEAST_WIDTH 60
#define MOST_WIDTH 120

static apr_status_t failed(const ka_result_file *file, const char *what,
                           const char *path, apr_status_t rv)
{
    char reason[120];

    ka_say(file->pool, "cannot %s %s: %s", what, path,
           apr_strerror(rv, reason, sizeof(reason)));
    return rv;
}

/* A name that is there and is no regular file (a pipe, /dev/null) is written
 * to directly; so is nothing else. */
static bool written_in_place(const char *path)
{
    struct stat info;

    return stat(path, &info) == 0 && !S_ISREG(info.st_mode);
}

/* ---- signals ----------------------------------------------------------------
 */

static const int ending[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

#define ENDING_N (sizeof(ending) / sizeof(ending[0]))

static void hold_signals(ka_result_file *file)
{
    sigset_t set;
    size_t i;

    sigemptyset(&set);
    for (i = 0; i < ENDING_N; i++) {
        sigaddset(&set, ending[i]);
    }
    sigprocmask(SIG_BLOCK, &set, &file->signals);
}

/* One is waiting that will end the program. */
static bool is_ending(void)
{
    struct sigaction action;
    sigset_t waiting;
    size_t i;

    if (sigpending(&waiting)) {
        return false;
    }
    for (i = 0; i < ENDING_N; i++) {
        if (sigismember(&waiting, ending[i]) == 1 &&
            !sigaction(ending[i], NULL, &action) &&
            action.sa_handler != SIG_IGN) {
            return true;
        }
    }
    return false;
}

static void let_signals(ka_result_file *file)
{
    file->temporary = NULL;
    sigprocmask(SIG_SETMASK, &file->signals, NULL);
}

/* ---- files ------------------------------------------------------------------
 */

/* Links are written through. */
static const char *without_links(const char *path, apr_pool_t *pool)
{
    char *real = realpath(path, NULL);
    const char *copy = real ? apr_pstrdup(pool, real) : path;

    free(real);
    return copy;
}

static apr_status_t open_beside(ka_result_file *file)
{
    const char *path = file->path;
    char *name = apr_pstrcat(file->pool, path, ".XXXXXX", NULL);
    struct stat info;
    mode_t mask;
    int fd;

    hold_signals(file);
    fd = mkstemp(name);
    if (fd < 0) {
        apr_status_t rv = failed(file, "create a file beside", path, errno);

        let_signals(file);
        return rv;
    }
    file->temporary = name;
    mask = umask(0);
    umask(mask);
    if (fchmod(fd, stat(path, &info) == 0 ? info.st_mode & 0777
                                          : 0666 & ~mask)) {
        failed(file, "set the permissions of", name, errno);
    }
    file->stream = fdopen(fd, "w");
    if (!file->stream) {
        apr_status_t rv = failed(file, "write", path, errno);

        close(fd);
        ka_result_drop(file);
        return rv;
    }
    return APR_SUCCESS;
}

apr_status_t ka_result_open(ka_result_file *file, const ka_options *options,
                            apr_pool_t *pool)
{
    const char *path = options->output_file;

    memset(file, 0, sizeof(*file));
    file->pool = pool;
    signal(SIGPIPE, SIG_IGN);
    if (!path || !strcmp(path, "-")) {
        file->stream = stdout;
        return APR_SUCCESS;
    }
    file->path = path;
    if (written_in_place(path)) {
        file->stream = fopen(path, "w");
        return file->stream ? APR_SUCCESS : failed(file, "write", path, errno);
    }
    file->path = without_links(path, pool);
    return open_beside(file);
}

void ka_result_drop(ka_result_file *file)
{
    if (file->temporary) {
        unlink(file->temporary);
        let_signals(file);
    }
}

int ka_result_finish(ka_result_file *file, apr_status_t rv)
{
    const char *path = file->path ? file->path : "standard output";

    if (!rv && (fflush(file->stream) || ferror(file->stream))) {
        rv = errno ? errno : APR_EGENERAL;
    }
    if (!rv && file->temporary && fsync(fileno(file->stream))) {
        rv = errno;
    }
    if (file->stream != stdout && fclose(file->stream) && !rv) {
        rv = errno;
    }
    if (!rv || (file->stream == stdout && APR_STATUS_IS_EPIPE(rv))) {
        return KA_EXIT_DONE;
    }
    failed(file, "write", path, rv);
    ka_result_drop(file);
    return KA_EXIT_FAILED;
}

int ka_result_place(ka_result_file *file, const char *path)
{
    if (!file->temporary) {
        return KA_EXIT_DONE;
    }
    if (is_ending()) {
        ka_result_drop(file);
        return KA_EXIT_FAILED;
    }
    if (rename(file->temporary, path)) {
        failed(file, "write", path, errno);
        ka_result_drop(file);
        return KA_EXIT_FAILED;
    }
    let_signals(file);
    return KA_EXIT_DONE;
}

int ka_result_close(ka_result_file *file, apr_status_t rv)
{
    int status = ka_result_finish(file, rv);

    return status == KA_EXIT_DONE ? ka_result_place(file, file->path) : status;
}

bool ka_result_color(const ka_result_file *file)
{
    const char *term = getenv("TERM");
    const char *no_color = getenv("NO_COLOR");

    return isatty(fileno(file->stream)) && !(no_color && *no_color) && term &&
           strcmp(term, "dumb") != 0;
}

int ka_result_width(const ka_result_file *file)
{
    struct winsize size;

    if (ioctl(fileno(file->stream), TIOCGWINSZ, &size) || !size.ws_col) {
        return DEFAULT_WIDTH;
    }
    if (size.ws_col < LEAST_WIDTH) {
        return LEAST_WIDTH;
    }
    return size.ws_col > MOST_WIDTH ? MOST_WIDTH : size.ws_col;
}

int ka_result_write(const ka_options *options, ka_render_fn *render,
                    const ka_report *report, apr_pool_t *pool)
{
    ka_render_options how = {.legacy_names = options->legacy_names,
                             .verbose = options->verbose};
    ka_result_file file;

    if (ka_result_open(&file, options, pool)) {
        return KA_EXIT_FAILED;
    }
    how.color = ka_result_color(&file);
    how.width = ka_result_width(&file);
    return ka_result_close(&file, render(file.stream, report, &how));
}
