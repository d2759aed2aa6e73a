/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Names of the kinds of excluded traffic, as they stand in JSON.
 */
#include "observation.h"

const char *ka_excluded_name(ka_excluded kind)
{
    static const char *const names[KA_EXCLUDED_N] = {
        [KA_EXCLUDED_DUMMY] = "internal_dummy_connection",
        [KA_EXCLUDED_PAGESPEED] = "mod_pagespeed",
        [KA_EXCLUDED_HEALTH] = "loopback_health_check",
        [KA_EXCLUDED_VHOST] = "other_vhost",
        [KA_EXCLUDED_TIME] = "outside_window",
    };

    return (unsigned)kind < KA_EXCLUDED_N ? names[kind] : "unknown";
}
