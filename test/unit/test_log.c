/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Whole logs: detection of the format, order, merge of files, counts. */
#include "logs.h"

#include <fcntl.h>

static void test_log__detects_the_format(void **state)
{
    static const struct {
        const char *line, *format;
    } cases[] = {
        {"198.51.100.7 - - [14/Nov/2023:22:13:20 +0000] \"GET / HTTP/1.1\" "
         "200 5\n",
         "common"},
        {"198.51.100.7 - - [14/Nov/2023:22:13:20 +0000] \"GET / HTTP/1.1\" "
         "200 5 \"-\" \"Mozilla/5.0\"\n",
         "combined"},
        {"www.example.org:80 198.51.100.7 - - [14/Nov/2023:22:13:20 +0000] "
         "\"GET / HTTP/1.1\" 200 5 \"-\" \"Mozilla/5.0\"\n",
         "vhost_combined"},
        {"198.51.100.7 51000 198.51.100.7 1700000000000000 900 0 + HTTP/1.1 "
         "200 300 12 140000 www.example.org \"GET / HTTP/1.1\" "
         "\"Mozilla/5.0\"\n",
         "kastats"},
    };
    tempdir *dir = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        outcome out =
            read_log(dir, NULL, tempdir_text(dir, "log", cases[i].line));

        assert_int_equal(out.status, APR_SUCCESS);
        assert_string_equal(out.info.log_format, cases[i].format);
        assert_true(out.info.log_format_detected);
        assert_string_equal(out.info.kind, "log");
        assert_int_equal(out.info.requests, 1);
        assert_int_equal(out.info.first_us, NOON * SECOND);
        assert_int_equal(out.info.last_us, NOON * SECOND);
        done(&out);
    }
}

static void test_log__takes_the_format_that_is_named(void **state)
{
    const ka_log_options options = {
        .log_format = "LogFormat \"%{begin:usec}t|%a|%>s|%D\" mine"};
    tempdir *dir = *state;
    outcome out = read_log(
        dir, &options,
        tempdir_text(dir, "log", "1700000000000007|198.51.100.7|200|55\n"));

    assert_int_equal(out.status, APR_SUCCESS);
    assert_string_equal(out.info.log_format, "mine");
    assert_false(out.info.log_format_detected);
    assert_int_equal(out.info.clock_us, 1);
    assert_int_equal(out.info.service_clock_us, 1);
    assert_int_equal(out.taken.requests[0].begin_us, NOON * SECOND + 7);
    assert_int_equal(out.taken.requests[0].service_us, 55);
    done(&out);
}

static void test_log__order_within_a_file(void **state)
{
    static const int in[] = {5, 3, 4, 700, 99, 650, 700, -1};
    static const int order[] = {3, 4, 5, 100, 650, 700, 700, -1};
    tempdir *dir = *state;
    outcome out =
        read_log(dir, NULL, tempdir_text(dir, "log", lines_at(dir, in)));

    assert_int_equal(out.status, APR_SUCCESS);
    assert_starts(&out, order);
    assert_int_equal(out.info.out_of_order, 2); /* 3 and 99 */
    assert_int_equal(out.info.late, 1);         /* 99, moved to 100 */
    done(&out);
}

static void test_log__merges_files_by_time(void **state)
{
    static const int oldest[] = {0, 10, 20, 31, -1};
    static const int middle[] = {30, 40, 50, -1};
    static const int newest[] = {49, 60, 3000, -1};
    static const int beside[] = {5, 45, 45, 70, 2000, -1};
    static const int order[] = {0,  5,  10, 20, 30, 31, 40,   45,
                                45, 49, 50, 60, 70, 2000, 3000, -1};
    tempdir *dir = *state;
    const char *packed = lines_at(dir, oldest);
    const char *paths[] = {
        tempdir_text(dir, "access.log", lines_at(dir, newest)),
        tempdir_text(dir, "other.log", lines_at(dir, beside)),
        tempdir_text(dir, "access.log.1", lines_at(dir, middle)),
        tempdir_packed(dir, "access.log.2.gz", "gzip", packed,
                       strlen(packed)),
    };
    outcome out = read_logs(dir, NULL, paths, 4);

    assert_int_equal(out.status, APR_SUCCESS);
    assert_starts(&out, order);
    assert_int_equal(out.info.late, 0);
    assert_int_equal(out.info.out_of_order, 0);
    assert_int_equal(out.info.file_n, 4);
    assert_string_equal(out.info.files[0], paths[3]);
    assert_string_equal(out.info.files[1], paths[1]);
    assert_string_equal(out.info.files[2], paths[2]);
    assert_string_equal(out.info.files[3], paths[0]);
    done(&out);
}

static void test_log__ties_keep_their_order(void **state)
{
    tempdir *dir = *state;
    const char *paths[2];
    const char *text[2] = {"", ""};
    const ka_log_options options = {.log_format = "%t %O"};
    outcome out;

    for (int i = 0; i < 6; i++) {
        text[i / 3] = apr_psprintf(
            dir->pool, "%s[14/Nov/2023:22:13:20 +0000] %d\n", text[i / 3], i);
    }
    paths[0] = tempdir_text(dir, "a", text[0]);
    paths[1] = tempdir_text(dir, "b", text[1]);
    out = read_logs(dir, &options, paths, 2);
    assert_int_equal(out.taken.n, 6);
    for (int i = 0; i < 6; i++) {
        assert_int_equal(out.taken.requests[i].bytes, i);
    }
    done(&out);
}

static void test_log__many_files_need_few_open_ones(void **state)
{
    enum { FILES = 300 };
    tempdir *dir = *state;
    const char *paths[FILES];
    outcome out;

    for (int i = 0; i < FILES; i++) {
        const int seconds[] = {(i * 7 % FILES) * 10,
                               (i * 7 % FILES) * 10 + 10, -1};

        paths[i] = tempdir_text(dir, apr_psprintf(dir->pool, "log.%d", i),
                                lines_at(dir, seconds));
    }
    out = read_logs(dir, NULL, paths, FILES);
    assert_int_equal(out.status, APR_SUCCESS);
    assert_int_equal(out.info.requests, FILES * 2);
    assert_int_equal(out.info.late, 0);
    done(&out);
}

static void test_log__a_file_named_twice_is_read_once(void **state)
{
    static const int seconds[] = {0, 1, -1};
    tempdir *dir = *state;
    const char *path = tempdir_text(dir, "log", lines_at(dir, seconds));
    const char *again = apr_pstrcat(dir->pool, dir->path, "/link", NULL);
    const char *paths[] = {path, path, again};
    outcome out;

    assert_int_equal(symlink(path, again), 0);
    out = read_logs(dir, NULL, paths, 3);
    assert_int_equal(out.info.requests, 2);
    assert_int_equal(out.info.file_n, 1);
    done(&out);
}

static void test_log__standard_input(void **state)
{
    static const int beside[] = {1, 1500, -1};
    tempdir *dir = *state;
    const int saved = dup(STDIN_FILENO);
    const int fd = open(apr_pstrcat(dir->pool, dir->path, "/in", NULL),
                        O_RDWR | O_CREAT | O_TRUNC, 0600);
    const char *paths[2] = {"-", NULL};
    const char *text;
    outcome out;

    assert_true(fd >= 0);
    for (int i = 0; i < 1500; i++) {
        text = apr_psprintf(dir->pool, "%s%s", i % 50 ? "" : "\n",
                            line_at(dir, i, "/"));
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    }
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    close(fd);
    paths[1] = tempdir_text(dir, "beside", lines_at(dir, beside));
    out = read_logs(dir, NULL, paths, 2);
    if (saved >= 0) {
        dup2(saved, STDIN_FILENO);
        close(saved);
    }
    assert_int_equal(out.status, APR_SUCCESS);
    assert_string_equal(out.info.log_format, "combined");
    assert_int_equal(out.info.requests, 1502);
    assert_int_equal(out.info.lines, 1502);
    done(&out);
}

static void test_log__excluded_traffic_is_counted(void **state)
{
    tempdir *dir = *state;
    const char *dummy =
        "::1 - - [14/Nov/2023:22:13:21 +0000] \"OPTIONS * HTTP/1.0\" 200 125 "
        "\"-\" \"Apache/2.4 (internal dummy connection)\"\n";
    const ka_log_options options = {.since_us = NOON * SECOND,
                                    .until_us = (NOON + 100) * SECOND};
    outcome out = read_log(
        dir, &options,
        tempdir_text(dir, "log",
                     apr_pstrcat(dir->pool, line_at(dir, 0, "/"), dummy,
                                 line_at(dir, 99, "/"),
                                 line_at(dir, 100, "/"), NULL)));

    assert_int_equal(out.status, APR_SUCCESS);
    assert_int_equal(out.info.requests, 2);
    assert_int_equal(out.info.parsed, 4);
    assert_int_equal(out.info.excluded[KA_EXCLUDED_DUMMY], 1);
    assert_int_equal(out.info.excluded[KA_EXCLUDED_TIME], 1);
    assert_int_equal(out.info.vhost_n, 1);
    assert_string_equal(out.info.vhosts[0], "");
    done(&out);
}

typedef struct progress {
    int calls;
    int64_t taken, size;
    uint64_t lines;
} progress;

static void note_progress(void *context, int64_t taken, int64_t size,
                          uint64_t lines)
{
    progress *self = context;

    assert_true(taken >= self->taken && lines >= self->lines);
    assert_true(taken <= size);
    *self = (progress){self->calls + 1, taken, size, lines};
}

static void test_log__progress_ends_at_the_size(void **state)
{
    tempdir *dir = *state;
    progress noted = {0};
    const ka_log_options options = {.progress = note_progress,
                                    .progress_context = &noted};
    const char *line = line_at(dir, 0, "/");
    const size_t length = strlen(line);
    char *text = apr_palloc(dir->pool, 140000 * length);
    const char *paths[2];
    outcome out;

    for (size_t i = 0; i < 140000; i++) {
        memcpy(text + i * length, line, length);
    }
    paths[0] = tempdir_bytes(dir, "a", text, 140000 * length);
    paths[1] = tempdir_bytes(dir, "b", text, 10 * length);
    out = read_logs(dir, &options, paths, 2);
    assert_int_equal(out.status, APR_SUCCESS);
    assert_true(noted.calls >= 3);
    assert_int_equal(noted.lines, 140010);
    assert_int_equal(noted.taken, 140010 * length);
    assert_int_equal(noted.size, noted.taken);
    done(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        tempdir_test(test_log__detects_the_format),
        tempdir_test(test_log__takes_the_format_that_is_named),
        tempdir_test(test_log__order_within_a_file),
        tempdir_test(test_log__merges_files_by_time),
        tempdir_test(test_log__ties_keep_their_order),
        tempdir_test(test_log__many_files_need_few_open_ones),
        tempdir_test(test_log__a_file_named_twice_is_read_once),
        tempdir_test(test_log__standard_input),
        tempdir_test(test_log__excluded_traffic_is_counted),
        tempdir_test(test_log__progress_ends_at_the_size),
    };

    return unit_main(tests);
}
