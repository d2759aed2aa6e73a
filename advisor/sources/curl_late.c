/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "curl_late.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* The name that the ABI in curl.h has had since 2006. */
#define LIBRARY "libcurl.so.4"

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
    {"curl_global_init", offsetof(ka_curl_api, global_init)},
    {"curl_global_cleanup", offsetof(ka_curl_api, global_cleanup)},
    {"curl_easy_init", offsetof(ka_curl_api, easy_init)},
    {"curl_easy_cleanup", offsetof(ka_curl_api, easy_cleanup)},
    {"curl_easy_setopt", offsetof(ka_curl_api, easy_setopt)},
    {"curl_easy_perform", offsetof(ka_curl_api, easy_perform)},
    {"curl_easy_getinfo", offsetof(ka_curl_api, easy_getinfo)},
    {"curl_easy_strerror", offsetof(ka_curl_api, easy_strerror)},
    {"curl_slist_append", offsetof(ka_curl_api, slist_append)},
    {"curl_slist_free_all", offsetof(ka_curl_api, slist_free_all)},
};

const ka_curl_api *ka_curl_load(ka_curl_api *api, const char **reason)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    size_t i;

    for (i = 0; library && i < sizeof(functions) / sizeof(functions[0]); i++) {
        void *symbol = dlsym(library, functions[i].name);

        if (!symbol) {
            library = NULL;
            break;
        }
        /* ISO C has no cast from an object's address to a function's. */
        memcpy((char *)api + functions[i].offset, &symbol, sizeof(symbol));
    }
    *reason = library ? NULL : dlerror();
    return library ? api : NULL;
}
