/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Static or dynamic by extension: the quick look at the request line's end
 * finds what the search of the whole path finds. */
#include "unit.h"

#include "sources/log_content.h"

#define ROUNDS 200000

/* A request line in a block of just its size. */
typedef struct made_line {
    char *text;
    ka_log_request request;
} made_line;

static made_line line_make(const char *path, size_t n, const char *rest)
{
    const size_t length = 4 + n + strlen(rest);
    made_line made = { malloc(length), { 0 } };
    ka_logline line = { 0 };

    assert_non_null(made.text);
    memcpy(made.text, "GET ", 4);
    memcpy(made.text + 4, path, n);
    memcpy(made.text + 4 + n, rest, strlen(rest));
    line.request = (ka_str){ made.text, length };
    ka_log_request_read(&made.request, KA_LF_BIT(KA_LF_REQUEST), &line);
    return made;
}

/* The same request as %m and %U would tell it. */
static ka_log_request by_parts(const ka_log_request *request)
{
    ka_log_request parts = *request;

    parts.line = (ka_str){ NULL, 0 };
    return parts;
}

static void check(const ka_content *content, const char *path, size_t n,
                  const char *rest)
{
    made_line made = line_make(path, n, rest);
    const ka_log_request parts = by_parts(&made.request);
    static const int statuses[] = { 200, 304 };

    for (size_t i = 0; i < 2; i++) {
        if (ka_content_by_request(content, &made.request, statuses[i])
            != ka_content_by_request(content, &parts, statuses[i])) {
            fail_msg("GET %.*s%s", (int)n, path, rest);
        }
    }
    free(made.text);
}

/* Names that begin like extensions, from few bytes, so that all kinds of
 * paths come up: no slash, dots in front of it, parameters, no name. */
static size_t next_path(char *path, size_t room, uint64_t *seed)
{
    static const char *const pieces[] = { "/", ".", ";", "css", "JS", "png",
                                          "woff2", "a", "7z", "geojsonx", "9",
                                          ".jpg", "/x.", "\xff" };
    size_t n = 0;

    *seed = *seed * UINT64_C(6364136223846793005)
            + UINT64_C(1442695040888963407);
    for (size_t left = (*seed >> 60) & 7, i = 0; i < left; i++) {
        const char *piece = pieces[(*seed >> (8 + 6 * i)) % 14];

        if (n + strlen(piece) <= room) {
            memcpy(path + n, piece, strlen(piece));
            n += strlen(piece);
        }
    }
    return n;
}

static void test_log_content__quick_look_finds_the_same(void **state)
{
    static const char *const rests[] = { " HTTP/1.1", " HTTP/1.0", "?v=1.2/x "
                                         "HTTP/1.1", "", "? HTTP/2", "  " };
    const ka_content *content = ka_content_make(*state);
    uint64_t seed = 3;
    char path[64];

    for (size_t i = 0; i < ROUNDS; i++) {
        check(content, path, next_path(path, sizeof(path), &seed),
              rests[i % 6]);
    }
}

static void test_log_content__by_extension(void **state)
{
    static const struct {
        const char *path;
        ka_class cls;
    } cases[] = {
        { "/a.css", KA_CLASS_STATIC },      { "/A.CSS", KA_CLASS_STATIC },
        { "/7z", KA_CLASS_DYNAMIC },        { "/a.7z", KA_CLASS_STATIC },
        { "/a.", KA_CLASS_DYNAMIC },        { "/a.zst", KA_CLASS_STATIC },
        { "/a.png/b", KA_CLASS_DYNAMIC },   { "/a.png;v=1", KA_CLASS_STATIC },
        { "/a;v.png", KA_CLASS_DYNAMIC },   { "/;x/a.png", KA_CLASS_STATIC },
        { "/a.jpegjpeg", KA_CLASS_DYNAMIC }, { "/a.xhtml", KA_CLASS_STATIC },
        { "/a.jpegs", KA_CLASS_DYNAMIC },   { "/a.pn", KA_CLASS_DYNAMIC },
        { "/a/long/way/to/a/file.jpg", KA_CLASS_STATIC },
        { "/a/long/way/to/a/file-of-a-long-name.jpg", KA_CLASS_STATIC },
        { "/a.jpg/long/way/to/a/program", KA_CLASS_DYNAMIC },
    };
    const ka_content *content = ka_content_make(*state);

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        made_line made = line_make(cases[i].path, strlen(cases[i].path),
                                   " HTTP/1.1");

        if (ka_content_by_request(content, &made.request, 200)
            != cases[i].cls) {
            fail_msg("%s", cases[i].path);
        }
        check(content, cases[i].path, strlen(cases[i].path), " HTTP/1.1");
        free(made.text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        unit_test(test_log_content__quick_look_finds_the_same),
        unit_test(test_log_content__by_extension),
    };

    return unit_main(tests);
}
