/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * commands/conf.c with a httpd that answers as a test wants it. */
#include "commands/conf.h"
#include "hosttree.h"
#include "report_fixture.h"

#define OLD "KeepAlive Off\n"

/* Refuses what is in $REFUSE of its command line. */
#define SCRIPT                                                                 \
    "#!/bin/sh\n"                                                              \
    "case \"$*\" in\n"                                                         \
    "*\"$REFUSE\"*) echo \"AH1: Syntax error on line 3 of $5:\" >&2\n"         \
    "    echo 'no such thing: $REFUSE' >&2; exit 1;;\n"                        \
    "esac\n"

typedef struct writer {
    hosttree *tree;
    ka_host host;
    ka_httpd httpd;
    ka_options options;
    ka_report *report;
    const char *path;
} writer;

static writer *make(hosttree *tree, const char *refuse)
{
    writer *w = apr_pcalloc(tree->pool, sizeof(*w));
    apr_table_t *environment = apr_table_make(tree->pool, 1);

    w->tree = tree;
    w->path = hosttree_path(tree, "/srv/a.conf");
    hosttree_text(tree, "/bin/httpd", SCRIPT);
    assert_int_equal(chmod(hosttree_path(tree, "/bin/httpd"), 0755), 0);
    assert_int_equal(chmod(tree->root, 0755), 0);
    apr_table_set(environment, "PATH", "/usr/bin:/bin");
    apr_table_set(environment, "REFUSE", refuse);
    w->httpd = (ka_httpd){.files = "",
                          .binary = hosttree_path(tree, "/bin/httpd"),
                          .ran = true,
                          .config_file = "/etc/main.conf",
                          .environment = environment,
                          .own = hosttree_read(tree, "Listen 80\n")};
    w->httpd.tree = w->httpd.own;
    w->httpd.server = ka_cfg_interpret(w->httpd.own, KA_MPM_PREFORK, "test");
    ka_options_init(&w->options);
    w->options.quiet = true;
    w->options.output_file = w->path;
    w->host = (ka_host){.httpd = &w->httpd, .pool = tree->pool};
    w->report = &fixture_prefork(tree->pool)->report;
    return w;
}

static int run(writer *w)
{
    return ka_conf_write(&w->host, &w->options, w->report, w->tree->pool);
}

/* What a file beside it holds; NULL: it is not there. */
static const char *holds(const writer *w, const char *end)
{
    const char *text = NULL;

    ka_root_read(&text, NULL, "", apr_pstrcat(w->tree->pool, w->path, end, NULL),
                 w->tree->pool);
    return text;
}

static int files(const writer *w)
{
    apr_array_header_t *names = NULL;

    assert_int_equal(ka_root_list(&names, w->tree->root, "/srv",
                                  w->tree->pool), APR_SUCCESS);
    return names->nelts;
}

static void test_conf_write__accepted(void **state)
{
    writer *w = make(*state, "nothing");

    assert_int_equal(run(w), KA_EXIT_DONE);
    assert_has(holds(w, ""), "KeepAliveTimeout 3\n");
    assert_has(holds(w, ""), "Include \"");
    assert_int_equal(files(w), 1);
}

static void test_conf_write__what_was_there_is_kept(void **state)
{
    writer *w = make(*state, "nothing");

    hosttree_text(w->tree, "/srv/a.conf", OLD);
    assert_int_equal(run(w), KA_EXIT_DONE);
    assert_has(holds(w, ""), "KeepAliveTimeout 3\n");
    assert_has(holds(w, ""), "a.conf.bak ");
    assert_string_equal(holds(w, ".bak"), OLD);
    assert_int_equal(files(w), 2);
    /* Once more: nothing new, so nothing is kept either. */
    assert_int_equal(run(w), KA_EXIT_DONE);
    assert_int_equal(files(w), 2);
}

/* The settings, or the configuration before them. */
static void test_conf_write__refused(void **state)
{
    static const char *const refused[] = {"Include", "-t"};
    size_t i;

    for (i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        writer *w = make(*state, refused[i]);

        hosttree_text(w->tree, "/srv/a.conf", OLD);
        assert_int_equal(run(w), KA_EXIT_FAILED);
        assert_string_equal(holds(w, ""), OLD);
        assert_has(holds(w, ".rejected"), "KeepAliveTimeout 3\n");
        assert_int_equal(files(w), 2);
    }
}

static void test_conf_write__not_asked(void **state)
{
    writer *w = make(*state, "Include");

    w->httpd.ran = false;
    assert_int_equal(run(w), KA_EXIT_DONE);
    assert_has(holds(w, ""), "KeepAliveTimeout 3\n");
    assert_int_equal(files(w), 1);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        hosttree_test(test_conf_write__accepted),
        hosttree_test(test_conf_write__what_was_there_is_kept),
        hosttree_test(test_conf_write__refused),
        hosttree_test(test_conf_write__not_asked)};

    return unit_main(tests);
}
