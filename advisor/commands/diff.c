/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "diff.h"

#include <stdlib.h>
#include <string.h>
#include <apr_hash.h>
#include <apr_strings.h>

#include "../advice/confedit.h"
#include "../host/config_root.h"
#include "../render/udiff.h"
#include "output.h"
#include "say.h"

int ka_diff_usage(const ka_options *options, apr_pool_t *pool)
{
    if (options->output != KA_OUTPUT_TEXT) {
        ka_say(pool, "--diff is an output of its own: give it without "
                     "--output");
        return KA_EXIT_USAGE;
    }
    if (options->source_n && !options->httpd_config) {
        ka_say(pool, "--diff compares with a configuration: name its main "
                     "file with --httpd-config FILE, or give no SOURCE on the "
                     "server itself");
        return KA_EXIT_USAGE;
    }
    return KA_EXIT_DONE;
}

/* ---- files ------------------------------------------------------------------
 */

typedef struct reading {
    const char *root;
    apr_hash_t *texts;  /* of ka_conf_text *, by their real names */
    const char *failed; /* the first that could not be read, and why */
    apr_pool_t *pool;
} reading;

/* Without links: patch(1) refuses to write through one, and a file is edited
 * once under whatever names it is included. */
static apr_status_t real_name(const char **name, const reading *r,
                              const char *file)
{
    apr_status_t rv = ka_root_resolve(name, r->root, file, r->pool);
    char *real;

    if (rv || *r->root) {
        return rv;
    }
    real = realpath(*name, NULL);
    if (real) {
        *name = apr_pstrdup(r->pool, real);
    }
    free(real);
    return APR_SUCCESS;
}

static const ka_conf_text *read_text(void *context, const char *file)
{
    reading *r = context;
    ka_conf_text *text;
    const char *name;
    char reason[120];
    apr_status_t rv = real_name(&name, r, file);

    text = rv ? NULL : apr_hash_get(r->texts, name, APR_HASH_KEY_STRING);
    if (rv || text) {
        goto end;
    }
    text = apr_pcalloc(r->pool, sizeof(*text));
    text->name = name;
    rv = ka_root_read(&text->bytes, &text->length, "", name, r->pool);
    if (!rv) {
        apr_hash_set(r->texts, name, APR_HASH_KEY_STRING, text);
    }
end:
    if (rv && !r->failed) {
        r->failed = apr_psprintf(r->pool, "%s: %s", file,
                                 apr_strerror(rv, reason, sizeof(reason)));
    }
    return rv ? NULL : text;
}

/* ---- what is printed --------------------------------------------------------
 */

static const ka_edit *edit_at(const ka_confedit *edits, int i)
{
    return &APR_ARRAY_IDX(edits->edits, i, ka_edit);
}

/* Behind the last edit of the file that the edit at i is in. */
static int end_of_file(const ka_confedit *edits, int i)
{
    const ka_conf_text *text = edit_at(edits, i)->text;

    while (i < edits->edits->nelts && edit_at(edits, i)->text == text) {
        i++;
    }
    return i;
}

static int print(const ka_host *host, const ka_confedit *edits)
{
    ka_result_file file;
    apr_status_t rv = APR_SUCCESS;
    int from, to;

    if (ka_result_open(&file, &host->options, host->pool)) {
        return KA_EXIT_FAILED;
    }
    for (from = 0; from < edits->edits->nelts && !rv; from = to) {
        to = end_of_file(edits, from);
        rv = ka_udiff_print(file.stream, edit_at(edits, from),
                            (size_t)(to - from), ka_result_color(&file),
                            host->pool);
        if (rv == APR_EINVAL) {
            ka_say(host->pool, "%s: no diff can hold this name of a file",
                   edit_at(edits, from)->text->name);
        }
    }
    return ka_result_close(&file, rv);
}

static void say_how(const ka_host *host, const ka_report *report,
                    const ka_confedit *edits)
{
    int i;

    for (i = 0; i < edits->notes->nelts; i++) {
        ka_say(host->pool, "by hand: %s",
               APR_ARRAY_IDX(edits->notes, i, const char *));
    }
    if (host->options.quiet) {
        return;
    }
    if (!edits->edits->nelts) {
        ka_say(host->pool, "%s",
               report->verdict.refused ? "no advice, so nothing to change"
               : edits->notes->nelts
                   ? "nothing else is to change in the configuration"
                   : "the configuration has what is advised: nothing to "
                     "change");
        return;
    }
    ka_say(host->pool,
           "nothing is changed yet. To apply the diff, kept in a file D: "
           "`patch -d / -p0 <D`; then check (httpd -t) and %s. To go back: "
           "the same with `patch -R`",
           edits->restart ? "stop and start httpd: a reload does not change "
                              "ServerLimit, ThreadLimit and ListenBacklog"
                            : "reload httpd");
}

/* ---- all of it --------------------------------------------------------------
 */

/* The MPM that the files are for; -1, having been said: advice is for none, or
 * for another one. */
static int mpm_of(const ka_host *host, const ka_report *report)
{
    int mpm = host->httpd->server->mpm;

    if (mpm == KA_MPM_UNKNOWN && report->answer_n == 1) {
        return (int)report->answers[0].mpm;
    }
    if (mpm == KA_MPM_UNKNOWN) {
        ka_say(host->pool, "--diff: which MPM the configuration is for was "
                           "not found; name it with --mpm");
        return -1;
    }
    if (report->answer_n == 1 && (int)report->answers[0].mpm != mpm) {
        ka_say(host->pool,
               "--diff: advice is for %s, and the configuration loads %s; "
               "changing the MPM takes more than a diff: use --output conf",
               ka_mpm_name(report->answers[0].mpm), ka_mpm_name(mpm));
        return -1;
    }
    return mpm;
}

int ka_diff_write(const ka_host *host, const ka_report *report)
{
    const ka_httpd *httpd = host->httpd;
    reading files = {.root = httpd->files,
                     .texts = apr_hash_make(host->pool),
                     .pool = host->pool};
    ka_confedit_input input = {
        .tree = httpd->tree,
        .own = httpd->own,
        .server = httpd->server,
        .main_file = httpd->config_file,
        .advice = report->advice,
        .advice_n = report->verdict.refused ? 0 : report->advice_n,
        .read = read_text,
        .context = &files};
    int mpm = mpm_of(host, report), status;
    ka_confedit edits;

    if (mpm < 0) {
        return KA_EXIT_FAILED;
    }
    input.mpm = (ka_mpm)mpm;
    ka_confedit_make(&edits, &input, host->pool);
    if (files.failed) {
        ka_say(host->pool,
               "--diff needs the files of the configuration, which %s gave: %s",
               httpd->tree->by, files.failed);
        return KA_EXIT_FAILED;
    }
    status = print(host, &edits);
    if (status == KA_EXIT_DONE) {
        say_how(host, report, &edits);
    }
    return status;
}
