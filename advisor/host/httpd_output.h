/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What httpd says of itself: `-V`, `-l`, `-t -D DUMP_RUN_CFG`, `-S` and
 * `-t -D DUMP_CONFIG`.  Pure functions of the text; any bytes are safe; what
 * a text does not tell stays NULL, 0 or unknown.  Results are owned by pool.
 */
#ifndef KA_HTTPD_OUTPUT_H
#define KA_HTTPD_OUTPUT_H

#include "config_tree.h"
#include "facts.h"

typedef struct ka_httpd_build {
    int version[3];       /* 2.4.62; 0.0.0 if not told */
    const char *vendor;   /* " (Debian)", with what follows the numbers; "" */
    int32_t mpm;          /* ka_mpm; 2.4 tells the one its configuration
                             loads, if it could read that */
    const char *root;     /* HTTPD_ROOT */
    const char *file;     /* SERVER_CONFIG_FILE */
    const char *pid_file; /* DEFAULT_PIDLOG */
    const char *error_log; /* DEFAULT_ERRORLOG */
} ka_httpd_build;

typedef struct ka_httpd_run {
    const char *server_root, *document_root, *error_log, *pid_file;
    const char *user, *group;
    apr_array_header_t *defines; /* of const char *: `Define:` lines, names
                                    or NAME=VALUE */
} ka_httpd_run;

/* A line of `-S`. */
typedef struct ka_httpd_vhost {
    const char *address;  /* "*:80" */
    const char *name;
    const char *origin;   /* file:line */
    bool is_default;      /* the first of its address */
} ka_httpd_vhost;

/** `-V`.  @return false if it is no httpd's (out is then empty) */
bool ka_httpd_read_version(ka_httpd_build *out, const char *text,
                           apr_pool_t *pool);

/** `-l`: sources of what is built in, const char *; empty if none. */
apr_array_header_t *ka_httpd_read_modules(const char *text, apr_pool_t *pool);

/** `-t -D DUMP_RUN_CFG`.  @return false if it tells no ServerRoot */
bool ka_httpd_read_run(ka_httpd_run *out, const char *text, apr_pool_t *pool);

/** `-S`: of ka_httpd_vhost, in its order. */
apr_array_header_t *ka_httpd_read_vhosts(const char *text, apr_pool_t *pool);

/**
 * `-t -D DUMP_CONFIG`: directives after Include, Define and If*.  Modules are
 * not told; nodes of ServerRoot, LoadModule and the like neither.
 * @param server_root  of DUMP_RUN_CFG, for relative paths
 * @param by           the command
 * @return NULL if the text holds no directive
 */
ka_cfg_tree *ka_httpd_read_config(const char *text, const char *server_root,
                                  const char *by, apr_pool_t *pool);

#endif
