/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Arbitrary bytes through the whole log source: decompression, lines,
 * detection, LogFormat, classification, order.
 *
 * The first byte chooses a preset or the detection, the second one into how
 * small pieces a scan cuts the file; the rest is the file.  Checked beyond
 * crashes: starts ascend, the counters add up, what is printed of a skipped
 * line is printable, and a scan tells the same as reading.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <apr_general.h>
#include <apr_strings.h>

#include "sources/log.h"
#include "sources/log_scan.h"
#include "sources/logformat.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef struct seen {
    int64_t last_us;
    uint64_t n;
} seen;

static void check(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "broken: %s\n", what);
        abort();
    }
}

static void take(void *context, const ka_request *request)
{
    seen *self = context;

    check(request->begin_us >= self->last_us, "starts ascend");
    check(request->client && request->address, "identities are told");
    check(request->cls < KA_CLASS_N, "class");
    self->last_us = request->begin_us;
    self->n++;
}

static void check_printable(const char *text)
{
    for (; *text; text++) {
        check((*text >= 0x20 && *text < 0x7f) || *text == '\n',
              "messages are printable");
    }
}

/* NULL, for detection, or a preset's name. */
static const char *format_of(uint8_t choice)
{
    const ka_logformat_preset *presets = ka_logformat_presets();

    for (size_t i = 0; presets[i].name; i++) {
        if (choice % 16 == i) {
            return presets[i].name;
        }
    }
    return NULL;
}

static void take_batch(void *context, const ka_hit_batch *batch)
{
    seen *self = context;

    for (size_t part = 0; part < KA_HIT_PARTS; part++) {
        for (size_t i = 0; i < batch->run_n[part]; i++) {
            self->n += batch->runs[part][i].n;
        }
    }
    check(batch->reached_us >= self->last_us, "files move on");
    self->last_us = batch->reached_us;
}

static void check_same(const ka_source_info *a, const ka_source_info *b)
{
    check(a->lines == b->lines && a->parsed == b->parsed, "same lines");
    check(a->overlong == b->overlong && a->cut == b->cut, "same ends");
    check(a->requests == b->requests, "same requests");
    check(a->out_of_order == b->out_of_order, "same order");
    check(!memcmp(a->excluded, b->excluded, sizeof(a->excluded)),
          "same excluded");
    check(a->sample_n == b->sample_n, "as many samples");
    for (size_t i = 0; i < a->sample_n; i++) {
        check(a->samples[i].line == b->samples[i].line
                  && !strcmp(a->samples[i].reason, b->samples[i].reason),
              "same samples");
    }
    check(a->vhost_n == b->vhost_n, "as many vhosts");
    for (size_t i = 0; i < a->vhost_n; i++) {
        check(!strcmp(a->vhosts[i], b->vhosts[i]), "same vhosts");
    }
    check(a->damaged_n == b->damaged_n, "same damage");
}

static void scan_file(const ka_source_info *wanted, apr_status_t status,
                      const char *wanted_error,
                      const ka_log_options *options, const char *path,
                      size_t chunk, apr_pool_t *pool)
{
    const ka_scan_limits limits = {
        .chunk = chunk, .hits = 1 + chunk % 5, .slots = 4, .batch = 10};
    seen hits = {.last_us = INT64_MIN};
    ka_source_info info;
    const char *error;
    ka_crew *crew;
    ka_log *log;
    apr_status_t rv;

    ka_crew_make(&crew, 1, pool);
    rv = ka_log_open(&log, &info, &error, options, &path, 1, pool);
    if (rv == APR_SUCCESS) {
        rv = ka_log_scan_within(log, &error, crew, &limits, take_batch,
                                &hits);
    }
    if (rv != status || (rv && strcmp(error, wanted_error))) {
        fprintf(stderr, "%d: %s\n%d: %s\n", status, wanted_error, rv,
                rv ? error : "");
        check(0, "same verdict");
    }
    check(hits.n == info.requests, "hits");
    check_same(&info, wanted);
}

static void read_file(const char *path, uint8_t choice, size_t chunk,
                      apr_pool_t *pool)
{
    const ka_log_options options = {.log_format = format_of(choice),
                                    .vhost = choice & 128 ? "a.example"
                                                          : NULL};
    ka_source_info info;
    const char *error;
    seen requests = {.last_us = 0};
    apr_status_t status = ka_log_read(&info, &error, &options, &path, 1, take,
                                      &requests, pool);
    uint64_t kept = info.parsed;

    check(info.lines == info.parsed + info.skipped, "lines add up");
    check(info.sample_n <= KA_SKIPPED_SAMPLES, "samples");
    for (int kind = 0; kind < KA_EXCLUDED_N; kind++) {
        kept -= info.excluded[kind];
    }
    check(info.requests == requests.n && kept == requests.n, "requests");
    check(info.late < info.requests || !info.late, "one is never late");
    check(status == APR_SUCCESS || *error, "a failure is explained");
    check_printable(error);
    for (size_t i = 0; i < info.sample_n; i++) {
        check_printable(info.samples[i].reason);
    }
    for (size_t i = 0; i < info.vhost_n; i++) {
        check_printable(info.vhosts[i]);
    }
    scan_file(&info, status, error, &options, path, chunk, pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int started;
    char path[] = "/tmp/ka-fuzz-log-XXXXXX";
    apr_pool_t *pool;
    int fd;

    if (!started) {
        apr_initialize();
        started = 1;
    }
    if (size < 2 || (fd = mkstemp(path)) < 0) {
        return 0;
    }
    if (write(fd, data + 2, size - 2) == (ssize_t)(size - 2)
        && apr_pool_create(&pool, NULL) == APR_SUCCESS) {
        read_file(path, data[0], 1 + (size_t)data[1] * 3, pool);
        apr_pool_destroy(pool);
    }
    close(fd);
    unlink(path);
    return 0;
}
