/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Whole hosts, as distributions lay them out: what advice begins with when
 * nothing is named. */
#include <apr_time.h>
#include <ka_segment_writer.h>

#include "wholehost.h"

#define MUCH 200000
#define HOUR_US (INT64_C(3600) * 1000000)
#define M (INT64_C(1) << 20)

/* A copy of a host's files, in the root of the test's own. */
static void copy(hosttree *tree, const char *name)
{
    const char *command = apr_pstrcat(tree->pool, "cp -a '" HOST_DATA, name,
                                      "/.' '", tree->root, "/'", NULL);

    assert_int_equal(system(command), 0);
}

static const ka_options *with_config(hosttree *tree, const char *path)
{
    ka_options *options = host_options(tree);

    options->httpd_config = apr_pstrcat(tree->pool, tree->root, path, NULL);
    return options;
}

static const char *found(const ka_host *host)
{
    return hosttree_lines(host->found, host->pool);
}

/* ---- layouts ------------------------------------------------------------- */

static void test_whole__debian(void **state)
{
    hosttree *tree = *state;
    ka_host *host;

    copy(tree, "debian");
    host_log(tree, "/var/log/apache2/access.log", MUCH, 0);
    host_log(tree, "/var/log/apache2/access.log.1", MUCH, 1);
    host_log(tree, "/var/log/apache2/access.log.2.gz", MUCH, 2);
    host_log(tree, "/var/log/apache2/error.log", MUCH, 0);
    host = host_look(tree, host_options(tree));
    assert_has(found(host), "httpd: apache2, pid 812");
    assert_has(found(host), "configuration: /etc/apache2/apache2.conf, as "
                            "read without asking httpd");
    assert_has(found(host), "in LogFormat combined");
    assert_string_equal(host_sources(host),
                        "/var/log/apache2/access.log.2.gz "
                        "/var/log/apache2/access.log.1 "
                        "/var/log/apache2/access.log");
    assert_known(host, KA_FACT_ID_MPM, KA_MPM_EVENT,
                 "mods-enabled/mpm_event.load");
    assert_known(host, KA_FACT_MAX_REQUEST_WORKERS, 150,
                 "mods-enabled/mpm_event.conf");
    assert_known(host, KA_FACT_THREADS_PER_CHILD, 25,
                 "mods-enabled/mpm_event.conf");
    assert_known(host, KA_FACT_TIMEOUT, 5000000, "/etc/apache2/apache2.conf:");
    assert_has(host_warning(host, "vhosts_not_read"), "shop.example");
}

static void test_whole__redhat(void **state)
{
    hosttree *tree = *state;
    ka_host *host;

    copy(tree, "redhat");
    host_log(tree, "/var/log/httpd/access_log", MUCH, 0);
    host_log(tree, "/var/log/httpd/access_log-20261122", MUCH, 8);
    host_log(tree, "/var/log/httpd/access_log-20261129.gz", 0, 1);
    host = host_look(tree, with_config(tree, "/etc/httpd/conf/httpd.conf"));
    assert_has(found(host), "httpd, pid 900");
    /* Through the link /etc/httpd/logs; what is empty is not read. */
    assert_string_equal(host_sources(host),
                        "/var/log/httpd/access_log-20261122 "
                        "/var/log/httpd/access_log");
    assert_known(host, KA_FACT_ID_MPM, KA_MPM_PREFORK, "00-mpm.conf:2");
    /* maxclients, in any case, held to ServerLimit. */
    assert_known(host, KA_FACT_MAX_REQUEST_WORKERS, 200,
                 "/etc/httpd/conf.d/site.conf:3: 300");
    assert_known(host, KA_FACT_TIMEOUT, 15000000,
                 "/etc/httpd/conf.d/site.conf:8");
}

static void test_whole__built_from_source(void **state)
{
    hosttree *tree = *state;
    ka_host *host;
    ka_options *options;
    int status;

    copy(tree, "source");
    host_log(tree, "/usr/local/apache2/logs/one.example-access_log", MUCH, 0);
    host_log(tree, "/usr/local/apache2/logs/one.example-access_log.1", MUCH,
             1);
    host_log(tree, "/usr/local/apache2/logs/two.example-access_log", MUCH, 0);
    host_log(tree, "/srv/2026/11/access.30", MUCH, 0);
    host = host_look(tree, with_config(
                               tree, "/usr/local/apache2/conf/httpd.conf"));
    assert_string_equal(host_sources(host),
                        "/usr/local/apache2/logs/one.example-access_log.1 "
                        "/usr/local/apache2/logs/one.example-access_log "
                        "/usr/local/apache2/logs/two.example-access_log");
    assert_known(host, KA_FACT_ID_MPM, KA_MPM_WORKER,
                 "/usr/local/apache2/conf/httpd.conf:");
    /* The other one that runs there: its only format tells no time. */
    options = (ka_options *)with_config(tree, "/srv/b.conf");
    host = host_look_as(&status, tree, options);
    assert_int_equal(status, KA_EXIT_FAILED);
    assert_has(host_warning(host, "log_not_read"), "/srv/b.conf:5");
    options->log_format = "%h %t \"%r\"";
    host = host_look(tree, options);
    assert_string_equal(host_sources(host), "/srv/2026/11/access.30");
    assert_known(host, KA_FACT_TIMEOUT, 0, "/srv/b.conf:4");
    /* Two, and none is chosen. */
    host_look_as(&status, tree, host_options(tree));
    assert_int_equal(status, KA_EXIT_USAGE);
}

static void test_whole__container_seen_from_outside(void **state)
{
    hosttree *tree = *state;
    ka_host *host;

    copy(tree, "container");
    host = host_look(tree, host_options(tree));
    assert_has(found(host), "httpd, pid 500, in a container, "
                            "/usr/local/apache2/bin/httpd");
    /* Not the host's /var/log/access.log, which has the same name. */
    assert_has(host_sources(host), "/proc/500/root/");
    assert_known(host, KA_FACT_TIMEOUT, 3000000, "/config/site.conf:1");
    assert_known(host, KA_FACT_ID_MPM, KA_MPM_EVENT,
                 "/usr/local/apache2/conf/httpd.conf:3");
}

static void test_whole__none_runs(void **state)
{
    hosttree *tree = *state;
    ka_host *host;
    int status;

    copy(tree, "debian");
    host_log(tree, "/var/log/apache2/access.log", MUCH, 0);
    assert_int_equal(
        system(apr_pstrcat(tree->pool, "rm -r '", tree->root, "/proc/812' '",
                           tree->root, "/proc/813' '", tree->root,
                           "/proc/814' '", tree->root, "/proc/820'", NULL)),
        0);
    host_look_as(&status, tree, host_options(tree));
    assert_int_equal(status, KA_EXIT_USAGE);
    host = host_look(tree, with_config(tree, "/etc/apache2/apache2.conf"));
    assert_has(found(host), "none runs with this configuration");
    assert_false(host->options.server.facts[KA_FACT_PROCESS_MEMORY].known);
}

/* ---- memory -------------------------------------------------------------- */

/* A parent and four warm children, 100 MB shared and 20 MB each of its own. */
static void memory_of_five(hosttree *tree)
{
    int pid;

    host_server(tree, LOAD("prefork") "CustomLog /l/a common\n");
    host_log(tree, "/l/a", MUCH, 0);
    host_memory(tree, HOST_PID, 20 * 1024, 0);
    for (pid = HOST_PID + 1; pid <= HOST_PID + 4; pid++) {
        host_process(tree, pid, HOST_PID, 10);
        host_memory(tree, pid, 40 * 1024, 20 * 1024);
    }
    hosttree_text(tree, "/proc/meminfo",
                  "MemTotal: 4194304 kB\nMemFree: 3145728 kB\n"
                  "MemAvailable: 3145728 kB\n");
}

static void test_whole__memory_on_cgroup_v2(void **state)
{
    hosttree *tree = *state;
    ka_host *host;

    memory_of_five(tree);
    hosttree_text(tree, "/proc/812/cgroup", "0::/web/httpd\n");
    hosttree_text(tree, "/proc/self/mountinfo",
                  "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    hosttree_text(tree, "/sys/fs/cgroup/web/httpd/memory.max", "max\n");
    hosttree_text(tree, "/sys/fs/cgroup/web/httpd/memory.high", "max\n");
    hosttree_text(tree, "/sys/fs/cgroup/web/memory.max", "1073741824\n");
    hosttree_text(tree, "/sys/fs/cgroup/web/memory.high", "max\n");
    host = host_look(tree, host_options(tree));
    assert_known(host, KA_FACT_SHARED_MEMORY, 100 * M, "[M14]");
    assert_known(host, KA_FACT_PROCESS_MEMORY, 20 * M, "smaps_rollup of 4");
    assert_has(host->options.server.facts[KA_FACT_MEMORY].origin,
               "/sys/fs/cgroup/web/memory.max: 1G of /web");
    assert_near((double)host->options.server.facts[KA_FACT_MEMORY].value / M,
                1024 - 102.4, 0.01);
    assert_null(host_warning(host, "memory_limit_not_known"));
}

static void test_whole__memory_on_cgroup_v1(void **state)
{
    hosttree *tree = *state;
    ka_host *host;

    memory_of_five(tree);
    hosttree_text(tree, "/proc/812/cgroup", "4:memory:/web\n2:cpu:/\n");
    hosttree_text(tree, "/proc/self/mountinfo",
                  "31 22 0:31 / /sys/fs/cgroup/memory rw - cgroup cgroup "
                  "rw,memory\n");
    hosttree_text(tree, "/sys/fs/cgroup/memory/memory.limit_in_bytes",
                  "9223372036854771712\n");
    hosttree_text(tree, "/sys/fs/cgroup/memory/web/memory.limit_in_bytes",
                  "536870912\n");
    host = host_look(tree, host_options(tree));
    assert_has(host->options.server.facts[KA_FACT_MEMORY].origin,
               "/sys/fs/cgroup/memory/web/memory.limit_in_bytes: 512M");
    assert_known(host, KA_FACT_PROCESS_MEMORY, 20 * M, "[M14]");
    assert_null(host_warning(host, "memory_not_measured"));
}

static void test_whole__a_limit_that_cannot_be_seen_is_said(void **state)
{
    hosttree *tree = *state;
    ka_options *options = host_options(tree);
    ka_host *host;

    memory_of_five(tree);
    hosttree_text(tree, "/proc/812/cgroup", "4:memory:/\n");
    hosttree_text(tree, "/proc/self/mountinfo",
                  "31 22 0:31 /../.. /sys/fs/cgroup/memory rw - cgroup cgroup "
                  "rw,memory\n");
    host = host_look(tree, options);
    assert_has(host_warning(host, "memory_limit_not_known"), "--memory");
    ka_server_set(&options->server, KA_FACT_MEMORY, 512 * M, false,
                  "option --memory");
    host = host_look(tree, options);
    assert_null(host_warning(host, "memory_limit_not_known"));
    assert_known(host, KA_FACT_MEMORY, 512 * M, "option --memory");
}

static void test_whole__cold_children_are_not_measured(void **state)
{
    hosttree *tree = *state;
    ka_host *host;

    memory_of_five(tree);
    hosttree_text(tree, "/proc/uptime", "20.00 1.0\n"); /* 10 s old */
    host = host_look(tree, host_options(tree));
    assert_false(host->options.server.facts[KA_FACT_PROCESS_MEMORY].known);
    assert_has(host_warning(host, "memory_not_measured"),
               "0 of 4 children are warm");
}

/* ---- segment ------------------------------------------------------------- */

typedef struct live {
    ka_segment_header *header;
    uint64_t size;
} live;

static void request_at(const live *l, uint64_t tag)
{
    const ka_segment_section *s = &l->header->section[KA_SECTION_HISTORY];

    ((ka_segment_second *)ka_segment_entry(l->header, KA_SECTION_HISTORY,
                                           tag % s->n))
        ->requests = tag << 32 | 1;
}

/* A segment that began so long ago, with requests at once and just now. */
static live make_segment(hosttree *tree, int64_t age_us, uint64_t connections)
{
    ka_segment_plan plan = {
        .vhost_n = 2, .slot_n = 4, .stripe_n = 1, .history_n = 86400};
    int64_t now = apr_time_now();
    ka_segment_stats *stats;
    ka_segment_vhost *vhost;
    live l;

    ka_segment_plan_fit(&plan);
    l.size = ka_segment_size(&plan);
    l.header = apr_pcalloc(tree->pool, l.size);
    ka_segment_format(l.header, &plan, now - age_us, 0);
    l.header->parent_pid = HOST_PID;
    l.header->heartbeat_at = now;
    vhost = ka_segment_entry(l.header, KA_SECTION_VHOSTS, 0);
    strcpy(vhost->name, "a.example:80");
    vhost->flags = KA_VHOST_IN_FORCE | KA_VHOST_KEEP_ALIVE;
    vhost->keep_alive_timeout_us = 5000000;
    l.header->vhost_used = 1;
    stats = ka_segment_entry(l.header, KA_SECTION_STATS, 0);
    stats->counter[KA_COUNTER_CLOSE + KA_REASON_CLIENT_CLOSED] = connections;
    ka_stats_add_time(stats, KA_QUANTITY_SERVICE, 1000);
    request_at(&l, 1);
    request_at(&l, (uint64_t)(age_us / 1000000));
    return l;
}

static const char *sources_with(hosttree *tree, live l)
{
    hosttree_bytes(tree, "/run/kastats.seg", l.header, l.size);
    return host_sources(host_look(tree, host_options(tree)));
}

static void test_whole__a_segment_that_has_seen_enough(void **state)
{
    static const char segment[] = "/run/kastats.seg";
    hosttree *tree = *state;
    live l;

    host_server(tree, "DefaultRuntimeDir /run\nCustomLog /l/a common\n");
    host_log(tree, "/l/a", MUCH, 0);
    assert_string_equal(sources_with(tree, make_segment(tree, 2 * HOUR_US,
                                                        5000)),
                        segment);
    assert_string_equal(sources_with(tree, make_segment(tree, HOUR_US / 2,
                                                        5000)),
                        "/l/a");
    assert_string_equal(sources_with(tree, make_segment(tree, 2 * HOUR_US,
                                                        999)),
                        "/l/a");
    l = make_segment(tree, 2 * HOUR_US, 5000);
    l.header->heartbeat_at -= HOUR_US; /* nobody writes any more */
    assert_string_equal(sources_with(tree, l), "/l/a");
}

static void test_whole__what_a_young_segment_is_for(void **state)
{
    hosttree *tree = *state;

    host_server(tree, "DefaultRuntimeDir /run\nCustomLog /l/a common\n");
    host_log(tree, "/l/a", 0, 0);
    assert_string_equal(sources_with(tree, make_segment(tree, HOUR_US / 2,
                                                        10)),
                        "/run/kastats.seg");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        hosttree_test(test_whole__debian),
        hosttree_test(test_whole__redhat),
        hosttree_test(test_whole__built_from_source),
        hosttree_test(test_whole__container_seen_from_outside),
        hosttree_test(test_whole__none_runs),
        hosttree_test(test_whole__memory_on_cgroup_v2),
        hosttree_test(test_whole__memory_on_cgroup_v1),
        hosttree_test(test_whole__a_limit_that_cannot_be_seen_is_said),
        hosttree_test(test_whole__cold_children_are_not_measured),
        hosttree_test(test_whole__a_segment_that_has_seen_enough),
        hosttree_test(test_whole__what_a_young_segment_is_for)};

    return unit_main(tests);
}
