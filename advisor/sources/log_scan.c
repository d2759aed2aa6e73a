/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * A batch that has a chunk with more hits than there is room for is handed on
 * in parts, so that order stays:
 *
 *     slots:  [parsed][parsed][stopped][parsed][parsed]
 *             \____ first part ______/                    parse it again ...
 *                             [stopped]                   ... as often as
 *                             [parsed ][parsed][parsed]   it takes
 */
#include "log_scan.h"

#include "log_classify.h"
#include "log_scan_chunk.h"
#include "log_scan_files.h"
#include "log_vhosts.h"

#define CHUNK_BYTES (256 * 1024) /* stays in a core's cache */
#define CHUNK_LEAST (32 * 1024)
#define CHUNKS_BYTES (16 * 1024 * 1024) /* of one chunk from each file */
#define BATCH_HITS 65536

typedef struct slot {
    ka_scan_file *file;
    ka_scan_chunk chunk;
} slot;

typedef struct scan {
    ka_logfiles *files;
    ka_source_info *info;
    ka_scan_files *choice;
    ka_crew *crew;
    ka_scan_limits limits;
    ka_scan_worker *workers[KA_CREW_MAX];
    ka_vhosts *vhosts;
    slot slots[KA_SCAN_SLOTS];
    size_t slot_n, at; /* slots[at..slot_n) are to be handed on */
    size_t wanted;     /* chunks of the next batch */
    uint64_t batch_hits;
    ka_hit_run runs[KA_HIT_PARTS][KA_SCAN_SLOTS];
    ka_hit_batch batch;
    ka_hit_fn *take;
    void *context;
    uint64_t progress_at; /* lines at which it is due */
} scan;

ka_scan_limits ka_scan_limits_for(size_t file_n)
{
    size_t chunk = CHUNKS_BYTES / (file_n + 1);

    if (chunk > CHUNK_BYTES) {
        chunk = CHUNK_BYTES;
    }
    return (ka_scan_limits){.chunk = chunk < CHUNK_LEAST ? CHUNK_LEAST : chunk,
                            .hits = KA_SCAN_HITS,
                            .slots = KA_SCAN_SLOTS,
                            .batch = BATCH_HITS};
}

/* ---- one chunk, in order ----------------------------------------------- */

static void count(ka_source_info *info, const ka_scan_chunk *chunk)
{
    const bool first = info->requests == 0;

    info->lines += chunk->lines;
    info->parsed += chunk->parsed_n;
    info->skipped += chunk->lines - chunk->parsed_n;
    info->overlong += chunk->overlong;
    info->cut += chunk->cut;
    info->out_of_order += chunk->out_of_order;
    info->requests += chunk->n;
    for (int kind = 0; kind < KA_EXCLUDED_N; kind++) {
        info->excluded[kind] += chunk->excluded[kind];
    }
    if (chunk->n && (first || chunk->hit_oldest_us < info->first_us)) {
        info->first_us = chunk->hit_oldest_us;
    }
    if (chunk->n && (first || chunk->hit_newest_us > info->last_us)) {
        info->last_us = chunk->hit_newest_us;
    }
}

/* Gives the vhosts of the chunk's hits their numbers in the whole log. */
static void number_vhosts(scan *self, ka_scan_chunk *chunk)
{
    uint16_t numbers[KA_SCAN_NAMES_MAX];
    const size_t n = chunk->names ? ka_scan_names_count(chunk->names) : 0;
    bool same = true;

    if (!chunk->names && chunk->asked) {
        ka_vhosts_number_trimmed(self->vhosts, (ka_str){"", 0});
    }
    for (size_t i = 0; i < n; i++) {
        numbers[i] = (uint16_t)ka_vhosts_number_trimmed(
            self->vhosts, ka_scan_names_get(chunk->names, i));
        same = same && numbers[i] == i;
    }
    for (size_t i = 0; i < chunk->n && !same; i++) {
        chunk->hits[i].vhost = numbers[chunk->hits[i].vhost];
    }
}

static void add_runs(scan *self, const ka_scan_chunk *chunk)
{
    ka_hit_batch *batch = &self->batch;

    for (size_t part = 0; part < KA_HIT_PARTS; part++) {
        if (chunk->runs[part].n) {
            self->runs[part][batch->run_n[part]++] = chunk->runs[part];
        }
    }
    batch->n += chunk->n;
    if (chunk->n && chunk->hit_newest_us > batch->newest_us) {
        batch->newest_us = chunk->hit_newest_us;
    }
}

static void add_lines(scan *self, slot *s)
{
    ka_scan_chunk *chunk = &s->chunk;
    ka_logfile *file = s->file->file;

    count(self->info, chunk);
    for (size_t i = 0; i < chunk->miss_n; i++) {
        chunk->misses[i].number += s->file->numbered;
        ka_log_miss_keep(self->info, file->path, &chunk->misses[i],
                         self->files->keep);
    }
    if (chunk->parsed_n) {
        self->info->out_of_order += chunk->first_us < file->last_us;
        file->last_us = chunk->last_us;
    }
    number_vhosts(self, chunk);
    /* Whoever takes hits may ask for the names at once. */
    self->info->vhosts =
        ka_vhosts_names(self->vhosts, &self->info->vhost_n);
    add_runs(self, chunk);
}

/* Of a file that cannot be read on, what comes behind that place does not
 * count. */
static apr_status_t add_chunk(scan *self, slot *s)
{
    ka_scan_chunk *chunk = &s->chunk;

    if (chunk->status == APR_ENOMEM) {
        return APR_ENOMEM;
    }
    if (!s->file->failed && chunk->status != APR_SUCCESS) {
        ka_scan_files_fail(self->choice, s->file, chunk->text.from,
                           chunk->status);
    }
    if (s->file->failed) {
        *chunk = (ka_scan_chunk){.text = chunk->text,
                                 .hits = chunk->hits,
                                 .room = chunk->room,
                                 .names = chunk->names};
    }
    else {
        add_lines(self, s);
    }
    ka_scan_files_settle(self->choice, s->file, &chunk->text,
                         chunk->parsed_n ? chunk->newest_us : KA_NO_START,
                         chunk->numbered, !chunk->stopped);
    return APR_SUCCESS;
}

/* ---- batches ----------------------------------------------------------- */

static void parse_slot(void *context, size_t item, size_t worker)
{
    scan *self = context;

    ka_scan_chunk_parse(&self->slots[self->at + item].chunk,
                        self->workers[worker]);
}

static void clear_batch(scan *self)
{
    const int64_t newest_us = self->batch.newest_us;

    self->batch = (ka_hit_batch){.newest_us = newest_us};
    for (size_t part = 0; part < KA_HIT_PARTS; part++) {
        self->batch.runs[part] = self->runs[part];
    }
}

static void hand_on(scan *self)
{
    self->batch.reached_us = ka_scan_files_reached(self->choice);
    self->take(self->context, &self->batch);
    self->batch_hits += self->batch.n;
    if (self->info->lines >= self->progress_at) {
        self->progress_at = self->info->lines + KA_PROGRESS_LINES;
        ka_logfiles_progress(self->files,
                             ka_scan_files_taken(self->choice));
    }
}

/* Hands on slots[at..] up to the first one that has stopped. */
static apr_status_t hand_on_slots(scan *self)
{
    apr_status_t status = APR_SUCCESS;

    clear_batch(self);
    while (self->at < self->slot_n && status == APR_SUCCESS) {
        slot *s = &self->slots[self->at];

        status = add_chunk(self, s);
        if (s->chunk.stopped) {
            break;
        }
        self->at++;
    }
    if (status == APR_SUCCESS) {
        hand_on(self);
    }
    return status;
}

static apr_status_t choose_chunks(scan *self, const char **error)
{
    apr_status_t status = APR_SUCCESS;

    self->at = self->slot_n = 0;
    ka_scan_files_batch(self->choice);
    while (self->slot_n < self->wanted && status == APR_SUCCESS) {
        slot *s = &self->slots[self->slot_n];

        status = ka_scan_files_next(self->choice, error, &s->file,
                                    &s->chunk.text);
        if (!s->file) {
            break;
        }
        self->slot_n++;
    }
    return status;
}

/* As many chunks as would have had the hits that a batch should have. */
static void settle_size(scan *self)
{
    const uint64_t target = self->limits.batch * self->slot_n;

    self->wanted = self->limits.slots;
    if (self->batch_hits && target / self->batch_hits < self->wanted) {
        self->wanted = (size_t)(target / self->batch_hits);
    }
    self->wanted += self->wanted == 0;
    self->batch_hits = 0;
}

static apr_status_t run_batch(scan *self)
{
    apr_status_t status = APR_SUCCESS;
    size_t parse = self->slot_n;

    while (self->at < self->slot_n && status == APR_SUCCESS) {
        ka_crew_run(self->crew, parse_slot, self, parse);
        status = hand_on_slots(self);
        parse = 1; /* the one that stopped */
    }
    settle_size(self);
    return status;
}

static apr_status_t run(scan *self, const char **error)
{
    apr_status_t status = APR_SUCCESS;

    while ((status = choose_chunks(self, error)) == APR_SUCCESS
           && self->slot_n) {
        if ((status = run_batch(self)) != APR_SUCCESS) {
            *error = "not enough memory to read this log";
            return status;
        }
    }
    if (status == APR_SUCCESS && self->batch.reached_us != INT64_MAX) {
        clear_batch(self);
        hand_on(self);
    }
    ka_logfiles_progress(self->files, ka_scan_files_taken(self->choice));
    return status;
}

apr_status_t ka_logfiles_scan(ka_logfiles *files, const char **error,
                              ka_crew *crew, const ka_scan_limits *limits,
                              ka_hit_fn *take, void *context)
{
    scan *self = apr_pcalloc(files->pool, sizeof(*self));
    apr_status_t status;

    *self = (scan){.files = files,
                   .info = files->info,
                   .crew = crew,
                   .limits = *limits,
                   .wanted = 1,
                   .batch.newest_us = KA_NO_START,
                   .take = take,
                   .context = context,
                   .progress_at = KA_PROGRESS_LINES};
    self->choice = ka_scan_files_make(files, limits->chunk, files->pool);
    self->vhosts = ka_vhosts_make(NULL, KA_VHOSTS_MAX, files->keep);
    for (size_t i = 0; i < ka_crew_size(crew); i++) {
        self->workers[i] =
            ka_scan_worker_make(files->format, files->options, limits->chunk,
                                limits->hits, files->pool);
    }
    status = run(self, error);
    ka_scan_files_close(self->choice);
    for (size_t i = 0; i < KA_SCAN_SLOTS; i++) {
        ka_scan_chunk_free(&self->slots[i].chunk);
    }
    files->info->vhosts = ka_vhosts_names(self->vhosts,
                                          &files->info->vhost_n);
    return status;
}
