/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * What the files of ka_httpd_inspect share: httpd.c finds and reads,
 * httpd_ask.c runs the binary. */
#ifndef KA_HTTPD_PRIV_H
#define KA_HTTPD_PRIV_H

#include "httpd.h"

typedef struct ka_httpd_inspection {
    ka_httpd *httpd;
    const ka_httpd_options *options;
    apr_table_t *environment;
    apr_array_header_t *builtin; /* of -l; NULL */
    const char *server_root, *file; /* as far as known before reading */
    bool may_run;
    apr_pool_t *pool;
} ka_httpd_inspection;

/** Adds a sentence to what is missing. */
void ka_httpd_miss(ka_httpd_inspection *in, const char *text);

/** -V and -l; the environment is known. */
void ka_httpd_ask_build(ka_httpd_inspection *in);

/** -S and DUMP_CONFIG; our own reading has been tried. */
void ka_httpd_ask_configuration(ka_httpd_inspection *in);

#endif
