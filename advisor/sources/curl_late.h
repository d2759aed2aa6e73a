/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * libcurl, loaded when a URL is asked for: it brings some thirty libraries
 * along, and to load them takes as long as to read 100,000 lines of a log.
 */
#ifndef KA_CURL_LATE_H
#define KA_CURL_LATE_H

/* Plain functions, whose types the table below has. */
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#undef curl_easy_setopt
#undef curl_easy_getinfo

typedef struct ka_curl_api {
    CURLcode (*global_init)(long flags);
    void (*global_cleanup)(void);
    CURL *(*easy_init)(void);
    void (*easy_cleanup)(CURL *curl);
    CURLcode (*easy_setopt)(CURL *curl, CURLoption option, ...);
    CURLcode (*easy_perform)(CURL *curl);
    CURLcode (*easy_getinfo)(CURL *curl, CURLINFO info, ...);
    const char *(*easy_strerror)(CURLcode code);
    struct curl_slist *(*slist_append)(struct curl_slist *list,
                                       const char *text);
    void (*slist_free_all)(struct curl_slist *list);
} ka_curl_api;

/**
 * Loads the library; it stays loaded.
 * @param reason  on failure what the loader says
 * @return the functions, the caller's storage filled; NULL if it is not
 *         there or lacks one
 * Not thread-safe.
 */
const ka_curl_api *ka_curl_load(ka_curl_api *api, const char **reason);

#endif
