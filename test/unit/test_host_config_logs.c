/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include <sys/time.h>

#include "host/config_logfiles.h"
#include "hosttree.h"

#define TREE(state) (*(hosttree **)(state))

static const ka_cfg_log *log_at(const ka_cfg_server *server, int i)
{
    assert_true(i < server->logs->nelts);
    return &APR_ARRAY_IDX(server->logs, i, ka_cfg_log);
}

static const ka_cfg_backend *backend(const ka_cfg_server *server, int i)
{
    assert_true(i < server->backends->nelts);
    return &APR_ARRAY_IDX(server->backends, i, ka_cfg_backend);
}

/* ---- logs -------------------------------------------------------------------
 */

static void test_logs__formats_by_nickname(void **state)
{
    ka_cfg_server *server = hosttree_server(
        *state, "CustomLog logs/a Later\nCustomLog logs/b \"%h \\\"%r\\\"\"\n"
                "CustomLog logs/c clf env=!x\nTransferLog logs/d\n"
                "LogFormat \"%a\"\nLogFormat later\n"
                "LogFormat \"first\" later\nLogFormat \"%h %D\" later\n"
                "<VirtualHost *>\nLogFormat \"own\" LATER\n"
                "CustomLog /l/e later \"expr=%{X} == 'y'\"\n"
                "TransferLog /l/f\n</VirtualHost>\n"
                "<VirtualHost *>\nLogFormat \"mine\"\nTransferLog /l/g\n"
                "CustomLog /l/h Later\n</VirtualHost>\n");
    static const struct {
        const char *path, *format, *nickname, *condition;
    } cases[] = {
        {"/etc/httpd/logs/a", "%h %D", "Later", NULL},
        {"/etc/httpd/logs/b", "%h \"%r\"", NULL, NULL},
        {"/etc/httpd/logs/c", "%h %l %u %t \"%r\" %>s %b", "clf", "env=!x"},
        {"/etc/httpd/logs/d", "%h %D", NULL, NULL},
        {"/l/e", "own", "later", "expr=%{X} == 'y'"},
        {"/l/f", "own", NULL, NULL},
        {"/l/g", "mine", NULL, NULL},
        {"/l/h", "%h %D", "Later", NULL}};
    int i;

    assert_int_equal(server->logs->nelts, 8);
    for (i = 0; i < 8; i++) {
        const ka_cfg_log *log = log_at(server, i);

        assert_int_equal(log->kind, KA_CFG_LOG_FILE);
        assert_string_equal(log->path, cases[i].path);
        assert_string_equal(log->format, cases[i].format);
        assert_string_equal(log->nickname ? log->nickname : "",
                            cases[i].nickname ? cases[i].nickname : "");
        assert_string_equal(log->condition ? log->condition : "",
                            cases[i].condition ? cases[i].condition : "");
    }
    assert_string_equal(log_at(server, 4)->origin, "/etc/httpd/test.conf:11");
}

static void test_logs__main_servers_go_on_in_vhosts_without(void **state)
{
    ka_cfg_server *server = hosttree_server(
        *state, "CustomLog m %h\nGlobalLog g %h\n"
                "<VirtualHost *:1>\nCustomLog o %h\n</VirtualHost>\n"
                "<VirtualHost *:2>\n</VirtualHost>\n");
    const apr_array_header_t *main_log = log_at(server, 0)->vhosts;

    assert_int_equal(main_log->nelts, 2);
    assert_int_equal(APR_ARRAY_IDX(main_log, 1, int), 2);
    assert_int_equal(log_at(server, 1)->vhosts->nelts, 3);
    assert_true(log_at(server, 1)->global);
    assert_int_equal(log_at(server, 2)->vhosts->nelts, 1);
    assert_int_equal(APR_ARRAY_IDX(log_at(server, 2)->vhosts, 0, int), 1);
}

static void test_logs__pipes(void **state)
{
    static const struct {
        const char *target;
        ka_cfg_log_kind kind;
        const char *path, *link; /* "" is none */
    } cases[] = {
        {"|/usr/sbin/rotatelogs /l/a 86400", KA_CFG_LOG_SECONDS, "/l/a", ""},
        {"|rotatelogs -l -L /l/now logs/a.%Y%m%d 86400", KA_CFG_LOG_STRFTIME,
         "/etc/httpd/logs/a.%Y%m%d", "/l/now"},
        {"|rotatelogs -fL/l/now -p /bin/x /l/a 5M", KA_CFG_LOG_SECONDS, "/l/a",
         "/l/now"},
        {"||bin/rotatelogs -n 5 /l/a 10M", KA_CFG_LOG_NUMBERED, "/l/a", ""},
        {"|$exec /usr/bin/rotatelogs2 -t '/l/a b' 10M", KA_CFG_LOG_FILE,
         "/l/a b", ""},
        {"|/bin/nice cronolog -S /l/now /l/%Y/a.%d", KA_CFG_LOG_STRFTIME,
         "/l/%Y/a.%d", "/l/now"},
        {"|cronolog --symlink=now -p days /l/a.%d", KA_CFG_LOG_STRFTIME,
         "/l/a.%d", "/etc/httpd/now"},
        {"|/usr/bin/logger -t httpd", KA_CFG_LOG_PIPE, "", ""},
        {"|rotatelogs", KA_CFG_LOG_PIPE, "", ""},
        {"syslog:local1", KA_CFG_LOG_OTHER, "", ""}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const ka_cfg_log *log =
            log_at(hosttree_server(*state, apr_psprintf(TREE(state)->pool,
                                                        "CustomLog \"%s\" %%h",
                                                        cases[i].target)),
                   0);

        assert_int_equal(log->kind, cases[i].kind);
        assert_string_equal(log->path ? log->path : "", cases[i].path);
        assert_string_equal(log->link ? log->link : "", cases[i].link);
        assert_string_equal(log->target, cases[i].target);
        assert_int_equal(log->command != NULL, cases[i].target[0] == '|');
    }
}

static void test_logfiles__names(void **state)
{
    static const struct {
        const char *pattern;
        ka_cfg_log_kind kind;
        const char *name;
        int match; /* 0 no, 1 the current one, 2 rotated */
    } cases[] = {
        {"access.log", KA_CFG_LOG_FILE, "access.log", 1},
        {"access.log", KA_CFG_LOG_FILE, "access.log.1", 2},
        {"access.log", KA_CFG_LOG_FILE, "access.log.12.gz", 2},
        {"access.log", KA_CFG_LOG_FILE, "access.log-20261130", 2},
        {"access.log", KA_CFG_LOG_FILE, "access.log-20261130-1796000000.zst",
         2},
        {"access.log", KA_CFG_LOG_FILE, "access.log-2026-11-30.bz2", 2},
        {"access.log", KA_CFG_LOG_FILE, "access.log.xz", 2},
        {"access.log", KA_CFG_LOG_FILE, "access-20261130.log", 2},
        {"access.log", KA_CFG_LOG_FILE, "access.1.log.gz", 2},
        {"access.log", KA_CFG_LOG_FILE, "access-2.log", 0},
        {"access.log", KA_CFG_LOG_FILE, "access.log2", 0},
        {"access.log", KA_CFG_LOG_FILE, "access.log.old", 0},
        {"access.log", KA_CFG_LOG_FILE, "xaccess.log", 0},
        {"access.log", KA_CFG_LOG_FILE, "access_log.1", 0},
        {"access.log", KA_CFG_LOG_FILE, "access.log.gz.1", 0},
        {"a", KA_CFG_LOG_FILE, "a.1", 2},
        {"50%", KA_CFG_LOG_FILE, "50%", 1},
        {"access", KA_CFG_LOG_SECONDS, "access.1796000000", 2},
        {"access", KA_CFG_LOG_SECONDS, "access.1796000000.gz", 2},
        {"access", KA_CFG_LOG_NUMBERED, "access.3", 2},
        {"a.%Y%m%d", KA_CFG_LOG_STRFTIME, "a.20261130", 1},
        {"a.%Y%m%d", KA_CFG_LOG_STRFTIME, "a.20261130.gz", 2},
        {"a.%Y%m%d", KA_CFG_LOG_STRFTIME, "a.20261130.1", 2},
        {"a.%Y%m%d", KA_CFG_LOG_STRFTIME, "a.2026113", 0},
        {"a.%b-%d", KA_CFG_LOG_STRFTIME, "a.Nov-30", 1},
        {"a.%b-%d", KA_CFG_LOG_STRFTIME, "a.-30", 0},
        {"a.%%%d", KA_CFG_LOG_STRFTIME, "a.%30", 1},
        {"a.%", KA_CFG_LOG_STRFTIME, "a.%", 1}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        bool rotated;
        bool match = ka_cfg_log_name(&rotated, cases[i].pattern, cases[i].kind,
                                     cases[i].name);

        if (match != (cases[i].match > 0) ||
            (match && rotated != (cases[i].match == 2))) {
            fail_msg("%s %s: %d %d", cases[i].pattern, cases[i].name, match,
                     rotated);
        }
    }
}

static void test_logfiles__hostile_pattern_takes_no_time(void **state)
{
    char pattern[2000], name[251];
    bool rotated;

    (void)state;
    memset(pattern, 'b', sizeof(pattern));
    for (size_t i = 0; i + 1 < sizeof(pattern); i += 2) {
        pattern[i] = '%';
    }
    pattern[sizeof(pattern) - 1] = '\0';
    memset(name, 'a', sizeof(name));
    name[sizeof(name) - 1] = '\0';
    ka_cfg_log_name(&rotated, pattern, KA_CFG_LOG_STRFTIME, name);
    memset(name, '1', sizeof(name) - 1);
    assert_false(ka_cfg_log_name(&rotated, "x%b%b%b%b%b%b%b%b-%b",
                                 KA_CFG_LOG_STRFTIME, name));
}

static void put_log(hosttree *tree, const char *path, int64_t seconds)
{
    const struct timeval times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};

    hosttree_text(tree, path, "x\n");
    assert_int_equal(utimes(hosttree_path(tree, path), times), 0);
}

static const char *shown(const apr_array_header_t *files, apr_pool_t *pool)
{
    const char *text = "";
    int i;

    for (i = 0; i < files->nelts; i++) {
        const ka_cfg_logfile *f = &APR_ARRAY_IDX(files, i, ka_cfg_logfile);

        text =
            apr_pstrcat(pool, text, i ? " " : "", f->shown,
                        f->current ? "*" : "", f->compressed ? "z" : "", NULL);
    }
    return text;
}

static void test_logfiles__rotated_set_in_order_of_time(void **state)
{
    hosttree *tree = *state;
    apr_array_header_t *files;
    const char *missing;

    put_log(tree, "/l/access.log", 4000);
    put_log(tree, "/l/access.log.1", 3000);
    put_log(tree, "/l/access.log.2.gz", 2000);
    put_log(tree, "/l/access.log-20261101.xz", 1000);
    put_log(tree, "/l/other.log", 9000);
    hosttree_link(tree, "/l/access.log.3", "access.log.1");
    hosttree_text(tree, "/l/access.log.9/x", "");
    hosttree_link(tree, "/logs", "/l");
    assert_int_equal(
        ka_cfg_log_files(
            &files, &missing,
            log_at(hosttree_server(tree, "CustomLog /logs/access.log %h"), 0),
            tree->root, tree->pool),
        APR_SUCCESS);
    assert_string_equal(shown(files, tree->pool),
                        "/logs/access.log-20261101.xzz /logs/access.log.2.gzz "
                        "/logs/access.log.1 /logs/access.log*");
    assert_string_equal(
        APR_ARRAY_IDX(files, 3, ka_cfg_logfile).path,
        apr_pstrcat(tree->pool, tree->root, "/l/access.log", NULL));
    assert_int_equal(APR_ARRAY_IDX(files, 3, ka_cfg_logfile).mtime_us,
                     4000000000);
    assert_null(missing);
}

static void test_logfiles__patterns_with_directories(void **state)
{
    hosttree *tree = *state;
    apr_array_header_t *files;
    const char *missing;

    put_log(tree, "/l/2026/10/a.31", 1000);
    put_log(tree, "/l/2026/11/a.01.gz", 2000);
    put_log(tree, "/l/2026/11/a.30", 3000);
    put_log(tree, "/l/2026/11/b.30", 4000);
    put_log(tree, "/l/old/11/a.30", 5000);
    assert_int_equal(
        ka_cfg_log_files(&files, &missing,
                         log_at(hosttree_server(tree, "CustomLog \"|cronolog "
                                                      "/l/%Y/%m/a.%d\" %h"),
                                0),
                         tree->root, tree->pool),
        APR_SUCCESS);
    assert_string_equal(shown(files, tree->pool),
                        "/l/2026/10/a.31 /l/2026/11/a.01.gzz "
                        "/l/2026/11/a.30*");
}

static void test_logfiles__nothing_found_is_said(void **state)
{
    static const struct {
        const char *line;
        apr_status_t status;
        const char *missing;
    } cases[] = {
        {"CustomLog /l/none %h", APR_ENOENT, "test.conf:1: /l: "},
        {"CustomLog /etc/none %h", APR_ENOENT, "no regular file of /etc/none"},
        {"CustomLog \"|/bin/logger\" %h", APR_ENOTIMPL,
         "where |/bin/logger puts the log is not known"}};
    hosttree *tree = *state;
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        apr_array_header_t *files;
        const char *missing = NULL;

        assert_int_equal(
            ka_cfg_log_files(&files, &missing,
                             log_at(hosttree_server(tree, cases[i].line), 0),
                             tree->root, tree->pool),
            cases[i].status);
        assert_int_equal(files->nelts, 0);
        assert_has(missing, cases[i].missing);
        assert_has(missing, "name the log as an argument");
    }
}

/* ---- backends ---------------------------------------------------------------
 */

static void test_backends__urls_and_limits(void **state)
{
    static const struct {
        const char *lines;
        ka_cfg_backend_kind kind;
        const char *address;
        int64_t max; /* -1: not known */
    } cases[] = {
        {"ProxyPass / http://a:8080/ max=20", KA_CFG_BACKEND_HTTP, "a:8080",
         20},
        {"ProxyPass /x ajp://a:8009", KA_CFG_BACKEND_AJP, "a:8009", -1},
        {"<Location /y>\nProxyPass https://b/ MAX=3 nocanon\n</Location>",
         KA_CFG_BACKEND_HTTP, "b", 3},
        {"ProxyPassMatch ^/(.*\\.php)$ fcgi://127.0.0.1:9000/var/www/$1",
         KA_CFG_BACKEND_FCGI, "127.0.0.1:9000", -1},
        {"SetHandler \"proxy:unix:/run/php.sock|fcgi://localhost\"",
         KA_CFG_BACKEND_FCGI, "/run/php.sock", -1},
        {"SetHandler proxy:fcgi://[::1]:9000", KA_CFG_BACKEND_FCGI,
         "[::1]:9000", -1},
        {"<Proxy balancer://p>\nBalancerMember ws://c:1 max=5\n</Proxy>",
         KA_CFG_BACKEND_HTTP, "c:1", 5},
        {"BalancerMember balancer://p uwsgi://c:1", KA_CFG_BACKEND_SCGI, "c:1",
         -1},
        {"FcgidMaxProcesses 12", KA_CFG_BACKEND_FCGID, "", 12},
        {"AddType application/x-httpd-php .php", KA_CFG_BACKEND_PHP, "", -1},
        {"RewriteRule ^/(.*) http://d:3000/$1 [L,P]", KA_CFG_BACKEND_HTTP,
         "d:3000", -1},
        {"FastCgiExternalServer /x -idle 5 -socket /s", KA_CFG_BACKEND_FCGI,
         "/s", -1},
        {"ProxyPass / http://a/\n<Proxy http://a/>\nProxySet max=9\n</Proxy>",
         KA_CFG_BACKEND_HTTP, "a", 9}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_cfg_server *server = hosttree_server(*state, cases[i].lines);
        const ka_cfg_backend *b = backend(server, 0);

        if (b->kind != cases[i].kind ||
            strcmp(b->address ? b->address : "", cases[i].address) ||
            (b->max.known ? b->max.value : -1) != cases[i].max) {
            fail_msg("%s: %d %s", cases[i].lines, b->kind, b->address);
        }
        assert_int_equal(server->backends->nelts, 1);
    }
}

static void test_backends__none_here(void **state)
{
    assert_int_equal(
        hosttree_server(*state, "ProxyPass /x !\nSetHandler server-status\n"
                                "RewriteRule a http://b/ [R]\nProxyPass /\n"
                                "AddType text/html .html\n")
            ->backends->nelts,
        0);
}

static void test_backends__reuse_and_times(void **state)
{
    ka_cfg_server *server = hosttree_server(
        *state, "<VirtualHost *>\nProxyPass / http://a/ ttl=60 timeout=30 "
                "disablereuse=On\n</VirtualHost>\nProxyPass / fcgi://b/ "
                "enablereuse=on\n");

    assert_int_equal(backend(server, 0)->ttl.value, 60000000);
    assert_int_equal(backend(server, 0)->timeout.value, 30000000);
    assert_int_equal(backend(server, 0)->reuse.value, 0);
    assert_int_equal(backend(server, 0)->vhost, 1);
    assert_int_equal(backend(server, 1)->reuse.value, 1);
    assert_int_equal(backend(server, 1)->vhost, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        hosttree_test(test_logs__formats_by_nickname),
        hosttree_test(test_logs__main_servers_go_on_in_vhosts_without),
        hosttree_test(test_logs__pipes),
        unit_test(test_logfiles__names),
        unit_test(test_logfiles__hostile_pattern_takes_no_time),
        hosttree_test(test_logfiles__rotated_set_in_order_of_time),
        hosttree_test(test_logfiles__patterns_with_directories),
        hosttree_test(test_logfiles__nothing_found_is_said),
        hosttree_test(test_backends__urls_and_limits),
        hosttree_test(test_backends__none_here),
        hosttree_test(test_backends__reuse_and_times)};

    return unit_main(tests);
}
