/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The files themselves: what kind they are, what they begin with, in which
 * order they are read.
 */
#include "log_files_priv.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <apr_strings.h>

/* ---- opening ----------------------------------------------------------- */

apr_status_t ka_logfile_open(ka_logfiles *self, const char **error,
                             ka_logfile *file)
{
    apr_status_t status;

    if (file->reader) {
        return APR_SUCCESS;
    }
    apr_pool_create(&file->pool, self->pool);
    status = ka_linereader_open(&file->reader, error, file->path, file->pool);
    if (status != APR_SUCCESS) {
        *error = apr_pstrdup(self->keep, *error);
        apr_pool_destroy(file->pool);
        file->reader = NULL;
        file->pool = NULL;
    }
    return status;
}

void ka_logfile_close(ka_logfile *file)
{
    apr_pool_destroy(file->pool);
    file->pool = NULL;
    file->reader = NULL;
}

void ka_logfile_damaged(ka_logfiles *self, ka_logfile *file,
                        const char *what)
{
    if (file->damaged) {
        return;
    }
    file->damaged = true;
    APR_ARRAY_PUSH(self->damaged, const char *) =
        apr_pstrdup(self->keep, what);
    self->info->damaged = (const char **)self->damaged->elts;
    self->info->damaged_n = (size_t)self->damaged->nelts;
}

/* Whether it is one of files[0..n) under another name. */
static bool is_known(const ka_logfiles *self, const ka_logfile *file)
{
    for (size_t i = 0; i < self->n; i++) {
        if (!self->files[i].stream && !file->stream
            && self->files[i].device == file->device
            && self->files[i].inode == file->inode) {
            return true;
        }
    }
    return false;
}

static apr_status_t add_file(ka_logfiles *self, const char **error,
                             const char *path)
{
    ka_logfile *file = &self->files[self->n];
    struct stat st;
    apr_status_t status;

    *file = (ka_logfile){.path = apr_pstrdup(self->keep, path),
                         .rank = self->n,
                         .stream = true,
                         .first_us = KA_NO_START,
                         .last_us = KA_NO_START,
                         .size = -1};
    if (strcmp(path, "-") && !stat(path, &st) && S_ISREG(st.st_mode)) {
        file->stream = false;
        file->size = (int64_t)st.st_size;
        file->device = st.st_dev;
        file->inode = st.st_ino;
    }
    if (is_known(self, file)) {
        return APR_SUCCESS;
    }
    status = ka_logfile_open(self, error, file);
    if (status == APR_SUCCESS) {
        self->n++;
        if (!file->stream) {
            ka_logfile_close(file);
        }
    }
    return status;
}

apr_status_t ka_logfiles_open(ka_logfiles **out, const char **error,
                              ka_source_info *info,
                              const ka_log_options *options,
                              const char *const *paths, size_t path_n,
                              apr_pool_t *pool, apr_pool_t *keep)
{
    ka_logfiles *self = apr_pcalloc(pool, sizeof(*self));
    apr_status_t status = APR_SUCCESS;

    self->pool = pool;
    self->keep = keep;
    self->info = info;
    self->options = options;
    self->files = apr_pcalloc(pool, (path_n + 1) * sizeof(ka_logfile));
    self->heap = apr_pcalloc(pool, (path_n + 1) * sizeof(ka_logfile *));
    self->damaged = apr_array_make(keep, 4, sizeof(const char *));
    for (size_t i = 0; i < path_n && status == APR_SUCCESS; i++) {
        status = add_file(self, error, paths[i]);
    }
    *out = self;
    return status;
}

/* ---- looking into the beginning ---------------------------------------- */

/* Keeps a stream's line, to be read again; returns the copy. */
static const ka_line *keep_line(ka_logfile *file, ka_line line)
{
    if (!file->peeked) {
        file->peeked = apr_array_make(file->pool, 64, sizeof(ka_line));
    }
    line.text = apr_pstrmemdup(file->pool, line.text, line.length);
    APR_ARRAY_PUSH(file->peeked, ka_line) = line;
    return &APR_ARRAY_IDX(file->peeked, file->peeked->nelts - 1, ka_line);
}

static void sample_file(ka_logfiles *self, ka_logfile *file,
                        apr_array_header_t *samples, size_t *bytes)
{
    apr_status_t status = APR_SUCCESS;
    ka_line line;

    while (samples->nelts < KA_LOG_PEEK_LINES && *bytes < KA_LOG_PEEK_BYTES
           && (status = ka_linereader_next(file->reader, &line))
                  == APR_SUCCESS) {
        ka_log_sample sample = {.file = file->path, .number = line.number};

        if (file->stream && (line.length || line.overlong)) {
            line = *keep_line(file, line);
        }
        if (line.length == 0) {
            continue;
        }
        sample.text = file->stream ? line.text
                                   : apr_pstrmemdup(self->pool, line.text,
                                                    line.length);
        sample.length = line.length;
        APR_ARRAY_PUSH(samples, ka_log_sample) = sample;
        *bytes += line.length;
    }
    if (status != APR_SUCCESS && status != APR_EOF) {
        ka_logfile_damaged(self, file, ka_linereader_error(file->reader));
    }
}

apr_status_t ka_logfiles_sample(ka_logfiles *self, const char **error,
                                const ka_log_sample **samples, size_t *n)
{
    apr_array_header_t *taken =
        apr_array_make(self->pool, 64, sizeof(ka_log_sample));
    size_t bytes = 0;

    for (size_t i = 0; i < self->n && taken->nelts < KA_LOG_PEEK_LINES
                       && bytes < KA_LOG_PEEK_BYTES;
         i++) {
        ka_logfile *file = &self->files[i];
        const apr_status_t status = ka_logfile_open(self, error, file);

        if (status != APR_SUCCESS) {
            return status;
        }
        sample_file(self, file, taken, &bytes);
        if (!file->stream) {
            ka_logfile_close(file);
        }
    }
    *samples = (const ka_log_sample *)taken->elts;
    *n = (size_t)taken->nelts;
    return APR_SUCCESS;
}

/* ---- order ------------------------------------------------------------- */

/* The first start within a file's beginning. */
static int64_t first_start(ka_lineparser *parser, ka_linereader *reader)
{
    ka_logline parsed;
    ka_line line;
    size_t lines = 0, bytes = 0;

    while (lines < KA_LOG_PEEK_LINES && bytes < KA_LOG_PEEK_BYTES
           && ka_linereader_next(reader, &line) == APR_SUCCESS) {
        if (ka_lineparser_parse(&parsed, NULL, parser, line.text, line.length)
                == APR_SUCCESS
            && parsed.begin_us >= 0) {
            return parsed.begin_us;
        }
        lines += line.length || line.overlong;
        bytes += line.overlong ? KA_LINE_MAX : line.length;
    }
    return KA_NO_START;
}

static int file_order(const void *a, const void *b)
{
    const ka_logfile *x = a, *y = b;

    if (x->first_us != y->first_us) {
        return x->first_us < y->first_us ? -1 : 1;
    }
    return x->rank < y->rank ? -1 : 1;
}

apr_status_t ka_logfiles_order(ka_logfiles *self, const char **error,
                               const ka_logformat *format)
{
    const char **names =
        apr_pcalloc(self->keep, (self->n + 1) * sizeof(*names));

    self->format = format;
    self->parser = ka_lineparser_make(format, self->pool);
    for (size_t i = 0; i < self->n; i++) {
        ka_logfile *file = &self->files[i];
        apr_status_t status;

        /* Streams come first: they stand open, whenever they begin. */
        if (file->stream) {
            continue;
        }
        if ((status = ka_logfile_open(self, error, file)) != APR_SUCCESS) {
            return status;
        }
        file->first_us = first_start(self->parser, file->reader);
        ka_logfile_close(file);
    }
    qsort(self->files, self->n, sizeof(ka_logfile), file_order);
    for (size_t i = 0; i < self->n; i++) {
        self->files[i].rank = i;
        names[i] = self->files[i].path;
    }
    self->info->files = names;
    self->info->file_n = self->n;
    return APR_SUCCESS;
}

void ka_logfiles_progress(ka_logfiles *self, int64_t taken)
{
    const ka_log_options *options = self->options;
    int64_t size = 0;

    if (!options->progress) {
        return;
    }
    for (size_t i = 0; i < self->n && size >= 0; i++) {
        size = self->files[i].size < 0 ? -1 : size + self->files[i].size;
    }
    options->progress(options->progress_context, taken, size,
                      self->info->lines);
}
