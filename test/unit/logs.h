/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Whole logs for tests: lines by their starts, and what reading them gave. */
#ifndef KA_TEST_LOGS_H
#define KA_TEST_LOGS_H

#include "taken.h"
#include "tempdir.h"

#include "sources/log.h"

#define SECOND INT64_C(1000000)
#define NOON INT64_C(1700000000)

typedef struct outcome {
    apr_status_t status;
    const char *error;
    ka_source_info info;
    taken taken;
} outcome;

static inline outcome read_logs(tempdir *dir, const ka_log_options *options,
                         const char *const *paths, size_t n)
{
    static const ka_log_options defaults;
    outcome out = {.taken = {.ascending = true}};

    out.status = ka_log_read(&out.info, &out.error,
                             options ? options : &defaults, paths, n, take,
                             &out.taken, dir->pool);
    assert_true(out.taken.ascending);
    assert_int_equal(out.taken.n, out.info.requests);
    assert_int_equal(out.info.lines, out.info.parsed + out.info.skipped);
    return out;
}

static inline outcome read_log(tempdir *dir, const ka_log_options *options,
                        const char *path)
{
    return read_logs(dir, options, &path, 1);
}

/* A line of the combined format that starts at NOON + second. */
static inline const char *line_at(tempdir *dir, int second, const char *path)
{
    static const char *const days[] = {"14", "15", "16"};
    /* NOON is 14 November 2023 22:13:20. */
    const int time = 22 * 3600 + 13 * 60 + 20 + second;

    return apr_psprintf(dir->pool,
                        "198.51.100.7 - - [%s/Nov/2023:%02d:%02d:%02d +0000] "
                        "\"GET %s HTTP/1.1\" 200 123 \"-\" \"Mozilla/5.0\"\n",
                        days[time / 86400], time / 3600 % 24, time / 60 % 60,
                        time % 60, path);
}

/* Lines one after another that start at the given seconds; -1 ends. */
static inline const char *lines_at(tempdir *dir, const int *seconds)
{
    const char *text = "";

    for (; *seconds >= 0; seconds++) {
        text = apr_pstrcat(dir->pool, text, line_at(dir, *seconds, "/"), NULL);
    }
    return text;
}

/* starts[0..n) of what came out, as seconds after NOON, must be those. */
static inline void assert_starts(const outcome *out, const int *seconds)
{
    size_t n = 0;

    for (; seconds[n] >= 0; n++) {
        assert_true(n < out->taken.n);
        assert_int_equal(out->taken.requests[n].begin_us,
                         (NOON + seconds[n]) * SECOND);
    }
    assert_int_equal(out->taken.n, n);
}

static inline void done(outcome *out)
{
    free(out->taken.requests);
}

#endif
