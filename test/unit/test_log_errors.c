/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Logs with lines that do not parse, damaged and missing files: what is told,
 * and that it can be printed. */
#include "logs.h"

static void test_escape__only_printable_bytes_pass(void **state)
{
    static const struct {
        const char *text;
        size_t length, limit;
        const char *escaped;
    } cases[] = {
        {"", 0, 10, ""},
        {"abc ~", 5, 10, "abc ~"},
        {"a\\b", 3, 10, "a\\\\b"},
        {"\x16\x03\x00", 3, 10, "\\x16\\x03\\x00"},
        {"\x1b[31m\x7f\xff", 7, 10, "\\x1b[31m\\x7f\\xff"},
        {"abcdef", 6, 6, "abcdef"},
        {"abcdef", 6, 5, "abcde..."},
        {"abcdef", 6, 0, "..."},
    };
    tempdir *dir = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(ka_escape(cases[i].text, cases[i].length,
                                      cases[i].limit, dir->pool),
                            cases[i].escaped);
    }
}

static void test_observation__excluded_names(void **state)
{
    static const char *const names[] = {
        "internal_dummy_connection", "mod_pagespeed", "loopback_health_check",
        "other_vhost", "outside_window"};

    (void)state;
    for (int i = 0; i < KA_EXCLUDED_N; i++) {
        assert_string_equal(ka_excluded_name((ka_excluded)i), names[i]);
    }
}

static void test_log_errors__unknown_format_says_what_to_do(void **state)
{
    tempdir *dir = *state;
    const char *path =
        tempdir_text(dir, "strange.log", "what \x1b[31m is\nthis\n");
    outcome out = read_log(dir, NULL, path);

    assert_int_equal(out.status, APR_EINVAL);
    assert_non_null(strstr(out.error, path));
    assert_non_null(strstr(out.error, "combined"));
    assert_non_null(strstr(out.error, ":1:"));
    assert_non_null(strstr(out.error, "--log-format"));
    assert_null(strchr(out.error, '\x1b'));
    done(&out);
}

/* Half of the lines is too few to go by. */
static void test_log_errors__detection_needs_more_than_half(void **state)
{
    static const struct {
        const char *rest;
        apr_status_t status;
    } cases[] = {{"bad\n", APR_EINVAL}, {"", APR_SUCCESS}};
    tempdir *dir = *state;

    for (size_t i = 0; i < 2; i++) {
        outcome out = read_log(
            dir, NULL,
            tempdir_text(dir, "log",
                         apr_pstrcat(dir->pool, line_at(dir, 0, "/"), "bad\n",
                                     line_at(dir, 1, "/"), cases[i].rest,
                                     NULL)));

        assert_int_equal(out.status, cases[i].status);
        assert_int_equal(out.info.log_format_detected,
                         cases[i].status == APR_SUCCESS);
        done(&out);
    }
}

static void test_log_errors__format_that_does_not_compile(void **state)
{
    const ka_log_options options = {.log_format = "%h %t %~"};
    tempdir *dir = *state;
    outcome out = read_log(dir, &options, tempdir_text(dir, "log", "x\n"));

    assert_int_equal(out.status, APR_EINVAL);
    assert_true(strlen(out.error) > 0);
    done(&out);
}

/* Three rotated files, named in the wrong order, one compressed, one line
 * reaching over each edge, and another vhost's log beside them. */
/* Equal starts: the order of files, then of lines. */
/* Detection looks at lines that are then read; a stream cannot go back. */
static void test_log_errors__skipped_lines_are_explained(void **state)
{
    tempdir *dir = *state;
    const char *good = line_at(dir, 0, "/");
    const char *path = tempdir_text(
        dir, "log",
        apr_pstrcat(dir->pool, "ent\" 200 5 \"-\" \"end of a line\"\n", good,
                    "\n\r\n", good,
                    "198.51.100.7 - - [14/Nov/2023:22:13:20 +0000] \"GET / "
                    "HTTP/1.1\" foo\x16\x1b[2J 5 \"-\" \"x\"\n",
                    good, good, NULL));
    outcome out = read_log(dir, NULL, path);

    assert_int_equal(out.status, APR_SUCCESS);
    assert_int_equal(out.info.lines, 6);
    assert_int_equal(out.info.parsed, 4);
    assert_int_equal(out.info.skipped, 2);
    assert_int_equal(out.info.cut, 0);
    assert_int_equal(out.info.sample_n, 2);
    assert_string_equal(out.info.samples[1].file, path);
    assert_int_equal(out.info.samples[1].line, 6);
    assert_int_equal(out.info.samples[1].column, 64);
    assert_non_null(strstr(out.info.samples[1].reason, "%>s"));
    assert_non_null(
        strstr(out.info.samples[1].reason, "foo\\x16\\x1b[2J 5"));
    done(&out);
}

static void test_log_errors__only_the_first_samples_are_kept(void **state)
{
    tempdir *dir = *state;
    const char *text = "";
    outcome out;

    for (int i = 0; i < 10; i++) {
        text = apr_pstrcat(dir->pool, text, "x\n", line_at(dir, i, "/"),
                           line_at(dir, i, "/"), NULL);
    }
    out = read_log(dir, NULL, tempdir_text(dir, "log", text));
    assert_int_equal(out.status, APR_SUCCESS);
    assert_int_equal(out.info.skipped, 10);
    assert_int_equal(out.info.sample_n, KA_SKIPPED_SAMPLES);
    assert_int_equal(out.info.samples[4].line, 13);
    done(&out);
}

static void test_log_errors__cut_last_line(void **state)
{
    static const struct {
        size_t drop; /* bytes of the last line, its end included */
        uint64_t parsed, cut;
    } cases[] = {{0, 3, 0}, {1, 3, 0}, {2, 2, 1}, {40, 2, 1}};
    tempdir *dir = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *text =
            apr_pstrcat(dir->pool, line_at(dir, 0, "/"), line_at(dir, 1, "/"),
                        line_at(dir, 2, "/"), NULL);
        outcome out = read_log(dir, NULL,
                               tempdir_bytes(dir, "log", text,
                                             strlen(text) - cases[i].drop));

        assert_int_equal(out.status, APR_SUCCESS);
        assert_int_equal(out.info.parsed, cases[i].parsed);
        assert_int_equal(out.info.cut, cases[i].cut);
        assert_int_equal(out.info.skipped, cases[i].cut);
        done(&out);
    }
}

static void test_log_errors__overlong_lines_are_counted(void **state)
{
    tempdir *dir = *state;
    char *big = apr_palloc(dir->pool, 100001);
    outcome out;

    memset(big, 'x', 100000);
    big[100000] = '\0';
    out = read_log(dir, NULL,
                   tempdir_text(dir, "log",
                                apr_pstrcat(dir->pool, line_at(dir, 0, "/"),
                                            big, "\n", line_at(dir, 1, "/"),
                                            NULL)));
    assert_int_equal(out.status, APR_SUCCESS);
    assert_int_equal(out.info.lines, 3);
    assert_int_equal(out.info.overlong, 1);
    assert_int_equal(out.info.skipped, 1);
    assert_int_equal(out.info.sample_n, 1);
    assert_int_equal(out.info.samples[0].line, 2);
    done(&out);
}

static void test_log_errors__mostly_skipped_is_refused(void **state)
{
    const ka_log_options options = {.log_format = "combined"};
    tempdir *dir = *state;
    const char *good = line_at(dir, 0, "/");
    const char *half = apr_pstrcat(dir->pool, good, "bad\n", NULL);
    const char *path;
    outcome out = read_log(dir, &options, tempdir_text(dir, "log", half));

    assert_int_equal(out.status, APR_SUCCESS);
    done(&out);
    path = tempdir_text(dir, "log",
                        apr_pstrcat(dir->pool, half, "bad\n", NULL));
    out = read_log(dir, &options, path);
    assert_int_equal(out.status, APR_EINVAL);
    assert_non_null(strstr(out.error, "2 of 3 lines"));
    assert_non_null(strstr(out.error, "combined"));
    assert_non_null(
        strstr(out.error, apr_pstrcat(dir->pool, path, ":2:", NULL)));
    assert_non_null(strstr(out.error, "--log-format"));
    assert_int_equal(out.info.sample_n, 2);
    done(&out);
}

static void test_log_errors__nothing_to_read(void **state)
{
    tempdir *dir = *state;
    const ka_log_options named = {.log_format = "combined"};
    const char *path = tempdir_text(dir, "log", "\n\r\n\n");
    outcome out = read_log(dir, NULL, path);

    assert_int_equal(out.status, APR_EOF);
    assert_true(strlen(out.error) > 0);
    done(&out);
    out = read_log(dir, &named, path);
    assert_int_equal(out.status, APR_EOF);
    assert_int_equal(out.info.lines, 0);
    done(&out);
}

static void test_log_errors__all_excluded_is_told(void **state)
{
    const ka_log_options options = {.until_us = NOON * SECOND};
    static const int seconds[] = {0, 1, -1};
    tempdir *dir = *state;
    outcome out = read_log(dir, &options,
                           tempdir_text(dir, "log", lines_at(dir, seconds)));

    assert_int_equal(out.status, APR_EOF);
    assert_non_null(strstr(out.error, "outside_window 2"));
    assert_int_equal(out.info.excluded[KA_EXCLUDED_TIME], 2);
    assert_int_equal(out.info.parsed, 2);
    assert_int_equal(out.info.first_us, 0);
    done(&out);
}

/* A damaged file is read as far as it goes, the others in full. */
static void test_log_errors__damaged_file_is_named(void **state)
{
    tempdir *dir = *state;
    static const int after[] = {20000, -1};
    char *text = apr_palloc(dir->pool, 20000 * 110);
    size_t n = 0, packed_n;
    const char *packed;
    const char *paths[2];
    outcome out;

    for (int i = 0; i < 15000; i++) {
        n += (size_t)sprintf(text + n, "%s", line_at(dir, i, "/"));
    }
    packed = tempdir_read(
        dir, tempdir_packed(dir, "whole.gz", "gzip", text, n), &packed_n);
    paths[0] = tempdir_bytes(dir, "cut.gz", packed, packed_n * 3 / 4);
    paths[1] = tempdir_text(dir, "log", lines_at(dir, after));
    out = read_logs(dir, NULL, paths, 2);
    assert_int_equal(out.status, APR_SUCCESS);
    assert_int_equal(out.info.damaged_n, 1);
    assert_non_null(strstr(out.info.damaged[0], paths[0]));
    assert_true(out.info.requests > 7000 && out.info.requests < 15001);
    assert_int_equal(out.info.last_us, (NOON + 20000) * SECOND);
    done(&out);
}

static void test_log_errors__damaged_from_the_start(void **state)
{
    tempdir *dir = *state;
    size_t n;
    const char *packed = tempdir_read(
        dir, tempdir_packed(dir, "whole.gz", "gzip", "some text\n", 10), &n);
    outcome out =
        read_log(dir, NULL, tempdir_bytes(dir, "cut.gz", packed, n - 9));

    assert_int_equal(out.status, APR_EOF);
    assert_int_equal(out.info.damaged_n, 1);
    assert_non_null(strstr(out.error, out.info.damaged[0]));
    done(&out);
}

static void test_log_errors__missing_file(void **state)
{
    static const int seconds[] = {0, -1};
    tempdir *dir = *state;
    const char *paths[] = {
        tempdir_text(dir, "log", lines_at(dir, seconds)),
        apr_pstrcat(dir->pool, dir->path, "/none", NULL)};
    outcome out = read_logs(dir, NULL, paths, 2);

    assert_true(APR_STATUS_IS_ENOENT(out.status));
    assert_non_null(strstr(out.error, paths[1]));
    assert_int_equal(out.info.requests, 0);
    done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        tempdir_test(test_escape__only_printable_bytes_pass),
        tempdir_test(test_observation__excluded_names),
        tempdir_test(test_log_errors__unknown_format_says_what_to_do),
        tempdir_test(test_log_errors__detection_needs_more_than_half),
        tempdir_test(test_log_errors__format_that_does_not_compile),
        tempdir_test(test_log_errors__skipped_lines_are_explained),
        tempdir_test(test_log_errors__only_the_first_samples_are_kept),
        tempdir_test(test_log_errors__cut_last_line),
        tempdir_test(test_log_errors__overlong_lines_are_counted),
        tempdir_test(test_log_errors__mostly_skipped_is_refused),
        tempdir_test(test_log_errors__nothing_to_read),
        tempdir_test(test_log_errors__all_excluded_is_told),
        tempdir_test(test_log_errors__damaged_file_is_named),
        tempdir_test(test_log_errors__damaged_from_the_start),
        tempdir_test(test_log_errors__missing_file),
    };

    return unit_main(tests);
}
