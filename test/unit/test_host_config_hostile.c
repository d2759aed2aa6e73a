/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "host/config_env.h"
#include "hosttree.h"

/* ---- hostile files ----------------------------------------------------------
 */

static void test_hostile__recursion_ends(void **state)
{
    hosttree *tree = *state;
    ka_cfg_tree *read;

    hosttree_text(tree, "/etc/httpd/a.conf",
                  "A\nInclude a.conf\n"
                  "Include a.conf\n");
    read = hosttree_read(tree, "Include a.conf\nB\n");
    assert_has(hosttree_problems(read), "20 Includes within each other");
    assert_true(read->files->nelts < 50);
}

static void test_hostile__one_file_many_times(void **state)
{
    hosttree *tree = *state;
    char *text = apr_palloc(tree->pool, 20001 * 10 + 1);
    ka_cfg_tree *read;
    int i;

    for (i = 0; i < 20001; i++) {
        memcpy(text + (size_t)i * 10, "Include a\n", 10);
    }
    text[20001 * 10] = '\0';
    hosttree_text(tree, "/etc/httpd/a", "A");
    read = hosttree_read(tree, text);
    assert_has(hosttree_problems(read), "20000 files were included");
    assert_int_equal(read->files->nelts, KA_CFG_FILES_MAX);
}

static void test_hostile__directories_that_hold_themselves(void **state)
{
    hosttree *tree = *state;

    hosttree_text(tree, "/etc/httpd/d/x", "X");
    hosttree_link(tree, "/etc/httpd/d/again", ".");
    hosttree_link(tree, "/etc/httpd/d/more", "../d");
    assert_true(hosttree_read(tree, "Include d\nInclude */*/*/*/*/*/*\n")
                    ->problems->nelts > 0);
}

static void test_hostile__variables_that_double(void **state)
{
    apr_pool_t *pool = ((hosttree *)*state)->pool;
    const char *text = "Define A xxxxxxxxxxxxxxxx\n";
    ka_cfg_tree *read;
    int i;

    for (i = 0; i < 40; i++) {
        text = apr_psprintf(pool, "%sDefine A%d ${A}${A}\nDefine A ${A%d}\n",
                            text, i, i);
    }
    read = hosttree_read(*state, text);
    assert_has(hosttree_problems(read), "longer than 1024 kB");
}

static void test_hostile__macros_that_multiply(void **state)
{
    apr_pool_t *pool = ((hosttree *)*state)->pool;
    const char *text = "<Macro m0>\nX\n</Macro>\n";
    ka_cfg_tree *read;
    int i;

    for (i = 1; i < 19; i++) {
        text = apr_psprintf(pool,
                            "%s<Macro m%d>\nUse m%d\nUse m%d\nUse m%d\nUse "
                            "m%d\n</Macro>\n",
                            text, i, i - 1, i - 1, i - 1, i - 1);
    }
    read = hosttree_read(*state, apr_pstrcat(pool, text, "Use m18\n", NULL));
    assert_has(hosttree_problems(read), "500000 lines");
    assert_true(read->nodes->nelts <= KA_CFG_LINES_MAX);
}

static void test_hostile__depth_of_sections(void **state)
{
    apr_pool_t *pool = ((hosttree *)*state)->pool;
    char *text = apr_palloc(pool, 4 * 100000 + 1);
    int i;

    for (i = 0; i < 100000; i++) {
        memcpy(text + (size_t)i * 4, "<a>\n", 4);
    }
    text[400000] = '\0';
    assert_has(hosttree_problems(hosttree_read(*state, text)),
               "200 sections within each other");
}

static void test_hostile__bytes(void **state)
{
    static const char *const texts[] = {"<",
                                        "<>",
                                        "</",
                                        "</>",
                                        "< >",
                                        "<IfModule",
                                        "<IfModule>\n",
                                        "<IfVersion",
                                        "<IfVersion >\n",
                                        "<IfVersion !>\n",
                                        "<Macro",
                                        "<Macro >",
                                        "</Macro>",
                                        "Use",
                                        "Include",
                                        "Include \"",
                                        "Define",
                                        "UnDefine",
                                        "LoadModule",
                                        "LoadModule a",
                                        "ServerRoot",
                                        "\\",
                                        "\\\n\\\n",
                                        "${",
                                        "$",
                                        "${}",
                                        "Define A\nX ${A}",
                                        "<If${X}>",
                                        "Include [",
                                        "Include \\",
                                        "<IfFile >\n",
                                        "<IfModule !>\nX\n</IfModule>",
                                        "\"\" x",
                                        "''",
                                        "LogFormat",
                                        "CustomLog",
                                        "CustomLog |",
                                        "CustomLog ||",
                                        "ProxyPass",
                                        "BalancerMember",
                                        "<Proxy>\nBalancerMember\n</Proxy>",
                                        "ServerName ://",
                                        "RewriteRule a b [",
                                        "RewriteRule a b [P",
                                        "SetHandler proxy:",
                                        "CustomLog \"|rotatelogs -L\" x",
                                        "CustomLog \"|rotatelogs\" x",
                                        "CustomLog \"|cronolog\" x",
                                        "Listen",
                                        "Protocols",
                                        "ErrorLog"};
    size_t i;

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_non_null(hosttree_server(*state, texts[i]));
    }
}

/* ---- environment files ------------------------------------------------------
 */

static void test_env__forms(void **state)
{
    static const struct {
        const char *text, *name, *value; /* NULL: not set */
    } cases[] = {
        {"A=1", "A", "1"},
        {"export A=1 B=2", "B", "2"},
        {"  export  A=\"x y\" # z", "A", "x y"},
        {"A='$B' ", "A", "$B"},
        {"A=\"$B\"", "A", "b"},
        {"A=${B}c", "A", "bc"},
        {"A=${C:-d}", "A", "d"},
        {"A=${E:-d}", "A", "d"},
        {"A=${E-d}", "A", ""},
        {"A=${B:+${B}2}", "A", "b2"},
        {": ${A:=/x}\nexport A", "A", "/x"},
        {": ${B:=/x}", "B", "b"},
        {"A=${P##/etc/apache2-}", "A", "two"},
        {"A=${P%-two}", "A", "/etc/apache2"},
        {"unset B", "B", NULL},
        {"A=`date`", "A", NULL},
        {"A=$(date)", "A", NULL},
        {"A=1; B=3", "B", "3"},
        {"A=1\\\n2", "A", "12"},
        {"if [ -n \"$B\" ]; then A=1; else A=2; fi", "A", "1"},
        {"if [ -z \"$B\" ]\nthen\nA=1\nelse\nA=2\nfi", "A", "2"},
        {"if [ x = y ]; then\nA=1\nelif [ b = $B ]; then\nA=3\nelse\nA=2\nfi",
         "A", "3"},
        {"if [ \"$B\" != b ]; then\nif [ x = x ]; then\nA=1\nfi\nfi", "A",
         NULL},
        {"if [ -f /x ]; then\n. /x\nA=1\nfi\nA=${A}9", "A", "9"},
        {"A=\"a\\\"b\"", "A", "a\"b"},
        {"A=", "A", ""},
        {"1A=x\n=x\nA", "A", NULL},
        {"A=${", "A", NULL},
        {"A=\"x", "A", "x"},
        {"fi\nfi\nelse\nA=1", "A", "1"}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        apr_table_t *environment = apr_table_make(*state, 4);
        const char *value;

        apr_table_set(environment, "B", "b");
        apr_table_set(environment, "E", "");
        apr_table_set(environment, "P", "/etc/apache2-two");
        ka_cfg_env_read(environment, cases[i].text, *state);
        value = apr_table_get(environment, cases[i].name);
        if (cases[i].value ? !value || strcmp(value, cases[i].value)
                           : value != NULL) {
            fail_msg("%s: %s=%s", cases[i].text, cases[i].name,
                     value ? value : "(unset)");
        }
    }
}

static void test_env__values_that_double_end(void **state)
{
    apr_table_t *environment = apr_table_make(*state, 4);
    const char *text = "A=xxxxxxxxxxxxxxxx\n";
    int i;

    for (i = 0; i < 60; i++) {
        text = apr_pstrcat(*state, text, "A=$A$A\n", NULL);
    }
    for (i = 0; i < 100; i++) {
        text = apr_pstrcat(*state, text, "if [ x ]; then\n", NULL);
    }
    ka_cfg_env_read(environment, text, *state);
    assert_true(strlen(apr_table_get(environment, "A")) <= 8192);
}

static void test_env__block(void **state)
{
    static const char block[] = "A=1\0noequals\0=x\0B=\0C=a=b";
    apr_table_t *environment = apr_table_make(*state, 4);

    ka_cfg_env_block(environment, block, sizeof(block) - 1, *state);
    assert_string_equal(apr_table_get(environment, "A"), "1");
    assert_string_equal(apr_table_get(environment, "B"), "");
    assert_string_equal(apr_table_get(environment, "C"), "a=b");
    assert_int_equal(apr_table_elts(environment)->nelts, 3);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        hosttree_test(test_hostile__recursion_ends),
        hosttree_test(test_hostile__one_file_many_times),
        hosttree_test(test_hostile__directories_that_hold_themselves),
        hosttree_test(test_hostile__variables_that_double),
        hosttree_test(test_hostile__macros_that_multiply),
        hosttree_test(test_hostile__depth_of_sections),
        hosttree_test(test_hostile__bytes),
        unit_test(test_env__forms),
        unit_test(test_env__values_that_double_end),
        unit_test(test_env__block)};

    return unit_main(tests);
}
