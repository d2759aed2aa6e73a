/* Licensed under the Apache License, Version 2.0; see LICENSE.
 *
 * Which of a configuration's access logs are read.  Logs of one LogFormat are
 * read together; the LogFormat that tells connections apart best is taken,
 * among those with enough lines, unless most of the traffic is of virtual hosts
 * that log in another one.  Each virtual host is read from one log, or its
 * requests would count twice.
 */
#include "analysis_host.h"

#include <string.h>
#include <apr_hash.h>
#include <apr_strings.h>

#include "../host/config_logfiles.h"
#include "../sources/logformat.h"
#include "../words.h"

/* Some thousand lines.  A richer format that was configured a minute ago is
 * not worth more than a week in a poorer one. */
#define ENOUGH_BYTES 100000
#define NAMED_MAX 5

/* One log of the configuration. */
typedef struct candidate {
    const ka_cfg_log *log;
    apr_array_header_t *files; /* of const char *: that are read */
    int64_t bytes;
    const char *missing; /* what could not be found or read; NULL */
    int rank;            /* of its format; 0: it cannot be read */
    bool taken;
} candidate;

typedef struct choice {
    ka_host *host;
    candidate *items; /* items[n] */
    int n;
    const candidate *best; /* whose format is read */
    bool *covered;         /* virtual hosts, by number */
    apr_array_header_t *paths; /* of const char * */
    apr_hash_t *seen;          /* the same */
} choice;

/* ---- what a format tells ----------------------------------------------- */

/* Whether process and thread tell connections apart. */
static bool names_slot(uint64_t fields, int32_t mpm)
{
    const uint64_t thread = KA_LF_BIT(KA_LF_PID) | KA_LF_BIT(KA_LF_TID);

    if (mpm == KA_MPM_PREFORK) {
        return fields & (KA_LF_BIT(KA_LF_PID) | KA_LF_BIT(KA_LF_UNIQUE_ID));
    }
    return mpm == KA_MPM_WORKER &&
           ((fields & thread) == thread ||
            fields & KA_LF_BIT(KA_LF_UNIQUE_ID));
}

/* The level comes first, then whether service times are known. */
static int rank_of(const char *text, int32_t mpm, apr_pool_t *pool)
{
    ka_logformat *format;
    const char *error;
    uint64_t fields;
    int level = 1;

    if (ka_logformat_compile(&format, &error, text, pool)) {
        return 0;
    }
    fields = ka_logformat_fields(format);
    if (fields & KA_LF_BIT(KA_LF_REMOTE_PORT)) {
        level = 4;
    }
    else if (names_slot(fields, mpm)) {
        level = 3;
    }
    else if (fields & KA_LF_BIT(KA_LF_KEEPALIVES)) {
        level = 2;
    }
    return 2 * level + (ka_logformat_service_us(format) > 0);
}

/* ---- candidates -------------------------------------------------------- */

static void find_files(candidate *c, const ka_host *host)
{
    int64_t since_us = host->options.since_us;
    apr_array_header_t *files;
    int i;

    c->files = apr_array_make(host->pool, 4, sizeof(const char *));
    ka_cfg_log_files(&files, &c->missing, c->log, host->httpd->files,
                     host->pool);
    for (i = 0; i < files->nelts; i++) {
        const ka_cfg_logfile *f = &APR_ARRAY_IDX(files, i, ka_cfg_logfile);

        if (f->readable && f->size > 0 && f->mtime_us >= since_us) {
            APR_ARRAY_PUSH(c->files, const char *) = f->path;
            c->bytes += f->size;
        }
    }
}

static void find_candidates(choice *ch)
{
    const ka_cfg_server *server = ch->host->httpd->server;
    int i;

    ch->n = server->logs->nelts;
    ch->items =
        apr_pcalloc(ch->host->pool, ((size_t)ch->n + 1) * sizeof(candidate));
    for (i = 0; i < ch->n; i++) {
        candidate *c = &ch->items[i];

        c->log = &APR_ARRAY_IDX(server->logs, i, ka_cfg_log);
        find_files(c, ch->host);
        c->rank = rank_of(c->log->format, server->mpm, ch->host->pool);
    }
}

/* ---- the format -------------------------------------------------------- */

static bool same_format(const candidate *a, const candidate *b)
{
    return !strcmp(a->log->format, b->log->format);
}

static int64_t bytes_of_format(const choice *ch, const candidate *c)
{
    int64_t sum = 0;
    int i;

    for (i = 0; i < ch->n; i++) {
        sum += same_format(&ch->items[i], c) ? ch->items[i].bytes : 0;
    }
    return sum;
}

/* Whether there are lines of a virtual host; of one format, or of any. */
static bool has_lines(const choice *ch, int vhost, const candidate *like)
{
    int i, k;

    for (i = 0; i < ch->n; i++) {
        const candidate *c = &ch->items[i];

        if (c->bytes == 0 || (like && !same_format(c, like))) {
            continue;
        }
        for (k = 0; k < c->log->vhosts->nelts; k++) {
            if (APR_ARRAY_IDX(c->log->vhosts, k, int) == vhost) {
                return true;
            }
        }
    }
    return false;
}

/* Whether the other format has virtual hosts that this one has not. */
static bool lacks(const choice *ch, const candidate *c, const candidate *other)
{
    int v, n = ch->host->httpd->server->vhosts->nelts;

    for (v = 0; v < n; v++) {
        if (has_lines(ch, v, other) && !has_lines(ch, v, c)) {
            return true;
        }
    }
    return false;
}

static bool better(const choice *ch, const candidate *a, const candidate *b)
{
    int64_t bytes = bytes_of_format(ch, a), others = bytes_of_format(ch, b);
    bool more = bytes > others;

    if ((bytes >= ENOUGH_BYTES) != (others >= ENOUGH_BYTES)) {
        return bytes >= ENOUGH_BYTES;
    }
    if (a->rank == b->rank || (a->rank > b->rank && lacks(ch, a, b)) ||
        (a->rank < b->rank && lacks(ch, b, a))) {
        return more;
    }
    return a->rank > b->rank;
}

static void choose_format(choice *ch)
{
    bool any = ch->host->options.log_format != NULL;
    int i;

    for (i = 0; i < ch->n; i++) {
        const candidate *c = &ch->items[i];

        if (c->bytes && (c->rank || any) &&
            (!ch->best ||
             (!same_format(c, ch->best) && better(ch, c, ch->best)))) {
            ch->best = c;
        }
    }
}

/* ---- the logs ---------------------------------------------------------- */

static bool covers_covered(const choice *ch, const candidate *c)
{
    bool covered = false;
    int i;

    for (i = 0; i < c->log->vhosts->nelts; i++) {
        covered =
            covered || ch->covered[APR_ARRAY_IDX(c->log->vhosts, i, int)];
    }
    return covered;
}

static void take(choice *ch, candidate *c)
{
    int i;

    c->taken = true;
    for (i = 0; i < c->log->vhosts->nelts; i++) {
        ch->covered[APR_ARRAY_IDX(c->log->vhosts, i, int)] = true;
    }
    for (i = 0; i < c->files->nelts; i++) {
        const char *path = APR_ARRAY_IDX(c->files, i, const char *);

        if (!apr_hash_get(ch->seen, path, APR_HASH_KEY_STRING)) {
            apr_hash_set(ch->seen, path, APR_HASH_KEY_STRING, path);
            APR_ARRAY_PUSH(ch->paths, const char *) = path;
        }
    }
    if (c->log->condition) {
        ka_host_warn(ch->host, "log_conditional",
                     "%s (%s) holds only the requests of %s.", c->log->target,
                     c->log->origin, c->log->condition);
    }
}

/* Logs that hold every request come before those with a condition. */
static void take_logs(choice *ch)
{
    int pass, i;

    for (pass = 0; pass < 2; pass++) {
        for (i = 0; i < ch->n; i++) {
            candidate *c = &ch->items[i];

            if (c->bytes && (c->log->condition != NULL) == (pass == 1) &&
                same_format(c, ch->best) && !covers_covered(ch, c)) {
                take(ch, c);
            }
        }
    }
}

/* ---- what is not read -------------------------------------------------- */

/* Of the main server nothing is expected where there are virtual hosts. */
static void tell_uncovered(choice *ch)
{
    const ka_cfg_server *server = ch->host->httpd->server;
    const char *text = "";
    apr_pool_t *pool = ch->host->pool;
    int v, n = 0;

    for (v = 0; v < server->vhosts->nelts; v++) {
        if (ch->covered[v] || (v == 0 && !has_lines(ch, 0, NULL))) {
            continue;
        }
        if (n++ < NAMED_MAX) {
            text = apr_pstrcat(pool, text, n > 1 ? ", " : "",
                               ka_cfg_vhost_label(server, v, pool), NULL);
        }
    }
    if (n) {
        ka_host_warn(ch->host, "vhosts_not_read",
                     "Not in these numbers is the traffic of %s%s: no log of "
                     "this format with lines of it was found. All virtual "
                     "hosts share the workers; let them log in one format.",
                     text, n > NAMED_MAX ? " and others" : "");
    }
}

static void tell_missing(const choice *ch)
{
    int i;

    for (i = 0; i < ch->n; i++) {
        const candidate *c = &ch->items[i];

        if (c->missing && (c->taken || !ch->best)) {
            ka_host_warn(ch->host, "log_not_read", "%s", c->missing);
        }
        else if (!ch->best) {
            ka_host_warn(ch->host, "log_not_read", "%s (%s): %s",
                         c->log->target, c->log->origin,
                         c->bytes ? "its LogFormat cannot be read"
                                  : "no lines are in it");
        }
    }
}

static void tell_logs(const choice *ch)
{
    const ka_cfg_log *log = ch->best->log;
    apr_pool_t *pool = ch->host->pool;
    int i, logs = 0;

    for (i = 0; i < ch->n; i++) {
        logs += ch->items[i].taken;
    }
    ka_host_found(ch->host, "traffic: %s of %s (%s) in LogFormat %s%s%s",
                  ka_words_plural(pool, ch->paths->nelts, "file"),
                  log->target, log->origin,
                  log->nickname ? log->nickname : log->format,
                  logs > 1 ? " and of others in it: " : "",
                  logs > 1 ? ka_words_plural(pool, logs, "log") : "");
}

/* ---- T0 ---------------------------------------------------------------- */

/* What ended idle connections of the virtual hosts that are read; unless it
 * is the same for all, that of the main server stays. */
static void set_timeout(const choice *ch)
{
    const ka_cfg_server *server = ch->host->httpd->server;
    ka_server *facts = &ch->host->options.server;
    const ka_fact *timeout = &facts->facts[KA_FACT_TIMEOUT], *first = NULL;
    const ka_fact *keep_alive = NULL;
    int v;

    if (timeout->known && timeout->origin &&
        !strncmp(timeout->origin, "option", strlen("option"))) {
        return;
    }
    for (v = server->vhosts->nelts > 1; v < server->vhosts->nelts; v++) {
        const ka_cfg_vhost *vhost =
            &APR_ARRAY_IDX(server->vhosts, v, ka_cfg_vhost);
        bool off = vhost->keep_alive.known && !vhost->keep_alive.value;
        const ka_fact *fact = off ? &vhost->keep_alive : &vhost->idle_timeout;

        if (!ch->covered[v] || !fact->known) {
            continue;
        }
        if (first && first->value != fact->value) {
            ka_host_warn(ch->host, "timeouts_differ",
                         "KeepAliveTimeout is not the same in all virtual "
                         "hosts (%s, %s); this advice takes that of the main "
                         "server as the present one.",
                         first->origin, fact->origin);
            return;
        }
        first = fact;
        keep_alive = &vhost->keep_alive;
    }
    if (first) {
        facts->facts[KA_FACT_TIMEOUT] = *first;
        if (keep_alive->known) {
            facts->facts[KA_FACT_KEEP_ALIVE] = *keep_alive;
        }
    }
}

bool ka_host_logs(ka_host *host)
{
    const ka_cfg_server *server = host->httpd->server;
    choice ch = {.host = host,
                 .paths = apr_array_make(host->pool, 8, sizeof(const char *)),
                 .seen = apr_hash_make(host->pool)};

    ch.covered = apr_pcalloc(host->pool,
                             (size_t)server->vhosts->nelts * sizeof(bool));
    find_candidates(&ch);
    choose_format(&ch);
    if (ch.best) {
        take_logs(&ch);
    }
    tell_missing(&ch);
    if (!ch.best) {
        return false;
    }
    tell_logs(&ch);
    tell_uncovered(&ch);
    set_timeout(&ch);
    if (!host->options.log_format) {
        host->options.log_format = ch.best->log->format;
    }
    host->options.sources = (const char **)ch.paths->elts;
    host->options.source_n = (size_t)ch.paths->nelts;
    return true;
}
