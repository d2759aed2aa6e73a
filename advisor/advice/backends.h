/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * Inside advice/: what stands behind httpd (R17). */
#ifndef KA_BACKENDS_H
#define KA_BACKENDS_H

#include "decide.h"

/* What a child of php-fpm takes, by those that run. */
typedef struct ka_fpm_size {
    bool known;
    int64_t children; /* the master counts as one */
    int64_t bytes;    /* of each, in the mean, > 0 */
} ka_fpm_size;

ka_fpm_size ka_fpm_size_of(const ka_site *site);

/** Whether the configuration, and so its backends, is known. */
bool ka_backends_known(const ka_report *report);

/** Whether a backend is the first of the configuration with its kind, limit
 * and address: http and https sections often name the same one. */
bool ka_backend_is_first(const apr_array_header_t *backends, int index);

/* Rows of the table of warnings (warnings.c); each NULL if it finds nothing. */
const char *ka_warn_backend_reuse(const ka_decision *d);
const char *ka_warn_backend_idle(const ka_decision *d);
const char *ka_warn_fpm_memory(const ka_decision *d);

#endif
