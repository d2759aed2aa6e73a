/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Golden outputs: test/data/golden/<name>, from the repository's root.  With
 * KA_GOLDEN_UPDATE=1 the files are written anew, to be read in the diff. */
#ifndef KA_TEST_GOLDEN_H
#define KA_TEST_GOLDEN_H

#include <apr_strings.h>
#include "unit.h"

#define GOLDEN_DIR "test/data/golden/"

static inline char *golden_read(const char *path, apr_pool_t *pool)
{
    FILE *in = fopen(path, "rb");
    size_t size = 1 << 20, n;
    char *text;

    if (!in) {
        return NULL;
    }
    text = apr_palloc(pool, size);
    n = fread(text, 1, size - 1, in);
    fclose(in);
    text[n] = '\0';
    return text;
}

/* The number of the first line in which two texts differ. */
static inline int golden_line(const char *a, const char *b)
{
    int line = 1;

    for (; *a && *a == *b; a++, b++) {
        line += *a == '\n';
    }
    return line;
}

static inline void golden_check(const char *name, const char *text,
                                apr_pool_t *pool)
{
    const char *path = apr_pstrcat(pool, GOLDEN_DIR, name, NULL);
    const char *expected;

    if (getenv("KA_GOLDEN_UPDATE")) {
        FILE *out = fopen(path, "wb");

        assert_non_null(out);
        fputs(text, out);
        assert_int_equal(fclose(out), 0);
        return;
    }
    expected = golden_read(path, pool);
    if (!expected) {
        fail_msg("%s cannot be read; run from the repository's root", path);
    }
    else if (strcmp(expected, text)) {
        fail_msg("%s differs from line %d on; KA_GOLDEN_UPDATE=1 rewrites it",
                 path, golden_line(expected, text));
    }
}

/* Longest line of a text, in bytes. */
static inline size_t golden_width(const char *text)
{
    size_t widest = 0;

    while (*text) {
        size_t n = strcspn(text, "\n");

        widest = n > widest ? n : widest;
        text += n + (text[n] != '\0');
    }
    return widest;
}

#endif
