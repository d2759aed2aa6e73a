/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "profilefile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <apr_strings.h>

#include "profilefile_lines.h"
#include "profilefile_priv.h"

/* ---- hosts -------------------------------------------------------------- */

static apr_status_t free_hosts(void *data)
{
    ka_hosts *hosts = data;
    size_t i;

    for (i = 0; i < hosts->n; i++) {
        ka_tally_free(hosts->items[i]);
    }
    free(hosts->items);
    hosts->n = hosts->size = 0;
    hosts->items = NULL;
    return APR_SUCCESS;
}

void ka_hosts_init(ka_hosts *hosts, apr_pool_t *pool)
{
    *hosts = (ka_hosts){.most = KA_PROFILE_HOSTS, .pool = pool};
    apr_pool_cleanup_register(pool, hosts, free_hosts, apr_pool_cleanup_null);
}

static const char *name_of(const ka_tally *tally)
{
    return tally->servers[0].name;
}

/* Index of the first host that is not before name. */
static size_t find_host(const ka_hosts *hosts, const char *name)
{
    size_t low = 0, high = hosts->n;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(name_of(hosts->items[middle]), name) < 0) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

static apr_status_t insert_host(ka_hosts *hosts, size_t at, ka_tally *tally)
{
    if (hosts->n >= hosts->most) {
        return APR_ENOSPC;
    }
    if (hosts->n == hosts->size) {
        size_t size = hosts->size ? 2 * hosts->size : 16;
        ka_tally **items = realloc(hosts->items, size * sizeof(*items));

        if (!items) {
            return APR_ENOMEM;
        }
        hosts->items = items;
        hosts->size = size;
    }
    memmove(&hosts->items[at + 1], &hosts->items[at],
            (hosts->n - at) * sizeof(*hosts->items));
    hosts->items[at] = tally;
    hosts->n++;
    return APR_SUCCESS;
}

apr_status_t ka_hosts_add(ka_hosts *hosts, ka_tally *tally)
{
    size_t at = find_host(hosts, name_of(tally));
    apr_status_t rv;

    if (at < hosts->n && !strcmp(name_of(hosts->items[at]), name_of(tally))) {
        ka_tally_merge(hosts->items[at], tally);
        ka_tally_free(tally);
        return hosts->items[at]->failed ? APR_ENOMEM : APR_SUCCESS;
    }
    rv = insert_host(hosts, at, tally);
    if (rv) {
        ka_tally_free(tally);
    }
    return rv;
}

ka_tally *ka_hosts_sum(const ka_hosts *hosts)
{
    ka_tally *sum = ka_tally_make(NULL, 0, hosts->pool);
    size_t i;

    for (i = 0; sum && i < hosts->n; i++) {
        ka_tally_merge(sum, hosts->items[i]);
    }
    if (sum && sum->failed) {
        ka_tally_free(sum);
        return NULL;
    }
    return sum;
}

/* ---- reading ------------------------------------------------------------ */

/* Blanks may stand between the first tokens: a line that was edited by hand
 * or by a program. */
bool ka_profile_source_is(const char *path)
{
    static const char *const tokens[] = {"{", "\"schema\"", ":", "\"ka"};
    char first[64];
    size_t i, at = 0, n = ka_profilelines_peek(first, sizeof(first), path);

    for (i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++) {
        size_t length = strlen(tokens[i]);

        while (at < n && strchr(" \t\r\n", first[at]) && first[at]) {
            at++;
        }
        if (n - at < length || memcmp(first + at, tokens[i], length)) {
            return false;
        }
        at += length;
    }
    return true;
}

static apr_status_t line_failed(const char **error, const char *path,
                                uint64_t number, const char *what,
                                apr_status_t rv, apr_pool_t *pool)
{
    *error = apr_psprintf(pool, "%s:%" APR_UINT64_T_FMT ": %s",
                          ka_profilelines_name(path), number, what);
    return rv;
}

static const char *no_json(const json_error_t *why, apr_pool_t *pool)
{
    return apr_psprintf(pool,
                        "no whole line of JSON: %s, at byte %d; the file is "
                        "cut or damaged: copy it again, or write it again "
                        "with `kaadvisor profile`",
                        why->text, why->position);
}

static apr_status_t add_line(ka_hosts *hosts, const char **error,
                             const char *text, size_t length, apr_pool_t *pool)
{
    json_error_t why;
    json_t *line = json_loadb(text, length, JSON_REJECT_DUPLICATES, &why);
    ka_tally *tally;
    apr_status_t rv;

    if (!line) {
        *error = no_json(&why, pool);
        return APR_EINVAL;
    }
    rv = ka_pf_decode(&tally, error, line, hosts->pool);
    json_decref(line);
    if (rv) {
        return rv;
    }
    rv = ka_hosts_add(hosts, tally);
    *error = rv == APR_ENOSPC
                 ? apr_psprintf(pool,
                                "more than %d servers; advise on them in "
                                "groups, those with one configuration together",
                                (int)hosts->most)
                 : "not enough memory for it";
    return rv;
}

apr_status_t ka_profilefile_read(ka_hosts *hosts, const char **error,
                                 const char *path, apr_pool_t *pool)
{
    ka_profilelines *lines;
    apr_pool_t *own;
    const char *text, *what;
    size_t length;
    uint64_t number;
    apr_status_t rv = apr_pool_create(&own, pool);

    *error = "not enough memory";
    if (rv) {
        return rv;
    }
    rv = ka_profilelines_open(&lines, error, path, own);
    while (!rv) {
        rv = ka_profilelines_next(lines, &text, &length, &number, error);
        if (rv) {
            break;
        }
        rv = add_line(hosts, &what, text, length, own);
        if (rv) {
            line_failed(error, path, number, what, rv, own);
        }
    }
    if (APR_STATUS_IS_EOF(rv)) {
        rv = APR_SUCCESS;
    }
    else {
        *error = apr_pstrdup(pool, *error);
    }
    apr_pool_destroy(own);
    return rv;
}

/* ---- writing ------------------------------------------------------------ */

/* Finer ones first; each leaves no more than the one before. */
static const ka_pf_detail details[] = {
    {.hours = SIZE_MAX, .vhosts = 256, .join = 0, .blocks = 48},
    {.hours = 24 * 7, .vhosts = 256, .join = 0, .blocks = 48},
    {.hours = 24 * 2, .vhosts = 256, .join = 0, .blocks = 48},
    {.hours = 24 * 2, .vhosts = 100, .join = 0, .blocks = 48},
    {.hours = 24 * 2, .vhosts = 32, .join = 0, .blocks = 48},
    {.hours = 24 * 2, .vhosts = 32, .join = 1, .blocks = 48},
    {.hours = 24 * 2, .vhosts = 32, .join = 2, .blocks = 48},
    {.hours = 24 * 2, .vhosts = 8, .join = 3, .blocks = 24},
    {.hours = 24, .vhosts = 8, .join = 4, .blocks = 24},
    {.hours = 12, .vhosts = 1, .join = 5, .blocks = 0},
    {.hours = 6, .vhosts = 0, .join = 6, .blocks = 0},
    {.hours = 3, .vhosts = 0, .join = 8, .blocks = 0}};

#define DETAIL_N (sizeof(details) / sizeof(details[0]))

/* Whether the line fits; its text then, without an end. */
static apr_status_t try_line(char *text, size_t *length, const ka_tally *tally,
                             const ka_pf_detail *detail, apr_pool_t *pool)
{
    json_t *line = ka_pf_encode(tally, detail, pool);

    if (!line) {
        return APR_ENOMEM;
    }
    *length = json_dumpb(line, text, KA_PROFILE_LINE_SIZE,
                         JSON_COMPACT | JSON_ENSURE_ASCII);
    json_decref(line);
    return *length > 0 && *length < KA_PROFILE_LINE_SIZE ? APR_SUCCESS
                                                         : APR_ENOSPC;
}

/* The finest line that fits: mostly the first. */
static apr_status_t make_line(char *text, size_t *length,
                              const ka_tally *tally, apr_pool_t *pool)
{
    size_t low = 0, high = DETAIL_N, at = 0;
    apr_status_t rv = APR_SUCCESS;

    while (low < high) {
        rv = try_line(text, length, tally, &details[at], pool);
        if (rv && rv != APR_ENOSPC) {
            return rv;
        }
        low = rv ? at + 1 : low;
        high = rv ? high : at;
        at = low + (high - low) / 2;
    }
    if (low == DETAIL_N) {
        return APR_ENOSPC;
    }
    return rv ? try_line(text, length, tally, &details[low], pool) : rv;
}

static apr_status_t write_line(FILE *out, char *text, size_t length)
{
    text[length] = '\n';
    errno = 0;
    if (fwrite(text, 1, length + 1, out) == length + 1) {
        return APR_SUCCESS;
    }
    return errno ? APR_FROM_OS_ERROR(errno) : APR_EGENERAL;
}

apr_status_t ka_profilefile_write(FILE *out, const ka_tally *tally,
                                  apr_pool_t *pool)
{
    char *text = malloc(KA_PROFILE_LINE_SIZE);
    size_t length;
    apr_status_t rv = APR_ENOMEM;

    if (text) {
        rv = make_line(text, &length, tally, pool);
    }
    if (!rv) {
        rv = write_line(out, text, length);
    }
    free(text);
    return rv;
}
