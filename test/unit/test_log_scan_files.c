/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Several files scanned at once: in order of time, none far ahead. */
#include "scans.h"

static void assert_same_as_reading(tempdir *dir, const char *const *paths,
                                   size_t n, const ka_scan_limits *limits)
{
    outcome wanted = read_logs(dir, NULL, paths, n);
    scanned one = scan_logs(dir, NULL, paths, n, 1, limits);
    scanned more = scan_logs(dir, NULL, paths, n, 4, limits);

    assert_int_equal(one.status, wanted.status);
    assert_same_counts(&one.info, &wanted.info);
    assert_same_hits(&one, &wanted);
    for (size_t i = 0; i < n; i++) {
        assert_string_equal(one.info.files[i], wanted.info.files[i]);
    }
    assert_same_batches(&more, &one);
    scan_free(&more);
    scan_free(&one);
    done(&wanted);
}

/* How far what came out last is ahead of what all files have reached. */
static int64_t furthest_lead_us(const scanned *s)
{
    int64_t lead_us = 0;

    for (size_t i = 0; i + 1 < s->batch_n; i++) {
        const scanned_batch *b = &s->batches[i];

        if (b->reached_us != INT64_MIN && b->reached_us != INT64_MAX
            && b->newest_us - b->reached_us > lead_us) {
            lead_us = b->newest_us - b->reached_us;
        }
    }
    return lead_us;
}

static void test_scan_files__rotated_sets_follow_one_another(void **state)
{
    static const char *const names[] = {"log", "log.1", "log.2.gz",
                                        "log.3.gz", "log.4"};
    enum { FILES = 5 };
    tempdir *dir = *state;
    const char *paths[FILES];
    const ka_scan_limits limits = small_chunks(1000);
    size_t length;
    scanned s;

    for (int i = 0; i < FILES; i++) {
        paths[i] = steady_log(dir, names[i], (FILES - 1 - i) * 1000,
                              (FILES - i) * 1000, 1, i, &length);
    }
    assert_same_as_reading(dir, paths, FILES, &limits);
    s = scan_logs(dir, NULL, paths, FILES, 2, &limits);
    assert_int_equal(s.info.requests, FILES * 1000);
    assert_string_equal(s.info.files[0], paths[4]);
    /* A chunk has 10 seconds, a batch 5 chunks. */
    assert_true(furthest_lead_us(&s) <= 100 * SECOND);
    for (size_t part = 0; part < KA_HIT_PARTS; part++) {
        for (size_t i = 1; i < s.n[part]; i++) {
            assert_true(s.hits[part][i].begin_us
                        >= s.hits[part][i - 1].begin_us);
        }
    }
    scan_free(&s);
}

/* One log per vhost over the same day, some busy, some not. */
static void test_scan_files__files_side_by_side_advance_together(void **state)
{
    static const int steps[] = {1, 2, 7, 30, 1, 3, 500, 60};
    enum { FILES = 8, DAY = 20000 };
    tempdir *dir = *state;
    const char *paths[FILES];
    const ka_scan_limits limits = small_chunks(1000);
    size_t length;
    scanned s;

    for (int i = 0; i < FILES; i++) {
        paths[i] = steady_log(dir,
                              apr_psprintf(dir->pool, "log.%d%s", i,
                                           i % 3 ? "" : ".gz"),
                              i * 10, DAY, steps[i], i, &length);
    }
    assert_same_as_reading(dir, paths, FILES, &limits);
    s = scan_logs(dir, NULL, paths, FILES, 2, &limits);
    /* Its 40 lines with a second in 500 are a few chunks of 10 lines; the
     * others have a batch of 5 chunks of 10 or more seconds beside it. */
    assert_true(furthest_lead_us(&s) <= 6000 * SECOND);
    scan_free(&s);
}

/* Two busy logs: neither gets more than a batch ahead. */
static void test_scan_files__no_file_runs_away(void **state)
{
    tempdir *dir = *state;
    const ka_scan_limits limits = small_chunks(1000);
    size_t length;
    const char *paths[] = {
        steady_log(dir, "a", 0, 40000, 1, 1, &length),
        steady_log(dir, "b", 0, 40000, 2, 2, &length),
        steady_log(dir, "c", 20000, 40000, 1, 3, &length)};
    scanned s = scan_logs(dir, NULL, paths, 3, 2, &limits);

    assert_int_equal(s.info.requests, 80000);
    assert_true(s.batch_n > 500);
    assert_true(furthest_lead_us(&s) <= 5 * 20 * SECOND);
    scan_free(&s);
}

/* A file without a single start holds the others up, but does not end them. */
static void test_scan_files__a_file_of_garbage(void **state)
{
    tempdir *dir = *state;
    const ka_scan_limits limits = small_chunks(1000);
    size_t length;
    char *garbage = apr_palloc(dir->pool, 20001);
    const char *paths[2];

    for (int i = 0; i < 20000; i++) {
        garbage[i] = i % 100 == 99 ? '\n' : 'g';
    }
    garbage[20000] = '\0';
    paths[0] = steady_log(dir, "a", 0, 5000, 1, 1, &length);
    paths[1] = tempdir_text(dir, "b", garbage);
    assert_same_as_reading(dir, paths, 2, &limits);
}

static void test_scan_files__empty_files_between(void **state)
{
    tempdir *dir = *state;
    const ka_scan_limits limits = small_chunks(500);
    size_t length;
    const char *paths[] = {
        tempdir_text(dir, "empty", ""),
        steady_log(dir, "a", 0, 100, 1, 1, &length),
        tempdir_packed(dir, "empty.gz", "gzip", "", 0),
        steady_log(dir, "b.gz", 100, 200, 1, 1, &length),
        tempdir_text(dir, "blank", "\n\n\r\n")};

    assert_same_as_reading(dir, paths, 5, &limits);
}

static void test_scan_files__many_files_need_few_open_ones(void **state)
{
    enum { FILES = 300 };
    tempdir *dir = *state;
    const ka_scan_limits limits = small_chunks(1000);
    const char *paths[FILES];
    size_t length;

    for (int i = 0; i < FILES; i++) {
        const int at = i * 7 % FILES * 10;

        paths[i] = steady_log(dir, apr_psprintf(dir->pool, "log.%d", i), at,
                              at + 11, 1, 1, &length);
    }
    assert_same_as_reading(dir, paths, FILES, &limits);
}

/* More than have decoders of their own. */
static void test_scan_files__many_compressed_files_at_once(void **state)
{
    enum { FILES = 40 };
    tempdir *dir = *state;
    const ka_scan_limits limits = small_chunks(300);
    const char *paths[FILES];
    size_t length;

    for (int i = 0; i < FILES; i++) {
        paths[i] = steady_log(dir, apr_psprintf(dir->pool, "log.%d.gz", i), i,
                              i + 200, 1, 1, &length);
    }
    assert_same_as_reading(dir, paths, FILES, &limits);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        tempdir_test(test_scan_files__rotated_sets_follow_one_another),
        tempdir_test(test_scan_files__files_side_by_side_advance_together),
        tempdir_test(test_scan_files__no_file_runs_away),
        tempdir_test(test_scan_files__a_file_of_garbage),
        tempdir_test(test_scan_files__empty_files_between),
        tempdir_test(test_scan_files__many_files_need_few_open_ones),
        tempdir_test(test_scan_files__many_compressed_files_at_once),
    };

    return unit_main(tests);
}
