/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The merge: a heap of the open files by the start of their current lines,
 * and the rest of the files in order of their first starts.
 */
#include "log_files_priv.h"

#include "log_skipped.h"

/* ---- lines ------------------------------------------------------------- */

/* The next line, peeked ones first. */
static apr_status_t next_line(ka_logfile *file, ka_line *line)
{
    if (file->peeked && file->peeked_at < file->peeked->nelts) {
        *line = APR_ARRAY_IDX(file->peeked, file->peeked_at++, ka_line);
        return APR_SUCCESS;
    }
    return ka_linereader_next(file->reader, line);
}

static void report_progress(ka_logfiles *self)
{
    int64_t taken = self->taken_done;

    for (size_t i = 0; i < self->heap_n; i++) {
        int64_t position, unused;

        ka_linereader_position(self->heap[i]->reader, &position, &unused);
        taken += position;
    }
    ka_logfiles_progress(self, taken);
}

static void end_file(ka_logfiles *self, ka_logfile *file, apr_status_t status)
{
    int64_t taken, size;

    if (status != APR_EOF) {
        ka_logfile_damaged(self, file, ka_linereader_error(file->reader));
    }
    ka_linereader_position(file->reader, &taken, &size);
    self->taken_done += taken;
    ka_logfile_close(file);
}

/* Whether the line is one to hand on; it is then file->current. */
static bool take_line(ka_logfiles *self, ka_logfile *file, const ka_line *line)
{
    ka_source_info *info = self->info;
    ka_logline_error error;

    info->lines++;
    if (!ka_log_take(&file->current, &error, self->parser, line)) {
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
static bool advance(ka_logfiles *self, ka_logfile *file)
{
    ka_line line;
    apr_status_t status;

    while ((status = next_line(file, &line)) == APR_SUCCESS) {
        if (line.length == 0 && !line.overlong) {
            continue;
        }
        if ((self->info->lines + 1) % KA_PROGRESS_LINES == 0) {
            report_progress(self);
        }
        if (take_line(self, file, &line)) {
            return true;
        }
    }
    end_file(self, file, status);
    return false;
}

/* ---- merge ------------------------------------------------------------- */

static bool stands_before(const ka_logfile *a, const ka_logfile *b)
{
    return a->current.begin_us != b->current.begin_us
               ? a->current.begin_us < b->current.begin_us
               : a->rank < b->rank;
}

/* heap[0] may have grown. */
static void sift_down(ka_logfiles *self)
{
    ka_logfile *file = self->heap[0];
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

static void push(ka_logfiles *self, ka_logfile *file)
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
    ka_logfile *file = self->heap[0];

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
        ka_logfile *file = &self->files[self->next++];
        const apr_status_t status = ka_logfile_open(self, error, file);

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
