/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Whole logs scanned in batches, and compared with what reading them line by
 * line gives. */
#ifndef KA_TEST_SCANS_H
#define KA_TEST_SCANS_H

#include "logs.h"

#include "sources/log_scan.h"

/* A log of the combined format: a line every `step` seconds in [from, to),
 * each of which tells the log in its bytes. */
static inline const char *steady_log(tempdir *dir, const char *name, int from,
                                     int to, int step, int bytes,
                                     size_t *length)
{
    char *text = apr_palloc(dir->pool, (size_t)((to - from) / step + 1) * 130);
    size_t n = 0;

    for (int second = from; second < to; second += step) {
        const int time = 22 * 3600 + 13 * 60 + 20 + second;

        n += (size_t)sprintf(
            text + n, "198.51.100.%d - - [%02d/Nov/2023:%02d:%02d:%02d +0000] "
            "\"GET /%d HTTP/1.1\" 200 %d \"-\" \"Mozilla/5.0\"\n",
            second % 7, 14 + time / 86400, time / 3600 % 24, time / 60 % 60,
            time % 60, second, bytes);
    }
    *length = n;
    if (strstr(name, ".gz")) {
        return tempdir_packed(dir, name, "gzip", text, n);
    }
    return tempdir_bytes(dir, name, text, n);
}

typedef struct scanned_batch {
    size_t n, run_n[KA_HIT_PARTS];
    int64_t newest_us, reached_us;
} scanned_batch;

typedef struct scanned {
    apr_status_t status;
    const char *error;
    ka_source_info info;
    ka_hit *hits[KA_HIT_PARTS]; /* hits[part][n[part]], as they came */
    size_t n[KA_HIT_PARTS], room[KA_HIT_PARTS];
    scanned_batch *batches; /* batches[batch_n] */
    size_t batch_n, batch_room;
    void (*each)(struct scanned *self, const ka_hit_batch *batch);
    void *context; /* of each */
} scanned;

static inline void scanned_add(scanned *self, size_t part, ka_hit_run run)
{
    if (self->n[part] + run.n > self->room[part]) {
        self->room[part] = (self->n[part] + run.n) * 2;
        self->hits[part] = realloc(self->hits[part],
                                   self->room[part] * sizeof(ka_hit));
    }
    memcpy(self->hits[part] + self->n[part], run.hits,
           run.n * sizeof(ka_hit));
    self->n[part] += run.n;
}

static inline void scanned_take(void *context, const ka_hit_batch *batch)
{
    scanned *self = context;
    scanned_batch *seen;
    size_t n = 0;

    if (self->batch_n == self->batch_room) {
        self->batch_room = self->batch_room ? self->batch_room * 2 : 16;
        self->batches = realloc(self->batches,
                                self->batch_room * sizeof(*self->batches));
    }
    seen = &self->batches[self->batch_n++];
    *seen = (scanned_batch){.n = batch->n,
                            .newest_us = batch->newest_us,
                            .reached_us = batch->reached_us};
    for (size_t part = 0; part < KA_HIT_PARTS; part++) {
        seen->run_n[part] = batch->run_n[part];
        for (size_t i = 0; i < batch->run_n[part]; i++) {
            const ka_hit_run run = batch->runs[part][i];

            n += run.n;
            for (size_t k = 0; k < run.n; k++) {
                assert_int_equal(run.hits[k].address % KA_HIT_PARTS, part);
                assert_true(run.hits[k].begin_us <= batch->newest_us);
            }
            scanned_add(self, part, run);
        }
    }
    assert_int_equal(n, batch->n);
    if (self->each) {
        self->each(self, batch);
    }
}

/* Limits small enough for a small log to need many chunks and batches. */
static inline ka_scan_limits small_chunks(size_t chunk)
{
    return (ka_scan_limits){
        .chunk = chunk, .hits = 1000, .slots = 5, .batch = 50};
}

/* NULL limits: ka_log_scan. */
static inline void scan_into(scanned *out, tempdir *dir,
                             const ka_log_options *options,
                             const char *const *paths, size_t n,
                             size_t workers, const ka_scan_limits *limits)
{
    static const ka_log_options defaults;
    apr_pool_t *crew_pool;
    ka_crew *crew;
    ka_log *log;

    options = options ? options : &defaults;
    apr_pool_create(&crew_pool, dir->pool);
    ka_crew_make(&crew, workers, crew_pool);
    out->status = ka_log_open(&log, &out->info, &out->error, options, paths,
                              n, dir->pool);
    if (out->status == APR_SUCCESS) {
        out->status =
            limits ? ka_log_scan_within(log, &out->error, crew, limits,
                                        scanned_take, out)
                   : ka_log_scan(log, &out->error, crew, scanned_take, out);
    }
    apr_pool_destroy(crew_pool);
    assert_int_equal(out->info.lines, out->info.parsed + out->info.skipped);
    assert_int_equal(out->info.late, 0);
    for (size_t i = 1; i < out->batch_n; i++) {
        assert_true(out->batches[i].newest_us
                    >= out->batches[i - 1].newest_us);
        assert_true(out->batches[i].reached_us
                    >= out->batches[i - 1].reached_us);
    }
    if (out->batch_n
        && (out->status == APR_SUCCESS || out->status == APR_EOF)) {
        assert_true(out->batches[out->batch_n - 1].reached_us == INT64_MAX);
    }
}

static inline scanned scan_logs(tempdir *dir, const ka_log_options *options,
                                const char *const *paths, size_t n,
                                size_t workers, const ka_scan_limits *limits)
{
    scanned out = {.status = APR_SUCCESS};

    scan_into(&out, dir, options, paths, n, workers, limits);
    return out;
}

static inline void scan_free(scanned *self)
{
    for (size_t part = 0; part < KA_HIT_PARTS; part++) {
        free(self->hits[part]);
    }
    free(self->batches);
}

/* ---- comparison -------------------------------------------------------- */

static inline int order_of_hits(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(ka_hit));
}

/* No padding that memcmp could see; vhosts numbered as in `names`. */
static inline ka_hit plain_hit(const ka_hit *hit, const ka_source_info *info,
                               const ka_source_info *names)
{
    ka_hit out;

    memset(&out, 0, sizeof(out));
    out.begin_us = hit->begin_us;
    out.service_us = hit->service_us;
    out.bytes = hit->bytes;
    out.client = hit->client;
    out.address = hit->address;
    out.flags = hit->flags;
    out.limit_s = hit->limit_s;
    out.cls = hit->cls;
    assert_true(hit->vhost < info->vhost_n);
    while (strcmp(info->vhosts[hit->vhost], names->vhosts[out.vhost])) {
        out.vhost++;
        assert_true(out.vhost < names->vhost_n);
    }
    return out;
}

static inline ka_hit hit_of(const ka_request *r)
{
    return (ka_hit){.begin_us = r->begin_us,
                    .service_us = r->service_us,
                    .bytes = r->bytes,
                    .client = r->client,
                    .address = r->address,
                    .vhost = (uint16_t)r->vhost,
                    .flags = r->flags,
                    .limit_s = (uint16_t)(r->client_limit_us / 1000000),
                    .cls = r->cls};
}

static inline void assert_same_hits(const scanned *s, const outcome *wanted)
{
    const size_t n = wanted->taken.n;
    ka_hit *a = calloc(n + 1, sizeof(ka_hit));
    ka_hit *b = calloc(n + 1, sizeof(ka_hit));
    size_t k = 0;

    for (size_t part = 0; part < KA_HIT_PARTS; part++) {
        for (size_t i = 0; i < s->n[part]; i++) {
            assert_true(k < n);
            a[k++] = plain_hit(&s->hits[part][i], &s->info, &wanted->info);
        }
    }
    assert_int_equal(k, n);
    for (size_t i = 0; i < n; i++) {
        const ka_hit hit = hit_of(&wanted->taken.requests[i]);

        b[i] = plain_hit(&hit, &wanted->info, &wanted->info);
    }
    qsort(a, n, sizeof(ka_hit), order_of_hits);
    qsort(b, n, sizeof(ka_hit), order_of_hits);
    assert_memory_equal(a, b, n * sizeof(ka_hit) + 1);
    free(a);
    free(b);
}

static inline void assert_same_samples(const ka_source_info *a,
                                       const ka_source_info *b)
{
    assert_int_equal(a->sample_n, b->sample_n);
    for (size_t i = 0; i < a->sample_n; i++) {
        assert_string_equal(a->samples[i].file, b->samples[i].file);
        assert_int_equal(a->samples[i].line, b->samples[i].line);
        assert_int_equal(a->samples[i].column, b->samples[i].column);
        assert_string_equal(a->samples[i].reason, b->samples[i].reason);
    }
}

static inline void assert_same_counts(const ka_source_info *a,
                                      const ka_source_info *b)
{
    assert_int_equal(a->lines, b->lines);
    assert_int_equal(a->parsed, b->parsed);
    assert_int_equal(a->skipped, b->skipped);
    assert_int_equal(a->overlong, b->overlong);
    assert_int_equal(a->cut, b->cut);
    assert_int_equal(a->out_of_order, b->out_of_order);
    assert_int_equal(a->requests, b->requests);
    assert_memory_equal(a->excluded, b->excluded, sizeof(a->excluded));
    assert_int_equal(a->vhost_n, b->vhost_n);
    assert_int_equal(a->file_n, b->file_n);
    assert_int_equal(a->damaged_n, b->damaged_n);
    for (size_t i = 0; i < a->damaged_n; i++) {
        assert_string_equal(a->damaged[i], b->damaged[i]);
    }
}

/* The scan tells the same as reading line by line; logs of one file, of
 * which none is late. */
static inline void assert_same(const scanned *s, const outcome *wanted)
{
    assert_int_equal(s->status, wanted->status);
    assert_string_equal(s->error, wanted->error);
    assert_same_counts(&s->info, &wanted->info);
    assert_same_samples(&s->info, &wanted->info);
    assert_int_equal(s->info.first_us, wanted->info.first_us);
    assert_int_equal(s->info.last_us, wanted->info.last_us);
    for (size_t i = 0; i < wanted->info.vhost_n; i++) {
        assert_string_equal(s->info.vhosts[i], wanted->info.vhosts[i]);
    }
    assert_same_hits(s, wanted);
}

/* Same batches, hit by hit. */
static inline void assert_same_batches(const scanned *a, const scanned *b)
{
    assert_int_equal(a->batch_n, b->batch_n);
    for (size_t i = 0; i < a->batch_n; i++) {
        assert_int_equal(a->batches[i].n, b->batches[i].n);
        assert_int_equal(a->batches[i].newest_us, b->batches[i].newest_us);
        assert_int_equal(a->batches[i].reached_us, b->batches[i].reached_us);
        assert_memory_equal(a->batches[i].run_n, b->batches[i].run_n,
                            sizeof(a->batches[i].run_n));
    }
    for (size_t part = 0; part < KA_HIT_PARTS; part++) {
        assert_int_equal(a->n[part], b->n[part]);
        for (size_t i = 0; i < a->n[part]; i++) {
            const ka_hit x = plain_hit(&a->hits[part][i], &a->info, &a->info);
            const ka_hit y = plain_hit(&b->hits[part][i], &b->info, &b->info);

            assert_memory_equal(&x, &y, sizeof(x));
        }
    }
}

#endif
