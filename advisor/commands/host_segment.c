/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "host_segment.h"

#include <string.h>
#include <apr_strings.h>

#include <ka_segment_file.h>
#include <ka_segment_reader.h>
#include "../host/config_root.h"
#include "../sources/segment.h"

/* The name that mod_kastats gives its segment. */
#define SEGMENT "kastats.seg"

/* ---- where ------------------------------------------------------------- */

/* Without DefaultRuntimeDir that is compiled in, and so is the place of
 * PidFile, in the same directory. */
static const char *beside_pid_file(const ka_cfg_server *server,
                                   apr_pool_t *pool)
{
    const char *slash =
        server->pid_file ? strrchr(server->pid_file, '/') : NULL;

    return slash ? apr_pstrcat(pool,
                               apr_pstrmemdup(pool, server->pid_file,
                                              (apr_size_t)(slash + 1 -
                                                           server->pid_file)),
                               SEGMENT, NULL)
                 : NULL;
}

const char *ka_host_segment_path(const ka_httpd *httpd, apr_pool_t *pool)
{
    const ka_cfg_server *server = httpd->server;
    const char *path = server->kastats_file, *real;

    if (!path && server->runtime_dir) {
        path = ka_root_join(server->runtime_dir, SEGMENT, pool);
    }
    if (!path) {
        path = beside_pid_file(server, pool);
    }
    return path && !ka_root_resolve(&real, httpd->files, path, pool) &&
                   ka_segment_source_is(real)
               ? real
               : NULL;
}

/* ---- requests ---------------------------------------------------------- */

/* -1: no child of that pid, or its requests are not counted. */
static int64_t requests_of(const ka_snapshot *snapshot, int pid)
{
    uint32_t i;

    for (i = 0; i < snapshot->child_n; i++) {
        if (snapshot->children[i].pid == pid) {
            return snapshot->children[i].requests;
        }
    }
    return -1;
}

/* The segment's pids are those of the server's own name space.  Another
 * parent: it is left from a server that is gone, and its pids are no longer
 * theirs. */
static bool read_snapshot(ka_snapshot *out, const char *path,
                          const ka_httpd_instance *instance, const char *root,
                          apr_pool_t *pool)
{
    const ka_segment_header *header;
    const char *error;

    if (ka_segment_load(&header, path, &error, pool)) {
        return false;
    }
    ka_snapshot_make(out, header, pool);
    return out->parent_pid == ka_process_inner_pid(root, instance->pid, pool);
}

size_t ka_host_requests(ka_memory_requests **out, const ka_httpd *httpd,
                        const char *root, const apr_array_header_t *processes,
                        apr_pool_t *pool)
{
    const char *path =
        httpd->server ? ka_host_segment_path(httpd, pool) : NULL;
    ka_snapshot snapshot;
    size_t n = 0;
    int i;

    *out = NULL;
    if (!path ||
        !read_snapshot(&snapshot, path, httpd->instance, root, pool)) {
        return 0;
    }
    *out = apr_palloc(pool, (size_t)(processes->nelts + 1) * sizeof(**out));
    for (i = 0; i < processes->nelts; i++) {
        const ka_process *p = &APR_ARRAY_IDX(processes, i, const ka_process);
        int64_t requests;

        if (p->ppid != httpd->instance->pid) {
            continue;
        }
        requests = requests_of(&snapshot,
                               ka_process_inner_pid(root, p->pid, pool));
        if (requests >= 0) {
            (*out)[n++] = (ka_memory_requests){p->pid, requests};
        }
    }
    return n;
}
