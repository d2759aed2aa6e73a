/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "commands/keep.h"
#include "tempdir.h"

#include <sys/stat.h>

static const char *name_in(const tempdir *dir, const char *name)
{
    return apr_pstrcat(dir->pool, dir->path, "/", name, NULL);
}

static ka_keep plan(tempdir *dir)
{
    ka_keep keep;

    assert_int_equal(ka_keep_plan(&keep, name_in(dir, "f"), dir->pool),
                     APR_SUCCESS);
    return keep;
}

static void assert_holds(tempdir *dir, const char *name, const char *text)
{
    size_t n;
    const char *bytes = tempdir_read(dir, name_in(dir, name), &n);

    assert_int_equal(n, strlen(text));
    assert_memory_equal(bytes, text, n);
}

static void test_keep__nothing_there(void **state)
{
    ka_keep keep = plan(*state);

    assert_null(keep.name);
    assert_int_equal(ka_keep_do(&keep, ((tempdir *)*state)->pool), 0);
}

static void test_keep__each_content_once(void **state)
{
    static const struct {
        const char *text, *name;
        bool already;
    } cases[] = {{"one", "f.bak", false},   {"two", "f.bak.1", false},
                 {"one", "f.bak", true},    {"", "f.bak.2", false},
                 {"two", "f.bak.1", true},  {"thre", "f.bak.3", false}};
    tempdir *dir = *state;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_keep keep;

        remove(name_in(dir, "f"));
        tempdir_text(dir, "f", cases[i].text);
        keep = plan(dir);
        assert_string_equal(keep.name, name_in(dir, cases[i].name));
        assert_int_equal(keep.already, cases[i].already);
        assert_int_equal(ka_keep_do(&keep, dir->pool), APR_SUCCESS);
        assert_holds(dir, "f", cases[i].text);
        assert_holds(dir, cases[i].name, cases[i].text);
    }
    assert_holds(dir, "f.bak", "one");
    assert_holds(dir, "f.bak.1", "two");
}

/* Another one was quicker. */
static void test_keep__never_over_another(void **state)
{
    tempdir *dir = *state;
    ka_keep keep;

    tempdir_text(dir, "f", "one");
    keep = plan(dir);
    tempdir_text(dir, "f.bak", "other");
    assert_int_not_equal(ka_keep_do(&keep, dir->pool), APR_SUCCESS);
    assert_holds(dir, "f.bak", "other");
}

static void test_keep__what_cannot_be_read_is_not_lost(void **state)
{
    tempdir *dir = *state;
    ka_keep keep;

    assert_int_equal(mkdir(name_in(dir, "f"), 0700), 0);
    assert_int_not_equal(
        ka_keep_plan(&keep, name_in(dir, "f"), dir->pool), APR_SUCCESS);
    assert_int_equal(rmdir(name_in(dir, "f")), 0);
    tempdir_text(dir, "f", "one");
    assert_int_equal(mkdir(name_in(dir, "f.bak"), 0700), 0);
    keep = plan(dir);
    assert_string_equal(keep.name, name_in(dir, "f.bak.1"));
}

#define FIRST                                                                  \
    "# httpd-mpm.conf\n# Written by kaadvisor 1 on 2026\n# Verdict:  x\n"      \
    "#           y\n"

static void test_keep__same_settings(void **state)
{
    static const char text[] = FIRST "# Apply:    1. a\n#           2. b\n"
                                     "# Go back:  c\n#              d\n"
                                     "# Note:     e\n\nKeepAlive On\n";
    static const struct {
        const char *text;
        bool same;
    } cases[] = {
        {text, true},
        {"# httpd-mpm.conf\n# Written by kaadvisor 2 on 2027\n"
         "# Verdict:  x\n#           y\n# Apply:    1. a\n"
         "# Go back:  other\n#              command\n#           more\n"
         "# Note:     e\n\nKeepAlive On\n",
         true},
        {FIRST "# Note:     e\n\nKeepAlive On\n", true},
        {FIRST "# Note:     e\n\nKeepAlive Off\n", false},
        {FIRST "# Note:     f\n\nKeepAlive On\n", false},
        {FIRST "#           z\n# Note:     e\n\nKeepAlive On\n", false},
        {FIRST "# Note:     e\n\nKeepAlive On\n# own remark\n", false},
        {FIRST "# Note:     e\n\n", false},
        {"", false}};
    tempdir *dir = *state;
    const char *a = tempdir_text(dir, "a", text);
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const char *b = tempdir_text(dir, "b", cases[i].text);

        assert_int_equal(ka_keep_same_conf(a, b, dir->pool), cases[i].same);
        assert_int_equal(ka_keep_same_conf(b, a, dir->pool), cases[i].same);
    }
    assert_false(ka_keep_same_conf(a, name_in(dir, "none"), dir->pool));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        tempdir_test(test_keep__nothing_there),
        tempdir_test(test_keep__each_content_once),
        tempdir_test(test_keep__never_over_another),
        tempdir_test(test_keep__what_cannot_be_read_is_not_lost),
        tempdir_test(test_keep__same_settings)};

    return unit_main(tests);
}
