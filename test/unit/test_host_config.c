/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "host/config_text.h"
#include "hosttree.h"

/* ---- text -------------------------------------------------------------------
 */

static void test_text__lines_join_and_count_as_httpd(void **state)
{
    static const char text[] = "  a \\\n  b\nc\\\r\nd\r\n\n# x \\\ne\nf\\";
    static const struct {
        const char *line;
        int number, first;
    } cases[] = {{"a   b", 2, 1},
                 {"cd", 4, 3},
                 {"", 5, 5},
                 {"# x e", 7, 6},
                 {"f\\", 8, 8}};
    ka_cfg_lines lines;
    size_t i;

    ka_cfg_lines_init(&lines, text, sizeof(text) - 1);
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(ka_cfg_line_next(&lines, *state), cases[i].line);
        assert_int_equal(lines.number, cases[i].number);
        assert_int_equal(lines.first, cases[i].first);
    }
    assert_null(ka_cfg_line_next(&lines, *state));
}

static void test_text__nul_ends_a_line(void **state)
{
    static const char text[] = "ab\0cd\nef";
    ka_cfg_lines lines;

    ka_cfg_lines_init(&lines, text, sizeof(text) - 1);
    assert_string_equal(ka_cfg_line_next(&lines, *state), "ab");
    assert_string_equal(ka_cfg_line_next(&lines, *state), "ef");
    assert_null(ka_cfg_line_next(&lines, *state));
}

static void test_text__words(void **state)
{
    static const struct {
        const char *line, *words;
    } cases[] = {{"", ""},
                 {"  a  b ", "a|b"},
                 {"\"a b\" 'c \"d'", "a b|c \"d"},
                 {"\"%h \\\"%r\\\" \\\\ \\n\" x", "%h \"%r\" \\ \\n|x"},
                 {"a\"b c", "a\"b|c"},
                 {"\"open end", "open end"},
                 {"a\\\\b", "a\\b"},
                 {"\"\" x", "|x"},
                 {"\"a\\", "a\\"}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_string_equal(
            apr_array_pstrcat(*state, ka_cfg_words(cases[i].line, *state), '|'),
            cases[i].words);
    }
}

static void test_text__variables(void **state)
{
    apr_table_t *vars = apr_table_make(*state, 2);
    apr_table_t *environment = apr_table_make(*state, 2);
    const char *undefined;

    apr_table_set(vars, "A", "${B}");
    apr_table_set(environment, "B", "b");
    apr_table_set(environment, "A", "no");
    assert_string_equal(
        ka_cfg_expand(&undefined, "x${A}${B}$y${", vars, environment, *state),
        "x${B}b$y${");
    assert_null(undefined);
    /* Define knows no case, the environment does. */
    assert_string_equal(
        ka_cfg_expand(&undefined, "${a}${b}", vars, environment, *state),
        "${B}${b}");
    assert_string_equal(undefined, "b");
}

static void test_text__times(void **state)
{
    static const struct {
        const char *text;
        int64_t us; /* -1: refused */
    } cases[] = {{"5", 5000000},
                 {"5s", 5000000},
                 {"400ms", 400000},
                 {"2mi", 120000000},
                 {"1h", 3600000000},
                 {"0", 0},
                 {"-1", -1},
                 {"", -1},
                 {"x", -1},
                 {"5x", -1},
                 {"99999999999999h", -1}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t us = -1;

        assert_int_equal(ka_cfg_time(&us, cases[i].text),
                         cases[i].us < 0 ? APR_EINVAL : APR_SUCCESS);
        assert_int_equal(us, cases[i].us);
    }
}

/* ---- roots ------------------------------------------------------------------
 */

static void test_root__links_stay_below_it(void **state)
{
    hosttree *tree = *state;
    const char *text;

    hosttree_text(tree, "/data/a", "inside");
    hosttree_link(tree, "/etc/absolute", "/data/a");
    hosttree_link(tree, "/etc/out", "../../../../../../data/a");
    hosttree_link(tree, "/etc/loop", "loop");
    hosttree_link(tree, "/dir", "/data");
    assert_int_equal(
        ka_root_read(&text, NULL, tree->root, "/etc/absolute", tree->pool), 0);
    assert_string_equal(text, "inside");
    assert_int_equal(
        ka_root_read(&text, NULL, tree->root, "/etc/out", tree->pool), 0);
    assert_int_equal(
        ka_root_read(&text, NULL, tree->root, "/dir/../data/./a", tree->pool),
        0);
    assert_int_equal(
        ka_root_read(&text, NULL, tree->root, "/etc/loop", tree->pool), ELOOP);
    assert_int_equal(
        ka_root_read(&text, NULL, tree->root, "relative", tree->pool),
        APR_EINVAL);
    assert_int_equal(ka_root_read(&text, NULL, tree->root, "/data", tree->pool),
                     APR_EINVAL);
    assert_string_equal(ka_root_link(tree->root, "/etc/loop", tree->pool),
                        "loop");
    assert_null(ka_root_link(tree->root, "/data/a", tree->pool));
}

static void test_root__waits_for_no_fifo(void **state)
{
    hosttree *tree = *state;
    const char *text;

    assert_int_equal(mkfifo(hosttree_path(tree, "/fifo"), 0600), 0);
    assert_int_equal(ka_root_read(&text, NULL, tree->root, "/fifo", tree->pool),
                     APR_EINVAL);
}

/* ---- conditions -------------------------------------------------------------
 */

static const struct {
    const char *condition;
    bool holds;
} conditions[] = {{"IfModule ssl_module", true},
             {"ifmodule mod_ssl.c", true},
             {"IfModule !mod_ssl.c", false},
             {"IfModule \"ssl_module\"", true},
             {"IfModule Ssl_Module", false},
             {"IfModule prefork.c", true},
             {"IfModule mpm_prefork_module", true},
             {"IfModule event.c", false},
             {"IfModule !mpm_event_module", true},
             {"IfModule http_core.c", true},
             {"IfDefine SET", true},
             {"IfDefine FROM_D", true},
             {"IfDefine !UNSET", true},
             {"IfDefine GONE", false},
             {"IfVersion 2.4.62", true},
             {"IfVersion = 2.4.61", false},
             {"IfVersion == 2.4.62", true},
             {"IfVersion > 2.4", true},
             {"IfVersion >= 2.4.62", true},
             {"IfVersion < 2.4.7", false},
             {"IfVersion <= 2.4.100", true},
             {"IfVersion !< 2.3", true},
             {"IfVersion ! 2.4.62", false},
             {"IfVersion ~ ^2\\.4\\.6", true},
             {"IfVersion = /^2.5/", false},
             {"IfVersion ~ Debian", true},
             {"IfVersion >= x", false},
             {"IfVersion % 2", false},
             {"IfFile test.conf", true},
             {"IfFile \"/etc/httpd/none\"", false},
             {"IfDirective KeepAlive", true},
             {"IfDirective RewriteEngine", false},
             {"IfSection VirtualHost", true},
             {"IfSection Macro", false}};

static void test_read__conditions(void **state)
{
    hosttree *tree = *state;
    apr_array_header_t *defines =
        apr_array_make(tree->pool, 1, sizeof(const char *));
    ka_cfg_input input = {
        .defines = defines, .version = {2, 4, 62}, .vendor = " (Debian)"};
    size_t i;

    APR_ARRAY_PUSH(defines, const char *) = "FROM_D";
    for (i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
        char *name = apr_pstrmemdup(tree->pool, conditions[i].condition,
                                    strcspn(conditions[i].condition, " "));
        const char *shown = hosttree_show(hosttree_read_as(
            tree,
            apr_psprintf(tree->pool,
                         "LoadModule ssl_module modules/mod_ssl.so\n"
                         "LoadModule mpm_prefork_module x.so\n"
                         "Define SET\nDefine GONE\nUnDefine GONE\n"
                         "<%s>\nInside on\n</%s>\nAfter",
                         conditions[i].condition, name),
            &input));

        if (strcmp(shown, conditions[i].holds ? "Inside on; After" : "After")) {
            fail_msg("<%s>: %s", conditions[i].condition, shown);
        }
    }
}

static void test_read__what_does_not_hold_is_skipped_whole(void **state)
{
    ka_cfg_tree *tree =
        hosttree_read(*state, "<IfModule no.c>\n"
                              "<IfModule no.c>\nA\n</IfModule>\n"
                              "<IfDefine X>\nB\n</IfDefine>\n"
                              "Define Y\nInclude none\n"
                              "</IfModule>\n"
                              "<IfDefine Y>\nC\n</IfDefine>\n"
                              "<IfModule core.c>\n"
                              "<Directory />\nD\n</Directory>\n"
                              "</IfModule>\nE");

    assert_string_equal(hosttree_show(tree), "<Directory />; D; E");
    assert_int_equal(ka_cfg_node_at(tree, tree->nodes->nelts - 1)->parent,
                     KA_CFG_TOP);
    assert_string_equal(hosttree_problems(tree), "");
}

static void test_read__version_that_is_unknown_counts_as_2_4(void **state)
{
    assert_string_equal(hosttree_show(hosttree_read(
                            *state, "<IfVersion < 2.4>\nA\n</IfVersion>\n"
                                    "<IfVersion >= 2.4>\nB\n</IfVersion>")),
                        "B");
}

/* ---- Define, Include, Macro -------------------------------------------------
 */

static void test_read__defines_last_from_their_line_on(void **state)
{
    ka_cfg_tree *tree = hosttree_read(*state, "A ${X}\nDefine X \"1 2\"\n"
                                              "B ${X}\nUnDefine X\nC ${X}\n");

    assert_string_equal(hosttree_show(tree), "A ${X}; B 1 2; C ${X}");
    assert_has(hosttree_problems(tree),
               "/etc/httpd/test.conf:1: ${X} is not defined");
}

static void test_read__includes_in_order(void **state)
{
    static const struct {
        const char *include, *shown;
    } cases[] = {{"Include conf.d/*.conf", "B; C"},
                 {"Include /etc/httpd/conf.d/[b].conf", "B"},
                 {"IncludeOptional conf.d/?.conf", "B; C"},
                 {"Include conf.d", "Hidden; B; C; X; D"},
                 {"Include conf.d/", "Hidden; B; C; X; D"},
                 {"Include */*.conf", "B; C"},
                 {"Include /etc/*/conf.d/sub/d.conf", "D"},
                 {"Include ../httpd/conf.d/./b.conf", "B"},
                 {"Include linked", "B"},
                 {"IncludeOptional none/*.conf", ""},
                 {"IncludeOptional none", ""}};
    hosttree *tree = *state;
    size_t i;

    hosttree_text(tree, "/etc/httpd/conf.d/c.conf", "C");
    hosttree_text(tree, "/etc/httpd/conf.d/b.conf", "B");
    hosttree_text(tree, "/etc/httpd/conf.d/.h.conf", "Hidden");
    hosttree_text(tree, "/etc/httpd/conf.d/no.txt", "X");
    hosttree_text(tree, "/etc/httpd/conf.d/sub/d.conf", "D");
    hosttree_link(tree, "/etc/httpd/linked", "/etc/httpd/conf.d/b.conf");
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_cfg_tree *read = hosttree_read(tree, cases[i].include);

        if (strcmp(hosttree_show(read), cases[i].shown)) {
            fail_msg("%s: %s", cases[i].include, hosttree_show(read));
        }
        assert_string_equal(hosttree_problems(read), "");
    }
}

static void test_read__missing_include_is_named(void **state)
{
    assert_has(hosttree_problems(hosttree_read(*state, "\nInclude none.conf")),
               "/etc/httpd/test.conf:2: cannot read /etc/httpd/none.conf");
    assert_has(hosttree_problems(hosttree_read(*state, "Include none/*.conf")),
               "/etc/httpd/test.conf:1: nothing matches "
               "/etc/httpd/none/*.conf");
}

static void test_read__include_within_a_section_belongs_to_it(void **state)
{
    hosttree *tree = *state;
    ka_cfg_tree *read;

    hosttree_text(tree, "/etc/httpd/in.conf", "A\n</VirtualHost>\n<If x>\nB\n");
    read = hosttree_read(tree, "<VirtualHost *:80>\nInclude in.conf\nC\n"
                               "</VirtualHost>\nD\n");
    assert_string_equal(hosttree_show(read), "<VirtualHost *:80>; A; <If x>; "
                                             "B; C; D");
    assert_int_equal(ka_cfg_node_at(read, 5)->parent, 0);
    assert_int_equal(ka_cfg_node_at(read, 6)->parent, KA_CFG_TOP);
    assert_has(hosttree_problems(read),
               "/etc/httpd/in.conf:2: </VirtualHost> closes nothing");
    assert_has(hosttree_problems(read), "/etc/httpd/in.conf: <If> is not "
                                        "closed");
}

static void test_read__macros(void **state)
{
    ka_cfg_tree *tree = hosttree_read(
        *state, "<Macro VH $n $name @q>\nServerName $name \\\n$n\nX @q\n"
                "</Macro>\nUse vh 1 \"a b\" q\nUSE VH 2 c d\n"
                "UndefMacro vh\nUse vh 1 2 3\n"
                "<Macro self>\nA\nUse self\n</Macro>\nUse self\nUse self 1\n");

    assert_string_equal(hosttree_show(tree),
                        "ServerName a b 1; X \"q\"; ServerName c 2; X \"d\"; "
                        "A");
    /* Lines are those of the definition. */
    assert_int_equal(ka_cfg_node_at(tree, 1)->line, 3);
    assert_int_equal(ka_cfg_node_at(tree, 2)->line, 4);
    assert_int_equal(tree->problems->nelts, 3);
}

static void test_read__server_root_moves(void **state)
{
    hosttree *tree = *state;

    hosttree_text(tree, "/srv/x.conf", "X");
    assert_string_equal(
        hosttree_show(hosttree_read(tree, "ServerRoot \"/srv\"\n"
                                          "Include x.conf\n")),
        "X");
}

static void test_read__command_line_comes_first_and_last(void **state)
{
    hosttree *tree = *state;
    apr_array_header_t *before = apr_array_make(tree->pool, 1, sizeof(char *));
    apr_array_header_t *after = apr_array_make(tree->pool, 1, sizeof(char *));
    ka_cfg_input input = {.before = before, .after = after};
    ka_cfg_tree *read;

    APR_ARRAY_PUSH(before, const char *) = "Define X";
    APR_ARRAY_PUSH(after, const char *) = "KeepAlive Off";
    read = hosttree_read_as(tree, "<IfDefine X>\nA\n</IfDefine>", &input);
    assert_string_equal(hosttree_show(read), "A; KeepAlive Off");
    assert_string_equal(ka_cfg_origin(read, ka_cfg_node_at(read, 2)),
                        "command line -c:1");
}

static void test_read__missing_file_names_the_option(void **state)
{
    hosttree *tree = *state;
    ka_cfg_input input = {
        .root = tree->root, .server_root = "/etc", .file = "none.conf"};
    ka_cfg_tree *out;
    const char *error = NULL;

    assert_int_equal(ka_cfg_read(&out, &error, &input, tree->pool), APR_ENOENT);
    assert_has(error, "/etc/none.conf");
    assert_has(error, "--httpd-config FILE");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        unit_test(test_text__lines_join_and_count_as_httpd),
        unit_test(test_text__nul_ends_a_line),
        unit_test(test_text__words),
        unit_test(test_text__variables),
        unit_test(test_text__times),
        hosttree_test(test_root__links_stay_below_it),
        hosttree_test(test_root__waits_for_no_fifo),
        hosttree_test(test_read__conditions),
        hosttree_test(test_read__what_does_not_hold_is_skipped_whole),
        hosttree_test(test_read__version_that_is_unknown_counts_as_2_4),
        hosttree_test(test_read__defines_last_from_their_line_on),
        hosttree_test(test_read__includes_in_order),
        hosttree_test(test_read__missing_include_is_named),
        hosttree_test(test_read__include_within_a_section_belongs_to_it),
        hosttree_test(test_read__macros),
        hosttree_test(test_read__server_root_moves),
        hosttree_test(test_read__command_line_comes_first_and_last),
        hosttree_test(test_read__missing_file_names_the_option)};

    return unit_main(tests);
}
