/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "prometheus_http.h"

#include <errno.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <apr_strings.h>

#include "../words.h"
#include "curl_late.h"

#define URL_MAX 2000
#define TOKEN_MAX 16384
#define REDIRECTS_MAX 3L

struct ka_prom_http {
    const char *url;
    bool has_token;
    ka_curl_api curl_api;
    const ka_curl_api *lib; /* NULL until it is loaded */
    CURL *curl;
    struct curl_slist *headers;
    char reason[CURL_ERROR_SIZE];
    char *text; /* text[size], malloc'd */
    size_t n, size;
    bool too_large;
    apr_pool_t *pool;
};

/* ---- the URL ------------------------------------------------------------ */

bool ka_prometheus_source_is(const char *source)
{
    return !strncasecmp(source, "http://", 7) ||
           !strncasecmp(source, "https://", 8);
}

static bool is_https(const char *url)
{
    return !strncasecmp(url, "https://", 8);
}

static bool is_printable(const char *text)
{
    for (; *text; text++) {
        if (*text <= ' ' || *text >= 0x7f) {
            return false;
        }
    }
    return true;
}

/* What is wrong with it; NULL: nothing.  A password would stand in the list
 * of processes, and in every message. */
static const char *url_unfit(const char *url)
{
    const char *host = strstr(url, "://") + 3;
    size_t n = strcspn(host, "/?#");

    if (strlen(url) > URL_MAX) {
        return "it is longer than 2000 characters";
    }
    if (!is_printable(url)) {
        return "it holds characters that must be percent-encoded";
    }
    if (memchr(host, '@', n)) {
        return "give no user and password in it; --token-file FILE holds a "
               "bearer token";
    }
    if (n == 0) {
        return "it names no host";
    }
    if (strpbrk(host, "?#")) {
        return "expected http[s]://HOST[:PORT][/PREFIX], without ? and #";
    }
    return NULL;
}

/* A password must not be shown even where it is refused. */
static const char *url_shown(const char *url, apr_pool_t *pool)
{
    const char *host = strstr(url, "://") + 3;
    size_t n = strcspn(host, "/?#");
    const char *at = memrchr(host, '@', n);

    return at ? apr_psprintf(pool, "%.*s...%s", (int)(host - url), url, at)
              : url;
}

static const char *without_slash(const char *url, apr_pool_t *pool)
{
    size_t n = strlen(url);

    while (n > 0 && url[n - 1] == '/') {
        n--;
    }
    return apr_pstrmemdup(pool, url, n);
}

/* ---- the token ---------------------------------------------------------- */

static const char *trimmed(char *text)
{
    char *end = text + strlen(text);

    while (end > text && strchr(" \t\r\n", end[-1])) {
        *--end = '\0';
    }
    return text + strspn(text, " \t\r\n");
}

static apr_status_t token_read(const char **out, const char **error,
                               const char *path, apr_pool_t *pool)
{
    char *text = apr_pcalloc(pool, TOKEN_MAX + 2);
    FILE *file = fopen(path, "re");
    size_t n;

    if (!file) {
        apr_status_t rv = APR_FROM_OS_ERROR(errno);

        *error =
            apr_psprintf(pool, "--token-file %s: %s", path, strerror(errno));
        return rv;
    }
    n = fread(text, 1, TOKEN_MAX + 1, file);
    fclose(file);
    *out = trimmed(text);
    if (n > TOKEN_MAX || strlen(text) == 0 || !is_printable(*out)) {
        *error = apr_psprintf(pool,
                              "--token-file %s: expected a file with one "
                              "bearer token and nothing else",
                              path);
        return APR_EINVAL;
    }
    return APR_SUCCESS;
}

/* ---- setting up --------------------------------------------------------- */

static size_t take(char *bytes, size_t size, size_t count, void *baton)
{
    ka_prom_http *http = baton;
    size_t n = size * count;

    if (n > KA_PROM_ANSWER_MAX - http->n) {
        http->too_large = true;
        return 0;
    }
    if (http->n + n > http->size) {
        size_t wanted = (http->n + n) * 2;
        char *text = realloc(http->text, wanted);

        if (!text) {
            return 0;
        }
        http->text = text;
        http->size = wanted;
    }
    memcpy(http->text + http->n, bytes, n);
    http->n += n;
    return n;
}

static apr_status_t clear(void *data)
{
    ka_prom_http *http = data;

    http->lib->slist_free_all(http->headers);
    http->lib->easy_cleanup(http->curl);
    http->lib->global_cleanup();
    free(http->text);
    return APR_SUCCESS;
}

static void set_token(ka_prom_http *http, const char *token)
{
    char *header =
        apr_pstrcat(http->pool, "Authorization: Bearer ", token, NULL);

    /* libcurl sends such a header to no other host, port or scheme. */
    http->headers = http->lib->slist_append(http->headers, header);
    http->has_token = true;
    memset(header, 0, strlen(header));
}

static void set_tls(ka_prom_http *http, const ka_prom_access *access)
{
    CURL *curl = http->curl;

    if (access->ca_file) {
        http->lib->easy_setopt(curl, CURLOPT_CAINFO, access->ca_file);
        http->lib->easy_setopt(curl, CURLOPT_CAPATH, NULL);
    }
    if (access->insecure) {
        http->lib->easy_setopt(curl, CURLOPT_SSL_VERIFYPEER, 0L);
        http->lib->easy_setopt(curl, CURLOPT_SSL_VERIFYHOST, 0L);
    }
}

static void set_limits(ka_prom_http *http)
{
    CURL *curl = http->curl;
    const char *after = is_https(http->url) ? "https" : "http,https";

    http->lib->easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    http->lib->easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, after);
    http->lib->easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    http->lib->easy_setopt(curl, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
    http->lib->easy_setopt(curl, CURLOPT_POSTREDIR, (long)CURL_REDIR_POST_ALL);
    http->lib->easy_setopt(curl, CURLOPT_PROXY, "");
    http->lib->easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, KA_PROM_CONNECT_S);
    http->lib->easy_setopt(curl, CURLOPT_TIMEOUT, KA_PROM_TOTAL_S);
    http->lib->easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    http->lib->easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, "");
    http->lib->easy_setopt(curl, CURLOPT_USERAGENT, "kaadvisor");
    http->lib->easy_setopt(curl, CURLOPT_ERRORBUFFER, http->reason);
    http->lib->easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    http->lib->easy_setopt(curl, CURLOPT_WRITEDATA, http);
}

apr_status_t ka_prom_http_make(ka_prom_http **out, const char **error,
                               const ka_prom_access *access, apr_pool_t *pool)
{
    ka_prom_http *http = apr_pcalloc(pool, sizeof(*http));
    const char *unfit = url_unfit(access->url), *token = NULL, *reason;
    apr_status_t rv;

    http->pool = pool;
    if (unfit) {
        *error =
            apr_psprintf(pool, "%s: %s", url_shown(access->url, pool), unfit);
        return APR_EINVAL;
    }
    http->url = without_slash(access->url, pool);
    if (access->token_file) {
        rv = token_read(&token, error, access->token_file, pool);
        if (rv) {
            return rv;
        }
    }
    http->lib = ka_curl_load(&http->curl_api, &reason);
    if (!http->lib) {
        *error = apr_psprintf(pool,
                              "libcurl cannot be loaded (%s); install it "
                              "(Debian: apt-get install libcurl4)",
                              reason);
        return APR_EGENERAL;
    }
    *error = "libcurl cannot be initialized";
    if (http->lib->global_init(CURL_GLOBAL_DEFAULT)) {
        return APR_EGENERAL;
    }
    http->curl = http->lib->easy_init();
    apr_pool_cleanup_register(pool, http, clear, apr_pool_cleanup_null);
    if (!http->curl) {
        return APR_ENOMEM;
    }
    if (token) {
        set_token(http, token);
    }
    set_limits(http);
    set_tls(http, access);
    http->lib->easy_setopt(http->curl, CURLOPT_HTTPHEADER, http->headers);
    *out = http;
    return APR_SUCCESS;
}

const char *ka_prom_http_url(const ka_prom_http *http)
{
    return http->url;
}

/* ---- asking ------------------------------------------------------------- */

static bool is_unreserved(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || strchr("-._~", c);
}

const char *ka_prom_form(const char *form, const char *name, const char *value,
                         apr_pool_t *pool)
{
    char *encoded = apr_palloc(pool, strlen(value) * 3 + 1), *to = encoded;

    for (; *value; value++) {
        if (is_unreserved(*value)) {
            *to++ = *value;
        }
        else {
            to += sprintf(to, "%%%02X", (unsigned char)*value);
        }
    }
    *to = '\0';
    return apr_pstrcat(pool, form, *form ? "&" : "", name, "=", encoded, NULL);
}

/* What to do about it, by what libcurl says. */
static const char *remedy_of(CURLcode code)
{
    static const struct {
        CURLcode code;
        const char *remedy;
    } rows[] = {
        {CURLE_COULDNT_RESOLVE_HOST, "check the host's name"},
        {CURLE_COULDNT_CONNECT, "check host and port, and that it runs"},
        {CURLE_PEER_FAILED_VERIFICATION,
         "--ca-file FILE names the authority that signed its certificate"},
        {CURLE_SSL_CACERT_BADFILE,
         "--ca-file must name a readable file in PEM format"},
        {CURLE_SSL_CONNECT_ERROR, "is it http:// that is spoken there?"},
        {CURLE_OPERATION_TIMEDOUT,
         "ask for less with a shorter --window or a narrower --match"},
        {CURLE_TOO_MANY_REDIRECTS, "give the URL that it redirects to"},
        {CURLE_UNSUPPORTED_PROTOCOL,
         "give the URL that it redirects to, if you trust it"},
        {CURLE_UNSUPPORTED_PROTOCOL, NULL}};
    size_t i;

    for (i = 0; rows[i].remedy; i++) {
        if (rows[i].code == code) {
            return rows[i].remedy;
        }
    }
    return NULL;
}

static const char *failure(const ka_prom_http *http, CURLcode code)
{
    const char *what = *http->reason ? http->reason : http->lib->easy_strerror(code);
    const char *remedy = remedy_of(code);

    if (http->too_large) {
        return apr_psprintf(http->pool,
                            "%s: an answer is larger than 64 MB; ask for fewer "
                            "servers with --match",
                            http->url);
    }
    return apr_pstrcat(http->pool, http->url, ": ",
                       ka_words_clean(http->pool, what, false),
                       remedy ? "; " : "", remedy, NULL);
}

/* Whether a token was left behind on the way to another host. */
static bool was_redirected(const ka_prom_http *http)
{
    long redirects = 0;

    http->lib->easy_getinfo(http->curl, CURLINFO_REDIRECT_COUNT, &redirects);
    return redirects > 0;
}

/* Statuses that say enough by themselves. */
static const char *refusal(const ka_prom_http *http, long status)
{
    const char *what = NULL;

    if (status == 401 || status == 403) {
        what = !http->has_token
                   ? "it asks for authentication; --token-file FILE holds the "
                     "bearer token"
               : was_redirected(http)
                   ? "it redirects to where the token was not sent; give that "
                     "URL"
                   : "it refuses the token of --token-file";
    }
    return what ? apr_psprintf(http->pool, "%s: %s (HTTP %ld)", http->url, what,
                               status)
                : NULL;
}

apr_status_t ka_prom_http_post(ka_prom_answer *answer, const char **error,
                               ka_prom_http *http, const char *path,
                               const char *form)
{
    CURL *curl = http->curl;
    const char *type = NULL;
    CURLcode code;

    http->n = 0;
    http->too_large = false;
    *http->reason = '\0';
    http->lib->easy_setopt(curl, CURLOPT_URL,
                           apr_pstrcat(http->pool, http->url, path, NULL));
    http->lib->easy_setopt(curl, CURLOPT_POSTFIELDS, form);
    code = http->lib->easy_perform(curl);
    if (code) {
        *error = failure(http, code);
        return APR_EGENERAL;
    }
    http->lib->easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answer->status);
    http->lib->easy_getinfo(curl, CURLINFO_CONTENT_TYPE, &type);
    answer->type = type ? type : "";
    answer->text = http->text ? http->text : "";
    answer->n = http->n;
    *error = refusal(http, answer->status);
    return *error ? APR_EGENERAL : APR_SUCCESS;
}
