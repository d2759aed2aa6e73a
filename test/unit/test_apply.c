/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "commands/apply.h"
#include "hosttree.h"

#define MAIN "/etc/httpd/test.conf"

/* A server with a configuration, and advice that changes a timeout. */
typedef struct site {
    ka_httpd httpd;
    ka_httpd_instance instance;
    ka_report report;
    ka_advice rows[3];
    ka_keep keep;
} site;

static void push(apr_array_header_t *array, const char *text)
{
    APR_ARRAY_PUSH(array, const char *) = text;
}

static site *make(hosttree *tree, const char *conf)
{
    site *s = apr_pcalloc(tree->pool, sizeof(*s));

    s->rows[0] = (ka_advice){.mpm = KA_MPM_EVENT,
                             .directive = "KeepAliveTimeout",
                             .to = "7",
                             .change = true,
                             .applies = "reload"};
    s->rows[1] = (ka_advice){.mpm = KA_MPM_EVENT,
                             .directive = "ServerLimit",
                             .to = "16",
                             .applies = "restart"};
    s->report.advice = s->rows;
    s->rows[2] = (ka_advice){.mpm = KA_MPM_EVENT,
                             .directive = "ThreadLimit",
                             .to = "64"};
    s->report.advice_n = 3;
    s->instance = (ka_httpd_instance){
        .pid = 812,
        .name = "httpd",
        .binary = "/usr/sbin/httpd",
        .files = tree->root,
        .args = {.defines = apr_array_make(tree->pool, 1, sizeof(char *)),
                 .before = apr_array_make(tree->pool, 1, sizeof(char *)),
                 .after = apr_array_make(tree->pool, 1, sizeof(char *))}};
    s->httpd = (ka_httpd){.instance = &s->instance,
                          .files = tree->root,
                          .binary = "/usr/sbin/httpd",
                          .build = {.root = "/etc/httpd", .file = "test.conf"},
                          .config_file = MAIN,
                          .own = hosttree_read(tree, conf)};
    s->httpd.tree = s->httpd.own;
    s->httpd.server = ka_cfg_interpret(s->httpd.own, KA_MPM_EVENT, "test");
    s->keep.path = "/srv/new.conf";
    return s;
}

/* "text | command" of all steps and of the way back, in lines. */
static const char *plan(site *s, hosttree *tree)
{
    const char *text = "";
    size_t i;

    ka_apply_plan(&s->report, &s->httpd, &s->keep, tree->pool);
    for (i = 0; i <= s->report.apply_n; i++) {
        const ka_step *step = i < s->report.apply_n ? &s->report.apply[i]
                                                    : &s->report.go_back;

        text = apr_pstrcat(tree->pool, text, step->text,
                           step->command ? " | " : "",
                           step->command ? step->command : "", "\n", NULL);
    }
    return text;
}

static void test_apply__a_server_with_its_own_arguments(void **state)
{
    site *s = make(*state, "KeepAliveTimeout 9\n");

    s->instance.args.file = "/srv/it's one.conf";
    s->instance.args.server_root = "/srv";
    push(s->instance.args.defines, "SSL");
    assert_string_equal(
        plan(s, *state),
        "Put this line at the end of " MAIN ": | Include \"/srv/new.conf\"\n"
        "Check: | /usr/sbin/httpd -d /srv -D SSL -f '/srv/it'\\''s one.conf' "
        "-t\n"
        "Reload: | /usr/sbin/httpd -d /srv -D SSL -f '/srv/it'\\''s one.conf' "
        "-k graceful\n"
        "take the Include line out again, then 2 and 3.\n");
}

static void test_apply__a_full_restart_only_if_needed(void **state)
{
    site *s = make(*state, "KeepAliveTimeout 9\n");

    s->rows[1].to = "17";
    assert_has(plan(s, *state),
               "Stop, and when it has ended, start; a reload does not change "
               "ServerLimit, ThreadLimit and ListenBacklog. | /usr/sbin/httpd -k stop; while "
               "kill -0 812 2>/dev/null; do sleep 1; done; /usr/sbin/httpd -k "
               "start\n");
}

static void test_apply__by_what_runs_it(void **state)
{
    static const struct {
        const char *cgroup, *define;
        bool container, restart;
        const char *step;
    } cases[] = {
        {"/system.slice/httpd.service", NULL, false, false,
         "Reload: | systemctl reload httpd\n"},
        {"/system.slice/apache2.service", "FOREGROUND", false, true,
         " | systemctl restart apache2\n"},
        /* started by hand, in the unit of a shell */
        {"/system.slice/ssh.service", NULL, false, false,
         "Reload: | /usr/sbin/httpd -k graceful\n"},
        {"/user.slice/session-3.scope", NULL, false, false,
         "Reload: | /usr/sbin/httpd -k graceful\n"},
        {NULL, "FOREGROUND", false, false, "Reload: | kill -USR1 812\n"},
        {NULL, "FOREGROUND", false, true, "(pid 812, in the foreground)"},
        {NULL, NULL, true, true, "(pid 812, in a container)"}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        site *s = make(*state, "KeepAliveTimeout 9\n");

        s->instance.cgroup = cases[i].cgroup;
        s->instance.container = cases[i].container;
        s->rows[1].to = cases[i].restart ? "17" : "16";
        if (cases[i].define) {
            push(s->instance.args.defines, cases[i].define);
        }
        assert_has(plan(s, *state), cases[i].step);
    }
}

static void test_apply__none_runs(void **state)
{
    site *s = make(*state, "KeepAliveTimeout 9\n");

    s->httpd.instance = NULL;
    assert_has(plan(s, *state), "Start httpd: none runs with this "
                                "configuration now. | /usr/sbin/httpd -f " MAIN
                                " -k start\n");
    s->httpd.binary = NULL;
    assert_has(plan(s, *state), "Check it with httpd -t.\n");
}

/* A file of another file system is no line for this server. */
static void test_apply__container(void **state)
{
    hosttree *tree = *state;
    site *s = make(tree, "KeepAliveTimeout 9\n");

    s->instance.container = true;
    assert_has(plan(s, tree), "Bring this file into the container of pid 812");
    s->keep.path = apr_pstrcat(tree->pool, tree->root, "/srv/new.conf", NULL);
    assert_has(plan(s, tree), " | Include \"/srv/new.conf\"\n");
}

static void test_apply__the_way_back(void **state)
{
    site *s = make(*state, "IncludeOptional /srv/n*.conf\n");

    assert_has(plan(s, *state), "Nothing to include: the configuration reads "
                                "this file already (" MAIN ":1).\n");
    assert_has(plan(s, *state), "Remove it, then 2 and 3: | rm /srv/new.conf");
    s->keep.name = "/srv/new.conf.bak.1";
    assert_has(plan(s, *state), "Put it back, then 2 and 3: | cp "
                                "/srv/new.conf.bak.1 /srv/new.conf");
    s = make(*state, "KeepAliveTimeout 9\n");
    s->keep.name = "/srv/new.conf.bak";
    assert_has(plan(s, *state), "Take step 1 back, then 2 and 3. What the "
                                "file held before is kept");
}

static void test_apply__debian(void **state)
{
    hosttree *tree = *state;
    site *s;

    hosttree_text(tree, "/usr/sbin/a2enconf", "");
    hosttree_text(tree, "/usr/sbin/apache2ctl", "");
    hosttree_text(tree, "/etc/httpd/conf-available/x.conf", "");
    s = make(tree, "IncludeOptional conf-enabled/*.conf\n"
                   "KeepAliveTimeout 7\nThreadLimit 10\n"
                   "<VirtualHost *>\nKeepAliveTimeout 5\n</VirtualHost>\n");
    s->httpd.binary = "/usr/sbin/apache2";
    assert_string_equal(
        plan(s, tree),
        "Let the configuration read this file: But these come behind it and "
        "win: ThreadLimit 10 (" MAIN ":3). Take them out there. | ln -s "
        "/srv/new.conf /etc/httpd/conf-available/new.conf && a2enconf new\n"
        "Check: | apache2ctl configtest\n"
        "Reload: | apache2ctl graceful\n"
        "Take step 1 back, then 2 and 3: | a2disconf new\n");
    s->keep.path = "/etc/httpd/conf-available/new.conf";
    assert_has(plan(s, tree), "Take them out there. | a2enconf new\n");
    s->keep.path = "/etc/httpd/conf-enabled/new.conf";
    assert_has(plan(s, tree), "reads this file already (" MAIN ":1)");
}

/* ---- where it stands -------------------------------------------------------
 */

static void test_apply__place_and_what_wins(void **state)
{
    static const struct {
        const char *conf, *file;
        bool included;
        const char *winners;
    } cases[] = {
        {"Include on/*.conf\n", "/etc/httpd/on/m.conf", true, NULL},
        {"Include on/*.conf\nKeepAliveTimeout 5\n", "/etc/httpd/on/m.conf",
         true, "KeepAliveTimeout 5 (" MAIN ":2)"},
        {"Include on/*.conf\nKeepAliveTimeout 7\n", "/etc/httpd/on/m.conf",
         true, NULL},
        {"KeepAliveTimeout 5\nInclude on/*.conf\n", "/etc/httpd/on/m.conf",
         true, NULL},
        /* files are read by name: z wins, a does not */
        {"Include on/[az].conf\nInclude on/n*.conf\n", "/etc/httpd/on/n.conf",
         true, NULL},
        {"Include on/\n", "/etc/httpd/on/n.conf", true,
         "KeepAliveTimeout 9 (/etc/httpd/on/z.conf:1)"},
        {"Include on/z.conf\n", "/etc/httpd/on/n.conf", false, NULL},
        {"Include on\n", "/etc/httpd/on2/n.conf", false, NULL},
        {"Include on/*.conf\n", "/etc/httpd/on/m.conf.bak", false, NULL},
        /* by a link */
        {"Include l*.conf\nKeepAliveTimeout 5\n", "/etc/httpd/on/a.conf",
         true, "KeepAliveTimeout 5 (" MAIN ":2)"},
        {"Include on/a.conf\n<VirtualHost *>\nKeepAliveTimeout 5\n"
         "</VirtualHost>\n", "/etc/httpd/on/a.conf", true, NULL}};
    hosttree *tree = *state;
    size_t i;

    hosttree_text(tree, "/etc/httpd/on/a.conf", "KeepAliveTimeout 8\n");
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool z = strstr(cases[i].conf, "on/\n") || strchr(cases[i].conf, 'z');
        ka_apply_place place;
        const char *winners;
        site *s;

        if (z) {
            hosttree_text(tree, "/etc/httpd/on/z.conf", "KeepAliveTimeout 9\n");
        }
        if (i == 9) {
            hosttree_link(tree, "/etc/httpd/link.conf", "on/a.conf");
        }
        s = make(tree, cases[i].conf);
        place = ka_apply_find(s->httpd.own, tree->root, cases[i].file,
                              tree->pool);
        if (place.included != cases[i].included) {
            fail_msg("case %zu", i);
        }
        winners = place.included
                      ? ka_apply_winners(s->httpd.own, place.behind,
                                         &s->report, KA_MPM_EVENT, tree->pool)
                      : NULL;
        assert_string_equal(winners ? winners : "",
                            cases[i].winners ? cases[i].winners : "");
        remove(hosttree_path(tree, "/etc/httpd/on/z.conf"));
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        hosttree_test(test_apply__a_server_with_its_own_arguments),
        hosttree_test(test_apply__a_full_restart_only_if_needed),
        hosttree_test(test_apply__by_what_runs_it),
        hosttree_test(test_apply__none_runs),
        hosttree_test(test_apply__container),
        hosttree_test(test_apply__the_way_back),
        hosttree_test(test_apply__debian),
        hosttree_test(test_apply__place_and_what_wins)};

    return unit_main(tests);
}
