/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include <signal.h>

#include "host/httpd.h"
#include "host/httpd_run.h"
#include "hosttree.h"

/* ---- what httpd prints ------------------------------------------------------
 */

static void test_output__version(void **state)
{
    static const struct {
        const char *name;
        int version[3];
        int32_t mpm;
        const char *vendor, *root, *file, *pid_file;
    } cases[] = {{"debian12-V.txt",
                  {2, 4, 71},
                  KA_MPM_EVENT,
                  " (Debian)",
                  "/etc/apache2",
                  "apache2.conf",
                  "/run/apache2.pid"},
                 {"redhat9-V.txt",
                  {2, 4, 62},
                  KA_MPM_EVENT,
                  " (Red Hat Enterprise Linux)",
                  "/etc/httpd",
                  "conf/httpd.conf",
                  "run/httpd.pid"},
                 {"source-V.txt",
                  {2, 4, 62},
                  KA_MPM_WORKER,
                  " (Unix)",
                  "/usr/local/apache2",
                  "conf/httpd.conf",
                  "logs/httpd.pid"},
                 {"httpd22-V.txt",
                  {2, 2, 15},
                  KA_MPM_PREFORK,
                  " (Unix)",
                  "/etc/httpd",
                  "conf/httpd.conf",
                  "run/httpd.pid"}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_httpd_build build;

        assert_true(ka_httpd_read_version(
            &build, host_recorded(cases[i].name, *state), *state));
        assert_memory_equal(build.version, cases[i].version,
                            sizeof(build.version));
        assert_int_equal(build.mpm, cases[i].mpm);
        assert_string_equal(build.vendor, cases[i].vendor);
        assert_string_equal(build.root, cases[i].root);
        assert_string_equal(build.file, cases[i].file);
        assert_string_equal(build.pid_file, cases[i].pid_file);
    }
}

static void test_output__version_of_something_else(void **state)
{
    static const char *const texts[] = {
        "", "lighttpd/1.4.69 (ssl)\n",
        "Server version: \n -D HTTPD_ROOT=", "Server version: Apache/x"};
    ka_httpd_build build;
    size_t i;

    for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        assert_false(ka_httpd_read_version(&build, texts[i], *state));
        assert_int_equal(build.mpm, KA_MPM_UNKNOWN);
    }
    /* Debian's, when it could not read the configuration. */
    assert_true(ka_httpd_read_version(
        &build, "Server version: Apache/2.4.62\nServer MPM:     \n", *state));
    assert_int_equal(build.mpm, KA_MPM_UNKNOWN);
}

static void test_output__modules(void **state)
{
    apr_array_header_t *sources =
        ka_httpd_read_modules(host_recorded("debian12-l.txt", *state), *state);

    assert_string_equal(apr_array_pstrcat(*state, sources, ' '),
                        "core.c mod_so.c mod_watchdog.c http_core.c "
                        "mod_log_config.c mod_logio.c mod_version.c "
                        "mod_unixd.c");
    assert_int_equal(ka_httpd_read_modules("x\n a.c.d\n", *state)->nelts, 0);
}

static void test_output__run(void **state)
{
    static const char *const names[] = {"debian12-S.txt", "debian12-run.txt"};
    ka_httpd_run run;
    size_t i;

    for (i = 0; i < 2; i++) {
        assert_true(
            ka_httpd_read_run(&run, host_recorded(names[i], *state), *state));
        assert_string_equal(run.server_root, "/etc/apache2");
        assert_string_equal(run.pid_file, "/var/run/apache2/apache2.pid");
        assert_string_equal(run.error_log, "/var/log/apache2/error.log");
        assert_string_equal(run.user, "www-data");
        assert_string_equal(run.group, "www-data");
        assert_true(run.defines->nelts > 0);
    }
    assert_false(ka_httpd_read_run(&run, "Syntax OK\n", *state));
}

static void test_output__vhosts(void **state)
{
    static const struct {
        const char *address, *name, *origin;
        bool is_default;
    } cases[] = {{"*:443", "shop.example",
                  "/etc/apache2/sites-enabled/shop.conf:1", true},
                 {"*:80", "127.0.0.1",
                  "/etc/apache2/sites-enabled/000-default.conf:1", true},
                 {"*:80", "plain.shop.example",
                  "/etc/apache2/sites-enabled/shop.conf:14", false}};
    apr_array_header_t *vhosts =
        ka_httpd_read_vhosts(host_recorded("debian12-S.txt", *state), *state);
    int i;

    assert_int_equal(vhosts->nelts, 3);
    for (i = 0; i < 3; i++) {
        const ka_httpd_vhost *v = &APR_ARRAY_IDX(vhosts, i, ka_httpd_vhost);

        assert_string_equal(v->address, cases[i].address);
        assert_string_equal(v->name, cases[i].name);
        assert_string_equal(v->origin, cases[i].origin);
        assert_int_equal(v->is_default, cases[i].is_default);
    }
    vhosts =
        ka_httpd_read_vhosts(host_recorded("source-S.txt", *state), *state);
    assert_int_equal(vhosts->nelts, 2);
    assert_has(APR_ARRAY_IDX(vhosts, 1, ka_httpd_vhost).origin, "macro 'site'");
}

/* An empty section has no end tag in the dump. */
static void test_output__config_nests_by_indent(void **state)
{
    ka_cfg_tree *tree = ka_httpd_read_config(
        "noise\n# In file: /a\n#   1:\nListen 80\n#   2:\n<Directory /x>\n"
        "#   4:\n<VirtualHost *:80>\n  #   5:\n  <Location /y>\n"
        "    #   6:\n    Deep 1\n  </Location>\n# In file: /b\n  #  70:\n"
        "  ServerName a\n</VirtualHost>\n#   8:\nLast\n",
        "/root", "command", *state);

    assert_string_equal(hosttree_show(tree),
                        "Listen 80; <Directory /x>; <VirtualHost *:80>; "
                        "<Location /y>; Deep 1; ServerName a; Last");
    assert_int_equal(ka_cfg_node_at(tree, 1)->parent, KA_CFG_TOP);
    assert_int_equal(ka_cfg_node_at(tree, 2)->parent, KA_CFG_TOP);
    assert_int_equal(ka_cfg_node_at(tree, 4)->parent, 3);
    assert_int_equal(ka_cfg_node_at(tree, 5)->parent, 2);
    assert_string_equal(ka_cfg_origin(tree, ka_cfg_node_at(tree, 5)), "/b:70");
    assert_int_equal(ka_cfg_node_at(tree, 6)->parent, KA_CFG_TOP);
    assert_null(ka_httpd_read_config("Syntax OK\n", NULL, "x", *state));
}

static void test_output__texts_in_a_binary(void **state)
{
    static const char bytes[] = "\177ELF\0 -D HTTPD_ROOT=\"/opt/h\"\n\0"
                                " -D SERVER_CONFIG_FILE=\"c/h.conf\"\n\0"
                                "Apache/2.4.59 (X)\0";
    ka_httpd_build build;

    assert_true(ka_httpd_read_binary(&build, bytes, sizeof(bytes) - 1, *state));
    assert_string_equal(build.root, "/opt/h");
    assert_string_equal(build.file, "c/h.conf");
    assert_int_equal(build.version[2], 59);
    assert_false(ka_httpd_read_binary(&build, bytes, 4, *state));
}

/* ---- running ----------------------------------------------------------------
 */

static apr_status_t run(ka_httpd_answer *answer, const char *script,
                        int64_t limit_us, apr_pool_t *pool)
{
    const char *const argv[] = {"/bin/sh", "-c", script, NULL};
    apr_table_t *environment = apr_table_make(pool, 1);

    apr_table_set(environment, "PATH", "/bin:/usr/bin");
    apr_table_set(environment, "A", "b");
    return ka_httpd_run_command(answer,
                                &(ka_httpd_command){.argv = argv,
                                                    .environment = environment,
                                                    .limit_us = limit_us},
                                pool);
}

static void test_run__outputs_and_status(void **state)
{
    ka_httpd_answer answer;

    assert_int_equal(
        run(&answer, "echo out $A; echo err >&2; exit 3", 0, *state),
        APR_SUCCESS);
    assert_string_equal(answer.out, "out b\n");
    assert_string_equal(answer.err, "err\n");
    assert_int_equal(answer.status, 3);
    assert_int_equal(run(&answer, "kill -9 $$", 0, *state), APR_SUCCESS);
    assert_int_equal(answer.status, 128 + SIGKILL);
}

static void test_run__environment_and_descriptors_are_its_own(void **state)
{
    ka_httpd_answer answer;

    setenv("KA_TEST_SECRET", "x", 1);
    assert_int_equal(run(&answer,
                         "echo ${KA_TEST_SECRET-none}; cat; ls "
                         "/proc/self/fd | wc -l; pwd",
                         0, *state),
                     APR_SUCCESS);
    /* Of ls: 0, 1, 2 and the directory it lists. */
    assert_string_equal(answer.out, "none\n4\n/\n");
    unsetenv("KA_TEST_SECRET");
}

static void test_run__limits(void **state)
{
    ka_httpd_answer answer;

    assert_int_equal(run(&answer, "echo a; sleep 100", 200000, *state),
                     APR_TIMEUP);
    assert_string_equal(answer.out, "a\n");
    assert_int_equal(run(&answer, "exec >&- 2>&-; sleep 100", 200000, *state),
                     APR_TIMEUP);
    assert_int_equal(run(&answer,
                         "while :; do echo 0123456789abcdef0123; done"
                         " | tr -d '\\n'",
                         60000000, *state),
                     APR_ENOSPC);
}

static void test_run__what_cannot_start(void **state)
{
    const char *const argv[] = {"/nonexistent/httpd", NULL};
    ka_httpd_answer answer;

    assert_int_equal(ka_httpd_run_command(
                         &answer, &(ka_httpd_command){.argv = argv}, *state),
                     APR_ENOENT);
}

static void test_run__whom_to_trust(void **state)
{
    hosttree *tree = *state;
    const char *reason = NULL, *path = hosttree_path(tree, "/bin/httpd");

    hosttree_text(tree, "/bin/httpd", "");
    assert_false(ka_httpd_may_run(&reason, path, 0, tree->pool));
    assert_has(reason, "cannot be run");
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(
        chmod(apr_pstrcat(tree->pool, tree->root, "/bin", NULL), 0755), 0);
    assert_true(ka_httpd_may_run(&reason, path, 0, tree->pool));
    assert_int_equal(chmod(path, 0757), 0);
    assert_false(ka_httpd_may_run(&reason, path, 0, tree->pool));
    assert_has(reason, "can be changed by other users");
    assert_int_equal(chmod(path, 0755), 0);
    assert_int_equal(
        chmod(apr_pstrcat(tree->pool, tree->root, "/bin", NULL), 0777), 0);
    assert_false(ka_httpd_may_run(&reason, path, 0, tree->pool));
}

/* ---- arguments --------------------------------------------------------------
 */

static void test_find__arguments(void **state)
{
    static const char line[] = "httpd\0-DA\0-D\0B\0-f\0/x.conf\0-d/root\0-C\0"
                               "Listen 1\0-c\0Listen 2\0-X\0-k\0start";
    ka_httpd_args args;

    ka_httpd_read_args(&args, line, sizeof(line), *state);
    assert_string_equal(apr_array_pstrcat(*state, args.defines, ' '), "A B");
    assert_string_equal(args.file, "/x.conf");
    assert_string_equal(args.server_root, "/root");
    assert_int_equal(args.before->nelts, 1);
    assert_int_equal(args.after->nelts, 1);
    assert_true(args.debug);
    assert_false(args.transient);
    ka_httpd_read_args(&args, "h\0-k\0stop", 9, *state);
    assert_true(args.transient);
    ka_httpd_read_args(&args, "h\0-t", 5, *state);
    assert_true(args.transient);
    ka_httpd_read_args(&args, "h\0-f", 5, *state);
    assert_string_equal(args.file, "");
    ka_httpd_read_args(&args, "", 0, *state);
    assert_null(args.file);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        unit_test(test_output__version),
        unit_test(test_output__version_of_something_else),
        unit_test(test_output__modules),
        unit_test(test_output__run),
        unit_test(test_output__vhosts),
        unit_test(test_output__config_nests_by_indent),
        unit_test(test_output__texts_in_a_binary),
        unit_test(test_run__outputs_and_status),
        unit_test(test_run__environment_and_descriptors_are_its_own),
        unit_test(test_run__limits),
        unit_test(test_run__what_cannot_start),
        hosttree_test(test_run__whom_to_trust),
        unit_test(test_find__arguments)};

    return unit_main(tests);
}
