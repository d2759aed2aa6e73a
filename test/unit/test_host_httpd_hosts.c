/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "host/config_logfiles.h"
#include "host/httpd.h"
#include "hosttree.h"

/* ---- whole hosts ------------------------------------------------------------
 */

static const char *host(const char *name, apr_pool_t *pool)
{
    char cwd[4096];

    assert_non_null(getcwd(cwd, sizeof(cwd)));
    return apr_pstrcat(pool, cwd, "/" HOST_DATA, name, NULL);
}

static const ka_httpd_instance *instance(const char *root, int n, int of,
                                         apr_pool_t *pool)
{
    apr_array_header_t *found;

    assert_int_equal(ka_httpd_find(&found, root, pool), APR_SUCCESS);
    assert_int_equal(found->nelts, of);
    return &APR_ARRAY_IDX(found, n, ka_httpd_instance);
}

static ka_httpd *inspect(const char *root, const ka_httpd_instance *which,
                         apr_pool_t *pool)
{
    ka_httpd *httpd;

    assert_int_equal(ka_httpd_inspect(&httpd, which,
                                      &(ka_httpd_options){.root = root}, pool),
                     APR_SUCCESS);
    return httpd;
}

static void assert_fact(const ka_httpd *httpd, ka_fact_id id, int64_t value,
                        const char *origin)
{
    const ka_fact *fact = &httpd->facts.facts[id];

    assert_true(fact->known);
    assert_int_equal(fact->value, value);
    assert_has(fact->origin, origin);
}

static void assert_setting(const ka_httpd *httpd, ka_setting_id id,
                           int64_t value, const char *origin)
{
    const ka_fact *fact = &httpd->server->settings.facts[id];

    assert_true(fact->known);
    assert_int_equal(fact->value, value);
    assert_string_equal(fact->origin, origin);
}

static const ka_cfg_vhost *vhost(const ka_httpd *httpd, int i)
{
    return &APR_ARRAY_IDX(httpd->server->vhosts, i, ka_cfg_vhost);
}

static const ka_cfg_log *log_at(const ka_httpd *httpd, int i)
{
    assert_true(i < httpd->server->logs->nelts);
    return &APR_ARRAY_IDX(httpd->server->logs, i, ka_cfg_log);
}

static void test_host__debian(void **state)
{
    const char *root = host("debian", *state);
    const ka_httpd_instance *found = instance(root, 0, 1, *state);
    ka_httpd *httpd = inspect(root, found, *state);

    assert_int_equal(found->pid, 812);
    assert_int_equal(found->children, 2);
    assert_int_equal(found->start_us, 25000000);
    assert_string_equal(found->binary, "/usr/sbin/apache2");
    assert_string_equal(found->cgroup, "/system.slice/apache2.service");
    assert_false(found->container);
    assert_string_equal(ka_httpd_label(found, *state), "apache2, pid 812");
    assert_string_equal(httpd->config_file, "/etc/apache2/apache2.conf");
    assert_has(httpd->environment_origin, "/proc/812/environ");
    assert_string_equal(hosttree_lines(httpd->missing, *state), "");
    assert_fact(httpd, KA_FACT_ID_MPM, KA_MPM_EVENT,
                "/etc/apache2/mods-enabled/mpm_event.load:1");
    assert_fact(httpd, KA_FACT_MAX_REQUEST_WORKERS, 150,
                "/etc/apache2/mods-enabled/mpm_event.conf:8");
    assert_fact(httpd, KA_FACT_THREADS_PER_CHILD, 25,
                "/etc/apache2/mods-enabled/mpm_event.conf:7");
    assert_fact(httpd, KA_FACT_KEEP_ALIVE, 1, "/etc/apache2/apache2.conf:5");
    assert_fact(httpd, KA_FACT_TIMEOUT, 5000000, "/etc/apache2/apache2.conf:7");
    assert_setting(httpd, KA_SETTING_START_SERVERS, 2,
                   "/etc/apache2/mods-enabled/mpm_event.conf:3");
    assert_setting(httpd, KA_SETTING_EXTENDED_STATUS, 1,
                   "/etc/apache2/mods-enabled/status.conf:5");
    assert_setting(httpd, KA_SETTING_SERVER_LIMIT, 16,
                   "assumed: default of httpd's event");
    assert_string_equal(httpd->server->runtime_dir, "/var/run/apache2");
    assert_int_equal(httpd->server->listens->nelts, 2);
}

static void test_host__debian_vhosts_and_logs(void **state)
{
    const char *root = host("debian", *state);
    ka_httpd *httpd = inspect(root, instance(root, 0, 1, *state), *state);
    const ka_cfg_backend *fpm =
        &APR_ARRAY_IDX(httpd->server->backends, 0, ka_cfg_backend);

    assert_int_equal(httpd->server->vhosts->nelts, 4);
    assert_string_equal(vhost(httpd, 2)->name, "shop.example");
    assert_int_equal(vhost(httpd, 2)->idle_timeout.value, 400000);
    assert_string_equal(vhost(httpd, 2)->idle_timeout.origin,
                        "/etc/apache2/sites-enabled/shop.conf:7");
    assert_int_equal(vhost(httpd, 2)->max_keep_alive_requests.value, 0);
    assert_int_equal(vhost(httpd, 3)->keep_alive.value, 0);
    assert_int_equal(vhost(httpd, 3)->first_of_address, 1);
    assert_int_equal(httpd->server->logs->nelts, 3);
    assert_string_equal(log_at(httpd, 0)->path,
                        "/var/log/apache2/other_vhosts_access.log");
    assert_string_equal(log_at(httpd, 0)->nickname, "vhost_combined");
    assert_int_equal(log_at(httpd, 0)->vhosts->nelts, 2);
    assert_string_equal(log_at(httpd, 2)->format, "%h %D %k");
    assert_string_equal(log_at(httpd, 2)->condition, "env=!internal");
    assert_int_equal(fpm->kind, KA_CFG_BACKEND_FCGI);
    assert_string_equal(fpm->address, "/run/php/php8.2-fpm.sock");
    assert_int_equal(fpm->vhost, 2);
    assert_string_equal(fpm->origin, "/etc/apache2/sites-enabled/shop.conf:11");
}

/* The recorded dump is that of httpd 2.4.71 with this very configuration. */
static void assert_same_as_recorded(const char *root, const char *name,
                                    const ka_httpd *httpd, bool with_places,
                                    apr_pool_t *pool)
{
    ka_cfg_tree *dump = ka_httpd_read_config(
        host_recorded(name, pool), httpd->own->server_root, "recorded", pool);
    ka_cfg_server *own = httpd->server;
    ka_cfg_server *told =
        ka_cfg_interpret(dump, httpd->server->mpm, httpd->server->mpm_origin);
    int i, n = 0;

    (void)root;
    assert_string_equal(hosttree_show(httpd->own), hosttree_show(dump));
    for (i = 0; i < httpd->own->nodes->nelts; i++) {
        const ka_cfg_node *node = ka_cfg_node_at(httpd->own, i);

        if (!node->early && with_places) {
            assert_string_equal(ka_cfg_origin(httpd->own, node),
                                ka_cfg_origin(dump, ka_cfg_node_at(dump, n)));
        }
        n += !node->early;
    }
    for (i = 0; i < KA_SETTINGS; i++) {
        assert_int_equal(own->settings.facts[i].known,
                         told->settings.facts[i].known);
        assert_int_equal(own->settings.facts[i].value,
                         told->settings.facts[i].value);
    }
    assert_int_equal(own->vhosts->nelts, told->vhosts->nelts);
    assert_int_equal(own->logs->nelts, told->logs->nelts);
}

static void test_host__own_reading_equals_the_recorded_dump(void **state)
{
    const char *root = host("debian", *state);

    assert_same_as_recorded(root, "debian12-config.txt",
                            inspect(root, instance(root, 0, 1, *state), *state),
                            true, *state);
}

static void test_host__not_running_reads_envvars(void **state)
{
    const char *root = host("debian", *state);
    ka_httpd *httpd = inspect(root, NULL, *state);

    assert_string_equal(httpd->config_file, "/etc/apache2/apache2.conf");
    assert_has(httpd->environment_origin, "/etc/apache2/envvars");
    assert_string_equal(log_at(httpd, 1)->path, "/var/log/apache2/access.log");
}

static void test_host__redhat(void **state)
{
    const char *root = host("redhat", *state);
    const ka_httpd_instance *found = instance(root, 0, 2, *state);
    ka_httpd *httpd = inspect(root, found, *state);

    assert_int_equal(found->pid, 900);
    assert_int_equal(found->children, 1);
    assert_true(found->replaced);
    assert_string_equal(found->binary, "/usr/sbin/httpd");
    assert_string_equal(found->cgroup, "/system.slice/httpd.service");
    assert_string_equal(apr_array_pstrcat(*state, found->args.defines, ' '),
                        "FOREGROUND");
    assert_string_equal(httpd->config_file, "/etc/httpd/conf/httpd.conf");
    assert_has(httpd->environment_origin, "/etc/sysconfig/httpd");
    assert_has(hosttree_lines(httpd->missing, *state),
               "environment cannot be read; run as root");
    assert_fact(httpd, KA_FACT_ID_MPM, KA_MPM_PREFORK,
                "/etc/httpd/conf.modules.d/00-mpm.conf:2");
    assert_fact(httpd, KA_FACT_MAX_REQUEST_WORKERS, 200,
                "/etc/httpd/conf.d/site.conf:3: 300, which httpd changes to "
                "200: ServerLimit");
    assert_setting(httpd, KA_SETTING_MAX_CONNECTIONS_PER_CHILD, 4000,
                   "/etc/httpd/conf.d/site.conf:5");
    assert_setting(httpd, KA_SETTING_KEEP_ALIVE_TIMEOUT, 15000000,
                   "/etc/httpd/conf.d/site.conf:8");
    assert_setting(httpd, KA_SETTING_LISTEN_BACKLOG, 1024,
                   "/etc/httpd/conf.d/site.conf:14");
    assert_setting(httpd, KA_SETTING_SENDFILE, 1,
                   "/etc/httpd/conf/httpd.conf:16");
    assert_true(httpd->facts.facts[KA_FACT_KEEP_ALIVE].assumed);
}

static void test_host__redhat_logs_and_backends(void **state)
{
    const char *root = host("redhat", *state);
    ka_httpd *httpd = inspect(root, instance(root, 0, 2, *state), *state);
    const ka_cfg_backend *backends =
        (const ka_cfg_backend *)(const void *)httpd->server->backends->elts;
    apr_array_header_t *files;
    const char *missing;

    assert_int_equal(httpd->server->backends->nelts, 4);
    assert_int_equal(backends[0].kind, KA_CFG_BACKEND_FCGID);
    assert_int_equal(backends[0].max.value, 40);
    assert_string_equal(backends[1].balancer, "balancer://pool");
    assert_int_equal(backends[1].max.value, 20);
    assert_int_equal(backends[3].kind, KA_CFG_BACKEND_BALANCER);
    assert_int_equal(backends[3].timeout.value, 30000000);
    /* Through the links of /etc/httpd/logs, as rotated by logrotate. */
    assert_string_equal(log_at(httpd, 0)->path, "/etc/httpd/logs/access_log");
    assert_int_equal(ka_cfg_log_files(&files, &missing, log_at(httpd, 0),
                                      httpd->files, *state),
                     APR_SUCCESS);
    assert_int_equal(files->nelts, 3);
    assert_int_equal(log_at(httpd, 1)->kind, KA_CFG_LOG_STRFTIME);
    assert_string_equal(log_at(httpd, 1)->path,
                        "/etc/httpd/logs/app/access.%Y-%m-%d");
    assert_int_equal(ka_cfg_log_files(&files, &missing, log_at(httpd, 1),
                                      httpd->files, *state),
                     APR_SUCCESS);
    assert_int_equal(files->nelts, 2);
    assert_has(APR_ARRAY_IDX(files, 0, ka_cfg_logfile).path,
               "/var/log/httpd/app/access.2026-11-");
}

/* Another user's server, seen without being root. */
static void test_host__what_cannot_be_read_is_named(void **state)
{
    const char *root = host("redhat", *state);
    const ka_httpd_instance *found = instance(root, 1, 2, *state);
    const char *missing = hosttree_lines(found->missing, *state);
    ka_httpd *httpd;

    assert_int_equal(found->pid, 950);
    assert_null(found->binary);
    assert_int_equal(found->uid, 1000);
    assert_has(missing, "pid 950: its binary cannot be seen; run as root, or "
                        "name the configuration with --httpd-config FILE");
    assert_has(missing, "whether it runs in a container");
    assert_int_equal(ka_httpd_inspect(&httpd, found,
                                      &(ka_httpd_options){.root = root},
                                      *state),
                     APR_ENOENT);
    assert_null(httpd->tree);
    assert_has(hosttree_lines(httpd->missing, *state), "/home/ann/a.conf: ");
    assert_has(hosttree_lines(httpd->missing, *state), "--httpd-config FILE");
}

static void test_host__source_build_and_two_instances(void **state)
{
    const char *root = host("source", *state);
    ka_httpd *one = inspect(root, instance(root, 0, 2, *state), *state);
    ka_httpd *two = inspect(root, instance(root, 1, 2, *state), *state);

    assert_fact(one, KA_FACT_ID_MPM, KA_MPM_WORKER,
                "/usr/local/apache2/conf/httpd.conf:3");
    assert_fact(one, KA_FACT_TIMEOUT, 8000000,
                "/usr/local/apache2/conf/sites/b.conf:1");
    assert_fact(one, KA_FACT_THREADS_PER_CHILD, 64, "ThreadLimit");
    assert_fact(one, KA_FACT_MAX_REQUEST_WORKERS, 384, "httpd-mpm.conf:9");
    assert_int_equal(one->server->backends->nelts, 1);
    assert_string_equal(vhost(one, 2)->name, "two.example");
    assert_string_equal(log_at(one, 0)->path,
                        "/usr/local/apache2/logs/one.example-access_log");
    assert_int_equal(log_at(one, 0)->kind, KA_CFG_LOG_NUMBERED);
    assert_setting(one, KA_SETTING_SENDFILE, 0,
                   "assumed: default of httpd's worker");

    assert_true(two->instance->args.debug);
    assert_has(ka_httpd_label(two->instance, *state),
               "pid 400, -f /srv/b.conf");
    assert_string_equal(two->config_file, "/srv/b.conf");
    assert_fact(two, KA_FACT_KEEP_ALIVE, 0, "/srv/b.conf:4");
    assert_string_equal(log_at(two, 0)->link, "/srv/now.log");
}

static void test_host__source_reading_equals_the_recorded_dump(void **state)
{
    const char *root = host("source", *state);
    ka_httpd_instance quiet = *instance(root, 0, 2, *state);

    /* It was recorded without -D PROXY. */
    quiet.args.defines = apr_array_make(*state, 1, sizeof(char *));
    assert_same_as_recorded(root, "source-config.txt",
                            inspect(root, &quiet, *state), false, *state);
}

static void test_host__container_from_outside(void **state)
{
    const char *root = host("container", *state), *text;
    const ka_httpd_instance *found = instance(root, 0, 1, *state);
    ka_httpd *httpd = inspect(root, found, *state);
    apr_array_header_t *files;
    const char *missing;

    assert_true(found->container);
    assert_string_equal(found->files,
                        apr_pstrcat(*state, root, "/proc/500/root", NULL));
    assert_string_equal(found->cgroup, "/system.slice/docker-abc.scope");
    /* Told by the texts in the container's own binary. */
    assert_string_equal(httpd->build_origin,
                        "texts in /usr/local/apache2/bin/httpd");
    assert_int_equal(httpd->build.version[2], 62);
    assert_string_equal(httpd->config_file,
                        "/usr/local/apache2/conf/httpd.conf");
    assert_fact(httpd, KA_FACT_TIMEOUT, 3000000, "/config/site.conf:1");
    /* Links that look like the host's stay in the container. */
    assert_int_equal(ka_cfg_log_files(&files, &missing, log_at(httpd, 0),
                                      httpd->files, *state),
                     APR_SUCCESS);
    assert_int_equal(files->nelts, 1);
    assert_int_equal(ka_root_read(&text, NULL, "",
                                  APR_ARRAY_IDX(files, 0, ka_cfg_logfile).path,
                                  *state),
                     APR_SUCCESS);
    assert_string_equal(text, "x\n");
}

/* The same files, with the container's root as ours. */
static void test_host__container_from_inside(void **state)
{
    const char *root = host("container/proc/500/root", *state);
    ka_httpd *httpd = inspect(root, NULL, *state);

    assert_string_equal(httpd->binary, "/usr/local/apache2/bin/httpd");
    assert_fact(httpd, KA_FACT_TIMEOUT, 3000000, "/config/site.conf:1");
}

static void test_host__none_runs(void **state)
{
    hosttree *tree = *state;
    apr_array_header_t *found;
    ka_httpd *httpd;

    hosttree_text(tree, "/proc/1/stat", "1 (init) S 0");
    assert_int_equal(ka_httpd_find(&found, tree->root, tree->pool),
                     APR_SUCCESS);
    assert_int_equal(found->nelts, 0);
    assert_int_equal(ka_httpd_inspect(&httpd, NULL,
                                      &(ka_httpd_options){.root = tree->root},
                                      tree->pool),
                     APR_ENOENT);
    assert_has(hosttree_lines(httpd->missing, tree->pool),
               "no configuration was found; name it with --httpd-config FILE");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        unit_test(test_host__debian),
        unit_test(test_host__debian_vhosts_and_logs),
        unit_test(test_host__own_reading_equals_the_recorded_dump),
        unit_test(test_host__not_running_reads_envvars),
        unit_test(test_host__redhat),
        unit_test(test_host__redhat_logs_and_backends),
        unit_test(test_host__what_cannot_be_read_is_named),
        unit_test(test_host__source_build_and_two_instances),
        unit_test(test_host__source_reading_equals_the_recorded_dump),
        unit_test(test_host__container_from_outside),
        unit_test(test_host__container_from_inside),
        hosttree_test(test_host__none_runs)};

    return unit_main(tests);
}
