/* Licensed under the Apache License, Version 2.0; see LICENSE.
 * httpd's multi-processing modules, and their names. */
#ifndef KA_MPM_H
#define KA_MPM_H

#include <stdint.h>

/* Stored in the segment: values never change. */
typedef enum ka_mpm {
    KA_MPM_UNKNOWN = -1,
    KA_MPM_PREFORK = 0,
    KA_MPM_WORKER,
    KA_MPM_EVENT,
    KA_MPM_N
} ka_mpm;

/** "prefork", "worker", "event"; "unknown" for anything else. */
const char *ka_mpm_name(int32_t mpm);

/** By name, case-insensitive, also "mpm_event", "mpm_event_module";
 * KA_MPM_UNKNOWN if it is none or NULL. */
int ka_mpm_parse(const char *name);

#endif
