/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Hits are first written one after another, then moved to their parts: two
 * passes over what lies in the cache are cheaper than a place to write and
 * room to check for each of the parts.
 */
#include "log_scan_chunk.h"

#include <stdlib.h>
#include <string.h>

#include "log_classify.h"

struct ka_scan_worker {
    ka_lineparser *parser;
    ka_classifier *classifier;
    bool has_vhosts;
    size_t limit;   /* hits of a chunk */
    ka_hit *hits;   /* hits[limit], in order of lines */
    uint32_t part_n[KA_HIT_PARTS];
    char *buffer;   /* of the text of a plain file */
    ka_logline line;
};

ka_scan_worker *ka_scan_worker_make(const ka_logformat *format,
                                    const ka_log_options *options,
                                    size_t chunk, size_t hits,
                                    apr_pool_t *parent)
{
    const uint64_t fields = ka_logformat_fields(format);
    ka_scan_worker *self;
    apr_pool_t *pool;

    /* A classifier takes memory as it goes, and pools are for one thread. */
    apr_pool_create(&pool, parent);
    self = apr_pcalloc(pool, sizeof(*self));

    self->parser = ka_lineparser_make(format, pool);
    self->classifier =
        ka_classifier_make(fields, options->vhost, options->since_us,
                           options->until_us, pool);
    self->has_vhosts = fields & KA_LF_BIT(KA_LF_VHOST);
    self->limit = hits;
    self->hits = apr_palloc(pool, hits * sizeof(*self->hits));
    self->buffer = apr_palloc(pool, chunk + 1 + KA_TEXTCHUNK_TAIL);
    return self;
}

/* ---- lines ------------------------------------------------------------- */

static void note_miss(ka_scan_chunk *chunk, const ka_line *line,
                      const ka_logline_error *error)
{
    chunk->lines++;
    chunk->overlong += line->overlong;
    chunk->cut += line->cut && !line->overlong;
    if (chunk->miss_n < KA_SKIPPED_SAMPLES) {
        ka_log_miss_note(&chunk->misses[chunk->miss_n++], line, error);
    }
}

static void note_start(ka_scan_chunk *chunk, int64_t begin_us)
{
    if (chunk->parsed_n++ == 0) {
        chunk->first_us = chunk->last_us = chunk->newest_us = begin_us;
    }
    chunk->lines++;
    chunk->out_of_order += begin_us < chunk->last_us;
    chunk->last_us = begin_us;
    if (begin_us > chunk->newest_us) {
        chunk->newest_us = begin_us;
    }
}

static void note_hit(ka_scan_chunk *chunk, ka_scan_worker *worker,
                     const ka_hit *hit)
{
    if (chunk->n++ == 0) {
        chunk->hit_oldest_us = chunk->hit_newest_us = hit->begin_us;
    }
    if (hit->begin_us < chunk->hit_oldest_us) {
        chunk->hit_oldest_us = hit->begin_us;
    }
    if (hit->begin_us > chunk->hit_newest_us) {
        chunk->hit_newest_us = hit->begin_us;
    }
    worker->part_n[hit->address % KA_HIT_PARTS]++;
}

/* Sets the hit's vhost to the number of its name in the chunk. */
static bool number_vhost(ka_scan_chunk *chunk, ka_scan_worker *worker,
                         ka_hit *hit)
{
    size_t number;

    chunk->asked = true;
    hit->vhost = 0;
    if (!worker->has_vhosts) {
        return true;
    }
    number = ka_scan_names_number(chunk->names, worker->line.vhost);
    hit->vhost = (uint16_t)number;
    if (number == KA_SCAN_NAMES_MAX
        && ka_scan_names_count(chunk->names) < KA_SCAN_NAMES_MAX) {
        chunk->status = APR_ENOMEM;
    }
    return number < KA_SCAN_NAMES_MAX;
}

/* False: there is no room for what the line has; nothing is counted. */
static bool take_line(ka_scan_chunk *chunk, ka_scan_worker *worker,
                      const ka_line *line)
{
    ka_hit *hit = &worker->hits[chunk->n];
    ka_logline_error error;
    ka_excluded why = KA_EXCLUDED_N;
    bool kept;

    if (!ka_log_take(&worker->line, &error, worker->parser, line)) {
        note_miss(chunk, line, &error);
        return true;
    }
    kept = ka_classify_hit(worker->classifier, hit, NULL, &why,
                           &worker->line);
    /* As the classifier does, names are numbered before the server's own
     * traffic is told from others'. */
    if ((kept || (why != KA_EXCLUDED_TIME && why != KA_EXCLUDED_VHOST))
        && !number_vhost(chunk, worker, hit)) {
        return false;
    }
    note_start(chunk, worker->line.begin_us);
    if (kept) {
        note_hit(chunk, worker, hit);
    }
    else {
        chunk->excluded[why]++;
    }
    return true;
}

/* False: stop before this line. */
static bool use_line(ka_scan_chunk *chunk, ka_scan_worker *worker,
                     ka_line *line)
{
    if (chunk->n == worker->limit) {
        return false;
    }
    line->number = chunk->numbered + 1;
    if ((line->length || line->overlong) && !take_line(chunk, worker, line)) {
        return false;
    }
    chunk->numbered++;
    return true;
}

static void use_text(ka_scan_chunk *chunk, ka_scan_worker *worker)
{
    ka_text text;
    size_t at = 0;

    chunk->status = ka_textchunk_load(&text, &chunk->text, worker->buffer);
    if (chunk->status != APR_SUCCESS) {
        return;
    }
    while (at < text.stop) {
        const size_t start = at;
        ka_line line;

        ka_text_line(&text, &at, &line);
        if (!use_line(chunk, worker, &line)) {
            chunk->stopped = true;
            ka_textchunk_advance(&chunk->text, &text, start);
            return;
        }
    }
}

static void use_lines(ka_scan_chunk *chunk, ka_scan_worker *worker)
{
    ka_textchunk *text = &chunk->text;

    for (; text->line_n; text->lines++, text->line_n--) {
        ka_line line = *text->lines;
        const uint64_t number = line.number;

        /* They carry their numbers: empty lines are not among them. */
        chunk->numbered = number - text->lines_before - 1;
        if (!use_line(chunk, worker, &line)) {
            chunk->stopped = true;
            text->lines_before += chunk->numbered;
            return;
        }
    }
}

/* ---- parts ------------------------------------------------------------- */

static bool make_room(ka_scan_chunk *chunk)
{
    size_t room = chunk->room ? chunk->room : 256;

    if (chunk->n <= chunk->room) {
        return true;
    }
    while (room < chunk->n) {
        room *= 2;
    }
    free(chunk->hits);
    chunk->hits = malloc(room * sizeof(*chunk->hits));
    chunk->room = chunk->hits ? room : 0;
    return chunk->hits != NULL;
}

static void sort_by_part(ka_scan_chunk *chunk, ka_scan_worker *worker)
{
    ka_hit *to[KA_HIT_PARTS], *next = chunk->hits;

    if (chunk->n == 0) {
        return; /* there may be no room yet */
    }
    for (size_t part = 0; part < KA_HIT_PARTS; part++) {
        to[part] = next;
        chunk->runs[part] = (ka_hit_run){next, worker->part_n[part]};
        next += worker->part_n[part];
    }
    for (size_t i = 0; i < chunk->n; i++) {
        *to[worker->hits[i].address % KA_HIT_PARTS]++ = worker->hits[i];
    }
}

/* ---- chunks ------------------------------------------------------------ */

/* All that came of it before, but for its memory. */
static void clear(ka_scan_chunk *chunk, bool has_vhosts)
{
    *chunk = (ka_scan_chunk){.text = chunk->text,
                             .hits = chunk->hits,
                             .room = chunk->room,
                             .names = chunk->names};
    if (has_vhosts && !chunk->names) {
        chunk->names = ka_scan_names_make();
    }
    if (chunk->names) {
        ka_scan_names_clear(chunk->names);
    }
    if (has_vhosts && !chunk->names) {
        chunk->status = APR_ENOMEM;
    }
}

void ka_scan_chunk_parse(ka_scan_chunk *chunk, ka_scan_worker *worker)
{
    clear(chunk, worker->has_vhosts);
    memset(worker->part_n, 0, sizeof(worker->part_n));
    if (chunk->status == APR_SUCCESS) {
        if (chunk->text.lines) {
            use_lines(chunk, worker);
        }
        else {
            use_text(chunk, worker);
        }
    }
    if (chunk->status == APR_SUCCESS && !make_room(chunk)) {
        chunk->status = APR_ENOMEM;
    }
    if (chunk->status == APR_SUCCESS) {
        sort_by_part(chunk, worker);
    }
}

void ka_scan_chunk_free(ka_scan_chunk *chunk)
{
    free(chunk->hits);
    ka_scan_names_free(chunk->names);
}
