/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Which logs of a configuration are read, and with what timeout. */
#include "wholehost.h"

#define MUCH 200000
#define LITTLE 300
#define COMBINED "\"%h %l %u %t \\\"%r\\\" %>s %b\""
#define PORT "\"%h %{remote}p %t %D \\\"%r\\\" %>s %b\""
#define K "\"%h %t %k \\\"%r\\\" %>s %b\""
#define SLOT "\"%h %P %t %D \\\"%r\\\" %>s %b\""

static ka_host *chosen(void **state, const char *conf)
{
    host_server(*state, conf);
    return host_look(*state, host_options(*state));
}

/* ---- the format ---------------------------------------------------------- */

static void test_choice__the_format_that_tells_most(void **state)
{
    hosttree *tree = *state;
    ka_host *host;

    host_log(tree, "/l/combined", MUCH, 0);
    host_log(tree, "/l/k", MUCH, 0);
    host_log(tree, "/l/port", MUCH, 0);
    host = chosen(state, "CustomLog /l/combined " COMBINED "\nCustomLog /l/k " K
                         "\nCustomLog /l/port " PORT "\n");
    assert_string_equal(host_sources(host), "/l/port");
    assert_string_equal(host->options.log_format,
                        "%h %{remote}p %t %D \"%r\" %>s %b");
    assert_has(hosttree_lines(host->found, tree->pool),
               "traffic: 1 file of /l/port (/etc/httpd/test.conf:3)");
}

static void test_choice__much_comes_before_rich(void **state)
{
    hosttree *tree = *state;

    host_log(tree, "/l/combined", LITTLE, 0);
    host_log(tree, "/l/combined.1", MUCH, 1);
    host_log(tree, "/l/port", LITTLE, 0);
    assert_string_equal(
        host_sources(chosen(state, "CustomLog /l/combined " COMBINED
                                   "\nCustomLog /l/port " PORT "\n")),
        "/l/combined.1 /l/combined");
}

static void test_choice__a_slot_tells_by_mpm(void **state)
{
    static const struct {
        const char *load, *source;
    } cases[] = {{LOAD("prefork"), "/l/slot"}, {LOAD("event"), "/l/k"}};
    size_t i;

    for (i = 0; i < 2; i++) {
        hosttree *tree;
        void *own = NULL;
        const char *conf;

        assert_int_equal(hosttree_make(&own), 0);
        tree = own;
        host_log(tree, "/l/slot", MUCH, 0);
        host_log(tree, "/l/k", MUCH, 0);
        conf = apr_pstrcat(tree->pool, cases[i].load, "CustomLog /l/slot " SLOT
                           "\nCustomLog /l/k " K "\n", NULL);
        assert_string_equal(host_sources(chosen(&own, conf)),
                            cases[i].source);
        hosttree_remove(&own);
    }
    (void)state;
}

static void test_choice__no_format_that_can_be_read(void **state)
{
    hosttree *tree = *state;
    ka_options *options = host_options(tree);
    ka_host *host;
    int status;

    host_log(tree, "/l/odd", MUCH, 0);
    host_log(tree, "/l/empty", 0, 0);
    host_server(tree, "CustomLog /l/odd \"%{Foo}i %\"\nCustomLog /l/empty "
                      COMBINED "\nCustomLog \"|/bin/logger -t x\" " COMBINED
                      "\nCustomLog /l/none " COMBINED "\n");
    host = host_look_as(&status, tree, options);
    assert_int_equal(status, KA_EXIT_FAILED);
    assert_int_equal(host->options.source_n, 0);
    assert_has(host_warning(host, "log_not_read"), "/l/odd");
    assert_int_equal(host->warnings->nelts >= 4, 1);
    options->log_format = "%h %t \"%r\"";
    assert_string_equal(host_sources(host_look(tree, options)), "/l/odd");
}

/* ---- files of a log ------------------------------------------------------ */

static void test_choice__rotated_ones_oldest_first(void **state)
{
    hosttree *tree = *state;
    ka_options *options = host_options(tree);

    host_log(tree, "/l/a", LITTLE, 0);
    host_log(tree, "/l/a.1", MUCH, 1);
    host_log(tree, "/l/a.2.gz", LITTLE, 2);
    host_log(tree, "/l/a-20261101.zst", LITTLE, 9);
    host_log(tree, "/l/a.3.gz", 0, 3); /* nothing in it */
    host_log(tree, "/l/another", MUCH, 1);
    host_server(tree, "CustomLog /l/a " COMBINED "\n");
    assert_string_equal(host_sources(host_look(tree, options)),
                        "/l/a-20261101.zst /l/a.2.gz /l/a.1 /l/a");
    /* What was written last before --since holds nothing after it. */
    options->since_us = (int64_t)(time(NULL) - 3 * 86400 / 2) * 1000000;
    assert_string_equal(host_sources(host_look(tree, options)),
                        "/l/a.1 /l/a");
}

static void test_choice__pipes_lead_to_their_files(void **state)
{
    static const struct {
        const char *target, *sources;
    } cases[] = {
        {"|/usr/bin/rotatelogs /l/s 86400", "/l/s.1790000000 /l/s.1790086400"},
        {"|/usr/bin/rotatelogs /l/t.%Y-%m-%d 86400",
         "/l/t.2026-11-29 /l/t.2026-11-30"},
        {"|/usr/bin/cronolog /l/%Y/%m/u.%d", "/l/2026/10/u.31 /l/2026/11/u.01"},
        {"|/bin/rotatelogs -n 3 /l/n 10M", "/l/n.1 /l/n"}};
    hosttree *tree = *state;
    size_t i;

    host_log(tree, "/l/s.1790000000", MUCH, 1);
    host_log(tree, "/l/s.1790086400", MUCH, 0);
    host_log(tree, "/l/t.2026-11-29", MUCH, 1);
    host_log(tree, "/l/t.2026-11-30", MUCH, 0);
    host_log(tree, "/l/2026/10/u.31", MUCH, 1);
    host_log(tree, "/l/2026/11/u.01", MUCH, 0);
    host_log(tree, "/l/n", MUCH, 0);
    host_log(tree, "/l/n.1", MUCH, 1);
    host_server(tree, "");
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hosttree_text(tree, "/etc/httpd/test.conf",
                      apr_pstrcat(tree->pool, "CustomLog \"",
                                  cases[i].target, "\" " COMBINED "\n",
                                  NULL));
        assert_string_equal(host_sources(host_look(tree, host_options(tree))),
                            cases[i].sources);
    }
}

/* One name for two logs, and links to one file: its lines count once. */
static void test_choice__a_file_is_read_once(void **state)
{
    hosttree *tree = *state;

    host_log(tree, "/l/a", MUCH, 0);
    assert_string_equal(
        host_sources(chosen(
            state, "<VirtualHost *:80>\nServerName a\nCustomLog /l/a " COMBINED
                   "\n</VirtualHost>\n<VirtualHost *:80>\nServerName b\n"
                   "CustomLog /l/a " COMBINED "\n</VirtualHost>\n")),
        "/l/a");
}

/* ---- virtual hosts ------------------------------------------------------- */

#define VHOST(name, more)                                                      \
    "<VirtualHost *:80>\nServerName " name "\n" more "</VirtualHost>\n"

static void test_choice__logs_of_all_virtual_hosts(void **state)
{
    hosttree *tree = *state;
    ka_host *host;

    host_log(tree, "/l/a", MUCH, 0);
    host_log(tree, "/l/b", MUCH, 0);
    host_log(tree, "/l/c", MUCH, 0);
    host = chosen(state, VHOST("a", "CustomLog /l/a " COMBINED "\n")
                         VHOST("b", "CustomLog /l/b " COMBINED "\n")
                         VHOST("c", "CustomLog /l/c " K "\n"));
    /* K tells more, but of a third of the traffic. */
    assert_string_equal(host_sources(host), "/l/a /l/b");
    assert_has(host_warning(host, "vhosts_not_read"), "traffic of c:");
    host_log(tree, "/l/c.1", 3 * MUCH, 1);
    host = host_look(tree, host_options(tree));
    assert_string_equal(host_sources(host), "/l/c.1 /l/c");
    assert_has(host_warning(host, "vhosts_not_read"), "traffic of a, b:");
    hosttree_text(tree, "/etc/httpd/test.conf",
                  VHOST("a", "CustomLog /l/a " COMBINED "\n")
                  VHOST("b", "CustomLog /l/b " COMBINED "\n"));
    host = host_look(tree, host_options(tree));
    assert_string_equal(host_sources(host), "/l/a /l/b");
    assert_has(hosttree_lines(host->found, tree->pool), "2 logs");
    assert_null(host_warning(host, "vhosts_not_read"));
}

static void test_choice__a_virtual_host_counts_once(void **state)
{
    hosttree *tree = *state;

    host_log(tree, "/l/all", MUCH, 0);
    host_log(tree, "/l/part", MUCH, 0);
    host_log(tree, "/l/again", MUCH, 0);
    assert_string_equal(
        host_sources(chosen(state, "GlobalLog /l/all " COMBINED "\n"
                                   VHOST("a", "CustomLog /l/again " COMBINED
                                              "\n"))),
        "/l/all");
}

static void test_choice__whole_logs_before_conditional_ones(void **state)
{
    hosttree *tree = *state;
    ka_host *host;

    host_log(tree, "/l/images", MUCH, 0);
    host_log(tree, "/l/whole", MUCH, 0);
    host = chosen(state, "CustomLog /l/images " COMBINED " env=image\n"
                         "CustomLog /l/whole " COMBINED "\n");
    assert_string_equal(host_sources(host), "/l/whole");
    assert_null(host_warning(host, "log_conditional"));
    hosttree_text(tree, "/etc/httpd/test.conf",
                  "CustomLog /l/images " COMBINED " env=image\n");
    host = host_look(tree, host_options(tree));
    assert_string_equal(host_sources(host), "/l/images");
    assert_has(host_warning(host, "log_conditional"), "env=image");
}

/* ---- T0 ------------------------------------------------------------------ */

static void test_choice__t0_is_that_of_what_is_read(void **state)
{
    hosttree *tree = *state;
    ka_options *options = host_options(tree);
    ka_host *host;

    host_log(tree, "/l/a", MUCH, 0);
    host_server(tree, "KeepAliveTimeout 5\n"
                      VHOST("a", "KeepAliveTimeout 3\nCustomLog /l/a " COMBINED
                                 "\n"));
    host = host_look(tree, options);
    assert_known(host, KA_FACT_TIMEOUT, 3000000, "test.conf:4");
    ka_server_set(&options->server, KA_FACT_TIMEOUT, 9000000, false,
                  "option --timeout");
    host = host_look(tree, options);
    assert_known(host, KA_FACT_TIMEOUT, 9000000, "option --timeout");
}

static void test_choice__keep_alive_has_its_own_place(void **state)
{
    hosttree *tree = *state;
    ka_host *host;

    host_log(tree, "/l/a", MUCH, 0);
    host = chosen(state, "KeepAlive On\nKeepAliveTimeout 5\n"
                         VHOST("a", "CustomLog /l/a " COMBINED "\n"));
    assert_known(host, KA_FACT_KEEP_ALIVE, 1, "test.conf:1");
    assert_known(host, KA_FACT_TIMEOUT, 5000000, "test.conf:2");
    hosttree_text(tree, "/etc/httpd/test.conf",
                  "KeepAliveTimeout 5\n"
                  VHOST("a", "KeepAlive Off\nCustomLog /l/a " COMBINED "\n"));
    host = host_look(tree, host_options(tree));
    assert_known(host, KA_FACT_KEEP_ALIVE, 0, "test.conf:4");
    assert_known(host, KA_FACT_TIMEOUT, 0, "test.conf:4");
}

static void test_choice__timeouts_that_differ(void **state)
{
    hosttree *tree = *state;
    ka_host *host;

    host_log(tree, "/l/a", MUCH, 0);
    host_log(tree, "/l/b", MUCH, 0);
    host = chosen(state,
                  "KeepAliveTimeout 5\n"
                  "<VirtualHost *:80>\nServerName a\nKeepAliveTimeout 3\n"
                  "CustomLog /l/a " COMBINED "\n</VirtualHost>\n"
                  "<VirtualHost *:81>\nServerName b\nKeepAliveTimeout 8\n"
                  "CustomLog /l/b " COMBINED "\n</VirtualHost>\n");
    assert_known(host, KA_FACT_TIMEOUT, 5000000, "test.conf:1");
    assert_has(host_warning(host, "timeouts_differ"), "test.conf:4");
    assert_has(host_warning(host, "timeouts_differ"), "test.conf:9");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        hosttree_test(test_choice__the_format_that_tells_most),
        hosttree_test(test_choice__much_comes_before_rich),
        hosttree_test(test_choice__a_slot_tells_by_mpm),
        hosttree_test(test_choice__no_format_that_can_be_read),
        hosttree_test(test_choice__rotated_ones_oldest_first),
        hosttree_test(test_choice__pipes_lead_to_their_files),
        hosttree_test(test_choice__a_file_is_read_once),
        hosttree_test(test_choice__logs_of_all_virtual_hosts),
        hosttree_test(test_choice__a_virtual_host_counts_once),
        hosttree_test(test_choice__whole_logs_before_conditional_ones),
        hosttree_test(test_choice__t0_is_that_of_what_is_read),
        hosttree_test(test_choice__keep_alive_has_its_own_place),
        hosttree_test(test_choice__timeouts_that_differ)};

    return unit_main(tests);
}
