/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * `kaadvisor doctor`: what it prints, and how. */
#ifndef KA_RENDER_DOCTOR_H
#define KA_RENDER_DOCTOR_H

#include <stdio.h>
#include <apr_errno.h>
#include "../host/site.h"
#include "render.h"

/* One httpd. */
typedef struct ka_doctor_httpd {
    const ka_httpd_instance *instance;
    const char *label; /* "apache2, pid 812" */
    ka_mpm mpm;        /* by its configuration */
    const char *mpm_origin;
    ka_settings settings; /* as httpd obeys them; unknown if its configuration
                             could not be read */
    const apr_array_header_t *missing; /* of const char *: what discovery could
                                          not find */
    ka_site site;
    int64_t fits; /* children that the budget holds; -1: not known */
} ka_doctor_httpd;

typedef struct ka_doctor {
    int64_t generated_us;
    const char *host; /* name of this host; NULL: not known */
    ka_machine machine;
    ka_limit_table limits;     /* of the host */
    ka_memory_others services; /* all processes but those of the httpds */
    ka_doctor_httpd *httpds;   /* httpds[httpd_n], by pid */
    size_t httpd_n;
    const char *failed; /* a sentence if /proc could not be read; NULL */
} ka_doctor;

/** For people.  @return as the renderers of render.h */
apr_status_t ka_render_doctor_text(FILE *out, const ka_doctor *doctor,
                                   const ka_render_options *options);

/** For programs, schema "kaadvisor-doctor/1". */
apr_status_t ka_render_doctor_json(FILE *out, const ka_doctor *doctor);

#endif
