/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "render/udiff.h"
#include "unit.h"

#include <apr_strings.h>

static const char *print(const char *old, const ka_edit *edits, size_t n,
                         bool color, apr_pool_t *pool)
{
    ka_conf_text text = {"/etc/a.conf", old, strlen(old)};
    ka_edit *own = apr_pmemdup(pool, edits, n * sizeof(*own));
    char *out = NULL, *copy;
    size_t length, i;
    FILE *stream = open_memstream(&out, &length);

    assert_non_null(stream);
    for (i = 0; i < n; i++) {
        own[i].text = &text;
    }
    assert_int_equal(ka_udiff_print(stream, own, n, color, pool),
                     APR_SUCCESS);
    fclose(stream);
    copy = apr_pstrdup(pool, out);
    free(out);
    return copy;
}

#define HEAD "--- /etc/a.conf\tnow\n+++ /etc/a.conf\tproposed\n"
#define TEN "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"

static void test_udiff__cases(void **state)
{
    static const struct {
        const char *old;
        ka_edit edits[3];
        size_t n;
        const char *hunks;
    } cases[] = {
        {"a\n", {{NULL, 1, 1, "b\n"}}, 1, "@@ -1 +1 @@\n-a\n+b\n"},
        {"", {{NULL, 1, 0, "b\n"}}, 1, "@@ -0,0 +1 @@\n+b\n"},
        {"a\n", {{NULL, 1, 1, ""}}, 1, "@@ -1 +0,0 @@\n-a\n"},
        {TEN,
         {{NULL, 5, 5, "five\nand\n"}},
         1,
         "@@ -2,7 +2,8 @@\n 2\n 3\n 4\n-5\n+five\n+and\n 6\n 7\n 8\n"},
        /* six lines between: one hunk; seven: two */
        {TEN,
         {{NULL, 1, 1, "x\n"}, {NULL, 8, 8, "y\n"}},
         2,
         "@@ -1,10 +1,10 @@\n-1\n+x\n 2\n 3\n 4\n 5\n 6\n 7\n-8\n+y\n 9\n "
         "10\n"},
        {TEN,
         {{NULL, 1, 1, "x\n"}, {NULL, 9, 9, "y\n"}},
         2,
         "@@ -1,4 +1,4 @@\n-1\n+x\n 2\n 3\n 4\n"
         "@@ -6,5 +6,5 @@\n 6\n 7\n 8\n-9\n+y\n 10\n"},
        /* the second hunk counts what the first one has put in */
        {TEN,
         {{NULL, 2, 1, "x\ny\n"}, {NULL, 11, 10, "z\n"}},
         2,
         "@@ -1,4 +1,6 @@\n 1\n+x\n+y\n 2\n 3\n 4\n"
         "@@ -8,3 +10,4 @@\n 8\n 9\n 10\n+z\n"},
        /* several lines become one, then one is added in the same place */
        {TEN,
         {{NULL, 9, 10, "x\n"}, {NULL, 11, 10, "y\n"}},
         2,
         "@@ -6,5 +6,5 @@\n 6\n 7\n 8\n-9\n-10\n+x\n+y\n"},
        /* no line feed at the end */
        {"a\nb",
         {{NULL, 3, 2, "c\n"}},
         1,
         "@@ -1,2 +1,3 @@\n a\n-b\n\\ No newline at end of file\n+b\n+c\n"},
        {"a\nb",
         {{NULL, 1, 1, "x\n"}},
         1,
         "@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of file\n"},
        {"a\nb",
         {{NULL, 2, 2, "x\n"}},
         1,
         "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+x\n"}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(
            print(cases[i].old, cases[i].edits, cases[i].n, false, *state),
            apr_pstrcat(*state, HEAD, cases[i].hunks, NULL));
    }
}

static void test_udiff__color(void **state)
{
    static const ka_edit edit = {NULL, 1, 1, "b\n"};

    assert_string_equal(
        print("a\nc\n", &edit, 1, true, *state),
        "\033[1m--- /etc/a.conf\tnow\033[0m\n"
        "\033[1m+++ /etc/a.conf\tproposed\033[0m\n"
        "\033[36m@@ -1,2 +1,2 @@\033[0m\n"
        "\033[31m-a\033[0m\n\033[32m+b\033[0m\n c\n");
}

static void test_udiff__name_that_no_header_holds(void **state)
{
    static const char *const names[] = {"/a\nb", "/a\tb", "\"a\"", ""};
    size_t i;

    for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        ka_conf_text text = {names[i], "a\n", 2};
        ka_edit edit = {&text, 1, 1, "b\n"};

        assert_int_equal(ka_udiff_print(stdout, &edit, 1, false, *state),
                         APR_EINVAL);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        unit_test(test_udiff__cases), unit_test(test_udiff__color),
        unit_test(test_udiff__name_that_no_header_holds)};

    return unit_main(tests);
}
