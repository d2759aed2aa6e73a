/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_mpm.h"

#include <string.h>
#include <strings.h>

static const char *const mpm_names[KA_MPM_N] = {"prefork", "worker", "event"};

const char *ka_mpm_name(int32_t mpm)
{
    return mpm >= 0 && mpm < KA_MPM_N ? mpm_names[mpm] : "unknown";
}

int ka_mpm_parse(const char *name)
{
    int i;

    if (!name) {
        return KA_MPM_UNKNOWN;
    }
    if (!strncasecmp(name, "mpm_", 4)) {
        name += 4;
    }
    for (i = 0; i < KA_MPM_N; i++) {
        size_t n = strlen(mpm_names[i]);

        if (!strncasecmp(name, mpm_names[i], n) &&
            (!name[n] || !strcasecmp(name + n, "_module"))) {
            return i;
        }
    }
    return KA_MPM_UNKNOWN;
}
