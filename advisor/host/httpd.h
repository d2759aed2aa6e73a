/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * ka_httpd: one httpd, running or installed, and its configuration.
 *
 * Where it is asked and where read, in this order:
 *
 *     binary -V, -l         version, MPM, HTTPD_ROOT, SERVER_CONFIG_FILE, what
 *                           is built in; if it may not be run, from the texts
 *                           in the file itself
 *     own reading           always: LoadModule lines, and the fallback
 *     binary -S             ServerRoot, virtual hosts as httpd sees them
 *     binary -t -D DUMP_CONFIG, with mod_info loaded on the command line where
 *                           it is not loaded: the configuration httpd obeys
 *
 * The binary is run with the server's own arguments and environment, as the
 * user of its parent process when we are root, and only if nobody else could
 * have put it there; not for a server with another root than ours.
 * What was not found is in `missing`, each with the option that supplies it.
 * Nothing is written and no server is disturbed.
 */
#ifndef KA_HTTPD_H
#define KA_HTTPD_H

#include "config_env.h"
#include "config_server.h"
#include "httpd_find.h"
#include "httpd_output.h"

typedef struct ka_httpd_options {
    const char *root;        /* "" or a copy of a host, whose binary is never
                                run */
    const char *config_file; /* --httpd-config: absolute; NULL: the server's */
    const char *binary;      /* NULL: the server's, else one that is there */
    bool never_run;          /* only read */
    int64_t limit_us;        /* for each run; 0: KA_HTTPD_RUN_SECONDS */
} ka_httpd_options;

typedef struct ka_httpd {
    const ka_httpd_instance *instance; /* NULL: none runs */
    const char *files;         /* root of its files, see config_root.h */
    const char *binary;        /* as the server sees it; NULL: none found */
    bool ran;                  /* the binary has answered */
    ka_httpd_build build;
    const char *build_origin;  /* "/usr/sbin/apache2 -V"; NULL: not known */
    ka_httpd_run run;          /* server_root is NULL if -S did not answer */
    apr_array_header_t *told_vhosts; /* of ka_httpd_vhost, by -S; may be
                                        empty */
    const char *config_file;   /* absolute, as the server sees it; NULL */
    const apr_table_t *environment;  /* that its ${VAR} come from */
    const char *environment_origin;  /* "/proc/812/environ", the files, or "" */
    ka_cfg_tree *own;    /* our own reading; NULL if it failed */
    ka_cfg_tree *dumped; /* httpd's; NULL if it did not answer */
    ka_cfg_tree *tree;   /* the one that `server` comes from: dumped, else
                            own; NULL if there is neither */
    ka_cfg_server *server; /* NULL without a tree */
    ka_server facts;     /* what ka_facts knows of it */
    apr_array_header_t *missing; /* const char *: sentences, those of the
                                    instance and the tree's problems too */
} ka_httpd;

/**
 * Looks at a server.
 * @param out       owned by pool, also on failure as far as it went
 * @param instance  of ka_httpd_find, or NULL: what is installed
 * @return APR_SUCCESS; APR_ENOENT if there is no configuration to read;
 *         another status if it cannot be read.  `missing` says why.
 */
apr_status_t ka_httpd_inspect(ka_httpd **out,
                              const ka_httpd_instance *instance,
                              const ka_httpd_options *options,
                              apr_pool_t *pool);

/**
 * Asks `-t` about the server's configuration with one more file, included at
 * its end.  Neither is changed.
 * @param file       a path of this process, of a regular file; NULL: asks about
 *                   the configuration alone
 * @param complaint  NULL, or the command and what it says against it
 * @return APR_SUCCESS if it holds; APR_EINVAL if it does not; APR_ENOTIMPL if
 *         it cannot be asked: the binary has not answered ka_httpd_inspect, or
 *         the name is one that Include would take for a pattern
 */
apr_status_t ka_httpd_test_include(const char **complaint,
                                   const ka_httpd *httpd, const char *file,
                                   apr_pool_t *pool);

/**
 * The binary and the arguments that choose this configuration: what follows
 * them (-t, -k graceful) is about this server.
 * @return of const char *; empty if no binary is known
 */
apr_array_header_t *ka_httpd_command_line(const ka_httpd *httpd,
                                          apr_pool_t *pool);

/**
 * What `-V` would say, from the texts in a binary.  Pure.
 * @return false if these are not httpd's
 */
bool ka_httpd_read_binary(ka_httpd_build *out, const char *bytes,
                          size_t length, apr_pool_t *pool);

#endif
