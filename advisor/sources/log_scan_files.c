/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A file whose pace is not known gets one chunk, and the batch ends: one look
 * tells.  The file behind those in use is opened ahead, so that its decoder,
 * if it needs one, starts early.
 */
#include "log_scan_files.h"

#include <apr_strings.h>

/* Decoders of their own thread; files beyond them are decoded as they are
 * asked for. */
#define DECODERS 16

/* Chunks that decoders may hold: for one or two (a file and the one that
 * follows it), and in all for more of them. */
#define DEPTH_FEW 32
#define DEPTH_ALL 32
#define DEPTH_LEAST 4

/* Files that have been chosen to their end, and stay open until that is
 * parsed: so many end a batch, since descriptors may be few. */
#define ENDING_MOST 12

ka_scan_files *ka_scan_files_make(ka_logfiles *files, size_t chunk,
                                  apr_pool_t *pool)
{
    ka_scan_files *self = apr_pcalloc(pool, sizeof(*self));

    self->files = files;
    self->buffers = ka_textbuffers_make(chunk, pool);
    self->n = files->n;
    self->all = apr_pcalloc(pool, (self->n + 1) * sizeof(*self->all));
    for (size_t i = 0; i < self->n; i++) {
        self->all[i] = (ka_scan_file){.file = &files->files[i],
                                      .at_us = files->files[i].first_us,
                                      .pace_us = -1};
    }
    return self;
}

/* ---- opening and closing ----------------------------------------------- */

static size_t decoder_depth(const ka_scan_files *self)
{
    size_t n = 1;

    for (size_t i = self->first; i < self->opened; i++) {
        n += self->all[i].chunks
             && ka_linereader_plain_fd(self->all[i].file->reader) < 0;
    }
    if (n > DECODERS) {
        return 0;
    }
    if (n <= 2) {
        return DEPTH_FEW;
    }
    return DEPTH_ALL / n > DEPTH_LEAST ? DEPTH_ALL / n : DEPTH_LEAST;
}

static apr_status_t open_next(ka_scan_files *self, const char **error)
{
    ka_scan_file *next = &self->all[self->opened];
    ka_logfile *file = next->file;
    const apr_array_header_t *peeked = file->peeked;
    const apr_status_t status = ka_logfile_open(self->files, error, file);

    if (status != APR_SUCCESS) {
        return status;
    }
    next->chunks = ka_textchunks_open(
        file->reader, peeked ? (const ka_line *)peeked->elts : NULL,
        peeked ? (size_t)peeked->nelts : 0, self->buffers,
        decoder_depth(self), file->pool);
    self->opened++;
    return APR_SUCCESS;
}

/* Opens one file more than has been read from. */
static apr_status_t open_ahead(ka_scan_files *self, const char **error)
{
    const ka_scan_file *last = &self->all[self->opened ? self->opened - 1 : 0];

    if (self->opened == self->n
        || (last->chunks && last->picked == 0 && last->taken == 0)) {
        return APR_SUCCESS;
    }
    return open_next(self, error);
}

/* Closes a file once it is done with. */
static void end_file(ka_scan_files *self, ka_scan_file *file)
{
    apr_status_t status;
    int64_t taken;

    if (!file->chunks || !file->exhausted || file->pending) {
        return;
    }
    status = ka_textchunks_close(file->chunks, &taken);
    if (status != APR_SUCCESS && status != APR_EOF) {
        ka_logfile_damaged(self->files, file->file,
                           ka_linereader_error(file->file->reader));
    }
    self->files->taken_done += taken;
    file->chunks = NULL;
    file->taken = 0;
    ka_logfile_close(file->file);
    while (self->first < self->opened && !self->all[self->first].chunks) {
        self->first++;
    }
}

void ka_scan_files_close(ka_scan_files *self)
{
    for (size_t i = self->first; i < self->opened; i++) {
        if (self->all[i].chunks) {
            self->all[i].exhausted = true;
            self->all[i].pending = 0;
            end_file(self, &self->all[i]);
        }
    }
}

/* ---- choice ------------------------------------------------------------ */

static ka_scan_file *furthest_behind(ka_scan_files *self)
{
    ka_scan_file *found = NULL;

    /* Of those not opened, the first one begins first. */
    for (size_t i = self->first; i < self->n && i <= self->opened; i++) {
        ka_scan_file *file = &self->all[i];

        if (!file->exhausted
            && (!found || file->planned_us < found->planned_us)) {
            found = file;
        }
    }
    return found;
}

static size_t ending(const ka_scan_files *self)
{
    size_t n = 0;

    for (size_t i = self->first; i < self->opened; i++) {
        n += self->all[i].chunks && self->all[i].exhausted;
    }
    return n;
}

static int64_t move_on(int64_t at_us, int64_t by_us)
{
    return at_us > INT64_MAX - by_us ? INT64_MAX : at_us + by_us;
}

apr_status_t ka_scan_files_next(ka_scan_files *self, const char **error,
                                ka_scan_file **out, ka_textchunk *chunk)
{
    ka_scan_file *file;

    *out = NULL;
    if (ending(self) >= ENDING_MOST) {
        return APR_SUCCESS;
    }
    while ((file = furthest_behind(self))) {
        apr_status_t status = APR_SUCCESS;

        if (file == &self->all[self->opened]) {
            status = open_next(self, error);
        }
        if (status != APR_SUCCESS) {
            return status;
        }
        if (file->picked == ka_textchunks_limit(file->chunks)
            || (file->picked && file->pace_us < 0)) {
            return APR_SUCCESS;
        }
        status = ka_textchunks_next(file->chunks, chunk);
        if (status == APR_SUCCESS) {
            file->picked++;
            file->pending++;
            file->exhausted = chunk->last;
            if (file->pace_us > 0) {
                file->planned_us = move_on(file->planned_us, file->pace_us);
            }
            *out = file;
            return open_ahead(self, error);
        }
        file->exhausted = true;
        end_file(self, file);
    }
    return APR_SUCCESS;
}

/* ---- progress ---------------------------------------------------------- */

void ka_scan_files_batch(ka_scan_files *self)
{
    for (size_t i = self->first; i < self->n && i <= self->opened; i++) {
        ka_scan_file *file = &self->all[i];

        if (file->picked && file->before_us != KA_NO_START) {
            file->pace_us = (file->at_us - file->before_us)
                            / (int64_t)file->picked;
        }
    }
    for (size_t i = self->first; i < self->n; i++) {
        ka_scan_file *file = &self->all[i];

        file->before_us = file->planned_us = file->at_us;
        file->picked = 0;
    }
}

void ka_scan_files_settle(ka_scan_files *self, ka_scan_file *file,
                          ka_textchunk *chunk, int64_t newest_us,
                          uint64_t lines, bool whole)
{
    file->numbered += lines;
    if (newest_us > file->at_us) {
        file->at_us = newest_us;
    }
    if (!whole) {
        return;
    }
    if (chunk->taken > file->taken) {
        file->taken = chunk->taken;
    }
    file->pending--;
    if (file->chunks) {
        ka_textchunks_done(file->chunks, chunk);
    }
    end_file(self, file);
}

void ka_scan_files_fail(ka_scan_files *self, ka_scan_file *file, int64_t from,
                        apr_status_t status)
{
    char reason[120];

    apr_strerror(status, reason, sizeof(reason));
    ka_logfile_damaged(
        self->files, file->file,
        apr_psprintf(file->file->pool,
                     "%s: cannot be read from byte %" APR_INT64_T_FMT
                     " on (%s); what came before was read; copy the file "
                     "again to have the rest",
                     file->file->path, (apr_int64_t)from + 1, reason));
    file->exhausted = file->failed = true;
}

int64_t ka_scan_files_reached(const ka_scan_files *self)
{
    int64_t reached_us = INT64_MAX;

    for (size_t i = self->first; i < self->n && i <= self->opened; i++) {
        const ka_scan_file *file = &self->all[i];

        if ((!file->exhausted || file->pending)
            && file->at_us < reached_us) {
            reached_us = file->at_us;
        }
    }
    return reached_us;
}

int64_t ka_scan_files_taken(const ka_scan_files *self)
{
    int64_t taken = self->files->taken_done;

    for (size_t i = self->first; i < self->opened; i++) {
        taken += self->all[i].taken;
    }
    return taken;
}
