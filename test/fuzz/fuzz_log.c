/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Arbitrary bytes through the whole log source: decompression, lines,
 * detection, LogFormat, classification, order.
 *
 * The first byte chooses a preset or the detection; the rest is the file.
 * Checked beyond crashes: starts ascend, the counters add up, and what is
 * printed of a skipped line is printable.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <apr_general.h>
#include <apr_strings.h>

#include "sources/log.h"
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

static void read_file(const char *path, uint8_t choice, apr_pool_t *pool)
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
    if (size == 0 || (fd = mkstemp(path)) < 0) {
        return 0;
    }
    if (write(fd, data + 1, size - 1) == (ssize_t)(size - 1)
        && apr_pool_create(&pool, NULL) == APR_SUCCESS) {
        read_file(path, data[0], pool);
        apr_pool_destroy(pool);
    }
    close(fd);
    unlink(path);
    return 0;
}
