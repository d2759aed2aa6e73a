/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Lines of plain and compressed files, whole, cut and damaged. */
#include "tempdir.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "sources/linereader.h"

static ka_linereader *open_path(tempdir *dir, const char *path)
{
    ka_linereader *reader = NULL;
    const char *error = "";

    if (ka_linereader_open(&reader, &error, path, dir->pool) != APR_SUCCESS) {
        fail_msg("%s", error);
    }
    return reader;
}

static void assert_line(ka_linereader *reader, const char *text, size_t length,
                        bool cut)
{
    ka_line line;

    assert_int_equal(ka_linereader_next(reader, &line), APR_SUCCESS);
    assert_int_equal(line.length, length);
    assert_memory_equal(line.text, text, length);
    assert_int_equal(line.cut, cut);
    assert_false(line.overlong);
}

/* "line 000001\n" ...: every line tells its own number. */
static char *numbered(tempdir *dir, int lines, size_t *length)
{
    char *text = apr_palloc(dir->pool, (size_t)lines * 12 + 1);

    for (int i = 0; i < lines; i++) {
        sprintf(text + (size_t)i * 12, "line %06d\n", i + 1);
    }
    *length = (size_t)lines * 12;
    return text;
}

/* Reads to the end; each line must be the next numbered one. */
static apr_status_t read_numbered(ka_linereader *reader, int *lines)
{
    apr_status_t status;
    ka_line line;

    *lines = 0;
    while ((status = ka_linereader_next(reader, &line)) == APR_SUCCESS) {
        char wanted[32];

        sprintf(wanted, "line %06d", ++*lines);
        assert_int_equal(line.number, *lines);
        if (!line.cut) {
            assert_int_equal(line.length, 11);
        }
        assert_memory_equal(line.text, wanted, line.length);
    }
    return status;
}

static void test_linereader__ends_are_not_part_of_lines(void **state)
{
    tempdir *dir = *state;
    ka_linereader *reader = open_path(
        dir, tempdir_bytes(dir, "log", "a\nbb\r\n\n\r\nc\rd\n\0e\n", 16));
    ka_line line;

    assert_line(reader, "a", 1, false);
    assert_line(reader, "bb", 2, false);
    assert_line(reader, "", 0, false);
    assert_line(reader, "", 0, false);
    assert_line(reader, "c\rd", 3, false);
    assert_line(reader, "\0e", 2, false);
    assert_int_equal(ka_linereader_next(reader, &line), APR_EOF);
    assert_int_equal(ka_linereader_next(reader, &line), APR_EOF);
    assert_string_equal(ka_linereader_error(reader), "");
}

static void test_linereader__last_line_without_end_is_cut(void **state)
{
    static const struct {
        const char *text;
        const char *last;
    } cases[] = {{"x\nhalf", "half"}, {"x\nhalf\r", "half"}};
    tempdir *dir = *state;

    for (size_t i = 0; i < 2; i++) {
        ka_linereader *reader =
            open_path(dir, tempdir_text(dir, "log", cases[i].text));
        ka_line line;

        assert_line(reader, "x", 1, false);
        assert_line(reader, cases[i].last, 4, true);
        assert_int_equal(ka_linereader_next(reader, &line), APR_EOF);
    }
}

static void test_linereader__numbers_count_every_line(void **state)
{
    tempdir *dir = *state;
    ka_linereader *reader =
        open_path(dir, tempdir_text(dir, "log", "a\n\n\nb\n"));
    ka_line line;

    for (uint64_t i = 1; i <= 4; i++) {
        assert_int_equal(ka_linereader_next(reader, &line), APR_SUCCESS);
        assert_int_equal(line.number, i);
    }
    assert_string_equal(apr_pstrmemdup(dir->pool, line.text, line.length),
                        "b");
}

/* Around the limit, within a block and across blocks. */
static void test_linereader__overlong_lines_are_skipped_whole(void **state)
{
    static const struct {
        size_t before; /* bytes in front, to move the line in its block */
        size_t length;
        const char *end;
        bool overlong;
    } cases[] = {
        {0, KA_LINE_MAX, "\n", false},
        {0, KA_LINE_MAX, "\r\n", false},
        {0, KA_LINE_MAX + 1, "\n", true},
        {0, KA_LINE_MAX + 1, "\r\n", true},
        {250000, KA_LINE_MAX, "\n", false},
        {250000, KA_LINE_MAX, "\r\n", false},
        {250000, KA_LINE_MAX + 1, "\n", true},
        {250000, KA_LINE_MAX + 1, "\r\n", true},
        {250000, 3000000, "\n", true},
    };
    tempdir *dir = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char *text = apr_palloc(dir->pool, 4000000);
        size_t n = 0;
        ka_linereader *reader;
        ka_line line;

        while (n < cases[i].before) {
            text[n] = n % 100 == 99 ? '\n' : 'b';
            n++;
        }
        memset(text + n, 'x', cases[i].length);
        n += cases[i].length;
        n += (size_t)sprintf(text + n, "%safter\n", cases[i].end);
        reader = open_path(dir, tempdir_bytes(dir, "log", text, n));
        for (size_t k = 0; k < cases[i].before / 100; k++) {
            assert_int_equal(ka_linereader_next(reader, &line), APR_SUCCESS);
        }
        assert_int_equal(ka_linereader_next(reader, &line), APR_SUCCESS);
        assert_int_equal(line.overlong, cases[i].overlong);
        assert_int_equal(line.length, cases[i].overlong ? 0 : KA_LINE_MAX);
        assert_int_equal(line.number, cases[i].before / 100 + 1);
        assert_line(reader, "after", 5, false);
    }
}

static void test_linereader__overlong_last_line_is_cut_too(void **state)
{
    tempdir *dir = *state;
    char *text = apr_palloc(dir->pool, 400000);
    ka_linereader *reader;
    ka_line line;

    memset(text, 'x', 400000);
    reader = open_path(dir, tempdir_bytes(dir, "log", text, 400000));
    assert_int_equal(ka_linereader_next(reader, &line), APR_SUCCESS);
    assert_true(line.overlong);
    assert_true(line.cut);
    assert_int_equal(line.length, 0);
    assert_int_equal(ka_linereader_next(reader, &line), APR_EOF);
}

static const char *const filters[] = {"gzip", "bzip2",    "xz",  "zstd",
                                      "lz4",  "compress", "lzip"};

#define FILTERS_N (sizeof(filters) / sizeof(filters[0]))

static void test_linereader__every_compression(void **state)
{
    tempdir *dir = *state;
    size_t length;
    const char *text = numbered(dir, 100000, &length);

    for (size_t i = 0; i < FILTERS_N; i++) {
        const char *path =
            tempdir_packed(dir, "log", filters[i], text, length);
        ka_linereader *reader = open_path(dir, path);
        int64_t taken, size;
        struct stat st;
        int lines;

        assert_string_equal(
            ka_linereader_compression(reader),
            !strcmp(filters[i], "compress") ? "compress (.Z)" : filters[i]);
        assert_int_equal(read_numbered(reader, &lines), APR_EOF);
        assert_int_equal(lines, 100000);
        assert_int_equal(stat(path, &st), 0);
        ka_linereader_position(reader, &taken, &size);
        assert_int_equal(taken, st.st_size);
        assert_int_equal(size, st.st_size);
    }
}

static void test_linereader__plain_spans_many_blocks(void **state)
{
    tempdir *dir = *state;
    size_t length;
    const char *text = numbered(dir, 200000, &length);
    ka_linereader *reader =
        open_path(dir, tempdir_bytes(dir, "log", text, length));
    int lines;

    assert_string_equal(ka_linereader_compression(reader), "plain");
    assert_int_equal(read_numbered(reader, &lines), APR_EOF);
    assert_int_equal(lines, 200000);
}

static void test_linereader__members_follow_one_another(void **state)
{
    static const char *const several[] = {"gzip", "bzip2", "xz", "zstd"};
    tempdir *dir = *state;
    size_t half;
    char *text = numbered(dir, 2000, &half);

    half /= 2;
    for (size_t i = 0; i < sizeof(several) / sizeof(several[0]); i++) {
        size_t n, m;
        char *first = tempdir_read(
            dir, tempdir_packed(dir, "one", several[i], text, half), &n);
        const char *second = tempdir_read(
            dir, tempdir_packed(dir, "two", several[i], text + half, half),
            &m);
        ka_linereader *reader;
        int lines;

        memcpy(first + n, second, m);
        reader = open_path(dir, tempdir_bytes(dir, "both", first, n + m));
        assert_int_equal(read_numbered(reader, &lines), APR_EOF);
        assert_int_equal(lines, 2000);
    }
}

static void test_linereader__nothing_in_it_is_the_end(void **state)
{
    tempdir *dir = *state;
    ka_line line;

    assert_int_equal(
        ka_linereader_next(open_path(dir, tempdir_text(dir, "log", "")),
                           &line),
        APR_EOF);
    for (size_t i = 0; i < 4; i++) {
        ka_linereader *reader =
            open_path(dir, tempdir_packed(dir, "log", filters[i], "", 0));

        assert_int_equal(ka_linereader_next(reader, &line), APR_EOF);
        assert_string_equal(ka_linereader_error(reader), "");
    }
}

/* What was decoded before the cut is delivered, in order and whole. */
static void test_linereader__cut_compressed_file(void **state)
{
    tempdir *dir = *state;
    size_t length;
    const char *text = numbered(dir, 300000, &length);

    for (size_t i = 0; i < 4; i++) {
        size_t n;
        const char *packed = tempdir_read(
            dir, tempdir_packed(dir, "log", filters[i], text, length), &n);
        const char *path =
            tempdir_bytes(dir, "cut.log", packed, n - n / 4);
        ka_linereader *reader = open_path(dir, path);
        ka_line line;
        int lines;

        assert_int_equal(read_numbered(reader, &lines), APR_EGENERAL);
        assert_true(lines < 300000);
        /* xz and zstd keep this text in one block. */
        assert_true(lines > 100000 || i > 1);
        assert_non_null(strstr(ka_linereader_error(reader), path));
        assert_int_equal(ka_linereader_next(reader, &line), APR_EGENERAL);
    }
}

static void test_linereader__a_few_bytes_of_a_compressed_file(void **state)
{
    tempdir *dir = *state;

    for (size_t i = 0; i < 4; i++) {
        size_t n;
        const char *packed = tempdir_read(
            dir, tempdir_packed(dir, "log", filters[i], "line\n", 5), &n);

        for (size_t cut = 1; cut < n; cut++) {
            ka_linereader *reader =
                open_path(dir, tempdir_bytes(dir, "cut", packed, cut));
            ka_line line;

            while (ka_linereader_next(reader, &line) == APR_SUCCESS) {
                assert_true(line.length <= cut || line.length == 4);
            }
        }
    }
}

static void test_linereader__bytes_behind_the_compressed_data(void **state)
{
    static const struct {
        const char *bytes;
        apr_status_t status;
    } cases[] = {{"plain line\n", APR_EGENERAL}, {"\0\0\0\0\0\0\0", APR_EOF}};
    tempdir *dir = *state;

    for (size_t i = 0; i < 2; i++) {
        size_t n;
        char *packed = tempdir_read(
            dir, tempdir_packed(dir, "log", "gzip", "line 000001\n", 12), &n);
        ka_linereader *reader;
        int lines;

        memcpy(packed + n, cases[i].bytes, 7);
        reader = open_path(dir, tempdir_bytes(dir, "more", packed, n + 7));
        assert_int_equal(read_numbered(reader, &lines), cases[i].status);
        assert_int_equal(lines, 1);
        assert_int_equal(!!strstr(ka_linereader_error(reader), "gzip"),
                         cases[i].status == APR_EGENERAL);
    }
}

/* gzip data inside text is bytes like others. */
static void test_linereader__compressed_data_behind_text(void **state)
{
    tempdir *dir = *state;
    size_t n;
    const char *packed = tempdir_read(
        dir, tempdir_packed(dir, "log", "gzip", "line\n", 5), &n);
    char *all = apr_palloc(dir->pool, n + 5);
    ka_linereader *reader;

    memcpy(all, "text\n", 5);
    memcpy(all + 5, packed, n);
    reader = open_path(dir, tempdir_bytes(dir, "mixed", all, n + 5));
    assert_string_equal(ka_linereader_compression(reader), "plain");
    assert_line(reader, "text", 4, false);
}

static void test_linereader__refuses_what_it_cannot_read(void **state)
{
    tempdir *dir = *state;
    const char *missing = apr_pstrcat(dir->pool, dir->path, "/none", NULL);
    ka_linereader *reader = NULL;
    const char *error = NULL;

    assert_true(APR_STATUS_IS_ENOENT(
        ka_linereader_open(&reader, &error, missing, dir->pool)));
    assert_non_null(strstr(error, missing));
    assert_non_null(strstr(error, "check the path"));
    assert_int_equal(ka_linereader_open(&reader, &error, dir->path, dir->pool),
                     APR_EINVAL);
    assert_non_null(strstr(error, "directory"));
    assert_null(reader);
}

static void test_linereader__pipe(void **state)
{
    tempdir *dir = *state;
    ka_linereader *reader;
    int64_t taken, size;
    int ends[2];

    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], "a\nb\n", 4), 4);
    close(ends[1]);
    reader = open_path(dir, apr_psprintf(dir->pool, "/dev/fd/%d", ends[0]));
    assert_line(reader, "a", 1, false);
    ka_linereader_position(reader, &taken, &size);
    assert_int_equal(taken, 4);
    assert_int_equal(size, -1);
    assert_line(reader, "b", 1, false);
    close(ends[0]);
}

static void test_linereader__standard_input(void **state)
{
    tempdir *dir = *state;
    const char *path = tempdir_text(dir, "log", "from stdin\n");
    const int saved = dup(STDIN_FILENO);
    const int fd = open(path, O_RDONLY);
    ka_linereader *reader;
    ka_line line;

    assert_true(fd >= 0 && dup2(fd, STDIN_FILENO) == STDIN_FILENO);
    close(fd);
    reader = open_path(dir, "-");
    assert_line(reader, "from stdin", 10, false);
    assert_int_equal(ka_linereader_next(reader, &line), APR_EOF);
    if (saved >= 0) {
        dup2(saved, STDIN_FILENO);
        close(saved);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        tempdir_test(test_linereader__ends_are_not_part_of_lines),
        tempdir_test(test_linereader__last_line_without_end_is_cut),
        tempdir_test(test_linereader__numbers_count_every_line),
        tempdir_test(test_linereader__overlong_lines_are_skipped_whole),
        tempdir_test(test_linereader__overlong_last_line_is_cut_too),
        tempdir_test(test_linereader__every_compression),
        tempdir_test(test_linereader__plain_spans_many_blocks),
        tempdir_test(test_linereader__members_follow_one_another),
        tempdir_test(test_linereader__nothing_in_it_is_the_end),
        tempdir_test(test_linereader__cut_compressed_file),
        tempdir_test(test_linereader__a_few_bytes_of_a_compressed_file),
        tempdir_test(test_linereader__bytes_behind_the_compressed_data),
        tempdir_test(test_linereader__compressed_data_behind_text),
        tempdir_test(test_linereader__refuses_what_it_cannot_read),
        tempdir_test(test_linereader__pipe),
        tempdir_test(test_linereader__standard_input),
    };

    return unit_main(tests);
}
