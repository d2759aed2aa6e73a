/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The httpds that run, found in /proc.  No list of distributions: a parent is
 * a process that looks like httpd (by the name of its binary, or by what it
 * has mapped) and is not itself the child of one.  Several are told apart by
 * their pids, arguments and roots.
 *
 * Every path goes through a root: "" is this host, a directory that holds
 * proc/ is a copy of another one.
 */
#ifndef KA_HTTPD_FIND_H
#define KA_HTTPD_FIND_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <apr_errno.h>
#include <apr_pools.h>
#include <apr_tables.h>

/* Arguments of a server, as it was started. */
typedef struct ka_httpd_args {
    const char *file;              /* -f; NULL */
    const char *server_root;       /* -d; NULL */
    apr_array_header_t *defines;   /* -D, const char * */
    apr_array_header_t *before;    /* -C, const char * */
    apr_array_header_t *after;     /* -c, const char * */
    bool debug;                    /* -X: one process */
    bool transient;                /* -t, -S, -V, -k stop ...: no server */
} ka_httpd_args;

typedef struct ka_httpd_instance {
    int pid;              /* of the parent */
    int children;         /* processes below it that run the same */
    int64_t start_us;     /* since the machine started */
    uid_t uid;            /* of the parent */
    gid_t gid;
    const char *name;     /* of the process */
    const char *binary;   /* as the process sees it; NULL: not readable */
    bool replaced;        /* the binary that runs is no longer there, as after
                             an upgrade without restart */
    ka_httpd_args args;
    const char *files;    /* root of its files, see config_root.h */
    bool container;       /* it sees other files than this process */
    const char *cgroup;   /* path below the cgroup mount; NULL: not known */
    const apr_table_t *environment; /* NULL: not readable */
    apr_array_header_t *missing; /* const char *: what could not be read, and
                                    what would help */
} ka_httpd_instance;

/**
 * Finds them.
 * @param out  of ka_httpd_instance, ascending by pid; empty if none runs
 * @return APR_SUCCESS; the system's status if /proc cannot be read
 */
apr_status_t ka_httpd_find(apr_array_header_t **out, const char *root,
                           apr_pool_t *pool);

/** Parses a command line.  Pure.
 * @param bytes  argv, each ending in NUL, as in /proc/PID/cmdline */
void ka_httpd_read_args(ka_httpd_args *out, const char *bytes, size_t length,
                        apr_pool_t *pool);

/** For people: "httpd, pid 812, -f /srv/a.conf, in a container". */
const char *ka_httpd_label(const ka_httpd_instance *instance,
                           apr_pool_t *pool);

#endif
