/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Logs scanned in chunks give what reading them line by line gives, whatever
 * the chunks, batches and threads. */
#include "scans.h"

#include "sources/linereader.h"
#include "sources/log_scan_names.h"

static const char logs_dir[] = "test/data/logs/";

static void check_log(tempdir *dir, const ka_log_options *options,
                      const char *path, size_t workers,
                      const ka_scan_limits *limits)
{
    outcome wanted = read_log(dir, options, path);
    scanned s = scan_logs(dir, options, &path, 1, workers, limits);

    assert_same(&s, &wanted);
    scan_free(&s);
    done(&wanted);
}

static const ka_log_options detect; /* and take all */

/* Names with ports in them, as clients send them. */
#define VHOSTS                                                                 \
    .log_format = "%V %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" "              \
                  "\"%{User-Agent}i\""

static const ka_log_options vhosts = {VHOSTS};

static void test_log_scan__real_logs_as_line_by_line(void **state)
{
    static const struct {
        const char *name, *format;
    } logs[] = {
        {"site-combined.log", NULL},   {"pagespeed-combined.log", NULL},
        {"vhost-combined.log", NULL},  {"nasa-common.log", NULL},
        {"preconnects.log", NULL},     {"gzip-inside-text.log", NULL},
        {"truncated.log", NULL},       {"honeypot.log", "combined"},
        {"ssl_request.log", NULL},     {"csv.log", NULL},
    };
    static const size_t chunks[] = {1, 50, 777, 4096};
    tempdir *dir = *state;

    for (size_t i = 0; i < sizeof(logs) / sizeof(logs[0]); i++) {
        const char *path =
            apr_pstrcat(dir->pool, logs_dir, logs[i].name, NULL);
        const ka_log_options options = {.log_format = logs[i].format};

        for (size_t k = 0; k < sizeof(chunks) / sizeof(chunks[0]); k++) {
            const ka_scan_limits limits = small_chunks(chunks[k]);

            check_log(dir, &options, path, 1 + k, &limits);
        }
        check_log(dir, &options, path, 2, NULL);
    }
}

/* Everything that can be wrong with a line, around chunks' edges: CRLF, empty,
 * malformed, without a start, overlong, of longest length, and the server's
 * own; then a last line that lacks its end. */
static const char *mixed_log(tempdir *dir, size_t *length)
{
    static const struct {
        size_t length;
        const char *end;
    } longs[] = {{KA_LINE_MAX, "\n"},     {KA_LINE_MAX, "\r\n"},
                 {KA_LINE_MAX + 1, "\n"}, {KA_LINE_MAX + 1, "\r\n"},
                 {KA_LINE_MAX + 2, "\n"}, {200000, "\r\n"}};
    char *text = apr_palloc(dir->pool, 2000000);
    size_t n = 0;

    for (int i = 0; i < 300; i++) {
        const char *host = i % 7 ? "www.example.org" : "Shop.Example.ORG:443";
        const char *end = i % 5 ? "\n" : "\r\n";

        n += (size_t)sprintf(
            text + n,
            "%s 198.51.100.%d - - [14/Nov/2023:22:13:%02d +0000] \"GET "
            "/%.*s HTTP/1.1\" 200 %d \"-\" \"Mozilla/5.0\"%s",
            i == 150 ? "new.example" : host, i % 13, i / 6 % 60, i % 31,
            "abcdefghijklmnopqrstuvwxyz123456", i, end);
        if (i % 11 == 0) {
            n += (size_t)sprintf(text + n, "\n\r\n\n");
        }
        if (i % 23 == 0) {
            n += (size_t)sprintf(text + n, "not a \x16 line%s", end);
        }
        if (i % 29 == 0) {
            n += (size_t)sprintf(
                text + n, "own%d.example 127.0.0.1 - - "
                "[14/Nov/2023:22:13:%02d +0000] \"OPTIONS * HTTP/1.0\" 200 "
                "- \"-\" \"Apache (internal dummy connection)\"\n",
                i % 3, i / 7 % 60);
        }
        if (i % 50 == 49) {
            const size_t k = (size_t)i / 50;

            memset(text + n, 'x', longs[k].length);
            n += longs[k].length;
            n += (size_t)sprintf(text + n, "%s", longs[k].end);
        }
    }
    n += (size_t)sprintf(text + n, "www.example.org 198.51.100.9 - - [14/N");
    *length = n;
    return text;
}

static const size_t chunk_sizes[] = {7, 64, 100, 215, 1000, 4096, 65536};

#define CHUNK_SIZES (sizeof(chunk_sizes) / sizeof(chunk_sizes[0]))

static void test_log_scan__any_chunk_size(void **state)
{
    tempdir *dir = *state;
    size_t length;
    const char *text = mixed_log(dir, &length);
    const char *path = tempdir_bytes(dir, "log", text, length);
    outcome wanted = read_log(dir, &vhosts, path);

    assert_int_equal(wanted.info.cut, 1);
    assert_int_equal(wanted.info.overlong, 4);
    assert_int_equal(wanted.info.skipped, 4 + 1 + 14 + 2);
    assert_int_equal(wanted.info.excluded[KA_EXCLUDED_DUMMY], 11);
    assert_int_equal(wanted.info.vhost_n, 6);
    for (size_t i = 0; i < CHUNK_SIZES; i++) {
        const ka_scan_limits limits = small_chunks(chunk_sizes[i]);
        scanned s = scan_logs(dir, &vhosts, &path, 1, 1 + i, &limits);

        assert_same(&s, &wanted);
        scan_free(&s);
    }
    done(&wanted);
}

/* The whole of a small log, cut at every byte. */
static void test_log_scan__chunks_of_a_few_bytes(void **state)
{
    tempdir *dir = *state;
    const char *text = apr_pstrcat(
        dir->pool, "\n", line_at(dir, 0, "/a"), "bad\r\n",
        line_at(dir, 1, "/b"), "\r\n", line_at(dir, 0, "/c"),
        line_at(dir, 2, "/d"), NULL);

    for (size_t drop = 0; drop < 3; drop++) {
        const char *path =
            tempdir_bytes(dir, "log", text, strlen(text) - drop);

        for (size_t chunk = 1; chunk < 260;
             chunk += chunk < 30 ? 1 : 17) {
            const ka_scan_limits limits = small_chunks(chunk);

            check_log(dir, NULL, path, 1 + chunk % 3, &limits);
        }
    }
}

static void test_log_scan__compressed_files(void **state)
{
    static const char *const filters[] = {"gzip", "bzip2", "xz", "zstd"};
    tempdir *dir = *state;
    size_t length;
    const char *text = mixed_log(dir, &length);

    for (size_t f = 0; f < sizeof(filters) / sizeof(filters[0]); f++) {
        const char *path =
            tempdir_packed(dir, filters[f], filters[f], text, length);

        for (size_t i = 0; i < CHUNK_SIZES; i++) {
            const ka_scan_limits limits = small_chunks(chunk_sizes[i]);

            check_log(dir, &vhosts, path, 1 + i, &limits);
        }
    }
}

/* What was decoded before the damage counts. */
static void test_log_scan__cut_compressed_file(void **state)
{
    tempdir *dir = *state;
    char *text = apr_palloc(dir->pool, 20000 * 110);
    size_t n = 0, packed_n;
    const char *packed, *path;
    outcome wanted;

    for (int i = 0; i < 15000; i++) {
        n += (size_t)sprintf(text + n, "%s", line_at(dir, i, "/"));
    }
    packed = tempdir_read(
        dir, tempdir_packed(dir, "whole.gz", "gzip", text, n), &packed_n);
    path = tempdir_bytes(dir, "cut.gz", packed, packed_n * 3 / 4);
    wanted = read_log(dir, NULL, path);
    assert_int_equal(wanted.info.damaged_n, 1);
    for (size_t chunk = 1000; chunk < 300000; chunk *= 7) {
        const ka_scan_limits limits = small_chunks(chunk);
        scanned s = scan_logs(dir, NULL, &path, 1, 2, &limits);

        assert_same(&s, &wanted);
        scan_free(&s);
    }
    done(&wanted);
}

/* More hits or names than a chunk has room for: parsed in parts. */
static void test_log_scan__chunks_with_more_than_fits(void **state)
{
    static const size_t hits[] = {1, 2, 7, 100};
    static const char *const names[] = {"log", "log.gz"};
    tempdir *dir = *state;
    size_t length;
    const char *text = mixed_log(dir, &length);

    tempdir_bytes(dir, "log", text, length);
    tempdir_packed(dir, "log.gz", "gzip", text, length);
    for (size_t f = 0; f < 2; f++) {
        const char *path =
            apr_pstrcat(dir->pool, dir->path, "/", names[f], NULL);

        for (size_t i = 0; i < sizeof(hits) / sizeof(hits[0]); i++) {
            ka_scan_limits limits = small_chunks(10000);

            limits.hits = hits[i];
            check_log(dir, &vhosts, path, 2, &limits);
        }
    }
}

static void test_log_scan__many_vhosts(void **state)
{
    enum { LINES = 6000 };
    tempdir *dir = *state;
    char *text = apr_palloc(dir->pool, LINES * 150);
    size_t n = 0;
    const char *path;

    for (int i = 0; i < LINES; i++) {
        n += (size_t)sprintf(
            text + n, "%s%d.example%s 198.51.100.7 - - [14/Nov/2023:22:13:20 "
            "+0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"\n",
            i % 2 ? "a" : "A", i * 7 % 2500, i % 3 ? "" : ":8080");
    }
    path = tempdir_bytes(dir, "log", text, n);
    for (size_t chunk = 500; chunk < 1000000; chunk *= 10) {
        const ka_scan_limits limits = {
            .chunk = chunk, .hits = 16384, .slots = 4, .batch = 1000};
        const ka_log_options one = {VHOSTS, .vhost = "a7.example"};

        check_log(dir, &vhosts, path, 3, &limits);
        check_log(dir, &one, path, 3, &limits);
    }
}

/* Cut names: the longest that still tell, and ports that are none. */
static void test_log_scan__long_vhost_names(void **state)
{
    static const char *const ends[] = {"", ":80", "x", ":80:81", "]:80",
                                       ":80x"};
    tempdir *dir = *state;
    const char *text = "";
    const ka_scan_limits limits = small_chunks(1000);
    scanned s;

    for (int length = 250; length < 260; length++) {
        for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
            char *name = apr_palloc(dir->pool, 300);

            memset(name, 'n', 300);
            name[length] = '\0';
            text = apr_pstrcat(dir->pool, text, name, ends[i], " ",
                               line_at(dir, length, "/"), NULL);
        }
    }
    text = tempdir_text(dir, "log", text);
    check_log(dir, &vhosts, text, 2, &limits);
    s = scan_logs(dir, &vhosts, &text, 1, 2, &limits);
    assert_int_equal(strlen(s.info.vhosts[0]), 250);
    assert_int_equal(strlen(s.info.vhosts[s.info.vhost_n - 1]), 255 + 3);
    assert_non_null(strstr(s.info.vhosts[s.info.vhost_n - 1], "n..."));
    scan_free(&s);
}

/* Within a chunk each name has one number, wherever it stands again. */
static void test_scan_names__numbers_by_appearance(void **state)
{
    ka_scan_names *names = ka_scan_names_make();
    char name[20];

    (void)state;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < KA_SCAN_NAMES_MAX; i++) {
            const ka_str text = {name, (size_t)sprintf(name, "%zu:80", i)};

            assert_int_equal(ka_scan_names_number(names, text), i);
            assert_int_equal(ka_scan_names_get(names, i).len, text.len - 3);
        }
    }
    assert_int_equal(ka_scan_names_count(names), KA_SCAN_NAMES_MAX);
    assert_int_equal(ka_scan_names_number(names, (ka_str){NULL, 0}),
                     KA_SCAN_NAMES_MAX);
    ka_scan_names_clear(names);
    assert_int_equal(ka_scan_names_number(names, (ka_str){NULL, 0}), 0);
    assert_int_equal(ka_scan_names_number(names, (ka_str){"", 0}), 0);
    assert_int_equal(ka_scan_names_count(names), 1);
    ka_scan_names_free(names);
}

/* Within a part, hits come in the order of the file; batches are the same for
 * any number of threads. */
static void test_log_scan__order_does_not_depend_on_threads(void **state)
{
    enum { LINES = 20000 };
    static const char *const names[] = {"log", "log.zst"};
    tempdir *dir = *state;
    char *text = apr_palloc(dir->pool, LINES * 130);
    const ka_scan_limits limits = {
        .chunk = 3000, .hits = 1000, .slots = 64, .batch = 700};
    size_t n = 0;

    for (int i = 0; i < LINES; i++) {
        n += (size_t)sprintf(
            text + n, "198.51.%d.%d - - [14/Nov/2023:22:%02d:%02d +0000] "
            "\"GET / HTTP/1.1\" 200 %d \"-\" \"Mozilla/5.0\"\n",
            i % 3, i * 37 % 251, i / 60 % 60, i % 60, i);
    }
    tempdir_bytes(dir, "log", text, n);
    tempdir_packed(dir, "log.zst", "zstd", text, n);
    for (size_t f = 0; f < 2; f++) {
        const char *path =
            apr_pstrcat(dir->pool, dir->path, "/", names[f], NULL);
        scanned one = scan_logs(dir, NULL, &path, 1, 1, &limits);

        assert_int_equal(one.info.requests, LINES);
        assert_true(one.batch_n > 10);
        for (size_t part = 0; part < KA_HIT_PARTS; part++) {
            for (size_t i = 1; i < one.n[part]; i++) {
                assert_true(one.hits[part][i].bytes
                            > one.hits[part][i - 1].bytes);
            }
        }
        for (size_t workers = 2; workers <= 8; workers += 2) {
            scanned more = scan_logs(dir, NULL, &path, 1, workers, &limits);

            assert_same_batches(&more, &one);
            scan_free(&more);
        }
        scan_free(&one);
    }
}

static void test_log_scan__verdicts_are_those_of_reading(void **state)
{
    const ka_log_options named = {.log_format = "combined"};
    const ka_log_options early = {.log_format = "combined",
                                  .until_us = NOON * SECOND};
    const ka_log_options other = {.log_format = "combined",
                                  .vhost = "other.example"};
    tempdir *dir = *state;
    const char *good = line_at(dir, 0, "/");
    const struct {
        const char *text;
        const ka_log_options *options;
    } cases[] = {
        {"", &detect},
        {"", &named},
        {"\n\r\n\n", &named},
        {"bad\n", &named},
        {"bad\n", &detect},
        {apr_pstrcat(dir->pool, good, "bad\nbad\n", NULL), &named},
        {apr_pstrcat(dir->pool, good, "bad\n", NULL), &named},
        {good, &early},
        {good, &other},
        {"h - - - \"GET / HTTP/1.1\" 200 5 \"-\" \"-\"\n", &named},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const ka_scan_limits limits = small_chunks(50);

        check_log(dir, cases[i].options,
                  tempdir_text(dir, "log", cases[i].text), 2, &limits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        tempdir_test(test_log_scan__real_logs_as_line_by_line),
        tempdir_test(test_log_scan__any_chunk_size),
        tempdir_test(test_log_scan__chunks_of_a_few_bytes),
        tempdir_test(test_log_scan__compressed_files),
        tempdir_test(test_log_scan__cut_compressed_file),
        tempdir_test(test_log_scan__chunks_with_more_than_fits),
        tempdir_test(test_log_scan__many_vhosts),
        tempdir_test(test_log_scan__long_vhost_names),
        tempdir_test(test_scan_names__numbers_by_appearance),
        tempdir_test(test_log_scan__order_does_not_depend_on_threads),
        tempdir_test(test_log_scan__verdicts_are_those_of_reading),
    };

    return unit_main(tests);
}
