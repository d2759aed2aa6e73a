/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "ka_proxied.h"

#include <stddef.h>
#include <string.h>

bool ka_proxied_is_application(const char *filename)
{
    static const char *const schemes[] = {"fcgi:", "scgi:", "uwsgi:"};
    const char *url, *socket_end;
    size_t i;

    if (!filename || strncmp(filename, "proxy:", 6) != 0) {
        return false;
    }
    url = filename + 6;
    if (strncmp(url, "unix:", 5) == 0 &&
        (socket_end = strchr(url, '|')) != NULL) {
        url = socket_end + 1;
    }
    for (i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
        if (strncmp(url, schemes[i], strlen(schemes[i])) == 0) {
            return true;
        }
    }
    return false;
}
