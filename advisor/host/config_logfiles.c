/* Licensed under the Apache License, Version 2.0; see LICENSE. */
#include "config_logfiles.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include <apr_hash.h>
#include <apr_lib.h>
#include <apr_strings.h>

#include "config_root.h"

#define FILES_MAX 20000
#define DIRECTORIES_MAX 2000
#define NAME_TOKENS_MAX 512

/* ---- names ------------------------------------------------------------------
 */

/* One character of a name: itself, a digit, or any; or any number of any. */
typedef enum token_kind { LITERAL, DIGIT, ANY, MANY } token_kind;

typedef struct token {
    token_kind kind;
    char literal;
} token;

/* How many digits a conversion of strftime writes; 0: some text. */
static const struct {
    char letter, digits;
} conversions[] = {{'Y', 4}, {'m', 2}, {'d', 2}, {'H', 2}, {'M', 2}, {'S', 2},
                   {'y', 2}, {'j', 3}, {'I', 2}, {'U', 2}, {'W', 2}, {'V', 2},
                   {'G', 4}, {'C', 2}, {'w', 1}, {'u', 1}};

static int digits_of(char letter)
{
    size_t i;

    for (i = 0; i < sizeof(conversions) / sizeof(conversions[0]); i++) {
        if (conversions[i].letter == letter) {
            return conversions[i].digits;
        }
    }
    return 0;
}

/* Tokens of a pattern; without `times` a percent sign is a percent sign. */
static size_t tokens_of(token tokens[NAME_TOKENS_MAX], const char *pattern,
                        bool times)
{
    size_t n = 0;

    for (; *pattern && n + 4 < NAME_TOKENS_MAX; pattern++) {
        int digits;

        if (!times || *pattern != '%' || !pattern[1]) {
            tokens[n++] = (token){LITERAL, *pattern};
            continue;
        }
        pattern++;
        digits = digits_of(*pattern);
        if (*pattern == '%') {
            tokens[n++] = (token){LITERAL, '%'};
        }
        else if (digits == 0) {
            tokens[n++] = (token){ANY, 0};
            tokens[n++] = (token){MANY, 0};
        }
        for (; digits > 0; digits--) {
            tokens[n++] = (token){DIGIT, 0};
        }
    }
    return n;
}

static bool fits(const token *t, char c)
{
    switch (t->kind) {
    case LITERAL:
        return t->literal == c;
    case DIGIT:
        return apr_isdigit(c);
    case ANY:
    case MANY:
        break;
    }
    return true;
}

/* Do the tokens match text[n] from end to end?  The last MANY alone needs to
 * be tried again: n x tokens steps at most. */
static bool match(const token *tokens, size_t token_n, const char *text,
                  size_t n)
{
    size_t t = 0, i = 0, many = SIZE_MAX, from = 0;

    while (i < n) {
        if (t < token_n && tokens[t].kind == MANY) {
            many = t++;
            from = i;
        }
        else if (t < token_n && fits(&tokens[t], text[i])) {
            t++;
            i++;
        }
        else if (many != SIZE_MAX) {
            t = many + 1;
            i = ++from;
        }
        else {
            return false;
        }
    }
    while (t < token_n && tokens[t].kind == MANY) {
        t++;
    }
    return t == token_n;
}

static const char *const compressions[] = {"gz",  "xz",   "zst", "bz2",
                                           "lz4", "lzma", "Z"};

/* Length of the name without the suffix of a compression. */
static size_t without_compression(const char *name)
{
    const char *dot = strrchr(name, '.');
    size_t i;

    for (i = 0; dot && i < sizeof(compressions) / sizeof(compressions[0]);
         i++) {
        if (!strcmp(dot + 1, compressions[i])) {
            return (size_t)(dot - name);
        }
    }
    return strlen(name);
}

/* Where a number or date at the end begins, `-20261130` or `.12` or
 * `-2026-11-30`; n if there is none.  `digits` counts them. */
static size_t number_start(const char *name, size_t n, size_t *digits)
{
    size_t start = n, i = n;

    *digits = 0;
    while (i > 0) {
        size_t group = 0;

        while (i > 0 && apr_isdigit(name[i - 1])) {
            i--;
            group++;
        }
        if (group == 0 || i == 0 || !strchr(".-_", name[i - 1])) {
            break;
        }
        start = --i;
        *digits += group;
    }
    return start;
}

/* Every way to take groups of digits off the end. */
static bool match_numbered(const token *tokens, size_t token_n,
                           const char *name, size_t n)
{
    size_t digits, start = number_start(name, n, &digits), i;

    for (i = start; i < n; i++) {
        if (strchr(".-_", name[i]) && match(tokens, token_n, name, i)) {
            return true;
        }
    }
    return false;
}

/* access-20261130.log and access.1.log of access.log, but not site-2.log of
 * site.log, which is likely another site's. */
static bool match_inside(const char *pattern, const char *name, size_t n)
{
    const char *extension = strrchr(pattern, '.');
    size_t stem, tail, middle, digits = 0, start;

    if (!extension || extension == pattern) {
        return false;
    }
    stem = (size_t)(extension - pattern);
    tail = strlen(extension);
    if (n <= stem + tail || strncmp(name, pattern, stem) ||
        strncmp(name + n - tail, extension, tail)) {
        return false;
    }
    middle = n - tail;
    start = number_start(name, middle, &digits);
    return start <= stem && middle > stem && strchr(".-_", name[stem]) &&
           (digits >= 8 || (digits <= 3 && name[stem] == '.'));
}

bool ka_cfg_log_name(bool *rotated, const char *pattern, ka_cfg_log_kind kind,
                     const char *name)
{
    token tokens[NAME_TOKENS_MAX];
    bool times = kind == KA_CFG_LOG_STRFTIME;
    size_t token_n = tokens_of(tokens, pattern, times);
    size_t n = without_compression(name), whole = strlen(name);

    *rotated = false;
    if (match(tokens, token_n, name, whole)) {
        return true;
    }
    *rotated = true;
    return (n < whole && match(tokens, token_n, name, n)) ||
           match_numbered(tokens, token_n, name, n) ||
           (!times && match_inside(pattern, name, n));
}

/* ---- files ------------------------------------------------------------------
 */

typedef struct search {
    const ka_cfg_log *log;
    const char *root;
    apr_pool_t *pool;
    apr_array_header_t *files;
    apr_hash_t *seen;       /* "device inode" */
    int directories_left;
    apr_status_t status;    /* why a directory could not be listed */
    const char *unreadable; /* that directory */
} search;

static void take_file(search *s, const char *path, bool rotated)
{
    ka_root_stat info;
    const char *real = NULL, *key;
    ka_cfg_logfile *file;

    if (ka_root_stat_of(&info, s->root, path, s->pool) != APR_SUCCESS ||
        !info.regular || s->files->nelts >= FILES_MAX ||
        ka_root_resolve(&real, s->root, path, s->pool) != APR_SUCCESS) {
        return;
    }
    key = apr_psprintf(s->pool,
                       "%" APR_UINT64_T_HEX_FMT " %" APR_UINT64_T_HEX_FMT,
                       info.device, info.inode);
    if (apr_hash_get(s->seen, key, APR_HASH_KEY_STRING)) {
        return;
    }
    apr_hash_set(s->seen, key, APR_HASH_KEY_STRING, key);
    file = apr_array_push(s->files);
    *file = (ka_cfg_logfile){.path = real,
                             .shown = path,
                             .mtime_us = info.mtime_us,
                             .size = info.size,
                             .compressed =
                                 without_compression(path) < strlen(path),
                             .current = !rotated,
                             .readable = !access(real, R_OK)};
}

static apr_array_header_t *list(search *s, const char *directory)
{
    apr_array_header_t *names = NULL;
    apr_status_t status;

    if (s->directories_left-- <= 0) {
        return NULL;
    }
    status = ka_root_list(&names, s->root, *directory ? directory : "/",
                          s->pool);
    if (status != APR_SUCCESS && status != APR_ENOSPC) {
        s->status = status;
        s->unreadable = directory;
        return NULL;
    }
    return names;
}

/* `done` is real; `rest` the components of the pattern still to match. */
static void look(search *s, const char *done, const char *rest)
{
    size_t n = strcspn(rest, "/");
    const char *name = apr_pstrmemdup(s->pool, rest, n);
    const char *more = rest + n + strspn(rest + n, "/");
    apr_array_header_t *names;
    token tokens[NAME_TOKENS_MAX];
    int i;

    if (*more && (s->log->kind != KA_CFG_LOG_STRFTIME || !strchr(name, '%'))) {
        look(s, apr_pstrcat(s->pool, done, "/", name, NULL), more);
        return;
    }
    names = list(s, done);
    for (i = 0; names && i < names->nelts; i++) {
        const char *entry = APR_ARRAY_IDX(names, i, const char *);
        const char *path = apr_pstrcat(s->pool, done, "/", entry, NULL);
        bool rotated;

        if (*more) {
            if (match(tokens, tokens_of(tokens, name, true), entry,
                      strlen(entry))) {
                look(s, path, more);
            }
        }
        else if (ka_cfg_log_name(&rotated, name, s->log->kind, entry)) {
            take_file(s, path, rotated);
        }
    }
}

static int by_time(const void *a, const void *b)
{
    const ka_cfg_logfile *x = a, *y = b;

    if (x->mtime_us != y->mtime_us) {
        return x->mtime_us < y->mtime_us ? -1 : 1;
    }
    return strcmp(x->shown, y->shown);
}

/* Of a pattern the file written last is the current one. */
static void mark_current(const ka_cfg_log *log, apr_array_header_t *files)
{
    int i;

    for (i = 0; log->kind != KA_CFG_LOG_FILE && i < files->nelts; i++) {
        APR_ARRAY_IDX(files, i, ka_cfg_logfile).current =
            i == files->nelts - 1;
    }
}

static apr_status_t nothing(const search *s, const char **missing)
{
    char reason[120];

    if (s->unreadable) {
        *missing = apr_psprintf(
            s->pool, "%s: %s: %s; run as root, or name the log as an argument",
            s->log->origin, *s->unreadable ? s->unreadable : "/",
            apr_strerror(s->status, reason, sizeof(reason)));
        return s->status;
    }
    *missing = apr_psprintf(s->pool,
                            "%s: there is no regular file of %s; name the log "
                            "as an argument",
                            s->log->origin, s->log->path);
    return APR_ENOENT;
}

apr_status_t ka_cfg_log_files(apr_array_header_t **files, const char **missing,
                              const ka_cfg_log *log, const char *root,
                              apr_pool_t *pool)
{
    search s = {.log = log,
                .root = root,
                .pool = pool,
                .files = apr_array_make(pool, 8, sizeof(ka_cfg_logfile)),
                .seen = apr_hash_make(pool),
                .directories_left = DIRECTORIES_MAX};
    int i, unreadable = 0;

    *files = s.files;
    *missing = NULL;
    if (!log->path) {
        *missing = apr_psprintf(pool,
                                "%s: where %s puts the log is not known; name "
                                "the log as an argument",
                                log->origin, log->target);
        return APR_ENOTIMPL;
    }
    look(&s, "", log->path + strspn(log->path, "/"));
    if (!s.files->nelts) {
        return nothing(&s, missing);
    }
    qsort(s.files->elts, (size_t)s.files->nelts, sizeof(ka_cfg_logfile),
          by_time);
    mark_current(log, s.files);
    for (i = 0; i < s.files->nelts; i++) {
        unreadable += !APR_ARRAY_IDX(s.files, i, ka_cfg_logfile).readable;
    }
    if (unreadable) {
        *missing = apr_psprintf(pool,
                                "%s: %d of the %d files of %s cannot be read; "
                                "run as root",
                                log->origin, unreadable, s.files->nelts,
                                log->path);
    }
    return unreadable < s.files->nelts ? APR_SUCCESS : APR_EACCES;
}
