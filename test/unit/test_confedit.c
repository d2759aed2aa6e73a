/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "advice/confedit.h"
#include "hosttree.h"

#define MAIN "/etc/httpd/test.conf"

/* Files of a root by the names that the tree has, links followed. */
typedef struct reader {
    hosttree *tree;
    apr_hash_t *texts;
} reader;

static const ka_conf_text *read_text(void *context, const char *file)
{
    reader *r = context;
    const char *name = NULL;
    ka_conf_text *text;

    if (ka_root_resolve(&name, r->tree->root, file, r->tree->pool)) {
        return NULL;
    }
    name = realpath(name, NULL);
    if (!name) {
        return NULL;
    }
    text = apr_hash_get(r->texts, name, APR_HASH_KEY_STRING);
    if (text) {
        free((char *)name);
        return text;
    }
    text = apr_pcalloc(r->tree->pool, sizeof(*text));
    text->name = apr_pstrdup(r->tree->pool, name + strlen(r->tree->root));
    free((char *)name);
    if (ka_root_read(&text->bytes, &text->length, r->tree->root, file,
                     r->tree->pool)) {
        return NULL;
    }
    apr_hash_set(r->texts,
                 apr_pstrcat(r->tree->pool, r->tree->root, text->name, NULL),
                 APR_HASH_KEY_STRING, text);
    return text;
}

static ka_confedit edit(hosttree *tree, const char *conf,
                        const ka_advice *advice, size_t n)
{
    reader files = {.tree = tree, .texts = apr_hash_make(tree->pool)};
    ka_cfg_tree *own = hosttree_read(tree, conf);
    ka_confedit_input input = {
        .tree = own,
        .own = own,
        .server = ka_cfg_interpret(own, KA_MPM_EVENT, "test"),
        .main_file = MAIN,
        .advice = advice,
        .advice_n = n,
        .mpm = KA_MPM_EVENT,
        .read = read_text,
        .context = &files};
    ka_confedit out;

    ka_confedit_make(&out, &input, tree->pool);
    return out;
}

/* "file:first-last:lines" each. */
static const char *show(const ka_confedit *out, apr_pool_t *pool)
{
    const char *text = "";
    int i;

    for (i = 0; i < out->edits->nelts; i++) {
        const ka_edit *e = &APR_ARRAY_IDX(out->edits, i, ka_edit);

        text = apr_psprintf(pool, "%s%s:%d-%d:%s", text,
                            strcmp(e->text->name, MAIN) ? e->text->name : "",
                            e->first, e->last, e->lines);
    }
    return text;
}

#define ROW(name, value)                                                       \
    {                                                                          \
        .mpm = KA_MPM_EVENT, .directive = name, .to = value,                   \
        .applies = "reload"                                                    \
    }

static void test_confedit__one_directive(void **state)
{
    static const struct {
        const char *conf;
        ka_advice row;
        const char *edits;
    } cases[] = {
        {"KeepAliveTimeout 5\n", ROW("KeepAliveTimeout", "7"),
         ":1-1:KeepAliveTimeout 7\n"},
        /* the same in other words, or by default */
        {"KeepAliveTimeout 7s\n", ROW("KeepAliveTimeout", "7"), ""},
        {"KeepAlive oN\n", ROW("KeepAlive", "On"), ""},
        {"Listen 80\n", ROW("KeepAliveTimeout", "5"), ""},
        /* the last one holds; names, blanks, quotes and case stay */
        {"KeepAliveTimeout 7\nKEEPALIVETIMEOUT\t \"9\" \n",
         ROW("KeepAliveTimeout", "7"), ":2-2:KEEPALIVETIMEOUT\t 7\n"},
        {"# a \\\nMaxClients 3\n  MaxClients 9\n", ROW("MaxRequestWorkers", "8"),
         ":3-3:  MaxClients 8\n"},
        {"KeepAliveTimeout \\\n \\\n 9\nListen 80\n",
         ROW("KeepAliveTimeout", "7"), ":1-3:KeepAliveTimeout 7\n"},
        {"KeepAlive\\\nTimeout 9\n", ROW("KeepAliveTimeout", "7"), ""},
        {"Listen 80\r\nKeepAlive Off\r\n", ROW("KeepAlive", "On"),
         ":2-2:KeepAlive On\r\n"},
        {"KeepAlive Off", ROW("KeepAlive", "On"), ":1-1:KeepAlive On\n"},
        /* only what is obeyed */
        {"<IfModule !core.c>\nKeepAlive Off\n</IfModule>\n"
         "<VirtualHost *>\nKeepAlive Off\n</VirtualHost>\n",
         ROW("KeepAlive", "On"), ""},
        {"<IfModule core.c>\n KeepAlive Off\n</IfModule>\n",
         ROW("KeepAlive", "On"), ":2-2: KeepAlive On\n"},
        /* absent: behind its kind, else at the end */
        {"StartServers 1\n\tThreadsPerChild 9\nKeepAlive On\nListen 80\n",
         ROW("ServerLimit", "9"), ":3-2:\tServerLimit 9\n"},
        {"StartServers 1\nKeepAlive On\nListen 80\n",
         ROW("KeepAliveTimeout", "9"), ":3-2:KeepAliveTimeout 9\n"},
        {"StartServers 1\nListen 80\n", ROW("KeepAliveTimeout", "9"),
         ":2-1:KeepAliveTimeout 9\n"},
        {"Listen 80\n", ROW("KeepAliveTimeout", "9"),
         ":2-1:\nKeepAliveTimeout 9\n"},
        {"KeepAlive On\nListen 80", ROW("ServerLimit", "9"),
         ":3-2:\n<IfModule mpm_event_module>\n    ServerLimit 9\n"
         "</IfModule>\n"},
        /* other rows */
        {"KeepAlive Off\n", {.mpm = KA_MPM_PREFORK, .directive = "KeepAlive",
                             .to = "On"}, ""},
        {"KeepAlive Off\n", {.mpm = KA_MPM_N, .directive = "KeepAlive",
                             .to = "On"}, ":1-1:KeepAlive On\n"},
        {"KeepAlive Off\n", {.mpm = KA_MPM_N, .directive = "KeepAlive"}, ""},
        {"FcgidMaxProcesses 9\n", ROW("FcgidMaxProcesses", "5"),
         ":1-1:FcgidMaxProcesses 5\n"}};
    hosttree *tree = *state;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_confedit out = edit(tree, cases[i].conf, &cases[i].row, 1);

        assert_string_equal(show(&out, tree->pool), cases[i].edits);
    }
}

static void test_confedit__files_and_lines_in_order(void **state)
{
    static const ka_advice rows[] = {
        ROW("KeepAliveTimeout", "7"),   ROW("MaxRequestWorkers", "128"),
        ROW("ThreadsPerChild", "64"),   ROW("KeepAlive", "On"),
        ROW("MaxConnectionsPerChild", "9")};
    hosttree *tree = *state;
    ka_confedit out;

    hosttree_text(tree, "/etc/httpd/available/mpm.conf",
                  "MaxRequestWorkers 10\n# x\nThreadsPerChild 5\n");
    hosttree_path(tree, "/etc/httpd/on/x");
    hosttree_link(tree, "/etc/httpd/on/mpm.conf", "../available/mpm.conf");
    out = edit(tree,
               "KeepAlive Off\nInclude on/*.conf\nKeepAliveTimeout 9\n", rows,
               5);
    assert_string_equal(show(&out, tree->pool),
                        ":1-1:KeepAlive On\n:3-3:KeepAliveTimeout 7\n"
                        "/etc/httpd/available/mpm.conf:1-1:"
                        "MaxRequestWorkers 128\n"
                        "/etc/httpd/available/mpm.conf:3-3:"
                        "ThreadsPerChild 64\n"
                        "/etc/httpd/available/mpm.conf:4-3:"
                        "MaxConnectionsPerChild 9\n");
    assert_int_equal(out.notes->nelts, 0);
}

/* What is put before a line comes before what that line becomes. */
static void test_confedit__added_before_a_line_that_changes(void **state)
{
    static const ka_advice rows[] = {
        ROW("KeepAlive", "On"), ROW("ServerLimit", "9"),
        ROW("MaxConnectionsPerChild", "5"), ROW("StartServers", "2")};
    hosttree *tree = *state;
    ka_confedit out = edit(tree, "StartServers 1\nKeepAlive Off\n", rows, 4);

    assert_string_equal(show(&out, tree->pool),
                        ":1-1:StartServers 2\n:2-1:ServerLimit 9\n"
                        ":2-1:MaxConnectionsPerChild 5\n"
                        ":2-2:KeepAlive On\n");
}

static void test_confedit__restart_only_if_such_a_line_changes(void **state)
{
    ka_advice row = ROW("ServerLimit", "9");
    ka_confedit out;

    row.applies = "restart";
    out = edit(*state, "ServerLimit 8\n", &row, 1);
    assert_true(out.restart);
    out = edit(*state, "Listen 80\n", &row, 1);
    assert_true(out.restart);
    out = edit(*state, "ServerLimit 9\n", &row, 1);
    assert_false(out.restart);
}

static void test_confedit__what_a_person_must_decide(void **state)
{
    static const struct {
        const char *conf;
        ka_advice row;
        const char *note;
    } cases[] = {
        {"Define T 9\nKeepAliveTimeout ${T}\n", ROW("KeepAliveTimeout", "7"),
         "${T} from " MAIN ":1, Define T 9"},
        {"Define T 9\nDefine T 8\nKeepAliveTimeout \\\n${T}\n",
         ROW("KeepAliveTimeout", "7"), "${T} from " MAIN ":2, Define T 8"},
        {"KeepAliveTimeout ${X}\n", ROW("KeepAliveTimeout", "7"),
         "environment"},
        {"<Macro w $s>\nKeepAlive $s\n</Macro>\nUse w Off\n",
         ROW("KeepAlive", "On"), "macro"},
        {"Listen 80\n",
         {.mpm = KA_MPM_EVENT, .directive = "ProxyPass", .to = "/ max=9",
          .change = true},
         "ProxyPass / max=9 is left to be set by hand"},
        {"Listen 80\n",
         {.mpm = KA_MPM_N, .directive = "KeepAlive", .to = "On\nEvil",
          .change = true},
         "left to be set by hand"},
        {"<VirtualHost *>\nServerName a.example\n</VirtualHost>\n",
         {.mpm = KA_MPM_N, .directive = "KeepAliveTimeout", .to = "3",
          .change = true, .vhost = "b.example"},
         "no <VirtualHost> is called so: KeepAliveTimeout 3 in the "
         "<VirtualHost> of b.example"}};
    hosttree *tree = *state;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_confedit out = edit(tree, cases[i].conf, &cases[i].row, 1);

        assert_string_equal(show(&out, tree->pool), "");
        assert_int_equal(out.notes->nelts, 1);
        assert_has(APR_ARRAY_IDX(out.notes, 0, const char *), cases[i].note);
    }
}

/* Of http and https, by name or alias; only inside, only their own. */
static void test_confedit__virtual_hosts(void **state)
{
    static const char conf[] = "KeepAliveTimeout 9\n"         /* 1 */
                               "<VirtualHost *:80>\n"
                               "  ServerName A.example\n"     /* 3 */
                               "  KeepAliveTimeout 9\n"
                               "  KeepAliveTimeout 8\n"       /* 5 */
                               "</VirtualHost>\n"
                               "<VirtualHost *:443>\n"        /* 7 */
                               "\tServerName a.example:443\n"
                               "</VirtualHost>\n"             /* 9 */
                               "<VirtualHost *:81>\n"
                               "</VirtualHost>\n"             /* 11 */
                               "<VirtualHost *:82>\n"
                               "\n"                           /* 13 */
                               "ServerName b.example\n"
                               "ServerAlias c a.example\n"
                               "</VirtualHost>\n";
    ka_advice row = {.mpm = KA_MPM_N, .directive = "KeepAliveTimeout",
                     .to = "3", .change = true, .vhost = "a.example"};
    hosttree *tree = *state;
    ka_confedit out = edit(tree, conf, &row, 1);

    assert_string_equal(show(&out, tree->pool),
                        ":5-5:  KeepAliveTimeout 3\n"
                        ":8-7:\tKeepAliveTimeout 3\n"
                        ":13-12:    KeepAliveTimeout 3\n");
    assert_int_equal(out.notes->nelts, 0);
}

static void test_confedit__a_file_that_sections_share(void **state)
{
    ka_advice row = {.mpm = KA_MPM_N, .directive = "KeepAliveTimeout",
                     .to = "3", .change = true, .vhost = "a.example"};
    hosttree *tree = *state;
    ka_confedit out;

    hosttree_text(tree, "/etc/httpd/part.conf", "KeepAliveTimeout 9\n");
    out = edit(tree, "<VirtualHost *>\nServerName a.example\n"
                     "Include part.conf\n</VirtualHost>\n",
               &row, 1);
    assert_string_equal(show(&out, tree->pool), "");
    assert_int_equal(out.notes->nelts, 1);
    assert_has(APR_ARRAY_IDX(out.notes, 0, const char *),
               "included by other sections");
}

/* Edits of a file that has changed since it was read would hit other lines. */
static void test_confedit__lines_that_are_no_longer_there(void **state)
{
    static const ka_advice row = ROW("KeepAlive", "On");
    hosttree *tree = *state;
    reader files = {.tree = tree, .texts = apr_hash_make(tree->pool)};
    ka_cfg_tree *own = hosttree_read(tree, "Listen 80\nKeepAlive Off\n");
    ka_confedit_input input = {
        .tree = own, .own = own,
        .server = ka_cfg_interpret(own, KA_MPM_EVENT, "test"),
        .main_file = MAIN, .advice = &row, .advice_n = 1,
        .mpm = KA_MPM_EVENT, .read = read_text, .context = &files};
    static const char *const texts[] = {"", "KeepAlive Off\n",
                                        "KeepAlive Off\nListen 80\n",
                                        "Listen 80\nKeepAliveTimeout 3\n"};
    size_t i;

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        ka_confedit out;

        hosttree_text(tree, MAIN, texts[i]);
        files.texts = apr_hash_make(tree->pool);
        ka_confedit_make(&out, &input, tree->pool);
        assert_string_equal(show(&out, tree->pool), "");
        assert_int_equal(out.notes->nelts, 1);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        hosttree_test(test_confedit__one_directive),
        hosttree_test(test_confedit__files_and_lines_in_order),
        hosttree_test(test_confedit__added_before_a_line_that_changes),
        hosttree_test(test_confedit__restart_only_if_such_a_line_changes),
        hosttree_test(test_confedit__what_a_person_must_decide),
        hosttree_test(test_confedit__virtual_hosts),
        hosttree_test(test_confedit__a_file_that_sections_share),
        hosttree_test(test_confedit__lines_that_are_no_longer_there)};

    return unit_main(tests);
}
