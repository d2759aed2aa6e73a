/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "tempdir.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sources/profilefile.h>
#include <sources/profilefile_lines.h>

/* All lines of a file, `number:text;` each, and how it ended. */
static const char *lines_of(tempdir *dir, apr_status_t *status,
                            const char **error, const char *path)
{
    ka_profilelines *lines;
    const char *text, *all = "";
    size_t length;
    uint64_t number;

    *error = NULL;
    *status = ka_profilelines_open(&lines, error, path, dir->pool);
    while (*status == APR_SUCCESS) {
        *status = ka_profilelines_next(lines, &text, &length, &number, error);
        if (*status == APR_SUCCESS) {
            all = apr_psprintf(dir->pool, "%s%d:%s;", all, (int)number,
                               apr_pstrmemdup(dir->pool, text, length));
        }
    }
    return all;
}

static void assert_lines(tempdir *dir, const char *text, const char *expected)
{
    const char *error;
    apr_status_t status;

    assert_string_equal(
        lines_of(dir, &status, &error, tempdir_text(dir, "a", text)),
        expected);
    assert_int_equal(status, APR_EOF);
    assert_null(error);
}

static void test_profilefile_lines__ends_and_empty_lines(void **state)
{
    tempdir *dir = *state;

    assert_lines(dir, "", "");
    assert_lines(dir, "\n", "");
    assert_lines(dir, "a\nb\n", "1:a;2:b;");
    assert_lines(dir, "a\r\n\r\n\nb", "1:a;4:b;");
}

static void test_profilefile_lines__compressed(void **state)
{
    static const char *const filters[] = {"gzip", "bzip2", "xz", "zstd",
                                          "lz4"};
    tempdir *dir = *state;
    size_t i;

    for (i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        const char *path =
            tempdir_packed(dir, "a", filters[i], "one\ntwo\n", 8), *error;
        apr_status_t status;

        assert_string_equal(lines_of(dir, &status, &error, path),
                            "1:one;2:two;");
        assert_int_equal(status, APR_EOF);
    }
}

/* A line far longer than a block, and the longest that is taken. */
static void test_profilefile_lines__long_ones(void **state)
{
    tempdir *dir = *state;
    size_t size = KA_PROFILE_LINE_MAX + 3, length;
    char *bytes = apr_palloc(dir->pool, size);
    const char *path, *text, *error = NULL;
    ka_profilelines *lines;
    uint64_t number;
    size_t n;

    memset(bytes, 'x', size);
    for (n = KA_PROFILE_LINE_MAX; n <= KA_PROFILE_LINE_MAX + 1; n++) {
        bytes[0] = '\n';
        bytes[n + 1] = '\n';
        path = tempdir_bytes(dir, "a", bytes, n + 2);
        assert_int_equal(
            ka_profilelines_open(&lines, &error, path, dir->pool),
            APR_SUCCESS);
        if (n == KA_PROFILE_LINE_MAX) {
            assert_int_equal(ka_profilelines_next(lines, &text, &length,
                                                  &number, &error),
                             APR_SUCCESS);
            assert_int_equal(length, n);
            assert_int_equal(number, 2);
            bytes[n + 1] = 'x';
        }
    }
    assert_int_equal(
        ka_profilelines_next(lines, &text, &length, &number, &error),
        APR_EINVAL);
    assert_string_equal(error,
                        apr_pstrcat(dir->pool, path,
                                    ":2: longer than 8 MB, which no profile's "
                                    "line is; write it again with `kaadvisor "
                                    "profile`",
                                    NULL));
}

static void test_profilefile_lines__what_is_cut_is_refused(void **state)
{
    static const char *const filters[] = {"gzip", "bzip2", "xz", "zstd"};
    tempdir *dir = *state;
    char text[5000];
    size_t i, length;

    for (i = 0; i < sizeof(text); i++) {
        text[i] = (char)('a' + i * i * i % 23);
    }
    for (i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        const char *path =
            tempdir_packed(dir, "a", filters[i], text, sizeof(text)), *error;
        char *bytes = tempdir_read(dir, path, &length);
        apr_status_t status;

        path = tempdir_bytes(dir, "b", bytes, length - 20);
        lines_of(dir, &status, &error, path);
        assert_int_equal(status, APR_EINVAL);
        assert_non_null(strstr(error, "cut or damaged"));
    }
}

static void test_profilefile_lines__files_that_cannot_be_opened(void **state)
{
    tempdir *dir = *state;
    const char *error;
    apr_status_t status;

    lines_of(dir, &status, &error, "/does/not/exist");
    assert_int_equal(status, ENOENT);
    assert_string_equal(error,
                        "/does/not/exist: cannot be opened: No such file or "
                        "directory; check the path and who may read it");
    lines_of(dir, &status, &error, dir->path);
    assert_int_equal(status, APR_EINVAL);
    assert_non_null(strstr(error, dir->path));
}

/* ---- the first bytes ---------------------------------------------------- */

static void test_profilefile_lines__what_begins_as_a_profile(void **state)
{
    static const struct {
        const char *text;
        bool is;
    } cases[] = {{"{\"schema\":\"kaadvisor-profile/1\",", true},
                 {"{\"schema\":\"kaadvisor-profile/2\",", true},
                 {"{\"schema\":\"kaadvisor/1\",", true},
                 {" { \"schema\" :\t\"kaadvisor-profile/1\"", true},
                 {"\n{\"schema\":\"ka", true},
                 {"{\"schema\":\"k", false},
                 {"{\"schema\":\"other\"}", false},
                 {"{\"a\":1}", false},
                 {"", false},
                 {"192.0.2.1 - - [01/Mar/2026:00:00:00 +0000] \"GET /", false}};
    tempdir *dir = *state;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(
            ka_profile_source_is(tempdir_text(dir, "a", cases[i].text)),
            cases[i].is);
        if (*cases[i].text) {
            assert_int_equal(ka_profile_source_is(tempdir_packed(
                                 dir, "b", "gzip", cases[i].text,
                                 strlen(cases[i].text))),
                             cases[i].is);
        }
    }
    assert_false(ka_profile_source_is("/does/not/exist"));
    assert_false(ka_profile_source_is(dir->path));
}

/* More than a decoder's first block, so that its end is not seen. */
static void test_profilefile_lines__a_large_packed_one_is_seen(void **state)
{
    static const char *const filters[] = {"gzip", "bzip2", "xz", "zstd"};
    static const char head[] = "{\"schema\":\"kaadvisor-profile/1\",";
    tempdir *dir = *state;
    size_t size = 3000000, i;
    char *bytes = apr_palloc(dir->pool, size);
    uint64_t x = 1;

    for (i = 0; i < size; i++) {
        x = x * 6364136223846793005 + 1;
        bytes[i] = (char)('0' + (x >> 33) % 10);
    }
    memcpy(bytes, head, sizeof(head) - 1);
    for (i = 0; i < sizeof(filters) / sizeof(filters[0]); i++) {
        assert_true(ka_profile_source_is(
            tempdir_packed(dir, "a", filters[i], bytes, size)));
    }
}

/* ends[0] is read from.  Nothing is taken by looking. */
static void assert_bytes_stay(tempdir *dir, const int *ends)
{
    static const char text[] = "{\"schema\":\"kaadvisor-profile/1\"}\n";
    const char *path = apr_psprintf(dir->pool, "/dev/fd/%d", ends[0]);
    char buffer[64];

    assert_int_equal(write(ends[1], text, sizeof(text) - 1),
                     sizeof(text) - 1);
    assert_true(ka_profile_source_is(path));
    assert_true(ka_profile_source_is(path));
    assert_int_equal(read(ends[0], buffer, sizeof(buffer)), sizeof(text) - 1);
    assert_memory_equal(buffer, text, sizeof(text) - 1);
    close(ends[1]);
    assert_false(ka_profile_source_is(path));
    close(ends[0]);
}

static void test_profilefile_lines__a_pipe_keeps_its_bytes(void **state)
{
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_bytes_stay(*state, ends);
}

/* What sshd gives a command. */
static void test_profilefile_lines__a_socket_keeps_its_bytes(void **state)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    assert_bytes_stay(*state, ends);
}

static void test_profilefile_lines__a_fifo_by_name_is_not_opened(void **state)
{
    tempdir *dir = *state;
    const char *path = apr_pstrcat(dir->pool, dir->path, "/fifo", NULL);

    assert_int_equal(mkfifo(path, 0600), 0);
    assert_false(ka_profile_source_is(path)); /* else it would wait here */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        tempdir_test(test_profilefile_lines__ends_and_empty_lines),
        tempdir_test(test_profilefile_lines__compressed),
        tempdir_test(test_profilefile_lines__long_ones),
        tempdir_test(test_profilefile_lines__what_is_cut_is_refused),
        tempdir_test(test_profilefile_lines__files_that_cannot_be_opened),
        tempdir_test(test_profilefile_lines__what_begins_as_a_profile),
        tempdir_test(test_profilefile_lines__a_large_packed_one_is_seen),
        tempdir_test(test_profilefile_lines__a_pipe_keeps_its_bytes),
        tempdir_test(test_profilefile_lines__a_socket_keeps_its_bytes),
        tempdir_test(test_profilefile_lines__a_fifo_by_name_is_not_opened)};

    return unit_main(tests);
}
