/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The merge: a heap of the open files by the start of their current lines,
 * and the rest of the files in order of their first starts.
 */
#include "log_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <apr_strings.h>
#include <apr_tables.h>

#include "linereader.h"
#include "log_skipped.h"

#define PROGRESS_LINES 65536
#define NO_START INT64_MIN /* no line of its beginning has one */

typedef struct logfile {
    const char *path;
    size_t rank;   /* in order of first starts; of names until then */
    bool stream;   /* can be read once only */
    bool damaged;  /* and info tells */
    apr_pool_t *pool; /* of the reader; NULL while closed */
    ka_linereader *reader;
    apr_array_header_t *peeked; /* ka_line of a stream, read before */
    int peeked_at;
    int64_t first_us;
    ka_logline current;
    int64_t last_us;
    int64_t size; /* -1: not known */
    dev_t device;
    ino_t inode;
} logfile;

struct ka_logfiles {
    apr_pool_t *pool, *keep;
    ka_source_info *info;
    const ka_log_options *options;
    const ka_logformat *format;
    logfile *files; /* files[n] */
    size_t n;
    size_t next;    /* files[next..] are not open yet */
    logfile **heap; /* heap[heap_n], the earliest line first */
    size_t heap_n;
    bool started;       /* heap[0]'s line has been handed out */
    int64_t taken_done; /* bytes of the files that are closed */
    apr_array_header_t *damaged;
};

/* ---- opening ----------------------------------------------------------- */

static apr_status_t open_reader(ka_logfiles *self, const char **error,
                                logfile *file)
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

static void close_reader(logfile *file)
{
    apr_pool_destroy(file->pool);
    file->pool = NULL;
    file->reader = NULL;
}

static void note_damage(ka_logfiles *self, logfile *file)
{
    if (file->damaged) {
        return;
    }
    file->damaged = true;
    APR_ARRAY_PUSH(self->damaged, const char *) =
        apr_pstrdup(self->keep, ka_linereader_error(file->reader));
    self->info->damaged = (const char **)self->damaged->elts;
    self->info->damaged_n = (size_t)self->damaged->nelts;
}

/* Whether it is one of files[0..n) under another name. */
static bool is_known(const ka_logfiles *self, const logfile *file)
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
    logfile *file = &self->files[self->n];
    struct stat st;
    apr_status_t status;

    *file = (logfile){.path = apr_pstrdup(self->keep, path),
                      .rank = self->n,
                      .stream = true,
                      .first_us = NO_START,
                      .last_us = NO_START,
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
    status = open_reader(self, error, file);
    if (status == APR_SUCCESS) {
        self->n++;
        if (!file->stream) {
            close_reader(file);
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
    self->files = apr_pcalloc(pool, (path_n + 1) * sizeof(logfile));
    self->heap = apr_pcalloc(pool, (path_n + 1) * sizeof(logfile *));
    self->damaged = apr_array_make(keep, 4, sizeof(const char *));
    for (size_t i = 0; i < path_n && status == APR_SUCCESS; i++) {
        status = add_file(self, error, paths[i]);
    }
    *out = self;
    return status;
}

/* ---- looking into the beginning ---------------------------------------- */

/* Keeps a stream's line, to be read again; returns the copy. */
static const ka_line *keep_line(logfile *file, ka_line line)
{
    if (!file->peeked) {
        file->peeked = apr_array_make(file->pool, 64, sizeof(ka_line));
    }
    line.text = apr_pstrmemdup(file->pool, line.text, line.length);
    APR_ARRAY_PUSH(file->peeked, ka_line) = line;
    return &APR_ARRAY_IDX(file->peeked, file->peeked->nelts - 1, ka_line);
}

static void sample_file(ka_logfiles *self, logfile *file,
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
        note_damage(self, file);
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
        logfile *file = &self->files[i];
        const apr_status_t status = open_reader(self, error, file);

        if (status != APR_SUCCESS) {
            return status;
        }
        sample_file(self, file, taken, &bytes);
        if (!file->stream) {
            close_reader(file);
        }
    }
    *samples = (const ka_log_sample *)taken->elts;
    *n = (size_t)taken->nelts;
    return APR_SUCCESS;
}

/* ---- lines ------------------------------------------------------------- */

/* The next line, peeked ones first. */
static apr_status_t next_line(logfile *file, ka_line *line)
{
    if (file->peeked && file->peeked_at < file->peeked->nelts) {
        *line = APR_ARRAY_IDX(file->peeked, file->peeked_at++, ka_line);
        return APR_SUCCESS;
    }
    return ka_linereader_next(file->reader, line);
}

static void report_progress(ka_logfiles *self)
{
    const ka_log_options *options = self->options;
    int64_t taken = self->taken_done, size = 0;

    if (!options->progress) {
        return;
    }
    for (size_t i = 0; i < self->heap_n; i++) {
        int64_t position, unused;

        ka_linereader_position(self->heap[i]->reader, &position, &unused);
        taken += position;
    }
    for (size_t i = 0; i < self->n && size >= 0; i++) {
        size = self->files[i].size < 0 ? -1 : size + self->files[i].size;
    }
    options->progress(options->progress_context, taken, size,
                      self->info->lines);
}

static void end_file(ka_logfiles *self, logfile *file, apr_status_t status)
{
    int64_t taken, size;

    if (status != APR_EOF) {
        note_damage(self, file);
    }
    ka_linereader_position(file->reader, &taken, &size);
    self->taken_done += taken;
    close_reader(file);
}

/* Whether the line is one to hand on; it is then file->current. */
static bool take_line(ka_logfiles *self, logfile *file, const ka_line *line)
{
    ka_source_info *info = self->info;
    ka_logline_error error = {.column = 1};

    info->lines++;
    if (line->overlong
        || ka_logline_parse(&file->current, &error, self->format, line->text,
                            line->length)
               != APR_SUCCESS) {
        ka_log_skip(info, file->path, line, &error, self->keep);
        return false;
    }
    if (file->current.begin_us < 0) {
        error = (ka_logline_error){.column = 1,
                                   .expected = "the start of a request"};
        ka_log_skip(info, file->path, line, &error, self->keep);
        return false;
    }
    info->parsed++;
    info->out_of_order += file->current.begin_us < file->last_us;
    file->last_us = file->current.begin_us;
    return true;
}

/* Moves to the file's next line that can be handed on; false at its end, the
 * file is then closed. */
static bool advance(ka_logfiles *self, logfile *file)
{
    ka_line line;
    apr_status_t status;

    while ((status = next_line(file, &line)) == APR_SUCCESS) {
        if (line.length == 0 && !line.overlong) {
            continue;
        }
        if ((self->info->lines + 1) % PROGRESS_LINES == 0) {
            report_progress(self);
        }
        if (take_line(self, file, &line)) {
            return true;
        }
    }
    end_file(self, file, status);
    return false;
}

/* ---- order ------------------------------------------------------------- */

/* The first start within a file's beginning. */
static int64_t first_start(const ka_logformat *format, ka_linereader *reader)
{
    ka_logline parsed;
    ka_line line;
    size_t lines = 0, bytes = 0;

    while (lines < KA_LOG_PEEK_LINES && bytes < KA_LOG_PEEK_BYTES
           && ka_linereader_next(reader, &line) == APR_SUCCESS) {
        if (ka_logline_parse(&parsed, NULL, format, line.text, line.length)
                == APR_SUCCESS
            && parsed.begin_us >= 0) {
            return parsed.begin_us;
        }
        lines += line.length || line.overlong;
        bytes += line.overlong ? KA_LINE_MAX : line.length;
    }
    return NO_START;
}

static int file_order(const void *a, const void *b)
{
    const logfile *x = a, *y = b;

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
    for (size_t i = 0; i < self->n; i++) {
        logfile *file = &self->files[i];
        apr_status_t status;

        /* Streams come first: they stand open, whenever they begin. */
        if (file->stream) {
            continue;
        }
        if ((status = open_reader(self, error, file)) != APR_SUCCESS) {
            return status;
        }
        file->first_us = first_start(format, file->reader);
        close_reader(file);
    }
    qsort(self->files, self->n, sizeof(logfile), file_order);
    for (size_t i = 0; i < self->n; i++) {
        self->files[i].rank = i;
        names[i] = self->files[i].path;
    }
    self->info->files = names;
    self->info->file_n = self->n;
    return APR_SUCCESS;
}

/* ---- merge ------------------------------------------------------------- */

static bool stands_before(const logfile *a, const logfile *b)
{
    return a->current.begin_us != b->current.begin_us
               ? a->current.begin_us < b->current.begin_us
               : a->rank < b->rank;
}

/* heap[0] may have grown. */
static void sift_down(ka_logfiles *self)
{
    logfile *file = self->heap[0];
    size_t at = 0, child;

    while ((child = 2 * at + 1) < self->heap_n) {
        if (child + 1 < self->heap_n
            && stands_before(self->heap[child + 1], self->heap[child])) {
            child++;
        }
        if (!stands_before(self->heap[child], file)) {
            break;
        }
        self->heap[at] = self->heap[child];
        at = child;
    }
    self->heap[at] = file;
}

static void push(ka_logfiles *self, logfile *file)
{
    size_t at = self->heap_n++;

    while (at && stands_before(file, self->heap[(at - 1) / 2])) {
        self->heap[at] = self->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    self->heap[at] = file;
}

/* Moves on from the line that was handed out. */
static void advance_first(ka_logfiles *self)
{
    logfile *file = self->heap[0];

    if (!advance(self, file)) {
        self->heap[0] = self->heap[--self->heap_n];
    }
    if (self->heap_n) {
        sift_down(self);
    }
}

apr_status_t ka_logfiles_next(ka_logfiles *self, const char **error,
                              const ka_logline **line)
{
    if (self->started) {
        advance_first(self);
    }
    self->started = false;
    while (self->next < self->n
           && (self->heap_n == 0
               || self->files[self->next].first_us
                      <= self->heap[0]->current.begin_us)) {
        logfile *file = &self->files[self->next++];
        const apr_status_t status = open_reader(self, error, file);

        if (status != APR_SUCCESS) {
            return status;
        }
        if (advance(self, file)) {
            push(self, file);
        }
    }
    if (self->heap_n == 0) {
        report_progress(self);
        return APR_EOF;
    }
    self->started = true;
    *line = &self->heap[0]->current;
    return APR_SUCCESS;
}
