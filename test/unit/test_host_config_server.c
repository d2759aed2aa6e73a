/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "hosttree.h"

#define TREE(state) (*(hosttree **)(state))

static const ka_fact *setting(const ka_cfg_server *server, ka_setting_id id)
{
    return &server->settings.facts[id];
}

static const ka_cfg_vhost *vhost(const ka_cfg_server *server, int i)
{
    assert_true(i < server->vhosts->nelts);
    return &APR_ARRAY_IDX(server->vhosts, i, ka_cfg_vhost);
}

/* ---- settings ---------------------------------------------------------------
 */

static void test_settings__values_and_origins(void **state)
{
    static const struct {
        const char *line;
        ka_setting_id id;
        int64_t value;
    } cases[] = {
        {"KeepAlive off", KA_SETTING_KEEP_ALIVE, 0},
        {"keepalivetimeout 400ms", KA_SETTING_KEEP_ALIVE_TIMEOUT, 400000},
        {"MaxKeepAliveRequests 0", KA_SETTING_MAX_KEEP_ALIVE_REQUESTS, 0},
        {"MaxClients 64", KA_SETTING_MAX_REQUEST_WORKERS, 64},
        {"MAXREQUESTWORKERS \"64\"", KA_SETTING_MAX_REQUEST_WORKERS, 64},
        {"MaxRequestsPerChild 500", KA_SETTING_MAX_CONNECTIONS_PER_CHILD, 500},
        {"ServerLimit 300", KA_SETTING_SERVER_LIMIT, 300},
        {"MaxSpareServers 20", KA_SETTING_MAX_SPARE_SERVERS, 20},
        {"ListenBacklog 1024", KA_SETTING_LISTEN_BACKLOG, 1024},
        {"GracefulShutdownTimeout 10", KA_SETTING_GRACEFUL_SHUTDOWN, 10000000},
        {"Timeout 30", KA_SETTING_IO_TIMEOUT, 30000000},
        {"MaxMemFree 100", KA_SETTING_MAX_MEM_FREE, 102400},
        {"EnableSendfile On", KA_SETTING_SENDFILE, 1},
        {"AsyncRequestWorkerFactor 2.7", KA_SETTING_ASYNC_FACTOR, 2},
        {"AsyncRequestWorkerFactor 0.5", KA_SETTING_ASYNC_FACTOR, 1}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_cfg_server *server = hosttree_server(
            *state, apr_pstrcat(TREE(state)->pool,
                                "LoadModule "
                                "mpm_prefork_module x.so\nKeepAlive On\n",
                                cases[i].line, NULL));
        const ka_fact *fact = setting(server, cases[i].id);

        if (!fact->known || fact->value != cases[i].value) {
            fail_msg("%s: %lld", cases[i].line, (long long)fact->value);
        }
        assert_false(fact->assumed);
        assert_string_equal(fact->origin, "/etc/httpd/test.conf:3");
    }
}

static void test_settings__defaults_are_those_of_the_mpm(void **state)
{
    static const struct {
        const char *mpm;
        int64_t workers, servers, start;
    } cases[] = {{"prefork", 256, 256, 5},
                 {"worker", 400, 16, 3},
                 {"event", 400, 16, 3}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_cfg_server *server = hosttree_server(
            *state,
            apr_psprintf(TREE(state)->pool, "LoadModule mpm_%s_module x.so",
                         cases[i].mpm));

        assert_string_equal(ka_mpm_name(server->mpm), cases[i].mpm);
        assert_string_equal(server->mpm_origin, "/etc/httpd/test.conf:1");
        assert_int_equal(setting(server, KA_SETTING_MAX_REQUEST_WORKERS)->value,
                         cases[i].workers);
        assert_int_equal(setting(server, KA_SETTING_SERVER_LIMIT)->value,
                         cases[i].servers);
        assert_int_equal(setting(server, KA_SETTING_START_SERVERS)->value,
                         cases[i].start);
        assert_true(setting(server, KA_SETTING_START_SERVERS)->assumed);
        assert_has(setting(server, KA_SETTING_KEEP_ALIVE)->origin,
                   cases[i].mpm);
        assert_int_equal(setting(server, KA_SETTING_THREADS_PER_CHILD)->known,
                         i > 0);
        assert_int_equal(setting(server, KA_SETTING_MIN_SPARE_SERVERS)->known,
                         i == 0);
        assert_int_equal(setting(server, KA_SETTING_ASYNC_FACTOR)->known,
                         i == 2);
    }
}

static void test_settings__unknown_mpm_knows_what_all_share(void **state)
{
    ka_cfg_server *server = hosttree_server(*state, "");

    assert_int_equal(server->mpm, KA_MPM_UNKNOWN);
    assert_int_equal(setting(server, KA_SETTING_KEEP_ALIVE_TIMEOUT)->value,
                     5000000);
    assert_false(setting(server, KA_SETTING_MAX_REQUEST_WORKERS)->known);
}

/* Figures of httpd's own warnings at its start. */
static void test_settings__httpd_corrects_them(void **state)
{
    static const struct {
        const char *mpm, *lines;
        ka_setting_id id;
        int64_t value;
        const char *reason;
    } cases[] = {{"worker", "ThreadsPerChild 100\nMaxRequestWorkers 400",
                  KA_SETTING_THREADS_PER_CHILD, 64, "ThreadLimit"},
                 {"worker", "ThreadsPerChild 100\nMaxRequestWorkers 400",
                  KA_SETTING_MAX_REQUEST_WORKERS, 384, "multiple"},
                 {"event", "MaxRequestWorkers 1000",
                  KA_SETTING_MAX_REQUEST_WORKERS, 400,
                  "ServerLimit x ThreadsPerChild"},
                 {"event", "MaxRequestWorkers 10",
                  KA_SETTING_MAX_REQUEST_WORKERS, 25, "at least"},
                 {"event", "MinSpareThreads 50\nMaxSpareThreads 60",
                  KA_SETTING_MAX_SPARE_THREADS, 76, "MinSpareThreads"},
                 {"prefork", "MaxRequestWorkers 300",
                  KA_SETTING_MAX_REQUEST_WORKERS, 256, "ServerLimit"},
                 {"prefork", "MinSpareServers 0", KA_SETTING_MIN_SPARE_SERVERS,
                  1, "at least"},
                 {"prefork", "MinSpareServers 20", KA_SETTING_MAX_SPARE_SERVERS,
                  21, "MinSpareServers + 1"}};
    size_t i;

    for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        ka_cfg_server *server = hosttree_server(
            *state,
            apr_psprintf(TREE(state)->pool, "LoadModule mpm_%s_module x.so\n%s",
                         cases[i].mpm, cases[i].lines));

        assert_int_equal(setting(server, cases[i].id)->value, cases[i].value);
        assert_has(setting(server, cases[i].id)->origin, cases[i].reason);
    }
}

static void test_settings__only_outside_of_sections(void **state)
{
    ka_cfg_server *server = hosttree_server(
        *state, "EnableSendfile Off\n<Directory />\nEnableSendfile On\n"
                "</Directory>\n<VirtualHost *>\nTimeout 7\n</VirtualHost>\n");

    assert_int_equal(setting(server, KA_SETTING_SENDFILE)->value, 0);
    assert_int_equal(setting(server, KA_SETTING_IO_TIMEOUT)->value, 60000000);
    assert_int_equal(vhost(server, 1)->io_timeout.value, 7000000);
}

static void test_settings__a_wrong_value_is_a_problem(void **state)
{
    ka_cfg_tree *tree = hosttree_read(*state, "KeepAlive perhaps\n"
                                              "KeepAliveTimeout 5x\n");
    ka_cfg_server *server = ka_cfg_interpret(tree, KA_MPM_EVENT, "told");

    assert_true(setting(server, KA_SETTING_KEEP_ALIVE)->assumed);
    assert_has(hosttree_problems(tree), "test.conf:1: KeepAlive perhaps");
    assert_has(hosttree_problems(tree), "test.conf:2: KeepAliveTimeout 5x");
}

static void test_settings__options_stay(void **state)
{
    ka_cfg_server *server =
        hosttree_server(*state, "KeepAliveTimeout 7\nMaxKeepAliveRequests 9\n");
    ka_server facts;

    ka_server_init(&facts);
    ka_server_set(&facts, KA_FACT_TIMEOUT, 2000000, false, "--timeout");
    ka_server_set(&facts, KA_FACT_MAX_KEEPALIVE_REQUESTS, 1, true, "assumed");
    ka_settings_to_server(&facts, &server->settings);
    assert_int_equal(facts.facts[KA_FACT_TIMEOUT].value, 2000000);
    assert_int_equal(facts.facts[KA_FACT_MAX_KEEPALIVE_REQUESTS].value, 9);
    assert_true(facts.facts[KA_FACT_KEEP_ALIVE].assumed);
}

static void test_settings__every_row_is_complete(void **state)
{
    int i, k;

    (void)state;
    for (i = 0; i < KA_SETTINGS; i++) {
        const ka_fact_info *info = ka_setting_info_of((ka_setting_id)i);

        assert_non_null(info->key);
        assert_non_null(info->label);
        assert_int_equal(ka_setting_find(info->directive), i);
        for (k = 0; k < i; k++) {
            assert_string_not_equal(info->key,
                                    ka_setting_info_of((ka_setting_id)k)->key);
        }
    }
    assert_int_equal(ka_setting_find("Nonsense"), KA_SETTINGS);
}

/* ---- virtual hosts ----------------------------------------------------------
 */

static const char hosts[] =
    "KeepAliveTimeout 5\nKeepAlive Off\nErrorLog logs/main\nServerName m\n"
    "Listen 80\nListen [::1]:8443 https\n"
    "<VirtualHost *:80 10.0.0.1:81>\nServerName HTTP://a.example:80\n"
    "ServerAlias b.example c.example\nServerAlias d.example\n"
    "KeepAliveTimeout 9\n</VirtualHost>\n"
    "<VirtualHost _DEFAULT_:80>\nServerName [::1]:80\nKeepAlive On\n"
    "<Location />\nKeepAliveTimeout 77\n</Location>\n</VirtualHost>\n"
    "<VirtualHost *:80>\nKeepAliveTimeout 0\n</VirtualHost>\n"
    "<VirtualHost *:8443>\nKeepAliveTimeout 3\nErrorLog \"|prog\"\n"
    "Protocols h2c\n</VirtualHost>\n";

static void test_vhosts__names_and_addresses(void **state)
{
    ka_cfg_server *server = hosttree_server(*state, hosts);

    assert_int_equal(server->vhosts->nelts, 5);
    assert_string_equal(vhost(server, 0)->name, "m");
    assert_string_equal(vhost(server, 1)->name, "a.example");
    assert_int_equal(vhost(server, 1)->aliases->nelts, 3);
    assert_int_equal(vhost(server, 1)->addresses->nelts, 2);
    assert_string_equal(vhost(server, 1)->origin, "/etc/httpd/test.conf:7");
    assert_string_equal(vhost(server, 2)->name, "[::1]");
    assert_null(vhost(server, 3)->name);
    assert_string_equal(ka_cfg_vhost_label(server, 0, TREE(state)->pool),
                        "main server");
    assert_string_equal(ka_cfg_vhost_label(server, 3, TREE(state)->pool),
                        "*:80 (/etc/httpd/test.conf:20)");
    assert_int_equal(server->listens->nelts, 2);
    assert_int_equal(APR_ARRAY_IDX(server->listens, 1, ka_cfg_listen).port,
                     8443);
    assert_int_equal(vhost(server, 4)->tls.value, 1);
    assert_false(vhost(server, 1)->tls.known);
    assert_int_equal(vhost(server, 4)->http2.value, 1);
}

static void test_vhosts__inherit_from_the_main_server(void **state)
{
    ka_cfg_server *server = hosttree_server(*state, hosts);

    assert_int_equal(vhost(server, 1)->keep_alive.value, 0);
    assert_int_equal(vhost(server, 2)->keep_alive.value, 1);
    assert_int_equal(vhost(server, 2)->keep_alive_timeout.value, 5000000);
    assert_string_equal(vhost(server, 1)->error_log, "/etc/httpd/logs/main");
    assert_string_equal(vhost(server, 4)->error_log, "|prog");
    assert_int_equal(vhost(server, 1)->max_keep_alive_requests.value, 100);
    assert_true(vhost(server, 1)->max_keep_alive_requests.assumed);
}

/* R3: the first virtual host of an address decides for those that set none;
 * 0 is the main server's. */
static void test_vhosts__timeout_in_force(void **state)
{
    ka_cfg_server *server = hosttree_server(*state, hosts);
    static const struct {
        int first;
        int64_t us;
    } cases[] = {
        {0, 5000000}, {1, 9000000}, {1, 9000000}, {1, 5000000}, {4, 3000000}};
    int i;

    for (i = 0; i < 5; i++) {
        assert_int_equal(vhost(server, i)->first_of_address, cases[i].first);
        assert_int_equal(vhost(server, i)->idle_timeout.value, cases[i].us);
    }
}

static void test_vhosts__kastats(void **state)
{
    ka_cfg_server *server = hosttree_server(
        *state, "KAStats On\nKAStatsFile run/k.seg\nDefaultRuntimeDir run\n"
                "PidFile run/p\n<VirtualHost *>\nKAStats Off\n</VirtualHost>");

    assert_string_equal(server->kastats_file, "/etc/httpd/run/k.seg");
    assert_string_equal(server->runtime_dir, "/etc/httpd/run");
    assert_string_equal(server->pid_file, "/etc/httpd/run/p");
    assert_int_equal(vhost(server, 0)->kastats.value, 1);
    assert_int_equal(vhost(server, 1)->kastats.value, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        hosttree_test(test_settings__values_and_origins),
        hosttree_test(test_settings__defaults_are_those_of_the_mpm),
        hosttree_test(test_settings__unknown_mpm_knows_what_all_share),
        hosttree_test(test_settings__httpd_corrects_them),
        hosttree_test(test_settings__only_outside_of_sections),
        hosttree_test(test_settings__a_wrong_value_is_a_problem),
        hosttree_test(test_settings__options_stay),
        unit_test(test_settings__every_row_is_complete),
        hosttree_test(test_vhosts__names_and_addresses),
        hosttree_test(test_vhosts__inherit_from_the_main_server),
        hosttree_test(test_vhosts__timeout_in_force),
        hosttree_test(test_vhosts__kastats)};

    return unit_main(tests);
}
