/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Our own reading of a configuration, for where httpd cannot be asked:
 * Include and IncludeOptional (wildcards, directories), Define, UnDefine and
 * ${VAR}, IfModule, IfDefine, IfVersion, IfFile, IfDirective, IfSection, Macro
 * and Use, LoadModule, ServerRoot, `\` at the end of a line.
 *
 * What httpd would refuse is passed over and named among tree->problems: a
 * server that runs was started from a configuration that held.  Bounded, for
 * files that mean harm: KA_CFG_DEPTH_MAX Includes or Uses within each other,
 * KA_CFG_LINES_MAX lines and KA_CFG_BYTES_MAX bytes in all, macros included,
 * and so on; what lies beyond is not read, and that is a problem too.
 */
#ifndef KA_CONFIG_READ_H
#define KA_CONFIG_READ_H

#include <apr_errno.h>
#include "config_tree.h"

#define KA_CFG_DEPTH_MAX 20 /* httpd's own */
#define KA_CFG_LINES_MAX 500000
#define KA_CFG_NESTED_MAX 200     /* sections within each other */
#define KA_CFG_ENTRIES_MAX 50000  /* of directories, for Include */
#define KA_CFG_FILES_MAX 20000    /* read, each as often as it is */
#define KA_CFG_PARAMETERS_MAX 32  /* of a macro */
#define KA_CFG_BYTES_MAX (32u << 20)

typedef struct ka_cfg_input {
    const char *root;        /* of the files, see config_root.h */
    const char *server_root; /* absolute: -d, or HTTPD_ROOT */
    const char *file;        /* -f, or SERVER_CONFIG_FILE; below server_root
                                if relative */
    const apr_array_header_t *defines; /* const char *: -D; may be NULL */
    const apr_array_header_t *before;  /* const char *: -C lines; NULL */
    const apr_array_header_t *after;   /* const char *: -c lines; NULL */
    const apr_table_t *environment;    /* may be NULL */
    const apr_array_header_t *builtin; /* const char *: sources as `-l`
                      prints; NULL or empty: those of every package */
    int version[3];     /* for IfVersion; 0 if not known: 2.4.0 then */
    const char *vendor; /* what follows the numbers, " (Debian)"; or NULL */
} ka_cfg_input;

/**
 * @param out    owned by pool
 * @param error  on failure a sentence with the file and the option that names
 *               another
 * @return APR_SUCCESS, whatever is missing in it; the system's status if the
 *         main file cannot be read
 */
apr_status_t ka_cfg_read(ka_cfg_tree **out, const char **error,
                         const ka_cfg_input *input, apr_pool_t *pool);

#endif
