/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Files cut into chunks: every line once, in the chunk in which it begins. */
#include "tempdir.h"

#include <errno.h>

#include "sources/textchunks.h"

static ka_textchunks *open_chunks(tempdir *dir, const char *path,
                                  size_t chunk, size_t depth)
{
    ka_linereader *reader = NULL;
    const char *error = "";

    if (ka_linereader_open(&reader, &error, path, dir->pool) != APR_SUCCESS) {
        fail_msg("%s", error);
    }
    return ka_textchunks_open(reader, NULL, 0,
                              ka_textbuffers_make(chunk, dir->pool), depth,
                              dir->pool);
}

/* What the lines of a chunk are, each ended by |, overlong ones as #, cut
 * ones with a ~. */
static const char *lines_of(tempdir *dir, const ka_textchunk *chunk,
                            char *buffer)
{
    const char *all = "";
    ka_text text;
    size_t at = 0;

    assert_int_equal(ka_textchunk_load(&text, chunk, buffer), APR_SUCCESS);
    while (at < text.stop) {
        ka_line line;

        ka_text_line(&text, &at, &line);
        all = apr_pstrcat(dir->pool, all,
                          line.overlong ? "#"
                                        : apr_pstrmemdup(dir->pool, line.text,
                                                         line.length),
                          line.cut && !line.overlong ? "~" : "", "|", NULL);
    }
    return all;
}

/* Chunks, each ended by a slash. */
static const char *chunks_of(tempdir *dir, const char *path, size_t chunk,
                             size_t depth)
{
    ka_textchunks *chunks = open_chunks(dir, path, chunk, depth);
    char *buffer = apr_palloc(dir->pool, chunk + 1 + KA_TEXTCHUNK_TAIL);
    const char *all = "";
    ka_textchunk next;
    apr_status_t status;
    int64_t taken;

    while ((status = ka_textchunks_next(chunks, &next)) == APR_SUCCESS) {
        all = apr_pstrcat(dir->pool, all, lines_of(dir, &next, buffer), "/",
                          NULL);
        ka_textchunks_done(chunks, &next);
    }
    assert_int_equal(status, APR_EOF);
    assert_int_equal(ka_textchunks_close(chunks, &taken), APR_EOF);
    return all;
}

static void test_textchunks__lines_belong_to_where_they_begin(void **state)
{
    static const struct {
        const char *text;
        size_t chunk;
        const char *chunks;
    } cases[] = {
        {"", 4, ""},
        {"a\n", 4, "a|/"},
        {"a", 4, "a~|/"},
        {"abc\ndef\n", 4, "abc|/def|/"},
        {"abcd\nef\n", 4, "abcd|/ef|/"},
        {"abcdefghi\nj\n", 4, "abcdefghi|//j|/"},
        {"a\n\n\r\nb\n", 4, "a|||/b|/"},
        {"abcdefg\r\nh", 3, "abcdefg|///h~|/"},
        {"\n\n\n", 1, "|/|/|/"},
    };
    tempdir *dir = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *path = tempdir_text(dir, "log", cases[i].text);

        assert_string_equal(chunks_of(dir, path, cases[i].chunk, 0),
                            cases[i].chunks);
    }
}

/* Decoded text is cut behind the last line of each so many bytes. */
static void test_textchunks__decoded_text_is_cut_at_lines(void **state)
{
    static const struct {
        const char *text;
        size_t chunk;
        const char *chunks;
    } cases[] = {
        {"", 4, ""},
        {"a\n", 4, "a|/"},
        {"a", 4, "a~|/"},
        {"abc\ndef\n", 4, "abc|/def|/"},
        {"abcd\nef\n", 4, "abcd|ef|/"},
        {"a\nb\nc\nd\n", 5, "a|b|/c|d|/"},
        {"abcdefghi\nj\n", 4, "abcdefghi|j|/"},
    };
    tempdir *dir = *state;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *path =
            tempdir_packed(dir, "log", "gzip", cases[i].text,
                           strlen(cases[i].text));

        for (size_t depth = 0; depth < 4; depth += 2) {
            assert_string_equal(
                chunks_of(dir, path, cases[i].chunk, depth),
                cases[i].chunks);
        }
    }
}

static const char *without_slashes(tempdir *dir, const char *text)
{
    char *copy = apr_pstrdup(dir->pool, text), *to = copy;

    for (; *text; text++) {
        if (*text != '/') {
            *to++ = *text;
        }
    }
    *to = '\0';
    return copy;
}

/* A line of any length takes a bounded buffer; what follows it is whole. */
static void test_textchunks__overlong_lines(void **state)
{
    static const size_t lengths[] = {
        KA_LINE_MAX + 1, KA_LINE_MAX + 2, KA_LINE_MAX + 3, 200000, 1000000};
    static const size_t chunks[] = {1000, 65536, 262144};
    tempdir *dir = *state;

    for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        char *text = apr_palloc(dir->pool, lengths[i] + 20);
        const char *plain, *packed;
        size_t n = 2;

        memcpy(text, "a\n", 2);
        memset(text + n, 'x', lengths[i]);
        n += lengths[i];
        n += (size_t)sprintf(text + n, "\r\nb\n");
        plain = tempdir_bytes(dir, "log", text, n);
        packed = tempdir_packed(dir, "log.gz", "gzip", text, n);
        for (size_t k = 0; k < sizeof(chunks) / sizeof(chunks[0]); k++) {
            assert_string_equal(
                without_slashes(dir, chunks_of(dir, plain, chunks[k], 0)),
                "a|#|b|");
            assert_string_equal(
                without_slashes(dir, chunks_of(dir, packed, chunks[k], 2)),
                "a|#|b|");
        }
    }
}

static void test_textchunks__reading_that_fails(void **state)
{
    const ka_textchunk chunk = {.fd = -1, .to = 10, .size = 10,
                                .at_line = true};
    char *buffer = apr_palloc(((tempdir *)*state)->pool,
                              10 + 1 + KA_TEXTCHUNK_TAIL);
    ka_text text;

    assert_int_equal(ka_textchunk_load(&text, &chunk, buffer),
                     APR_FROM_OS_ERROR(EBADF));
}

/* A decoder stops where nobody takes its chunks, and can be ended there. */
static void test_textchunks__ended_early(void **state)
{
    tempdir *dir = *state;
    const size_t length = 3000000;
    char *text = apr_palloc(dir->pool, length);
    const char *path;

    for (size_t i = 0; i < length; i++) {
        text[i] = i % 50 == 49 ? '\n' : 'x';
    }
    path = tempdir_packed(dir, "log.gz", "gzip", text, length);
    for (size_t taken_n = 0; taken_n < 4; taken_n++) {
        ka_textchunks *chunks = open_chunks(dir, path, 1000, 4);
        ka_textchunk next;
        int64_t taken;

        for (size_t i = 0; i < taken_n; i++) {
            assert_int_equal(ka_textchunks_next(chunks, &next), APR_SUCCESS);
            assert_int_equal(next.length, 1000);
            ka_textchunks_done(chunks, &next);
        }
        assert_int_equal(ka_textchunks_close(chunks, &taken), APR_SUCCESS);
        assert_true(taken > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        tempdir_test(test_textchunks__lines_belong_to_where_they_begin),
        tempdir_test(test_textchunks__decoded_text_is_cut_at_lines),
        tempdir_test(test_textchunks__overlong_lines),
        tempdir_test(test_textchunks__reading_that_fails),
        tempdir_test(test_textchunks__ended_early),
    };

    return unit_main(tests);
}
