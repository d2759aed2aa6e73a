/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "conf.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <apr_strings.h>

#include "apply.h"
#include "keep.h"
#include "output.h"
#include "say.h"

#define REJECTED ".rejected"

typedef struct writing {
    const ka_host *host; /* NULL: no httpd is known */
    const ka_options *options;
    ka_report *report;
    const char *path;    /* absolute, no link */
    ka_keep keep;
    apr_pool_t *pool;
} writing;

/* Standard output, a pipe, a device: nothing is put in a place. */
static bool is_no_file(const char *path)
{
    struct stat info;

    return !path || !strcmp(path, "-") ||
           (!stat(path, &info) && !S_ISREG(info.st_mode));
}

/* Of a file that need not exist, in a directory that does. */
static const char *absolute(const char *path, apr_pool_t *pool)
{
    const char *slash = strrchr(path, '/');
    const char *directory =
        slash ? apr_pstrmemdup(pool, path, (size_t)(slash - path) + 1) : ".";
    char real[PATH_MAX];

    if (realpath(path, real)) {
        return apr_pstrdup(pool, real);
    }
    if (!realpath(directory, real)) {
        return path;
    }
    return apr_pstrcat(pool, strcmp(real, "/") ? real : "", "/",
                       slash ? slash + 1 : path, NULL);
}

/* ---- httpd's opinion --------------------------------------------------------
 */

/* The name of the file that was checked is gone by the time this is read. */
static const char *renamed(const char *text, const char *from, const char *to,
                           apr_pool_t *pool)
{
    const char *at, *out = "";

    while ((at = strstr(text, from)) != NULL) {
        out = apr_pstrcat(pool, out,
                          apr_pstrmemdup(pool, text, (size_t)(at - text)), to,
                          NULL);
        text = at + strlen(from);
    }
    return apr_pstrcat(pool, out, text, NULL);
}

static void say_unchecked(const writing *w)
{
    if (!w->host) {
        ka_say(w->pool,
               "not checked by httpd, since no server was looked at: check it "
               "with httpd -t once it is included, or name the server's main "
               "file with --httpd-config");
    }
    else {
        ka_say(w->pool, "not checked by httpd, which could not be asked from "
                        "here: check it as step 2 says");
    }
}

/* httpd refuses it: it is kept aside, and the reason said. */
static void reject(const writing *w, ka_result_file *file,
                   const char *complaint)
{
    const char *rejected = apr_pstrcat(w->pool, w->path, REJECTED, NULL);
    const char *checked = file->temporary, *before;
    bool broken = ka_httpd_test_include(&before, w->host->httpd, NULL,
                                        w->pool) == APR_EINVAL;

    if (ka_result_place(file, rejected) != KA_EXIT_DONE) {
        return;
    }
    ka_say(w->pool,
           "httpd refuses its configuration %s: %s\nThe new settings are in "
           "%s; %s %s",
           broken ? "as it is, before anything is added, so that nothing new "
                    "can be checked"
                  : "with the new settings included at the end",
           broken ? before : renamed(complaint, checked, rejected, w->pool),
           rejected, w->path,
           w->keep.name ? "stays as it was" : "is not written");
}

/* false: it may not take its place, which has been said. */
static bool accepted(const writing *w, ka_result_file *file)
{
    const char *complaint = NULL;
    apr_status_t rv = w->host ? ka_httpd_test_include(
                                    &complaint, w->host->httpd,
                                    file->temporary, w->pool)
                              : APR_ENOTIMPL;

    if (rv == APR_EINVAL) {
        reject(w, file, complaint);
        return false;
    }
    if (w->options->quiet) {
        return true;
    }
    if (rv) {
        say_unchecked(w);
    }
    else {
        ka_say(w->pool,
               "%s: httpd -t accepts the configuration with it included at "
               "the end",
               w->path);
    }
    return true;
}

/* ---- what is said -----------------------------------------------------------
 */

static void say_step(const writing *w, const char *lead, const ka_step *step)
{
    ka_say(w->pool, "%s%s%s%s", lead, step->text, step->command ? "\n    " : "",
           step->command ? step->command : "");
}

static void say_how(const writing *w)
{
    size_t i;

    for (i = 0; i < w->report->apply_n; i++) {
        say_step(w, apr_psprintf(w->pool, "%d. ", (int)i + 1),
                 &w->report->apply[i]);
    }
    if (w->report->apply_n) {
        say_step(w, "To go back: ", &w->report->go_back);
    }
    else {
        ka_say(w->pool, "how to apply it, and to go back, stands at its head");
    }
}

static void say_kept(const writing *w)
{
    if (w->keep.name) {
        ka_say(w->pool, "%s: what it held before is %s%s", w->path,
               w->keep.already ? "already in " : "kept as ", w->keep.name);
    }
}

/* ---- all of it --------------------------------------------------------------
 */

static int plan(writing *w)
{
    char reason[120];
    apr_status_t rv = ka_keep_plan(&w->keep, w->path, w->pool);

    if (rv) {
        ka_say(w->pool,
               "%s: what it holds cannot be kept as %s.bak: %s; it stays as it "
               "is",
               w->path, w->path, apr_strerror(rv, reason, sizeof(reason)));
        return KA_EXIT_FAILED;
    }
    if (w->host && !w->report->verdict.refused) {
        ka_apply_plan(w->report, w->host->httpd, &w->keep, w->pool);
    }
    return KA_EXIT_DONE;
}

/* The temporary file is whole: may it take its place, and what becomes of the
 * one that is there? */
static int put(const writing *w, ka_result_file *file)
{
    char reason[120];
    apr_status_t rv;

    if (w->keep.name && ka_keep_same_conf(w->path, file->temporary, w->pool)) {
        ka_result_drop(file);
        if (!w->options->quiet) {
            ka_say(w->pool, "%s has these settings already: it stays as it is, "
                            "and nothing is kept",
                   w->path);
        }
        return KA_EXIT_DONE;
    }
    if (!accepted(w, file)) {
        return KA_EXIT_FAILED;
    }
    rv = ka_keep_do(&w->keep, w->pool);
    if (rv) {
        ka_result_drop(file);
        ka_say(w->pool, "cannot keep %s as %s: %s; it stays as it is", w->path,
               w->keep.name, apr_strerror(rv, reason, sizeof(reason)));
        return KA_EXIT_FAILED;
    }
    if (ka_result_place(file, w->path) != KA_EXIT_DONE) {
        return KA_EXIT_FAILED;
    }
    if (!w->options->quiet) {
        say_kept(w);
        say_how(w);
    }
    return KA_EXIT_DONE;
}

int ka_conf_write(const ka_host *host, const ka_options *options,
                  ka_report *report, apr_pool_t *pool)
{
    const ka_render_options how = {.legacy_names = options->legacy_names};
    writing w = {.host = host && host->httpd ? host : NULL,
                 .options = options,
                 .report = report,
                 .pool = pool};
    ka_result_file file;
    int status;

    if (is_no_file(options->output_file)) {
        return ka_result_write(options, ka_render_conf, report, pool);
    }
    w.path = absolute(options->output_file, pool);
    if (plan(&w) != KA_EXIT_DONE || ka_result_open(&file, options, pool)) {
        return KA_EXIT_FAILED;
    }
    status = ka_result_finish(&file, ka_render_conf(file.stream, report, &how));
    return status == KA_EXIT_DONE ? put(&w, &file) : status;
}
