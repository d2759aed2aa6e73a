/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * For tests that go from a host's files to what advice begins with: facts and
 * chosen sources.  The host is a directory, so that its binary never runs. */
#ifndef KA_TEST_WHOLEHOST_H
#define KA_TEST_WHOLEHOST_H

#include <inttypes.h>
#include <time.h>
#include <sys/time.h>

#include "commands/analysis_host.h"
#include "hosttree.h"

#define HOST_PID 812
#define LOAD(mpm) "LoadModule mpm_" mpm "_module modules/mod_mpm_" mpm ".so\n"

static inline void host_process(hosttree *tree, int pid, int ppid,
                                int seconds_of_cpu)
{
    apr_pool_t *pool = tree->pool;
    const char *directory = apr_psprintf(pool, "/proc/%d/", pid);

    hosttree_text(tree, apr_pstrcat(pool, directory, "stat", NULL),
                  apr_psprintf(pool,
                               "%d (httpd) S %d 0 0 0 0 0 0 0 0 0 %d 0 0 0 0 "
                               "0 1 0 1000 0 500 0\n",
                               pid, ppid, 100 * seconds_of_cpu));
    hosttree_text(tree, apr_pstrcat(pool, directory, "status", NULL),
                  "Name:\thttpd\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n");
    hosttree_link(tree, apr_pstrcat(pool, directory, "exe", NULL),
                  "/usr/sbin/httpd");
    hosttree_link(tree, apr_pstrcat(pool, directory, "root", NULL), "/");
}

/* Memory of a process, in kB. */
static inline void host_memory(hosttree *tree, int pid, int pss, int uss)
{
    hosttree_text(
        tree, apr_psprintf(tree->pool, "/proc/%d/smaps_rollup", pid),
        apr_psprintf(tree->pool,
                     "Rss: %d kB\nPss: %d kB\nPss_Anon: %d kB\n"
                     "Private_Clean: 0 kB\nPrivate_Dirty: %d kB\n"
                     "Swap: 0 kB\n",
                     2 * pss, pss, uss, uss));
}

/* A server that runs with this configuration. */
static inline void host_server(hosttree *tree, const char *conf)
{
    static const char command[] =
        "/usr/sbin/httpd\0-d\0/etc/httpd\0-f\0/etc/httpd/test.conf";

    host_process(tree, HOST_PID, 1, 1);
    hosttree_bytes(tree, "/proc/812/cmdline", command, sizeof(command));
    hosttree_text(tree, "/proc/812/environ", "");
    hosttree_text(tree, "/proc/uptime", "86400.00 1.0\n");
    hosttree_text(tree, "/etc/httpd/test.conf", conf);
}

/* A log of so many bytes, last written so many days ago. */
static inline void host_log(hosttree *tree, const char *path, size_t bytes,
                            int days)
{
    struct timeval times[2] = {{.tv_sec = 0}};
    char *text = apr_palloc(tree->pool, bytes + 1);

    memset(text, '\n', bytes);
    hosttree_bytes(tree, path, text, bytes);
    times[0].tv_sec = times[1].tv_sec = time(NULL) - 86400L * days;
    assert_int_equal(
        utimes(apr_pstrcat(tree->pool, tree->root, path, NULL), times), 0);
}

static inline ka_options *host_options(hosttree *tree)
{
    ka_options *options = apr_pcalloc(tree->pool, sizeof(*options));

    ka_options_init(options);
    options->quiet = true;
    options->pool = tree->pool;
    return options;
}

static inline ka_host *host_look_as(int *status, hosttree *tree,
                                    const ka_options *options)
{
    ka_host *host = apr_pcalloc(tree->pool, sizeof(*host));

    *status = ka_host_complete(host, tree->root, options, tree->pool);
    return host;
}

static inline ka_host *host_look(hosttree *tree, const ka_options *options)
{
    int status;
    ka_host *host = host_look_as(&status, tree, options);

    assert_int_equal(status, KA_EXIT_DONE);
    return host;
}

/* Sources below the root, joined by blanks. */
static inline const char *host_sources(const ka_host *host)
{
    const char *text = "";
    size_t i;

    for (i = 0; i < host->options.source_n; i++) {
        const char *path = host->options.sources[i];

        assert_true(!strncmp(path, host->root, strlen(host->root)));
        text = apr_pstrcat(host->pool, text, *text ? " " : "",
                           path + strlen(host->root), NULL);
    }
    return text;
}

/* The text of a warning; NULL if there is none of that name. */
static inline const char *host_warning(const ka_host *host, const char *id)
{
    int i;

    for (i = 0; i < host->warnings->nelts; i++) {
        const ka_warning *w = &APR_ARRAY_IDX(host->warnings, i, ka_warning);

        if (!strcmp(w->id, id)) {
            return w->text;
        }
    }
    return NULL;
}

static inline void assert_known(const ka_host *host, ka_fact_id id,
                                int64_t value, const char *origin)
{
    const ka_fact *fact = &host->options.server.facts[id];

    if (!fact->known || fact->value != value) {
        fail_msg("%s: %s %" PRId64 ", not %" PRId64,
                 ka_fact_info_of(id)->key, fact->known ? "known as" : "unknown",
                 fact->value, value);
    }
    assert_has(fact->origin, origin);
}

#endif
