/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * The environment that a server is started with: Debian's envvars, a source
 * build's bin/envvars, Red Hat's and SUSE's sysconfig files.  They are shell
 * scripts; nothing is run.  Read are assignments, `export`, `unset`,
 * `: ${A:=b}` and `if [ ... ]` with their quotes, and of ${...} the forms that
 * such files have: $A ${A} ${A:-b} ${A:=b} ${A:+b} ${A#b} ${A##b} ${A%b}
 * ${A%%b}, where b is no pattern.  What needs a shell (`...`, $(...)) leaves
 * its variable alone.
 */
#ifndef KA_CONFIG_ENV_H
#define KA_CONFIG_ENV_H

#include <stdbool.h>
#include <apr_errno.h>
#include <apr_pools.h>
#include <apr_tables.h>

/**
 * @param environment  read and changed
 * @param text         of such a file
 */
void ka_cfg_env_read(apr_table_t *environment, const char *text,
                     apr_pool_t *pool);

/**
 * Reads those of the customary files that are there: SERVER_ROOT/envvars,
 * SERVER_ROOT/bin/envvars, /etc/sysconfig/httpd, /etc/sysconfig/apache2.
 * @param root         see config_root.h
 * @param server_root  absolute, or NULL
 * @return the paths read, const char *
 */
apr_array_header_t *ka_cfg_env_files(apr_table_t *environment,
                                     const char *root, const char *server_root,
                                     apr_pool_t *pool);

/** A process's: NAME=VALUE, NUL, ... as in /proc/PID/environ. */
void ka_cfg_env_block(apr_table_t *environment, const char *bytes,
                      size_t length, apr_pool_t *pool);

#endif
